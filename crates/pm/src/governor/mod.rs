//! Frequency governors.
//!
//! **A new governor is one file and one line**: the file has a type that implements [`Governor`] and an [`About`]; the
//! line is in [`GOVERNORS`].

mod fixed;
mod intel_pstate;
mod ondemand;
mod schedutil;

pub use intel_pstate::{PstateSample, Pstates, get_target_pstate};
pub use ondemand::OdTunables;

use crate::policy::{Policy, cpufreq_policy_transition_delay_us};
use crate::schedutil::{Asked, CpuUtil, SugovRules};
use crate::{Cpu, Khz};
use std::fmt;
use wakelab_kernel::Preset;

/// A governor, described.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name, as on a command line.
    pub name: &'static str,
    /// A description, in a sentence.
    pub what: &'static str,
    /// Starts one for a policy.
    pub make: fn(&Setup, &Policy) -> Box<dyn Governor>,
}

/// Every governor.
pub static GOVERNORS: &[About] = &[
    fixed::PERFORMANCE,
    fixed::POWERSAVE,
    fixed::USERSPACE,
    ondemand::ONDEMAND,
    schedutil::SCHEDUTIL,
    intel_pstate::ACTIVE_POWERSAVE,
    intel_pstate::ACTIVE_PERFORMANCE,
];

/// There is no governor of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGovernor {
    /// The name.
    pub name: String,
}

impl fmt::Display for UnknownGovernor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = GOVERNORS.iter().map(|about| about.name).collect();
        write!(f, "unknown governor `{}`: expected one of {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownGovernor {}

/// The governor of that name.
pub fn governor(name: &str) -> Result<&'static About, UnknownGovernor> {
    GOVERNORS.iter().find(|about| about.name == name).ok_or_else(|| UnknownGovernor { name: name.to_owned() })
}

/// A governor at work on one policy.
///
/// The frequencies it returns are those that the driver sets, kHz. The simulator lets the driver's latency pass, then
/// calls [`Policy::changed_to`]; a target that comes meanwhile replaces the one under way, as it does in
/// `sugov_work()`.
pub trait Governor: std::fmt::Debug + Send + Sync {
    /// Takes the policy over. Returns a frequency to change to, if it wants another at once.
    fn start(&mut self, now: u64, policy: &Policy, view: &dyn View) -> Option<Khz>;

    /// The utilisation of a CPU was updated (`cpufreq_update_util()`). Returns a frequency to change to.
    fn update(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz>;

    /// The policy's limits have changed. Returns a frequency to change to at once.
    fn limits(&mut self, policy: &Policy) -> Option<Khz>;
}

/// An update of a CPU's utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// `rq_clock()`, ns.
    pub now: u64,
    /// The CPU of the utilisation.
    pub cpu: Cpu,
    /// The CPU that runs the update: at a wake-up from another CPU, the waker's.
    pub from: Cpu,
    /// A task wakes up after I/O (SCHED_CPUFREQ_IOWAIT).
    pub iowait: bool,
}

/// The counters of a CPU at a moment, all from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CounterValues {
    /// Cycles at the actual frequency, in C0.
    pub aperf: u64,
    /// Cycles at the base frequency, in C0.
    pub mperf: u64,
    /// Cycles at the base frequency.
    pub tsc: u64,
}

/// The system at the moment of an update. A governor calls only what it needs: schedutil the first four, ondemand
/// [`idle_time_us`](Self::idle_time_us), intel_pstate [`counters`](Self::counters).
pub trait View {
    /// Returns the utilisation of the CPU's run queue.
    fn util(&self, cpu: Cpu) -> CpuUtil;

    /// How often the CPU went idle since boot (`tick_nohz_get_idle_calls_cpu()`).
    fn idle_calls(&self, cpu: Cpu) -> u64;

    /// `cpu_bw_dl()`, for systems with deadline tasks; it is asked at every update.
    fn bw_dl(&self, _cpu: Cpu) -> u64 {
        0
    }

    /// Whether a maximum clamp keeps the run queue below what it would ask for (`uclamp_rq_is_capped()`), for systems
    /// with clamps. The kernel's test uses `cpu_util_cfs()`, not boosted by `runnable_avg`.
    fn capped(&self, _cpu: Cpu) -> bool {
        false
    }

    /// How long the CPU was idle since boot, µs; waiting for I/O is idle time unless `io_is_busy`
    /// (`get_cpu_idle_time()`).
    fn idle_time_us(&self, cpu: Cpu, io_is_busy: bool) -> u64;

    /// The CPU's counters.
    fn counters(&self, cpu: Cpu) -> CounterValues;

    /// Returns the run queue's request: [`util`](Self::util) by the version's arithmetic.
    fn asked(&self, rules: &SugovRules, cpu: Cpu) -> Asked {
        Asked::of(rules, &self.util(cpu))
    }
}

/// The values that governors read besides the policy.
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
    /// The frequency that userspace requests, kHz; `None` is the highest.
    pub userspace: Option<Khz>,
    /// intel_pstate's P-states, in active mode. `None`: those of the policy's range, the highest without turbo being
    /// the highest.
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
