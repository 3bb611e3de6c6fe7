//! What every store must do, method by method, on SQLite and on PostgreSQL.

use std::collections::HashMap;

use crate::support::{Database, feed, minutes, start};
use gleaner::store::*;
use gleaner_core::health::{Disabled, Failing, Health, KindSet, PermanentRun, Quarantine, Status};
use gleaner_core::identity::{Seen, Skipped};
use gleaner_core::outcome::{Cause, ErrorKind};
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

on_both!(
    a_source_comes_back_as_it_went_in,
    a_url_is_once_in_a_collection,
    sources_are_listed_by_filter_and_cursor,
    an_edit_of_something_older_changes_nothing,
    an_edit_moves_a_source_to_its_new_host,
    deleting_a_source_takes_its_own_and_leaves_articles,
    a_claim_leases_due_hosts_with_what_is_due,
    a_host_is_claimed_once_until_its_lease_ends,
    a_big_host_is_claimed_in_portions,
    a_heartbeat_keeps_only_what_is_ours,
    a_release_makes_the_host_due_with_its_next_source,
    one_source_can_be_claimed_by_hand,
    a_commit_stores_the_whole_verdict,
    any_health_survives_a_commit,
    a_stale_fence_discards_the_whole_poll,
    one_stale_poll_spares_the_rest_of_its_batch,
    the_same_text_is_stored_once_per_source,
    a_changed_entry_changes_its_post,
    a_change_into_another_posts_text_is_skipped,
    vanished_entries_are_marked_and_come_back,
    unchanged_polls_share_a_row,
    article_work_is_claimed_by_its_own_host,
    article_work_is_retried_and_given_up,
    an_edit_during_a_poll_wins,
    a_host_hold_delays_its_sources,
    a_source_that_moved_is_polled_at_its_new_host,
    a_jump_of_the_clock_is_spread,
    events_are_numbered_in_one_order,
    clean_up_deletes_what_is_old_and_linked_to_nothing,
    clean_up_of_history_goes_round,
    articles_keep_their_posts,
    users_collections_and_keys,
    webhooks_come_and_go,
    meta_keeps_its_latest_value,
    a_thousand_sources_in_one_batch,
);

fn request(now: Time) -> ClaimRequest {
    ClaimRequest { now, lease: minutes(1), owner: "test".into(), hosts: 100, per_host: 50 }
}

/// Adds sources, all due at the start.
async fn add(db: &Database, sources: &[NewSource]) -> Vec<i64> {
    db.store.create_sources(sources, start()).await.unwrap().into_iter().map(Created::id).collect()
}

fn post(text: &str) -> NewPost {
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

fn new_post(text: &str) -> (NewPost, Seen) {
    let post = post(text);
    let content = post.content_hash.key();
    let key = gleaner_core::identity::guid_key(&post.guid);
    (post, Seen { key, link: Some(7), raw: 1, content, post_id: None, absent_since: None })
}

/// A poll of a claimed source that found nothing.
fn quiet(claim: &Claim, place: usize, at: Time) -> Commit {
    let source = &claim.sources[place];
    let health = Health { last_polled_at: Some(at), last_success_at: Some(at), ..Health::new() };
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
        new: Vec::new(),
        changed: Vec::new(),
        remember: Vec::new(),
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
            rule: None,
        },
        events: Vec::new(),
    }
}

/// Claims all that is due and expects one source of one host.
async fn claim_one(db: &Database, now: Time) -> Claim {
    let mut claims = db.store.claim(&request(now)).await.unwrap();
    assert_eq!(claims.len(), 1, "one host is due");
    assert_eq!(claims[0].sources.len(), 1, "one source is due");
    claims.remove(0)
}

/// Claims, commits and releases the one due source.
async fn poll_once(db: &Database, now: Time, change: impl FnOnce(&mut Commit)) -> Committed {
    let claim = claim_one(db, now).await;
    let mut commit = quiet(&claim, 0, now);
    change(&mut commit);
    let release = Release { lease: claim.lease, free_at: None };
    db.store.commit(&[commit], &[release]).await.unwrap().remove(0)
}

async fn a_source_comes_back_as_it_went_in(db: Database) {
    let mut new = feed("a.example", "feed?b=c");
    new.settings = SourceSettings {
        kind: Kind::Watchlist,
        name: Some("Übersicht 漢字".into()),
        interval: Interval::Minutes(7),
        poll_delay: Some(Span::from_secs(3)),
        article_selector: Some("article h2 a".into()),
        ignore_selector: Some(".ads".into()),
        full_content: true,
        backfill: true,
        ignore_robots: true,
        policy: Some("cooldown".into()),
        secret: Some(vec![0, 159, 255]),
        ..new.settings
    };
    let id = add(&db, std::slice::from_ref(&new)).await[0];
    let source = db.store.source(id).await.unwrap();
    assert_eq!(source.settings, new.settings);
    assert_eq!(source.health, Health::new());
    assert_eq!((source.host.as_str(), source.next_poll_at), ("a.example", Some(start())));
    assert_eq!((source.created_at, source.version, source.memory), (start(), 1, Memory::default()));
    let missing = db.store.source(id + 1).await.unwrap_err();
    assert_eq!(missing.to_string(), format!("source {} does not exist", id + 1));
}

async fn a_url_is_once_in_a_collection(db: Database) {
    let other = db.store.create_collection("other", 1, start()).await.unwrap();
    let here = feed("a.example", "feed");
    let mut there = here.clone();
    there.settings.collection_id = other;
    let made = db.store.create_sources(&[here.clone(), here.clone(), there], start()).await.unwrap();
    let [Created::New(first), Created::Exists(same), Created::New(second)] = made[..] else {
        panic!("two are new: {made:?}");
    };
    assert_eq!(first, same);
    assert_ne!(first, second);
    assert_eq!(db.store.create_sources(&[here], start()).await.unwrap(), [Created::Exists(first)]);
}

async fn sources_are_listed_by_filter_and_cursor(db: Database) {
    let mut sources: Vec<NewSource> = (0..5).map(|n| feed("a.example", &format!("feed{n}"))).collect();
    sources.push(feed("b.example", "100%_sure"));
    sources[1].settings.kind = Kind::Website;
    sources[2].settings.name = Some("Grüne Wiese".into());
    let ids = add(&db, &sources).await;
    let edit = edit_of(&db.store.source(ids[0]).await.unwrap(), |edit| {
        edit.health = edit.health.disabled_by_hand(None);
        edit.next_poll_at = None;
    });
    db.store.edit_source(&edit, start()).await.unwrap();
    let list = async |filter: SourceFilter| {
        let found = db.store.sources(&filter, None, 100).await.unwrap();
        found.iter().map(|source| source.id).collect::<Vec<_>>()
    };
    let all = SourceFilter::default();
    assert_eq!(list(all.clone()).await, ids);
    assert_eq!(list(SourceFilter { status: Some(Status::Disabled), ..all.clone() }).await, ids[..1]);
    assert_eq!(list(SourceFilter { kind: Some(Kind::Website), ..all.clone() }).await, ids[1..2]);
    assert_eq!(list(SourceFilter { host: Some("b.example".into()), ..all.clone() }).await, ids[5..]);
    assert_eq!(list(SourceFilter { text: Some("wiese".into()), ..all.clone() }).await, ids[2..3]);
    assert_eq!(list(SourceFilter { text: Some("100%_S".into()), ..all.clone() }).await, ids[5..]);
    assert_eq!(list(SourceFilter { text: Some("d_".into()), ..all.clone() }).await, ids[..0]);
    assert_eq!(list(SourceFilter { active_at: Some(start()), ..all.clone() }).await, ids[1..]);
    assert_eq!(list(SourceFilter { collection_id: Some(2), ..all.clone() }).await, ids[..0]);
    let page = db.store.sources(&all, Some(ids[1]), 2).await.unwrap();
    assert_eq!(page.iter().map(|source| source.id).collect::<Vec<_>>(), ids[2..4]);
}

/// An edit that changes nothing but what `change` does.
fn edit_of(source: &Source, change: impl FnOnce(&mut SourceEdit)) -> SourceEdit {
    let mut edit = SourceEdit {
        id: source.id,
        version: source.version,
        fence: source.fence,
        settings: source.settings.clone(),
        canonical_url: gleaner_core::link::canonical(&source.settings.url),
        host: HostKey { name: source.host.clone(), slot: 0 },
        health: source.health.clone(),
        next_poll_at: source.next_poll_at,
        forget: false,
        events: Vec::new(),
    };
    change(&mut edit);
    edit
}

async fn an_edit_of_something_older_changes_nothing(db: Database) {
    let id = add(&db, &[feed("a.example", "feed"), feed("a.example", "taken")]).await[0];
    let source = db.store.source(id).await.unwrap();
    let edit = edit_of(&source, |edit| edit.settings.name = Some("first".into()));
    db.store.edit_source(&edit, start()).await.unwrap();
    let late = edit_of(&source, |edit| edit.settings.name = Some("second".into()));
    let refused = db.store.edit_source(&late, start()).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("source {id} was changed meanwhile; read it again"));
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.settings.name.as_deref(), source.version), (Some("first"), 2));
    let clash = edit_of(&source, |edit| {
        edit.settings.url = "https://a.example/taken".into();
        edit.canonical_url = "https://a.example/taken".into();
    });
    let refused = db.store.edit_source(&clash, start()).await.unwrap_err();
    assert_eq!(refused.to_string(), "source https://a.example/taken already exists");
    assert_eq!(db.store.source(id).await.unwrap(), source);
}

async fn an_edit_moves_a_source_to_its_new_host(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    poll_once(&db, start(), |commit| {
        commit.memory = Some(Memory { etag: Some(b"\"v1\"".to_vec()), ..Memory::default() });
    })
    .await;
    let source = db.store.source(id).await.unwrap();
    assert_eq!(source.memory.etag.as_deref(), Some(&b"\"v1\""[..]));
    let edit = edit_of(&source, |edit| {
        edit.host.name = "b.example".into();
        edit.next_poll_at = Some(start());
        edit.forget = true;
    });
    db.store.edit_source(&edit, start()).await.unwrap();
    let claim = claim_one(&db, start()).await;
    assert_eq!((claim.host.as_str(), claim.sources[0].id), ("b.example", id));
    assert_eq!(claim.sources[0].memory, Memory::default());
}

async fn deleting_a_source_takes_its_own_and_leaves_articles(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed"), feed("b.example", "feed")]).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    let commits: Vec<Commit> = claims
        .iter()
        .map(|claim| Commit { new: vec![new_post("text")], ..quiet(claim, 0, start()) })
        .collect();
    db.store.commit(&commits, &[]).await.unwrap();
    let posts = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    let mine = posts.iter().find(|post| post.source_id == ids[0]).unwrap();
    let article = NewArticle {
        title: "Made of it".into(),
        body: String::new(),
        url: None,
        published_at: None,
        post_ids: vec![mine.id],
    };
    let article = db.store.create_article(&article, start()).await.unwrap();
    db.store.delete_source(ids[0]).await.unwrap();
    assert!(db.store.source(ids[0]).await.is_err());
    let left = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    assert_eq!(left.iter().map(|post| post.source_id).collect::<Vec<_>>(), [ids[1]]);
    assert_eq!(db.store.known(&ids).await.unwrap().keys().collect::<Vec<_>>(), [&ids[1]]);
    assert!(db.store.polls(ids[0], None, 10).await.unwrap().is_empty());
    assert!(db.store.article(article).await.unwrap().content.post_ids.is_empty());
    let again = db.store.delete_source(ids[0]).await.unwrap_err();
    assert!(matches!(again, StoreError::NotFound { .. }));
}

async fn a_claim_leases_due_hosts_with_what_is_due(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2"), feed("a.example", "3")];
    sources.extend([feed("b.example", "1"), feed("c.example", "1")]);
    sources[1].next_poll_at = start() + minutes(5);
    sources[2].next_poll_at = start() - minutes(5);
    sources[4].next_poll_at = start() + minutes(1);
    let ids = add(&db, &sources).await;
    let mut claims = db.store.claim(&request(start())).await.unwrap();
    claims.sort_by(|one, other| one.host.cmp(&other.host));
    let found: Vec<(&str, Vec<i64>)> = claims
        .iter()
        .map(|claim| (claim.host.as_str(), claim.sources.iter().map(|source| source.id).collect()))
        .collect();
    assert_eq!(found, [("a.example", vec![ids[2], ids[0]]), ("b.example", vec![ids[3]])]);
}

async fn a_host_is_claimed_once_until_its_lease_ends(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    let first = claim_one(&db, start()).await;
    assert!(db.store.claim(&request(start() + Span::from_secs(59))).await.unwrap().is_empty());
    let second = claim_one(&db, start() + minutes(1)).await;
    assert!(second.lease.fence > first.lease.fence);
    // The first worker comes back too late: its release and its commit change nothing.
    db.store.release(&[Release { lease: first.lease, free_at: None }]).await.unwrap();
    assert!(db.store.claim(&request(start() + minutes(1))).await.unwrap().is_empty());
    let late = db.store.commit(&[quiet(&first, 0, start() + minutes(1))], &[]).await.unwrap();
    assert_eq!(late, [Committed::Discarded]);
}

async fn a_big_host_is_claimed_in_portions(db: Database) {
    let sources: Vec<NewSource> = (0..7).map(|n| feed("a.example", &n.to_string())).collect();
    add(&db, &sources).await;
    let mut portions = Vec::new();
    loop {
        let claims = db.store.claim(&ClaimRequest { per_host: 3, ..request(start()) }).await.unwrap();
        let Some(claim) = claims.first() else { break };
        portions.push(claim.sources.len());
        let commits: Vec<Commit> =
            (0..claim.sources.len()).map(|place| quiet(claim, place, start())).collect();
        db.store.commit(&commits, &[]).await.unwrap();
        db.store.release(&[Release { lease: claim.lease, free_at: None }]).await.unwrap();
    }
    assert_eq!(portions, [3, 3, 1]);
}

async fn a_heartbeat_keeps_only_what_is_ours(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    let claim = claim_one(&db, start()).await;
    let stale = Lease { fence: claim.lease.fence - 1, ..claim.lease };
    let kept = db.store.heartbeat(&[claim.lease, stale], start() + minutes(10)).await.unwrap();
    assert_eq!(kept, [claim.lease]);
    assert!(db.store.claim(&request(start() + minutes(9))).await.unwrap().is_empty());
    db.store.release(&[Release { lease: claim.lease, free_at: None }]).await.unwrap();
    assert!(
        db.store.heartbeat(&[claim.lease], start() + minutes(20)).await.unwrap().is_empty(),
        "it was released"
    );
}

async fn a_release_makes_the_host_due_with_its_next_source(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = start() + minutes(10);
    add(&db, &sources).await;
    poll_once(&db, start(), |_| {}).await;
    assert!(db.store.claim(&request(start() + minutes(9))).await.unwrap().is_empty());
    let claim = claim_one(&db, start() + minutes(10)).await;
    db.store.commit(&[quiet(&claim, 0, start() + minutes(10))], &[]).await.unwrap();
    // Source 1 is due at 30 minutes, but the host wants a longer pause.
    let free_at = Some(start() + minutes(35));
    db.store.release(&[Release { lease: claim.lease, free_at }]).await.unwrap();
    assert!(db.store.claim(&request(start() + minutes(34))).await.unwrap().is_empty());
    assert_eq!(claim_one(&db, start() + minutes(35)).await.sources[0].settings.url, "https://a.example/1");
}

async fn one_source_can_be_claimed_by_hand(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = start() + minutes(500);
    let ids = add(&db, &sources).await;
    let claim = db.store.claim_source(ids[1], &request(start())).await.unwrap().unwrap();
    assert_eq!(claim.sources.iter().map(|source| source.id).collect::<Vec<_>>(), [ids[1]]);
    assert!(db.store.claim_source(ids[0], &request(start())).await.unwrap().is_none(), "the host is taken");
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty(), "by claims of what is due, too");
    db.store.release(&[Release { lease: claim.lease, free_at: None }]).await.unwrap();
    assert!(db.store.claim_source(ids[0], &request(start())).await.unwrap().is_some());
    assert!(db.store.claim_source(999, &request(start())).await.unwrap().is_none());
}

async fn a_commit_stores_the_whole_verdict(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let memory = Memory {
        etag: Some(b"W/\"\xfc\"".to_vec()),
        last_modified: Some(b"Sun, 15 Nov 2026 00:00:00 GMT".to_vec()),
        body_hash: Some(-5),
        reader_version: Some(3),
        hints: Hints { max_age: Some(minutes(60)), skip_hours: 3, ..Hints::NONE },
        redirect: Some("{}".into()),
        cursor: Some("{\"since_id\":1}".into()),
    };
    let skipped = Seen { key: 42, link: None, raw: 2, content: 3, post_id: None, absent_since: None };
    let committed = poll_once(&db, start(), |commit| {
        commit.memory = Some(memory.clone());
        commit.new = vec![new_post("one"), new_post("two")];
        commit.remember = vec![skipped];
        commit.poll.outcome = "fetched".into();
        commit.poll.skipped = Skipped { too_old: 1, ..Skipped::default() };
        commit.poll.rule = Some("standard".into());
        commit.events = vec![NewEvent {
            kind: "source.recovered".into(),
            source_id: Some(commit.source_id),
            payload: "{}".into(),
        }];
    })
    .await;
    let Committed::Stored { new, changed } = committed else { panic!("it was stored") };
    assert_eq!((new.len(), changed.len()), (2, 0));
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.memory, source.next_poll_at), (memory, Some(start() + minutes(30))));
    assert_eq!(source.health.last_success_at, Some(start()));
    let stored = db.store.post(new[0]).await.unwrap();
    assert_eq!((stored.content, stored.revision, stored.created_at), (post("one"), 1, start()));
    let known = &db.store.known(&[id]).await.unwrap()[&id];
    assert_eq!(known.len(), 3);
    for (post, seen) in [new_post("one"), new_post("two")] {
        let row = known.iter().find(|row| row.key == seen.key).unwrap();
        let id = row.post_id.expect("the entry knows its post");
        assert_eq!(db.store.post(id).await.unwrap().content, post);
        assert_eq!(*row, Seen { post_id: Some(id), ..seen });
    }
    assert!(known.contains(&skipped));
    let polls = db.store.polls(id, None, 10).await.unwrap();
    assert_eq!((polls.len(), polls[0].new_posts, polls[0].count), (1, 2, 1));
    assert_eq!(polls[0].record.skipped.too_old, 1);
    assert_eq!(db.store.number_events(10).await.unwrap(), 2);
    let events = db.store.events(0, 10).await.unwrap();
    assert_eq!(
        events.iter().map(|event| event.event.kind.as_str()).collect::<Vec<_>>(),
        ["post.created", "source.recovered"]
    );
    assert!(events[0].event.payload.contains(&new[0].to_string()));
}

async fn any_health_survives_a_commit(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let at = |n| start() + minutes(n);
    let failing = Failing {
        count: u32::MAX,
        since: at(1),
        kind: ErrorKind::Network(Cause::Dns),
        status: Some(404),
        message: "the name a.example does not exist".into(),
        kind_run: 3,
        kind_since: at(2),
        permanent: Some(PermanentRun {
            count: 4,
            since: at(3),
            kinds: KindSet::default().with(ErrorKind::NotFound).with(ErrorKind::Network(Cause::Dns)),
        }),
    };
    let healths = [
        Health { failing: Some(failing.clone()), hold_until: Some(at(9)), ..Health::new() },
        Health {
            failing: Some(Failing { permanent: None, kind: ErrorKind::ParseError, ..failing }),
            quarantine: Some(Quarantine {
                at: at(4),
                reason: "parse_error".into(),
                retry_at: Some(at(5)),
                by_hand: false,
            }),
            last_success_at: Some(at(0)),
            ..Health::new()
        },
        Health {
            quarantine: Some(Quarantine {
                at: at(4),
                reason: "too noisy".into(),
                retry_at: None,
                by_hand: true,
            }),
            ..Health::new()
        },
        Health { disabled: Some(Disabled { reason: Some("Auto-disabled".into()) }), ..Health::new() },
        Health { disabled: Some(Disabled { reason: None }), ..Health::new() },
        Health::new(),
    ];
    for (now, health) in (0..).zip(healths) {
        let health = Health { last_polled_at: Some(at(now)), ..health };
        // Whatever the state says, the next round claims it again.
        poll_once(&db, at(now), |commit| {
            commit.health = health.clone();
            commit.next_poll_at = Some(at(now));
        })
        .await;
        let stored = db.store.source(id).await.unwrap();
        assert_eq!(stored.health, health);
        let status = SourceFilter { status: Some(health.status()), ..SourceFilter::default() };
        assert_eq!(db.store.sources(&status, None, 10).await.unwrap().len(), 1, "{health:?}");
    }
}

async fn a_stale_fence_discards_the_whole_poll(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let claim = claim_one(&db, start()).await;
    let before = db.store.source(id).await.unwrap();
    let whole = Commit {
        new: vec![new_post("one")],
        events: vec![NewEvent { kind: "source.failing".into(), source_id: Some(id), payload: "{}".into() }],
        ..quiet(&claim, 0, start())
    };
    let stale_source = Commit { fence: whole.fence - 1, ..whole.clone() };
    let stale_host = Commit { lease: Lease { fence: claim.lease.fence - 1, ..claim.lease }, ..whole.clone() };
    let other_host = Commit { lease: Lease { host_id: claim.lease.host_id + 1, ..claim.lease }, ..whole };
    for commit in [stale_source, stale_host, other_host] {
        assert_eq!(db.store.commit(&[commit], &[]).await.unwrap(), [Committed::Discarded]);
    }
    assert_eq!(db.store.source(id).await.unwrap(), before);
    assert!(db.store.posts(&PostFilter::default(), None, 10).await.unwrap().is_empty());
    assert!(db.store.known(&[id]).await.unwrap().is_empty());
    assert!(db.store.polls(id, None, 10).await.unwrap().is_empty());
    assert_eq!(db.store.number_events(10).await.unwrap(), 0);
}

async fn one_stale_poll_spares_the_rest_of_its_batch(db: Database) {
    let ids = add(&db, &[feed("a.example", "1"), feed("a.example", "2"), feed("a.example", "3")]).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    let mut commits: Vec<Commit> = (0..3).map(|place| quiet(&claims[0], place, start())).collect();
    for commit in &mut commits {
        commit.new = vec![new_post("same text")];
    }
    commits[1].fence += 1;
    let committed = db.store.commit(&commits, &[]).await.unwrap();
    let stored: Vec<bool> = committed.iter().map(|one| *one != Committed::Discarded).collect();
    assert_eq!(stored, [true, false, true]);
    let posts = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    assert_eq!(posts.iter().map(|post| post.source_id).collect::<Vec<_>>(), [ids[2], ids[0]]);
}

async fn the_same_text_is_stored_once_per_source(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one")]).await;
    let at = start() + minutes(30);
    let (post, seen) = new_post("one");
    let again = (post, Seen { key: 99, ..seen });
    let committed = poll_once(&db, at, |commit| commit.new = vec![again, new_post("two")]).await;
    assert!(matches!(&committed, Committed::Stored { new, .. } if new.len() == 1), "{committed:?}");
    assert_eq!(db.store.posts(&PostFilter::default(), None, 10).await.unwrap().len(), 2);
    let known = &db.store.known(&[id]).await.unwrap()[&id];
    let row = known.iter().find(|row| row.key == 99).expect("it is remembered all the same");
    assert_eq!(row.post_id, None);
}

/// The one entry of a source that was polled once.
async fn only_seen(db: &Database, id: i64, key: i64) -> Seen {
    let known = db.store.known(&[id]).await.unwrap();
    *known[&id].iter().find(|row| row.key == key).expect("it is known")
}

async fn a_changed_entry_changes_its_post(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one")]).await;
    let seen = only_seen(&db, id, new_post("one").1.key).await;
    let post_id = seen.post_id.unwrap();
    let edited = NewPost { guid: "guid one".into(), ..post("one, corrected") };
    let seen = Seen { content: edited.content_hash.key(), raw: 2, ..seen };
    let at = start() + minutes(30);
    let committed = poll_once(&db, at, |commit| commit.changed = vec![(post_id, edited.clone(), seen)]).await;
    assert_eq!(committed, Committed::Stored { new: vec![], changed: vec![post_id] });
    let stored = db.store.post(post_id).await.unwrap();
    assert_eq!((stored.content, stored.revision, stored.updated_at), (edited.clone(), 2, at));
    assert_eq!(only_seen(&db, id, seen.key).await, seen);
    // The same words again, in other markup: remembered, but no change that anybody should hear of.
    let at = at + minutes(30);
    let other_markup = NewPost { raw_content: Some("<b>one, corrected</b>".into()), ..edited };
    let committed = poll_once(&db, at, |commit| commit.changed = vec![(post_id, other_markup, seen)]).await;
    assert_eq!(committed, Committed::Stored { new: vec![], changed: vec![] });
    assert_eq!(db.store.post(post_id).await.unwrap().revision, 2);
}

async fn a_change_into_another_posts_text_is_skipped(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one"), new_post("two")]).await;
    let seen = only_seen(&db, id, new_post("one").1.key).await;
    let post_id = seen.post_id.unwrap();
    let committed =
        poll_once(&db, start() + minutes(30), |commit| commit.changed = vec![(post_id, post("two"), seen)])
            .await;
    assert_eq!(committed, Committed::Stored { new: vec![], changed: vec![] });
    assert_eq!(db.store.post(post_id).await.unwrap().content, post("one"));
}

async fn vanished_entries_are_marked_and_come_back(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one")]).await;
    let key = new_post("one").1.key;
    let at = start() + minutes(30);
    poll_once(&db, at, |commit| commit.vanished = vec![key]).await;
    let gone = only_seen(&db, id, key).await;
    assert_eq!(gone.absent_since, Some(at));
    poll_once(&db, at + minutes(30), |commit| commit.remember = vec![Seen { absent_since: None, ..gone }])
        .await;
    assert_eq!(only_seen(&db, id, key).await.absent_since, None);
}

async fn unchanged_polls_share_a_row(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let at = |n: u64| start() + minutes(30 * n);
    for n in 0..4 {
        poll_once(&db, at(n), |_| {}).await;
    }
    poll_once(&db, at(4), |commit| commit.poll.outcome = "fetched".into()).await;
    poll_once(&db, at(5), |commit| {
        commit.poll.outcome = "failed".into();
        commit.poll.error = Some((ErrorKind::Network(Cause::Reset), "connection cut short".into()));
        commit.poll.status_code = None;
    })
    .await;
    poll_once(&db, at(6), |_| {}).await;
    let polls = db.store.polls(id, None, 10).await.unwrap();
    let rows: Vec<(&str, i64, Time, Time)> = polls
        .iter()
        .rev()
        .map(|poll| (poll.record.outcome.as_str(), poll.count, poll.first_at, poll.record.at))
        .collect();
    assert_eq!(
        rows,
        [
            ("not_modified", 4, at(0), at(3)),
            ("fetched", 1, at(4), at(4)),
            ("failed", 1, at(5), at(5)),
            ("not_modified", 1, at(6), at(6)),
        ]
    );
    let error = polls[1].record.error.clone().unwrap();
    assert_eq!(error, (ErrorKind::Network(Cause::Reset), "connection cut short".to_owned()));
    assert_eq!(db.store.polls(id, Some(polls[1].id), 1).await.unwrap()[0].record.outcome, "fetched");
}

fn page(host: &str, key: i64) -> NewArticleWork {
    NewArticleWork {
        host: HostKey { name: host.into(), slot: 0 },
        entry_key: key,
        url: format!("https://{host}/{key}"),
        draft: "{}".into(),
        next_try_at: start() + minutes(1),
    }
}

/// Commits an index page with these links, and remembers them as seen.
async fn index(db: &Database, pages: Vec<NewArticleWork>) {
    poll_once(db, start(), |commit| {
        commit.remember = pages
            .iter()
            .map(|page| Seen {
                key: page.entry_key,
                link: None,
                raw: 0,
                content: 0,
                post_id: None,
                absent_since: None,
            })
            .collect();
        commit.articles = pages;
    })
    .await;
}

async fn article_work_is_claimed_by_its_own_host(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(
        &db,
        vec![page("a.example", 1), page("a.example", 2), page("index.example", 3), page("a.example", 1)],
    )
    .await;
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty(), "not before its time");
    let now = start() + minutes(1);
    let claims = db.store.claim(&request(now)).await.unwrap();
    let found: HashMap<&str, Vec<i64>> = claims
        .iter()
        .map(|claim| (claim.host.as_str(), claim.articles.iter().map(|work| work.entry_key).collect()))
        .collect();
    assert_eq!(found, HashMap::from([("a.example", vec![1, 2]), ("index.example", vec![3])]));
    let claim = claims.iter().find(|claim| claim.host == "a.example").unwrap();
    let done = ArticleCommit {
        lease: claim.lease,
        work_id: claim.articles[0].id,
        at: now,
        outcome: ArticleOutcome::Post(Box::new(post("an article"))),
    };
    let stale = ArticleCommit {
        lease: Lease { fence: 0, ..claim.lease },
        work_id: claim.articles[1].id,
        ..done.clone()
    };
    let committed = db.store.commit_articles(&[done.clone(), stale]).await.unwrap();
    let [Committed::Stored { new, .. }, Committed::Discarded] = &committed[..] else {
        panic!("{committed:?}")
    };
    assert_eq!(db.store.post(new[0]).await.unwrap().source_id, id);
    assert_eq!(only_seen(&db, id, 1).await.post_id, Some(new[0]));
    assert_eq!(db.store.commit_articles(&[done]).await.unwrap(), [Committed::Discarded], "it is done");
    assert_eq!(db.store.number_events(10).await.unwrap(), 1);
}

async fn article_work_is_retried_and_given_up(db: Database) {
    let id = add(&db, &[feed("index.example", "")]).await[0];
    index(&db, vec![page("a.example", 1)]).await;
    let mut now = start() + minutes(1);
    for tries in 0..3 {
        let claim = db.store.claim(&request(now)).await.unwrap().remove(0);
        assert_eq!(claim.articles[0].tries, tries);
        let outcome = match tries {
            2 => ArticleOutcome::GivenUp,
            _ => ArticleOutcome::Retry { at: now + minutes(5), error: "timeout after 30s".into() },
        };
        let commit = ArticleCommit { lease: claim.lease, work_id: claim.articles[0].id, at: now, outcome };
        db.store.commit_articles(&[commit]).await.unwrap();
        db.store.release(&[Release { lease: claim.lease, free_at: None }]).await.unwrap();
        assert!(db.store.claim(&request(now + minutes(4))).await.unwrap().is_empty());
        now = now + minutes(5);
    }
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "it was given up");
    assert_eq!(only_seen(&db, id, 1).await.post_id, None, "and stays seen");
}

async fn an_edit_during_a_poll_wins(db: Database) {
    let ids = add(&db, &[feed("a.example", "1"), feed("a.example", "2")]).await;
    let claim = db.store.claim(&request(start())).await.unwrap().remove(0);
    let edit = edit_of(&claim.sources[0], |edit| edit.settings.name = Some("renamed".into()));
    db.store.edit_source(&edit, start()).await.unwrap();
    db.store.delete_source(ids[1]).await.unwrap();
    let commits = [quiet(&claim, 0, start()), quiet(&claim, 1, start())];
    assert_eq!(db.store.commit(&commits, &[]).await.unwrap(), [Committed::Discarded, Committed::Discarded]);
    db.store.release(&[Release { lease: claim.lease, free_at: None }]).await.unwrap();
    assert_eq!(claim_one(&db, start()).await.sources[0].settings.name.as_deref(), Some("renamed"));
}

async fn a_host_hold_delays_its_sources(db: Database) {
    let mut sources = vec![feed("a.example", "1"), feed("a.example", "2")];
    sources[1].next_poll_at = start() + minutes(5);
    add(&db, &sources).await;
    poll_once(&db, start(), |commit| commit.host_hold_until = Some(start() + minutes(20))).await;
    assert!(db.store.claim(&request(start() + minutes(19))).await.unwrap().is_empty());
    // A source added meanwhile waits, too.
    add(&db, &[feed("a.example", "3")]).await;
    assert!(db.store.claim(&request(start() + minutes(19))).await.unwrap().is_empty());
    let claims = db.store.claim(&request(start() + minutes(20))).await.unwrap();
    assert_eq!(claims[0].sources.len(), 2);
    assert_eq!(claims[0].hold_until, Some(start() + minutes(20)));
}

async fn a_source_that_moved_is_polled_at_its_new_host(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed")]).await;
    let to = |host: &str| Move {
        url: format!("https://{host}/feed"),
        canonical_url: format!("https://{host}/feed"),
        host: HostKey { name: host.into(), slot: 0 },
    };
    poll_once(&db, start(), |commit| commit.moved = Some(to("b.example"))).await;
    let source = db.store.source(ids[0]).await.unwrap();
    assert_eq!((source.settings.url.as_str(), source.host.as_str()), ("https://b.example/feed", "b.example"));
    let at = start() + minutes(30);
    assert_eq!(claim_one(&db, at).await.host, "b.example");
    // The collection has that address already: it stays where it is.
    add(&db, &[feed("c.example", "feed")]).await;
    let claim = db.store.claim_source(ids[0], &request(at + minutes(5))).await.unwrap().unwrap();
    let commit = Commit { moved: Some(to("c.example")), ..quiet(&claim, 0, at) };
    db.store.commit(&[commit], &[]).await.unwrap();
    assert_eq!(db.store.source(ids[0]).await.unwrap().host, "b.example");
}

async fn a_jump_of_the_clock_is_spread(db: Database) {
    let mut sources: Vec<NewSource> = (0..200).map(|n| feed(&format!("h{n}.example"), "feed")).collect();
    // A third is overdue, a third in order, and a third was written by a clock that ran years ahead.
    for (n, source) in sources.iter_mut().enumerate() {
        source.next_poll_at = start() + [minutes(0), minutes(500), Span::from_days(4000)][n % 3];
    }
    add(&db, &sources).await;
    let ahead = ClaimRequest { hosts: 1, lease: Span::from_days(4000), ..request(start()) };
    assert_eq!(db.store.claim(&ahead).await.unwrap().len(), 1);
    let spread = Spread {
        now: start(),
        within: minutes(60),
        longest: Span::from_days(30),
        lease: minutes(2),
        overdue: true,
    };
    assert_eq!(db.store.spread(&spread).await.unwrap(), 133);
    let next: Vec<u64> = db
        .store
        .sources(&SourceFilter::default(), None, 1000)
        .await
        .unwrap()
        .iter()
        .map(|source| source.next_poll_at.unwrap().since(start()).as_mins())
        .collect();
    assert_eq!(next.iter().filter(|minutes| **minutes == 500).count(), 67, "what was in order stays");
    for quarter in 0..4 {
        let count = next.iter().filter(|minutes| **minutes < 60 && **minutes / 15 == quarter).count();
        assert!((20..50).contains(&count), "{count} in quarter {quarter}");
    }
    let claims =
        db.store.claim(&ClaimRequest { hosts: 1000, ..request(start() + minutes(60)) }).await.unwrap();
    assert_eq!(claims.len(), 133, "leases without end are gone, and hosts know when they are due");
    assert_eq!(db.store.spread(&Spread { overdue: false, ..spread }).await.unwrap(), 0);
}

async fn events_are_numbered_in_one_order(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    for n in 0..3_u64 {
        poll_once(&db, start() + minutes(30 * n), |commit| {
            let event = |k| NewEvent { kind: format!("e{n}.{k}"), source_id: None, payload: "{}".into() };
            commit.events = vec![event(0), event(1)];
        })
        .await;
        let (one, other) = tokio::join!(db.store.number_events(1), db.store.number_events(5));
        assert_eq!(one.unwrap() + other.unwrap(), 2);
    }
    let events = db.store.events(0, 100).await.unwrap();
    let seqs: Vec<Option<i64>> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=6).map(Some).collect::<Vec<_>>());
    assert!(events.is_sorted_by_key(|event| event.id));
    assert_eq!(db.store.events(4, 1).await.unwrap()[0].seq, Some(5));
}

fn cleanup(now: Time) -> Cleanup {
    Cleanup {
        articles_before: Some(now - Span::from_days(7)),
        posts_before: Some(now - Span::from_days(90)),
        seen_before: now - Span::from_days(90),
        polls_before: now - Span::from_days(30),
        polls_per_source: 2000,
        batch: 100,
    }
}

async fn clean_up_deletes_what_is_old_and_linked_to_nothing(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| {
        commit.new = vec![new_post("loose"), new_post("kept"), new_post("freed"), new_post("shared")];
    })
    .await;
    let key = |text| new_post(text).1.key;
    let mut posts = HashMap::new();
    for text in ["loose", "kept", "freed", "shared"] {
        posts.insert(text, only_seen(&db, id, key(text)).await.post_id.unwrap());
    }
    poll_once(&db, start() + minutes(30), |commit| commit.vanished = vec![key("loose")]).await;
    let article = |days: Option<u64>, texts: &[&str]| NewArticle {
        title: "t".into(),
        body: "b".into(),
        url: None,
        published_at: days.map(|days| start() + Span::from_days(days)),
        post_ids: texts.iter().map(|text| posts[text]).collect(),
    };
    let old = db.store.create_article(&article(Some(0), &["freed", "shared"]), start()).await.unwrap();
    let processed = db.store.create_article(&article(Some(0), &["kept"]), start()).await.unwrap();
    let undated = db.store.create_article(&article(None, &["shared"]), start()).await.unwrap();
    db.store.set_processed(processed, true).await.unwrap();
    let now = start() + Span::from_days(100);
    let cleaned = db.store.clean_up(&cleanup(now)).await.unwrap();
    assert_eq!((cleaned.articles, cleaned.posts, cleaned.seen), (1, 2, 1), "{cleaned:?}");
    assert!(db.store.article(old).await.is_err());
    assert!(db.store.article(processed).await.is_ok() && db.store.article(undated).await.is_ok());
    assert!(db.store.post(posts["loose"]).await.is_err() && db.store.post(posts["freed"]).await.is_err());
    assert!(db.store.post(posts["kept"]).await.is_ok() && db.store.post(posts["shared"]).await.is_ok());
    let known = db.store.known(&[id]).await.unwrap();
    assert_eq!(known[&id].len(), 3, "what the document still has stays seen without its post");
    let nothing = Cleanup { articles_before: None, posts_before: None, ..cleanup(now) };
    let cleaned = db.store.clean_up(&nothing).await.unwrap();
    assert_eq!((cleaned.articles, cleaned.posts, cleaned.seen), (0, 0, 0));
}

async fn clean_up_of_history_goes_round(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let at = |n: u64| start() + minutes(30 * n);
    for n in 0..6 {
        poll_once(&db, at(n), |commit| commit.poll.outcome = format!("outcome {n}")).await;
    }
    let count = async || db.store.polls(id, None, 100).await.unwrap().len();
    let run = async |change: fn(&mut Cleanup)| {
        let mut cleanup = Cleanup { polls_before: start(), batch: 4, ..cleanup(at(6)) };
        change(&mut cleanup);
        let mut deleted = 0;
        while let cleaned = db.store.clean_up(&cleanup).await.unwrap()
            && cleaned.more
        {
            deleted += cleaned.polls;
        }
        deleted
    };
    assert_eq!((run(|_| {}).await, count().await), (0, 6));
    assert_eq!((run(|cleanup| cleanup.polls_before = start() + minutes(40)).await, count().await), (2, 4));
    assert_eq!((run(|cleanup| cleanup.polls_per_source = 3).await, count().await), (1, 3));
    assert_eq!(db.store.polls(id, None, 100).await.unwrap()[2].record.outcome, "outcome 3");
}

async fn articles_keep_their_posts(db: Database) {
    add(&db, &[feed("a.example", "1")]).await;
    let committed =
        poll_once(&db, start(), |commit| commit.new = vec![new_post("one"), new_post("two")]).await;
    let Committed::Stored { new, .. } = committed else { panic!("it was stored") };
    let article = NewArticle {
        title: "A week's news".into(),
        body: "…".into(),
        url: Some("https://me.example/1".into()),
        published_at: Some(start()),
        post_ids: new.clone(),
    };
    let missing = NewArticle { post_ids: vec![new[0], 4711], ..article.clone() };
    let refused = db.store.create_article(&missing, start()).await.unwrap_err();
    assert_eq!(refused.to_string(), "post 4711 does not exist");
    let unlinked = PostFilter { unlinked: true, ..PostFilter::default() };
    assert_eq!(db.store.posts(&unlinked, None, 10).await.unwrap().len(), 2, "nothing was linked by it");
    let id = db.store.create_article(&article, start()).await.unwrap();
    assert!(db.store.posts(&unlinked, None, 10).await.unwrap().is_empty());
    let stored = db.store.article(id).await.unwrap();
    assert_eq!((stored.content, stored.is_processed), (article, false));
    assert_eq!(db.store.articles(Some(false), None, 10).await.unwrap().len(), 1);
    db.store.set_processed(id, true).await.unwrap();
    assert!(db.store.articles(Some(false), None, 10).await.unwrap().is_empty());
    assert!(db.store.articles(None, Some(id), 10).await.unwrap().is_empty());
    assert!(matches!(db.store.set_processed(id + 1, true).await.unwrap_err(), StoreError::NotFound { .. }));
    let window = |from, until| PostFilter {
        from: Some(from),
        until: Some(until),
        source_ids: vec![1],
        ..PostFilter::default()
    };
    assert_eq!(db.store.posts(&window(start(), start() + minutes(1)), None, 10).await.unwrap().len(), 2);
    assert!(db.store.posts(&window(start() - minutes(1), start()), None, 10).await.unwrap().is_empty());
    assert_eq!(db.store.posts(&PostFilter::default(), Some(new[1]), 10).await.unwrap()[0].id, new[0]);
}

async fn users_collections_and_keys(db: Database) {
    let admin = db.store.user_named("admin").await.unwrap();
    assert!(admin.is_admin && admin.password_hash.is_none());
    let default = db.store.collections().await.unwrap().remove(0);
    assert_eq!((default.name.as_str(), default.owner_id), ("default", admin.id));
    let ada = db.store.create_user("ada", false, start()).await.unwrap();
    let taken = db.store.create_user("ada", true, start()).await.unwrap_err();
    assert_eq!(taken.to_string(), "user ada already exists");
    db.store.set_password(ada, Some("$argon2id$…")).await.unwrap();
    assert_eq!(db.store.user_named("ada").await.unwrap().password_hash.as_deref(), Some("$argon2id$…"));
    let blogs = db.store.create_collection("blogs", ada, start()).await.unwrap();
    assert!(matches!(db.store.create_collection("x", 999, start()).await, Err(StoreError::NotFound { .. })));
    let refused = db.store.delete_user(ada).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("user {ada} cannot be deleted: it owns a collection"));
    add(&db, &[feed("a.example", "1")]).await;
    let refused = db.store.delete_collection(default.id).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("collection {} cannot be deleted: it holds sources", default.id));
    db.store.set_credential(ada, "x", Some(b"one"), start()).await.unwrap();
    db.store.set_credential(ada, "x", Some(b"two"), start()).await.unwrap();
    assert_eq!(db.store.credential(ada, "x").await.unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(db.store.credential(admin.id, "x").await.unwrap(), None);
    assert!(matches!(
        db.store.set_credential(999, "x", Some(b"k"), start()).await,
        Err(StoreError::NotFound { .. })
    ));
    db.store.set_credential(ada, "x", None, start()).await.unwrap();
    assert_eq!(db.store.credential(ada, "x").await.unwrap(), None);
    db.store.edit_collection(blogs, "weblogs", admin.id).await.unwrap();
    assert!(matches!(
        db.store.edit_collection(blogs, "default", ada).await,
        Err(StoreError::Duplicate { .. })
    ));
    db.store.delete_user(ada).await.unwrap();
    assert!(matches!(db.store.user_named("ada").await, Err(StoreError::NotFound { .. })));
    db.store.delete_collection(blogs).await.unwrap();
    assert_eq!((db.store.users().await.unwrap().len(), db.store.collections().await.unwrap().len()), (1, 1));
}

async fn webhooks_come_and_go(db: Database) {
    let webhook = Webhook {
        id: 0,
        owner_id: 1,
        url: "https://hook.example/".into(),
        secret: vec![1, 2, 3],
        events: "post.created".into(),
        enabled: true,
        created_at: start(),
    };
    let id = db.store.create_webhook(&webhook).await.unwrap();
    assert_eq!(db.store.webhooks().await.unwrap(), [Webhook { id, ..webhook }]);
    db.store.delete_webhook(id).await.unwrap();
    assert!(matches!(db.store.delete_webhook(id).await, Err(StoreError::NotFound { .. })));
}

async fn meta_keeps_its_latest_value(db: Database) {
    assert_eq!(db.store.meta("schedule").await.unwrap(), None);
    db.store.set_meta("schedule", "a").await.unwrap();
    db.store.set_meta("schedule", "b").await.unwrap();
    assert_eq!(db.store.meta("schedule").await.unwrap().as_deref(), Some("b"));
}

async fn a_thousand_sources_in_one_batch(db: Database) {
    let sources: Vec<NewSource> =
        (0..1234).map(|n| feed(&format!("h{}.example", n % 100), &n.to_string())).collect();
    let made = add(&db, &sources).await;
    assert_eq!(made.len(), 1234);
    let claims = db.store.claim(&request(start())).await.unwrap();
    let commits: Vec<Commit> = claims
        .iter()
        .flat_map(|claim| (0..claim.sources.len()).map(move |place| (claim, place)))
        .map(|(claim, place)| {
            let new = (0..3).map(|n| new_post(&format!("{n} of {place}"))).collect();
            Commit { new, ..quiet(claim, place, start()) }
        })
        .collect();
    assert_eq!(commits.len(), 1234);
    let committed = db.store.commit(&commits, &[]).await.unwrap();
    assert!(committed.iter().all(|one| matches!(one, Committed::Stored { new, .. } if new.len() == 3)));
    let ids: Vec<i64> = commits.iter().map(|commit| commit.source_id).collect();
    let known = db.store.known(&ids).await.unwrap();
    assert!(known.values().all(|rows| rows.len() == 3 && rows.iter().all(|row| row.post_id.is_some())));
    assert_eq!(known.len(), 1234);
}
