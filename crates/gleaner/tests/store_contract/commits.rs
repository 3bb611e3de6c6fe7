//! Polls: the whole verdict, or nothing.

use std::collections::HashSet;

use super::*;

on_both!(
    a_suspicion_is_kept_until_it_ends,
    a_commit_stores_the_whole_verdict,
    any_health_survives_a_commit,
    a_stale_fence_discards_the_whole_poll,
    one_stale_poll_spares_the_rest_of_its_batch,
    an_entry_is_stored_once_and_equal_texts_are_not,
    where_texts_are_unique_the_same_text_is_stored_once,
    copies_share_the_post_of_their_entry,
    an_entry_that_was_forgotten_and_is_back_has_its_post_again,
    a_changed_entry_changes_its_post,
    a_post_may_change_into_the_text_of_another,
    vanished_entries_are_marked_and_come_back,
    unchanged_polls_share_a_row,
    an_edit_during_a_poll_wins,
    a_source_that_moved_is_polled_at_its_new_host,
    a_thousand_sources_in_one_batch,
);

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
        habit: None,
    };
    let skipped = Seen { key: 42, raw: 2, content: Some(3), ..Seen::default() };
    let committed = poll_once(&db, start(), |commit| {
        commit.memory = Some(memory.clone());
        commit.new = vec![new_post("one"), new_post("two")];
        commit.remember = vec![skipped];
        commit.poll.outcome = "fetched".into();
        commit.poll.skipped = Skipped { too_old: 1, ..Skipped::default() };
        commit.poll.note = Some("the document ends early".into());
        commit.poll.rule = Some("standard".into());
        commit.events = vec![NewEvent {
            kind: "source.recovered".into(),
            source_id: Some(commit.source_id),
            payload: "{}".into(),
        }];
    })
    .await;
    let CommitOutcome::Stored { new, changed } = committed else { panic!("it was stored") };
    assert_eq!((new.len(), changed.len()), (2, 0));
    let source = db.store.source(id).await.unwrap();
    assert_eq!((source.memory, source.next_poll_at), (memory, Some(start() + minutes(30))));
    assert_eq!(source.health.last_success_at, Some(start()));
    assert_eq!(db.store.posts_by_time(id, start(), 10).await.unwrap(), [(start(), 2)]);
    assert_eq!(db.store.posts_by_time(id, start() + minutes(1), 10).await.unwrap(), []);
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
    assert_eq!(polls[0].record.note.as_deref(), Some("the document ends early"));
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
        excused_by: Some("a.example@2026-11-15T08:00:00Z".into()),
        counted: Some(CountedRun {
            count: 4,
            since: at(3),
            kind: ErrorKind::Network(Cause::Dns),
            kind_run: 3,
            kind_since: at(2),
            permanent: Some(PermanentRun {
                count: 4,
                since: at(3),
                kinds: KindSet::default().with(ErrorKind::NotFound).with(ErrorKind::Network(Cause::Dns)),
            }),
        }),
    };
    let healths = [
        Health { failing: Some(failing.clone()), hold_until: Some(at(9)), ..Health::default() },
        Health {
            failing: Some(Failing {
                counted: None,
                excused_by: None,
                kind: ErrorKind::ParseError,
                ..failing
            }),
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
        Health::default(),
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
        assert_eq!(db.store.commit(&[commit], &[]).await.unwrap(), [CommitOutcome::Discarded]);
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
    let stored: Vec<bool> = committed.iter().map(|one| *one != CommitOutcome::Discarded).collect();
    assert_eq!(stored, [true, false, true]);
    let posts = db.store.posts(&PostFilter::default(), None, 10).await.unwrap();
    assert_eq!(posts.iter().map(|post| post.source_id).collect::<Vec<_>>(), [ids[2], ids[0]]);
}

/// An entry of its own with the text of another.
fn under_key(key: i64, text: &str) -> (NewPost, Seen) {
    let (post, seen) = new_post(text);
    (post, Seen { key, ..seen })
}

async fn an_entry_is_stored_once_and_equal_texts_are_not(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one"), under_key(98, "one")]).await;
    let at = start() + minutes(30);
    let new = vec![new_post("one"), under_key(99, "one"), new_post("two")];
    let committed = poll_once(&db, at, |commit| commit.new = new).await;
    let CommitOutcome::Stored { new, changed } = &committed else { panic!("{committed:?}") };
    assert_eq!((new.len(), changed.len()), (2, 0), "one is there already, and says what it did");
    assert_eq!(db.store.posts(&PostFilter::default(), None, 10).await.unwrap().len(), 4);
    let rows = &db.store.known(&[id]).await.unwrap()[&id];
    let posts: HashSet<i64> = rows.iter().map(|row| row.post_id.expect("each entry has its post")).collect();
    assert_eq!((rows.len(), posts.len()), (4, 4), "and each its own");
}

async fn where_texts_are_unique_the_same_text_is_stored_once(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let poll = async |n: u64, new: Vec<(NewPost, Seen)>| {
        poll_once(&db, start() + minutes(30 * n), |commit| {
            (commit.new, commit.unique_text) = (new, true);
        })
        .await
    };
    poll(0, vec![new_post("one")]).await;
    let committed = poll(1, vec![under_key(99, "one"), new_post("two")]).await;
    assert!(matches!(&committed, CommitOutcome::Stored { new, .. } if new.len() == 1), "{committed:?}");
    assert_eq!(db.store.posts(&PostFilter::default(), None, 10).await.unwrap().len(), 2);
    assert_eq!(only_seen(&db, id, 99).await.post_id, None, "it is remembered all the same");
    let seen = only_seen(&db, id, new_post("one").1.key).await;
    let change = vec![(seen.post_id.unwrap(), post("two"), seen)];
    let committed = poll_once(&db, start() + minutes(60), |commit| commit.changed = change).await;
    assert_eq!(
        committed,
        CommitOutcome::Stored { new: vec![], changed: vec![] },
        "nor is one changed into it"
    );
}

async fn copies_share_the_post_of_their_entry(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let (post, seen) = new_post("one");
    let copy = Seen { key: 99, ..seen };
    poll_once(&db, start(), |commit| {
        commit.new = vec![(post, seen)];
        commit.copies = vec![(seen.key, copy)];
    })
    .await;
    let post_id = only_seen(&db, id, seen.key).await.post_id;
    assert!(post_id.is_some());
    assert_eq!(only_seen(&db, id, 99).await, Seen { post_id, ..copy });
}

async fn an_entry_that_was_forgotten_and_is_back_has_its_post_again(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let (one, seen) = new_post("one");
    poll_once(&db, start(), |commit| commit.new = vec![(one.clone(), seen)]).await;
    let post_id = only_seen(&db, id, seen.key).await.post_id.unwrap();
    // What was forgotten is new to whoever reads the document.
    let edited = NewPost { url: one.url.clone(), guid: one.guid.clone(), ..post("one, edited") };
    let back = vec![(edited.clone(), seen)];
    let committed = poll_once(&db, start() + minutes(30), |commit| commit.new = back).await;
    assert_eq!(committed, CommitOutcome::Stored { new: vec![], changed: vec![post_id] });
    assert_eq!(db.store.post(post_id).await.unwrap().content, edited);
    assert_eq!(only_seen(&db, id, seen.key).await.post_id, Some(post_id));
    // One that has only the guid in common is another entry, and takes nothing from the post that is there.
    let another = NewPost { published_at: Some(start() + minutes(60)), ..post("something else") };
    let back = vec![(another.clone(), seen)];
    let committed = poll_once(&db, start() + minutes(60), |commit| commit.new = back).await;
    let CommitOutcome::Stored { new, changed } = &committed else { panic!("{committed:?}") };
    assert_eq!((new.len(), changed.len()), (1, 0));
    assert_eq!(db.store.post(new[0]).await.unwrap().content, another);
    assert_eq!(db.store.post(post_id).await.unwrap().content, edited);
    assert_eq!(only_seen(&db, id, seen.key).await.post_id, Some(new[0]));
}

async fn a_changed_entry_changes_its_post(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one")]).await;
    let seen = only_seen(&db, id, new_post("one").1.key).await;
    let post_id = seen.post_id.unwrap();
    let edited = NewPost { guid: "guid one".into(), ..post("one, corrected") };
    let seen = Seen { content: Some(edited.content_hash.key()), raw: 2, ..seen };
    let at = start() + minutes(30);
    let committed = poll_once(&db, at, |commit| commit.changed = vec![(post_id, edited.clone(), seen)]).await;
    assert_eq!(committed, CommitOutcome::Stored { new: vec![], changed: vec![post_id] });
    let stored = db.store.post(post_id).await.unwrap();
    assert_eq!((stored.content, stored.revision, stored.updated_at), (edited.clone(), 2, at));
    assert_eq!(only_seen(&db, id, seen.key).await, seen);
    // The same words again, in other markup: remembered, but no change that anybody should hear of.
    let at = at + minutes(30);
    let other_markup = NewPost { raw_content: Some("<b>one, corrected</b>".into()), ..edited };
    let committed = poll_once(&db, at, |commit| commit.changed = vec![(post_id, other_markup, seen)]).await;
    assert_eq!(committed, CommitOutcome::Stored { new: vec![], changed: vec![] });
    assert_eq!(db.store.post(post_id).await.unwrap().revision, 2);
}

async fn a_post_may_change_into_the_text_of_another(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one"), new_post("two")]).await;
    let seen = only_seen(&db, id, new_post("one").1.key).await;
    let post_id = seen.post_id.unwrap();
    let edited = NewPost { guid: "guid one".into(), ..post("two") };
    let change = vec![(post_id, edited.clone(), seen)];
    let committed = poll_once(&db, start() + minutes(30), |commit| commit.changed = change).await;
    assert_eq!(committed, CommitOutcome::Stored { new: vec![], changed: vec![post_id] });
    assert_eq!(db.store.post(post_id).await.unwrap().content, edited);
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

async fn an_edit_during_a_poll_wins(db: Database) {
    let ids = add(&db, &[feed("a.example", "1"), feed("a.example", "2")]).await;
    let claim = db.store.claim(&request(start())).await.unwrap().remove(0);
    let edit = edit_of(&claim.sources[0], |edit| edit.settings.name = Some("renamed".into()));
    db.store.edit_source(&edit, start()).await.unwrap();
    db.store.delete_source(ids[1]).await.unwrap();
    let commits = [quiet(&claim, 0, start()), quiet(&claim, 1, start())];
    assert_eq!(
        db.store.commit(&commits, &[]).await.unwrap(),
        [CommitOutcome::Discarded, CommitOutcome::Discarded]
    );
    db.store.release(&[Release::of(claim.lease)]).await.unwrap();
    assert_eq!(claim_one(&db, start()).await.sources[0].settings.name.as_deref(), Some("renamed"));
}

async fn a_source_that_moved_is_polled_at_its_new_host(db: Database) {
    let ids = add(&db, &[feed("a.example", "feed")]).await;
    let to = |host: &str| SourceMove {
        url: format!("https://{host}/feed"),
        canonical_url: format!("https://{host}/feed"),
        host: HostKey { name: host.into(), slot: 0 },
        from: "https://a.example/feed".into(),
        reason: "a redirect".into(),
        redirect: redirect(host),
    };
    poll_once(&db, start(), |commit| {
        commit.moved = Some(to("b.example"));
        commit.memory = Some(Memory { redirect: Some("{}".into()), ..Memory::default() });
    })
    .await;
    let source = db.store.source(ids[0]).await.unwrap();
    assert_eq!((source.settings.url.as_str(), source.host.as_str()), ("https://b.example/feed", "b.example"));
    let at = start() + minutes(30);
    assert_eq!(claim_one(&db, at).await.host, "b.example");
    assert_eq!(source.memory.redirect, None, "what led here is over");
    // The collection has that address already: it stays where it is, which is kept and told once.
    let other = add(&db, &[feed("c.example", "feed")]).await[0];
    let mut moved = to("c.example");
    for n in 1..3 {
        let claim = db.store.claim_source(ids[0], &request(at + minutes(5 * n))).await.unwrap().unwrap();
        let memory = Memory { redirect: serde_json::to_string(&moved.redirect).ok(), ..Memory::default() };
        let commit = Commit {
            moved: Some(moved.clone()),
            memory: Some(memory),
            ..quiet(&claim, 0, at + minutes(5 * n))
        };
        db.store.commit(&[commit], &[Release::of(claim.lease)]).await.unwrap();
        let source = db.store.source(ids[0]).await.unwrap();
        assert_eq!(source.host, "b.example");
        moved.redirect = serde_json::from_str(&source.memory.redirect.unwrap()).unwrap();
        assert_eq!(moved.redirect.taken_by, Some(other));
    }
    db.store.number_events(10).await.unwrap();
    let events = db.store.events(0, 10).await.unwrap();
    let kinds: Vec<&str> = events.iter().map(|event| event.event.kind.as_str()).collect();
    assert_eq!(kinds, ["source.moved", "source.move_refused"]);
    let payload: serde_json::Value = serde_json::from_str(&events[0].event.payload).unwrap();
    assert_eq!(
        (&payload["from"], &payload["to"], &payload["reason"]),
        (&"https://a.example/feed".into(), &"https://b.example/feed".into(), &"a redirect".into())
    );
    assert!(
        events[1].event.payload.contains(&format!("\"taken_by\":{other}")),
        "{}",
        events[1].event.payload
    );
}

fn redirect(host: &str) -> gleaner_core::redirect::Redirect {
    let to = format!("https://{host}/feed");
    gleaner_core::redirect::Redirect { to, since: start(), count: 3, taken_by: None }
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
    assert!(committed.iter().all(|one| matches!(one, CommitOutcome::Stored { new, .. } if new.len() == 3)));
    let ids: Vec<i64> = commits.iter().map(|commit| commit.source_id).collect();
    let known = db.store.known(&ids).await.unwrap();
    assert!(known.values().all(|rows| rows.len() == 3 && rows.iter().all(|row| row.post_id.is_some())));
    assert_eq!(known.len(), 1234);
}

async fn a_suspicion_is_kept_until_it_ends(db: Database) {
    use gleaner_core::suspect::{Change, Reason, Suspected};
    let ids = add(&db, &[feed("a.example", "1"), feed("a.example", "2")]).await;
    let listed = async |filter: SourceFilter| -> Vec<i64> {
        let found = db.store.sources(&filter, None, 10).await.unwrap();
        assert_eq!(db.store.count_sources(&filter, 10).await.unwrap(), found.len() as u64);
        found.into_iter().map(|source| source.id).collect()
    };
    let suspects = SourceFilter { suspect: true, ..SourceFilter::default() };
    assert_eq!(listed(suspects.clone()).await, [0; 0]);
    let evidence = "it says \"no\",\nand \u{1f4a5}".to_owned();
    let suspected = Suspected { reason: Reason::BotWall, evidence, since: start() };
    let poll = async |at: Time, change: Option<Change>| {
        let claim = db.store.claim(&request(at)).await.unwrap().remove(0);
        let place = claim.sources.iter().position(|source| source.id == ids[1]).unwrap();
        let commit = Commit { suspect: change, ..quiet(&claim, place, at) };
        let other = quiet(&claim, 1 - place, at);
        let release = Release::of(claim.lease);
        db.store.commit(&[commit, other], &[release]).await.unwrap();
        db.store.source(ids[1]).await.unwrap().suspect
    };
    let begun = Some(Change::Suspected(suspected.clone()));
    assert_eq!(poll(start(), begun).await, Some(suspected.clone()));
    assert_eq!(poll(start() + minutes(30), None).await, Some(suspected), "what nobody speaks of stays");
    assert_eq!(listed(suspects.clone()).await, ids[1..]);
    assert_eq!(listed(SourceFilter { host: Some("a.example".into()), ..suspects.clone() }).await, ids[1..]);
    assert_eq!(listed(SourceFilter { host: Some("b.example".into()), ..suspects.clone() }).await, [0; 0]);
    assert_eq!(poll(start() + minutes(60), Some(Change::Cleared)).await, None);
    assert_eq!(listed(suspects).await, [0; 0]);
}
