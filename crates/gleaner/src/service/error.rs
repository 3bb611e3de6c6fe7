//! Why a use case failed: what happened, to which thing, and what to do. The API makes problem details of it, the
//! command line an exit code.

use std::fmt;

use gleaner_core::link::BadUrl;
use gleaner_core::time::{Span, Time};
use serde::Serialize;

use crate::fetch::ClientSetupError;
use crate::store::StoreError;
use crate::vault::VaultError;

/// One thing that is wrong with what was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Wrong {
    /// Which field.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// Why a use case failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is to be kept secret cannot be encrypted.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] ClientSetupError),
    /// A file cannot be read or written.
    #[error("{}: {why}", path.display())]
    File {
        /// Which file.
        path: std::path::PathBuf,
        /// What the system says.
        why: String,
    },
    /// What was given is wrong; all of it is told at once.
    #[error("{}", Wrongs(.0))]
    Invalid(Vec<Wrong>),
    /// It cannot be done as things are.
    #[error("{message}")]
    Conflict {
        /// For programs.
        code: &'static str,
        /// For people.
        message: String,
        /// The thing that is in the way.
        id: Option<i64>,
        /// When it could be done.
        at: Option<Time>,
    },
    /// Nobody is known by that.
    #[error("{0}")]
    Unauthenticated(String),
    /// Somebody may not do that.
    #[error("{0}")]
    Forbidden(String),
    /// Somebody may do that, but has to prove who they are once more; it says what they want to do.
    #[error("confirm who you are before you {0}: the last time was more than 15 minutes ago")]
    StepUpRequired(&'static str),
    /// The user has as many event streams open as one may.
    #[error(
        "you have {0} event streams open, the maximum of one user (api.max_streams_per_user); close one, open \
        dashboards included"
    )]
    TooManyStreams(u32),
    /// Too often.
    #[error("too many requests; try again in {0}")]
    TooMany(Span),
    /// Too much is under way.
    #[error("too many requests of this kind are under way; try again in {0}")]
    Busy(Span),
    /// The page cannot be fetched, which may pass.
    #[error("{url}: {why}")]
    Unreachable {
        /// Which page.
        url: String,
        /// What happened.
        why: String,
    },
    /// The page is nothing that can be polled.
    #[error("{url}: {why}")]
    Unreadable {
        /// Which page.
        url: String,
        /// What happened.
        why: String,
    },
}

impl ServiceError {
    /// One field is wrong.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Wrong { field: field.into(), message: message.into() }])
    }

    /// There is no such thing.
    pub fn missing(entity: &'static str, key: &str) -> Self {
        StoreError::NotFound { entity, key: key.to_owned() }.into()
    }

    /// Something is in the way.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict { code, message: message.into(), id: None, at: None }
    }
}

impl From<BadUrl> for ServiceError {
    fn from(bad: BadUrl) -> Self {
        Self::invalid("url", bad.to_string())
    }
}

/// Several, a line each.
struct Wrongs<'a>(&'a [Wrong]);

impl fmt::Display for Wrongs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = self.0.iter().map(|wrong| wrong.message.as_str()).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Gathers what is wrong, so that all of it is told at once.
#[derive(Debug, Clone, Default)]
pub struct Checks(Vec<Wrong>);

impl Checks {
    /// Notes what is wrong with a field, if anything, and gives the value back if nothing is.
    pub fn take<T, E: Into<ServiceError>>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        match result.map_err(Into::into) {
            Ok(value) => Some(value),
            Err(ServiceError::Invalid(wrongs)) => {
                self.0.extend(wrongs.into_iter().map(|wrong| Wrong { field: field.to_owned(), ..wrong }));
                None
            }
            Err(other) => {
                self.wrong(field, other.to_string());
                None
            }
        }
    }

    /// Notes that a field is wrong.
    pub fn wrong(&mut self, field: &str, message: impl Into<String>) {
        self.0.push(Wrong { field: field.to_owned(), message: message.into() });
    }

    /// Whether this field is wrong already.
    pub fn has(&self, field: &str) -> bool {
        self.0.iter().any(|wrong| wrong.field == field)
    }

    /// Fails where anything was wrong.
    pub fn done(self) -> Result<(), ServiceError> {
        if self.0.is_empty() { Ok(()) } else { Err(ServiceError::Invalid(self.0)) }
    }
}
