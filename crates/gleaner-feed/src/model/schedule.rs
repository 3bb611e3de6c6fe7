//! Polling hints of a feed. What to do with them is up to the poller.

/// Hints on when to poll the feed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Schedule {
    /// RSS's `ttl`: minutes for which the document may be cached.
    pub ttl_minutes: Option<u32>,
    /// RSS's `skipHours`: hours of the day (UTC) without updates.
    pub skip_hours: Hours,
    /// RSS's `skipDays`: days without updates.
    pub skip_days: Weekdays,
    /// `sy:updatePeriod`.
    pub period: Option<Period>,
    /// `sy:updateFrequency`: the number of updates per period.
    pub frequency: Option<u32>,
    /// `sy:updateBase`: the time from which periods are counted.
    pub base: Option<i64>,
}

impl Schedule {
    /// Seconds between updates according to the syndication module; a frequency without a period is per day.
    pub fn update_interval(&self) -> Option<u32> {
        if self.period.is_none() && self.frequency.is_none() {
            return None;
        }
        let period = self.period.unwrap_or(Period::Daily).seconds();
        Some(period / self.frequency.unwrap_or(1).max(1))
    }
}

/// An update period of the syndication module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Every hour.
    Hourly,
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month, taken as 30 days.
    Monthly,
    /// Every year, taken as 365 days.
    Yearly,
}

impl Period {
    /// The length in seconds.
    pub fn seconds(self) -> u32 {
        const DAY: u32 = 24 * 60 * 60;
        match self {
            Self::Hourly => 60 * 60,
            Self::Daily => DAY,
            Self::Weekly => 7 * DAY,
            Self::Monthly => 30 * DAY,
            Self::Yearly => 365 * DAY,
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "hourly" => Some(Self::Hourly),
            "daily" => Some(Self::Daily),
            "weekly" => Some(Self::Weekly),
            "monthly" => Some(Self::Monthly),
            "yearly" => Some(Self::Yearly),
            _ => None,
        }
    }
}

/// A set of hours of the day, 0 to 23.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hours(u32);

impl Hours {
    /// Whether the hour is in the set.
    pub fn contains(self, hour: u8) -> bool {
        hour < 24 && self.0 >> hour & 1 == 1
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The hours of the set, in order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..24).filter(move |&hour| self.contains(hour))
    }

    /// Adds an hour; 24 means 0, as in RSS 0.91. Other values are ignored.
    pub(crate) fn insert(&mut self, hour: u8) {
        if hour <= 24 {
            self.0 |= 1 << (hour % 24);
        }
    }
}

/// A set of days of the week; 0 is Monday.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weekdays(u8);

impl Weekdays {
    /// Whether the day is in the set; 0 is Monday.
    pub fn contains(self, day: u8) -> bool {
        day < 7 && self.0 >> day & 1 == 1
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The days of the set, in order from Monday.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..7).filter(move |&day| self.contains(day))
    }

    /// Adds a day by its English name.
    pub(crate) fn insert_name(&mut self, name: &str) {
        const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let name = name.trim();
        let known = |day: &&str| name.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(day));
        if let Some(day) = NAMES.iter().position(known) {
            self.0 |= 1 << day;
        }
    }
}
