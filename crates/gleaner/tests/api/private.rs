//! Private collections: seen by their owner and by admins, and by nobody else in any way.

use gleaner::service::Scope;
use gleaner::store::{NewEvent, Visibility};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api};
use super::events::Dispatcher;
use super::on_both;
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    what_is_private_is_counted_and_searched_by_its_owner_only,
    output_feeds_show_what_their_user_may_see,
    a_collection_that_becomes_private_takes_its_past_with_it,
    what_outlives_a_private_source_stays_private,
    webhooks_get_what_their_owner_may_see,
    streams_tell_what_their_reader_may_see,
    bulk_polls_and_equal_urls_reveal_no_private_source,
    an_import_reveals_no_private_collection,
    a_taken_name_is_all_that_is_told,
    a_limited_token_makes_no_tokens_of_its_own,
    private_pages_are_not_shown_to_others,
);

const WRITE: &[Scope] = &[Scope::Read, Scope::Write];

/// Ada has a private collection with a source; Bob has none of it.
struct Scene {
    api: Api,
    server: Server,
    ada: String,
    bob: String,
    collection: i64,
    source: i64,
}

fn id(answer: &Answer, status: u16) -> i64 {
    answer.is(status)["id"].as_i64().unwrap()
}

impl Scene {
    async fn new(db: Database) -> Self {
        let (api, server) = (Api::new(db).await, Server::start_on([127, 0, 0, 41]).await);
        let item =
            "<item><guid>1</guid><title>Whispered</title><description>quietly said</description></item>";
        server.on("/feed", Reply::ok(format!("<rss version='2.0'><channel>{item}</channel></rss>")));
        let ada = api.token_of("ada", "all", WRITE, None).await;
        let bob = api.token_of("bob", "all", WRITE, None).await;
        let made = json!({ "name": "whispers", "private": true });
        let collection = id(&api.ask_as(&ada, Method::POST, "/collections", Some(made)).await, 201);
        let new =
            json!({ "url": server.url("/feed").as_str(), "collection_id": collection, "backfill": true });
        let source = id(&api.ask_as(&ada, Method::POST, "/sources", Some(new)).await, 201);
        let scene = Self { api, server, ada, bob, collection, source };
        let path = format!("/sources/{source}/poll?wait=true");
        scene.api.ask_as(&scene.ada, Method::POST, &path, Some(json!({}))).await.is(200);
        scene.number().await;
        scene
    }

    async fn number(&self) {
        while self.api.db.store.number_events(1000).await.unwrap() > 0 {}
        while self.api.db.store.index_posts(100).await.unwrap() > 0 {}
    }

    async fn get(&self, token: &str, path: &str) -> Answer {
        self.api.ask_as(token, Method::GET, path, None).await
    }

    async fn items(&self, token: &str, path: &str) -> Vec<Value> {
        self.get(token, path).await.is(200)["items"].as_array().unwrap().clone()
    }

    async fn edit(&self, token: &str, change: Value) -> Answer {
        let path = format!("/collections/{}", self.collection);
        self.api.ask_as(token, Method::PATCH, &path, Some(change)).await
    }
}

async fn what_is_private_is_counted_and_searched_by_its_owner_only(db: Database) {
    let scene = Scene::new(db).await;
    for (token, count) in [(&scene.ada, 1), (&scene.api.token, 1), (&scene.bob, 0)] {
        assert_eq!(scene.items(token, "/posts?q=quietly").await.len(), count);
        assert_eq!(scene.items(token, &format!("/posts?source_id={}", scene.source)).await.len(), count);
        let of_source = format!("/events?source_id={}", scene.source);
        assert_eq!(scene.items(token, &of_source).await.len(), count);
        let policies = scene.items(token, "/policies").await;
        let sources: i64 = policies.iter().map(|policy| policy["sources"].as_i64().unwrap()).sum();
        assert_eq!(sources, count as i64);
        let bearer = format!("Bearer {token}");
        let metrics = scene.api.ask(Method::GET, "/metrics", None, &[("authorization", &bearer)]).await;
        let line = metrics.text.lines().find(|line| line.contains("status=\"healthy\"")).unwrap();
        assert!(line.ends_with(&format!(" {count}")), "{line}");
    }
    // Given to somebody else, it is theirs.
    scene.edit(&scene.bob, json!({ "owner": "bob" })).await.problem(404);
    scene.edit(&scene.ada, json!({ "owner": "bob" })).await.is(200);
    assert_eq!(scene.items(&scene.bob, "/sources").await.len(), 1);
    assert_eq!(scene.items(&scene.ada, "/sources").await.len(), 0);
    scene.edit(&scene.ada, json!({ "owner": "ada" })).await.problem(404);
    scene.edit(&scene.bob, json!({ "private": false })).await.is(200);
    assert_eq!(scene.items(&scene.ada, "/sources").await.len(), 1);
    assert_eq!(scene.edit(&scene.ada, json!({ "owner": "ada" })).await.problem(403), "forbidden");
    let delete = format!("/collections/{}", scene.collection);
    scene.api.ask_as(&scene.ada, Method::DELETE, &delete, None).await.problem(403);
}

async fn output_feeds_show_what_their_user_may_see(db: Database) {
    let scene = Scene::new(db).await;
    let mut feeds = Vec::new();
    for token in [&scene.ada, &scene.bob] {
        let new = json!({ "name": "reader" });
        let made = scene.api.ask_as(token, Method::POST, "/feed-tokens", Some(new)).await;
        feeds.push(made.is(201)["token"].as_str().unwrap().to_owned());
    }
    let limited = json!({ "name": "default alone", "collection_ids": [1] });
    let made = scene.api.ask_as(&scene.ada, Method::POST, "/feed-tokens", Some(limited)).await;
    feeds.push(made.is(201)["token"].as_str().unwrap().to_owned());
    let disable = format!("/sources/{}", scene.source);
    let off = Some(json!({ "enabled": false }));
    scene.api.ask_as(&scene.ada, Method::PATCH, &disable, off).await.is(200);
    scene.number().await;
    for (token, (status, seen)) in feeds.iter().zip([(200, true), (404, false), (404, false)]) {
        let feed = |name: &str| format!("/feeds/{name}?token={token}");
        let posts = scene.api.ask(Method::GET, &feed("whispers.atom"), None, &[]).await;
        assert_eq!((posts.status, posts.text.contains("Whispered")), (status, seen), "{}", posts.text);
        let events = scene.api.ask(Method::GET, &feed("events.atom"), None, &[]).await;
        assert_eq!((events.status, events.text.contains("127.0.0.41")), (200, seen), "{}", events.text);
    }
}

async fn a_collection_that_becomes_private_takes_its_past_with_it(db: Database) {
    let scene = Scene::new(db).await;
    scene.edit(&scene.ada, json!({ "private": false })).await.is(200);
    let lists = ["/sources", "/posts", "/events", "/hosts", "/posts?q=quietly"];
    for list in lists {
        assert!(!scene.items(&scene.bob, list).await.is_empty(), "{list}");
    }
    scene.edit(&scene.ada, json!({ "private": true })).await.is(200);
    for list in lists {
        assert_eq!(scene.items(&scene.bob, list).await, [Value::Null; 0], "{list}");
        assert!(!scene.items(&scene.ada, list).await.is_empty(), "{list}");
    }
    // A source that is moved out of it is seen, and one that is moved in is not.
    let path = format!("/sources/{}", scene.source);
    let to = |id: i64| Some(json!({ "collection_id": id }));
    scene.api.ask_as(&scene.ada, Method::PATCH, &path, to(1)).await.is(200);
    assert_eq!(scene.items(&scene.bob, "/posts").await.len(), 1);
    assert_eq!(scene.items(&scene.bob, "/events").await.len(), 0, "what happened in private stays so");
    scene.api.ask_as(&scene.bob, Method::PATCH, &path, to(scene.collection)).await.problem(422);
    scene.api.ask_as(&scene.ada, Method::PATCH, &path, to(scene.collection)).await.is(200);
    assert_eq!(scene.items(&scene.bob, "/posts").await.len(), 0);
}

async fn what_outlives_a_private_source_stays_private(db: Database) {
    let scene = Scene::new(db).await;
    let post = scene.items(&scene.ada, "/posts").await[0]["id"].clone();
    let new = json!({ "title": "Of whispers", "body": "text", "post_ids": [post] });
    let article = id(&scene.api.ask_as(&scene.ada, Method::POST, "/articles", Some(new)).await, 201);
    let host = NewEvent {
        kind: "host.down".into(),
        source_id: None,
        payload: json!({ "host": "127.0.0.41", "reason": "is down" }).to_string(),
    };
    scene.api.service.tell(host).await.unwrap();
    scene.number().await;
    let events = scene.items(&scene.ada, "/events").await;
    assert!(events.iter().any(|event| event["type"] == "host.down"), "{events:?}");
    assert!(scene.items(&scene.bob, "/events").await.is_empty());
    let path = format!("/sources/{}", scene.source);
    scene.api.ask_as(&scene.ada, Method::DELETE, &path, None).await.is(204);
    let path = format!("/collections/{}", scene.collection);
    for gone in [false, true] {
        if gone {
            scene.api.ask_as(&scene.ada, Method::DELETE, &path, None).await.is(204);
        }
        assert!(scene.items(&scene.bob, "/events").await.is_empty(), "gone: {gone}");
        assert!(scene.items(&scene.bob, "/articles").await.is_empty(), "gone: {gone}");
        assert_eq!(scene.items(&scene.ada, "/articles").await.len(), 1, "gone: {gone}");
        scene.get(&scene.bob, &format!("/articles/{article}")).await.problem(404);
        scene.get(&scene.ada, &format!("/articles/{article}")).await.is(200);
        assert!(scene.api.get("/events").await.text.contains("127.0.0.41"), "admins see all");
    }
}

async fn webhooks_get_what_their_owner_may_see(db: Database) {
    let scene = Scene::new(db).await;
    let target = Server::start().await;
    for path in ["/ada", "/bob"] {
        target.on(path, Reply::ok(""));
    }
    for (token, path) in [(&scene.ada, "/ada"), (&scene.bob, "/bob")] {
        let new = json!({ "name": path, "url": target.url(path).as_str(), "events": ["source.*"] });
        scene.api.ask_as(token, Method::POST, "/webhooks", Some(new)).await.is(201);
    }
    let new = json!({ "url": "https://open.example/feed", "kind": "website" });
    let open = id(&scene.api.post("/sources", new).await, 201);
    for source in [scene.source, open] {
        let off = json!({ "enabled": false });
        scene.api.patch(&format!("/sources/{source}"), off).await.is(200);
    }
    scene.number().await;
    let sender = scene.api.service.sender("test").unwrap();
    while sender.send_due().await.unwrap() > 0 {}
    let got = |path: &str| {
        let requests = target.requests();
        let of = requests.iter().filter(|request| request.path == path);
        of.map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(got("/ada").len(), 2);
    assert_eq!(got("/bob").len(), 1);
    assert!(got("/bob")[0].contains("open.example"), "{:?}", got("/bob"));
}

async fn streams_tell_what_their_reader_may_see(db: Database) {
    let scene = Scene::new(db).await;
    let _dispatcher = Dispatcher::of(&scene.api.service);
    let bearer = format!("Bearer {}", scene.bob);
    // The token of the admin comes first, and only the first one counts.
    let bob = scene.api.service.actor(&scene.bob).await.unwrap();
    let query = gleaner::service::EventQuery::default();
    let service = std::sync::Arc::clone(&scene.api.service);
    let mut stream = gleaner::service::EventStream::open(service, bob, &query, Some(0)).await.unwrap();
    let new = json!({ "url": "https://open.example/feed", "kind": "website" });
    let open = id(&scene.api.post("/sources", new).await, 201);
    for source in [scene.source, open] {
        let off = json!({ "enabled": false });
        scene.api.patch(&format!("/sources/{source}"), off).await.is(200);
    }
    let mut next = async || {
        let next = tokio::time::timeout(std::time::Duration::from_secs(30), stream.next()).await;
        match next.unwrap().unwrap() {
            Some(gleaner::service::News::Event(told)) => told,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(next().await.source.as_ref().unwrap().id, open);
    // What is read from memory from then on is limited as well.
    for enabled in [true, false] {
        for source in [scene.source, open] {
            scene.api.patch(&format!("/sources/{source}"), json!({ "enabled": enabled })).await.is(200);
        }
        let told = next().await;
        assert_eq!(told.source.as_ref().unwrap().id, open, "{told:?}");
    }
    let listed = scene.api.ask(Method::GET, "/api/v1/events", None, &[("authorization", &bearer)]).await;
    assert_eq!(listed.is(200)["items"].as_array().unwrap().len(), 3);
}

async fn bulk_polls_and_equal_urls_reveal_no_private_source(db: Database) {
    let scene = Scene::new(db).await;
    let post = async |token: &str, path: &str, body: Value| {
        scene.api.ask_as(token, Method::POST, path, Some(body)).await
    };
    let ids = json!({ "ids": [scene.source] });
    let due = json!({ "ids": [scene.source], "action": "poll" });
    for (token, seen) in [(&scene.ada, true), (&scene.bob, false)] {
        let latest = post(token, "/sources/latest-polls", ids.clone()).await;
        assert_eq!(latest.is(200)["items"].as_array().unwrap().len(), usize::from(seen));
        let polled = post(token, "/sources/bulk", due.clone()).await;
        assert_eq!((polled.status, polled.text.contains("not_found")), (200, !seen), "{}", polled.text);
    }
    let same = json!({ "url": scene.server.url("/feed").as_str() });
    let added = post(&scene.bob, "/sources", same.clone()).await;
    assert_eq!(added.is(201)["also_in"], json!([]));
    let path = format!("/sources/{}", id(&added, 201));
    scene.api.delete(&path).await.is(204);
    let added = post(&scene.ada, "/sources", same).await;
    assert_eq!(added.is(201)["also_in"][0]["collection"], "whispers");
}

async fn an_import_reveals_no_private_collection(db: Database) {
    let scene = Scene::new(db).await;
    let list = format!(
        "<opml><body><outline text=\"whispers\"><outline xmlUrl=\"{0}\"/></outline>\
         <outline xmlUrl=\"{0}\"/></body></opml>",
        scene.server.url("/feed")
    );
    scene.server.on("/list", Reply::ok(list));
    let from = json!({ "url": scene.server.url("/list").as_str() });
    let told = scene.api.ask_as(&scene.bob, Method::POST, "/import", Some(from.clone())).await;
    let told = told.is(200);
    assert_eq!((&told["added"], &told["duplicates"], &told["bad"]), (&json!(1), &json!(0), &json!(1)));
    let message = told["report"][0]["message"].as_str().unwrap();
    assert!(message.contains("is taken"), "{message}");
    let into = format!("/import?collection_id={}", scene.collection);
    scene.api.ask_as(&scene.bob, Method::POST, &into, Some(from.clone())).await.problem(404);
    // What its owner imports is told to those who see it.
    scene
        .server
        .on("/list", Reply::ok("<opml><body><outline xmlUrl=\"https://b.example/1\"/></body></opml>"));
    scene.api.ask_as(&scene.ada, Method::POST, &into, Some(from)).await.is(200);
    scene.number().await;
    let imports = scene.items(&scene.bob, "/events?type=import.finished").await;
    assert_eq!(imports.len(), 1, "Bob's own: {imports:?}");
    assert_eq!(scene.items(&scene.ada, "/events?type=import.finished").await.len(), 2);
}

async fn a_taken_name_is_all_that_is_told(db: Database) {
    let scene = Scene::new(db).await;
    let taken = json!({ "name": "whispers" });
    let answer = scene.api.ask_as(&scene.bob, Method::POST, "/collections", Some(taken)).await;
    answer.problem(409);
    assert!(!answer.text.contains(&scene.collection.to_string()), "{}", answer.text);
    let missing = scene.get(&scene.bob, "/sources/999999").await;
    let hidden = scene.get(&scene.bob, &format!("/sources/{}", scene.source)).await;
    let same = hidden.text.replace(&scene.source.to_string(), "999999");
    assert_eq!((missing.status, missing.text.clone()), (hidden.status, same), "word for word");
    let unknown =
        json!({ "url": "https://a.example/", "kind": "website", "collection_id": scene.collection });
    let refused = scene.api.ask_as(&scene.bob, Method::POST, "/sources", Some(unknown)).await;
    assert!(!refused.text.contains("whispers"), "{}", refused.text);
    refused.problem(422);
}

async fn a_limited_token_makes_no_tokens_of_its_own(db: Database) {
    let scene = Scene::new(db).await;
    let limited = scene.api.token_of("ada", "limited", WRITE, Some(&[scene.collection])).await;
    let me = scene.get(&limited, "/me").await;
    assert_eq!(me.is(200)["collection_ids"], json!([scene.collection]));
    let more = json!({ "name": "more", "scopes": "read write" });
    scene.api.ask_as(&limited, Method::POST, "/tokens", Some(more)).await.problem(403);
    let own = json!({ "password": "a new password" });
    scene.api.ask_as(&limited, Method::PUT, "/users/ada/password", Some(own)).await.problem(403);
    for (ids, refused) in [(json!([]), true), (json!([999]), true), (json!([scene.collection]), false)] {
        let new = json!({ "name": "again", "collection_ids": ids });
        let made = scene.api.ask_as(&scene.ada, Method::POST, "/tokens", Some(new.clone())).await;
        assert_eq!(made.status, if refused { 422 } else { 201 }, "{}", made.text);
        let others = scene.api.ask_as(&scene.bob, Method::POST, "/tokens", Some(new)).await;
        assert_eq!(others.status, 422, "Bob does not see it: {}", others.text);
    }
    // Its collection is gone, and so is all that it opened.
    scene.api.delete(&format!("/sources/{}", scene.source)).await.is(204);
    scene.api.delete(&format!("/collections/{}", scene.collection)).await.is(204);
    assert_eq!(scene.items(&limited, "/collections").await.len(), 0);
    assert_eq!(scene.items(&limited, "/sources").await.len(), 0);
}

async fn private_pages_are_not_shown_to_others(db: Database) {
    let scene = Scene::new(db).await;
    let page = async |token: &str, path: &str| {
        let cookie = format!("gleaner_session={token}");
        scene.api.ask(Method::GET, path, None, &[("cookie", &cookie)]).await
    };
    let shown = ["/", "/sources", "/posts", "/posts?q=quietly", "/hosts", "/settings/collections", "/import"];
    for path in shown {
        for (token, seen) in [(&scene.ada, true), (&scene.bob, false)] {
            let answer = page(token, path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            let marks = ["127.0.0.41", "Whispered", "whispers"];
            let found = marks.iter().any(|mark| answer.text.contains(mark));
            assert_eq!(found, seen, "{path}");
        }
    }
    let source = format!("/sources/{}", scene.source);
    assert_eq!((page(&scene.ada, &source).await.status, page(&scene.bob, &source).await.status), (200, 404));
    let named = page(&scene.bob, &format!("/posts?source={}", scene.source)).await;
    assert!(!named.text.contains("127.0.0.41"));
    let hidden = Visibility { user_id: Some(i64::MAX), only: None };
    assert_eq!(scene.api.db.store.hosts(&hidden, None, None, 10).await.unwrap().len(), 0);
}
