//! Flags of `gleaner add` and `gleaner edit` for source fields, derived from the table of source fields.

use clap::{Arg, ArgMatches, Command};
use serde_json::{Map, Value, json};

use super::client::Client;
use super::{Failure, ask, collection};
use crate::source_fields::{SourceField, Takes};

/// Fields that were given, as text. To add a source its URL is no flag, and `default` is of no use.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceFlags<const EDIT: bool>(Vec<(&'static SourceField, String)>);

fn fields<const EDIT: bool>() -> impl Iterator<Item = &'static SourceField> {
    SourceField::editable().filter(|field| EDIT || field.name != "url")
}

fn value_name(field: &SourceField) -> &'static str {
    match field.takes {
        Takes::Url => "URL",
        Takes::Text | Takes::Collection | Takes::Policy => "NAME",
        Takes::CssSelector => "CSS",
        Takes::Flag => "true|false",
        Takes::Interval(_) => "MINUTES",
        Takes::Seconds(_) => "SECONDS",
        Takes::Credential => "basic:USER|header:NAME",
        Takes::Choice { .. } => "WHICH",
    }
}

fn help(field: &SourceField, is_edit: bool) -> String {
    let mut text = field.description();
    if matches!(field.takes, Takes::Credential) {
        text.push_str(". The secret itself is asked for, or read from standard input");
    }
    match (is_edit, field.nullable, field.takes) {
        (true, _, Takes::Credential) => text.push_str("; none removes it"),
        (true, true, Takes::Text | Takes::CssSelector) => text.push_str("; empty: the default"),
        (true, true, _) => text.push_str("; default: as configured"),
        (true, false, _) => {}
        (false, ..) if field.name == "kind" => {
            text.push_str(" [default: x for a timeline on X, else feed]");
        }
        (false, ..) if field.name == "backfill" => text.push_str(" [default: all]"),
        (false, ..) => text.push_str(&format!(" [default: {}]", field.default_description())),
    }
    text
}

impl<const EDIT: bool> clap::Args for SourceFlags<EDIT> {
    fn augment_args(command: Command) -> Command {
        fields::<EDIT>().fold(command, |command, field| {
            let flag = Arg::new(field.flag).long(field.flag).value_name(value_name(field));
            command.arg(flag.help(help(field, EDIT)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const EDIT: bool> clap::FromArgMatches for SourceFlags<EDIT> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |field: &'static SourceField| {
            matches.get_one::<String>(field.flag).map(|text| (field, text.clone()))
        };
        Ok(Self(fields::<EDIT>().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const EDIT: bool> SourceFlags<EDIT> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields as the API takes them. Collections are looked up by name, and secrets are asked for.
    pub(super) async fn to_json(&self, client: &Client) -> Result<Map<String, Value>, Failure> {
        let mut object = Map::new();
        for (field, text) in &self.0 {
            let value = match field.takes {
                Takes::Collection => collection::id_of(client, text).await?.into(),
                Takes::Credential => credential(text)?,
                _ => field.parse_text(text),
            };
            object.insert(field.name.to_owned(), value);
        }
        Ok(object)
    }
}

/// A credential; its secret is never an argument, which everybody on the machine could see.
fn credential(text: &str) -> Result<Value, Failure> {
    match text.split_once(':') {
        Some(("basic", user)) if !user.is_empty() => {
            let password = ask::secret(&format!("Password of {user}"))?;
            Ok(json!({ "basic": { "user": user, "password": password.expose() } }))
        }
        Some(("header", name)) if !name.is_empty() => {
            let value = ask::secret(&format!("Value of the header {name}"))?;
            Ok(json!({ "header": { "name": name, "value": value.expose() } }))
        }
        None if text == "none" => Ok(Value::Null),
        _ => Err(Failure::Usage(
            "--credential takes basic:USER or header:NAME; the secret itself is asked for".to_owned(),
        )),
    }
}
