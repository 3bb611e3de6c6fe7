//! What the API is, for programs: `/api/v1/openapi.json`.

use std::sync::OnceLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi, PartialSchema as _, ToSchema as _};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::web::{Problem, Web};

/// The document around the routes.
#[derive(OpenApi)]
#[openapi(
    info(title = "gleaner", description = "A self-healing source poller: sources, what was collected, and what happened."),
    modifiers(&Security),
    security(("token" = []))
)]
pub(super) struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("JWT").build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(token));
    }
}

pub(super) fn routes() -> OpenApiRouter<Web> {
    OpenApiRouter::new().routes(routes!(document))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "about", responses((status = 200, description = "OpenAPI 3.1")))]
async fn document() -> impl IntoResponse {
    openapi_document()
}

/// The document itself.
pub(in crate::web) fn openapi_document() -> impl IntoResponse {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| crate::web::openapi().to_json().unwrap_or_default());
    ([(CONTENT_TYPE, "application/json")], text.as_str())
}

/// What any request may be answered with, besides what its route says.
const ANYWHERE: [(&str, &str); 8] = [
    ("400", "The request cannot be read"),
    ("401", "Without a good token"),
    ("403", "The token does not grant this"),
    ("408", "It took too long to send"),
    ("413", "What was sent is too large"),
    ("415", "What was sent is no JSON"),
    ("429", "Too often; see Retry-After"),
    ("503", "The database cannot be used now; see Retry-After"),
];

/// The document, with what is the same everywhere: every failure is a problem, and some can happen anywhere.
pub(in crate::web) fn described(mut document: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    let components = document.components.get_or_insert_default();
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    let mut schemas = Vec::new();
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    for item in document.paths.paths.values_mut() {
        let methods =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete].into_iter();
        methods.flatten().for_each(describe);
    }
    document
}

fn describe(operation: &mut Operation) {
    let responses = &mut operation.responses.responses;
    for (status, description) in ANYWHERE {
        let response = || RefOr::T(ResponseBuilder::new().description(description).build());
        responses.entry(status.to_owned()).or_insert_with(response);
    }
    let schema = || Ref::from_schema_name(Problem::name());
    let failures = responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5']));
    for (_, response) in failures {
        if let RefOr::T(response) = response {
            let content = ContentBuilder::new().schema(Some(schema())).build();
            response.content.insert("application/problem+json".to_owned(), RefOr::T(content));
        }
    }
}
