//! Commands in the process of another program: what the program prints, without printing it.

use crate::support::wakelab;
use std::path::Path;
use std::time::Duration;
use wakelab_cli::in_process::{Call, Ended, Said};

const SIDES: [&str; 4] = ["--machine=test-2c", "--kernel=v6.12", "--workload=netperf:TCP_RR", "--load=2"];
const SHORT: [&str; 5] = ["--settle=1ms", "--time=1ms", "--repeat=2", "--no-cache", "--format=json"];

fn begin(args: &[&str]) -> Call {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    Call::begin(args, "the command".to_owned(), env!("CARGO_BIN_EXE_wakelab").into()).expect("a thread")
}

fn end(call: &Call) -> Ended {
    loop {
        if let Some(ended) = call.wait(Duration::from_secs(60)) {
            return ended;
        }
    }
}

fn ended(args: &[&str]) -> Ended {
    end(&begin(args))
}

#[test]
fn the_output_is_the_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let recording = root.join("data/recordings/6.12-C-hb.csv.gz").display().to_string();
    let compare: Vec<&str> =
        ["compare"].into_iter().chain(SIDES).chain(SHORT).chain(["--base=SIS_UTIL", "--with=NO_SIS_UTIL"]).collect();
    for args in [
        &compare[..],
        &["explain", &recording, "--limit=3", "--format=json"],
        &["stats", &recording, "--format=csv"],
        &["conform", &recording],
        &["list", "machines"],
    ] {
        let program = wakelab(&root, args);
        let found = ended(args);
        assert_eq!(found.exit.map(i32::from), program.status.code(), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&found.out), String::from_utf8_lossy(&program.stdout), "{args:?}");
        assert_eq!(found.said, [], "{args:?}");
    }
}

#[test]
fn errors_warnings_and_notes_are_kept() {
    let [_, kernel, workload, load] = SIDES;
    let nowhere = ended(&["compare", "--machine=nowhere", kernel, workload, load, "--base=", "--with="]);
    assert_eq!(nowhere.exit, Some(2));
    let Said::Error(text) = &nowhere.said[0] else { panic!("{nowhere:?}") };
    assert!(text.starts_with("--machine: nowhere: there is no machine of that name\n  hint: "), "{text}");

    let wrong = ended(&["stats", "--by=colour", "x"]);
    assert_eq!(wrong.exit, Some(2));
    let Said::Error(text) = &wrong.said[0] else { panic!("{wrong:?}") };
    assert!(text.starts_with("invalid value 'colour' for '--by <WHAT>'"), "{text}");
    assert!(!text.contains("Usage") && !text.contains("--help"), "{text}");

    let same: Vec<&str> = ["compare"].into_iter().chain(SIDES).chain(SHORT).chain(["--base=", "--with="]).collect();
    let same = ended(&same);
    assert_eq!(same.exit, Some(0));
    assert!(matches!(&same.said[..], [Said::Warning(text)] if text.contains("both do the same")), "{same:?}");
}

#[test]
fn one_side_has_the_numbers_of_the_base() {
    let rows = |more: &[&str]| {
        let args: Vec<&str> =
            ["compare"].into_iter().chain(SIDES).chain(SHORT).chain(["--base=SIS_UTIL"]).chain(more.to_vec()).collect();
        let found = ended(&args);
        assert_eq!((found.exit, &found.said[..]), (Some(0), &[][..]));
        let json: serde_json::Value = serde_json::from_slice(&found.out).expect("JSON");
        json["rows"].clone()
    };
    let (both, one) = (rows(&["--with=NO_SIS_UTIL"]), rows(&["--one-side"]));
    assert_eq!(both[0]["base"], one[0]["base"]);
    assert_eq!(one[0]["base"], one[0]["with"]);
}

#[test]
fn a_call_is_stopped_without_harm_to_another() {
    let endless: Vec<&str> = ["compare"]
        .into_iter()
        .chain(SIDES)
        .chain(["--base=SIS_UTIL", "--with=NO_SIS_UTIL", "--settle=1ms", "--time=1ms", "--repeat=1000", "--no-cache"])
        .chain(["--jobs=1", "--until=0.01%", "--max-repeat=1000"])
        .collect();
    let call = begin(&endless);
    while call.progress().is_none() {
        assert_eq!(call.wait(Duration::from_millis(1)), None, "it runs");
    }
    call.stop();
    assert_eq!(end(&call).exit, None);
    assert_eq!(ended(&["list", "machines"]).exit, Some(0));
}

#[test]
fn what_needs_a_program_of_its_own_is_refused() {
    for args in [&["calibrate", "-o", "x"][..], &["completions", "bash"], &["report", "open", "x"], &["doctor"]] {
        let found = ended(args);
        assert_eq!(found.exit, Some(2), "{args:?}");
        assert!(matches!(&found.said[0], Said::Error(text) if text.contains("only in the program")), "{found:?}");
    }
}
