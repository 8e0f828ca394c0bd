//! Comparisons of more than two sides, surveys, and differences of results, as a user runs them.

use crate::support::page::Page;
use crate::support::{names, wakelab};
use assert_cmd::Command;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

const SHORT: [&str; 6] = ["--settle", "50ms", "--time", "10ms", "--seed", "1"];

fn compare(folder: &Path, args: &[&str]) -> Output {
    wakelab(folder, &[&["compare"], args, &SHORT[..]].concat())
}

/// Two machines, two kernels, two workloads and two variants, one of them on a kernel of its own.
const MANY: [&str; 20] = [
    "--machine",
    "test-2c",
    "--machine",
    "test-8c",
    "--kernel",
    "v5.19-rc1",
    "--kernel",
    "v6.12",
    "--workload",
    "netperf:TCP_RR",
    "--workload",
    "hackbench:process-pipe",
    "--load",
    "1,4",
    "--load",
    "1",
    "--base",
    "SIS_PROP",
    "--with",
    "util=SIS_UTIL",
];

#[track_caller]
fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*errors), (Some(0), ""));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
fn refused(output: &Output, expected: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(output.stdout.is_empty() && errors.contains(expected), "{expected}: {errors}");
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn json(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/results.schema.json")).expect("JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let wrong: Vec<String> = validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(wrong, Vec::<String>::new());
    value
}

#[test]
fn every_format_has_every_machine_kernel_load_and_variant() {
    let here = folder();
    let more = ["--with", "new=kernel=v7.2,SIS_UTIL", "--repeat", "2", "--html", "page.html"];
    // The second format and those after it say how much was kept.
    let of = |format: &str| printed_kept(&compare(here.path(), &[&MANY[..], &more, &["--format", format]].concat()));
    let table = of("table");
    for part in [
        "compare: simulated by wakelab",
        "machines  test-2c, test-8c\n",
        "kernels   v5.19-rc1, v6.12\n",
        "workload  netperf:TCP_RR 1,4\n",
        "base      SIS_PROP\n",
        "new       kernel=v7.2,SIS_UTIL\n",
        "\nnetperf TCP_RR throughput, trans/s, higher is better; ± std%; to base: positive is better\n",
        "\nhackbench process-pipe ",
        "Geometric means of all workloads",
        "\nverdict: ",
        " of the whole matrix\n",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert_eq!(table.matches("\ngeometric mean").count(), 2, "{table}");
    let letter = of("lkml");
    for machine in ["test-2c v5.19-rc1", "test-2c v6.12", "test-8c v5.19-rc1", "test-8c v6.12"] {
        let title = format!("\nnetperf TCP_RR throughput, simulated: {machine}, baseline SIS_PROP, n 2\n");
        assert!(letter.contains(&title), "{title}: {letter}");
    }
    assert_eq!(letter.matches("\ngeomean ").count(), 8, "{letter}");
    let csv = of("csv");
    let (header, lines) = csv.split_once('\n').expect("a header");
    assert!(header.ends_with(",kind,variant"), "{header}");
    // Two machines and kernels, three loads, two variants.
    assert_eq!(lines.lines().count(), 2 * 2 * 3 * 2, "{csv}");
    assert!(lines.lines().all(|line| line.ends_with(",simulated,util") || line.ends_with(",simulated,new")));
    let value = json(&of("json"));
    assert_eq!(value["comparisons"].as_array().map(Vec::len), Some(8));
    assert_eq!(value["matrix"]["variants"], serde_json::json!(["util", "new"]));
    let page = Page::read(&here.path().join("page.html"));
    assert!(page.has("means") && page.has("workload-2"));
    assert_eq!(page.rows("workload-1-table").len(), 8);
    assert_eq!(page.rows("variants-table")[2].text("Switches"), "kernel=v7.2,SIS_UTIL");
    assert_eq!(names(here.path()), ["page.html"]);
}

/// The numbers of each side are those of a comparison of two sides, to the last digit.
#[test]
fn each_variant_is_a_comparison_of_two_sides() {
    let here = folder();
    let common = ["--machine", "test-8c", "--workload", "netperf:TCP_RR", "--load", "4", "--base", "SIS_PROP"];
    let of = |args: &[&str]| json(&printed(&compare(here.path(), &[&common, args, &["--format", "json"]].concat())));
    let many = of(&["--kernel", "v5.19-rc1", "--kernel", "v6.12", "--with", "SIS_UTIL", "--with", "NO_TTWU_QUEUE"]);
    let sides =
        [("v5.19-rc1", "SIS_UTIL"), ("v5.19-rc1", "NO_TTWU_QUEUE"), ("v6.12", "SIS_UTIL"), ("v6.12", "NO_TTWU_QUEUE")];
    for (at, (kernel, with)) in sides.into_iter().enumerate() {
        let two = of(&["--kernel", kernel, "--with", with]);
        let of_matrix = &many["comparisons"][at];
        assert_eq!(of_matrix["experiment"], two["experiment"]);
        let mut rows = [of_matrix["rows"].clone(), two["rows"].clone()];
        // The correction is for more rows in the matrix.
        for row in rows.iter_mut().map(|rows| &mut rows[0]) {
            row["p_holm"] = Value::Null;
            row["verdict"] = Value::Null;
        }
        assert_eq!(rows[0], rows[1], "{kernel} {with}");
    }
}

#[test]
fn a_file_of_two_sides_written_with_lists_gives_the_same_bytes() {
    let here = folder();
    let rest = "settle = \"50ms\"\ntime = \"10ms\"\nname = \"compare\"\n[[workload]]\nname = \"netperf:TCP_RR\"\n\
                load = \"4\"\n[variants]\nbase = \"SIS_PROP\"\n";
    let plain = format!("machine = \"test-8c\"\nkernel = \"v6.12\"\n{rest}with = \"SIS_UTIL\"\n");
    let lists = format!("machines = [\"test-8c\"]\nkernels = [\"v6.12\"]\n{rest}util = \"SIS_UTIL\"\n");
    let run = |text: &str, format: &str| {
        fs::write(here.path().join("x.toml"), text).expect("a file");
        printed(&wakelab(here.path(), &["run", "x.toml", "--format", format]))
    };
    let flags = ["--machine", "test-8c", "--kernel", "v6.12", "--workload", "netperf:TCP_RR", "--load", "4"];
    for format in ["table", "lkml", "json", "csv"] {
        let of_flags = [&flags[..], &["--base", "SIS_PROP", "--with", "x=SIS_UTIL", "--format", format]].concat();
        let of_flags = printed(&compare(here.path(), &of_flags));
        assert_eq!(run(&plain, format), of_flags);
        assert_eq!(run(&lists, format), of_flags);
    }
}

/// The table, the letter and a matrix print what JSON has, with the sign of all other differences: positive is better.
#[test]
fn power_has_one_sign_in_every_form() {
    let here = folder();
    let of = |more: &[&str]| {
        let flags =
            ["compare", "--machine", "pixel6", "--kernel", "v6.1", "--workload", "jankbench:mean", "--load", "1"];
        let times = ["--base", "", "--settle", "50ms", "--time", "1500ms", "--repeat", "2"];
        printed(&wakelab(here.path(), &[&flags[..], &times, more].concat()))
    };
    let with = ["--with", "RUNNABLE_BOOST"];
    let power = json(&of(&[&with[..], &["--format", "json"]].concat()))["rows"][0]["power"].clone();
    let pct = format!("{:+.2}", power[0]["compare_pct"].as_f64().expect("a number"));
    let less = power[0]["with"].as_f64() < power[0]["base"].as_f64();
    assert_eq!(less, pct.starts_with('+'), "{power:#}");
    for more in [
        &with[..],
        &["--with", "RUNNABLE_BOOST", "--format", "lkml"],
        &[&with[..], &["--with", "x=NO_SIS_UTIL"]].concat(),
    ] {
        let text = of(more);
        let line = text.lines().find(|line| line.contains("power, mW")).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains(&pct), "{pct}: {text}");
    }
    // So does the page of a matrix.
    of(&["--with", "RUNNABLE_BOOST", "--with", "x=NO_SIS_UTIL", "--html", "m.html"]);
    let page = fs::read_to_string(here.path().join("m.html")).expect("a page");
    let table = page.split_once("workload-1-power-table").expect("a table of power").1;
    let table = table.split_once("</table>").expect("its end").0;
    let cell = format!("<td class=\"num\">{}</td>", pct.trim_start_matches('+'));
    assert!(table.contains("<td>power, mW</td>") && table.contains(&cell), "{cell}: {table}");
    // Metrics of one run have its searches and times once.
    let flags = ["compare", "--machine", "pixel6", "--kernel", "v6.1", "--workload", "jankbench", "--load", "1"];
    let sides = ["--base", "", "--with", "RUNNABLE_BOOST", "--settle", "50ms", "--time", "1500ms", "--repeat", "2"];
    let all = printed(&wakelab(here.path(), &[&flags[..], &sides].concat()));
    assert_eq!((all.matches("power, mW").count(), all.contains("mean, jank, max")), (1, true), "{all}");
    for metric in ["frame_mean, ms", "missed_16ms, %", "frame_max, ms"] {
        assert!(all.contains(&format!("jankbench {metric}")), "{metric}: {all}");
    }
}

#[test]
fn kernel_against_kernel_is_two_sides() {
    let here = folder();
    let flags = ["--machine", "test-8c", "--workload", "netperf:TCP_RR", "--load", "4"];
    let sides = ["--base", "kernel=v6.1", "--with", "kernel=6.12.40,SIS_PROP"];
    let output = compare(here.path(), &[&flags[..], &sides].concat());
    let (table, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "warning: kernel 6.12.40: simulated by the preset v6.12\n");
    for part in
        ["kernel    v6.1\n", "base      kernel=v6.1\n", "with      kernel=v6.12,SIS_PROP\n", "kernel v6.12 (base v6.1)"]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    // The events of a side are of its own kernel.
    let events = [&flags[..], &sides, &["--events", "ev", "--repeat", "1"]].concat();
    assert_eq!(compare(here.path(), &events).status.code(), Some(0));
    let stats = printed(&wakelab(here.path(), &["stats", "ev"]));
    assert!(stats.contains("v6.1,") && stats.contains("v6.12,"), "{stats}");
}

#[test]
fn what_is_wrong_is_refused_before_anything_runs() {
    let here = folder();
    let good =
        ["--machine", "test-8c", "--kernel", "v6.12", "--workload", "netperf:TCP_RR", "--load", "4", "--base", ""];
    for (more, expected) in [
        (&["--with", "a=SIS_PROP", "--with", "a=NO_SIS_UTIL"][..], "error: --with: two sides have the name a"),
        (
            &["--with", "SIS_PROP", "--machine", "test-8d"],
            "error: --machine: test-8d: there is no machine of that name",
        ),
        (&["--with", "SIS_PROP", "--machine", "test-8c"], "error: --machine: machine test-8c is given twice"),
        (&["--with", "SIS_PROP", "--kernel", "6.12"], "error: --kernel: kernel v6.12 is given twice"),
        (&["--with", "SIS_PROP", "--with", "x=SIS_PROPP"], "error: --with: x: unknown feature SIS_PROPP"),
        (&["--with", "SIS_PROP", "--with", "NO_TTWU_QUEUE", "--control"], "error: --control: works for two sides only"),
        (
            &["--with", "SIS_PROP", "--with", "NO_TTWU_QUEUE", "--events", "ev"],
            "error: --events: works for two sides only",
        ),
        (
            &["--with", "SIS_PROP", "--with", "NO_TTWU_QUEUE", "--repeat", "334"],
            "error: this takes 1,002 runs, more than 1,000",
        ),
        (&["--with", "SIS_PROP", "--max-repeat", "9"], "error: --max-repeat: has no effect without --until"),
        (&["--with", "SIS_PROP", "--until", "2"], "expected 0.01% to 100% such as 2%"),
        (
            &["--with", "SIS_PROP", "--until", "2%", "--repeat", "40"],
            "error: --until: at most 30 repeats, of at least 40",
        ),
        (&["--with", "kernel=v6.77"], "error: --with: no preset for kernel v6.77"),
    ] {
        refused(&compare(here.path(), &[&good[..], more].concat()), expected);
    }
    // A load that the smaller machine has no CPUs for.
    let loads = ["--machine", "test-8c", "--machine", "test-2c", "--kernel", "v6.12", "--workload", "netperf:TCP_RR"];
    let loads = [&loads[..], &["--load", "25%", "--base", "", "--with", "SIS_PROP"]].concat();
    refused(
        &compare(here.path(), &loads),
        "error: --load: a load of 25% of 2 CPUs is less than one instance; expected 1 or more (on machine test-2c)",
    );
    fs::write(here.path().join("x.toml"), "machines = []\nkernel = \"v6.12\"\n").expect("a file");
    refused(&wakelab(here.path(), &["run", "x.toml"]), "x.toml:1: `machines`: expected a list of one or more names");
    assert_eq!(names(here.path()), ["x.toml"]);
}

#[test]
fn a_dry_run_says_what_is_kept_and_a_second_one_makes_nothing() {
    let (here, cache) = (folder(), folder());
    let run = |more: &[&str]| {
        let mut command = Command::cargo_bin("wakelab").expect("the program");
        let args = [&["compare"], &MANY[..], &SHORT, &["--repeat", "2", "--jobs", "1"], more].concat();
        command.current_dir(here.path()).env("XDG_CACHE_HOME", cache.path()).args(args).output().expect("it runs")
    };
    // Two machines and kernels, three loads, two repeats, two sides.
    let plan = printed(&run(&["--dry-run"]));
    assert!(plan.contains("\n48 runs to make, 0 kept; about ") && plan.contains("test-8c  v6.12"), "{plan}");
    let first = printed(&run(&[]));
    assert!(printed_kept(&run(&["--dry-run"])).contains("\n0 runs to make, 48 kept; "));
    let second = run(&[]);
    assert!(String::from_utf8_lossy(&second.stderr).starts_with("48 of 48 runs from "), "{second:?}");
    assert_eq!(String::from_utf8_lossy(&second.stdout), first);
}

fn printed_kept(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn rows_are_repeated_until_they_are_exact_enough() {
    let here = folder();
    let flags = ["--machine", "test-8c", "--kernel", "v5.19-rc1", "--workload", "netperf:TCP_RR", "--load", "4,16"];
    let until = ["--base", "SIS_PROP", "--with", "SIS_UTIL", "--until", "0.5%", "--max-repeat", "5"];
    let table = printed(&compare(here.path(), &[&flags[..], &until].concat()));
    assert!(table.contains("runs      3 to 5 repeats, until each 95% interval is within ±0.5%, seed 1"), "{table}");
    assert!(table.contains("\nexactness: "), "{table}");
    let value = json(&printed(&compare(here.path(), &[&flags[..], &until, &["--format", "json"]].concat())));
    assert_eq!(value["experiment"]["until"], serde_json::json!({"half_width_pct": 0.5, "max_repeats": 5}));
    let n: Vec<u64> = (0..2).filter_map(|at| value["rows"][at]["base"]["n"].as_u64()).collect();
    assert!(n.iter().all(|n| [3, 5].contains(n)) && n.contains(&5), "{n:?}");
}

#[test]
fn a_condition_is_of_each_variant() {
    let here = folder();
    let flags = ["--machine", "test-8c", "--kernel", "v5.19-rc1", "--workload", "netperf:TCP_RR", "--load", "4"];
    let sides = ["--base", "SIS_PROP", "--with", "a=SIS_UTIL", "--with", "b=SIS_CORE", "--fail-if", "not better"];
    let output = compare(here.path(), &[&flags[..], &sides].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("--fail-if not better: a: fails") && said.contains("--fail-if not better: b: fails"),
        "{said}"
    );
}

#[test]
fn results_are_set_side_by_side_with_what_was_run_otherwise_first() {
    let here = folder();
    let flags = ["--machine", "test-8c", "--kernel", "v5.19-rc1", "--workload", "netperf:TCP_RR", "--load", "4,16"];
    let run = |file: &str, more: &[&str]| {
        let sides = ["--base", "SIS_PROP", "--format", "json", "--out", file];
        assert_eq!(printed(&wakelab(here.path(), &[&["compare"], &flags[..], &sides, more].concat())), "");
    };
    let times = ["--settle", "50ms", "--time", "10ms"];
    run("a.json", &[&["--with", "SIS_UTIL"], &times[..]].concat());
    run("b.json", &[&["--with", "NO_TTWU_QUEUE", "--seed", "2"], &times[..]].concat());
    run("many.json", &[&["--with", "SIS_UTIL", "--with", "NO_TTWU_QUEUE"], &times[..]].concat());
    let diff = |args: &[&str]| wakelab(here.path(), &[&["diff"], args].concat());
    let same = printed(&diff(&["a.json", "a.json"]));
    assert!(same.contains("Nothing differs in what was run") && same.contains("identical in 4 rows"), "{same}");
    let text = printed(&diff(&["a.json", "b.json"]));
    for part in [
        "A  a.json\nB  b.json\n",
        "experiment.seed",
        "NO_TTWU_QUEUE",
        "netperf, trans/s, higher is better; %: positive means B is better",
        "\nverdict: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let settings = text.find("experiment.seed").expect("settings");
    assert!(settings < text.find("compare% A, B").expect("rows"), "{text}");
    let value: Value = serde_json::from_str(&printed(&diff(&["a.json", "b.json", "--format", "json"]))).expect("JSON");
    assert_eq!(value["rows"].as_array().map(Vec::len), Some(4));
    let a: Value =
        serde_json::from_str(&fs::read_to_string(here.path().join("a.json")).expect("a file")).expect("JSON");
    assert_eq!(value["rows"][0]["a"]["values"], a["rows"][0]["base"]["values"]);
    assert_eq!(value["rows"][1]["a"]["values"], a["rows"][0]["with"]["values"]);
    // Two sides of a matrix are matched by name.
    let many = printed(&diff(&["many.json", "many.json"]));
    assert!(many.contains("identical in 6 rows"), "{many}");
    assert_eq!(diff(&["a.json", "b.json", "--fail-if", "not better"]).status.code(), Some(3));
    assert_eq!(diff(&["a.json", "a.json", "--fail-if", "worse"]).status.code(), Some(0));
    fs::write(here.path().join("c.json"), "{\"rows\": 1").expect("a file");
    refused(&diff(&["a.json", "c.json"]), "error: c.json: it is not JSON: ");
    fs::write(here.path().join("c.json"), "{}").expect("a file");
    refused(&diff(&["a.json", "c.json"]), "it has neither `rows` nor `comparisons`");
    refused(&diff(&["a.json", "nowhere.json"]), "error: nowhere.json: the file cannot be read");
    refused(&diff(&["a.json", "."]), "a result cannot be compared with a recording");
}

#[test]
fn recordings_are_set_side_by_side() {
    let here = folder();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings");
    let path = |name: &str| recordings.join(name).to_str().expect("a path").to_owned();
    let args = ["diff", &path("6.12-C-hb.csv.gz"), &path("7.2-A-hb.csv.gz")].map(str::to_owned);
    let text = printed(&wakelab(here.path(), &args.each_ref().map(String::as_str)));
    for part in ["kernel", "v6.12", "v7.2", "searches; ", "that failed", "verdict: none, as one run"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The runs of a folder are repeats.
    let flags = ["--machine", "test-8c", "--kernel", "v5.19-rc1", "--workload", "netperf:TCP_RR", "--load", "16"];
    let sides = ["--base", "SIS_PROP", "--with", "SIS_UTIL", "--events", "ev"];
    printed(&compare(here.path(), &[&flags[..], &sides].concat()));
    let side = |side: &str| format!("ev/workload=netperf%3ATCP_RR/load=16%20threads/side={side}");
    let both = printed(&wakelab(here.path(), &["diff", &side("base"), &side("with")]));
    assert!(
        both.contains("\nchance: 3 runs per side")
            && both.contains("waits; %: positive means B is better in a row with a \"better if\""),
        "{both}"
    );
}

/// What an optimiser reads: one number on stdout, the same each time, and nothing else.
#[test]
fn a_score_is_one_number() {
    let here = folder();
    let panel = "base = \"NO_SIS_UTIL,SIS_PROP\"\n[fast]\ntime = \"5ms\"\nsettle = \"5ms\"\nrepeats = 2\n[[part]]\n\
                 machine = \"test-8c\"\nkernel = \"v6.12\"\n\
                 workload = [{ name = \"netperf:TCP_RR\", load = \"4,12\" }]\n";
    std::fs::write(here.path().join("panel.toml"), panel).expect("a file");
    let args = ["score", "panel.toml", "--with", "SIS_UTIL", "--rung", "fast", "--no-cache"];
    let of = |more: &[&str]| wakelab(here.path(), &[&args[..], more].concat());
    let alone = of(&["--quiet"]);
    assert!(alone.stderr.is_empty(), "{alone:?}");
    let number = printed(&alone);
    let pct: f64 = number.trim_end().parse().expect("a number");
    let both = of(&[]);
    assert_eq!((both.status.code(), String::from_utf8_lossy(&both.stdout).into_owned()), (Some(0), number));
    let table = String::from_utf8_lossy(&both.stderr).into_owned();
    for part in ["panel, all parts, fast rung", "right before", "score: ", "worst row: ", "model: netperf"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert_eq!(printed(&of(&["--format", "table"])), table);
    let value: Value = serde_json::from_str(&printed(&of(&["--format", "json"]))).expect("JSON");
    let score = value["score_pct"].as_f64().expect("a number");
    assert!((score - pct).abs() <= 5e-5, "{score} is not {pct}");
    assert_eq!((&value["rung"], &value["gave_up"]), (&serde_json::json!("fast"), &serde_json::json!(false)));
    let rows = value["rows"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| row["base"].as_array().map_or(0, Vec::len)).collect::<Vec<_>>(), [2, 2]);
    refused(&of(&["--held-out"]), "no part of the panel is held out");
    let of = |panel: &str, with: &str| wakelab(here.path(), &["score", panel, "--with", with, "--rung", "fast"]);
    refused(&of("serch", "SIS_UTIL"), "did you mean `search`?");
    refused(&of("nowhere/panel.toml", "SIS_UTIL"), "a name from `wakelab list panels`");
    refused(&of("panel.toml", "SIS_UTILL"), "--with: ");
    // Another seed is another draw of both sides.
    let args = ["score", "panel.toml", "--with", "SIS_UTIL", "--rung", "fast", "--format", "json", "--seed", "9"];
    let other: Value = serde_json::from_str(&printed(&wakelab(here.path(), &args))).expect("JSON");
    assert_eq!((&other["seed"], &other["time_ns"], &other["repeats"]), (&9.into(), &5_000_000.into(), &2.into()));
    assert_ne!(other["rows"][0]["base"], value["rows"][0]["base"]);
    // What the panel reads is not written over, and warnings are those of a comparison.
    let machine = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/machines/test-8c.toml"));
    std::fs::write(here.path().join("m.toml"), machine.expect("a machine")).expect("a file");
    std::fs::write(here.path().join("own.toml"), panel.replace("test-8c", "m.toml")).expect("a file");
    let over = ["score", "own.toml", "--with", "SIS_UTIL", "--rung", "fast", "--out", "m.toml"];
    refused(&wakelab(here.path(), &over), "m.toml");
    assert!(std::fs::metadata(here.path().join("m.toml")).expect("the machine").len() > 100);
    let same = wakelab(here.path(), &["score", "panel.toml", "--with", "NO_SIS_UTIL,SIS_PROP", "--rung", "fast"]);
    assert!(String::from_utf8_lossy(&same.stderr).contains("both do the same"), "{same:?}");
}

#[test]
fn a_survey_ranks_what_can_be_switched() {
    let here = folder();
    let args =
        ["survey", "--machine", "test-2c", "--kernel", "v6.12", "--quick", "--budget", "1s", "--only", "SIS_PROP"];
    let args = [&args[..], &["--only", "SIS_ORACLE", "--only", "NO_SIS_CORE"]].concat();
    let text = printed(&wakelab(here.path(), &[&args[..], &["--html", "page.html"]].concat()));
    for part in
        ["survey: simulated by wakelab", "rank", "By workload", "SIS_ORACLE is not a policy", "next: ", "--seed 2"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = Page::read(&here.path().join("page.html"));
    assert!(page.has("ranking") && !page.rows("ranking-table").is_empty());
    let value = json(&printed(&wakelab(here.path(), &[&args[..], &["--format", "json"]].concat())));
    let ranking = value["survey"]["ranking"].as_array().expect("a ranking");
    assert_eq!(ranking.len() + value["survey"]["identical"].as_array().expect("a list").len(), 3);
    let means: Vec<f64> = ranking.iter().filter_map(|one| one["compare_pct"].as_f64()).collect();
    assert!(means.is_sorted_by(|a, b| a >= b), "{means:?}");
    // The command that comes next is one that is understood.
    let next = text.lines().last().expect("a command").trim();
    let words = shlex::split(next).expect("words");
    let words: Vec<&str> = words[1..].iter().map(String::as_str).chain(["--dry-run"]).collect();
    printed(&wakelab(here.path(), &words));
    // It warns of switches that need longer.
    let all = ["survey", "--machine", "test-8c", "--kernel", "v6.12", "--dry-run"];
    let all = printed_kept(&wakelab(here.path(), &all));
    assert!(all.contains(" runs to make, 0 kept; about "), "{all}");
    refused(&wakelab(here.path(), &["survey", "--machine", "test-8d"]), "--machine: ");
    refused(&wakelab(here.path(), &["survey", "test-8c"]), "hint: wakelab survey --machine test-8c");
    refused(&wakelab(here.path(), &["survey", "--machine", "test-8c", "--kernel", "v1"]), "--kernel: ");
}
