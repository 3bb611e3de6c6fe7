//! Lists of sources, in and out: OPML, and a JSON object a line.

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

/// Which list, and where it goes or comes from.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Which {
    /// `opml` or `json` (an object a line); where a list is imported, it can be told from the list itself.
    format: Option<String>,
    /// Only this collection; where a list is imported, all into this one.
    collection_id: Option<i64>,
    /// Of an import: existing entries that first polls store, where the list does not say it of a source: `none` (the
    /// default), `recent` (up to 10 of the newest within the maximum age) or `all`.
    backfill: Option<String>,
}

impl Which {
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

/// A list that is somewhere else.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    /// Where it is fetched from.
    url: String,
}

/// What became of a list.
#[derive(Serialize, ToSchema)]
#[schema(as = Imported)]
struct ShownImport {
    /// Sources that are new.
    added: u64,
    /// Sources that were there already, and stay as they are.
    duplicates: u64,
    /// Lines that are no source, and were left out.
    bad: u64,
    /// Collections that were made.
    collections: u64,
    /// Existing entries that first polls store: `none`, `recent` or `all`.
    backfill: &'static str,
    /// First polls are spread over this time.
    first_polls_within_seconds: u64,
    /// What was not added, and why; the first 10,000.
    report: Vec<ShownLine>,
}

/// A line that was not added.
#[derive(Serialize, ToSchema)]
#[schema(as = ImportedLine)]
struct ShownLine {
    /// From 1 up.
    line: u64,
    url: Option<String>,
    /// `duplicate` or `bad`.
    outcome: &'static str,
    /// What is wrong, and what was done.
    message: String,
    /// The source that is there already.
    id: Option<i64>,
}

impl From<Imported> for ShownImport {
    fn from(Imported { added, duplicates, bad, collections, backfill, report }: Imported) -> Self {
        let line = |Line { line, url, outcome, message, id }| ShownLine { line, url, outcome, message, id };
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
/// The body is the file, of up to 50 MB; or, as `application/json`, where to fetch it: `{"url": "https://…"}`. What is
/// good is kept, in batches; what is not is told line by line. Importing again skips what is there. Folders become
/// collections. First polls are spread over 5 minutes; `backfill` says what they store of what is there already.
#[utoipa::path(post, path = "/import", tag = "sources", params(Which), request_body(content(
    (Value = "text/x-opml"), (Value = "application/x-ndjson"), (Elsewhere = "application/json"),
)), responses(
    (status = 200, body = ShownImport),
    (status = 404, description = "There is no such collection"),
    (status = 422, description = "It is no list, or cannot be fetched"),
))]
async fn import(
    whoever: As,
    State(web): State<Web>,
    Query(which): Query<Which>,
    request: Request,
) -> Result<Json<ShownImport>, Problem> {
    let kind = request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec()).unwrap_or_default();
    let format = which.format()?;
    let (collection_id, backfill) = (which.collection_id, which.backfill()?);
    let imported = if kind.to_ascii_lowercase().starts_with(b"application/json") {
        let Json(Elsewhere { url }) = Json::from_request(request, &web).await?;
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

/// Export sources as a list that can be imported, here or elsewhere. Credentials are not in it.
#[utoipa::path(get, path = "/export", tag = "sources", params(Which), responses(
    (status = 200, description = "The list", content((String = "text/x-opml"), (String = "application/x-ndjson"))),
    (status = 404, description = "There is no such collection"),
    (status = 422, description = "No such format"),
))]
async fn export(whoever: As, Query(which): Query<Which>) -> Result<Response, Problem> {
    let format = which.format()?.unwrap_or(Format::Opml);
    let list = whoever.by().export(format, which.collection_id).await?;
    Ok(as_file(format, list))
}

/// A list as a file.
pub(in crate::web) fn as_file(format: Format, list: String) -> Response {
    let (kind, name) = match format {
        Format::Opml => ("text/x-opml; charset=utf-8", "attachment; filename=\"gleaner.opml\""),
        Format::Json => ("application/x-ndjson", "attachment; filename=\"gleaner.jsonl\""),
    };
    ([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], list).into_response()
}
