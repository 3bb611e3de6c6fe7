//! The API as the command line asks it: over HTTP with `--server`, else in this process, on the database itself.
//!
//! Both ways lead through the same routes, so there is one set of rules and one set of answers. Absent on purpose:
//! anything that knows what a request is about.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request};
use bytes::Bytes;
use serde_json::Value;
use tower::ServiceExt as _;
use url::Url;
use url::form_urlencoded::Serializer;

use super::failure::Failure;
use super::remote::Remote;
use crate::config::Config;
use crate::service::{Actor, Service};
use crate::web::{self, Web};

/// How many of a list are asked for at once.
const PAGE: usize = 500;
/// Our own answers are no larger.
const LARGEST: usize = 1 << 30;

/// What is sent along.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    /// Nothing.
    Nothing,
    /// JSON.
    Json(Value),
    /// A file of this type.
    File(&'static str, Bytes),
}

/// A way to the API.
pub(super) struct Client {
    way: Way,
    /// Where people reach it with a browser.
    base: String,
}

enum Way {
    Local(Router, Arc<Service>, Actor),
    Remote(Remote),
}

impl Client {
    /// On the database that config names, as its first admin.
    pub(super) async fn local(config: &Config) -> Result<Self, Failure> {
        let service = Service::open(config.clone()).await?;
        let actor = service.local().await?;
        Ok(Self::with(service, actor))
    }

    /// The same as another user.
    pub(super) async fn local_as(config: &Config, user: &str) -> Result<Self, Failure> {
        let service = Service::open(config.clone()).await?;
        let actor = service.local_as(user).await?;
        Ok(Self::with(service, actor))
    }

    fn with(service: Service, actor: Actor) -> Self {
        let (base, service) = (base(service.config()), Arc::new(service));
        let router = web::local(&Web { service: Arc::clone(&service) }, actor.clone());
        Self { way: Way::Local(router, service, actor), base }
    }

    /// Over HTTP, to a gleaner that runs there.
    pub(super) fn remote(server: Url, token: &str) -> Result<Self, Failure> {
        let base = server.as_str().trim_end_matches('/').to_owned();
        Ok(Self { way: Way::Remote(Remote::new(&base, token)?), base })
    }

    /// Where people reach it with a browser, without a slash at the end.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// The way over HTTP, for what is no single answer.
    pub(super) const fn over_http(&self) -> Option<&Remote> {
        match &self.way {
            Way::Local(..) => None,
            Way::Remote(remote) => Some(remote),
        }
    }

    /// The service in this process, and who uses it; none with `--server`.
    pub(super) const fn in_process(&self) -> Option<(&Arc<Service>, &Actor)> {
        match &self.way {
            Way::Local(_, service, actor) => Some((service, actor)),
            Way::Remote(_) => None,
        }
    }

    /// Does what a server does all the time, and where there is none nobody does: events get their order, posts are
    /// found by their words.
    pub(super) async fn catch_up(&self) -> Result<(), Failure> {
        match &self.way {
            Way::Local(_, service, _) => Ok(service.catch_up().await?),
            Way::Remote(_) => Ok(()),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::GET, path, Sent::Nothing).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.ask(Method::POST, path, Sent::Json(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.ask(Method::PATCH, path, Sent::Json(body)).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.ask(Method::PUT, path, Sent::Json(body)).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::DELETE, path, Sent::Nothing).await
    }

    /// A request below `/api/v1`, and its answer as JSON; null where it has none.
    pub(super) async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<Value, Failure> {
        let body = self.bytes(method, path, sent).await?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|error| {
            Failure::Failed(format!("{}{path} answered, but not with JSON: {error}", self.base))
        })
    }

    /// A request below `/api/v1`, and its answer as it is.
    pub(super) async fn bytes(&self, method: Method, path: &str, sent: Sent) -> Result<Bytes, Failure> {
        let path = format!("/api/v1{path}");
        let (status, body) = match &self.way {
            Way::Local(router, ..) => local(router.clone(), method, &path, sent).await?,
            Way::Remote(remote) => remote.ask(method, &path, sent).await?,
        };
        if (200..300).contains(&status) { Ok(body) } else { Err(Failure::of_answer(status, &body)) }
    }

    /// A list, a page at a time.
    pub(super) fn pages<'a>(&'a self, path: &'a str, parameters: &[(&str, String)]) -> Pages<'a> {
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Pages { client: self, path, parameters, size: PAGE, cursor: None, more: true }
    }

    /// All of a list that is known to be short.
    pub(super) async fn all(&self, path: &str) -> Result<Vec<Value>, Failure> {
        let (mut pages, mut all) = (self.pages(path, &[]), Vec::new());
        while let Some(page) = pages.next().await? {
            all.extend(page);
        }
        Ok(all)
    }
}

async fn local(router: Router, method: Method, path: &str, sent: Sent) -> Result<(u16, Bytes), Failure> {
    let request = Request::builder().method(method).uri(path);
    let request = match sent {
        Sent::Nothing => request.body(Body::empty()),
        Sent::Json(value) => request.header(CONTENT_TYPE, "application/json").body(value.to_string().into()),
        Sent::File(kind, bytes) => request.header(CONTENT_TYPE, kind).body(bytes.into()),
    };
    let failed = |error: &dyn std::fmt::Display| Failure::Failed(format!("{path} cannot be asked: {error}"));
    let request = request.map_err(|error| failed(&error))?;
    // A router answers everything.
    let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), LARGEST).await.map_err(|error| failed(&error))?;
    Ok((status, body))
}

/// The pages of a list.
pub(super) struct Pages<'a> {
    client: &'a Client,
    path: &'a str,
    parameters: Vec<(String, String)>,
    size: usize,
    cursor: Option<String>,
    more: bool,
}

impl Pages<'_> {
    /// The same with at most so many a page.
    pub(super) fn of(mut self, size: usize) -> Self {
        self.size = size.clamp(1, PAGE);
        self
    }

    /// Whether there are further pages.
    pub(super) const fn has_more(&self) -> bool {
        self.more
    }

    /// The next page; none after the last.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        if !self.more {
            return Ok(None);
        }
        let mut query = Serializer::new(String::new());
        query.extend_pairs(&self.parameters).append_pair("limit", &self.size.to_string());
        if let Some(cursor) = &self.cursor {
            query.append_pair("cursor", cursor);
        }
        let mut page = self.client.get(&format!("{}?{}", self.path, query.finish())).await?;
        self.cursor = match page.get("next_cursor") {
            Some(Value::String(cursor)) => Some(cursor.clone()),
            Some(Value::Number(cursor)) => Some(cursor.to_string()),
            _ => None,
        };
        self.more = self.cursor.is_some();
        match page.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(Some(items)),
            _ => Err(Failure::Failed(format!("{}: the answer is no list", self.path))),
        }
    }
}

/// A text as part of a path.
pub(super) fn segment(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
        // A name of dots alone would be a step in the path.
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// Parameters as they stand behind a path; nothing where there are none.
pub(super) fn query(parameters: &[(&str, String)]) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    format!("?{}", Serializer::new(String::new()).extend_pairs(parameters).finish())
}

/// Where people reach what this config serves.
pub(super) fn base(config: &Config) -> String {
    let public = config.api.public_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned());
    public.unwrap_or_else(|| format!("http://{}", config.api.listen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_paths() {
        assert_eq!(segment("a b/ü.."), "a%20b%2F%C3%BC%2E%2E");
        assert_eq!(query(&[]), "");
        assert_eq!(query(&[("q", "a&b c".into())]), "?q=a%26b+c");
    }
}
