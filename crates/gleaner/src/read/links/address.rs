//! What the URL of a link says: which site it is on, what its path consists of, whether it is likely an article.
//!
//! The public suffix list is not needed: whether `a.co.uk` and `b.co.uk` are one site only matters if one is a
//! subdomain of the other, which they are not.

use std::borrow::Cow;

use gleaner_core::link::canonical;
use url::Url;

use super::dates;
use super::path_words::{ARTICLES, LISTINGS, OFFERS, PEOPLE, SERVICES, SHORT_LISTINGS};

/// Maximum words of a person's name.
const MAX_NAME_WORDS: usize = 3;

/// Minimum words of a title.
const MIN_TITLE_WORDS: usize = 5;

/// Longer URLs are ignored.
const MAX_URL_BYTES: usize = 4096;

/// The page that contains the links; used to recognise its own URL and site.
#[derive(Debug)]
pub(super) struct IndexPage<'a> {
    url: &'a Url,
    base: Url,
    segments: Vec<&'a str>,
}

#[derive(Debug, Clone)]
pub(super) struct Address {
    pub url: Url,
    /// The canonical form, for comparison.
    pub key: String,
    /// On the page's own site.
    pub same_site: bool,
    /// It contains a year and month, or a date.
    pub dated: bool,
    /// A segment says that it is not an article: a category, a profile, a form.
    pub listing: bool,
    /// A segment says that it is probably not an article.
    pub service: bool,
    /// A segment says that it is an article.
    pub article: bool,
    /// A segment says that something is sold or advertised there.
    pub offer: bool,
    /// It is below the page.
    pub below: bool,
    /// It is a sibling of the page.
    pub sibling: bool,
    /// Words of the segment with most words.
    pub word_count: usize,
    /// It contains a long number or an identifier.
    pub numbered: bool,
    /// Hash of what similar URLs have in common: the number of segments, the first segment, what they consist of.
    pub shape: u64,
}

impl<'a> IndexPage<'a> {
    pub(super) fn new(url: &'a Url, base: Option<&str>) -> Self {
        let base = base.and_then(|href| join(url, href)).unwrap_or_else(|| url.clone());
        Self { url, base, segments: segments(url) }
    }

    /// Where a link leads; `None` if it is this page, a parent of it, or not on the web.
    pub(super) fn address(&self, href: &str) -> Option<Address> {
        let mut url = join(&self.base, href)?;
        url.set_fragment(None);
        let same_site = is_same_site(self.url, &url);
        if same_site && self.is_here_or_above(&url) {
            return None;
        }
        let key = key(&url);
        Some(self.describe(url, key, same_site))
    }

    fn is_here_or_above(&self, url: &Url) -> bool {
        let theirs = segments(url);
        if theirs == self.segments {
            return is_page_number(url) || url.query() == self.url.query();
        }
        // The front page is a parent of all pages of its site, on any of its hosts.
        url.query().is_none() && self.segments.starts_with(&theirs)
    }

    fn describe(&self, url: Url, key: String, same_site: bool) -> Address {
        let segments = segments(&url);
        let below = same_site && !self.segments.is_empty() && segments.starts_with(&self.segments);
        // The segments of the page's own URL do not count against the URLs below it.
        let rest = if below { &segments[self.segments.len()..] } else { &segments[..] };
        let names = |word_count: &[&str]| rest.iter().any(|segment| is_one_of(segment, word_count));
        let last = segments.last().copied().unwrap_or_default();
        let numbered = is_identifier(last) || url.query_pairs().any(|(_, value)| is_identifier(&value));
        let dated = dates::is_dated(&url);
        let most_words = segments.iter().map(|segment| word_count(segment)).max().unwrap_or(0);
        Address {
            same_site,
            dated,
            listing: is_listing(&segments, rest, most_words, dated, numbered) || is_page_number(&url),
            service: names(SERVICES) && most_words < MIN_TITLE_WORDS
                || (segments.len() == 1 && last.starts_with("about-")),
            article: segments.iter().any(|segment| is_one_of(segment, ARTICLES)),
            offer: is_offer(&segments),
            below,
            sibling: same_site && self.is_sibling(&segments),
            word_count: most_words,
            numbered,
            shape: shape(&url, &segments),
            key,
            url,
        }
    }

    /// Whether the page itself lists products or jobs.
    pub(super) fn is_offer(&self) -> bool {
        let label = self.url.host_str().and_then(|host| host.split('.').next()).unwrap_or_default();
        is_offer_word(label)
            || is_offer(&self.segments)
            || self.segments.last().is_some_and(|last| last.split('-').any(is_offer_word))
    }

    /// Whether a URL differs from the page's own only in a short last segment, so that it is probably another
    /// category.
    fn is_sibling(&self, segments: &[&str]) -> bool {
        match (segments.split_last(), self.segments.split_last()) {
            (Some((last, around)), Some((_, ours))) => {
                !ours.is_empty() && around == ours && word_count(last) <= 2
            }
            _ => false,
        }
    }
}

/// Whether there is no article at a URL; `rest` are its segments that are not the page's own.
fn is_listing(segments: &[&str], rest: &[&str], most_words: usize, dated: bool, numbered: bool) -> bool {
    let names = |segments: &[&str], word_count: &[&str]| {
        segments.iter().any(|segment| is_one_of(segment, word_count))
    };
    let last = segments.last().copied().unwrap_or_default();
    if names(segments, PEOPLE) && most_words <= MAX_NAME_WORDS || is_file(last) {
        return true;
    }
    // A URL with a date is an article, unless it ends with the date, which is an archive.
    if dated {
        return is_number(last) && last.len() <= 4 && most_words < MAX_NAME_WORDS;
    }
    names(rest, LISTINGS)
        || names(rest, SHORT_LISTINGS) && most_words < MIN_TITLE_WORDS
        || names(rest, &["topic", "topics"]) && !numbered
}

fn is_one_of(segment: &str, word_count: &[&str]) -> bool {
    word_count.iter().any(|word| segment.eq_ignore_ascii_case(word))
}

/// A key that equivalent URLs share.
pub(super) fn key(url: &Url) -> String {
    // Only URLs with a query need to be canonicalised.
    let canonical = match url.query() {
        Some(_) => Cow::Owned(canonical(url.as_str())),
        None => Cow::Borrowed(url.as_str()),
    };
    let rest = canonical.split_once("://").map_or(&*canonical, |(_, rest)| rest);
    rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/').to_owned()
}

/// An absolute http or https URL.
pub(super) fn join(base: &Url, href: &str) -> Option<Url> {
    let href = href.trim();
    if href.is_empty() || href.starts_with('#') || href.len() > MAX_URL_BYTES {
        return None;
    }
    let url = base.join(href).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn segments(url: &Url) -> Vec<&str> {
    const INDEX: [&str; 5] = ["index.html", "index.htm", "index.php", "index.jsp", "default.aspx"];
    let mut found: Vec<&str> = url.path().split('/').filter(|segment| !segment.is_empty()).take(32).collect();
    found.pop_if(|last| INDEX.contains(last));
    found
}

/// Whether two URLs are on one site: the same host, or a subdomain of it.
fn is_same_site(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.trim_start_matches("www.").to_owned());
    let (Some(one), Some(other)) = (host(one), host(other)) else { return false };
    let is_part = |part: &str, whole: &str| {
        part.strip_suffix(whole).is_some_and(|rest| rest.ends_with('.')) && whole.contains('.')
    };
    one == other || is_part(&one, &other) || is_part(&other, &one)
}

/// Whether the query selects a page or order of the same list.
fn is_page_number(url: &Url) -> bool {
    #[rustfmt::skip]
    const NAMES: [&str; 13] = [
        "page", "paged", "p", "offset", "start", "sort", "order", "orderby", "filter", "after", "replytocom", "share",
        "lang",
    ];
    url.query_pairs().any(|(name, value)| {
        let number = name != "p" || value.len() < 3;
        number && NAMES.contains(&name.to_ascii_lowercase().as_str())
    })
}

fn is_number(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit())
}

fn is_file(segment: &str) -> bool {
    const ENDINGS: [&str; 14] =
        ["jpg", "jpeg", "png", "gif", "webp", "svg", "pdf", "zip", "mp3", "mp4", "xml", "rss", "atom", "ics"];
    let ending = segment.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// The number of words in a segment such as `how-to-grow-leeks`.
fn word_count(segment: &str) -> usize {
    let wordy = |word: &&str| word.chars().any(char::is_alphabetic);
    segment.split(['-', '_', '+', '.', ',']).filter(wordy).count()
}

/// Whether a segment starts or ends with an identifier.
fn is_identifier(segment: &str) -> bool {
    let is_one = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits >= 4 || (part.len() >= 8 && digits >= 2 && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let parts =
        || segment.split(['-', '_', ',', '.']).filter(|part| !matches!(*part, "html" | "htm" | "php"));
    parts().next().is_some_and(is_one) || parts().next_back().is_some_and(is_one)
}

/// Whether something is sold at a URL: `/products/x`, `/remote-jobs/x`. The last segment counts only as a whole,
/// since a title may mention products; of other segments the last word counts, since `/product-news/x` is news.
fn is_offer(segments: &[&str]) -> bool {
    let Some((last, before)) = segments.split_last() else { return false };
    let names = |segment: &&str| is_offer_word(segment.rsplit(['-', '_']).next().unwrap_or_default());
    is_offer_word(last) || before.iter().any(|segment| is_offer_word(segment) || names(segment))
}

fn is_offer_word(word: &str) -> bool {
    is_one_of(word, OFFERS)
}

fn shape(url: &Url, segments: &[&str]) -> u64 {
    let mut text = url.host_str().unwrap_or_default().to_owned();
    for (place, segment) in segments.iter().enumerate() {
        text.push('/');
        let last = place + 1 == segments.len();
        match segment {
            _ if is_number(segment) => text.push('0'),
            _ if last && is_identifier(segment) => text.push_str("-0"),
            _ if last || word_count(segment) >= 3 => text.push('-'),
            _ if place == 0 => text.push_str(segment),
            _ => text.push('*'),
        }
    }
    for (name, _) in url.query_pairs().take(8) {
        text.push('?');
        text.push_str(&name);
    }
    xxhash_rust::xxh3::xxh3_64(text.as_bytes())
}
