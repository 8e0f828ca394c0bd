//! The program, as `tools/vm/scx-live` calls it.

use assert_cmd::Command;

/// In guests of 7.2 a stretch takes 23.5 to 24.0 ms: when five ticks of 4 ms have passed, the task has run for 20 ms
/// but for what the handler of the first took.
#[test]
fn a_slice_of_five_ticks_ends_at_the_sixth() {
    let folder = tempfile::tempdir().unwrap();
    let (simulated, live) = (folder.path().join("simulated.json"), folder.path().join("live.json"));
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/tests/data/scx_simple.bpf.o");
    let program = || Command::new(assert_cmd::cargo::cargo_bin!("scx-simulated"));
    program().args(["run", "--loads", "hogs-one-cpu", "--out"]).arg(&simulated).arg(object).assert().success();
    let text = std::fs::read_to_string(&simulated).unwrap();
    let result: serde_json::Value = serde_json::from_str(&text).unwrap();
    let numbers = &result["scx_simple"]["loads"]["hogs-one-cpu"]["numbers"];
    let stretch = numbers["stretch until another runs, median"].as_f64().unwrap();
    assert!((23.9..24.1).contains(&stretch), "{stretch} ms");
    // A tick more than the bound away from it.
    std::fs::write(&live, text.replace(&stretch.to_string(), &(stretch + 12.0).to_string())).unwrap();
    let table = |live| {
        let quantity = "scx_simple/hogs-one-cpu/stretch until another runs, median";
        program().args(["table", "--require", quantity]).arg(&simulated).arg(live).assert()
    };
    table(&simulated).success();
    table(&live).code(1);
}
