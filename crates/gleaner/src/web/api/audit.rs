//! The audit log: who changed what from where, and who logged in. For admins.

use gleaner_core::time::Time;
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{AuditEntry, AuditFilter, NewAudit};
use crate::web::auth::As;
use crate::web::json::Json;
use crate::web::params::{Params, time};
use crate::web::{Limit, Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A row of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
struct AuditResponse {
    id: i64,
    /// When it happened; where it happened several times, the latest.
    #[schema(value_type = String, format = DateTime)]
    at: Time,
    /// When it first happened.
    #[schema(value_type = String, format = DateTime)]
    first_at: Time,
    /// How often: logins from one address in one hour share a row.
    count: i64,
    /// Null where nobody was let in.
    user_id: Option<i64>,
    user_name: Option<String>,
    /// `token NAME`, `session`, `password`, `login link`, `command line (OS user NAME)`.
    via: String,
    /// Null where there was no network in between. Failed logins have the network of an IPv6 address.
    address: Option<String>,
    /// `source.update`, `login.failed`, …
    action: String,
    /// `source`, `collection`, `user`, …
    target_kind: String,
    target_id: Option<i64>,
    target_name: String,
    /// What changed: `[before, after]` by field; of what was made or deleted, some facts. Never a secret.
    #[schema(value_type = Option<Object>)]
    changes: Option<Value>,
}

impl From<AuditEntry> for AuditResponse {
    fn from(AuditEntry { id, entry, first_at, count }: AuditEntry) -> Self {
        let NewAudit { at, user_id, user_name, via, address, action, target_kind, target_id, .. } = entry;
        Self {
            id,
            at,
            first_at,
            count,
            user_id,
            user_name: Some(user_name).filter(|name| !name.is_empty()),
            via,
            address,
            action,
            target_kind,
            target_id,
            target_name: entry.target_name,
            changes: entry.changes.and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

/// Which rows.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "read by name, and described for the API's document")]
struct Which {
    /// By the user of this name.
    user: Option<String>,
    /// `source.update`, or `source` for all that was done to sources.
    action: Option<String>,
    /// Done to such a thing: `source`, `collection`, `user`, …
    target_kind: Option<String>,
    /// Done to the thing with this id.
    target_id: Option<i64>,
    /// From this address.
    address: Option<String>,
    /// At or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Time>,
    /// Before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    until: Option<Time>,
}

/// List the audit log, newest first. For admins.
#[utoipa::path(get, path = "/audit", tag = "users", params(Which, Limit), responses(
    (status = 200, body = Page<AuditResponse>),
))]
async fn list(whoever: As, mut params: Params) -> Result<Json<Page<AuditResponse>>, Problem> {
    let limit = params.limit();
    let filter = AuditFilter {
        user: params.text("user"),
        action: params.text("action"),
        target_kind: params.text("target_kind"),
        target_id: params.read("target_id"),
        address: params.text("address"),
        from: params.one("from", time),
        until: params.one("until", time),
    };
    params.done()?;
    let rows = whoever.by().audit_log(&filter, limit.cursor, limit.count() + 1).await?;
    Ok(Json(Page::of(rows, &limit, |row| row.id, AuditResponse::from)))
}
