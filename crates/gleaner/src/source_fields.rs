//! The table of source fields: everything that a person sets about a source.
//!
//! A field is declared here and nowhere else. Derived from the table: [`SourceSettings`] with its columns and row decoder,
//! the API's request and response schemas, the dashboard's forms, the flags of `gleaner add` and `gleaner edit`, import,
//! export, bulk edit, the audit log's differences and `docs/source-fields.md`. A new field is an entry here, a column in a
//! migration, and the code that uses it.
//!
//! Not here: what needs the rest of the program to be checked, such as whether a collection exists; `service/fields.rs`
//! does that by [`Takes`].

mod reference;
mod value;

use std::fmt;

use gleaner_core::backfill::Backfill;
use gleaner_core::source::{Duplicates, Interval, Kind, LONGEST_INTERVAL, LONGEST_POLL_DELAY};
use gleaner_core::time::Span;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use reference::page;
pub use value::{ColumnType, ColumnValue, FieldValue, StoredValue};

/// Maximum length of a text, in characters.
pub const LONGEST_TEXT: usize = 1000;
/// Maximum length of a URL, in characters.
pub const LONGEST_URL: usize = 4096;

/// One source field.
#[derive(Debug, Clone, Copy)]
pub struct SourceField {
    /// Name in the API, in JSON lists, in forms and of the database column.
    pub name: &'static str,
    /// Command-line flag, without the dashes.
    pub flag: &'static str,
    /// Label in forms.
    pub label: &'static str,
    /// What it is for, in one sentence that fits the command line, the API document and a form.
    pub help: &'static str,
    pub takes: Takes,
    /// Its values in the API, where they are few.
    pub values: fn() -> Vec<Value>,
    /// What holds where nothing is set, for people.
    pub default: &'static str,
    /// Whether null is a value: nothing is set.
    pub nullable: bool,
    /// Kinds of sources that it has an effect on.
    pub kinds: &'static [Kind],
    pub edited: Edited,
    /// Written but never shown, exported or logged: only whether it is set.
    pub secret: bool,
    /// Version of gleaner that introduced it.
    pub since: &'static str,
}

/// Where a field can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edited {
    /// When one source is created or edited.
    Single,
    /// The same, and of many sources at once.
    Bulk,
    /// By the import of a list only: a state that an export carries along.
    Import,
}

/// What a field takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// An http or https URL; of kind x a handle.
    Url,
    Text,
    CssSelector,
    /// A collection's id; its name on the command line and in lists.
    Collection,
    /// The name of a configured policy.
    Policy,
    Flag,
    Choice {
        choices: &'static [Choice],
        /// Accepted on input beside the choices: names of other programs.
        synonyms: &'static [&'static str],
    },
    /// A whole number of minutes, from 1 to this, or `auto`.
    Interval(u64),
    /// A whole number of seconds, from 0 to this.
    Seconds(u64),
    Credential,
}

/// One of several values.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    pub value: &'static str,
    pub description: &'static str,
}

const fn choice(value: &'static str, description: &'static str) -> Choice {
    Choice { value, description }
}

impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => write!(f, "an http or https URL, or for kind x a handle"),
            Self::Text => write!(f, "a text"),
            Self::CssSelector => write!(f, "a CSS selector"),
            Self::Collection => write!(f, "the number of a collection"),
            Self::Policy => write!(f, "the name of a policy"),
            Self::Flag => write!(f, "true or false"),
            Self::Choice { choices, .. } => {
                let names: Vec<String> = choices.iter().map(|one| format!("\"{}\"", one.value)).collect();
                match names.split_last() {
                    Some((last, rest)) if !rest.is_empty() => write!(f, "{} or {last}", rest.join(", ")),
                    _ => f.write_str(&names.concat()),
                }
            }
            Self::Interval(most) => write!(f, "a whole number of minutes from 1 to {most}, or \"auto\""),
            Self::Seconds(most) => write!(f, "a whole number of seconds from 0 to {most}"),
            Self::Credential => write!(
                f,
                "{{\"basic\": {{\"user\": …, \"password\": …}}}} or {{\"header\": {{\"name\": …, \"value\": …}}}}"
            ),
        }
    }
}

const KINDS: Takes = Takes::Choice {
    choices: &[
        choice("feed", "RSS, Atom or JSON Feed"),
        choice("website", "one page whose text changes"),
        choice("watchlist", "an index page whose links are followed"),
        choice("x", "a timeline on X"),
    ],
    synonyms: &["rss", "atom", "twitter"],
};
const BACKFILL: Takes = Takes::Choice {
    choices: &[
        choice("none", "only entries published from now on"),
        choice("recent", "up to 10 of the newest within the maximum age"),
        choice("all", "all, of any age"),
    ],
    synonyms: &[],
};
const DUPLICATES: Takes = Takes::Choice {
    choices: &[
        choice("entry", "the same title, text and date as another entry"),
        choice("content", "the same text as another entry"),
    ],
    synonyms: &[],
};
const INTERVAL: Takes = Takes::Interval(LONGEST_INTERVAL.as_mins());
const SECONDS: Takes = Takes::Seconds(LONGEST_POLL_DELAY.as_millis() / 1000);

/// What most fields have in common.
const BASE: SourceField = SourceField {
    name: "",
    flag: "",
    label: "",
    help: "",
    takes: Takes::Text,
    values: Vec::new,
    default: "",
    nullable: false,
    kinds: &Kind::ALL,
    edited: Edited::Bulk,
    secret: false,
    since: "0.1.0",
};

/// Hands the table to another macro. `settings` are columns of `sources`, each with its name in Rust, its name everywhere
/// else, its type and its default; `state` are fields that are kept elsewhere.
macro_rules! source_fields {
    ($expand:ident) => {
        $expand! {
            settings {
                url "url": String = String::new(), SourceField {
                    flag: "url", label: "URL", takes: Takes::Url, edited: Edited::Single,
                    help: "Address to poll: a feed, a page, an index page, or @handle on X.",
                    default: "required", ..BASE
                };
                kind "kind": Kind = Kind::Feed, SourceField {
                    flag: "kind", label: "Kind", takes: KINDS, edited: Edited::Single,
                    help: "What the source is.",
                    default: "feed", ..BASE
                };
                name "name": Option<String> = None, SourceField {
                    flag: "name", label: "Name", edited: Edited::Single,
                    help: "Name shown to people instead of the URL.",
                    default: "the URL is shown", ..BASE
                };
                collection_id "collection_id": i64 = 0, SourceField {
                    flag: "collection", label: "Collection", takes: Takes::Collection,
                    help: "Collection that the source belongs to.",
                    default: "the collection default", ..BASE
                };
                interval "poll_interval_minutes": Interval = Interval::Default, SourceField {
                    flag: "interval", label: "Minutes between polls", takes: INTERVAL,
                    help: "Minutes between two polls, or auto: as often as the source publishes.",
                    default: "source.poll_interval_minutes", ..BASE
                };
                poll_delay "poll_delay_seconds": Option<Span> = None, SourceField {
                    flag: "delay", label: "Seconds of pause after it", takes: SECONDS,
                    help: "Pause after a poll before the next request to the same host, in seconds.",
                    default: "source.poll_delay_seconds", ..BASE
                };
                policy "policy": Option<String> = None, SourceField {
                    flag: "policy", label: "Policy", takes: Takes::Policy,
                    help: "Policy that decides what failures do to the source.",
                    default: "source.policy", ..BASE
                };
                duplicates "duplicates": Option<Duplicates> = None, SourceField {
                    flag: "duplicates", label: "Duplicates", takes: DUPLICATES,
                    help: "Which new entries are duplicates and not stored.",
                    kinds: &[Kind::Feed, Kind::Watchlist, Kind::X],
                    default: "source.duplicates", ..BASE
                };
                article_selector "article_selector": Option<String> = None, SourceField {
                    flag: "article-selector", label: "Article selector",
                    takes: Takes::CssSelector, kinds: &[Kind::Watchlist],
                    help: "CSS selector of the links that a watchlist follows.",
                    default: "links that look like articles", ..BASE
                };
                ignore_selector "ignore_selector": Option<String> = None, SourceField {
                    flag: "ignore-selector", label: "Ignore selector",
                    takes: Takes::CssSelector, kinds: &[Kind::Website],
                    help: "CSS selector of parts of a website that always change and are left out.",
                    default: "nothing is left out", ..BASE
                };
                full_content "full_content": bool = false, SourceField {
                    flag: "full-content", label: "Full content", takes: Takes::Flag,
                    kinds: &[Kind::Feed],
                    help: "Fetch the page of each new entry and store the article's text.",
                    default: "false", ..BASE
                };
                backfill "backfill": Backfill = Backfill::None, SourceField {
                    flag: "backfill", label: "Existing entries", takes: BACKFILL,
                    help: "Existing entries that the first poll stores.",
                    default: "none", ..BASE
                };
                ignore_robots "ignore_robots": bool = false, SourceField {
                    flag: "ignore-robots", label: "Ignore robots.txt", takes: Takes::Flag,
                    kinds: &[Kind::Website, Kind::Watchlist],
                    help: "Poll pages even where robots.txt disallows it.",
                    default: "false", ..BASE
                };
            }
            state {
                enabled "enabled": bool, SourceField {
                    flag: "enabled", label: "Enabled", takes: Takes::Flag, edited: Edited::Single,
                    help: "Whether the source is polled at all.",
                    default: "true", ..BASE
                };
                credential "credential": Option<Credential>, SourceField {
                    flag: "credential", label: "Credential", takes: Takes::Credential,
                    nullable: true, kinds: &[Kind::Feed, Kind::Website, Kind::Watchlist], edited: Edited::Single,
                    secret: true,
                    help: "What requests to the source's own origin are authenticated with.",
                    default: "none", ..BASE
                };
                disabled_reason "disabled_reason": Option<String>, SourceField {
                    label: "Disabled because", nullable: true, edited: Edited::Import,
                    help: "Why a policy disabled the source; null if a person did.",
                    default: "none", ..BASE
                };
                manual_quarantine "manual_quarantine": Option<String>, SourceField {
                    label: "Quarantined by a person", nullable: true,
                    edited: Edited::Import,
                    help: "Reason for which a person quarantined the source.",
                    default: "none", ..BASE
                };
            }
        }
    };
}

pub(crate) use source_fields;

/// Defines [`SourceSettings`] and [`SOURCE_FIELDS`].
macro_rules! define_settings {
    (
        settings { $($field:ident $name:literal: $type:ty = $default:expr, $spec:expr;)* }
        state { $($state:ident $state_name:literal: $state_type:ty, $state_spec:expr;)* }
    ) => {
        /// What a person set about a source, as the database keeps it. Read from a JSON array of the columns.
        #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
        pub struct SourceSettings {
            $(
                #[serde(deserialize_with = "StoredValue::decode")]
                pub $field: $type,
            )*
            /// The credential, encrypted.
            #[serde(deserialize_with = "StoredValue::decode")]
            pub secret: Option<Vec<u8>>,
        }

        impl SourceSettings {
            /// A feed, with the default of every other field.
            pub fn feed(collection_id: i64, url: impl Into<String>) -> Self {
                Self { collection_id, url: url.into(), ..Self { $($field: $default,)* secret: None } }
            }

            /// Columns of `sources`, in the order of [`Self::values`].
            pub const COLUMNS: &[(&str, ColumnType)] = &[
                $(($name, <$type as StoredValue>::COLUMN),)*
                ("secret", ColumnType::Bytes),
            ];

            /// Values of [`Self::COLUMNS`].
            pub fn values(&self) -> impl Iterator<Item = ColumnValue<'_>> {
                [$(self.$field.stored(),)* self.secret.stored()].into_iter()
            }

            /// Every field by its name, as the API has it.
            pub fn to_json(&self) -> Map<String, Value> {
                [$(($name.to_owned(), self.$field.to_json()),)*].into_iter().collect()
            }

            /// Every field by its name, as a form has it: blank where nothing is set, and for false.
            pub fn to_text(&self) -> impl Iterator<Item = (&'static str, String)> {
                [$(($name, self.$field.to_text()),)*].into_iter()
            }
        }

        /// Every field, in the order of forms and documents.
        pub static SOURCE_FIELDS: &[SourceField] = &[
            $(SourceField { name: $name,
                nullable: <$type as FieldValue>::NULLABLE,
                values: <$type as FieldValue>::values,
                ..$spec
            },)*
            $(SourceField { name: $state_name, ..$state_spec },)*
        ];
    };
}

source_fields!(define_settings);

impl SourceField {
    pub fn find(name: &str) -> Option<&'static SourceField> {
        SOURCE_FIELDS.iter().find(|field| field.name == name)
    }

    /// Fields that a person sets of one source.
    pub fn editable() -> impl Iterator<Item = &'static SourceField> + Clone {
        SOURCE_FIELDS.iter().filter(|field| field.edited != Edited::Import)
    }

    /// Fields that can be set of many sources at once.
    pub fn bulk() -> impl Iterator<Item = &'static SourceField> {
        SOURCE_FIELDS.iter().filter(|field| field.edited == Edited::Bulk)
    }

    /// A text from a form or the command line, as the API takes it. Blank is nothing; `default` is nothing, too, where it
    /// cannot be a value. What does not fit stays a text, to be refused with the reason.
    pub fn parse_text(&self, text: &str) -> Value {
        let text = text.trim();
        let is_free = matches!(self.takes, Takes::Url | Takes::Text | Takes::CssSelector);
        match (self.takes, text) {
            (Takes::Flag, "" | "false") => false.into(),
            (Takes::Flag, "true") => true.into(),
            (_, "") if self.nullable => Value::Null,
            (_, "default") if self.nullable && !is_free => Value::Null,
            (Takes::Collection | Takes::Interval(_) | Takes::Seconds(_), text) => {
                text.parse::<u64>().map_or_else(|_| text.into(), Value::from)
            }
            (_, text) => text.into(),
        }
    }

    /// Whether it has an effect on every kind of source.
    pub fn is_for_all_kinds(&self) -> bool {
        Kind::ALL.iter().all(|kind| self.kinds.contains(kind))
    }

    /// What holds where nothing is set, with the setting that decides it.
    pub fn default_description(&self) -> String {
        match self.default {
            setting if setting.starts_with("source.") => format!("as configured, {setting}"),
            other => other.to_owned(),
        }
    }

    /// What it is for and what it takes, in one line.
    pub fn description(&self) -> String {
        let mut text = self.help.trim_end_matches('.').to_owned();
        if let Takes::Choice { choices, .. } = self.takes {
            let each: Vec<String> =
                choices.iter().map(|one| format!("{} ({})", one.value, one.description)).collect();
            text.push_str(": ");
            text.push_str(&each.join(", "));
        }
        if !self.is_for_all_kinds() {
            let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name()).collect();
            text.push_str(&format!("; only for kind {}", kinds.join(", ")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        let unset = SourceSettings::feed(0, String::new()).to_json();
        for field in SOURCE_FIELDS {
            let name = field.name;
            let same = |other: &&SourceField| {
                other.name == name || other.flag == field.flag && !field.flag.is_empty()
            };
            assert_eq!(SOURCE_FIELDS.iter().filter(same).count(), 1, "{name} stands once");
            assert!(field.help.ends_with('.') && field.help.len() > 10, "{name} says what it is for");
            assert!(
                !field.label.is_empty() && !field.default.is_empty() && !field.kinds.is_empty(),
                "{name}"
            );
            assert_eq!(field.flag.is_empty(), field.edited == Edited::Import, "{name}");
            let Some(default) = unset.get(name) else { continue };
            assert_eq!(field.nullable, default.is_null(), "{name}: null is the default where it is a value");
        }
        assert_eq!(SourceSettings::COLUMNS.len(), SourceSettings::feed(0, "").values().count());
    }

    #[test]
    fn texts_are_read_by_what_a_field_takes() {
        for (name, text, value) in [
            ("poll_interval_minutes", "15", Value::from(15)),
            ("poll_interval_minutes", "auto", "auto".into()),
            ("poll_interval_minutes", "default", Value::Null),
            ("poll_interval_minutes", "soon", "soon".into()),
            ("poll_delay_seconds", " ", Value::Null),
            ("full_content", "", false.into()),
            ("full_content", "true", true.into()),
            ("policy", "default", Value::Null),
            ("name", "default", "default".into()),
            ("name", "", Value::Null),
            ("url", "", "".into()),
            ("backfill", "recent", "recent".into()),
        ] {
            assert_eq!(SourceField::find(name).unwrap().parse_text(text), value, "{name}: {text:?}");
        }
    }
}
