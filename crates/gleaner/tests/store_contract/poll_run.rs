//! Chosen sources: their hosts leased in sets, and what is known of their polls.

use super::*;

on_both!(
    chosen_sources_are_leased_by_host,
    hosts_that_are_not_free_are_left_out,
    the_latest_polls_of_many_are_read_at_once,
    sources_are_found_in_every_collection,
    many_sources_are_made_due_at_once,
);

async fn chosen_sources_are_leased_by_host(db: Database) {
    let mut sources =
        vec![feed("a.example", "1"), feed("a.example", "2"), feed("b.example", "1"), feed("c.example", "1")];
    // Due or not.
    sources[1].next_poll_at = Some(start() + minutes(500));
    let ids = add(&db, &sources).await;
    let chosen = [ids[0], ids[1], ids[2]];
    let mut hosts = db.store.source_hosts(&[ids[0], ids[1], ids[2], 987_654]).await.unwrap();
    hosts.sort_unstable();
    assert_eq!(hosts.iter().map(|(id, _)| *id).collect::<Vec<_>>(), chosen);
    assert!(hosts[0].1 == hosts[1].1 && hosts[1].1 != hosts[2].1);
    let mut claims = db.store.claim_sources(&chosen, &request(start())).await.unwrap();
    claims.sort_by(|one, other| one.host.cmp(&other.host));
    let found: Vec<(&str, Vec<i64>)> = claims
        .iter()
        .map(|claim| (claim.host.as_str(), claim.sources.iter().map(|source| source.id).collect()))
        .collect();
    assert_eq!(found, [("a.example", vec![ids[0], ids[1]]), ("b.example", vec![ids[2]])]);
    let due = db.store.claim(&request(start())).await.unwrap();
    assert_eq!(
        due.iter().map(|claim| claim.host.as_str()).collect::<Vec<_>>(),
        ["c.example"],
        "the others are leased"
    );
}

async fn hosts_that_are_not_free_are_left_out(db: Database) {
    let ids = add(&db, &[feed("a.example", "1"), feed("b.example", "1")]).await;
    let claims = db.store.claim_sources(&ids[..1], &request(start())).await.unwrap();
    let hosts = |claims: Vec<Claim>| claims.into_iter().map(|claim| claim.host).collect::<Vec<_>>();
    let others = db.store.claim_sources(&ids, &request(start())).await.unwrap();
    let other = others[0].lease;
    assert_eq!(hosts(others), ["b.example"], "one is leased");
    // A delay after the latest request holds, also over a lease that was given back unused.
    let delay_until = Some(start() + minutes(2));
    let paused = Release { lease: claims[0].lease, delay_until, served: None, quick: None };
    db.store.release(&[paused, Release::of(other)]).await.unwrap();
    let later = start() + minutes(1);
    let unused = db.store.claim_sources(&ids, &request(later)).await.unwrap();
    let lease = unused[0].lease;
    assert_eq!(hosts(unused), ["b.example"], "one has its delay");
    db.store.release(&[Release::of(lease)]).await.unwrap();
    let after = db.store.claim_sources(&ids, &request(start() + minutes(2))).await.unwrap();
    let lease = after.iter().find(|claim| claim.host == "a.example").unwrap().lease;
    db.store
        .release(&[Release { lease, delay_until: Some(start() + minutes(9)), served: None, quick: None }])
        .await
        .unwrap();
    let request_at = |mins| request(start() + minutes(mins));
    assert!(db.store.claim_sources(&ids[..1], &request_at(8)).await.unwrap().is_empty());
    let unused = db.store.claim_source(ids[0], &request_at(8)).await.unwrap().unwrap();
    db.store.release(&[Release::of(unused.lease)]).await.unwrap();
    assert!(
        db.store.claim_sources(&ids[..1], &request_at(8)).await.unwrap().is_empty(),
        "it keeps its delay"
    );
}

async fn the_latest_polls_of_many_are_read_at_once(db: Database) {
    assert!(db.store.latest_polls(&[]).await.unwrap().is_empty());
    let source_id = add(&db, &[feed("a.example", "1")]).await[0];
    let polled = poll_once(&db, start(), |_| {}).await;
    let other = add(&db, &[feed("z.example", "1")]).await[0];
    let latest = db.store.latest_polls(&[source_id, other, 987_654]).await.unwrap();
    let rows = db.store.polls(source_id, None, 1).await.unwrap();
    assert_eq!(latest.len(), 1, "{polled:?}");
    assert_eq!(latest.get(&source_id), rows.first());
}

async fn sources_are_found_in_every_collection(db: Database) {
    let other = db.store.create_collection("other", 1, start()).await.unwrap();
    let mut copy = feed("a.example", "1");
    let url = copy.canonical_url.clone();
    copy.settings.collection_id = other;
    let ids = add(&db, &[feed("a.example", "1"), copy, feed("a.example", "2")]).await;
    let first = db.store.source(ids[0]).await.unwrap().settings.collection_id;
    assert_eq!(db.store.sources_at(&url).await.unwrap(), [(ids[0], first), (ids[1], other)]);
    let holds = db.store.poll_holds(&ids).await.unwrap();
    assert_eq!(holds.len(), 3);
    assert!(holds.iter().all(|hold| hold.enabled && hold.until.is_none() && hold.host == "a.example"));
}

async fn many_sources_are_made_due_at_once(db: Database) {
    let later =
        |path: &str| NewSource { next_poll_at: Some(start() + minutes(500)), ..feed("a.example", path) };
    let other = NewSource { next_poll_at: Some(start() + minutes(500)), ..feed("b.example", "1") };
    let ids = add(&db, &[later("1"), later("2"), later("3"), other]).await;
    assert!(db.store.claim(&request(start())).await.unwrap().is_empty());
    db.store.wake_sources(&[ids[0], ids[1], ids[3], 987_654], start()).await.unwrap();
    let mut claims = db.store.claim(&request(start())).await.unwrap();
    claims.sort_by(|one, other| one.host.cmp(&other.host));
    let found: Vec<Vec<i64>> =
        claims.iter().map(|claim| claim.sources.iter().map(|source| source.id).collect()).collect();
    assert_eq!(found, [vec![ids[0], ids[1]], vec![ids[3]]]);
    // A host that is leased is due with them when it is released.
    db.store.wake_sources(&ids[2..3], start()).await.unwrap();
    let releases: Vec<Release> = claims.iter().map(|claim| Release::of(claim.lease)).collect();
    db.store.release(&releases).await.unwrap();
    let claims = db.store.claim(&request(start())).await.unwrap();
    let again: Vec<i64> =
        claims.iter().flat_map(|claim| claim.sources.iter().map(|source| source.id)).collect();
    assert!(again.contains(&ids[2]), "{again:?}");
}
