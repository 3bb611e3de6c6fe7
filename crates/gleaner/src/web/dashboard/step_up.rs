//! The page that asks who somebody is once more, before the form that they sent is carried out.
//!
//! The service decides which actions need that. Here the form is kept in the page, so that nobody fills it in twice.

use askama::Template;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_LENGTH, RETRY_AFTER};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse, Response};

use super::{Oops, Page, Shell, Visit, words};
use crate::config::secret::Secret;
use crate::service::{Proof, ServiceError};
use crate::web::Problem;

/// The fields of the proof, beside those of the form.
const PASSWORD: &str = "confirm_password";
const LINK: &str = "confirm_link";

/// Marks an answer that refuses an action until its user has proved who they are; it says why.
#[derive(Clone)]
pub(super) struct StepUpRequired(pub(super) String);

/// A form as it was sent.
#[derive(Default)]
pub(super) struct SentForm {
    action: String,
    fields: Vec<(String, String)>,
    by_script: bool,
}

#[derive(Template)]
#[template(path = "step_up.html")]
struct ConfirmPage {
    shell: Shell,
    action: String,
    fields: Vec<(String, String)>,
    why: String,
    wrong: Option<String>,
    has_password: bool,
}

impl SentForm {
    pub(super) fn of(request: &Request<Body>, body: &Bytes) -> Self {
        let action = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let fields = url::form_urlencoded::parse(body).into_owned().collect();
        Self { action, fields, by_script: request.headers().contains_key("hx-request") }
    }

    /// Takes the proof out of the form, if there is one.
    pub(super) fn take_proof(&mut self) -> Option<Proof> {
        let mut take = |name: &str| {
            let at = self.fields.iter().position(|(field, _)| field == name)?;
            Some(self.fields.remove(at).1).filter(|value| !value.is_empty())
        };
        let (password, link) = (take(PASSWORD), take(LINK));
        let link = link.map(|link| Proof::Link(Secret::new(link)));
        password.map(|password| Proof::Password(Secret::new(password))).or(link)
    }

    /// The request with what is left of the form.
    pub(super) fn put_into(&self, request: Request<Body>) -> Request<Body> {
        let (mut parts, _) = request.into_parts();
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.fields).finish();
        parts.headers.insert(CONTENT_LENGTH, body.len().into());
        Request::from_parts(parts, Body::from(body))
    }

    /// The page that asks for a proof.
    pub(super) async fn ask(self, visit: &Visit, why: &str) -> Response {
        self.show(visit, why, None, StatusCode::FORBIDDEN).await
    }

    /// The same after a proof that was refused.
    pub(super) async fn ask_again(self, visit: &Visit, error: ServiceError) -> Response {
        match &error {
            ServiceError::Invalid(_)
            | ServiceError::Unauthenticated(_)
            | ServiceError::TooMany(_)
            | ServiceError::Busy(_) => {}
            _ => return Oops::from(error).into_response(),
        }
        let wrong = words::sentence(&error.to_string());
        let problem = Problem::from(error);
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::FORBIDDEN);
        // What is wrong is the proof, not the session.
        let status =
            if status == StatusCode::UNAUTHORIZED { StatusCode::UNPROCESSABLE_ENTITY } else { status };
        let mut response = self.show(visit, "Confirm who you are.", Some(wrong), status).await;
        if let Some(seconds) = problem.retry_after() {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }

    async fn show(self, visit: &Visit, why: &str, wrong: Option<String>, status: StatusCode) -> Response {
        let has_password = match visit.by().has_password().await {
            Ok(has_password) => has_password,
            Err(error) => return Oops::from(error).into_response(),
        };
        // The script shows no page that it takes for an error, but this one.
        let status = if self.by_script { StatusCode::UNPROCESSABLE_ENTITY } else { status };
        let mut fields = self.fields;
        fields.retain(|(name, _)| name != "form_token");
        let (shell, why) = (visit.shell(""), why.to_owned());
        let page = ConfirmPage { shell, action: self.action, fields, why, wrong, has_password };
        (status, Page(page)).into_response()
    }
}
