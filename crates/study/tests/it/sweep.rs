//! Sweeps: which runs there are, and in which order they are numbered.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use wakelab_study::compare::run_seed;
use wakelab_study::experiment::SweepSpec;
use wakelab_study::sweep::{Making, Sweep, SweepRow};
use wakelab_testing::fake_runner::Fake;

const SWEEP: &str = r#"
seed = 5
repeats = 2
time = "2ms"
settle = "1ms"
runs_per_part = 7

[[grid]]
machines = ["test-8c", "test-2c"]
kernels = ["v6.12", "v7.2"]
sides = ["", "NO_SIS_UTIL"]
workload = [{ name = "netperf:TCP_RR", load = "1,2" }, { name = "tbench:loopback", load = "1" }]
[grid.tunables]
migration_cost = [0, 500000]
nr_migrate = { from = 8, to = 32, step = 12 }

[[grid]]
machine = "test-2s"
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "4" }]
"#;

fn sweep(toml: &str) -> Result<Sweep, String> {
    let spec = SweepSpec::parse(Path::new("s.toml"), toml).map_err(|error| error.to_string())?;
    Sweep::new(spec).map_err(|error| error.to_string())
}

fn made(sweep: &Sweep, parts: &[u64], jobs: usize) -> Vec<(u64, Vec<SweepRow>)> {
    let found = Mutex::new(Vec::new());
    let runner = Fake::default();
    let making = Making { runner: &runner, jobs, progress: &(), stop: &AtomicBool::new(false) };
    let whole = sweep.run(parts, &making, &|part, rows| {
        found.lock().unwrap().push((part, rows));
        Ok(())
    });
    assert!(whole.unwrap());
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(part, _)| *part);
    found
}

/// What a row is of, as text.
fn of(row: &SweepRow) -> String {
    let tunables: Vec<String> = row.tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let SweepRow { machine, kernel, side, benchmark, load, repeat, .. } = row;
    format!("{machine} {kernel} {side:?} {} {benchmark} {load} {repeat}", tunables.join(" "))
}

/// The loops that docs/sweep.md describes.
fn expected() -> Vec<String> {
    let mut all = Vec::new();
    for machine in ["test-8c", "test-2c"] {
        for kernel in ["v6.12", "v7.2"] {
            for side in ["", "NO_SIS_UTIL"] {
                for cost in [0, 500_000] {
                    for moved in [8, 20, 32] {
                        for case in ["netperf 1 threads", "netperf 2 threads", "tbench 1 threads"] {
                            for repeat in 0..2 {
                                let tunables = format!("migration_cost={cost} nr_migrate={moved}");
                                all.push(format!("{machine} {kernel} {side:?} {tunables} {case} {repeat}"));
                            }
                        }
                    }
                }
            }
        }
    }
    all.extend((0..2).map(|repeat| format!("test-2s v6.12 \"\"  netperf 4 threads {repeat}")));
    all
}

#[test]
fn every_run_is_made_once_in_the_order_of_the_file() {
    let sweep = sweep(SWEEP).unwrap();
    let expected = expected();
    assert_eq!(sweep.runs(), expected.len() as u64);
    assert_eq!(sweep.parts(), expected.len().div_ceil(7) as u64);
    let parts: Vec<u64> = (0..sweep.parts()).collect();
    let rows: Vec<SweepRow> = made(&sweep, &parts, 2).into_iter().flat_map(|(_, rows)| rows).collect();
    assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), expected);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!((row.run, row.point), (number as u64, number as u64 / 2));
        assert_eq!(row.seed, run_seed(5, &row.load, row.repeat), "{}", of(row));
    }
}

#[test]
fn a_part_is_the_same_alone() {
    let sweep = sweep(SWEEP).unwrap();
    let parts: Vec<u64> = (0..sweep.parts()).collect();
    let all = made(&sweep, &parts, 2);
    for part in [sweep.parts() - 1, 3] {
        let alone = made(&sweep, &[part], 1);
        assert_eq!(format!("{:?}", alone[0]), format!("{:?}", all[part as usize]));
    }
}

#[test]
fn some_points_are_drawn() {
    let drawn = sweep(&format!("samples = 10\n{SWEEP}")).unwrap();
    assert_eq!((drawn.points(), drawn.runs(), drawn.space()), (10, 20, 145));
    let rows: Vec<SweepRow> = made(&drawn, &[0, 1, 2], 1).into_iter().flat_map(|(_, rows)| rows).collect();
    let expected = expected();
    for pair in rows.chunks(2) {
        assert_eq!(of(&pair[0]), expected[2 * pair[0].point as usize]);
        assert_eq!(pair[0].point, pair[1].point);
    }
    assert!(rows.is_sorted_by_key(|row| row.run) && rows.is_sorted_by_key(|row| row.point));
    let all = sweep(&format!("samples = 1000\n{SWEEP}")).unwrap();
    assert_eq!(all.points(), 145);
}

#[test]
fn a_run_that_fails_is_a_row() {
    let sweep = sweep(&SWEEP.replace("2ms", "1ns").replace("1ms", "0s")).unwrap();
    let found = Mutex::new(0);
    let runner = wakelab_study::runners::Simulator;
    let making = Making { runner: &runner, jobs: 1, progress: &(), stop: &AtomicBool::new(false) };
    let whole = sweep.run(&[0], &making, &|_, rows| {
        for row in rows {
            assert!(row.stats.unwrap_err().contains("no transaction was done"));
            *found.lock().unwrap() += 1;
        }
        Ok(())
    });
    assert!(whole.unwrap());
    assert_eq!(found.into_inner().unwrap(), 7);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let with = |of: &str, by: &str| sweep(&SWEEP.replacen(of, by, 1)).unwrap_err();
    for (of, by, expected) in [
        ("[0, 500000]", "[-1]", "migration_cost"),
        ("[0, 500000]", "[]", "expected a list of values"),
        ("[0, 500000]", "[0, 0]", "0 is given twice"),
        ("[0, 500000]", "[nan]", "expected a finite number"),
        ("[0, 500000]", "[true]", "expected a finite number"),
        ("[0, 500000]", "[\"1,NO_SIS_UTIL\"]", "a word without a comma"),
        ("to = 32", "to = 7", "expected 8 or more"),
        ("step = 12", "step = 0", "step"),
        ("step = 12", "stop = 12", "stop"),
        ("migration_cost", "migration_cots", "migration_cots"),
        ("\"test-8c\"", "\"test-9c\"", "test-9c"),
        ("\"v7.2\"", "\"v9.9\"", "v9.9"),
        ("\"NO_SIS_UTIL\"", "\"NO_SIS_UTILL\"", "SIS_UTILL"),
        ("netperf:TCP_RR", "netperf:TCP_R", "TCP_R"),
        ("load = \"1,2\"", "load = \"-1\"", "-1"),
        ("repeats = 2", "repeats = 0", "repeats"),
        ("runs_per_part = 7", "runs_per_part = 0", "runs_per_part"),
        ("to = 32, step = 12", "to = 9000000000000000000", "10000000 or fewer"),
        ("[0, 500000]", "{ from = 1, to = 9000000 }", "samples = 1000"),
    ] {
        let error = with(of, by);
        assert!(error.starts_with("s.toml:") && error.contains(expected), "{by}: {error}");
    }
    let grids = "[[grid]]\nmachine = \"test-8c\"\nkernel = \"v6.12\"\n\
                 workload = [{ name = \"netperf:TCP_RR\", load = \"1\" }]\n[grid.tunables]\n";
    let huge = |name: &str| format!("{name} = {{ from = 100000, to = 10000000 }}\n");
    let huge = format!("{grids}{}{}{}", huge("migration_cost"), huge("base_slice"), huge("fair_server_runtime"));
    assert!(sweep(&huge).unwrap_err().contains("more points than a number of 64 bits"), "{huge}");
    assert!(sweep("repeats = 1").unwrap_err().contains("[[grid]]"));
}
