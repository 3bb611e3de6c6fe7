//! What went wrong, as a page: what happened, to which thing, and what to do.

use askama::Template;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};

use super::step_up::StepUpRequired;
use super::{assets, words};
use crate::service::ServiceError;
use crate::web::Problem;
use crate::web::problem::STEP_UP_REQUIRED;

/// A problem, for people.
pub(crate) struct Oops(Box<Problem>);

#[derive(Template)]
#[template(path = "oops.html")]
struct Shown {
    problem: Problem,
}

impl Shown {
    fn asset(&self, name: &str) -> String {
        assets::address(name)
    }
}

impl Oops {
    /// There is nothing at a path.
    pub(crate) fn missing(path: &str) -> Self {
        let detail = format!("There is nothing at {path}. The menu leads to what there is.");
        Self::from(Problem::new(StatusCode::NOT_FOUND, "no_such_route", "There is nothing here", detail))
    }

    /// A form that did not come from one of our pages.
    pub(super) fn foreign() -> Self {
        let detail = "This form is older than your login, or did not come from one of gleaner's own pages. Go back, \
            load the page again, and send it once more.";
        Self::from(Problem::new(StatusCode::FORBIDDEN, "foreign_form", "The form is not accepted", detail))
    }
}

impl From<ServiceError> for Oops {
    fn from(error: ServiceError) -> Self {
        // People confirm on a page, and log in nowhere.
        let detail = matches!(error, ServiceError::StepUpRequired(_)).then(|| error.to_string());
        let mut problem = Problem::from(error);
        problem.detail = detail.unwrap_or(problem.detail);
        problem.into()
    }
}

impl From<Problem> for Oops {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let retry_after = self.0.retry_after();
        let step_up =
            (self.0.code == STEP_UP_REQUIRED).then(|| StepUpRequired(words::sentence(&self.0.detail)));
        let page = Shown { problem: *self.0 }.render().unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if let Some(required) = step_up {
            response.extensions_mut().insert(required);
        }
        response
    }
}
