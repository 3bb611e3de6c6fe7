//! The recorded polls under the source's own policy, each at its recorded time: what that made of the source, and where
//! the record tells of more than a policy.

use super::{Asides, CHANCE, Course, Recorded, Subject, Window, middle, situation};
use crate::health::{Health, decide};
use crate::schedule::Next;
use crate::time::{Span, Time};

/// What really happened.
pub(super) struct Really {
    pub(super) course: Course,
    /// What the own policy said after each poll, with chance in its middle.
    pub(super) next: Vec<Option<Next>>,
    /// Polls that came earlier than the own policy would have made them: somebody asked for them.
    pub(super) asked_for: Vec<bool>,
    /// Times in which the source was due and nobody polled it, the earliest first.
    pub(super) asleep: Vec<(Time, Time)>,
}

pub(super) fn walk(subject: &Subject<'_>, mut health: Health, polls: &[Recorded], window: Window) -> Really {
    let mut asides = Asides::default();
    let mut really =
        Really { course: Course::default(), next: Vec::new(), asked_for: Vec::new(), asleep: Vec::new() };
    let mut last: Option<(&Recorded, Option<Next>)> = None;
    for poll in polls {
        let asked_for = last.is_some_and(|last| really.compare(last, poll.at, subject.interval));
        if let Some((_, None)) = last {
            health = health.cleared();
            asides.note(&health, poll.at);
        }
        let decision = decide(&situation(subject, &health, subject.policy), &poll.outcome, poll.at, middle());
        health = decision.health;
        asides.note(&health, poll.at);
        really.course.requests += u64::from(window.holds(poll.at));
        really.next.push(decision.next);
        really.asked_for.push(asked_for);
        last = Some((poll, decision.next));
    }
    if let Some(last @ (_, Some(_))) = last {
        really.compare(last, window.until, subject.interval);
    }
    really.course.set_aside = asides.within(window);
    really
}

impl Really {
    /// Holds the time of a poll against what was expected of it after the one before: whether somebody asked for it.
    /// Where another rule is recorded than the own policy gives, it went by another policy then, and nothing follows.
    fn compare(&mut self, (last, next): (&Recorded, Option<Next>), at: Time, interval: Span) -> bool {
        if last.rule.as_deref() != next.map(|next| next.why.name()) {
            return false;
        }
        let Some(next) = next else { return true };
        let gap = next.at.since(last.at);
        if at > next.at + gap.scale(CHANCE) + interval {
            self.asleep.push((next.at, at));
        }
        at < last.at + gap.scale(1.0 - CHANCE)
    }

    /// That time, or where nobody polled then, the end of it.
    pub(super) fn awake(&self, at: Time) -> Time {
        let place = self.asleep.partition_point(|(_, to)| *to <= at);
        self.asleep.get(place).filter(|(from, _)| *from <= at).map_or(at, |(_, to)| *to)
    }
}
