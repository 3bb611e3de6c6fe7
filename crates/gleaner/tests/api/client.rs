//! A server of the API on a port of its own, and a client of it.

use std::sync::Arc;

use gleaner::clock::{Clock, ManualClock, RandomSource};
use gleaner::config::{Config, Flag, Inputs};
use gleaner::service::{Actor, By, Scope, Service};
use gleaner::web::{self, Web};
use gleaner_core::time::Span;
use reqwest::Method;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::support::{Database, start};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    /// The body as JSON; null where it is none.
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body, where the status is as expected.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> &Value {
        assert_eq!(self.status, status, "{}", self.text);
        &self.body
    }

    /// The code of a problem with this status.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> &str {
        self.is(status);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text);
        self.body["code"].as_str().unwrap()
    }
}

/// A running API.
pub(crate) struct Api {
    pub(crate) db: Database,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) service: Arc<Service>,
    pub(crate) actor: Actor,
    pub(crate) base: String,
    /// Grants everything.
    pub(crate) token: String,
    client: reqwest::Client,
    stop: Arc<Notify>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Drop for Api {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Api {
    pub(crate) async fn new(db: Database) -> Self {
        Self::with(db, &[]).await
    }

    /// With these settings, `key=value` each.
    pub(crate) async fn with(db: Database, settings: &[&str]) -> Self {
        let clock = Arc::new(ManualClock::new(start()));
        Self::by_clock(db, settings, Arc::clone(&clock), clock).await
    }

    /// By another clock, which may be built on the one that can be set.
    pub(crate) async fn by_clock(
        db: Database,
        settings: &[&str],
        clock: Arc<ManualClock>,
        shown: Arc<dyn Clock>,
    ) -> Self {
        let (config, store) = (config(settings), Arc::clone(&db.store));
        let service = Arc::new(Service::new(store, config, shown, RandomSource::seeded(1)));
        let actor = service.local().await.unwrap();
        let stop = Arc::new(Notify::new());
        let (base, server) = listen("127.0.0.1:0", &service, &stop).await;
        let client = http_client();
        let token = token(&service, &actor, "all", &[Scope::Read, Scope::Write]).await;
        Self { db, clock, service, actor, base, token, client, stop, server }
    }

    /// Stops the server, and waits until it has answered everybody.
    pub(crate) async fn stop(&mut self) {
        self.stop.notify_one();
        (&mut self.server).await.unwrap().unwrap();
    }

    /// Starts another server over the same database, at the same address.
    pub(crate) async fn start_again(&mut self) {
        let (store, clock) = (Arc::clone(&self.db.store), Arc::clone(&self.clock));
        let config = self.service.config().clone();
        self.service = Arc::new(Service::new(store, config, clock, RandomSource::seeded(2)));
        let address = self.base.trim_start_matches("http://").to_owned();
        self.server = listen(&address, &self.service, &self.stop).await.1;
    }

    /// The use cases themselves, to set the scene.
    pub(crate) fn by(&self) -> By<'_> {
        self.service.by(&self.actor)
    }

    /// A token that grants so much.
    pub(crate) async fn token(&self, name: &str, scopes: &[Scope]) -> String {
        token(&self.service, &self.actor, name, scopes).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None, &[]).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(body), &[]).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(body), &[]).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PUT, path, Some(body), &[]).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None, &[]).await
    }

    /// A request with the token that grants everything, below `/api/v1`.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers: Vec<(&str, &str)> =
            headers.iter().copied().chain([("authorization", bearer.as_str())]).collect();
        self.ask(method, &format!("/api/v1{path}"), body, &headers).await
    }

    /// The same with a file of some type, or of none.
    pub(crate) async fn send_file(&self, method: Method, path: &str, kind: &str, file: Vec<u8>) -> Answer {
        let request = self.client.request(method, format!("{}/api/v1{path}", self.base)).body(file);
        let request = if kind.is_empty() { request } else { request.header("content-type", kind) };
        answer(request.bearer_auth(&self.token)).await
    }

    /// An answer that goes on for ever, to a reader with the token that grants everything.
    pub(crate) async fn open(&self, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        let mut request = self.client.get(format!("{}/api/v1{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.bearer_auth(&self.token).send().await.unwrap()
    }

    /// The same with another token.
    pub(crate) async fn open_as(&self, token: &str, path: &str) -> reqwest::Response {
        let request = self.client.get(format!("{}/api/v1{path}", self.base));
        request.bearer_auth(token).send().await.unwrap()
    }

    /// The status of an answer that may go on for ever, to whoever has this token; none: to nobody.
    pub(crate) async fn status_of(&self, path: &str, token: Option<&str>) -> u16 {
        let request = self.client.get(format!("{}{path}", self.base));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.unwrap().status().as_u16()
    }

    /// The same as another user, who is made where there is none of that name: a token that grants so much.
    pub(crate) async fn token_of(
        &self,
        user: &str,
        name: &str,
        scopes: &[Scope],
        limits: Option<&[i64]>,
    ) -> String {
        if self.db.store.user_named(user).await.is_err() {
            self.db.store.create_user(user, false, self.clock.now()).await.unwrap();
        }
        let actor = self.service.local_as(user).await.unwrap();
        let (by, lasts) = (self.service.by(&actor), Span::from_days(30));
        let granted = match limits {
            Some(ids) => by.create_limited_token(name, scopes, ids, lasts).await.unwrap(),
            None => by.create_token(name, scopes, lasts).await.unwrap(),
        };
        granted.secret.expose().to_owned()
    }

    /// A request below `/api/v1` with this token.
    pub(crate) async fn ask_as(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        self.ask(method, &format!("/api/v1{path}"), body, &[("authorization", &bearer)]).await
    }

    /// A request as it is.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        answer(request).await
    }
}

/// Sends a request and reads its whole answer.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::Null);
    Answer { status, headers, body, text }
}

/// A client that follows no redirects.
pub(crate) fn http_client() -> reqwest::Client {
    // Only the first of a process's tests installs it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    #[expect(clippy::disallowed_methods, reason = "a client of the API, not of the world")]
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// Serves at an address until it is told to stop; tells where.
pub(crate) async fn listen(
    address: &str,
    service: &Arc<Service>,
    stop: &Arc<Notify>,
) -> (String, JoinHandle<std::io::Result<()>>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let (web, stopped) = (Web { service: Arc::clone(service) }, Arc::clone(stop));
    let stopping = async move { stopped.notified().await };
    (base, tokio::spawn(async move { web::serve(listener, &web, stopping).await }))
}

async fn token(service: &Service, actor: &Actor, name: &str, scopes: &[Scope]) -> String {
    let granted = service.by(actor).create_token(name, scopes, Span::from_days(30)).await.unwrap();
    granted.secret.expose().to_owned()
}

fn config(settings: &[&str]) -> Config {
    let key = format!("store.key=\"{}\"", "ab".repeat(32));
    let usual = ["fetch.allow_private_networks=[\"127.0.0.0/8\"]", key.as_str()];
    let set = |assignment: &&str| Flag { name: "test".into(), assignment: (*assignment).to_owned() };
    let flags = usual.iter().chain(settings).map(set).collect();
    let env = std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect();
    let inputs = Inputs { file: None, env, flags, read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).unwrap().config
}
