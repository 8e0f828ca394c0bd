//! Search statistics of a side, and its regret: what perfect knowledge would have changed.

use serde::Serialize;
use wakelab_measure::regret::{
    CpuTimeOf, ProbeRegret, RegretStats, SearchRegret, StateRegret, WakeupRegret, position_range,
};
use wakelab_measure::{Bucket, RunStats, SearchStats, State};

/// Search statistics, summed over repeats. The rates are those of the sums; `None` if the divisor is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchSummary {
    /// The four counters.
    #[serde(flatten)]
    pub counts: SearchStats,
    /// [`SearchStats::se_eff_pct`].
    pub se_eff_pct: Option<f64>,
    /// [`SearchStats::dom_eff_pct`].
    pub dom_eff_pct: Option<f64>,
    /// [`SearchStats::fast_rate_pct`].
    pub fast_rate_pct: Option<f64>,
    /// [`SearchStats::success_rate_pct`].
    pub success_rate_pct: Option<f64>,
    /// [`SearchStats::scanned_per_domain_search`].
    pub scanned_per_domain_search: Option<f64>,
    /// [`SearchStats::looks_per_domain_search`].
    pub looks_per_domain_search: Option<f64>,
    /// The durations of `select_idle_cpu()`, ns, in buckets of powers of two.
    pub select_idle_cpu_ns: Vec<Bucket>,
}

impl SearchSummary {
    /// Sums up runs.
    pub fn of(runs: &[RunStats]) -> Self {
        let counts: SearchStats = runs.iter().map(|run| run.search).sum();
        SearchSummary {
            counts,
            se_eff_pct: counts.se_eff_pct(),
            dom_eff_pct: counts.dom_eff_pct(),
            fast_rate_pct: counts.fast_rate_pct(),
            success_rate_pct: counts.success_rate_pct(),
            scanned_per_domain_search: counts.scanned_per_domain_search(),
            looks_per_domain_search: counts.looks_per_domain_search(),
            select_idle_cpu_ns: add_buckets(runs),
        }
    }
}

/// Adds up the histograms of the runs, the lowest bucket first.
fn add_buckets(runs: &[RunStats]) -> Vec<Bucket> {
    let mut sum: Vec<Bucket> = Vec::new();
    for bucket in runs.iter().flat_map(|run| &run.select_idle_cpu_ns) {
        match sum.binary_search_by_key(&bucket.from, |b| b.from) {
            Ok(at) => sum[at].count += bucket.count,
            Err(at) => sum.insert(at, *bucket),
        }
    }
    sum
}

/// Regret, summed over repeats. Shares and costs are those of the sums; `None` if the divisor is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegretSummary {
    /// Regret of wake-ups.
    pub wakeups: WakeupSummary,
    /// Regret of searches that the fast path did not end.
    pub searches: SearchesSummary,
    /// Regret of the probes of these searches.
    pub looks: LooksSummary,
    /// How many probes would have been enough: the number of searches whose first idle CPU was at these positions.
    pub enough: Vec<Positions>,
    /// The number of searches for which no probe was enough, because no CPU was idle when they began.
    pub enough_never: u64,
    /// CPU time by where wakees were put.
    pub cpu: CpuSummary,
    /// CPU time by state.
    pub states: StatesSummary,
}

/// Regret of wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeupSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: WakeupRegret,
    /// The share of all wake-ups that chose a CPU which was busy or claimed when they began, though an idle one
    /// existed, %.
    pub missed_pct: Option<f64>,
}

/// Regret of searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchesSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: SearchRegret,
    /// The share of all searches that failed though some CPU was idle both when they began and when they ended, %.
    pub missed_pct: Option<f64>,
}

/// Regret of probes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LooksSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: ProbeRegret,
    /// The share of all probes that could not succeed, %.
    pub futile_pct: Option<f64>,
}

/// A bucket of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Positions {
    /// The lowest position, from 1.
    pub from: u32,
    /// The highest position; `None` in the last bucket.
    pub to: Option<u32>,
    /// The number of searches.
    pub count: u64,
}

/// CPU time of one kind of wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostOf {
    /// Wake-ups and time.
    #[serde(flatten)]
    pub counts: CpuTimeOf,
    /// CPU time per wake-up, ns.
    pub ns_per_wakeup: Option<f64>,
}

/// CPU time by where wakees were put.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuSummary {
    /// On an idle CPU.
    pub on_idle: CostOf,
    /// On a CPU that looked idle but was claimed already.
    pub on_claimed: CostOf,
    /// On a busy CPU.
    pub on_busy: CostOf,
    /// The CPU time of everything else.
    pub other: CostOf,
    /// All CPU time, per wake-up of the three kinds.
    pub all: CostOf,
}

/// One state of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StateSummary {
    /// Times and wake-ups.
    #[serde(flatten)]
    pub counts: StateRegret,
    /// Busy CPU time per wake-up, ns.
    pub busy_ns_per_wakeup: Option<f64>,
    /// CPU time, idle or not, per wake-up, ns.
    pub cpu_ns_per_wakeup: Option<f64>,
}

/// CPU time by state of the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatesSummary {
    /// The state in which the machine was for longer.
    pub kept: State,
    /// The state in which wakees are put on CPUs that look idle.
    pub migrating: StateSummary,
    /// The state in which wakees are put on the busy CPU from which their search started.
    pub stacked: StateSummary,
}

impl RegretSummary {
    /// Sums up runs; `None` if some run has no regret.
    pub fn of(runs: &[RunStats]) -> Option<Self> {
        let mut sum = RegretStats::default();
        for run in runs {
            sum += run.regret.as_ref()?;
        }
        Some(summary(&sum))
    }

    /// The numbers of the state in which the machine was for longer.
    pub fn kept(&self) -> &StateSummary {
        self.states.of(self.states.kept)
    }
}

impl StatesSummary {
    /// The numbers of a state.
    pub fn of(&self, state: State) -> &StateSummary {
        match state {
            State::Migrating => &self.migrating,
            State::Stacked => &self.stacked,
        }
    }
}

/// Returns the busy CPU time per wake-up in the state that `side` was not mostly in, ns, of whichever side was in that
/// state for longer. Returns `None` if neither side had a wake-up there.
pub fn other_state_ns(side: &RegretSummary, beside: &RegretSummary) -> Option<f64> {
    let other = match side.states.kept {
        State::Migrating => State::Stacked,
        State::Stacked => State::Migrating,
    };
    let (own, theirs) = (side.states.of(other), beside.states.of(other));
    let longer = if theirs.counts.time_ns > own.counts.time_ns { theirs } else { own };
    longer.busy_ns_per_wakeup
}

fn summary(sum: &RegretStats) -> RegretSummary {
    let positions = |(bucket, &count): (usize, &u64)| {
        let (from, to) = position_range(bucket);
        Positions { from, to, count }
    };
    let cpu = &sum.cpu;
    let mut all = CpuTimeOf::default();
    for kind in [cpu.on_idle, cpu.on_claimed, cpu.on_busy] {
        all += kind;
    }
    all.busy_ns += cpu.other.busy_ns;
    let kept = if sum.stacked.time_ns > sum.migrating.time_ns { State::Stacked } else { State::Migrating };
    RegretSummary {
        wakeups: WakeupSummary { counts: sum.wakeups, missed_pct: pct(sum.wakeups.missed, sum.wakeups.n) },
        searches: SearchesSummary { counts: sum.searches, missed_pct: pct(sum.searches.missed, sum.searches.n) },
        looks: LooksSummary {
            counts: sum.probes,
            futile_pct: pct(sum.probes.nothing_idle + sum.probes.before_first, sum.probes.n),
        },
        enough: sum.enough.iter().enumerate().map(positions).collect(),
        enough_never: sum.enough_never,
        cpu: CpuSummary {
            on_idle: cost(cpu.on_idle),
            on_claimed: cost(cpu.on_claimed),
            on_busy: cost(cpu.on_busy),
            other: cost(cpu.other),
            all: cost(all),
        },
        states: StatesSummary { kept, migrating: state(sum.migrating), stacked: state(sum.stacked) },
    }
}

fn cost(counts: CpuTimeOf) -> CostOf {
    CostOf { counts, ns_per_wakeup: ratio(counts.busy_ns, counts.wakeups) }
}

fn state(counts: StateRegret) -> StateSummary {
    StateSummary {
        counts,
        busy_ns_per_wakeup: ratio(counts.busy_ns, counts.wakeups),
        cpu_ns_per_wakeup: ratio(counts.cpu_ns, counts.wakeups),
    }
}

fn pct(part: u64, whole: u64) -> Option<f64> {
    ratio(part, whole).map(|share| 100.0 * share)
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| part as f64 / whole as f64)
}
