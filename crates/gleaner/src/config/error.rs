//! What can be wrong with a configuration, in words for the person who wrote it.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the config file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One mistake: where it stands, in which key, with which value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{origin}: {subject}{problem}", subject = self.subject())]
pub struct ConfigError {
    /// Where it stands.
    pub origin: Origin,
    /// The key; empty where the text could not be read that far.
    pub key: String,
    /// What stands there, secrets hidden; none where the key is what is wrong.
    pub value: Option<String>,
    /// What is wrong, or what is allowed.
    pub problem: String,
}

impl ConfigError {
    fn subject(&self) -> String {
        match &self.value {
            Some(value) => format!("{} = {value}: ", self.key),
            None if self.key.is_empty() => String::new(),
            None => format!("{}: ", self.key),
        }
    }
}

/// Every mistake of a configuration; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// One line each.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// Something that works but is hardly meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {key}: {problem}")]
pub struct Warning {
    /// Where it stands.
    pub origin: Origin,
    /// The key.
    pub key: String,
    /// What is odd about it.
    pub problem: String,
}
