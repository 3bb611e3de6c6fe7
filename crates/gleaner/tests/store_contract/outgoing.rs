//! Events and webhooks: what leaves by itself.

use super::maintenance::cleanup;
use super::*;

on_both!(
    events_are_numbered_in_one_order,
    events_are_found_by_type_and_source,
    old_events_go_from_the_beginning,
    posts_and_sources_are_told_by_id,
    the_latest_posts_are_a_collections_own,
    webhooks_come_and_go,
    one_at_a_time_sends_to_a_webhook,
    what_was_sent_is_logged_and_trimmed,
);

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

fn event(kind: &str, source_id: Option<i64>) -> NewEvent {
    NewEvent { kind: kind.to_owned(), source_id, payload: "{}".into() }
}

async fn tell(db: &Database, events: &[NewEvent], at: Time) {
    db.store.append_events(events, at).await.unwrap();
    while db.store.number_events(1000).await.unwrap() > 0 {}
}

fn seqs(events: &[Event]) -> Vec<i64> {
    events.iter().map(|event| event.seq.unwrap()).collect()
}

async fn events_are_found_by_type_and_source(db: Database) {
    assert_eq!(db.store.kept_events().await.unwrap(), EventRange { first: 1, last: 0 });
    let kinds = ["post.created", "source.failing", "sourcex.failing", "post.updated", "source.recovered"];
    let events: Vec<NewEvent> = kinds.iter().zip(1..).map(|(kind, n)| event(kind, Some(n % 2))).collect();
    tell(&db, &events, start()).await;
    assert_eq!(db.store.kept_events().await.unwrap(), EventRange { first: 1, last: 5 });
    let find = async |patterns: &[&str], source_id, seek| {
        let kinds = patterns.iter().map(|text| KindPattern::parse(text).unwrap()).collect();
        seqs(
            &db.store
                .list_events(&EventFilter { kinds, source_id, ..EventFilter::default() }, seek, 3)
                .await
                .unwrap(),
        )
    };
    assert_eq!(find(&[], None, EventCursor::After(0)).await, [1, 2, 3]);
    assert_eq!(find(&[], None, EventCursor::Before(i64::MAX)).await, [5, 4, 3]);
    assert_eq!(find(&["source.*"], None, EventCursor::After(0)).await, [2, 5]);
    assert_eq!(find(&["source.*", "post.created"], None, EventCursor::Before(5)).await, [2, 1]);
    assert_eq!(find(&["post.updated"], None, EventCursor::After(0)).await, [4]);
    assert_eq!(find(&["source.*"], Some(1), EventCursor::After(0)).await, [5]);
}

async fn old_events_go_from_the_beginning(db: Database) {
    let day = |n| start() + Span::from_days(n);
    // The clock went back once: what is old but behind something young stays with it.
    for n in [0, 1, 9, 2, 9] {
        tell(&db, &[event("test.day", None)], day(n)).await;
    }
    let clean = async |batch| {
        let cleanup = Cleanup { batch, ..cleanup(day(12)) };
        let cleaned = db.store.clean_up(&cleanup).await.unwrap();
        (cleaned.events, cleaned.more, seqs(&db.store.events(0, 10).await.unwrap()))
    };
    assert_eq!(clean(1).await, (1, true, vec![2, 3, 4, 5]));
    assert_eq!(clean(100).await, (1, false, vec![3, 4, 5]));
    assert_eq!(clean(100).await, (0, false, vec![3, 4, 5]));
    let everything = Cleanup { events_before: day(12), ..cleanup(day(12)) };
    assert_eq!(db.store.clean_up(&everything).await.unwrap().events, 3);
    assert_eq!(db.store.kept_events().await.unwrap(), EventRange { first: 6, last: 5 }, "numbers go on");
    assert_eq!(db.store.clean_up(&everything).await.unwrap().events, 0);
}

async fn posts_and_sources_are_told_by_id(db: Database) {
    let id = add(&db, &[feed("a.example", "1")]).await[0];
    let committed = poll_once(&db, start(), |commit| {
        commit.new = vec![new_post("one"), new_post("two")];
        commit.new[1].0.title = Some("é".repeat(600));
        commit.new[1].0.url = Some(format!("https://a.example/{}", "x".repeat(5000)));
    });
    let CommitOutcome::Stored { new, .. } = committed.await else { panic!("it was stored") };
    let heads = db.store.post_heads(&[new[0], new[1], 4711]).await.unwrap();
    assert_eq!(heads.len(), 2);
    let one = &heads[&new[0]];
    assert_eq!((one.title.as_deref(), one.revision), (Some("Title of one"), 1));
    assert_eq!((one.url.as_deref(), one.published_at), (Some("https://a.example/one"), Some(start())));
    let two = &heads[&new[1]];
    assert_eq!((two.title.as_ref().unwrap().chars().count(), two.url.as_deref()), (500, None));
    let names = db.store.source_names(&[id, 4711]).await.unwrap();
    let expected = SourceName { collection_id: 1, url: "https://a.example/1".into(), name: None };
    assert_eq!(names.into_iter().collect::<Vec<_>>(), [(id, expected)]);
    assert!(db.store.post_heads(&[]).await.unwrap().is_empty());
}

async fn the_latest_posts_are_a_collections_own(db: Database) {
    let other = db.store.create_collection("other", 1, start()).await.unwrap();
    add(&db, &[feed("a.example", "1")]).await;
    poll_once(&db, start(), |commit| commit.new = vec![new_post("one"), new_post("two"), new_post("three")])
        .await;
    let bodies = async |collection, limit| {
        let posts = db.store.latest_posts(collection, limit).await.unwrap();
        posts.into_iter().map(|post| post.content.body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(1, 2).await, ["three", "two"]);
    assert!(bodies(other, 2).await.is_empty());
}

fn webhook(name: &str) -> Webhook {
    Webhook {
        id: 0,
        owner_id: 1,
        name: name.into(),
        url: "https://hook.example/".into(),
        secret: vec![1, 2, 3],
        events: "post.created".into(),
        enabled: true,
        progress: Progress { last_seq: 7, ..Progress::default() },
        created_at: start(),
        updated_at: start(),
    }
}

async fn webhooks_come_and_go(db: Database) {
    let id = db.store.create_webhook(&webhook("a")).await.unwrap();
    let stored = Webhook { id, ..webhook("a") };
    assert_eq!(db.store.webhooks().await.unwrap(), std::slice::from_ref(&stored));
    assert!(matches!(db.store.create_webhook(&webhook("a")).await, Err(StoreError::Duplicate { .. })));
    let progress = Progress {
        last_seq: 9,
        failures: 2,
        failing_since: Some(start()),
        next_try_at: Some(start() + minutes(1)),
        given_up_at: Some(start()),
    };
    let edited =
        Webhook { name: "b".into(), events: String::new(), enabled: false, progress, ..stored.clone() };
    db.store.edit_webhook(&edited, false).await.unwrap();
    assert_eq!(db.store.webhooks().await.unwrap(), [Webhook { progress: stored.progress, ..edited.clone() }]);
    db.store.edit_webhook(&edited, true).await.unwrap();
    assert_eq!(db.store.webhooks().await.unwrap(), std::slice::from_ref(&edited));
    db.store.skip_events(id, 8, 20).await.unwrap();
    assert_eq!(db.store.webhooks().await.unwrap()[0].progress.last_seq, 9, "somebody else was there");
    db.store.skip_events(id, 9, 20).await.unwrap();
    assert_eq!(db.store.webhooks().await.unwrap()[0].progress.last_seq, 20);
    db.store.delete_webhook(id).await.unwrap();
    assert!(matches!(db.store.delete_webhook(id).await, Err(StoreError::NotFound { .. })));
    assert!(matches!(db.store.edit_webhook(&edited, false).await, Err(StoreError::NotFound { .. })));
}

async fn one_at_a_time_sends_to_a_webhook(db: Database) {
    let id = db.store.create_webhook(&webhook("a")).await.unwrap();
    let claim = async |owner, at: u64| {
        let now = start() + minutes(at);
        db.store.claim_webhook(id, owner, now, now + minutes(5)).await.unwrap().is_some()
    };
    assert!(claim("one", 0).await && !claim("two", 1).await && claim("one", 1).await);
    assert!(claim("two", 6).await, "a lease that ran out is anybody's");
    let mut sent = WebhookReport {
        webhook_id: id,
        owner: "one".into(),
        at: start(),
        progress: Progress { last_seq: 8, ..Progress::default() },
        deliveries: Vec::new(),
        events: vec![event("webhook.recovered", None)],
    };
    assert!(!db.store.record_deliveries(&sent).await.unwrap());
    assert_eq!(db.store.number_events(10).await.unwrap(), 0, "nothing was written");
    sent.owner = "two".into();
    assert!(db.store.record_deliveries(&sent).await.unwrap());
    assert_eq!(db.store.number_events(10).await.unwrap(), 1);
    assert_eq!(db.store.webhooks().await.unwrap()[0].progress.last_seq, 8);
    db.store.release_webhook(id, "one").await.unwrap();
    assert!(!claim("one", 7).await, "nobody ends another's lease");
    db.store.release_webhook(id, "two").await.unwrap();
    assert!(claim("one", 7).await);
    let disabled = Webhook { id, enabled: false, ..webhook("a") };
    db.store.edit_webhook(&disabled, true).await.unwrap();
    assert!(!claim("one", 7).await, "what is not used is not sent to");
}

async fn what_was_sent_is_logged_and_trimmed(db: Database) {
    let id = db.store.create_webhook(&webhook("a")).await.unwrap();
    let delivery = |seq: Option<i64>| Delivery {
        id: 0,
        webhook_id: id,
        seq,
        kind: "post.created".into(),
        status: DeliveryStatus::Pending,
        tries: 1,
        status_code: Some(503),
        error: Some("503 Service Unavailable".into()),
        duration: Some(Span::from_millis(12)),
        created_at: start(),
        tried_at: Some(start()),
        next_try_at: Some(start() + minutes(1)),
    };
    let test = db.store.add_delivery(&delivery(None)).await.unwrap();
    assert_ne!(db.store.add_delivery(&delivery(None)).await.unwrap(), test, "each test is its own");
    db.store.claim_webhook(id, "one", start(), start() + minutes(5)).await.unwrap();
    let progress = Progress { last_seq: 7, next_try_at: Some(start() + minutes(1)), ..Progress::default() };
    let (owner, at) = ("one".to_owned(), start());
    let mut sent =
        WebhookReport { webhook_id: id, owner, at, progress, deliveries: Vec::new(), events: Vec::new() };
    sent.deliveries = vec![delivery(Some(7)), delivery(Some(8))];
    assert!(db.store.record_deliveries(&sent).await.unwrap());
    sent.deliveries = vec![Delivery { tries: 2, ..delivery(Some(8)) }];
    assert!(db.store.record_deliveries(&sent).await.unwrap());
    let log = db.store.deliveries(id, None, 10).await.unwrap();
    assert_eq!(
        log.iter().map(|row| (row.seq, row.tries)).collect::<Vec<_>>(),
        [(Some(8), 2), (Some(7), 1), (None, 1), (None, 1)]
    );
    assert_eq!(log[1], Delivery { id: log[1].id, ..delivery(Some(7)) });
    assert_eq!(db.store.deliveries(id, Some(log[1].id), 1).await.unwrap()[0].id, log[2].id);
    assert_eq!(db.store.delivery_of(id, 8).await.unwrap().unwrap().id, log[0].id);
    let hook = db.store.webhooks().await.unwrap().remove(0);
    assert_eq!(db.store.due_delivery(&hook, start()).await.unwrap(), None);
    let due = db.store.due_delivery(&hook, start() + minutes(1)).await.unwrap();
    assert_eq!(due.unwrap().seq, Some(7), "the webhook has not got to the other one yet");
    // By hand: at once, and where the webhook waits for it, the webhook with it.
    let again = db.store.replay_delivery(id, log[0].id, start()).await.unwrap();
    assert_eq!((again.status, again.tries, again.next_try_at), (DeliveryStatus::Pending, 0, Some(start())));
    assert_eq!(db.store.webhooks().await.unwrap()[0].progress.next_try_at, None);
    assert!(db.store.replay_delivery(id, test, start()).await.is_err(), "a test is not sent again");
    assert!(db.store.replay_delivery(id + 1, log[0].id, start()).await.is_err());
    sent.deliveries = vec![Delivery { status: DeliveryStatus::Delivered, ..delivery(Some(7)) }];
    assert!(db.store.record_deliveries(&sent).await.unwrap());
    let cleaned = db.store.clean_up(&cleanup(start() + Span::from_days(8))).await.unwrap();
    assert_eq!(cleaned.deliveries, 1, "what is still to be sent stays");
    db.store.delete_webhook(id).await.unwrap();
    assert!(db.store.deliveries(id, None, 10).await.unwrap().is_empty());
}
