//! Where a platform keeps a program's configuration and data, worked out from the environment alone.
//!
//! On Linux and the like as the XDG base directory specification has it. Absent on purpose: creating anything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The process's environment, as a value.
pub type Env = BTreeMap<String, String>;

/// The config file that is read where none is named.
pub fn config_file(env: &Env) -> Option<PathBuf> {
    let base = if cfg!(target_os = "macos") {
        home(env)?.join("Library/Application Support")
    } else if cfg!(windows) {
        absolute(env, "APPDATA")?
    } else {
        absolute(env, "XDG_CONFIG_HOME").or_else(|| Some(home(env)?.join(".config")))?
    };
    Some(base.join("gleaner").join("config.toml"))
}

/// The SQLite database that is used where config names no store.
pub fn database_file(env: &Env) -> Option<PathBuf> {
    let base = if cfg!(target_os = "macos") {
        home(env)?.join("Library/Application Support")
    } else if cfg!(windows) {
        absolute(env, "LOCALAPPDATA")?
    } else {
        absolute(env, "XDG_DATA_HOME").or_else(|| Some(home(env)?.join(".local/share")))?
    };
    Some(base.join("gleaner").join("gleaner.db"))
}

fn home(env: &Env) -> Option<PathBuf> {
    absolute(env, "HOME")
}

/// XDG: a path that is not absolute is to be ignored.
fn absolute(env: &Env, name: &str) -> Option<PathBuf> {
    env.get(name).map(Path::new).filter(|path| path.is_absolute()).map(Path::to_path_buf)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn xdg_is_followed() {
        let env = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Env>()
        };
        let home = env(&[("HOME", "/home/me"), ("XDG_DATA_HOME", "relative")]);
        assert_eq!(config_file(&home), Some("/home/me/.config/gleaner/config.toml".into()));
        assert_eq!(database_file(&home), Some("/home/me/.local/share/gleaner/gleaner.db".into()));
        let xdg = env(&[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")]);
        assert_eq!(config_file(&xdg), Some("/c/gleaner/config.toml".into()));
        assert_eq!(database_file(&xdg), Some("/d/gleaner/gleaner.db".into()));
        assert_eq!(database_file(&Env::new()), None);
    }
}
