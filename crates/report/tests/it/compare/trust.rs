//! How sure rows are, in text and as JSON.

use super::fixture::{comparison, judged};
use jsonschema::Validator;
use serde_json::{Value, json};
use wakelab_report::compare as report;
use wakelab_statistics::Better;
use wakelab_study::compare::{Class, Control, ControlRow};
use wakelab_study::sensitivity::{
    Classes, Condition, Constant, Influence, Method, Sample, Sensitivity, SensitivityRow, Share, Side, Verdict,
};

pub fn control() -> Control {
    let row = |load: &str, compare_pct| ControlRow {
        benchmark: "netperf".to_owned(),
        case: "TCP_RR".to_owned(),
        load: load.to_owned(),
        values: vec![100.0, 101.0],
        other_values: vec![100.0, 103.0],
        other_seeds: vec![1, 2],
        compare_pct,
        ci95: Some([-1.5, 2.5]),
        p_value: Some(0.7),
    };
    Control { rows: vec![row("168 threads", -0.25), row("224 threads", 0.5)], complete: true }
}

fn constant() -> Constant {
    let (of, name, unit) = ("machine".to_owned(), "probe".to_owned(), "ns".to_owned());
    Constant { of, name, unit, value: 60, low: 20, high: 1500 }
}

pub fn sensitivity() -> Sensitivity {
    let row = |load: &str, verdict, n| SensitivityRow {
        benchmark: "netperf".to_owned(),
        case: "TCP_RR".to_owned(),
        load: load.to_owned(),
        better: Better::Higher,
        compare_pct: 197.3,
        noise_pct: 15.7,
        class: Class::Better,
        same: Share { n, of: 32 },
        classes: Classes { better: n, same: 32 - n, worse: 0 },
        range: Some([-1.0, 180.0, 230.0]),
        verdict,
        influences: vec![Influence {
            of: "machine".to_owned(),
            name: "probe".to_owned(),
            spearman: Some(0.84),
            at_low_pct: None,
            at_high_pct: None,
        }],
        stands_out_above: Some(0.5),
    };
    let on = Condition {
        constant: constant(),
        side: Side::Above,
        between: [38, 1044],
        inside: Share { n: 27, of: 28 },
        outside: Share { n: 0, of: 4 },
    };
    Sensitivity {
        method: Method::LatinHypercube,
        seed: 1,
        fitted: None,
        asked: 32,
        complete: true,
        constants: vec![constant()],
        rows: vec![
            row("112 threads", Verdict::Holds, 32),
            row("168 threads", Verdict::Depends(vec![on]), 27),
            row("224 threads", Verdict::Uncertain, 20),
        ],
        samples: vec![Sample { values: vec![60], compare_pct: vec![Some(1.0), None, Some(2.0)] }; 32],
    }
}

fn with_all() -> Value {
    let mut value = report::json(&comparison(), &judged(&comparison()));
    value["control"] = report::control_json(&control());
    value["sensitivity"] = report::sensitivity_json(&sensitivity());
    value
}

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(include_str!("../../../../../docs/results.schema.json")).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn the_control_stands_beside_the_comparison() {
    let text = report::control(&comparison(), &control());
    let line = text.lines().find(|line| line.contains("224 threads")).unwrap();
    let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    assert_eq!(words, ["TCP_RR", "224 threads", "+197.30", "[-0.90, +0.12]", "+0.50", "[-1.50, +2.50]", "0.700", "2"]);
    let interrupted = Control { complete: false, ..control() };
    assert!(report::control(&comparison(), &interrupted).contains("\nNot complete"));
}

#[test]
fn each_verdict_says_what_it_rests_on() {
    let text = report::sensitivity(&sensitivity());
    for part in [
        "Sensitivity: 32 samples with 1 assumed constant changed at once (Latin hypercube, seed 1)\n",
        "TCP_RR 168 threads: depends on probe of machine above 38..1,044 ns (used: 60): better there in 27 of 28, \
         else in 0 of 4\n",
        "TCP_RR 224 threads: better in 20 of 32; no single constant separates them\n",
        "TCP_RR 112 threads follows probe of machine (rank correlation +0.84)\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = text.lines().find(|line| line.contains("112 threads")).unwrap();
    assert!(line.contains("holds") && line.contains("32 of 32") && line.contains("+180.00"), "{line}");
    assert!(text.lines().take(8).all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn an_ensemble_says_in_how_many_machines_that_fit_each_row_is_better() {
    let fitted = Some("the base side of mine (8 rows), 2026-11-23".to_owned());
    let found = Sensitivity { method: Method::Ensemble, fitted, ..sensitivity() };
    let text = report::sensitivity(&found);
    for part in [
        "Ensemble: 32 sets of constants that fit the base side of mine (8 rows), 2026-11-23\n",
        "TCP_RR 112 threads: better in 100% of 32 machines that look like this one\n",
        "TCP_RR 168 threads: better in 84% of 32 machines that look like this one\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = text.lines().find(|line| line.contains("224 threads")).unwrap();
    let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    assert_eq!(words[..5], ["TCP_RR", "224 threads", "20 of 32", "12 of 32", "0 of 32"]);
    let interrupted = Sensitivity { complete: false, asked: 64, ..found };
    assert!(report::sensitivity(&interrupted).contains("\nNot complete: it was interrupted after 32 of 64 sets.\n"));
}

#[test]
fn an_interrupted_one_says_how_far_it_came() {
    let interrupted = Sensitivity { complete: false, asked: 64, ..sensitivity() };
    assert!(report::sensitivity(&interrupted).contains("\nNot complete: it was interrupted after 32 of 64 samples.\n"));
}

#[test]
fn one_at_a_time_shows_both_ends() {
    let mut found = sensitivity();
    found.method = Method::OneAtATime;
    let ends = &mut found.rows[0].influences[0];
    (ends.spearman, ends.at_low_pct, ends.at_high_pct) = (None, Some(-3.0), Some(200.0));
    let text = report::sensitivity(&found);
    assert!(text.contains("follows probe of machine (-3.00 at its lowest, +200.00 at its highest)\n"), "{text}");
}

#[test]
fn what_is_rendered_fits_the_schema() {
    let value = with_all();
    let errors: Vec<String> = validator().iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_schema_knows_every_key_and_refuses_what_is_of_another_kind() {
    let good = with_all();
    let validator = validator();
    let parts = ["/control", "/control/rows/0", "/sensitivity", "/sensitivity/constants/0", "/sensitivity/rows/1"];
    let deeper = [
        "/sensitivity/rows/1/classes",
        "/sensitivity/rows/1/on/0",
        "/sensitivity/rows/1/same",
        "/sensitivity/rows/1/influences/0",
    ];
    for part in parts.into_iter().chain(deeper).chain(["/sensitivity/samples/0"]) {
        for key in good.pointer(part).unwrap().as_object().unwrap().keys() {
            let mut value = good.clone();
            value.pointer_mut(part).unwrap().as_object_mut().unwrap().remove(key);
            assert!(!validator.is_valid(&value), "{part}/{key} may be missing");
        }
    }
    for (path, wrong) in [
        ("/sensitivity/rows/0/verdict", json!("sure")),
        ("/sensitivity/rows/0/class", json!("good")),
        ("/sensitivity/rows/0/influences/0/spearman", json!(1.5)),
        ("/sensitivity/rows/1/on/0/between", json!([1])),
        ("/sensitivity/method", json!("random")),
        ("/control/rows/0/p_value", json!(2)),
    ] {
        let mut value = good.clone();
        *value.pointer_mut(path).unwrap() = wrong;
        assert!(!validator.is_valid(&value), "{path}");
    }
}
