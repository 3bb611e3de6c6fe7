//! When an article was published: what the page declares, then what it shows, then what its address says.

use gleaner_core::time::{Span, Time};
use url::Url;

use super::dates::{self, in_text};
use super::facts::Facts;

/// `<meta>` names that give the date, the surest first.
#[rustfmt::skip]
const NAMES: &[&str] = &[
    "article:published_time", "og:published_time", "og:article:published_time", "article:published",
    "datepublished", "parsely-pub-date", "sailthru.date", "dc.date.issued", "dcterms.issued",
    "dc.date.created", "dcterms.created", "dcterms.date", "dc.date", "citation_publication_date",
    "citation_date", "article.published", "published-date", "publishdate", "publish-date", "publish_date",
    "publication_date", "pubdate", "ptime", "publishtime", "rnews:datepublished", "article_date_original",
    "article:post_date", "displaydate", "cxenseparse:recs:publishtime", "date", "bt:pubdate", "created",
    "weibo:article:create_at", "prism.publicationdate", "originalpublicationdate", "article.created",
    "shareaholic:article_published_time",
];

/// Those that are better than nothing.
#[rustfmt::skip]
const MODIFIED: &[&str] = &[
    "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified",
];

/// When a page was published.
pub(super) struct Published {
    pub at: Time,
    /// The day in the page's own time zone, where that is known: `2024-05-17`.
    pub day: Option<String>,
}

impl Published {
    fn stated(text: &str) -> Option<Self> {
        let at = dates::stated(text)?;
        let day =
            text.trim().get(..10).filter(|day| dates::stated(day).is_some() && day.as_bytes()[4] == b'-');
        Some(Self { at, day: day.map(str::to_owned) })
    }

    fn on(at: Time) -> Self {
        Self { at, day: None }
    }
}

/// When a page was published.
pub(super) fn of(facts: &Facts, url: &Url) -> Option<Published> {
    declared(facts).map(|declared| unless_earlier(facts, declared)).or_else(|| {
        let language = facts.language.as_deref();
        shown(facts, 1)
            .or_else(|| in_address(url).map(Published::on))
            .or_else(|| shown(facts, 3))
            .or_else(|| in_text(&facts.near, language).map(Published::on))
            .or_else(|| shown(facts, 4))
            .or_else(|| in_text(facts.before(), language).map(Published::on))
            .or_else(|| named(facts, MODIFIED))
    })
}

/// What the page declares to programs.
fn declared(facts: &Facts) -> Option<Published> {
    let like = || facts.metas_like("publish").chain(facts.metas_like("pubdate"));
    let linked = facts.linked_data.published();
    linked
        .and_then(|text| Published::stated(&text))
        .or_else(|| named(facts, NAMES))
        .or_else(|| like().find_map(Published::stated))
}

fn named(facts: &Facts, names: &[&str]) -> Option<Published> {
    names.iter().find_map(|name| facts.metas_of(name).find_map(Published::stated))
}

/// Right behind the heading, so many bytes, stands the date that readers are shown.
const BYLINE: usize = 120;
/// Earlier than this, a date in a byline is no date of a page.
const FIRST_PAGES: Time = Time::from_millis(788_918_400_000);

/// The declared date, unless readers are shown an earlier day: machines date a page anew when it is moved or edited,
/// people do not.
fn unless_earlier(facts: &Facts, declared: Published) -> Published {
    let near = facts.near.get(..facts.near.floor_char_boundary(BYLINE)).unwrap_or_default();
    let seen = shown(facts, 1).or_else(|| in_text(near, facts.language.as_deref()).map(Published::on));
    match seen.filter(|seen| seen.at >= FIRST_PAGES) {
        // A day's difference may be the time zone's: the moment is the declared one, the day the one shown.
        Some(seen) if declared.at.since(seen.at) >= Span::from_hours(24) => {
            let close = declared.at.since(seen.at) < Span::from_hours(48);
            let at = if close { declared.at } else { seen.at };
            Published { at, day: Some(seen.at.to_string().chars().take(10).collect()) }
        }
        _ => declared,
    }
}

/// The surest of the dates that the page shows, of those at least as sure as `rank`.
fn shown(facts: &Facts, rank: u8) -> Option<Published> {
    let mut times: Vec<_> = facts.times.iter().filter(|time| time.rank <= rank).collect();
    times.sort_by_key(|time| time.rank);
    let language = facts.language.as_deref();
    let read = |text: &str| Published::stated(text).or_else(|| in_text(text, language).map(Published::on));
    times.into_iter().find_map(|time| read(&time.text))
}

/// `/2024/05/17/` or `/2024-05-17-title`.
fn in_address(url: &Url) -> Option<Time> {
    let path = url.path();
    let numbers: Vec<(usize, &str)> = {
        let mut found = Vec::new();
        let mut start = None;
        for (at, byte) in path.bytes().chain(std::iter::once(b'/')).enumerate() {
            match (byte.is_ascii_digit(), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    found.push((from, path.get(from..at).unwrap_or_default()));
                    start = None;
                }
                _ => {}
            }
        }
        found
    };
    numbers.windows(3).find_map(|three| {
        let [(y, year), (m, month), (d, day)] = three else { return None };
        let joined =
            m - y == 5 && d - m == month.len() + 1 && year.len() == 4 && month.len() <= 2 && day.len() <= 2;
        let whole =
            path.as_bytes().get(y.checked_sub(1)?).is_some_and(|byte| matches!(byte, b'/' | b'-' | b'_'));
        (joined && whole).then(|| dates::day(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?))?
    })
}
