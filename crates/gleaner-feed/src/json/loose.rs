//! Lenient JSON values: a value of the wrong type is read as empty.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::model::StringPool;
use crate::{Limits, Str};

/// A string, or a number as a string; `None` if blank or of another type.
#[derive(Debug, Default)]
pub(super) struct LooseString(pub Option<String>);

impl LooseString {
    pub(super) fn number<T: std::str::FromStr>(&self) -> Option<T> {
        let text = self.0.as_deref()?;
        text.split('.').next()?.parse().ok()
    }
}

/// Truncates texts to a limit, and remembers whether any was longer.
pub(super) struct Truncator {
    pub limit: usize,
    pub truncated: Cell<bool>,
    strings: RefCell<StringPool>,
}

impl Truncator {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, truncated: Cell::new(false), strings: RefCell::default() }
    }

    /// Converts without trimming.
    pub(super) fn store(&self, word: LooseString) -> Option<Str> {
        let text = word.0?;
        Some(match StringPool::is_short(text.len()) {
            true => self.strings.borrow_mut().add(&text),
            false => text.into(),
        })
    }

    pub(super) fn text(&self, word: LooseString) -> Option<Str> {
        let mut text = word.0?;
        if text.len() > self.limit {
            self.truncated.set(true);
            text.truncate(text.floor_char_boundary(self.limit));
        }
        self.store(LooseString(Some(text)))
    }
}

/// A list; empty if the value is anything else.
#[derive(Debug)]
pub(super) struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// An object; `None` if the value is anything else.
#[derive(Debug)]
pub(super) struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

struct LooseVisitor<T>(PhantomData<T>);

/// How a value is built from each JSON type.
trait Loose: Sized + Default {
    fn from_text(_: &str) -> Self {
        Self::default()
    }

    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Loose for LooseString {
    fn from_text(text: &str) -> Self {
        let text = text.trim();
        Self((!text.is_empty()).then(|| text.to_owned()))
    }
}

impl<T: for<'a> Deserialize<'a>> Loose for List<T> {
    fn from_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            if values.len() < Limits::LIST {
                values.push(value);
            }
        }
        Ok(Self(values))
    }
}

impl<T: for<'a> Deserialize<'a>> Loose for Object<T> {
    fn from_map<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de, T: Loose> Visitor<'de> for LooseVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::from_text(&number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_text(&number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::from_text(&number.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

impl<'de> Deserialize<'de> for LooseString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor(PhantomData))
    }
}
