//! The configuration of a run, from its file, the environment and the flags.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::failure::Failure;
use crate::config::dirs::{self, Env};
use crate::config::{CONFIG_VARIABLE, Config, ENV_PREFIX, File, Flag, Inputs, Loaded};

/// The environment as text. What is not text is passed over, unless it was meant for gleaner.
pub(super) fn environment(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Env, Failure> {
    let mut env = Env::new();
    for (name, value) in vars {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                env.insert(name, value);
            }
            (Ok(name), Err(_)) if name.starts_with(ENV_PREFIX) => {
                return Err(Failure::Config(format!("{name}: the value is not UTF-8 text")));
            }
            _ => {}
        }
    }
    Ok(env)
}

/// What file, environment and flags say.
pub(super) fn config(named: Option<&PathBuf>, set: &[String], env: Env) -> Result<Loaded, Failure> {
    let file = config_file(named, &env)?;
    let flags = set.iter().map(|set| Flag { name: "--set".to_owned(), assignment: set.clone() });
    let inputs = Inputs { file, env, flags: flags.collect(), read: &|path| std::fs::read_to_string(path) };
    Config::load(&inputs).map_err(|errors| Failure::Config(errors.to_string()))
}

/// The config file: one that was named must be there, the usual one need not.
fn config_file(by_flag: Option<&PathBuf>, env: &Env) -> Result<Option<File>, Failure> {
    let variable = env.get(CONFIG_VARIABLE).filter(|path| !path.is_empty());
    let (path, named) = match (by_flag, variable) {
        (Some(path), _) => (path.clone(), Some("--config")),
        (None, Some(path)) => (PathBuf::from(path), Some(CONFIG_VARIABLE)),
        (None, None) => match dirs::config_file(env) {
            Some(path) => (path, None),
            None => return Ok(None),
        },
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(File { path, text })),
        Err(error) if named.is_none() && error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let by = named.map(|by| format!(" (named by {by})")).unwrap_or_default();
            Err(Failure::Config(format!("{}{by}: cannot be read: {error}", path.display())))
        }
    }
}
