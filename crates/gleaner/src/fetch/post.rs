//! Something sent to somebody who asked for it: behind the same guard and within the same limits as what is fetched.
//!
//! Absent on purpose: redirects, which would send a body to somebody who did not ask, and reading answers.

use std::time::Duration;

use bytes::Bytes;
use gleaner_core::classify::Fault;
use gleaner_core::time::{Span, Time};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use url::Url;

use super::types::Failed;
use super::{Fetcher, body, redirect};

/// How much of an answer is read, so that its connection can be used again.
const ANSWER_BYTES: u64 = 64 << 10;
/// How long that may take.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// Where to.
    pub url: Url,
    /// What kind of document it is.
    pub content_type: &'static str,
    /// Headers of its own.
    pub headers: Vec<(&'static str, String)>,
    /// The document.
    pub body: Bytes,
}

impl Fetcher {
    /// Sends a document, and gives the status of an answer that takes it. Where a kept connection turns out to be
    /// closed it is sent again: whoever receives it tells doubles apart.
    pub async fn post(&self, post: &Post, now: Time) -> Result<u16, Failed> {
        let sent = async {
            let build = |client: &reqwest::Client| build(client, post);
            let answer = self.ask_guarded(&post.url, true, build).await?;
            let status = answer.status();
            let _ = tokio::time::timeout(ANSWER_TIME, body::read(answer, ANSWER_BYTES, Span::ZERO)).await;
            match status.as_u16() {
                status @ 200..=299 => Ok(status),
                status if redirect::is_redirect(status) => {
                    let fault =
                        Fault::Other(format!("redirect {status}, which is not followed; name its target"));
                    Err(Failed { status: Some(status), ..fault.into() })
                }
                status => Err(Fault::Status(status).into()),
            }
        };
        self.in_time(now, sent).await
    }
}

fn build(client: &reqwest::Client, post: &Post) -> Result<reqwest::RequestBuilder, Fault> {
    let mut builder = client.post(post.url.clone()).header(CONTENT_TYPE, post.content_type);
    for (name, value) in &post.headers {
        let unfit = || Fault::Internal(format!("the header {name} cannot be sent"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
        builder = builder.header(name, HeaderValue::from_str(value).map_err(|_| unfit())?);
    }
    Ok(builder.body(post.body.clone()))
}
