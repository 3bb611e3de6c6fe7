//! Timelines on X: whose key they are asked with, and each way in which X says no.

use gleaner::config::secret::Secret;
use gleaner::service::SourceSettings;
use gleaner_core::backfill::Backfill;
use gleaner_core::health::Status;
use gleaner_core::outcome::ErrorKind;
use gleaner_core::source::Kind;
use gleaner_core::time::Span;
use serde_json::json;

use super::on_both;
use super::world::World;
use crate::support::http::Reply;
use crate::support::x::{KEY, X};
use crate::support::{Database, new_feed};

on_both!(
    x_source_polled_with_owner_key,
    x_source_without_key_is_unauthorized,
    x_another_owners_key_is_not_used,
    x_key_that_is_refused_is_unauthorized,
    x_new_key_makes_unauthorized_sources_due,
    x_key_that_cannot_be_opened_is_internal,
    x_forbidden_and_unknown_accounts_are_told_apart,
    x_suspended_account_is_forbidden_in_words,
    x_reset_of_its_limit_is_honoured,
    x_broken_answers_are_parse_errors,
    x_long_posts_quotes_and_reposts_read_whole,
    x_timelines_are_asked_one_after_another,
);

/// What keys are encrypted with in these tests.
pub(super) const VAULT: &str = "store.key=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A world with an X that knows @NASA, whose id is 11, and no key yet.
pub(super) async fn world(db: Database) -> (World, X) {
    let x = X::start().await;
    x.account("NASA", 11);
    let world = World::new(db, &[VAULT, &x.setting()]).await;
    (world, x)
}

/// The same with the owner's key set.
pub(super) async fn world_with_key(db: Database) -> (World, X) {
    let (world, x) = world(db).await;
    world.service().set_key("admin", "x", &Secret::new(KEY)).await.unwrap();
    (world, x)
}

pub(super) async fn follow(world: &World, handle: &str) -> i64 {
    let new = SourceSettings { kind: Kind::X, backfill: Backfill::None, ..new_feed(handle) };
    world.service().add(&new).await.unwrap().id
}

/// The kind, status and words of a source's latest failure.
async fn failure(world: &World, id: i64) -> (ErrorKind, Option<u16>, String) {
    let row = world.source(id).await.health.failing.expect("it failed");
    (row.kind, row.status, row.message)
}

async fn x_source_polled_with_owner_key(db: Database) {
    let (mut world, x) = world(db).await;
    // Two owners, each with a key: that of the one who owns the collection is sent.
    let ada = world.store().create_user("ada", false, world.now()).await.unwrap();
    let space = world.store().create_collection("space", ada, world.now()).await.unwrap();
    world.service().set_key("ada", "x", &Secret::new(KEY)).await.unwrap();
    world.service().set_key("admin", "x", &Secret::new("the-key-of-somebody-else")).await.unwrap();
    x.post(11, 1000, 1, "We choose to go");
    let new =
        SourceSettings { kind: Kind::X, backfill: Backfill::None, collection_id: space, ..new_feed("@NASA") };
    let id = world.service().add(&new).await.unwrap().id;
    world.poll_due().await;
    assert_eq!(world.bodies(id).await, ["We choose to go"]);
    assert_eq!(x.requests().len(), 2, "the account and its timeline");
    for request in x.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}")));
    }
    let post = world.posts(id).await.remove(0).content;
    assert_eq!((post.guid.as_str(), post.url.as_deref()), ("1000", Some("https://x.com/NASA/status/1000")));
    assert_eq!(post.author.as_deref(), Some("@NASA"));
    assert!(!world.log().contains(KEY), "{}", world.log());
    let sealed = world.store().credential(ada, "x").await.unwrap().unwrap();
    assert!(!sealed.windows(8).any(|bytes| KEY.as_bytes().starts_with(bytes)), "encrypted at rest");
}

async fn x_source_without_key_is_unauthorized(db: Database) {
    let (mut world, x) = world(db).await;
    let ada = world.store().create_user("ada", false, world.now()).await.unwrap();
    let space = world.store().create_collection("space", ada, world.now()).await.unwrap();
    let new = SourceSettings { kind: Kind::X, collection_id: space, ..new_feed("x.com/nasa") };
    let id = world.service().add(&new).await.unwrap().id;
    world.poll_due().await;
    let (kind, status, words) = failure(&world, id).await;
    assert_eq!((kind, status), (ErrorKind::Unauthorized, None));
    assert_eq!(
        words,
        "no key for X: ada, who owns the collection space, has set none; `gleaner key set x` sets one"
    );
    assert_eq!(x.requests().len(), 0, "nobody was asked");
}

async fn x_another_owners_key_is_not_used(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let ada = world.store().create_user("ada", false, world.now()).await.unwrap();
    let space = world.store().create_collection("space", ada, world.now()).await.unwrap();
    let new = SourceSettings { kind: Kind::X, collection_id: space, ..new_feed("@nasa") };
    let id = world.service().add(&new).await.unwrap().id;
    world.poll_due().await;
    assert_eq!(failure(&world, id).await.0, ErrorKind::Unauthorized);
    assert_eq!(x.requests().len(), 0);
}

async fn x_key_that_is_refused_is_unauthorized(db: Database) {
    let (mut world, _x) = world(db).await;
    world.service().set_key("admin", "x", &Secret::new("an-old-key")).await.unwrap();
    let id = follow(&world, "@nasa").await;
    world.poll_due().await;
    assert_eq!(
        failure(&world, id).await,
        (ErrorKind::Unauthorized, Some(401), "401 Unauthorized".to_owned())
    );
    assert!(!world.log().contains("an-old-key"), "{}", world.log());
}

async fn x_new_key_makes_unauthorized_sources_due(db: Database) {
    let (mut world, x) = world(db).await;
    let (id, healthy) = (follow(&world, "@nasa").await, follow(&world, "@esa").await);
    x.post(11, 1000, 1, "We choose to go");
    x.account("esa", 12);
    world.poll_due().await;
    // Until it is set aside, and polled rarely.
    while world.source(id).await.health.status() != Status::Quarantined {
        world.poll_next(id).await;
    }
    assert!(world.source(id).await.next_poll_at > Some(world.now() + Span::from_mins(10)));
    assert!(!world.service().has_key("admin", "x").await.unwrap());
    let woken =
        world.service().set_key("admin", "x", &Secret::new(format!(" Bearer {KEY}\n"))).await.unwrap();
    assert_eq!(woken, 2);
    assert!(world.service().has_key("admin", "x").await.unwrap());
    assert_eq!(world.source(id).await.next_poll_at, Some(world.now()));
    world.poll_due().await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    assert_eq!(world.source(healthy).await.health.status(), Status::Healthy);
    assert_eq!(world.bodies(id).await, ["We choose to go"]);
    let again = world.service().set_key("admin", "x", &Secret::new(KEY)).await.unwrap();
    assert_eq!(again, 0, "who is well is left alone");
    assert!(world.service().remove_key("admin", "x").await.unwrap());
    world.poll_next(id).await;
    assert_eq!(failure(&world, id).await.0, ErrorKind::Unauthorized);
    for (user, service, key) in
        [("nobody", "x", KEY), ("admin", "y", KEY), ("admin", "x", " "), ("admin", "x", "a b")]
    {
        assert!(world.service().set_key(user, service, &Secret::new(key)).await.is_err(), "{user} {service}");
    }
}

async fn x_key_that_cannot_be_opened_is_internal(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    let other = VAULT.replace("store.key=00", "store.key=01");
    world.restart_with(&[&other, &x.setting()]).await;
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!(source.health.failing, None, "the source has done nothing");
    let line = world.log_of("poll failed", &source.settings.url);
    assert_eq!(line["error_type"], "internal");
    assert!(
        line["error"].as_str().unwrap().ends_with("it was encrypted with another key, or is damaged"),
        "{line}"
    );
    assert_eq!(x.requests().len(), 0);
}

async fn x_forbidden_and_unknown_accounts_are_told_apart(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let unknown = follow(&world, "@nobody").await;
    world.poll_due().await;
    let (kind, _, words) = failure(&world, unknown).await;
    assert_eq!(
        (kind, words.as_str()),
        (ErrorKind::NotFound, "X says: Could not find user with username: [nobody].")
    );
    world.service().set_enabled(unknown, false).await.unwrap();
    let id = follow(&world, "@nasa").await;
    x.instead([None, Some(Reply::status(403))]);
    world.poll_due().await;
    assert_eq!(failure(&world, id).await, (ErrorKind::Forbidden, Some(403), "403 Forbidden".to_owned()));
    x.instead([Some(Reply::status(404))]);
    world.poll_next(id).await;
    assert_eq!(failure(&world, id).await.0, ErrorKind::NotFound);
    x.instead([Some(Reply::status(503))]);
    world.poll_next(id).await;
    assert_eq!(failure(&world, id).await.0, ErrorKind::UpstreamFailure);
    world.poll_next(id).await;
    assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    assert_eq!(x.lookups(), 2, "each account's id was asked for once, whatever failed then");
}

async fn x_suspended_account_is_forbidden_in_words(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    world.poll_due().await;
    x.suspend("nasa");
    world.poll_next(id).await;
    let (kind, _, words) = failure(&world, id).await;
    assert_eq!((kind, words.as_str()), (ErrorKind::Forbidden, "X says: User has been suspended: [11]."));
}

async fn x_reset_of_its_limit_is_honoured(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let (id, other) = (follow(&world, "@nasa").await, follow(&world, "@esa").await);
    x.account("esa", 12);
    let reset = world.now() + Span::from_mins(47);
    let limited = Reply::status(429).header("x-rate-limit-reset", (reset.as_millis() / 1000).to_string());
    x.instead([Some(limited)]);
    world.poll_due().await;
    assert_eq!(x.requests().len(), 1, "the limit is the key's, so the other timeline waits, too");
    let limited =
        world.all_sources().await.into_iter().find(|source| source.health.failing.is_some()).unwrap();
    assert_eq!(limited.health.failing.unwrap().kind, ErrorKind::RateLimited);
    assert_eq!(limited.health.hold_until, Some(reset));
    world.advance(Span::from_mins(46));
    assert_eq!(world.poll_due().await, 0);
    world.poll_next(limited.id).await;
    // From now on its timelines are asked at a distance.
    world.advance(Span::from_mins(1));
    world.poll_due().await;
    for id in [id, other] {
        assert_eq!(world.source(id).await.health.status(), Status::Healthy);
    }
}

async fn x_broken_answers_are_parse_errors(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    let id = follow(&world, "@nasa").await;
    for body in ["{\"data\":", "<html>maintenance</html>", "{}"] {
        x.instead([Some(Reply::ok(body))]);
        world.poll_next(id).await;
        assert_eq!(failure(&world, id).await.0, ErrorKind::ParseError, "{body}");
    }
    assert_eq!(world.poll_next(id).await.health.status(), Status::Healthy);
}

async fn x_long_posts_quotes_and_reposts_read_whole(db: Database) {
    let (mut world, x) = world_with_key(db).await;
    x.account("esa", 12);
    let whole = "All of it &amp; more. ".repeat(40);
    x.post_with(11, 1000, 1, json!({ "text": "All of it…", "note_tweet": { "text": whole } }));
    x.post(12, 900, 1, "Ariane &lt;6&gt; flies");
    x.post_with(
        11,
        1001,
        2,
        json!({
            "text": "Well done https://t.co/q https://t.co/z",
            "entities": { "urls": [
                { "url": "https://t.co/q", "expanded_url": "https://www.nasa.gov/ariane" },
                { "url": "https://t.co/z", "expanded_url": "https://x.com/esa/status/900" },
            ]},
            "referenced_tweets": [{ "type": "quoted", "id": "900" }],
        }),
    );
    x.post_with(
        11,
        1002,
        3,
        json!({ "text": "RT @esa: Ariane…", "referenced_tweets": [{ "type": "retweeted", "id": "900" }] }),
    );
    let id = follow(&world, "@nasa").await;
    world.poll_due().await;
    let mut bodies = world.bodies(id).await;
    bodies.sort();
    assert_eq!(
        bodies,
        [
            whole.replace("&amp;", "&").trim(),
            "RT @esa: Ariane <6> flies",
            "Well done https://www.nasa.gov/ariane @esa: Ariane <6> flies",
        ]
    );
}

async fn x_timelines_are_asked_one_after_another(db: Database) {
    let x = X::start().await;
    let world = World::new(db, &[VAULT, &x.setting()]).await;
    let (one, two) = (follow(&world, "@nasa").await, follow(&world, "https://twitter.com/ESA").await);
    for (id, url) in [(one, "https://x.com/nasa"), (two, "https://x.com/esa")] {
        let source = world.source(id).await;
        assert_eq!((source.settings.url.as_str(), source.host.as_str()), (url, "127.0.0.1"));
    }
    assert_eq!(follow(&world, "x.com/NASA").await, one, "one account, one source");
    let wrong = SourceSettings { kind: Kind::X, ..new_feed("https://example.org/nasa") };
    let refused = world.service().add(&wrong).await.unwrap_err().to_string();
    assert!(refused.ends_with("a timeline on X is written as @handle or https://x.com/handle"), "{refused}");
}
