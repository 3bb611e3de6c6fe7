//! Sources: list, create, read, edit, delete. Other actions are in `source_actions.rs`.

use axum::http::header::{ETAG, IF_MATCH, LOCATION};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::source_types::{
    CreatedSource, SameUrlResponse, SourceCreateRequest, SourceEditRequest, SourceQuery, SourceResponse,
    source_query,
};
use crate::service::{Checks, Source, SourceFields};
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::params::Params;
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(read, edit, delete))
}

/// A source with its `ETag`.
pub(super) fn tagged(source: Source) -> Response {
    let tag = format!("\"{}\"", source.version);
    let mut response = Json(SourceResponse::from(source)).into_response();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

/// Versions that `If-Match` asks for; none: any.
fn expected(headers: &HeaderMap) -> Option<Vec<i64>> {
    let mut tags = headers.get_all(IF_MATCH).iter().peekable();
    tags.peek()?;
    let texts = tags.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    let texts: Vec<&str> = texts.map(str::trim).collect();
    if texts.contains(&"*") {
        return None;
    }
    // An unknown tag matches nothing.
    let version = |text: &&str| text.strip_prefix('"')?.strip_suffix('"')?.parse().ok();
    Some(texts.iter().filter_map(version).collect())
}

/// List sources, by id.
#[utoipa::path(get, path = "/sources", tag = "sources", params(SourceQuery, Limit), responses(
    (status = 200, body = Page<SourceResponse>),
))]
async fn list(whoever: As, params: Params) -> Result<Json<Page<SourceResponse>>, Problem> {
    let (filter, limit) = source_query(params, whoever.by().now())?;
    let sources = whoever.by().sources(&filter, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(sources, &limit, |source| source.id, SourceResponse::from)))
}

/// Add a source. It is polled at once. `also_in` names sources with the same URL in other collections.
#[utoipa::path(post, path = "/sources", tag = "sources", request_body = SourceCreateRequest, responses(
    (status = 201, body = CreatedSource),
    (status = 409, description = "The collection has that URL already; `id` says under which id"),
    (status = 422, description = "Not valid; `errors` names every field that is wrong"),
))]
async fn create(whoever: As, Json(body): Json<Map<String, Value>>) -> Result<Response, Problem> {
    let mut checks = Checks::default();
    let fields = SourceFields::read(&body, &mut checks);
    let source = whoever.by().create_source(&fields, checks).await?;
    let also_in = also_in(&whoever, &source).await?;
    let (location, tag) = (format!("/api/v1/sources/{}", source.id), format!("\"{}\"", source.version));
    let created = CreatedSource { source: source.into(), also_in };
    Ok((StatusCode::CREATED, [(LOCATION, location), (ETAG, tag)], Json(created)).into_response())
}

/// Sources with the same URL in other collections.
pub(super) async fn also_in(whoever: &As, source: &Source) -> Result<Vec<SameUrlResponse>, Problem> {
    let found = whoever.by().sources_with_url(&source.settings.url).await?;
    Ok(found.into_iter().filter(|other| other.source_id != source.id).map(SameUrlResponse::from).collect())
}

/// Read a source. Its `ETag` changes with every edit, and not with polls.
#[utoipa::path(get, path = "/sources/{id}", tag = "sources", params(("id" = i64, Path)), responses(
    (status = 200, body = SourceResponse, headers(("ETag" = String))),
    (status = 404, description = "There is no such source"),
))]
async fn read(whoever: As, Path(id): Path<i64>) -> Result<Response, Problem> {
    Ok(tagged(whoever.by().source(id).await?))
}

/// Change a source: only what is sent; null is the default again. With `If-Match`, only if nobody changed it since.
/// Another URL, and enabling it, clear every failure and make it due at once.
#[utoipa::path(patch, path = "/sources/{id}", tag = "sources",
    params(("id" = i64, Path), ("If-Match" = Option<String>, Header)), request_body = SourceEditRequest, responses(
    (status = 200, body = SourceResponse, headers(("ETag" = String))),
    (status = 404, description = "There is no such source"),
    (status = 409, description = "The collection has that URL already; `id` says under which id"),
    (status = 412, description = "Somebody else was faster; read it again"),
    (status = 422, description = "Not valid; `errors` names every field that is wrong"),
))]
async fn edit(
    whoever: As,
    Path(id): Path<i64>,
    headers: HeaderMap,
    Json(body): Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let mut checks = Checks::default();
    let fields = SourceFields::read(&body, &mut checks);
    let expected = expected(&headers);
    let source = whoever.by().change_source(id, expected.as_deref(), &fields, checks).await?;
    Ok(tagged(source))
}

/// Delete a source with its posts, what was seen of it, and its history. Articles stay.
#[utoipa::path(delete, path = "/sources/{id}", tag = "sources", params(("id" = i64, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such source"),
))]
async fn delete(whoever: As, Path(id): Path<i64>) -> Result<StatusCode, Problem> {
    whoever.by().delete_source(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
