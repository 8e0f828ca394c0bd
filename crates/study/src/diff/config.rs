//! What differs in what two results are of.

use serde_json::Value;

/// Something that is not the same in both results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its place: `experiment.seed`, `machine.costs.probe.value`.
    pub name: String,
    /// In the first; `None` if it is not there.
    pub a: Option<String>,
    /// In the second.
    pub b: Option<String>,
}

/// The settings that differ, in the order of the first and then of the second.
pub(super) fn differing(a: &[(String, String)], b: &[(String, String)]) -> Vec<Setting> {
    let of = |list: &[(String, String)], name: &str| {
        list.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    };
    let mut found: Vec<Setting> = Vec::new();
    for (name, value) in a {
        let other = of(b, name);
        if other.as_ref() != Some(value) {
            found.push(Setting { name: name.clone(), a: Some(value.clone()), b: other });
        }
    }
    let only_b = b.iter().filter(|(name, _)| of(a, name).is_none());
    found.extend(only_b.map(|(name, value)| Setting { name: name.clone(), a: None, b: Some(value.clone()) }));
    found
}

/// Adds all that is in a value, a text for each of its ends. A list of texts is one end.
pub(super) fn flatten(name: &str, value: &Value, into: &mut Vec<(String, String)>) {
    let below = |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, value)| flatten(&below(key), value, into)),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            into.push((name.to_owned(), texts.join(", ")));
        }
        // The numbers of a list that all have names or are of one kind are told apart by their place.
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| flatten(&below(&at.to_string()), value, into));
        }
        Value::String(text) => into.push((name.to_owned(), text.clone())),
        other => into.push((name.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_by_its_place() {
        let flat = |value: Value| {
            let mut all = Vec::new();
            flatten("", &value, &mut all);
            all
        };
        let a = flat(json!({"seed": 1, "differ": ["A", "B"], "costs": [{"probe": 100}], "old": null}));
        let b = flat(json!({"seed": 2, "differ": ["A"], "costs": [{"probe": 100}], "pinned": "0-3"}));
        let told: Vec<String> = differing(&a, &b)
            .into_iter()
            .map(|one| format!("{} {} {}", one.name, one.a.unwrap_or("-".into()), one.b.unwrap_or("-".into())))
            .collect();
        assert_eq!(told, ["seed 1 2", "differ A, B A", "old null -", "pinned - 0-3"]);
        assert!(differing(&a, &a).is_empty());
    }
}
