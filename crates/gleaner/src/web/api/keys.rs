//! Keys for services: set by their owner, and read by none.

use axum::http::StatusCode;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::secret::Secret;
use crate::service::ServiceError;
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(set, delete))
}

/// A key, without what is secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Key)]
struct Shown {
    service: String,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Time,
}

/// A key to be set.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewKey {
    /// It is encrypted, and never shown.
    #[schema(min_length = 1, max_length = 4096, pattern = "^[!-~]+$")]
    key: String,
}

/// What a new key did.
#[derive(Serialize, ToSchema)]
struct KeySet {
    /// How many sources that failed for want of it are due now.
    woken: u64,
}

/// List the services that one has keys for.
#[utoipa::path(get, path = "/keys", tag = "access", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let keys = whoever.by().keys().await?;
    let shown = |(service, updated_at)| Shown { service, updated_at };
    Ok(Json(Page::whole(keys.into_iter().map(shown).collect())))
}

/// Set one's own key for a service. The sources that failed for want of one are due at once.
#[utoipa::path(put, path = "/keys/{service}", tag = "access", params(("service" = String, Path)),
    request_body = NewKey, responses(
    (status = 200, body = KeySet),
    (status = 422, description = "Not valid, or no service that takes a key"),
))]
async fn set(
    whoever: As,
    Path(service): Path<String>,
    Json(new): Json<NewKey>,
) -> Result<Json<KeySet>, Problem> {
    let woken = whoever.by().set_key(&whoever.actor().name, &service, &Secret::new(new.key)).await?;
    Ok(Json(KeySet { woken }))
}

/// Remove one's own key for a service.
#[utoipa::path(delete, path = "/keys/{service}", tag = "access", params(("service" = String, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There was none"),
    (status = 422, description = "No service that takes a key"),
))]
async fn delete(whoever: As, Path(service): Path<String>) -> Result<StatusCode, Problem> {
    if whoever.by().remove_key(&whoever.actor().name, &service).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(ServiceError::missing("key", &service).into())
}
