//! Dates beside links and in their addresses.
//!
//! Absent on purpose: relative ones as a date. "Two hours ago" says that something is news, but not when.

use url::Url;

/// No date that stands by itself is longer.
const LONGEST: usize = 48;

/// Nor is a day without a year.
const LONGEST_DAY: usize = 20;

/// The value of a `datetime` attribute.
pub(super) fn of_attribute(value: &[u8]) -> Option<i64> {
    let value = value.trim_ascii();
    (value.len() <= LONGEST).then(|| gleaner_feed::date::parse(std::str::from_utf8(value).ok()?))?
}

/// A text that is a date, perhaps with a word before it or a bar or dot behind.
pub(super) fn of_text(text: &str) -> Option<i64> {
    if text.len() > LONGEST || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    parse_with_year(text).or_else(|| {
        let (_, rest) = text.split_once(' ')?;
        parse_with_year(rest.trim_start_matches(|c: char| !c.is_alphanumeric()))
    })
}

/// A date with a year of four digits: `May 12` and `12:30` are none, and `3 2024` is likely no date at all.
fn parse_with_year(text: &str) -> Option<i64> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    let year = |number: &str| number.len() == 4 && (number.starts_with("19") || number.starts_with("20"));
    if text.len() < 8 || !numbers.any(year) {
        return None;
    }
    gleaner_feed::date::parse(text)
}

/// Whether a text says how long ago something was, or names a day without a year.
pub(super) fn is_ago(text: &str) -> bool {
    const UNITS: [&str; 9] = ["second", "minute", "min", "hour", "hr", "day", "week", "month", "year"];
    if text.len() > LONGEST || !text.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let text = text.to_ascii_lowercase();
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    (text.contains(" ago") || text.starts_with("vor "))
        && words.any(|word| UNITS.iter().any(|unit| word.starts_with(unit)) || word == "vor")
        || (text.len() <= LONGEST_DAY && gleaner_feed::date::parse(&format!("{text} 2000")).is_some())
}

/// The day that an address names: `/2026/03/08/`, `/2026/mar/08/`, `/2026-03-08-`, `/20260308/`; where it names
/// only a month, none.
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

/// Whether an address names a year and a month, or a short year, month and day: `/2026/03/`, `/26/03/08/`.
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
