//! Explanations, as people read them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use gleaner_core::explain::{Around, Evidence, explain};
use gleaner_core::health::{Health, by_hand, decide};
use gleaner_core::outcome::{ErrorKind, Failure, Outcome};
use gleaner_core::policy::{Knobs, Policy};
use gleaner_core::schedule::{Hints, Next, Situation, next_poll};
use gleaner_core::time::{Jitter, Span, Time};

fn start() -> Time {
    Time::parse("2026-11-15T08:00:00Z").unwrap()
}

fn not_found() -> Outcome {
    let message = "404 Not Found".into();
    Outcome::Failed(Failure { kind: ErrorKind::NotFound, status: Some(404), message, retry_after: None })
}

/// The explanation after these outcomes, one whenever it is due, ten minutes after the last.
fn explained(policy: &str, hints: Hints, outcomes: &[Outcome]) -> String {
    let policy = Policy::builtin(policy, Knobs::default()).unwrap();
    let (interval, jitter) = (Span::from_mins(30), Jitter::new(0.5));
    let new = Health::new();
    let base = Situation { health: &new, hints: &hints, interval, policy: &policy };
    let (mut health, mut now, mut next): (_, _, Option<Next>) = (new.clone(), start(), None);
    let mut evidence = Vec::new();
    for outcome in outcomes {
        now = next.map_or(now, |next| next.at);
        let decision = decide(&Situation { health: &health, ..base }, outcome, now, jitter);
        (health, next) = (decision.health, decision.next);
        let what = outcome.failure().map_or("nothing new".to_owned(), |failure| failure.message.clone());
        evidence.insert(0, Evidence { first_at: now, last_at: now, count: 1, what });
    }
    evidence.truncate(2);
    let next = next.or_else(|| next_poll(&Situation { health: &health, ..base }, now, jitter));
    print(
        &Situation { health: &health, ..base },
        next.map(|next| next.at),
        &evidence,
        now + Span::from_mins(10),
    )
}

fn print(at: &Situation<'_>, next: Option<Time>, evidence: &[Evidence], now: Time) -> String {
    let told = explain(at, next, evidence, Around::default(), now);
    let lines = [told.summary, format!("Rule: {}", told.rule)].into_iter();
    let lines = lines.chain(told.evidence.into_iter().map(|line| format!("- {line}")));
    let lines = lines.chain([told.next]).chain(told.changes.into_iter().map(|line| format!("> {line}")));
    lines.collect::<Vec<_>>().join("\n")
}

/// One snapshot of several explanations.
fn check(name: &str, explanations: &[String]) {
    insta::assert_snapshot!(name, explanations.join("\n\n"));
}

#[test]
fn a_healthy_source() {
    let fetched = [Outcome::Fetched { retry_after: None }];
    let hints = Hints { ttl: Some(Span::from_hours(2)), ..Hints::NONE };
    check(
        "healthy",
        &[
            explained("standard", Hints::NONE, &fetched),
            explained("standard", hints, &fetched),
            explained("standard", Hints::NONE, &[]),
        ],
    );
}

#[test]
fn a_failing_source() {
    let twice = [not_found(), not_found()];
    check("failing", &["standard", "backoff"].map(|policy| explained(policy, Hints::NONE, &twice)));
}

#[test]
fn a_source_set_aside() {
    check(
        "set aside",
        &[("standard", 14), ("cooldown", 3), ("quarantine", 5)]
            .map(|(policy, times)| explained(policy, Hints::NONE, &vec![not_found(); times])),
    );
}

#[test]
fn a_source_that_needs_a_person() {
    check(
        "needs a person",
        &[("backoff", 5), ("standard", 40)]
            .map(|(policy, times)| explained(policy, Hints::NONE, &vec![not_found(); times])),
    );
}

#[test]
fn a_person_did_it() {
    let policy = Policy::builtin("standard", Knobs::default()).unwrap();
    let (hints, interval) = (Hints::NONE, Span::from_mins(30));
    let tell = |health: Health| {
        let next = by_hand(health.clone(), Vec::new(), start()).next.map(|next| next.at);
        let at = Situation { health: &health, hints: &hints, interval, policy: &policy };
        print(&at, next, &[], start())
    };
    check(
        "by hand",
        &[
            tell(Health::new().set_aside_by_hand("too noisy", start())),
            tell(Health::new().set_aside_by_hand("gone", start())),
            tell(Health::new().disabled_by_hand(None)),
        ],
    );
}

#[test]
fn a_suspect() {
    use gleaner_core::suspect::{Reason, Suspected};
    let policy = Policy::builtin("standard", Knobs::default()).unwrap();
    let health = Health { last_success_at: Some(start()), ..Health::default() };
    let at =
        Situation { health: &health, hints: &Hints::NONE, interval: Span::from_mins(30), policy: &policy };
    let suspected = Suspected {
        reason: Reason::LoginWall,
        evidence: "the page's title says \"log in to continue\", in 512 bytes".into(),
        since: start(),
    };
    let told = explain(&at, None, &[], Around::default(), start()).suspecting(Some(&suspected));
    assert_eq!(
        told.summary,
        "It answers, but something seems to be wrong: the page's title says \"log in to continue\", in 512 bytes."
    );
    assert_eq!(
        told.notices,
        [
            "Suspect since 2026-11-15 08:00 UTC, login wall: the page's title says \"log in to continue\", in 512 \
          bytes. Its server asks to log in: give it a credential, or look for an address that is for everybody."
        ]
    );
    assert!(told.changes.last().unwrap().contains("ends the suspicion"), "{:?}", told.changes);
    assert_eq!(
        explain(&at, None, &[], Around::default(), start()).suspecting(None),
        explain(&at, None, &[], Around::default(), start())
    );
}

#[test]
fn a_dead_feed_with_a_proposal() {
    use gleaner_core::elsewhere::{Proposal, ProposalReason};
    let policy = Policy::builtin("standard", Knobs::default()).unwrap();
    let health = Health::new();
    let at =
        Situation { health: &health, hints: &Hints::NONE, interval: Span::from_mins(30), policy: &policy };
    let url = "https://a.example/new.xml".to_owned();
    let reason = ProposalReason::Advertised;
    let proposal = Proposal { url: url.clone(), title: Some("News".into()), since: start(), reason };
    let told = explain(&at, None, &[], Around::default(), start()).proposing(Some(&proposal));
    assert_eq!(told.proposal, Some(url));
    assert_eq!(
        told.notices,
        [
            "Its site now advertises https://a.example/new.xml (\"News\"). If that is its feed now, use it: its posts \
          and its history stay."
        ]
    );
    let proposal = Proposal { reason: ProposalReason::Redirected, ..proposal };
    let told = explain(&at, None, &[], Around::default(), start()).proposing(Some(&proposal));
    assert!(
        told.notices[0]
            .starts_with("It is redirected for good to https://a.example/new.xml. It has credentials")
    );
}

#[test]
fn article_pages_and_moves() {
    use gleaner_core::follow::PageCounts;
    let policy = Policy::builtin("standard", Knobs::default()).unwrap();
    let health = Health::new();
    let at =
        Situation { health: &health, hints: &Hints::NONE, interval: Span::from_mins(30), policy: &policy };
    let plain = || explain(&at, None, &[], Around::default(), start());
    assert_eq!(plain().with_pages(PageCounts::default(), None), plain(), "most sources have none");
    let pages = PageCounts { waiting: 1, failed: 2, given_up: 3 };
    let told = plain().with_pages(pages, Some(("https://a.example/1", "403 Forbidden")));
    assert_eq!(
        told.notices,
        [
            "Article pages: 1 waiting, 2 failed and tried again, 3 given up. The latest failure: https://a.example/1: \
          403 Forbidden."
        ]
    );
    assert_eq!(told.changes.len(), plain().changes.len() + 2);
    let told = plain().moved(start(), "https://a.example/old", "https://a.example/new", "a redirect");
    assert_eq!(
        told.notices,
        ["Moved on 2026-11-15 08:00 UTC from https://a.example/old to https://a.example/new: a redirect."]
    );
    let told = plain().cannot_move("https://a.example/new", 7);
    assert!(
        told.notices[0].contains("which source 7 of the same collection has already"),
        "{:?}",
        told.notices
    );
}
