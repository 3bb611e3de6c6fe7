//! What the address of a link tells: whose it is, what its path is made of, whether articles live there.
//!
//! Absent on purpose: the list of public suffixes. Whether `a.co.uk` and `b.co.uk` are one site only matters
//! where one of them is a part of the other, which they are not.

use std::borrow::Cow;

use gleaner_core::link::canonical;
use url::Url;

use super::dates;
use super::words::{ARTICLES, LISTINGS, OFFERS, PEOPLE, SERVICES, SHORT_LISTINGS};

/// So many may be a name.
const NAME_WORDS: usize = 3;

/// So many words are a title.
const TITLE_WORDS: usize = 5;

/// Longer addresses are not believed.
const LONGEST: usize = 4096;

/// The page that links are on, to tell its own address and its site from others.
#[derive(Debug)]
pub(super) struct Home<'a> {
    url: &'a Url,
    base: Url,
    segments: Vec<&'a str>,
}

/// The address of a link.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub url: Url,
    /// The canonical spelling.
    pub key: String,
    /// On the page's own site.
    pub same_site: bool,
    /// It names a day or a month.
    pub dated: bool,
    /// A segment says that no article is there: a category, a profile, a form.
    pub listing: bool,
    /// A segment says that likely none is there.
    pub service: bool,
    /// A segment says that articles are there.
    pub article: bool,
    /// A segment says that something is sold or advertised there.
    pub offer: bool,
    /// It lies below the page.
    pub below: bool,
    /// It is a sibling of the page.
    pub beside: bool,
    /// Words of the segment that has most of them.
    pub words: usize,
    /// It has a long number, or is a mix of letters and digits, as identifiers are.
    pub numbered: bool,
    /// What addresses of its kind have in common: how many segments, how they begin, what they are made of.
    pub shape: u64,
}

impl<'a> Home<'a> {
    pub(super) fn new(url: &'a Url, base: Option<&str>) -> Self {
        let base = base.and_then(|href| join(url, href)).unwrap_or_else(|| url.clone());
        Self { url, base, segments: segments(url) }
    }

    /// Where a link leads, unless to this page or one above it, or not on the web.
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
        // The front page is above all pages of its site, on whichever of its hosts.
        url.query().is_none() && self.segments.starts_with(&theirs)
    }

    fn describe(&self, url: Url, key: String, same_site: bool) -> Address {
        let segments = segments(&url);
        let below = same_site && !self.segments.is_empty() && segments.starts_with(&self.segments);
        // What the page's own address says of it does not count against what is below.
        let rest = if below { &segments[self.segments.len()..] } else { &segments[..] };
        let names = |words: &[&str]| rest.iter().any(|segment| is_one_of(segment, words));
        let last = segments.last().copied().unwrap_or_default();
        let numbered = is_identifier(last) || url.query_pairs().any(|(_, value)| is_identifier(&value));
        let dated = dates::is_dated(&url);
        let most_words = segments.iter().map(|segment| words(segment)).max().unwrap_or(0);
        Address {
            same_site,
            dated,
            listing: is_listing(&segments, rest, most_words, dated, numbered) || is_page_number(&url),
            service: names(SERVICES) && most_words < TITLE_WORDS
                || (segments.len() == 1 && last.starts_with("about-")),
            article: segments.iter().any(|segment| is_one_of(segment, ARTICLES)),
            offer: is_offer(&segments),
            below,
            beside: same_site && self.is_beside(&segments),
            words: most_words,
            numbered,
            shape: shape(&url, &segments),
            key,
            url,
        }
    }

    /// Whether the page itself is one of offers.
    pub(super) fn is_offer(&self) -> bool {
        let label = self.url.host_str().and_then(|host| host.split('.').next()).unwrap_or_default();
        is_offer_word(label)
            || is_offer(&self.segments)
            || self.segments.last().is_some_and(|last| last.split('-').any(is_offer_word))
    }

    /// Whether an address differs from the page's own only in its last segment, and that is short: the next
    /// category, most likely.
    fn is_beside(&self, segments: &[&str]) -> bool {
        match (segments.split_last(), self.segments.split_last()) {
            (Some((last, around)), Some((_, ours))) => !ours.is_empty() && around == ours && words(last) <= 2,
            _ => false,
        }
    }
}

/// Whether no article is at an address; `rest` is what of its segments is not the page's own.
fn is_listing(segments: &[&str], rest: &[&str], most_words: usize, dated: bool, numbered: bool) -> bool {
    let names = |segments: &[&str], words: &[&str]| segments.iter().any(|segment| is_one_of(segment, words));
    let last = segments.last().copied().unwrap_or_default();
    if names(segments, PEOPLE) && most_words <= NAME_WORDS || is_file(last) {
        return true;
    }
    // A date in an address is an article's; one without more is an archive's.
    if dated {
        return is_number(last) && last.len() <= 4 && most_words < NAME_WORDS;
    }
    names(rest, LISTINGS)
        || names(rest, SHORT_LISTINGS) && most_words < TITLE_WORDS
        || names(rest, &["topic", "topics"]) && !numbered
}

fn is_one_of(segment: &str, words: &[&str]) -> bool {
    words.iter().any(|word| segment.eq_ignore_ascii_case(word))
}

/// What spellings of one address have in common: those that servers take for the same, too.
pub(super) fn key(url: &Url) -> String {
    // Parsing again is only needed where there is something to take out.
    let canonical = match url.query() {
        Some(_) => Cow::Owned(canonical(url.as_str())),
        None => Cow::Borrowed(url.as_str()),
    };
    let rest = canonical.split_once("://").map_or(&*canonical, |(_, rest)| rest);
    rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/').to_owned()
}

/// An absolute address on the web.
pub(super) fn join(base: &Url, href: &str) -> Option<Url> {
    let href = href.trim();
    if href.is_empty() || href.starts_with('#') || href.len() > LONGEST {
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

/// Whether two pages are of one site: the same host, or one a part of the other.
fn is_same_site(one: &Url, other: &Url) -> bool {
    let host = |url: &Url| url.host_str().map(|host| host.trim_start_matches("www.").to_owned());
    let (Some(one), Some(other)) = (host(one), host(other)) else { return false };
    let is_part = |part: &str, whole: &str| {
        part.strip_suffix(whole).is_some_and(|rest| rest.ends_with('.')) && whole.contains('.')
    };
    one == other || is_part(&one, &other) || is_part(&other, &one)
}

/// Whether an address differs from its list's only in which part of it is shown.
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

/// Words of a segment, as titles leave them in addresses: `how-to-grow-leeks`.
fn words(segment: &str) -> usize {
    let wordy = |word: &&str| word.chars().any(char::is_alphabetic);
    segment.split(['-', '_', '+', '.', ',']).filter(wordy).count()
}

/// Whether a segment begins or ends with what machines count by.
fn is_identifier(segment: &str) -> bool {
    let is_one = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits >= 4 || (part.len() >= 8 && digits >= 2 && part.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let parts =
        || segment.split(['-', '_', ',', '.']).filter(|part| !matches!(*part, "html" | "htm" | "php"));
    parts().next().is_some_and(is_one) || parts().next_back().is_some_and(is_one)
}

/// Whether something is sold at an address: `/products/x`, `/remote-jobs/x`. In the last segment a title may
/// speak of that, and what a section is called after its first word may be news of it: `/product-news/x`.
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
            _ if last || words(segment) >= 3 => text.push('-'),
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
