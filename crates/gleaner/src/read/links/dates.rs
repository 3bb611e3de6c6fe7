//! Dates beside links and in their URLs. Relative dates ("two hours ago") only show that something is news, not
//! when.

use url::Url;

/// Longer texts are not dates.
const MAX_DATE_BYTES: usize = 48;

/// Longer texts are not days without a year.
const MAX_DAY_BYTES: usize = 20;

pub(super) fn of_attribute(value: &[u8]) -> Option<i64> {
    let value = value.trim_ascii();
    (value.len() <= MAX_DATE_BYTES).then(|| gleaner_feed::date::parse(std::str::from_utf8(value).ok()?))?
}

/// Parses a text that is a date, possibly preceded by one word, and surrounded by punctuation.
pub(super) fn of_text(text: &str) -> Option<i64> {
    if text.len() > MAX_DATE_BYTES || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    parse_with_year(text).or_else(|| {
        let (_, rest) = text.split_once(' ')?;
        parse_with_year(rest.trim_start_matches(|c: char| !c.is_alphanumeric()))
    })
}

/// A date with a four-digit year: `May 12` and `12:30` are not dates, and `3 2024` probably is not.
fn parse_with_year(text: &str) -> Option<i64> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let year = |number: &str| number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    if text.len() < 8 || !numbers.any(year) {
        return None;
    }
    gleaner_feed::date::parse(text)
}

/// Whether a text is a relative date, or a day without a year.
pub(super) fn is_relative(text: &str) -> bool {
    const UNITS: [&str; 9] = ["second", "minute", "min", "hour", "hr", "day", "week", "month", "year"];
    if text.len() > MAX_DATE_BYTES || !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    (text.contains(" ago") || text.starts_with("vor "))
        && words.any(|word| UNITS.iter().any(|unit| word.starts_with(unit)) || word == "vor")
        || (text.len() <= MAX_DAY_BYTES && gleaner_feed::date::parse(&format!("{text} 2000")).is_some())
}

/// The day in a URL: `/2026/03/08/`, `/2026/mar/08/`, `/2026-03-08-`; `None` if it contains only a month.
pub(super) fn of_url(url: &Url) -> Option<i64> {
    let path = url.path();
    let parts: Vec<&str> =
        path.split(['/', '-', '_', '.']).filter(|part| !part.is_empty()).take(24).collect();
    parts.windows(3).find_map(|window| match window {
        [year, month, day] if is_year(year) => {
            let month = month_number(month)?;
            let day: u32 = day.parse().ok().filter(|_| day.len() <= 2)?;
            gleaner_feed::date::parse(&format!("{year}-{month:02}-{day:02}"))
        }
        _ => None,
    })
}

/// Whether a URL contains a year and month, or a two-digit year, month and day: `/2026/03/`, `/26/03/08/`.
pub(super) fn is_dated(url: &Url) -> bool {
    if !url.path().bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let parts: Vec<&str> = url.path().split('/').filter(|part| !part.is_empty()).take(12).collect();
    let number = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    parts.windows(2).any(|window| is_year(window[0]) && month_number(window[1]).is_some())
        || parts.windows(3).any(|window| window.iter().all(|part| number(part)))
        || of_url(url).is_some()
}

fn is_year(part: &str) -> bool {
    part.len() == 4
        && (part.starts_with("19") || part.starts_with("20"))
        && part.bytes().all(|b| b.is_ascii_digit())
}

fn month_number(part: &str) -> Option<u32> {
    const NAMES: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    if part.len() <= 2 {
        return part.parse().ok().filter(|month| (1..=12).contains(month));
    }
    let part = part.to_ascii_lowercase();
    let at = NAMES.iter().position(|name| part.starts_with(name))?;
    (part.len() <= 9).then(|| u32::try_from(at + 1).ok())?
}
