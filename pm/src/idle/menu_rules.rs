//! What differs between kernel versions in menu.

/// How the typical interval is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Typical {
    /// Outliers above are left out, one after the other; not asked for where it could not matter (5.3 to 6.1).
    BelowPrediction,
    /// The same, always (6.12).
    Upwards,
    /// Outliers on the side that is further off are left out (7.2, 7.3).
    BothSides,
}

/// The version-dependent parts of menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MenuRules {
    /// The typical interval.
    pub typical: Typical,
    /// Tasks that wait for I/O have buckets of their own, and the exit latency allowed shrinks with them
    /// (`performance_multiplier()`; up to 6.1).
    pub iowaiters: bool,
    /// With the tick stopped, a short prediction becomes the time to the next event, not to the next timer (5.10).
    pub stopped_takes_delta: bool,
    /// ... unless the timer comes within two ticks anyway (`SAFE_TIMER_RANGE_NS`; 7.2, 7.3).
    pub safe_timer_range: bool,
    /// A short typical interval is taken without a look at the timers, and states are compared in the order of 6.12.
    pub typical_first: bool,
}

impl MenuRules {
    /// Linux 5.10. 5.3 is taken to be the same: it counts in µs where this counts in ns.
    pub const V5_10: MenuRules = MenuRules {
        typical: Typical::BelowPrediction,
        iowaiters: true,
        stopped_takes_delta: true,
        safe_timer_range: false,
        typical_first: false,
    };
    /// Linux 6.1, and 5.18 and 5.19, which were not read.
    pub const V6_1: MenuRules = MenuRules { stopped_takes_delta: false, ..Self::V5_10 };
    /// Linux 6.12.
    pub const V6_12: MenuRules =
        MenuRules { typical: Typical::Upwards, iowaiters: false, typical_first: true, ..Self::V6_1 };
    /// Linux 7.2 and 7.3.
    pub const V7_3: MenuRules = MenuRules { typical: Typical::BothSides, safe_timer_range: true, ..Self::V6_12 };

    /// Those of a [`Preset`](wakelab_kernel::Preset) by its name (`v6.1`, ...); `None` where the name is of none.
    pub fn of_preset(name: &str) -> Option<MenuRules> {
        Some(match name {
            "v5.2" | "v5.3" | "v5.10" => Self::V5_10,
            "v5.18" | "v5.18-eas" | "v5.19-rc1" | "v5.19-rc2-tip" | "v6.1" => Self::V6_1,
            "v6.12" => Self::V6_12,
            "v7.2" | "v7.3" => Self::V7_3,
            _ => return None,
        })
    }
}
