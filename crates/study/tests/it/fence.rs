//! Runs of foreign schedulers that panic, hang, or take the process with them that makes them: the others go on.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_kernel::Preset;
use wakelab_measure::{Measure, RunStats};
use wakelab_sim::{Outcome, Setup};
use wakelab_study::compare::{Matrix, MatrixComparison, compare, compare_matrix};
use wakelab_study::experiment::{Flags, Given, Spec, SweepSpec, named_scheduler};
use wakelab_study::runners::Simulator;
use wakelab_study::runs::fence::{Fence, Start};
use wakelab_study::runs::{RunFailed, RunId, Runner, Why};
use wakelab_study::scx_check::{Check, Kind};
use wakelab_study::sweep::{Making, Sweep, SweepRow};

const SIMPLE: &str = concat!("scx:", env!("CARGO_MANIFEST_DIR"), "/../bpf/tests/data/scx_simple.bpf.o");
const HANGS: &str = concat!("scx:", env!("CARGO_MANIFEST_DIR"), "/../scx-bpf/tests/data/hangs.bpf.o");

/// These sides of two loads on a small machine, for 10 ms.
fn matrix(with: &[&str]) -> Matrix {
    let with: Vec<String> = with.iter().map(|side| (*side).to_owned()).collect();
    let mut spec = Spec::of_flags(&Flags {
        machines: &["test-2c".to_owned()],
        kernels: &["v7.2".to_owned()],
        workloads: &["netperf:TCP_RR".to_owned()],
        loads: &["1,2".to_owned()],
        base: "",
        with: &with,
    })
    .unwrap();
    spec.repeats = Given::by_flag("--repeat", 2);
    spec.settle_ns = Given::by_flag("--settle", 0);
    spec.time_ns = Given::by_flag("--time", 10_000_000);
    spec.resolve().unwrap()
}

fn found(runner: &dyn Runner, matrix: &Matrix, jobs: usize) -> MatrixComparison {
    compare_matrix(runner, matrix, jobs, &(), &AtomicBool::new(false)).unwrap()
}

/// A worker that says that it is there, and dies of its first question.
fn mortal() -> Fence {
    let script = "exec 3<&0; cat <&3 >/dev/null & printf '\\0\\0\\0\\0'; \
                  echo 'memory allocation of 99 bytes failed' >&2; sleep 0.2; kill -ABRT $$";
    Fence::new(Some(Start { program: "/bin/sh".into(), args: ["-c", script].map(Into::into).to_vec() }))
}

/// Makes the runs of the fair class, and panics at those of a scheduler that is called so.
struct Panics(&'static str);

impl Runner for Panics {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        assert!(setup.scheduler.is_none_or(|scheduler| scheduler.name() != self.0), "a queue is empty");
        Simulator.run(id, setup, measure, stop)
    }
}

/// What of a matrix does not depend on who fails beside.
fn rows_of(found: &MatrixComparison, variant: usize) -> String {
    let rows = found.of_variant(variant).flat_map(|comparison| &comparison.rows);
    rows.map(|row| format!("{row:?}")).collect()
}

/// The second of three variants has failed at both loads, with this error, and the others have what they have alone.
#[track_caller]
fn second_failed(runner: &dyn Runner, sides: [&str; 3], said: &str) {
    let alone = found(&Simulator, &matrix(&[sides[0], sides[2]]), 1);
    for jobs in [1, 3] {
        let found = found(runner, &matrix(&sides), jobs);
        assert!(found.complete, "what failed is not missing");
        assert_eq!(found.lines(), 2);
        let failed: Vec<(&str, &str)> =
            found.failed.iter().map(|row| (row.side.as_str(), row.failed.run.load.as_str())).collect();
        assert_eq!(failed.len(), 2, "{failed:?}");
        assert!(failed.iter().all(|(side, _)| *side == found.variants[1]), "{failed:?}");
        for row in &found.failed {
            let text = row.failed.to_string();
            assert!(text.contains(said) && text.contains("repeat 1, seed "), "{said}: {text}");
        }
        assert_eq!(rows_of(&found, 1), "");
        assert_eq!([rows_of(&found, 0), rows_of(&found, 2)], [rows_of(&alone, 0), rows_of(&alone, 1)]);
        for (_, lines) in found.block_lines() {
            assert_eq!(lines, [[Some(0), None, Some(0)], [Some(1), None, Some(1)]]);
        }
    }
}

#[test]
fn a_side_that_panics_is_failed_rows() {
    second_failed(&Panics("scx_simple"), ["SIS_PROP", SIMPLE, "NO_SIS_UTIL"], "it panicked (a queue is empty)");
}

#[test]
fn a_side_that_hangs_is_failed_rows() {
    let hangs = format!("{HANGS},scx.mode=1");
    second_failed(&Simulator, ["SIS_PROP", &hangs, SIMPLE], "scheduler hangs has ended: fault of its program at ");
}

#[test]
fn a_side_whose_process_dies_is_failed_rows() {
    let said = "the process that made it has ended (signal: 6 (SIGABRT): memory allocation of 99 bytes failed)";
    second_failed(&mortal(), ["SIS_PROP", SIMPLE, "NO_SIS_UTIL"], said);
}

#[test]
fn a_base_that_fails_leaves_no_rows_and_says_so() {
    let mut matrix = matrix(&["SIS_PROP", "NO_SIS_UTIL"]);
    matrix.blocks[0].base = self::matrix(&[SIMPLE, "SIS_PROP"]).blocks[0].variants[0].clone();
    let found = found(&Panics("scx_simple"), &matrix, 2);
    assert!(found.complete && found.comparisons.iter().all(|comparison| comparison.rows.is_empty()));
    assert_eq!(found.failed.iter().map(|row| row.side.as_str()).collect::<Vec<_>>(), ["base", "base"]);
}

/// With two sides there is nothing to go on with.
#[test]
fn a_comparison_of_two_sides_says_which_failed() {
    let mut block = matrix(&[SIMPLE]).blocks.remove(0);
    for until in [None, Some("5%")] {
        block.until = until.map(|_| wakelab_study::compare::Until { half_width_pct: 5.0, most: 4 });
        let failed: RunFailed = compare(&Panics("scx_simple"), &block, 1, &(), &AtomicBool::new(false)).unwrap_err();
        assert!(failed.run.with && failed.to_string().contains("scx_simple"), "{failed}");
        assert!(matches!(failed.why, Why::Panicked(_)), "{failed}");
    }
}

/// A panic that is not of a foreign scheduler is a panic.
#[test]
fn others_are_not_caught() {
    struct All;
    impl Runner for All {
        fn run(&self, _: &RunId, _: &Setup<'_>, _: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
            panic!("all")
        }
    }
    let matrix = matrix(&["SIS_PROP", "NO_SIS_UTIL"]);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| found(&All, &matrix, 1)));
    assert!(caught.is_err());
}

#[test]
fn a_sweep_goes_on_past_a_process_that_dies() {
    let text = format!(
        "repeats = 1\nsettle = \"0s\"\ntime = \"5ms\"\n[[grid]]\nmachine = \"test-2c\"\nkernel = \"v7.2\"\n\
         sides = [\"\", \"{SIMPLE}\", \"NO_SIS_UTIL\"]\nworkload = [{{name = \"netperf:TCP_RR\", load = \"1,2\"}}]\n"
    );
    let sweep = Sweep::new(SweepSpec::parse(Path::new("sweep.toml"), &text).unwrap()).unwrap();
    let rows: Mutex<Vec<SweepRow>> = Mutex::default();
    let (runner, stop) = (mortal(), AtomicBool::new(false));
    let making = Making { runner: &runner, jobs: 2, progress: &(), stop: &stop };
    let parts: Vec<u64> = (0..sweep.parts()).collect();
    let whole = sweep.run(&parts, &making, &|_, made| {
        rows.lock().unwrap().extend(made);
        Ok(())
    });
    assert!(whole.unwrap());
    let rows = rows.into_inner().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let error = row.stats.as_ref().err().map(String::as_str).unwrap_or_default();
        assert_eq!(error.contains("signal: 6 (SIGABRT)"), row.side.contains("scx_simple"), "{}: {error}", row.side);
        assert_eq!(row.stats.is_ok(), !row.side.contains("scx_simple"), "{}: {error}", row.side);
    }
}

/// Checks schedulers with four workloads.
fn checked(scheduler: &str, fence: &Fence) -> Vec<(Kind, String)> {
    let scheduler = named_scheduler(&Default::default(), scheduler.trim_start_matches("scx:")).unwrap();
    let (machines, stop) = ([wakelab_machine::get("test-2c").unwrap()], AtomicBool::new(false));
    let (kernel, done) = (Preset::get("v7.2").unwrap(), &|_: usize| {});
    let check =
        Check { scheduler: &scheduler, machines: &machines, kernel, seed: 5, jobs: 0, stop: &stop, fence, done };
    let checked = check.check(4).unwrap();
    assert_eq!((checked.workloads, checked.complete), (4, true));
    checked.smallest.into_iter().map(|found| (found.finding.kind, found.finding.what)).collect()
}

/// What a check is made to find ends it neither by going on for ever nor by its end.
#[test]
fn a_check_of_what_hangs_or_dies_ends_with_a_finding() {
    for (mode, said) in
        [(1, "has gone through __schedule() "), (2, "has gone through __schedule() "), (4, "its timers")]
    {
        let found = checked(&format!("{HANGS},scx.mode={mode}"), &Fence::default());
        assert!(found.iter().any(|(kind, what)| *kind == Kind::Fault && what.contains(said)), "{mode}: {found:?}");
    }
    let found = checked(SIMPLE, &mortal());
    assert!(found.iter().all(|(kind, what)| *kind == Kind::Fault && what.contains("SIGABRT")), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Once the program is stopped, a worker that does not answer is killed.
#[test]
fn a_worker_that_does_not_answer_ends_with_the_program() {
    // It does not even read what it is asked.
    let script = "printf '\\0\\0\\0\\0'; exec sleep 3600";
    let fence = Fence::new(Some(Start { program: "/bin/sh".into(), args: ["-c", script].map(Into::into).to_vec() }));
    let (matrix, stop) = (matrix(&[SIMPLE, "SIS_PROP"]), AtomicBool::new(false));
    struct Stops<'a>(&'a Fence);
    impl Runner for Stops<'_> {
        fn run(&self, _: &RunId, _: &Setup<'_>, _: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
            unreachable!("numbers are asked for")
        }

        fn stats(&self, id: &RunId, setup: &Setup<'_>, ns: u64, stop: &AtomicBool) -> Result<Option<RunStats>, Why> {
            stop.fetch_or(setup.scheduler.is_some(), Ordering::Relaxed);
            self.0.stats(id, setup, ns, stop)
        }
    }
    let found = compare_matrix(&Stops(&fence), &matrix, 1, &(), &stop).unwrap();
    assert!(!found.complete && found.failed.is_empty());
}
