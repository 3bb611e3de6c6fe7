//! Import and export of sources: OPML and JSON lines.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest as _, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use gleaner_core::backfill::UnknownBackfill;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Backfill, FIRST_POLLS_WITHIN, Format, Imported, Line, ListOptions, ServiceError};
use crate::web::auth::As;
use crate::web::json::{Json, Query};
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(import)).routes(routes!(export))
}

/// Format of a list, and its collection.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct ListQuery {
    /// `opml` or `json` (one object per line); an import detects it if it is not given.
    format: Option<String>,
    /// Only this collection; of an import: all sources go into it.
    collection_id: Option<i64>,
    /// Of an import: existing entries that first polls store, for sources of which the list does not say it: `none` (the
    /// default), `recent` (up to 10 of the newest within the maximum age) or `all`.
    backfill: Option<String>,
}

impl ListQuery {
    fn backfill(&self) -> Result<Backfill, ServiceError> {
        let backfill = self.backfill.as_deref().map(str::parse).transpose();
        let backfill = backfill.map_err(|unknown: UnknownBackfill| {
            ServiceError::invalid("backfill", format!("backfill: {unknown}"))
        });
        Ok(backfill?.unwrap_or_default())
    }

    fn format(&self) -> Result<Option<Format>, ServiceError> {
        let format = self.format.as_deref().map(str::parse).transpose();
        format.map_err(|why: String| ServiceError::invalid("format", why))
    }
}

/// A list to be fetched.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ListUrl {
    url: String,
}

/// Result of an import.
#[derive(Serialize, ToSchema)]
#[schema(as = Imported)]
struct ImportResponse {
    added: u64,
    /// Sources that already existed and were not changed.
    duplicates: u64,
    /// Lines that are not a valid source, and were left out.
    bad: u64,
    /// Collections that were created.
    collections: u64,
    /// Existing entries that first polls store: `none`, `recent` or `all`.
    backfill: &'static str,
    /// First polls are spread over this time.
    first_polls_within_seconds: u64,
    /// Lines that were not added; the first 10,000.
    report: Vec<ImportLineResponse>,
}

/// A line that was not added.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportedLine)]
struct ImportLineResponse {
    /// From 1.
    line: u64,
    url: Option<String>,
    /// `duplicate` or `bad`.
    outcome: &'static str,
    /// Reason, for people.
    message: String,
    /// The existing source.
    id: Option<i64>,
}

impl From<Imported> for ImportResponse {
    fn from(Imported { added, duplicates, bad, collections, backfill, report }: Imported) -> Self {
        let line =
            |Line { line, url, outcome, message, id }| ImportLineResponse { line, url, outcome, message, id };
        Self {
            added,
            duplicates,
            bad,
            collections,
            backfill: backfill.name(),
            first_polls_within_seconds: FIRST_POLLS_WITHIN.as_millis() / 1000,
            report: report.into_iter().map(line).collect(),
        }
    }
}

/// Import a list of sources.
///
/// The body is the file, of up to 50 MB; or, as `application/json`, where to fetch it: `{"url": "https://…"}`. Valid
/// lines are stored in batches, the others are reported one by one. Importing again skips existing sources. Folders become
/// collections. First polls are spread over 5 minutes; `backfill` says which existing entries they store.
#[utoipa::path(post, path = "/import", tag = "sources", params(ListQuery), request_body(content(
    (Value = "text/x-opml"), (Value = "application/x-ndjson"), (ListUrl = "application/json"),
)), responses(
    (status = 200, body = ImportResponse),
    (status = 404, description = "There is no such collection"),
    (status = 422, description = "It is no list, or cannot be fetched"),
))]
async fn import(
    whoever: As,
    State(web): State<Web>,
    Query(which): Query<ListQuery>,
    request: Request,
) -> Result<Json<ImportResponse>, Problem> {
    let kind = request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec()).unwrap_or_default();
    let format = which.format()?;
    let (collection_id, backfill) = (which.collection_id, which.backfill()?);
    let imported = if kind.to_ascii_lowercase().starts_with(b"application/json") {
        let Json(ListUrl { url }) = Json::from_request(request, &web).await?;
        let options = ListOptions { format, collection_id, backfill, ..ListOptions::default() };
        whoever.by().import_from(&url, options).await?
    } else {
        let body = Bytes::from_request(request, &web).await.map_err(not_read)?;
        let options = ListOptions { format, collection_id, backfill, content_type: kind };
        whoever.by().import(body.into(), options).await?
    };
    Ok(Json(imported.into()))
}

fn not_read(rejection: BytesRejection) -> Problem {
    let detail = format!("the list cannot be read: {}", rejection.body_text());
    Problem::new(rejection.status(), "not_read", "The body cannot be read", detail)
}

/// Export sources as a list that can be imported, here or elsewhere. JSON has every field that is not secret, and whether a
/// source is disabled or was quarantined by a person.
#[utoipa::path(get, path = "/export", tag = "sources", params(ListQuery), responses(
    (status = 200, description = "The list", content((String = "text/x-opml"), (String = "application/x-ndjson"))),
    (status = 404, description = "There is no such collection"),
    (status = 422, description = "No such format"),
))]
async fn export(whoever: As, Query(which): Query<ListQuery>) -> Result<Response, Problem> {
    let format = which.format()?.unwrap_or(Format::Opml);
    let list = whoever.by().export(format, which.collection_id).await?;
    Ok(as_file(format, list))
}

/// A list as a download.
pub(in crate::web) fn as_file(format: Format, list: String) -> Response {
    let (kind, name) = match format {
        Format::Opml => ("text/x-opml; charset=utf-8", "attachment; filename=\"gleaner.opml\""),
        Format::Json => ("application/x-ndjson", "attachment; filename=\"gleaner.jsonl\""),
    };
    ([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], list).into_response()
}
