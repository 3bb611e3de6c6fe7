//! The polls that another policy would have made of the same source, and what they would have met.

use super::really::Really;
use super::{Asides, Course, Late, Recorded, Subject, Window, middle, situation};
use crate::health::{Decision, Health, decide};
use crate::outcome::{ErrorKind, Outcome};
use crate::policy::Policy;
use crate::schedule::{SHORTEST_INTERVAL, Why};
use crate::time::{Span, Time};

/// More polls than a year has minutes: a clock that jumped must not make this endless.
const MOST_POLLS: usize = 1_000_000;
/// What times a poll under every policy: a host's trouble, our own, and people.
const NO_POLICYS: [Why; 6] =
    [Why::Incident, Why::OwnNetwork, Why::Pacing, Why::OurFault, Why::ByHand, Why::SetAsideByHand];

/// A poll that is made.
#[derive(Clone, Copy)]
enum Made {
    /// That one of the record.
    Recorded(usize),
    /// One that nobody made.
    At(Time),
}

struct Walk<'a> {
    subject: &'a Subject<'a>,
    polls: &'a [Recorded],
    really: &'a Really,
    window: Window,
    late: Late,
    /// Posts of the polls before this one are found.
    found: usize,
}

pub(super) fn walk(
    subject: &Subject<'_>,
    mut health: Health,
    polls: &[Recorded],
    really: &Really,
    other: &Policy,
    window: Window,
) -> (Course, Late) {
    let mut walk = Walk { subject, polls, really, window, late: Late::default(), found: 0 };
    let (mut asides, mut requests) = (Asides::default(), 0);
    let mut made = Some(Made::Recorded(0));
    for _ in 0..MOST_POLLS {
        let Some((poll, at)) = made.and_then(|poll| Some((poll, walk.time(poll)?))) else { break };
        let outcome = walk.outcome(poll, at);
        let decision = decide(&situation(subject, &health, other), &outcome, at, middle());
        requests += u64::from(window.holds(at));
        asides.note(&decision.health, at);
        if outcome.failure().is_none() {
            walk.find(at);
        }
        made = walk.next(&decision, poll, at, outcome.failure().is_none());
        let waits = decision.next.is_none();
        health = decision.health;
        if waits && let Some(again) = made.and_then(|poll| walk.time(poll)) {
            health = health.cleared();
            asides.note(&health, again);
        }
    }
    walk.miss();
    (Course { requests, set_aside: asides.within(window) }, walk.late)
}

impl Walk<'_> {
    /// When it is made; none: not any more.
    fn time(&self, made: Made) -> Option<Time> {
        let at = match made {
            Made::Recorded(place) => self.polls.get(place)?.at,
            Made::At(at) => at,
        };
        (at < self.window.until || matches!(made, Made::Recorded(_)) && at == self.window.until).then_some(at)
    }

    /// What it meets: what was recorded, or what the latest recorded one before it met. Our own faults were not the
    /// world's.
    fn outcome(&self, made: Made, at: Time) -> Outcome {
        if let Made::Recorded(place) = made
            && let Some(poll) = self.polls.get(place)
        {
            return poll.outcome.clone();
        }
        let known = |poll: &&Recorded| poll.outcome.failure().is_none_or(|it| it.kind != ErrorKind::Internal);
        let (earlier, later) = self.polls.split_at(self.after(at));
        let met = earlier.iter().rev().find(known).or_else(|| later.iter().find(known));
        let Some(met) = met else { return Outcome::NotModified { retry_after: None } };
        let rest = |span: Span| (met.at + span).since(at);
        let asked = met.outcome.retry_after().map(rest).filter(|span| *span > Span::ZERO);
        met.outcome.clone().asking_for(asked)
    }

    /// The first recorded poll after then.
    fn after(&self, at: Time) -> usize {
        self.polls.partition_point(|poll| poll.at <= at)
    }

    /// The poll that follows.
    fn next(&self, decision: &Decision, made: Made, at: Time, success: bool) -> Option<Made> {
        let after = self.after(at);
        if let Made::Recorded(place) = made {
            let same = self.really.next.get(place).copied().flatten() == decision.next;
            let rule = self.polls.get(place).and_then(|poll| poll.rule.as_deref());
            let no_policys = rule.is_some_and(|rule| NO_POLICYS.iter().any(|why| why.name() == rule));
            if same || no_policys && decision.health.quarantine.is_none() && decision.next.is_some() {
                return Some(Made::Recorded(place + 1));
            }
        } else if success {
            // No policy times what follows a success.
            return Some(Made::Recorded(after));
        }
        let due = decision.next.map(|next| self.due(next.at.max(at + SHORTEST_INTERVAL), after));
        let asked = self.really.asked_for.get(after..).unwrap_or_default();
        let asked = asked.iter().position(|asked| *asked).map(|place| Made::Recorded(after + place));
        let time = |made: Option<Made>| made.and_then(|made| self.time(made)).unwrap_or(self.window.until);
        if asked.is_some() && time(asked) <= time(due) { asked } else { due }
    }

    /// The poll that falls due then: the recorded one within an interval of it, or one that nobody made.
    fn due(&self, at: Time, after: usize) -> Made {
        let at = self.really.awake(at);
        let later = self.polls.get(after..).unwrap_or_default();
        let place = after + later.partition_point(|poll| poll.at < at);
        match self.polls.get(place) {
            Some(poll) if poll.at == at || poll.at < at + self.subject.interval => Made::Recorded(place),
            _ => Made::At(at),
        }
    }

    /// A poll that succeeds finds what there is by then.
    fn find(&mut self, at: Time) {
        let until = self.after(at);
        let polls = self.polls.get(self.found..until).unwrap_or_default();
        for poll in polls.iter().filter(|poll| poll.posts > 0 && poll.at < at && self.window.holds(poll.at)) {
            let late = at.since(poll.at);
            let all = Span::from_millis(late.as_millis().saturating_mul(poll.posts));
            self.late.posts = self.late.posts.saturating_add(poll.posts);
            self.late.total = Span::from_millis(self.late.total.as_millis().saturating_add(all.as_millis()));
            self.late.longest = self.late.longest.max(late);
        }
        self.found = self.found.max(until);
    }

    /// What was never found.
    fn miss(&mut self) {
        let polls = self.polls.get(self.found..).unwrap_or_default();
        let posts = polls.iter().filter(|poll| self.window.holds(poll.at)).map(|poll| poll.posts);
        self.late.missing = posts.fold(0, u64::saturating_add);
    }
}
