//! The result of a comparison: plain data for tables and JSON.

use super::decided_nothing::{RanAs, decided_nothing};
use super::published::{PublishedRow, SearchRates};
use super::sides::differ;
use super::{Block, Case, DecidedNothing, PowerSummary, RegretSummary, SearchSummary, Until, Variant};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use wakelab_machine::Machine;
use wakelab_measure::{Latency, OpTime, RunStats, ThreadPeriods};
use wakelab_statistics::{Better, WELCH, difference, mean, std_pct};
use wakelab_workload::Workload;

/// The origin of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A model ran.
    Simulated,
}

/// The description of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExperimentInfo {
    /// The name: `name` of the file, else its stem; `compare` if the experiment is from flags.
    pub name: String,
    /// The name of the machine.
    pub machine: String,
    /// The name of the kernel.
    pub kernel: String,
    /// The workloads with their loads as given, each `netperf:TCP_RR 25%..200%/25%`.
    pub workloads: Vec<String>,
    /// The seed from which the seeds of the runs are derived.
    pub seed: u64,
    /// The number of runs of each case on each side, 1 or more; with `until`, the fewest.
    pub repeats: u32,
    /// How exact the intervals were to be; `None` for a fixed number of repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// The simulated time before measuring begins, ns.
    pub settle_ns: u64,
    /// The measured time, ns. A run takes `settle_ns + time_ns`.
    pub time_ns: u64,
    /// The switches of the base side as given; may be empty.
    pub base: String,
    /// The switches of the other side as given; may be empty.
    pub with: String,
    /// What the sides differ in, as `with` has it beside `base`, a setting each: `SIS_PROP on`, `migration_cost 0 (base
    /// 500000)`; empty if both are the same.
    pub differ: Vec<String>,
    /// What a side has that its switches do not say: which default a switch replaces, and which it is added to.
    pub notes: Vec<String>,
    /// The assumed cost of a tracer at each call of `select_idle_cpu()`, ns; 0 if there is none.
    pub observer_cost_ns: u64,
    /// The CPUs that the workloads are restricted to, as given; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<String>,
}

/// A number of the model that no source gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// The owner of the number: `machine`, or the workload (`netperf:TCP_RR`).
    pub of: String,
    /// Its name there.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The value that was used.
    pub value: u64,
    /// The lowest plausible value.
    pub low: u64,
    /// The highest plausible value.
    pub high: u64,
    /// The reason for this value.
    pub why: String,
}

/// The comparison of base and with over all cases.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The origin of the numbers.
    pub kind: Kind,
    /// The description of the experiment.
    pub experiment: ExperimentInfo,
    /// The machine. It is not serialised here, because the report decides what of it is shown.
    #[serde(skip)]
    pub machine: Machine,
    /// The schedulers of sched_ext on the sides, by name; empty if the fair class decides on both.
    pub schedulers: Vec<String>,
    /// A row for each workload and load, in the order of the experiment.
    pub rows: Vec<CompareRow>,
    /// Whether all rows are there: false after a stop.
    pub complete: bool,
    /// The assumed numbers of the machine and the workloads.
    pub assumed: Vec<Assumed>,
    /// The files of the published tables.
    pub published: Vec<PathBuf>,
}

/// A case at one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareRow {
    /// `netperf`.
    pub benchmark: String,
    /// `TCP_RR`.
    pub case: String,
    /// `224 threads`.
    pub load: String,
    /// The metric: `throughput`.
    pub metric: String,
    /// The unit of the metric: `trans/s`.
    pub unit: String,
    /// The direction in which the metric is better.
    pub better: Better,
    /// The base side.
    pub base: Side,
    /// The other side.
    pub with: Side,
    /// How much better `with` is, in % of the base's mean. Positive is better for every metric.
    pub compare_pct: f64,
    /// The standard deviation of `with` in % of its own mean, as schedtests prints it in brackets; 0 for one repeat.
    pub compare_std_pct: f64,
    /// The 95% interval of `compare_pct`, \[low, high\]; `None` for one repeat, and for identical sides.
    pub ci95: Option<[f64; 2]>,
    /// The two-sided p value of equal means; `None` for one repeat, and for identical sides.
    pub p_value: Option<f64>,
    /// The test that gave both; `None` if there was none.
    pub test: Option<&'static str>,
    /// The settings in which the sides differ that decided nothing in this row.
    pub decided_nothing: Vec<DecidedNothing>,
    /// The published row of this case and load.
    pub published: Option<PublishedRow>,
    /// The published search statistics of the base side of this case and load.
    pub published_search: Option<SearchRates>,
}

/// A side of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// The switches as given; may be empty.
    pub label: String,
    /// The names of all features that are on.
    pub features: Vec<&'static str>,
    /// The mean of `values`, in the unit of the row.
    pub mean: f64,
    /// The sample standard deviation of `values`, % of the mean; 0 for one repeat.
    pub std_pct: f64,
    /// The number of values.
    pub n: usize,
    /// The metric of each repeat.
    pub values: Vec<f64>,
    /// The search statistics of all repeats.
    pub search: SearchSummary,
    /// From the begin of a wake-up of the workload's tasks to the switch to the task, ns; mean over repeats. `None` if
    /// none was woken.
    pub wakeup_latency_ns: Option<WakeupLatency>,
    /// The CPU time that was not idle per wake-up of the workload's tasks, ns; mean over repeats. `None` if none was
    /// woken.
    pub busy_ns_per_wakeup: Option<f64>,
    /// The median latency of a transaction, ns; mean over repeats.
    pub latency_p50_ns: f64,
    /// The 99th percentile of the latency, ns; mean over repeats.
    pub latency_p99_ns: f64,
    /// The CPU time of the machine, idle time too, per search, ns; mean over repeats.
    pub cpu_ns_per_wakeup: f64,
    /// The migrations by load balancing; mean over repeats.
    pub migrations: f64,
    /// The share of the machine's CPU time that was idle, %; mean over repeats.
    pub idle_pct: f64,
    /// The share of the busy CPU time that was spent waiting for run-queue locks, %; mean over repeats.
    pub rq_lock_pct: f64,
    /// The involuntary context switches; mean over repeats.
    pub switches_involuntary: f64,
    /// The utilisation of the LLCs as periodic balancing saw it, 0 to 1; mean over repeats. `None` if there was no
    /// balancing.
    pub llc_util: Option<f64>,
    /// The threads that wait for periodic timers; empty if there is none.
    pub threads: Vec<ThreadSummary>,
    /// The changes that perfect knowledge would have made; `None` if they were not asked for.
    pub regret: Option<RegretSummary>,
    /// Frequencies, idle states and energy; `None` if no governor was active.
    pub power: Option<PowerSummary>,
    /// What the core and a scheduler of sched_ext counted in a whole run, by name; mean over repeats. Empty without a
    /// scheduler.
    pub scheduler: Vec<(String, f64)>,
    /// The operations of that scheduler: their calls in a whole run, mean over repeats, and the time of a call.
    pub scheduler_ops: Vec<OpSummary>,
    /// The numbers of each repeat.
    pub runs: Vec<RunStats>,
}

/// Wake-up latencies, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WakeupLatency {
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest of all repeats.
    pub max: f64,
}

impl WakeupLatency {
    /// Of one latency a run.
    fn of<'a>(runs: impl Iterator<Item = &'a Latency>) -> Option<Self> {
        let woken: Vec<&Latency> = runs.filter(|one| one.n > 0).collect();
        let over = |of: fn(&Latency) -> u64| mean(&woken.iter().map(|one| of(one) as f64).collect::<Vec<_>>());
        let max = woken.iter().map(|one| one.max).max()?;
        Some(WakeupLatency { p50: over(|l| l.p50), p95: over(|l| l.p95), p99: over(|l| l.p99), max: max as f64 })
    }
}

/// A thread that waits for a periodic timer, mean over repeats.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadSummary {
    /// Its name.
    pub name: String,
    /// The periods of all repeats whose work was done.
    pub periods: u64,
    /// Those of them whose work was done after the next period had begun, %.
    pub missed_pct: f64,
    /// The mean time between the end of the work and the begin of the next period, ns; negative if that was missed.
    pub slack_mean_ns: f64,
    /// The least of all repeats, ns.
    pub slack_min_ns: i64,
    /// From the begin of its wake-ups to the switch to it, ns; `None` if it was not woken.
    pub wakeup_latency_ns: Option<WakeupLatency>,
}

impl ThreadSummary {
    /// Of each thread that had a period in a run, in the order of the tasks. jankbench counts its frames: its periodic
    /// thread is the display, which has slack whatever becomes of a frame.
    fn of(workload: &Workload, runs: &[RunStats]) -> Vec<Self> {
        if workload.benchmark == "jankbench" {
            return Vec::new();
        }
        let mut by_thread: BTreeMap<u32, Vec<&ThreadPeriods>> = BTreeMap::new();
        for thread in runs.iter().flat_map(|run| &run.threads) {
            by_thread.entry(thread.thread).or_default().push(thread);
        }
        let summary = |(thread, all): (u32, Vec<&ThreadPeriods>)| {
            let periods: u64 = all.iter().map(|thread| thread.periods).sum();
            let missed: u64 = all.iter().map(|thread| thread.missed).sum();
            // Threads that the workload's tasks fork have no name of their own.
            let task = workload.tasks.get(thread as usize);
            let name = task.map_or_else(|| format!("forked {thread}"), |task| task.name.clone());
            ThreadSummary {
                name,
                periods,
                missed_pct: 100.0 * missed as f64 / periods as f64,
                slack_mean_ns: mean(&all.iter().map(|thread| thread.slack_mean_ns).collect::<Vec<_>>()),
                slack_min_ns: all.iter().map(|thread| thread.slack_min_ns).min().unwrap_or(0),
                wakeup_latency_ns: WakeupLatency::of(all.iter().map(|thread| &thread.wakeup_latency)),
            }
        };
        by_thread.into_iter().map(summary).collect()
    }
}

impl CompareRow {
    /// Whether both sides have the same value with every seed.
    pub fn is_identical(&self) -> bool {
        self.base.values == self.with.values
    }

    /// Whether this is the row of a workload at its load.
    pub(super) fn is_of(&self, workload: &Workload) -> bool {
        (&self.benchmark, &self.case, &self.load) == (&workload.benchmark, &workload.case, &workload.load)
    }
}

impl Comparison {
    /// Returns the row with the same workload and load as `row`, which may belong to another comparison.
    pub fn row_like(&self, row: &CompareRow) -> Option<&CompareRow> {
        let key = |row: &CompareRow| (row.benchmark.clone(), row.case.clone(), row.load.clone());
        self.rows.iter().find(|other| key(other) == key(row))
    }
}

/// Builds the row of a case, of whose sides the other one is `other`.
pub(super) fn row(block: &Block, case: &Case, other: &Variant, base: Vec<RunStats>, with: Vec<RunStats>) -> CompareRow {
    let workload = &case.workload;
    let decided_nothing = decided_nothing(
        &differ(&block.base, other),
        workload,
        RanAs::of(block, &block.base, &base),
        RanAs::of(block, other, &with),
    );
    let better = if workload.higher_is_better { Better::Higher } else { Better::Lower };
    let (base, with) = (side(workload, &block.base, base), side(workload, other, with));
    let difference = difference(&base.values, &with.values, better);
    CompareRow {
        benchmark: workload.benchmark.clone(),
        case: workload.case.clone(),
        load: workload.load.clone(),
        metric: workload.metric.clone(),
        unit: workload.unit.clone(),
        better,
        compare_pct: difference.compare_pct,
        compare_std_pct: with.std_pct,
        ci95: difference.ci95,
        p_value: difference.p_value,
        test: difference.p_value.map(|_| WELCH),
        decided_nothing,
        published: block.published.result(workload),
        published_search: block.published.search(workload),
        base,
        with,
    }
}

/// The mean of each counter over the runs, which have the same ones.
fn counters(runs: &[RunStats]) -> Vec<(String, f64)> {
    let names = runs.first().map_or(&[][..], |run| &run.scheduler);
    let of = |at: usize| mean(&runs.iter().map(|run| run.scheduler[at].1 as f64).collect::<Vec<_>>());
    names.iter().enumerate().map(|(at, (name, _))| (name.clone(), of(at))).collect()
}

/// Calls of an operation of a sched_ext scheduler.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpSummary {
    /// Its member of `struct sched_ext_ops`, such as `select_cpu`.
    pub op: String,
    /// Calls in a whole run, mean over repeats.
    pub calls: f64,
    /// The mean time of a call, ns at full speed, with waits for the locks of queues; `None` if there was no call.
    pub mean_ns: Option<f64>,
}

impl OpSummary {
    /// Of the operations that the scheduler of these runs has.
    fn of(runs: &[RunStats]) -> Vec<Self> {
        let ops = runs.first().map_or(&[][..], |run| &run.scheduler_ops);
        let sum = |at: usize, of: fn(&OpTime) -> u64| runs.iter().map(|run| of(&run.scheduler_ops[at])).sum::<u64>();
        ops.iter()
            .enumerate()
            .map(|(at, OpTime { op, .. })| {
                let (calls, ns) = (sum(at, |time| time.calls), sum(at, |time| time.ns));
                OpSummary {
                    op: op.clone(),
                    calls: calls as f64 / runs.len() as f64,
                    mean_ns: (calls > 0).then(|| ns as f64 / calls as f64),
                }
            })
            .collect()
    }
}

fn side(workload: &Workload, variant: &Variant, runs: Vec<RunStats>) -> Side {
    let values: Vec<f64> = runs.iter().map(|run| run.metric(&workload.metric)).collect();
    let over_runs = |number: fn(&RunStats) -> f64| mean(&runs.iter().map(number).collect::<Vec<_>>());
    let busy: Vec<f64> = runs.iter().filter_map(|run| run.busy_ns_per_wakeup).collect();
    let utils: Vec<f64> = runs.iter().filter_map(|run| run.llc_util).collect();
    Side {
        label: variant.label.clone(),
        features: variant.features.iter().map(|feature| feature.name()).collect(),
        mean: mean(&values),
        std_pct: std_pct(&values),
        n: values.len(),
        search: SearchSummary::of(&runs),
        wakeup_latency_ns: WakeupLatency::of(runs.iter().map(|run| &run.wakeup_latency)),
        busy_ns_per_wakeup: (!busy.is_empty()).then(|| mean(&busy)),
        latency_p50_ns: over_runs(|run| run.latency.p50 as f64),
        latency_p99_ns: over_runs(|run| run.latency.p99 as f64),
        cpu_ns_per_wakeup: over_runs(|run| run.cpu_ns_per_wakeup),
        migrations: over_runs(|run| run.migrations as f64),
        idle_pct: over_runs(|run| run.idle_pct),
        rq_lock_pct: over_runs(|run| run.rq_lock_pct),
        switches_involuntary: over_runs(|run| run.switches_involuntary as f64),
        llc_util: (!utils.is_empty()).then(|| mean(&utils)),
        threads: ThreadSummary::of(workload, &runs),
        regret: RegretSummary::of(&runs),
        power: PowerSummary::of(&runs),
        scheduler: counters(&runs),
        scheduler_ops: OpSummary::of(&runs),
        values,
        runs,
    }
}
