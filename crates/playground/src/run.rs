//! A side that is simulated step by step.

use crate::description::{Problem, Side};
use crate::frame::{Begun, Cpus, Finished, Frame, Llc};
use crate::watch::{Bin, NOT_PLACED, Watch};
use wakelab_input::duration_text;
use wakelab_kernel::Feature;
use wakelab_measure::{Measure, State};
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::{IdleScanForm, IdleScanRules, policy};
use wakelab_sim::observe::{Doing, LlcSnapshot};
use wakelab_sim::steps::{Prepared, Steps, domains};
use wakelab_workload::TIME;

/// The length of a bin of a short run, ns.
const BIN_NS: u64 = 1_000_000;

/// How many bins a run has at most, unless it ends when its tasks have exited.
const BINS: u64 = 1_000;

/// Who listens: what `wakelab compare` measures, and what the page is shown.
pub(crate) type Listeners = (Measure, Watch);

/// A run under way.
#[derive(Debug)]
pub struct Run<'a> {
    side: &'a Side,
    steps: Steps<'a, 'a, Listeners>,
    bin_ns: u64,
    /// The bins that are over and that no frame has had.
    bins: Vec<Bin>,
    at_ns: u64,
    over: bool,
    /// How many tasks frames have named.
    named: u32,
}

impl Run<'_> {
    /// Begins a run of `side` and passes it to `use_it`.
    ///
    /// # Errors
    /// Where the kernel or the machine is not modelled, or the workload is at odds with them.
    pub fn with<T>(side: &Side, use_it: impl FnOnce(Run<'_>) -> T) -> Result<T, Problem> {
        let setup = side.setup();
        let domains = domains(&setup)?;
        let prepared = Prepared::new(&setup, &domains)?;
        let mut listeners = listeners(side);
        Ok(use_it(Run::new(side, &prepared, &mut listeners)))
    }
}

/// The listeners of a run that has not begun.
pub(crate) fn listeners(side: &Side) -> Listeners {
    let nr_cpus = side.machine.topology.nr_cpus();
    (Measure::new(side.seed, side.settle_ns, side.until_ns, nr_cpus), Watch::new(side.settle_ns, nr_cpus))
}

impl<'a> Run<'a> {
    pub(crate) fn new(side: &'a Side, prepared: &'a Prepared<'a>, listeners: &'a mut Listeners) -> Self {
        let bin_ns = match side.workload.metric.as_str() {
            TIME => BIN_NS,
            _ => side.until_ns.div_ceil(BINS).div_ceil(BIN_NS) * BIN_NS,
        };
        let steps = Steps::new(prepared, &side.setup(), listeners);
        Run { side, steps, bin_ns, bins: Vec::new(), at_ns: 0, over: false, named: 0 }
    }

    /// Describes a run that begins, for the page.
    pub fn begun(&self) -> Begun {
        let Side { machine, variant, workload, seed, settle_ns, until_ns, warnings } = self.side;
        let cpu = |cpu: &wakelab_sched::domain::CpuTopology| [cpu.core, cpu.llc, cpu.node, cpu.package];
        let searches = policy::switches().map(|switch| switch.feature);
        Begun {
            machine: machine.name.clone(),
            kernel: variant.kernel.name,
            load: workload.load.clone(),
            metric: workload.metric.clone(),
            unit: workload.unit.clone(),
            higher_is_better: workload.higher_is_better,
            seed: *seed,
            settle_ns: *settle_ns,
            until_ns: *until_ns,
            bin_ns: self.bin_ns,
            cpus: machine.topology.cpus.iter().map(cpu).collect(),
            policies: searches.filter(|&one| variant.features.has(one)).map(Feature::name).collect(),
            sis_util_pct: sis_util_pct(self.side),
            warnings: warnings.clone(),
        }
    }

    /// Goes on up to `time`, ns from the start, or to the end of the run. Returns whether it is over. A time that has
    /// been reached changes nothing.
    ///
    /// # Errors
    /// Where the workload does what no program may.
    pub fn advance(&mut self, time: u64) -> Result<bool, Problem> {
        while !self.over && self.at_ns < time {
            let bin_end = (self.at_ns / self.bin_ns + 1) * self.bin_ns;
            let next = time.min(bin_end).min(self.side.until_ns);
            self.over = self.steps.advance(next)?;
            self.at_ns = if self.over { self.steps.snapshot().now() } else { next };
            if self.at_ns == bin_end || self.over {
                self.close_bin();
            }
        }
        Ok(self.over)
    }

    /// When it is, ns from the start.
    pub fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn close_bin(&mut self) {
        let llcs = self.steps.snapshot().llcs();
        let [sum, full] = llcs.iter().fold([0, 0], |[sum, full], llc| [sum + llc.sum_util, full + capacity(llc)]);
        let scans = sums_utilisation(self.side);
        let bin = &mut self.steps.sink_mut().1.bin;
        bin.llc_util = sum as f64 / full as f64;
        bin.nr_idle_scan = scans.then(|| llcs.iter().map(|llc| i64::from(llc.nr_idle_scan)).sum());
        self.bins.push(std::mem::take(bin));
    }

    /// The contents of the page now. Events since the last frame are in this one, and in none after it.
    pub fn frame(&mut self) -> Frame {
        let at_ns = self.at_ns;
        let changes = self.steps.sink().0.changes_by(at_ns);
        let step = std::mem::take(&mut self.steps.sink_mut().1.step);
        let (bins, names) = (std::mem::take(&mut self.bins), self.new_names());
        let (watch, snapshot) = (&self.steps.sink().1, self.steps.snapshot());
        let mut cpus = Cpus::default();
        for cpu in snapshot.cpus() {
            cpus.doing.push(letter(cpu.doing));
            cpus.task.push(cpu.curr.map_or(-1, |task| i64::from(task.0)));
            cpus.reason.push(cpu.curr.map_or(NOT_PLACED, |task| watch.reason_of(task.0)));
            cpus.queue.push(cpu.nr_running);
        }
        let scans = sums_utilisation(self.side);
        let llc = |llc: LlcSnapshot| Llc {
            first: llc.first,
            weight: llc.weight,
            util: llc.sum_util as f64 / capacity(&llc) as f64,
            balanced: watch.balanced(llc.first),
            nr_idle_scan: scans.then_some(llc.nr_idle_scan),
            has_idle_cores: llc.has_idle_cores,
        };
        Frame {
            at_ns,
            over: self.over,
            cpus,
            llcs: snapshot.llcs().into_iter().map(llc).collect(),
            bins,
            step,
            latency: [watch.latency.n, watch.latency.p50, watch.latency.p99],
            done: watch.done,
            state: changes.last().map_or(State::Migrating, |change| change.state),
            changes,
            names,
        }
    }

    fn new_names(&mut self) -> Vec<String> {
        let snapshot = self.steps.snapshot();
        let all = snapshot.nr_tasks();
        let names = (self.named..all).map(|task| snapshot.task_name(TaskId(task))).collect();
        self.named = all;
        names
    }

    /// The result of a run that is over.
    ///
    /// # Errors
    /// Where the workload has deadlocked, or nothing was measured that gives its metric.
    pub fn finish(self) -> Result<Finished, Problem> {
        let Side { workload, settle_ns, .. } = self.side;
        let (outcome, listeners) = self.steps.finish()?;
        let ended = outcome.ended;
        if workload.metric == TIME && !outcome.exited {
            let what = format!("some task had not exited after {}", duration_text(ended));
            return Err(Problem::new("run", what));
        }
        let mut stats = listeners.0.clone().finish(ended);
        stats.power = outcome.power;
        if stats.measured_ns == 0 {
            let (ended, settle) = (duration_text(ended), duration_text(*settle_ns));
            let what =
                format!("all tasks had exited at {ended}, before measuring began at {settle}; settle for less time");
            return Err(Problem::new("settle", what));
        }
        if stats.done == 0 {
            let measured = duration_text(stats.measured_ns);
            let what = format!("no transaction was done in the {measured} that were measured; measure for longer");
            return Err(Problem::new("time", what));
        }
        Ok(Finished { value: stats.metric(&workload.metric), stats })
    }
}

/// The most that the sum of an LLC's utilisation can be.
fn capacity(llc: &LlcSnapshot) -> u64 {
    u64::from(llc.weight) * 1024
}

/// Whether the side has a form of SIS_UTIL, so that balancing writes `nr_idle_scan`.
fn sums_utilisation(side: &Side) -> bool {
    IdleScanForm::of(side.variant.features).is_some()
}

/// The percentage by which SIS_UTIL stops searching; `None` if no form is on that reads it.
fn sis_util_pct(side: &Side) -> Option<u64> {
    let rules = IdleScanRules::new(side.variant.features, &side.variant.kernel.tunables)?;
    let own = side.variant.kernel.domains.imbalance_pct;
    matches!(rules.form, IdleScanForm::V1 | IdleScanForm::Merged).then(|| u64::from(rules.pct.unwrap_or(own)))
}

fn letter(doing: Doing) -> char {
    match doing {
        Doing::Idle => 'i',
        Doing::IdleEntry | Doing::IdleExit => 'e',
        Doing::Search(_) => 's',
        Doing::Run => 'r',
        _ => 'k',
    }
}
