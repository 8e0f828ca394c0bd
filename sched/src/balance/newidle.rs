//! Whether a CPU that is about to go idle looks for work (`newidle_balance()`, `sched_balance_newidle()` since 6.10).
//!
//! ```text
//! if ttwu_pending { return }                      a task is on its way
//! idle_stamp = now                                the search is idle time
//! next_balance = jiffies + HZ
//! if not newidle_gate(lowest domain, curr_cost 0) { update_next_balance(lowest); done }
//! unlock, update_blocked_averages(cpu)            its time is the lowest domain's
//! for each domain {
//!     update_next_balance(domain, next_balance)
//!     if not newidle_gate(domain, curr_cost) { break }
//!     if SD_BALANCE_NEWIDLE {
//!         with NI_RANDOM: newidle_random() or skip the pass
//!         pulled = plan_balance(.., NewlyIdle), apply
//!         curr_cost += its time; update_newidle_cost(its time, weight if pulled)
//!     }
//!     if pulled or nr_running > 0 or ttwu_pending { break }
//! }
//! lock, max_idle_balance_cost = max(max_idle_balance_cost, curr_cost)
//! done: rq->next_balance is brought forward to next_balance; idle_stamp = 0 if there is a task now
//! ```
//!
//! (A pass that NI_RANDOM skips goes on with the next domain, without the check for new tasks.)
//!
//! This is 6.1, as are the functions here. The methods of [`Balance`](super::Balance) in newidle_rules.rs have the
//! other versions' forms too.

use super::rebalance_domains::time_after;
use super::sd_balance::SdBalance;

/// Whether a CPU that expects to be idle for `avg_idle` ns, and has spent `curr_cost` ns on lower domains, balances
/// this one. `overload` is the root domain's, as it was when the CPU began with its lowest domain.
#[inline]
pub fn newidle_gate(avg_idle: u64, curr_cost: u64, state: &SdBalance, overload: bool) -> bool {
    overload && avg_idle >= curr_cost + state.max_newidle_lb_cost
}

/// NI_RANDOM: whether a pass is made, by its success up to now, and by how much a success then counts. `d1k` is a
/// random number below 1024. A pass that is not made counts as one that pulled nothing.
///
/// Source: `sched_balance_newidle()`, 6.1.176.
pub fn newidle_random(state: &mut SdBalance, d1k: u32) -> Option<u32> {
    let weight = 1 + state.newidle_ratio;
    if d1k > weight {
        update_newidle_stats(state, 0);
        return None;
    }
    Some((1024 + weight / 2) / weight)
}

/// `update_newidle_cost()`: notes what a newly-idle pass has cost, ns, or lets the cost decay by about 1% per second,
/// which it returns. `success` is the weight of a pass that pulled something (1 without NI_RANDOM), else 0.
///
/// Periodic balancing calls it with a cost of 0 for each domain it visits.
pub fn update_newidle_cost(state: &mut SdBalance, cost: u64, success: u32, jiffies: u64, hz: u32) -> bool {
    if cost != 0 {
        update_newidle_stats(state, success);
    }
    track(state, cost, jiffies, hz)
}

/// The cost itself.
pub(super) fn track(state: &mut SdBalance, cost: u64, jiffies: u64, hz: u32) -> bool {
    if cost > state.max_newidle_lb_cost {
        state.max_newidle_lb_cost = cost;
        state.last_decay_max_lb_cost = jiffies;
        return false;
    }
    decay(state, jiffies, hz)
}

/// Its decay.
pub(super) fn decay(state: &mut SdBalance, jiffies: u64, hz: u32) -> bool {
    let next_decay = state.last_decay_max_lb_cost.wrapping_add(u64::from(hz));
    let due = time_after(jiffies, next_decay);
    if due {
        state.max_newidle_lb_cost = state.max_newidle_lb_cost * 253 / 256;
        state.last_decay_max_lb_cost = jiffies;
    }
    due
}

/// `update_newidle_stats()` (6.1 as maintained; before, nobody reads them).
pub(super) fn update_newidle_stats(state: &mut SdBalance, success: u32) {
    count(state, success, |success| success);
}

/// Counts a pass; now and then `ratio` makes the number of successes what newidle_ratio will be.
pub(super) fn count(state: &mut SdBalance, success: u32, ratio: impl FnOnce(u32) -> u32) {
    state.newidle_call += 1;
    state.newidle_success += success;
    if state.newidle_call >= 1024 {
        state.newidle_ratio = ratio(state.newidle_success);
        state.newidle_call /= 2;
        state.newidle_success /= 2;
    }
}
