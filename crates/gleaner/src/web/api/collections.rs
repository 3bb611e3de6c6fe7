//! Collections: groups of sources, each with an owner whose keys serve it.

use axum::http::StatusCode;
use gleaner_core::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::service::{Collection, CollectionChange};
use crate::web::auth::As;
use crate::web::json::{Json, Path};
use crate::web::{Page, Problem, Web};

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(read, edit, delete))
}

/// A collection.
#[derive(Serialize, ToSchema)]
#[schema(as = Collection)]
struct Shown {
    id: i64,
    name: String,
    owner_id: i64,
    /// Seen by its owner and admins only, with all that is in it.
    private: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Time,
}

impl From<Collection> for Shown {
    fn from(Collection { id, name, owner_id, private, created_at }: Collection) -> Self {
        Self { id, name, owner_id, private, created_at }
    }
}

/// A collection to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewCollection {
    name: String,
    /// Whether its owner and admins alone see it, and all that is in it.
    #[serde(default)]
    private: bool,
}

/// What to change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CollectionEdit {
    name: Option<String>,
    /// The name of the user who is to own it.
    owner: Option<String>,
    /// Whether its owner and admins alone see it, and all that is in it.
    private: Option<bool>,
}

/// List the collections that one may see.
#[utoipa::path(get, path = "/collections", tag = "collections", responses((status = 200, body = Page<Shown>)))]
async fn list(whoever: As) -> Result<Json<Page<Shown>>, Problem> {
    let collections = whoever.by().collections().await?;
    Ok(Json(Page::whole(collections.into_iter().map(Shown::from).collect())))
}

/// Add a collection of one's own.
#[utoipa::path(post, path = "/collections", tag = "collections", request_body = NewCollection, responses(
    (status = 201, body = Shown),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn create(whoever: As, Json(new): Json<NewCollection>) -> Result<(StatusCode, Json<Shown>), Problem> {
    let collection = whoever.by().add_collection(&new.name, new.private).await?;
    Ok((StatusCode::CREATED, Json(collection.into())))
}

/// Read a collection.
#[utoipa::path(get, path = "/collections/{id}", tag = "collections", params(("id" = i64, Path)), responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such collection"),
))]
async fn read(whoever: As, Path(id): Path<i64>) -> Result<Json<Shown>, Problem> {
    Ok(Json(whoever.by().collection(id).await?.into()))
}

/// Rename a collection, give it to another user, or make it private. For its owner and admins.
#[utoipa::path(patch, path = "/collections/{id}", tag = "collections", params(("id" = i64, Path)),
    request_body = CollectionEdit, responses(
    (status = 200, body = Shown),
    (status = 404, description = "There is no such collection"),
    (status = 409, description = "One of that name is there already"),
    (status = 422, description = "Not valid"),
))]
async fn edit(
    whoever: As,
    Path(id): Path<i64>,
    Json(edit): Json<CollectionEdit>,
) -> Result<Json<Shown>, Problem> {
    let CollectionEdit { name, owner, private } = edit;
    let change = CollectionChange { name: name.as_deref(), owner: owner.as_deref(), private };
    let collection = whoever.by().edit_collection(id, &change).await?;
    Ok(Json(collection.into()))
}

/// Delete a collection that holds no sources. For its owner and admins.
#[utoipa::path(delete, path = "/collections/{id}", tag = "collections", params(("id" = i64, Path)), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is no such collection"),
    (status = 409, description = "It holds sources"),
))]
async fn delete(whoever: As, Path(id): Path<i64>) -> Result<StatusCode, Problem> {
    whoever.by().delete_collection(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
