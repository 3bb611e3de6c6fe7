//! What a form says of a source, as the text of each field: from a source, from a browser, and into what the service
//! takes. Credentials go one way only.

use std::collections::{BTreeMap, HashMap};

use gleaner_core::source::Interval;
use serde_json::{Map, Value, json};

use crate::service::{Checks, Source, SourceFields};

/// All fields with what people call them.
pub(super) const FIELDS: [(&str, &str); 14] = [
    ("url", "URL"),
    ("kind", "Kind"),
    ("name", "Name"),
    ("collection_id", "Collection"),
    ("poll_interval_minutes", "Minutes between polls"),
    ("poll_delay_seconds", "Seconds of pause after it"),
    ("article_selector", "Article selector"),
    ("ignore_selector", "Ignore selector"),
    ("policy", "Policy"),
    ("duplicates", "Duplicates"),
    ("full_content", "Full content"),
    ("backfill", "Existing entries"),
    ("ignore_robots", "Do not ask robots.txt"),
    ("enabled", "Enabled"),
];
/// Those that are set or not, and cannot be wrong.
pub(super) const FLAGS: [&str; 3] = ["full_content", "ignore_robots", "enabled"];

/// What a browser sent.
pub(super) type Sent = HashMap<String, String>;

/// The text of each field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Values(BTreeMap<String, String>);

impl Values {
    /// As a source has them.
    pub(super) fn of_source(source: &Source) -> Self {
        let settings = &source.settings;
        let flag = |set: bool| if set { "true" } else { "" }.to_owned();
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let interval = match settings.interval {
            Interval::Default => String::new(),
            Interval::Minutes(minutes) => minutes.to_string(),
            Interval::Auto => "auto".to_owned(),
        };
        let delay = settings.poll_delay.map(|delay| (delay.as_millis() / 1000).to_string());
        let values = [
            ("url", settings.url.clone()),
            ("kind", settings.kind.name().to_owned()),
            ("name", text(&settings.name)),
            ("collection_id", settings.collection_id.to_string()),
            ("poll_interval_minutes", interval),
            ("poll_delay_seconds", delay.unwrap_or_default()),
            ("article_selector", text(&settings.article_selector)),
            ("ignore_selector", text(&settings.ignore_selector)),
            ("policy", text(&settings.policy)),
            ("duplicates", settings.duplicates.map(|rule| rule.name().to_owned()).unwrap_or_default()),
            ("full_content", flag(settings.full_content)),
            ("backfill", settings.backfill.name().to_owned()),
            ("ignore_robots", flag(settings.ignore_robots)),
            ("enabled", flag(source.health.disabled.is_none())),
        ];
        Self(values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// As a browser sent them: what is not ticked is not sent.
    pub(super) fn of_form(sent: &Sent) -> Self {
        let value = |name: &str| sent.get(name).map(|text| text.trim().to_owned()).unwrap_or_default();
        Self(FIELDS.iter().map(|(name, _)| ((*name).to_owned(), value(name))).collect())
    }

    /// As they were when the form was made.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// To be sent along with the form.
    pub(super) fn to_text(&self) -> String {
        json!(self.0).to_string()
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// The fields that differ from those, in the order of the form.
    pub(super) fn differing<'a>(
        &'a self,
        from: &'a Self,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        FIELDS.into_iter().filter(|(name, _)| self.get(name) != from.get(name))
    }

    /// These, and where they are still as they were, what is there now.
    pub(super) fn over(&self, was: &Self, now: &Self) -> Self {
        let merged = |(name, _): &(&str, &str)| {
            let value = if self.get(name) == was.get(name) { now.get(name) } else { self.get(name) };
            ((*name).to_owned(), value.to_owned())
        };
        Self(FIELDS.iter().map(merged).collect())
    }

    /// What the service takes: the fields that differ from those, and the credentials of the form.
    pub(super) fn fields(&self, was: &Self, sent: &Sent) -> (SourceFields, Checks) {
        let mut object: Map<String, Value> =
            self.differing(was).map(|(name, _)| (name.to_owned(), self.value(name))).collect();
        if let Some(credential) = credential(sent) {
            object.insert("credential".to_owned(), credential);
        }
        let mut checks = Checks::default();
        let fields = SourceFields::read(&object, &mut checks);
        (fields, checks)
    }

    /// A field as the API has it.
    fn value(&self, name: &str) -> Value {
        let text = self.get(name);
        match name {
            _ if FLAGS.contains(&name) => (!text.is_empty()).into(),
            "url" | "kind" => text.into(),
            _ if text.is_empty() => Value::Null,
            "collection_id" | "poll_interval_minutes" | "poll_delay_seconds" => {
                text.parse::<u64>().map_or_else(|_| text.into(), Value::from)
            }
            _ => text.into(),
        }
    }
}

/// What the form says of credentials; none: they stay.
fn credential(sent: &Sent) -> Option<Value> {
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
