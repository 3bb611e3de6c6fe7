//! How far a stream of events has got.

use super::*;

super::on_both!(
    one_at_a_time_holds_a_stream,
    what_was_sent_back_is_not_overwritten,
    events_are_found_by_time
);

fn claim(owner: &str, now: Time) -> StreamClaim {
    StreamClaim {
        name: "nats".into(),
        owner: owner.into(),
        origin: format!("origin of {owner}"),
        now,
        until: now + minutes(1),
    }
}

async fn one_at_a_time_holds_a_stream(db: Database) {
    assert_eq!(db.store.stream("nats").await.unwrap(), None);
    let stream = db.store.claim_stream(&claim("a", start())).await.unwrap().unwrap();
    assert_eq!((stream.last_seq, stream.origin.as_str()), (0, "origin of a"));
    assert_eq!(db.store.claim_stream(&claim("b", start())).await.unwrap(), None);
    let moved = Stream {
        last_seq: 7,
        made: Some(1),
        broker_seq: 9,
        sent: 9,
        sent_at: Some(start()),
        failing_since: Some(start()),
        error: Some("away".into()),
        ..stream
    };
    assert!(!db.store.record_stream("b", 0, &moved).await.unwrap(), "it is not b's");
    assert!(db.store.record_stream("a", 0, &moved).await.unwrap());
    assert_eq!(db.store.stream("nats").await.unwrap(), Some(moved.clone()));
    // A lease that ran out is anybody's, and so is one that was given back.
    let later = start() + minutes(1);
    let taken = db.store.claim_stream(&claim("b", later)).await.unwrap().unwrap();
    assert_eq!((taken.last_seq, taken.origin), (7, moved.origin));
    db.store.release_stream("nats", "a").await.unwrap();
    assert_eq!(db.store.claim_stream(&claim("a", later)).await.unwrap(), None, "only b gives it back");
    db.store.release_stream("nats", "b").await.unwrap();
    assert!(db.store.claim_stream(&claim("a", later)).await.unwrap().is_some());
}

async fn what_was_sent_back_is_not_overwritten(db: Database) {
    let stream = db.store.claim_stream(&claim("a", start())).await.unwrap().unwrap();
    let at_seven = Stream { last_seq: 7, ..stream };
    assert!(db.store.record_stream("a", 0, &at_seven).await.unwrap());
    db.store.rewind_stream("nats", 9).await.unwrap();
    assert_eq!(db.store.stream("nats").await.unwrap().unwrap().last_seq, 7, "never ahead");
    db.store.rewind_stream("nats", 3).await.unwrap();
    let at_eight = Stream { last_seq: 8, ..at_seven };
    assert!(!db.store.record_stream("a", 7, &at_eight).await.unwrap(), "it had begun before");
    db.store.claim_stream(&claim("a", start())).await.unwrap().unwrap();
    assert!(!db.store.record_stream("a", 7, &at_eight).await.unwrap(), "nor with a new lease");
    assert_eq!(db.store.stream("nats").await.unwrap().unwrap().last_seq, 3);
}

async fn events_are_found_by_time(db: Database) {
    let event = |kind: &str| NewEvent { kind: kind.into(), source_id: None, payload: "{}".into() };
    for (minute, kind) in [(0, "a.a"), (1, "a.b"), (2, "a.c")] {
        db.store.append_events(&[event(kind)], start() + minutes(minute)).await.unwrap();
    }
    assert_eq!(db.store.first_event_since(start()).await.unwrap(), None, "they have no numbers yet");
    while db.store.number_events(100).await.unwrap() > 0 {}
    assert_eq!(db.store.first_event_since(start() + minutes(1)).await.unwrap(), Some(2));
    assert_eq!(db.store.first_event_since(start() + minutes(3)).await.unwrap(), None);
}
