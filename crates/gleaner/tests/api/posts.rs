//! Posts and what is made of them: lists, search, articles.

use gleaner::clock::Clock as _;
use gleaner_core::time::Span;
use serde_json::{Value, json};

use super::client::Api;
use super::on_both;
use super::sources::{add, ids};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    posts_are_listed_filtered_and_read,
    words_are_found_once_they_are_indexed,
    changed_posts_are_found_by_their_new_words_and_deleted_ones_by_none,
    nothing_that_is_searched_for_breaks_anything,
    articles_are_made_of_posts_and_marked,
    an_article_names_everything_that_is_wrong,
);

/// A feed of these titles and texts.
fn feed(items: &[(&str, &str)]) -> Reply {
    let items: String = items
        .iter()
        .map(|(title, text)| {
            let guid = title.split(' ').next().unwrap();
            format!("<item><guid>{guid}</guid><title>{title}</title><description>{text}</description></item>")
        })
        .collect();
    Reply::ok(format!("<rss version='2.0'><channel><title>F</title>{items}</channel></rss>"))
}

async fn poll(api: &Api, id: i64) {
    api.post(&format!("/sources/{id}/poll?wait=true"), json!({})).await.is(200);
}

async fn index(api: &Api) {
    api.db.store.number_events(1000).await.unwrap();
    while api.db.store.index_posts(100).await.unwrap() > 0 {}
}

/// Two feeds on two servers, polled an hour after one another.
async fn set_up(db: Database) -> (Api, [Server; 2], [i64; 2]) {
    let api = Api::new(db).await;
    let servers = [Server::start().await, Server::start_on([127, 0, 0, 2]).await];
    servers[0].on(
        "/feed",
        feed(&[("1 Foxes", "The quick brown fox jumps."), ("2 Straße", "漢字の新聞 über alles")]),
    );
    servers[1].on("/feed", feed(&[("3 Dogs", "The lazy dog, brown and quick.")]));
    let mut sources = [0; 2];
    for (place, server) in servers.iter().enumerate() {
        sources[place] = add(&api, server.url("/feed").as_str()).await;
        poll(&api, sources[place]).await;
        api.clock.advance(Span::from_hours(1));
    }
    (api, servers, sources)
}

async fn titles(api: &Api, query: &str) -> Vec<String> {
    let page = api.get(&format!("/posts?{query}")).await;
    let mut titles: Vec<String> = page.is(200)["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|post| post["title"].as_str().unwrap().to_owned())
        .collect();
    titles.sort_unstable();
    titles
}

async fn posts_are_listed_filtered_and_read(db: Database) {
    let (api, _servers, [a, b]) = set_up(db).await;
    let all = ["1 Foxes", "2 Straße", "3 Dogs"];
    assert_eq!(titles(&api, "").await, all);
    assert_eq!(titles(&api, &format!("source_id={b}")).await, all[2..]);
    assert_eq!(titles(&api, &format!("source_id={a}&source_id={b}")).await, all);
    assert_eq!(titles(&api, "collection_id=1").await, all);
    assert_eq!(titles(&api, "collection_id=77").await, [""; 0]);
    assert_eq!(titles(&api, "from=2026-11-15T01:00:00Z").await, all[2..]);
    assert_eq!(titles(&api, "until=2026-11-15T01:00:00Z").await, all[..2]);
    let page = api.get("/posts?limit=2").await;
    assert_eq!(page.is(200)["items"][0]["source_id"], b, "newest first");
    let rest = api.get(&format!("/posts?limit=2&cursor={}", page.body["next_cursor"])).await;
    assert_eq!(ids(rest.is(200)).len(), 1);
    let id = ids(&page.body)[0];
    let post = api.get(&format!("/posts/{id}")).await;
    let fields: Vec<&str> = post.is(200).as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = [
        "id",
        "source_id",
        "guid",
        "title",
        "url",
        "body",
        "raw_content",
        "author",
        "published_at",
        "content_hash",
        "revision",
        "created_at",
        "updated_at",
    ];
    expected.sort_unstable();
    assert_eq!(fields, expected);
    assert_eq!((&post.body["guid"], &post.body["revision"]), (&json!("3"), &json!(1)));
    assert_eq!(post.body["content_hash"].as_str().unwrap().len(), 64);
    assert_eq!(api.get("/posts/999").await.problem(404), "not_found");
    let wrong = api.get("/posts?source_id=x&unlinked=2&from=yesterday&until=&sort=up").await;
    assert_eq!(wrong.problem(400), "bad_query");
    assert_eq!(wrong.body["errors"].as_array().unwrap().len(), 5, "{}", wrong.text);
}

async fn words_are_found_once_they_are_indexed(db: Database) {
    let (api, _servers, [a, b]) = set_up(db).await;
    assert_eq!(titles(&api, "q=fox").await, [""; 0], "a poll does not wait for it");
    index(&api).await;
    let check =
        async |query: &str, expected: &[&str]| assert_eq!(titles(&api, query).await, expected, "{query}");
    check("q=fox", &["1 Foxes"]).await;
    check("q=BROWN", &["1 Foxes", "3 Dogs"]).await;
    check("q=quick+dog", &["3 Dogs"]).await;
    check("q=quick+brown", &["1 Foxes", "3 Dogs"]).await;
    check("q=%22quick+brown%22", &["1 Foxes"]).await;
    check("q=foxes", &["1 Foxes"]).await;
    check("q=strasse", &[]).await;
    check("q=stra%C3%9Fe", &["2 Straße"]).await;
    check("q=%C3%9CBER", &["2 Straße"]).await;
    check("q=%E6%96%B0%E8%81%9E", &["2 Straße"]).await;
    check("q=nowhere", &[]).await;
    check(&format!("q=brown&source_id={b}"), &["3 Dogs"]).await;
    check("q=brown&until=2026-11-15T01:00:00Z&unlinked=true&collection_id=1", &["1 Foxes"]).await;
    let first = api.get("/posts?q=brown&limit=1").await;
    assert_eq!(first.is(200)["items"][0]["source_id"], b, "newest first");
    let next = api.get(&format!("/posts?q=brown&limit=1&cursor={}", first.body["next_cursor"])).await;
    assert_eq!(
        (&next.is(200)["items"][0]["source_id"], &next.body["next_cursor"]),
        (&json!(a), &Value::Null)
    );
}

async fn changed_posts_are_found_by_their_new_words_and_deleted_ones_by_none(db: Database) {
    let (api, servers, [a, b]) = set_up(db).await;
    index(&api).await;
    servers[0]
        .on("/feed", feed(&[("1 Wolves", "The grey wolf howls."), ("2 Straße", "漢字の新聞 über alles")]));
    poll(&api, a).await;
    index(&api).await;
    assert_eq!(titles(&api, "q=wolf").await, ["1 Wolves"]);
    assert_eq!(titles(&api, "q=fox").await, [""; 0]);
    api.delete(&format!("/sources/{b}")).await.is(204);
    assert_eq!(titles(&api, "q=dog").await, [""; 0]);
}

async fn nothing_that_is_searched_for_breaks_anything(db: Database) {
    let (api, _servers, _) = set_up(db).await;
    index(&api).await;
    for text in [
        "\"",
        "\"\"",
        "'",
        "''",
        "*",
        "fox*",
        "(",
        ")",
        "NEAR(",
        "NEAR(a b, 5)",
        "AND",
        "OR",
        "NOT",
        "a AND",
        "-",
        "--",
        "^fox",
        "words:fox",
        "a:b:c",
        "fox & ",
        "!",
        "fox | ",
        "<->",
        ":*",
        "\\",
        "%",
        "_",
        "\0",
        "a\0b",
        "\u{1F98A}",
        "\u{202E}",
        "';DROP TABLE posts;--",
        "{}",
        "[",
        "+",
        "~",
        "\u{FFFD}",
        "fox\nbrown",
        "²",
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("q", text).finish();
        api.get(&format!("/posts?{query}")).await.is(200);
    }
    let long = "word+".repeat(2000);
    api.get(&format!("/posts?q={long}")).await.is(200);
    api.get("/posts?q=%ff%fe").await.is(200);
}

async fn articles_are_made_of_posts_and_marked(db: Database) {
    let (api, _servers, _) = set_up(db).await;
    let posts = ids(api.get("/posts").await.is(200));
    let made = json!({ "title": " Brown animals ", "body": "Text", "url": "https://a.example/1",
        "published_at": "2026-11-15T08:00:00Z", "post_ids": [posts[1], posts[0], posts[0]] });
    let made = api.post("/articles", made).await;
    let id = made.is(201)["id"].as_i64().unwrap();
    let expected = json!({ "id": id, "title": "Brown animals", "body": "Text", "url": "https://a.example/1",
        "published_at": "2026-11-15T08:00:00Z", "is_processed": false, "post_ids": [posts[1], posts[0]],
        "created_at": api.clock.now().to_string() });
    assert_eq!(made.body, expected);
    assert_eq!(api.get(&format!("/articles/{id}")).await.is(200), &expected);
    assert_eq!(ids(api.get("/posts?unlinked=true").await.is(200)), posts[2..], "the others are linked");
    let plain = api.post("/articles", json!({ "title": "Plain", "post_ids": [posts[2]] })).await;
    let plain = plain.is(201)["id"].as_i64().unwrap();
    assert_eq!(ids(api.get("/articles").await.is(200)), [plain, id]);
    let marked = api.patch(&format!("/articles/{id}"), json!({ "is_processed": true })).await;
    assert_eq!(marked.is(200)["is_processed"], true);
    assert_eq!(ids(api.get("/articles?is_processed=true").await.is(200)), [id]);
    assert_eq!(ids(api.get("/articles?is_processed=false").await.is(200)), [plain]);
    let page = api.get("/articles?limit=1").await;
    assert_eq!(page.is(200)["next_cursor"], plain);
    assert_eq!(ids(api.get(&format!("/articles?cursor={plain}")).await.is(200)), [id]);
    assert_eq!(api.get("/articles/999").await.problem(404), "not_found");
    assert_eq!(api.patch("/articles/999", json!({ "is_processed": true })).await.problem(404), "not_found");
}

async fn an_article_names_everything_that_is_wrong(db: Database) {
    let (api, _servers, _) = set_up(db).await;
    let all = json!({ "title": " ", "body": "a\0b", "url": "nowhere", "post_ids": [] });
    let refused = api.post("/articles", all).await;
    assert_eq!(refused.problem(422), "invalid");
    assert_eq!(refused.body["errors"].as_array().unwrap().len(), 4, "{}", refused.text);
    let missing = api.post("/articles", json!({ "title": "T", "post_ids": [999] })).await;
    assert_eq!((missing.problem(422), &missing.body["errors"][0]["field"]), ("invalid", &json!("post_ids")));
    for body in [json!({ "title": "T" }), json!({ "title": "T", "post_ids": [1], "published_at": "today" })] {
        assert_eq!(api.post("/articles", body).await.problem(422), "invalid");
    }
    assert!(ids(api.get("/articles").await.is(200)).is_empty());
    assert_eq!(ids(api.get("/posts?unlinked=true").await.is(200)).len(), 3, "nothing was linked");
}
