//! The scoreboard: bad tables, and that the headlines of the published tables come out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wakelab_study::reproduce::{Effort, ReproduceError, reproduce, tables};

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../published")
}

/// A folder with one table.
fn folder(name: &str, text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

fn refused(name: &str, text: &str) -> String {
    let folder = folder(name, text);
    let error = tables(folder.path(), &[]).unwrap_err().to_string();
    error.replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn a_table_without_a_column_is_refused_with_its_name() {
    let error = refused("sis_util-results.csv", "benchmark,case,load,metric,compare_pct,compare_std_pct\n");
    assert!(error.starts_with("DIR/sis_util-results.csv:1: column baseline_std_pct: it is missing"), "{error}");
}

#[test]
fn a_table_without_rows_is_refused() {
    let header = "benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct\n";
    let error = refused("sis_util-results.csv", header);
    assert!(error.starts_with("DIR/sis_util-results.csv: it has no row"), "{error}");
}

#[test]
fn a_cell_that_is_no_number_is_refused_with_its_line() {
    let text = "benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct\n\
                netperf,TCP_RR,28 threads,throughput,0.3,much,0.4\n";
    let error = refused("sis_util-results.csv", text);
    assert_eq!(error, "DIR/sis_util-results.csv:2: column compare_pct: \"much\" is no number");
}

#[test]
fn an_unknown_table_is_refused_with_those_that_are_known() {
    let error = tables(&published(), &["sis-results".to_owned()]).unwrap_err();
    assert!(matches!(&error, ReproduceError::Unknown { name } if name == "sis-results"));
    assert!(error.to_string().contains("expected one of sis_util-results, "), "{error}");
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(tables(empty.path(), &[]), Err(ReproduceError::Empty { .. })));
}

/// What the model does not have is listed with the reason, and the other rows are simulated.
#[test]
fn rows_that_are_not_modelled_are_excluded_by_name() {
    let text = "benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct\n\
                sysbench,oltp,28 threads,throughput,0.3,1.0,0.4\n\
                netperf,TCP_RR,some threads,throughput,0.3,1.0,0.4\n";
    let folder = folder("sis_util-results.csv", text);
    let tables = tables(folder.path(), &[]).unwrap();
    let board = reproduce(&tables, Effort::FULL, 1, &(), &AtomicBool::new(false)).unwrap();
    let why: Vec<_> = board.tables[0].rows.iter().map(|row| row.excluded.clone().unwrap()).collect();
    assert_eq!(why, ["sysbench oltp is not modelled", "load some threads says no number of instances"]);
    assert_eq!((board.tables[0].summary.rows, board.tables[0].summary.excluded), (0, 2));
}

/// tbench prints a throughput, hackbench the time of its loops: a curve that goes as it should has no error either way.
#[test]
fn curves_are_compared_in_the_unit_of_the_posting() {
    let error = |benchmark: &str, baselines: [u32; 2]| {
        let header =
            "benchmark,machine,SIS_CORE,SIS_PROP,load,baseline,baseline_std_pct,patch,compare_pct,patch_std_pct";
        let rows = baselines
            .iter()
            .zip([1, 2])
            .map(|(baseline, load)| format!("\n{benchmark},test-8c,true,true,{load},{baseline},,1,0.0,"));
        let folder = folder("search-limit-results.csv", &format!("{header}{}\n", rows.collect::<String>()));
        let effort = Effort { settle_ns: 50_000_000, time_ns: 50_000_000, headlines: false, ..Effort::QUICK };
        let board = reproduce(&tables(folder.path(), &[]).unwrap(), effort, 1, &(), &AtomicBool::new(false)).unwrap();
        assert_eq!(board.tables[0].summary.rows, 2, "{:?}", board.tables[0]);
        board.tables[0].summary.curve_rms_log_error.unwrap()
    };
    // Two clients on eight CPUs do twice as much; twice the groups take twice as long once all CPUs are busy.
    let (tbench, hackbench) = (error("tbench", [100, 200]), error("hackbench process", [1, 2]));
    assert!(tbench < 0.2 && hackbench < 0.2, "{tbench} {hackbench}");
}

/// The headline, once and shortly: SIS_UTIL flips at 224 threads, and what the counters say of it.
#[test]
fn the_flip_of_the_sis_util_letter_is_reproduced() {
    let tables = tables(&published(), &["sis_util-224-threads-counters".to_owned()]).unwrap();
    let effort = Effort { settle_ns: 300_000_000, time_ns: 20_000_000, headlines: false, ..Effort::QUICK };
    let board = reproduce(&tables, effort, 0, &(), &AtomicBool::new(false)).unwrap();
    let change = |counter: &str| {
        let named = |row: &&wakelab_study::reproduce::Scored| row.cells.iter().any(|(_, text)| text == counter);
        board.tables[0].rows.iter().find(named).and_then(|row| row.simulated_compare_pct).unwrap()
    };
    let searches = change("sis_search.avg");
    assert!((80.0..250.0).contains(&searches), "more wake-ups, each of which searches: {searches}");
    let scanned = change("sis_scanned.avg");
    assert!((-95.0..-65.0).contains(&scanned), "none of which scans: {scanned}");
    assert_eq!(board.tables[0].summary.effects_right.min(2), 2, "{:?}", board.tables[0].summary);
}

/// The published effects of the 112-CPU machine that a scheduler developer asks for first.
#[test]
fn the_headlines_of_the_112_cpu_machine_are_reproduced() {
    let of = |name: &str, wanted: &[&str]| {
        let text = fs::read_to_string(published().join(name)).unwrap();
        let rows = text.lines().skip(1).filter(|line| wanted.iter().any(|row| line.contains(row)));
        text.lines().take(1).chain(rows).map(|line| format!("{line}\n")).collect::<String>()
    };
    let letter = of("sis_util-results.csv", &["TCP_RR,168", "TCP_RR,196", "TCP_RR,224"]);
    let short = of("short-wakeup-results.csv", &["context_switch1"]);
    let folder = folder("sis_util-results.csv", &letter);
    fs::write(folder.path().join("short-wakeup-results.csv"), short).unwrap();
    let effort = Effort { settle_ns: 500_000_000, time_ns: 20_000_000, headlines: false, ..Effort::QUICK };
    let tables = tables(folder.path(), &[]).unwrap();
    let board = reproduce(&tables, effort, 0, &(), &AtomicBool::new(false)).unwrap();
    let rows = board.tables.iter().flat_map(|table| &table.rows);
    let changes: Vec<f64> = rows.filter_map(|row| row.simulated_compare_pct).collect();
    let [at_168, at_196, at_224, at_112] = changes[..] else { panic!("{changes:?}") };
    assert!(at_112 > 200.0, "SIS_SHORT with 112 instances: {at_112}");
    assert!(at_168.abs() < 5.0, "SIS_UTIL at 168 threads: {at_168}");
    assert!((150.0..250.0).contains(&at_196) && (150.0..250.0).contains(&at_224), "{changes:?}");
}
