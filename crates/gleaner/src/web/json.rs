//! Bodies and parameters, with problems for people where they cannot be read.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::problem::Problem;

/// JSON in and out.
#[derive(Debug, Clone, Copy, FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub(crate) struct Json<T>(pub(crate) T);

/// Most answers fit in here.
const USUAL: usize = 4096;

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        // Into a plain vector: axum's own goes through a buffer that takes every comma as a write of its own.
        let mut body = Vec::with_capacity(USUAL);
        answered(serde_json::to_writer(&mut body, &self.0).map(|()| body))
    }
}

/// What was written, as an answer.
pub(crate) fn answered(written: serde_json::Result<Vec<u8>>) -> Response {
    match written {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written");
            let detail = format!("the answer could not be written: {error}");
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Problem::new(status, "internal", "gleaner is at fault", detail).into_response()
        }
    }
}

/// What stands in the path.
#[derive(Debug, Clone, Copy, FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub(crate) struct Path<T>(pub(crate) T);

/// What stands after the question mark.
#[derive(Debug, Clone, Copy, FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub(crate) struct Query<T>(pub(crate) T);

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        let (status, detail) = (rejection.status(), rejection.body_text());
        match status {
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
                status,
                "not_json",
                "It must be JSON",
                "send JSON, with Content-Type: application/json",
            ),
            StatusCode::PAYLOAD_TOO_LARGE => Problem::new(status, "too_large", "It is too large", detail),
            _ => Problem::new(status, "invalid", "What was sent is not valid", detail),
        }
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        let detail = format!("the address names no such thing: {}", rejection.body_text());
        Problem::new(StatusCode::NOT_FOUND, "not_found", "There is no such thing", detail)
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        let told = rejection.body_text();
        let told = told.strip_prefix("Failed to deserialize query string: ").unwrap_or(&told);
        let detail = format!("what stands after the question mark cannot be read: {told}");
        Problem::new(StatusCode::BAD_REQUEST, "bad_query", "A parameter is wrong", detail)
    }
}
