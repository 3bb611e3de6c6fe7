//! Dates with month names, and times. Each part is recognised by its form, mostly regardless of its position.

use super::calendar;
use super::names::{self, Name};

/// The parts of a date found so far.
#[derive(Debug, Default)]
pub(super) struct DateParts {
    /// The complete date, as days since the epoch.
    day_number: Option<i64>,
    year: Option<i32>,
    month: Option<u32>,
    day: Option<u32>,
    /// Milliseconds since midnight.
    time: Option<i64>,
    afternoon: Option<bool>,
    /// Minutes east of UTC.
    zone: Option<i32>,
}

impl DateParts {
    pub(super) fn set_day(&mut self, day: i64) {
        self.day_number = Some(day);
    }

    pub(super) fn set_zone(&mut self, minutes: i32) {
        self.zone = Some(minutes);
    }

    /// Sets the time; `None` if it is invalid or already set. Accepts leap seconds and 24:00:00.
    pub(super) fn set_time(&mut self, hour: u32, minute: u32, second: u32, milliseconds: u32) -> Option<()> {
        let midnight = hour == 24 && minute == 0 && second == 0;
        if self.time.is_some() || !(hour < 24 || midnight) || minute > 59 || second > 60 {
            return None;
        }
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        self.time = Some(seconds * 1000 + i64::from(milliseconds));
        Some(())
    }

    fn set_number(&mut self, number: u32, digits: usize) -> Option<()> {
        if self.day_number.is_some() {
            return None;
        }
        match digits {
            1 | 2 if self.day.is_none() => self.day = Some(number),
            // Two digits mean 1950 to 2049 (RFC 2822), three count from 1900.
            1 | 2 if self.year.is_none() && self.month.is_some() => {
                self.year =
                    i32::try_from(number).ok().map(|year| if year < 50 { year + 2000 } else { year + 1900 });
            }
            3 if self.year.is_none() => self.year = i32::try_from(number).ok().map(|year| year + 1900),
            4 if self.year.is_none() => self.year = i32::try_from(number).ok(),
            _ => return None,
        }
        Some(())
    }

    fn set_word(&mut self, word: &str) -> Option<()> {
        match names::lookup(word) {
            Some(Name::Month(month)) if self.month.is_none() && self.day_number.is_none() => {
                self.month = Some(month)
            }
            Some(Name::Afternoon(afternoon)) => self.afternoon = Some(afternoon),
            Some(Name::Zone(minutes)) if self.time.is_some() => {
                self.zone = self.zone.or(Some(minutes));
            }
            Some(Name::Filler) => {}
            // A weekday in some language.
            _ if self.day.is_none() && self.year.is_none() && self.day_number.is_none() => {}
            // A comment after the zone.
            _ if self.zone.is_some() => {}
            _ => return None,
        }
        Some(())
    }

    pub(super) fn milliseconds(&self) -> Option<i64> {
        let day = match self.day_number {
            Some(day) => day,
            None => calendar::days(self.year?, self.month?, self.day?)?,
        };
        let mut time = self.time.unwrap_or(0);
        let hour = time / 3_600_000;
        match self.afternoon {
            Some(true) if hour < 12 => time += 12 * 3_600_000,
            Some(false) if hour == 12 => time -= 12 * 3_600_000,
            _ => {}
        }
        Some(calendar::milliseconds(day, time) - i64::from(self.zone.unwrap_or(0)) * 60_000)
    }
}

/// Parses a whole date, or the rest of one.
pub(super) fn read(text: &str, parts: &mut DateParts) -> Option<()> {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if matches!(first, ' ' | ',') {
            rest = &rest[1..];
        } else if first.is_ascii_digit() {
            rest = number_or_time(rest, parts)?;
        } else if matches!(first, '+' | '-' | '\u{2212}') && parts.time.is_some() && parts.zone.is_none() {
            let (zone, after) = offset(rest)?;
            parts.zone = Some(zone);
            rest = after;
        } else if first.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            rest = word(rest, end, parts)?;
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(())
}

fn word<'t>(text: &'t str, end: usize, parts: &mut DateParts) -> Option<&'t str> {
    let (word, rest) = text.split_at(end);
    // `GMT+2` is two hours east; `Etc/GMT` and `[Europe/Berlin]` start with a word to skip.
    let is_prefix = rest.starts_with('/');
    if is_prefix && parts.zone.is_none() && !word.eq_ignore_ascii_case("etc") {
        return None;
    }
    if !is_prefix {
        parts.set_word(word)?;
    }
    let offset_follows = rest.starts_with(['+', '-']) && names::is_utc(word);
    if offset_follows && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
        parts.zone = None;
    }
    Some(rest)
}

/// A number, or a time if a colon follows.
fn number_or_time<'t>(text: &'t str, parts: &mut DateParts) -> Option<&'t str> {
    let (number, digits, rest) = number(text)?;
    let Some((minute, _, rest)) = rest.strip_prefix(':').and_then(self::number) else {
        parts.set_number(number, digits)?;
        return Some(rest);
    };
    let (second, rest) = match rest.strip_prefix(':').and_then(self::number) {
        Some((second, _, rest)) => (second, rest),
        None => (0, rest),
    };
    let (milliseconds, rest) = fraction(rest);
    parts.set_time(number, minute, second, milliseconds)?;
    Some(rest)
}

fn number(text: &str) -> Option<(u32, usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, digits, &text[digits..]))
}

fn fraction(text: &str) -> (u32, &str) {
    let Some(rest) = text.strip_prefix(['.', ',']) else { return (0, text) };
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 {
        return (0, text);
    }
    let milliseconds = rest.bytes().take(count).chain([b'0'; 3]).take(3);
    (milliseconds.fold(0, |total, digit| total * 10 + u32::from(digit - b'0')), &rest[count..])
}

/// An offset from UTC in minutes: `+1`, `+01`, `+0100`, `+01:00`.
pub(super) fn offset(text: &str) -> Option<(i32, &str)> {
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' | '\u{2212}' => -1,
        _ => return None,
    };
    let rest = text.trim_start_matches(['+', '-', '\u{2212}']).trim_start();
    let (number, digits, rest) = number(rest)?;
    let (hours, minutes, rest) = match digits {
        1 | 2 => match rest.strip_prefix(':').and_then(self::number) {
            Some((minutes, _, rest)) => (number, minutes, rest),
            None => (number, 0, rest),
        },
        3 | 4 => (number / 100, number % 100, rest),
        _ => return None,
    };
    // No time zone is further from UTC.
    if hours > 14 || minutes > 59 {
        return None;
    }
    Some((sign * i32::try_from(hours * 60 + minutes).ok()?, rest))
}
