//! Recorded polls under another policy.

use gleaner_core::overlay::PolicyOverlay;
use gleaner_core::replay::{Course, SetAside};
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{ReplayOf, ReplayPage, ReplayedSource, ServiceError, SourceFilter, Tried};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

/// How many sources are replayed at once where nobody says, and at most.
const USUAL: u32 = 50;
const MOST: u32 = 100;
/// What a table is called that has no name.
const NAMELESS: &str = "other";

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(replay))
}

/// What to replay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// A policy by its name; with `table`, what to call that.
    policy: Option<String>,
    /// A table that is tried, in the words of a config file: what it changes of its `base`.
    #[schema(value_type = Option<Object>)]
    table: Option<PolicyOverlay>,
    /// Polls before this are left out.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// Only these sources, at most 100.
    source_ids: Option<Vec<i64>>,
    /// Only sources of this collection.
    collection_id: Option<i64>,
    /// How many sources to replay; 50 where it is not said, 100 at most.
    #[schema(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// Where to go on: `next_cursor` of the answer before.
    cursor: Option<i64>,
}

/// What would have been different, for a page of sources.
#[derive(Serialize, ToSchema)]
#[schema(as = Replay)]
struct Answered {
    /// The policy that was tried.
    policy: String,
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    #[schema(value_type = String, format = DateTime)]
    until: Time,
    /// The earliest poll on this page; none: there was none.
    #[schema(value_type = Option<String>, format = DateTime)]
    earliest_poll_at: Option<Time>,
    /// How many sources all pages have.
    total: u64,
    /// How many sources this page stands for; those that would have been the same are counted only.
    sources: u64,
    /// The polls of all of them.
    requests: Both<u64>,
    /// Sources for which something would have been different.
    items: Vec<Item>,
    /// Where to go on; none: that were all.
    next_cursor: Option<i64>,
}

/// What was recorded, and what the other policy would have done.
#[derive(Serialize, ToSchema, Clone, Copy, Default)]
struct Both<T> {
    recorded: T,
    replayed: T,
}

/// A source for which something would have been different.
#[derive(Serialize, ToSchema)]
#[schema(as = ReplayedSource)]
struct Item {
    id: i64,
    url: String,
    /// The policy that it goes by.
    policy: String,
    requests: Both<u64>,
    /// How long it was set aside within the time.
    set_aside_seconds: Both<u64>,
    set_aside: Both<Vec<Aside>>,
    /// Posts that would have come later.
    late_posts: u64,
    /// How much later all of them together.
    late_seconds: u64,
    /// How much later the latest of them.
    latest_seconds: u64,
    /// Posts that would not have come until the end.
    missing_posts: u64,
}

/// A time in which a source was set aside.
#[derive(Serialize, ToSchema)]
#[schema(as = SetAside)]
struct Aside {
    #[schema(value_type = String, format = DateTime)]
    from: Time,
    /// None: it still was at the end.
    #[schema(value_type = Option<String>, format = DateTime)]
    to: Option<Time>,
    /// `quarantined` or `disabled`.
    status: &'static str,
    /// What it was set aside for.
    reason: &'static str,
}

/// Run the recorded polls through another policy: what would have been different. Nothing is changed.
#[utoipa::path(post, path = "/replay", tag = "policies", request_body = Asked, responses(
    (status = 200, body = Answered),
    (status = 404, description = "There is no such policy or source"),
    (status = 422, description = "Not valid; every mistake in a table is told"),
))]
async fn replay(whoever: As, Json(asked): Json<Asked>) -> Result<Json<Answered>, Problem> {
    let limit = asked.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(ServiceError::invalid("limit", format!("limit is from 1 to {MOST}")).into());
    }
    let tried = match (asked.policy, asked.table) {
        (name, Some(table)) => Tried::Table(name.unwrap_or_else(|| NAMELESS.to_owned()), Box::new(table)),
        (Some(name), None) => Tried::Named(name),
        (None, None) => {
            return Err(ServiceError::invalid("policy", "say which policy to try: policy or table").into());
        }
    };
    let of = match asked.source_ids {
        Some(ids) if ids.len() > MOST as usize => {
            return Err(ServiceError::invalid("source_ids", format!("at most {MOST} at once")).into());
        }
        Some(ids) => ReplayOf::Ids(ids),
        None => {
            let filter = SourceFilter { collection_id: asked.collection_id, ..SourceFilter::default() };
            ReplayOf::Filter(Box::new(filter), asked.cursor, limit)
        }
    };
    Ok(Json(whoever.by().replay(&tried, asked.since, &of).await?.into()))
}

impl From<ReplayPage> for Answered {
    fn from(page: ReplayPage) -> Self {
        let mut requests = Both::default();
        for source in &page.sources {
            requests.recorded += source.replayed.really.requests;
            requests.replayed += source.replayed.instead.requests;
        }
        let item = |source: &ReplayedSource| Item::of(source, &page);
        Self {
            policy: page.policy.clone(),
            since: page.window.since,
            until: page.window.until,
            earliest_poll_at: page.sources.iter().filter_map(|source| source.earliest).min(),
            total: page.total,
            sources: page.sources.len() as u64,
            requests,
            items: page.sources.iter().filter(|source| source.replayed.differs()).map(item).collect(),
            next_cursor: page.next,
        }
    }
}

impl Item {
    fn of(source: &ReplayedSource, page: &ReplayPage) -> Self {
        let seconds = |span: Span| span.as_millis() / 1000;
        let (really, instead) = (&source.replayed.really, &source.replayed.instead);
        let aside = |course: &Course| seconds(course.time_aside(page.window));
        let times = |course: &Course| course.set_aside.iter().map(Aside::of).collect();
        let late = source.replayed.late;
        Self {
            id: source.id,
            url: source.url.clone(),
            policy: source.policy.clone(),
            requests: Both { recorded: really.requests, replayed: instead.requests },
            set_aside_seconds: Both { recorded: aside(really), replayed: aside(instead) },
            set_aside: Both { recorded: times(really), replayed: times(instead) },
            late_posts: late.posts,
            late_seconds: seconds(late.total),
            latest_seconds: seconds(late.longest),
            missing_posts: late.missing,
        }
    }
}

impl Aside {
    fn of(aside: &SetAside) -> Self {
        Self { from: aside.from, to: aside.to, status: aside.status.name(), reason: aside.reason.name() }
    }
}
