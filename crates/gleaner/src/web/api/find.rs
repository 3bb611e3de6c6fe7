//! What a URL is: tried without storing anything, or added as what it turns out to be.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::source_types::{Fields, SameUrlResponse, Shown};
use super::sources::also_in;
use crate::service::{Checks, SourceFields, Trial};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(look)).routes(routes!(find))
}

/// What to look at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// A feed, or a page that names one.
    url: String,
    /// Whether it would be added with its old entries, as people add sources.
    #[serde(default = "yes")]
    backfill: bool,
}

const fn yes() -> bool {
    true
}

/// A source that was added.
#[derive(Serialize, ToSchema)]
struct Found {
    source: Shown,
    /// What could not be found out about it, though it was added.
    note: Option<String>,
    /// Sources with the same URL in other collections.
    also_in: Vec<SameUrlResponse>,
}

/// Look at a URL: what the first poll of it would store, or which feeds it names. Nothing is stored.
#[utoipa::path(post, path = "/try", tag = "sources", request_body = Asked, responses(
    (status = 200, description = "`url`, `title`, `entries` with a `verdict` each, `feeds`, `notes`", body = Value),
    (status = 422, description = "It cannot be fetched, or is nothing that can be polled"),
))]
async fn look(whoever: As, Json(asked): Json<Asked>) -> Result<Json<Trial>, Problem> {
    Ok(Json(whoever.by().try_url(&asked.url, asked.backfill).await?))
}

/// Look at a URL and add what it is: the feed itself, by its title, or the feed that a page names. It is polled at once.
#[utoipa::path(post, path = "/sources/find", tag = "sources", request_body = Fields, responses(
    (status = 201, body = Found),
    (status = 409, description = "The collection has that URL already; `id` says under which id"),
    (status = 422, description = "Not valid, or a page that names several feeds, which `detail` lists, or none"),
))]
async fn find(
    whoever: As,
    Json(body): Json<Map<String, Value>>,
) -> Result<(StatusCode, Json<Found>), Problem> {
    let mut checks = Checks::default();
    let fields = SourceFields::read(&body, &mut checks);
    let (source, note) = whoever.by().find_source(fields, checks).await?;
    let also_in = also_in(&whoever, &source).await?;
    Ok((StatusCode::CREATED, Json(Found { source: source.into(), note, also_in })))
}
