//! From what went wrong to its error kind and its words: one table for statuses, one match for the rest.
//!
//! Absent on purpose: message text as evidence. `fetch` and `read` hand over typed faults; nobody greps.

use std::fmt;
use std::ops::RangeInclusive;

use crate::outcome::{Cause, ErrorKind, Failure};
use crate::time::Span;

/// Why a poll has no document. The parts of gleaner that touch the world make these from real error types.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// An answer that is no document.
    Status(u16),
    /// The name does not exist (NXDOMAIN), or has no address.
    NoSuchHost(String),
    /// The resolver failed (SERVFAIL, refused, no answer).
    ResolverUnavailable(String),
    /// A limit of time passed.
    Timeout {
        /// What was being done.
        phase: Phase,
        /// The limit.
        limit: Span,
    },
    /// The port refuses, or the host cannot be reached.
    Unreachable(String),
    /// The connection ended before the answer did.
    CutShort(String),
    /// The handshake or the certificate.
    Tls(TlsFault),
    /// The document is not what the source is.
    Unreadable(String),
    /// A limit of size was passed.
    TooLarge {
        /// What was too large: `body`, `headers`.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// Our own guard refuses to go there.
    Blocked(String),
    /// A key is missing or was refused, whatever the status.
    Unauthorized(String),
    /// Our own fault.
    Internal(String),
    /// Anything that nothing above recognises.
    Other(String),
}

/// What was being done when time ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Looking up the name.
    Resolve,
    /// Connecting, TLS included.
    Connect,
    /// Asking and reading the answer.
    Request,
}

/// What is wrong with a certificate or handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsFault {
    /// Not valid any more, since so long.
    Expired(Span),
    /// Not valid yet, for so long.
    NotYetValid(Span),
    /// Made for another name.
    WrongName,
    /// Nobody we trust vouches for it.
    UnknownIssuer,
    /// Anything else.
    Other(String),
}

/// First match wins.
const STATUSES: [(RangeInclusive<u16>, ErrorKind); 6] = [
    (429..=429, ErrorKind::RateLimited),
    (401..=401, ErrorKind::Unauthorized),
    (403..=403, ErrorKind::Forbidden),
    (404..=404, ErrorKind::NotFound),
    (410..=410, ErrorKind::Gone),
    (500..=599, ErrorKind::UpstreamFailure),
];

/// The kind of an HTTP status that brought no document.
pub fn classify_status(status: u16) -> ErrorKind {
    STATUSES
        .into_iter()
        .find(|(range, _)| range.contains(&status))
        .map_or(ErrorKind::Unexpected, |(_, kind)| kind)
}

/// The kind of a fault.
pub fn classify(fault: &Fault) -> ErrorKind {
    match fault {
        Fault::Status(status) => classify_status(*status),
        Fault::NoSuchHost(_) => ErrorKind::Network(Cause::Dns),
        Fault::ResolverUnavailable(_) | Fault::Timeout { phase: Phase::Resolve, .. } => {
            ErrorKind::Network(Cause::DnsUnavailable)
        }
        Fault::Timeout { .. } => ErrorKind::Network(Cause::Timeout),
        Fault::Unreachable(_) => ErrorKind::Network(Cause::Connect),
        Fault::CutShort(_) => ErrorKind::Network(Cause::Reset),
        Fault::Tls(_) => ErrorKind::Network(Cause::Tls),
        Fault::Unreadable(_) => ErrorKind::ParseError,
        Fault::TooLarge { .. } => ErrorKind::TooLarge,
        Fault::Blocked(_) => ErrorKind::Blocked,
        Fault::Unauthorized(_) => ErrorKind::Unauthorized,
        Fault::Internal(_) => ErrorKind::Internal,
        Fault::Other(_) => ErrorKind::Unexpected,
    }
}

impl Fault {
    /// The failure this fault makes of a poll.
    pub fn into_failure(self, retry_after: Option<Span>) -> Failure {
        let status = match self {
            Fault::Status(status) => Some(status),
            _ => None,
        };
        Failure { kind: classify(&self), status, message: self.to_string(), retry_after }
    }
}

/// In words for the person who reads it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Status(status) => match reason(*status) {
                "" => write!(f, "status {status}"),
                reason => write!(f, "{status} {reason}"),
            },
            Fault::NoSuchHost(name) => write!(f, "the name {name} does not exist"),
            Fault::ResolverUnavailable(why) => write!(f, "name lookup failed: {why}"),
            Fault::Timeout { phase, limit } => {
                write!(f, "timeout after {}", Limit(*limit))?;
                match phase {
                    Phase::Resolve => f.write_str(" looking up the name"),
                    Phase::Connect => f.write_str(" connecting"),
                    Phase::Request => Ok(()),
                }
            }
            Fault::Unreachable(why) => write!(f, "connection failed: {why}"),
            Fault::CutShort(why) => write!(f, "connection cut short: {why}"),
            Fault::Tls(fault) => fault.fmt(f),
            Fault::Unreadable(why) => f.write_str(why),
            Fault::TooLarge { what, limit } => write!(f, "{what} larger than {limit} bytes"),
            Fault::Blocked(why) => write!(f, "blocked: {why}"),
            Fault::Unauthorized(why) | Fault::Internal(why) | Fault::Other(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsFault::Expired(ago) => write!(f, "certificate expired {ago} ago"),
            TlsFault::NotYetValid(ahead) => write!(f, "certificate is valid only in {ahead}"),
            TlsFault::WrongName => f.write_str("certificate is for another name"),
            TlsFault::UnknownIssuer => f.write_str("certificate is from an unknown issuer"),
            TlsFault::Other(why) => write!(f, "TLS failed: {why}"),
        }
    }
}

/// A limit as it stands in the config: `30s`, `1500ms`.
struct Limit(Span);

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            ms if ms % 1000 == 0 => write!(f, "{}s", ms / 1000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

/// The usual words for the statuses that pollers meet.
fn reason(status: u16) -> &'static str {
    match status {
        204 => "No Content",
        300 => "Multiple Choices",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        410 => "Gone",
        415 => "Unsupported Media Type",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        520..=526 => "Web Server Error",
        530 => "Origin Error",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fault: Fault, kind: &str, message: &str) {
        let failure = fault.into_failure(None);
        let name = match failure.kind.cause() {
            Some(cause) => format!("{} {}", failure.kind, cause.name()),
            None => failure.kind.to_string(),
        };
        assert_eq!((name.as_str(), failure.message.as_str()), (kind, message));
    }

    #[test]
    fn every_fault_has_its_kind_and_its_words() {
        check(Fault::Status(429), "rate_limited", "429 Too Many Requests");
        check(Fault::Status(401), "unauthorized", "401 Unauthorized");
        check(Fault::Status(403), "forbidden", "403 Forbidden");
        check(Fault::Status(404), "not_found", "404 Not Found");
        check(Fault::Status(410), "gone", "410 Gone");
        check(Fault::Status(500), "upstream_failure", "500 Internal Server Error");
        check(Fault::Status(599), "upstream_failure", "status 599");
        check(Fault::Status(418), "unexpected", "418 I'm a teapot");
        check(Fault::Status(600), "unexpected", "status 600");
        let limit = Span::from_secs(30);
        check(Fault::Timeout { phase: Phase::Request, limit }, "network timeout", "timeout after 30s");
        let limit = Span::from_millis(5500);
        check(
            Fault::Timeout { phase: Phase::Resolve, limit },
            "network dns_unavailable",
            "timeout after 5500ms looking up the name",
        );
        check(Fault::NoSuchHost("a.example".into()), "network dns", "the name a.example does not exist");
        let expired = TlsFault::Expired(Span::from_days(3));
        check(Fault::Tls(expired), "network tls", "certificate expired 3 days ago");
        check(Fault::TooLarge { what: "body", limit: 10 }, "too_large", "body larger than 10 bytes");
        check(Fault::Blocked("10.0.0.1 is private".into()), "blocked", "blocked: 10.0.0.1 is private");
        check(Fault::Other("odd".into()), "unexpected", "odd");
        check(Fault::Internal("disk full".into()), "internal", "disk full");
    }
}
