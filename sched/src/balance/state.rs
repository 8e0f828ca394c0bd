//! What a domain remembers between passes.

use super::env::CpuIdleType;
use super::plan::{Outcome, Plan};
use super::setup::Balance;
use crate::cpumask::Cpu;
use crate::domain::SchedDomain;

/// The fields of one CPU's `struct sched_domain` that balancing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SdBalance {
    /// `last_balance`: when the last periodic pass was, jiffies.
    pub last_balance: u64,
    /// `balance_interval`: how long until the next, ms on an idle CPU.
    pub balance_interval: u64,
    /// `nr_balance_failed`: passes in a row that found an imbalance and moved nothing.
    pub nr_balance_failed: u32,
    /// `max_newidle_lb_cost`: the longest newly-idle pass, decaying, ns.
    pub max_newidle_lb_cost: u64,
    /// When that rose or decayed last, jiffies.
    pub last_decay_max_lb_cost: u64,
    /// `newidle_call`: newly-idle passes, halved now and then; kept for NI_RANDOM.
    pub newidle_call: u32,
    /// `newidle_success`: those that pulled a task.
    pub newidle_success: u32,
    /// `newidle_ratio`: of 1024 passes, how many succeed.
    pub newidle_ratio: u32,
    /// `newidle_stamp`: when that was last worked out, ns of `sched_clock()`; kept for NI_RATE.
    pub newidle_stamp: u64,
}

/// `MAX_PINNED_INTERVAL`: up to which interval pinned tasks may double it, ms.
const MAX_PINNED_INTERVAL: u64 = 512;

impl SdBalance {
    /// A domain as `sd_init()` leaves it at `jiffies`, when `sched_clock()` is 0. [`Balance::sd_state`] is the same for any
    /// clock and for 5.10.
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

    /// The end of `load_balance()`: what a pass means for the counter of failures and for the interval. The newly idle
    /// leave both alone as far as they fail or find balance: they come too often.
    pub fn tune(&mut self, sd: &SchedDomain, idle: CpuIdleType, plan: &Plan) {
        let newly_idle = idle == CpuIdleType::NewlyIdle;
        if let Some(forced) = plan.forced {
            self.nr_balance_failed = forced.nr_balance_failed;
            if !forced.backs_off {
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
                    self.nr_balance_failed.wrapping_add(u32::from(!newly_idle && !plan.no_failure));
            }
        }
        match plan.outcome {
            // The kernel leaves the interval where it started an active balance that is not needed any more; at one
            // moment that does not happen.
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
    /// The state of a CPU's domain at `level` as `sd_init()` leaves it at `jiffies` and `now` (`sched_clock()`, ns).
    ///
    /// # Panics
    /// If the CPU has no such domain.
    pub fn sd_state(&self, cpu: Cpu, level: usize, jiffies: u64, now: u64) -> SdBalance {
        // 5.10 keeps when the cost decays next, and begins with a decay.
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
