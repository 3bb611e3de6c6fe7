//! Import: a list dropped, pasted or fetched; how far it is, and what became of each line. And lists to take away.

use askama::Template;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequest as _, RawQuery, Request, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;

use gleaner_core::backfill::UnknownBackfill;

use super::form_input::{FormInput, PathParam, sentence};
use super::words::{count, grouped};
use super::{Oops, Page, Shell, Visit};
use crate::service::{
    Backfill, Collection, FIRST_POLLS_WITHIN, Format, ImportJob, Imported, Line, ListFrom, ListOptions,
    ServiceError,
};
use crate::web::{Problem, Web, api};

/// How many lines of each kind a page shows; a file has all that were told of.
const LINES: usize = 500;

pub(super) fn routes() -> Router<Web> {
    Router::new()
        .route("/import", get(page).post(begin))
        .route("/import/{id}", get(job))
        .route("/import/{id}/report", get(report))
        .route("/export", get(export))
}

#[derive(Template)]
#[template(path = "import.html")]
struct ImportPage {
    shell: Shell,
    collections: Vec<Collection>,
    given: FormInput,
}

async fn page(visit: Visit) -> Result<Response, Oops> {
    form(&visit, FormInput::default()).await
}

async fn form(visit: &Visit, given: FormInput) -> Result<Response, Oops> {
    let collections = visit.by().collections().await?;
    let status = given.status();
    Ok((status, Page(ImportPage { shell: visit.shell("import"), collections, given })).into_response())
}

/// Begins an import: of the body, where a script sends a file, else of what the form says.
async fn begin(visit: Visit, State(web): State<Web>, request: Request) -> Result<Response, Oops> {
    let kind = request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_vec()).unwrap_or_default();
    if kind.starts_with(b"application/x-www-form-urlencoded") {
        let given = FormInput::from_request(request, &web).await?;
        return begin_form(&visit, given).await;
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    let parameter = |name: &str| {
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let name = parameter("name").unwrap_or_else(|| "a file".to_owned());
    let collection_id = parameter("collection").and_then(|id| id.parse().ok());
    let bytes = Bytes::from_request(request, &web).await.map_err(|rejection| {
        let detail = format!("The file cannot be read: {}.", rejection.body_text());
        Problem::new(rejection.status(), "not_read", "The body cannot be read", detail)
    })?;
    // What a browser thinks that a file is says nothing about how it is written.
    let backfill = backfill(parameter("backfill").as_deref())?;
    let options = ListOptions { collection_id, backfill, ..ListOptions::default() };
    let id = web.service.begin_import(&visit.actor, &name, ListFrom::Bytes(bytes.into()), options).await?;
    Ok(Redirect::to(&format!("/import/{id}")).into_response())
}

/// Existing entries that first polls store; who imports a list wants to see something.
fn backfill(name: Option<&str>) -> Result<Backfill, ServiceError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(Backfill::Recent) };
    name.parse().map_err(|unknown: UnknownBackfill| ServiceError::invalid("backfill", unknown.to_string()))
}

async fn begin_form(visit: &Visit, mut given: FormInput) -> Result<Response, Oops> {
    let options = ListOptions {
        collection_id: given.some("collection").and_then(|id| id.parse().ok()),
        backfill: backfill(given.some("backfill"))?,
        ..ListOptions::default()
    };
    let (what, list) = match (given.some("url"), given.some("list")) {
        (Some(url), None) => (url.to_owned(), ListFrom::Url(url.to_owned())),
        (None, Some(list)) => ("a pasted list".to_owned(), ListFrom::Bytes(list.as_bytes().to_vec())),
        (Some(_), Some(_)) => {
            given.note("url", "this or the pasted list: leave one of them empty");
            return form(visit, given).await;
        }
        (None, None) => {
            given.note("list", "there is nothing to import yet: paste a list here, or say above where it is");
            return form(visit, given).await;
        }
    };
    match visit.web.service.begin_import(&visit.actor, &what, list, options).await {
        Ok(id) => Ok(Redirect::to(&format!("/import/{id}")).into_response()),
        Err(error) => form(visit, given.refused_by(error)?).await,
    }
}

#[derive(Template)]
#[template(path = "import_job.html")]
struct JobPage {
    shell: Shell,
    job: ImportJob,
    ended: Option<Ended>,
}

/// What became of an import.
enum Ended {
    Well(Report),
    Badly(String),
}

/// What became of a list.
struct Report {
    added: String,
    duplicates: String,
    bad: String,
    summary: String,
    /// What first polls do.
    outlook: String,
    lines: usize,
    bad_lines: Vec<Line>,
    duplicate_lines: Vec<Line>,
    /// Lines of each kind that are not shown here.
    more_bad: u64,
    more_duplicates: u64,
}

impl JobPage {
    fn how_far(&self) -> String {
        match (self.job.done, self.job.of) {
            (0, 0) => "Reading the list…".to_owned(),
            (done, of) if of >= done => format!("{} of about {}", grouped(done), count(of, "source")),
            (done, _) => count(done, "source"),
        }
    }
}

async fn job(visit: Visit, PathParam(id): PathParam<String>) -> Result<Page<JobPage>, Oops> {
    let mut job = visit.web.service.import_job(&visit.actor, &id).map_err(forgotten)?;
    let ended = job.ended.take().map(|ended| match ended {
        Ok(imported) => Ended::Well(told(imported)),
        Err(why) => Ended::Badly(sentence(&why)),
    });
    Ok(Page(JobPage { shell: visit.shell("import"), job, ended }))
}

/// Imports are remembered for an hour, and not over a restart.
fn forgotten(error: ServiceError) -> Oops {
    let mut problem = Problem::from(error);
    if problem.status == 404 {
        problem.title = "This import is not known any more";
        problem.detail =
            "What became of an import can be looked at for an hour, until gleaner is started again. What \
            it added is among the sources; importing the list once more skips what is there."
                .to_owned();
    }
    problem.into()
}

fn told(imported: Imported) -> Report {
    let Imported { added, duplicates, bad, collections, backfill, report } = imported;
    let lines = report.len();
    let (mut bad_lines, mut duplicate_lines): (Vec<Line>, Vec<Line>) =
        report.into_iter().partition(|line| line.outcome == "bad");
    bad_lines.truncate(LINES);
    duplicate_lines.truncate(LINES);
    let made = if collections > 0 {
        format!(", and {} made", count(collections, "collection"))
    } else {
        String::new()
    };
    Report {
        summary: format!("{} added{made}", count(added, "source")),
        outlook: match added {
            0 => String::new(),
            _ => format!(
                "First polls within {} minutes; they store {}.",
                FIRST_POLLS_WITHIN.as_mins(),
                backfill.description()
            ),
        },
        added: grouped(added),
        duplicates: grouped(duplicates),
        bad: grouped(bad),
        lines,
        more_bad: bad.saturating_sub(bad_lines.len() as u64),
        more_duplicates: duplicates.saturating_sub(duplicate_lines.len() as u64),
        bad_lines,
        duplicate_lines,
    }
}

/// All that was told of an import's lines, as a table for other programs.
async fn report(visit: Visit, PathParam(id): PathParam<String>) -> Result<Response, Oops> {
    let job = visit.web.service.import_job(&visit.actor, &id).map_err(forgotten)?;
    let Some(Ok(imported)) = job.ended else { return Err(Oops::missing(&format!("/import/{id}/report"))) };
    let cell = |text: &str| text.replace(['\t', '\n', '\r'], " ");
    let mut table = "line\toutcome\turl\tmessage\n".to_owned();
    for line in imported.report {
        let url = cell(line.url.as_deref().unwrap_or_default());
        table += &format!("{}\t{}\t{url}\t{}\n", line.line, line.outcome, cell(&line.message));
    }
    let headers = [
        (CONTENT_TYPE, "text/tab-separated-values; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"import.tsv\""),
    ];
    Ok((headers, table).into_response())
}

/// Sources as a list.
async fn export(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Oops> {
    let query = query.unwrap_or_default();
    let (mut format, mut collection) = (Format::Opml, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "format" => format = value.parse().map_err(|why: String| ServiceError::invalid("format", why))?,
            "collection" => collection = value.parse().ok(),
            _ => {}
        }
    }
    Ok(api::as_file(format, visit.by().export(format, collection).await?))
}
