//! What each publisher of the demo does at which time. Pure: the same scenario gives the same answer at the same
//! time.
//!
//! Times are hours from the moment at which the dashboard opens, so that something is about to happen for every
//! kind of disruption.

use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};

use super::publishers::PUBLISHERS;
use super::text::TextGenerator;

/// Number of entries in a feed.
const WINDOW: usize = 12;
/// Age of the first entry when the dashboard opens.
const PAST: Span = Span::from_days(30);

/// A website of the demo.
#[derive(Debug)]
pub struct Publisher {
    pub name: &'static str,
    pub collection: &'static str,
    pub format: Format,
    pub host: &'static str,
    /// The directory on the host; for X, the handle.
    pub dir: &'static str,
    /// Polling interval in minutes; 0 if it is left for the user to add.
    pub interval: u32,
    /// Average minutes between posts.
    pub minutes_per_post: u64,
    pub disruptions: &'static [Disruption],
    /// Its own policy, if any.
    pub policy: Option<&'static str>,
    /// Why it is worth watching, if it is pointed out to the user.
    pub highlight: Option<&'static str>,
}

/// What a publisher offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RSS 2.0.
    Rss,
    /// RSS with summaries; the full articles are on their own pages.
    Teaser,
    /// Atom 1.0.
    Atom,
    /// JSON Feed.
    Json,
    /// A single page that changes.
    Page,
    /// A blog without a feed.
    Index,
    Timeline,
}

/// A period in which a server behaves differently.
#[derive(Debug, Clone, Copy)]
pub struct Disruption {
    /// The hour at which it starts, and its length in hours.
    begins: i64,
    lasts: i64,
    /// The period in hours after which it repeats; 0 if it does not.
    every: i64,
    behaviour: Behaviour,
}

/// How a server responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Normal,
    /// Responds with this status.
    Status(u16),
    /// Responds with 429 and a `Retry-After` of this many hours.
    RateLimited(u32),
    /// Redirects permanently.
    Moved,
    /// Redirects to a private network.
    PrivateRedirect,
    /// Responds slowly.
    Slow,
    /// Responds later than the timeout.
    Stalled,
    /// Closes the connection before the document is complete.
    Truncated,
    /// Sends an unreadable document.
    Garbled,
    /// Sends more than the size limit.
    Oversized,
}

impl Disruption {
    /// Starts at an hour and lasts for `lasts` hours.
    pub const fn once(begins: i64, lasts: i64, behaviour: Behaviour) -> Self {
        Self { begins, lasts, every: 0, behaviour }
    }

    /// Starts at an hour and never ends.
    pub const fn since(begins: i64, behaviour: Behaviour) -> Self {
        Self::once(begins, i64::MAX, behaviour)
    }

    /// Repeats every `every` hours.
    pub const fn every(every: i64, begins: i64, lasts: i64, behaviour: Behaviour) -> Self {
        Self { begins, lasts, every, behaviour }
    }

    const fn covers(&self, hour: i64) -> bool {
        let age = hour - self.begins;
        age >= 0 && (if self.every > 0 { age % self.every } else { age }) < self.lasts
    }
}

impl Publisher {
    /// The kind of source that gleaner polls it as.
    pub const fn kind(&self) -> Kind {
        match self.format {
            Format::Page => Kind::Website,
            Format::Index => Kind::Watchlist,
            Format::Timeline => Kind::X,
            _ => Kind::Feed,
        }
    }

    /// The URL that is polled.
    pub fn url(&self) -> String {
        let scheme = if self.format == Format::Timeline { "https" } else { "http" };
        format!("{scheme}://{}{}{}", self.host, self.dir, self.file())
    }

    /// The file name of its document.
    pub const fn file(&self) -> &'static str {
        match self.format {
            Format::Rss | Format::Teaser => "feed.rss",
            Format::Atom => "feed.atom",
            Format::Json => "feed.json",
            Format::Page | Format::Index | Format::Timeline => "",
        }
    }

    /// How its server responds in this hour.
    pub fn behaviour(&self, hour: i64) -> Behaviour {
        self.disruptions
            .iter()
            .find(|disruption| disruption.covers(hour))
            .map_or(Behaviour::Normal, |disruption| disruption.behaviour)
    }

    /// Hours until its behaviour changes, if it does within three days.
    pub fn next_change(&self, hour: i64) -> Option<i64> {
        let now = self.behaviour(hour);
        (1..=72).find(|ahead| self.behaviour(hour + ahead) != now)
    }
}

/// A run of the demo.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub seed: u64,
    /// When the dashboard opens.
    pub opening: Time,
}

/// A published post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Increasing, with gaps.
    pub number: u64,
    pub at: Time,
    pub title: String,
    pub author: String,
    /// Paragraphs.
    pub text: Vec<String>,
}

impl Scenario {
    pub fn hour(&self, now: Time) -> i64 {
        (now.as_millis() - self.opening.as_millis()).div_euclid(3_600_000)
    }

    /// The publisher's latest posts, newest first.
    pub fn published(&self, who: usize, now: Time) -> Vec<Item> {
        let Some(publisher) = PUBLISHERS.get(who) else { return Vec::new() };
        let minutes_per_post = Span::from_mins(publisher.minutes_per_post).as_millis().max(1);
        let begin = self.opening.as_millis() - PAST.as_millis() as i64;
        let newest =
            Time::from_millis(begin).max(now).since(Time::from_millis(begin)).as_millis() / minutes_per_post;
        let item = |number| {
            self.item(who, number, Time::from_millis(begin) + Span::from_millis(number * minutes_per_post))
        };
        (0..=newest).rev().filter_map(item).filter(|item| item.at <= now).take(WINDOW).collect()
    }

    /// The post with this number, published some time after `earliest`; few are published at night.
    fn item(&self, who: usize, number: u64, earliest: Time) -> Option<Item> {
        let minutes_per_post = PUBLISHERS.get(who)?.minutes_per_post;
        let mut generator = TextGenerator::of(self.seed, who, number);
        let at = earliest + Span::from_mins(generator.next_number() % minutes_per_post.max(1));
        if at.hour() < 6 && !generator.next_number().is_multiple_of(4) {
            return None;
        }
        let (title, author) = (generator.title(), generator.author());
        let text = (0..4).map(|_| generator.text(3)).collect();
        Some(Item { number: number + 1, at, title, author, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: Scenario = Scenario { seed: 1, opening: Time::from_millis(1_790_000_000_000) };

    #[test]
    fn disruptions_start_end_and_repeat() {
        let daily = Disruption::every(24, -71, 6, Behaviour::Status(404));
        let hours: Vec<i64> = (-96..48).filter(|hour| daily.covers(*hour)).collect();
        assert_eq!(hours.len(), 30, "six hours on each of five days: {hours:?}");
        assert!(daily.covers(1) && daily.covers(6) && !daily.covers(0) && !daily.covers(7));
        assert!(
            Disruption::since(-50, Behaviour::Moved).covers(10_000)
                && !Disruption::since(-50, Behaviour::Moved).covers(-51)
        );
        let once = Disruption::once(4, 2, Behaviour::Slow);
        assert_eq!((0..48).filter(|hour| once.covers(*hour)).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn posts_depend_only_on_the_scenario() {
        for (who, publisher) in PUBLISHERS.iter().enumerate() {
            let lately = SCENARIO.published(who, SCENARIO.opening);
            assert_eq!(lately, SCENARIO.published(who, SCENARIO.opening));
            assert!(
                lately.windows(2).all(|two| two[0].number > two[1].number && two[0].at <= SCENARIO.opening)
            );
            assert_eq!(lately.len(), WINDOW, "{}", publisher.name);
        }
        let other = Scenario { seed: 2, ..SCENARIO };
        assert_ne!(other.published(0, SCENARIO.opening), SCENARIO.published(0, SCENARIO.opening));
    }

    #[test]
    fn published_posts_do_not_change() {
        let (before, after) = (
            SCENARIO.published(0, SCENARIO.opening),
            SCENARIO.published(0, SCENARIO.opening + Span::from_hours(2)),
        );
        assert!(after.iter().any(|item| before.contains(item)), "the windows overlap");
        assert!(after[0].number > before[0].number, "and something came");
    }

    #[test]
    fn publishers_cover_all_kinds_and_behaviours() {
        assert!((38..=46).contains(&PUBLISHERS.len()), "about forty: {}", PUBLISHERS.len());
        for publisher in PUBLISHERS {
            assert!(publisher.dir.starts_with('/') && !publisher.name.contains(['<', '&']), "{publisher:?}");
            assert_eq!(
                PUBLISHERS.iter().filter(|other| other.url() == publisher.url()).count(),
                1,
                "{publisher:?}"
            );
        }
        for kind in [Kind::Feed, Kind::Website, Kind::Watchlist, Kind::X] {
            assert!(PUBLISHERS.iter().any(|publisher| publisher.kind() == kind), "{kind:?}");
        }
        let behaviours = PUBLISHERS
            .iter()
            .flat_map(|publisher| publisher.disruptions)
            .map(|disruption| disruption.behaviour);
        for behaviour in [
            Behaviour::Moved,
            Behaviour::Slow,
            Behaviour::Garbled,
            Behaviour::Status(410),
            Behaviour::Stalled,
            Behaviour::Truncated,
        ] {
            assert!(behaviours.clone().any(|other| other == behaviour), "{behaviour:?}");
        }
        // Stalling responses would delay the days that are run ahead.
        let stalls =
            |publisher: &Publisher| (-720..0).any(|hour| publisher.behaviour(hour) == Behaviour::Stalled);
        assert!(!PUBLISHERS.iter().any(stalls));
        assert!(
            (4..=6).contains(&PUBLISHERS.iter().filter(|publisher| publisher.highlight.is_some()).count())
        );
    }

    #[test]
    fn the_next_change_is_found() {
        let moths = PUBLISHERS.iter().find(|publisher| publisher.host == "moths.example").unwrap();
        let ahead = moths.next_change(0).unwrap();
        assert_ne!(moths.behaviour(ahead), moths.behaviour(0));
        assert_eq!(moths.behaviour(ahead - 1), moths.behaviour(0));
    }
}
