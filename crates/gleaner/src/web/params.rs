//! What stands after the question mark of a list: each parameter by its name, some more than once. All that is wrong is
//! told at once, and a parameter that nobody knows is wrong: a filter that does nothing would show too much.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use gleaner_core::time::Time;

use super::list::{Limit, MOST};
use super::problem::Problem;
use crate::service::Wrong;

/// Parameters, taken one after the other.
#[derive(Debug, Default)]
pub(crate) struct Params {
    given: HashMap<String, Vec<String>>,
    wrong: Vec<Wrong>,
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given: HashMap<String, Vec<String>> = HashMap::new();
        let query = parts.uri.query().unwrap_or_default();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            // No text of a database holds it, and nobody looks for it.
            let value = value.replace('\0', "");
            given.entry(name.into_owned()).or_default().push(value);
        }
        Ok(Self { given, wrong: Vec::new() })
    }
}

impl Params {
    /// A parameter that is given once at most.
    pub(crate) fn one<T, E: Display>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Option<T> {
        let mut values = self.many(name, read);
        if values.len() > 1 {
            self.note(name, format!("{name} is given once"));
        }
        values.pop()
    }

    fn many<T, E: Display>(&mut self, name: &str, read: impl Fn(&str) -> Result<T, E>) -> Vec<T> {
        let mut values = Vec::new();
        for text in self.given.remove(name).unwrap_or_default() {
            match read(&text) {
                Ok(value) => values.push(value),
                Err(why) => self.note(name, why.to_string()),
            }
        }
        values
    }

    /// A parameter that may be given so many times.
    pub(crate) fn several<T, E: Display>(
        &mut self,
        name: &str,
        most: usize,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let values = self.many(name, read);
        if values.len() > most {
            self.note(name, format!("{name} is given {most} times at most"));
        }
        values
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.one(name, |text| Ok::<_, String>(text.to_owned()))
    }

    /// A number, or anything else that can be read from a text.
    pub(crate) fn read<T: FromStr<Err: Display>>(&mut self, name: &str) -> Option<T> {
        self.one(name, |text| text.parse::<T>().map_err(|error| format!("{name} cannot be read: {error}")))
    }

    /// Which page.
    pub(crate) fn limit(&mut self) -> Limit {
        let limit = self.read::<u32>("limit");
        if limit.is_some_and(|limit| !(1..=MOST).contains(&limit)) {
            self.note("limit", format!("limit is from 1 to {MOST}"));
        }
        Limit { limit, cursor: self.read("cursor") }
    }

    /// Fails where anything was wrong, or something is left that nobody knows.
    pub(crate) fn done(mut self) -> Result<(), Box<Problem>> {
        let mut unknown: Vec<String> = self.given.keys().cloned().collect();
        unknown.sort_unstable();
        for name in unknown {
            let shown: String = name.chars().take(60).collect();
            self.note(&shown, format!("there is no parameter '{shown}' here; /api/v1/docs lists them"));
        }
        if self.wrong.is_empty() {
            return Ok(());
        }
        let detail = self.wrong.iter().map(|wrong| wrong.message.as_str()).collect::<Vec<_>>().join("\n");
        let mut problem = Problem::new(StatusCode::BAD_REQUEST, "bad_query", "A parameter is wrong", detail);
        problem.errors = self.wrong;
        Err(Box::new(problem))
    }

    fn note(&mut self, field: &str, message: String) {
        self.wrong.push(Wrong { field: field.to_owned(), message });
    }
}

/// Reads a time.
pub(crate) fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).ok_or_else(|| {
        let shown: String = text.chars().take(60).collect();
        format!("'{shown}' is no RFC 3339 time such as 2026-11-15T08:00:00Z")
    })
}
