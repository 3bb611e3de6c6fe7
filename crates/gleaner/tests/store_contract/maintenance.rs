//! Housekeeping, and everything that is not polled.

use super::*;

on_both!(
    words_of_posts_are_found_behind_the_polls,
    the_full_text_forgets_what_is_gone,
    a_jump_of_the_clock_is_spread,
    a_clock_that_is_set_back_leaves_nobody_waiting,
    a_spread_by_a_clock_that_was_ahead_is_taken_back,
    clean_up_deletes_what_is_old_and_linked_to_nothing,
    clean_up_of_history_goes_round,
    articles_keep_their_posts,
    users_collections_and_keys,
    audit_rows_are_written_with_their_change,
    meta_keeps_its_latest_value,
);

pub(super) fn cleanup(now: Time) -> Cleanup {
    Cleanup {
        articles_before: Some(now - Span::from_days(7)),
        posts_before: Some(now - Span::from_days(90)),
        seen_before: now - Span::from_days(90),
        polls_before: now - Span::from_days(30),
        polls_per_source: 2000,
        activity_before: now,
        pages_before: now - Span::from_days(90),
        events_before: now - Span::from_days(7),
        audit_before: now - Span::from_days(365),
        batch: 100,
    }
}

async fn a_jump_of_the_clock_is_spread(db: Database) {
    let mut sources: Vec<NewSource> = (0..200).map(|n| feed(&format!("h{n}.example"), "feed")).collect();
    // A third is overdue, a third in order, and a third was written by a clock that ran years ahead.
    for (n, source) in sources.iter_mut().enumerate() {
        source.next_poll_at = Some(start() + [minutes(0), minutes(500), Span::from_days(4000)][n % 3]);
    }
    add(&db, &sources).await;
    let ahead = ClaimRequest { hosts: 1, slow_hosts: 1, lease: Span::from_days(4000), ..request(start()) };
    assert_eq!(db.store.claim(&ahead).await.unwrap().len(), 1);
    let spread = Spread {
        now: start(),
        interval: minutes(60),
        within: Spread::LONGEST,
        longest: Span::from_days(30),
        lease: minutes(2),
        overdue: true,
        excused: false,
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
    let claims = db
        .store
        .claim(&ClaimRequest { hosts: 1000, slow_hosts: 1000, ..request(start() + minutes(60)) })
        .await
        .unwrap();
    assert_eq!(claims.len(), 133, "leases without end are gone, and hosts know when they are due");
    assert_eq!(db.store.spread(&Spread { overdue: false, ..spread }).await.unwrap(), 0);
}

async fn a_clock_that_is_set_back_leaves_nobody_waiting(db: Database) {
    let polled = feed("a.example", "polled");
    let waiting = NewSource { next_poll_at: Some(start() + minutes(90)), ..feed("b.example", "waiting") };
    let ids = add(&db, &[polled, waiting]).await;
    poll_once(&db, start(), |_| ()).await;
    // A day later it is the day before.
    let now = start() - Span::from_days(1);
    let spread = Spread {
        now,
        interval: minutes(60),
        within: minutes(60),
        longest: Span::from_days(366),
        lease: minutes(2),
        overdue: false,
        excused: false,
    };
    for _ in 0..2 {
        db.store.spread(&spread).await.unwrap();
        let polled = db.store.source(ids[0]).await.unwrap();
        assert_eq!(
            polled.next_poll_at,
            Some(now + minutes(30)),
            "its gap, from now on; twice is as good as once"
        );
        assert_eq!(polled.health.last_polled_at, Some(now));
        let waiting = db.store.source(ids[1]).await.unwrap();
        assert_eq!(
            waiting.next_poll_at,
            Some(start() + minutes(90)),
            "nobody can tell of one that was never polled"
        );
    }
    assert_eq!(db.store.claim(&request(now + minutes(30))).await.unwrap().len(), 1, "and its host knows");
}

async fn a_spread_by_a_clock_that_was_ahead_is_taken_back(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    let (interval, within, longest, lease) = (minutes(60), minutes(60), Span::from_days(366), minutes(2));
    let spread = |now, overdue| Spread { now, interval, within, longest, lease, overdue, excused: false };
    let tomorrow = start() + Span::from_days(1);
    db.store.spread(&spread(tomorrow, true)).await.unwrap();
    let after = db.store.source(id).await.unwrap().next_poll_at.unwrap().since(tomorrow);
    assert!(after < within);
    for overdue in [false, true] {
        db.store.spread(&spread(start(), overdue)).await.unwrap();
        assert_eq!(db.store.source(id).await.unwrap().next_poll_at, Some(start() + after));
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
        // Two in a row see the whole history, wherever the sweep was.
        let one = db.store.clean_up(&cleanup).await.unwrap().polls;
        one + db.store.clean_up(&cleanup).await.unwrap().polls
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
    let CommitOutcome::Stored { new, .. } = committed else { panic!("it was stored") };
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
    assert_eq!(db.store.articles(&Visibility::default(), Some(false), None, 10).await.unwrap().len(), 1);
    db.store.set_processed(id, true).await.unwrap();
    assert!(db.store.articles(&Visibility::default(), Some(false), None, 10).await.unwrap().is_empty());
    assert!(db.store.articles(&Visibility::default(), None, Some(id), 10).await.unwrap().is_empty());
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

/// What changes, with its row of the audit log; what fails, without one.
async fn audit_rows_are_written_with_their_change(db: Database) {
    let entry = |action: &str| NewAudit {
        at: start(),
        user_id: None,
        user_name: "admin".to_owned(),
        via: "test".to_owned(),
        address: None,
        action: action.to_owned(),
        target_kind: "thing".to_owned(),
        target_id: None,
        target_name: "thing".to_owned(),
        changes: None,
        fold_key: None,
    };
    let by = |action: &str| db.store.audited(entry(action));
    let ada = by("create").create_user("ada", false, start()).await.unwrap();
    by("create twice").create_user("ada", false, start()).await.unwrap_err();
    by("admin").set_admin(ada, true).await.unwrap();
    by("admin of nobody").set_admin(999, true).await.unwrap_err();
    let change = |user_id| PasswordChange { user_id, hash: None, at: start(), keep: None };
    by("password").set_password(&change(ada)).await.unwrap();
    by("password of nobody").set_password(&change(999)).await.unwrap_err();
    by("key").set_credential(ada, "x", Some(b"one"), start()).await.unwrap();
    by("key removed").set_credential(ada, "x", None, start()).await.unwrap();
    by("no key").set_credential(ada, "x", None, start()).await.unwrap();
    let owned = CollectionEdit { name: "hers".to_owned(), owner_id: ada, private: false };
    let hers = by("collection").add_collection(&owned, start()).await.unwrap();
    by("collection changed").edit_collection(hers, &owned).await.unwrap();
    by("owner deleted").delete_user(ada).await.unwrap_err();
    by("collection deleted").delete_collection(hers).await.unwrap();
    by("deleted").delete_user(ada).await.unwrap();
    by("token of nobody").delete_token(999).await.unwrap();
    let rows = db.store.audit(&AuditFilter::default(), None, 100).await.unwrap();
    let found: Vec<(&str, Option<i64>)> =
        rows.iter().rev().map(|row| (row.entry.action.as_str(), row.entry.target_id)).collect();
    let none = |action| (action, None);
    assert_eq!(
        found,
        [
            ("create", Some(ada)),
            none("admin"),
            none("password"),
            none("key"),
            none("key removed"),
            ("collection", Some(hers)),
            none("collection changed"),
            none("collection deleted"),
            none("deleted"),
        ]
    );
}

async fn users_collections_and_keys(db: Database) {
    let admin = db.store.user_named("admin").await.unwrap();
    assert!(admin.is_admin && admin.password_hash.is_none());
    let default = db.store.collections().await.unwrap().remove(0);
    assert_eq!((default.name.as_str(), default.owner_id), ("default", admin.id));
    let ada = db.store.create_user("ada", false, start()).await.unwrap();
    let taken = db.store.create_user("ada", true, start()).await.unwrap_err();
    assert_eq!(taken.to_string(), "user ada already exists");
    let hash = Some("$argon2id$…".to_owned());
    let change = PasswordChange { user_id: ada, hash, at: start(), keep: None };
    assert_eq!(db.store.set_password(&change).await.unwrap(), 0);
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
    let called = |name: &str, owner_id| CollectionEdit { name: name.to_owned(), owner_id, private: false };
    db.store.edit_collection(blogs, &called("weblogs", admin.id)).await.unwrap();
    assert!(matches!(
        db.store.edit_collection(blogs, &called("default", ada)).await,
        Err(StoreError::Duplicate { .. })
    ));
    db.store.delete_user(ada).await.unwrap();
    assert!(matches!(db.store.user_named("ada").await, Err(StoreError::NotFound { .. })));
    db.store.delete_collection(blogs).await.unwrap();
    assert_eq!((db.store.users().await.unwrap().len(), db.store.collections().await.unwrap().len()), (1, 1));
}

async fn meta_keeps_its_latest_value(db: Database) {
    assert_eq!(db.store.meta("schedule").await.unwrap(), None);
    db.store.set_meta("schedule", "a").await.unwrap();
    db.store.set_meta("schedule", "b").await.unwrap();
    assert_eq!(db.store.meta("schedule").await.unwrap().as_deref(), Some("b"));
}

async fn found(db: &Database, text: &str) -> Vec<String> {
    let filter = PostFilter { text: Some(text.into()), ..PostFilter::default() };
    let posts = db.store.posts(&filter, None, 10).await.unwrap();
    posts.into_iter().map(|post| post.content.body).collect()
}

async fn words_of_posts_are_found_behind_the_polls(db: Database) {
    add(&db, &[feed("a.example", "feed")]).await;
    poll_once(&db, start(), |commit| commit.new = vec![new_post("red fox"), new_post("red hen")]).await;
    assert_eq!(db.store.index_posts(10).await.unwrap(), 0, "not before its events are numbered");
    db.store.number_events(10).await.unwrap();
    assert_eq!(db.store.index_posts(10).await.unwrap(), 1);
    assert_eq!(db.store.index_posts(10).await.unwrap(), 0, "once");
    assert_eq!(found(&db, "red").await, ["red hen", "red fox"]);
    assert_eq!(found(&db, "title HEN").await, ["red hen"]);
    assert_eq!(found(&db, "...").await, [""; 0]);
}

async fn the_full_text_forgets_what_is_gone(db: Database) {
    let id = add(&db, &[feed("a.example", "feed")]).await[0];
    poll_once(&db, start(), |commit| commit.new = vec![new_post("red fox")]).await;
    db.store.number_events(10).await.unwrap();
    db.store.delete_source(id).await.unwrap();
    assert_eq!(db.store.index_posts(10).await.unwrap(), 1, "what is gone before it is indexed is no trouble");
    add(&db, &[feed("a.example", "feed")]).await;
    poll_once(&db, start(), |commit| commit.new = vec![new_post("red fox")]).await;
    db.store.number_events(10).await.unwrap();
    db.store.index_posts(10).await.unwrap();
    assert_eq!(found(&db, "fox").await, ["red fox"]);
    // Behind the store's back, as a deleted source takes its posts along.
    db.behind_its_back("DELETE FROM posts").await;
    assert_eq!(found(&db, "fox").await, [""; 0]);
    let id = if db.url.starts_with("postgres:") { "post_id" } else { "rowid" };
    db.behind_its_back(&format!("CREATE VIEW indexed AS SELECT {id} AS id FROM post_text")).await;
    assert_eq!(db.count("indexed").await, 1);
    db.store.clean_up(&cleanup(start())).await.unwrap();
    assert_eq!(db.count("indexed").await, 0);
}
