//! What differs between kernel versions.

/// Where the 25% of headroom are put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Headroom {
    /// On the frequency: `(freq + (freq >> 2)) * util / max` (`map_util_freq()`, up to 5.11).
    InFreq,
    /// On the utilisation, in `get_next_freq()` (5.12 to 6.7).
    InUtil,
    /// On the utilisation, in `sugov_effective_cpu_perf()`, so that clamps bound the result; without invariance on the
    /// current frequency as well, so 56% in all (since 6.8; 9c0b4bb7f630, e37617c8e53a).
    InPerf,
}

/// How "do not go down while the CPU has not been idle" meets changed limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BusyHold {
    /// Whether the CPU was idle is not asked then, and a frequency that is held forgets the last computed one (5.3).
    NotAsked,
    /// The frequency is held all the same (5.10, 5.18; a limit that falls is met by the driver's clamp only).
    Ignored,
    /// It is asked, but not held (6.1 as maintained, and later; 9e0bc36ab07c).
    Overridden,
}

/// The version-dependent parts of schedutil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SugovRules {
    /// Where the headroom goes.
    pub headroom: Headroom,
    /// Holding the frequency against changed limits.
    pub busy_hold: BusyHold,
    /// A run queue that a maximum clamp caps goes down though it is busy (5.18 and later).
    pub capped_goes_down: bool,
    /// The iowait boost stays within the run queue's clamps (5.18 to 6.7; since, the bounds hold for all).
    pub iowait_clamped: bool,
    /// `need_freq_update` ends when a frequency is computed, and one that is the same is not told to the driver (5.3);
    /// since, when the result is committed.
    pub need_update_ends_early: bool,
    /// More deadline bandwidth sets `need_freq_update` itself; before, `limits_changed` (7.2 and later).
    pub dl_needs_update: bool,
    /// The CPUs of a shared policy are compared by utilisation over capacity; since 6.12 by utilisation.
    pub shared_by_ratio: bool,
    /// A driver may be told performance in place of a frequency (`sugov_update_single_perf()`, since 5.12).
    pub adjust_perf: bool,
}

impl SugovRules {
    /// Linux 5.2 and 5.3: those of 5.10 without the changes posted for 5.10 (23a881852f3e, 0070ea296239), of which the
    /// posted diffs were read.
    pub const V5_3: SugovRules =
        SugovRules { busy_hold: BusyHold::NotAsked, need_update_ends_early: true, ..Self::V5_10 };
    /// Linux 5.10.
    pub const V5_10: SugovRules = SugovRules {
        headroom: Headroom::InFreq,
        busy_hold: BusyHold::Ignored,
        capped_goes_down: false,
        iowait_clamped: false,
        need_update_ends_early: false,
        dl_needs_update: false,
        shared_by_ratio: true,
        adjust_perf: false,
    };
    /// Linux 5.18 and 5.19: taken over from 6.1 without 9e0bc36ab07c, not read.
    pub const V5_18: SugovRules = SugovRules { busy_hold: BusyHold::Ignored, ..Self::V6_1 };
    /// Linux 6.1.
    pub const V6_1: SugovRules = SugovRules {
        headroom: Headroom::InUtil,
        busy_hold: BusyHold::Overridden,
        capped_goes_down: true,
        iowait_clamped: true,
        adjust_perf: true,
        ..Self::V5_10
    };
    /// Linux 6.12.
    pub const V6_12: SugovRules =
        SugovRules { headroom: Headroom::InPerf, iowait_clamped: false, shared_by_ratio: false, ..Self::V6_1 };
    /// Linux 7.2.
    pub const V7_2: SugovRules = SugovRules { dl_needs_update: true, ..Self::V6_12 };
    /// Linux 7.3.
    pub const V7_3: SugovRules = Self::V7_2;

    /// Those of a [`Preset`](wakelab_kernel::Preset) by its name (`v6.1`, ...); `None` where the name is of none.
    pub fn of_preset(name: &str) -> Option<SugovRules> {
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
