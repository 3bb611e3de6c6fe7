//! What went wrong, as RFC 9457 problem details with a stable code. The one place that knows which failure has which
//! status.

use axum::http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use gleaner_core::time::Time;
use serde::Serialize;
use utoipa::ToSchema;

use super::dashboard::Oops;
use crate::service::{ServiceError, StoreError, Wrong};

/// The code of what needs another proof of who the caller is.
pub(super) const STEP_UP_REQUIRED: &str = "step_up_required";

/// What went wrong.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// For programs; it does not change.
    pub code: &'static str,
    /// The kind of problem, in few words.
    pub title: &'static str,
    /// What happened, to which thing, and what to do.
    pub detail: String,
    /// Every field that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<FieldProblem>)]
    pub errors: Vec<Wrong>,
    /// The thing that is in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// When it could be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Time>,
    /// Seconds to wait.
    #[serde(skip)]
    retry_after: Option<u64>,
}

/// A field that is wrong.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands for the service's own type in the API's document")]
pub(super) struct FieldProblem {
    /// Which field.
    field: String,
    /// What is wrong with it.
    message: String,
}

impl Problem {
    /// Something went wrong, in one sentence.
    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let (status, detail) = (status.as_u16(), detail.into());
        Self { status, code, title, detail, errors: Vec::new(), id: None, at: None, retry_after: None }
    }
}

impl Problem {
    /// The same, with seconds to wait.
    pub(super) fn again_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Seconds to wait.
    pub(super) const fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }
}

impl From<Box<Problem>> for Problem {
    fn from(boxed: Box<Problem>) -> Self {
        *boxed
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        let new = |status, code, title| Self::new(status, code, title, detail.clone());
        match error {
            ServiceError::Invalid(errors) => Self {
                errors,
                ..new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "What was sent is not valid")
            },
            ServiceError::Conflict { code, id, at, .. } => {
                Self { id, at, ..new(StatusCode::CONFLICT, code, "It cannot be done as things are") }
            }
            ServiceError::Unauthenticated(_) => {
                new(StatusCode::UNAUTHORIZED, "unauthenticated", "Who are you?")
            }
            ServiceError::Forbidden(_) => new(StatusCode::FORBIDDEN, "forbidden", "Not allowed"),
            ServiceError::StepUpRequired(_) => Self {
                detail: format!(
                    "{detail}; log in again (POST /api/v1/login), and send this with the new token"
                ),
                ..new(StatusCode::FORBIDDEN, STEP_UP_REQUIRED, "Confirm who you are")
            },
            ServiceError::TooManyStreams(_) => Self {
                retry_after: Some(30),
                ..new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", "Too many event streams")
            },
            ServiceError::TooMany(span) => Self {
                retry_after: Some(span.as_millis().div_ceil(1000)),
                ..new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "Too often")
            },
            ServiceError::Busy(span) => Self {
                retry_after: Some(span.as_millis().div_ceil(1000)),
                ..new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Too much is under way")
            },
            ServiceError::Unreachable { .. } => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "unreachable", "The page cannot be fetched")
            }
            ServiceError::Unreadable { .. } => {
                new(StatusCode::UNPROCESSABLE_ENTITY, "unreadable", "The page cannot be read")
            }
            ServiceError::Store(error) => of_store(&error, detail),
            ServiceError::Vault(_) | ServiceError::Client(_) | ServiceError::File { .. } => {
                new(StatusCode::INTERNAL_SERVER_ERROR, "misconfigured", "gleaner is not set up for this")
            }
        }
    }
}

fn of_store(error: &StoreError, detail: String) -> Problem {
    let new = |status, code, title| Problem::new(status, code, title, detail.clone());
    match error {
        StoreError::NotFound { .. } => new(StatusCode::NOT_FOUND, "not_found", "There is no such thing"),
        StoreError::Duplicate { id, .. } => {
            Problem { id: *id, ..new(StatusCode::CONFLICT, "duplicate", "There is one already") }
        }
        StoreError::Changed { .. } => {
            new(StatusCode::PRECONDITION_FAILED, "changed", "Somebody else changed it meanwhile")
        }
        StoreError::InUse { .. } => new(StatusCode::CONFLICT, "in_use", "It is still in use"),
        error => {
            tracing::error!(%error, "a request could not be answered: the database cannot be used");
            let problem =
                new(StatusCode::SERVICE_UNAVAILABLE, "database_unavailable", "The database cannot be used");
            Problem { retry_after: Some(5), ..problem }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Texts and numbers: this cannot fail, and if it did the status says it all.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Nothing is there. People are told so on a page.
pub(super) async fn no_such_route(uri: Uri, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if accept.contains("text/html") && !uri.path().starts_with("/api/") {
        return Oops::missing(uri.path()).into_response();
    }
    let detail = format!("there is nothing at {}; /api/v1/openapi.json lists what there is", uri.path());
    Problem::new(StatusCode::NOT_FOUND, "no_such_route", "There is nothing here", detail).into_response()
}
