//! Maps errors of the HTTP stack to faults, by their types.
//!
//! The chain of causes includes the error wrapped by an [`io::Error`], which its `source()` skips. Error messages
//! are never evaluated.

use std::error::Error;
use std::io;

use gleaner_core::classify::{Fault, Phase, TlsFault};
use gleaner_core::time::Span;
use rustls::CertificateError;
use rustls::pki_types::UnixTime;

use super::headers;

/// Carries a fault through the HTTP stack as an error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct FaultError(pub(super) Fault);

/// The fault of a failed request.
pub(super) fn from_reqwest(error: &reqwest::Error, connect_limit: Span) -> Fault {
    // First the errors that are unambiguous by type, then those that depend on when they happened.
    if let Some(fault) = causes(error).find_map(unambiguous) {
        return fault;
    }
    if error.is_builder() {
        return Fault::Internal("the request could not be built".to_owned());
    }
    // The limit for the whole request is enforced outside the HTTP stack, so only connecting can time out here.
    if error.is_connect() && error.is_timeout() {
        return Fault::Timeout { phase: Phase::Connect, limit: connect_limit };
    }
    if error.is_connect() {
        return causes(error)
            .find_map(|cause| while_connecting(cause.downcast_ref::<io::Error>()?.kind()))
            .unwrap_or_else(|| Fault::Unreachable("the connection could not be made".to_owned()));
    }
    let in_body = error.is_body() || error.is_decode();
    causes(error)
        .find_map(|cause| while_talking(cause, in_body))
        .unwrap_or_else(|| Fault::Other("the answer is not valid HTTP".to_owned()))
}

/// Whether the connection was closed before any response. On a reused connection the server may have closed it just
/// before the request was sent.
pub(super) fn is_closed_before_answer(error: &reqwest::Error) -> bool {
    !error.is_connect()
        && causes(error).any(|cause| {
            if let Some(error) = cause.downcast_ref::<hyper::Error>() {
                return error.is_incomplete_message() || error.is_canceled() || error.is_closed();
            }
            if let Some(error) = cause.downcast_ref::<h2::Error>() {
                let refused = error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
                return error.is_go_away() && error.is_remote() || refused;
            }
            cause.downcast_ref::<io::Error>().is_some_and(|error| cut_short(error.kind()).is_some())
        })
}

fn unambiguous(cause: &(dyn Error + 'static)) -> Option<Fault> {
    if let Some(FaultError(fault)) = cause.downcast_ref() {
        return Some(fault.clone());
    }
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(Fault::Tls(tls(error)));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_parse_too_large().then(headers::too_large);
    }
    let error = cause.downcast_ref::<h2::Error>()?;
    // h2 reports endless headers this way; headers within its limit are measured after they are received.
    let flood = error.is_library() && error.reason() == Some(h2::Reason::ENHANCE_YOUR_CALM);
    flood.then(headers::too_large)
}

fn while_connecting(kind: io::ErrorKind) -> Option<Fault> {
    use io::ErrorKind::*;
    Some(match kind {
        ConnectionRefused => Fault::Unreachable("refused".to_owned()),
        HostUnreachable | AddrNotAvailable => Fault::Unreachable("the host is unreachable".to_owned()),
        NetworkUnreachable | NetworkDown => Fault::Unreachable("the network is unreachable".to_owned()),
        PermissionDenied => Fault::Unreachable("not permitted by this machine".to_owned()),
        // A TCP connection cannot end early; only a TLS handshake can.
        UnexpectedEof => Fault::Tls(TlsFault::Other("the server ended the handshake".to_owned())),
        kind => cut_short(kind)?,
    })
}

fn while_talking(cause: &(dyn Error + 'static), in_body: bool) -> Option<Fault> {
    let closed = || Fault::CutShort("closed before the answer was complete".to_owned());
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        let ended = error.is_incomplete_message() || error.is_canceled() || error.is_closed();
        return ended.then(closed);
    }
    if let Some(error) = cause.downcast_ref::<h2::Error>() {
        // An error raised by h2 itself means malformed headers, or a body of the wrong length.
        let ended = error.is_reset() || error.is_go_away();
        return (ended && (in_body || !error.is_library())).then(closed);
    }
    cut_short(cause.downcast_ref::<io::Error>()?.kind())
}

fn cut_short(kind: io::ErrorKind) -> Option<Fault> {
    use io::ErrorKind::*;
    Some(Fault::CutShort(match kind {
        ConnectionReset | ConnectionAborted | BrokenPipe | NotConnected => "reset by the server".to_owned(),
        // The system's own TCP timeout, which is longer than ours.
        TimedOut => "the server stopped responding".to_owned(),
        UnexpectedEof => "closed before the answer was complete".to_owned(),
        _ => return None,
    }))
}

fn tls(error: &rustls::Error) -> TlsFault {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return TlsFault::Other(error.to_string());
    };
    match certificate {
        CertificateError::ExpiredContext { time, not_after } => TlsFault::Expired(between(*not_after, *time)),
        CertificateError::Expired => TlsFault::Expired(Span::ZERO),
        CertificateError::NotValidYetContext { time, not_before } => {
            TlsFault::NotYetValid(between(*time, *not_before))
        }
        CertificateError::NotValidYet => TlsFault::NotYetValid(Span::ZERO),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsFault::WrongName
        }
        // A bad signature means that the certificate imitates a trusted issuer.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFault::UnknownIssuer,
        other => TlsFault::Other(other.to_string()),
    }
}

fn between(earlier: UnixTime, later: UnixTime) -> Span {
    Span::from_secs(later.as_secs().saturating_sub(earlier.as_secs()))
}

/// An error and its causes, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| next_cause(*error))
}

fn next_cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
