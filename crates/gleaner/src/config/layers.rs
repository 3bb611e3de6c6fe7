//! What the file, the environment and the flags say, brought into one shape: a key, a value, an origin.
//!
//! Each layer is read to its end, mistakes collected on the way. Absent on purpose: what wins (see `load`) and
//! whether a value is allowed (see `settings`).

use std::path::PathBuf;

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::dirs::Env;
use super::error::{ConfigError, Origin};
use super::key::{Key, Meaning, is_foreign_table, meaning};
use super::settings::{SETTINGS, Secrecy, Setting, Takes};
use super::{CONFIG_VARIABLE, ENV_PREFIX, secret};

/// One value that somebody set. Not to be printed: it may be a secret.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: Key,
    /// None for a table that is there but empty.
    pub(super) setting: Option<&'static Setting>,
    pub(super) value: Value,
    /// The value as it was written.
    pub(super) text: String,
    pub(super) origin: Origin,
    /// Whether the value is the path of a file that holds the value.
    pub(super) in_file: bool,
}

/// What the layers say, and what is wrong with how they say it.
#[derive(Default)]
pub(super) struct Layer {
    pub(super) entries: Vec<Entry>,
    pub(super) errors: Vec<ConfigError>,
}

/// The text of a config file and where it is.
#[derive(Clone)]
pub struct File {
    /// What errors call it.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

/// A flag that sets something.
#[derive(Clone)]
pub struct Flag {
    /// What errors call it: `--set`, `--listen`.
    pub name: String,
    /// `key=value`, the key as in TOML, the value as in TOML or a plain text.
    pub assignment: String,
}

/// A single TOML value.
pub(super) fn scalar(text: &str) -> Option<Value> {
    DeValue::parse(text).ok().map(|value| plain(value.get_ref()))
}

/// The file's entries; none where it is not even TOML.
pub(super) fn file(file: &File) -> Layer {
    let mut layer = Layer::default();
    let (table, errors) = DeTable::parse_recoverable(&file.text);
    for error in &errors {
        let line = line_of(&file.text, error.span().map_or(0, |span| span.start));
        let origin = Origin::File { path: file.path.clone(), line };
        let problem = format!("this is not TOML: {}", error.message());
        layer.errors.push(ConfigError { origin, key: String::new(), value: None, problem });
    }
    if errors.is_empty() {
        layer.walk(file, &[], table.get_ref());
    }
    layer
}

/// The entries of `GLEANER_…` variables.
pub(super) fn environment(env: &Env) -> Layer {
    let mut layer = Layer::default();
    for (variable, text) in env {
        let Some(name) = variable.strip_prefix(ENV_PREFIX) else { continue };
        // Compose files and units pass variables on that nobody set.
        if variable == CONFIG_VARIABLE || text.is_empty() {
            continue;
        }
        if let Some(meant) = misjoined(variable) {
            let problem = format!("two underscores stand between the parts of a key; did you mean {meant}?");
            let (origin, key) = (Origin::Env(variable.clone()), String::new());
            layer.errors.push(ConfigError { origin, key, value: None, problem });
            continue;
        }
        let key = Key(name.split("__").map(str::to_lowercase).collect());
        let value = scalar(text).unwrap_or_else(|| Value::String(text.clone()));
        layer.add(key, value, text, Origin::Env(variable.clone()));
    }
    layer
}

/// The variable that was meant where only the number of underscores is wrong.
fn misjoined(variable: &str) -> Option<String> {
    let single = |name: &str| name.replace("__", "_").to_uppercase();
    let meant = SETTINGS.iter().map(Setting::variable).find(|known| single(known) == single(variable))?;
    (meant != variable.to_uppercase()).then_some(meant)
}

/// The entries of flags.
pub(super) fn flags(flags: &[Flag]) -> Layer {
    let mut layer = Layer::default();
    for flag in flags {
        let origin = Origin::Flag(flag.name.clone());
        let parts = flag.assignment.split_once('=').and_then(|(key, text)| Some((dotted(key)?, text.trim())));
        match parts {
            Some((key, text)) => {
                let value = scalar(text).unwrap_or_else(|| Value::String(text.to_owned()));
                layer.add(key, value, text, origin);
            }
            None => {
                // What stands after '=' may be a secret, so only the key is repeated.
                let key = flag.assignment.split('=').next().unwrap_or_default().trim();
                let key = key.replace(char::is_control, " ");
                let problem = "must be KEY=VALUE, as in source.max_failures=3".to_owned();
                layer.errors.push(ConfigError { origin, key, value: None, problem });
            }
        }
    }
    layer
}

/// Reads a key as TOML spells it.
fn dotted(key: &str) -> Option<Key> {
    let line = format!("{} = 0", key.trim());
    if line.contains('\n') {
        return None;
    }
    let table = DeTable::parse(&line).ok()?;
    let mut parts = Vec::new();
    let mut inside = table.get_ref();
    while let Some((part, value)) = inside.iter().next() {
        parts.push(part.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(table) => inside = table,
            _ => break,
        }
    }
    (!parts.is_empty()).then_some(Key(parts))
}

impl Layer {
    fn walk(&mut self, file: &File, path: &[String], table: &DeTable<'_>) {
        for (name, value) in table.iter() {
            let key = Key(path.iter().cloned().chain([name.get_ref().to_string()]).collect());
            let line = line_of(&file.text, name.span().start);
            let origin = Origin::File { path: file.path.clone(), line };
            match value.get_ref() {
                DeValue::Table(inside)
                    if !inside.is_empty()
                        && (matches!(meaning(&key), Meaning::Table(_)) || is_foreign_table(&key)) =>
                {
                    self.walk(file, &key.0, inside);
                }
                value_here => {
                    let text = file.text.get(value.span()).unwrap_or_default();
                    self.add(key, plain(value_here), text, origin);
                }
            }
        }
    }

    fn add(&mut self, key: Key, value: Value, text: &str, origin: Origin) {
        let (setting, key, in_file) = match meaning(&key) {
            Meaning::Setting(setting, key) => (setting, key, false),
            Meaning::File(setting, key) => (setting, key, true),
            Meaning::Table(key) if value.is_table() => {
                let text = text.to_owned();
                return self.entries.push(Entry { key, setting: None, value, text, origin, in_file: false });
            }
            Meaning::Table(key) => {
                let problem = "is a section of settings, not a value".to_owned();
                return self.errors.push(ConfigError { origin, key: key.to_string(), value: None, problem });
            }
            Meaning::Unknown { parts, problem } => {
                let key = Key(key.0.into_iter().take(parts).collect()).to_string();
                return self.errors.push(ConfigError { origin, key, value: None, problem });
            }
        };
        let value = match origin {
            Origin::File { .. } => value,
            _ => meant(setting, value, text, in_file),
        };
        let text = text.to_owned();
        self.entries.push(Entry { key, setting: Some(setting), value, text, origin, in_file });
    }
}

/// A variable or a flag has no types: where text is wanted, it is text, and a list may be plain, with commas.
fn meant(setting: &Setting, value: Value, text: &str, in_file: bool) -> Value {
    match (setting.takes, value) {
        (_, value @ Value::String(_)) if in_file => value,
        (_, _) if in_file => Value::String(text.to_owned()),
        (Takes::List(..), Value::String(text)) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        (takes, value) if takes.is_text() && !value.is_str() => Value::String(text.to_owned()),
        (_, value) => value,
    }
}

impl Entry {
    /// A mistake in this value.
    pub(super) fn error(&self, problem: impl Into<String>) -> ConfigError {
        let (origin, key) = (self.origin.clone(), self.key.to_string());
        ConfigError { origin, key, value: Some(self.shown()), problem: problem.into() }
    }

    /// The value as it was written, secrets hidden.
    fn shown(&self) -> String {
        match self.setting.map(|setting| setting.secrecy) {
            _ if self.in_file => secret::SET.to_owned(),
            Some(Secrecy::Secret) => secret::SET.to_owned(),
            Some(Secrecy::Credentials) if self.value.is_str() => secret::hide_credentials(&self.text),
            Some(Secrecy::Credentials) => secret::SET.to_owned(),
            _ if self.value.is_table() => "{…}".to_owned(),
            // What is shown ends up on terminals.
            _ => self.text.replace(char::is_control, " "),
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The value without its places in the text.
fn plain(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix())
            // Too large for any setting, and a float is refused where a whole number is wanted.
            .map_or(Value::Float(f64::INFINITY), Value::Integer),
        DeValue::Float(n) => Value::Float(n.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(yes) => Value::Boolean(*yes),
        DeValue::Datetime(time) => Value::Datetime(*time),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| plain(item.get_ref())).collect()),
        DeValue::Table(table) => {
            Value::Table(table.iter().map(|(k, v)| (k.get_ref().to_string(), plain(v.get_ref()))).collect())
        }
    }
}
