//! When a permanent redirect changes a source's URL.
//!
//! Absent on purpose: temporary redirects, which change nothing, and writing. A collection that has the new URL
//! already refuses the move; the store finds that out.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::time::{Span, Time};

/// A permanent redirect under observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redirect {
    /// Where it leads.
    pub to: String,
    /// When it was first seen.
    pub since: Time,
    /// In how many polls.
    pub count: u32,
    /// The source of the same collection that has the target already, so that this one cannot move there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_by: Option<i64>,
}

/// What a poll's permanent redirect means for the source's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing yet.
    Stay,
    /// It becomes the target.
    Move(MoveReason),
    /// It is proposed to a person: the source has credentials, and the target is another origin.
    Propose,
}

/// Why a source moves by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveReason {
    /// The same URL on https.
    Https,
    /// The same permanent redirect was seen often enough, for long enough.
    Redirected,
}

impl MoveReason {
    /// For people.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Https => "its server redirects it to the same URL on https",
            Self::Redirected => {
                "its server redirected it there for good, in at least 3 polls over at least 2 days"
            }
        }
    }
}

/// How often the same target must be seen, and over how long, before it is believed.
const SIGHTINGS: u32 = 3;
const SIGHTED_OVER: Span = Span::from_hours(48);

/// Counts a poll that was redirected for good to `to`; another target, or none, starts anew.
pub fn observe(before: Option<Redirect>, to: Option<String>, now: Time) -> Option<Redirect> {
    let to = to?;
    Some(match before {
        Some(before) if before.to == to => Redirect { count: before.count.saturating_add(1), ..before },
        _ => Redirect { to, since: now, count: 1, taken_by: None },
    })
}

/// Decides what becomes of a source's URL: the same URL on https at once; else the target, once it was seen often
/// enough, for long enough, and has posts that are known. With credentials, only within [`keeps_credentials`].
pub fn decide(url: &str, redirect: &Redirect, has_credentials: bool, shares_posts: bool, now: Time) -> Step {
    let same_on_https = url.strip_prefix("http://").is_some_and(|rest| {
        let to = redirect.to.strip_prefix("https://");
        to.is_some_and(|to| to.trim_end_matches('/') == rest.trim_end_matches('/'))
    });
    let believed = redirect.count >= SIGHTINGS && now.since(redirect.since) >= SIGHTED_OVER && shares_posts;
    if !same_on_https && !believed {
        return Step::Stay;
    }
    let keeps = match (Url::parse(url), Url::parse(&redirect.to)) {
        (Ok(from), Ok(to)) => keeps_credentials(&from, &to),
        _ => false,
    };
    match (has_credentials && !keeps, same_on_https) {
        (true, _) => Step::Propose,
        (false, true) => Step::Move(MoveReason::Https),
        (false, false) => Step::Move(MoveReason::Redirected),
    }
}

/// Whether credentials for one URL may be sent to the other: the same origin, or the same host on https instead of
/// http, both on their default ports. An upgrade shows nobody what http did not show already.
pub fn keeps_credentials(from: &Url, to: &Url) -> bool {
    let upgrade = from.scheme() == "http"
        && to.scheme() == "https"
        && from.host().is_some()
        && from.host() == to.host()
        && from.port().is_none()
        && to.port().is_none();
    upgrade || from.origin().is_tuple() && from.origin() == to.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(to: &str, count: u32) -> Redirect {
        Redirect { to: to.into(), since: Time::from_millis(0), count, taken_by: None }
    }

    fn check(url: &str, to: &str, count: u32, hours: u64, shares_posts: bool, credentials: bool) -> Step {
        let now = Time::from_millis(0) + Span::from_hours(hours);
        decide(url, &seen(to, count), credentials, shares_posts, now)
    }

    #[test]
    fn a_move_is_believed_when_it_lasts_and_shares_posts() {
        let (old, new) = ("https://a.example/feed", "https://b.example/feed");
        assert_eq!(check(old, new, 3, 48, true, false), Step::Move(MoveReason::Redirected));
        assert_eq!(check(old, new, 2, 48, true, false), Step::Stay, "seen too rarely");
        assert_eq!(check(old, new, 30, 47, true, false), Step::Stay, "not for long enough");
        assert_eq!(check(old, new, 30, 480, false, false), Step::Stay, "something else is there");
    }

    #[test]
    fn the_same_url_on_https_is_followed_at_once() {
        let step = |url, to| check(url, to, 1, 0, false, false);
        assert_eq!(step("http://a.example/feed", "https://a.example/feed"), Step::Move(MoveReason::Https));
        assert_eq!(step("http://a.example/feed", "https://a.example/feed/"), Step::Move(MoveReason::Https));
        assert_eq!(step("http://a.example/feed", "https://a.example/other"), Step::Stay);
        assert_eq!(step("http://a.example/feed", "https://b.example/feed"), Step::Stay);
        assert_eq!(step("https://a.example/feed", "http://a.example/feed"), Step::Stay, "never back");
    }

    #[test]
    fn credentials_stop_a_move_to_another_origin() {
        let step = |url, to| check(url, to, 3, 48, true, true);
        let moved = Step::Move(MoveReason::Redirected);
        assert_eq!(step("https://a.example/old", "https://a.example/new"), moved);
        assert_eq!(step("https://a.example/old", "https://a.example:443/new"), moved, "the default port");
        assert_eq!(step("https://a.example/old", "https://b.example/old"), Step::Propose);
        assert_eq!(step("https://a.example/old", "https://www.a.example/old"), Step::Propose);
        assert_eq!(step("https://a.example/old", "https://a.example:8443/old"), Step::Propose);
        assert_eq!(step("https://a.example/old", "http://a.example/old"), Step::Propose, "no downgrade");
        assert_eq!(check("https://a.example/old", "https://b.example/old", 2, 48, true, true), Step::Stay);
    }

    #[test]
    fn an_upgrade_to_https_on_default_ports_keeps_credentials() {
        let step = |url, to| check(url, to, 1, 0, true, true);
        assert_eq!(step("http://a.example/feed", "https://a.example/feed"), Step::Move(MoveReason::Https));
        assert_eq!(
            step("http://a.example:80/feed", "https://a.example/feed"),
            Step::Stay,
            "other spellings wait"
        );
        assert_eq!(
            check("http://a.example/feed", "https://a.example/new", 3, 48, true, true),
            Step::Move(MoveReason::Redirected)
        );
        assert_eq!(
            check("http://a.example:8080/feed", "https://a.example:8443/feed", 3, 48, true, true),
            Step::Propose
        );
    }

    #[test]
    fn sightings_of_one_target_are_counted() {
        let now = Time::from_millis(5);
        let first = observe(None, Some("https://b.example/".into()), now).unwrap();
        assert_eq!((first.count, first.since), (1, now));
        let taken = Redirect { taken_by: Some(7), ..first };
        let again =
            observe(Some(taken.clone()), Some("https://b.example/".into()), Time::from_millis(9)).unwrap();
        assert_eq!((again.count, again.since, again.taken_by), (2, now, Some(7)));
        let other =
            observe(Some(taken.clone()), Some("https://c.example/".into()), Time::from_millis(9)).unwrap();
        assert_eq!((other.count, other.taken_by), (1, None));
        assert_eq!(observe(Some(taken), None, now), None);
    }
}
