//! Output feeds, and the tokens in their URLs.

use askama::Template;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use url::Url;

use super::{Parts, ShownToken, base};
use crate::service::{ServiceError, TokenKind};
use crate::web::dashboard::form_input::FormInput;
use crate::web::dashboard::session::go;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

#[derive(Template)]
#[template(path = "settings_feeds.html")]
struct FeedsPage {
    shell: Shell,
    parts: Parts,
    tokens: Vec<ShownToken>,
    /// The name of the token that was made just now.
    made: Option<String>,
    feeds: Vec<Feed>,
    given: FormInput,
}

/// An output feed, in the ways that it is written.
struct Feed {
    what: String,
    urls: Vec<(&'static str, String)>,
}

pub(super) async fn page(visit: Visit, headers: HeaderMap) -> Result<Response, Oops> {
    show(&visit, &headers, FormInput::default(), None).await
}

async fn show(
    visit: &Visit,
    headers: &HeaderMap,
    given: FormInput,
    made: Option<(String, String)>,
) -> Result<Response, Oops> {
    let by = visit.by();
    let tokens = by.tokens(TokenKind::Feed).await?.into_iter().map(ShownToken::from).collect();
    let collections = by.collections().await?;
    let token = made.as_ref().map_or("TOKEN", |(_, secret)| secret.as_str());
    let base = base(&visit.web, headers);
    let posts = collections.iter().map(|collection| Feed {
        what: format!("Posts of {}", collection.name),
        urls: [("Atom", "atom"), ("JSON", "json")]
            .map(|(title, format)| (title, address(&base, &format!("{}.{format}", collection.name), token)))
            .to_vec(),
    });
    let events = Feed {
        what: "What broke and what healed".to_owned(),
        urls: vec![("Atom", address(&base, "events.atom", token))],
    };
    let feeds = std::iter::once(events).chain(posts).collect();
    let shell = visit.shell("settings");
    let parts = Parts::new(&shell, "/settings/feeds");
    let page = FeedsPage { parts, shell, tokens, made: made.map(|(name, _)| name), feeds, given };
    Ok((page.given.status(), Page(page)).into_response())
}

/// Where a feed is; names of collections are anything.
fn address(base: &str, file: &str, token: &str) -> String {
    let Ok(mut url) = Url::parse(base) else { return String::new() };
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["feeds", file]);
    }
    url.query_pairs_mut().append_pair("token", token);
    url.into()
}

pub(super) async fn make(visit: Visit, headers: HeaderMap, given: FormInput) -> Result<Response, Oops> {
    let name = given.get("name").trim().to_owned();
    match visit.by().create_feed_token(&name).await {
        Ok(granted) => {
            let made = Some((name, granted.secret.expose().to_owned()));
            show(&visit, &headers, FormInput::default(), made).await
        }
        Err(error) => show(&visit, &headers, given.refused_by(error)?, None).await,
    }
}

pub(super) async fn revoke(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let name = given.get("name");
    if !visit.by().revoke_token(TokenKind::Feed, name).await? {
        return Err(ServiceError::missing("token", name).into());
    }
    Ok(go(&visit.web, "/settings/feeds", &format!("Feeds are not read by the token {name} any more.")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_collections_are_written_as_addresses() {
        let at = |name: &str| super::address("https://example.org/gleaner", name, "t&t");
        assert_eq!(at("events.atom"), "https://example.org/gleaner/feeds/events.atom?token=t%26t");
        assert_eq!(at("a/b ?c.json"), "https://example.org/gleaner/feeds/a%2Fb%20%3Fc.json?token=t%26t");
    }
}
