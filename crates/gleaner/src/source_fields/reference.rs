//! The page of the book about source fields; it is generated and committed, and a test fails when it has fallen behind.

use std::fmt::Write;

use super::{Edited, SOURCE_FIELDS, SourceField, Takes};

const PAGE: &str = "\
# Source fields

<!-- Written by `make reference` from the table of source fields; edits here are lost. -->

Everything that can be set about a source. A field has the same name in the API (`POST /sources`, `PATCH /sources/{id}`),
in JSON lists (`gleaner import`, `gleaner export --format json`) and in the dashboard's forms; `gleaner add` and
`gleaner edit` have a flag for each.

- A field that is not sent stays as it is; null, on the command line `default` or an empty text, is the default again.
- Fields marked *bulk* can be set of many sources at once: `POST /sources/bulk` with `\"action\": \"edit\"`, the list of
  sources in the dashboard, or `gleaner edit` with several sources or `--select`.
- OPML lists carry `url`, `kind`, `name` and the collection. JSON lists carry every field that is not secret and differs
  from its default, with the collection's name as `collection`.
- Secret fields are encrypted. They are never shown, exported or logged: `has_credential` says whether one is set.
- Names of other programs are accepted on input; see [where gleaner comes from](seeds.md).
";

/// The page, as Markdown.
pub fn page() -> String {
    let mut out = PAGE.to_owned();
    for field in SOURCE_FIELDS {
        describe(&mut out, field);
    }
    out
}

fn describe(out: &mut String, field: &SourceField) {
    let _ = write!(out, "\n## `{}`\n\n{}\n\n- takes: {}", field.name, field.help, field.takes);
    if field.nullable {
        let _ = write!(out, ", or null");
    }
    let _ = writeln!(out);
    if let Takes::Choice { choices, synonyms } = field.takes {
        for choice in choices {
            let _ = writeln!(out, "  - `{}`: {}", choice.value, choice.description);
        }
        let other =
            (field.values)().into_iter().filter(|value| !value.is_string()).map(|value| value.to_string());
        let other: Vec<String> = other.chain(synonyms.iter().map(|name| (*name).to_owned())).collect();
        if !other.is_empty() {
            let names: Vec<String> = other.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(out, "  - accepted, too: {}", names.join(", "));
        }
    }
    let _ = writeln!(out, "- default: {}", field.default_description());
    if !field.is_for_all_kinds() {
        let kinds: Vec<&str> = field.kinds.iter().map(|kind| kind.name()).collect();
        let _ = writeln!(out, "- kinds: {}; it has no effect on others", kinds.join(", "));
    }
    let edited = match field.edited {
        Edited::Single => format!("`--{}`; of one source at a time", field.flag),
        Edited::Bulk => format!("`--{}`; bulk", field.flag),
        Edited::Import => "by importing a JSON list; exported where it holds".to_owned(),
    };
    let _ = writeln!(out, "- set: {edited}");
    if field.secret {
        let _ = writeln!(out, "- secret");
    }
    let _ = writeln!(out, "- since: {}", field.since);
}
