//! Lists of sources as files: OPML for other programs, JSON lines for every field that is not secret.

use std::fmt;
use std::str::FromStr;

use gleaner_core::source::Kind;
use serde_json::{Map, Value, json};

use super::synonyms::with_own_names;
use super::{By, Checks, Scope, ServiceError, SourceFields};
use crate::read::decode::decode;
use crate::read::opml::{self, Outline};
use crate::source_fields::SourceSettings;
use crate::store::{Collection, Source, SourceFilter};

/// Fields of the API's response that cannot be set: an import skips them, everything else refuses them.
pub(super) const LEARNED: [&str; 27] = [
    "id",
    "status",
    "consecutive_failures",
    "last_failure_type",
    "last_error_type",
    "last_error",
    "last_status_code",
    "failing_since",
    "quarantined_at",
    "quarantine_reason",
    "retry_at",
    "last_polled_at",
    "last_success_at",
    "next_poll_at",
    "created_at",
    "updated_at",
    "host",
    "version",
    "suspect",
    "proposal",
    "incident_id",
    "has_credential",
    "excused_by",
    "pages_waiting",
    "pages_failed",
    "pages_given_up",
    "also_in",
];
/// Maximum length of a JSON line.
const LINE_BYTES: usize = 256 << 10;
/// Sources of one query.
const PAGE: u32 = 500;

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// What feed readers exchange.
    Opml,
    /// A JSON object a line, with the fields of the API.
    Json,
}

impl Format {
    /// The name in the API and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opml => "opml",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = [Self::Opml, Self::Json].into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            format!(
                "there is no format '{}'; there are opml, json",
                name.chars().take(60).collect::<String>()
            )
        })
    }
}

/// A source in a list, not checked yet.
#[derive(Debug)]
pub(super) struct ListLine {
    /// From 1.
    pub(super) line: u64,
    pub(super) url: Option<String>,
    /// Name of the collection, if the list has one.
    pub(super) collection: Option<String>,
    fields: Result<Map<String, Value>, String>,
}

impl ListLine {
    /// Its fields; what cannot be read is noted as wrong.
    pub(super) fn fields(&self, checks: &mut Checks) -> SourceFields {
        match &self.fields {
            Ok(fields) => {
                let fields = SourceFields::read_imported(fields, checks);
                if fields.url.is_none() && !checks.has("url") {
                    checks.wrong("url", "a source needs a url");
                }
                fields
            }
            Err(why) => {
                checks.wrong("", why);
                SourceFields::default()
            }
        }
    }
}

impl From<Outline> for ListLine {
    fn from(Outline { line, url, title, kind, folder }: Outline) -> Self {
        // Readers write all sorts of types for what is a feed.
        let kind = kind.and_then(|kind| kind.to_lowercase().parse().ok()).unwrap_or(Kind::Feed);
        let fields = json!({ "url": url, "kind": kind, "name": title });
        let fields = fields.as_object().cloned().ok_or_else(String::new);
        Self { line, url: Some(url), collection: folder, fields }
    }
}

/// Estimated number of sources in a list: feeds where it names any, else lines.
pub(super) fn about(bytes: &[u8]) -> u64 {
    let feeds = memchr::memmem::find_iter(bytes, b"xmlUrl").count();
    if feeds > 0 {
        return feeds as u64;
    }
    let ended = bytes.last().is_none_or(|last| *last == b'\n');
    memchr::memchr_iter(b'\n', bytes).count() as u64 + u64::from(!ended)
}

/// Reads a list, and hands on each source until `give` returns false.
pub(super) fn read(
    bytes: &[u8],
    content_type: &[u8],
    format: Option<Format>,
    give: impl FnMut(ListLine) -> bool,
) -> Result<(), ServiceError> {
    let text = decode(bytes, content_type);
    let format = format.unwrap_or(match text.trim_start().chars().next() {
        Some('{' | '[') => Format::Json,
        _ => Format::Opml,
    });
    match format {
        Format::Opml => {
            let outlines = opml::outlines(&text).map_err(|not| {
                ServiceError::invalid("file", format!("{not}; lists are OPML, or a JSON object a line"))
            })?;
            outlines.map(ListLine::from).all(give);
        }
        Format::Json => {
            let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
            lines.map(|(number, line)| of_line(number, line)).all(give);
        }
    }
    Ok(())
}

fn of_line(line: u64, text: &str) -> ListLine {
    let bad = |why: &str| ListLine { line, url: None, collection: None, fields: Err(why.to_owned()) };
    if text.len() > LINE_BYTES {
        return bad(&format!("the line is longer than {LINE_BYTES} bytes"));
    }
    let mut fields = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => with_own_names(fields),
        Ok(_) => return bad("the line is no JSON object"),
        Err(error) => return bad(&format!("the line is no JSON, from column {} on", error.column())),
    };
    fields.retain(|name, _| !LEARNED.contains(&name.as_str()));
    let url = fields.get("url").and_then(Value::as_str).map(|url| url.chars().take(4096).collect());
    let collection = match fields.remove("collection") {
        Some(Value::String(name)) => Some(name),
        None | Some(Value::Null) => None,
        Some(_) => return ListLine { url, ..bad("collection: it is a collection's name") },
    };
    // Ids of a list that has names were written by another instance, where they mean other collections.
    if collection.is_some() {
        fields.remove("collection_id");
    }
    ListLine { line, url, collection, fields: Ok(fields) }
}

impl By<'_> {
    /// All sources, or those of one collection, as a list to import.
    pub async fn export(&self, format: Format, collection_id: Option<i64>) -> Result<String, ServiceError> {
        self.actor.must(Scope::Read)?;
        let mut collections = self.visible_collections().await?;
        collections.retain(|one| collection_id.is_none_or(|id| one.id == id));
        if let Some(id) = collection_id.filter(|_| collections.is_empty()) {
            return Err(ServiceError::missing("collection", &id.to_string()));
        }
        let (mut writer, mut lines) = (opml::Writer::new("gleaner"), String::new());
        for collection in &collections {
            let filter = SourceFilter { collection_id: Some(collection.id), ..SourceFilter::default() };
            let mut after = None;
            loop {
                let page = self.store.sources(&filter, after, PAGE).await?;
                after = page.last().map(|source| source.id);
                match format {
                    Format::Opml => page.iter().for_each(|source| writer.feed(&outline(source, collection))),
                    Format::Json => page.iter().for_each(|source| {
                        lines.push_str(&object(source, collection).to_string());
                        lines.push('\n');
                    }),
                }
                if page.len() < PAGE as usize {
                    break;
                }
            }
        }
        Ok(match format {
            Format::Opml => writer.finish(),
            Format::Json => lines,
        })
    }
}

fn outline(source: &Source, collection: &Collection) -> Outline {
    let kind = match source.settings.kind {
        Kind::Feed => "rss",
        other => other.name(),
    };
    Outline {
        line: 0,
        url: source.settings.url.clone(),
        title: source.settings.name.clone(),
        kind: Some(kind.to_owned()),
        folder: Some(collection.name.clone()).filter(|name| name != "default"),
    }
}

/// Every field that is not secret and not at its default, and the state that a person or a policy put the source into.
fn object(source: &Source, collection: &Collection) -> Value {
    let defaults = SourceSettings::feed(0, String::new()).to_json();
    let mut fields = source.settings.to_json();
    // An import has a default of its own for `backfill`.
    fields.retain(|name, value| {
        matches!(name.as_str(), "kind" | "backfill") || defaults.get(name) != Some(value)
    });
    fields.remove("collection_id");
    fields.insert("collection".to_owned(), collection.name.as_str().into());
    if let Some(disabled) = &source.health.disabled {
        fields.insert("enabled".to_owned(), false.into());
        fields.extend(disabled.reason.as_deref().map(|reason| ("disabled_reason".to_owned(), reason.into())));
    }
    if let Some(quarantine) = source.health.quarantine.as_ref().filter(|quarantine| quarantine.by_hand) {
        fields.insert("manual_quarantine".to_owned(), quarantine.reason.as_str().into());
    }
    Value::Object(fields)
}
