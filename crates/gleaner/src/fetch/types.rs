//! Requests, responses and errors of the client.

use bytes::Bytes;
use gleaner_core::classify::Fault;
use gleaner_core::outcome::Failure;
use gleaner_core::time::Span;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use super::headers::Hints;
use crate::config::secret::Secret;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Must not contain credentials.
    pub url: Url,
    /// The `Accept` header.
    pub accept: String,
    /// Validators of the document that we have; empty for an unconditional request.
    pub validators: Validators,
    /// Sent only to the origin of `url`.
    pub credential: Option<Credential>,
    /// Limit on the decoded body, below the configured one.
    pub max_body_bytes: Option<u64>,
    /// Whether more requests to the same host will follow soon, so that the connection is kept.
    pub keep_connection: bool,
}

impl Request {
    /// An unconditional request for any type.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            accept: "*/*".to_owned(),
            validators: Validators::default(),
            credential: None,
            max_body_bytes: None,
            keep_connection: true,
        }
    }
}

/// `ETag` and `Last-Modified`, stored byte for byte because only the server interprets them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validators {
    /// Sent back as `If-None-Match`.
    pub etag: Option<Vec<u8>>,
    /// Sent back as `If-Modified-Since`.
    pub last_modified: Option<Vec<u8>>,
}

impl Validators {
    pub const fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// Credentials for a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    Basic { user: String, password: Secret },
    Header { name: String, value: Secret },
}

/// Headers that the client sets itself.
const RESERVED_HEADERS: [&str; 11] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "if-modified-since",
    "if-none-match",
    "te",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

impl Credential {
    /// Why it cannot be sent, without revealing secrets; `None` if it can.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Basic { user, .. } if user.contains(':') => {
                Some("a user name for Basic authentication cannot contain a colon".to_owned())
            }
            Self::Basic { .. } => None,
            Self::Header { name, .. } if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => {
                Some(format!("the header {name} is set by gleaner itself"))
            }
            Self::Header { name, .. } if HeaderName::from_bytes(name.as_bytes()).is_err() => {
                Some(format!("'{name}' is not a valid header name"))
            }
            Self::Header { value, .. } if HeaderValue::from_str(value.expose()).is_err() => {
                Some("the header value contains characters that are not allowed in a header".to_owned())
            }
            Self::Header { .. } => None,
        }
    }
}

/// A document, or the confirmation that it has not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 200, 203 or 304.
    pub status: u16,
    /// The final URL.
    pub url: Url,
    /// The redirects in order; the last target is [`url`](Self::url).
    pub hops: Vec<Hop>,
    /// To be sent with the next request; those of a 304 if it has any.
    pub validators: Validators,
    /// `Content-Type` as sent; empty if absent.
    pub content_type: Vec<u8>,
    /// What the server says about the next request.
    pub hints: Hints,
    /// The decoded body; empty if not modified.
    pub body: Bytes,
    /// Length of the body before decoding.
    pub wire_bytes: u64,
    /// The document is unchanged since the validators were received.
    pub not_modified: bool,
}

impl Response {
    /// The new permanent URL: the target of the leading 301 and 308 redirects.
    pub fn moved_to(&self) -> Option<&Url> {
        self.hops.iter().take_while(|hop| matches!(hop.status, 301 | 308)).last().map(|hop| &hop.target)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    pub target: Url,
}

/// Why there is no document.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}")]
pub struct FetchError {
    pub fault: Fault,
    /// The status of the response, if one was received.
    pub status: Option<u16>,
    /// `Retry-After` of the response.
    pub retry_after: Option<Span>,
}

impl From<Fault> for FetchError {
    fn from(fault: Fault) -> Self {
        let status = match fault {
            Fault::Status(status) => Some(status),
            _ => None,
        };
        Self { fault, status, retry_after: None }
    }
}

impl From<FetchError> for Failure {
    /// The status is kept even if the fault is not about it, such as a truncated body.
    fn from(failed: FetchError) -> Self {
        let status = failed.status;
        Failure { status, ..failed.fault.into_failure(failed.retry_after) }
    }
}
