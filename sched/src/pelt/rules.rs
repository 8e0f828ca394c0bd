//! What differs between kernel versions.

/// How a run queue's sums follow when a task's averages are taken off it.
///
/// `avg` and `sum` are rounded apart, so subtracting from both can leave a sum too small for its average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SumRule {
    /// Both are subtracted, and neither goes below 0 (5.2, 5.3).
    Plain,
    /// The sum is recomputed from what is left of the average; only the removed utilisation has the lower bound (5.10
    /// with its stable patches).
    Resync,
    /// Both are subtracted, then the sum is kept at or above average · PELT_MIN_DIVIDER, compared **as 32 bits**: of a
    /// run queue's `load_sum` above 2^32 the upper half is lost (6.1, 6.12).
    Bound32,
    /// The same compared at the sum's own width, and also where load is added (`__update_sa()`, 7.2, 7.3).
    Bound,
}

/// The weight by which a new task's first utilisation is taken from its run queue's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InitWeight {
    /// `se->load.weight`, which on 64 bits is 1024 times the weight that `load_avg` is made of: the result nearly
    /// always meets the cap (5.10, 6.1).
    ScaledUp,
    /// `se_weight()` (6.12 and later).
    SeWeight,
}

/// The version-dependent parts of a run queue's averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeltRules {
    /// How sums follow averages.
    pub sums: SumRule,
    /// The weight in a new task's utilisation.
    pub init_weight: InitWeight,
    /// A task that leaves an idle CPU is aged up to now (`migrate_se_pelt_lag()`; not in 5.10).
    pub migrate_lag: bool,
    /// Setting the weight a task already has does not retake its `load_avg` (`reweight_entity()`, 7.3).
    pub skip_same_weight: bool,
    /// A run queue keeps the load of its queued tasks beside that of all that are attached (up to 5.6).
    pub runnable_load: bool,
}

impl PeltRules {
    /// Linux 5.2 and 5.3.
    pub const V5_3: PeltRules = PeltRules { sums: SumRule::Plain, runnable_load: true, ..Self::V5_10 };
    /// Linux 5.10.
    pub const V5_10: PeltRules = PeltRules {
        sums: SumRule::Resync,
        init_weight: InitWeight::ScaledUp,
        migrate_lag: false,
        skip_same_weight: false,
        runnable_load: false,
    };
    /// Linux 5.18 and 5.19 (`kernel/sched/fair.c` at 13ede3315087): bounds as in 6.1, but no `migrate_se_pelt_lag()`.
    pub const V5_18: PeltRules = PeltRules { sums: SumRule::Bound32, ..Self::V5_10 };
    /// Linux 6.1.
    pub const V6_1: PeltRules = PeltRules { sums: SumRule::Bound32, migrate_lag: true, ..Self::V5_10 };
    /// Linux 6.12.
    pub const V6_12: PeltRules = PeltRules { init_weight: InitWeight::SeWeight, ..Self::V6_1 };
    /// Linux 7.2.
    pub const V7_2: PeltRules = PeltRules { sums: SumRule::Bound, ..Self::V6_12 };
    /// Linux 7.3.
    pub const V7_3: PeltRules = PeltRules { skip_same_weight: true, ..Self::V7_2 };

    /// Those of a [`Preset`](wakelab_kernel::Preset) by its name (`v6.1`, ...); `None` where the name is of none.
    pub fn of_preset(name: &str) -> Option<PeltRules> {
        Some(match name {
            "v5.2" | "v5.3" => Self::V5_3,
            "v5.10" => Self::V5_10,
            "v5.18" | "v5.18-eas" | "v5.19-rc1" | "v5.19-rc2-tip" => Self::V5_18,
            "v6.1" => Self::V6_1,
            "v6.12" => Self::V6_12,
            "v7.2" => Self::V7_2,
            "v7.3" => Self::V7_3,
            _ => return None,
        })
    }
}
