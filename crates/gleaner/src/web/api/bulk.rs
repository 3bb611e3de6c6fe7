//! One action on many sources, each for itself.

use gleaner_core::health::Status;
use gleaner_core::source::Kind;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::source_types::{BulkFieldsRequest, KindName, StatusName};
use crate::service::{BULK, BulkAction, BulkOf, ServiceError, SourceFilter};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::{Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(bulk))
}

/// An action on many sources.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Bulk)]
struct BulkRequest {
    /// These sources, 1000 at most; or a filter.
    ids: Option<Vec<i64>>,
    /// Sources as a list shows them, 1000 at a time.
    filter: Option<BulkFilter>,
    /// Cursor of a filter: `next_cursor` of the previous response.
    cursor: Option<i64>,
    action: Action,
    /// Of `move`: the collection to move to.
    collection_id: Option<i64>,
    /// Of `edit`: the fields to set.
    #[schema(value_type = Option<BulkFieldsRequest>)]
    fields: Option<Map<String, Value>>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Action {
    Enable,
    Disable,
    Poll,
    /// Set fields, which `fields` has.
    Edit,
    /// The same as `edit` with `collection_id`.
    Move,
    Delete,
}

/// Filter of sources, as in a list; an empty one means all.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BulkFilter {
    #[schema(value_type = Option<StatusName>)]
    status: Option<Status>,
    #[schema(value_type = Option<KindName>)]
    kind: Option<Kind>,
    host: Option<String>,
    collection_id: Option<i64>,
    q: Option<String>,
    #[serde(default)]
    feed_active: bool,
    #[serde(default)]
    suspect: bool,
}

/// Result for each source.
#[derive(Serialize, ToSchema)]
#[schema(as = BulkAnswer)]
struct BulkResponse {
    items: Vec<BulkItemResponse>,
    /// Cursor of the next sources; null: all are done.
    next_cursor: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BulkItem)]
struct BulkItemResponse {
    id: i64,
    ok: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Do the same to many sources; the response has the result for each.
#[utoipa::path(post, path = "/sources/bulk", tag = "sources", request_body = BulkRequest, responses(
    (status = 200, body = BulkResponse),
    (status = 422, description = "Not valid"),
))]
async fn bulk(whoever: As, Json(bulk): Json<BulkRequest>) -> Result<Json<BulkResponse>, Problem> {
    let action = match (bulk.action, bulk.collection_id) {
        (Action::Enable, _) => BulkAction::Enable,
        (Action::Disable, _) => BulkAction::Disable,
        (Action::Poll, _) => BulkAction::Poll,
        (Action::Delete, _) => BulkAction::Delete,
        (Action::Edit, _) => BulkAction::Edit(bulk.fields.unwrap_or_default()),
        (Action::Move, Some(id)) => BulkAction::move_to(id),
        (Action::Move, None) => {
            return Err(ServiceError::invalid("collection_id", "say where to move them").into());
        }
    };
    let of = match (bulk.ids, bulk.filter) {
        (Some(ids), None) if ids.len() <= BULK as usize => BulkOf::Ids(ids),
        (Some(_), None) => return Err(ServiceError::invalid("ids", format!("at most {BULK} at once")).into()),
        (None, Some(filter)) => BulkOf::Filter(Box::new(filter.read(whoever.by().now())), bulk.cursor),
        _ => return Err(ServiceError::invalid("ids", "say which sources: either ids or filter").into()),
    };
    let done = whoever.by().bulk(&of, &action).await?;
    let one = |(id, done): (i64, Result<_, ServiceError>)| BulkItemResponse {
        id,
        ok: done.is_ok(),
        problem: done.err().map(Problem::from),
    };
    Ok(Json(BulkResponse { items: done.each.into_iter().map(one).collect(), next_cursor: done.next }))
}

impl BulkFilter {
    fn read(self, now: Time) -> SourceFilter {
        SourceFilter {
            status: self.status,
            kind: self.kind,
            host: self.host,
            collection_id: self.collection_id,
            text: self.q,
            active_at: self.feed_active.then_some(now),
            suspect: self.suspect,
            ..SourceFilter::default()
        }
    }
}
