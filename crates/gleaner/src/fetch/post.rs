//! Sends POST requests to webhook targets, with the same checks and limits as fetches.
//!
//! Redirects are not followed, since they would send the body to another recipient, and responses are not returned.

use std::time::Duration;

use bytes::Bytes;
use gleaner_core::classify::Fault;
use gleaner_core::time::{Span, Time};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use url::Url;

use super::types::FetchError;
use super::{Fetcher, body, redirect};

/// How much of a response is read, so that its connection can be reused.
const MAX_RESPONSE_BYTES: u64 = 64 << 10;
/// How long reading it may take.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostRequest {
    pub url: Url,
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

impl Fetcher {
    /// Sends a request, and returns the status if it is a success. If a reused connection was already closed, it is
    /// sent again, so that receivers must detect duplicates.
    pub async fn post(&self, post: &PostRequest, now: Time) -> Result<u16, FetchError> {
        let sent = async {
            let build = |client: &reqwest::Client| build(client, post);
            let answer = self.send_checked(&post.url, true, build).await?;
            let status = answer.status();
            let _ =
                tokio::time::timeout(MAX_RESPONSE_TIME, body::read(answer, MAX_RESPONSE_BYTES, Span::ZERO))
                    .await;
            match status.as_u16() {
                status @ 200..=299 => Ok(status),
                status if redirect::is_redirect(status) => {
                    let fault =
                        Fault::Other(format!("redirect {status}, which is not followed; use its target"));
                    Err(FetchError { status: Some(status), ..fault.into() })
                }
                status => Err(Fault::Status(status).into()),
            }
        };
        self.with_timeout(now, sent).await
    }
}

fn build(client: &reqwest::Client, post: &PostRequest) -> Result<reqwest::RequestBuilder, Fault> {
    let mut builder = client.post(post.url.clone()).header(CONTENT_TYPE, post.content_type);
    for (name, value) in &post.headers {
        let unfit = || Fault::Internal(format!("the header {name} cannot be sent"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        builder = builder.header(name, HeaderValue::from_str(value).map_err(|_| unfit())?);
    }
    Ok(builder.body(post.body.clone()))
}
