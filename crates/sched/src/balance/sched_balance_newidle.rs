//! `sched_balance_newidle()` (`kernel/sched/fair.c`; `newidle_balance()` in 5.18, `idle_balance()` in 5.3): a CPU that
//! is about to go idle looks for work, domain by domain, while that takes less time than it expects to be idle. The
//! decisions are here; the caller keeps the time and makes the passes.
//!
//! ```text
//! if ttwu_pending: return                                  a wake-up is on its way
//! idle_stamp = now                                         the search counts as idle time
//! next_balance = jiffies + HZ
//! NI_MIGRATION_COST_GATE: if avg_idle < migration_cost: the same as
//! if not rd->overload or avg_idle < max_newidle_lb_cost of the lowest domain {       newidle_begins()
//!     update_next_balance(lowest domain, &next_balance), goto out
//! }
//! unlock, update_blocked_averages(cpu)                     its time is part of the lowest domain's cost
//! for each domain, lowest first {
//!     update_next_balance(sd, &next_balance)
//!     if avg_idle < curr_cost + sd->max_newidle_lb_cost: break                       newidle_affords()
//!     if SD_BALANCE_NEWIDLE {
//!         NI_RANDOM: weight = 1 + newidle_ratio                                      newidle_dice()
//!             if random % 1024 > weight: count a pass without success, continue      newidle_random()
//!             weight = (1024 + weight / 2) / weight
//!         pulled = load_balance(.., CPU_NEWLY_IDLE)        plan_balance(), and the caller moves the tasks
//!         curr_cost += its time
//!         NI_COST_BUMP: not pulled: its time = max_newidle_lb_cost * 3 / 2, and that becomes migration_cost + 200 ns
//!             at most
//!         update_newidle_cost(sd, its time, pulled ? weight : 0)
//!     }
//!     if pulled or not continue_balancing: break                                     newidle_stops()
//! }
//! lock, max_idle_balance_cost = max(max_idle_balance_cost, curr_cost)
//! out: rq->next_balance = min(rq->next_balance, next_balance)
//!      if there is a task: idle_stamp = 0, else nohz_newidle_balance()
//! ```
//!
//! The success rate with which NI_RANDOM decides is measured over 512 to 1024 passes:
//!
//! ```text
//! update_newidle_stats(sd, success):
//!     newidle_call++, newidle_success += success
//!     if newidle_call >= 1024 {
//!         newidle_ratio = newidle_success                  with NI_RATE (7.2): + (time since the last ratio >> 22 ns)
//!         newidle_call /= 2, newidle_success /= 2
//!     }
//! ```

use super::NewidleStop;
use super::balancer::Balance;
use super::rebalance_domains::time_after;
use super::sd_balance::SdBalance;
use wakelab_kernel::Feature;

impl Balance<'_> {
    /// Whether a CPU that expects to be idle for `avg_idle` ns starts newly idle balancing with its lowest domain.
    /// `overload` is the root domain's.
    pub fn newidle_begins(&self, avg_idle: u64, lowest: &SdBalance, overload: bool) -> bool {
        let needed = match self.rules.newidle.cost_floor {
            true => u64::from(self.tunables.migration_cost),
            false => lowest.max_newidle_lb_cost,
        };
        let gate = self.features.has(Feature::NI_MIGRATION_COST_GATE);
        overload && avg_idle >= needed && (!gate || avg_idle >= u64::from(self.tunables.migration_cost))
    }

    /// Whether the CPU has time for a domain, after it has spent `curr_cost` ns on lower ones.
    pub fn newidle_affords(&self, avg_idle: u64, curr_cost: u64, state: &SdBalance) -> bool {
        avg_idle >= curr_cost + state.max_newidle_lb_cost
    }

    /// Whether NI_RANDOM decides about the pass. If so, the caller calls [`Balance::newidle_random`]; if not, it makes
    /// the pass and a success counts 1.
    pub fn newidle_dice(&self, state: &SdBalance) -> bool {
        let sure = self.rules.newidle.rate && state.newidle_ratio >= 1024;
        self.features.has(Feature::NI_RANDOM) && !sure
    }

    /// NI_RANDOM: decides by the domain's success rate whether the pass is made. Returns how much a success then
    /// counts; `None` if the pass is not made, which is counted as a pass without success. `d1k` is a random number
    /// below 1024, `now` is `sched_clock()`, ns.
    pub fn newidle_random(&self, state: &mut SdBalance, d1k: u32, now: u64) -> Option<u32> {
        let weight = 1 + state.newidle_ratio;
        if d1k > weight {
            self.update_newidle_stats(state, 0, now);
            return None;
        }
        Some((1024 + weight / 2) / weight)
    }

    /// `update_newidle_cost()`: records what a pass has cost, ns, or lets the cost decay by about 1% per second.
    /// Returns whether it decayed. `success` is the weight of a pass that pulled a task, else 0; `now` is
    /// `sched_clock()`, ns. Periodic balancing passes a cost of 0 for each domain that it visits.
    pub fn update_newidle_cost(&self, state: &mut SdBalance, cost: u64, success: u32, jiffies: u64, now: u64) -> bool {
        let hz = self.tunables.hz;
        if cost != 0 {
            self.update_newidle_stats(state, success, now);
        }
        if cost != 0 && self.features.has(Feature::NI_COST_BUMP) {
            return self.bump_newidle_cost(state, cost, success, jiffies);
        }
        if self.rules.newidle.cost_restarts_decay {
            if cost > state.max_newidle_lb_cost {
                state.max_newidle_lb_cost = cost;
                state.last_decay_max_lb_cost = jiffies;
                return false;
            }
            decay(state, jiffies, hz)
        } else if cost != 0 {
            state.max_newidle_lb_cost = state.max_newidle_lb_cost.max(cost);
            false
        } else {
            decay(state, jiffies, hz)
        }
    }

    /// `update_newidle_cost()` with NI_COST_BUMP, after a newly idle pass.
    fn bump_newidle_cost(&self, state: &mut SdBalance, cost: u64, success: u32, jiffies: u64) -> bool {
        const MARGIN: u64 = 200;
        let cost = if success == 0 { 3 * state.max_newidle_lb_cost / 2 } else { cost };
        if cost > state.max_newidle_lb_cost {
            state.max_newidle_lb_cost = cost.min(u64::from(self.tunables.migration_cost) + MARGIN);
            state.last_decay_max_lb_cost = jiffies;
            return false;
        }
        decay(state, jiffies, self.tunables.hz)
    }

    /// Whether the CPU stops before the next domain. `pulled` is whether the last pass moved a task, and
    /// `continue_balancing` is the pass's [`Plan::continue_balancing`](super::Plan::continue_balancing).
    pub fn newidle_stops(&self, pulled: bool, continue_balancing: bool, nr_running: u32, ttwu_pending: bool) -> bool {
        pulled
            || match self.rules.newidle.stop {
                NewidleStop::Task => nr_running > 0,
                NewidleStop::TaskOrWakeup => nr_running > 0 || ttwu_pending,
                NewidleStop::NextPass => !continue_balancing,
            }
    }

    /// `update_newidle_stats()`: counts a pass, and computes the success rate anew when the count reaches 1024.
    fn update_newidle_stats(&self, state: &mut SdBalance, success: u32, now: u64) {
        state.newidle_call += 1;
        state.newidle_success += success;
        if state.newidle_call < 1024 {
            return;
        }
        state.newidle_ratio = state.newidle_success;
        if self.rules.newidle.rate {
            // 1024 passes in 4.3 s or more count as if all had succeeded. The kernel's ratio is an int.
            let elapsed = now.saturating_sub(state.newidle_stamp);
            let seldom = if self.features.has(Feature::NI_RATE) { (elapsed >> 22) as i32 } else { 0 };
            state.newidle_ratio = seldom.wrapping_add(state.newidle_success as i32).min(1024) as u32;
            state.newidle_stamp = now;
        }
        state.newidle_call /= 2;
        state.newidle_success /= 2;
    }
}

/// Lets `max_newidle_lb_cost` decay if that is due. Returns whether it was.
fn decay(state: &mut SdBalance, jiffies: u64, hz: u32) -> bool {
    let due = time_after(jiffies, state.last_decay_max_lb_cost.wrapping_add(u64::from(hz)));
    if due {
        state.max_newidle_lb_cost = state.max_newidle_lb_cost * 253 / 256;
        state.last_decay_max_lb_cost = jiffies;
    }
    due
}
