//! From layers to a configuration: defaults, then the file, then the environment, then flags; the last wins.
//!
//! Pure: the file's text and the environment arrive as values, and a secret's file is read through a function
//! that the caller gives. Every mistake is reported, not just the first.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use gleaner_core::policy::Policy;
use toml::Value;

use super::build;
use super::dirs::{self, Env};
use super::error::{ConfigError, ConfigErrors, Origin, Warning};
use super::key::Key;
use super::layers::{self, Entry, File, Flag};
use super::settings::{SETTINGS, Setting};
use super::types::Config;

/// Reads a file, trimmed content being a secret.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// Everything that a configuration is made of. Not to be printed: it holds secrets in clear.
pub struct Inputs<'a> {
    /// The config file, where there is one.
    pub file: Option<File>,
    /// The process's environment: `GLEANER_…`, and where the platform keeps data.
    pub env: Env,
    /// Flags, in the order given; later ones win.
    pub flags: Vec<Flag>,
    /// Reads the files that secrets are in.
    pub read: ReadFile<'a>,
}

/// A configuration, and what is worth saying about it.
#[derive(Debug)]
pub struct Loaded {
    /// Ready to use.
    pub config: Config,
    /// What works but is hardly meant.
    pub warnings: Vec<Warning>,
    /// Every value in effect by its key, with where it came from.
    pub values: BTreeMap<Key, Effective>,
}

impl Loaded {
    /// Settings that only some policies read, set while none in use does. In use are the default policy and
    /// those that sources name; [`Loaded::warnings`] knows of no sources.
    pub fn unused_settings(&self, named_by_sources: &[&str]) -> Vec<Warning> {
        let names = named_by_sources.iter().copied().chain([self.config.source.policy.as_str()]);
        let in_use: Vec<&Policy> = names.filter_map(|name| self.config.policies.get(name)).collect();
        type Reads = fn(&Policy) -> bool;
        let readers: [(&str, Reads); 2] = [
            ("source.max_failures", Policy::uses_max_failures),
            ("source.max_backoff_hours", Policy::uses_backoff),
        ];
        let idle = readers.into_iter().filter(|(_, reads)| !in_use.iter().any(|policy| reads(policy)));
        idle.filter_map(|(key, reads)| {
            let (key, value) = self.values.iter().find(|(_, value)| value.setting.key == key)?;
            let users = self.config.policies.values().filter(|policy| reads(policy));
            let users: Vec<&str> = users.map(|policy| policy.name.as_str()).collect();
            let used_by = if users.is_empty() { "none".to_owned() } else { users.join(", ") };
            let problem = format!(
                "has no effect under the policy {}; policies that use it: {used_by}",
                self.config.source.policy
            );
            let origin = value.origin.clone();
            (origin != Origin::Default).then(|| Warning { origin, key: key.to_string(), problem })
        })
        .collect()
    }
}

/// A value in effect.
#[derive(Clone)]
pub struct Effective {
    /// What it sets.
    pub setting: &'static Setting,
    /// The value itself, secrets in clear: show it through [`Effective::shown`] only.
    pub(super) value: Value,
    /// Where it came from.
    pub origin: Origin,
}

impl fmt::Debug for Effective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.shown().0, self.origin)
    }
}

/// The entries that won, and the mistakes on the way.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) entries: BTreeMap<Key, Entry>,
    pub(super) errors: Vec<ConfigError>,
}

impl Config {
    /// Reads, checks and builds a configuration.
    pub fn load(inputs: &Inputs<'_>) -> Result<Loaded, ConfigErrors> {
        let mut merged = Merged::default();
        merged.defaults(&inputs.env);
        let layers = [
            inputs.file.as_ref().map(layers::file).unwrap_or_default(),
            layers::environment(&inputs.env),
            layers::flags(&inputs.flags),
        ];
        // A file that is not even TOML says nothing, and what it would have said must not be missed below.
        let unreadable = layers[0].errors.iter().any(|error| error.key.is_empty());
        for layer in layers {
            merged.lay_over(layer.entries, inputs.read);
            merged.errors.extend(layer.errors);
        }
        if unreadable {
            return Err(merged.into_errors());
        }
        build::build(merged)
    }
}

impl Merged {
    fn defaults(&mut self, env: &Env) {
        for setting in SETTINGS.iter().filter(|setting| !setting.key.contains('<')) {
            let computed = match setting.key {
                "store.url" => dirs::database_file(env).map(|path| Value::String(path.display().to_string())),
                _ => None,
            };
            if let Some(value) = computed.or_else(|| setting.default_value()) {
                let key = Key(setting.segments().map(str::to_owned).collect());
                let (text, origin) = (value.to_string(), Origin::Default);
                let entry = Entry { key, setting: Some(setting), value, text, origin, in_file: false };
                self.entries.insert(entry.key.clone(), entry);
            }
        }
    }

    /// Lays one layer over the ones before it. Only flags may say a thing twice.
    fn lay_over(&mut self, entries: Vec<Entry>, read: ReadFile<'_>) {
        let mut said: BTreeMap<Key, Origin> = BTreeMap::new();
        for mut entry in entries {
            if let Some(first) = said.insert(entry.key.clone(), entry.origin.clone())
                && !matches!(entry.origin, Origin::Flag(_))
            {
                self.errors.push(entry.error(format!("is set by {first} already; keep one of them")));
            }
            if entry.in_file
                && let Err(problem) = read_secret(&mut entry, read)
            {
                self.errors.push(entry.error(problem));
                continue;
            }
            let allowed = entry.setting.map_or(Ok(()), |setting| setting.takes.check(&entry.value));
            match allowed {
                Ok(()) => {
                    self.entries.insert(entry.key.clone(), entry);
                }
                Err(problem) => self.errors.push(entry.error(problem)),
            }
        }
    }

    /// What was refused, in the order in which people look for it.
    pub(super) fn into_errors(mut self) -> ConfigErrors {
        self.errors.sort();
        self.errors.dedup();
        ConfigErrors(self.errors)
    }
}

/// Replaces a path by what is in the file.
fn read_secret(entry: &mut Entry, read: ReadFile<'_>) -> Result<(), String> {
    let path = entry.value.as_str().ok_or("must be the path of the file that holds the value")?;
    let content = read(Path::new(path)).map_err(|error| format!("cannot be read from {path}: {error}"))?;
    entry.text = content.trim().to_owned();
    entry.value = Value::String(entry.text.clone());
    Ok(())
}
