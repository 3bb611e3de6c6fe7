//! Tokens for programs.

use askama::Template;
use axum::response::{IntoResponse, Response};
use gleaner_core::time::{Span, Time};

use super::{Parts, ShownToken};
use crate::service::{Collection, Scope, ServiceError, TokenKind};
use crate::web::dashboard::form_input::FormInput;
use crate::web::dashboard::session::go;
use crate::web::dashboard::{Oops, Page, Shell, Visit};

/// For how many days a token may last, as people choose.
const DAYS: [(u64, &str); 5] =
    [(7, "a week"), (30, "30 days"), (90, "90 days"), (365, "a year"), (3650, "ten years")];
const USUAL: u64 = 365;

#[derive(Template)]
#[template(path = "settings_tokens.html")]
struct TokensPage {
    shell: Shell,
    parts: Parts,
    tokens: Vec<ShownToken>,
    made: Option<Made>,
    collections: Vec<Collection>,
    given: FormInput,
}

/// A token that was made just now: what it is called, what lets in, and until when.
struct Made {
    name: String,
    secret: String,
    expires_at: Time,
}

impl TokensPage {
    /// Collections that it could be limited to, by id and name, and whether they are ticked.
    fn limits(&self) -> impl Iterator<Item = (i64, &str, bool)> {
        let ticked = |id: i64| self.given.all("collection_id").any(|given| given == id.to_string());
        self.collections.iter().map(move |one| (one.id, one.name.as_str(), ticked(one.id)))
    }

    fn days(&self) -> impl Iterator<Item = (u64, &'static str, bool)> {
        let chosen = |days: u64| self.given.chose("days", &days.to_string(), days == USUAL);
        DAYS.into_iter().map(move |(days, words)| (days, words, chosen(days)))
    }
}

pub(super) async fn page(visit: Visit) -> Result<Response, Oops> {
    show(&visit, FormInput::default(), None).await
}

async fn show(visit: &Visit, given: FormInput, made: Option<Made>) -> Result<Response, Oops> {
    let tokens = visit.by().tokens(TokenKind::Api).await?;
    let tokens = tokens.into_iter().map(ShownToken::from).collect();
    let shell = visit.shell("settings");
    let (parts, collections) = (Parts::new(&shell, "/settings/tokens"), visit.by().collections().await?);
    let page = TokensPage { parts, shell, tokens, made, collections, given };
    Ok((page.given.status(), Page(page)).into_response())
}

pub(super) async fn make(visit: Visit, mut given: FormInput) -> Result<Response, Oops> {
    let days = given.get("days").parse().ok().filter(|days| (1..=3650).contains(days));
    let scopes: &[Scope] = match given.get("scopes") {
        "read" => &[Scope::Read],
        "read write" => &[Scope::Read, Scope::Write],
        _ => &[],
    };
    if days.is_none() {
        given.note("days", "a token lasts 1 to 3650 days");
    }
    if scopes.is_empty() {
        given.note("scopes", "choose what it may do");
    }
    if given.is_wrong() {
        return show(&visit, given, None).await;
    }
    let name = given.get("name").trim().to_owned();
    let (by, lasts) = (visit.by(), Span::from_days(days.unwrap_or(USUAL)));
    let limits: Vec<i64> = given.all("collection_id").filter_map(|id| id.parse().ok()).collect();
    let made = match limits.as_slice() {
        [] => by.create_token(&name, scopes, lasts).await,
        limits => by.create_limited_token(&name, scopes, limits, lasts).await,
    };
    match made {
        Ok(granted) => {
            let secret = granted.secret.expose().to_owned();
            let made = Made { name, secret, expires_at: granted.expires_at };
            show(&visit, FormInput::default(), Some(made)).await
        }
        Err(error) => show(&visit, given.refused_by(error)?, None).await,
    }
}

pub(super) async fn revoke(visit: Visit, given: FormInput) -> Result<Response, Oops> {
    let name = given.get("name");
    if !visit.by().revoke_token(TokenKind::Api, name).await? {
        return Err(ServiceError::missing("token", name).into());
    }
    Ok(go(&visit.web, "/settings/tokens", &format!("The token {name} lets nobody in any more.")))
}
