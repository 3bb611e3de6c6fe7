//! Dates as feeds write them: RFC 822 and its abuses, RFC 3339, W3CDTF, ISO 8601 with weeks and days of the year,
//! asctime, month names of many languages.
//!
//! Never a guess that is a lie: a date whose parts could mean two things, or whose time zone nobody knows, is none.
//! A missing zone is UTC and a missing time is midnight, as in every feed reader. Weekdays are not believed.
//!
//! Deliberately absent: formatting, time zone rules, and numeric dates such as `01/02/2024`.

mod calendar;
mod iso;
mod scan;
mod words;

use scan::Moment;

/// No date needs more; what is longer is none.
const LONGEST: usize = 128;

/// The date in milliseconds since the Unix epoch, if it is one.
///
/// ```
/// use gleaner_feed::date::parse;
/// assert_eq!(parse("Thu, 01 Jan 2004 19:48:21 GMT"), Some(1_072_986_501_000));
/// assert_eq!(parse("2004-01-01T20:48:21+01:00"), Some(1_072_986_501_000));
/// assert_eq!(parse("yesterday"), None);
/// ```
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let mut moment = Moment::default();
    let rest = match iso::date(text) {
        Some((day, rest)) => {
            moment.set_day(day);
            iso::after_date(rest, &mut moment)?
        }
        None => text,
    };
    scan::read(rest, &mut moment)?;
    moment.milliseconds()
}

/// A duration in seconds, as podcasts write it: `3600`, `60:00` or `1:00:00`.
pub(crate) fn duration(text: &str) -> Option<u32> {
    let text = text.trim();
    if text.len() > LONGEST {
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
