//! Output feeds, for readers that have no headers: their token stands in their URL.
//!
//! They are outside the API, open to the middleware, and closed by themselves: whatever is wrong, token or name, the
//! answer is that there is nothing. Posts are other people's words: all is escaped, and what XML cannot hold is left
//! out. Absent on purpose: a link to the feed itself, which would repeat its token.

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use gleaner_core::time::Time;
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_128;

use super::Web;
use super::json::Path;
use super::problem::{Problem, no_such_route};
use crate::service::{FeedContent, FeedItem, OutputFeed, ServiceError, StoreError};

/// How many events the feed of events has where the reader does not say, and at most.
const USUAL_EVENTS: u32 = 50;
const MAX_EVENTS: u32 = 200;
/// The feed of events; a collection of that name has its posts as JSON.
const EVENTS: &str = "events.atom";

/// Where feeds are. The name is a collection's, with how it is written after a dot.
pub(super) fn routes() -> Router<Web> {
    Router::new().route("/feeds/{file}", get(feed))
}

/// How a feed is written.
#[derive(Clone, Copy)]
enum Format {
    Atom,
    Json,
}

async fn feed(
    State(web): State<Web>,
    Path(file): Path<String>,
    RawQuery(query): RawQuery,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match read(&web, &file, query.as_deref().unwrap_or_default()).await {
        Ok((feed, format)) => answer(&feed, format, &headers),
        // Nobody learns which of them it was.
        Err(ServiceError::Unauthenticated(_) | ServiceError::Store(StoreError::NotFound { .. })) => {
            no_such_route(uri, HeaderMap::new()).await
        }
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn read(web: &Web, file: &str, query: &str) -> Result<(OutputFeed, Format), ServiceError> {
    let parameter = |name: &str| {
        url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let token = parameter("token").unwrap_or_default();
    let reader = web.service.feed_reader(&token).await?;
    let limit = parameter("limit").and_then(|limit| limit.parse::<u32>().ok()).map(|limit| limit.max(1));
    let events = limit.unwrap_or(USUAL_EVENTS).min(MAX_EVENTS);
    let by = web.service.by(&reader);
    match file.rsplit_once('.') {
        _ if file == EVENTS => Ok((by.events_feed(events).await?, Format::Atom)),
        Some((name, "atom")) => Ok((by.collection_feed(name, limit).await?, Format::Atom)),
        Some((name, "json")) => Ok((by.collection_feed(name, limit).await?, Format::Json)),
        _ => Err(ServiceError::missing("feed", file)),
    }
}

fn answer(feed: &OutputFeed, format: Format, asked: &HeaderMap) -> Response {
    let (content_type, body) = match format {
        Format::Atom => ("application/atom+xml; charset=utf-8", atom(feed)),
        Format::Json => ("application/feed+json; charset=utf-8", json_feed(feed).to_string()),
    };
    let etag = format!("\"{:032x}\"", xxh3_128(body.as_bytes()));
    let known = is_known(asked, &etag, feed.updated_at);
    let mut response = if known { StatusCode::NOT_MODIFIED.into_response() } else { body.into_response() };
    let headers = response.headers_mut();
    if !known {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    for (name, value) in [(ETAG, etag), (LAST_MODIFIED, http_date(feed.updated_at))] {
        // Digits and dates: they always fit.
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    response
}

/// Whether a reader has this already. The time is asked only where there is no tag, since it tells seconds alone.
fn is_known(asked: &HeaderMap, etag: &str, updated_at: Time) -> bool {
    let text = |name| asked.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if let Some(tags) = text(IF_NONE_MATCH) {
        return tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag);
    }
    let since = text(IF_MODIFIED_SINCE).and_then(|date| httpdate::parse_http_date(date).ok());
    since.is_some_and(|since| since >= to_second(updated_at))
}

fn to_second(time: Time) -> std::time::SystemTime {
    let seconds = u64::try_from(time.as_millis() / 1000).unwrap_or(0);
    // Past the year 9999 there are no dates in headers.
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.min(253_402_300_799))
}

fn http_date(time: Time) -> String {
    httpdate::fmt_http_date(to_second(time))
}

fn atom(feed: &OutputFeed) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n",
    );
    element(&mut xml, "id", &feed.id);
    element(&mut xml, "title", &feed.title);
    element(&mut xml, "updated", &feed.updated_at.to_string());
    xml.push_str("<author><name>gleaner</name></author>\n<generator>gleaner</generator>\n");
    for item in &feed.items {
        entry(&mut xml, item);
    }
    xml.push_str("</feed>\n");
    xml
}

fn entry(xml: &mut String, item: &FeedItem) {
    xml.push_str("<entry>\n");
    element(xml, "id", &item.id);
    element(xml, "title", &item.title);
    if let Some(url) = &item.url {
        xml.push_str("<link rel=\"alternate\" href=\"");
        escape(xml, url);
        xml.push_str("\"/>\n");
    }
    if let Some(published_at) = item.published_at {
        element(xml, "published", &published_at.to_string());
    }
    element(xml, "updated", &item.updated_at.to_string());
    if let Some(author) = &item.author {
        xml.push_str("<author>");
        element(xml, "name", author);
        xml.push_str("</author>\n");
    }
    if let Some(source) = &item.source {
        xml.push_str("<source>");
        element(xml, "title", source);
        xml.push_str("</source>\n");
    }
    let (kind, text) = match &item.content {
        FeedContent::Html(html) => ("html", html),
        FeedContent::Text(text) => ("text", text),
    };
    xml.push_str("<content type=\"");
    xml.push_str(kind);
    xml.push_str("\">");
    escape(xml, text);
    xml.push_str("</content>\n</entry>\n");
}

fn element(xml: &mut String, name: &str, text: &str) {
    for part in ["<", name, ">"] {
        xml.push_str(part);
    }
    escape(xml, text);
    for part in ["</", name, ">\n"] {
        xml.push_str(part);
    }
}

/// Text as XML can hold it.
fn escape(xml: &mut String, text: &str) {
    for char in text.chars().filter(is_text) {
        match char {
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '&' => xml.push_str("&amp;"),
            '"' => xml.push_str("&quot;"),
            '\'' => xml.push_str("&#39;"),
            char => xml.push(char),
        }
    }
}

/// No control characters but those that make lines, and nothing that XML has no place for.
fn is_text(char: &char) -> bool {
    match char {
        '\t' | '\n' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        char => !char.is_control(),
    }
}

fn json_feed(feed: &OutputFeed) -> Value {
    let plain = |text: &str| text.chars().filter(is_text).collect::<String>();
    let item = |item: &FeedItem| {
        let mut object = json!({
            "id": item.id,
            "title": plain(&item.title),
            "date_modified": item.updated_at,
        });
        let (key, text) = match &item.content {
            FeedContent::Html(html) => ("content_html", html),
            FeedContent::Text(text) => ("content_text", text),
        };
        object[key] = plain(text).into();
        if let Some(url) = &item.url {
            object["url"] = plain(url).into();
        }
        if let Some(published_at) = item.published_at {
            object["date_published"] = published_at.to_string().into();
        }
        if let Some(author) = &item.author {
            object["authors"] = json!([{ "name": plain(author) }]);
        }
        if let Some(source) = &item.source {
            object["tags"] = json!([plain(source)]);
        }
        object
    };
    json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": plain(&feed.title),
        "items": feed.items.iter().map(item).collect::<Vec<_>>(),
    })
}
