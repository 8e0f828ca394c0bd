//! JSON as json-c takes it: comments, trailing commas and single quotes are tolerated. Keys keep their order, and may
//! come more than once.

use super::cx::{Cx, Place};
use crate::error::WorkloadError;
use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// Parses the text.
pub(super) fn parse<'a>(cx: &Cx<'a>) -> Result<Value<'a>, WorkloadError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_single_quoted_strings: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(cx.text, &collect, &options).map_err(|e| {
        let what = format!("this is not JSON: {}", e.kind());
        cx.place(e.range().start, "").error(cx.path, what)
    })?;
    let empty = || cx.place(0, "").error(cx.path, "the file is empty; expected rt-app's JSON, {\"tasks\": {...}}");
    parsed.value.ok_or_else(empty)
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object<'a> {
    /// Where it begins, and its key.
    pub(super) place: Place,
    pub(super) props: Vec<Prop<'a>>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Prop<'a> {
    pub(super) name: &'a str,
    pub(super) place: Place,
    value: &'a Value<'a>,
}

impl<'a> Object<'a> {
    /// The outermost object of a file.
    pub(super) fn root(cx: &Cx<'_>, value: &'a Value<'a>) -> Result<Self, WorkloadError> {
        let place = cx.place(value.start(), "");
        match value.as_object() {
            Some(object) => Ok(Self::new(cx, place, &object.properties)),
            None => Err(place.error(cx.path, "expected an object, {\"tasks\": {...}}")),
        }
    }

    fn new(cx: &Cx<'_>, place: Place, props: &'a [ObjectProp<'a>]) -> Self {
        let dot = if place.key.is_empty() { "" } else { "." };
        let prop = |prop: &'a ObjectProp<'a>| {
            let name = prop.name.as_str();
            Prop { name, place: cx.place(prop.start(), format!("{}{dot}{name}", place.key)), value: &prop.value }
        };
        Object { props: props.iter().map(prop).collect(), place }
    }

    /// The property of that name, which may come once.
    pub(super) fn get(&self, cx: &Cx<'_>, name: &str) -> Result<Option<&Prop<'a>>, WorkloadError> {
        let mut all = self.props.iter().filter(|prop| prop.name == name);
        let first = all.next();
        match (first, all.next()) {
            (Some(first), Some(again)) => {
                let what = format!("the key is given twice, first in line {}; expected it once", first.place.line);
                Err(again.place.error(cx.path, what))
            }
            _ => Ok(first),
        }
    }

    /// The property of that name, which must be there; `example` is what it could be.
    pub(super) fn need(&self, cx: &Cx<'_>, name: &str, example: &str) -> Result<&Prop<'a>, WorkloadError> {
        self.get(cx, name)?.ok_or_else(|| {
            let Place { line, key } = &self.place;
            let key = if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
            let what = format!("the key is missing; expected a value such as {example}");
            Place { line: *line, key }.error(cx.path, what)
        })
    }
}

impl<'a> Prop<'a> {
    /// The error that the value is not what was expected.
    pub(super) fn wrong(&self, cx: &Cx<'_>, expected: &str) -> WorkloadError {
        let found = self.value.text(cx.text);
        let short: String = found.chars().take_while(|c| *c != '\n').take(40).collect();
        let more = if short.len() < found.len() { "..." } else { "" };
        self.place.error(cx.path, format!("expected {expected}, found {short}{more}"))
    }

    /// A whole number in `low..=high`.
    pub(super) fn int(&self, cx: &Cx<'_>, low: i64, high: i64, what: &str) -> Result<i64, WorkloadError> {
        let number = self.value.as_number_lit().and_then(|number| number.value.parse().ok());
        let number = number.filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| self.wrong(cx, &format!("{what}, a whole number from {low} to {high}")))
    }

    /// Whether the value is a whole number.
    pub(super) fn is_int(&self) -> bool {
        self.value.as_number_lit().is_some_and(|number| number.value.parse::<i64>().is_ok())
    }

    /// Whether the value is true or false, and which.
    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_boolean_lit().map(|flag| flag.value)
    }

    /// The value, if it is text.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_string_lit().map(|text| text.value.as_ref())
    }

    /// The value as an object; `what` is what it should be.
    pub(super) fn object(&self, cx: &Cx<'_>, what: &str) -> Result<Object<'a>, WorkloadError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong(cx, what))?;
        Ok(Object::new(cx, self.place.clone(), &object.properties))
    }

    /// The numbers of an array, which has some.
    pub(super) fn numbers(&self, cx: &Cx<'_>, what: &str) -> Result<Vec<u32>, WorkloadError> {
        let array = self.value.as_array().filter(|array| !array.elements.is_empty());
        let number = |value: &Value<'_>| value.as_number_lit().and_then(|number| number.value.parse().ok());
        let numbers = array.and_then(|array| array.elements.iter().map(number).collect::<Option<Vec<u32>>>());
        numbers.ok_or_else(|| self.wrong(cx, what))
    }
}
