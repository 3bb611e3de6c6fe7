//! The HTTP client: sends one request, following redirects, within its limits.

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

use super::guard::{self, AllowedNetworks};
use super::headers::{self, Hints};
use super::redirect::{self, RedirectChain};
use super::resolve::Resolver;
use super::tls::{self, CertificateClock};
use super::types::{Credential, FetchError, Request, Response};
use super::{body, fault, robots_cache};
use crate::config;

/// How long an idle connection is kept. Servers often close connections soon after that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Where two limits are equal, the inner one should expire first, so that the fault names the phase that stalled.
const INNER_LIMIT_MARGIN: Span = Span::from_millis(20);

/// Replacements for parts of the network environment, mostly for tests and the demo.
#[derive(Debug, Clone, Default)]
pub struct NetworkOverrides {
    /// The name server to use instead of the system's.
    pub name_server: Option<SocketAddr>,
    /// Host names that are resolved without a name server, like a hosts file, each with the port that replaces the
    /// URL's default port. If not empty, no other names exist. Their addresses are checked like all others.
    pub names: BTreeMap<String, SocketAddr>,
    /// Certificates trusted in addition to Mozilla's roots.
    pub extra_roots: Vec<CertificateDer<'static>>,
}

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClientSetupError {
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the system's name servers cannot be read: {0}; check /etc/resolv.conf")]
    NameServers(#[from] NetError),
    #[error("the HTTP client cannot be set up: {0}; check fetch.proxy")]
    Client(#[source] reqwest::Error),
}

/// Fetches documents. There is one per process: it keeps connections, DNS answers and TLS sessions.
pub struct Fetcher {
    /// Reuses connections.
    pooled: reqwest::Client,
    /// Opens a new connection for every request.
    fresh: reqwest::Client,
    resolver: Resolver,
    allow: Arc<AllowedNetworks>,
    now: Arc<CertificateClock>,
    timeout: Span,
    pub(super) connect_timeout: Span,
    max_body_bytes: u64,
    max_redirects: u32,
    proxied: bool,
    pub(super) robots: robots_cache::Cache,
}

tokio::task_local! {
    /// Whether this request opened a new connection; requests connect within their own task.
    static CONNECTED: Arc<AtomicBool>;
}

impl Fetcher {
    pub fn new(
        config: &config::Fetch,
        network_overrides: &NetworkOverrides,
    ) -> Result<Self, ClientSetupError> {
        let allow = Arc::new(AllowedNetworks::new(config.allow_private_networks.clone()));
        let now = Arc::new(CertificateClock::default());
        let tls = tls::config(&network_overrides.extra_roots, Arc::clone(&now))?;
        let proxy = config.proxy.as_ref().map(|proxy| proxy.expose());
        let resolver = Resolver::new(
            network_overrides,
            Arc::clone(&allow),
            config.dns_timeout,
            proxy.and_then(Url::host_str),
        )?;
        let build = |idle: usize| -> Result<reqwest::Client, ClientSetupError> {
            let mut builder = builder(config, tls.clone(), resolver.clone()).pool_max_idle_per_host(idle);
            if let Some(proxy) = proxy {
                builder = builder.proxy(reqwest::Proxy::all(proxy.clone()).map_err(client_error)?);
            }
            builder.build().map_err(client_error)
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

    /// Resolves a host name as a fetch would.
    pub async fn resolve(&self, host: &str) -> Result<Vec<std::net::IpAddr>, FetchError> {
        Ok(self.resolver.checked_addresses(host).await?)
    }

    pub async fn fetch(&self, request: &Request, now: Time) -> Result<Response, FetchError> {
        self.with_timeout(now, self.follow_redirects(request, now)).await
    }

    /// Runs a network operation at this time, within the limit for a whole request.
    pub(super) async fn with_timeout<T>(
        &self,
        now: Time,
        request: impl Future<Output = Result<T, FetchError>>,
    ) -> Result<T, FetchError> {
        self.now.set(now);
        let end = at_least_sum(self.timeout, &[self.connect_timeout, INNER_LIMIT_MARGIN, INNER_LIMIT_MARGIN]);
        match tokio::time::timeout(end, request).await {
            Ok(result) => result,
            Err(_) => Err(Fault::Timeout { phase: Phase::Request, limit: self.timeout }.into()),
        }
    }

    /// Follows redirects to the final response.
    async fn follow_redirects(&self, request: &Request, now: Time) -> Result<Response, FetchError> {
        let mut chain = RedirectChain::new(&request.url, self.max_redirects);
        let mut retry_after = None;
        loop {
            let answer = self
                .request_current(request, &chain)
                .await
                .map_err(|fault| FetchError { retry_after, ..fault.into() })?;
            let status = answer.status().as_u16();
            let hints = Hints::read(status, answer.headers(), now);
            retry_after = retry_after.max(hints.retry_after);
            let failed = |fault| FetchError { fault, status: Some(status), retry_after };
            if redirect::is_redirect(status) {
                let location = answer.headers().get(LOCATION).map(HeaderValue::as_bytes);
                chain.follow(status, location).map_err(failed)?;
                continue;
            }
            let hints = Hints { retry_after, ..hints };
            return self.receive(request, chain, answer, hints).await.map_err(failed);
        }
    }

    /// Reads the document of a final response.
    async fn receive(
        &self,
        request: &Request,
        chain: RedirectChain,
        answer: reqwest::Response,
        hints: Hints,
    ) -> Result<Response, Fault> {
        let status = answer.status().as_u16();
        let not_modified = status == 304;
        match status {
            // Other 2xx statuses have no document (204, 205), none yet (202, which some bot walls send), or only a
            // part (206).
            200 | 203 => {}
            304 if !request.validators.is_empty() => {}
            304 => {
                return Err(Fault::Other(
                    "304 Not Modified in answer to an unconditional request".to_owned(),
                ));
            }
            401 if request.credential.is_some() && !chain.keeps_origin() => {
                let origin = chain.current().origin().ascii_serialization();
                return Err(Fault::Unauthorized(format!(
                    "401 Unauthorized: it is redirected to {origin}, and its credentials are sent to its own origin only"
                )));
            }
            _ => return Err(Fault::Status(status)),
        }
        let url = chain.current().clone();
        let validators = headers::validators(answer.headers());
        let content_type = headers::raw(answer.headers(), &CONTENT_TYPE).unwrap_or_default();
        let cap = request.max_body_bytes.map_or(self.max_body_bytes, |cap| cap.min(self.max_body_bytes));
        let (body, wire_bytes) = if not_modified {
            (bytes::Bytes::new(), 0)
        } else {
            let body = body::read(answer, cap, self.connect_timeout).await?;
            (body.bytes, body.wire_bytes)
        };
        let hops = chain.hops;
        Ok(Response { status, url, hops, validators, content_type, hints, body, wire_bytes, not_modified })
    }

    /// Sends the request to the current URL of the redirect chain.
    async fn request_current(
        &self,
        request: &Request,
        chain: &RedirectChain,
    ) -> Result<reqwest::Response, Fault> {
        let build = |client: &reqwest::Client| self.build(client, request, chain);
        self.send_checked(chain.current(), request.keep_connection, build).await
    }

    /// Sends a request after checking its URL, and checks the address that it connected to.
    pub(super) async fn send_checked(
        &self,
        url: &Url,
        keep_connection: bool,
        build: impl Fn(&reqwest::Client) -> Result<reqwest::RequestBuilder, Fault>,
    ) -> Result<reqwest::Response, Fault> {
        let blocked = |why: guard::AddressRefused| Fault::Blocked(why.to_string());
        guard::check_url(url, &self.allow).map_err(blocked)?;
        let answer = self.send(keep_connection, build).await?;
        // Behind a proxy the remote address is the proxy's, and says nothing about the document's host.
        if let Some(address) = answer.remote_addr().filter(|_| !self.proxied) {
            self.allow.check(address.ip()).map_err(blocked)?;
        }
        headers::check_size(answer.headers())?;
        Ok(answer)
    }

    /// Sends a request, and repeats it on a new connection if a reused one was already closed.
    async fn send(
        &self,
        keep_connection: bool,
        build: impl Fn(&reqwest::Client) -> Result<reqwest::RequestBuilder, Fault>,
    ) -> Result<reqwest::Response, Fault> {
        let client = if keep_connection { &self.pooled } else { &self.fresh };
        let (connected, sent) = with_connection_flag(build(client)?).await;
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
        Err(fault::from_reqwest(&error, self.connect_timeout))
    }

    fn build(
        &self,
        client: &reqwest::Client,
        request: &Request,
        chain: &RedirectChain,
    ) -> Result<reqwest::RequestBuilder, Fault> {
        let mut builder = client
            .get(chain.current().clone())
            .header(ACCEPT, &request.accept)
            .header(ACCEPT_ENCODING, body::ACCEPTED);
        let validators = &request.validators;
        for (name, value) in
            [(IF_NONE_MATCH, &validators.etag), (IF_MODIFIED_SINCE, &validators.last_modified)]
        {
            // Values received in a header are valid in a header; others cannot be sent.
            if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_bytes(value).ok()) {
                builder = builder.header(name, value);
            }
        }
        match request.credential.as_ref().filter(|_| chain.keeps_origin()) {
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

/// Sends a request, and returns whether it opened a connection.
fn with_connection_flag(
    builder: reqwest::RequestBuilder,
) -> impl Future<Output = (bool, reqwest::Result<reqwest::Response>)> {
    let connected = Arc::new(AtomicBool::new(false));
    CONNECTED.scope(Arc::clone(&connected), async move {
        let sent = builder.send().await;
        (connected.load(Ordering::Relaxed), sent)
    })
}

fn flag_connection<T>(connection: T) -> T {
    // Connections outside `with_connection_flag` are not recorded.
    let _ = CONNECTED.try_with(|connected| connected.store(true, Ordering::Relaxed));
    connection
}

#[expect(clippy::disallowed_methods, reason = "this is the one client, and the guard is before it")]
fn builder(config: &config::Fetch, tls: rustls::ClientConfig, resolver: Resolver) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(user_agent(config.contact.as_deref()))
        .tls_backend_preconfigured(tls)
        .dns_resolver(resolver)
        .connector_layer(MapResponseLayer::new(flag_connection))
        .connect_timeout(at_least_sum(config.connect_timeout, &[config.dns_timeout, INNER_LIMIT_MARGIN]))
        .pool_idle_timeout(IDLE_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        // Never use a proxy from the environment.
        .no_proxy()
        .http1_max_headers(headers::MAX_HEADERS)
        .http2_max_header_list_size(headers::MAX_HTTP2_HEADER_BYTES)
        // Accept malformed headers as browsers do; some feeds depend on it.
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
}

/// `gleaner/0.1.0 (+URL; contact)`, as far as they are set.
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

/// The limit, or the sum of the inner limits if that is longer.
fn at_least_sum(limit: Span, inner: &[Span]) -> Duration {
    let inner = inner.iter().fold(0_u64, |sum, span| sum.saturating_add(span.as_millis()));
    Duration::from_millis(limit.as_millis().max(inner))
}

fn client_error(error: reqwest::Error) -> ClientSetupError {
    // A proxy URL may contain a password.
    ClientSetupError::Client(error.without_url())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_agent_includes_the_contact() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(user_agent(None), format!("gleaner/{version}"));
        assert_eq!(user_agent(Some("me@a.example")), format!("gleaner/{version} (me@a.example)"));
        assert_eq!(
            user_agent(Some("https://a.example/bot")),
            format!("gleaner/{version} (+https://a.example/bot)")
        );
    }
}
