//! Values of source fields as somebody sends them, and whether they are possible. Everything that is wrong is reported at
//! once.
//!
//! The same fields create a source and change one: a field that is not sent stays as it is, and null is the default again.

use gleaner_core::backfill::Backfill;
use gleaner_core::link::{self, BadUrl};
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::time::Span;
use serde_json::{Map, Value};
use url::Url;

use super::lists::LEARNED;
use super::synonyms::field_name;
use super::{By, Checks, Credential, ServiceError};
use crate::config::secret::Secret;
use crate::engine::seal_credential;
use crate::fetch::guard::{self, AllowedNetworks};
use crate::read::links;
use crate::source_fields::{
    Edited, FieldValue, LONGEST_TEXT, SOURCE_FIELDS, SourceField, SourceSettings, Takes, source_fields,
};
use crate::store::Collection;

/// Defines [`SourceFields`] and what goes through all of its fields.
macro_rules! define_fields {
    (
        settings { $($field:ident $name:literal: $type:ty = $default:expr, $spec:expr;)* }
        state { $($state:ident $state_name:literal: $state_type:ty, $state_spec:expr;)* }
    ) => {
        /// Values of source fields that somebody sends; none: not sent.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct SourceFields {
            $(pub $field: Option<$type>,)*
            $(pub $state: Option<$state_type>,)*
        }

        impl SourceFields {
            /// All settings, as if somebody had sent them.
            pub fn of_settings(settings: &SourceSettings) -> Self {
                Self { $($field: Some(settings.$field.clone()),)* ..Self::default() }
            }

            fn has(&self, name: &str) -> bool {
                match name {
                    $($name => self.$field.is_some(),)*
                    $($state_name => self.$state.is_some(),)*
                    _ => false,
                }
            }

            fn set(&mut self, field: &SourceField, value: &Value) -> Result<(), String> {
                match field.name {
                    $($name => self.$field = Some(FieldValue::from_json(field, value)?),)*
                    $($state_name => self.$state = Some(FieldValue::from_json(field, value)?),)*
                    _ => {}
                }
                Ok(())
            }

            fn apply(&self, settings: &mut SourceSettings) {
                $(if let Some(value) = &self.$field {
                    settings.$field.clone_from(value);
                })*
            }
        }
    };
}

source_fields!(define_fields);

impl SourceFields {
    /// Reads fields as the API has them. What cannot be read, and what is no field, is noted as wrong.
    pub fn read(object: &Map<String, Value>, checks: &mut Checks) -> Self {
        Self::read_where(object, checks, |field| field.edited != Edited::Import)
    }

    /// Reads fields of a list that is imported.
    pub(super) fn read_imported(object: &Map<String, Value>, checks: &mut Checks) -> Self {
        Self::read_where(object, checks, |_| true)
    }

    /// Reads fields to be set of many sources at once.
    pub fn read_bulk(object: &Map<String, Value>, checks: &mut Checks) -> Self {
        for name in object.keys() {
            let field = SourceField::find(&field_name(name)).filter(|field| field.edited != Edited::Import);
            if field.is_some_and(|field| field.edited != Edited::Bulk) {
                let names: Vec<&str> = SourceField::bulk().map(|field| field.name).collect();
                checks.wrong(
                    name,
                    format!("{name} cannot be set of many sources at once; these can: {}", names.join(", ")),
                );
            }
        }
        Self::read(object, checks)
    }

    fn read_where(
        object: &Map<String, Value>,
        checks: &mut Checks,
        may_set: impl Fn(&SourceField) -> bool,
    ) -> Self {
        let mut fields = Self::default();
        for (name, value) in object {
            let own = field_name(name);
            if own != *name && (object.contains_key(&*own) || fields.has(&own)) {
                checks.wrong(
                    name,
                    format!("{own} is given twice: '{}' is another name of it", shortened(name)),
                );
                continue;
            }
            let read = match SOURCE_FIELDS.iter().find(|field| field.name == own) {
                Some(field) if may_set(field) => fields.set(field, value),
                None if !LEARNED.contains(&&*own) => {
                    Err(format!("a source has no field '{}'", shortened(&own)))
                }
                _ => Err(format!("a source's {own} cannot be set; gleaner keeps it itself")),
            };
            if let Err(message) = read {
                checks.wrong(name, message);
            }
        }
        fields
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

impl FieldValue for Option<Credential> {
    const NULLABLE: bool = true;

    /// No message repeats any of it.
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        if value.is_null() {
            return Ok(None);
        }
        let wrong = || format!("{} must be {}", field.name, field.takes);
        let parts = |value: &Value, names: [&str; 2]| -> Option<[String; 2]> {
            let object = value.as_object().filter(|object| object.len() == 2)?;
            let [first, second] =
                names.map(|name| object.get(name).and_then(Value::as_str).map(str::to_owned));
            Some([first?, second?])
        };
        let object = value.as_object().filter(|object| object.len() == 1).ok_or_else(wrong)?;
        let basic = object.get("basic").and_then(|basic| parts(basic, ["user", "password"]));
        let header = object.get("header").and_then(|header| parts(header, ["name", "value"]));
        match (basic, header) {
            (Some([user, password]), _) => {
                Ok(Some(Credential::Basic { user, password: Secret::new(password) }))
            }
            (_, Some([name, value])) => Ok(Some(Credential::Header { name, value: Secret::new(value) })),
            _ => Err(wrong()),
        }
    }

    /// Only whether it is set.
    fn to_json(&self) -> Value {
        self.is_some().into()
    }
}

impl By<'_> {
    /// Settings with these fields applied; what is not possible is noted as wrong.
    pub(super) fn apply_fields(
        &self,
        fields: &SourceFields,
        over: &SourceSettings,
        collections: &[Collection],
        checks: &mut Checks,
    ) -> Result<SourceSettings, ServiceError> {
        let mut settings = over.clone();
        fields.apply(&mut settings);
        for (name, text) in settings.to_text().filter(|(name, _)| fields.has(name)) {
            let checked =
                SourceField::find(name).map_or(Ok(()), |field| self.check_value(field, &text, collections));
            if let Err(why) = checked {
                checks.wrong(name, why);
            }
        }
        if (fields.url.is_some() || settings.kind != over.kind)
            && let Some(url) = checks.take("url", self.checked_url(settings.kind, &settings.url))
        {
            settings.url = url.into();
        }
        if let Some(credential) = &fields.credential {
            match credential.as_ref().and_then(Credential::problem) {
                Some(why) => checks.wrong("credential", why),
                None => {
                    let seal = |credential| seal_credential(&self.vault, &settings.url, credential);
                    settings.secret = credential.as_ref().map(seal).transpose()?;
                }
            }
        }
        Ok(settings)
    }

    /// Checks a value that is not blank against what is configured and stored.
    fn check_value(&self, field: &SourceField, text: &str, collections: &[Collection]) -> Result<(), String> {
        match field.takes {
            _ if text.is_empty() => Ok(()),
            Takes::Text | Takes::CssSelector | Takes::Policy
                if text.chars().count() > LONGEST_TEXT || text.contains('\0') =>
            {
                let name = field.name;
                Err(format!("{name} has at most {LONGEST_TEXT} characters, and none that cannot be shown"))
            }
            Takes::CssSelector => links::check_selector(text),
            Takes::Policy if !self.config.policies.contains_key(text) => {
                let names = self.config.policies.keys().cloned().collect::<Vec<_>>().join(", ");
                Err(format!("there is no policy '{}'; there are {names}", shortened(text)))
            }
            Takes::Collection if !collections.iter().any(|collection| collection.id.to_string() == text) => {
                Err(format!("there is no collection {text}; `gleaner collection list` shows which there are"))
            }
            _ => Ok(()),
        }
    }

    /// A URL that may be polled as this kind.
    pub(super) fn checked_url(&self, kind: Kind, text: &str) -> Result<Url, ServiceError> {
        let url = match kind {
            Kind::X => gleaner_core::x::timeline_url(text),
            Kind::Feed | Kind::Website | Kind::Watchlist => link::source_url(text),
        };
        let url = url.map_err(|bad: BadUrl| ServiceError::from(bad))?;
        let allow = AllowedNetworks::new(self.config.fetch.allow_private_networks.clone());
        guard::check_url(&url, &allow).map_err(|refused| {
            ServiceError::invalid(
                "url",
                format!("{url} cannot be polled: {refused}; fetch.allow_private_networks opens networks"),
            )
        })?;
        Ok(url)
    }
}
