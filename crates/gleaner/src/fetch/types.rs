//! What is asked and what comes back, as plain data.

use bytes::Bytes;
use gleaner_core::classify::Fault;
use gleaner_core::outcome::Failure;
use gleaner_core::time::Span;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use super::headers::Hints;
use crate::config::secret::Secret;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Where; without credentials in it.
    pub url: Url,
    /// What kinds of document are welcome, as an `Accept` header says it.
    pub accept: String,
    /// What was received with the document we have; empty: ask for it whatever it is.
    pub validators: Validators,
    /// Sent to the origin of `url` only.
    pub credential: Option<Credential>,
    /// A cap on the decoded body below the configured one.
    pub max_body_bytes: Option<u64>,
    /// Whether more will be asked of the same host soon, so that the connection is worth keeping.
    pub keep_connection: bool,
}

impl Request {
    /// An unconditional request for anything.
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

/// `ETag` and `Last-Modified`, byte for byte: they are the server's, and mean nothing to us.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validators {
    /// `ETag`, sent back as `If-None-Match`.
    pub etag: Option<Vec<u8>>,
    /// `Last-Modified`, sent back as `If-Modified-Since`.
    pub last_modified: Option<Vec<u8>>,
}

impl Validators {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none()
    }
}

/// What a source needs to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// Basic authentication.
    Basic {
        /// Who.
        user: String,
        /// The password.
        password: Secret,
    },
    /// One header.
    Header {
        /// Its name.
        name: String,
        /// Its value.
        value: Secret,
    },
}

/// Headers that are the client's own.
const OWN: [&str; 11] = [
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
    /// Why it could not be sent, if it could not. Says nothing of what is secret.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Basic { user, .. } if user.contains(':') => {
                Some("a user's name for Basic authentication has no colon".to_owned())
            }
            Self::Basic { .. } => None,
            Self::Header { name, .. } if OWN.contains(&name.to_ascii_lowercase().as_str()) => {
                Some(format!("the header {name} is the client's own"))
            }
            Self::Header { name, .. } if HeaderName::from_bytes(name.as_bytes()).is_err() => {
                Some(format!("'{name}' is no name of a header"))
            }
            Self::Header { value, .. } if HeaderValue::from_str(value.expose()).is_err() => {
                Some("the header's value has characters that no header takes".to_owned())
            }
            Self::Header { .. } => None,
        }
    }
}

/// A document, or the word that it has not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// 200, 203 or 304.
    pub status: u16,
    /// Where it came from in the end.
    pub url: Url,
    /// The redirects on the way, in order; the last target is [`url`](Self::url).
    pub hops: Vec<Hop>,
    /// To be sent with the next request; those of a 304 where it has any.
    pub validators: Validators,
    /// `Content-Type` as sent; empty where there is none.
    pub content_type: Vec<u8>,
    /// What the server says about when to come again.
    pub hints: Hints,
    /// The decoded body; empty when not modified.
    pub body: Bytes,
    /// How long the body was before it was decoded.
    pub wire_bytes: u64,
    /// The document is still the one that the validators came with.
    pub not_modified: bool,
}

impl Response {
    /// Where the source has moved for good: the target of the leading run of 301s and 308s, if there is one.
    pub fn moved_to(&self) -> Option<&Url> {
        self.hops.iter().take_while(|hop| matches!(hop.status, 301 | 308)).last().map(|hop| &hop.target)
    }
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Where it points.
    pub target: Url,
}

/// Why there is no document.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{fault}")]
pub struct Failed {
    /// What went wrong.
    pub fault: Fault,
    /// The status of the answer, where one had begun.
    pub status: Option<u16>,
    /// How long the server asks to be left alone.
    pub retry_after: Option<Span>,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        let status = match fault {
            Fault::Status(status) => Some(status),
            _ => None,
        };
        Self { fault, status, retry_after: None }
    }
}

impl From<Failed> for Failure {
    /// The status is kept even where the fault is not about it, such as a body that broke off.
    fn from(failed: Failed) -> Self {
        let status = failed.status;
        Failure { status, ..failed.fault.into_failure(failed.retry_after) }
    }
}
