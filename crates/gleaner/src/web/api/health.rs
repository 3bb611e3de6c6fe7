//! Whether gleaner is all right: for whoever watches over processes, and for Prometheus.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use gleaner_core::time::Time;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Check, Readiness};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready)).routes(routes!(metrics))
}

/// It answers.
#[derive(Serialize, ToSchema)]
struct Alive {
    status: &'static str,
    version: &'static str,
}

/// Whether it can do its work, and what was looked at.
#[derive(Serialize, ToSchema)]
#[schema(as = Readiness)]
struct Shown {
    ready: bool,
    /// Since when there is a local network outage, in which nothing is polled but probes; null: there is none.
    #[schema(value_type = Option<String>, format = DateTime)]
    network_outage_since: Option<Time>,
    checks: Vec<ShownCheck>,
}

/// One thing that was looked at.
#[derive(Serialize, ToSchema)]
#[schema(as = Check)]
struct ShownCheck {
    name: &'static str,
    ok: bool,
    detail: String,
}

impl From<Check> for ShownCheck {
    fn from(Check { name, ok, detail }: Check) -> Self {
        Self { name, ok, detail }
    }
}

/// Whether the process answers at all.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()), responses((status = 200, body = Alive)))]
async fn alive() -> Json<Alive> {
    Json(Alive { status: "alive", version: env!("CARGO_PKG_VERSION") })
}

/// Whether it can do its work: the database answers, the scheduler is alive, and there is no local network outage.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, body = Shown),
    (status = 503, body = Shown, description = "Something is wrong; the checks say what"),
))]
async fn ready(State(web): State<Web>) -> (StatusCode, Json<Shown>) {
    let Readiness { ready, network_outage_since, checks } = web.service.readiness().await;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = checks.into_iter().map(ShownCheck::from).collect();
    (status, Json(Shown { ready, network_outage_since, checks }))
}

/// What is counted and measured, for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "Prometheus' text format", content_type = "text/plain", body = String),
))]
async fn metrics(whoever: As) -> Result<impl IntoResponse, Problem> {
    let text = whoever.by().metrics_text().await?;
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text))
}
