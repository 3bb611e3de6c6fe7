//! Policies: the tables in effect, and who goes by them.

use gleaner_core::overlay::{self, PolicyOverlay};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::PolicyInUse;
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read))
}

/// A policy.
#[derive(Serialize, ToSchema)]
#[schema(as = Policy)]
struct Shown {
    name: String,
    /// Whether sources that name none go by it.
    default: bool,
    /// How many sources go by it.
    sources: u64,
    /// What each kind of error does, in the words of a config file.
    #[schema(value_type = Object)]
    table: PolicyOverlay,
}

impl From<PolicyInUse<'_>> for Shown {
    fn from(PolicyInUse { policy, is_default, sources }: PolicyInUse<'_>) -> Self {
        Self { name: policy.name.clone(), default: is_default, sources, table: overlay::table(policy) }
    }
}

/// List all policies.
#[utoipa::path(get, path = "/policies", tag = "policies", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let by = whoever.by();
    let policies = by.policies().await?;
    Ok(Json(Page::whole(policies.into_iter().map(Shown::from).collect())))
}

/// Read a policy.
#[utoipa::path(get, path = "/policies/{name}", tag = "policies", params(("name" = String, Path)), responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is none of that name"),
))]
async fn read(whoever: As, Path(name): Path<String>) -> Result<Json<Shown>, Problem> {
    let by = whoever.by();
    Ok(Json(by.policy(&name).await?.into()))
}
