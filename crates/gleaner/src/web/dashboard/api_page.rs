//! The API's document, for who is logged in here.

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;

use crate::web::Web;
use crate::web::api;

/// Where programs find the same.
const DOCUMENT: &str = "/api/openapi.json";

pub(super) fn routes() -> Router<Web> {
    Router::new().route("/api", get(page)).route(DOCUMENT, get(document))
}

async fn page() -> impl IntoResponse {
    api::docs_page(DOCUMENT)
}

async fn document() -> impl IntoResponse {
    api::openapi_document()
}
