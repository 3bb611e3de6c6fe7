//! The interval `auto`: sources that publish much are asked often, and all of them when they are wont to publish.
//!
//! For a given number of requests the posts of all sources are stored soonest, on average, where each source is
//! asked in proportion to the square root of its rate of publication; the same holds for the hours of its day.
//! So a source has a [`Habit`]: how many dated entries on each of the last 30 days, and how they spread over the
//! hours of the day and the days of the week. A small prior keeps quiet sources from being starved, and habits
//! that few entries speak for from being believed.
//!
//! What all `auto` sources together may ask is the budget of the fixed interval. [`Budget`] counts them by the
//! root of their rate, in a few dozen classes; a poll that moves a source from one class to another subtracts
//! one here and adds one there, in its own commit. From the counts alone follows the scale that all intervals
//! share, and it is computed anew every hour or so.
//!
//! Absent on purpose: forecasts. A habit is a mean, and the longest interval is a day, so that a silent source
//! that wakes up is noticed.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Time};

/// How the interval is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The switch; off, `auto` is the fixed interval.
    pub on: bool,
    /// Never more often.
    pub shortest: Span,
    /// Never more rarely.
    pub longest: Span,
    /// Entries a day that every source is taken to have more than it has.
    pub prior: f64,
    /// Entries an hour of the day, on top of those counted, so that chance does not pass for habit.
    pub hour_prior: f32,
    /// The same for a day of the week.
    pub weekday_prior: f32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            on: true,
            shortest: Span::from_mins(5),
            longest: Span::from_hours(24),
            prior: 1.0,
            hour_prior: 1.0,
            weekday_prior: 10.0,
        }
    }
}

const DAYS: usize = 30;
const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// What a day leaves of the counts by hour and weekday, so that they too look back about a month.
const FADE: f32 = 29.0 / 30.0;

/// What a source is wont to publish, and when.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Habit {
    /// The latest day that is counted, in days since 1970; 0: nothing is known yet.
    day: i64,
    /// The oldest entry known, where that is less than 30 days ago; from then on nothing was missed.
    since: Option<Time>,
    /// Dated entries of the last 30 days, today first.
    daily: Vec<u16>,
    /// By hour of the day, UTC, fading.
    hours: [f32; 24],
    /// By day of the week, Monday first, fading.
    weekdays: [f32; 7],
}

impl Habit {
    /// New entries with these dates were seen in a document. Dates ahead and those that are too old say nothing.
    pub fn saw(&mut self, dates: impl IntoIterator<Item = Time>, now: Time) {
        self.turn(now);
        for date in dates {
            let age = self.day - day_of(date);
            let Some(count) = usize::try_from(age).ok().and_then(|age| self.daily.get_mut(age)) else {
                continue;
            };
            *count = count.saturating_add(1);
            let weight = FADE.powi(age as i32);
            self.hours[date.hour() as usize] += weight;
            self.weekdays[date.weekday() as usize] += weight;
            self.since = self.since.map_or(Some(date), |since| Some(since.min(date)));
        }
        // A source without dated entries is known from its first poll on.
        self.since = self.since.or(Some(now));
    }

    /// As it stands today, with what has grown old forgotten.
    #[must_use]
    pub fn at(&self, now: Time) -> Self {
        let mut habit = self.clone();
        habit.turn(now);
        habit
    }

    /// Moves on to today.
    fn turn(&mut self, now: Time) {
        let today = day_of(now);
        let days = today.saturating_sub(self.day);
        if self.daily.len() != DAYS || !(-1..DAYS as i64).contains(&days) {
            // The first day, a month without a word, or a clock that jumped.
            *self = Self { day: today, daily: vec![0; DAYS], ..Self::default() };
            return;
        }
        for _ in 0..days {
            self.daily.rotate_right(1);
            self.daily[0] = 0;
            for count in self.hours.iter_mut().chain(&mut self.weekdays) {
                *count *= FADE;
            }
        }
        self.day = self.day.max(today);
    }

    /// Entries a day, over the last 30 days or what is known of them.
    pub fn rate(&self, now: Time) -> f64 {
        let month = Span::from_days(DAYS as u64);
        let known = self.since.map_or(month, |since| now.since(since).clamp(Span::from_hours(6), month));
        let count: u32 = self.daily.iter().map(|count| u32::from(*count)).sum();
        f64::from(count) / (known.as_millis() as f64 / DAY_MS as f64)
    }

    /// What its share of the budget is in proportion to.
    pub fn weight(&self, rules: &Rules, now: Time) -> f64 {
        let hours: f32 = (0..24).map(|hour| self.hour(hour, rules).sqrt()).sum::<f32>() / 24.0;
        let days: f32 = (0..7).map(|day| self.weekday(day, rules).sqrt()).sum::<f32>() / 7.0;
        (self.rate(now) + rules.prior).sqrt() * f64::from(hours * days)
    }

    /// The interval from now to the next poll, at a scale that [`Budget::scale`] found.
    pub fn interval(&self, scale: f64, rules: &Rules, now: Time) -> Span {
        let longest = rules.longest.as_millis() as f64;
        let speed = scale * (self.rate(now) + rules.prior).sqrt();
        let (mut left, mut at, mut waited) = (1.0, now, 0.0);
        while waited < longest {
            let habit = self.hour(at.hour() as usize, rules) * self.weekday(at.weekday() as usize, rules);
            let speed = (speed * f64::from(habit.sqrt())).max(f64::MIN_POSITIVE);
            let hour = at.next_hour().since(at).as_millis().max(1) as f64;
            if left <= speed * hour {
                waited += left / speed;
                break;
            }
            left -= speed * hour;
            waited += hour;
            at = at.next_hour();
        }
        Span::from_millis(waited as u64).clamp(rules.shortest, rules.longest.max(rules.shortest))
    }

    /// How much of its entries fall into an hour, 1 being the mean. Neighbours count too: habits are not that sharp.
    fn hour(&self, hour: usize, rules: &Rules) -> f32 {
        const NEAR: [f32; 5] = [1.0, 2.0, 3.0, 2.0, 1.0];
        let near: f32 =
            NEAR.iter().enumerate().map(|(i, weight)| weight * self.hours[(hour + 22 + i) % 24]).sum();
        let mean = self.hours.iter().sum::<f32>() / 24.0;
        (near / 9.0 + rules.hour_prior) / (mean + rules.hour_prior)
    }

    /// The same for a day of the week.
    fn weekday(&self, day: usize, rules: &Rules) -> f32 {
        let mean = self.weekdays.iter().sum::<f32>() / 7.0;
        (self.weekdays[day] + rules.weekday_prior) / (mean + rules.weekday_prior)
    }

    /// `publishes 3.2 entries a day, most of them from 8 to 17 UTC; asked every 12 minutes at this hour`.
    pub fn in_words(&self, scale: f64, rules: &Rules, now: Time) -> String {
        let rate = self.rate(now);
        let often = match rate {
            rate if rate >= 1.0 => format!("{rate:.1} entries a day"),
            rate if rate * 7.0 >= 1.0 => format!("{:.1} entries a week", rate * 7.0),
            rate => format!("{:.0} entries in 30 days", rate * DAYS as f64),
        };
        let busy = self.busy_hours(rules);
        let when = busy.map_or(String::new(), |(from, to)| format!(", most of them from {from} to {to} UTC"));
        let interval = self.interval(scale, rules, now);
        format!("it publishes {often}{when}, and is asked after {interval} at this hour (auto)")
    }

    /// The stretch of the day that is busier than the mean, where it has one that is clearly so.
    fn busy_hours(&self, rules: &Rules) -> Option<(usize, usize)> {
        let busy = |hour: usize| self.hour(hour % 24, rules) > 1.15;
        let from = (0..24).find(|hour| busy(*hour) && !busy(hour + 23))?;
        let length = (0..24).take_while(|step| busy(from + step)).count();
        let others = (0..24).filter(|hour| busy(*hour)).count() > length;
        (!others && length >= 2).then_some((from, (from + length) % 24))
    }
}

fn day_of(time: Time) -> i64 {
    time.as_millis().div_euclid(DAY_MS)
}

/// How many classes of weight there are.
const CLASSES: usize = 48;
/// Classes to a doubling of the weight.
const STEPS: f64 = 4.0;
/// The weight of the first class.
const LEAST: f64 = 0.05;

/// How many `auto` sources there are of each weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    counts: [u64; CLASSES],
}

impl Default for Budget {
    fn default() -> Self {
        Self { counts: [0; CLASSES] }
    }
}

impl Budget {
    /// The class of a weight: what is stored with a source, and what counts are kept by.
    pub fn class(weight: f64) -> usize {
        // A cast of a float saturates, and what is no number becomes 0.
        (((weight / LEAST).log2() * STEPS).round() as usize).min(CLASSES - 1)
    }

    /// So many more sources of a class.
    pub fn add(&mut self, class: usize, count: u64) {
        let place = &mut self.counts[class.min(CLASSES - 1)];
        *place = place.saturating_add(count);
    }

    /// A source changed its class, came (from none) or went (to none).
    pub fn change(&mut self, from: Option<usize>, to: Option<usize>) {
        if let Some(from) = from {
            let place = &mut self.counts[from.min(CLASSES - 1)];
            *place = place.saturating_sub(1);
        }
        if let Some(to) = to {
            self.add(to, 1);
        }
    }

    /// The scale at which all of them together ask as often as at a fixed interval.
    pub fn scale(&self, interval: Span, rules: &Rules) -> f64 {
        let sources: u64 = self.counts.iter().sum();
        if sources == 0 {
            // The first one, of which nothing is known yet, is asked as often as any.
            return 1.0 / interval.as_millis().max(1) as f64 / rules.prior.sqrt().max(f64::MIN_POSITIVE);
        }
        let most = 1.0 / rules.shortest.as_millis().max(1) as f64;
        let least = (1.0 / rules.longest.as_millis().max(1) as f64).min(most);
        let wanted = sources as f64 / interval.as_millis().max(1) as f64;
        let asked = |scale: f64| -> f64 {
            let speed =
                |class: usize| (scale * LEAST * 2.0_f64.powf(class as f64 / STEPS)).clamp(least, most);
            self.counts.iter().enumerate().map(|(class, count)| *count as f64 * speed(class)).sum()
        };
        // What is asked grows with the scale, so halving the range finds it.
        let (mut low, mut high) = (least / 1e3, most * 1e3);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if asked(middle) < wanted { low = middle } else { high = middle }
        }
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: fn() -> Rules = Rules::default;

    fn start() -> Time {
        Time::parse("2026-11-01T00:00:00Z").unwrap()
    }

    /// Polled every hour for 40 days, with an entry whenever this says so.
    fn habit(publishes: impl Fn(u64) -> bool) -> (Habit, Time) {
        let mut habit = Habit::default();
        let mut now = start();
        for hour in 0..40 * 24 {
            now = start() + Span::from_hours(hour);
            habit.saw(publishes(hour).then_some(now), now);
        }
        (habit, now)
    }

    #[test]
    fn all_together_keep_the_budget() {
        let mut budget = Budget::default();
        let interval = Span::from_mins(30);
        let habits: Vec<(Habit, Time)> =
            [1, 3, 24, 24, 100, 700].into_iter().map(|every| habit(move |hour| hour % every == 0)).collect();
        for (habit, now) in &habits {
            budget.change(None, Some(Budget::class(habit.weight(&RULES(), *now))));
        }
        let scale = budget.scale(interval, &RULES());
        let intervals: Vec<Span> =
            habits.iter().map(|(habit, now)| habit.interval(scale, &RULES(), *now)).collect();
        assert!(intervals.is_sorted(), "{intervals:?}");
        assert!(intervals[0] < interval && interval < intervals[5], "{intervals:?}");
        // Over a day, each at its hours.
        let asked: f64 = habits
            .iter()
            .map(|(habit, now)| {
                let (mut at, mut polls) = (*now, 0.0);
                while at < *now + Span::from_days(7) {
                    at = at + habit.interval(scale, &RULES(), at);
                    polls += 1.0;
                }
                polls
            })
            .sum();
        let fixed = 6.0 * 7.0 * 48.0;
        assert!((asked / fixed - 1.0).abs() < 0.15, "{asked} polls, {fixed} at a fixed interval");
    }

    #[test]
    fn it_is_asked_when_it_publishes() {
        let (office, _) = habit(|hour| (9..17).contains(&(hour % 24)) && hour / 24 % 7 < 5);
        let scale = 1.0 / (30.0 * 60_000.0);
        let at = |text: &str| office.interval(scale, &RULES(), Time::parse(text).unwrap());
        let (noon, midnight) = (at("2026-12-09T12:00:00Z"), at("2026-12-09T00:00:00Z"));
        assert!(noon.as_millis() * 2 < midnight.as_millis(), "{noon} at noon, {midnight} at midnight");
        let words = office.in_words(scale, &RULES(), Time::parse("2026-12-09T12:00:00Z").unwrap());
        let begins = "it publishes 5.9 entries a day, most of them from 9 to 17 UTC, and is asked after";
        assert!(words.starts_with(begins), "{words}");
    }

    #[test]
    fn what_is_unknown_or_absurd_does_no_harm() {
        let now = start();
        let mut habit = Habit::default();
        habit.saw([Time::from_millis(i64::MAX), Time::from_millis(i64::MIN), now + Span::from_days(2)], now);
        assert_eq!(habit.rate(now), 0.0);
        for scale in [0.0, f64::NAN, f64::INFINITY, 1e-12, -1.0] {
            let interval = habit.interval(scale, &RULES(), now);
            assert!((RULES().shortest..=RULES().longest).contains(&interval), "{scale}: {interval}");
        }
        habit.saw([now, now], now);
        habit.saw([], now - Span::from_hours(1));
        assert!(habit.rate(now) > 0.0, "a clock that stepped back over midnight forgets nothing");
        let kept = serde_json::to_string(&habit).unwrap();
        assert_eq!(serde_json::from_str::<Habit>(&kept).unwrap(), habit);
        let mut budget = Budget::default();
        assert!(budget.scale(Span::ZERO, &RULES()).is_finite());
        budget.change(Some(usize::MAX), Some(usize::MAX));
        assert!(budget.scale(Span::from_days(9999), &RULES()).is_finite());
    }
}
