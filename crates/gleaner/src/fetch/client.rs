//! The client itself: one request, hop by hop, within its limits.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gleaner_core::classify::{Fault, Phase};
use gleaner_core::time::{Span, Time};
use hickory_resolver::net::NetError;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LOCATION,
};
use rustls::pki_types::CertificateDer;
use tower::util::MapResponseLayer;
use url::Url;

use super::guard::{self, Allow};
use super::headers::{self, Hints};
use super::redirect::{self, Trail};
use super::resolve::Resolver;
use super::tls::{self, Now};
use super::types::{Credential, Failed, Request, Response};
use super::{body, fault, robots_cache};
use crate::config;

/// How long an unused connection is kept: longer, and servers close it while we ask.
const IDLE: Duration = Duration::from_secs(10);

/// Where two limits are the same, the inner one is to pass first, so that the fault names what was stalled.
const INNER_FIRST: Span = Span::from_millis(20);

/// What the client takes from outside besides its settings.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// The name server to ask; none: those that the system is configured with.
    pub name_server: Option<SocketAddr>,
    /// The only names there are, like a hosts file, each with the port that stands for the usual one; empty: name
    /// servers are asked. What is reached so is guarded like everything else.
    pub names: BTreeMap<String, SocketAddr>,
    /// Certificates trusted besides Mozilla's roots.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// A certificate that was to be trusted, or the TLS settings.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// The system's name servers.
    #[error("the system's name servers cannot be read: {0}; look at /etc/resolv.conf")]
    NameServers(#[from] NetError),
    /// The proxy, or the client as a whole.
    #[error("the HTTP client cannot be set up: {0}; look at fetch.proxy")]
    Client(#[source] reqwest::Error),
}

/// Fetches documents. One for the whole process: it keeps connections, names and TLS sessions.
pub struct Fetcher {
    /// Keeps connections.
    pooled: reqwest::Client,
    /// Makes a new one each time.
    fresh: reqwest::Client,
    resolver: Resolver,
    allow: Arc<Allow>,
    now: Arc<Now>,
    timeout: Span,
    pub(super) connect_timeout: Span,
    max_body_bytes: u64,
    max_redirects: u32,
    proxied: bool,
    /// What robots.txt says, by origin.
    pub(super) robots: robots_cache::Cache,
}

tokio::task_local! {
    /// Whether this request made a connection of its own; requests connect within their own task.
    static CONNECTED: Arc<AtomicBool>;
}

impl Fetcher {
    /// A client with these settings.
    pub fn new(config: &config::Fetch, outside: &Outside) -> Result<Self, Unusable> {
        let allow = Arc::new(Allow::new(config.allow_private_networks.clone()));
        let now = Arc::new(Now::default());
        let tls = tls::config(&outside.extra_roots, Arc::clone(&now))?;
        let proxy = config.proxy.as_ref().map(|proxy| proxy.expose());
        let resolver =
            Resolver::new(outside, Arc::clone(&allow), config.dns_timeout, proxy.and_then(Url::host_str))?;
        let build = |idle: usize| -> Result<reqwest::Client, Unusable> {
            let mut builder = builder(config, tls.clone(), resolver.clone()).pool_max_idle_per_host(idle);
            if let Some(proxy) = proxy {
                builder = builder.proxy(reqwest::Proxy::all(proxy.clone()).map_err(unusable)?);
            }
            builder.build().map_err(unusable)
        };
        Ok(Self {
            pooled: build(2)?,
            fresh: build(0)?,
            resolver,
            allow,
            now,
            timeout: config.timeout,
            connect_timeout: config.connect_timeout,
            max_body_bytes: config.max_body_bytes,
            max_redirects: config.max_redirects,
            proxied: proxy.is_some(),
            robots: robots_cache::Cache::default(),
        })
    }

    /// The private networks that are open, for whoever checks a URL before it is stored.
    pub fn allow(&self) -> &Allow {
        &self.allow
    }

    /// The addresses of a name, as a fetch would find them.
    pub async fn addresses(&self, host: &str) -> Result<Vec<std::net::IpAddr>, Failed> {
        Ok(self.resolver.guarded(host).await?)
    }

    /// Fetches a document, or says why there is none.
    pub async fn fetch(&self, request: &Request, now: Time) -> Result<Response, Failed> {
        self.in_time(now, self.follow(request, now)).await
    }

    /// What is asked of the network at this time, within the limit for a whole request.
    pub(super) async fn in_time<T>(
        &self,
        now: Time,
        request: impl Future<Output = Result<T, Failed>>,
    ) -> Result<T, Failed> {
        self.now.set(now);
        let end = after(self.timeout, &[self.connect_timeout, INNER_FIRST, INNER_FIRST]);
        match tokio::time::timeout(end, request).await {
            Ok(result) => result,
            Err(_) => Err(Fault::Timeout { phase: Phase::Request, limit: self.timeout }.into()),
        }
    }

    /// Goes from hop to hop until there is an answer that is no redirect.
    async fn follow(&self, request: &Request, now: Time) -> Result<Response, Failed> {
        let mut trail = Trail::new(&request.url, self.max_redirects);
        let mut retry_after = None;
        loop {
            let answer =
                self.ask(request, &trail).await.map_err(|fault| Failed { retry_after, ..fault.into() })?;
            let status = answer.status().as_u16();
            let hints = Hints::read(status, answer.headers(), now);
            retry_after = retry_after.max(hints.retry_after);
            let failed = |fault| Failed { fault, status: Some(status), retry_after };
            if redirect::is_redirect(status) {
                let location = answer.headers().get(LOCATION).map(HeaderValue::as_bytes);
                trail.step(status, location).map_err(failed)?;
                continue;
            }
            let hints = Hints { retry_after, ..hints };
            return self.receive(request, trail, answer, hints).await.map_err(failed);
        }
    }

    /// Makes a document of an answer that is one.
    async fn receive(
        &self,
        request: &Request,
        trail: Trail,
        answer: reqwest::Response,
        hints: Hints,
    ) -> Result<Response, Fault> {
        let status = answer.status().as_u16();
        let not_modified = status == 304;
        match status {
            // The rest of the 2xx have no document (204, 205), not yet (202, which some gatekeepers send with a
            // riddle), or not all of it (206).
            200 | 203 => {}
            304 if !request.validators.is_empty() => {}
            304 => {
                return Err(Fault::Other("304 Not Modified, though nothing was said to be known".to_owned()));
            }
            401 if request.credential.is_some() && !trail.is_at_home() => {
                let origin = trail.here().origin().ascii_serialization();
                return Err(Fault::Unauthorized(format!(
                    "401 Unauthorized: it is redirected to {origin}, and its credentials are sent to its own origin only"
                )));
            }
            _ => return Err(Fault::Status(status)),
        }
        let url = trail.here().clone();
        let validators = headers::validators(answer.headers());
        let content_type = headers::raw(answer.headers(), &CONTENT_TYPE).unwrap_or_default();
        let cap = request.max_body_bytes.map_or(self.max_body_bytes, |cap| cap.min(self.max_body_bytes));
        let (body, wire_bytes) = if not_modified {
            (bytes::Bytes::new(), 0)
        } else {
            let body = body::read(answer, cap, self.connect_timeout).await?;
            (body.bytes, body.wire_bytes)
        };
        let hops = trail.hops;
        Ok(Response { status, url, hops, validators, content_type, hints, body, wire_bytes, not_modified })
    }

    /// Asks at the end of the trail.
    async fn ask(&self, request: &Request, trail: &Trail) -> Result<reqwest::Response, Fault> {
        let build = |client: &reqwest::Client| self.build(client, request, trail);
        self.ask_guarded(trail.here(), request.keep_connection, build).await
    }

    /// Sends what is built, behind the guard.
    pub(super) async fn ask_guarded(
        &self,
        url: &Url,
        keep_connection: bool,
        build: impl Fn(&reqwest::Client) -> Result<reqwest::RequestBuilder, Fault>,
    ) -> Result<reqwest::Response, Fault> {
        let blocked = |why: guard::Refused| Fault::Blocked(why.to_string());
        guard::check_url(url, &self.allow).map_err(blocked)?;
        let answer = self.send(keep_connection, build).await?;
        // Behind a proxy the address is the proxy's, and says nothing about where the document is.
        if let Some(address) = answer.remote_addr().filter(|_| !self.proxied) {
            self.allow.check(address.ip()).map_err(blocked)?;
        }
        headers::check_size(answer.headers())?;
        Ok(answer)
    }

    /// Sends, and once more on a new connection if a kept one turns out to be closed.
    async fn send(
        &self,
        keep_connection: bool,
        build: impl Fn(&reqwest::Client) -> Result<reqwest::RequestBuilder, Fault>,
    ) -> Result<reqwest::Response, Fault> {
        let client = if keep_connection { &self.pooled } else { &self.fresh };
        let (connected, sent) = watched(build(client)?).await;
        let error = match sent {
            Ok(answer) => return Ok(answer),
            Err(error) if !connected && fault::is_closed_before_answer(&error) => {
                match build(&self.fresh)?.send().await {
                    Ok(answer) => return Ok(answer),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        Err(fault::of(&error, self.connect_timeout))
    }

    fn build(
        &self,
        client: &reqwest::Client,
        request: &Request,
        trail: &Trail,
    ) -> Result<reqwest::RequestBuilder, Fault> {
        let mut builder = client
            .get(trail.here().clone())
            .header(ACCEPT, &request.accept)
            .header(ACCEPT_ENCODING, body::ACCEPTED);
        let validators = &request.validators;
        for (name, value) in
            [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.last_modified)]
        {
            // What came in a header can be sent in one; the rest never came from a server.
            if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_bytes(value).ok()) {
                builder = builder.header(name, value);
            }
        }
        match request.credential.as_ref().filter(|_| trail.is_at_home()) {
            None => Ok(builder),
            Some(Credential::Basic { user, password }) => {
                Ok(builder.basic_auth(user, Some(password.expose())))
            }
            Some(Credential::Header { name, value }) => {
                let refuse = || Fault::Unauthorized("the source's own header cannot be sent".to_owned());
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
                let mut value = HeaderValue::from_str(value.expose()).map_err(|_| refuse())?;
                value.set_sensitive(true);
                Ok(builder.header(name, value))
            }
        }
    }
}

/// Sends, and says whether a connection was made for it.
fn watched(
    builder: reqwest::RequestBuilder,
) -> impl Future<Output = (bool, reqwest::Result<reqwest::Response>)> {
    let connected = Arc::new(AtomicBool::new(false));
    CONNECTED.scope(Arc::clone(&connected), async move {
        let sent = builder.send().await;
        (connected.load(Ordering::Relaxed), sent)
    })
}

fn note_connection<T>(connection: T) -> T {
    // Outside a watched request nobody wants to know.
    let _ = CONNECTED.try_with(|connected| connected.store(true, Ordering::Relaxed));
    connection
}

#[expect(clippy::disallowed_methods, reason = "this is the one client, and the guard is before it")]
fn builder(config: &config::Fetch, tls: rustls::ClientConfig, resolver: Resolver) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(user_agent(config.contact.as_deref()))
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .connector_layer(MapResponseLayer::new(note_connection))
        .connect_timeout(after(config.connect_timeout, &[config.dns_timeout, INNER_FIRST]))
        .pool_idle_timeout(IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Never one from the environment.
        .no_proxy()
        .http1_max_headers(headers::MAX_HEADERS)
        .http2_max_header_list_size(headers::MAX_HTTP2_HEADER_BYTES)
        // Browsers read on over broken header lines, and so do people's feeds depend on it.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
}

/// `gleaner/0.1.0 (+URL; contact)`, as far as they are known.
fn user_agent(contact: Option<&str>) -> String {
    let home = Some(env!("CARGO_PKG_HOMEPAGE")).filter(|home| !home.is_empty());
    let about: Vec<String> = home
        .into_iter()
        .chain(contact)
        .map(|text| if text.contains("://") { format!("+{text}") } else { text.to_owned() })
        .collect();
    let product = concat!("gleaner/", env!("CARGO_PKG_VERSION"));
    if about.is_empty() { product.to_owned() } else { format!("{product} ({})", about.join("; ")) }
}

/// A limit, or the sum of what has to come first where that is longer.
fn after(limit: Span, inner: &[Span]) -> Duration {
    let inner = inner.iter().fold(0_u64, |sum, span| sum.saturating_add(span.as_millis()));
    Duration::from_millis(limit.as_millis().max(inner))
}

fn unusable(error: reqwest::Error) -> Unusable {
    // A proxy's URL may have a password in it.
    Unusable::Client(error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_says_what_is_known() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(user_agent(None), format!("gleaner/{version}"));
        assert_eq!(user_agent(Some("me@a.example")), format!("gleaner/{version} (me@a.example)"));
        assert_eq!(
            user_agent(Some("https://a.example/bot")),
            format!("gleaner/{version} (+https://a.example/bot)")
        );
    }
}
