//! The form of a source's fields, derived from the table of source fields: its widgets, the text of each field, and what
//! the service takes. Credentials are read from a form, and never written into one.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::words;
use crate::config::Config;
use crate::service::{Checks, Collection, Source, SourceFields, SourceSettings, Wrong};
use crate::source_fields::{LONGEST_TEXT, LONGEST_URL, SourceField, Takes};

/// What a browser sent.
pub(super) type FormData = HashMap<String, String>;

/// Fields of a form, but for credentials.
pub(super) fn form_fields() -> impl Iterator<Item = &'static SourceField> + Clone {
    SourceField::editable().filter(|field| !field.secret)
}

/// The text of each field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct FormValues(BTreeMap<String, String>);

impl FormValues {
    pub(super) fn of_source(source: &Source) -> Self {
        Self::new(&source.settings, source.health.disabled.is_none())
    }

    /// Of a source that is enabled and has the default of every field.
    pub(super) fn defaults() -> Self {
        Self::new(&SourceSettings::feed(0, String::new()), true)
    }

    fn new(settings: &SourceSettings, enabled: bool) -> Self {
        let enabled = if enabled { "true" } else { "" }.to_owned();
        let values = settings.to_text().chain([("enabled", enabled)]);
        Self(values.map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// As a browser sent them. A checkbox that is not ticked is not sent; any other field that is not sent is as before.
    pub(super) fn of_form(sent: &FormData, before: &Self) -> Self {
        let value = |field: &SourceField| match (sent.get(field.name), field.takes) {
            (Some(text), _) => text.trim().to_owned(),
            (None, Takes::Flag) => String::new(),
            (None, _) => before.get(field.name).to_owned(),
        };
        Self(form_fields().map(|field| (field.name.to_owned(), value(field))).collect())
    }

    /// From [`Self::to_json`].
    pub(super) fn of_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// For a hidden field, so that a later request knows what a form was made from.
    pub(super) fn to_json(&self) -> String {
        json!(self.0).to_string()
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Fields whose values differ from those, in the order of the form.
    pub(super) fn differing<'a>(&'a self, from: &'a Self) -> impl Iterator<Item = &'static SourceField> + 'a {
        form_fields().filter(|field| self.get(field.name) != from.get(field.name))
    }

    /// These values; those that are as before are replaced by the current ones.
    pub(super) fn merged(&self, before: &Self, now: &Self) -> Self {
        let merged = |field: &SourceField| {
            let name = field.name;
            let value = if self.get(name) == before.get(name) { now.get(name) } else { self.get(name) };
            (name.to_owned(), value.to_owned())
        };
        Self(form_fields().map(merged).collect())
    }

    /// What the service takes: the fields that differ from those before, and the credential of the form.
    pub(super) fn fields(&self, before: &Self, sent: &FormData) -> (SourceFields, Checks) {
        let changed = self.differing(before);
        let mut object: Map<String, Value> =
            changed.map(|field| (field.name.to_owned(), field.parse_text(self.get(field.name)))).collect();
        if let Some(credential) = credential(sent) {
            object.insert("credential".to_owned(), credential);
        }
        let mut checks = Checks::default();
        let fields = SourceFields::read(&object, &mut checks);
        (fields, checks)
    }
}

/// The credential that a form sets; none: it stays as it is.
fn credential(sent: &FormData) -> Option<Value> {
    let text = |name: &str| sent.get(name).map(String::as_str).unwrap_or_default();
    match text("credential") {
        "none" => Some(Value::Null),
        "basic" => Some(json!({ "basic": {
            "user": text("credential_user"), "password": text("credential_password") } })),
        "header" => Some(json!({ "header": {
            "name": text("credential_name"), "value": text("credential_value") } })),
        _ => None,
    }
}

/// What is wrong with a field, for people.
pub(super) fn messages(wrongs: &[Wrong], name: &str) -> String {
    let lines =
        wrongs.iter().filter(|wrong| wrong.field == name).map(|wrong| words::sentence(&wrong.message));
    lines.collect::<Vec<_>>().join("\n")
}

/// How a field is edited in a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Widget {
    /// A line of text, over the whole width.
    Wide,
    Line,
    Select,
    Checkbox,
}

/// One of the options of a select.
pub(super) struct SelectOption {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) selected: bool,
}

/// A field in a form.
pub(super) struct FormField {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: String,
    pub(super) value: String,
    pub(super) placeholder: String,
    pub(super) longest: usize,
    pub(super) wrong: String,
    pub(super) widget: Widget,
    pub(super) options: Vec<SelectOption>,
    /// CSS classes by which it is hidden for other kinds of sources.
    pub(super) classes: String,
}

/// What forms need besides the table: what can be chosen, and what holds where nothing is.
pub(super) struct FormContext {
    pub(super) collections: Vec<Collection>,
    policies: Vec<String>,
    defaults: Vec<(&'static str, String)>,
}

impl FormContext {
    pub(super) fn new(config: &Config, collections: Vec<Collection>) -> Self {
        let defaults = vec![
            ("poll_interval_minutes", config.source.poll_interval.as_mins().to_string()),
            ("policy", config.policy(None).name.clone()),
            ("duplicates", config.source.duplicates.name().to_owned()),
        ];
        Self { collections, policies: config.policies.keys().cloned().collect(), defaults }
    }

    /// The field as a form shows it.
    pub(super) fn field(&self, field: &SourceField, values: &FormValues, wrongs: &[Wrong]) -> FormField {
        let value = values.get(field.name).to_owned();
        let default = self.defaults.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value);
        let (widget, choices) = self.widget(field, default);
        let select = |(value_of, label): (String, String)| SelectOption {
            selected: value_of == value,
            value: value_of,
            label,
        };
        let blank = match (widget, field.nullable) {
            (Widget::Line | Widget::Wide, true) => match default {
                Some(default) => format!(" Blank: {default}, as configured."),
                None if field.default.starts_with("source.") => " Blank: as configured.".to_owned(),
                None => format!(" Blank: {}.", field.default),
            },
            _ => String::new(),
        };
        let classes = match field.is_for_all_kinds() {
            true => String::new(),
            false => {
                let kinds = field.kinds.iter().map(|kind| format!(" for-{}", kind.name()));
                format!(" for-kinds{}", kinds.collect::<String>())
            }
        };
        FormField {
            name: field.name,
            label: field.label,
            hint: format!("{}{blank}", field.help),
            placeholder: default.cloned().unwrap_or_default(),
            longest: if matches!(field.takes, Takes::Url) { LONGEST_URL } else { LONGEST_TEXT },
            wrong: messages(wrongs, field.name),
            widget,
            options: choices.into_iter().map(select).collect(),
            classes,
            value,
        }
    }

    fn widget(&self, field: &SourceField, default: Option<&String>) -> (Widget, Vec<(String, String)>) {
        let mut choices: Vec<(String, String)> = match field.takes {
            Takes::Flag => return (Widget::Checkbox, Vec::new()),
            Takes::Url | Takes::CssSelector => return (Widget::Wide, Vec::new()),
            Takes::Text | Takes::Interval(_) | Takes::Seconds(_) | Takes::Credential => {
                return (Widget::Line, Vec::new());
            }
            Takes::Collection => {
                self.collections.iter().map(|one| (one.id.to_string(), one.name.clone())).collect()
            }
            Takes::Policy => self.policies.iter().map(|name| (name.clone(), name.clone())).collect(),
            Takes::Choice { choices, .. } => choices
                .iter()
                .map(|one| (one.value.to_owned(), format!("{}: {}", one.value, one.description)))
                .collect(),
        };
        if field.nullable {
            let default = default.map_or(field.default, String::as_str);
            choices.insert(0, (String::new(), format!("as configured: {default}")));
        }
        (Widget::Select, choices)
    }

    /// All fields of a form.
    pub(super) fn fields(&self, values: &FormValues, wrongs: &[Wrong]) -> Vec<FormField> {
        form_fields().map(|field| self.field(field, values, wrongs)).collect()
    }
}
