//! Names of source fields in other pollers, and gleaner's own.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::config::snake_case;

/// Other names of fields, in snake case.
const SYNONYMS: [(&str, &str); 10] = [
    ("type", "kind"),
    ("source_type", "kind"),
    ("feed_url", "url"),
    ("consecutive_errors", "consecutive_failures"),
    ("last_polled", "last_polled_at"),
    ("last_checked", "last_polled_at"),
    ("last_failure", "last_failure_type"),
    ("feed_disabled_at", "quarantined_at"),
    ("feed_disable_reason", "quarantine_reason"),
    ("last_error_kind", "last_error_type"),
];

/// Gleaner's name of a field; camel case and names of other systems are understood.
pub(super) fn field_name(given: &str) -> Cow<'_, str> {
    let snake = snake_case(given);
    match SYNONYMS.iter().find(|(other, _)| *other == snake) {
        Some((_, own)) => Cow::Borrowed(*own),
        None => snake,
    }
}

/// Fields by gleaner's own names. If one is given twice, the own name wins and the other stays as it is, to be refused.
pub(super) fn with_own_names(object: Map<String, Value>) -> Map<String, Value> {
    let own: Vec<String> = object.keys().map(|name| field_name(name).into_owned()).collect();
    let mut renamed = Map::with_capacity(object.len());
    let is_given = |name: &str| object.contains_key(name);
    let taken: Vec<bool> = object.keys().zip(&own).map(|(name, own)| name != own && is_given(own)).collect();
    for (((name, value), own), taken) in object.into_iter().zip(own).zip(taken) {
        let name = if taken || renamed.contains_key(&own) { name } else { own };
        renamed.insert(name, value);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_systems_are_understood() {
        for (given, own) in [
            ("type", "kind"),
            ("pollIntervalMinutes", "poll_interval_minutes"),
            ("lastPolled", "last_polled_at"),
            ("last_checked", "last_polled_at"),
            ("consecutive_errors", "consecutive_failures"),
            ("consecutiveFailures", "consecutive_failures"),
            ("feed_disabled_at", "quarantined_at"),
            ("url", "url"),
            ("URL", "URL"),
            ("Some-Thing", "Some-Thing"),
        ] {
            assert_eq!(field_name(given), own);
        }
    }

    #[test]
    fn a_name_that_is_given_twice_is_not_lost() {
        let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        assert_eq!(
            with_own_names(object(r#"{"type":"rss","url":"u"}"#)),
            object(r#"{"kind":"rss","url":"u"}"#)
        );
        let twice = object(r#"{"kind":"feed","type":"website"}"#);
        assert_eq!(with_own_names(twice.clone()), twice);
        let aliases = with_own_names(object(r#"{"source_type":"feed","type":"website"}"#));
        assert_eq!(aliases.len(), 2, "{aliases:?}");
    }
}
