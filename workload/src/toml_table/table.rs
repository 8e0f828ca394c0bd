//! A table, and the tables in it.

use super::{Source, TomlError};
use crate::near::did_you_mean;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of a TOML file.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    source: Source<'a>,
    /// What messages call it: `task`, or nothing.
    name: String,
    at: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// The file's outermost table, which may hold `keys` and nothing else.
    ///
    /// # Errors
    /// Where it has another key.
    pub fn root(source: Source<'a>, table: &'a DeTable<'a>, keys: &[&str]) -> Result<Self, TomlError> {
        Self::new(source, String::new(), 0, table, keys)
    }

    /// A table that begins at byte `at`, which messages call `name` and which may hold `keys` and nothing else.
    ///
    /// # Errors
    /// Where it has another key.
    pub fn new(
        source: Source<'a>,
        name: String,
        at: usize,
        table: &'a DeTable<'a>,
        keys: &[&str],
    ) -> Result<Self, TomlError> {
        let this = Table { source, name, at, table };
        match table.keys().find(|key| !keys.contains(&key.get_ref().as_ref())) {
            None => Ok(this),
            Some(unknown) => {
                let name = unknown.get_ref();
                let what = format!("unknown key; expected {}", keys.join(", "));
                let hint = did_you_mean(name, keys.iter().copied());
                Err(source.error(Some(unknown.span().start), this.key(name), what).with_hint(hint))
            }
        }
    }

    /// The file that it is in.
    pub fn source(&self) -> Source<'a> {
        self.source
    }

    /// The line that it begins in, from 1.
    pub fn line(&self) -> usize {
        self.source.line(self.at)
    }

    /// What messages call one of its keys.
    pub fn key(&self, name: &str) -> Option<String> {
        Some(if self.name.is_empty() { name.to_owned() } else { format!("{}.{name}", self.name) })
    }

    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(name)
    }

    /// All keys with their values.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Spanned<DeValue<'a>>)> {
        self.table.iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// The error that a key which must be there is not; `example` is what it could be.
    pub fn missing(&self, name: &str, example: &str) -> TomlError {
        let what = format!("the key is missing; expected something like {example}");
        self.source.error(Some(self.at), self.key(name), what)
    }

    /// The error that the value of a key is not what was expected.
    pub fn wrong(&self, name: &str, what: impl Into<String>) -> TomlError {
        let at = self.get(name).map_or(self.at, |value| value.span().start);
        self.source.error(Some(at), self.key(name), what)
    }

    /// The error that an element of one of this table's arrays is not what was expected.
    pub fn wrong_at(&self, name: &str, span: &Range<usize>, what: impl Into<String>) -> TomlError {
        self.source.error(Some(span.start), self.key(name), what)
    }

    /// The error that the value of a key has the wrong type.
    pub(super) fn wrong_type(&self, name: &str, expected: &str) -> TomlError {
        let found = self.get(name).map_or("nothing", |value| value.get_ref().type_str());
        self.wrong(name, format!("expected {expected}, found {found}"))
    }

    /// The table of that name, if it is there.
    ///
    /// # Errors
    /// Where it is no table, or has a key that is not in `keys`.
    pub fn table(&self, name: &str, keys: &[&str]) -> Result<Option<Table<'a>>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong_type(name, &format!("a table with {}", keys.join(", "))))?;
        Self::new(self.source, name.to_owned(), value.span().start, table, keys).map(Some)
    }

    /// The table of that name, which must be there.
    ///
    /// # Errors
    /// Where it is not, or as [`Table::table`].
    pub fn need_table(&self, name: &str, keys: &[&str]) -> Result<Table<'a>, TomlError> {
        self.table(name, keys)?.ok_or_else(|| self.missing(name, &format!("the table [{name}]")))
    }

    /// The tables of that name: none, or those of `[[name]]`.
    ///
    /// # Errors
    /// Where it is something else, or one has a key that is not in `keys`.
    pub fn tables(&self, name: &str, keys: &[&str]) -> Result<Vec<Table<'a>>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(vec![]) };
        let wrong = || self.wrong_type(name, &format!("tables, each under [[{name}]]"));
        let array = value.get_ref().as_array().ok_or_else(wrong)?;
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let table = value.get_ref().as_table().ok_or_else(wrong)?;
            Self::new(self.source, name.to_owned(), value.span().start, table, keys)
        };
        array.iter().map(table).collect()
    }
}
