//! The guide of search policies: its code is the example's, and its command runs.

// By its path, because cargo gives a test no other way to an example, and the guide has the whole file, as it is built
// and run by whoever follows it.
#[path = "../examples/sis_idle_mask.rs"]
mod sis_idle_mask;

use serde_json::Value;
use std::process::ExitCode;
use wakelab_kernel::Switches;

const GUIDE: &str = include_str!("../../../docs/extending.md");
const EXAMPLE: &str = include_str!("../examples/sis_idle_mask.rs");

/// The text between a fence of this kind and its end.
fn block(kind: &str) -> &'static str {
    let after = GUIDE.split(&format!("```{kind}\n")).nth(1).expect("a block");
    after.split("```").next().expect("its end")
}

#[test]
fn the_guide_has_the_code_that_is_compiled() {
    assert_eq!(block("rust"), EXAMPLE);
}

/// The command of the guide, with JSON instead of tables: two probes miss CPUs that the kernel's scan finds.
#[test]
fn the_command_of_the_guide_compares_the_policy() {
    sis_idle_mask::add();
    sis_idle_mask::add();
    assert_eq!("SIS_IDLE_MASK".parse::<Switches>().unwrap().to_string(), "SIS_IDLE_MASK");
    let (cargo, args) = block("sh").trim().split_once(" -- ").expect("a command");
    assert!(cargo.starts_with("cargo run") && cargo.ends_with("--example sis_idle_mask"), "{cargo}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result.json");
    let more = ["--no-cache", "--format", "json", "--out", out.to_str().unwrap()];
    let args = ["wakelab"].into_iter().chain(args.split_whitespace()).chain(more);
    let code = wakelab_cli::run(args.map(str::to_owned));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    let result: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    let (row, busy) = (&result["rows"][0], &result["rows"][1]);
    let feature = |side: &str| row[side]["features"].as_array().unwrap().iter().any(|name| name == "SIS_IDLE_MASK");
    assert_eq!((feature("base"), feature("with")), (false, true), "{row:#}");
    let of = |side: &str, key: &str| row[side]["regret"]["searches"][key].as_u64().unwrap();
    assert!(of("with", "missed") > of("base", "missed"), "{row:#}");
    let probes = |side: &str| busy[side]["search"]["scanned_per_domain_search"].as_f64().unwrap();
    assert!(probes("with") < probes("base"), "{busy:#}");
}
