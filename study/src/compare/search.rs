//! Search statistics over the repeats of a side.

use serde::Serialize;
use wakelab_measure::regret::{
    CpuTimeOf, ProbeRegret, RegretStats, SearchRegret, StateRegret, WakeupRegret, position_range,
};
use wakelab_measure::{Bucket, RunStats, SearchStats, State};

/// Search statistics, summed over repeats. The rates are of the sums; `None` where there was nothing to divide by.
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
    /// Durations of `select_idle_cpu()`, ns, by powers of two, summed.
    pub select_idle_cpu_ns: Vec<Bucket>,
}

impl SearchSummary {
    /// Of these runs.
    pub fn of(runs: &[RunStats]) -> Self {
        let counts: SearchStats = runs.iter().map(|run| run.search).sum();
        SearchSummary {
            counts,
            se_eff_pct: counts.se_eff_pct(),
            dom_eff_pct: counts.dom_eff_pct(),
            fast_rate_pct: counts.fast_rate_pct(),
            success_rate_pct: counts.success_rate_pct(),
            scanned_per_domain_search: counts.scanned_per_domain_search(),
            select_idle_cpu_ns: add_buckets(runs),
        }
    }
}

/// The runs' histograms added up, the lowest bucket first.
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

/// Regret, summed over repeats. Shares and costs are of the sums; `None` where there was nothing to divide by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegretSummary {
    /// By wake-up.
    pub wakeups: WakeupSummary,
    /// By search past the fast path.
    pub searches: SearchesSummary,
    /// By look of these.
    pub looks: LooksSummary,
    /// How many looks would have been enough: for so many searches the first idle CPU lay at these positions.
    pub enough: Vec<Positions>,
    /// For so many searches no look was enough: nothing was idle when they began.
    pub enough_never: u64,
    /// CPU time by where wakees were put.
    pub cpu: CpuSummary,
    /// CPU time by state.
    pub states: StatesSummary,
}

/// Wake-ups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeupSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: WakeupRegret,
    /// Share of all that chose a CPU which was busy or claimed already when they began, though an idle one existed then, %.
    pub missed_pct: Option<f64>,
}

/// Searches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchesSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: SearchRegret,
    /// Share of all that failed though some CPU was idle when they began and when they ended, %.
    pub missed_pct: Option<f64>,
}

/// Looks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LooksSummary {
    /// The counts.
    #[serde(flatten)]
    pub counts: ProbeRegret,
    /// Share of all that could not succeed, %.
    pub futile_pct: Option<f64>,
}

/// A bucket of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Positions {
    /// The lowest position, from 1.
    pub from: u32,
    /// The highest; `None` in the last bucket.
    pub to: Option<u32>,
    /// How many searches.
    pub count: u64,
}

/// CPU time for one kind of wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostOf {
    /// Wake-ups and time.
    #[serde(flatten)]
    pub counts: CpuTimeOf,
    /// CPU time for each, ns.
    pub ns_per_wakeup: Option<f64>,
}

/// CPU time by where wakees were put.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CpuSummary {
    /// On an idle CPU.
    pub on_idle: CostOf,
    /// On one that looked idle and had been claimed.
    pub on_claimed: CostOf,
    /// On a busy one.
    pub on_busy: CostOf,
    /// All else.
    pub other: CostOf,
    /// Everything, for each wake-up of the three kinds.
    pub all: CostOf,
}

/// One state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StateSummary {
    /// Times and wake-ups.
    #[serde(flatten)]
    pub counts: StateRegret,
    /// Busy CPU time for each wake-up, ns.
    pub busy_ns_per_wakeup: Option<f64>,
    /// CPU time, idle or not, for each wake-up, ns.
    pub cpu_ns_per_wakeup: Option<f64>,
}

/// CPU time by state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatesSummary {
    /// The state in which the machine was for longer.
    pub kept: State,
    /// Wakees are put on CPUs that look idle.
    pub migrating: StateSummary,
    /// Wakees are put on the busy CPU that their search started from.
    pub stacked: StateSummary,
}

impl RegretSummary {
    /// Of these runs; `None` if it was not wanted of some.
    pub fn of(runs: &[RunStats]) -> Option<Self> {
        let mut sum = RegretStats::default();
        for run in runs {
            sum += run.regret.as_ref()?;
        }
        Some(summary(&sum))
    }

    /// The state in which the machine was for longer.
    pub fn kept(&self) -> &StateSummary {
        self.states.of(self.states.kept)
    }
}

impl StatesSummary {
    /// A state's numbers.
    pub fn of(&self, state: State) -> &StateSummary {
        match state {
            State::Migrating => &self.migrating,
            State::Stacked => &self.stacked,
        }
    }
}

/// Busy CPU time of each wake-up in the state that `side` does not keep, ns: of whichever side was in it for longer. `None` if
/// neither was, so that a wake-up happened there.
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
