//! A running gleaner, over HTTP.
//!
//! The guard of `fetch` is not for this: whoever names a server on the command line means it, private or not.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use bytes::Bytes;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::client::Sent;
use super::failure::Failure;

const CONNECT: Duration = Duration::from_secs(10);
/// Imports of thousands of sources and polls that are waited for take their time.
const WHOLE: Duration = Duration::from_secs(600);

/// How often, and how long each time, a server is waited for that is asked too often.
const TRIES: u32 = 20;
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// A server and what lets in.
pub(super) struct Remote {
    client: reqwest::Client,
    base: String,
    token: String,
}

impl Remote {
    pub(super) fn new(base: &str, token: &str) -> Result<Self, Failure> {
        let client = client().map_err(|why| Failure::Failed(format!("HTTP cannot be set up: {why}")))?;
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::NotLetIn("the token is empty or holds blanks; it is one word".to_owned()));
        }
        Ok(Self { client, base: base.to_owned(), token: token.to_owned() })
    }

    /// A request, and its status and body. Where the server asks for patience, it has it, for a while.
    pub(super) async fn ask(&self, method: Method, path: &str, sent: Sent) -> Result<(u16, Bytes), Failure> {
        let mut tries = 0;
        loop {
            let request = self.client.request(method.clone(), format!("{}{path}", self.base));
            let request = match sent.clone() {
                Sent::Nothing => request,
                Sent::Json(value) => {
                    request.header("content-type", "application/json").body(value.to_string())
                }
                Sent::File(kind, bytes) => request.header("content-type", kind).body(bytes),
            };
            let response = self.send(request.timeout(WHOLE)).await?;
            let status = response.status().as_u16();
            match patience(&response).filter(|_| status == 429 && tries < TRIES) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => {
                    let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
                    return Ok((status, body));
                }
            }
            tries += 1;
        }
    }

    /// Server-sent events, which have no end.
    pub(super) async fn stream(&self, path: &str) -> Result<reqwest::Response, Failure> {
        let request = self.client.get(format!("{}{path}", self.base)).header("accept", "text/event-stream");
        let response = self.send(request).await?;
        let status = response.status().as_u16();
        if status == 200 {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        Err(Failure::of_answer(status, &body))
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, Failure> {
        request.bearer_auth(&self.token).send().await.map_err(|error| self.unreachable(&error))
    }

    /// Why there was no answer, down to the cause.
    pub(super) fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let why =
            if error.is_timeout() { "it takes too long to answer".to_owned() } else { cause.to_string() };
        Failure::Unreachable(format!("cannot reach gleaner at {}: {why}; does it run there?", self.base))
    }
}

/// How long a server asks to be left alone; none where that is longer than anybody waits.
fn patience(response: &reqwest::Response) -> Option<Duration> {
    let seconds = response.headers().get("retry-after")?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds)).filter(|wait| *wait <= LONGEST_WAIT)
}

/// Redirects are not followed: the token is for that server alone.
fn client() -> Result<reqwest::Client, Box<dyn std::error::Error>> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    #[expect(
        clippy::disallowed_methods,
        reason = "a client of our own API; sources are fetched by fetch alone"
    )]
    let builder = reqwest::Client::builder();
    Ok(builder
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .no_proxy()
        .user_agent(concat!("gleaner/", env!("CARGO_PKG_VERSION")))
        .build()?)
}

/// The address of a server as people write it.
pub(super) fn server(text: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| Failure::Usage(format!("--server {text}: {why}, as in http://127.0.0.1:8080"));
    let url = Url::parse(text).map_err(|_| wrong("it must be a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("it must begin with http:// or https://"));
    }
    if url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        return Err(wrong("it must be the address alone"));
    }
    Ok(url)
}
