//! The publication date of an article: as declared, or else as displayed, or else from its URL.

use gleaner_core::time::{Span, Time};
use url::Url;

use super::dates::{self, in_text};
use super::metadata::PageMetadata;

/// `<meta>` names for the publication date, most reliable first.
#[rustfmt::skip]
const PUBLISHED_NAMES: &[&str] = &[
    "article:published_time", "og:published_time", "og:article:published_time", "article:published",
    "datepublished", "parsely-pub-date", "sailthru.date", "dc.date.issued", "dcterms.issued",
    "dc.date.created", "dcterms.created", "dcterms.date", "dc.date", "citation_publication_date",
    "citation_date", "article.published", "published-date", "publishdate", "publish-date", "publish_date",
    "publication_date", "pubdate", "ptime", "publishtime", "rnews:datepublished", "article_date_original",
    "article:post_date", "displaydate", "cxenseparse:recs:publishtime", "date", "bt:pubdate", "created",
    "weibo:article:create_at", "prism.publicationdate", "originalpublicationdate", "article.created",
    "shareaholic:article_published_time",
];

/// `<meta>` names for the modification date, used last.
#[rustfmt::skip]
const MODIFIED_NAMES: &[&str] = &[
    "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified",
];

pub(super) struct Published {
    pub at: Time,
    /// The day in the page's own time zone, if known: `2024-05-17`.
    pub day: Option<String>,
}

impl Published {
    fn parse(text: &str) -> Option<Self> {
        let at = dates::parse(text)?;
        let day =
            text.trim().get(..10).filter(|day| dates::parse(day).is_some() && day.as_bytes()[4] == b'-');
        Some(Self { at, day: day.map(str::to_owned) })
    }

    fn from_time(at: Time) -> Self {
        Self { at, day: None }
    }
}

pub(super) fn find(metadata: &PageMetadata, url: &Url) -> Option<Published> {
    declared(metadata).map(|declared| prefer_earlier_displayed(metadata, declared)).or_else(|| {
        let language = metadata.language.as_deref();
        displayed(metadata, 1)
            .or_else(|| in_url(url).map(Published::from_time))
            .or_else(|| displayed(metadata, 3))
            .or_else(|| in_text(&metadata.after_heading, language).map(Published::from_time))
            .or_else(|| displayed(metadata, 4))
            .or_else(|| in_text(metadata.before_heading(), language).map(Published::from_time))
            .or_else(|| named(metadata, MODIFIED_NAMES))
    })
}

/// The date that the page declares for programs.
fn declared(metadata: &PageMetadata) -> Option<Published> {
    let like = || metadata.metas_containing("publish").chain(metadata.metas_containing("pubdate"));
    let linked = metadata.linked_data.published();
    linked
        .and_then(|text| Published::parse(&text))
        .or_else(|| named(metadata, PUBLISHED_NAMES))
        .or_else(|| like().find_map(Published::parse))
}

fn named(metadata: &PageMetadata, names: &[&str]) -> Option<Published> {
    names.iter().find_map(|name| metadata.metas_named(name).find_map(Published::parse))
}

/// The displayed date is expected within this many bytes after the heading.
const BYLINE_BYTES: usize = 120;
/// Earlier dates in a byline are not publication dates (1995-01-01).
const EARLIEST_DATE: Time = Time::from_millis(788_918_400_000);

/// The declared date, unless an earlier day is displayed: software re-dates a page that is moved or edited, people
/// do not.
fn prefer_earlier_displayed(metadata: &PageMetadata, declared: Published) -> Published {
    let near = metadata
        .after_heading
        .get(..metadata.after_heading.floor_char_boundary(BYLINE_BYTES))
        .unwrap_or_default();
    let seen = displayed(metadata, 1)
        .or_else(|| in_text(near, metadata.language.as_deref()).map(Published::from_time));
    match seen.filter(|seen| seen.at >= EARLIEST_DATE) {
        // One day's difference may be due to the time zone: use the declared time and the displayed day.
        Some(seen) if declared.at.since(seen.at) >= Span::from_hours(24) => {
            let close = declared.at.since(seen.at) < Span::from_hours(48);
            let at = if close { declared.at } else { seen.at };
            Published { at, day: Some(seen.at.to_string().chars().take(10).collect()) }
        }
        _ => declared,
    }
}

/// The most reliable of the displayed dates, with at least the reliability `rank`.
fn displayed(metadata: &PageMetadata, rank: u8) -> Option<Published> {
    let mut times: Vec<_> = metadata.times.iter().filter(|time| time.rank <= rank).collect();
    times.sort_by_key(|time| time.rank);
    let language = metadata.language.as_deref();
    let read =
        |text: &str| Published::parse(text).or_else(|| in_text(text, language).map(Published::from_time));
    times.into_iter().find_map(|time| read(&time.text))
}

/// A date in the URL: `/2024/05/17/` or `/2024-05-17-title`.
fn in_url(url: &Url) -> Option<Time> {
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
