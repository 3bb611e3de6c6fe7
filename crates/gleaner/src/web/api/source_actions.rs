//! What is done to sources beside editing: polled by hand, set aside, explained.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gleaner_core::follow::PageState;
use gleaner_core::health::Status;
use gleaner_core::identity::Skipped;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::source_types::{SourceResponse, StatusName};
use super::sources::tagged;
use crate::service::{BULK, Explanation, Poll, PollRequest, PolledNow, ServiceError, WaitingPage};
use crate::web::auth::As;
use crate::web::json::{Json, Path, Query};
use crate::web::params::Params;
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(poll))
        .routes(routes!(feed_disable))
        .routes(routes!(feed_enable))
        .routes(routes!(explain))
        .routes(routes!(polls))
        .routes(routes!(pages))
        .routes(routes!(retry_pages))
        .routes(routes!(latest_polls))
}

/// How to poll.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct How {
    /// Wait for the outcome.
    #[serde(default)]
    wait: bool,
    /// Even though its server asked to be left alone (`Retry-After`).
    #[serde(default)]
    force: bool,
}

/// A poll under way.
#[derive(Serialize, ToSchema)]
struct RunningPoll {
    /// Which poll, the same for everybody who asks while it runs.
    poll_id: String,
    source_id: i64,
}

/// A row of the history: one poll, or several unchanged ones.
#[derive(Serialize, ToSchema)]
#[schema(as = Poll)]
struct ShownPoll {
    id: i64,
    source_id: i64,
    #[schema(value_type = String, format = DateTime)]
    first_at: Time,
    #[schema(value_type = String, format = DateTime)]
    last_at: Time,
    /// How many polls it stands for.
    count: i64,
    /// `fetched`, `not_modified` or `failed`.
    outcome: String,
    error_type: Option<&'static str>,
    error_cause: Option<&'static str>,
    error: Option<String>,
    status_code: Option<u16>,
    duration_ms: u64,
    bytes: u64,
    /// Posts that were new; those that came from its article pages are counted as they come.
    new_posts: i64,
    updated_posts: i64,
    /// Article pages that it queued.
    pages: i64,
    /// How many of them were fetched.
    pages_fetched: i64,
    /// How many of them failed and are tried again.
    pages_failed: i64,
    /// How many of them were given up.
    pages_given_up: i64,
    /// How many entries were skipped, by reason.
    #[schema(value_type = Object)]
    skipped: Skipped,
    /// What was wrong with the document, though it could be read.
    note: Option<String>,
    /// What set the time of the next poll.
    rule: Option<String>,
    /// Why the failure does not count against the source: `incident` (its host failed as a whole), `own_network`.
    excused: Option<&'static str>,
    /// The id of that host incident or network outage.
    excused_by: Option<String>,
}

impl ShownPoll {
    fn of(source_id: i64, poll: Poll) -> Self {
        let Poll { id, first_at, count, new_posts, updated_posts, pages, record } = poll;
        let kind = record.error.as_ref().map(|(kind, _)| *kind);
        Self {
            id,
            source_id,
            first_at,
            last_at: record.at,
            count,
            outcome: record.outcome,
            error_type: kind.map(|kind| kind.name()),
            error_cause: kind.and_then(|kind| kind.cause()).map(|cause| cause.name()),
            error: record.error.map(|(_, message)| message),
            status_code: record.status_code,
            duration_ms: record.duration.as_millis(),
            bytes: record.bytes,
            new_posts,
            updated_posts,
            pages: pages.queued,
            pages_fetched: pages.fetched,
            pages_failed: pages.failed,
            pages_given_up: pages.given_up,
            skipped: record.skipped,
            note: record.note,
            rule: record.rule,
            excused: record.excused.map(|excuse| excuse.name()),
            excused_by: record.excused_by,
        }
    }
}

/// Poll a source now.
#[utoipa::path(post, path = "/sources/{id}/poll", tag = "sources", params(("id" = i64, Path), How), responses(
    (status = 200, description = "With wait=true: it has ended so", body = ShownPoll),
    (status = 202, description = "It is under way", body = RunningPoll),
    (status = 404, description = "There is no such source"),
    (status = 409, description = "It is disabled, or its server asked to be left alone; `at` says until when"),
))]
async fn poll(whoever: As, Path(id): Path<i64>, Query(how): Query<How>) -> Result<Response, Problem> {
    let How { wait, force } = how;
    Ok(match whoever.by().poll_now(id, PollRequest { wait, force }).await? {
        PolledNow::Running { id: poll_id } => {
            (StatusCode::ACCEPTED, Json(RunningPoll { poll_id, source_id: id })).into_response()
        }
        PolledNow::Done(poll) => Json(ShownPoll::of(id, *poll)).into_response(),
    })
}

/// Why a source is set aside.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// An error kind, which sets it aside for that kind's time, or words, which do so until somebody lifts it.
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Set a source aside.
#[utoipa::path(patch, path = "/sources/{id}/feed-disable", tag = "sources", params(("id" = i64, Path)),
    request_body = Reason, responses(
    (status = 200, body = SourceResponse),
    (status = 404, description = "There is no such source"),
    (status = 422, description = "Not valid"),
))]
async fn feed_disable(
    whoever: As,
    Path(id): Path<i64>,
    Json(reason): Json<Reason>,
) -> Result<Response, Problem> {
    whoever.by().set_aside(id, &reason.reason).await?;
    Ok(tagged(whoever.by().source(id).await?))
}

/// Lift a source's quarantine.
#[utoipa::path(patch, path = "/sources/{id}/feed-enable", tag = "sources", params(("id" = i64, Path)), responses(
    (status = 200, body = SourceResponse),
    (status = 404, description = "There is no such source"),
    (status = 409, description = "It is disabled, not set aside: PATCH it with {\"enabled\": true}"),
))]
async fn feed_enable(whoever: As, Path(id): Path<i64>) -> Result<Response, Problem> {
    whoever.by().lift(id).await?;
    Ok(tagged(whoever.by().source(id).await?))
}

/// Why a source is where it is.
#[derive(Serialize, ToSchema)]
#[schema(as = Explanation)]
struct ShownExplanation {
    #[schema(value_type = StatusName)]
    status: Status,
    /// What is the matter, in a sentence.
    summary: String,
    /// The rule that applies, and the policy it is from.
    rule: String,
    /// The polls that led there, newest first.
    evidence: Vec<String>,
    /// When the next poll is, and why then.
    next: String,
    /// What would change it.
    changes: Vec<String>,
    /// What was noticed beside its health, and what to do about it.
    notices: Vec<String>,
    /// Where its feed may be now: what its site advertises in its place.
    proposal: Option<String>,
    /// What is known beyond the source: of its host, of our own network, of when it publishes.
    around: Vec<String>,
}

impl From<Explanation> for ShownExplanation {
    fn from(told: Explanation) -> Self {
        let Explanation { status, summary, rule, evidence, next, changes, notices, proposal, around } = told;
        Self { status, summary, rule, evidence, next, changes, notices, proposal, around }
    }
}

/// Explain a source.
#[utoipa::path(get, path = "/sources/{id}/explain", tag = "sources", params(("id" = i64, Path)), responses(
    (status = 200, body = ShownExplanation),
    (status = 404, description = "There is no such source"),
))]
async fn explain(whoever: As, Path(id): Path<i64>) -> Result<Json<ShownExplanation>, Problem> {
    Ok(Json(whoever.by().explain(id).await?.into()))
}

/// Which sources.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LatestPollsRequest {
    /// At most 1000.
    #[schema(max_items = 1000)]
    ids: Vec<i64>,
}

#[derive(Serialize, ToSchema)]
struct LatestPollsResponse {
    items: Vec<ShownPoll>,
}

/// The latest poll of each of many sources, to follow polls that were asked for in bulk. Sources that were never polled,
/// and those that do not exist, are left out.
#[utoipa::path(post, path = "/sources/latest-polls", tag = "sources", request_body = LatestPollsRequest, responses(
    (status = 200, body = LatestPollsResponse),
    (status = 422, description = "Not valid"),
))]
async fn latest_polls(
    whoever: As,
    Json(request): Json<LatestPollsRequest>,
) -> Result<Json<LatestPollsResponse>, Problem> {
    if request.ids.len() > BULK as usize {
        return Err(ServiceError::invalid("ids", format!("at most {BULK} at once")).into());
    }
    let mut polls: Vec<(i64, Poll)> = whoever.by().latest_polls(&request.ids).await?.into_iter().collect();
    polls.sort_by_key(|(source_id, _)| *source_id);
    let items = polls.into_iter().map(|(source_id, poll)| ShownPoll::of(source_id, poll)).collect();
    Ok(Json(LatestPollsResponse { items }))
}

/// List a source's polls, newest first.
#[utoipa::path(get, path = "/sources/{id}/polls", tag = "sources", params(("id" = i64, Path), Limit), responses(
    (status = 200, body = Page<ShownPoll>),
    (status = 404, description = "There is no such source"),
))]
async fn polls(
    whoever: As,
    Path(id): Path<i64>,
    mut params: Params,
) -> Result<Json<Page<ShownPoll>>, Problem> {
    let limit = params.limit();
    params.done()?;
    let polls = whoever.by().polls(id, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(polls, &limit, |poll| poll.id, |poll| ShownPoll::of(id, poll))))
}

/// An article page that waits, failed or was given up.
#[derive(Serialize, ToSchema)]
#[schema(as = WaitingPage)]
struct WaitingPageResponse {
    id: i64,
    source_id: i64,
    url: String,
    #[schema(value_type = PageStateName)]
    state: &'static str,
    /// How often it was tried.
    tries: i64,
    /// Why the latest try failed.
    error: Option<String>,
    /// When the latest try failed.
    #[schema(value_type = Option<String>, format = DateTime)]
    failed_at: Option<Time>,
    /// When it is tried next; null: it was given up.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_try_at: Option<Time>,
    /// When it was queued.
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
}

impl WaitingPageResponse {
    fn of(source_id: i64, page: WaitingPage) -> Self {
        let WaitingPage { id, url, state, tries, error, failed_at, next_try_at, created_at } = page;
        let state = state.name();
        Self { id, source_id, url, state, tries, error, failed_at, next_try_at, created_at }
    }
}

/// Where an article page stands.
#[derive(ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it stands for the core's own type in the API's document")]
enum PageStateName {
    /// It has not failed yet.
    Waiting,
    /// It has failed, and is tried again.
    Failed,
    /// It has failed too often; only a person retries it.
    GivenUp,
}

/// Which pages.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it stands for what is read one by one, so that all that is wrong is told")]
struct WhichPages {
    /// Of this state.
    #[param(inline)]
    state: Option<PageStateName>,
}

fn page_state(name: &str) -> Result<PageState, String> {
    let found = PageState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| {
        let (shown, names) = (name.chars().take(60).collect::<String>(), PageState::ALL.map(PageState::name));
        format!("there is no state '{shown}'; there are {}", names.join(", "))
    })
}

/// List a source's article pages that wait, failed or were given up.
#[utoipa::path(get, path = "/sources/{id}/pages", tag = "sources", params(("id" = i64, Path), WhichPages, Limit),
    responses(
    (status = 200, body = Page<WaitingPageResponse>),
    (status = 404, description = "There is no such source"),
))]
async fn pages(
    whoever: As,
    Path(id): Path<i64>,
    mut params: Params,
) -> Result<Json<Page<WaitingPageResponse>>, Problem> {
    let (limit, state) = (params.limit(), params.one("state", page_state));
    params.done()?;
    let pages = whoever.by().waiting_pages(id, state, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(pages, &limit, |page| page.id, |page| WaitingPageResponse::of(id, page))))
}

/// How many pages are retried.
#[derive(Serialize, ToSchema)]
struct RetriedPages {
    source_id: i64,
    /// How many pages were given up before and are due now.
    retried: u64,
}

/// Retry the article pages of a source that were given up.
#[utoipa::path(post, path = "/sources/{id}/pages/retry", tag = "sources", params(("id" = i64, Path)), responses(
    (status = 200, body = RetriedPages),
    (status = 404, description = "There is no such source"),
))]
async fn retry_pages(whoever: As, Path(id): Path<i64>) -> Result<Json<RetriedPages>, Problem> {
    let retried = whoever.by().retry_pages(id).await?;
    Ok(Json(RetriedPages { source_id: id, retried }))
}
