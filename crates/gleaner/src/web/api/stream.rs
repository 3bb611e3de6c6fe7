//! The stream of events to NATS: how far it has got, and sent again.

use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Resent, StreamNow};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(read)).routes(routes!(replay))
}

/// How far the stream has got.
#[derive(Serialize, ToSchema)]
#[schema(as = Stream)]
struct Shown {
    /// Whether anything was ever streamed.
    used: bool,
    /// Events up to this one are with the broker.
    last_event_id: Option<i64>,
    /// How many events wait.
    waiting: u64,
    /// How many messages the broker took.
    sent: i64,
    #[schema(value_type = Option<String>, format = DateTime)]
    sent_at: Option<Time>,
    /// Since when nothing can be sent.
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    /// Why.
    error: Option<String>,
    /// Which process sends.
    sent_by: Option<String>,
}

impl From<Option<StreamNow>> for Shown {
    fn from(stream: Option<StreamNow>) -> Self {
        let used = stream.is_some();
        let (waiting, stream) = stream.map_or((0, None), |now| (now.waiting, Some(now.stream)));
        Self {
            used,
            last_event_id: stream.as_ref().map(|stream| stream.last_seq),
            waiting,
            sent: stream.as_ref().map_or(0, |stream| stream.sent),
            sent_at: stream.as_ref().and_then(|stream| stream.sent_at),
            failing_since: stream.as_ref().and_then(|stream| stream.failing_since),
            error: stream.as_ref().and_then(|stream| stream.error.clone()),
            sent_by: stream.and_then(|stream| stream.lease).map(|(owner, _)| owner),
        }
    }
}

/// What to send again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EventReplay {
    /// Events since then.
    #[schema(value_type = String, format = DateTime)]
    since: Time,
}

/// What is sent again.
#[derive(Serialize, ToSchema)]
struct EventsReplayed {
    /// From this event on.
    first_event_id: i64,
    /// How many events that are.
    events: u64,
}

/// How far the stream of events to NATS has got.
#[utoipa::path(get, path = "/stream", tag = "events", responses((status = 200, body = Shown)))]
async fn read(whoever: As) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().stream().await?.into()))
}

/// Send events to NATS again, under the ids that they had. Only an admin may.
#[utoipa::path(post, path = "/events/replay", tag = "events", request_body = EventReplay, responses(
    (status = 200, body = EventsReplayed),
    (status = 409, description = "Nothing was ever streamed from here"),
    (status = 422, description = "Not valid"),
))]
async fn replay(whoever: As, Json(asked): Json<EventReplay>) -> Result<Json<EventsReplayed>, Problem> {
    let Resent { first, events } = whoever.by().replay_events(asked.since).await?;
    Ok(Json(EventsReplayed { first_event_id: first, events }))
}
