//! A source's polls as a picture: a mark each, by outcome; its height tells how long it took, dots above it the posts.
//!
//! Where a mark stands is told in parts of the width, all else in pixels, so that shapes keep their form at any width.
//! What stands too close to be told apart shares a mark, and the words say so.

use gleaner_core::outcome::Class;
use gleaner_core::time::{Span, Time};

use super::words::{brief, count, grouped};
use crate::service::{History, Poll, poll_in_words};

/// Where bars stand, how high they may be, and where the dots of posts end.
pub(super) const BASE: f64 = 160.0;
const TALLEST: f64 = 100.0;
const DOTS: f64 = 44.0;
/// What takes this long has the tallest bar.
const LONGEST_MS: f64 = 60_000.0;
/// More rows than this are thinned out,
const MOST_MARKS: usize = 400;
/// to so many places.
const PLACES: f64 = 300.0;
/// Unchanged polls are a line where it is at least so many parts in a hundred long.
const LINE: f64 = 1.0;
/// A line as long as this has room for its count.
const ROOM: f64 = 5.0;
/// So many dots stand above each other; a tip tells the count.
const MOST_DOTS: u64 = 6;
/// So many rows are told as a table.
const MOST_ROWS: usize = 200;
/// So many characters of a message are told.
const MESSAGE: usize = 240;

/// The picture.
pub(super) struct Timeline {
    pub(super) from: Time,
    pub(super) to: Time,
    /// In the order of time.
    pub(super) marks: Vec<Mark>,
    pub(super) ticks: Vec<Tick>,
    pub(super) scale: [Guide; 3],
    /// What it shows, in words.
    pub(super) summary: String,
    /// What it leaves out or draws together, if it does.
    pub(super) caveat: Option<String>,
    pub(super) rows: Vec<Row>,
}

/// Something in the picture that tells about itself.
pub(super) struct Mark {
    pub(super) class: &'static str,
    pub(super) at: Time,
    pub(super) tip: String,
    pub(super) x: f64,
    pub(super) shape: Shape,
}

/// How it is drawn.
pub(super) enum Shape {
    /// A poll, up to this height, with a sign on top; of several, the part that failed is as high as its share.
    Bar { y: f64, sign: &'static str, failed: Option<(f64, &'static str)> },
    /// Several unchanged ones, from the mark's place to here.
    Line { x2: f64, y: f64, middle: f64, label: String },
    /// Posts.
    Dots(Vec<f64>),
}

/// A line across, with what it stands for.
pub(super) struct Guide {
    pub(super) y: f64,
    pub(super) label: &'static str,
}

/// A time on the axis.
pub(super) struct Tick {
    pub(super) x: f64,
    pub(super) label: String,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) first_at: Option<Time>,
    pub(super) at: Time,
    pub(super) what: String,
    pub(super) took: String,
}

impl Timeline {
    /// Draws the last days before now.
    pub(super) fn of(history: &History, days: u64, now: Time) -> Self {
        let window = Window { from: now - Span::from_days(days), to: now };
        let drawn = window.polls(&history.polls);
        let marks = drawn.len();
        let mut all: Vec<Mark> = drawn.into_iter().chain(window.posts(&history.posts)).collect();
        all.sort_by_key(|mark| mark.at);
        let rows = history.polls.len();
        let mut caveats = Vec::new();
        if !history.whole {
            caveats.push(format!("Only the latest {} rows are drawn.", grouped(rows as u64)));
        }
        if marks < rows {
            caveats.push(format!(
                "{} rows are drawn as {}: what is close together shares one.",
                grouped(rows as u64),
                count(marks as u64, "mark")
            ));
        }
        let guide = |ms, label| Guide { y: height(Span::from_millis(ms)), label };
        Self {
            from: window.from,
            to: window.to,
            marks: all,
            ticks: window.ticks(days),
            scale: [guide(100, "0.1 s"), guide(1000, "1 s"), guide(10_000, "10 s")],
            summary: summary(history),
            caveat: Some(caveats.join(" ")).filter(|text| !text.is_empty()),
            rows: history.polls.iter().take(MOST_ROWS).map(row).collect(),
        }
    }

    /// How many rows the table leaves out.
    pub(super) fn is_cut(&self) -> bool {
        self.rows.len() == MOST_ROWS
    }
}

fn summary(history: &History) -> String {
    let number = |poll: &Poll| u64::try_from(poll.count).unwrap_or(0);
    let polls: u64 = history.polls.iter().map(number).sum();
    let failed: u64 = history.polls.iter().filter(|poll| poll.record.error.is_some()).map(number).sum();
    let posts: u64 = history.posts.iter().map(|(_, count)| count).sum();
    format!("{}, {} failed, {}", count(polls, "poll"), grouped(failed), count(posts, "new post"))
}

fn row(poll: &Poll) -> Row {
    let first_at = (poll.count > 1).then_some(poll.first_at);
    let times = if poll.count > 1 { format!(", {} times", poll.count) } else { String::new() };
    Row { first_at, at: poll.record.at, what: format!("{}{times}", told(poll)), took: took(poll) }
}

fn told(poll: &Poll) -> String {
    let text = poll_in_words(poll);
    if text.chars().count() <= MESSAGE {
        return text;
    }
    text.chars().take(MESSAGE - 1).chain(['…']).collect()
}

fn took(poll: &Poll) -> String {
    match poll.record.duration.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms => format!("{:.1} s", ms as f64 / 1000.0),
    }
}

/// Where the top of a bar is: ten times as long is one step higher.
fn height(duration: Span) -> f64 {
    let part = (duration.as_millis() as f64).ln_1p() / LONGEST_MS.ln_1p();
    rounded(BASE - 4.0 - (TALLEST - 4.0) * part.clamp(0.0, 1.0))
}

/// Two places after the point are less than a pixel.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// What a poll ended in: a colour, a sign, and which of several is told first.
fn look(poll: &Poll) -> (&'static str, &'static str, u8) {
    match &poll.record.error {
        Some((kind, _)) => match kind.class() {
            Some(Class::Permanent) => ("permanent", "✕", 5),
            Some(Class::Transient) => ("transient", "▲", 4),
            None => ("own", "?", 3),
        },
        None if poll.new_posts + poll.updated_posts > 0 => ("new", "", 2),
        None if poll.record.outcome == "not_modified" => ("unchanged", "", 0),
        None => ("fetched", "", 1),
    }
}

/// The time that is drawn.
struct Window {
    from: Time,
    to: Time,
}

impl Window {
    /// Where a time stands, in parts of a hundred.
    fn x(&self, at: Time) -> f64 {
        let whole = self.to.since(self.from).as_millis().max(1) as f64;
        rounded((at.since(self.from).as_millis() as f64 / whole * 100.0).min(100.0))
    }

    fn place(&self, at: Time) -> u32 {
        (self.x(at) / 100.0 * PLACES) as u32
    }

    /// Marks of polls; where there are too many, one a place.
    fn polls(&self, polls: &[Poll]) -> Vec<Mark> {
        let thin = polls.len() > MOST_MARKS;
        let (lines, bars): (Vec<&Poll>, Vec<&Poll>) = polls.iter().partition(|poll| self.is_line(poll));
        let mut marks: Vec<Mark> = lines.into_iter().map(|poll| self.line(poll)).collect();
        let together =
            |one: &&Poll, other: &&Poll| thin && self.place(one.record.at) == self.place(other.record.at);
        marks.extend(bars.chunk_by(together).map(|near| self.bar(near)));
        marks
    }

    fn is_line(&self, poll: &Poll) -> bool {
        poll.count > 1 && self.x(poll.record.at) - self.x(poll.first_at) >= LINE
    }

    fn line(&self, poll: &Poll) -> Mark {
        let (x, x2) = (self.x(poll.first_at), self.x(poll.record.at));
        let label = if x2 - x >= ROOM { format!("×{}", poll.count) } else { String::new() };
        let span = brief(poll.record.at.since(poll.first_at));
        let more = grouped(u64::try_from(poll.count - 1).unwrap_or(0));
        let tip = format!("and {more} more within {span}: {}; the latest took {}", told(poll), took(poll));
        let middle = rounded(f64::midpoint(x, x2));
        let shape = Shape::Line { x2, y: height(poll.record.duration), middle, label };
        Mark { class: look(poll).0, at: poll.first_at, tip, x, shape }
    }

    /// One poll, or several that stand at one place.
    fn bar(&self, near: &[&Poll]) -> Mark {
        let telling = |poll: &&&Poll| look(poll).2;
        let worst = near.iter().max_by_key(telling).copied();
        let best = near.iter().filter(|poll| poll.record.error.is_none()).max_by_key(telling).copied();
        let (class, sign, _) = best.or(worst).map_or(("unchanged", "", 0), look);
        let longest = near.iter().map(|poll| poll.record.duration).max().unwrap_or(Span::ZERO);
        let at = near.first().map_or(self.from, |poll| poll.record.at);
        let y = height(longest);
        let bad = near.iter().filter(|poll| poll.record.error.is_some()).count();
        let failed = worst
            .filter(|_| bad > 0 && bad < near.len())
            .map(|worst| (rounded(BASE - (BASE - y) * bad as f64 / near.len() as f64), look(worst).0));
        let tip = match near {
            [poll] if poll.count > 1 => format!("{}, {} times; took {}", told(poll), poll.count, took(poll)),
            [poll] => format!("{}; took {}", told(poll), took(poll)),
            several => {
                let polls: i64 = several.iter().map(|poll| poll.count).sum();
                let polls = count(u64::try_from(polls).unwrap_or(0), "poll");
                format!("{polls} here, {bad} failed; {}", worst.map(told).unwrap_or_default())
            }
        };
        Mark { class, at, tip, x: self.x(at), shape: Shape::Bar { y, sign, failed } }
    }

    fn posts(&self, posts: &[(Time, u64)]) -> Vec<Mark> {
        let near = |one: &(Time, u64), other: &(Time, u64)| self.place(one.0) == self.place(other.0);
        let mark = |group: &[(Time, u64)]| {
            let at = group.first().map_or(self.from, |(at, _)| *at);
            let number: u64 = group.iter().map(|(_, count)| count).sum();
            let dots = (0..number.min(MOST_DOTS)).map(|n| DOTS - 4.0 - 7.0 * n as f64).collect();
            let tip = count(number, "new post");
            Mark { class: "posts", at, tip, x: self.x(at), shape: Shape::Dots(dots) }
        };
        posts.chunk_by(near).map(mark).collect()
    }

    /// Hours of a day, days of a week, every fifth day of a month; in UTC, until a script knows better.
    fn ticks(&self, days: u64) -> Vec<Tick> {
        let hours: i64 = match days {
            0..=1 => 3,
            2..=7 => 24,
            _ => 120,
        };
        let step = hours * 3_600_000;
        let first = (self.from.as_millis().div_euclid(step) + 1) * step;
        let times = (0..).map(|n| Time::from_millis(first + n * step)).take_while(|at| *at < self.to);
        let tick = |at: Time| Tick { x: self.x(at), label: label(at, hours) };
        times.take(40).map(tick).filter(|tick| (2.0..98.0).contains(&tick.x)).collect()
    }
}

fn label(at: Time, hours: i64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = at.to_string();
    if hours < 24 {
        return text.get(11..16).unwrap_or_default().to_owned();
    }
    let month = text.get(5..7).and_then(|month| month.parse::<usize>().ok());
    let month = month.and_then(|month| MONTHS.get(month.checked_sub(1)?)).copied().unwrap_or_default();
    format!("{} {month}", text.get(8..10).unwrap_or_default().trim_start_matches('0'))
}
