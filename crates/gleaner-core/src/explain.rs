//! Why a source is where it is, in words: the rule, the evidence, the next poll, and what would change it.
//!
//! The same tables that decide also explain, so that the words cannot drift from what happens. Absent on
//! purpose: markup and clocks. Times are given as they are; a page may count them down.

use std::fmt;

use serde::Serialize;

use crate::elsewhere::{Proposal, ProposalReason};
use crate::follow::PageCounts;
use crate::health::{Failing, Quarantine, Status};
use crate::outcome::ErrorKind;
use crate::policy::{Aside, Counts, Gap, Then};
use crate::schedule::{Hint, Situation, Why, next_poll};
use crate::suspect::Suspected;
use crate::time::{Jitter, Span, Time};

/// An explanation for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What the source's health amounts to.
    pub status: Status,
    /// What is the matter, in a sentence.
    pub summary: String,
    /// The rule that applies, and the policy it is from.
    pub rule: String,
    /// The polls that led there, newest first.
    pub evidence: Vec<String>,
    /// When the next poll is, and why then.
    pub next: String,
    /// What would change it.
    pub changes: Vec<String>,
    /// What was noticed beside its health, and what to do about it.
    pub notices: Vec<String>,
    /// Where its feed may be now.
    pub proposal: Option<String>,
    /// What is known beyond the source: of its host, of our own network, of when it publishes.
    pub around: Vec<String>,
}

/// What is known beyond a source that explains it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Around {
    /// What times the next poll, where it is not the source's own rule.
    pub why: Option<Why>,
    /// Sentences.
    pub words: Vec<String>,
}

/// A poll, or several alike, as evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The first of them.
    pub first_at: Time,
    /// The latest of them.
    pub last_at: Time,
    /// How many.
    pub count: u64,
    /// What they ended in, for people: `404 Not Found`, `3 new posts`.
    pub what: String,
}

/// A time for people: `2026-11-15 08:00 UTC`.
#[derive(Debug, Clone, Copy)]
pub struct When(pub Time);

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.split_once('T') {
            Some((date, time)) => write!(f, "{date} {} UTC", time.get(..5).unwrap_or(time)),
            None => f.write_str(&text),
        }
    }
}

/// Explains a source. `next_poll_at` is what is stored, since chance had its part in it.
pub fn explain(
    at: &Situation<'_>,
    next_poll_at: Option<Time>,
    evidence: &[Evidence],
    around: Around,
    now: Time,
) -> Explanation {
    Explanation {
        status: at.health.status(),
        summary: summary(at, around.why, now),
        rule: rule(at),
        evidence: evidence.iter().map(ToString::to_string).collect(),
        next: next(at, next_poll_at, around.why, now),
        changes: changes(at, now),
        notices: Vec::new(),
        proposal: None,
        around: around.words,
    }
}

impl Explanation {
    /// The same of a source that is suspected of that.
    #[must_use]
    pub fn suspecting(mut self, suspected: Option<&Suspected>) -> Self {
        let Some(Suspected { reason, evidence, since }) = suspected else { return self };
        if self.status == Status::Healthy {
            self.summary = format!("It answers, but something seems to be wrong: {evidence}.");
        }
        let name = reason.name().replace('_', " ");
        self.notices.push(format!("Suspect since {}, {name}: {evidence}. {}", When(*since), reason.advice()));
        self.changes.push(reason.ends_by().to_owned());
        self
    }

    /// The same of a source whose article pages are fetched: how many wait, failed or were given up, and the latest
    /// failure as page and error.
    #[must_use]
    pub fn with_pages(mut self, pages: PageCounts, latest_failure: Option<(&str, &str)>) -> Self {
        if pages.is_empty() {
            return self;
        }
        let latest = latest_failure.map(|(page, error)| format!(" The latest failure: {page}: {error}."));
        self.notices.push(format!("Article pages: {pages}.{}", latest.unwrap_or_default()));
        if pages.failed > 0 {
            self.changes.push(
                "A page that failed is tried again after 1 hour, 6 hours, 1 day and 3 days, and then given up."
                    .to_owned(),
            );
        }
        if pages.given_up > 0 {
            self.changes.push("Retrying the pages that were given up fetches them at once.".to_owned());
        }
        self
    }

    /// The same of a source that has moved.
    #[must_use]
    pub fn moved(mut self, at: Time, from: &str, to: &str, reason: &str) -> Self {
        self.notices.push(format!("Moved on {} from {from} to {to}: {reason}.", When(at)));
        self
    }

    /// The same of a source that cannot move, since another source of its collection has the new URL.
    #[must_use]
    pub fn cannot_move(mut self, to: &str, taken_by: i64) -> Self {
        self.notices.push(format!(
            "It is redirected for good to {to}, which source {taken_by} of the same collection has already, so that \
             it keeps its URL. Delete one of the two."
        ));
        self
    }

    /// The same of a dead feed whose site advertises another one.
    #[must_use]
    pub fn proposing(mut self, proposal: Option<&Proposal>) -> Self {
        let Some(proposal) = proposal else { return self };
        let title = proposal.title.as_ref().map(|title| format!(" (\"{title}\")")).unwrap_or_default();
        self.notices.push(match proposal.reason {
            ProposalReason::Advertised => format!(
                "Its site now advertises {}{title}. If that is its feed now, use it: its posts and its history stay.",
                proposal.url
            ),
            ProposalReason::Redirected => format!(
                "It is redirected for good to {}. It has credentials, which are sent to its own origin only, so that it \
                 is not moved by itself. If you trust the new address, use it and set the credentials anew: its posts \
                 and its history stay.",
                proposal.url
            ),
        });
        self.changes.push("Another URL clears its failures and polls it at once.".to_owned());
        self.proposal = Some(proposal.url.clone());
        self
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 | 1 => write!(f, "{}: {}", When(self.last_at), self.what),
            n => write!(f, "{} to {}: {}, {n} times", When(self.first_at), When(self.last_at), self.what),
        }
    }
}

fn summary(at: &Situation<'_>, why: Option<Why>, now: Time) -> String {
    let health = at.health;
    let asked = health.last_success_at.map_or(String::new(), |at| format!("; last polled well {}", When(at)));
    match (health.status(), why) {
        (Status::Healthy, Some(Why::Incident)) => {
            return format!("Waiting for its host, which fails as a whole{asked}.");
        }
        (Status::Healthy, Some(Why::OwnNetwork)) => {
            return format!("Waiting for the local network, which is down{asked}.");
        }
        _ => {}
    }
    match (health.status(), &health.failing, &health.quarantine) {
        (Status::Disabled, ..) => {
            match health.disabled.as_ref().and_then(|disabled| disabled.reason.as_deref()) {
                Some(reason) => format!("Disabled: {reason}."),
                None => "Disabled by hand.".to_owned(),
            }
        }
        (Status::Quarantined, _, Some(held)) if held.by_hand => {
            format!("Set aside by hand since {}: {}.", When(held.at), held.reason)
        }
        (Status::Quarantined, Some(row), Some(held)) => {
            format!("Set aside since {}: {}.", When(held.at), in_a_row(row, now))
        }
        (Status::Failing, Some(row), _) => match &row.excused_by {
            Some(by) => format!("Failing: {}. The latest failure does not count: {by}.", in_a_row(row, now)),
            None => format!("Failing: {}.", in_a_row(row, now)),
        },
        (Status::Pending, ..) => match health.last_polled_at {
            Some(_) => format!("Not polled yet since it was enabled or its URL was changed{asked}."),
            None => "Not polled yet.".to_owned(),
        },
        _ => match health.last_success_at {
            Some(success) => format!("All is well: last polled {}.", When(success)),
            None => "All is well.".to_owned(),
        },
    }
}

fn in_a_row(row: &Failing, now: Time) -> String {
    match row.count {
        0 | 1 => row.message.clone(),
        n => format!("{}; failing for {}, {n} times in a row", row.message, now.since(row.since)),
    }
}

fn rule(at: &Situation<'_>) -> String {
    let policy = &at.policy.name;
    let Some(row) = &at.health.failing else { return format!("{policy}: polled every {}", at.interval) };
    let rule = at.policy.rule(row.kind);
    let gap = match rule.gap {
        Gap::Interval => format!("polled every {}", at.interval),
        Gap::Backoff => {
            format!("polled at {} doubled for each failure, at most {}", at.interval, at.policy.max_backoff)
        }
        Gap::Age { share } => {
            let share = share.unwrap_or_else(|| at.policy.age.share(row.class()));
            format!("polled after {:.0} % of the time it has been failing", share * 100.0)
        }
    };
    match rule.aside {
        Some(aside) => format!("{policy}, {}: {gap}; {}", row.kind, aside_in_words(&aside, row.kind)),
        None => format!("{policy}, {}: {gap}; never set aside", row.kind),
    }
}

fn aside_in_words(aside: &Aside, kind: ErrorKind) -> String {
    let what = match aside.counts {
        Counts::Kind => format!("{kind} failures"),
        Counts::Any => "failures".to_owned(),
        Counts::Permanent => "permanent failures".to_owned(),
    };
    let then = match aside.then {
        Then::KeepPolling => "set aside, though still polled,".to_owned(),
        Then::CoolDown(span) => format!("set aside for {span}"),
        Then::WaitForPerson => "set aside until a person comes".to_owned(),
        Then::Disable => "disabled".to_owned(),
    };
    match (aside.threshold, aside.over) {
        (1, Span::ZERO) => format!("{then} at once"),
        (n, Span::ZERO) => format!("{then} after {n} {what} in a row"),
        (n, over) => format!("{then} after {n} {what} in a row over at least {over}"),
    }
}

fn next(at: &Situation<'_>, next_poll_at: Option<Time>, why: Option<Why>, now: Time) -> String {
    let Some(due) = next_poll_at else {
        return match at.health.status() {
            Status::Disabled => "Not polled while disabled.".to_owned(),
            _ => "Not polled until a person retries it.".to_owned(),
        };
    };
    let when =
        if due <= now { "Due now".to_owned() } else { format!("In {}, at {}", due.since(now), When(due)) };
    let ruled = || next_poll(at, now, Jitter::new(0.5)).map_or(Why::ByHand, |next| next.why);
    let why = why.unwrap_or_else(ruled);
    format!("{when}: {}.", why_in_words(why, at))
}

fn why_in_words(why: Why, at: &Situation<'_>) -> String {
    let hint = |span: Option<Span>| span.map_or(String::new(), |span| format!(" {span}"));
    match why {
        Why::Interval => format!("it is polled every {}", at.interval),
        Why::Hint(Hint::MaxAge) => {
            format!("its server asks to wait{} (Cache-Control: max-age)", hint(at.hints.max_age))
        }
        Why::Hint(Hint::Expires) => format!("its server asks to wait{} (Expires)", hint(at.hints.expires)),
        Why::Hint(Hint::Ttl) => format!("the feed asks to wait{} (ttl)", hint(at.hints.ttl)),
        Why::Hint(Hint::UpdatePeriod) => {
            format!("the feed asks to wait{} (sy:updatePeriod)", hint(at.hints.update_period))
        }
        Why::Hint(Hint::Skip) => "the feed asks to skip hours or days".to_owned(),
        Why::Backoff => "the wait doubles with each failure".to_owned(),
        Why::Age => "the wait grows with the time it has been failing".to_owned(),
        Why::Retry => format!("it is tried again every {}", at.interval),
        Why::CoolDown => "the end of its cooldown".to_owned(),
        Why::Dormant => {
            format!("it has failed for so long that it is asked every {}", at.policy.age.dormant_every)
        }
        Why::RetryAfter => "its server asked to stay away until then (Retry-After)".to_owned(),
        Why::OurFault => "the last try failed by our own fault".to_owned(),
        Why::FirstPoll => "its first poll, at a random point within the first interval".to_owned(),
        Why::ByHand => "a person asked for it".to_owned(),
        Why::SetAsideByHand => "a person set it aside until then".to_owned(),
        Why::Incident => "its host fails as a whole and is polled once in a while, as a probe".to_owned(),
        Why::OwnNetwork => "the local network was down".to_owned(),
        Why::Pacing => format!(
            "its host limits how often it is asked, so that it waits for its interval of {} at least",
            at.interval
        ),
    }
}

fn changes(at: &Situation<'_>, now: Time) -> Vec<String> {
    let health = at.health;
    let mut changes = Vec::new();
    match (health.status(), &health.quarantine) {
        (Status::Disabled, _) => {
            changes
                .push("Only enabling it by hand; that clears its failures and polls it at once.".to_owned());
        }
        (Status::Quarantined, Some(Quarantine { retry_at: None, .. })) => {
            changes.push("Only a person: poll it by hand, or lift the quarantine.".to_owned());
        }
        (Status::Quarantined, _) => {
            changes.push("A poll that succeeds ends the quarantine; polling it by hand asks now.".to_owned());
        }
        (Status::Failing, _) => {
            changes.push("A poll that succeeds makes it healthy.".to_owned());
            changes.extend(health.failing.as_ref().and_then(|row| towards_aside(at, row, now)));
        }
        (Status::Pending, _) => {
            changes
                .push("Its first poll makes it healthy or failing; polling it by hand asks now.".to_owned());
        }
        (Status::Healthy, _) => changes.push("A poll that fails makes it failing.".to_owned()),
    }
    let polled_at = health.last_polled_at.unwrap_or(now);
    if health.failing.as_ref().is_some_and(|row| row.dormant(at.policy, polled_at)) {
        changes.push(
            "It has failed for so long that a person should decide: correct its URL, or delete it."
                .to_owned(),
        );
    }
    changes
}

/// How far a failing source is from being set aside.
fn towards_aside(at: &Situation<'_>, row: &Failing, now: Time) -> Option<String> {
    let aside = at.policy.rule(row.kind).aside?;
    let (count, since) = row.run(aside.counts);
    let lasted = now.since(since);
    let then = aside_in_words(&aside, row.kind);
    let over = if aside.over == Span::ZERO { String::new() } else { format!(" over {lasted}") };
    Some(format!("It is {then}; so far {count}{over}."))
}
