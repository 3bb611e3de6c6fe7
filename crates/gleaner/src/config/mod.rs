//! Configuration: a TOML file, overridden by `GLEANER_…` variables, overridden by flags.
//!
//! All settings stand in one table, [`settings::SETTINGS`]; what comes out is [`Config`], typed and checked.
//! Unknown keys and bad values are errors that say where they stand and what is allowed, all of them at once.
//!
//! A variable is named after its key, with two underscores between the parts:
//! `GLEANER_SOURCE__POLL_INTERVAL_MINUTES=15`. Its value is read as TOML where it is TOML and as text where it is
//! not; lists may be plain, with commas; an empty variable counts as not set. Names in keys become lower case;
//! most shells take no dots in variables, so hosts are better named in the file or by `--set`.
//! [`CONFIG_VARIABLE`] is the only variable of that prefix which is no setting (the command line takes out its own,
//! `GLEANER_TOKEN`, before). A setting that is secret or may
//! hold credentials can be given as the path of a file, by the same key with `_file` appended.
//!
//! Absent on purpose: reading the process's environment (it arrives as a value), async, the database.

mod build;
pub mod dirs;
mod error;
mod key;
mod layers;
mod load;
mod parse;
pub mod reference;
pub mod render;
pub mod secret;
pub mod settings;
mod sign_in;
mod types;

pub use error::{ConfigError, ConfigErrors, Origin, Warning};
pub use key::{Key, snake_case};
pub use layers::{File, Flag};
pub use load::{Effective, Inputs, Loaded, ReadFile};
pub use parse::StoreUrl;
pub use types::registrable;
pub use types::{
    Api, Config, Fetch, HostOverride, Log, LogFormat, LogLevel, Nats, Oidc, Role, Serve, Source, Store, X,
};

/// What the variables that set something begin with.
pub const ENV_PREFIX: &str = "GLEANER_";

/// The variable that names the config file.
pub const CONFIG_VARIABLE: &str = "GLEANER_CONFIG";

#[cfg(test)]
mod tests;
