//! A table of a TOML file, read strictly: every key is known, and every error has its line.

use super::duration;
use crate::error::{About, WorkloadError};
use crate::near::did_you_mean;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    pub(super) fn error(&self, at: Option<usize>, key: Option<String>, what: impl Into<String>) -> WorkloadError {
        let before = |at: usize| &self.text.as_bytes()[..at.min(self.text.len())];
        let line = at.map(|at| 1 + before(at).iter().filter(|&&byte| byte == b'\n').count());
        WorkloadError::new(About::File { path: self.path.to_owned(), line, key }, what)
    }

    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'a>>, WorkloadError> {
        DeTable::parse(self.text).map_err(|e| {
            let what = format!("this is no TOML: {}", e.message());
            self.error(Some(e.span().map_or(0, |span| span.start)), None, what)
        })
    }
}

/// A table of it.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    source: Source<'a>,
    /// What messages call it: `task`, or nothing.
    name: String,
    at: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    pub(super) fn root(source: Source<'a>, table: &'a DeTable<'a>, keys: &[&str]) -> Result<Self, WorkloadError> {
        Self::new(source, String::new(), 0, table, keys)
    }

    /// A table that may hold `keys` and nothing else.
    pub(super) fn new(
        source: Source<'a>,
        name: String,
        at: usize,
        table: &'a DeTable<'a>,
        keys: &[&str],
    ) -> Result<Self, WorkloadError> {
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

    pub(super) fn source(&self) -> Source<'a> {
        self.source
    }

    fn key(&self, name: &str) -> Option<String> {
        Some(if self.name.is_empty() { name.to_owned() } else { format!("{}.{name}", self.name) })
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(name)
    }

    /// A key that must be there is not; `example` is what it could be.
    pub(super) fn missing(&self, name: &str, example: &str) -> WorkloadError {
        let what = format!("the key is missing; expected something like {example}");
        self.source.error(Some(self.at), self.key(name), what)
    }

    /// The value of a key is not what was expected.
    pub(super) fn wrong(&self, name: &str, what: impl Into<String>) -> WorkloadError {
        let at = self.get(name).map_or(self.at, |value| value.span().start);
        self.source.error(Some(at), self.key(name), what)
    }

    /// The value of a key has the wrong type.
    fn wrong_type(&self, name: &str, expected: &str) -> WorkloadError {
        let found = self.get(name).map_or("nothing", |value| value.get_ref().type_str());
        self.wrong(name, format!("expected {expected}, found {found}"))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, WorkloadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.get_ref().as_str() {
            None => Err(self.wrong_type(name, "text")),
            Some("") => Err(self.wrong(name, "expected text, found \"\"")),
            Some(text) => Ok(Some(text)),
        }
    }

    pub(super) fn need_text(&self, name: &str) -> Result<&'a str, WorkloadError> {
        self.text(name)?.ok_or_else(|| self.missing(name, &format!("{name} = \"text\"")))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, WorkloadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.get_ref().as_bool().map(Some).ok_or_else(|| self.wrong_type(name, "true or false"))
    }

    /// A whole number in `low..=high`.
    pub(super) fn number(&self, name: &str, low: i64, high: i64) -> Result<Option<i64>, WorkloadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.get_ref().as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        match number.filter(|n| (low..=high).contains(n)) {
            Some(number) => Ok(Some(number)),
            None => {
                let found = &self.source.text[value.span()];
                Err(self.wrong(name, format!("expected a whole number, {low} to {high}, found {found}")))
            }
        }
    }

    /// A length of time, ns.
    pub(super) fn duration(&self, name: &str) -> Result<Option<u64>, WorkloadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let found = &self.source.text[value.span()];
        let parsed = value.get_ref().as_str().map_or(Err(found), |text| duration::parse(text).ok_or(found));
        parsed.map(Some).map_err(|found| self.wrong(name, duration::expected(found)))
    }

    /// The table of that name, which must be there.
    pub(super) fn table(&self, name: &str, keys: &[&str]) -> Result<Table<'a>, WorkloadError> {
        let value = self.get(name).ok_or_else(|| self.missing(name, &format!("the table [{name}]")))?;
        let table = value.get_ref().as_table().ok_or_else(|| self.wrong_type(name, "a table"))?;
        Self::new(self.source, name.to_owned(), value.span().start, table, keys)
    }

    /// The tables of that name: none, or those of `[[name]]`.
    pub(super) fn tables(&self, name: &str, keys: &[&str]) -> Result<Vec<Table<'a>>, WorkloadError> {
        let Some(value) = self.get(name) else { return Ok(vec![]) };
        let wrong = || self.wrong_type(name, &format!("tables, each under [[{name}]]"));
        let array = value.get_ref().as_array().ok_or_else(wrong)?;
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let table = value.get_ref().as_table().ok_or_else(wrong)?;
            Self::new(self.source, name.to_owned(), value.span().start, table, keys)
        };
        array.iter().map(table).collect()
    }

    /// The elements of an array, which must be there and have some.
    pub(super) fn elements(&self, name: &str, example: &str) -> Result<Vec<&'a Spanned<DeValue<'a>>>, WorkloadError> {
        let value = self.get(name).ok_or_else(|| self.missing(name, example))?;
        let array = value.get_ref().as_array().ok_or_else(|| self.wrong_type(name, "an array"))?;
        if array.is_empty() {
            return Err(self.wrong(name, format!("expected one or more, as {example}, found []")));
        }
        Ok(array.iter().collect())
    }

    /// An error about an element of this table's arrays.
    pub(super) fn wrong_at(&self, name: &str, span: &Range<usize>, what: impl Into<String>) -> WorkloadError {
        self.source.error(Some(span.start), self.key(name), what)
    }
}
