//! Pages of simulated runs: power over time, the published tables, and how large a page is.

use crate::support::page::{Page, Row};
use crate::support::wakelab;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a command prints as JSON, and its page.
#[track_caller]
fn run(folder: &Path, args: &str) -> (Value, Page) {
    let page = folder.join("page.html");
    let mut args: Vec<&str> = args.split_whitespace().collect();
    args.extend(["--html", "page.html", "--format", "json"]);
    let output = wakelab(folder, &args);
    let errors = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"));
    (json, Page::read(&page))
}

/// Within so much of it.
#[track_caller]
fn near(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found - expected).abs() <= share * expected.abs().max(1e-9), "{what}: {found}, expected {expected}");
}

/// A value that may be absent on both sides.
#[track_caller]
fn same(row: &Row, column: &str, json: &Value) {
    match row.find(column).and_then(Value::as_f64) {
        Some(found) => near(found, json.as_f64().unwrap_or_else(|| panic!("{column}: {json}, {row:?}")), 1e-12, column),
        None => assert!(json.is_null(), "{column}: {json} is not on the page: {row:?}"),
    }
}

#[test]
fn power_over_time_is_that_of_the_result_and_of_the_events() {
    let here = tempfile::tempdir().expect("a folder");
    let compare = "compare --machine i7-2600k --kernel v6.12 --workload netperf:TCP_RR --load 4 --base \
        governor=schedutil --with governor=performance --settle 0s --time 41ms --repeat 1 --events events";
    let (json, page) = run(here.path(), compare);
    let power = page.rows("time-2-power");
    for (side, name) in [("base", "governor=schedutil"), ("with", "governor=performance")] {
        let watts: Vec<f64> =
            power.iter().filter(|row| row.text("side") == name).map(|row| row.number("value")).collect();
        let total = json["rows"][0][side]["power"]["total_mw"].as_f64().expect("power");
        // Bins of 256 us, of which the last is not whole.
        near(1e3 * watts.iter().sum::<f64>() / watts.len() as f64, total, 0.01, side);
    }
    let differences = page.rows("power-chart");
    for (row, json) in differences.iter().zip(json["rows"][0]["power"].as_array().expect("differences")) {
        same(row, "base", &json["base"]);
        same(row, "with", &json["with"]);
        same(row, "better_pct", &json["compare_pct"]);
        same(row, "p", &json["p_value"]);
    }
    assert_eq!(differences.len(), 2, "power and energy");
    let events = here.path().join("events");
    let (_, of_events) = run(here.path(), &format!("stats {}", events.display()));
    let again = of_events.rows("time-2-power");
    assert_eq!(again.len(), power.len());
    for (one, other) in again.iter().zip(&power) {
        assert_eq!((one.number("at_ms"), one.number("value")), (other.number("at_ms"), other.number("value")));
    }
}

/// Some rows of published tables: with and without published searches, beside, in locks, and one that is not simulated.
fn published(folder: &Path) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published");
    let some = folder.join("published");
    fs::create_dir(&some).expect("a folder");
    for (name, rows) in [
        ("sis_util-results", &["netperf,TCP_RR,224", "hackbench,process-sockets,4 ", "hackbench,process-pipe,1 "][..]),
        ("sis_util-vanilla-search-stats", &["netperf,TCP_RR,224"]),
        ("sis_util-nr_idle_scan", &["112,0,", "112,5,"]),
        ("short-wakeup-will-it-scale-rq-lock", &["1,", "104,"]),
    ] {
        let text = fs::read_to_string(all.join(format!("{name}.csv"))).expect("a table");
        let kept = text.lines().enumerate().filter(|(n, line)| *n == 0 || rows.iter().any(|row| line.starts_with(row)));
        let kept: Vec<&str> = kept.map(|(_, line)| line).collect();
        fs::write(some.join(format!("{name}.csv")), kept.join("\n") + "\n").expect("a table");
    }
    some
}

#[test]
fn the_page_of_the_published_tables_has_every_number_of_the_json() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = published(here.path());
    let (json, page) = run(here.path(), &format!("reproduce --published {} --quick", folder.display()));
    let (mut compared, mut beside, mut left_out, mut missed) = (0, 0, 0, 0);
    for table in json["tables"].as_array().expect("tables") {
        let id = format!("table-{}", table["name"].as_str().expect("a name").replace('_', "-"));
        let [rows, numbers, not] = ["rows", "beside", "not"].map(|kind| page.rows(&format!("{id}-{kind}")));
        let (mut rows, mut numbers, mut not) = (rows.iter(), numbers.iter(), not.iter());
        for one in table["rows"].as_array().expect("rows") {
            if let Some(why) = one["excluded"].as_str() {
                let row = not.next().expect("a row that is not simulated");
                assert_eq!(row.text("Why not"), why);
                same(row, "Published", &one["published_compare_pct"]);
                left_out += 1;
                continue;
            }
            if let Some(told) = one["beside"].as_object() {
                let row = numbers.next().expect("a row of numbers");
                for (at, side) in ["before", "with the change"].into_iter().enumerate() {
                    same(row, &format!("{side}, published"), &told["published"][at]);
                    same(row, side, &told["simulated"][at]);
                }
                beside += 1;
                if one["published_compare_pct"].is_null() {
                    continue;
                }
            }
            let row = rows.next().expect("a row");
            same(row, "Published", &one["published_compare_pct"]);
            same(row, "Simulated", &one["simulated_compare_pct"]);
            same(row, "Base side, simulated", &one["simulated_baseline"]);
            for kind in ["published", "simulated"] {
                for rate in ["se_eff", "dom_eff", "fast_rate", "success_rate"] {
                    same(row, &format!("{rate}, {kind}"), &one[format!("{kind}_search")][format!("{rate}_pct")]);
                }
                same(row, &format!("rq lock, {kind}"), &one[format!("{kind}_rq_lock_pct")]);
            }
            compared += 1;
            let classes = [&one["class_published"], &one["class_simulated"]];
            missed += usize::from(!classes[0].is_null() && !classes[1].is_null() && classes[0] != classes[1]);
        }
        assert_eq!((rows.count(), numbers.count(), not.count()), (0, 0, 0), "{id}: rows that the JSON has not");
        let summary = &table["summary"];
        for (name, value) in [
            ("rows simulated", &summary["rows"]),
            ("effects with the right class", &summary["effects_class_right"]),
            ("effects with the right class and size", &summary["effects_right"]),
        ] {
            let told = format!("{name}: {value} of ");
            assert!(table["summary"]["effects"] == 0 || page.html.contains(&told), "{id}: {told}");
        }
    }
    assert_eq!((page.rows("misses-table").len(), page.has("misses")), (missed, missed > 0));
    assert!(compared >= 4 && beside >= 1 && left_out >= 1, "{compared} {beside} {left_out}");
}

#[test]
fn a_page_of_a_hundred_thousand_wake_ups_is_below_5_mib() {
    let here = tempfile::tempdir().expect("a folder");
    let compare = "compare --machine intel-1s56c112t --kernel v5.19-rc1 --workload netperf:TCP_RR --load 224 --base \
        SIS_PROP --with SIS_UTIL --settle 5ms --time 25ms --regret";
    let (_, page) = run(here.path(), compare);
    let wakeups: f64 = page.rows("reasons-chart").iter().map(|row| row.number("wakeups")).sum();
    assert!(wakeups > 100_000.0, "{wakeups}");
    // `Page::read` has refused what is larger; most of it is the code of the charts.
    assert!(page.html.len() < 2 << 20, "{} bytes", page.html.len());
}
