//! What every store must do, method by method, on SQLite and on PostgreSQL.

mod claims;
mod commits;
mod held;
mod lists;
mod maintenance;
mod outgoing;
mod poll_run;
mod sources;
mod streams;
mod workers;

use std::collections::HashMap;

use crate::support::{Database, feed, minutes, start};
use gleaner::store::*;
use gleaner_core::health::{
    CountedRun, Disabled, Failing, Health, KindSet, PermanentRun, Quarantine, Status,
};
use gleaner_core::identity::{Seen, Skipped};
use gleaner_core::outcome::{Cause, ErrorKind, Failure};
use gleaner_core::post::{NewPost, content_hash};
use gleaner_core::schedule::Hints;
use gleaner_core::source::{Interval, Kind};
use gleaner_core::time::{Span, Time};

/// Makes two tests of each contract, one a database.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod on_sqlite { $(#[tokio::test] async fn $name() { super::$name(crate::support::sqlite().await).await; })+ }
        mod on_postgres { $(#[tokio::test] async fn $name() { super::$name(crate::support::postgres().await).await; })+ }
    };
}
use on_both;

pub(super) fn request(now: Time) -> ClaimRequest {
    ClaimRequest::all(now, minutes(1), "test", 100, 50)
}

/// Adds sources, all due at the start.
pub(super) async fn add(db: &Database, sources: &[NewSource]) -> Vec<i64> {
    db.store.create_sources(sources, start()).await.unwrap().into_iter().map(Created::id).collect()
}

pub(super) fn post(text: &str) -> NewPost {
    NewPost {
        guid: format!("guid {text}"),
        url: Some(format!("https://a.example/{text}")),
        title: Some(format!("Title of {text}")),
        body: text.to_owned(),
        raw_content: Some(format!("<p>{text}</p>")),
        author: None,
        published_at: Some(start()),
        content_hash: content_hash(None, None, text),
    }
}

pub(super) fn new_post(text: &str) -> (NewPost, Seen) {
    let post = post(text);
    let content = post.content_hash.key();
    let key = gleaner_core::identity::guid_key(&post.guid);
    let published_at = post.published_at;
    let seen = Seen {
        key,
        link: Some(7),
        raw: 1,
        title: Some(3),
        content: Some(content),
        published_at,
        ..Seen::default()
    };
    (post, seen)
}

/// A poll of a claimed source that found nothing.
pub(super) fn quiet(claim: &Claim, place: usize, at: Time) -> Commit {
    let source = &claim.sources[place];
    let health = Health { last_polled_at: Some(at), last_success_at: Some(at), ..Health::default() };
    Commit {
        lease: claim.lease,
        source_id: source.id,
        fence: source.fence,
        was: source.health.clone(),
        health,
        next_poll_at: Some(at + minutes(30)),
        host_hold_until: None,
        memory: None,
        moved: None,
        suspect: None,
        elsewhere: None,
        new: Vec::new(),
        changed: Vec::new(),
        remember: Vec::new(),
        copies: Vec::new(),
        unique_text: false,
        vanished: Vec::new(),
        articles: Vec::new(),
        poll: PollRecord {
            at,
            outcome: "not_modified".into(),
            error: None,
            status_code: Some(304),
            duration: Span::from_millis(12),
            bytes: 0,
            skipped: Skipped::default(),
            note: None,
            rule: None,
            excused: None,
            excused_by: None,
        },
        events: Vec::new(),
        host_effects: None,
    }
}

/// Claims all that is due and expects one source of one host.
pub(super) async fn claim_one(db: &Database, now: Time) -> Claim {
    let mut claims = db.store.claim(&request(now)).await.unwrap();
    assert_eq!(claims.len(), 1, "one host is due");
    assert_eq!(claims[0].sources.len(), 1, "one source is due");
    claims.remove(0)
}

/// Claims, commits and releases the one due source.
pub(super) async fn poll_once(db: &Database, now: Time, change: impl FnOnce(&mut Commit)) -> CommitOutcome {
    let claim = claim_one(db, now).await;
    let mut commit = quiet(&claim, 0, now);
    change(&mut commit);
    let release = Release::of(claim.lease);
    db.store.commit(&[commit], &[release]).await.unwrap().remove(0)
}

/// An edit that changes nothing but what `change` does.
pub(super) fn edit_of(source: &Source, change: impl FnOnce(&mut SourceEdit)) -> SourceEdit {
    let mut edit = SourceEdit::of(source);
    change(&mut edit);
    edit
}

/// The one entry of a source that was polled once.
pub(super) async fn only_seen(db: &Database, id: i64, key: i64) -> Seen {
    let known = db.store.known(&[id]).await.unwrap();
    *known[&id].iter().find(|row| row.key == key).expect("it is known")
}
