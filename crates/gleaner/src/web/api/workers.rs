//! The processes that serve from one database.

use gleaner_core::time::Time;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::WorkerNow;
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A process that serves from this database, as it last told.
#[derive(Serialize, ToSchema)]
#[schema(as = Worker)]
struct Shown {
    /// Its machine, its number there, and chance; no other is ever called so.
    name: String,
    /// `worker`: it polls; `api`: it answers; `all`: both.
    role: String,
    version: String,
    #[schema(value_type = String, format = DateTime)]
    started_at: Time,
    #[schema(value_type = String, format = DateTime)]
    seen_at: Time,
    /// It has not been heard from for a minute. Its hosts are taken over; after a day it is forgotten.
    silent: bool,
    /// How many hosts it holds.
    hosts: u64,
    /// How many polls it has made since it started.
    polls: u64,
    /// How many new posts it has found.
    posts: u64,
    /// How fast it has polled lately.
    polls_per_hour: u64,
    /// How late its polls have begun lately, on average; none: there were none.
    due_lag_seconds: Option<f64>,
    /// Since when nothing answers it at all.
    #[schema(value_type = Option<String>, format = DateTime)]
    network_down_since: Option<Time>,
}

impl From<WorkerNow> for Shown {
    fn from(WorkerNow { worker, silent }: WorkerNow) -> Self {
        Self {
            name: worker.name,
            role: worker.role,
            version: worker.version,
            started_at: worker.started_at,
            seen_at: worker.seen_at,
            silent,
            hosts: worker.hosts,
            polls: worker.polls,
            posts: worker.posts,
            polls_per_hour: worker.polls_per_hour,
            due_lag_seconds: worker.due_lag.map(|lag| lag.as_millis() as f64 / 1000.0),
            network_down_since: worker.network_down_since,
        }
    }
}

/// List the processes that serve from this database.
#[utoipa::path(get, path = "/workers", tag = "workers", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let workers = whoever.by().workers().await?;
    Ok(Json(Page::whole(workers.into_iter().map(Shown::from).collect())))
}
