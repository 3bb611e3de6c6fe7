//! The fuzz targets: one function per target, each of which takes any bytes and asserts invariants of the result.
//!
//! The fuzzer calls them with generated input, and the tests (`tests/hostile/seeds.rs`, which includes this file as
//! a module) with the seeds. Exact results are checked by the tests beside the code.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use gleaner::config::{Config, File, Flag, Inputs, render};
use gleaner::fetch::guard::{AllowedNetworks, check_url, is_public};
use gleaner::fetch::{Hints, Robots};
use gleaner::read::{
    Page, ReadOptions, article as articles, discover, links, opml as lists, text as texts, tree,
};
use gleaner::read::{watchlist, website};
use gleaner::service::jwt as tokens;
use gleaner_core::time::{Span, Time};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use sha2::Sha256;
use url::{Host, Url};

pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 9] = [
    ("guard", guard),
    ("text", text),
    ("article", article),
    ("pages", pages),
    ("opml", opml),
    ("robots", robots),
    ("headers", headers),
    ("jwt", jwt),
    ("config", config),
];

fn now() -> Time {
    Time::from_millis(1_800_000_000_000)
}

fn here() -> Url {
    Url::parse("https://a.example/dir/page?x=1").expect("a URL")
}

/// Splits at the first line break.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &[]),
    }
}

/// A URL, or the bytes of an address: what is allowed is also public by the standard library's rules, and parses to
/// itself.
pub fn guard(bytes: &[u8]) {
    for size in [4, 16] {
        let Some(start) = bytes.get(..size) else { continue };
        let ip: IpAddr = match (<[u8; 4]>::try_from(start), <[u8; 16]>::try_from(start)) {
            (Ok(four), _) => four.into(),
            (_, Ok(sixteen)) => sixteen.into(),
            _ => continue,
        };
        assert_eq!(AllowedNetworks::default().check(ip).is_ok(), is_public(ip));
        assert!(!is_public(ip) || !is_special(ip), "{ip} passes");
    }
    let text = String::from_utf8_lossy(bytes);
    for url in [Url::parse(&text), here().join(&text)].into_iter().flatten() {
        if check_url(&url, &AllowedNetworks::default()).is_err() {
            continue;
        }
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
        assert!(url.username().is_empty() && url.password().is_none(), "{url}");
        match url.host().expect("what passes has a host") {
            Host::Ipv4(ip) => assert!(!is_special(ip.into()), "{url}"),
            Host::Ipv6(ip) => assert!(!is_special(ip.into()), "{url}"),
            Host::Domain(name) => {
                assert!(name.parse::<IpAddr>().is_err(), "{url}");
                let last = name.trim_end_matches('.').rsplit('.').next();
                assert_ne!(last, Some("localhost"), "{url}");
            }
        }
        let again = Url::parse(url.as_str()).expect("a URL stays one");
        assert_eq!((again.host(), again.port()), (url.host(), url.port()), "{url} changes its mind");
    }
}

/// Whether the standard library knows an address not to be public, or it embeds such an address.
fn is_special(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_special_v4(ip),
        IpAddr::V6(ip) => {
            let wrapped = match ip.segments() {
                [0x2002, high, low, ..] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
                _ => None,
            };
            let wraps = |(high, low): (u16, u16)| {
                is_special_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            };
            let other = ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || is_local(ip);
            other || ip.to_ipv4().is_some_and(is_special_v4) || wrapped.is_some_and(wraps)
        }
    }
}

fn is_local(ip: Ipv6Addr) -> bool {
    ip.is_unique_local() || ip.is_unicast_link_local()
}

fn is_special_v4(ip: Ipv4Addr) -> bool {
    let shared = ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64;
    let kept = ip.octets()[0] == 0 || ip.octets()[0] >= 224 || shared || ip.is_documentation();
    kept || ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_broadcast()
}

/// HTML: the text is collapsed, has no control characters, and converts to itself.
pub fn text(bytes: &[u8]) {
    let html = String::from_utf8_lossy(bytes);
    let text = texts::plain_text(&html);
    assert!(text.len() <= 2 * html.len() + 16, "{} of {}", text.len(), html.len());
    assert_eq!(text.trim_matches(' '), text);
    assert!(!text.contains("  ") && !text.contains(char::is_control), "{text:?}");
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    assert_eq!(texts::plain_text(&escaped), text);
}

/// A page: the extracted article contains no active content.
pub fn article(bytes: &[u8]) {
    let (content_type, body) = halves(bytes);
    let url = here();
    let found = articles::extract(&Page { url: &url, content_type, body });
    assert!(found.text.len() <= 4 * body.len() + 2000, "{} of {}", found.text.len(), body.len());
    let shown = tree::parse(&found.html);
    let running = shown.select("script, iframe, object, embed, style, form, [onclick], [onload], [onerror]");
    assert!(!running.exists(), "{}", found.html);
    for (link, attribute) in [("a", "href"), ("img", "src")] {
        let values = shown.select(link).iter().filter_map(|node| node.attr(attribute)).collect::<Vec<_>>();
        // Exactly what browsers trim.
        let bare = |value: &str| value.trim_start_matches(|c| c <= ' ').to_ascii_lowercase();
        let scripted = values.iter().find(|value| bare(value).starts_with("javascript:"));
        assert_eq!(scripted, None);
    }
}

/// A selector and a page: all links and feeds are on the web.
pub fn pages(bytes: &[u8]) {
    let (selector, body) = halves(bytes);
    let selector = String::from_utf8_lossy(selector);
    let url = here();
    let page = Page { url: &url, content_type: b"text/html; charset=utf-8", body };
    let on_the_web = |url: &Url| assert!(matches!(url.scheme(), "http" | "https") && url.has_host(), "{url}");
    links::guess(&page).iter().for_each(|link| on_the_web(&link.url));
    if links::check_selector(&selector).is_ok() {
        links::select(&page, &selector)
            .expect("it was checked")
            .iter()
            .for_each(|link| on_the_web(&link.url));
        let rules = ReadOptions { article_selector: Some(&selector), ignore_selector: Some(&selector) };
        let _ = (website::read(&page, &rules), watchlist::read(&page, &rules));
    } else {
        let _ =
            (website::read(&page, &ReadOptions::default()), watchlist::read(&page, &ReadOptions::default()));
    }
    discover::feeds(body, &url).iter().for_each(|feed| on_the_web(&feed.url));
}

/// An OPML list: what was read and written is read back unchanged.
pub fn opml(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(outlines) = lists::outlines(&text) else { return };
    let first: Vec<_> = outlines.collect();
    assert!(first.is_sorted_by_key(|outline| outline.line));
    assert!(first.iter().all(|outline| !outline.url.is_empty()));
    let again = |list: &[lists::Outline]| -> Vec<lists::Outline> {
        let mut writer = lists::Writer::new(&text);
        list.iter().for_each(|outline| writer.feed(outline));
        lists::outlines(&writer.finish()).expect("it was written as a list").collect()
    };
    // After the first round trip each feed has a kind, and its URL as title if it had none.
    let second = again(&again(&first));
    assert_eq!(again(&second), second);
}

/// A path and a robots.txt: the delay is limited.
pub fn robots(bytes: &[u8]) {
    let (path, body) = halves(bytes);
    let robots = Robots::parse(body);
    robots.allows(&String::from_utf8_lossy(path));
    assert!(robots.allows("/robots.txt"));
    assert!(robots.crawl_delay().is_none_or(|delay| delay <= Span::from_mins(10)));
}

/// A status and header lines: no hint is negative.
pub fn headers(bytes: &[u8]) {
    let (status, lines) = halves(bytes);
    let status = String::from_utf8_lossy(status).trim().parse().unwrap_or(200);
    let mut headers = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n').take(100) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(value))
        {
            headers.append(name, value);
        }
    }
    let hints = Hints::read(status, &headers, now());
    assert!(hints.max_age.is_none() || headers.contains_key("cache-control"));
    assert!(hints.expires.is_none() || headers.contains_key("expires"));
    let limited = status == 429 && headers.contains_key("x-rate-limit-reset");
    assert!(hints.retry_after.is_none() || headers.contains_key("retry-after") || limited);
    let _ = now() + hints.retry_after.unwrap_or(Span::ZERO);
}

const KEY: &[u8] = b"a key of some thirty-two bytes...";

/// A token, and signed header and claims: only our own valid tokens are accepted.
pub fn jwt(bytes: &[u8]) {
    let token = String::from_utf8_lossy(bytes);
    assert!(tokens::verify(KEY, &token, now()).is_err(), "{token} is forged");
    let (header, claims) = halves(bytes);
    let message = format!("{}.{}", base64(header), base64(claims));
    let mac = Hmac::<Sha256>::new_from_slice(KEY).expect("a key").chain_update(message.as_bytes());
    let token = format!("{message}.{}", base64(&mac.finalize().into_bytes()));
    let Ok(id) = tokens::verify(KEY, &token, now()) else { return };
    let read = |bytes| serde_json::from_slice::<serde_json::Value>(bytes).expect("JSON");
    let (header, claims) = (read(header), read(claims));
    assert_eq!(header["alg"], "HS256");
    assert_eq!((&claims["iss"], &claims["aud"]), (&"gleaner".into(), &"gleaner-api".into()));
    assert!(claims["exp"].as_i64().is_some_and(|end| end > now().as_millis() / 1000), "{claims}");
    assert_eq!(claims["jti"], id.as_str());
}

/// base64url without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        let digit = |place: usize| char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize]);
        out.extend((0..=group.len()).map(digit));
    }
    out
}

/// A config file, and flags after a line `---`: a configuration that can be rendered, or readable errors.
pub fn config(bytes: &[u8]) {
    let all = String::from_utf8_lossy(bytes);
    let (text, flags) = all.split_once("\n---\n").unwrap_or((&all, ""));
    let flag = |line: &str| Flag { name: "--set".to_owned(), assignment: line.to_owned() };
    let read = |path: &Path| match path.to_str() {
        Some("secret") => Ok("hunter2-hunter2-hunter2-hunter2-".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    let inputs = Inputs {
        file: Some(File { path: "gleaner.toml".into(), text: text.to_owned() }),
        env: std::iter::once(("HOME".to_owned(), "/nowhere".to_owned())).collect(),
        flags: flags.lines().map(flag).collect(),
        read: &read,
    };
    let shown = match Config::load(&inputs) {
        Ok(loaded) => format!("{:?} {:?} {:?}", render::rows(&loaded), loaded.warnings, loaded.config),
        Err(errors) => errors.to_string(),
    };
    assert!(!shown.contains("hunter2-hunter2") || text.contains("hunter2") || flags.contains("hunter2"));
}
