//! Why a command did not do what it was asked, and what the process ends with for it; the one place that knows.

use std::io;

use serde_json::Value;

use crate::service::ServiceError;
use crate::web::Problem;

/// What the exit codes mean, for `--help`.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed; the message says at what
  2  wrong usage or configuration, or what was given is not valid; nothing was done
  3  there is no such thing
  4  it cannot be done as things are
  5  not let in, or not allowed
  6  the server or the database cannot be reached";

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something asked for does not exist or does not go together.
    #[error("{0}")]
    Usage(String),
    /// The configuration is wrong.
    #[error("the configuration is wrong:\n{0}")]
    Config(String),
    /// The API refused, here or over the network.
    #[error("{detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// For programs.
        code: String,
        /// What happened, to which thing, and what to do.
        detail: String,
        /// The thing that is in the way.
        id: Option<i64>,
    },
    /// There is no such thing.
    #[error("{0}")]
    Missing(String),
    /// Nobody said who asks.
    #[error("{0}")]
    NotLetIn(String),
    /// The server does not answer.
    #[error("{0}")]
    Unreachable(String),
    /// Something else went wrong on the way.
    #[error("{0}")]
    Failed(String),
    /// Standard input cannot be read.
    #[error("cannot read the input: {0}")]
    Input(#[source] io::Error),
    /// Standard output cannot be written to.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    /// What the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Config(_) => 2,
            Self::Refused { status, code, .. } => of_problem(*status, code),
            Self::Missing(_) => 3,
            Self::NotLetIn(_) => 5,
            Self::Unreachable(_) => 6,
            Self::Failed(_) | Self::Input(_) | Self::Output(_) => 1,
        }
    }

    /// What the API said was wrong: problem details, or whatever else came with that status.
    pub(super) fn of_answer(status: u16, body: &[u8]) -> Self {
        let problem: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |field: &str| problem.get(field).and_then(Value::as_str).map(str::to_owned);
        let detail = text("detail").unwrap_or_else(|| {
            format!("the server answered with status {status}, and not as gleaner does; is --server right?")
        });
        let id = problem.get("id").and_then(Value::as_i64);
        Self::Refused { status, code: text("code").unwrap_or_default(), detail, id }
    }
}

/// What a problem of the API means to the process.
fn of_problem(status: u16, code: &str) -> u8 {
    match (status, code) {
        // A page out there is not what was asked for: nothing is wrong with the question.
        (_, "unreachable" | "unreadable") => 1,
        (400 | 405 | 413 | 415 | 422, _) => 2,
        (404, _) => 3,
        (409 | 412 | 428, _) => 4,
        (401 | 403, _) => 5,
        (502..=504, _) => 6,
        _ => 1,
    }
}

impl From<ServiceError> for Failure {
    /// As the API would say it, so that the same failure ends with the same code on either way.
    fn from(error: ServiceError) -> Self {
        let Problem { status, code, detail, id, .. } = Problem::from(error);
        Self::Refused { status, code: code.to_owned(), detail, id }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_code() {
        let of = |status, body: &str| {
            let failure = Failure::of_answer(status, body.as_bytes());
            (failure.exit_code(), failure.to_string())
        };
        let problem = |code: &str| format!(r#"{{"code": "{code}", "detail": "so it is"}}"#);
        for (status, code, expected) in [
            (422, "invalid", 2),
            (422, "unreachable", 1),
            (404, "not_found", 3),
            (409, "duplicate", 4),
            (412, "changed", 4),
            (401, "unauthenticated", 5),
            (403, "forbidden", 5),
            (503, "database_unavailable", 6),
            (500, "misconfigured", 1),
        ] {
            assert_eq!(of(status, &problem(code)), (expected, "so it is".to_owned()), "{status} {code}");
        }
        assert!(of(502, "<html>").1.contains("not as gleaner does"));
    }
}
