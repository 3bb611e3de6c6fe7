//! The matrix of `docs/access.md`, cell by cell: every request of the API, by every kind of caller, for what is in a
//! shared and in a private collection.

use std::collections::{BTreeMap, BTreeSet};

use gleaner::service::Scope;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api};
use super::on_both;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(every_request_is_answered_as_the_matrix_says);

const WRITE: &[Scope] = &[Scope::Read, Scope::Write];
/// Lists, which are looked through for what is in the collection.
const LISTS: [&str; 7] = [
    "GET /api/v1/collections",
    "GET /api/v1/sources",
    "GET /api/v1/export",
    "GET /api/v1/posts",
    "GET /api/v1/articles",
    "GET /api/v1/hosts",
    "GET /api/v1/events",
];
/// Requests that never end.
const STREAM: &str = "GET /api/v1/events/stream";

/// A row of the page: its cells by caller, for a shared and a private collection.
type Row = BTreeMap<String, [String; 2]>;

fn matrix() -> BTreeMap<String, Row> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md")).unwrap();
    let table = page.split("<!-- matrix -->").nth(1).unwrap().split("<!-- end").next().unwrap();
    let mut lines = table.lines().filter(|line| line.starts_with('|')).map(|line| {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect::<Vec<String>>()
    });
    let heading = lines.next().unwrap();
    assert_eq!(heading[0], "request");
    let row = |cells: Vec<String>| {
        assert_eq!(cells.len(), heading.len(), "{cells:?}");
        let words = |cell: &str| match cell.split_once('/') {
            Some((shared, private)) => [shared.trim().to_owned(), private.trim().to_owned()],
            None => [cell.to_owned(), cell.to_owned()],
        };
        let callers = heading.iter().zip(&cells).skip(1);
        (cells[0].clone(), callers.map(|(caller, cell)| (caller.clone(), words(cell))).collect())
    };
    lines.skip(1).map(row).collect()
}

/// A collection with a source, a post, an article and an event.
struct Collection {
    id: i64,
    source: i64,
    post: i64,
    article: i64,
    server: Server,
    /// In all that is in it, and nowhere else.
    marker: String,
}

struct Scene {
    api: Api,
    collections: [Collection; 2],
    elsewhere: i64,
    webhook: i64,
    delivery: i64,
    feed: Server,
    made: std::cell::Cell<u32>,
}

fn id(answer: &Answer, status: u16) -> i64 {
    answer.is(status)["id"].as_i64().unwrap()
}

impl Scene {
    async fn new(db: Database) -> Self {
        let api = Api::with(db, &["api.requests_per_minute=100000"]).await;
        let owner = api.token_of("owner", "setting up", WRITE, None).await;
        let mut collections = Vec::new();
        for (private, ip) in [(false, [127, 0, 0, 31]), (true, [127, 0, 0, 32])] {
            collections.push(Collection::new(&api, &owner, private, ip).await);
        }
        let made =
            api.ask_as(&owner, Method::POST, "/collections", Some(json!({ "name": "elsewhere" }))).await;
        let elsewhere = id(&made, 201);
        let feed = Server::start().await;
        feed.on("/feed", Reply::ok("<rss version='2.0'><channel><title>F</title></channel></rss>"));
        let hook =
            json!({ "name": "hook", "url": feed.url("/hook").as_str(), "events": ["import.finished"] });
        let webhook = id(&api.ask_as(&owner, Method::POST, "/webhooks", Some(hook)).await, 201);
        let tested = api.ask_as(&owner, Method::POST, &format!("/webhooks/{webhook}/test"), None).await;
        let delivery = id(&tested, 200);
        let collections = collections.try_into().ok().unwrap();
        while api.db.store.number_events(1000).await.unwrap() > 0 {}
        Self { api, collections, elsewhere, webhook, delivery, feed, made: Default::default() }
    }

    /// A name that nothing has.
    fn name(&self) -> String {
        self.made.set(self.made.get() + 1);
        format!("name-{}", self.made.get())
    }

    async fn token(&self, caller: &str, collection: i64) -> Option<String> {
        let name = self.name();
        let of = async |user, scopes, limits| Some(self.api.token_of(user, &name, scopes, limits).await);
        match caller {
            "none" => None,
            "reader" => of("other", &[Scope::Read], None).await,
            "writer" => of("other", WRITE, None).await,
            "owner" => of("owner", WRITE, None).await,
            "admin" => of("admin", WRITE, None).await,
            "here" => of("owner", WRITE, Some(&[collection][..])).await,
            "elsewhere" => of("owner", WRITE, Some(&[self.elsewhere][..])).await,
            other => panic!("there is no caller {other}"),
        }
    }

    /// Sends one request and says what became of it, in a word of the matrix.
    async fn try_one(&self, request: &str, caller: &str, place: usize) -> &'static str {
        let at = &self.collections[place];
        let token = self.token(caller, at.id).await;
        let (method, path, body) = self.request(request, caller, at).await;
        if request == STREAM {
            return word(request, self.api.status_of(&path, token.as_deref()).await, "", at);
        }
        let bearer = format!("Bearer {}", token.unwrap_or_default());
        let headers: &[(&str, &str)] = if caller == "none" { &[] } else { &[("authorization", &bearer)] };
        let answer = self.api.ask(method, &path, body, headers).await;
        word(request, answer.status, &answer.text, at)
    }

    /// The request itself, which would be carried out for whoever may do so.
    async fn request(&self, request: &str, caller: &str, at: &Collection) -> (Method, String, Option<Value>) {
        let (method, path) = request.split_once(' ').unwrap();
        let user = match caller {
            "reader" | "writer" => "other",
            "admin" => "admin",
            _ => "owner",
        };
        let url = |name: String| at.server.url(&format!("/{name}")).to_string();
        let (mut in_place, mut name) = (at.id, "x".to_owned());
        let body = match request {
            "POST /api/v1/login" => {
                Some(json!({ "code": self.api.service.login_code("owner").await.unwrap().secret.expose() }))
            }
            "POST /api/v1/collections" => Some(json!({ "name": self.name() })),
            "PATCH /api/v1/collections/{id}" => Some(json!({})),
            "POST /api/v1/sources" | "POST /api/v1/sources/find" => {
                Some(json!({ "url": url(self.name()), "kind": "website", "collection_id": at.id }))
            }
            "POST /api/v1/sources/bulk" => Some(json!({ "ids": [at.source], "action": "enable" })),
            "POST /api/v1/sources/latest-polls" => Some(json!({ "ids": [at.source] })),
            "PATCH /api/v1/sources/{id}" => Some(json!({ "name": self.name() })),
            "PATCH /api/v1/sources/{id}/feed-disable" => Some(json!({ "reason": "tried" })),
            "PATCH /api/v1/sources/{id}/feed-enable" => Some(json!({})),
            "POST /api/v1/try" => Some(json!({ "url": self.feed.url("/feed").as_str() })),
            "POST /api/v1/replay" => Some(
                json!({ "policy": "standard", "since": "2026-01-01T00:00:00Z", "source_ids": [at.source] }),
            ),
            "POST /api/v1/articles" => {
                Some(json!({ "title": at.marker, "body": "text", "post_ids": [at.post] }))
            }
            "PATCH /api/v1/articles/{id}" => Some(json!({ "is_processed": true })),
            "POST /api/v1/events/replay" => Some(json!({ "since": "2026-01-01T00:00:00Z" })),
            "POST /api/v1/import" => Some(json!({ "url": at.server.url("/list").as_str() })),
            "POST /api/v1/webhooks" => {
                Some(json!({ "name": self.name(), "url": self.feed.url("/hook").as_str() }))
            }
            "PATCH /api/v1/webhooks/{id}" => Some(json!({})),
            "PUT /api/v1/keys/{service}" => Some(json!({ "key": "secret" })),
            "POST /api/v1/tokens" | "POST /api/v1/feed-tokens" => Some(json!({ "name": self.name() })),
            "POST /api/v1/users" => Some(json!({ "name": self.name() })),
            "PUT /api/v1/users/{name}/oidc" => Some(json!({ "subject": self.name() })),
            "PUT /api/v1/users/{name}/password" => Some(json!({ "password": "long enough for it" })),
            _ => None,
        };
        // What is to be deleted is made for it.
        match request {
            "DELETE /api/v1/sources/{id}" => {
                let new = json!({ "url": url(self.name()), "kind": "website", "collection_id": at.id });
                in_place = id(&self.api.post("/sources", new).await, 201);
            }
            "DELETE /api/v1/tokens/{name}" => {
                name = self.name();
                self.api.token_of(user, &name, WRITE, None).await;
            }
            "DELETE /api/v1/feed-tokens/{name}" => {
                name = self.name();
                let actor = self.api.service.local_as(user).await.unwrap();
                self.api.service.by(&actor).create_feed_token(&name).await.unwrap();
            }
            "DELETE /api/v1/keys/{service}" => {
                let actor = self.api.service.local_as(user).await.unwrap();
                let key = gleaner::config::secret::Secret::new("secret");
                self.api.service.by(&actor).set_key(user, "x", &key).await.unwrap();
            }
            "DELETE /api/v1/webhooks/{id}" => {
                let owner = self.api.token_of("owner", &self.name(), WRITE, None).await;
                let new = json!({ "name": self.name(), "url": self.feed.url("/hook").as_str() });
                in_place = id(&self.api.ask_as(&owner, Method::POST, "/webhooks", Some(new)).await, 201);
            }
            _ if path.contains("/users/") => {
                name = self.name();
                self.api.post("/users", json!({ "name": name })).await.is(201);
            }
            _ if path.contains("/policies/") => name = "standard".to_owned(),
            _ if path.contains("/webhooks/") => in_place = self.webhook,
            _ if path.contains("/sources/") => in_place = at.source,
            _ if path.contains("/posts/") => in_place = at.post,
            _ if path.contains("/articles/") => in_place = at.article,
            _ => {}
        }
        let mut path = path
            .replace("{id}", &in_place.to_string())
            .replace("{delivery}", &self.delivery.to_string())
            .replace("{service}", "x")
            .replace("{name}", &name);
        if path.ends_with("/import") {
            path = format!("{path}?collection_id={}", at.id);
        }
        if LISTS.contains(&request) && !path.ends_with("/export") && !path.ends_with("/collections") {
            path.push_str("?limit=500");
        }
        (method.parse().unwrap(), path, body)
    }
}

impl Collection {
    async fn new(api: &Api, owner: &str, private: bool, ip: [u8; 4]) -> Self {
        let server = Server::start_on(ip).await;
        let marker = server.address().ip().to_string();
        let item = format!("<item><guid>1</guid><title>{marker}</title><description>t</description></item>");
        server.on("/feed", Reply::ok(format!("<rss version='2.0'><channel>{item}</channel></rss>")));
        let list = format!("<opml><body><outline xmlUrl=\"{}\"/></body></opml>", server.url("/listed"));
        server.on("/list", Reply::ok(list));
        let post = async |path: &str, body| api.ask_as(owner, Method::POST, path, Some(body)).await;
        let named = json!({ "name": format!("collection of {marker}"), "private": private });
        let collection = id(&post("/collections", named).await, 201);
        let new =
            json!({ "url": server.url("/feed").as_str(), "collection_id": collection, "backfill": true });
        let source = id(&post("/sources", new).await, 201);
        post(&format!("/sources/{source}/poll?wait=true"), json!({})).await.is(200);
        let found = api.ask_as(owner, Method::GET, &format!("/posts?source_id={source}"), None).await;
        let post_id = found.is(200)["items"][0]["id"].as_i64().unwrap();
        let article = json!({ "title": marker, "body": "text", "post_ids": [post_id] });
        let article = id(&post("/articles", article).await, 201);
        Self { id: collection, source, post: post_id, article, server, marker }
    }
}

/// What became of a request.
fn word(request: &str, status: u16, text: &str, at: &Collection) -> &'static str {
    let not_there = text.contains("there is no collection") || text.contains("does not exist");
    match status {
        401 => "login",
        403 => "no",
        404 => "hidden",
        422 if not_there => "hidden",
        200 if LISTS.contains(&request) && !text.contains(&at.marker) => "hidden",
        200 if request == "POST /api/v1/sources/latest-polls" && !text.contains("source_id") => "hidden",
        200 if request == "POST /api/v1/sources/bulk" && text.contains("not_found") => "hidden",
        200..=299 | 409 => "yes",
        other => panic!("{request}: {other} {text}"),
    }
}

async fn every_request_is_answered_as_the_matrix_says(db: Database) {
    let matrix = matrix();
    let document = gleaner::web::openapi().to_json().unwrap();
    let document: Value = serde_json::from_str(&document).unwrap();
    let mut known = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = ["get", "post", "put", "patch", "delete"].into_iter();
        known.extend(
            methods
                .filter(|method| item.get(method).is_some())
                .map(|method| format!("{} {path}", method.to_uppercase())),
        );
    }
    let told: BTreeSet<String> = matrix.keys().cloned().collect();
    assert_eq!(told, known, "docs/access.md has a row for every request of the API");
    let scene = Scene::new(db).await;
    let mut wrong = Vec::new();
    for (request, row) in &matrix {
        for (caller, cells) in row {
            for (place, expected) in cells.iter().enumerate() {
                let expected = if expected == "filtered" { "yes" } else { expected };
                let found = scene.try_one(request, caller, place).await;
                if found != expected {
                    let kind = ["shared", "private"][place];
                    wrong.push(format!("{request} by {caller}, {kind}: {found}, not {expected}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
