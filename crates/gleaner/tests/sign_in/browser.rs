//! A browser without script: it keeps cookies by origin and path, and follows no redirect by itself.

use std::collections::BTreeMap;
use std::net::IpAddr;

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Method, StatusCode};
use url::Url;

pub(super) struct Browser {
    client: reqwest::Client,
    /// By origin, path and name.
    cookies: BTreeMap<(String, String, String), String>,
    /// Sent with every request.
    pub(super) headers: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Page {
    #[track_caller]
    pub(super) fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{} {}", self.url, self.text);
        self
    }

    #[track_caller]
    pub(super) fn has(self, text: &str) -> Self {
        assert!(self.text.contains(text), "{text:?} is not at {} in:\n{}", self.url, self.text);
        self
    }

    /// Where it leads on to.
    pub(super) fn to(&self) -> Option<Url> {
        let to = self.headers.get(LOCATION)?.to_str().unwrap();
        Some(self.url.join(to).unwrap())
    }

    #[track_caller]
    pub(super) fn between(&self, before: &str, after: &str) -> String {
        let (_, rest) =
            self.text.split_once(before).unwrap_or_else(|| panic!("no {before:?} in:\n{}", self.text));
        rest.split_once(after).unwrap().0.to_owned()
    }

    /// The token that forms of this page carry.
    #[track_caller]
    pub(super) fn form_token(&self) -> String {
        self.between("name=\"form_token\" value=\"", "\"")
    }

    /// The cookies that it sets, as `name=value`.
    pub(super) fn cookies(&self) -> Vec<String> {
        let all = self.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap());
        all.map(|cookie| cookie.split(';').next().unwrap().to_owned()).collect()
    }
}

impl Browser {
    pub(super) fn new() -> Self {
        Self::from(None)
    }

    /// One whose requests come from that address of this machine.
    pub(super) fn at(address: &str) -> Self {
        Self::from(Some(address.parse().unwrap()))
    }

    fn from(address: Option<IpAddr>) -> Self {
        // Only the first of a process's tests installs it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        #[expect(clippy::disallowed_methods, reason = "a browser of the dashboard, not of the world")]
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let client = builder.local_address(address).build().unwrap();
        Self { client, cookies: BTreeMap::new(), headers: Vec::new() }
    }

    /// The same, with a header on every request.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) async fn get(&mut self, url: &str) -> Page {
        self.send(Method::GET, url, None, &[]).await
    }

    pub(super) async fn post(&mut self, url: &str, form: &[(&str, &str)]) -> Page {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.send(Method::POST, url, Some(body), &[kind]).await
    }

    pub(super) async fn send(
        &mut self,
        method: Method,
        url: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Page {
        let url = Url::parse(url).unwrap();
        let mut request = self.client.request(method, url.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let origin = url.origin().ascii_serialization();
        let sent =
            self.cookies.iter().filter(|((of, path, _), _)| *of == origin && url.path().starts_with(path));
        let sent = sent.map(|((_, _, name), value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        if !sent.is_empty() {
            request = request.header(COOKIE, sent);
        }
        let answer = request.body(body.unwrap_or_default()).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let page = Page { url, status, headers, text: answer.text().await.unwrap() };
        self.keep(&origin, &page);
        page
    }

    fn keep(&mut self, origin: &str, page: &Page) {
        for cookie in page.headers.get_all(SET_COOKIE).iter().map(|value| value.to_str().unwrap()) {
            let mut parts = cookie.split(';').map(str::trim);
            let (name, value) = parts.next().unwrap().split_once('=').unwrap();
            let path = parts.find_map(|part| {
                part.to_ascii_lowercase().strip_prefix("path=").map(|_| part[5..].to_owned())
            });
            let key = (origin.to_owned(), path.unwrap_or_else(|| "/".to_owned()), name.to_owned());
            if value.is_empty() {
                self.cookies.remove(&key);
            } else {
                self.cookies.insert(key, value.to_owned());
            }
        }
    }

    /// The value of a cookie of that name, of whatever origin.
    pub(super) fn cookie(&mut self, name: &str) -> Option<&mut String> {
        self.cookies.iter_mut().find(|((_, _, of), _)| of == name).map(|(_, value)| value)
    }
}
