//! Newly-idle balancing by the version's rules: the decisions of newidle.rs in their other forms.

use super::NewidleStop;
use super::balancer::Balance;
use super::newidle::{count, decay, track};
use super::sd_balance::SdBalance;
use wakelab_kernel::Feature;

impl Balance<'_> {
    /// Whether a CPU that expects to be idle for `avg_idle` ns begins with its lowest domain. `overload` is the root
    /// domain's.
    pub fn newidle_begins(&self, avg_idle: u64, lowest: &SdBalance, overload: bool) -> bool {
        let needed = match self.rules.newidle.cost_floor {
            true => u64::from(self.tunables.migration_cost),
            false => lowest.max_newidle_lb_cost,
        };
        overload && avg_idle >= needed
    }

    /// Whether it has time for a domain, having spent `curr_cost` ns on lower ones.
    pub fn newidle_affords(&self, avg_idle: u64, curr_cost: u64, state: &SdBalance) -> bool {
        avg_idle >= curr_cost + state.max_newidle_lb_cost
    }

    /// Whether NI_RANDOM throws dice for the pass: then ask [`Balance::newidle_random`], else make it, and a success
    /// counts 1.
    pub fn newidle_dice(&self, state: &SdBalance) -> bool {
        let sure = self.rules.newidle.rate && state.newidle_ratio >= 1024;
        self.features.has(Feature::NI_RANDOM) && !sure
    }

    /// NI_RANDOM: whether the pass is made, by its success up to now, and by how much a success then counts. `d1k` is a
    /// random number below 1024, `now` is `sched_clock()`, ns. A pass that is not made counts as one that pulled
    /// nothing.
    pub fn newidle_random(&self, state: &mut SdBalance, d1k: u32, now: u64) -> Option<u32> {
        let weight = 1 + state.newidle_ratio;
        if d1k > weight {
            self.newidle_stats(state, 0, now);
            return None;
        }
        Some((1024 + weight / 2) / weight)
    }

    /// `update_newidle_cost()`: notes what a pass has cost, ns, or lets the cost decay, which it returns. `success` is
    /// the weight of a pass that pulled something, else 0; `now` is `sched_clock()`, ns. Periodic balancing gives a
    /// cost of 0 for each domain it visits.
    pub fn newidle_cost(&self, state: &mut SdBalance, cost: u64, success: u32, jiffies: u64, now: u64) -> bool {
        let hz = self.tunables.hz;
        if cost != 0 {
            self.newidle_stats(state, success, now);
        }
        if self.rules.newidle.cost_restarts_decay {
            track(state, cost, jiffies, hz)
        } else if cost != 0 {
            state.max_newidle_lb_cost = state.max_newidle_lb_cost.max(cost);
            false
        } else {
            decay(state, jiffies, hz)
        }
    }

    /// Whether the CPU stops before the next domain: `pulled` tells whether the last pass moved something, and
    /// `continue_balancing` is what it said ([`Plan::continue_balancing`](super::Plan::continue_balancing)).
    pub fn newidle_stops(&self, pulled: bool, continue_balancing: bool, nr_running: u32, ttwu_pending: bool) -> bool {
        pulled
            || match self.rules.newidle.stop {
                NewidleStop::Task => nr_running > 0,
                NewidleStop::TaskOrWakeup => nr_running > 0 || ttwu_pending,
                NewidleStop::NextPass => !continue_balancing,
            }
    }

    /// `update_newidle_stats()`.
    fn newidle_stats(&self, state: &mut SdBalance, success: u32, now: u64) {
        if !self.rules.newidle.rate {
            return count(state, success, |success| success);
        }
        let elapsed = now.saturating_sub(state.newidle_stamp);
        let mut stamp = state.newidle_stamp;
        count(state, success, |success| {
            stamp = now;
            // 1024 passes in 4.3 s or more: as if all had succeeded. The kernel's ratio is an int.
            let seldom = if self.features.has(Feature::NI_RATE) { (elapsed >> 22) as i32 } else { 0 };
            seldom.wrapping_add(success as i32).min(1024) as u32
        });
        state.newidle_stamp = stamp;
    }
}
