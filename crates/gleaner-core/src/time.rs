//! Points in time and lengths of time, in whole milliseconds.
//!
//! Everything saturates: no sum, product or difference here can overflow or panic, whatever a feed, a config
//! file or a clock that jumped may say. Absent on purpose: the current time. It arrives as a value.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(i64);

/// A length of time, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// From milliseconds since the Unix epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// How long ago `earlier` was; nothing if it lies ahead (clocks jump, and an age is never negative).
    pub fn since(self, earlier: Time) -> Span {
        Span(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Whether this is the epoch of a common clock, give or take a day for time zones: that of Unix (1970), .NET and Go
    /// (the year 1), Windows (1601), spreadsheets (1899), NTP (1900) or classic Mac OS (1904). Software writes it where
    /// it has no date.
    pub fn is_clock_epoch(self) -> bool {
        const DAYS: [i64; 6] = [0, -719_162, -134_774, -25_569, -25_567, -24_107];
        DAYS.iter().any(|day| self.0.abs_diff(day * 86_400_000) <= 86_400_000)
    }

    /// The hour of the day in UTC, 0 to 23.
    pub fn hour(self) -> u32 {
        // rem_euclid of a positive constant lies in 0..24, so the cast keeps the value.
        self.0.div_euclid(3_600_000).rem_euclid(24) as u32
    }

    /// The day of the week in UTC: Monday is 0, Sunday 6.
    pub fn weekday(self) -> u32 {
        // 1970-01-01 was a Thursday.
        (self.0.div_euclid(86_400_000) + 3).rem_euclid(7) as u32
    }

    /// The start of the next full hour.
    pub fn next_hour(self) -> Time {
        Time(self.0.div_euclid(3_600_000).saturating_add(1).saturating_mul(3_600_000))
    }

    /// What [`fmt::Display`] shows, digit by digit: the bytes and how many of them count. None where the year has not
    /// four digits, or is the last that has.
    fn digits(self) -> Option<([u8; 24], usize)> {
        // The casts keep the values: a day has fewer milliseconds than fit, and each part two digits.
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000) as u32);
        let (year, month, day) = civil(days);
        if !(1000..9999).contains(&year) {
            return None;
        }
        let (year, second, ms) = (year as u32, ms / 1000, ms % 1000);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let pairs = [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, second / 3600),
            (14, second / 60 % 60),
            (17, second % 60),
            (20, ms / 10),
        ];
        for (place, number) in pairs {
            text[place] = b'0' + (number / 10) as u8;
            text[place + 1] = b'0' + (number % 10) as u8;
        }
        text[22] = b'0' + (ms % 10) as u8;
        // A fraction ends with its last digit that says something.
        let end = match ms {
            0 => 19,
            _ if ms % 100 == 0 => 21,
            _ if ms % 10 == 0 => 22,
            _ => 23,
        };
        text[end] = b'Z';
        Some((text, end + 1))
    }

    /// Reads an RFC 3339 time.
    pub fn parse(text: &str) -> Option<Time> {
        text.parse::<jiff::Timestamp>().ok().map(|t| Time(t.as_millisecond()))
    }
}

/// Year, month and day of so many days after 1970-01-01. Years begin in March here, so that a leap day is the last of
/// its year; 400 of them are an era of 146,097 days.
fn civil(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    // An era has fewer days than fit.
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097) as u32);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + i64::from(year + later), month, day)
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// From milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// From seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }

    /// From minutes.
    pub const fn from_mins(n: u64) -> Self {
        Self(n.saturating_mul(60_000))
    }

    /// From hours.
    pub const fn from_hours(n: u64) -> Self {
        Self(n.saturating_mul(3_600_000))
    }

    /// From days of 24 hours.
    pub const fn from_days(n: u64) -> Self {
        Self(n.saturating_mul(86_400_000))
    }

    /// In milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// In whole minutes.
    pub const fn as_mins(self) -> u64 {
        self.0 / 60_000
    }

    /// In whole hours.
    pub const fn as_hours(self) -> u64 {
        self.0 / 3_600_000
    }

    /// This length times `factor`; not a number and negative factors give nothing.
    pub fn scale(self, factor: f64) -> Span {
        // A float's cast to an integer saturates, and NaN becomes 0.
        Span((self.0 as f64 * factor) as u64)
    }

    /// This length doubled `times` times.
    pub fn doubled(self, times: u32) -> Span {
        Span(self.0.saturating_mul(2_u64.checked_pow(times).unwrap_or(u64::MAX)))
    }

    /// Half of this length.
    pub const fn half(self) -> Span {
        Span(self.0 / 2)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add_unsigned(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub_unsigned(span.0))
    }
}

/// `2026-11-15T08:00:00Z`, with milliseconds where there are any.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{time}"),
            Err(_) => f.write_str(if self.0 < 0 { "the distant past" } else { "the distant future" }),
        }
    }
}

/// For people: `45 seconds`, `26 hours`, `3 days`; the unit is the largest that keeps at least two of it, so
/// that rounding hides little.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second")];
        let (size, unit) = UNITS
            .into_iter()
            .find(|(size, _)| self.0 == *size || self.0 >= 2 * size)
            .unwrap_or((1000, "second"));
        let n = self.0.saturating_add(size / 2) / size;
        write!(f, "{n} {unit}{}", if n == 1 { "" } else { "s" })
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Answers of the API are full of times; through the formatter they are a twentieth of a list's cost.
        let digits = self.digits();
        let text = digits.as_ref().and_then(|(text, length)| std::str::from_utf8(&text[..*length]).ok());
        match text {
            Some(text) => to.serialize_str(text),
            None => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Time::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("'{text}' is no RFC 3339 time such as 2026-11-15T08:00:00Z"))
        })
    }
}

/// As whole milliseconds: spans are stored, never shown, through serde.
impl Serialize for Span {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Span)
    }
}

/// Chance as a value: a number from 0 up to, not including, 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter(f64);

impl Jitter {
    /// From any number; what lies outside 0..1 is taken as the nearest end.
    pub fn new(share: f64) -> Self {
        Self(if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0 - f64::EPSILON) })
    }

    /// From 64 random bits.
    pub fn from_bits(bits: u64) -> Self {
        Self::new((bits >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// A factor from `1 - spread` to `1 + spread`.
    pub fn around_one(self, spread: f64) -> f64 {
        1.0 - spread + 2.0 * spread * self.0
    }

    /// A random part of `span`.
    pub fn part_of(self, span: Span) -> Span {
        span.scale(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_of_clocks_are_no_dates() {
        for text in [
            "1970-01-01T00:00:00Z",
            "1969-12-31T19:00:00-05:00",
            "1970-01-01T01:00:00+01:00",
            "0001-01-01T00:00:00Z",
            "1601-01-01T00:00:00Z",
            "1899-12-30T00:00:00Z",
            "1900-01-01T00:00:00Z",
            "1904-01-01T00:00:00Z",
        ] {
            assert!(Time::parse(text).unwrap().is_clock_epoch(), "{text}");
        }
        for text in
            ["1970-01-03T00:00:00Z", "1999-12-31T00:00:00Z", "2000-01-01T00:00:00Z", "1850-06-01T00:00:00Z"]
        {
            assert!(!Time::parse(text).unwrap().is_clock_epoch(), "{text}");
        }
        assert!(
            !Time::from_millis(i64::MIN).is_clock_epoch() && !Time::from_millis(i64::MAX).is_clock_epoch()
        );
    }

    #[test]
    fn spans_read_well() {
        let check = |ms, text: &str| assert_eq!(Span::from_millis(ms).to_string(), text);
        check(0, "0 seconds");
        check(1000, "1 second");
        check(60_000, "1 minute");
        check(90_000, "90 seconds");
        check(3_600_000, "1 hour");
        check(5_400_000, "90 minutes");
        check(26 * 3_600_000, "26 hours");
        check(3 * 86_400_000, "3 days");
        check(u64::MAX, "213503982334 days");
    }

    #[test]
    fn calendar_fields_are_utc() {
        let sunday = Time::parse("2026-11-15T08:12:50Z").unwrap();
        assert_eq!((sunday.weekday(), sunday.hour()), (6, 8));
        assert_eq!(sunday.next_hour(), Time::parse("2026-11-15T09:00:00Z").unwrap());
        let before_epoch = Time::parse("1969-12-31T23:59:59Z").unwrap();
        assert_eq!((before_epoch.weekday(), before_epoch.hour()), (2, 23));
        assert_eq!(sunday.to_string(), "2026-11-15T08:12:50Z");
    }

    #[test]
    fn times_are_written_as_they_are_shown() {
        let day = 86_400_000;
        // Every day of five centuries, each at another second; then the ends of what has four digits, and beyond.
        let days = (-150_000_i64..50_000).map(|n| n * day + n.rem_euclid(86_400) * 1000 + n.rem_euclid(1000));
        let ends = [-30_610_224_000_000, -30_610_224_001_000, 253_402_300_799_000, 253_402_300_800_000];
        for ms in days.chain(ends).chain([1, 999, 1500, -1, i64::MIN, i64::MAX]) {
            let time = Time::from_millis(ms);
            assert_eq!(serde_json::to_string(&time).unwrap(), format!("\"{time}\""));
        }
    }

    #[test]
    fn nothing_overflows() {
        let end = Time::from_millis(i64::MAX);
        assert_eq!(end + Span::from_days(u64::MAX), end);
        assert_eq!(Time::from_millis(i64::MIN) - Span::from_days(1), Time::from_millis(i64::MIN));
        assert_eq!(Time::from_millis(0).since(end), Span::ZERO);
        assert_eq!(Span::from_mins(60).doubled(u32::MAX), Span::from_millis(u64::MAX));
        assert_eq!(Span::from_mins(60).scale(f64::NAN), Span::ZERO);
        assert_eq!(end.next_hour(), end);
        assert_eq!(end.to_string(), "the distant future");
    }
}
