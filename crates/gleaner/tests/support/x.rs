//! X as its API v2 shows it: accounts, timelines in pages, keys, and the fields that were asked for and no others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use gleaner_core::time::Span;
use serde_json::{Map, Value, json};
use url::Url;

use super::http::{Received, Reply, Server};
use super::start;

/// The key that opens it.
pub(crate) const KEY: &str = "AAAA-the-key-of-admin";

pub(crate) struct X {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// By handle, in lower case.
    accounts: HashMap<String, Account>,
    /// Every post there is.
    posts: Vec<Value>,
    page_size: usize,
    /// What the next requests are answered with instead; none: as usual.
    instead: VecDeque<Option<Reply>>,
}

struct Account {
    id: String,
    name: String,
    suspended: bool,
}

impl X {
    pub(crate) async fn start() -> Self {
        let (server, state) =
            (Server::start().await, Arc::new(Mutex::new(State { page_size: 100, ..State::default() })));
        let shared = Arc::clone(&state);
        server.on_all(move |request| shared.lock().unwrap().answer(request));
        Self { server, state }
    }

    /// What config is told about it.
    pub(crate) fn setting(&self) -> String {
        format!("x.base_url={}", self.server.url("/"))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn account(&self, name: &str, id: u64) {
        let account = Account { id: id.to_string(), name: name.to_owned(), suspended: false };
        self.state().accounts.insert(name.to_lowercase(), account);
    }

    pub(crate) fn suspend(&self, name: &str) {
        self.state().accounts.get_mut(&name.to_lowercase()).unwrap().suspended = true;
    }

    /// A post of that account, so many minutes after the tests' beginning; later ones need larger ids.
    pub(crate) fn post(&self, author: u64, id: u64, minutes: u64, text: &str) {
        self.post_with(author, id, minutes, json!({ "text": text }));
    }

    /// A post with these fields.
    pub(crate) fn post_with(&self, author: u64, id: u64, minutes: u64, fields: Value) {
        let created_at = (start() + Span::from_mins(minutes)).to_string();
        let mut post =
            json!({ "id": id.to_string(), "author_id": author.to_string(), "created_at": created_at });
        post.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.state().posts.push(post);
    }

    pub(crate) fn page_size(&self, size: usize) {
        self.state().page_size = size;
    }

    /// The next requests are answered so; none: as usual.
    pub(crate) fn instead(&self, replies: impl IntoIterator<Item = Option<Reply>>) {
        self.state().instead = replies.into_iter().collect();
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.server.requests()
    }

    /// How often the account's id was asked for.
    pub(crate) fn lookups(&self) -> usize {
        self.requests().iter().filter(|request| request.path.starts_with("/2/users/by/username/")).count()
    }

    /// A parameter of each request for a timeline, in order.
    pub(crate) fn asked(&self, name: &str) -> Vec<Option<String>> {
        let all = self.requests();
        all.iter()
            .filter(|request| request.path.contains("/tweets?"))
            .map(|request| query(request).remove(name))
            .collect()
    }
}

fn query(request: &Received) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://x.test{}", request.path)).unwrap();
    url.query_pairs().into_owned().collect()
}

fn reply(status: u16, value: &Value) -> Reply {
    let body = value.to_string();
    let length = body.len();
    Reply::raw(format!(
        "HTTP/1.1 {status} Whatever\r\nContent-Type: application/json; charset=utf-8\r\n\
         x-rate-limit-remaining: 10\r\nx-rate-limit-reset: 9999999999\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

/// What X says inside a 200.
fn error(title: &str, detail: &str, value: &str) -> Reply {
    let kind = "https://api.twitter.com/2/problems/resource-not-found";
    let error =
        json!({ "title": title, "detail": detail, "type": kind, "resource_type": "user", "value": value });
    reply(200, &json!({ "errors": [error] }))
}

fn number(post: &Value) -> u64 {
    post["id"].as_str().unwrap().parse().unwrap()
}

impl State {
    fn answer(&mut self, request: &Received) -> Reply {
        if request.header("authorization") != Some(format!("Bearer {KEY}")) {
            return reply(401, &json!({ "title": "Unauthorized", "status": 401, "detail": "Unauthorized" }));
        }
        if let Some(Some(reply)) = self.instead.pop_front() {
            return reply;
        }
        let path = request.path.split('?').next().unwrap();
        match path.split('/').collect::<Vec<_>>()[..] {
            ["", "2", "users", "by", "username", name] => self.user(name),
            ["", "2", "users", id, "tweets"] => self.timeline(id, &query(request)),
            _ => reply(404, &json!({ "title": "Not Found", "status": 404 })),
        }
    }

    fn user(&self, name: &str) -> Reply {
        match self.accounts.get(&name.to_lowercase()) {
            None => error("Not Found Error", &format!("Could not find user with username: [{name}]."), name),
            Some(Account { suspended: true, .. }) => {
                error("Forbidden", &format!("User has been suspended: [{name}]."), name)
            }
            Some(Account { id, name, .. }) => {
                reply(200, &json!({ "data": { "id": id, "username": name, "name": name } }))
            }
        }
    }

    fn timeline(&self, id: &str, query: &HashMap<String, String>) -> Reply {
        let known = [
            "max_results",
            "tweet.fields",
            "expansions",
            "user.fields",
            "since_id",
            "until_id",
            "pagination_token",
        ];
        let size = query.get("max_results").map_or(10, |size| size.parse().unwrap_or(0));
        if query.keys().any(|name| !known.contains(&name.as_str())) || !(5..=100).contains(&size) {
            return reply(400, &json!({ "title": "Invalid Request", "status": 400 }));
        }
        match self.accounts.values().find(|account| account.id == id) {
            None => return error("Not Found Error", &format!("Could not find user with id: [{id}]."), id),
            Some(account) if account.suspended => {
                return error("Forbidden", &format!("User has been suspended: [{id}]."), id);
            }
            Some(_) => {}
        }
        let parameter = |name: &str| query.get(name).and_then(|id| id.parse::<u64>().ok());
        let (since, until) = (parameter("since_id").unwrap_or(0), parameter("until_id").unwrap_or(u64::MAX));
        let until = query
            .get("pagination_token")
            .map_or(until, |token| token.strip_prefix("below").unwrap().parse().unwrap());
        let mut posts: Vec<&Value> = self.posts.iter().filter(|post| post["author_id"] == id).collect();
        posts.retain(|post| number(post) > since && number(post) < until);
        posts.sort_by_key(|post| std::cmp::Reverse(number(post)));
        let all = posts.len();
        posts.truncate(size.min(self.page_size));
        reply(200, &self.page(&posts, all > posts.len(), query))
    }

    fn page(&self, posts: &[&Value], more: bool, query: &HashMap<String, String>) -> Value {
        let empty = String::new();
        let list =
            |name: &str| query.get(name).unwrap_or(&empty).split(',').map(str::to_owned).collect::<Vec<_>>();
        let (fields, expansions) = (list("tweet.fields"), list("expansions"));
        let shown = |post: &Value| -> Value {
            let asked = |name: &String| ["id", "text"].contains(&name.as_str()) || fields.contains(name);
            post.as_object()
                .unwrap()
                .clone()
                .into_iter()
                .filter(|(name, _)| asked(name))
                .collect::<Map<_, _>>()
                .into()
        };
        let mut meta = json!({ "result_count": posts.len() });
        let (Some(newest), Some(oldest)) = (posts.first(), posts.last()) else {
            return json!({ "meta": meta });
        };
        meta["newest_id"] = newest["id"].clone();
        meta["oldest_id"] = oldest["id"].clone();
        if more {
            meta["next_token"] = format!("below{}", oldest["id"].as_str().unwrap()).into();
        }
        let referred: Vec<&Value> = posts
            .iter()
            .filter_map(|post| post["referenced_tweets"].as_array())
            .flatten()
            .filter_map(|reference| self.posts.iter().find(|post| post["id"] == reference["id"]))
            .filter(|_| expansions.contains(&"referenced_tweets.id".to_owned()))
            .collect();
        let authors = posts.iter().filter(|_| expansions.contains(&"author_id".to_owned()));
        let quoted =
            referred.iter().filter(|_| expansions.contains(&"referenced_tweets.id.author_id".to_owned()));
        let ids: Vec<&Value> = authors.chain(quoted).map(|post| &post["author_id"]).collect();
        let user =
            |account: &Account| json!({ "id": account.id, "username": account.name, "name": account.name });
        let users: Vec<Value> =
            self.accounts.values().map(user).filter(|user| ids.contains(&&user["id"])).collect();
        json!({
            "data": posts.iter().map(|post| shown(post)).collect::<Vec<_>>(),
            "includes": { "users": users, "tweets": referred.into_iter().map(shown).collect::<Vec<_>>() },
            "meta": meta,
        })
    }
}
