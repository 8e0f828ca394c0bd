//! The state of a domain between passes: the fields of `struct sched_domain` (`include/linux/sched/topology.h`) that
//! balancing changes, as `sd_init()` initializes them and the end of `load_balance()` updates them.
//!
//! ```text
//! moved or balanced: nr_balance_failed = 0          failed, not newly idle: nr_balance_failed++
//! moved or failed:   balance_interval = min_interval = span_weight ms
//! balanced:          balance_interval *= 2 while below max_interval = 2 * span_weight ms; 512 ms if all are pinned
//! ```

use super::balancer::Balance;
use super::lb_env::CpuIdleType;
use super::load_balance::{Outcome, Plan};
use crate::cpumask::Cpu;
use crate::domain::SchedDomain;

/// The fields of one CPU's `struct sched_domain` that change from pass to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdBalance {
    /// `last_balance`: the time of the last periodic pass, jiffies.
    pub last_balance: u64,
    /// `balance_interval`: the time from one periodic pass to the next on an idle CPU, ms.
    pub balance_interval: u64,
    /// `nr_balance_failed`: the number of passes in a row that found an imbalance and moved nothing.
    pub nr_balance_failed: u32,
    /// `max_newidle_lb_cost`: the duration of the longest newly idle pass, decaying, ns.
    pub max_newidle_lb_cost: u64,
    /// `last_decay_max_lb_cost`: when that cost rose or decayed last, jiffies.
    pub last_decay_max_lb_cost: u64,
    /// `newidle_call`: the number of newly idle passes, halved whenever it reaches 1024; for NI_RANDOM.
    pub newidle_call: u32,
    /// `newidle_success`: the weighted number of those that pulled a task, halved together with `newidle_call`.
    pub newidle_success: u32,
    /// `newidle_ratio`: the success rate of newly idle passes, of 1024.
    pub newidle_ratio: u32,
    /// `newidle_stamp`: when that rate was last computed, ns of `sched_clock()`; for NI_RATE.
    pub newidle_stamp: u64,
}

/// `MAX_PINNED_INTERVAL`, ms: pinned tasks double the interval while it is below this.
const MAX_PINNED_INTERVAL: u64 = 512;

impl SdBalance {
    /// Returns the state of a domain as `sd_init()` leaves it at `jiffies`, with `sched_clock()` at 0 and the fields of
    /// 5.18 and later. [`Balance::sd_state`] takes a clock and knows the version.
    pub fn new(sd: &SchedDomain, jiffies: u64) -> Self {
        SdBalance {
            last_balance: jiffies,
            balance_interval: min_interval(sd),
            nr_balance_failed: 0,
            max_newidle_lb_cost: 0,
            last_decay_max_lb_cost: jiffies,
            newidle_call: 512,
            newidle_success: 256,
            newidle_ratio: 512,
            newidle_stamp: 0,
        }
    }

    /// The end of `load_balance()` ("tune up the balancing interval"): updates the count of failures and the interval
    /// after a pass. A newly idle pass that fails or finds balance leaves both alone because such passes are too
    /// frequent.
    pub fn tune(&mut self, sd: &SchedDomain, idle: CpuIdleType, plan: &Plan) {
        let newly_idle = idle == CpuIdleType::NewlyIdle;
        if let Some(push) = plan.after_push {
            self.nr_balance_failed = push.nr_balance_failed;
            if !push.backs_off {
                self.balance_interval = min_interval(sd);
            } else if self.balance_interval < max_interval(sd) {
                self.balance_interval *= 2;
            }
            return;
        }
        match plan.outcome {
            Outcome::Moved | Outcome::Balanced(_) => self.nr_balance_failed = 0,
            Outcome::Failed | Outcome::OnePinned => {
                self.nr_balance_failed =
                    self.nr_balance_failed.wrapping_add(u32::from(!newly_idle && !plan.no_failure && !plan.llc_pinned));
            }
        }
        match plan.outcome {
            // The kernel leaves the interval alone after an active balance that is no longer needed. Within one moment
            // that does not happen.
            Outcome::Moved | Outcome::Failed => self.balance_interval = min_interval(sd),
            Outcome::Balanced(_) | Outcome::OnePinned if newly_idle || plan.no_failure => {}
            Outcome::Balanced(_) | Outcome::OnePinned => {
                let pinned = plan.all_pinned && self.balance_interval < MAX_PINNED_INTERVAL;
                if pinned || self.balance_interval < max_interval(sd) {
                    self.balance_interval *= 2;
                }
            }
        }
    }
}

impl Balance<'_> {
    /// Returns the state of a CPU's domain at `level` as `sd_init()` leaves it at `jiffies` and `now` (`sched_clock()`,
    /// ns).
    ///
    /// # Panics
    /// If the CPU has no such domain.
    pub fn sd_state(&self, cpu: Cpu, level: usize, jiffies: u64, now: u64) -> SdBalance {
        // 5.10 stores the time of the next decay instead (next_decay_max_lb_cost), and starts with a decay.
        let decay = if self.rules.newidle.cost_restarts_decay { 0 } else { u64::from(self.tunables.hz) };
        SdBalance {
            last_decay_max_lb_cost: jiffies.wrapping_sub(decay),
            newidle_stamp: now,
            ..SdBalance::new(self.sd(cpu, level), jiffies)
        }
    }
}

/// `sd->min_interval`, ms.
fn min_interval(sd: &SchedDomain) -> u64 {
    u64::from(sd.span_weight)
}

/// `sd->max_interval`, ms.
fn max_interval(sd: &SchedDomain) -> u64 {
    2 * u64::from(sd.span_weight)
}
