//! What happened: as a list, and live as server-sent events.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream};
use gleaner_core::time::{Span, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{EventQuery, EventStream, News, ServiceError, Told, ToldSource};
use crate::web::auth::As;
use crate::web::json::{Json, Query};
use crate::web::list::within;
use crate::web::{Limit, Page, Problem, Web};

/// How often something is sent to a reader for whom there is nothing, so that nobody in between hangs up.
const HEARTBEAT: Span = Span::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(follow))
}

/// Something that happened.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
struct Shown {
    /// Its place among all events: stable, and the same in streams and webhooks.
    id: i64,
    /// `post.created`, `source.failing`, …
    #[serde(rename = "type")]
    kind: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    source: Option<EventSource>,
    /// What happened. For posts: `posts`, each with `id`, `title`, `url`, `author`, `published_at`, `revision`.
    data: Value,
}

/// The source that an event is about.
#[derive(Serialize, ToSchema)]
struct EventSource {
    id: i64,
    /// None where it was deleted.
    url: Option<String>,
    name: Option<String>,
}

impl From<Told> for Shown {
    fn from(Told { id, kind, created_at, source, data }: Told) -> Self {
        let source = source.map(|ToldSource { id, url, name }| EventSource { id, url, name });
        Self { id, kind, created_at, source, data }
    }
}

/// Which way a list goes.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// The oldest first.
    Asc,
    /// The newest first.
    #[default]
    Desc,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Types, separated by commas, such as `post.created` or `source.*`; all where it is not said.
    r#type: Option<String>,
    /// About this source.
    source_id: Option<i64>,
    /// The newest first, or the oldest.
    #[serde(default)]
    #[param(inline)]
    order: Order,
    /// How many to list; 50 where it is not said, 500 at most.
    #[serde(default, deserialize_with = "within")]
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Where to go on: `next_cursor` of the page before, or the id of an event.
    cursor: Option<i64>,
}

/// Which events to follow.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Followed {
    /// Types, separated by commas, such as `post.created` or `source.*`; all where it is not said.
    r#type: Option<String>,
    /// About this source.
    source_id: Option<i64>,
    /// From after this event on; the header `Last-Event-ID` goes before it. Neither: from now on.
    after: Option<i64>,
}

/// List events.
#[utoipa::path(get, path = "/events", tag = "events", params(Which), responses(
    (status = 200, body = Page<Shown>),
    (status = 422, description = "No such type"),
))]
async fn list(whoever: As, Query(which): Query<Which>) -> Result<Json<Page<Shown>>, Problem> {
    let Which { r#type, source_id, order, limit, cursor } = which;
    let query = EventQuery { kinds: r#type.unwrap_or_default(), source_id };
    let limit = Limit { limit, cursor };
    let count = limit.count() + 1;
    let events = match order {
        Order::Desc => whoever.by().events(&query, cursor, count).await?,
        Order::Asc => whoever.by().events_after(&query, cursor.unwrap_or(0), count).await?,
    };
    Ok(Json(Page::of(events, &limit, |told| told.id, Shown::from)))
}

/// Follow events as they happen, as server-sent events: `id` and `event` as in the list, `data` the whole event.
///
/// After a break, `Last-Event-ID` or `after` goes on where it was, without a gap and without doubles. Where what was
/// asked for is not kept any more, an event `gap` says so.
#[utoipa::path(get, path = "/events/stream", tag = "events", params(
    Followed,
    ("Last-Event-ID" = Option<i64>, Header, description = "The last event that was received"),
), responses(
    (status = 200, content_type = "text/event-stream", body = String),
    (status = 422, description = "No such type, or no number of an event"),
    (status = 429, description = "You have as many streams open as `api.max_streams_per_user` allows; see Retry-After"),
    (status = 503, description = "As many streams are open as `api.max_streams` allows; see Retry-After"),
))]
async fn follow(
    whoever: As,
    State(web): State<Web>,
    Query(followed): Query<Followed>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Followed { r#type, source_id, after } = followed;
    let query = EventQuery { kinds: r#type.unwrap_or_default(), source_id };
    let after = last_event_id(&headers)?.or(after);
    let heartbeat = KeepAlive::new().interval(web.service.real_duration(HEARTBEAT));
    let events = EventStream::open(web.service, whoever.actor().clone(), &query, after).await?;
    let sent = Sse::new(sent(events)).keep_alive(heartbeat);
    // Proxies that gather answers before they pass them on would hold every event back.
    Ok(([("x-accel-buffering", "no")], sent).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<i64>, ServiceError> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    let wrong = || ServiceError::invalid("Last-Event-ID", "Last-Event-ID is the id of an event, a number");
    number.map(Some).ok_or_else(wrong)
}

fn sent(events: EventStream) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(Some(events), |events| async {
        let mut events = events?;
        match events.next().await {
            Ok(Some(news)) => Some((Ok(written(&news)), Some(events))),
            Ok(None) => None,
            // The reader comes again, with the last id it has.
            Err(error) => {
                tracing::warn!(%error, "a stream of events broke off");
                None
            }
        }
    })
}

fn written(news: &News) -> Event {
    match news {
        News::Event(told) => Event::default().id(told.id.to_string()).event(&told.kind).data(told.to_json()),
        News::Gap { after, resumed_after } => {
            let message =
                "events after the one asked for are not kept any more; list what is there, and go on";
            let data = json!({ "after": after, "resumed_after": resumed_after, "message": message });
            Event::default().id(resumed_after.to_string()).event("gap").data(data.to_string())
        }
    }
}
