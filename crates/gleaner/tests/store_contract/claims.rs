//! Leases: what is due, to whom, and for how long.

use super::*;

on_both!(
    a_source_that_is_asked_for_is_due,
    a_claim_leases_due_hosts_with_what_is_due,
    a_host_is_claimed_once_until_its_lease_ends,
    a_big_host_is_claimed_in_portions,
    a_heartbeat_keeps_only_what_is_ours,
    a_release_makes_the_host_due_with_its_next_source,
    one_source_can_be_claimed_by_hand,
    article_work_is_claimed_by_its_own_host,
    article_work_is_retried_and_given_up,
    a_host_hold_delays_its_sources,
    hosts_that_are_not_quick_take_a_share_of_a_claim,
    a_probe_is_of_a_source_that_worked,
    a_claim_counts_the_sources_of_a_host,
);

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
    db.store.release(&[Release::of(first.lease)]).await.unwrap();
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
        db.store.release(&[Release::of(claim.lease)]).await.unwrap();
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
    db.store.release(&[Release::of(claim.lease)]).await.unwrap();
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
    db.store.release(&[Release { free_at, ..Release::of(claim.lease) }]).await.unwrap();
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
    db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    assert!(db.store.claim_source(ids[0], &request(start())).await.unwrap().is_some());
    assert!(db.store.claim_source(999, &request(start())).await.unwrap().is_none());
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
        host_hold_until: None,
        outcome: ArticleOutcome::Post(Box::new(post("an article"))),
        events: Vec::new(),
        sequel: None,
    };
    let stale = ArticleCommit {
        lease: Lease { fence: 0, ..claim.lease },
        work_id: claim.articles[1].id,
        ..done.clone()
    };
    let committed = db.store.commit_articles(&[done.clone(), stale], &[]).await.unwrap();
    let [Committed::Stored { new, .. }, Committed::Discarded] = &committed[..] else {
        panic!("{committed:?}")
    };
    assert_eq!(db.store.post(new[0]).await.unwrap().source_id, id);
    assert_eq!(only_seen(&db, id, 1).await.post_id, Some(new[0]));
    assert_eq!(db.store.commit_articles(&[done], &[]).await.unwrap(), [Committed::Discarded], "it is done");
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
            _ => ArticleOutcome::Retry {
                at: now + minutes(5),
                error: "timeout after 30s".into(),
                counts: true,
            },
        };
        let (lease, work_id) = (claim.lease, claim.articles[0].id);
        let commit = ArticleCommit {
            lease,
            work_id,
            at: now,
            host_hold_until: None,
            outcome,
            events: Vec::new(),
            sequel: None,
        };
        db.store.commit_articles(&[commit], &[Release::of(lease)]).await.unwrap();
        assert!(db.store.claim(&request(now + minutes(4))).await.unwrap().is_empty());
        now = now + minutes(5);
    }
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "it was given up");
    assert_eq!(only_seen(&db, id, 1).await.post_id, None, "and stays seen");
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

async fn a_source_that_is_asked_for_is_due(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed"), feed("b.example", "feed")]).await;
    for claim in db.store.claim(&request(start())).await.unwrap() {
        let release = Release::of(claim.lease);
        db.store.commit(&[quiet(&claim, 0, start())], &[release]).await.unwrap();
    }
    let now = start() + minutes(1);
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "nothing is due");
    assert_eq!(db.store.wake_source(ids[0], now).await.unwrap(), None, "nobody asks its host");
    let claim = claim_one(&db, now).await;
    assert_eq!(claim.sources[0].id, ids[0]);
    // Under a lease the poll that runs goes on, and its commit counts.
    assert_eq!(db.store.wake_source(ids[0], now).await.unwrap(), Some(claim.lease));
    let release = Release::of(claim.lease);
    let committed = db.store.commit(&[quiet(&claim, 0, now)], &[release]).await.unwrap();
    assert!(matches!(committed[..], [Committed::Stored { .. }]));
    assert!(db.store.claim(&request(now)).await.unwrap().is_empty(), "it was polled");
    let missing = db.store.wake_source(999, now).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }));
    let disabled = db.store.source(ids[1]).await.unwrap();
    let edit = edit_of(&disabled, |edit| {
        edit.health = edit.health.disabled_by_hand(None);
        edit.next_poll_at = None;
    });
    db.store.edit_source(&edit, now).await.unwrap();
    db.store.wake_source(ids[1], now).await.unwrap();
    assert_eq!(db.store.source(ids[1]).await.unwrap().next_poll_at, None, "only a person enables it");
}

async fn hosts_that_are_not_quick_take_a_share_of_a_claim(db: Database) {
    let sources: Vec<NewSource> = (0..8).map(|n| feed(&format!("h{n}.example"), "1")).collect();
    add(&db, &sources).await;
    let claims = db.store.claim(&request(start())).await.unwrap();
    assert!(claims.iter().all(|claim| !claim.quick), "nobody has answered yet");
    // Two hosts answer quickly; what was known of the others stays.
    let release = |claim: &Claim| {
        let quick = ["h6.example", "h7.example"].contains(&claim.host.as_str()).then_some(true);
        Release { quick, ..Release::of(claim.lease) }
    };
    db.store.release(&claims.iter().map(release).collect::<Vec<_>>()).await.unwrap();
    let few = ClaimRequest { hosts: 4, slow_hosts: 3, ..request(start()) };
    let names = |claims: Vec<Claim>| {
        let mut names: Vec<(String, bool)> =
            claims.into_iter().map(|claim| (claim.host, claim.quick)).collect();
        names.sort();
        names
    };
    let claimed = names(db.store.claim(&few).await.unwrap());
    assert_eq!((claimed.len(), claimed.iter().filter(|(_, quick)| *quick).count()), (4, 1), "{claimed:?}");
    let none_slow = ClaimRequest { hosts: 4, slow_hosts: 0, ..request(start()) };
    let claimed = names(db.store.claim(&none_slow).await.unwrap());
    assert_eq!((claimed.len(), claimed[0].1), (1, true), "{claimed:?}");
    assert_eq!(db.store.claim(&request(start())).await.unwrap().len(), 3, "the others are still due");
}

async fn a_probe_is_of_a_source_that_worked(db: Database) {
    let mut dead = feed("dead.example", "1");
    dead.next_poll_at = start() - minutes(50);
    let mut unpolled = feed("worked.example", "unpolled");
    unpolled.next_poll_at = start() - minutes(40);
    let ids =
        add(&db, &[dead, unpolled, feed("worked.example", "worked"), feed("lately.example", "1")]).await;
    let probe =
        |now| ClaimRequest { hosts: 1, slow_hosts: 1, per_host: 1, scope: ClaimScope::Probe, ..request(now) };
    assert!(db.store.claim(&probe(start())).await.unwrap().is_empty(), "nobody has ever worked");
    for (id, minute) in [(ids[2], 0), (ids[3], 1)] {
        let at = start() + minutes(minute);
        let claim = db.store.claim_source(id, &request(at)).await.unwrap().unwrap();
        let mut commit = quiet(&claim, 0, at);
        commit.next_poll_at = Some(at);
        let served = Some(gleaner_core::pacing::Success { at, source: id });
        let release = Release { served, quick: Some(true), ..Release::of(claim.lease) };
        db.store.commit(&[commit], &[release]).await.unwrap();
    }
    let mut probed = Vec::new();
    while let Some(claim) = db.store.claim(&probe(start() + minutes(2))).await.unwrap().pop() {
        probed.push(claim.sources[0].id);
    }
    assert_eq!(probed, [ids[3], ids[2]], "the latest success first, and never one that did not work");
    let later = db.store.claim(&probe(start() + minutes(11))).await.unwrap();
    assert_eq!(
        later[0].host, "lately.example",
        "its lease has run out; the dead one is due for an hour by now"
    );
}

async fn a_claim_counts_the_sources_of_a_host(db: Database) {
    let mut sources = vec![feed("one.example", "1"), feed("two.example", "1"), feed("two.example", "2")];
    sources.extend((0..5).map(|n| feed("many.example", &n.to_string())));
    let ids = add(&db, &sources).await;
    let read = db.store.source(ids[7]).await.unwrap();
    let edit = SourceEdit { next_poll_at: None, ..SourceEdit::of(&read) };
    db.store.edit_source(&edit, start()).await.unwrap();
    let claims = db.store.claim(&request(start())).await.unwrap();
    let mut counts: Vec<(String, u32)> =
        claims.into_iter().map(|claim| (claim.host, claim.host_sources)).collect();
    counts.sort();
    let expected = [("many.example", 3), ("one.example", 1), ("two.example", 2)];
    assert_eq!(counts, expected.map(|(host, count)| (host.to_owned(), count)));
}
