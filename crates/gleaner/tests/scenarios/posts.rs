//! From entries to posts.

use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, Item, World, rss};
use crate::support::Database;

on_both!(
    rss_atom_and_json_feed_are_parsed,
    new_entries_by_guid_only,
    no_new_entries_updates_check_time,
    three_new_entries_three_posts,
    nitter_feed_entries_are_single_posts,
    failed_fetch_moves_last_polled,
    html_is_stripped_from_body,
    author_from_entry,
    deleted_post_does_not_return,
    a_feed_of_too_many_entries_says_so,
);

async fn rss_atom_and_json_feed_are_parsed(db: Database) {
    let mut world = World::new(db, &[]).await;
    let published = world.now() + Span::from_secs(60);
    let rss = "<rss version='2.0'><channel><title>T</title><item><guid>g1</guid><title>One</title>\
         <link>https://a.test/1</link><description>&lt;p&gt;Text&lt;/p&gt;</description>\
         <pubDate>Sun, 15 Nov 2026 00:01:00 GMT</pubDate><author>Ada</author></item></channel></rss>"
        .to_owned();
    let atom = format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><entry><id>g1</id><title>One</title>\
         <link href='https://a.test/1'/><content type='html'>&lt;p&gt;Text&lt;/p&gt;</content>\
         <published>{published}</published><author><name>Ada</name></author></entry></feed>"
    );
    let json = format!(
        "{{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T\",\"items\":[{{\"id\":\"g1\",\"title\":\"One\",\
         \"url\":\"https://a.test/1\",\"content_html\":\"<p>Text</p>\",\"date_published\":\"{published}\",\
         \"authors\":[{{\"name\":\"Ada\"}}]}}]}}"
    );
    let mut found = Vec::new();
    for (name, body) in [("rss", rss), ("atom", atom), ("json", json)] {
        let path = format!("/{name}");
        world.answer(&path, Answer::body(&body));
        let id = world.add(&format!("{name}.test"), &path).await;
        world.poll_due().await;
        let mut posts = world.posts(id).await;
        assert_eq!(posts.len(), 1, "{name}");
        found.push(posts.remove(0).content);
    }
    assert_eq!(found[0].published_at, Some(published));
    assert_eq!((found[0].title.as_deref(), found[0].body.as_str()), (Some("One"), "Text"));
    assert_eq!(found[0].author.as_deref(), Some("Ada"));
    assert!(found.iter().all(|post| *post == found[0]), "{found:#?}");
}

async fn new_entries_by_guid_only(db: Database) {
    let mut world = World::new(db, &[]).await;
    let items: Vec<Item> = (0..20).map(|n| Item::new(&format!("entry {n}"))).collect();
    world.answer("/feed", Answer::items(&items[..5]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    assert_eq!(world.posts(id).await.len(), 5);
    let mut changed = items.clone();
    changed.iter_mut().take(5).for_each(|item| item.link = item.link.replace("a.test", "moved.test"));
    world.answer("/feed", Answer::items(&changed));
    world.poll_next(id).await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 20);
    let latest = &posts[0].content;
    assert!(latest.title.is_some() && latest.url.is_some() && latest.raw_content.is_some());
    assert!(latest.published_at.is_some());
    let polls = world.polls(id).await;
    assert_eq!((polls[0].new_posts, polls[0].record.skipped.known), (15, 5));
}

async fn no_new_entries_updates_check_time(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::feed(&["one", "two"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.answer("/feed", Answer::feed(&["two", "one"]));
    let source = world.poll_next(id).await;
    assert_eq!(world.posts(id).await.len(), 2);
    assert_eq!(source.health.last_polled_at, Some(world.now()));
}

async fn three_new_entries_three_posts(db: Database) {
    let mut world = World::new(db, &[]).await;
    let items: Vec<Item> = ["one", "two", "three"].map(Item::new).to_vec();
    world.answer("/feed", Answer::items(&items));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 3);
    for (post, item) in posts.iter().rev().zip(&items) {
        let content = &post.content;
        assert_eq!(content.title.as_deref(), Some(item.title.as_str()));
        assert_eq!(content.url.as_deref(), Some(item.link.as_str()));
        assert_eq!((content.body.as_str(), content.published_at), (item.text.as_str(), Some(item.published)));
        assert_eq!(content.author.as_deref(), Some("Ada"));
        assert_eq!(content.content_hash, gleaner_core::post::content_hash(None, None, &item.text));
    }
}

async fn nitter_feed_entries_are_single_posts(db: Database) {
    let mut world = World::new(db, &[]).await;
    let items: String = (1..=5)
        .map(|n| {
            format!(
                "<item><title>Post number {n} with a link</title><dc:creator>@someone</dc:creator>\
                 <description><![CDATA[<p>Post number {n} with a <a href=\"https://x.test/{n}\">link</a></p>]]></description>\
                 <pubDate>Sun, 15 Nov 2026 00:0{n}:00 GMT</pubDate><guid>https://nitter.test/someone/status/{n}#m</guid>\
                 <link>https://nitter.test/someone/status/{n}#m</link></item>"
            )
        })
        .collect();
    let feed = format!(
        "<rss xmlns:dc='http://purl.org/dc/elements/1.1/' version='2.0'><channel><title>someone</title>{items}</channel></rss>"
    );
    world.answer("/someone/rss", Answer::body(&feed));
    let id = world.add("nitter.test", "/someone/rss").await;
    world.poll_due().await;
    let posts = world.posts(id).await;
    assert_eq!(posts.len(), 5);
    for (n, post) in (1..).zip(posts.iter().rev()) {
        assert_eq!(post.content.body, format!("Post number {n} with a link"));
        assert_eq!(post.content.author.as_deref(), Some("@someone"));
    }
}

async fn failed_fetch_moves_last_polled(db: Database) {
    let mut world = World::new(db, &[]).await;
    world.answer("/feed", Answer::Status(503));
    let id = world.add("a.test", "/feed").await;
    world.advance(Span::from_mins(5));
    world.poll_due().await;
    let source = world.source(id).await;
    assert_eq!(source.health.last_polled_at, Some(world.now()));
    assert!(world.posts(id).await.is_empty());
    assert_eq!(world.logs_of("poll failed", &source.settings.url).len(), 1);
}

async fn html_is_stripped_from_body(db: Database) {
    let mut world = World::new(db, &[]).await;
    let item = "<item><guid>1</guid><description><![CDATA[<p>Breaking news</p><a href=\"x\">link</a>]]></description></item>";
    world.answer("/feed", Answer::body(&rss(item)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let post = world.posts(id).await.remove(0).content;
    assert_eq!(post.body, "Breaking news link");
    assert_eq!(post.raw_content.as_deref(), Some("<p>Breaking news</p><a href=\"x\">link</a>"));
}

async fn author_from_entry(db: Database) {
    let mut world = World::new(db, &[]).await;
    let item = |n: u32, authors: &str| format!("{{\"id\":\"{n}\",\"content_text\":\"text {n}\"{authors}}}");
    let items = [
        item(1, ",\"author\":{\"name\":\"John Smith\"}"),
        item(2, ",\"authors\":[{\"name\":\" \"},{\"url\":\"https://a.test\"},{\"name\":\"Grace\"}]"),
        item(3, ""),
    ];
    let body = format!("{{\"version\":\"https://jsonfeed.org/version/1\",\"items\":[{}]}}", items.join(","));
    world.answer("/feed", Answer::body(&body));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let authors: Vec<Option<String>> =
        world.posts(id).await.into_iter().rev().map(|post| post.content.author).collect();
    assert_eq!(authors, [Some("John Smith".to_owned()), Some("Grace".to_owned()), None]);
    // The same in RSS and Atom.
    let rss = rss("<item><guid>1</guid><author>John Smith</author><description>1</description></item>\
         <item><guid>2</guid><author> </author><dc:creator>Grace</dc:creator><description>2</description></item>\
         <item><guid>3</guid><author> </author><description>3</description></item>");
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title>\
         <entry><id>1</id><author><name>John Smith</name></author><content>1</content></entry>\
         <entry><id>2</id><author><name> </name></author><author><name>Grace</name></author><content>2</content></entry>\
         <entry><id>3</id><author><name> </name></author><content>3</content></entry></feed>";
    for (host, body) in [("rss.test", rss.as_str()), ("atom.test", atom)] {
        world.answer(&format!("/{host}"), Answer::body(body));
        let id = world.add(host, &format!("/{host}")).await;
        world.poll_due().await;
        let posts = world.posts(id).await;
        let authors: Vec<_> = posts.iter().rev().map(|post| post.content.author.as_deref()).collect();
        assert_eq!(authors, [Some("John Smith"), Some("Grace"), None], "{host}");
    }
}

async fn deleted_post_does_not_return(db: Database) {
    let mut world = World::new(db, &["source.keep_unlinked_posts_days=10"]).await;
    world.answer("/feed", Answer::feed(&["one"]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    world.advance(Span::from_days(11));
    // Still there, in a document that is not the same any more.
    world.answer("/feed", Answer::feed(&["one", "two"]));
    world.poll_due().await;
    world.poll_next(id).await;
    let titles: Vec<_> = world.posts(id).await.into_iter().map(|post| post.content.body).collect();
    assert_eq!(titles, ["two"]);
}

async fn a_feed_of_too_many_entries_says_so(db: Database) {
    let mut world = World::new(db, &[]).await;
    let items: String = (0..10_050).map(|n| format!("<item><guid>{n}</guid></item>")).collect();
    world.answer("/feed", Answer::body(&rss(&items)));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    let poll = world.polls(id).await.remove(0);
    assert_eq!(
        poll.record.note.unwrap(),
        "the document has more than 10,000 entries; the first 10,000 are read"
    );
    assert!(world.source(id).await.memory.etag.is_some(), "and it is asked for changes only from now on");
}
