//! The date part of ISO 8601 and similar formats that start with the year.

use super::calendar;
use super::scan::DateParts;

/// Parses a date at the start of the text into days since the epoch, and returns the rest.
pub(super) fn date(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = digits(text, 4, 4)?;
    let year = i32::try_from(year).ok()?;
    if let Some(week) = strip(rest, &["-W", "-w", "W", "w"]) {
        let (week, rest) = digits(week, 2, 2)?;
        let (day, rest) = match digits(rest.strip_prefix('-').unwrap_or(rest), 1, 1) {
            Some((day, rest)) => (day, rest),
            None => (1, rest),
        };
        return Some((calendar::week(year, week, day)?, rest));
    }
    match separator(rest) {
        Some(rest) => separated(year, rest),
        None => compact(year, rest),
    }
}

/// `2024-01-05`, `2024-1-5`, `2024/01/05`, `2024-01`, `2024-005`, and Chinese, Japanese and Korean separators.
fn separated(year: i32, rest: &str) -> Option<(i64, &str)> {
    if let Some((day, after)) = digits(rest, 3, 3) {
        return Some((calendar::ordinal(year, day)?, after));
    }
    let (month, rest) = digits(rest, 1, 2)?;
    let Some((day, rest)) = separator(rest).and_then(|rest| digits(rest, 1, 2)) else {
        return Some((calendar::days(year, month, 1)?, rest));
    };
    let rest = strip(rest, &["\u{65e5}", "\u{c77c}"]).unwrap_or(rest);
    Some((calendar::days(year, month, day)?, rest))
}

/// `20240105`, `2024005`, `2024`.
fn compact(year: i32, rest: &str) -> Option<(i64, &str)> {
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    match count {
        0 if rest.is_empty() => Some((calendar::days(year, 1, 1)?, rest)),
        3 => {
            let (day, rest) = digits(rest, 3, 3)?;
            Some((calendar::ordinal(year, day)?, rest))
        }
        // 14 digits in all: the time follows without a separator.
        4 | 8 | 10 => {
            let (month, rest) = digits(rest, 2, 2)?;
            let (day, rest) = two_digits(rest)?;
            Some((calendar::days(year, month, day)?, rest))
        }
        _ => None,
    }
}

/// Reads the separator between date and time, a compact time, or a zone directly after the date.
pub(super) fn after_date<'t>(rest: &'t str, parts: &mut DateParts) -> Option<&'t str> {
    let compact_time = rest.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    let rest = match rest.strip_prefix(['T', 't', '_']) {
        Some(time) => time,
        None if compact_time => rest,
        None => {
            // A sign directly after the date starts a zone, not a time.
            if rest.starts_with(['+', '-']) {
                let (zone, rest) = super::scan::offset(rest)?;
                parts.set_zone(zone);
                return Some(rest);
            }
            return Some(rest);
        }
    };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    if matches!(count, 4 | 6) {
        let (hour, rest) = two_digits(rest)?;
        let (minute, rest) = two_digits(rest)?;
        let (second, rest) = if count == 6 { two_digits(rest)? } else { (0, rest) };
        parts.set_time(hour, minute, second, 0)?;
        return Some(rest);
    }
    Some(rest)
}

/// A number of `least` to `most` digits, not followed by another digit.
fn digits(text: &str, least: usize, most: usize) -> Option<(u32, &str)> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    // A four-digit year may be followed directly by other digits.
    let length = if least == 4 { count.min(4) } else { count };
    // So may a two-digit month.
    let length = if least == 2 && most == 2 { length.min(2) } else { length };
    (least..=most).contains(&length).then(|| Some((text[..length].parse().ok()?, &text[length..])))?
}

/// Two digits, whatever follows.
fn two_digits(text: &str) -> Option<(u32, &str)> {
    let number = text.get(..2).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((number.parse().ok()?, &text[2..]))
}

fn separator(text: &str) -> Option<&str> {
    let found = strip(text, &["-", "/", ".", "\u{5e74}", "\u{6708}", "\u{b144}", "\u{c6d4}"])?;
    Some(found.trim_start())
}

fn strip<'t>(text: &'t str, heads: &[&str]) -> Option<&'t str> {
    heads.iter().find_map(|head| text.strip_prefix(head))
}
