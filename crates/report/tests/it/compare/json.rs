//! JSON against its schema.

use super::fixture::{comparison, judged, once};
use jsonschema::Validator;
use serde_json::Value;
use wakelab_report::compare;
use wakelab_study::compare::Comparison;

fn json(comparison: &Comparison) -> Value {
    compare::json(comparison, &judged(comparison))
}

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../../docs/results.schema.json")).unwrap()
}

fn validator() -> Validator {
    let schema = schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn check(value: &Value) {
    let errors: Vec<String> = validator().iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Every path of `value` down to its leaves; of arrays the first element only.
fn paths(value: &Value, at: &str, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let path = format!("{at}/{key}");
            all.push(path.clone());
            paths(value, &path, all);
        }),
        Value::Array(values) if !values.is_empty() => paths(&values[0], &format!("{at}/0"), all),
        _ => {}
    }
}

fn remove(value: &mut Value, path: &str) {
    let (parent, key) = path.rsplit_once('/').unwrap();
    value.pointer_mut(parent).and_then(Value::as_object_mut).unwrap().remove(key).unwrap();
}

#[test]
fn what_is_rendered_fits_the_schema() {
    check(&json(&comparison()));
    check(&json(&once()));
    let mut interrupted = comparison();
    interrupted.complete = false;
    interrupted.rows.clear();
    check(&json(&interrupted));
}

#[test]
fn a_missing_key_is_refused() {
    let good = json(&comparison());
    let validator = validator();
    let mut all = Vec::new();
    paths(&good, "", &mut all);
    // What the machine consists of, other than its name, is its own affair.
    let of_machine = |path: &str| path.starts_with("/machine/") && path != "/machine/name";
    let required: Vec<&String> = all.iter().filter(|path| !of_machine(path)).collect();
    assert!(required.len() > 60, "{required:?}");
    // The published numbers of the first row are null: those of the second have keys.
    let second = ["result/compare_pct", "search/dom_eff_pct"].map(|key| format!("/rows/1/published/{key}"));
    for path in required.into_iter().chain(&second) {
        let mut value = good.clone();
        remove(&mut value, path);
        assert!(!validator.is_valid(&value), "{path} may be missing");
    }
}

#[test]
fn the_schema_refuses_what_is_of_another_kind() {
    let validator = validator();
    for (path, wrong) in [
        ("/kind", Value::from("measured")),
        ("/rows/0/better", Value::from("up")),
        ("/rows/0/ci95", serde_json::json!([1.0])),
        ("/rows/0/base/search/sis_search", Value::from(-1)),
        ("/rows/0/base/n", Value::from(0)),
        ("/rows/0/p_value", Value::from(1.5)),
        ("/experiment/repeats", Value::from("3")),
    ] {
        let mut value = json(&comparison());
        *value.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&value), "{path}");
    }
}

#[test]
fn one_repeat_has_null_for_interval_and_test() {
    let value = json(&once());
    for key in ["ci95", "p_value", "test"] {
        assert_eq!(value["rows"][0][key], Value::Null, "{key}");
    }
}

#[test]
fn what_is_no_number_is_null() {
    let mut comparison = comparison();
    comparison.rows[0].compare_pct = f64::NAN;
    comparison.rows[0].base.search.dom_eff_pct = Some(f64::INFINITY);
    let value = json(&comparison);
    assert_eq!(value["rows"][0]["compare_pct"], Value::Null);
    assert_eq!(value["rows"][0]["base"]["search"]["dom_eff_pct"], Value::Null);
    check(&value);
}

#[test]
fn keys_come_in_one_order() {
    let value = json(&comparison());
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&value), "wakelab kind complete experiment machine assumed published known verdict rows");
    assert_eq!(
        keys(&value["rows"][0]),
        "benchmark case load metric unit better base with compare_pct compare_std_pct ci95 p_value test p_holm \
         noise_pct verdict decided_nothing never_ran power published"
    );
    assert_eq!(
        keys(&value["rows"][0]["base"]["search"]),
        "sis_search sis_domain_search sis_scanned sis_failed se_eff_pct dom_eff_pct fast_rate_pct success_rate_pct \
         scanned_per_domain_search looks_per_domain_search select_idle_cpu_ns"
    );
}

#[test]
fn the_same_comparison_gives_the_same_bytes() {
    assert_eq!(json(&comparison()).to_string(), json(&comparison()).to_string());
}
