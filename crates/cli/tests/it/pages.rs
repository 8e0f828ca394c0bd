//! `--html`: each page has what the same command prints as JSON.

use crate::support::page::{Page, Row};
use crate::support::wakelab;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn json(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

#[track_caller]
fn same(page: f64, json: &Value, what: &str) {
    let json = json.as_f64().unwrap_or_else(|| panic!("{what}: no number in JSON"));
    assert!((page - json).abs() <= 1e-9 * json.abs().max(1.0), "{what}: {page} on the page, {json} in JSON");
}

/// A comparison on a machine of two caches, with its events, its page and its JSON.
fn compared(folder: &Path) -> Value {
    let args = "compare --machine test-2llc --kernel v5.19-rc1 --workload netperf:TCP_RR --load 4,24 --base SIS_PROP \
                --with SIS_UTIL --settle 110ms --time 20ms --repeat 2 --regret --events events --html page.html \
                --format json";
    json(&wakelab(folder, &args.split_whitespace().collect::<Vec<_>>()))
}

/// What the page calls a side.
fn named(side: &str) -> &'static str {
    if side == "base" { "SIS_PROP" } else { "SIS_UTIL" }
}

/// The statistics of a side at a load in the events of its first repeat.
fn of_events(folder: &Path, side: &str, load: &str) -> Value {
    let variant = named(side);
    let run = format!(
        "events/workload=netperf%3ATCP_RR/load={}/side={side}/variant={variant}/repeat=1",
        load.replace(' ', "%20")
    );
    json(&wakelab(folder, &["stats", &run, "--format", "json"]))["runs"][0].clone()
}

#[test]
fn the_page_of_a_comparison_has_its_json_and_that_of_its_events() {
    let here = tempfile::tempdir().expect("a folder");
    let found = compared(here.path());
    let page = Page::read(&here.path().join("page.html"));
    let changes = page.rows("comparison-chart");
    assert_eq!(changes.len(), found["rows"].as_array().expect("rows").len());
    for (row, json) in changes.iter().zip(found["rows"].as_array().expect("rows")) {
        same(row.number("base"), &json["base"]["mean"], "base");
        same(row.number("with"), &json["with"]["mean"], "with");
        same(row.number("better_pct"), &json["compare_pct"], "compare_pct");
        match &json["p_holm"] {
            serde_json::Value::Null => assert!(row.get("p").is_null(), "identical sides are not tested"),
            p => same(row.number("p"), p, "p"),
        }
        assert_eq!(&row.text("verdict"), json["verdict"].as_str().expect("a verdict"));
        same(row.number("better_low_pct"), &json["ci95"][0], "ci95");
        let load = json["load"].as_str().expect("a load");
        assert_eq!(row.text("load"), load);
        for side in ["base", "with"] {
            searches(&page, named(side), load, &json[side]);
            events(&page, named(side), load, &of_events(here.path(), side, load));
        }
    }
    for section in
        ["run", "machine", "heat", "llc", "states", "migrations", "latency", "reasons", "regret", "explained", "notes"]
    {
        assert!(page.has(section), "{section}");
    }
    let heat = page.rows("heat-chart");
    assert!(
        heat.iter().any(|row| row.number("running_pct") > 0.0)
            && heat.iter().any(|row| row.number("searching_pct") > 0.0)
    );
    states(&page, &found);
    difference(&page, &heat);
    assert!(
        page.html.contains("The longest wait from wake-up to run") && page.html.contains("The first with the reason ")
    );
}

/// The table of changes of state has each of the JSON.
fn states(page: &Page, found: &Value) {
    let mut expected = Vec::new();
    for row in found["rows"].as_array().expect("rows") {
        for side in ["base", "with"] {
            for (repeat, run) in (1..).zip(row[side]["states"].as_array().expect("runs")) {
                for change in run["changes"].as_array().expect("changes") {
                    let ms = change["at_ns"].as_f64().expect("a time") / 1e6;
                    let to = change["state"].as_str().expect("a state").to_owned();
                    expected.push((row["load"].as_str().expect("a load").to_owned(), named(side), repeat, ms, to));
                }
            }
        }
    }
    assert!(!expected.is_empty(), "a run that changes its state");
    let rows = page.rows("states-table");
    assert_eq!(rows.len(), expected.len());
    for (row, (load, side, repeat, ms, to)) in rows.iter().zip(expected) {
        assert_eq!((row.text("Load"), row.text("Side"), row.text("To")), (load, side.to_owned(), to));
        assert_eq!((row.number("Repeat") as i32, row.number("Changed at")), (repeat, ms));
    }
}

/// The map of the difference is the difference of the maps, up to what they are rounded to, and ends as they do.
fn difference(page: &Page, heat: &[Row]) {
    let of = |side: &str| heat.iter().filter(|row| row.text("side") == side).collect::<Vec<_>>();
    let (base, with, points) = (of("SIS_PROP"), of("SIS_UTIL"), page.rows("heat-difference-chart"));
    assert_eq!((base.len(), with.len()), (points.len(), points.len()));
    for ((base, with), points) in base.iter().zip(with).zip(&points) {
        assert_eq!((base.text("cpus"), base.number("to_ms")), (points.text("cpus"), points.number("to_ms")));
        for what in ["running", "searching", "idle"] {
            let [base, with] = [base, &with].map(|row| row.number(&format!("{what}_pct")));
            let found = points.number(&format!("{what}_points"));
            assert!((found - (with - base)).abs() < 0.151, "{what}: {found}, {with} - {base}");
        }
    }
    let end = heat.iter().map(|row| row.number("to_ms")).fold(0.0, f64::max);
    assert_eq!(end, 130.0, "the last bin ends with the run");
}

/// Rows of a side at a load.
fn of<'a>(rows: &'a [Row], side: &str, load: &str) -> Vec<&'a Row> {
    rows.iter().filter(|row| row.text("side") == side && row.text("load") == load).collect()
}

fn searches(page: &Page, side: &str, load: &str, json: &Value) {
    let rates = page.rows("search-chart");
    for row in of(&rates, side, load).iter().filter(|row| row.text("source") != "published") {
        let name = match row.text("statistic").as_str() {
            "looks" => "looks_per_domain_search".to_owned(),
            rate => format!("{rate}_pct"),
        };
        same(row.number("value"), &json["search"][name.as_str()], &name);
    }
    let regret = page.rows("regret-chart");
    for row in of(&regret, side, load) {
        let json = match row.text("statistic").as_str() {
            "searches missed" => &json["regret"]["searches"]["missed_pct"],
            "futile looks" => &json["regret"]["looks"]["futile_pct"],
            _ => continue,
        };
        same(row.number("value"), json, "regret");
    }
}

/// What was seen while the run was simulated is what its events tell afterwards.
fn events(page: &Page, side: &str, load: &str, stats: &Value) {
    let reasons = page.rows("reasons-chart");
    for row in of(&reasons, side, load) {
        let expected = stats["reasons"][row.text("reason").as_str()].as_u64().unwrap_or(0);
        assert_eq!(row.number("wakeups") as u64, expected, "{side} {load} {}", row.text("reason"));
    }
    let waits = page.rows("latency-chart");
    assert!(!of(&waits, side, load).is_empty());
    for row in of(&waits, side, load) {
        let percentile = row.text("percentile");
        if let Some(ns) = stats["wait_ns"][percentile.as_str()].as_f64() {
            assert!((row.number("us") - ns / 1e3).abs() < 1e-6, "{side} {load} {percentile}: {ns} ns, {row:?}");
        }
    }
    let moved = page.rows("migrations-chart");
    let other = of(&moved, side, load).into_iter().filter(|row| row.text("from_llc") != row.text("to_llc"));
    let other: f64 = other.map(|row| row.number("wakeups")).sum();
    assert_eq!(other as u64, stats["other_llc"].as_u64().expect("a count"), "{side} {load}");
}

#[test]
fn pages_of_recordings_have_the_json_of_their_commands() {
    let here = tempfile::tempdir().expect("a folder");
    let file = root().join("data/recordings/6.12-C-hb.csv.gz");
    let run = |name: &str, args: &[&str]| {
        let page = here.path().join(name);
        let file = file.to_str().expect("UTF-8");
        let all =
            [&args[..1], &[file], &args[1..], &["--format", "json", "--html", page.to_str().expect("UTF-8")]].concat();
        let output = wakelab(here.path(), &all);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        (Page::read(&page), output.stdout)
    };
    let value = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    let reasons = |page: &Page, side: &str, json: &Value| {
        let rows: Vec<Row> = page.rows("reasons-chart").into_iter().filter(|row| row.text("side") == side).collect();
        assert!(!rows.is_empty(), "{side}");
        for row in rows {
            assert_eq!(row.number("wakeups"), json[row.text("reason").as_str()].as_f64().unwrap_or(0.0), "{row:?}");
        }
    };

    let (page, stats) = run("stats.html", &["stats", "--by", "cpu"]);
    let stats = value(&stats);
    reasons(&page, "all", &stats["runs"][0]["reasons"]);
    same(page.rows("wakeups-table")[0].number("Wake-ups"), &stats["runs"][0]["wakeups"], "wake-ups");
    assert!(page.has("machine") && page.html.contains("recorded on a running kernel"));
    assert!(page.html.contains("Why there: in "), "the page begins with a sentence");
    assert_eq!(page.rows("by-cpu-1").len(), stats["runs"][0]["cpu"].as_array().expect("CPUs").len());

    let (page, conform) = run("conform.html", &["conform"]);
    let conform = value(&conform);
    let of_all = page.rows("agreement-table");
    let all = of_all.last().expect("a sum");
    same(all.number("Equal"), &conform["equal"], "equal");
    same(all.number("Decisions"), &conform["scored"], "scored");

    let (page, replay) = run("replay.html", &["replay", "--with", "NO_SIS_UTIL"]);
    let replay = value(&replay);
    reasons(&page, "as recorded", &replay["recorded"]["reasons"]);
    reasons(&page, "NO_SIS_UTIL", &replay["then"]["reasons"]);
    let searches = page.rows("replay-table");
    let missed = searches.iter().find(|row| row.text("Number").starts_with("missed")).expect("a row");
    same(missed.number("NO_SIS_UTIL"), &replay["then"]["missed"], "missed");

    let (page, explained) = run("explain.html", &["explain", "--limit", "3"]);
    let first = String::from_utf8(explained).expect("UTF-8");
    let first = value(first.lines().next().expect("a line").as_bytes());
    assert_eq!(page.html.matches("<article class=\"lines\">").count(), 3);
    assert!(
        page.html.contains("Why there: in ") && page.html.contains("% of 3 choices, "),
        "it begins with a sentence"
    );
    let text = first["text"].as_str().expect("a text").replace('/', "&#x2f;").replace('\'', "&#x27;");
    assert!(page.html.contains(&text), "{text}");

    let (page, summary) = run("summary.html", &["explain", "--summary"]);
    let groups = value(&summary)["groups"].as_array().expect("groups").len();
    assert_eq!(page.rows("groups-table").len(), groups);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_before_anything_is_counted() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("file"), "").expect("a file");
    let recording = root().join("data/recordings/6.12-C-hb.csv.gz");
    let recording = recording.to_str().expect("UTF-8");
    let published = root().join("data/published");
    let published = published.to_str().expect("UTF-8");
    for (to, why) in
        [("nowhere/page.html", "No such file"), ("file/page.html", "Not a directory"), (".", "it is a folder")]
    {
        for command in [
            vec!["stats", recording],
            vec!["explain", recording, "--limit", "1"],
            vec!["explain", recording, "--summary"],
            vec!["replay", recording, "--with", "NO_SIS_UTIL"],
            vec!["conform", recording],
            vec!["reproduce", "--quick", "--published", published],
        ] {
            let refused = wakelab(here.path(), &[&command[..], &["--html", to]].concat());
            let errors = String::from_utf8_lossy(&refused.stderr);
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{command:?} {errors}");
            assert!(
                errors.contains("--html") && errors.contains(why) && errors.contains("hint: "),
                "{command:?}: {errors}"
            );
        }
    }
    assert_eq!(crate::support::names(here.path()), ["file"]);
}

#[test]
fn a_full_disk_leaves_no_half_page() {
    let here = tempfile::tempdir().expect("a folder");
    let recording = root().join("data/recordings/6.12-C-hb.csv.gz");
    let stats = |to: &str| wakelab(here.path(), &["stats", recording.to_str().expect("UTF-8"), "--html", to]);
    let full = |output: &Output| {
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("No space left") && errors.contains("hint: make room"), "{errors}");
    };
    full(&stats("/dev/full"));
    let Some(small) = SmallDisk::mount(&here.path().join("small")) else { return };
    fs::write(small.0.join("page.html"), "what was there").expect("room for a few bytes");
    full(&stats("small/page.html"));
    assert_eq!(crate::support::names(&small.0), ["page.html"]);
    assert_eq!(fs::read_to_string(small.0.join("page.html")).expect("the file"), "what was there");
    full(&stats("small/other.html"));
    assert_eq!(crate::support::names(&small.0), ["page.html"]);
}

/// A file system of 64 KiB, where the test may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).expect("a folder");
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| SmallDisk(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).output();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_page_is_opened_by_what_there_is_or_it_is_said_what_to_do() {
    use std::os::unix::fs::PermissionsExt;
    let here = tempfile::tempdir().expect("a folder");
    let (page, opened) = (here.path().join("page.html"), here.path().join("opened"));
    fs::write(&page, "<!doctype html><p>").expect("a page");
    fs::write(here.path().join("text.html"), "text").expect("a file");
    let open = |file: &str| {
        let mut command = assert_cmd::Command::cargo_bin("wakelab").expect("the program");
        command
            .current_dir(here.path())
            .env("PATH", here.path())
            .args(["report", "open", file])
            .output()
            .expect("it runs")
    };
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let none = open("page.html");
    assert_eq!(none.status.code(), Some(2));
    let whole = format!("file://{}", page.canonicalize().expect("a path").display());
    assert!(errors(&none).contains("found no program") && errors(&none).contains(&whole), "{}", errors(&none));
    for (file, why) in [("gone.html", "No such file"), ("text.html", "expected an HTML page"), (".", "directory")] {
        let refused = open(file);
        assert_eq!(refused.status.code(), Some(2), "{file}");
        assert!(errors(&refused).contains(why) && errors(&refused).contains("hint: "), "{}", errors(&refused));
    }

    let program = here.path().join("xdg-open");
    fs::write(&program, format!("#!/bin/sh\necho \"$1\" > {}\n", opened.display())).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may run");
    let done = open("page.html");
    assert_eq!((done.status.code(), &*errors(&done)), (Some(0), ""));
    let told = fs::read_to_string(&opened).expect("it was opened");
    assert_eq!(Path::new(told.trim()), page.canonicalize().expect("a path"));
}
