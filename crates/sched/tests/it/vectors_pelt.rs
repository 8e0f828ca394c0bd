//! PELT, util_est and cpu_util compared with numbers that the kernel's own code computed: every column of every row.
//!
//! The files are in the repository's `data/vectors/`, or in the folder that `WAKELAB_VECTORS` names (same layout). The
//! ablations show that the files test each rule: without it, rows differ.

use crate::support::ablation::Ablation;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wakelab_sched::boost::BoostForm;
use wakelab_sched::pelt::util_est::{
    self, UTIL_AVG_UNCHANGED, UTIL_EST_MARGIN, UtilEstRules, util_est_dequeue, util_est_enqueue, util_est_update,
};
use wakelab_sched::pelt::{___update_load_avg, ___update_load_sum, LOAD_AVG_MAX, SchedAvg};
use wakelab_sched::util::{CpuView, TaskView, cpu_util};

/// A vector file.
struct Vectors {
    name: &'static str,
    columns: HashMap<String, usize>,
    rows: Vec<Vec<i128>>,
}

/// One row of a file.
#[derive(Clone, Copy)]
struct Row<'a> {
    file: &'a Vectors,
    cells: &'a [i128],
}

impl Vectors {
    fn read(name: &'static str) -> Vectors {
        let folder = std::env::var_os("WAKELAB_VECTORS")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"), PathBuf::from);
        let path = folder.join(name);
        let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let headers = reader.headers().unwrap_or_else(|e| panic!("{}: {e}", path.display())).clone();
        let columns = headers.iter().enumerate().map(|(at, name)| (name.to_owned(), at)).collect();
        let mut rows = Vec::new();
        for (at, record) in reader.records().enumerate() {
            let record = record.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let cell = |(column, text): (usize, &str)| -> i128 {
                text.parse().unwrap_or_else(|_| panic!("{name}, row {}, {}: `{text}`", at + 1, &headers[column]))
            };
            rows.push(record.iter().enumerate().map(cell).collect());
        }
        assert!(!rows.is_empty(), "{}: no rows", path.display());
        Vectors { name, columns, rows }
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { file: self, cells })
    }

    /// The columns of each row in which the result of `compute` differs: (row from 1, column, expected, got).
    fn differences(&self, mut compute: impl FnMut(Row) -> Computed) -> Vec<(usize, &'static str, i128, i128)> {
        let of_row = |(at, row): (usize, Row)| {
            let differs = |&(column, got): &(&'static str, i128)| row.at(column) != got;
            let wrong: Vec<_> = compute(row).into_iter().filter(differs).collect();
            wrong.into_iter().map(move |(column, got)| (at + 1, column, row.at(column), got)).collect::<Vec<_>>()
        };
        self.rows().enumerate().flat_map(of_row).collect()
    }

    /// Panics with the first differing cells.
    fn check(&self, compute: impl FnMut(Row) -> Computed) {
        let wrong = self.differences(compute);
        let mut message = String::new();
        for (row, column, expected, got) in wrong.iter().take(20) {
            writeln!(message, "{}, row {row}, {column}: expected {expected}, got {got}", self.name).unwrap();
        }
        assert!(wrong.is_empty(), "{message}{} cells differ in {} rows", wrong.len(), self.rows.len());
        println!("{}: {} rows equal", self.name, self.rows.len());
    }

    /// The number of rows that differ.
    fn differing(&self, compute: impl FnMut(Row) -> Computed) -> usize {
        let mut rows: Vec<usize> = self.differences(compute).into_iter().map(|(row, ..)| row).collect();
        rows.dedup();
        rows.len()
    }
}

impl Row<'_> {
    fn at(&self, column: &str) -> i128 {
        let at = self.file.columns.get(column).unwrap_or_else(|| panic!("{}: no column {column}", self.file.name));
        self.cells[*at]
    }

    fn int<T: TryFrom<i128>>(&self, column: &str) -> T {
        let value = self.at(column);
        T::try_from(value).unwrap_or_else(|_| panic!("{}, {column}: {value} is out of range", self.file.name))
    }

    fn flag(&self, column: &str) -> bool {
        self.at(column) != 0
    }

    /// The signals of a row of `pelt.csv`.
    fn signals(&self) -> Signals {
        Signals { load: self.int("load"), runnable: self.int("runnable"), running: self.flag("running") }
    }
}

/// Columns, and the values computed for them.
type Computed = Vec<(&'static str, i128)>;

/// The signals since the last step.
#[derive(Clone, Copy)]
struct Signals {
    load: u64,
    runnable: u64,
    running: bool,
}

/// One step of the kernel.
fn pelt_step(sa: &mut SchedAvg, now: u64, signals: Signals, avg_weight: u64) -> bool {
    let updated = ___update_load_sum(now, sa, signals.load, signals.runnable, signals.running);
    if updated {
        ___update_load_avg(sa, avg_weight);
    }
    updated
}

/// Replays `pelt.csv` through `step`, which makes one step and returns whether the averages were taken.
fn pelt_replay(mut step: impl FnMut(&mut SchedAvg, u64, Signals, u64) -> bool) -> impl FnMut(Row) -> Computed {
    let (mut sequence, mut now, mut sa) = (None, 0u64, SchedAvg::default());
    move |row| {
        let this = row.at("sequence");
        if sequence != Some(this) {
            (sequence, now, sa) = (Some(this), 0, SchedAvg::default());
        }
        now += row.int::<u64>("delta_ns");
        let updated = step(&mut sa, now, row.signals(), row.int("avg_weight"));
        vec![
            ("updated", i128::from(updated)),
            ("load_sum", sa.load_sum.into()),
            ("runnable_sum", sa.runnable_sum.into()),
            ("util_sum", sa.util_sum.into()),
            ("period_contrib", sa.period_contrib.into()),
            ("load_avg", sa.load_avg.into()),
            ("runnable_avg", sa.runnable_avg.into()),
            ("util_avg", sa.util_avg.into()),
        ]
    }
}

/// Runs `update` on the task of a row of `util_est_7_3.csv`.
fn util_est_7_3(mut update: impl FnMut(&mut SchedAvg)) -> impl FnMut(Row) -> Computed {
    move |row| {
        let mut se = SchedAvg {
            util_avg: row.int("util_avg"),
            runnable_avg: row.int("runnable_avg"),
            util_est: with_flag(row.int("util_est_before"), row.flag("flag_before")),
            ..SchedAvg::default()
        };
        let (mut enqueued, mut dequeued) =
            (SchedAvg { util_est: 1000, ..SchedAvg::default() }, SchedAvg { util_est: 500, ..SchedAvg::default() });
        util_est_enqueue(&mut enqueued, &se);
        util_est_dequeue(&mut dequeued, &se);
        if row.flag("pelt_changed") {
            util_est::cfs_se_util_change(&mut se);
        }
        update(&mut se);
        vec![
            ("util_est_after", (se.util_est & !UTIL_AVG_UNCHANGED).into()),
            ("flag_after", (se.util_est >> 31).into()),
            ("cfs_util_est_enqueued", enqueued.util_est.into()),
            ("cfs_util_est_dequeued", dequeued.util_est.into()),
        ]
    }
}

/// Runs `update(task, task_sleep, capacity_orig)` on the task of a row of `util_est_6_1.csv`.
fn util_est_6_1(mut update: impl FnMut(&mut SchedAvg, bool, u64)) -> impl FnMut(Row) -> Computed {
    move |row| {
        let mut se = SchedAvg {
            util_avg: row.int("util_avg"),
            util_est: with_flag(row.int("enqueued_before"), row.flag("flag_before")),
            util_est_ewma: row.int("ewma_before"),
            ..SchedAvg::default()
        };
        if row.flag("pelt_changed") {
            util_est::cfs_se_util_change(&mut se);
        }
        update(&mut se, row.flag("task_sleep"), row.int("capacity_orig"));
        vec![
            ("enqueued_after", (se.util_est & !UTIL_AVG_UNCHANGED).into()),
            ("ewma_after", se.util_est_ewma.into()),
            ("flag_after", (se.util_est >> 31).into()),
        ]
    }
}

fn with_flag(util_est: u32, flag: bool) -> u32 {
    util_est | if flag { UTIL_AVG_UNCHANGED } else { 0 }
}

/// The arguments of `cpu_util()` in a row of `cpu_util_7_3.csv`. An ablation changes them first.
struct CpuUtil {
    capacity: u64,
    rq: SchedAvg,
    task: Option<(u32, SchedAvg, bool)>,
    dst_cpu: Option<u32>,
    boost: bool,
    util_est: bool,
}

fn cpu_util_7_3(mut change: impl FnMut(&mut CpuUtil)) -> impl FnMut(Row) -> Computed {
    move |row| {
        let task = || {
            let avg = SchedAvg {
                util_avg: row.int("task_util_avg"),
                runnable_avg: row.int("task_runnable_avg"),
                util_est: with_flag(row.int("task_util_est"), row.flag("task_util_est_flag")),
                ..SchedAvg::default()
            };
            (row.int("task_cpu"), avg, row.flag("task_queued") || row.flag("task_is_current"))
        };
        let mut input = CpuUtil {
            capacity: row.int("capacity"),
            rq: SchedAvg {
                util_avg: row.int("cpu_util_avg"),
                runnable_avg: row.int("cpu_runnable_avg"),
                util_est: row.int("cpu_util_est"),
                ..SchedAvg::default()
            },
            task: row.flag("task_present").then(task),
            dst_cpu: u32::try_from(row.at("dst_cpu")).ok(),
            boost: row.flag("boost"),
            util_est: row.flag("util_est_enabled"),
        };
        change(&mut input);
        let CpuUtil { capacity, rq, task, dst_cpu, boost, util_est } = &input;
        let cpu = CpuView { cpu: 0, avg: rq, capacity: *capacity };
        let task = task.as_ref().map(|(cpu, avg, enqueued)| TaskView { cpu: *cpu, avg, enqueued: *enqueued });
        vec![(
            "cpu_util",
            cpu_util(&cpu, task.as_ref(), *dst_cpu, boost.then_some(BoostForm::CpuAndTask), *util_est).into(),
        )]
    }
}

fn v7_3(se: &mut SchedAvg) {
    util_est_update(UtilEstRules::V7_3, se, true, 1024);
}

fn v6_1(se: &mut SchedAvg, task_sleep: bool, capacity_orig: u64) {
    util_est_update(UtilEstRules::V6_1 { fastup: true }, se, task_sleep, capacity_orig);
}

#[test]
fn pelt_equals_the_vectors() {
    Vectors::read("pelt.csv").check(pelt_replay(pelt_step));
}

#[test]
fn util_est_7_3_equals_the_vectors() {
    Vectors::read("functions/util_est_7_3.csv").check(util_est_7_3(v7_3));
}

#[test]
fn util_est_6_1_equals_the_vectors() {
    Vectors::read("functions/util_est_6_1.csv").check(util_est_6_1(v6_1));
}

#[test]
fn cpu_util_7_3_equals_the_vectors() {
    Vectors::read("functions/cpu_util_7_3.csv").check(cpu_util_7_3(|_| {}));
}

/// Adds the number of rows that differ with a rule off to a table.
fn ablate(table: &mut Ablation, vectors: &Vectors, rule: &str, compute: impl FnMut(Row) -> Computed) {
    table.row(vectors.name, rule, vectors.rows.len(), vectors.differing(compute));
}

/// No row can show one more rule, that nothing runs without load, because none has `running` without `load`.
/// `pelt_properties.rs` tests it.
#[test]
fn ablation_of_pelt_vectors() {
    let (mut table, vectors) = (Ablation::new("pelt", &[]), Vectors::read("pelt.csv"));
    ablate(&mut table, &vectors, "period_contrib is carried over (0)", {
        pelt_replay(|sa, now, signals, weight| {
            sa.period_contrib = 0;
            pelt_step(sa, now, signals, weight)
        })
    });
    ablate(&mut table, &vectors, "time below 1024 ns is kept (dropped)", {
        pelt_replay(|sa, now, signals, weight| {
            let updated = pelt_step(sa, now, signals, weight);
            sa.last_update_time = now;
            updated
        })
    });
    ablate(&mut table, &vectors, "runnable (0)", {
        pelt_replay(|sa, now, signals, weight| pelt_step(sa, now, Signals { runnable: 0, ..signals }, weight))
    });
    ablate(&mut table, &vectors, "runnable counts tasks (0 or 1)", {
        pelt_replay(|sa, now, signals, weight| {
            let signals = Signals { runnable: signals.runnable.min(1), ..signals };
            pelt_step(sa, now, signals, weight)
        })
    });
    ablate(&mut table, &vectors, "the divider follows period_contrib (LOAD_AVG_MAX)", {
        pelt_replay(|sa, now, signals, weight| {
            let updated = ___update_load_sum(now, sa, signals.load, signals.runnable, signals.running);
            if updated {
                let divider = u64::from(LOAD_AVG_MAX);
                sa.load_avg = weight.wrapping_mul(sa.load_sum) / divider;
                sa.runnable_avg = sa.runnable_sum / divider;
                sa.util_avg = u64::from(sa.util_sum) / divider;
            }
            updated
        })
    });
    ablate(&mut table, &vectors, "averages are taken at period boundaries (always)", {
        pelt_replay(|sa, now, signals, weight| {
            let updated = ___update_load_sum(now, sa, signals.load, signals.runnable, signals.running);
            ___update_load_avg(sa, weight);
            updated
        })
    });
    ablate(&mut table, &vectors, "what is added decays as well (added whole)", {
        pelt_replay(|sa, now, signals, weight| {
            let delta = (now - sa.last_update_time) >> 10;
            let updated = ___update_load_sum(now, sa, 0, 0, false);
            sa.load_sum += signals.load * delta;
            sa.runnable_sum += (signals.runnable * delta) << 10;
            sa.util_sum = sa.util_sum.wrapping_add(((u64::from(signals.running) * delta) << 10) as u32);
            if updated {
                ___update_load_avg(sa, weight);
            }
            updated
        })
    });
    ablate(&mut table, &vectors, "load_avg is weighted (weight 1)", {
        pelt_replay(|sa, now, signals, _| pelt_step(sa, now, signals, 1))
    });
    table.check();
}

/// The rules of `util_est_update()` of 7.3, for a second form of it in which each can be switched off.
#[derive(Clone, Copy)]
struct Rules {
    unchanged: bool,
    fast_up: bool,
    margin: u32,
    waited: bool,
}

const ALL: Rules = Rules { unchanged: true, fast_up: true, margin: UTIL_EST_MARGIN, waited: true };

fn util_est_update_by(rules: Rules) -> impl FnMut(&mut SchedAvg) {
    move |se| {
        let flagged = se.util_est & UTIL_AVG_UNCHANGED != 0;
        let (ewma, sample) = ((se.util_est & !UTIL_AVG_UNCHANGED) as i64, se.util_avg as i64);
        if rules.unchanged && flagged {
            return;
        }
        let keep = (ewma - sample).unsigned_abs() < u64::from(rules.margin)
            || (rules.waited && se.util_avg + u64::from(UTIL_EST_MARGIN) < se.runnable_avg);
        let next = match sample >= ewma {
            true if rules.fast_up => sample,
            _ if keep => ewma,
            _ => (4 * ewma + sample - ewma) >> 2,
        };
        se.util_est = next as u32 | UTIL_AVG_UNCHANGED;
    }
}

#[test]
fn ablation_of_util_est_vectors() {
    let vectors = Vectors::read("functions/util_est_7_3.csv");
    assert_eq!(vectors.differing(util_est_7_3(util_est_update_by(ALL))), 0, "the second form with all rules on");
    let mut table = Ablation::new("util-est", &[]);
    let mut off = |rule, rules| ablate(&mut table, &vectors, rule, util_est_7_3(util_est_update_by(rules)));
    off("UTIL_AVG_UNCHANGED skips the update", Rules { unchanged: false, ..ALL });
    off("UTIL_EST_FASTUP (rises are averaged)", Rules { fast_up: false, ..ALL });
    off("falls below the margin are ignored (averaged)", Rules { margin: 0, ..ALL });
    off("no fall for a task that waited (averaged)", Rules { waited: false, ..ALL });

    let vectors = Vectors::read("functions/util_est_6_1.csv");
    ablate(&mut table, &vectors, "UTIL_AVG_UNCHANGED skips the update", {
        util_est_6_1(|se, sleep, capacity| {
            util_est::cfs_se_util_change(se);
            v6_1(se, sleep, capacity);
        })
    });
    ablate(&mut table, &vectors, "UTIL_EST_FASTUP", {
        util_est_6_1(|se, sleep, capacity| util_est_update(UtilEstRules::V6_1 { fastup: false }, se, sleep, capacity))
    });
    ablate(
        &mut table,
        &vectors,
        "only a sleep ends an activation (every dequeue)",
        util_est_6_1(|se, _, capacity| v6_1(se, true, capacity)),
    );
    ablate(
        &mut table,
        &vectors,
        "no average above the CPU's capacity (unbounded)",
        util_est_6_1(|se, sleep, _| v6_1(se, sleep, u64::MAX)),
    );
    table.check();
}

#[test]
fn ablation_of_cpu_util_vectors() {
    let vectors = Vectors::read("functions/cpu_util_7_3.csv");
    let mut table = Ablation::new("cpu-util", &[]);
    let mut off = |rule, change: fn(&mut CpuUtil)| ablate(&mut table, &vectors, rule, cpu_util_7_3(change));
    off("the boost by runnable_avg", |input| input.boost = false);
    off("UTIL_EST", |input| input.util_est = false);
    off("capped by the CPU's capacity (unbounded)", |input| input.capacity = u64::MAX);
    off("the task moves (no task)", |input| input.task = None);
    off("an enqueued task's estimate is taken off (kept)", |input| {
        input.task = input.task.map(|(cpu, avg, _)| (cpu, avg, false));
    });
    off("a waking task's estimate is kept (taken off)", |input| {
        input.task = input.task.map(|(cpu, avg, _)| (cpu, avg, true));
    });
    table.check();
}
