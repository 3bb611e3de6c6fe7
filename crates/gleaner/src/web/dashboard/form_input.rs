//! Input of a form, kept with what is wrong with it, so that nobody types it twice.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Oops;
use crate::service::{ServiceError, StoreError, Wrong};
use crate::web::{Problem, Web};

/// Input of a form; empty: not filled in yet.
#[derive(Debug, Default)]
pub(super) struct FormInput {
    fields: Vec<(String, String)>,
    wrong: Vec<Wrong>,
    /// Why nothing was done, where no field is the reason.
    refused: Option<String>,
}

impl FormInput {
    /// A form that is filled in already.
    pub(super) fn of<const N: usize>(fields: [(&str, String); N]) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { fields, ..Self::default() }
    }

    /// Value of a field; empty where it is absent.
    pub(super) fn get(&self, name: &str) -> &str {
        self.fields.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// All values of a field that may occur several times.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// Trimmed value of a field; none: blank.
    pub(super) fn some(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|value| !value.is_empty())
    }

    /// Whether a field was sent, or a checkbox ticked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name)
    }

    /// Whether a value is chosen; where nothing was sent, whether it is the default.
    pub(super) fn chose(&self, name: &str, value: &str, default: bool) -> bool {
        if self.has(name) { self.get(name) == value } else { default }
    }

    /// Removes secrets, which must not be shown again.
    pub(super) fn without(mut self, names: &[&str]) -> Self {
        self.fields.retain(|(field, _)| !names.contains(&field.as_str()));
        self
    }

    /// Notes what is wrong with a field.
    pub(super) fn note(&mut self, field: &str, message: impl Into<String>) {
        self.wrong.push(Wrong { field: field.to_owned(), message: message.into() });
    }

    /// Whether anything is wrong.
    pub(super) fn is_wrong(&self) -> bool {
        !self.wrong.is_empty() || self.refused.is_some()
    }

    /// Adds why the service refused it, where the person who filled it in can do something about that.
    pub(super) fn refused_by(mut self, error: ServiceError) -> Result<Self, ServiceError> {
        match error {
            ServiceError::Invalid(wrong) => self.wrong.extend(wrong),
            ServiceError::Store(StoreError::Duplicate { entity, .. }) => {
                self.note("name", format!("there is a {entity} of that name already; choose another"));
            }
            error @ (ServiceError::Conflict { .. } | ServiceError::Store(StoreError::InUse { .. })) => {
                self.refused = Some(sentence(&error.to_string()));
            }
            error => return Err(error),
        }
        Ok(self)
    }

    /// What is wrong with a field.
    pub(super) fn wrong(&self, name: &str) -> Option<String> {
        let of_field = self.wrong.iter().filter(|wrong| wrong.field == name);
        let lines: Vec<&str> = of_field.map(|wrong| wrong.message.as_str()).collect();
        (!lines.is_empty()).then(|| sentence(&lines.join("\n")))
    }

    /// Attribute of a field that is wrong. Unquoted, so that nothing of it is escaped.
    pub(super) fn mark(&self, name: &str) -> &'static str {
        if self.wrong.iter().any(|wrong| wrong.field == name) { " aria-invalid=true" } else { "" }
    }

    /// Why nothing was done.
    pub(super) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Status of the response that shows this form again.
    pub(super) fn status(&self) -> StatusCode {
        match (self.wrong.is_empty(), &self.refused) {
            (true, None) => StatusCode::OK,
            (true, Some(_)) => StatusCode::CONFLICT,
            (false, _) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

impl FromRequest<Web> for FormInput {
    type Rejection = Oops;

    async fn from_request(request: Request, web: &Web) -> Result<Self, Oops> {
        let bytes = Bytes::from_request(request, web).await.map_err(|rejection| {
            let detail = format!("the form cannot be read: {}", rejection.body_text());
            Problem::new(rejection.status(), "bad_form", "The form cannot be read", detail)
        })?;
        // PostgreSQL stores no NUL, and nobody types one.
        let fields = url::form_urlencoded::parse(&bytes);
        let fields = fields.map(|(name, value)| (name.into_owned(), value.replace('\0', ""))).collect();
        Ok(Self { fields, ..Self::default() })
    }
}

/// A message as a sentence.
pub(super) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// A parameter in the path, such as an id; what cannot be read is not found.
pub(super) struct PathParam<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Web> for PathParam<T> {
    type Rejection = Oops;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, Oops> {
        let path = parts.uri.path().to_owned();
        let found = axum::extract::Path::from_request_parts(parts, web).await;
        found.map(|axum::extract::Path(named)| Self(named)).map_err(|_| Oops::missing(&path))
    }
}
