//! Posts, found and read.

use gleaner::service::SourceFields;
use gleaner_core::time::Span;

use super::{Visitor, on_both};
use crate::support::Database;
use crate::support::http::{Reply, Server};

on_both!(
    posts_are_found_by_words_source_and_collection,
    a_list_is_turned_by_its_address,
    a_post_is_read_without_what_acts,
    pictures_are_shown_when_they_are_asked_for,
    what_feeds_say_is_only_text,
);

fn item(guid: usize, title: &str, html: &str) -> String {
    let html = html.replace('&', "&amp;").replace('<', "&lt;");
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<item><guid>{guid}</guid><title>{title}</title><link>https://a.example/{guid}</link>\
         <author>Ada</author><description>{html}</description></item>"
    )
}

/// Adds a feed of these items and polls it.
async fn add(visitor: &Visitor, server: &Server, path: &str, items: &str) -> i64 {
    server
        .on(path, Reply::ok(format!("<rss version='2.0'><channel><title>F</title>{items}</channel></rss>")));
    let url = server.url(path).to_string();
    let fields = SourceFields { url: Some(url), ..SourceFields::default() };
    let by = visitor.api.by();
    let id = by.create_source(&fields, gleaner::service::Checks::default()).await.unwrap().id;
    let request = gleaner::service::PollRequest { wait: true, ..Default::default() };
    by.poll_now(id, request).await.unwrap();
    visitor.api.service.catch_up().await.unwrap();
    visitor.api.clock.advance(Span::from_mins(1));
    id
}

async fn posts_are_found_by_words_source_and_collection(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    visitor.get("/posts").await.is(200).has("No posts yet").has("href=\"/add\"");
    let gardens = add(&visitor, &server, "/gardens", &item(1, "Roses", "They <b>grow</b> slowly.")).await;
    add(&visitor, &server, "/weather", &item(2, "Rain & snow", "It falls slowly.")).await;
    let all = visitor.get("/posts").await.is(200);
    all.has("Roses").has("Rain &#38; snow").has("They grow slowly.").has("Ada").has("/gardens");
    visitor.get("/posts?q=roses").await.is(200).has("Roses").lacks("Rain");
    visitor.get("/posts?q=slowly").await.is(200).has("Roses").has("Rain");
    visitor.get("/posts?q=nowhere").await.is(200).has("No post is like that").has("value=\"nowhere\"");
    visitor.get("/posts?from=garden").await.is(200).has("Roses").lacks("Rain");
    visitor.get("/posts?from=nobody").await.is(200).has("No post is like that");
    visitor
        .get(&format!("/posts?source={gardens}"))
        .await
        .is(200)
        .has("Only posts of")
        .has("Roses")
        .lacks("Rain");
    visitor.get("/posts?collection=1").await.is(200).has("Roses").has("selected");
    visitor.get("/posts?collection=77").await.is(200).has("No post is like that");
    visitor.get("/posts?source=abc&before=x&q=%00").await.is(200).has("Roses");
}

async fn a_list_is_turned_by_its_address(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    let items: String = (0..40).map(|n| item(n, &format!("Number {n}!"), &format!("Text {n}"))).collect();
    add(&visitor, &server, "/feed", &items).await;
    let first = visitor.get("/posts?q=text").await.is(200);
    assert_eq!(first.html.matches("<article>").count(), 30);
    let older = first.between("rel=\"next\" href=\"", "\"").replace("&#38;", "&");
    assert!(older.starts_with("/posts?q=text&before="), "{older}");
    let second = visitor.get(&older).await.is(200);
    assert_eq!(second.html.matches("<article>").count(), 10);
    second.has("href=\"/posts?q=text\">Newest").lacks("rel=\"next\"");
    let numbers = |html: &str| -> Vec<String> {
        html.split("Number ")
            .skip(1)
            .filter_map(|rest| rest.split_once('!'))
            .map(|(n, _)| n.to_owned())
            .collect()
    };
    let mut seen = numbers(&first.html);
    seen.extend(numbers(&second.html));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 40, "each is on one page");
}

async fn a_post_is_read_without_what_acts(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    let hostile = "<h1>Big</h1><p onclick=alert(1) class=card style=color:red>Fine</p><script>alert(2)</script>\
        <a href='javascript:alert(3)'>bad</a><a href='/relative'>good</a><iframe src=https://evil.example></iframe>\
        <form action=/settings method=post><button>Go</button></form>";
    let items = item(1, "First", "plain") + &item(2, "Second", hostile) + &item(3, "Third", "also plain");
    add(&visitor, &server, "/feed", &items).await;
    let list = visitor.get("/posts").await;
    let ids: Vec<i64> = list
        .html
        .split("<h2><a href=\"/posts/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next()?.parse().ok())
        .collect();
    let [_, second, _] = ids[..] else { panic!("{ids:?}") };
    let page = visitor.get(&format!("/posts/{second}")).await.is(200);
    page.has("<h1>Second</h1>").has("<h2>Big</h2>").has("<p>Fine</p>").has("Ada").has("1, as first stored");
    page.has("href=\"https://a.example/relative\" rel=\"noreferrer noopener nofollow\"");
    page.has("href=\"https://a.example/2\" rel=\"noreferrer noopener nofollow\">Read the original");
    let text = page.between("<div class=\"text\">", "</article>");
    for word in ["alert", "onclick", "class=", "style=", "<iframe", "<form", "<button"] {
        assert!(!text.replace("class=\"button\"", "").contains(word), "{word}: {text}");
    }
    page.has("rel=\"prev\"").has("rel=\"next\"");
    let first = visitor.get(&format!("/posts/{}", ids.iter().min().unwrap())).await;
    first.has("rel=\"next\"").lacks("rel=\"prev\"");
    visitor.get("/posts/999999").await.is(404).has("post 999999 does not exist");
}

async fn pictures_are_shown_when_they_are_asked_for(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    let html = "<p>x <img src=https://b.example/1.png alt='a dog' onerror=alert(1)></p>";
    add(&visitor, &server, "/feed", &item(1, "One", html)).await;
    let id: i64 = visitor.get("/posts").await.between("<h2><a href=\"/posts/", "\"").parse().unwrap();
    let without = visitor.get(&format!("/posts/{id}")).await.is(200);
    without.has("[picture: a dog]").has("1 picture not loaded").has(&format!("/posts/{id}?images=1"));
    without.lacks("b.example/1.png\"");
    assert!(!without.header("content-security-policy").contains("http"), "{without:?}");
    let with = visitor.get(&format!("/posts/{id}?images=1")).await.is(200);
    with.has("src=\"https://b.example/1.png\"").has("referrerpolicy=\"no-referrer\"").has("loading=\"lazy\"");
    with.has("Hide images").lacks("onerror");
    let policy = with.header("content-security-policy");
    assert!(policy.contains("img-src 'self' data: https: http:;"), "{policy}");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
}

async fn what_feeds_say_is_only_text(db: Database) {
    let (visitor, server) = (Visitor::new(db).await, Server::start().await);
    let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(2)>";
    let items = format!(
        "<item><guid>1</guid><title><![CDATA[{hostile}]]></title><link>javascript:alert(3)</link>\
         <author><![CDATA[{hostile}]]></author><description>{}</description></item>",
        "plain &amp;lt;script&amp;gt;"
    );
    add(&visitor, &server, "/feed", &items).await;
    let list = visitor.get(&format!("/posts?q={}", "%22%3E%3Cscript%3Ealert(9)%3C/script%3E")).await.is(200);
    list.lacks("<script>alert").lacks("<img src=x");
    let list = visitor.get("/posts").await.is(200);
    list.lacks("<script>alert").lacks("<img src=x");
    let id: i64 = list.between("<h2><a href=\"/posts/", "\"").parse().unwrap();
    let page = visitor.get(&format!("/posts/{id}")).await.is(200);
    page.lacks("<script>alert").lacks("<img src=x").lacks("href=\"javascript:").lacks("Read the original");
}
