//! Rules that describe themselves: the macros that define them, and what a description consists of.

/// One version-dependent rule of a preset: a field of a rules struct, to print or compare.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Rule {
    /// The unit of the kernel that it belongs to, as in [`RuleSet::unit`].
    pub unit: &'static str,
    /// The field's name; a field of a nested struct as `newidle.rate`. Unique within its unit.
    pub name: String,
    /// Its value as an identifier: `yes` or `no`, a number, or the name of the form in the source of this crate.
    pub value: String,
    /// Its value in words.
    pub text: String,
    /// The meaning of the value, if it is one of several forms.
    pub form: Option<&'static str>,
    /// A description of the rule, with the kernel's function and the change that introduced it.
    pub doc: &'static str,
}

/// The rules of one unit of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSet {
    /// A short name, `balance`.
    pub unit: &'static str,
    /// A title, "Load balancing".
    pub title: &'static str,
    /// Its rules, in the order of the struct's fields.
    pub rules: Vec<Rule>,
}

impl RuleSet {
    /// Describes what the fields of a preset in one unit of the kernel hold: each with its name (empty for a struct
    /// whose fields stand for themselves), itself and its documentation.
    pub(crate) fn of(unit: &'static str, title: &'static str, parts: &[(&str, &dyn Describe, &'static str)]) -> Self {
        let mut rules = Vec::new();
        for (name, part, doc) in parts {
            part.describe(name, doc, &mut |rule| rules.push(Rule { unit, ..rule }));
        }
        RuleSet { unit, title, rules }
    }
}

/// A value that can be listed as one rule, or a struct that can be listed as several.
pub(crate) trait Describe {
    /// Passes each rule in `self` to `add`, with an empty unit. `name` and `doc` are those of the field that holds it.
    fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut(Rule));
}

impl Rule {
    fn new(name: &str, value: String, text: String, form: Option<&'static str>, doc: &'static str) -> Rule {
        Rule { unit: "", name: name.to_owned(), value, text, form, doc }
    }

    pub(crate) fn of_form(name: &str, value: String, text: &str, form: &'static str, doc: &'static str) -> Rule {
        Rule::new(name, value, text.to_owned(), Some(form), doc)
    }
}

impl Describe for bool {
    fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut(Rule)) {
        let word = if *self { "yes" } else { "no" };
        add(Rule::new(name, word.to_owned(), word.to_owned(), None, doc));
    }
}

impl Describe for u32 {
    fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut(Rule)) {
        add(Rule::new(name, self.to_string(), self.to_string(), None, doc));
    }
}

impl<T: Describe> Describe for Option<T> {
    fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut(Rule)) {
        match self {
            Some(value) => value.describe(name, doc, add),
            None => add(Rule::new(name, "None".to_owned(), "none".to_owned(), None, doc)),
        }
    }
}

/// Defines a struct of rules whose fields describe themselves by their doc comments.
macro_rules! rules {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $($(#[doc = $doc:literal])+ pub $field:ident: $ty:ty,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $ty,)+
        }

        impl $crate::rules::describe::Describe for $name {
            fn describe(&self, name: &str, _: &'static str, add: &mut dyn FnMut($crate::rules::Rule)) {
                let full = |field: &str| if name.is_empty() { field.to_owned() } else { format!("{name}.{field}") };
                $(
                    let doc = concat!($($doc),+).trim_ascii_start();
                    $crate::rules::describe::Describe::describe(&self.$field, &full(stringify!($field)), doc, add);
                )+
            }
        }
    };
}

/// Defines an enum of the forms that a mechanism has had: each with its doc comment and, in a word or a few, the text
/// that tables show.
macro_rules! forms {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident {
            $($(#[doc = $doc:literal])+ $form:ident = $text:literal,)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $form,)+
        }

        impl $name {
            /// The form in a few words, as tables show it.
            pub const fn text(self) -> &'static str {
                match self { $($name::$form => $text),+ }
            }
        }

        impl $crate::rules::describe::Describe for $name {
            fn describe(&self, name: &str, doc: &'static str, add: &mut dyn FnMut($crate::rules::Rule)) {
                let form = match self { $($name::$form => concat!($($doc),+).trim_ascii_start()),+ };
                add($crate::rules::Rule::of_form(name, format!("{self:?}"), self.text(), form, doc));
            }
        }
    };
}

pub(crate) use {forms, rules};
