//! URLs as identities: one canonical spelling, and the host that a URL is asked from.
//!
//! Absent on purpose: whether a URL may be fetched. That is the guard's, in `fetch`.

use url::{Position, Url};

/// Query parameters that say where a reader came from, never what is read.
const TRACKING: [&str; 14] = [
    "fbclid",
    "gclid",
    "dclid",
    "gbraid",
    "wbraid",
    "msclkid",
    "yclid",
    "twclid",
    "igshid",
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "oly_enc_id",
];

/// A text that is no URL to poll.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{url}' is no URL to poll: {why}")]
pub struct BadUrl {
    /// The text.
    pub url: String,
    /// What is wrong with it.
    pub why: String,
}

/// Reads the URL of a source: http or https, with a host, without credentials in it. `feed://` is http and `feed:` before
/// a URL says nothing, as old subscription lists have them.
pub fn source_url(text: &str) -> Result<Url, BadUrl> {
    let refuse = |why: &str| BadUrl { url: text.to_owned(), why: why.to_owned() };
    let trimmed = text.trim();
    let scheme = trimmed.get(..5).filter(|start| start.eq_ignore_ascii_case("feed:"));
    let trimmed = match scheme.map(|scheme| &trimmed[scheme.len()..]) {
        Some(rest) if rest.starts_with("//") => &format!("http:{rest}"),
        Some(rest) => rest,
        None => trimmed,
    };
    if trimmed.len() > 4096 {
        return Err(BadUrl {
            url: format!("{}…", trimmed.chars().take(60).collect::<String>()),
            why: "longer than 4096 bytes".into(),
        });
    }
    let url = Url::parse(trimmed).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => refuse("it must begin with http:// or https://"),
        error => refuse(&error.to_string()),
    })?;
    match url {
        _ if !matches!(url.scheme(), "http" | "https") => Err(refuse("only http and https are polled")),
        _ if url.host_str().is_none_or(str::is_empty) => Err(refuse("it has no host")),
        _ if !url.username().is_empty() || url.password().is_some() => {
            // Reports of refused URLs are kept and shown.
            let shown = format!("{}://…@{}", url.scheme(), &url[Position::BeforeHost..]);
            let why = "credentials belong in the source's own field, where they are encrypted";
            Err(BadUrl { url: shown, why: why.to_owned() })
        }
        _ => Ok(url),
    }
}

/// The same page under any of its spellings: without fragment and tracking parameters. What is no URL is its
/// own canonical form.
pub fn canonical(text: &str) -> String {
    let text = text.trim();
    match Url::parse(text) {
        Ok(mut url) => {
            url.set_fragment(None);
            if url.query().is_some_and(|query| query.split('&').any(is_tracking)) {
                let kept: Vec<&str> =
                    url.query().unwrap_or_default().split('&').filter(|pair| !is_tracking(pair)).collect();
                let kept = kept.join("&");
                url.set_query(if kept.is_empty() { None } else { Some(&kept) });
            }
            url.into()
        }
        Err(_) => text.to_owned(),
    }
}

fn is_tracking(pair: &str) -> bool {
    let name = pair.split('=').next().unwrap_or_default();
    name.starts_with("utm_") || TRACKING.contains(&name)
}

/// The host that a URL is asked from, as sources are grouped by it; none where there is no host.
pub fn host(url: &str) -> Option<String> {
    Url::parse(url.trim()).ok()?.host_str().filter(|host| !host.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_links_drop_what_says_nothing() {
        let check = |url, expected: &str| assert_eq!(canonical(url), expected);
        check("https://Example.org/a?utm_source=x&id=3&fbclid=y#top", "https://example.org/a?id=3");
        check("https://example.org/a?utm_medium=rss", "https://example.org/a");
        check("https://example.org/a?b=%20c&d", "https://example.org/a?b=%20c&d");
        check("  tag:example.org,2026:1 ", "tag:example.org,2026:1");
        check("not a url", "not a url");
    }

    #[test]
    fn what_is_no_url_is_told_why() {
        let check = |text, why: &str| assert_eq!(source_url(text).unwrap_err().why, why);
        check("example.org/feed", "it must begin with http:// or https://");
        check("ftp://example.org/feed", "only http and https are polled");
        check(
            "https://me:secret@example.org/",
            "credentials belong in the source's own field, where they are encrypted",
        );
        check("https://", "empty host");
        check("http://[::1", "invalid IPv6 address");
        assert_eq!(source_url(" https://example.org/feed ").unwrap().as_str(), "https://example.org/feed");
    }

    #[test]
    fn a_password_is_not_repeated() {
        let refused = source_url("https://me:secret@example.org:8080/feed?a=1").unwrap_err();
        assert_eq!(refused.url, "https://…@example.org:8080/feed?a=1");
    }

    #[test]
    fn the_scheme_of_old_lists_is_understood() {
        let check = |text, expected: &str| assert_eq!(source_url(text).unwrap().as_str(), expected);
        check("feed://example.org/rss", "http://example.org/rss");
        check("FEED:https://example.org/rss", "https://example.org/rss");
        check("feed:http://example.org/rss", "http://example.org/rss");
        assert!(source_url("feed:").is_err() && source_url("feed:feed://example.org/").is_err());
    }
}
