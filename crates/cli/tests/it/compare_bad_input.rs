//! What `run`, `compare`, `machine` and `workload` refuse, before anything is simulated: exit 2, the flag or file, what
//! was expected, and the next step.

use crate::support::wakelab;
use std::fs;
use std::path::Path;
use std::process::Output;

const GOOD: [(&str, &str); 6] = [
    ("--machine", "test-2c"),
    ("--kernel", "v5.19-rc1"),
    ("--workload", "netperf:TCP_RR"),
    ("--load", "1"),
    ("--base", "SIS_PROP"),
    ("--with", "SIS_UTIL"),
];

/// A comparison that is good but for `flag`, which is `value`, or left out.
fn compare(flag: &str, value: Option<&str>) -> Output {
    let flags = GOOD.into_iter().filter(|(name, _)| *name != flag).flat_map(|(name, value)| [name, value]);
    let wrong = value.map(|value| [flag, value]).into_iter().flatten();
    let args: Vec<&str> = ["compare"].into_iter().chain(flags).chain(wrong).collect();
    wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args)
}

/// Nothing but an error that says all of `parts`.
#[track_caller]
fn refused(output: &Output, parts: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(output.stdout.is_empty(), "{errors}");
    assert!(errors.starts_with("error: "), "{errors}");
    for part in parts {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn a_misspelt_name_is_told_with_its_flag_and_one_like_it() {
    for (flag, value, near) in [
        ("--machine", "intel-1s56c112", "intel-1s56c112t"),
        ("--kernel", "v5.19-rc11", "v5.19-rc1"),
        ("--workload", "netperf:TCP_R", "netperf:TCP_RR"),
        ("--workload", "netprf:TCP_RR", "netperf"),
        ("--base", "SIS_PRO", "SIS_PROP"),
        ("--with", "SIS_UTILL", "SIS_UTIL"),
        ("--with", "SIS_PROP,NO_SIS_UTILL", "SIS_UTIL"),
    ] {
        let output = compare(flag, Some(value));
        refused(&output, &[&format!("error: {flag}: "), near]);
    }
}

/// That it cannot be simulated is known before anything runs.
#[test]
fn a_machine_whose_cpus_differ_is_refused_with_kernels_that_do_not_know_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("little.toml");
    let text = "name = \"little\"\ndescription = \"one core is small\"\ncosts_of = \"test-2c\"\n[topology]\ncores = 2\n\
                capacities = [1024, 512]\n";
    fs::write(&path, text).expect("written");
    let args = |kernel: &'static str| {
        let path = path.to_str().expect("a path").to_owned();
        let of = |name: &str, value: &str| match name {
            "--machine" => path.clone(),
            "--kernel" => kernel.to_owned(),
            _ => value.to_owned(),
        };
        let given = GOOD.into_iter().flat_map(|(name, value)| [name.to_owned(), of(name, value)]);
        ["compare".to_owned()].into_iter().chain(given).collect::<Vec<_>>()
    };
    let run = |kernel| wakelab(Path::new("."), &args(kernel).iter().map(String::as_str).collect::<Vec<_>>());
    refused(
        &run("v5.3"),
        &["error: --machine: ", "wake_cap()", "\n  hint: kernels that can be simulated on little: v5.10, "],
    );
}

#[test]
fn a_load_that_is_none_is_refused() {
    for load in ["0", "0%", "-1", "", "many", "25%..", "200%..25%/25%", "25%..200%/0%", "1e3"] {
        let flag = format!("--load={load}");
        let output = compare("--load", None);
        refused(&output, &["--load"]);
        let args: Vec<&str> = ["compare", &flag]
            .into_iter()
            .chain(GOOD.into_iter().filter(|(name, _)| *name != "--load").flat_map(|(name, value)| [name, value]))
            .collect();
        refused(&wakelab(Path::new("."), &args), &["--load"]);
    }
}

#[test]
fn times_and_numbers_out_of_range_are_refused_with_their_flag() {
    for (flag, value, expected) in [
        ("--time", "0s", "expected more than 0"),
        ("--time", "0", "expected a time in ns, us, ms or s"),
        ("--time", "1", "expected a time in ns, us, ms or s"),
        ("--time", "1m", "expected a time in ns, us, ms or s"),
        ("--time", "3601s", "at most an hour"),
        ("--settle", "soon", "expected a time in ns, us, ms or s"),
        ("--repeat", "0", "1..=10000"),
        ("--repeat", "10001", "1..=10000"),
        ("--jobs", "0", "1..=1024"),
        ("--seed", "x", "invalid digit"),
        ("--observer-cost", "1us", "invalid digit"),
        ("--format", "tabel", "table"),
    ] {
        refused(&compare(flag, Some(value)), &[&format!("'{flag} <"), expected]);
    }
}

#[test]
fn each_flag_that_is_needed_is_asked_for() {
    for (flag, _) in GOOD {
        refused(&compare(flag, None), &["required", flag]);
    }
}

#[test]
fn misspelt_flags_have_one_like_them() {
    for (flag, near) in [("--formt", "--format"), ("--repeats", "--repeat"), ("--observer_cost", "--observer-cost")] {
        refused(&compare(flag, Some("1")), &[flag, near]);
    }
    refused(&wakelab(Path::new("."), &["comparr"]), &["comparr", "compare"]);
}

#[test]
fn a_switch_that_changes_nothing_is_refused() {
    refused(&compare("--with", Some("RT_PUSH_IPI")), &["--with: ", "hint: wakelab kernel show v5.19-rc1"]);
}

/// It would take days to simulate: the error comes first.
#[test]
fn an_output_that_cannot_be_written_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("folder")).expect("a folder");
    fs::write(folder.path().join("file"), "kept").expect("a file");
    for (out, why) in [
        ("missing/out.json", "No such file or directory"),
        ("folder", "it is a folder"),
        ("file/out.json", "Not a directory"),
        ("folder/..", "it is a folder"),
    ] {
        let mut args = vec!["compare", "--time", "3600s", "--repeat", "10000", "--out", out];
        args.extend(GOOD.into_iter().flat_map(|(name, value)| [name, value]));
        let output = wakelab(folder.path(), &args);
        refused(&output, &["error: --out: ", " cannot be written: ", why, "hint: "]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains(".wakelab-"), "{out}");
    }
    let mut names: Vec<_> = fs::read_dir(folder.path()).expect("read").map(|e| e.expect("read").file_name()).collect();
    names.sort();
    assert_eq!(names, ["file", "folder"]);
    assert_eq!(fs::read_to_string(folder.path().join("file")).expect("read"), "kept");
}

#[test]
fn an_experiment_file_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = "machine = \"test-2c\"\nkernel = \"v5.19-rc1\"\n[[workload]]\nname = \"netperf:TCP_RR\"\nload = \"1\"\n\
                [variants]\nbase = \"SIS_PROP\"\nwith = \"SIS_UTIL\"\n";
    for (from, to, parts) in [
        ("machine =", "machin =", ["x.toml:1: `machin`", "did you mean `machine`?"]),
        ("test-2c", "test-2d", ["x.toml:1: `machine`", "test-2c"]),
        ("kernel = \"v5.19-rc1\"\n", "", ["x.toml: `kernel`", "the key is missing"]),
        ("TCP_RR", "TCP_R", ["x.toml:4: `workload.name`", "TCP_RR"]),
        ("load = \"1\"", "load = \"0\"", ["x.toml:5: `workload.load`", "hint: "]),
        ("SIS_UTIL", "SIS_UTILL", ["x.toml:8: `variants.with`", "SIS_UTIL"]),
        ("kernel =", "time = \"0s\"\nkernel =", ["x.toml:2: `time`", "expected more than 0"]),
        ("[[workload]]", "[[workload]", ["x.toml:3: ", "error: "]),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(folder.path().join("x.toml"), good.replacen(from, to, 1)).expect("written");
        refused(&wakelab(folder.path(), &["run", "x.toml"]), &parts);
    }
    refused(&wakelab(folder.path(), &["run", "y.toml"]), &["error: y.toml: ", "hint: an experiment is a TOML file"]);
}

#[test]
fn an_unknown_machine_or_workload_is_not_shown() {
    let here = Path::new(".");
    refused(&wakelab(here, &["machine", "show", "test-2d"]), &["test-2d", "test-2c"]);
    refused(&wakelab(here, &["workload", "show", "netperf:TCP_R"]), &["netperf:TCP_R", "netperf:TCP_RR"]);
}

#[test]
fn a_file_that_is_not_there_is_told_with_what_needs_none() {
    for name in ["nowhere.toml", "nowhere.json"] {
        let says = format!("error: --workload: {name}: the file cannot be read: No such file or directory");
        refused(&compare("--workload", Some(name)), &[&says, "\n  hint: `wakelab workload list`"]);
    }
    refused(
        &compare("--machine", Some("nowhere.toml")),
        &["--machine: nowhere.toml: ", "\n  hint: `wakelab machine list`"],
    );
    refused(&compare("--with", Some("NOWHERE")), &["--with: unknown feature NOWHERE", "\n  hint: wakelab kernel show"]);
}

/// A run of each side for nothing: most often a feature that is on already.
#[test]
fn sides_that_are_the_same_are_run_with_a_warning() {
    for (kernel, with) in [("v6.12", "SIS_UTIL"), ("v6.12", "")] {
        let mut args =
            vec!["compare", "--settle", "1ms", "--time", "5ms", "--base", "", "--with", with, "--kernel", kernel];
        args.extend(["--machine", "test-2c", "--workload", "netperf:TCP_RR", "--load", "1", "--format", "csv"]);
        let output = wakelab(Path::new("."), &args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert!(errors.starts_with("warning: --with: features and tunables equal those of the base side"), "{errors}");
    }
    let slice = ["--base", "", "--with", "base_slice=1000000", "--kernel", "v6.12", "--machine", "test-2c"];
    let short = ["--workload", "netperf:TCP_RR", "--load", "1", "--settle", "1ms", "--time", "5ms"];
    let output = wakelab(Path::new("."), &[&["compare"], &slice[..], &short].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), errors.lines().count()), (Some(0), 1), "{errors}");
    // What is set is not what the kernel shows.
    assert!(errors.starts_with("warning: --with: base_slice=1000000 is what the kernel scales by 2"), "{errors}");
    assert!(errors.contains("it acts on 2000000, and /sys/kernel/debug/sched/base_slice_ns shows that"), "{errors}");
}

/// A disk that fills up while the result is written.
#[cfg(target_os = "linux")]
#[test]
fn a_result_for_which_there_is_no_room_is_one_error_and_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let flags: Vec<String> = GOOD.into_iter().map(|(flag, value)| format!("{flag} {value}")).collect();
    // In blocks of 512 bytes or 1 KiB: the JSON is longer.
    let script = format!(
        "trap '' XFSZ; ulimit -f 2; exec \"$0\" compare --no-cache --settle 5ms --time 5ms --format json --out x.json \
         {}",
        flags.join(" ")
    );
    let program = env!("CARGO_BIN_EXE_wakelab");
    let output = std::process::Command::new("sh").args(["-c", &script, program]).current_dir(folder.path()).output();
    refused(
        &output.expect("it runs"),
        &["error: --out: ", "x.json was not written: File too large", "\n  hint: make room"],
    );
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}
