//! Timelines on X as sources: the spellings that people use, and the one that is kept.

use url::Url;

use crate::link::BadUrl;

/// Names that X itself has gone by, and its page for small screens.
const HOSTS: [&str; 6] =
    ["x.com", "www.x.com", "mobile.x.com", "twitter.com", "www.twitter.com", "mobile.twitter.com"];

/// Pages of X's own, which no account can be called.
const PAGES: [&str; 12] = [
    "compose",
    "explore",
    "hashtag",
    "home",
    "i",
    "intent",
    "login",
    "messages",
    "notifications",
    "search",
    "settings",
    "share",
];

/// Reads a timeline as people write it: `@handle`, `x.com/handle`, `https://twitter.com/handle`. What is kept is
/// `https://x.com/handle` in lower case, since X tells no two accounts apart by case.
pub fn timeline_url(text: &str) -> Result<Url, BadUrl> {
    let text = text.trim();
    let bad = || BadUrl {
        url: text.chars().take(100).collect(),
        why: "a timeline on X is written as @handle or https://x.com/handle".to_owned(),
    };
    let handle = match text.strip_prefix('@') {
        Some(handle) => handle.to_owned(),
        None => in_address(text).ok_or_else(bad)?,
    };
    if !is_handle(&handle) {
        return Err(bad());
    }
    Url::parse(&format!("https://x.com/{}", handle.to_ascii_lowercase())).map_err(|_| bad())
}

/// The handle of a source's URL, as [`timeline_url`] made it.
pub fn handle(url: &str) -> Option<&str> {
    url.strip_prefix("https://x.com/").filter(|handle| is_handle(handle))
}

/// The one name in the path of an address on X, with or without its scheme.
fn in_address(text: &str) -> Option<String> {
    let url = match Url::parse(text) {
        Ok(url) if url.has_host() => url,
        _ => Url::parse(&format!("https://{text}")).ok()?,
    };
    let is_x = matches!(url.scheme(), "http" | "https") && HOSTS.contains(&url.host_str()?);
    let handle = url.path().strip_prefix('/')?;
    let handle = handle.strip_suffix('/').unwrap_or(handle).to_owned();
    is_x.then_some(handle)
}

fn is_handle(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=15).contains(&text.len())
        && text.bytes().all(plain)
        && !PAGES.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeline_has_many_spellings_and_one_form() {
        for text in [
            "@NASA",
            " @nasa ",
            "x.com/NASA",
            "twitter.com/nasa",
            "https://x.com/nasa",
            "https://x.com/nasa/",
            "http://www.twitter.com/Nasa?lang=en#top",
            "https://mobile.twitter.com/nasa",
        ] {
            assert_eq!(timeline_url(text).map(String::from).as_deref(), Ok("https://x.com/nasa"), "{text}");
        }
        assert_eq!(handle("https://x.com/nasa"), Some("nasa"));
    }

    #[test]
    fn what_is_no_timeline_is_told() {
        for text in [
            "",
            "@",
            "nasa",
            "@way_too_long_for_x",
            "@a b",
            "@ünder",
            "x.com",
            "https://x.com/",
            "https://x.com/home",
            "https://x.com/nasa/status/1",
            "https://x.com/i",
            "https://example.org/nasa",
            "ftp://x.com/nasa",
            "https://notx.com/nasa",
            "https://x.com.example.org/nasa",
        ] {
            let error = timeline_url(text).unwrap_err().to_string();
            assert!(
                error.ends_with("a timeline on X is written as @handle or https://x.com/handle"),
                "{error}"
            );
        }
        assert_eq!(handle("https://example.org/nasa"), None);
    }
}
