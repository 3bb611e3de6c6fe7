//! A dead feed whose site now advertises another one: when that is looked for, and what is proposed.
//!
//! Absent on purpose: following. What a page advertises may be anybody's; a person decides, and the source keeps its
//! posts and its history. Absent too: hosts in trouble. Only a site that answers can say where its feed is now.

use serde::{Deserialize, Serialize};

use crate::health::Health;
use crate::outcome::{ErrorKind, Failure};
use crate::time::{Span, Time};

/// A feed has failed for so long before another one is looked for, unless it is set aside sooner.
const DEAD_FOR: Span = Span::from_hours(24);
/// A site is looked at so often at most.
const LOOKED_EVERY: Span = Span::from_hours(24);

/// A feed that a page advertises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// Where it is.
    pub url: String,
    /// What the page calls it.
    pub title: Option<String>,
}

/// What a person is asked to use in place of a dead feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Where it is.
    pub url: String,
    /// What its site calls it.
    pub title: Option<String>,
    /// When it was first seen.
    pub since: Time,
    /// Why it is proposed.
    #[serde(default)]
    pub reason: ProposalReason,
}

/// Why another URL is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalReason {
    /// The feed is dead, and its site advertises that URL.
    #[default]
    Advertised,
    /// The source is redirected there for good, but its credentials are for its own origin only.
    Redirected,
}

impl ProposalReason {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Advertised => "advertised",
            Self::Redirected => "redirected",
        }
    }
}

/// What is known of where a dead feed is now, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// When its site was last looked at, or was to be.
    pub looked_at: Time,
    /// What was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
}

impl Proposal {
    /// The event's name in the outbox, the API and webhooks.
    pub const EVENT: &str = "source.proposal";

    /// What happened, for people.
    pub fn in_words(&self) -> String {
        match self.reason {
            ProposalReason::Advertised => format!("its site now advertises {}", self.url),
            ProposalReason::Redirected => format!(
                "it is redirected for good to {}, which is another origin than its credentials are for",
                self.url
            ),
        }
    }
}

/// Whether another feed is looked for, given a source's state before a poll that failed so.
pub fn is_due(health: &Health, failure: &Failure, was: Option<&Elsewhere>, now: Time) -> bool {
    let answered = matches!(failure.kind, ErrorKind::NotFound | ErrorKind::Gone | ErrorKind::ParseError);
    let dead = health.quarantine.is_some()
        || health.failing.as_ref().is_some_and(|row| now.since(row.since) >= DEAD_FOR);
    // A clock that was set back must not hide a site for years.
    let lately = was.is_some_and(|was| was.looked_at <= now && now.since(was.looked_at) < LOOKED_EVERY);
    answered && dead && !lately
}

/// What is known after a page was looked at; whether the proposal is another one than before.
pub fn seen(was: Option<&Proposal>, found: Option<Advertised>, now: Time) -> (Elsewhere, bool) {
    let proposal = found.map(|Advertised { url, title }| match was {
        Some(was) if was.url == url => Proposal { title, ..was.clone() },
        _ => Proposal { url, title, since: now, reason: ProposalReason::Advertised },
    });
    let is_new = proposal.as_ref().is_some_and(|new| was.is_none_or(|was| was.url != new.url));
    (Elsewhere { looked_at: now, proposal }, is_new)
}

/// What is known of a source that is redirected for good to another origin than its credentials are for; whether the
/// proposal is another one than before.
pub fn redirected(was: Option<&Elsewhere>, to: &str, now: Time) -> (Elsewhere, bool) {
    let before = was.and_then(|was| was.proposal.as_ref());
    match before.filter(|before| before.url == to && before.reason == ProposalReason::Redirected) {
        Some(before) => (
            Elsewhere { looked_at: was.map_or(now, |was| was.looked_at), proposal: Some(before.clone()) },
            false,
        ),
        None => {
            let reason = ProposalReason::Redirected;
            let proposal = Proposal { url: to.to_owned(), title: None, since: now, reason };
            (Elsewhere { looked_at: now, proposal: Some(proposal) }, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Failing, Quarantine};
    use crate::outcome::Cause;

    fn now() -> Time {
        Time::parse("2026-11-15T00:00:00Z").unwrap()
    }

    fn failure(kind: ErrorKind) -> Failure {
        Failure { kind, status: None, message: String::new(), retry_after: None }
    }

    fn failing(hours: u64) -> Health {
        let since = now() - Span::from_hours(hours);
        let row = Failing::repeated(&failure(ErrorKind::NotFound), 3, since);
        Health { failing: Some(row), ..Health::new() }
    }

    #[test]
    fn another_feed_is_looked_for_where_the_site_answers_and_the_feed_is_dead() {
        let check = |health: &Health, kind| is_due(health, &failure(kind), None, now());
        assert!(check(&failing(24), ErrorKind::NotFound));
        assert!(check(&failing(24), ErrorKind::ParseError));
        assert!(!check(&failing(23), ErrorKind::NotFound), "it may be back in an hour");
        assert!(!check(&Health::new(), ErrorKind::Gone));
        let aside = Quarantine { at: now(), reason: "gone".into(), retry_at: None, by_hand: false };
        assert!(check(&Health { quarantine: Some(aside), ..failing(1) }, ErrorKind::Gone));
        for kind in [
            ErrorKind::Network(Cause::Connect),
            ErrorKind::Network(Cause::Dns),
            ErrorKind::UpstreamFailure,
            ErrorKind::RateLimited,
            ErrorKind::Forbidden,
            ErrorKind::Internal,
        ] {
            assert!(!check(&failing(500), kind), "{kind}: nobody is there to say");
        }
    }

    #[test]
    fn a_site_is_looked_at_once_a_day() {
        let check = |looked_at| {
            let was = Elsewhere { looked_at, proposal: None };
            is_due(&failing(500), &failure(ErrorKind::NotFound), Some(&was), now())
        };
        assert!(!check(now() - Span::from_hours(23)));
        assert!(check(now() - Span::from_hours(24)));
        assert!(check(now() + Span::from_days(400)), "the clock was wrong");
    }

    #[test]
    fn a_redirect_is_proposed_once_and_unchanged_while_it_lasts() {
        let (first, is_new) = redirected(None, "https://b.example/feed", now());
        assert!(is_new);
        let later = now() + Span::from_days(2);
        assert_eq!(redirected(Some(&first), "https://b.example/feed", later), (first.clone(), false));
        let (other, is_new) = redirected(Some(&first), "https://c.example/feed", later);
        assert!(is_new);
        assert_eq!(other.proposal.unwrap().since, later);
    }

    #[test]
    fn the_same_proposal_is_told_once() {
        let feed = |url: &str| Some(Advertised { url: url.into(), title: None });
        let (first, is_new) = seen(None, feed("https://a.example/new"), now());
        assert!(is_new);
        let was = first.proposal.unwrap();
        let later = now() + Span::from_days(2);
        assert_eq!(seen(Some(&was), feed("https://a.example/new"), later).0.proposal, Some(was.clone()));
        assert!(!seen(Some(&was), feed("https://a.example/new"), later).1);
        assert!(seen(Some(&was), feed("https://a.example/other"), later).1);
        assert_eq!(seen(Some(&was), None, later), (Elsewhere { looked_at: later, proposal: None }, false));
    }
}
