//! Webhooks: where events are sent, signed and in order, and what became of each.

use axum::http::StatusCode;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{self, Delivery, Webhook};
use crate::web::auth::As;
use crate::web::json::{Json, Path, Query};
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(read, edit, delete))
        .routes(routes!(test))
        .routes(routes!(deliveries))
        .routes(routes!(replay))
}

/// A webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
struct Shown {
    id: i64,
    owner_id: i64,
    name: String,
    url: String,
    /// Types such as `post.created` or `source.*`; empty: all.
    events: Vec<String>,
    enabled: bool,
    /// The last event that was dealt with.
    last_event_id: i64,
    /// How often in a row its target failed.
    failures: u32,
    #[schema(value_type = Option<String>, format = DateTime)]
    failing_since: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_try_at: Option<Time>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

impl From<Webhook> for Shown {
    fn from(webhook: Webhook) -> Self {
        let names = webhook.events.split(',').filter(|name| !name.is_empty());
        let events = names.map(str::to_owned).collect();
        Self {
            id: webhook.id,
            owner_id: webhook.owner_id,
            name: webhook.name,
            url: webhook.url,
            events,
            enabled: webhook.enabled,
            last_event_id: webhook.progress.last_seq,
            failures: webhook.progress.failures,
            failing_since: webhook.progress.failing_since,
            next_try_at: webhook.progress.next_try_at,
            created_at: webhook.created_at,
            updated_at: webhook.updated_at,
        }
    }
}

/// A webhook that was made.
#[derive(Serialize, ToSchema)]
struct MadeWebhook {
    #[serde(flatten)]
    webhook: Shown,
    /// What its requests are signed with; it is shown this once.
    secret: String,
}

/// A webhook to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewWebhook {
    /// What to call it; its host where it is not said.
    name: Option<String>,
    /// Where events are sent.
    url: String,
    /// Types such as `post.created` or `source.*`; none: all.
    #[serde(default)]
    events: Vec<String>,
    #[serde(default = "yes")]
    enabled: bool,
}

const fn yes() -> bool {
    true
}

/// What to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct WebhookEdit {
    name: Option<String>,
    url: Option<String>,
    events: Option<Vec<String>>,
    enabled: Option<bool>,
}

/// An event on its way to a webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
struct ShownDelivery {
    id: i64,
    /// None: a test.
    event_id: Option<i64>,
    #[serde(rename = "type")]
    kind: String,
    /// `pending`, `delivered` or `given_up`.
    status: &'static str,
    tries: u32,
    /// What the target answered last.
    status_code: Option<u16>,
    error: Option<String>,
    duration_ms: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
    #[schema(value_type = Option<String>, format = DateTime)]
    tried_at: Option<Time>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_try_at: Option<Time>,
}

impl From<Delivery> for ShownDelivery {
    fn from(delivery: Delivery) -> Self {
        Self {
            id: delivery.id,
            event_id: delivery.seq,
            kind: delivery.kind,
            status: delivery.status.name(),
            tries: delivery.tries,
            status_code: delivery.status_code,
            error: delivery.error,
            duration_ms: delivery.duration.map(|span| span.as_millis()),
            created_at: delivery.created_at,
            tried_at: delivery.tried_at,
            next_try_at: delivery.next_try_at,
        }
    }
}

/// List one's own webhooks; for an admin, all.
#[utoipa::path(get, path = "/webhooks", tag = "webhooks", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let webhooks = whoever.by().webhooks().await?;
    Ok(Json(Page::whole(webhooks.into_iter().map(Shown::from).collect())))
}

/// Make a webhook for what happens from now on.
///
/// Each event is sent by `POST`, as in the event list, with `Gleaner-Event` (its type), `Gleaner-Delivery` (the same
/// at every try) and `Gleaner-Signature: t=TIME,v1=HMAC`, the HMAC-SHA256 of `TIME.BODY` in hexadecimal. Any 2xx takes
/// it; else it is tried again for a day.
#[utoipa::path(post, path = "/webhooks", tag = "webhooks", request_body = NewWebhook, responses(
    (status = 201, body = MadeWebhook),
    (status = 409, description = "One of that name is there already, or too many are"),
    (status = 422, description = "Not valid"),
))]
async fn create(
    whoever: As,
    Json(new): Json<NewWebhook>,
) -> Result<(StatusCode, Json<MadeWebhook>), Problem> {
    let NewWebhook { name, url, events, enabled } = new;
    let new = service::NewWebhook { name, url, events, enabled };
    let (webhook, secret) = whoever.by().create_webhook(&new).await?;
    let secret = secret.expose().to_owned();
    Ok((StatusCode::CREATED, Json(MadeWebhook { webhook: webhook.into(), secret })))
}

/// Read a webhook.
#[utoipa::path(get, path = "/webhooks/{id}", tag = "webhooks", params(("id" = i64, Path)), responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such webhook"),
))]
async fn read(whoever: As, Path(id): Path<i64>) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().webhook(id).await?.into()))
}

/// Change a webhook. One that is enabled again hears of what happens from then on.
#[utoipa::path(patch, path = "/webhooks/{id}", tag = "webhooks", params(("id" = i64, Path)),
    request_body = WebhookEdit, responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such webhook"),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn edit(
    whoever: As,
    Path(id): Path<i64>,
    Json(edit): Json<WebhookEdit>,
) -> Result<Json<Shown>, Problem> {
    let WebhookEdit { name, url, events, enabled } = edit;
    let edit = service::WebhookEdit { name, url, events, enabled };
    Ok(Json(whoever.by().edit_webhook(id, &edit).await?.into()))
}

/// Delete a webhook with its log.
#[utoipa::path(delete, path = "/webhooks/{id}", tag = "webhooks", params(("id" = i64, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such webhook"),
))]
async fn delete(whoever: As, Path(id): Path<i64>) -> Result<StatusCode, Problem> {
    whoever.by().delete_webhook(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send an event `webhook.test` at once, and tell what became of it.
#[utoipa::path(post, path = "/webhooks/{id}/test", tag = "webhooks", params(("id" = i64, Path)), responses(
    (status = 200, body = ShownDelivery),
    (status = 404, description = "There is no such webhook"),
))]
async fn test(whoever: As, Path(id): Path<i64>) -> Result<Json<ShownDelivery>, Problem> {
    Ok(Json(whoever.by().test_webhook(id).await?.into()))
}

/// List what was sent, the newest first.
#[utoipa::path(get, path = "/webhooks/{id}/deliveries", tag = "webhooks", params(("id" = i64, Path), Limit),
    responses(
    (status = 200, body = Page<ShownDelivery>),
    (status = 404, description = "There is no such webhook"),
))]
async fn deliveries(
    whoever: As,
    Path(id): Path<i64>,
    Query(limit): Query<Limit>,
) -> Result<Json<Page<ShownDelivery>>, Problem> {
    let rows = whoever.by().deliveries(id, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(rows, &limit, |delivery| delivery.id, ShownDelivery::from)))
}

/// Send something again, under the same `Gleaner-Delivery`.
#[utoipa::path(post, path = "/webhooks/{id}/deliveries/{delivery}/replay", tag = "webhooks",
    params(("id" = i64, Path), ("delivery" = i64, Path)), responses(
    (status = 202, body = ShownDelivery),
    (status = 404, description = "There is no such webhook or delivery"),
    (status = 409, description = "It was a test, the event is not kept any more, or the webhook is disabled"),
))]
async fn replay(
    whoever: As,
    Path((id, delivery)): Path<(i64, i64)>,
) -> Result<(StatusCode, Json<ShownDelivery>), Problem> {
    let replayed = whoever.by().replay_delivery(id, delivery).await?;
    Ok((StatusCode::ACCEPTED, Json(replayed.into())))
}
