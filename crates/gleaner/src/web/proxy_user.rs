//! Whom a trusted reverse proxy names in its header, and what that lets in.
//!
//! The header is read where the other end of the connection is known, and taken out of every request: nothing behind this
//! can mistake a stranger's header for the proxy's.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, ORIGIN};
use axum::http::{Extensions, HeaderMap, HeaderName, Method};

use super::Web;
use super::connections::ClientAddress;
use super::dashboard::of_our_own;
use crate::service::{Actor, ServiceError};

/// What a trusted proxy says about who asks. Absent from requests of anybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProxyUser {
    Named(String),
    /// The proxy names nobody.
    Nobody,
    /// The header cannot be believed: why.
    Refused(&'static str),
}

/// A request without its body, which other threads may look at.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    method: &'a Method,
    pub(super) headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    pub(super) fn of(request: &'a Request) -> Self {
        Self { method: request.method(), headers: request.headers(), extensions: request.extensions() }
    }

    /// Where the request comes from; none: this machine, without a network in between.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.extensions.get::<ClientAddress>().map(|address| address.0)
    }

    /// What a trusted proxy says; none: no trusted proxy sent it.
    pub(super) fn proxy_user(&self) -> Option<&'a ProxyUser> {
        self.extensions.get::<ProxyUser>()
    }
}

/// Takes the header out of a request's; reads it where a trusted proxy sent it.
pub(super) fn take(name: &HeaderName, is_trusted: bool, headers: &mut HeaderMap) -> Option<ProxyUser> {
    let values: Vec<_> = headers.get_all(name).iter().cloned().collect();
    headers.remove(name);
    if !is_trusted {
        return None;
    }
    let [value] = values.as_slice() else {
        return Some(match values.is_empty() {
            true => ProxyUser::Nobody,
            false => {
                ProxyUser::Refused("the reverse proxy sent the header that names the user more than once")
            }
        });
    };
    Some(match std::str::from_utf8(value.as_bytes()).map(str::trim) {
        Ok("") => ProxyUser::Nobody,
        // Proxies join headers of one name so.
        Ok(text) if text.contains(',') => {
            ProxyUser::Refused("the reverse proxy sent a list in the header that names the user")
        }
        Ok(text) => ProxyUser::Named(text.to_owned()),
        Err(_) => ProxyUser::Refused("the reverse proxy sent a user's name that is not UTF-8"),
    })
}

/// Whom the proxy names, if anybody; an error where its header cannot be believed.
pub(super) fn named<'a>(head: Head<'a>) -> Result<Option<&'a str>, ServiceError> {
    match head.proxy_user() {
        Some(ProxyUser::Named(name)) => Ok(Some(name)),
        Some(ProxyUser::Refused(why)) => Err(ServiceError::Unauthenticated((*why).to_owned())),
        Some(ProxyUser::Nobody) | None => Ok(None),
    }
}

/// Whether what let somebody in is still good: a session that the proxy made, only while it names the same user.
pub(super) fn still_vouched(actor: &Actor, head: Head<'_>) -> bool {
    !actor.is_by_proxy() || matches!(head.proxy_user(), Some(ProxyUser::Named(name)) if *name == actor.name)
}

/// Lets a request of the API in as the user whom the proxy names; none where that is nobody, or it has a token.
pub(super) async fn api_actor(web: &Web, head: Head<'_>) -> Result<Option<Actor>, ServiceError> {
    let Some(name) = named(head)? else { return Ok(None) };
    if head.headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    if is_foreign(web, head) {
        return Err(ServiceError::Forbidden(
            "this request comes from a page of another site, and the reverse proxy's sign-in is not good for that; \
             send an access token: Authorization: Bearer TOKEN"
                .to_owned(),
        ));
    }
    Ok(Some(web.service.proxy_sign_in(name, head.address()).await?.actor))
}

/// Whether another site may have made the browser send this. A browser says where a request comes from; what says nothing is
/// a program, or a browser so old that forms are all it could be made to send.
fn is_foreign(web: &Web, Head { method, headers, .. }: Head<'_>) -> bool {
    if headers.contains_key("sec-fetch-site") || headers.contains_key(ORIGIN) {
        return !of_our_own(web, headers);
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let forms = ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"];
    *method == Method::POST && forms.contains(&kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_read_from_a_proxy_only_and_never_kept() {
        let name = HeaderName::from_static("remote-user");
        let taken = |is_trusted: bool, values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(&name, axum::http::HeaderValue::from_bytes(value).unwrap());
            }
            let taken = take(&name, is_trusted, &mut headers);
            assert!(headers.is_empty());
            taken
        };
        let named = |name: &str| Some(ProxyUser::Named(name.to_owned()));
        assert_eq!(taken(false, &[b"ada"]), None);
        assert_eq!(taken(true, &[b" ada "]), named("ada"));
        assert_eq!(taken(true, &["zoë".as_bytes()]), named("zoë"));
        assert_eq!(taken(true, &[]), Some(ProxyUser::Nobody));
        assert_eq!(taken(true, &[b""]), Some(ProxyUser::Nobody));
        for refused in [&[b"ada".as_slice(), b"admin"][..], &[b"ada", b""], &[b"ada, admin"], &[b"\xff"]] {
            assert!(matches!(taken(true, refused), Some(ProxyUser::Refused(_))), "{refused:?}");
        }
    }
}
