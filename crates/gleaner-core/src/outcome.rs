//! What a poll can end in: one outcome, and for failures one error kind.
//!
//! Absent on purpose: how a kind is treated. That is the policy's business; a kind and its class never change.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Span;

/// What kind of failure a poll ended in. The name is what the database, the API and the logs show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// 429: asked too often.
    RateLimited,
    /// 401: credentials missing or refused.
    Unauthorized,
    /// 403: not for us.
    Forbidden,
    /// 404: not there.
    NotFound,
    /// 410: gone for good, says the server.
    Gone,
    /// 500 to 599: the server's own trouble.
    UpstreamFailure,
    /// No answer at all; the cause says where it ended.
    Network(Cause),
    /// The answer cannot be read as what the source is.
    ParseError,
    /// A limit on the size of body or headers was passed.
    TooLarge,
    /// The address, scheme, port or redirect is refused by our own guard.
    Blocked,
    /// Any other status or failure of the poll.
    Unexpected,
    /// Our own fault: the database, a panic, a bug. Never held against the source.
    Internal,
}

/// Where a network failure happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The name does not exist, or has no address.
    Dns,
    /// The resolver did not answer, or could not.
    DnsUnavailable,
    /// A limit of time passed.
    Timeout,
    /// Nobody listens there.
    Connect,
    /// Cut short in transport.
    Reset,
    /// The certificate or the handshake.
    Tls,
}

/// Whether a failure is likely to pass by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Will likely pass.
    Transient,
    /// Will likely stay.
    Permanent,
}

/// How loud a failure is in the log: WARN for what the world does, ERROR for what needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The world's doing.
    Warn,
    /// A person should look.
    Error,
}

/// Names, classes, levels and short labels of all kinds, in the order in which people read them.
const KINDS: [(ErrorKind, &str, Option<Class>, Level, &str); 12] = {
    use Class::{Permanent, Transient};
    use ErrorKind::*;
    use Level::{Error, Warn};
    [
        (RateLimited, "rate_limited", Some(Transient), Warn, "429"),
        (Unauthorized, "unauthorized", Some(Permanent), Warn, "401"),
        (Forbidden, "forbidden", Some(Permanent), Warn, "403"),
        (NotFound, "not_found", Some(Permanent), Warn, "404"),
        (Gone, "gone", Some(Permanent), Warn, "410"),
        (UpstreamFailure, "upstream_failure", Some(Transient), Warn, "5xx"),
        // Here and in `ErrorKind::ALL` network stands for its transient causes; `class` and `label` know DNS.
        (Network(Cause::Timeout), "network", Some(Transient), Warn, "network"),
        (ParseError, "parse_error", Some(Transient), Warn, "parse"),
        (TooLarge, "too_large", Some(Transient), Warn, "size"),
        (Blocked, "blocked", Some(Permanent), Warn, "blocked address"),
        (Unexpected, "unexpected", Some(Transient), Error, "unexpected"),
        (Internal, "internal", None, Error, "internal"),
    ]
};

impl ErrorKind {
    /// How many kinds there are, network's causes taken as one.
    pub const COUNT: usize = KINDS.len();

    /// Every kind once, network's causes taken as one.
    pub fn all() -> impl Iterator<Item = ErrorKind> {
        KINDS.iter().map(|row| row.0)
    }

    /// The place of this kind in tables; all network causes share one.
    pub const fn index(self) -> usize {
        match self {
            Self::RateLimited => 0,
            Self::Unauthorized => 1,
            Self::Forbidden => 2,
            Self::NotFound => 3,
            Self::Gone => 4,
            Self::UpstreamFailure => 5,
            Self::Network(_) => 6,
            Self::ParseError => 7,
            Self::TooLarge => 8,
            Self::Blocked => 9,
            Self::Unexpected => 10,
            Self::Internal => 11,
        }
    }

    /// The name in database, API and logs.
    pub const fn name(self) -> &'static str {
        KINDS[self.index()].1
    }

    /// Transient or permanent; none for `internal`, which is not the source's failure.
    pub const fn class(self) -> Option<Class> {
        match self {
            Self::Network(Cause::Dns) => Some(Class::Permanent),
            _ => KINDS[self.index()].2,
        }
    }

    /// How loud it is unless a policy says otherwise.
    pub const fn level(self) -> Level {
        KINDS[self.index()].3
    }

    /// A word short enough to be listed: `404`, `DNS`.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Network(Cause::Dns) => "DNS",
            _ => KINDS[self.index()].4,
        }
    }

    /// Whether two failures count as the same kind: all network causes do.
    pub const fn same_kind(self, other: ErrorKind) -> bool {
        self.index() == other.index()
    }

    /// The cause, where it is a network failure.
    pub const fn cause(self) -> Option<Cause> {
        match self {
            Self::Network(cause) => Some(cause),
            _ => None,
        }
    }

    /// Puts a stored name and cause together again.
    pub fn from_parts(name: &str, cause: Option<Cause>) -> Result<Self, UnknownKind> {
        Ok(match (name.parse()?, cause) {
            (Self::Network(_), Some(cause)) => Self::Network(cause),
            (kind, _) => kind,
        })
    }
}

/// A name that is no error kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no error kind; there are {kinds}", kinds = list_kinds())]
pub struct UnknownKind(pub String);

fn list_kinds() -> String {
    KINDS.map(|row| row.1).join(", ")
}

impl FromStr for ErrorKind {
    type Err = UnknownKind;
    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        KINDS.iter().find(|row| row.1 == name).map(|row| row.0).ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

/// As stored in the memory of hosts: the name, and after a colon the cause of a network failure.
impl Serialize for ErrorKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.cause() {
            Some(cause) => to.collect_str(&format_args!("{}:{}", self.name(), cause.name())),
            None => to.serialize_str(self.name()),
        }
    }
}

impl<'de> Deserialize<'de> for ErrorKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let (name, cause) = text.split_once(':').unwrap_or((&text, ""));
        ErrorKind::from_parts(name, Cause::from_name(cause)).map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 6] =
        [Self::Dns, Self::DnsUnavailable, Self::Timeout, Self::Connect, Self::Reset, Self::Tls];

    /// The name in database, API and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::DnsUnavailable => "dns_unavailable",
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Reset => "reset",
            Self::Tls => "tls",
        }
    }

    /// The cause of that name.
    pub fn from_name(name: &str) -> Option<Cause> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

impl Class {
    /// The name in database and API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
        }
    }
}

/// How one poll ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A document was read; whether it held anything new is told elsewhere.
    Fetched {
        /// `Retry-After` of a redirect on the way.
        retry_after: Option<Span>,
    },
    /// 304, or the same bytes as before.
    NotModified {
        /// `Retry-After` of a redirect on the way.
        retry_after: Option<Span>,
    },
    /// Anything else.
    Failed(Failure),
}

/// A failed poll.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What kind of failure.
    pub kind: ErrorKind,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// What happened, in words for people: `404 Not Found`, `timeout after 30s`.
    pub message: String,
    /// How long the server asks us to stay away.
    pub retry_after: Option<Span>,
}

impl Outcome {
    /// The name in the poll history.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fetched { .. } => "fetched",
            Self::NotModified { .. } => "not_modified",
            Self::Failed(_) => "failed",
        }
    }

    /// The failure, if it is one.
    pub const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// How long the server asked us to stay away, whatever else it answered.
    pub const fn retry_after(&self) -> Option<Span> {
        match self {
            Self::Fetched { retry_after } | Self::NotModified { retry_after } => *retry_after,
            Self::Failed(failure) => failure.retry_after,
        }
    }

    /// The same, where the server asked us to stay away for so long.
    #[must_use]
    pub(crate) fn asking_for(self, retry_after: Option<Span>) -> Self {
        match self {
            Self::Fetched { .. } => Self::Fetched { retry_after },
            Self::NotModified { .. } => Self::NotModified { retry_after },
            Self::Failed(failure) => Self::Failed(Failure { retry_after, ..failure }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_enum_agree() {
        for (place, kind) in ErrorKind::all().enumerate() {
            assert_eq!(kind.index(), place);
            assert_eq!(kind.name().parse::<ErrorKind>().unwrap(), kind);
        }
        for cause in Cause::ALL {
            let kind = ErrorKind::from_parts("network", Cause::from_name(cause.name())).unwrap();
            assert_eq!(kind, ErrorKind::Network(cause));
            assert_eq!(kind.class() == Some(Class::Permanent), cause == Cause::Dns);
        }
    }

    #[test]
    fn an_unknown_kind_is_named_with_what_is_allowed() {
        let error = "teapot".parse::<ErrorKind>().unwrap_err().to_string();
        assert!(
            error.starts_with("'teapot' is no error kind; there are rate_limited, unauthorized"),
            "{error}"
        );
    }
}
