//! Events: in one order, listed, and followed without a gap and without doubles.

use std::sync::Arc;
use std::time::Duration;

use gleaner::clock::{Clock, ManualClock, RandomSource};
use gleaner::service::{NewEvent, Service, TokenKind};
use gleaner::store::{Cleanup, Options, open};
use gleaner_core::time::{Span, Time};
use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _};
use tokio::task::JoinHandle;

use super::client::Api;
use super::on_both;
use crate::store_contract::{add, new_post, poll_once};
use crate::support::{Database, feed, minutes, postgres, start};

on_both!(
    events_are_listed_by_type_and_source_and_page,
    an_event_tells_of_posts_without_their_bodies,
    a_stream_goes_on_where_it_was_while_others_commit,
    a_stream_says_what_is_not_kept_any_more,
    a_stream_beats_while_nothing_happens,
    a_stream_ends_with_the_server,
    a_stream_ends_with_its_token,
);

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn event(kind: &str, payload: &Value) -> NewEvent {
    NewEvent { kind: kind.to_owned(), source_id: None, payload: payload.to_string() }
}

/// The dispatcher of a service, until it is dropped.
pub(super) struct Dispatcher(JoinHandle<()>);

impl Dispatcher {
    pub(super) fn of(service: &Arc<Service>) -> Self {
        let service = Arc::clone(service);
        Self(tokio::spawn(async move { service.dispatch(std::future::pending()).await }))
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Something a stream sent.
#[derive(Debug, Default, PartialEq)]
struct Sent {
    id: i64,
    event: String,
    data: Value,
    is_comment: bool,
}

/// A reader of a stream.
struct Reader {
    response: reqwest::Response,
    text: String,
}

impl Reader {
    async fn open(api: &Api, path: &str, headers: &[(&str, &str)]) -> Self {
        let response = api.open(path, headers).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next block, comments included; none: the end.
    async fn block(&mut self) -> Option<Sent> {
        let read = async {
            while !self.text.contains("\n\n") {
                self.text.push_str(std::str::from_utf8(&self.response.chunk().await.ok()??).unwrap());
            }
            let (block, rest) = self.text.split_once("\n\n")?;
            let mut sent = Sent::default();
            for line in block.lines() {
                match line.split_once(':').map(|(name, value)| (name, value.trim_start())) {
                    Some(("id", value)) => sent.id = value.parse().unwrap(),
                    Some(("event", value)) => sent.event = value.to_owned(),
                    Some(("data", value)) => sent.data = serde_json::from_str(value).unwrap(),
                    _ => sent.is_comment = true,
                }
            }
            self.text = rest.to_owned();
            Some(sent)
        };
        tokio::time::timeout(PATIENCE, read).await.expect("a stream is not silent for so long")
    }

    /// The next event.
    async fn next(&mut self) -> Option<Sent> {
        loop {
            match self.block().await {
                Some(sent) if sent.is_comment => {}
                sent => return sent,
            }
        }
    }
}

async fn until_listed(api: &Api, count: usize) {
    let listed = async {
        // By the store: whoever asks the API too often is told to wait.
        while api.db.store.events(0, 1000).await.unwrap().len() < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, listed).await.expect("all events are listed");
}

async fn events_are_listed_by_type_and_source_and_page(db: Database) {
    let api = Api::new(db).await;
    let source = add(&api.db, &[feed("a.example", "1")]).await[0];
    for n in 0..6 {
        let source_id = (n % 2 == 0).then_some(source);
        let kind = ["source.failing", "source.recovered", "import.finished"][n % 3];
        let told = NewEvent { source_id, ..event(kind, &json!({ "n": n })) };
        api.service.tell(told).await.unwrap();
    }
    assert!(api.get("/events").await.is(200)["items"].as_array().unwrap().is_empty(), "not numbered yet");
    let _dispatcher = Dispatcher::of(&api.service);
    until_listed(&api, 6).await;
    let ids = async |query: &str| {
        let answer = api.get(&format!("/events?{query}")).await;
        let items = answer.is(200)["items"].as_array().unwrap().clone();
        (
            items.iter().map(|item| item["id"].as_i64().unwrap()).collect::<Vec<_>>(),
            answer.body["next_cursor"].clone(),
        )
    };
    assert_eq!(ids("limit=2").await, (vec![6, 5], json!(5)));
    assert_eq!(ids("limit=2&cursor=2").await, (vec![1], Value::Null));
    assert_eq!(ids("limit=4&order=asc").await, (vec![1, 2, 3, 4], json!(4)));
    assert_eq!(ids("limit=4&order=asc&cursor=4").await, (vec![5, 6], Value::Null));
    assert_eq!(ids("type=source.*").await.0, [5, 4, 2, 1]);
    assert_eq!(ids("type=source.failing,import.finished").await.0, [6, 4, 3, 1]);
    assert_eq!(ids(&format!("source_id={source}")).await.0, [5, 3, 1]);
    assert_eq!(ids("type=post.created").await.0, [0_i64; 0]);
    let first = api.get("/events?order=asc&limit=1").await;
    assert_eq!(
        first.body["items"][0],
        json!({
            "id": 1, "type": "source.failing", "created_at": start(), "data": { "n": 0 },
            "source": { "id": source, "url": "https://a.example/1", "name": null },
        })
    );
    let wrong = api.get("/events?type=posts").await;
    assert_eq!((wrong.problem(422), &wrong.body["errors"][0]["field"]), ("invalid", &json!("type")));
    assert_eq!(api.get("/events?order=up").await.problem(400), "bad_query");
}

async fn an_event_tells_of_posts_without_their_bodies(db: Database) {
    let api = Api::new(db).await;
    let id = add(&api.db, &[feed("a.example", "1")]).await[0];
    let mut reader = Reader::open(&api, "/events/stream", &[]).await;
    let _dispatcher = Dispatcher::of(&api.service);
    let texts: Vec<String> = (0..150).map(|n| format!("text {n}")).collect();
    poll_once(&api.db, start(), |commit| {
        commit.new = texts.iter().map(|text| new_post(text)).collect();
        commit.new[0].0.title = Some("long ".repeat(1000));
    })
    .await;
    let (first, second) = (reader.next().await.unwrap(), reader.next().await.unwrap());
    assert_eq!((first.event.as_str(), first.id, second.id), ("post.created", 1, 2));
    let posts = first.data["data"]["posts"].as_array().unwrap();
    assert_eq!((posts.len(), second.data["data"]["posts"].as_array().unwrap().len()), (100, 50));
    assert_eq!(posts[0]["title"].as_str().unwrap().len(), 500);
    assert_eq!(
        posts[1],
        json!({
            "id": posts[1]["id"], "title": "Title of text 1", "url": "https://a.example/text 1", "author": null,
            "published_at": start(), "revision": 1,
        })
    );
    let listed = api.get("/events?order=asc").await;
    assert_eq!(listed.body["items"][0], first.data, "the same in every channel");
    // A source that is gone is told as far as it is known, and its posts with it.
    api.db.store.delete_source(id).await.unwrap();
    let listed = api.get("/events?order=asc").await;
    assert_eq!(listed.body["items"][0]["source"], json!({ "id": id, "url": null, "name": null }));
    assert_eq!(listed.body["items"][0]["data"], json!({ "posts": [] }));
}

/// Another process on the same database.
async fn another(api: &Api) -> Arc<Service> {
    let store = open(&Options::new(&api.db.url)).await.unwrap();
    let (config, clock) = (api.service.config().clone(), Arc::clone(&api.clock));
    Arc::new(Service::new(store, config, clock, RandomSource::seeded(2)))
}

async fn a_stream_goes_on_where_it_was_while_others_commit(db: Database) {
    const EACH: usize = 60;
    let api = Api::new(db).await;
    let other = another(&api).await;
    let _dispatchers = [Dispatcher::of(&api.service), Dispatcher::of(&other)];
    let mut committing = tokio::task::JoinSet::new();
    for who in 0..4 {
        let service = Arc::clone(if who % 2 == 0 { &api.service } else { &other });
        committing.spawn(async move {
            for n in 0..EACH {
                let kind = if n % 3 == 0 { "source.failing" } else { "import.finished" };
                service.tell(event(kind, &json!({ "who": who, "n": n }))).await.unwrap();
            }
        });
    }
    // It breaks off again and again, after one more event each time.
    let mut all: Vec<Sent> = Vec::new();
    let mut lines = 1;
    while all.len() < 4 * EACH {
        let last = all.last().map_or(0, |sent| sent.id).to_string();
        let mut reader = Reader::open(&api, "/events/stream?after=0", &[("last-event-id", &last)]).await;
        for _ in 0..lines.min(4 * EACH - all.len()) {
            all.push(reader.next().await.unwrap());
        }
        lines += 1;
    }
    committing.join_all().await;
    let ids: Vec<i64> = all.iter().map(|sent| sent.id).collect();
    assert_eq!(ids, (1..=4 * EACH as i64).collect::<Vec<_>>());
    for who in 0..4 {
        let of = |sent: &&Sent| sent.data["data"]["who"] == who;
        let order: Vec<u64> =
            all.iter().filter(of).map(|sent| sent.data["data"]["n"].as_u64().unwrap()).collect();
        assert_eq!(order, (0..EACH as u64).collect::<Vec<_>>(), "each once, as they were committed");
    }
    let mut reader = Reader::open(&api, "/events/stream?after=0&type=source.*", &[]).await;
    for _ in 0..4 * EACH / 3 {
        assert_eq!(reader.next().await.unwrap().event, "source.failing");
    }
    api.service.tell(event("source.dormant", &json!({}))).await.unwrap();
    assert_eq!(reader.next().await.unwrap().event, "source.dormant", "a filter does not lose the place");
}

/// Ids are given before they are committed, and numbers after: what commits late comes late, and is not missed.
#[tokio::test]
async fn numbers_follow_commits_and_not_ids() {
    let api = Api::new(postgres().await).await;
    let other = another(&api).await;
    let _dispatchers = [Dispatcher::of(&api.service), Dispatcher::of(&other)];
    let mut reader = Reader::open(&api, "/events/stream?after=0", &[]).await;
    let mut slow = sqlx::PgConnection::connect(&api.db.url).await.unwrap();
    slow.execute("BEGIN").await.unwrap();
    slow.execute("INSERT INTO outbox (kind, payload, created_at) VALUES ('test.slow', '{}', 0)")
        .await
        .unwrap();
    api.service.tell(event("test.quick", &json!({}))).await.unwrap();
    let sent = reader.next().await.unwrap();
    assert_eq!((sent.id, sent.event.as_str()), (1, "test.quick"));
    slow.execute("COMMIT").await.unwrap();
    let sent = reader.next().await.unwrap();
    assert_eq!((sent.id, sent.event.as_str()), (2, "test.slow"));
    let rows = api.db.store.events(0, 10).await.unwrap();
    assert!(rows[0].id > rows[1].id, "the first by its id was the second to commit");
}

async fn a_stream_says_what_is_not_kept_any_more(db: Database) {
    let api = Api::new(db).await;
    for n in 0..5 {
        api.clock.advance(Span::from_days(1));
        api.service.tell(event("test.day", &json!({ "n": n }))).await.unwrap();
    }
    let _dispatcher = Dispatcher::of(&api.service);
    until_listed(&api, 5).await;
    let now = api.clock.now();
    let cleanup = Cleanup {
        articles_before: None,
        posts_before: None,
        seen_before: start(),
        polls_before: start(),
        polls_per_source: 10,
        activity_before: start(),
        pages_before: now,
        events_before: now - Span::from_days(1),
        audit_before: now - Span::from_days(365),
        batch: 2,
    };
    let cleaned = api.db.store.clean_up(&cleanup).await.unwrap();
    assert_eq!((cleaned.events, cleaned.more), (2, true), "a batch at a time");
    let cleaned = api.db.store.clean_up(&cleanup).await.unwrap();
    assert_eq!((cleaned.events, cleaned.more), (1, false));
    let mut reader = Reader::open(&api, "/events/stream", &[("last-event-id", "1")]).await;
    let gap = reader.next().await.unwrap();
    assert_eq!((gap.event.as_str(), gap.id, &gap.data["after"]), ("gap", 3, &json!(1)));
    assert_eq!(reader.next().await.unwrap().id, 4);
    // The last one that is gone is no loss, and neither is a place that never was, after a database was put back.
    let mut reader = Reader::open(&api, "/events/stream?after=3", &[]).await;
    assert_eq!(reader.next().await.unwrap().id, 4);
    let mut reader = Reader::open(&api, "/events/stream?after=900", &[]).await;
    assert_eq!(reader.next().await.unwrap().event, "gap");
    api.service.tell(event("test.day", &json!({}))).await.unwrap();
    assert_eq!(reader.next().await.unwrap().id, 6);
    let wrong = api.send(reqwest::Method::GET, "/events/stream", None, &[("last-event-id", "x")]).await;
    assert_eq!(wrong.problem(422), "invalid");
}

/// A thousand times as fast as the world.
struct Fast(Arc<ManualClock>);

impl Clock for Fast {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn real_duration(&self, span: Span) -> Duration {
        Duration::from_micros(span.as_millis())
    }
}

async fn a_stream_beats_while_nothing_happens(db: Database) {
    let clock = Arc::new(ManualClock::new(start()));
    let api = Api::by_clock(db, &[], Arc::clone(&clock), Arc::new(Fast(clock))).await;
    let mut reader = Reader::open(&api, "/events/stream", &[]).await;
    for _ in 0..3 {
        assert!(reader.block().await.unwrap().is_comment);
    }
}

async fn a_stream_ends_with_the_server(db: Database) {
    let mut api = Api::new(db).await;
    let mut reader = Reader::open(&api, "/events/stream", &[]).await;
    tokio::time::timeout(PATIENCE, api.stop()).await.expect("nobody holds the server up");
    assert_eq!(reader.next().await, None);
}

async fn a_stream_ends_with_its_token(db: Database) {
    let api = Api::new(db).await;
    let _dispatcher = Dispatcher::of(&api.service);
    let mut reader = Reader::open(&api, "/events/stream", &[]).await;
    assert!(api.by().revoke_token(TokenKind::Api, "all").await.unwrap());
    api.clock.advance(minutes(1));
    api.service.tell(event("test.late", &json!({}))).await.unwrap();
    assert_eq!(reader.next().await, None, "nothing more is told");
}
