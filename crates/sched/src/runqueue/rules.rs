//! A kernel version's run queue: class, form, switches and tunables.

use super::{CfsParams, CfsRules, EevdfParams, EevdfRules};
use wakelab_kernel::{FairClass, Feature, FeatureSet, Preset};

/// The rules of a kernel version's run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairRules {
    /// Up to 6.5.
    Cfs(CfsParams, CfsRules),
    /// Since 6.6.
    Eevdf(EevdfParams, EevdfRules),
}

/// A preset lacks a tunable that its class reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTunable {
    /// The preset's name.
    pub kernel: &'static str,
    /// The tunable's name.
    pub tunable: &'static str,
}

impl std::fmt::Display for NoTunable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "kernel {}: a run queue needs the tunable {}, but the preset does not have it",
            self.kernel, self.tunable
        )
    }
}

impl std::error::Error for NoTunable {}

impl FairRules {
    /// Those of a kernel with these features on, on a machine of `nr_cpus` online CPUs (which scale the tunables).
    ///
    /// # Errors
    /// If the preset has no value for a tunable that its class reads.
    pub fn of(kernel: &Preset, features: FeatureSet, nr_cpus: usize) -> Result<FairRules, NoTunable> {
        match kernel.fair {
            FairClass::Cfs(rules) => Ok(FairRules::Cfs(cfs(kernel, &rules, features, nr_cpus)?, rules)),
            FairClass::Eevdf(rules) => {
                let rules = form(rules, features);
                Ok(FairRules::Eevdf(eevdf(kernel, &rules, features, nr_cpus)?, rules))
            }
        }
    }
}

impl FairRules {
    /// Whether a slice that a task asks for is forgotten: by EEVDF before 6.12. (CFS keeps it and does not read it.)
    pub fn forgets_slices(&self) -> bool {
        matches!(self, FairRules::Eevdf(_, rules) if !rules.custom_slices)
    }
}

/// The form that switches make of a kernel's: that of a posting, and of another configuration.
fn form(rules: EevdfRules, features: FeatureSet) -> EevdfRules {
    let rules = match features.has(Feature::NEXT_BUDDY_POSTED) && rules == EevdfRules::V6_18 {
        true => EevdfRules::V6_18_NEXT_BUDDY_POSTED,
        false => rules,
    };
    let lazy_preemption = rules.lazy_preemption && !features.has(Feature::PREEMPT_VOLUNTARY);
    EevdfRules { lazy_preemption, ..rules }
}

fn cfs(kernel: &Preset, rules: &CfsRules, features: FeatureSet, nr_cpus: usize) -> Result<CfsParams, NoTunable> {
    let tunables = kernel.tunables.scaled(nr_cpus);
    let get = |tunable: &'static str, value: Option<u64>| value.ok_or(NoTunable { kernel: kernel.name, tunable });
    let min_granularity_ns = get("min_granularity", tunables.min_granularity)?;
    Ok(CfsParams {
        latency_ns: get("sched_latency", tunables.sched_latency)?,
        min_granularity_ns,
        // A version without it does not read it.
        idle_min_granularity_ns: if rules.sched_idle_slices {
            get("idle_min_granularity", tunables.idle_min_granularity)?
        } else {
            min_granularity_ns
        },
        wakeup_granularity_ns: get("wakeup_granularity", tunables.wakeup_granularity)?,
        nr_latency: get("nr_latency", tunables.nr_latency)? as u32,
        gentle_fair_sleepers: features.has(Feature::GENTLE_FAIR_SLEEPERS),
        start_debit: features.has(Feature::START_DEBIT),
        wakeup_preemption: features.has(Feature::WAKEUP_PREEMPTION),
        base_slice: features.has(Feature::BASE_SLICE),
        alt_period: features.has(Feature::ALT_PERIOD),
        next_marker: true,
        last_buddy: features.has(Feature::LAST_BUDDY),
        next_buddy: features.has(Feature::NEXT_BUDDY),
        hrtick: features.has(Feature::HRTICK),
        double_tick: features.has(Feature::DOUBLE_TICK),
    })
}

fn eevdf(kernel: &Preset, rules: &EevdfRules, features: FeatureSet, nr_cpus: usize) -> Result<EevdfParams, NoTunable> {
    let get = |tunable: &'static str, value: Option<u64>| value.ok_or(NoTunable { kernel: kernel.name, tunable });
    let tunables = &kernel.tunables;
    Ok(EevdfParams {
        base_slice_ns: get("base_slice", tunables.scaled(nr_cpus).base_slice)?,
        tick_ns: kernel.hz.tick_ns(),
        place_lag: features.has(Feature::PLACE_LAG),
        place_deadline_initial: features.has(Feature::PLACE_DEADLINE_INITIAL) && rules.initial_enqueue,
        place_rel_deadline: features.has(Feature::PLACE_REL_DEADLINE),
        run_to_parity: features.has(Feature::RUN_TO_PARITY),
        preempt_short: features.has(Feature::PREEMPT_SHORT),
        delay_dequeue: features.has(Feature::DELAY_DEQUEUE),
        delay_zero: features.has(Feature::DELAY_ZERO),
        wakeup_preemption: features.has(Feature::WAKEUP_PREEMPTION),
        hrtick: features.has(Feature::HRTICK),
        next_buddy: features.has(Feature::NEXT_BUDDY),
        pick_buddy: features.has(if rules.next_buddy_picks { Feature::NEXT_BUDDY } else { Feature::PICK_BUDDY }),
        // Weights of 6.12 have no bits to lose.
        paranoid_avg: features.has(Feature::PARANOID_AVG) && rules.full_weights,
        migration_cost_ns: get("migration_cost", tunables.migration_cost)?,
        normalized_base_slice_ns: get("base_slice", tunables.base_slice)?,
        resched_ineligible: features.has(Feature::NEXT_BUDDY_POSTED),
    })
}
