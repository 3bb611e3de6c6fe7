//! Previewing a URL, and adding what it turns out to be.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::source_types::{SameUrlResponse, SourceEditRequest, SourceResponse};
use super::sources::also_in;
use crate::service::{Backfill, Checks, Preview, SourceFields};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(preview)).routes(routes!(find))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PreviewRequest {
    /// A feed or a page.
    url: String,
    /// Whether the source would be added with the entries that exist already.
    #[serde(default = "yes")]
    backfill: bool,
}

const fn yes() -> bool {
    true
}

#[derive(Serialize, ToSchema)]
struct Found {
    source: SourceResponse,
    /// What could not be found out about it, though it was added.
    note: Option<String>,
    /// Sources with the same URL in other collections.
    also_in: Vec<SameUrlResponse>,
}

/// Preview a URL: what the first poll of it would store, and other ways to follow it. Nothing is stored.
#[utoipa::path(post, path = "/try", tag = "sources", request_body = PreviewRequest, responses(
    (status = 200, description = "The best way to follow it: `kind`, `url`, `title`, `entries` with a `verdict` each, `notes`; \
        and `alternatives` of the same form", body = Value),
    (status = 422, description = "It cannot be fetched, or is nothing that can be polled"),
))]
async fn preview(whoever: As, Json(request): Json<PreviewRequest>) -> Result<Json<Preview>, Problem> {
    let backfill = if request.backfill { Backfill::All } else { Backfill::None };
    Ok(Json(whoever.by().preview_url(&request.url, backfill).await?))
}

/// Preview a URL and add what it is: the feed itself, by its title, or the feed that a page names. It is polled at once.
#[utoipa::path(post, path = "/sources/find", tag = "sources", request_body = SourceEditRequest, responses(
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
