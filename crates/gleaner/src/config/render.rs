//! The configuration in effect, to be read by people and by programs; secrets are hidden.

use std::fmt::Write;

use serde::Serialize;
use toml::Value;

use super::error::Origin;
use super::key::Key;
use super::load::{Effective, Loaded};
use super::secret::{SET, hide_credentials};
use super::settings::{SETTINGS, Secrecy, Setting};

/// A setting and the value in effect, for programs.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The key.
    pub key: String,
    /// The value, secrets hidden; null where it is not set.
    pub value: serde_json::Value,
    /// `default`, `file`, `environment` or `flag`.
    pub from: &'static str,
    /// Which file and line, variable or flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What is allowed.
    pub allowed: String,
    /// The variable that sets it.
    pub variable: String,
    /// What it is for.
    pub about: &'static str,
}

impl Effective {
    /// The value with what must not be seen replaced, and whether anything was.
    pub fn shown(&self) -> (Value, bool) {
        let shown = match (self.setting.secrecy, &self.value) {
            (Secrecy::Secret, _) => Value::String(SET.to_owned()),
            (Secrecy::Credentials, Value::String(text)) => Value::String(hide_credentials(text)),
            (_, value) => value.clone(),
        };
        let hidden = shown != self.value;
        (shown, hidden)
    }
}

/// Every setting with its value, for programs: those of the table in its order, names in keys filled in.
pub fn rows(loaded: &Loaded) -> Vec<Row> {
    SETTINGS
        .iter()
        .flat_map(|setting| {
            let set = loaded.values.iter().filter(move |(_, value)| value.setting.key == setting.key);
            let mut rows: Vec<Row> =
                set.map(|(key, value)| row(setting, key.to_string(), Some(value))).collect();
            if rows.is_empty() && !setting.key.contains('<') {
                rows.push(row(setting, setting.key.to_owned(), None));
            }
            rows
        })
        .collect()
}

fn row(setting: &Setting, key: String, value: Option<&Effective>) -> Row {
    let origin = value.map_or(&Origin::Default, |value| &value.origin);
    let (from, at) = match origin {
        Origin::Default => ("default", None),
        Origin::File { .. } => ("file", Some(origin.to_string())),
        Origin::Env(_) => ("environment", Some(origin.to_string())),
        Origin::Flag(_) => ("flag", Some(origin.to_string())),
    };
    Row {
        key,
        value: value.and_then(|value| serde_json::to_value(value.shown().0).ok()).unwrap_or_default(),
        from,
        at,
        allowed: setting.takes.to_string(),
        variable: setting.variable(),
        about: setting.about,
    }
}

/// The configuration in effect as a commented TOML file: what each setting is for, what it takes, its value and
/// where that came from. Read as a config file it gives the same configuration, secrets aside.
pub fn toml(loaded: &Loaded) -> String {
    let mut out = String::new();
    for (i, setting) in SETTINGS.iter().enumerate() {
        let table = table_of(setting.key);
        let first = i == 0 || table_of(SETTINGS[i - 1].key) != table;
        let named = setting.key.contains('<');
        let _ = write!(out, "{}", if i == 0 { "" } else { "\n" });
        if first {
            let mark = if named { "# " } else { "" };
            let _ = writeln!(out, "{mark}[{}]", table.replace("<host>", "\"<host>\""));
        }
        explain(&mut out, setting);
        let last = SETTINGS.get(i + 1).is_none_or(|next| table_of(next.key) != table);
        if named {
            let _ = writeln!(out, "# {} =", leaf(setting.key));
            if last {
                instances(&mut out, loaded, table);
            }
        } else {
            let key = Key(setting.segments().map(str::to_owned).collect());
            assign(&mut out, leaf(setting.key), loaded.values.get(&key));
        }
    }
    out
}

pub(super) fn explain(out: &mut String, setting: &Setting) {
    let _ = writeln!(out, "# {}", setting.about);
    let default = setting.default.map(|default| format!("; default {default}")).unwrap_or_default();
    let file = if setting.secrecy == Secrecy::Open {
        ""
    } else {
        ", or …_FILE with the path of a file that holds it"
    };
    let _ = writeln!(out, "# Takes {}{default}. Variable: {}{file}", setting.takes, setting.variable());
}

fn assign(out: &mut String, name: &str, value: Option<&Effective>) {
    // A path may hold anything, and a line break would end the comment.
    let origin = |value: &Effective| value.origin.to_string().replace(char::is_control, " ");
    let line = match value.map(|value| (value.shown(), origin(value))) {
        None => format!("# {name} =  # not set"),
        Some(((value, false), origin)) => format!("{name} = {value}  # {origin}"),
        // As a comment, so that the file can be used: what is hidden is not the value.
        Some(((value, true), origin)) => format!("# {name} = {value}  # {origin}"),
    };
    let _ = writeln!(out, "{line}");
}

/// The tables of which there are as many as somebody named: only what is set.
fn instances(out: &mut String, loaded: &Loaded, pattern: &str) {
    let mut open = None;
    for (key, value) in &loaded.values {
        if table_of(value.setting.key) != pattern {
            continue;
        }
        let (name, table) = match key.0.split_last() {
            Some((name, table)) => (name, Key(table.to_vec()).to_string()),
            None => continue,
        };
        if open.as_ref() != Some(&table) {
            let _ = writeln!(out, "\n[{table}]");
            open = Some(table);
        }
        assign(out, name, Some(value));
    }
}

pub(super) fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

pub(super) fn leaf(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(_, leaf)| leaf)
}
