//! What a command works with: the configuration, a way to the API, and the output.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;

use serde_json::Value;

use super::client::Client;
use super::failure::Failure;
use super::paint::Paint;
use super::{ask, remote, table};
use crate::config::Loaded;
use crate::config::secret::Secret;
use crate::printable::escape_json;
use crate::service::Service;

/// The variable that holds a token for `--server`.
pub(super) const TOKEN_VARIABLE: &str = "GLEANER_TOKEN";
/// A token's file is no larger.
const TOKEN_BYTES: usize = 64 * 1024;

/// What a command works with.
pub(super) struct Context<'a> {
    pub(super) loaded: Loaded,
    pub(super) out: &'a mut dyn Write,
    pub(super) paint: Paint,
    pub(super) server: Server,
}

/// Where to ask, and as whom.
pub(super) struct Server {
    /// None: the database itself.
    pub(super) url: Option<String>,
    pub(super) token_file: Option<PathBuf>,
    /// From the environment.
    pub(super) token: Option<Secret>,
}

impl Context<'_> {
    /// The service over the configured database.
    pub(super) async fn service(&self) -> Result<Service, Failure> {
        Ok(Service::open(self.loaded.config.clone()).await?)
    }

    /// The API: on the server that was named, else on the configured database.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        match &self.server.url {
            Some(url) => Client::remote(remote::server(url)?, self.server.token()?.expose()),
            None => Client::local(&self.loaded.config).await,
        }
    }

    /// For commands that work on the database's own machine.
    pub(super) fn must_be_local(&self, command: &str) -> Result<(), Failure> {
        match &self.server.url {
            None => Ok(()),
            Some(_) => Err(Failure::Usage(format!(
                "`gleaner {command}` works where the database is; run it there, without --server"
            ))),
        }
    }

    /// One thing that was done: what the API answered, or words.
    pub(super) fn say(&mut self, json: bool, value: &Value, words: &str) -> Result<(), Failure> {
        if json {
            return self.json(value);
        }
        Ok(writeln!(self.out, "{words}")?)
    }

    /// A value for programs.
    pub(super) fn json(&mut self, value: &Value) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{}", escape_json(&format!("{value:#}")))?)
    }

    /// A value for programs, on one line.
    pub(super) fn json_line(&mut self, value: &Value) -> io::Result<()> {
        writeln!(self.out, "{}", escape_json(&value.to_string()))
    }

    /// A list: an object a line for programs, a table for people, or words where it is empty.
    pub(super) fn list(
        &mut self,
        json: bool,
        values: &[Value],
        heading: &[&str],
        rows: Vec<Vec<String>>,
        none: &str,
    ) -> Result<(), Failure> {
        if json {
            return Ok(values.iter().try_for_each(|value| self.json_line(value))?);
        }
        if rows.is_empty() {
            return Ok(writeln!(self.out, "{none}")?);
        }
        self.table(heading, rows)
    }

    /// A table with its heading set off, no wider than the terminal.
    pub(super) fn table(&mut self, heading: &[&str], rows: Vec<Vec<String>>) -> Result<(), Failure> {
        let heading = heading.iter().map(|&cell| cell.to_owned()).collect();
        let rows: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
        let text = match width() {
            Some(width) => table::aligned(&table::fitted(&rows, width)),
            None => table::aligned(&rows),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        Ok(write!(self.out, "{}\n{rest}", self.paint.bold(first))?)
    }
}

impl Server {
    fn token(&self) -> Result<Secret, Failure> {
        if let Some(path) = &self.token_file {
            let wrong = |why: &str| Failure::Usage(format!("--token-file {}: {why}", path.display()));
            let text = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
            let text = text.get(..TOKEN_BYTES).unwrap_or(&text);
            let text = std::str::from_utf8(text).map_err(|_| wrong("it holds no token"))?;
            return Ok(Secret::new(text.trim()));
        }
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        if ask::somebody() {
            return Ok(Secret::new(ask::secret("Token")?.expose().trim()));
        }
        Err(Failure::NotLetIn(format!(
            "--server needs an access token: --token-file FILE or {TOKEN_VARIABLE}; `gleaner token create NAME` \
             makes one on the server's machine"
        )))
    }
}

/// How wide the terminal is; none: standard output is no terminal.
pub(super) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    console::Term::stdout()
        .size_checked()
        .map(|(_, columns)| usize::from(columns))
        .filter(|width| *width >= 20)
}
