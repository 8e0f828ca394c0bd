//! Frequency selection: schedutil (`kernel/sched/cpufreq_schedutil.c`), the governors' rate limit
//! (`drivers/cpufreq/cpufreq.c`), and what makes utilisation independent of the frequency.

use super::describe::{forms, rules};

rules! {
    /// The version-dependent parts of frequency selection.
    pub struct CpufreqRules {
        /// schedutil.
        pub sugov: SugovRules,
        /// How often a frequency may change, if the driver does not say (`cpufreq_policy_transition_delay_us()`).
        pub transition_delay: TransitionDelay,
        /// x86 measures the frequency by APERF and MPERF, so that utilisation does not depend on it
        /// (`arch_scale_freq_tick()`, since 5.7). arm64 has known the frequency from cpufreq for longer.
        pub x86_invariance: bool,
        /// arm64's utilisation refers to a frequency of its own, the CPU's highest (`arch_scale_freq_ref()`, since
        /// 6.8).
        pub arm64_freq_ref: bool,
        /// x86 takes the base frequency for the highest if turbo is switched off (`store_no_turbo()`, since 6.10); 5.10
        /// is not notified.
        pub no_turbo_notified: bool,
    }
}

rules! {
    /// The version-dependent parts of schedutil.
    pub struct SugovRules {
        /// Where the headroom of 25% is added.
        pub headroom: Headroom,
        /// How "do not go down while the CPU has not been idle" meets changed limits (`sugov_update_single_freq()`).
        pub busy_hold: BusyHold,
        /// A run queue that a maximum clamp caps goes down though it is busy (`sugov_update_single_freq()`; in 5.18 and
        /// later, not in stable 5.15.y).
        pub capped_goes_down: bool,
        /// The iowait boost stays within the run queue's clamps (`sugov_iowait_apply()`, 5.18 to 6.7; since then, the
        /// bounds hold for all utilisation).
        pub iowait_clamped: bool,
        /// `need_freq_update` ends when a frequency is computed, and the driver is not notified of an unchanged one
        /// (`get_next_freq()`, 5.3); later it ends when the result is committed.
        pub need_update_ends_early: bool,
        /// More deadline bandwidth sets `need_freq_update` itself; before, `limits_changed` (`ignore_dl_rate_limit()`,
        /// 6.18 and later).
        pub dl_needs_update: bool,
        /// Changed limits count as a reason for an update only if the driver asks to hear of them
        /// (`sugov_should_update_freq()`, 8e461a1cb43d; in 6.6.87; 79443a7e9da3 takes it back).
        pub limits_if_asked: bool,
        /// `need_freq_update` is followed by an update even of an unchanged frequency, and stays set if the driver asks
        /// to hear of changed limits, which then hears of every update (`sugov_update_next_freq()`; in 5.15.y and 6.8,
        /// not in stable 5.10.y, 6.1.y and 6.12.y).
        pub need_update_stays: bool,
        /// The CPUs of a shared policy are compared by utilisation over capacity; in 6.6 and later by utilisation
        /// (`sugov_next_freq_shared()`; not in stable 6.1.y).
        pub shared_by_ratio: bool,
        /// A driver may receive a performance instead of a frequency (`sugov_update_single_perf()`, since 5.12).
        pub adjust_perf: bool,
    }
}

forms! {
    /// Where schedutil's headroom of 25% is added.
    pub enum Headroom {
        /// To the frequency: `(freq + (freq >> 2)) * util / max` (`map_util_freq()`, up to 5.11).
        InFreq = "frequency",
        /// To the utilisation, in `get_next_freq()` (5.12 to 6.7).
        InUtil = "utilisation",
        /// To the utilisation, in `sugov_effective_cpu_perf()`, so that clamps bound the result; without invariance to
        /// the current frequency as well, so 56% in all (since 6.8; 9c0b4bb7f630, e37617c8e53a).
        InPerf = "effective performance",
    }
}

forms! {
    /// How "do not go down while the CPU has not been idle" meets changed limits.
    pub enum BusyHold {
        /// Then it is not asked whether the CPU was idle, and a frequency that is held forgets the last computed one
        /// (5.3).
        NotAsked = "not asked",
        /// The frequency is held all the same (5.10, 5.15, 5.18; only the driver's clamp follows a limit that falls).
        Ignored = "held",
        /// It is asked, but the frequency is not held (stable 6.1.y, and later; 9e0bc36ab07c).
        Overridden = "asked, not held",
    }
}

forms! {
    /// The default of schedutil's `rate_limit_us`, and the least sampling rate of ondemand
    /// (`cpufreq_policy_transition_delay_us()`).
    pub enum TransitionDelay {
        /// 1000 times the driver's latency, at most 10 ms; 1 ms if the latency is below 1 us (5.3 to 6.8).
        Times1000 = "1000 times the latency",
        /// One and a half times the latency; 1 ms if that is below 1 us (6.12 to 7.3).
        Times1_5 = "1.5 times the latency",
    }
}
