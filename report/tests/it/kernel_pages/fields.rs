//! Plain structures as lists of fields, by their debugging form: so that a field that is added is on the pages.

use std::fmt::Debug;

/// The fields of a value with their values; a field of a field as `outer.inner`.
pub fn fields(value: &impl Debug) -> Vec<(String, String)> {
    let mut path: Vec<String> = Vec::new();
    let mut fields = Vec::new();
    for line in format!("{value:#?}").lines() {
        let line = line.trim().trim_end_matches(',');
        if let Some((name, value)) = line.split_once(": ") {
            if value.ends_with('{') || value.ends_with('(') {
                path.push(name.to_owned());
            } else {
                let name = path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
                fields.push((name, value.to_owned()));
            }
        } else if matches!(line, "}" | ")") {
            path.pop();
        }
    }
    fields
}

/// The fields that differ, with both values; `-` where one of the two has no such field.
pub fn changed(from: &[(String, String)], to: &[(String, String)]) -> Vec<(String, String, String)> {
    let value = |list: &[(String, String)], name: &str| {
        list.iter().find(|(n, _)| n == name).map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
    };
    let new = to.iter().filter(|(name, _)| !from.iter().any(|(n, _)| n == name));
    from.iter()
        .chain(new)
        .map(|(name, _)| (name.clone(), value(from, name), value(to, name)))
        .filter(|(_, a, b)| a != b)
        .collect()
}

#[test]
fn fields_of_fields_have_both_names() {
    #[derive(Debug)]
    #[expect(dead_code, reason = "printed")]
    struct Outer {
        a: u32,
        inner: Inner,
        b: Option<bool>,
    }
    #[derive(Debug)]
    #[expect(dead_code, reason = "printed")]
    struct Inner {
        c: &'static str,
    }
    let of = |a| fields(&Outer { a, inner: Inner { c: "x" }, b: None });
    let list: Vec<_> = of(1).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(list, ["a=1", "inner.c=\"x\"", "b=None"]);
    assert_eq!(changed(&of(1), &of(2)), [("a".to_owned(), "1".to_owned(), "2".to_owned())]);
}
