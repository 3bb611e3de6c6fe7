//! Response headers: validators, polling hints, and size limits.

use std::time::{Duration, SystemTime};

use gleaner_core::classify::Fault;
use gleaner_core::time::{Span, Time};
use reqwest::header::{
    AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderMap, HeaderName, LAST_MODIFIED, RETRY_AFTER,
};

use super::types::Validators;

/// Maximum size of all response headers, names and values.
pub(super) const MAX_HEADER_BYTES: u32 = 64 * 1024;

/// The limit at which HTTP/2 aborts. Larger than [`MAX_HEADER_BYTES`], because its error does not say that size was
/// the reason; HTTP/1 reads up to 400 KiB.
pub(super) const MAX_HTTP2_HEADER_BYTES: u32 = 4 * MAX_HEADER_BYTES;

/// When X accepts requests again.
const RATE_LIMIT_RESET: HeaderName = HeaderName::from_static("x-rate-limit-reset");

/// Maximum number of response headers.
pub(super) const MAX_HEADERS: usize = 100;

/// What a server says about the next request, as time spans from the response. Missing and unreadable values are
/// `None`; nothing is clamped here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// How long the document stays fresh according to `Cache-Control: max-age`, less its `Age`; zero for `no-cache`
    /// and `no-store`.
    pub max_age: Option<Span>,
    /// The same according to `Expires`; a past or unreadable date is zero, as in RFC 9111.
    pub expires: Option<Span>,
    /// `Retry-After` in either form; the longest if redirects have it too. On a 429 without it, the time in
    /// `x-rate-limit-reset`, which X sends.
    pub retry_after: Option<Span>,
}

impl Hints {
    pub fn read(status: u16, headers: &HeaderMap, now: Time) -> Self {
        let age = text(headers, &AGE).and_then(seconds).unwrap_or(Span::ZERO);
        let left = |fresh: Span| saturating_sub(fresh, age);
        // Differences are computed with the server's own clock if it sends a date, since clocks may disagree.
        let date = text(headers, &DATE).and_then(date).unwrap_or(now);
        let expires =
            text(headers, &EXPIRES).map(|at| self::date(at).map_or(Span::ZERO, |at| at.since(date)));
        Self {
            max_age: max_age(headers).map(left),
            expires: expires.map(left),
            retry_after: text(headers, &RETRY_AFTER)
                .and_then(|text| seconds(text).or_else(|| Some(self::date(text)?.since(date))))
                .or_else(|| rate_limit_reset(headers).filter(|_| status == 429).map(|at| at.since(date))),
        }
    }
}

/// When a rate limit ends, in seconds since 1970, as X sends it. Other headers of this name use other units.
fn rate_limit_reset(headers: &HeaderMap) -> Option<Time> {
    let seconds = seconds(text(headers, &RATE_LIMIT_RESET)?)?;
    Some(Time::from_millis(i64::try_from(seconds.as_millis()).unwrap_or(i64::MAX)))
}

/// Refuses headers that are too large, whatever the protocol has already counted.
pub(super) fn check_size(headers: &HeaderMap) -> Result<(), Fault> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > MAX_HEADERS || bytes > MAX_HEADER_BYTES as usize { Err(too_large()) } else { Ok(()) }
}

pub(super) const fn too_large() -> Fault {
    Fault::TooLarge { what: "headers", limit: MAX_HEADER_BYTES as u64 }
}

pub(super) fn validators(headers: &HeaderMap) -> Validators {
    Validators { etag: raw(headers, &ETAG), last_modified: raw(headers, &LAST_MODIFIED) }
}

/// The first value of a header, byte for byte; `None` if empty.
pub(super) fn raw(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<u8>> {
    headers.get(name).map(|value| value.as_bytes().to_vec()).filter(|value| !value.is_empty())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The first `max-age` directive.
fn max_age(headers: &HeaderMap) -> Option<Span> {
    let mut found = None;
    let values = headers.get_all(CACHE_CONTROL);
    for directive in values.iter().filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-cache" | "no-store" => return Some(Span::ZERO),
            "max-age" => found = found.or_else(|| seconds(value.trim().trim_matches('"'))),
            _ => {}
        }
    }
    found
}

/// A whole number of seconds, saturating.
fn seconds(text: &str) -> Option<Span> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Span::from_secs(text.parse().unwrap_or(u64::MAX)))
}

/// Any of the three HTTP date formats.
fn date(text: &str) -> Option<Time> {
    let at = httpdate::parse_http_date(text).ok()?;
    let since: Duration = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

fn saturating_sub(span: Span, by: Span) -> Span {
    Span::from_millis(span.as_millis().saturating_sub(by.as_millis()))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in lines {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    fn now() -> Time {
        Time::parse("2026-11-15T08:00:00Z").unwrap()
    }

    /// Each hint in seconds.
    fn hints(lines: &[(&'static str, &str)]) -> (Option<u64>, Option<u64>, Option<u64>) {
        let hints = Hints::read(200, &headers(lines), now());
        let seconds = |span: Option<Span>| span.map(|span| span.as_millis() / 1000);
        (seconds(hints.max_age), seconds(hints.expires), seconds(hints.retry_after))
    }

    #[test]
    fn retry_after_is_seconds_or_an_http_date() {
        let check = |value, expected| assert_eq!(hints(&[("retry-after", value)]).2, expected, "{value}");
        check("120", Some(120));
        check(" 120 ", Some(120));
        check("0", Some(0));
        check("Sun, 15 Nov 2026 08:02:00 GMT", Some(120));
        check("Sunday, 15-Nov-26 08:02:00 GMT", Some(120));
        check("Sun Nov 15 08:02:00 2026", Some(120));
        check("Sun, 15 Nov 2026 07:00:00 GMT", Some(0));
        check("99999999999999999999999999", Some(u64::MAX / 1000));
        for garbage in
            ["", "-1", "+5", "1.5", "soon", "0x10", "12 s", "Sun, 99 Nov 2026 08:02:00 GMT", "\u{661}"]
        {
            check(garbage, None);
        }
    }

    #[test]
    fn rate_limit_reset_counts_only_on_429() {
        let at = (now().as_millis() / 1000 + 900).to_string();
        let after = |status, lines: &[(&'static str, &str)]| {
            Hints::read(status, &headers(lines), now()).retry_after.map(|span| span.as_millis() / 1000)
        };
        assert_eq!(after(429, &[("x-rate-limit-reset", &at)]), Some(900));
        assert_eq!(after(200, &[("x-rate-limit-reset", &at)]), None, "every answer has it");
        assert_eq!(after(429, &[("x-rate-limit-reset", &at), ("retry-after", "60")]), Some(60));
        assert_eq!(after(429, &[("x-rate-limit-reset", "1")]), Some(0), "it has passed");
        assert_eq!(after(429, &[("x-rate-limit-reset", "soon")]), None);
        assert_eq!(
            after(429, &[("x-rate-limit-reset", "99999999999999999999")]).map(|n| n > 1 << 40),
            Some(true)
        );
        let ahead = [("date", "Sun, 15 Nov 2026 08:10:00 GMT"), ("x-rate-limit-reset", at.as_str())];
        assert_eq!(after(429, &ahead), Some(300), "by the server's own clock");
    }

    #[test]
    fn the_servers_own_clock_is_used() {
        let late =
            [("date", "Sun, 15 Nov 2026 07:00:00 GMT"), ("retry-after", "Sun, 15 Nov 2026 07:02:00 GMT")];
        assert_eq!(hints(&late).2, Some(120));
        let early = [("date", "Mon, 16 Nov 2026 07:00:00 GMT"), ("expires", "Mon, 16 Nov 2026 07:02:00 GMT")];
        assert_eq!(hints(&early).1, Some(120));
        let broken = [("date", "yesterday"), ("expires", "Sun, 15 Nov 2026 08:01:00 GMT")];
        assert_eq!(hints(&broken).1, Some(60));
    }

    #[test]
    fn max_age_is_found_among_directives() {
        let check = |value, expected| assert_eq!(hints(&[("cache-control", value)]).0, expected, "{value}");
        check("max-age=60", Some(60));
        check("public, Max-Age = 60 , must-revalidate", Some(60));
        check("max-age=\"60\"", Some(60));
        check("max-age=60, max-age=90", Some(60));
        check("max-age=x, max-age=90", Some(90));
        check("s-maxage=60", None);
        check("x-max-age=60", None);
        check("max-age", None);
        check("max-age=", None);
        check("max-age=-1", None);
        check("max-age=18446744073709551616", Some(u64::MAX / 1000));
        check("max-age=3600, no-cache", Some(0));
        check("no-store", Some(0));
        check(",,,=,", None);
        check("", None);
        let two_lines = [("cache-control", "public"), ("cache-control", "max-age=60")];
        assert_eq!(hints(&two_lines).0, Some(60));
    }

    #[test]
    fn age_is_subtracted() {
        let check = |age, expected| {
            assert_eq!(hints(&[("cache-control", "max-age=60"), ("age", age)]).0, Some(expected), "{age}");
        };
        check("20", 40);
        check("99", 0);
        check("-5", 60);
        check("999999999999999999999999", 0);
    }

    #[test]
    fn unreadable_expires_is_in_the_past() {
        let check = |value, expected| assert_eq!(hints(&[("expires", value)]).1, Some(expected), "{value}");
        check("Sun, 15 Nov 2026 09:00:00 GMT", 3600);
        check("Thu, 19 Nov 1981 08:52:00 GMT", 0);
        check("0", 0);
        check("-1", 0);
        check("Fri, 31 Dec 9999 23:59:59 GMT", 251_607_571_199);
        assert_eq!(hints(&[]), (None, None, None));
    }

    #[test]
    fn validators_are_kept_byte_for_byte() {
        let map = headers(&[("etag", "W/\"ü\""), ("etag", "second"), ("last-modified", "whenever")]);
        let kept = validators(&map);
        assert_eq!(kept.etag.as_deref(), Some("W/\"ü\"".as_bytes()));
        assert_eq!(kept.last_modified.as_deref(), Some(&b"whenever"[..]));
        assert!(validators(&headers(&[("etag", "")])).is_empty());
    }

    #[test]
    fn header_size_is_limited() {
        let large = "x".repeat(MAX_HEADER_BYTES as usize);
        assert_eq!(check_size(&headers(&[("a", &large)])), Err(too_large()));
        assert_eq!(check_size(&headers(&[("a", "b"); MAX_HEADERS])), Ok(()));
        assert_eq!(check_size(&headers(&[("a", "b"); MAX_HEADERS + 1])), Err(too_large()));
    }
}
