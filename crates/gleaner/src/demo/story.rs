//! What each source of the small internet does at which time. Pure: the same story gives the same answer at the same
//! time.
//!
//! Times are hours from the moment at which the page opens, so that something of everything is about to happen then.

use gleaner_core::source::Kind;
use gleaner_core::time::{Span, Time};

use super::cast::CAST;
use super::words::Dice;

/// How many entries a feed shows.
const WINDOW: usize = 12;
/// The first entry is so much older than the opening.
const PAST: Span = Span::from_days(30);

/// Somebody who publishes.
#[derive(Debug)]
pub struct Player {
    /// What people call it.
    pub name: &'static str,
    /// The collection it belongs to.
    pub collection: &'static str,
    /// What it publishes.
    pub part: Part,
    /// Where.
    pub host: &'static str,
    /// The directory there; on X, the handle.
    pub dir: &'static str,
    /// How often it is polled, in minutes; 0: it is left for somebody to add.
    pub interval: u32,
    /// A post comes about every so many minutes.
    pub pace: u64,
    /// What else happens.
    pub plot: &'static [Spell],
    /// Its own policy.
    pub policy: Option<&'static str>,
    /// Why it is worth watching, for those that are pointed out.
    pub watch: Option<&'static str>,
}

/// What somebody publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// RSS 2.0.
    Rss,
    /// RSS whose entries are read on their own pages.
    Teaser,
    /// Atom 1.0.
    Atom,
    /// JSON Feed.
    Json,
    /// One page that changes.
    Page,
    /// A blog without a feed.
    Index,
    /// A timeline.
    Timeline,
}

/// A time in which a server does something else than usual.
#[derive(Debug, Clone, Copy)]
pub struct Spell {
    /// The hour in which it begins, and for how many hours it lasts.
    begins: i64,
    lasts: i64,
    /// After so many hours it comes again; 0: never.
    every: i64,
    act: Act,
}

/// What a server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// What it is there for.
    Well,
    /// It answers with this status.
    Status(u16),
    /// It asks to be left alone for so many hours.
    Limited(u32),
    /// It has moved, for good.
    Moved,
    /// It sends people into a private network.
    Inward,
    /// It takes its time.
    Slow,
    /// It takes more time than anybody has.
    Stalled,
    /// The connection ends before the document does.
    CutShort,
    /// Something has eaten the document.
    Garbled,
    /// It sends far too much.
    Huge,
}

impl Spell {
    /// From an hour on, for so many.
    pub const fn once(begins: i64, lasts: i64, act: Act) -> Self {
        Self { begins, lasts, every: 0, act }
    }

    /// From an hour on, for ever.
    pub const fn since(begins: i64, act: Act) -> Self {
        Self::once(begins, i64::MAX, act)
    }

    /// The same again and again.
    pub const fn every(every: i64, begins: i64, lasts: i64, act: Act) -> Self {
        Self { begins, lasts, every, act }
    }

    const fn covers(&self, hour: i64) -> bool {
        let age = hour - self.begins;
        age >= 0 && (if self.every > 0 { age % self.every } else { age }) < self.lasts
    }
}

impl Player {
    /// What it is to gleaner.
    pub const fn kind(&self) -> Kind {
        match self.part {
            Part::Page => Kind::Website,
            Part::Index => Kind::Watchlist,
            Part::Timeline => Kind::X,
            _ => Kind::Feed,
        }
    }

    /// Where it is polled.
    pub fn url(&self) -> String {
        let scheme = if self.part == Part::Timeline { "https" } else { "http" };
        format!("{scheme}://{}{}{}", self.host, self.dir, self.file())
    }

    /// The name of its document, within the directory.
    pub const fn file(&self) -> &'static str {
        match self.part {
            Part::Rss | Part::Teaser => "feed.rss",
            Part::Atom => "feed.atom",
            Part::Json => "feed.json",
            Part::Page | Part::Index | Part::Timeline => "",
        }
    }

    /// What its server does in this hour.
    pub fn act(&self, hour: i64) -> Act {
        self.plot.iter().find(|spell| spell.covers(hour)).map_or(Act::Well, |spell| spell.act)
    }

    /// In how many hours its next spell begins or is over, where that is to come.
    pub fn next_turn(&self, hour: i64) -> Option<i64> {
        let now = self.act(hour);
        (1..=72).find(|ahead| self.act(hour + ahead) != now)
    }
}

/// The story: by which dice, and when the page opens.
#[derive(Debug, Clone, Copy)]
pub struct Story {
    /// The dice.
    pub seed: u64,
    /// When the page opens.
    pub opening: Time,
}

/// One thing that somebody published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Counts up, with holes.
    pub number: u64,
    /// When it was published.
    pub at: Time,
    /// Its headline.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// What it says, in paragraphs.
    pub text: Vec<String>,
}

impl Story {
    /// The hour of the story at this time.
    pub fn hour(&self, now: Time) -> i64 {
        (now.as_millis() - self.opening.as_millis()).div_euclid(3_600_000)
    }

    /// What somebody has published lately, the newest first.
    pub fn published(&self, who: usize, now: Time) -> Vec<Item> {
        let Some(player) = CAST.get(who) else { return Vec::new() };
        let pace = Span::from_mins(player.pace).as_millis().max(1);
        let begin = self.opening.as_millis() - PAST.as_millis() as i64;
        let newest = Time::from_millis(begin).max(now).since(Time::from_millis(begin)).as_millis() / pace;
        let item =
            |number| self.item(who, number, Time::from_millis(begin) + Span::from_millis(number * pace));
        (0..=newest).rev().filter_map(item).filter(|item| item.at <= now).take(WINDOW).collect()
    }

    /// What somebody published by this number, some time after its turn came; at night hardly anybody does.
    fn item(&self, who: usize, number: u64, turn: Time) -> Option<Item> {
        let pace = CAST.get(who)?.pace;
        let mut dice = Dice::of(self.seed, who, number);
        let at = turn + Span::from_mins(dice.throw() % pace.max(1));
        if at.hour() < 6 && !dice.throw().is_multiple_of(4) {
            return None;
        }
        let (title, author) = (dice.title(), dice.author());
        let text = (0..4).map(|_| dice.text(3)).collect();
        Some(Item { number: number + 1, at, title, author, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: Story = Story { seed: 1, opening: Time::from_millis(1_790_000_000_000) };

    #[test]
    fn spells_come_and_go() {
        let daily = Spell::every(24, -71, 6, Act::Status(404));
        let hours: Vec<i64> = (-96..48).filter(|hour| daily.covers(*hour)).collect();
        assert_eq!(hours.len(), 30, "six hours on each of five days: {hours:?}");
        assert!(daily.covers(1) && daily.covers(6) && !daily.covers(0) && !daily.covers(7));
        assert!(Spell::since(-50, Act::Moved).covers(10_000) && !Spell::since(-50, Act::Moved).covers(-51));
        let once = Spell::once(4, 2, Act::Slow);
        assert_eq!((0..48).filter(|hour| once.covers(*hour)).collect::<Vec<_>>(), [4, 5]);
    }

    #[test]
    fn what_is_published_depends_on_nothing_but_the_story() {
        for who in 0..CAST.len() {
            let lately = STORY.published(who, STORY.opening);
            assert_eq!(lately, STORY.published(who, STORY.opening));
            assert!(lately.windows(2).all(|two| two[0].number > two[1].number && two[0].at <= STORY.opening));
            assert_eq!(lately.len(), WINDOW, "{}", CAST[who].name);
        }
        let other = Story { seed: 2, ..STORY };
        assert_ne!(other.published(0, STORY.opening), STORY.published(0, STORY.opening));
    }

    #[test]
    fn what_was_published_stays_as_it_was() {
        let (before, after) =
            (STORY.published(0, STORY.opening), STORY.published(0, STORY.opening + Span::from_hours(2)));
        assert!(after.iter().any(|item| before.contains(item)), "the windows overlap");
        assert!(after[0].number > before[0].number, "and something came");
    }

    #[test]
    fn the_cast_has_everything() {
        assert!((38..=46).contains(&CAST.len()), "about forty: {}", CAST.len());
        for player in CAST {
            assert!(player.dir.starts_with('/') && !player.name.contains(['<', '&']), "{player:?}");
            assert_eq!(CAST.iter().filter(|other| other.url() == player.url()).count(), 1, "{player:?}");
        }
        for kind in [Kind::Feed, Kind::Website, Kind::Watchlist, Kind::X] {
            assert!(CAST.iter().any(|player| player.kind() == kind), "{kind:?}");
        }
        let acts = CAST.iter().flat_map(|player| player.plot).map(|spell| spell.act);
        for act in [Act::Moved, Act::Slow, Act::Garbled, Act::Status(410), Act::Stalled, Act::CutShort] {
            assert!(acts.clone().any(|other| other == act), "{act:?}");
        }
        // What stalls would hold up the days that are run ahead.
        let stalls = |player: &Player| (-720..0).any(|hour| player.act(hour) == Act::Stalled);
        assert!(!CAST.iter().any(stalls));
        assert!((4..=6).contains(&CAST.iter().filter(|player| player.watch.is_some()).count()));
    }

    #[test]
    fn the_next_turn_is_told() {
        let moths = CAST.iter().find(|player| player.host == "moths.example").unwrap();
        let ahead = moths.next_turn(0).unwrap();
        assert_ne!(moths.act(ahead), moths.act(0));
        assert_eq!(moths.act(ahead - 1), moths.act(0));
    }
}
