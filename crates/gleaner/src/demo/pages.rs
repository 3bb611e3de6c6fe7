//! Renders what was published: three feed formats, pages, an index, and a timeline as X's API returns it.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use super::scenario::{Format, Item, Publisher};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    pub content_type: &'static str,
    pub body: String,
}

impl Document {
    fn page(title: &str, head: &str, content: &str) -> Self {
        let body = format!(
            "<!doctype html><html lang=en><head><title>{title}</title>{head}</head><body>\
             <nav><a href=/about>About</a></nav>{content}<footer>Made by hand</footer></body></html>"
        );
        Self { content_type: "text/html; charset=utf-8", body }
    }
}

/// The URL of an item.
fn link(publisher: &Publisher, item: &Item) -> String {
    let title = item.title.to_lowercase();
    let text: Vec<&str> =
        title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("http://{}{}{}-{}", publisher.host, publisher.dir, item.number, text.join("-"))
}

fn paragraphs(item: &Item) -> String {
    item.text.iter().map(|text| format!("<p>{text}</p>")).collect()
}

/// The publisher's document.
pub(super) fn document(publisher: &Publisher, items: &[Item]) -> Document {
    match publisher.format {
        Format::Rss => rss(publisher, items, paragraphs),
        Format::Teaser => rss(publisher, items, |item| item.text.first().cloned().unwrap_or_default()),
        Format::Atom => atom(publisher, items),
        Format::Json => json_feed(publisher, items),
        Format::Index => index(publisher, items),
        Format::Page | Format::Timeline => match items.first() {
            Some(item) => article(item, publisher.name),
            None => Document::page(publisher.name, "", ""),
        },
    }
}

/// A page with one item.
pub(super) fn article(item: &Item, title: &str) -> Document {
    let Item { title: headline, author, at, .. } = item;
    let (text, day) = (paragraphs(item), at.to_string());
    let day = day.split('T').next().unwrap_or_default();
    let by = format!("<p>By {author} on <time datetime='{at}'>{day}</time></p>");
    Document::page(title, "", &format!("<article><h1>{headline}</h1>{by}{text}</article>"))
}

/// The publisher's home page, which links to its feed of this media type.
pub(super) fn home(publisher: &Publisher, feed: &str) -> Document {
    let Publisher { name, host, dir, .. } = publisher;
    let link = format!("<link rel=alternate type='{feed}' href='http://{host}{dir}{}'>", publisher.file());
    Document::page(name, &link, &format!("<main><h1>{name}</h1></main>"))
}

fn rss(publisher: &Publisher, items: &[Item], content: impl Fn(&Item) -> String) -> Document {
    let mut body = format!(
        "<?xml version='1.0'?><rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel><title>{}</title>",
        publisher.name
    );
    for item in items {
        let at =
            httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(item.at.as_millis().max(0) as u64));
        let (link, content) = (link(publisher, item), content(item));
        let Item { title, author, .. } = item;
        // Writing to a string cannot fail.
        let _ = write!(
            body,
            "<item><guid>{link}</guid><link>{link}</link><title>{title}</title><dc:creator>{author}</dc:creator>\
             <pubDate>{at}</pubDate><description><![CDATA[{content}]]></description></item>"
        );
    }
    Document { content_type: "application/rss+xml", body: body + "</channel></rss>" }
}

fn atom(publisher: &Publisher, items: &[Item]) -> Document {
    let mut body = format!(
        "<feed xmlns='http://www.w3.org/2005/Atom'><id>{}</id><title>{}</title>",
        publisher.url(),
        publisher.name
    );
    for item in items {
        let (link, content) = (link(publisher, item), paragraphs(item));
        let Item { title, author, at, .. } = item;
        let _ = write!(
            body,
            "<entry><id>{link}</id><link href='{link}'/><title>{title}</title><author><name>{author}</name></author>\
             <published>{at}</published><updated>{at}</updated><content type='html'><![CDATA[{content}]]></content></entry>"
        );
    }
    Document { content_type: "application/atom+xml", body: body + "</feed>" }
}

fn json_feed(publisher: &Publisher, items: &[Item]) -> Document {
    let item = |item: &Item| {
        json!({
            "id": link(publisher, item), "url": link(publisher, item), "title": item.title,
            "authors": [{ "name": item.author }], "date_published": item.at.to_string(),
            "content_html": paragraphs(item),
        })
    };
    let items: Vec<_> = items.iter().map(item).collect();
    let feed =
        json!({ "version": "https://jsonfeed.org/version/1.1", "title": publisher.name, "items": items });
    Document { content_type: "application/feed+json", body: feed.to_string() }
}

fn index(publisher: &Publisher, items: &[Item]) -> Document {
    let item = |item: &Item| {
        let (link, title, at) = (link(publisher, item), &item.title, item.at);
        format!("<article><h2><a href='{link}'>{title}</a></h2><time datetime='{at}'>{at}</time></article>")
    };
    let items: String = items.iter().map(item).collect();
    Document::page(publisher.name, "", &format!("<h1>{}</h1><main>{items}</main>", publisher.name))
}

/// X's answer about an account.
pub(super) fn account(id: usize, handle: &str) -> Document {
    x(&json!({ "data": { "id": id.to_string(), "username": handle, "name": handle } }))
}

/// X's answer with the posts of an account after `since`.
pub(super) fn timeline(id: usize, handle: &str, items: &[Item], since: u64) -> Document {
    let tweet = |item: &Item| {
        let (number, at) = (item.number.to_string(), item.at.to_string());
        json!({ "id": number, "author_id": id.to_string(), "created_at": at, "text": item.title })
    };
    let data: Vec<_> = items.iter().filter(|item| item.number > since).map(tweet).collect();
    let users = [json!({ "id": id.to_string(), "username": handle, "name": handle })];
    let mut answer = json!({ "meta": { "result_count": data.len() } });
    if !data.is_empty() {
        answer =
            json!({ "data": data, "includes": { "users": users }, "meta": { "result_count": data.len() } });
    }
    x(&answer)
}

fn x(value: &serde_json::Value) -> Document {
    Document { content_type: "application/json; charset=utf-8", body: value.to_string() }
}
