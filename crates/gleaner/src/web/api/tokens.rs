//! Tokens for programs and for output feeds: made, listed and revoked by name.

use axum::http::StatusCode;
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::login::AccessToken;
use crate::service::{Scope, ServiceError, Token, TokenKind};
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(revoke))
        .routes(routes!(list_feed, create_feed))
        .routes(routes!(revoke_feed))
}

/// A token, without what lets in.
#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
struct Shown {
    id: i64,
    name: String,
    scopes: String,
    /// The only collections that it opens; null: all that its user may see.
    collection_ids: Option<Vec<i64>>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Time,
    /// To the minute.
    #[schema(value_type = Option<String>, format = DateTime)]
    last_used_at: Option<Time>,
}

impl From<Token> for Shown {
    fn from(Token { id, token, last_used_at }: Token) -> Self {
        let (created_at, expires_at) = (token.created_at, token.expires_at);
        let (scopes, collection_ids) = (token.scopes, token.collection_ids);
        Self { id, name: token.name, scopes, collection_ids, created_at, expires_at, last_used_at }
    }
}

/// A token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewToken {
    /// What to call it.
    name: String,
    /// What it grants, separated by spaces: `read`, or `read write`.
    #[serde(default = "read")]
    scopes: String,
    /// For how many days; at most ten years.
    #[serde(default = "year")]
    #[schema(minimum = 1, maximum = 3650)]
    days: u32,
    /// The only collections that it opens, and nothing that is in none; not given: all that its user may see.
    #[schema(min_items = 1, max_items = 100)]
    collection_ids: Option<Vec<i64>>,
}

fn read() -> String {
    Scope::Read.name().to_owned()
}

const fn year() -> u32 {
    365
}

/// A feed token to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewFeedToken {
    /// What to call it.
    name: String,
    /// The only collections that it opens; not given: all that its user may see.
    #[schema(min_items = 1, max_items = 100)]
    collection_ids: Option<Vec<i64>>,
}

/// List one's own tokens for programs.
#[utoipa::path(get, path = "/tokens", tag = "access", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    shown(&whoever, TokenKind::Api).await
}

/// Make a token for a program. What lets in is shown this once.
#[utoipa::path(post, path = "/tokens", tag = "access", request_body = NewToken, responses(
    (status = 201, body = AccessToken),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn create(whoever: As, Json(new): Json<NewToken>) -> Result<(StatusCode, Json<AccessToken>), Problem> {
    let scopes = Scope::parse_all(&new.scopes);
    if scopes.is_empty() || scopes.len() != new.scopes.split_whitespace().count() {
        return Err(ServiceError::invalid("scopes", "scopes are 'read' or 'read write'").into());
    }
    if !(1..=3650).contains(&new.days) {
        return Err(ServiceError::invalid("days", "a token lasts 1 to 3650 days").into());
    }
    let (by, lasts) = (whoever.by(), Span::from_days(new.days.into()));
    let granted = match &new.collection_ids {
        Some(ids) => by.create_limited_token(&new.name, &scopes, ids, lasts).await?,
        None => by.create_token(&new.name, &scopes, lasts).await?,
    };
    Ok((StatusCode::CREATED, Json(granted.into())))
}

/// Revoke a token by its name.
#[utoipa::path(delete, path = "/tokens/{name}", tag = "access", params(("name" = String, Path)), responses(
    (status = 204, description = "It lets nobody in any more"),
    (status = 404, description = "There is none of that name"),
))]
async fn revoke(whoever: As, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    revoked(&whoever, TokenKind::Api, &name).await
}

/// List one's own tokens for output feeds.
#[utoipa::path(get, path = "/feed-tokens", tag = "access", responses((status = 200, body = Page<Shown>)))]
async fn list_feed(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    shown(&whoever, TokenKind::Feed).await
}

/// Make a token that reads output feeds, as part of their URL. It is shown this once.
#[utoipa::path(post, path = "/feed-tokens", tag = "access", request_body = NewFeedToken, responses(
    (status = 201, body = AccessToken),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn create_feed(
    whoever: As,
    Json(new): Json<NewFeedToken>,
) -> Result<(StatusCode, Json<AccessToken>), Problem> {
    let granted = match &new.collection_ids {
        Some(ids) => whoever.by().create_limited_feed_token(&new.name, ids).await?,
        None => whoever.by().create_feed_token(&new.name).await?,
    };
    Ok((StatusCode::CREATED, Json(granted.into())))
}

/// Revoke a feed token by its name.
#[utoipa::path(delete, path = "/feed-tokens/{name}", tag = "access", params(("name" = String, Path)), responses(
    (status = 204, description = "Its feeds are closed"),
    (status = 404, description = "There is none of that name"),
))]
async fn revoke_feed(whoever: As, Path(name): Path<String>) -> Result<StatusCode, Problem> {
    revoked(&whoever, TokenKind::Feed, &name).await
}

async fn shown(whoever: &As, kind: TokenKind) -> Result<Json<Page<Shown>>, Problem> {
    let tokens = whoever.by().tokens(kind).await?;
    Ok(Json(Page::whole(tokens.into_iter().map(Shown::from).collect())))
}

async fn revoked(whoever: &As, kind: TokenKind, name: &str) -> Result<StatusCode, Problem> {
    if whoever.by().revoke_token(kind, name).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ServiceError::missing("token", name).into())
}
