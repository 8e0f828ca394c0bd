//! How often a frequency may change.

use wakelab_kernel::TransitionDelay;

/// The default of schedutil's `rate_limit_us`, and the least sampling rate of ondemand, us.
///
/// `latency_ns` is `cpuinfo.transition_latency`; `of_driver_us` is what the driver itself asks for
/// (`transition_delay_us`: 500 for intel_pstate in passive mode without HWP, 5000 with it), 0 if nothing.
pub fn cpufreq_policy_transition_delay_us(form: TransitionDelay, latency_ns: u32, of_driver_us: u32) -> u32 {
    let latency = latency_ns / 1000;
    match form {
        _ if of_driver_us != 0 => of_driver_us,
        _ if latency == 0 => 1000,
        TransitionDelay::Times1000 => latency.saturating_mul(1000).min(10_000),
        TransitionDelay::Times1_5 => latency + (latency >> 1),
    }
}
