//! Types of source fields: how each is read from and written to JSON, forms and the database.

use std::borrow::Cow;
use std::fmt;

use gleaner_core::backfill::Backfill;
use gleaner_core::source::{Duplicates, Interval, Kind};
use gleaner_core::time::Span;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{SourceField, Takes};
use crate::hex;

/// A type of field, as the API and forms have it.
pub trait FieldValue: Sized {
    /// Whether null is one of its values.
    const NULLABLE: bool = false;

    /// Reads what somebody sent; the error says what is wrong and never repeats a secret.
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String>;

    fn to_json(&self) -> Value;

    /// All values in JSON, where they are few.
    fn values() -> Vec<Value> {
        Vec::new()
    }

    /// As a form has it: blank where nothing is set, and for false.
    fn to_text(&self) -> String {
        match self.to_json() {
            Value::Null | Value::Bool(false) => String::new(),
            Value::String(text) => text,
            other => other.to_string(),
        }
    }
}

/// How a column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    Text,
    Integer,
    Flag,
    Bytes,
}

/// A value to be stored.
#[derive(Debug, PartialEq, Eq)]
pub enum ColumnValue<'a> {
    Text(Option<Cow<'a, str>>),
    Integer(Option<i64>),
    Flag(bool),
    Bytes(Option<&'a [u8]>),
}

/// A type of field, as the database has it.
pub trait StoredValue: Sized {
    const COLUMN: ColumnType;

    fn stored(&self) -> ColumnValue<'_>;

    /// Reads a column that the database wrote as JSON: flags may be 0 and 1, bytes are hexadecimal digits.
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

fn must_be(field: &SourceField) -> String {
    format!("{} must be {}", field.name, field.takes)
}

fn text<'a>(field: &SourceField, value: &'a Value) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| match field.takes {
        Takes::Choice { .. } => must_be(field),
        _ => format!("{} must be a text", field.name),
    })
}

impl FieldValue for String {
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        text(field, value).map(str::to_owned)
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }
}

impl StoredValue for String {
    const COLUMN: ColumnType = ColumnType::Text;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Some(self.as_str().into()))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl FieldValue for Option<String> {
    const NULLABLE: bool = true;

    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        if value.is_null() {
            return Ok(None);
        }
        let text = text(field, value)?.trim();
        Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
    }

    fn to_json(&self) -> Value {
        self.as_deref().into()
    }
}

impl StoredValue for Option<String> {
    const COLUMN: ColumnType = ColumnType::Text;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Text(self.as_deref().map(Cow::from))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl FieldValue for i64 {
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        value.as_i64().ok_or_else(|| must_be(field))
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl StoredValue for i64 {
    const COLUMN: ColumnType = ColumnType::Integer;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(Some(*self))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl FieldValue for bool {
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| must_be(field))
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }
}

impl StoredValue for bool {
    const COLUMN: ColumnType = ColumnType::Flag;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Flag(*self)
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Flag;

        impl Visitor<'_> for Flag {
            type Value = bool;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<bool, E> {
                Ok(flag)
            }

            fn visit_u64<E>(self, number: u64) -> Result<bool, E> {
                Ok(number != 0)
            }
        }

        from.deserialize_any(Flag)
    }
}

impl FieldValue for Kind {
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        text(field, value)?.parse::<Kind>().map_err(|error| error.to_string())
    }

    fn to_json(&self) -> Value {
        self.name().into()
    }

    fn values() -> Vec<Value> {
        Self::ALL.iter().map(Self::to_json).collect()
    }
}

impl StoredValue for Kind {
    const COLUMN: ColumnType = ColumnType::Text;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Some(self.name().into()))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl FieldValue for Interval {
    const NULLABLE: bool = true;

    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        let most = match field.takes {
            Takes::Interval(most) => most,
            _ => u64::from(u32::MAX),
        };
        match value {
            Value::Null => Ok(Self::Default),
            Value::String(text) if text == "auto" => Ok(Self::Auto),
            value => {
                let minutes = value.as_u64().filter(|minutes| (1..=most).contains(minutes));
                let minutes = minutes.and_then(|minutes| u32::try_from(minutes).ok());
                minutes.map(Self::Minutes).ok_or_else(|| must_be(field))
            }
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Default => Value::Null,
            Self::Minutes(minutes) => (*minutes).into(),
            Self::Auto => "auto".into(),
        }
    }
}

impl StoredValue for Interval {
    const COLUMN: ColumnType = ColumnType::Integer;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Integer((*self).to_stored())
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::<i64>::deserialize(from).map(Self::from_stored)
    }
}

impl FieldValue for Option<Span> {
    const NULLABLE: bool = true;

    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        let most = match field.takes {
            Takes::Seconds(most) => most,
            _ => u64::from(u32::MAX),
        };
        if value.is_null() {
            return Ok(None);
        }
        let seconds = value.as_u64().filter(|seconds| *seconds <= most);
        seconds.map(|seconds| Some(Span::from_secs(seconds))).ok_or_else(|| must_be(field))
    }

    fn to_json(&self) -> Value {
        self.map(|span| span.as_millis() / 1000).into()
    }
}

impl StoredValue for Option<Span> {
    const COLUMN: ColumnType = ColumnType::Integer;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Integer(self.and_then(|span| i64::try_from(span.as_millis() / 1000).ok()))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Span::from_secs))
    }
}

impl FieldValue for Backfill {
    /// `true` and `false` are all and none, as other pollers have it.
    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        let choice = match value {
            Value::Bool(true) => Some(Self::All),
            Value::Bool(false) => Some(Self::None),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        choice.ok_or_else(|| format!("{}, true or false", must_be(field)))
    }

    fn to_json(&self) -> Value {
        match self {
            Self::None => false.into(),
            Self::All => true.into(),
            Self::Recent => self.name().into(),
        }
    }

    fn values() -> Vec<Value> {
        Self::CHOICES.iter().map(Self::to_json).collect()
    }

    fn to_text(&self) -> String {
        self.name().to_owned()
    }
}

impl StoredValue for Backfill {
    const COLUMN: ColumnType = ColumnType::Text;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Text(Some(self.name().into()))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl FieldValue for Option<Duplicates> {
    const NULLABLE: bool = true;

    fn from_json(field: &SourceField, value: &Value) -> Result<Self, String> {
        if value.is_null() {
            return Ok(None);
        }
        let rule = value.as_str().and_then(|text| text.trim().parse().ok());
        rule.map(Some).ok_or_else(|| must_be(field))
    }

    fn to_json(&self) -> Value {
        self.map(Duplicates::name).into()
    }

    fn values() -> Vec<Value> {
        Duplicates::ALL.map(|rule| rule.name().into()).to_vec()
    }
}

impl StoredValue for Option<Duplicates> {
    const COLUMN: ColumnType = ColumnType::Text;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Text(self.map(|rule| rule.name().into()))
    }

    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl StoredValue for Option<Vec<u8>> {
    const COLUMN: ColumnType = ColumnType::Bytes;

    fn stored(&self) -> ColumnValue<'_> {
        ColumnValue::Bytes(self.as_deref())
    }

    /// SQLite writes no bytes at all as no digits.
    fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(from)?.filter(|text| !text.is_empty());
        let decoded =
            |text: String| hex::decode(&text).ok_or_else(|| D::Error::custom("no hexadecimal digits"));
        text.map(decoded).transpose()
    }
}
