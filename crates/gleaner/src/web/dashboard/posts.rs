//! Posts: found by words, collection and source; and one of them to be read, as safe as text.

use askama::Template;
use askama::filters::HtmlSafe;
use axum::Router;
use axum::extract::RawQuery;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use gleaner_core::time::Time;

use super::form_input::PathParam;
use super::{Oops, POLICY, Page, Shell, Visit, words};
use crate::service::{Collection, Post, PostFilter, Reading, SafeHtml, Shown, dated};
use crate::web::Web;

/// How many are on a page.
const PAGE: u32 = 30;
/// How much of a text is shown in a list.
const START: usize = 240;
/// The longest search.
const LONGEST: usize = 500;

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/posts", get(list)).route("/posts/{id}", get(read))
}

/// What the service made safe is shown as it is.
impl HtmlSafe for SafeHtml {}

/// What is looked for, as the address says it.
#[derive(Default)]
struct Asked {
    q: String,
    from: String,
    collection: Option<i64>,
    source: Option<i64>,
    before: Option<i64>,
}

impl Asked {
    /// Whoever writes an address by hand gets what can be made of it.
    fn read(query: &str) -> Self {
        let mut asked = Self::default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            let text: String = value.replace('\0', "").trim().chars().take(LONGEST).collect();
            match &*name {
                "q" => asked.q = text,
                "from" => asked.from = text,
                "collection" => asked.collection = text.parse().ok(),
                "source" => asked.source = text.parse().ok(),
                "before" => asked.before = text.parse().ok(),
                _ => {}
            }
        }
        asked
    }

    fn filter(&self) -> PostFilter {
        PostFilter {
            source_ids: self.source.into_iter().collect(),
            collection_id: self.collection,
            text: Some(self.q.clone()).filter(|text| !text.is_empty()),
            ..PostFilter::default()
        }
    }

    fn is_everything(&self) -> bool {
        self.q.is_empty() && self.from.is_empty() && self.collection.is_none() && self.source.is_none()
    }

    /// The address that asks the same, before that post; `source` may be left out.
    fn address(&self, before: Option<i64>, source: Option<i64>) -> String {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        for (name, text) in [("q", &self.q), ("from", &self.from)] {
            if !text.is_empty() {
                pairs.append_pair(name, text);
            }
        }
        for (name, id) in [("collection", self.collection), ("source", source), ("before", before)] {
            if let Some(id) = id {
                pairs.append_pair(name, &id.to_string());
            }
        }
        let query = pairs.finish();
        if query.is_empty() { "/posts".to_owned() } else { format!("/posts?{query}") }
    }
}

#[derive(Template)]
#[template(path = "posts.html")]
struct PostsPage {
    shell: Shell,
    asked: Asked,
    collections: Vec<Collection>,
    /// What the one source is called whose posts are looked for.
    of_source: Option<String>,
    rows: Vec<Row>,
    /// Where older ones are.
    older: Option<String>,
    /// Where the newest are, if that is elsewhere.
    newest: Option<String>,
    /// The same without the one source.
    of_all: String,
}

/// A post in a list.
struct Row {
    id: i64,
    title: String,
    source_id: i64,
    source: String,
    author: Option<String>,
    at: Time,
    published: bool,
    start: String,
}

async fn list(visit: Visit, RawQuery(query): RawQuery) -> Result<Page<PostsPage>, Oops> {
    let asked = Asked::read(query.as_deref().unwrap_or_default());
    let by = visit.by();
    let from = Some(asked.from.as_str()).filter(|text| !text.is_empty());
    let mut found = by.find_posts(asked.filter(), from, asked.before, PAGE + 1).await?;
    let more = found.posts.len() > PAGE as usize;
    found.posts.truncate(PAGE as usize);
    let last = found.posts.last().filter(|_| more).map(|post| post.id);
    let name = |id: i64| found.names.get(&id).cloned().unwrap_or_else(|| format!("source {id}"));
    let rows = found.posts.iter().map(|post| row(post, name(post.source_id))).collect();
    Ok(Page(PostsPage {
        shell: visit.shell("posts"),
        collections: by.collections().await?,
        of_source: asked.source.map(name),
        rows,
        older: last.map(|last| asked.address(Some(last), asked.source)),
        newest: asked.before.map(|_| asked.address(None, asked.source)),
        of_all: asked.address(None, None),
        asked,
    }))
}

fn row(post: &Post, source: String) -> Row {
    let content = &post.content;
    let title = content.title.as_deref().map(str::trim).filter(|title| !title.is_empty());
    let start = shortened(&content.body, START);
    Row {
        id: post.id,
        title: title.map_or_else(|| shortened(&content.body, 80), |title| shortened(title, 300)),
        source_id: post.source_id,
        source: if words::web_link(&source).is_some() { words::short(&source) } else { source },
        author: content.author.clone().filter(|author| !author.trim().is_empty()),
        at: dated(post),
        published: content.published_at.is_some(),
        // Where the beginning stands for the title, it is not said twice.
        start: if title.is_some() { start } else { String::new() },
    }
}

/// The beginning of a text, on one line, ended at a word where there is one.
fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().take(most).collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return if line.is_empty() { "(no text)".to_owned() } else { line };
    }
    let kept: String = line.chars().take(most).collect();
    let end = kept.rfind(' ').filter(|end| *end > most / 2).unwrap_or(kept.len());
    format!("{}…", kept.get(..end).unwrap_or(&kept))
}

#[derive(Template)]
#[template(path = "post.html")]
struct PostPage {
    shell: Shell,
    reading: Reading,
    title: String,
    source: String,
    images: bool,
}

impl PostPage {
    /// The page that it was published on, if it is one.
    fn original(&self) -> Option<&str> {
        self.reading.post.content.url.as_deref().and_then(words::web_link)
    }

    fn pictures(&self) -> String {
        words::count(self.reading.images as u64, "picture")
    }
}

async fn read(
    visit: Visit,
    PathParam(id): PathParam<i64>,
    RawQuery(query): RawQuery,
) -> Result<Response, Oops> {
    let query = query.unwrap_or_default();
    let images =
        url::form_urlencoded::parse(query.as_bytes()).any(|(name, value)| name == "images" && value == "1");
    let reading = visit.by().read_post(id, images).await?;
    let row = row(&reading.post, reading.source.clone());
    let page =
        PostPage { shell: visit.shell("posts"), title: row.title, source: row.source, images, reading };
    let mut response = Page(page).into_response();
    if images {
        // For this one answer, since its reader asked for it.
        let policy = POLICY.replace("img-src 'self' data:", "img-src 'self' data: https: http:");
        if let Ok(policy) = HeaderValue::try_from(policy) {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_what_is_asked_and_nothing_else() {
        assert_eq!(Asked::default().address(None, None), "/posts");
        let asked = Asked::read("q=a%26b&source=7&collection=x&before=3&nonsense=1");
        assert_eq!(asked.address(Some(9), asked.source), "/posts?q=a%26b&source=7&before=9");
        assert_eq!(asked.address(None, None), "/posts?q=a%26b");
    }

    #[test]
    fn texts_are_shortened_at_a_word() {
        assert_eq!(shortened(" a\n b ", 10), "a b");
        assert_eq!(shortened("one two three four", 10), "one two…");
        assert_eq!(shortened("ünbreakable-and-long", 5), "ünbre…");
        assert_eq!(shortened("", 5), "(no text)");
    }
}
