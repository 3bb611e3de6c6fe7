//! Parses dates as feeds write them: RFC 822 and its common misspellings, RFC 3339, W3CDTF, ISO 8601 (including
//! week and ordinal dates), asctime, and month names in many languages.
//!
//! A date that is ambiguous, or whose time zone is unknown, is rejected rather than guessed. A missing zone means
//! UTC and a missing time means midnight, as in other feed readers. Weekdays are ignored.
//!
//! Not supported: formatting, time zone rules, and numeric dates such as `01/02/2024`.

mod calendar;
mod iso;
mod names;
mod scan;

use scan::DateParts;

/// Longer input is not a date.
const MAX_LENGTH: usize = 128;

/// Parses a date into milliseconds since the Unix epoch.
///
/// ```
/// use gleaner_feed::date::parse;
/// assert_eq!(parse("Thu, 01 Jan 2004 19:48:21 GMT"), Some(1_072_986_501_000));
/// assert_eq!(parse("2004-01-01T20:48:21+01:00"), Some(1_072_986_501_000));
/// assert_eq!(parse("yesterday"), None);
/// ```
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    let mut parts = DateParts::default();
    let rest = match iso::date(text) {
        Some((day, rest)) => {
            parts.set_day(day);
            iso::after_date(rest, &mut parts)?
        }
        None => text,
    };
    scan::read(rest, &mut parts)?;
    parts.milliseconds()
}

/// Parses a podcast duration (`3600`, `60:00` or `1:00:00`) into seconds.
pub(crate) fn duration(text: &str) -> Option<u32> {
    let text = text.trim();
    if text.len() > MAX_LENGTH {
        return None;
    }
    let text = text.split('.').next().unwrap_or(text);
    let mut parts = 0;
    let seconds = text.split(':').try_fold(0u32, |total, part| {
        parts += 1;
        total.checked_mul(60)?.checked_add(part.trim().parse().ok()?)
    })?;
    (parts <= 3).then_some(seconds)
}

#[cfg(test)]
mod tests;
