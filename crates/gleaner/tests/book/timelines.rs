//! Timelines in the book: what a policy does to a source that begins to fail, poll by poll, from `decide` itself.
//!
//! A page says what it wants and gets it into the block that follows:
//!
//! ````text
//! <!-- timeline: policy=standard kind=not_found interval=30 hours=48 down=6 -->
//! ```text
//! …
//! ```
//! ````
//!
//! The interval is in minutes; `down` is for how many hours of each day it fails (all of them, if it is not given).

use std::fmt::Write as _;

use gleaner_core::classify::{Fault, Phase};
use gleaner_core::health::{Decision, Health, Status, decide};
use gleaner_core::outcome::Outcome;
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hints, Situation};
use gleaner_core::time::{Jitter, Span, Time};

/// The page with its timelines made anew.
pub(super) fn renewed(page: &str) -> String {
    let mut parts = page.split("<!-- timeline: ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (wanted, rest) = part.split_once(" -->").expect("the comment ends");
        let (_, after) = rest.split_once("```text\n").expect("a block follows");
        let (_, after) = after.split_once("```\n").expect("the block ends");
        let _ = write!(out, "<!-- timeline: {wanted} -->\n```text\n{}```\n{after}", timeline(wanted));
    }
    out
}

struct Wanted {
    policy: Policy,
    fault: Fault,
    interval: Span,
    hours: u64,
    down: u64,
}

impl Wanted {
    fn parse(text: &str) -> Self {
        let find = |name: &str| {
            text.split_whitespace().find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).unwrap_or("")
        };
        let number = |name: &str, otherwise: u64| find(name).parse().unwrap_or(otherwise);
        Self {
            policy: Policy::builtin(find("policy"), Knobs::default()).expect("a shipped policy"),
            fault: match find("kind") {
                "rate_limited" => Fault::Status(429),
                "not_found" => Fault::Status(404),
                "gone" => Fault::Status(410),
                "upstream_failure" => Fault::Status(503),
                "network" => Fault::Timeout { phase: Phase::Request, limit: Span::from_secs(30) },
                kind => panic!("no fault for {kind}"),
            },
            interval: Span::from_mins(number("interval", 30)),
            hours: number("hours", 24),
            down: number("down", 24),
        }
    }

    fn outcome(&self, age: Span) -> Outcome {
        if age.as_hours() % 24 < self.down {
            Outcome::Failed(self.fault.clone().into_failure(None))
        } else {
            Outcome::Fetched { retry_after: None }
        }
    }
}

fn timeline(wanted: &str) -> String {
    let wanted = Wanted::parse(wanted);
    let start = Time::parse("2026-11-16T00:00:00Z").expect("a time");
    let (mut health, mut now) = (Health::new(), start);
    let mut out =
        format!("{:<10}  {:<23}  {:<11}  {:<15}  event\n", "after", "poll", "status", "next poll after");
    let mut well = 0;
    while now.since(start) <= Span::from_hours(wanted.hours) {
        let outcome = wanted.outcome(now.since(start));
        let decision = decided(&wanted, &health, &outcome, now);
        let quiet = decision.events.is_empty() && decision.health.status() == Status::Healthy;
        well = if quiet { well + 1 } else { 0 };
        if well <= 1 {
            row(&mut out, &outcome, &decision, now.since(start), now);
        } else if well == 2 {
            let _ = writeln!(out, "            and so on, all well");
        }
        health = decision.health;
        match decision.next {
            Some(next) => now = next.at,
            None => break,
        }
    }
    out
}

/// With the chance that lies in the middle, so that gaps are what the table says.
fn decided(wanted: &Wanted, health: &Health, outcome: &Outcome, now: Time) -> Decision {
    let hints = Hints::default();
    let policy = &wanted.policy;
    let at = Situation { health, hints: &hints, interval: wanted.interval, policy };
    decide(&at, outcome, now, Jitter::new(0.5))
}

fn row(out: &mut String, outcome: &Outcome, decision: &Decision, age: Span, now: Time) {
    let what = outcome.failure().map_or("fetched", |failure| failure.message.as_str());
    let next = decision.next.map_or("never by itself".to_owned(), |next| clock(next.at.since(now)));
    let events: Vec<&str> = decision.events.iter().map(|event| event.kind.name()).collect();
    let status = decision.health.status().name();
    let line = format!("{:<10}  {what:<23}  {status:<11}  {next:<15}  {}", clock(age), events.join(", "));
    let _ = writeln!(out, "{}", line.trim_end());
}

/// `2d 03:30`, `03:30`.
fn clock(span: Span) -> String {
    let minutes = span.as_mins();
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    if days == 0 { format!("{hours:02}:{minutes:02}") } else { format!("{days}d {hours:02}:{minutes:02}") }
}
