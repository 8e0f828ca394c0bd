//! Tables that are data alone: what a folder with `table.toml` and `rows.csv` may say, and how it is scored.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wakelab_events::sim::{Event, Sink};
use wakelab_measure::Measure;
use wakelab_sim::{Outcome, Setup};
use wakelab_study::reproduce::{Effort, ScoredTable, plan, reproduce, tables};
use wakelab_study::runners::Simulator;
use wakelab_study::runs::{RunId, Runner, Why};
use wakelab_workload::Task;

const TOML: &str = "machine = \"test-8c\"\nkernel = \"v6.1\"\nbase = \"\"\nwith = \"NO_SIS_UTIL\"\n\
                    [workloads]\n\"netperf,TCP_RR\" = \"netperf:TCP_RR\"\n\"stream,copy\" = \"\"\n";
const HEADER: &str = "benchmark,case,load,base,base_std_pct,with,with_std_pct,compare_pct,unit\n";

/// A folder with the table `mine`.
fn folder(toml: &str, rows: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("mine");
    fs::create_dir(&table).unwrap();
    fs::write(table.join("table.toml"), toml).unwrap();
    fs::write(table.join("rows.csv"), rows).unwrap();
    folder
}

/// Every case once, whatever it shows.
const ONCE: Effort = Effort { confirm: 1, ..Effort::FULL };

/// Does as much as there are tasks but for those that fork netperf's pairs, half of it on the other side, and keeps
/// which runs were made.
#[derive(Default)]
struct Stand(Mutex<Vec<Made>>);

/// A run, and the affinity of each of its tasks.
type Made = (RunId, Vec<Option<Vec<u32>>>);

impl Runner for Stand {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        let affinities = setup.workload.tasks.iter().map(|task| task.affinity.clone()).collect();
        self.0.lock().unwrap().push((id.clone(), affinities));
        let works = |task: &&Task| !["shell", "netserver"].contains(&task.name.as_str());
        for n in 0..setup.workload.tasks.iter().filter(works).count() as u64 {
            for _ in 0..if id.with { 1 } else { 2 } {
                measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 + n });
            }
        }
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

fn scored(toml: &str, rows: &str) -> (ScoredTable, Vec<Made>) {
    let (folder, stand) = (folder(toml, rows), Stand::default());
    let tables = tables(folder.path(), &[]).unwrap();
    let board = reproduce(&stand, &tables, ONCE, 1, &(), &AtomicBool::new(false));
    assert!(board.complete);
    (board.tables.into_iter().next().unwrap(), stand.0.into_inner().unwrap())
}

fn refused(toml: &str, rows: &str) -> String {
    let folder = folder(toml, rows);
    let error = tables(folder.path(), &[]).unwrap_err().to_string();
    error.replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn a_table_of_ones_own_is_scored_by_its_differences_and_its_curve() {
    let rows = format!(
        "{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\nnetperf,TCP_RR,4,200,1,200,1,0,trans/s\n\
         stream,copy,1,5,,5,,0,MB/s\n"
    );
    let (table, runs) = scored(TOML, &rows);
    assert_eq!((table.name.as_str(), runs.len()), ("mine", 4));
    let summary = &table.summary;
    assert_eq!((summary.rows, summary.excluded, summary.effects, summary.null_rows), (2, 1, 1, 1));
    // The stand-in does half as much on the other side: -50% in both rows.
    assert_eq!((summary.effects_class_right, summary.large_effects_right, summary.false_effects), (1, 1, 1));
    assert!(summary.curve_rms_log_error.unwrap() < 1e-9, "twice as much with twice as many: {summary:?}");
    assert_eq!(table.rows[2].excluded.as_deref(), Some("table.toml names no workload for it"));
}

/// Keeps when measuring began after the last start of a task, and when it ended, ms.
#[derive(Default)]
struct Times(Mutex<Vec<(u64, u64)>>);

impl Runner for Times {
    fn run(&self, _: &RunId, setup: &Setup<'_>, measure: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        let last = setup.workload.tasks.iter().map(|task| task.start_ns).max().unwrap();
        self.0.lock().unwrap().push((last / 1_000_000, setup.until / 1_000_000));
        measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 });
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

/// 300 groups take 720 ms to start, which is longer than a run settles. Brief runs are brief.
#[test]
fn groups_of_hackbench_have_started_before_they_are_measured() {
    let toml = "machine = \"test-8c\"\nkernel = \"v6.1\"\nbase = \"\"\nwith = \"NO_SIS_UTIL\"\n[workloads]\n\
                \"hackbench,pipes\" = \"hackbench:process-pipe\"\n";
    let times = |load: u32, effort| {
        let folder = folder(toml, &format!("{HEADER}hackbench,pipes,{load},1,,1,,0,s\n"));
        let (tables, runner) = (tables(folder.path(), &[]).unwrap(), Times::default());
        reproduce(&runner, &tables, effort, 1, &(), &AtomicBool::new(false));
        runner.0.into_inner().unwrap()[0]
    };
    let brief = Effort { headlines: false, ..Effort::QUICK };
    let (last, full) = times(300, Effort::FULL);
    assert!(last > 700 && full >= last + 400 + 250, "the last starts at {last} ms, the run ends at {full}");
    let (last, short) = times(300, brief);
    assert!(short >= last + 125 + 50, "the last starts at {last} ms, the run ends at {short}");
    assert_eq!((times(1, brief).1, times(1, Effort::FULL).1), (300, 800 + 250));
}

/// Has 15% less on the other side, in the first run alone or in all.
struct ByChance {
    always: bool,
    runs: AtomicU32,
}

impl Runner for ByChance {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, _: &AtomicBool) -> Result<Outcome, Why> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let less = id.with && (self.always || id.repeat == 0);
        for n in 0..if less { 85 } else { 100 } {
            measure.event(setup.until - 1, &Event::Done { task: 0, latency: 1000 + n });
        }
        Ok(Outcome { ended: setup.until, ..Outcome::default() })
    }
}

#[test]
fn an_effect_of_one_run_has_to_be_there_in_the_mean_of_three() {
    let false_effects = |always, effort| {
        let folder = folder(TOML, &format!("{HEADER}netperf,TCP_RR,2,100,,100,,0,trans/s\n"));
        let tables = tables(folder.path(), &[]).unwrap();
        let runner = ByChance { always, runs: AtomicU32::new(0) };
        let board = reproduce(&runner, &tables, effort, 1, &(), &AtomicBool::new(false));
        assert!(board.complete);
        (board.tables[0].summary.false_effects, runner.runs.into_inner())
    };
    assert_eq!(false_effects(false, ONCE), (1, 2));
    // One run of each side, and three of each.
    assert_eq!(false_effects(false, Effort::FULL), (0, 2 + 6));
    assert_eq!(false_effects(true, Effort::FULL), (1, 2 + 6));
}

#[test]
fn where_negative_is_better_the_sign_is_turned() {
    let toml = TOML.replace("[workloads]", "better = \"negative\"\n[workloads]");
    let (table, _) = scored(&toml, &format!("{HEADER}netperf,TCP_RR,2,100,1,148,1,48,us\n"));
    assert_eq!(table.rows[0].published_compare_pct, Some(-48.0));
}

#[test]
fn a_table_with_a_base_side_alone_runs_that_side_alone_and_is_scored_by_its_curve() {
    let toml = TOML.replace("with = \"NO_SIS_UTIL\"\n", "");
    let rows = "benchmark,case,load,base,base_std_pct,unit\nnetperf,TCP_RR,2,50,,trans/s per instance\n\
                netperf,TCP_RR,4,50,,trans/s per instance\n";
    let (table, runs) = scored(&toml, rows);
    assert!(runs.iter().all(|(id, _)| !id.with) && runs.len() == 2, "{runs:?}");
    assert_eq!((table.summary.effects, table.rows[0].simulated_compare_pct), (0, None));
    // Each instance does as much, whatever the load.
    assert!(table.summary.curve_rms_log_error.unwrap() < 1e-9, "{:?}", table.summary);
}

#[test]
fn a_pinned_table_restricts_every_task() {
    for (pinned, cpus) in [("0-3 (node 0)", Some(vec![0, 1, 2, 3])), ("node 0", Some((0..8).collect())), ("", None)] {
        let toml = TOML.replace("[workloads]", &format!("pinned = \"{pinned}\"\n[workloads]"));
        let (_, runs) = scored(&toml, &format!("{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\n"));
        assert!(runs.iter().all(|(_, tasks)| tasks.iter().all(|own| *own == cpus)), "{pinned}: {runs:?}");
    }
    let toml = TOML.replace("[workloads]", "pinned = \"message threads on CPUs 0-3\"\n[workloads]");
    let (table, _) = scored(&toml, &format!("{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\n"));
    let told = |note: &String| note.contains("simulated without the affinity that the posting has");
    assert!(table.notes.iter().any(told), "{:?}", table.notes);
}

#[test]
fn a_machine_file_beside_the_table_is_the_machine() {
    let rows = format!("{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\n");
    let toml = TOML.replace("\"test-8c\"", "\"my-box\"");
    let (table, _) = scored(&toml, &rows);
    let why = table.rows[0].excluded.as_deref().unwrap();
    assert!(why.contains("my-box"), "{why}");
    let folder = folder(&toml, &rows);
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/machines/test-2s.toml");
    fs::copy(machine, folder.path().join("mine/my-box.toml")).unwrap();
    let stand = Stand::default();
    let tables = tables(folder.path(), &["mine".to_owned()]).unwrap();
    let board = reproduce(&stand, &tables, ONCE, 1, &(), &AtomicBool::new(false));
    assert_eq!(board.tables[0].rows[0].excluded, None);
    assert_eq!(stand.0.into_inner().unwrap()[0].0.machine, "test-2s");
}

#[test]
fn parameters_and_quantities_are_those_of_the_table() {
    let toml = "machine = \"test-8c\"\nkernel = \"v6.1\"\nbase = \"\"\nwith = \"NO_SIS_UTIL\"\n[workloads]\n\
                \"schbench,99th\" = \"schbench:workers p99.9\"\n[params]\n\
                \"schbench,99th\" = { message_threads = 3 }\n";
    let (_, runs) = scored(toml, &format!("{HEADER}schbench,99th,2,100,1,52,1,-48,us\n"));
    // Three message threads, which fork their workers, where one is the default.
    assert_eq!(runs[0].1.len(), 3);
}

/// SIS_CURRENT pairs tasks only once the flips of their first wake-ups are gone, after a second.
#[test]
fn policies_that_take_no_flips_are_measured_when_there_are_none() {
    let toml = TOML.replace("NO_SIS_UTIL", "SIS_CURRENT");
    let folder = folder(&toml, &format!("{HEADER}netperf,TCP_RR,1,100,1,100,1,0,trans/s\n"));
    let tables = tables(folder.path(), &[]).unwrap();
    let effort = Effort { settle_ns: 50_000_000, time_ns: 20_000_000, ..Effort::FULL };
    let board = reproduce(&Simulator, &tables, effort, 1, &(), &AtomicBool::new(false));
    let found = board.tables[0].rows[0].simulated_compare_pct.unwrap();
    assert!(found.abs() > 1.0, "a pair on one CPU is not as fast as on two: {found}");
}

#[test]
fn what_a_table_says_wrong_is_refused_with_its_place() {
    let row = format!("{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\n");
    for (toml, rows, told) in [
        (TOML.replace("machine", "machin"), row.clone(), "DIR/mine/table.toml:1: machin"),
        (TOML.replace("better", "x") + "better = 3\n", row.clone(), "DIR/mine/table.toml:8: workloads.better"),
        (
            TOML.replace("[workloads]", "better = \"up\"\n[workloads]"),
            row.clone(),
            "expected \"positive\" or \"negative\"",
        ),
        (
            TOML.replace("TCP_RR\" = \"netperf:TCP_RR\"", "TCP_RR\" = \"netperf:TCP_RR p98\""),
            row.clone(),
            "no quantity p98",
        ),
        (TOML.to_owned(), row.replace("TCP_RR", "UDP_RR"), "rows.csv:2: column case: [workloads] of table.toml has no"),
        (TOML.to_owned(), row.replace("-48", "much"), "rows.csv:2: column compare_pct: \"much\" is not a number"),
        (TOML.to_owned(), HEADER.to_owned(), "it has no row"),
        (
            TOML.to_owned() + "[params]\n\"x,y\" = { a = 1 }\n",
            row.clone(),
            "[workloads] has no such benchmark and case",
        ),
    ] {
        let error = refused(&toml, &rows);
        assert!(error.contains(told), "{error}\nexpected {told}");
    }
}

#[test]
fn a_plan_counts_what_would_be_run() {
    let rows = format!(
        "{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\nnetperf,TCP_RR,4,200,1,200,1,0,trans/s\n\
         stream,copy,1,5,,5,,0,MB/s\n"
    );
    let folder = folder(TOML, &rows);
    let tables = tables(folder.path(), &[]).unwrap();
    let planned = plan(&Stand::default(), &tables, Effort { repeats: 3, ..Effort::FULL });
    assert_eq!((planned.runs, planned.kept), (12, 0));
    let table = &planned.tables[0];
    assert_eq!((table.rows, table.simulated, table.excluded.values().sum::<usize>()), (3, 2, 1));
    assert!(planned.cpu_s > 0.0);
}

#[test]
fn a_run_that_two_tables_need_is_planned_once() {
    let folder = folder(TOML, &format!("{HEADER}netperf,TCP_RR,2,100,1,52,1,-48,trans/s\n"));
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::copy(folder.path().join("mine/rows.csv"), other.join("rows.csv")).unwrap();
    fs::write(other.join("table.toml"), TOML.replace("NO_SIS_UTIL", "NO_WAKEUP_PREEMPTION")).unwrap();
    let planned = plan(&Stand::default(), &tables(folder.path(), &[]).unwrap(), Effort::FULL);
    // Two sides each, of which the base sides are one.
    assert_eq!((planned.tables[0].runs, planned.tables[1].runs, planned.runs), (2, 2, 3));
}

fn published() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published")
}

/// What `--dry-run` prints where no run is kept is right within a factor of 3 or so. On two cores the quick form took
/// 94 s when it was measured.
#[test]
fn the_quick_form_takes_little_time() {
    let planned = plan(&Stand::default(), &tables(&published(), &[]).unwrap(), Effort::QUICK);
    let off = planned.cpu_s / (2.0 * 94.0);
    assert!((1.0 / 3.5..3.5).contains(&off), "{} s of CPU time", planned.cpu_s);
    let simulated = planned.tables.iter().filter(|table| table.simulated > 0).count();
    assert!(3 * simulated > 2 * planned.tables.len(), "{simulated} of {} tables", planned.tables.len());
    // Jankbench simulates frames of seconds.
    let jankbench = planned.tables.iter().find(|table| table.name == "runnable-boosting-pixel6-jankbench").unwrap();
    assert!(jankbench.excluded.contains_key("takes too long for --quick"), "{:?}", jankbench.excluded);
}

/// Every table of the project can be simulated: machine, kernel, switches and workloads are known.
#[test]
fn every_published_table_can_be_simulated() {
    let mut wrong = Vec::new();
    for folder in [published(), published().join("baselines")] {
        for table in tables(&folder, &[]).unwrap() {
            let planned = plan(&Stand::default(), std::slice::from_ref(&table), Effort::FULL);
            let known = ["not a headline", "table.toml names no workload for it", "memory bandwidth is not modelled"];
            let reasons = planned.tables[0].excluded.keys().filter(|why| !known.contains(&why.as_str()));
            wrong.extend(reasons.map(|why| format!("{}: {why}", table.name)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
