//! `[ensemble]`: the sets of constants that fit a machine.

use wakelab_machine::{Ensemble, FittedConstant, MachineFile};

fn with(ensemble: &str) -> String {
    let file = MachineFile::get("test-2c").expect("a machine");
    format!("{}\n{ensemble}", file.to_toml())
}

#[track_caller]
fn error_of(ensemble: &str) -> String {
    MachineFile::from_toml(&with(ensemble), "m.toml").expect_err("it is wrong").to_string()
}

#[test]
fn a_fitted_machine_is_read_back_as_it_was_written() {
    let mut file = MachineFile::get("test-2c").expect("a machine");
    let constant = |of: &str, name: &str| FittedConstant { of: of.to_owned(), name: name.to_owned() };
    file.machine.ensemble = Some(Ensemble {
        fitted: "base.toml, 8 rows, 2026-11-23".to_owned(),
        constants: vec![
            constant("machine", "enqueue_visible"),
            constant("machine", "kworker_run_ns"),
            constant("netperf:TCP_RR", "client_ns"),
            constant("machine", "wakeup"),
        ],
        sets: vec![vec![60, 4000, 1200, 200], vec![75, 9000, 1300, 150]],
    });
    let read = MachineFile::from_toml(&file.to_toml(), "m.toml").expect("it is sound");
    assert_eq!(read, file);
}

#[test]
fn wrong_sets_are_refused_at_their_line() {
    for (ensemble, expected) in [
        ("[ensemble]\nfitted = \"x\"", "constants"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]", "constants"),
        ("[ensemble]\n[ensemble.constants]\nprobe = [60]", "fitted"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]\nprobes = [60]", "probes"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]\nprobe = []", "0 values; expected 1 to 1000"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]\nprobe = [60, 70]\nwakeup = [200]", "1 values; expected 2"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]\nenqueue_visible = [101]", "0 to 100"),
        ("[ensemble]\nfitted = \"x\"\n[ensemble.constants]\nprobe = [-1]", "probe"),
    ] {
        let error = error_of(ensemble);
        assert!(error.contains(expected) && error.starts_with("m.toml:"), "{ensemble}\n{error}");
    }
}

#[test]
fn constants_are_set_by_name_and_kworkers_end_before_they_are_woken_again() {
    let mut machine = wakelab_machine::get("test-2c").expect("a machine");
    assert!(machine.set_constant("probe", 77) && machine.set_constant("kworker_period_ns", 5_000));
    assert_eq!((machine.costs.probe.value, machine.noise.kworker_period_ns), (77, 5_000));
    assert!(machine.set_constant("kworker_run_ns", 9_000));
    assert_eq!(machine.noise.kworker_run_ns, 4_999);
    assert!(!machine.set_constant("probes", 1));
}
