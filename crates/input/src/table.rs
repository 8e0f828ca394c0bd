//! TOML files read strictly: every key is known, and every error has its file, line and key.

use crate::spelling::did_you_mean;
use crate::{DURATION, InputError, parse_duration};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, and where in the file it is.
pub type Value<'a> = Spanned<DeValue<'a>>;

/// A file's text, and what messages call the file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The path, for messages.
    pub path: &'a Path,
    /// The text.
    pub text: &'a str,
    /// The byte at which each line after the first begins.
    lines: &'a [usize],
}

impl Source<'_> {
    /// Returns the line of a byte of the text, from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.lines.partition_point(|&begin| begin <= at)
    }

    /// Returns an error at a byte of the text, or about the file as a whole.
    pub fn error(&self, at: Option<usize>, key: Option<String>, what: impl Into<String>) -> InputError {
        let line = at.map(|at| self.line(at));
        InputError { path: self.path.to_owned(), line, key, what: what.into(), hint: None }
    }

    /// The text of a value as messages show it: its first line, at most 40 characters.
    fn found(&self, span: Range<usize>) -> String {
        const LONGEST: usize = 40;
        let text = self.text.get(span).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        match line.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}...", &line[..end]),
            None if line.len() < text.len() => format!("{line} ..."),
            None => line.to_owned(),
        }
    }
}

/// A file that was parsed.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    path: &'a Path,
    text: &'a str,
    lines: Vec<usize>,
    table: Spanned<DeTable<'a>>,
}

impl<'a> Document<'a> {
    /// Parses the text of a file.
    ///
    /// # Errors
    ///
    /// The line at which the text is not TOML.
    pub fn parse(path: &'a Path, text: &'a str) -> Result<Self, InputError> {
        let after = |(at, byte)| (byte == b'\n').then_some(at + 1);
        let lines: Vec<usize> = text.bytes().enumerate().filter_map(after).collect();
        let source = Source { path, text, lines: &lines };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map(|span| span.start);
            source.error(at, None, format!("this is not valid TOML: {}", error.message().trim_end()))
        })?;
        Ok(Document { path, text, lines, table })
    }

    /// Returns the file's outermost table, which may hold `keys` and nothing else.
    ///
    /// # Errors
    ///
    /// The first key that is not in `keys`.
    pub fn root(&'a self, keys: &[&str]) -> Result<Table<'a>, InputError> {
        let source = Source { path: self.path, text: self.text, lines: &self.lines };
        let table = Table { source, name: String::new(), at: None, entries: self.table.get_ref() };
        table.only(keys)?;
        Ok(table)
    }
}

/// A table of a file.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    source: Source<'a>,
    /// Its keys from the root, such as `topology.cpu`. Empty for the root.
    name: String,
    /// Where it begins. `None` for the root.
    at: Option<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// Refuses the first key of the file that is not in `known`.
    fn only(&self, known: &[&str]) -> Result<(), InputError> {
        let unknown = self.entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else { return Ok(()) };
        let (name, at) = (key.get_ref(), key.span().start);
        let what = format!("unknown key; expected {}", known.join(", "));
        let error = self.source.error(Some(at), Some(self.key(name)), what);
        Err(error.with_hint_if(did_you_mean(name, known.iter().copied())))
    }

    /// Returns the file that the table is in.
    pub fn source(&self) -> Source<'a> {
        self.source
    }

    /// Returns the line that the table begins in, from 1. `None` for the root.
    pub fn line(&self) -> Option<usize> {
        self.at.map(|at| self.source.line(at))
    }

    /// Returns the name of a key of this table in messages: the keys from the root, such as `topology.cpu.core`.
    pub fn key(&self, name: &str) -> String {
        if self.name.is_empty() { name.to_owned() } else { format!("{}.{name}", self.name) }
    }

    /// Returns the value of a key. Returns `None` if the key is not there.
    pub fn get(&self, name: &str) -> Option<&'a Value<'a>> {
        self.entries.get(name)
    }

    /// Returns all keys, in the order of their names, with their values.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, &'a Value<'a>)> {
        self.entries.iter().map(|(key, value)| (key.get_ref().as_ref(), value))
    }

    /// Returns an error about the table as a whole.
    pub fn error(&self, what: impl Into<String>) -> InputError {
        let key = (!self.name.is_empty()).then(|| self.name.clone());
        self.source.error(self.at, key, what)
    }

    /// Returns the error that a key is not there.
    pub fn missing(&self, name: &str, expected: &str) -> InputError {
        self.source.error(self.at, Some(self.key(name)), format!("the key is missing; expected {expected}"))
    }

    /// Returns an error about the value of a key.
    pub fn wrong(&self, name: &str, what: impl Into<String>) -> InputError {
        let at = self.get(name).map_or(self.at, |value| Some(value.span().start));
        self.source.error(at, Some(self.key(name)), what)
    }

    /// Returns an error about an element of the array of a key; `at` is the byte where the element begins.
    pub fn wrong_at(&self, name: &str, at: usize, what: impl Into<String>) -> InputError {
        self.source.error(Some(at), Some(self.key(name)), what)
    }

    /// Returns the error that a key has another value than expected.
    pub fn unexpected(&self, name: &str, expected: &str) -> InputError {
        match self.get(name) {
            Some(value) => self.unexpected_at(name, value, expected),
            None => self.missing(name, expected),
        }
    }

    /// Returns the error that an element of the array of a key is another value than expected.
    pub fn unexpected_at(&self, name: &str, value: &Value<'_>, expected: &str) -> InputError {
        let found = self.source.found(value.span());
        self.wrong_at(name, value.span().start, format!("expected {expected}, found {found}"))
    }

    /// Returns the table of a key, which may hold `keys` and nothing else. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not a table, or the first key that is not in `keys`.
    pub fn table(&self, name: &str, keys: &[&str]) -> Result<Option<Table<'a>>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        self.table_at(name, value, &format!("a table with {}", keys.join(", ")), keys).map(Some)
    }

    /// Returns the table of a key whose keys are names of the user's: any is known. Returns `None` if the key is not
    /// there.
    ///
    /// # Errors
    ///
    /// The value is not a table.
    pub fn map(&self, name: &str, expected: &str) -> Result<Option<Table<'a>>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let keys: Vec<&str> = value.get_ref().as_table().into_iter().flat_map(DeTable::keys).map(key_text).collect();
        self.table_at(name, value, expected, &keys).map(Some)
    }

    /// Returns the table of a key that must be there.
    ///
    /// # Errors
    ///
    /// The key is not there, and those of [`Table::table`].
    pub fn need_table(&self, name: &str, keys: &[&str]) -> Result<Table<'a>, InputError> {
        let missing = || self.missing(name, &format!("a table with {}", keys.join(", ")));
        self.table(name, keys)?.ok_or_else(missing)
    }

    /// Returns the tables under `[[name]]`, each of which may hold `keys` and nothing else; none if the key is not
    /// there.
    ///
    /// # Errors
    ///
    /// The value is not an array of tables, or the first key of a table that is not in `keys`.
    pub fn tables(&self, name: &str, keys: &[&str]) -> Result<Vec<Table<'a>>, InputError> {
        let Some(value) = self.get(name) else { return Ok(vec![]) };
        let expected = format!("one or more tables, each under `[[{}]]`", self.key(name));
        let array = value.get_ref().as_array().ok_or_else(|| self.unexpected(name, &expected))?;
        array.iter().map(|value| self.table_at(name, value, &expected, keys)).collect()
    }

    /// Returns a value or an array's element as a table, which may hold `keys` and nothing else.
    ///
    /// # Errors
    ///
    /// The value is not a table, or the first key that is not in `keys`.
    pub fn table_at(
        &self,
        name: &str,
        value: &'a Value<'a>,
        expected: &str,
        keys: &[&str],
    ) -> Result<Table<'a>, InputError> {
        let entries = value.get_ref().as_table().ok_or_else(|| self.unexpected_at(name, value, expected))?;
        let table = Table { source: self.source, name: self.key(name), at: Some(value.span().start), entries };
        table.only(keys)?;
        Ok(table)
    }

    /// Returns the text of a key, which is not blank. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not text, or blank.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, InputError> {
        match self.any_text(name)? {
            Some(text) if text.trim().is_empty() => Err(self.unexpected(name, "text in quotes that is not empty")),
            text => Ok(text),
        }
    }

    /// Returns the text of a key, which may be empty. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not text.
    pub fn any_text(&self, name: &str) -> Result<Option<&'a str>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.get_ref().as_str().map(Some).ok_or_else(|| self.unexpected(name, "text in quotes"))
    }

    /// Returns the text of a key that must be there.
    ///
    /// # Errors
    ///
    /// The key is not there, and those of [`Table::text`].
    pub fn need_text(&self, name: &str, expected: &str) -> Result<&'a str, InputError> {
        self.text(name)?.ok_or_else(|| self.missing(name, expected))
    }

    /// Returns the value that goes with the text of a key. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not one of these texts.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let choice = value.get_ref().as_str().and_then(|text| choices.iter().find(|(known, _)| *known == text));
        let expected = || choices.iter().map(|(text, _)| format!("{text:?}")).collect::<Vec<_>>().join(" or ");
        choice.map(|(_, choice)| Some(*choice)).ok_or_else(|| self.unexpected(name, &expected()))
    }

    /// Returns the value that goes with the text of a key that must be there.
    ///
    /// # Errors
    ///
    /// The key is not there, and those of [`Table::choice`].
    pub fn need_choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, InputError> {
        let expected = || choices.iter().map(|(text, _)| format!("{text:?}")).collect::<Vec<_>>().join(" or ");
        self.choice(name, choices)?.ok_or_else(|| self.missing(name, &expected()))
    }

    /// Returns the flag of a key. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.get_ref().as_bool().map(Some).ok_or_else(|| self.unexpected(name, "true or false"))
    }

    /// Returns the whole number of a key. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not a whole number in `limits`.
    pub fn number(&self, name: &str, limits: &RangeInclusive<u64>) -> Result<Option<u64>, InputError> {
        self.get(name).map(|value| self.number_at(name, value, limits)).transpose()
    }

    /// Returns the whole number of a key that must be there.
    ///
    /// # Errors
    ///
    /// The key is not there, and those of [`Table::number`].
    pub fn need_number(&self, name: &str, limits: &RangeInclusive<u64>) -> Result<u64, InputError> {
        self.number(name, limits)?.ok_or_else(|| self.missing(name, &whole(limits)))
    }

    /// Returns a value or an array's element as a whole number.
    ///
    /// # Errors
    ///
    /// The value is not a whole number in `limits`.
    pub fn number_at(&self, name: &str, value: &Value<'_>, limits: &RangeInclusive<u64>) -> Result<u64, InputError> {
        // A number that is not a u64, because it is negative or too large, is outside of every range.
        let number = value.get_ref().as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        let number = number.filter(|number| limits.contains(number));
        number.ok_or_else(|| self.unexpected_at(name, value, &whole(limits)))
    }

    /// Returns the whole number of a key that may be negative. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not a whole number in `limits`.
    pub fn signed(&self, name: &str, limits: &RangeInclusive<i64>) -> Result<Option<i64>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.get_ref().as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        let number = number.filter(|number| limits.contains(number));
        number.map(Some).ok_or_else(|| self.unexpected(name, &whole(limits)))
    }

    /// Returns the list of whole numbers of a key. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not a list, or an element is not a whole number in `limits`.
    pub fn numbers(&self, name: &str, limits: &RangeInclusive<u64>) -> Result<Option<Vec<u64>>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let expected = || format!("a list, each {}", whole(limits));
        let items = value.get_ref().as_array().ok_or_else(|| self.unexpected(name, &expected()))?;
        items.iter().map(|item| self.number_at(name, item, limits)).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the list of texts of a key. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not a list of texts.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let texts = |items: &'a toml::de::DeArray<'a>| items.iter().map(|item| item.get_ref().as_str()).collect();
        let texts: Option<Vec<&str>> = value.get_ref().as_array().and_then(texts);
        texts.map(Some).ok_or_else(|| self.unexpected(name, "a list of quoted texts"))
    }

    /// Returns the time of a key, ns. Returns `None` if the key is not there.
    ///
    /// # Errors
    ///
    /// The value is not text that [`parse_duration`] reads.
    pub fn duration(&self, name: &str) -> Result<Option<u64>, InputError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let ns = value.get_ref().as_str().and_then(|text| parse_duration(text).ok());
        ns.map(Some).ok_or_else(|| self.unexpected(name, DURATION))
    }

    /// Returns the elements of the array of a key, which must be there and have one or more.
    ///
    /// # Errors
    ///
    /// The key is not there, or its value is not an array or an empty one.
    pub fn elements(&self, name: &str, expected: &str) -> Result<Vec<&'a Value<'a>>, InputError> {
        let array = self.get(name).and_then(|value| value.get_ref().as_array()).filter(|array| !array.is_empty());
        array.map(|array| array.iter().collect()).ok_or_else(|| self.unexpected(name, expected))
    }
}

fn key_text<'a>(key: &'a Spanned<std::borrow::Cow<'_, str>>) -> &'a str {
    key.get_ref().as_ref()
}

fn whole<T: std::fmt::Display>(limits: &RangeInclusive<T>) -> String {
    format!("a whole number from {} to {}", limits.start(), limits.end())
}

/// A text as TOML writes it, in quotes.
pub fn toml_text(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"m\"\n[cache]\nsize = 48\nline = [1, 2]\n\n[[task]]\nname = \"a\"\nnice = -3\n";

    fn read<T>(text: &str, read: impl FnOnce(&Table<'_>) -> Result<T, InputError>) -> Result<T, String> {
        let document = Document::parse(Path::new("m.toml"), text).map_err(|e| e.to_string())?;
        let root = document.root(&["name", "cache", "task"]).map_err(|e| e.to_string())?;
        read(&root).map_err(|error| error.to_string())
    }

    #[test]
    fn every_error_names_file_line_key_and_the_next_step() {
        let expected = "m.toml:1: `nam`: unknown key; expected name, cache, task\n  hint: did you mean `name`?";
        assert_eq!(read("nam = 1\n", |_| Ok(())), Err(expected.to_owned()));
        let cache = read(TEXT, |root| root.need_table("cache", &["size"]).map(drop));
        assert_eq!(cache, Err("m.toml:4: `cache.line`: unknown key; expected size".to_owned()));
        let missing = read(TEXT, |root| root.need_table("cache", &["size", "line"])?.need_number("ways", &(1..=8)));
        let expected = "m.toml:2: `cache.ways`: the key is missing; expected a whole number from 1 to 8";
        assert_eq!(missing, Err(expected.to_owned()));
        let wrong = read(TEXT, |root| root.need_table("cache", &["size", "line"])?.number("size", &(1..=8)));
        let expected = "m.toml:3: `cache.size`: expected a whole number from 1 to 8, found 48";
        assert_eq!(wrong, Err(expected.to_owned()));
        assert!(read("a = = 1", |_| Ok(())).unwrap_err().starts_with("m.toml:1: this is not valid TOML: "));
    }

    #[test]
    fn the_first_unknown_key_of_the_file_is_named() {
        assert!(read("zebra = 1\nant = 1\n", |_| Ok(())).unwrap_err().contains("`zebra`"));
    }

    #[test]
    fn values_are_read_with_their_types() {
        let nice = read(TEXT, |root| root.tables("task", &["name", "nice"])?[0].signed("nice", &(-20..=19)));
        assert_eq!(nice, Ok(Some(-3)));
        let nice = read(TEXT, |root| root.tables("task", &["name", "nice"])?[0].number("nice", &(0..=19)));
        assert_eq!(nice.unwrap_err(), "m.toml:8: `task.nice`: expected a whole number from 0 to 19, found -3");
        let name = read(TEXT, |root| root.duration("name")).unwrap_err();
        assert_eq!(name, format!("m.toml:1: `name`: expected {DURATION}, found \"m\""));
        let blank = read("name = \" \"", |root| root.text("name").map(drop)).unwrap_err();
        assert_eq!(blank, "m.toml:1: `name`: expected text in quotes that is not empty, found \" \"");
        let choice = read(TEXT, |root| root.need_choice("name", &[("higher", true), ("lower", false)])).unwrap_err();
        assert_eq!(choice, "m.toml:1: `name`: expected \"higher\" or \"lower\", found \"m\"");
        let root = read(TEXT, |root| root.need_text("cache", "a cache").map(drop)).unwrap_err();
        assert_eq!(root, "m.toml:2: `cache`: expected text in quotes, found [cache]");
        assert_eq!(read("", |root| root.need_text("name", "a name").map(drop)).unwrap_err().lines().count(), 1);
    }

    #[test]
    fn a_long_value_is_cut_in_messages() {
        let text = format!("name = [\"{}\"]", "x".repeat(5000));
        assert!(read(&text, |root| root.text("name").map(drop)).unwrap_err().len() < 200);
    }
}
