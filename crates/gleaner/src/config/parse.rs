//! Texts in config that stand for something: addresses, networks, URLs, hosts, where the store is.
//!
//! One function each, used to check a value and to read it, so that the two cannot disagree.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use ipnet::IpNet;
use url::{Host, Url};

use super::secret::PrivateUrl;

/// A secret that signs tokens must not be shorter.
pub(super) const SECRET_BYTES: usize = 32;

/// Where everything is stored.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A PostgreSQL server.
    Postgres(PrivateUrl),
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => write!(f, "{url}"),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

pub(super) fn store_url(text: &str) -> Option<StoreUrl> {
    let path = |path: &str| (!path.is_empty()).then(|| StoreUrl::Sqlite(path.into()));
    match text.split_once(':') {
        Some(("postgres" | "postgresql", _)) => {
            let url = Url::parse(text).ok().filter(|url| !url.cannot_be_a_base())?;
            Some(StoreUrl::Postgres(PrivateUrl::new(url)))
        }
        Some(("sqlite", rest)) => path(rest.strip_prefix("//").unwrap_or(rest)),
        Some((_, rest)) if rest.starts_with("//") => None,
        _ => path(text),
    }
}

pub(super) fn address(text: &str) -> Option<SocketAddr> {
    text.parse().ok()
}

/// A network; a lone address is a network of one, and bits past the prefix are dropped.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let network: Option<IpNet> = text.parse().ok();
    network.map(|network| network.trunc()).or_else(|| Some(text.parse::<IpAddr>().ok()?.into()))
}

pub(super) fn web_url(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// Headers that clients set themselves, so that a proxy which does not clear them would pass them on.
const NOT_FOR_SIGN_IN: [&str; 16] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "forwarded",
    "host",
    "idempotency-key",
    "origin",
    "referer",
    "user-agent",
    "x-form-token",
    "x-forwarded-for",
];

/// The name of a header that can name a user, in lower case.
pub(super) fn sign_in_header(text: &str) -> Option<String> {
    let name = text.to_ascii_lowercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let fits = (1..=64).contains(&name.len()) && name.bytes().all(plain);
    let free = !NOT_FOR_SIGN_IN.contains(&name.as_str()) && !name.starts_with("sec-");
    (fits && free).then_some(name)
}

/// An issuer of OpenID Connect, byte for byte: it is compared with what the provider says.
pub(super) fn issuer(text: &str) -> Option<String> {
    let url = web_url(text)?;
    let is_local = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    (plain && (url.scheme() == "https" || is_local)).then(|| text.to_owned())
}

pub(super) fn oidc_scope(text: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_graphic() && !b"\"\\".contains(&byte);
    (!text.is_empty() && text.bytes().all(fits)).then(|| text.to_owned())
}

pub(super) fn proxy_url(text: &str) -> Option<PrivateUrl> {
    let known = |url: &Url| matches!(url.scheme(), "http" | "https" | "socks5" | "socks5h") && url.has_host();
    Url::parse(text).ok().filter(known).map(PrivateUrl::new)
}

pub(super) fn nats_url(text: &str) -> Option<PrivateUrl> {
    let known = |url: &Url| matches!(url.scheme(), "nats" | "tls") && url.has_host();
    Url::parse(text).ok().filter(known).map(PrivateUrl::new)
}

/// A name that may stand in a subject of NATS.
pub(super) fn subject_part(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (!text.is_empty() && text.len() <= 64 && text.bytes().all(plain)).then(|| text.to_owned())
}

/// A web page or a mail address that may stand inside a `User-Agent` comment.
pub(super) fn contact(text: &str) -> Option<String> {
    let fits = text.bytes().all(|byte| byte.is_ascii_graphic() && !b"();\\".contains(&byte));
    let mail = text.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !user.contains(':') && host.contains('.') && !host.contains('@')
    });
    (fits && (mail || web_url(text).is_some())).then(|| text.to_owned())
}

/// A secret that is worth the name: long, and not a few letters over and over.
pub(super) fn secret(text: &str) -> Option<String> {
    let distinct = text.bytes().collect::<std::collections::BTreeSet<u8>>().len();
    (text.len() >= SECRET_BYTES && distinct >= 8).then(|| text.to_owned())
}

/// A key to encrypt with.
pub(super) fn vault_key(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| text.to_owned())
}

/// A host as URLs spell it: lower case, ASCII; no scheme, port or path.
pub(super) fn host(text: &str) -> Option<String> {
    let host = Host::parse(text).ok()?.to_string();
    (!host.is_empty()).then_some(host)
}

/// A policy's name, plain enough to stand in keys, variables and URLs.
pub(super) fn policy_name(text: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    (!text.is_empty() && text.len() <= 64 && text.bytes().all(plain)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores() {
        let sqlite = |path: &str| Some(StoreUrl::Sqlite(path.into()));
        assert_eq!(store_url("gleaner.db"), sqlite("gleaner.db"));
        assert_eq!(store_url("/var/lib/a:b.db"), sqlite("/var/lib/a:b.db"));
        assert_eq!(store_url("sqlite:///var/lib/g.db"), sqlite("/var/lib/g.db"));
        assert_eq!(store_url("sqlite:g.db"), sqlite("g.db"));
        for bad in ["", "sqlite:", "mysql://db", "postgres:", "postgres:db", "postgres://[/db"] {
            assert_eq!(store_url(bad), None, "{bad}");
        }
        let postgres = store_url("postgresql://me:hunter2@db.example/g").unwrap();
        assert_eq!(format!("{postgres} {postgres:?}").matches("hunter2").count(), 0);
        assert!(store_url("postgres:///g?host=/run/postgresql").is_some());
    }

    #[test]
    fn networks() {
        let shown = |text| network(text).map(|network| network.to_string());
        assert_eq!(shown("10.1.2.3/8").as_deref(), Some("10.0.0.0/8"));
        assert_eq!(shown("::1").as_deref(), Some("::1/128"));
        assert_eq!((shown("10.0.0.0/33"), shown("localhost")), (None, None));
    }

    #[test]
    fn hosts_and_contacts() {
        assert_eq!(host("EXAMPLE.org").as_deref(), Some("example.org"));
        assert_eq!(host("bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        for bad in ["", "https://example.org", "example.org:80", "example.org/feed", "a b"] {
            assert_eq!(host(bad), None, "{bad}");
        }
        assert!(contact("ops@example.org").is_some() && contact("https://example.org/bot").is_some());
        for bad in ["", "me", "a b@example.org", "me@example.org\r\nX: y", "https://example.org/(x)"] {
            assert_eq!(contact(bad), None, "{bad}");
        }
    }
}
