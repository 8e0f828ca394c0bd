//! How often a frequency may change.

/// The default of schedutil's `rate_limit_us`, and the least sampling rate of ondemand
/// (`cpufreq_policy_transition_delay_us()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransitionDelay {
    /// 1000 times the driver's latency, at most 10 ms; 1 ms if it is below 1 µs (5.3 to 6.1).
    Times1000,
    /// Half as much again as the latency; 1 ms if that is below 1 µs (6.12 to 7.3).
    Times1_5,
}

impl TransitionDelay {
    /// In µs. `latency_ns` is `cpuinfo.transition_latency`; `of_driver_us` is what the driver itself asks for
    /// (`transition_delay_us`: 500 for intel_pstate in passive mode without HWP, 5000 with it), 0 if nothing.
    pub fn delay_us(self, latency_ns: u32, of_driver_us: u32) -> u32 {
        let latency = latency_ns / 1000;
        match self {
            _ if of_driver_us != 0 => of_driver_us,
            _ if latency == 0 => 1000,
            TransitionDelay::Times1000 => latency.saturating_mul(1000).min(10_000),
            TransitionDelay::Times1_5 => latency + (latency >> 1),
        }
    }

    /// That of a [`Preset`](wakelab_kernel::Preset) by its name; `None` where the name is of none. 5.2, 5.3, 5.18 and
    /// 5.19 are taken over from 5.10 and 6.1, which agree.
    pub fn of_preset(name: &str) -> Option<TransitionDelay> {
        Some(match name {
            "v5.2" | "v5.3" | "v5.10" | "v5.18" | "v5.18-eas" | "v5.19-rc1" | "v5.19-rc2-tip" | "v6.1" => {
                Self::Times1000
            }
            "v6.12" | "v7.2" | "v7.3" => Self::Times1_5,
            _ => return None,
        })
    }
}
