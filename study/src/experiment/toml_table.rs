//! A table of a TOML file, read strictly: every key is known, and every error has its line.

use super::{Given, Place, SpecError};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A TOML file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(&self, at: Option<usize>, key: Option<String>, what: impl Into<String>) -> SpecError {
        let line =
            at.map(|at| 1 + self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&b| b == b'\n').count());
        SpecError { place: Place::File { path: self.path.to_owned(), line, key }, what: what.into(), hint: None }
    }
}

/// A table of it.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    source: Source<'a>,
    /// What comes before its keys in messages: `variants.`, or nothing.
    prefix: String,
    /// Where it begins.
    at: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// A table that may hold `keys` and nothing else.
    pub(super) fn new(
        source: Source<'a>,
        name: &str,
        at: usize,
        table: &'a DeTable<'a>,
        keys: &[&str],
    ) -> Result<Self, SpecError> {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        let this = Table { source, prefix, at, table };
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !keys.contains(&name) {
                let what = format!("unknown key; expected {}", keys.join(", "));
                let error = source.error(Some(key.span().start), this.key(name), what);
                return Err(match nearest(name, keys) {
                    Some(near) => error.with_hint(format!("did you mean {near}?")),
                    None => error,
                });
            }
        }
        Ok(this)
    }

    fn key(&self, name: &str) -> Option<String> {
        Some(format!("{}{name}", self.prefix))
    }

    /// The value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(name)
    }

    /// All keys with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Spanned<DeValue<'a>>)> {
        self.table.iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// A key that must be there is not.
    pub(super) fn missing(&self, name: &str, example: &str) -> SpecError {
        let what = format!("the key is missing; expected something like {name} = {example}");
        self.source.error(Some(self.at), self.key(name), what)
    }

    /// A value that is not what is expected.
    pub(super) fn wrong(&self, name: &str, value: &Spanned<DeValue<'_>>, what: impl Into<String>) -> SpecError {
        self.source.error(Some(value.span().start), self.key(name), what)
    }

    /// A text.
    pub(super) fn text(&self, name: &str, example: &str) -> Result<Option<Given<String>>, SpecError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.get_ref().as_str() {
            Some(text) => Ok(Some(self.given(name, value, text.to_owned()))),
            None => {
                let what = format!("expected text, such as {example}, found {}", value.get_ref().type_str());
                Err(self.wrong(name, value, what))
            }
        }
    }

    /// A text that must be there.
    pub(super) fn need_text(&self, name: &str, example: &str) -> Result<Given<String>, SpecError> {
        self.text(name, example)?.ok_or_else(|| self.missing(name, example))
    }

    /// A whole number in `low..=high`.
    pub(super) fn number(&self, name: &str, low: u64, high: u64) -> Result<Option<Given<u64>>, SpecError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok())
            .filter(|n| (low..=high).contains(n));
        match number {
            Some(number) => Ok(Some(self.given(name, value, number))),
            None => {
                let found = &self.source.text[value.span()];
                let what = format!("expected a whole number, {low} to {high}, found {found}");
                Err(self.wrong(name, value, what))
            }
        }
    }

    fn given<T>(&self, name: &str, value: &Spanned<DeValue<'_>>, of: T) -> Given<T> {
        Given { value: of, place: self.source.error(Some(value.span().start), self.key(name), "").place }
    }
}

/// The one of `names` that `name` was meant to be, if there is one like it.
pub(super) fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let like = |other: &str| strsim::jaro_winkler(&name.to_ascii_lowercase(), other);
    names.iter().copied().filter(|other| like(other) >= 0.8).max_by(|a, b| like(a).total_cmp(&like(b)))
}
