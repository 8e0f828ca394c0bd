//! A table of the file, read strictly: every key is known, and every error has its line.

use super::source::Source;
use crate::MachineError;
use crate::near::did_you_mean;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it stands.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    pub(super) source: Source<'a>,
    /// Its name in messages; empty for the whole file.
    name: String,
    /// Where its header is; `None` for the whole file.
    at: Option<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// The whole file.
    pub(super) fn root(source: Source<'a>, entries: &'a DeTable<'a>) -> Self {
        Table { source, name: String::new(), at: None, entries }
    }

    /// A value that must be a table.
    pub(super) fn of(source: Source<'a>, name: String, value: &'a Value<'a>) -> Result<Self, MachineError> {
        match value.get_ref() {
            DeValue::Table(entries) => Ok(Table { source, name, at: Some(value.span().start), entries }),
            _ => Err(wrong(source, &name, value, "a table")),
        }
    }

    /// Refuses keys that are not among `known`: the first of them in the file.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), MachineError> {
        let unknown = self.entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let what = format!("`{}`: unknown key; expected {}", self.path(key.get_ref()), known.join(", "));
        let error = self.source.error(Some(key.span().start), what);
        Err(error.with_hint_if(did_you_mean(key.get_ref(), known.iter().copied())))
    }

    /// How messages name a key of this table.
    pub(super) fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// An error of the table as a whole.
    pub(super) fn error(&self, what: impl std::fmt::Display) -> MachineError {
        let what = if self.name.is_empty() { what.to_string() } else { format!("`{}`: {what}", self.name) };
        self.source.error(self.at, what)
    }

    /// A key that must be there is not.
    pub(super) fn missing(&self, key: &str, expected: &str) -> MachineError {
        self.source.error(self.at, format!("`{}` is missing; expected {expected}", self.path(key)))
    }

    /// A value that is not what it should be.
    pub(super) fn wrong(&self, key: &str, value: &Value<'_>, expected: &str) -> MachineError {
        wrong(self.source, &self.path(key), value, expected)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        self.entries.get(key)
    }

    /// A table in this one.
    pub(super) fn table(&self, key: &str) -> Result<Option<Table<'a>>, MachineError> {
        self.get(key).map(|value| Table::of(self.source, self.path(key), value)).transpose()
    }

    /// The tables `[[key]]`; none if there is no such key.
    pub(super) fn tables(&self, key: &str) -> Result<Vec<Table<'a>>, MachineError> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let expected = format!("tables, each after a line `[[{}]]`", self.path(key));
        let rows = value.get_ref().as_array().ok_or_else(|| self.wrong(key, value, &expected))?;
        rows.iter().map(|row| Table::of(self.source, self.path(key), row)).collect()
    }

    /// A text that is not empty.
    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, MachineError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.get_ref().as_str().filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Some(text)),
            None => Err(self.wrong(key, value, "a text in quotes")),
        }
    }

    /// A text that must be there.
    pub(super) fn need_text(&self, key: &str, expected: &str) -> Result<&'a str, MachineError> {
        self.text(key)?.ok_or_else(|| self.missing(key, expected))
    }

    /// A whole number.
    pub(super) fn number(&self, key: &str, limits: &RangeInclusive<u64>) -> Result<Option<u64>, MachineError> {
        self.get(key).map(|value| number(self.source, &self.path(key), value, limits)).transpose()
    }

    /// A whole number that must be there.
    pub(super) fn need_number(&self, key: &str, limits: &RangeInclusive<u64>) -> Result<u64, MachineError> {
        self.number(key, limits)?.ok_or_else(|| self.missing(key, &whole(limits)))
    }

    /// A list of texts.
    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, MachineError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let texts =
            value.get_ref().as_array().and_then(|items| items.iter().map(|item| item.get_ref().as_str()).collect());
        let texts: Vec<&str> = texts.ok_or_else(|| self.wrong(key, value, "a list of texts"))?;
        Ok(Some(texts.into_iter().map(str::to_owned).collect()))
    }

    /// A list of whole numbers.
    pub(super) fn numbers(&self, key: &str, limits: &RangeInclusive<u64>) -> Result<Option<Vec<u64>>, MachineError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let expected = format!("a list, each {}", whole(limits));
        let items = value.get_ref().as_array().ok_or_else(|| self.wrong(key, value, &expected))?;
        items.iter().map(|item| number(self.source, &self.path(key), item, limits)).collect::<Result<_, _>>().map(Some)
    }
}

fn whole(limits: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", limits.start(), limits.end())
}

/// A value as a whole number in `limits`.
pub(super) fn number(
    source: Source<'_>,
    name: &str,
    value: &Value<'_>,
    limits: &RangeInclusive<u64>,
) -> Result<u64, MachineError> {
    let integer = value.get_ref().as_integer();
    // What is no u64, because it is negative or too large, is outside of every range.
    let number = integer.and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok());
    number.filter(|number| limits.contains(number)).ok_or_else(|| wrong(source, name, value, &whole(limits)))
}

fn wrong(source: Source<'_>, name: &str, value: &Value<'_>, expected: &str) -> MachineError {
    let found = source.found(value.span());
    source.error(Some(value.span().start), format!("`{name}`: expected {expected}, found {found}"))
}
