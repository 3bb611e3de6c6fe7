//! Hosts: who is asked, one at a time, and who is left alone.

use gleaner_core::time::{Span, Time};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::Host;
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::params::Params;
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A host. One that may be asked several times at once is there once a slot.
#[derive(Serialize, ToSchema)]
#[schema(as = Host)]
struct Shown {
    id: i64,
    name: String,
    slot: u32,
    /// How many sources are asked from it.
    sources: i64,
    /// How many of them are failing or quarantined.
    failing: i64,
    /// It asked to be left alone until then.
    #[schema(value_type = Option<String>, format = DateTime)]
    hold_until: Option<Time>,
    /// When the first of its sources or pages is due; while it is being asked, when that must end.
    #[schema(value_type = Option<String>, format = DateTime)]
    next_due: Option<Time>,
    /// Who is asking it now.
    leased_by: Option<String>,
    /// It fails as a whole.
    incident: Option<Incident>,
    /// It refused to be asked more often: so many seconds lie between its sources.
    paced_seconds: Option<f64>,
}

/// A host that fails as a whole: nothing is held against its sources.
#[derive(Serialize, ToSchema)]
struct Incident {
    /// What its sources fail with.
    error: &'static str,
    /// The first failure.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
    /// Failures of how many sources were taken back.
    sources: u32,
    /// How often it has been asked since.
    probes: u32,
    /// When it is asked next.
    #[schema(value_type = String, format = DateTime)]
    probe_at: Time,
}

impl Shown {
    fn of(host: Host, now: Time) -> Self {
        let Host { id, name, slot, sources, failing, hold_until, next_due, lease, memory } = host;
        let leased_by = lease.filter(|(_, until)| *until > now).map(|(owner, _)| owner);
        let hold_until = hold_until.filter(|until| *until > now);
        let incident = memory.incidents.open.map(|open| Incident {
            error: open.kind.name(),
            since: open.since,
            sources: open.sources,
            probes: open.probes,
            probe_at: open.probe_at,
        });
        let gap = memory.pace.gap;
        let paced_seconds = (gap > Span::ZERO).then(|| gap.as_millis() as f64 / 1000.0);
        Self { id, name, slot, sources, failing, hold_until, next_due, leased_by, incident, paced_seconds }
    }
}

/// Which hosts.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it stands for what is read one by one, so that all that is wrong is told")]
struct Which {
    /// With this text in the name.
    q: Option<String>,
}

/// List hosts, by id.
#[utoipa::path(get, path = "/hosts", tag = "hosts", params(Which, Limit), responses(
    (status = 200, body = Page<Shown>),
))]
async fn list(whoever: As, mut params: Params) -> Result<Json<Page<Shown>>, Problem> {
    let (limit, text) = (params.limit(), params.text("q"));
    params.done()?;
    let hosts = whoever.by().hosts(text.as_deref(), limit.cursor, limit.count() + 1).await?;
    let now = whoever.by().now();
    Ok(Json(Page::of(hosts, &limit, |host| host.id, |host| Shown::of(host, now))))
}
