//! JSON as json-c takes it: comments, trailing commas and single quotes are tolerated. Keys keep their order, and may
//! be given more than once. Every error and warning has its line and key.

use crate::error::{About, WorkloadError};
use crate::file::NAME_MAX;
use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use std::cell::RefCell;
use std::path::Path;
use wakelab_input::did_you_mean;

/// A line and a key of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    /// `tasks.thread0.phases.light.run`.
    pub(super) key: String,
}

impl Place {
    /// Returns an error about this place.
    pub(super) fn error(&self, path: &Path, what: impl Into<String>) -> WorkloadError {
        let Place { line, key } = self.clone();
        let key = (!key.is_empty()).then_some(key);
        WorkloadError::new(About::File { path: path.to_owned(), line: Some(line), key }, what)
    }
}

/// A file that is being read: whether leniently, and the warnings so far.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
    lenient: bool,
    /// The byte at which each line begins.
    lines: Vec<usize>,
    warnings: RefCell<Vec<WorkloadError>>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str, lenient: bool) -> Self {
        let after = text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at + 1));
        let lines = [0].into_iter().chain(after).collect();
        Cx { path, text, lenient, lines, warnings: RefCell::default() }
    }

    /// Returns the place of a byte of the text, which belongs to `key`.
    pub(super) fn place(&self, at: usize, key: impl Into<String>) -> Place {
        Place { line: self.lines.partition_point(|&begin| begin <= at), key: key.into() }
    }

    /// Refuses something that the model cannot represent: an error, or a warning if the file is read leniently.
    /// `instead` is what is done then.
    pub(super) fn refuse(&self, place: &Place, what: &str, instead: &str) -> Result<(), WorkloadError> {
        if self.lenient {
            self.warnings.borrow_mut().push(place.error(self.path, format!("{what}; read leniently, {instead}")));
            return Ok(());
        }
        let hint = format!("--lenient (lenient = true in an experiment) turns this into a warning: {instead}");
        Err(place.error(self.path, what).with_hint(Some(hint)))
    }

    /// Warns of something that the file means and hardly anybody wants.
    pub(super) fn warn(&self, place: &Place, what: impl Into<String>) {
        self.warnings.borrow_mut().push(place.error(self.path, what));
    }

    /// Returns the warnings, in their order.
    pub(super) fn into_warnings(self) -> Vec<WorkloadError> {
        self.warnings.into_inner()
    }
}

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
        let what = format!("this is not valid JSON: {}", e.kind());
        cx.place(e.range().start, "").error(cx.path, what)
    })?;
    let empty = || cx.place(0, "").error(cx.path, "the file is empty; expected rt-app's JSON, {\"tasks\": {...}}");
    parsed.value.ok_or_else(empty)
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object<'a> {
    /// Where the object begins, and its key.
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
    /// Returns the outermost object of a file.
    pub(super) fn root(cx: &Cx<'_>, value: &'a Value<'a>) -> Result<Self, WorkloadError> {
        let place = cx.place(value.start(), "");
        match value.as_object() {
            Some(object) => Self::new(cx, place, &object.properties),
            None => Err(place.error(cx.path, "expected an object, {\"tasks\": {...}}")),
        }
    }

    fn new(cx: &Cx<'_>, place: Place, props: &'a [ObjectProp<'a>]) -> Result<Self, WorkloadError> {
        // Each key repeats those that it is in.
        if let Some(prop) = props.iter().find(|prop| prop.name.as_str().len() > NAME_MAX) {
            let (name, long) = (prop.name.as_str(), prop.name.as_str().len());
            let what = format!("expected a key of at most {NAME_MAX} bytes, found {long}");
            return Err(cx.place(prop.start(), name).error(cx.path, what));
        }
        let dot = if place.key.is_empty() { "" } else { "." };
        let prop = |prop: &'a ObjectProp<'a>| {
            let name = prop.name.as_str();
            Prop { name, place: cx.place(prop.start(), format!("{}{dot}{name}", place.key)), value: &prop.value }
        };
        Ok(Object { props: props.iter().map(prop).collect(), place })
    }

    /// Returns the property of that name, which may be given once. Returns `None` if it is not there.
    pub(super) fn get(&self, cx: &Cx<'_>, name: &str) -> Result<Option<&Prop<'a>>, WorkloadError> {
        let mut all = self.props.iter().filter(|prop| prop.name == name);
        let first = all.next();
        match (first, all.next()) {
            (Some(first), Some(again)) => {
                let what = format!("the key is given twice, first in line {}; give it once", first.place.line);
                Err(again.place.error(cx.path, what))
            }
            _ => Ok(first),
        }
    }

    /// Returns the property of that name, which must be there, such as `example`.
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
    /// Returns the error that the value is not what was expected.
    pub(super) fn wrong(&self, cx: &Cx<'_>, expected: &str) -> WorkloadError {
        let found = self.value.text(cx.text);
        let short: String = found.chars().take_while(|c| *c != '\n').take(40).collect();
        let more = if short.len() < found.len() { "..." } else { "" };
        self.place.error(cx.path, format!("expected {expected}, found {short}{more}"))
    }

    /// Returns the value as a whole number in `low..=high`.
    pub(super) fn int(&self, cx: &Cx<'_>, low: i64, high: i64, what: &str) -> Result<i64, WorkloadError> {
        let number = self.value.as_number_lit().and_then(|number| number.value.parse().ok());
        let number = number.filter(|number| (low..=high).contains(number));
        number.ok_or_else(|| self.wrong(cx, &format!("{what}, a whole number from {low} to {high}")))
    }

    /// Returns whether the value is a whole number.
    pub(super) fn is_int(&self) -> bool {
        self.value.as_number_lit().is_some_and(|number| number.value.parse::<i64>().is_ok())
    }

    /// Returns the value if it is true or false.
    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_boolean_lit().map(|flag| flag.value)
    }

    /// Returns the value if it is text of at most [`NAME_MAX`] bytes.
    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_string_lit().map(|text| text.value.as_ref()).filter(|text| text.len() <= NAME_MAX)
    }

    /// Returns the value as an object, which should be `what`.
    pub(super) fn object(&self, cx: &Cx<'_>, what: &str) -> Result<Object<'a>, WorkloadError> {
        let object = self.value.as_object().ok_or_else(|| self.wrong(cx, what))?;
        Object::new(cx, self.place.clone(), &object.properties)
    }

    /// Returns the numbers of an array that is not empty.
    pub(super) fn numbers(&self, cx: &Cx<'_>, what: &str) -> Result<Vec<u32>, WorkloadError> {
        let array = self.value.as_array().filter(|array| !array.elements.is_empty());
        let number = |value: &Value<'_>| value.as_number_lit().and_then(|number| number.value.parse().ok());
        let numbers = array.and_then(|array| array.elements.iter().map(number).collect::<Option<Vec<u32>>>());
        numbers.ok_or_else(|| self.wrong(cx, what))
    }
}

/// Keys of threads and phases that rt-app knows and the model does not, with what is not modelled.
const NOT_MODELLED: [(&str, &str); 3] =
    [("period", DEADLINE), ("deadline", DEADLINE), ("membind_nodes", "the memory of nodes is not modelled")];

const DEADLINE: &str = "the parameters of SCHED_DEADLINE are called dl-runtime, dl-period and dl-deadline";

/// Keys of threads before rt-app 1.0.
const OLD: [&str; 3] = ["exec", "lock_order", "resources"];

/// Refuses a key that rt-app knows and the model does not; it is left out if the file is read leniently. Returns
/// whether it was such a key. A key that rt-app no longer knows is always an error.
pub(super) fn not_modelled(cx: &Cx<'_>, prop: &Prop<'_>) -> Result<bool, WorkloadError> {
    if OLD.contains(&prop.name) {
        let what = "this is the grammar of rt-app before 1.0 (exec, lock_order, resources in threads), which rt-app no \
                    longer reads; expected events, such as \"run\": 1000";
        return Err(prop.place.error(cx.path, what));
    }
    let Some((_, what)) = NOT_MODELLED.iter().find(|(name, _)| *name == prop.name) else { return Ok(false) };
    cx.refuse(&prop.place, what, "it is left out").map(|()| true)
}

/// Refuses an unknown key, which rt-app ignores.
pub(super) fn unknown<'k>(
    cx: &Cx<'_>,
    prop: &Prop<'_>,
    known: impl Iterator<Item = &'k str>,
) -> Result<(), WorkloadError> {
    let known: Vec<&str> = known.collect();
    let what = match did_you_mean(prop.name, known.iter().copied()) {
        Some(meant) => format!("unknown key; {meant}"),
        None => format!("unknown key; expected {}", known.join(", ")),
    };
    cx.refuse(&prop.place, &what, "it is left out, as rt-app does")
}
