//! Which entries are posts of their own, and which are known under another guid, link or text.

use gleaner_core::backfill::Backfill;
use gleaner_core::source::Duplicates;
use gleaner_core::time::Span;

use super::on_both;
use super::world::{Answer, World, rss};
use crate::support::Database;

on_both!(
    equal_bodies_are_distinct_posts,
    constant_link_new_guid_is_a_new_post,
    rotated_guid_keeps_the_post,
    republished_copy_is_stored_once,
    identical_content_is_stored_once,
    preview_tells_what_the_poll_stores,
    an_edit_into_the_text_of_another_is_a_revision,
    one_guid_for_all_loses_nothing,
);

/// `guid|link|title|text|minute of the day`; what is empty is missing.
fn feed(entries: &[&str]) -> Answer {
    let tag = |name: &str, text: &str| match text {
        "" => String::new(),
        text => format!("<{name}>{}</{name}>", text.replace('<', "&lt;")),
    };
    let item = |entry: &&str| {
        let parts: Vec<&str> = entry.split('|').collect();
        let date = match parts[4] {
            "" => String::new(),
            minute => format!("Sun, 15 Nov 2026 00:{minute}:00 GMT"),
        };
        let names = ["guid", "link", "title", "description"];
        let tags: String = names.iter().zip(&parts).map(|(name, text)| tag(name, text)).collect();
        format!("<item>{tags}{}</item>", tag("pubDate", &date))
    };
    Answer::body(&rss(&entries.iter().map(item).collect::<String>()))
}

/// Polls a feed that is these documents in turn; returns the source.
async fn poll_all(world: &mut World, documents: &[&[&str]]) -> i64 {
    world.answer("/feed", feed(documents[0]));
    let id = world.add("a.test", "/feed").await;
    world.poll_due().await;
    for document in &documents[1..] {
        world.answer("/feed", feed(document));
        world.poll_next(id).await;
    }
    id
}

/// Title, text, guid and revision of each post, oldest first.
async fn posts(world: &World, id: i64) -> Vec<(String, String, String, i64)> {
    let all = world.posts(id).await.into_iter().rev();
    all.map(|post| {
        let content = post.content;
        (content.title.unwrap_or_default(), content.body, content.guid, post.revision)
    })
    .collect()
}

async fn equal_bodies_are_distinct_posts(db: Database) {
    let mut world = World::new(db, &[]).await;
    let stories = |from: u32| -> Vec<String> {
        let story = |n: u32| format!("g{n}|https://a.test/{n}|Story {n}|<a href=\"x\">Comments</a>|05");
        (from..from + 30).map(story).collect()
    };
    let (first, later) = (stories(0), stories(10));
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let later: Vec<&str> = later.iter().map(String::as_str).collect();
    let id = poll_all(&mut world, &[&first]).await;
    assert_eq!(world.posts(id).await.len(), 30);
    world.answer("/feed", feed(&later));
    world.poll_next(id).await;
    let found = posts(&world, id).await;
    assert_eq!(found.len(), 40, "and those of later polls");
    assert!(found.iter().enumerate().all(|(n, post)| post.0 == format!("Story {n}") && post.1 == "Comments"));
    assert_eq!(world.polls(id).await[0].record.skipped.duplicate, 0);
}

async fn constant_link_new_guid_is_a_new_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = poll_all(
        &mut world,
        &[
            &["r1|https://a.test/latest|Release 1|first|01"],
            &["r2|https://a.test/latest|Release 2|second|02"],
            &["r3|https://a.test/latest|Release 3|third|03"],
        ],
    )
    .await;
    let found = posts(&world, id).await;
    let expected =
        [("Release 1", "first", "r1"), ("Release 2", "second", "r2"), ("Release 3", "third", "r3")];
    let found: Vec<_> = found.iter().map(|(a, b, c, n)| ((a.as_str(), b.as_str(), c.as_str()), *n)).collect();
    assert_eq!(found, expected.map(|post| (post, 1)));
}

async fn rotated_guid_keeps_the_post(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = poll_all(
        &mut world,
        &[
            &["old|https://a.test/1|One|the text|01"],
            &["new|https://a.test/1?utm_source=feed|One|the text, edited|01"],
            &["newest|https://a.test/1|One|the text, edited|01"],
            &["old|https://a.test/1|One|the text, edited again|01"],
        ],
    )
    .await;
    let found = posts(&world, id).await;
    assert_eq!(found, [("One".into(), "the text, edited again".into(), "old".into(), 3)]);
}

async fn republished_copy_is_stored_once(db: Database) {
    let mut world = World::new(db, &[]).await;
    let original = "1|https://a.test/1|One|the text|01";
    let id = poll_all(
        &mut world,
        &[
            &[original],
            &["copy|https://a.test/copy|One|the text|01", original],
            &["copy|https://a.test/copy|One|the text|01"],
            &["copy|https://a.test/copy|One|the text, edited|01"],
        ],
    )
    .await;
    let found = posts(&world, id).await;
    assert_eq!(found, [("One".into(), "the text, edited".into(), "1".into(), 2)]);
    let copies: u32 = world.polls(id).await.iter().map(|poll| poll.record.skipped.duplicate).sum();
    assert_eq!(copies, 1, "and it is counted once");
}

async fn identical_content_is_stored_once(db: Database) {
    let mut world = World::new(db, &[]).await;
    let same = ["1|https://a.test/1|One|The same words|01", "2|https://a.test/2|One|The same words|01"];
    let id = poll_all(&mut world, &[&same[..1], &same[1..]]).await;
    assert_eq!(world.posts(id).await.len(), 1, "title and date are the same, too");
    let words = ["1|https://a.test/1|One|The same words|01", "2|https://a.test/2|Two|The same words|02"];
    for (host, duplicates, expected) in [("b.test", None, 2), ("c.test", Some(Duplicates::Content), 1)] {
        world.answer("/other", feed(&words[..1]));
        let other = world.add_with(host, "/other", |source| {
            (source.duplicates, source.backfill) = (duplicates, Backfill::All);
        });
        let other = other.await;
        world.poll_due().await;
        assert_eq!(world.posts(other).await.len(), 1, "another source stores its own");
        world.answer("/other", feed(&words[1..]));
        world.poll_next(other).await;
        assert_eq!(world.posts(other).await.len(), expected, "{duplicates:?}");
    }
    world.restart_with(&["source.duplicates=content"]).await;
    world.answer("/more", feed(&words));
    let more = world.add_with("d.test", "/more", |source| source.backfill = Backfill::All).await;
    world.poll_due().await;
    assert_eq!(world.posts(more).await.len(), 1, "as config says");
}

async fn preview_tells_what_the_poll_stores(db: Database) {
    let mut world = World::new(db, &[]).await;
    let entries = [
        "1|https://a.test/1|One|Comments|01",
        "2|https://a.test/2|Two|Comments|02",
        "copy|https://a.test/copy|One|Comments|01",
        "|||Only words|",
        "||||",
        "same|https://a.test/4|Four|four|03",
        "same|https://a.test/5|Five|five|03",
    ];
    world.answer("/feed", feed(&entries));
    let url = world.server().url("/feed").to_string();
    world.advance(Span::from_mins(30));
    for backfill in [Backfill::All, Backfill::None] {
        let preview = world.service().preview_url(&url, backfill).await.unwrap();
        let announced: Vec<String> = preview
            .best
            .entries
            .iter()
            .filter(|entry| entry.verdict == "stored")
            .map(|entry| entry.body.clone())
            .collect();
        let name = format!("{}.test", backfill.name());
        let id = world.add_with(&name, "/feed", |source| source.backfill = backfill).await;
        world.poll_due().await;
        let mut stored = world.bodies(id).await;
        stored.reverse();
        assert_eq!(announced, stored, "with backfill {}", backfill.name());
        assert_eq!(stored.len(), if backfill == Backfill::All { 5 } else { 1 });
        assert_eq!((preview.best.entry_count, preview.best.stored_count), (7, stored.len()));
    }
}

async fn an_edit_into_the_text_of_another_is_a_revision(db: Database) {
    let mut world = World::new(db, &[]).await;
    let id = poll_all(
        &mut world,
        &[
            &["1|https://a.test/1|One|one|01", "2|https://a.test/2|Two|two|02"],
            &["1|https://a.test/1|One|two|01", "2|https://a.test/2|Two|two|02"],
        ],
    )
    .await;
    let found = posts(&world, id).await;
    assert_eq!(found[0], ("One".into(), "two".into(), "1".into(), 2));
    assert_eq!(world.polls(id).await[0].updated_posts, 1);
}

async fn one_guid_for_all_loses_nothing(db: Database) {
    let mut world = World::new(db, &[]).await;
    let entry = |n: u32| format!("same|https://a.test/{n}|Title {n}|text {n}|");
    let (one, two, three, four) = (entry(1), entry(2), entry(3), entry(4));
    let id = poll_all(
        &mut world,
        &[&[one.as_str()], &[two.as_str(), &one], &[&two], &[&three], &[&four, &three], &[&four]],
    )
    .await;
    let texts: Vec<String> = posts(&world, id).await.into_iter().map(|post| post.1).collect();
    assert_eq!(texts, ["text 1", "text 2", "text 3", "text 4"]);
}
