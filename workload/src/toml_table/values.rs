//! Values of a table: texts, flags, numbers, times, arrays.

use super::{Table, TomlError};
use crate::duration::parse_duration;
use toml::Spanned;
use toml::de::DeValue;

impl<'a> Table<'a> {
    /// A text, which is not empty.
    ///
    /// # Errors
    /// Where it is no text, or empty.
    pub fn text(&self, name: &str) -> Result<Option<&'a str>, TomlError> {
        match self.any_text(name, "")? {
            Some("") => Err(self.wrong(name, "expected text, found \"\"")),
            text => Ok(text),
        }
    }

    /// A text, which may be empty; `example` is what it could be.
    ///
    /// # Errors
    /// Where it is no text.
    pub fn any_text(&self, name: &str, example: &str) -> Result<Option<&'a str>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let expected = if example.is_empty() { "text".to_owned() } else { format!("text, such as {example}") };
        value.get_ref().as_str().map(Some).ok_or_else(|| self.wrong_type(name, &expected))
    }

    /// A text that must be there.
    ///
    /// # Errors
    /// Where it is not, or as [`Table::text`].
    pub fn need_text(&self, name: &str) -> Result<&'a str, TomlError> {
        self.text(name)?.ok_or_else(|| self.missing(name, &format!("{name} = \"text\"")))
    }

    /// A flag.
    ///
    /// # Errors
    /// Where it is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.get_ref().as_bool().map(Some).ok_or_else(|| self.wrong_type(name, "true or false"))
    }

    /// A whole number in `low..=high`.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn number(&self, name: &str, low: i64, high: i64) -> Result<Option<i64>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.get_ref().as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        match number.filter(|n| (low..=high).contains(n)) {
            Some(number) => Ok(Some(number)),
            None => {
                let found = &self.source().text[value.span()];
                Err(self.wrong(name, format!("expected a whole number, {low} to {high}, found {found}")))
            }
        }
    }

    /// A length of time, ns.
    ///
    /// # Errors
    /// Where it is no text that [`parse_duration`] takes.
    pub fn duration(&self, name: &str) -> Result<Option<u64>, TomlError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let found = &self.source().text[value.span()];
        let parsed = value.get_ref().as_str().map_or(Err(found), |text| parse_duration(text).ok_or(found));
        parsed.map(Some).map_err(|found| {
            let expected = "a time in ns, us, ms or s, at most an hour, such as \"50us\" or \"1.5ms\"";
            self.wrong(name, format!("expected {expected}, found {found}"))
        })
    }

    /// The elements of an array, which must be there and have some.
    ///
    /// # Errors
    /// Where it is not there, no array or empty.
    pub fn elements(&self, name: &str, example: &str) -> Result<Vec<&'a Spanned<DeValue<'a>>>, TomlError> {
        let value = self.get(name).ok_or_else(|| self.missing(name, example))?;
        let array = value.get_ref().as_array().ok_or_else(|| self.wrong_type(name, "an array"))?;
        if array.is_empty() {
            return Err(self.wrong(name, format!("expected one or more, as {example}, found []")));
        }
        Ok(array.iter().collect())
    }
}
