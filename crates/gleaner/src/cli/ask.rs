//! Secrets from people: without an echo on a terminal, else a line of standard input. Never by argument: those are
//! for everybody on the machine to see.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use console::Term;

use super::failure::Failure;
use crate::config::secret::Secret;

/// No secret is longer.
const LONGEST: u64 = 64 * 1024;

/// Whether there is somebody to ask.
pub(super) fn somebody() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A secret, asked for by these words.
pub(super) fn secret(words: &str) -> Result<Secret, Failure> {
    if !somebody() {
        let mut line = String::new();
        io::stdin().lock().take(LONGEST).read_line(&mut line).map_err(Failure::Input)?;
        return Ok(Secret::new(line.trim_end_matches(['\r', '\n'])));
    }
    let terminal = Term::stderr();
    terminal.write_str(&format!("{words}: ")).map_err(Failure::Input)?;
    terminal.read_secure_line().map(Secret::new).map_err(Failure::Input)
}

/// A password to be set: twice where it cannot be seen.
pub(super) fn new_password(user: &str) -> Result<Secret, Failure> {
    let password = secret(&format!("New password of {user}"))?;
    if somebody() && secret("The same again")? != password {
        return Err(Failure::Usage("the two are not the same; nothing was changed".to_owned()));
    }
    Ok(password)
}

/// Whether somebody is sure. Refuses where nobody can be asked: a script says `--yes`.
pub(super) fn sure(question: &str) -> Result<bool, Failure> {
    if !somebody() {
        let message =
            format!("{question} There is no terminal to ask on; add --yes to do it. Nothing was done.");
        return Err(Failure::Usage(message));
    }
    let terminal = Term::stderr();
    terminal.write_str(&format!("{question} [y/N] ")).map_err(Failure::Input)?;
    let answer = terminal.read_line().map_err(Failure::Input)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
