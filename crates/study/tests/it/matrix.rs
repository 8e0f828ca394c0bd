//! Any number of sides, with a stand-in for the simulator.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_kernel::Preset;
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup};
use wakelab_study::compare;
use wakelab_study::compare::{Block, Comparison, Matrix, MatrixComparison, Until, Variant, compare, compare_matrix};
use wakelab_study::fail_if::FailIf;
use wakelab_study::runs::cache::{Cached, Store};
use wakelab_study::runs::{Program, RunFailed, RunId, Runner, Why};
use wakelab_study::verdict::{RowVerdict, by_comparison, matrix_verdicts};
use wakelab_testing::fake_runner::{Fake, experiment};

const LOADS: [&str; 3] = ["1 thread", "2 threads", "3 threads"];
const SIDES: [&str; 3] = ["SIS_UTIL", "SIS_ORACLE", "migration_cost=0"];

/// A block with these variants.
fn with(block: Block, switches: &[&str]) -> Block {
    let variant = |one: &&str| Variant::new(block.kernel, &one.parse().unwrap()).unwrap();
    Block { variants: switches.iter().map(variant).collect(), ..block }
}

fn matrix_of(variants: &[&str], blocks: Vec<Block>) -> Matrix {
    let variants = variants.iter().map(|name| (*name).to_owned()).collect();
    Matrix { base: "base".to_owned(), variants, blocks, warnings: vec![] }
}

/// The two sides of each comparison of a matrix.
fn two_sided(matrix: &Matrix) -> Vec<Block> {
    let of_block = |block: &Block| {
        let one = |variant: &Variant| Block { variants: vec![variant.clone()], ..block.clone() };
        block.variants.iter().map(one).collect::<Vec<_>>()
    };
    matrix.blocks.iter().flat_map(of_block).collect()
}

/// On two kernels, each with three variants.
fn matrix(loads: &[&str], repeats: u32) -> Matrix {
    let on = |kernel: &str| {
        let mut on = experiment(loads, repeats);
        on.kernel = Preset::get(kernel).unwrap();
        on.base = Variant::new(on.kernel, &"SIS_PROP".parse().unwrap()).unwrap();
        with(on, &SIDES)
    };
    matrix_of(&SIDES, ["v5.19-rc1", "v6.1"].into_iter().map(on).collect())
}

fn found(runner: &dyn Runner, matrix: &Matrix, jobs: usize) -> MatrixComparison {
    compare_matrix(runner, matrix, jobs, &(), &AtomicBool::new(false)).unwrap()
}

fn two_sides(runner: &dyn Runner, block: &Block) -> Comparison {
    compare(runner, block, 1, &(), &AtomicBool::new(false)).unwrap()
}

#[test]
fn each_variant_has_the_numbers_of_a_comparison_of_two_sides() {
    let matrix = matrix(&LOADS, 3);
    for jobs in [1, 4] {
        let found = found(&Fake::default(), &matrix, jobs);
        assert!(found.complete);
        assert_eq!((matrix.rows(), matrix.runs(), found.lines()), (18, 72, 6));
        for (comparison, block) in found.comparisons.iter().zip(two_sided(&matrix)) {
            let alone = two_sides(&Fake::default(), &block);
            assert_eq!(format!("{comparison:?}"), format!("{alone:?}"));
        }
    }
}

#[test]
fn a_matrix_of_one_is_the_comparison() {
    let one = experiment(&LOADS, 3);
    let found = found(&Fake::default(), &matrix_of(&["with"], vec![one.clone()]), 2);
    assert_eq!(format!("{:?}", found.comparisons), format!("[{:?}]", two_sides(&Fake::default(), &one)));
}

#[test]
fn the_base_runs_once_for_all_variants() {
    struct Counted(Mutex<Vec<String>>);
    impl Runner for Counted {
        fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
            self.0.lock().unwrap().push(format!("{id}"));
            Fake::default().run(id, setup, measure, stop)
        }
    }
    let counted = Counted(Mutex::default());
    found(&counted, &matrix(&LOADS, 2), 1);
    let runs = counted.0.into_inner().unwrap();
    assert_eq!(runs.len(), 2 * 3 * 2 * 4);
    // The lines follow each other, so that an interrupted matrix has whole ones.
    let begins: Vec<&str> = runs.iter().take(8).map(|run| run.split(", repeat").next().unwrap()).collect();
    let on = "netperf:TCP_RR 1 thread on test-4 v5.19-rc1";
    let sides = ["SIS_PROP", SIDES[0], SIDES[1], SIDES[2]].map(|side| format!("{on} {side}"));
    assert_eq!(begins, [sides.clone(), sides].concat());
    assert!(runs[12..].iter().all(|run| !run.contains("1 thread on test-4 v5.19-rc1")));
}

#[test]
fn a_stop_leaves_whole_lines_and_the_cache_goes_on_from_there() {
    let (folder, matrix) = (tempfile::tempdir().unwrap(), matrix(&LOADS, 2));
    let store = || Store::open(folder.path(), Program::named("one build"), false).unwrap();
    let stops = Fake { stops_at: Some("2 threads"), ..Fake::default() };
    let first = store();
    let part = found(&Cached { store: &first, runner: &stops }, &matrix, 1);
    assert!(!part.complete && part.comparisons.iter().all(|comparison| !comparison.complete));
    let rows: Vec<usize> = part.comparisons.iter().map(|comparison| comparison.rows.len()).collect();
    assert_eq!((rows, first.made()), (vec![1, 1, 1, 0, 0, 0], 8));
    assert_eq!(matrix_verdicts(&part).iter().map(|verdict| verdict.rows.len()).collect::<Vec<_>>(), [1, 1, 1]);
    let second = store();
    let plan = matrix.plan(&Cached { store: &second, runner: &Fake::default() });
    assert_eq!((plan.runs, plan.kept), (48, 8));
    let whole = found(&Cached { store: &second, runner: &Fake::default() }, &matrix, 2);
    assert_eq!((second.found(), second.made()), (8, 40));
    assert_eq!(format!("{whole:?}"), format!("{:?}", found(&Fake::default(), &matrix, 1)));
}

#[test]
fn a_failure_names_its_run() {
    let fails = Fake { fails_at: Some("2 threads"), ..Fake::default() };
    let failed: RunFailed = compare_matrix(&fails, &matrix(&LOADS, 1), 1, &(), &AtomicBool::new(false)).unwrap_err();
    assert!(failed.to_string().starts_with("netperf:TCP_RR 2 threads on test-4 v5.19-rc1 SIS_PROP, repeat 1, seed "));
}

/// Does as many transactions as it is told.
struct Told(fn(&RunId) -> u64);

impl Runner for Told {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        for _ in 0..(self.0)(id) {
            measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 });
        }
        assert!(!stop.load(Ordering::Relaxed));
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

/// Two transactions a value, as two seconds are measured. The pairs of sides are those of `statistics`, whose p were
/// computed elsewhere: 0.00076 for the first load, 0.0065 for the second.
fn by_hand(id: &RunId) -> u64 {
    let repeat = id.repeat as usize;
    let halves = |values: [f64; 3]| (2.0 * values[repeat]) as u64;
    match (id.load.as_str(), id.variant.as_str()) {
        ("1 thread", "SIS_UTIL") => halves([290.0, 300.0, 310.0]),
        ("1 thread", _) => halves([100.0, 101.0, 102.0]),
        ("2 threads", "SIS_UTIL") => halves([5.0, 5.5, 6.0]),
        ("2 threads", "SIS_ORACLE") => halves([10.5, 10.0, 10.0]),
        ("2 threads", _) => halves([10.0, 11.0, 9.0]),
        (load, variant) => panic!("{load} {variant}"),
    }
}

fn by_hand_matrix() -> Matrix {
    let loads = ["1 thread", "2 threads"];
    matrix_of(&SIDES[..2], vec![with(experiment(&loads, 3), &SIDES[..2])])
}

/// Three of the four rows are tested: the oracle's at one thread are the base's, which is no test.
#[test]
fn holm_is_over_all_tested_rows_of_the_matrix() {
    let found = found(&Told(by_hand), &by_hand_matrix(), 1);
    let verdicts = matrix_verdicts(&found);
    let [util, oracle] = &verdicts[..] else { panic!("{verdicts:?}") };
    let close = |p: Option<f64>, expected: f64| {
        let p = p.unwrap();
        assert!((p - expected).abs() < 1e-9, "{p} is not {expected}");
    };
    close(util.rows[0].p_holm, 3.0 * 0.0007567868777811);
    close(util.rows[1].p_holm, 2.0 * 0.0064575892026976);
    assert_eq!(oracle.rows[0].p_holm, None);
    // Both means of the oracle are within each other's spread.
    assert!(oracle.rows[1].p_holm.unwrap() > 0.5);
    let said = |at: usize| verdicts[at].rows.iter().map(|row| row.verdict).collect::<Vec<_>>();
    assert_eq!(said(0), [RowVerdict::Better, RowVerdict::Worse]);
    assert_eq!(said(1), [RowVerdict::Identical, RowVerdict::Same]);
    assert_eq!((util.tested(), oracle.tested()), (2, 1));
    // Alone, two rows are corrected for.
    let alone = compare::compare(&Told(by_hand), &two_sided(&by_hand_matrix())[0], 1, &(), &AtomicBool::new(false));
    let alone = wakelab_study::verdict::verdict(&alone.unwrap(), Default::default());
    close(alone.rows[0].p_holm, 2.0 * 0.0007567868777811);
    let fails = |text: &str| verdicts.iter().map(|one| text.parse::<FailIf>().unwrap().holds(one)).collect::<Vec<_>>();
    assert_eq!(fails("worse"), [true, false]);
    assert_eq!(fails("not better"), [true, true]);
    for (one, comparison) in by_comparison(&found, &verdicts).iter().zip(&found.comparisons) {
        assert_eq!(one.rows.len(), comparison.rows.len());
        assert_eq!(one.rows[1].compare_pct, comparison.rows[1].compare_pct);
    }
}

#[test]
fn means_are_of_the_ratios_of_the_rows_that_are_asked_for() {
    let found = found(&Told(by_hand), &by_hand_matrix(), 1);
    let all = found.mean(0, |_, _| true).unwrap();
    // 300 / 101 and 5.5 / 10.
    let expected = 100.0 * ((300.0 / 101.0 * 0.55f64).sqrt() - 1.0);
    assert!((all.pct - expected).abs() < 1e-9 && (all.rows, all.left_out) == (2, 0), "{all:?}");
    let first = found.mean(0, |_, row| row.load == "1 thread").unwrap();
    assert!((first.pct - found.comparisons[0].rows[0].compare_pct).abs() < 1e-9, "{first:?}");
    assert_eq!(found.mean(0, |found, _| found.experiment.kernel == "v6.1"), None);
}

/// At one thread a side is the same with every seed, at two it is 5% above and below by turns, at three 40%. The other
/// side has one transaction more.
fn by_turns(id: &RunId) -> u64 {
    let turn = if id.repeat.is_multiple_of(2) { 1.0 } else { -1.0 };
    let spread = match id.load.as_str() {
        "1 thread" => 0.0,
        "2 threads" => 50.0,
        _ => 400.0,
    };
    (1000.0 + spread * turn) as u64 + u64::from(id.with)
}

#[test]
fn rows_are_repeated_until_their_intervals_are_narrow() {
    let until = Until { half_width_pct: 6.0, most: 20 };
    let mut matrix = by_hand_matrix();
    matrix.blocks[0].until = Some(until);
    matrix.blocks[0].cases = experiment(&LOADS, 3).cases;
    assert_eq!(matrix.runs(), 3 * 3 * 20);
    let found = found(&Told(by_turns), &matrix, 2);
    assert!(found.complete);
    for comparison in &found.comparisons {
        let n: Vec<[usize; 2]> = comparison.rows.iter().map(|row| [row.base.n, row.with.n]).collect();
        assert_eq!(n, [[3, 3], [8, 8], [20, 20]]);
        assert_eq!(comparison.rows.iter().map(|row| until.is_reached(row)).collect::<Vec<_>>(), [true, true, false]);
    }
    let verdict = &matrix_verdicts(&found)[0];
    assert_eq!((verdict.repeats, verdict.wider().count()), ([3, 20], 1));
    // Two sides are repeated in the same way.
    let alone = two_sides(&Told(by_turns), &two_sided(&matrix)[1]);
    assert_eq!(format!("{alone:?}"), format!("{:?}", found.comparisons[1]));
}

#[test]
fn a_stop_keeps_the_rounds_that_were_whole() {
    struct Stops;
    impl Runner for Stops {
        fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
            if id.repeat == 4 && id.with {
                stop.store(true, Ordering::Relaxed);
                return Ok(Outcome { stopped: true, ..Outcome::default() });
            }
            Told(by_turns).run(id, setup, measure, stop)
        }
    }
    let mut experiment = experiment(&["2 threads"], 3);
    experiment.until = Some(Until { half_width_pct: 1.0, most: 30 });
    let found = compare(&Stops, &experiment, 1, &(), &AtomicBool::new(false)).unwrap();
    assert!(!found.complete);
    assert_eq!((found.rows[0].base.n, found.rows[0].with.n), (4, 4));
}
