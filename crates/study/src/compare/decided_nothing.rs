//! What differs between the sides of a comparison and decided nothing in a row: code that was not reached in the
//! measured time, or that was reached and changed nothing. A row whose sides differ in nothing else compares nothing.
//!
//! For features and tunables the counts of [`Activity`] and the machine tell why. For all settings, runs that are equal
//! to the last count on both sides tell that nothing of what differs decided anything.

use super::{Block, Variant};
use serde::Serialize;
use wakelab_kernel::Feature;
use wakelab_machine::Machine;
use wakelab_measure::{Activity, RunStats};
use wakelab_sched::domain::CpuTopology;
use wakelab_sched::select::Reason;
use wakelab_workload::{Call, Op, Realtime, Workload};

/// A setting in which the sides differ, and that decided nothing in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecidedNothing {
    /// The setting, as [`ExperimentInfo::differ`](super::ExperimentInfo::differ) has it: `SIS_UTIL off`.
    pub setting: String,
    /// Why: `all CPUs have the same capacity`.
    pub why: String,
}

/// What a setting needs to decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// Wake-ups that choose a CPU.
    Decisions,
    /// Searches past their fast path.
    DomainSearches,
    /// Scans that a limit ends.
    LimitedScans,
    /// Wake-ups whose CPU this policy chose.
    Chosen(Reason),
    /// Wake-ups that stay with a short task.
    ShortTasks,
    /// Wake-ups whose target WA_IDLE's rules chose.
    AffineIdle,
    /// Wake-ups for which loads were compared.
    AffineCompared,
    /// Wake-ups that this comparison sent to the waking CPU.
    AffineWeight,
    /// Wake-ups through the wakelist.
    Wakelist,
    /// Forks and execs.
    Forks,
    /// Run queues of more than one task.
    Queues,
    /// Balance passes.
    Passes,
    /// Newly-idle ones.
    NewidlePasses,
    /// CPUs of different capacity.
    UnequalCpus,
    /// Cores of several CPUs.
    Smt,
    /// Clusters.
    Clusters,
    /// More than one LLC.
    Llcs,
    /// More than one node.
    Nodes,
    /// A governor.
    Governor,
    /// SCHED_IDLE tasks.
    IdlePolicy,
    /// Tasks of the realtime class.
    Realtime,
    /// Tasks of SCHED_RR.
    RoundRobin,
    /// Tasks of the deadline class.
    Deadline,
    /// Groups with a quota.
    Quota,
}

/// A side with its runs.
#[derive(Clone, Copy)]
pub(super) struct RanAs<'a> {
    pub(super) variant: &'a Variant,
    pub(super) machine: &'a Machine,
    pub(super) runs: &'a [RunStats],
}

impl<'a> RanAs<'a> {
    pub(super) fn of(block: &'a Block, variant: &'a Variant, runs: &'a [RunStats]) -> Self {
        RanAs { variant, machine: variant.machine.as_deref().unwrap_or(&block.machine), runs }
    }
}

/// The settings in which two sides of a row differ that decided nothing, in the order in which they are listed.
/// `differ` has them, features and tunables by the names of the kernel.
pub(super) fn decided_nothing(
    differ: &[String],
    workload: &Workload,
    base: RanAs<'_>,
    with: RanAs<'_>,
) -> Vec<DecidedNothing> {
    if differ.is_empty() {
        return Vec::new();
    }
    // What a feature writes for itself, as SIS_UTIL its limit, is no difference of what was decided.
    let decided = |run: &RunStats| RunStats { activity: Activity::default(), ..run.clone() };
    let alike = base.runs.iter().map(decided).eq(with.runs.iter().map(decided));
    let of = |setting: &String| {
        let name = setting.split(' ').next().unwrap_or_default();
        let why = reason(name, workload, base, with);
        let why = why.or_else(|| alike.then(|| "the runs of both sides are equal to the last count".to_owned()))?;
        Some(DecidedNothing { setting: setting.clone(), why })
    };
    let found: Vec<DecidedNothing> = differ.iter().filter_map(of).collect();
    // Runs that are not equal differ by something: if every reason is given, one of them is wrong.
    if found.len() == differ.len() && !alike { Vec::new() } else { found }
}

/// Why a feature or tunable decided nothing; `None` if nothing is known that tells so.
fn reason(name: &str, workload: &Workload, base: RanAs<'_>, with: RanAs<'_>) -> Option<String> {
    let feature = Feature::by_name(name);
    let needs = feature.map_or_else(|| of_tunable(name), of_feature);
    // The code of a feature ran on the side that has it. What a tunable says is read on both.
    let has = |side: &RanAs<'_>| feature.is_none_or(|feature| side.variant.features.has(feature));
    let sides: Vec<RanAs<'_>> = [base, with].into_iter().filter(has).collect();
    let all = |unmet: &dyn Fn(RanAs<'_>) -> Option<String>| -> Option<String> {
        let found: Option<Vec<String>> = sides.iter().map(|side| unmet(*side)).collect();
        found?.into_iter().next()
    };
    if !needs.is_empty() && sides.iter().all(|side| side.variant.scheduler.is_some()) && !sides.is_empty() {
        return Some("a sched_ext scheduler decides in place of the fair class".to_owned());
    }
    needs.iter().find_map(|&need| all(&|side| unmet(need, workload, side)))
}

/// The needs of a feature's code, each of which it cannot do without; empty if none is known.
fn of_feature(feature: Feature) -> &'static [Need] {
    use Feature as F;
    use Need::*;
    match feature {
        F::GENTLE_FAIR_SLEEPERS
        | F::START_DEBIT
        | F::PLACE_LAG
        | F::PLACE_DEADLINE_INITIAL
        | F::PLACE_REL_DEADLINE
        | F::RUN_TO_PARITY
        | F::PREEMPT_SHORT
        | F::NEXT_BUDDY
        | F::NEXT_BUDDY_POSTED
        | F::LAST_BUDDY
        | F::PICK_BUDDY
        | F::DELAY_DEQUEUE
        | F::DELAY_ZERO
        | F::WAKEUP_PREEMPTION
        | F::HRTICK
        | F::DOUBLE_TICK
        | F::ALT_PERIOD
        | F::BASE_SLICE
        | F::PREEMPT_VOLUNTARY => &[Queues],
        F::CACHE_HOT_BUDDY => &[Queues, Passes],
        F::LB_MIN | F::RUNNABLE_BOOST_LB | F::UTIL_EST_FASTER_LB => &[Passes],
        F::NI_RANDOM | F::NI_RATE | F::NI_COST_BUMP | F::NI_MIGRATION_COST_GATE | F::SIS_UTIL_NEWIDLE => {
            &[NewidlePasses]
        }
        F::SCHED_CACHE | F::SCHED_CACHE_V1 | F::SCHED_CACHE_LB => &[Llcs],
        F::HRTICK_DL => &[Deadline],
        F::TTWU_QUEUE => &[Wakelist],
        F::TTWU_BY_NODE => &[Nodes, Wakelist],
        F::SIS_PROP | F::SIS_UTIL | F::SIS_UTIL_V1 | F::SIS_UTIL_V2 | F::SIS_UTIL_V3 => {
            &[Decisions, DomainSearches, LimitedScans]
        }
        F::SIS_PARAM => &[Decisions],
        F::SIS_CORE => &[Smt, Decisions, DomainSearches],
        F::SIS_LIMIT | F::SIS_CACHE | F::SIS_FILTER | F::SIS_SINGLE_PASS | F::SIS_EFF_BUSY | F::SIS_EFF_FILTER => {
            &[Decisions, DomainSearches]
        }
        F::SIS_EFF_IDLE_CORE | F::SIS_EFF_CORE_LIMIT | F::SIS_EFF_PENDING => &[Smt, Decisions, DomainSearches],
        F::SIS_CLUSTER
        | F::SIS_CLUSTER_V5
        | F::SIS_CLUSTER_V7
        | F::SIS_CLUSTER_V8
        | F::SIS_CLUSTER_V9
        | F::SIS_CLUSTER_V10 => &[Clusters, Decisions],
        F::SIS_NODE | F::SIS_NODE_LIMIT | F::SIS_NODE_TOPOEXT | F::SIS_NODE_PAIR => &[Llcs, Decisions, DomainSearches],
        F::SIS_SHORT | F::SIS_SHORT_V6 => &[Decisions, ShortTasks],
        F::SIS_CURRENT => &[Decisions, Chosen(Reason::CurrentCpu)],
        F::SIS_ORACLE => &[Decisions, Chosen(Reason::Oracle)],
        F::WA_IDLE => &[Decisions, AffineIdle],
        F::WA_WEIGHT => &[Decisions, AffineCompared, AffineWeight],
        F::WA_BIAS => &[Decisions, AffineCompared],
        F::SCHED_IDLE_NOT_FOR_IDLE => &[IdlePolicy, Decisions],
        F::ASYM_SMT => &[UnequalCpus, Smt],
        F::RUNNABLE_BOOST_FREQ | F::UTIL_EST_FASTER_FREQ | F::FREQ_INVARIANCE => &[Governor],
        F::RUNNABLE_BOOST_EAS | F::UTIL_EST_FASTER_OU => &[UnequalCpus],
        F::UTIL_EST_FASTER_SLOWPATH => &[Forks],
        _ => &[],
    }
}

/// The needs of what reads a tunable, by the name that `--base` takes.
fn of_tunable(name: &str) -> &'static [Need] {
    use Need::*;
    match name {
        "sched_latency" | "min_granularity" | "wakeup_granularity" | "nr_latency" | "base_slice" => &[Queues],
        "idle_min_granularity" => &[IdlePolicy, Queues],
        "child_runs_first" => &[Forks],
        "nr_migrate" => &[Passes],
        "sis_util_pct" | "sis_util_exponent" | "sis_param_runnable" | "sis_param_floor" | "sis_param_cap"
        | "sis_param_failed" | "sis_param_run" => &[Decisions, DomainSearches],
        "sis_param_short" | "sis_param_short_scan" => &[Decisions],
        "llc_aggr_tolerance"
        | "llc_epoch_period"
        | "llc_epoch_affinity_timeout"
        | "llc_overaggr_pct"
        | "llc_imb_pct" => &[Llcs],
        "sched_util_clamp_min_rt_default" | "sched_rt_runtime_us" | "sched_rt_period_us" => &[Realtime],
        "fair_server_runtime" | "fair_server_period" => &[Realtime],
        "sched_rr_timeslice_ms" => &[RoundRobin],
        "sched_cfs_bandwidth_slice_us" => &[Quota],
        _ => &[],
    }
}

/// Says that a side lacks what is needed; `None` if it has it.
fn unmet(need: Need, workload: &Workload, side: RanAs<'_>) -> Option<String> {
    let runs = |of: fn(&Activity) -> u64| side.runs.iter().map(|run| of(&run.activity)).sum::<u64>();
    let never = |n: u64, what: &str| (n == 0).then(|| what.to_owned());
    let searches = || side.runs.iter().map(|run| run.search.sis_domain_search).sum::<u64>();
    let cpus = &side.machine.topology.cpus;
    let one = |of: fn(&CpuTopology) -> u32| cpus.iter().all(|cpu| of(cpu) == of(&cpus[0]));
    match need {
        Need::Decisions => never(runs(|it| it.decisions), "no wake-up chose a CPU"),
        Need::DomainSearches => never(searches(), "every search ended on its fast path"),
        Need::LimitedScans => unlimited(side),
        Need::Chosen(reason) => {
            never(side.runs.iter().map(|run| run.activity.of(reason)).sum(), "no wake-up met its condition")
        }
        Need::ShortTasks => {
            let short = |it: &Activity| it.affine_short + it.of(Reason::Short);
            never(runs(short), "no wake-up met its condition")
        }
        Need::AffineIdle => never(runs(|it| it.affine_idle), "none of its rules chose a target"),
        Need::AffineCompared => never(runs(|it| it.affine_compared), "no wake-up compared loads"),
        Need::AffineWeight => never(runs(|it| it.affine_weight), "no comparison of loads chose the waking CPU"),
        Need::Wakelist => never(runs(|it| it.wakelist), "no wake-up went through the wakelist"),
        Need::Forks => never(runs(|it| it.forks), "no task was forked in the measured time"),
        Need::Queues => {
            let preempted: u64 = side.runs.iter().map(|run| run.switches_involuntary).sum();
            never(preempted + runs(|it| it.queued_behind), "no run queue had more than one task")
        }
        Need::Passes => never(runs(|it| it.passes.iter().sum()), "no balance pass was made in the measured time"),
        Need::NewidlePasses => {
            never(runs(|it| it.passes[2]), "no newly-idle balance pass was made in the measured time")
        }
        Need::UnequalCpus => {
            one(|cpu| cpu.capacity).then(|| format!("all CPUs of {} have the same capacity", side.machine.name))
        }
        Need::Smt => {
            let mut cores: Vec<u32> = cpus.iter().map(|cpu| cpu.core).collect();
            cores.sort_unstable();
            cores.windows(2).all(|two| two[0] != two[1]).then(|| format!("{} has no SMT", side.machine.name))
        }
        Need::Clusters => {
            cpus.iter().all(|cpu| cpu.cluster.is_none()).then(|| format!("{} has no clusters", side.machine.name))
        }
        Need::Llcs => one(|cpu| cpu.llc).then(|| format!("{} has one LLC", side.machine.name)),
        Need::Nodes => one(|cpu| cpu.node).then(|| format!("{} has one node", side.machine.name)),
        Need::Governor => side.variant.pm.is_none().then(|| "the side has no governor".to_owned()),
        Need::IdlePolicy | Need::Realtime | Need::RoundRobin | Need::Deadline | Need::Quota => {
            of_workload(need, workload).map(str::to_owned)
        }
    }
}

/// Why no scan was ended by a limit; `None` if one was, or if the limit is read elsewhere.
fn unlimited(side: RanAs<'_>) -> Option<String> {
    let sum = |of: fn(&Activity) -> u64| side.runs.iter().map(|run| of(&run.activity)).sum::<u64>();
    let has = |feature: Feature| side.variant.features.has(feature);
    // Unequal CPUs may have a limit of their own, which is not counted, and these policies read the limit's number.
    let other = [Feature::SIS_SHORT_V6, Feature::SIS_PARAM].into_iter().any(has);
    if sum(|it| it.limited) > 0 || !side.machine.all_of_full_capacity() || other {
        return None;
    }
    let none = "its limit ended no search";
    if !has(Feature::SIS_UTIL) {
        return Some(none.to_owned());
    }
    Some(match (sum(|it| it.idle_scans), sum(|it| it.idle_scans_before), sum(|it| it.idle_scans_below)) {
        (0, 0, _) => format!("{none}: nr_idle_scan was never written, and stayed as it is at the start"),
        (0, _, 0) => format!("{none}: nr_idle_scan was not written in the measured time, and all CPUs were scanned"),
        (_, _, 0) => format!("{none}: nr_idle_scan was never below the CPUs of an LLC"),
        _ => none.to_owned(),
    })
}

/// Whether tasks and groups of the workload are of a kind.
fn of_workload(need: Need, workload: &Workload) -> Option<&'static str> {
    let calls = || {
        let ops = workload.programs.iter().flat_map(|program| &program.ops);
        ops.filter_map(|op| if let Op::Call(call) = op { Some(call) } else { None })
    };
    let policies = || {
        let asked = calls().filter_map(|call| if let Call::Realtime(policy) = call { Some(*policy) } else { None });
        workload.tasks.iter().filter_map(|task| task.realtime).chain(asked)
    };
    let (has, what) = match need {
        Need::IdlePolicy => {
            let asked = calls().any(|call| matches!(call, Call::IdlePolicy(true)));
            let groups = workload.groups.iter().any(|group| group.idle);
            let tasks = workload.tasks.iter().any(|task| task.idle_policy);
            (asked || groups || tasks, "the workload has no SCHED_IDLE task")
        }
        Need::Realtime => (policies().next().is_some(), "the workload has no realtime task"),
        Need::RoundRobin => {
            (policies().any(|it| matches!(it, Realtime::Rr(_))), "the workload has no task of SCHED_RR")
        }
        Need::Deadline => {
            (policies().any(|it| matches!(it, Realtime::Deadline(_))), "the workload has no deadline task")
        }
        Need::Quota => (
            workload.groups.iter().any(|group| group.max.is_some()) || !workload.changes.is_empty(),
            "no group of the workload has a quota (cpu.max)",
        ),
        _ => return None,
    };
    (!has).then_some(what)
}
