//! What a governor is started with.

use super::intel_pstate::Pstates;
use super::ondemand::OdTunables;
use crate::Khz;
use crate::policy::cpufreq_policy_transition_delay_us;
use crate::schedutil::SugovRules;
use wakelab_kernel::Preset;

/// What governors read besides the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// A tick, ns.
    pub tick_ns: u64,
    /// schedutil's form.
    pub sugov: SugovRules,
    /// schedutil's `rate_limit_us`.
    pub rate_limit_us: u32,
    /// The driver has CPUFREQ_NEED_UPDATE_LIMITS (intel_pstate with HWP).
    pub driver_needs_limits: bool,
    /// ondemand's tunables.
    pub ondemand: OdTunables,
    /// What userspace asks for, kHz; `None` is the highest.
    pub userspace: Option<Khz>,
    /// intel_pstate's P-states, in active mode. `None`: those of the policy's range, the highest without turbo being the
    /// highest.
    pub pstates: Option<Pstates>,
    /// Turbo is switched off (`no_turbo`), and intel_pstate knows it.
    pub no_turbo: bool,
}

impl Setup {
    /// The defaults of a kernel. `latency_ns` and `of_driver_us` decide on the rates, as in
    /// [`cpufreq_policy_transition_delay_us`].
    pub fn of_preset(preset: &Preset, latency_ns: u32, of_driver_us: u32) -> Setup {
        let tick_ns = preset.hz.tick_ns();
        let form = preset.cpufreq.transition_delay;
        let delay_us = cpufreq_policy_transition_delay_us(form, latency_ns, of_driver_us);
        Setup {
            tick_ns,
            sugov: preset.cpufreq.sugov,
            rate_limit_us: delay_us,
            driver_needs_limits: false,
            ondemand: OdTunables::new(tick_ns, delay_us),
            userspace: None,
            pstates: None,
            no_turbo: false,
        }
    }
}
