//! `rebalance_domains()` (`kernel/sched/fair.c`; `sched_balance_domains()` since 6.10): periodic balancing of one CPU,
//! domain by domain, and `get_sd_balance_interval()`.
//!
//! ```text
//! for each domain of the CPU, lowest first {
//!     need_decay = update_newidle_cost(sd, 0)             max_newidle_lb_cost decays by about 1% per second
//!     max_cost  += sd->max_newidle_lb_cost
//!     if not continue_balancing: go on if need_decay, else stop
//!     interval = get_sd_balance_interval(sd, busy)
//!     SD_SERIALIZE: skip the pass if another CPU has the lock
//!     if jiffies >= sd->last_balance + interval: load_balance(), sd->last_balance = jiffies
//!     next_balance = min(next_balance, sd->last_balance + interval)
//! }
//! rq->next_balance = next_balance
//! if need_decay: rq->max_idle_balance_cost = max(sysctl_sched_migration_cost, max_cost)
//!
//! get_sd_balance_interval():
//!     interval = busy ? msecs_to_jiffies(16 * balance_interval) - 1 : msecs_to_jiffies(balance_interval)
//!     return clamp(interval, 1, HZ * nr_cpus / 10)
//! ```

use super::balancer::Balance;
use super::sd_balance::SdBalance;
use super::{BusyInterval, Serialize};
use crate::domain::{SchedDomain, SdFlags};

/// The caller's next step for a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// It makes a pass, then calls [`Rebalance::balanced`].
    Due {
        /// Only one CPU of the system may make such a pass at a time (`SD_SERIALIZE`). A CPU that does not get the lock
        /// at once calls [`Rebalance::not_balanced`] instead.
        serialize: bool,
    },
    /// It goes on with the next domain.
    Next,
    /// It leaves the higher domains alone.
    Stop,
}

/// The values that the CPU records at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebalanced {
    /// The new `rq->next_balance`, jiffies: when the tick starts balancing again. `None` leaves it unchanged.
    pub next_balance: Option<u64>,
    /// The new `rq->max_idle_balance_cost`, ns. `None` leaves it unchanged.
    pub max_idle_balance_cost: Option<u64>,
}

/// `rebalance_domains()` under way. The tick starts it once `rq->next_balance` is reached, after
/// `update_blocked_averages()`. It then visits every domain of the CPU, from the lowest up.
///
/// The argument `busy` of the methods is [`Balance::cpu_busy`]. The caller determines it anew after a pass that moved
/// tasks.
#[derive(Clone, Debug)]
pub struct Rebalance<'a> {
    balance: &'a Balance<'a>,
    next_balance: u64,
    update_next_balance: bool,
    need_decay: bool,
    max_cost: u64,
    continue_balancing: bool,
}

impl<'a> Rebalance<'a> {
    /// Starts at `jiffies`.
    pub fn new(balance: &'a Balance<'a>, jiffies: u64) -> Self {
        Rebalance {
            balance,
            next_balance: jiffies.wrapping_add(60 * u64::from(balance.tunables.hz)),
            update_next_balance: false,
            need_decay: false,
            max_cost: 0,
            continue_balancing: true,
        }
    }

    /// Visits a domain with the state `state` at `jiffies`, and returns what to do with it.
    pub fn visit(&mut self, sd: &SchedDomain, state: &mut SdBalance, jiffies: u64, busy: bool) -> Visit {
        let decayed = self.balance.update_newidle_cost(state, 0, 0, jiffies, 0);
        let earlier = self.need_decay && !self.balance.rules.newidle.last_decay_counts;
        self.need_decay = decayed || earlier;
        self.max_cost += state.max_newidle_lb_cost;
        if !self.continue_balancing {
            return if self.need_decay { Visit::Next } else { Visit::Stop };
        }
        let due = state.last_balance.wrapping_add(get_sd_balance_interval(self.balance, state, busy));
        if time_after(due, jiffies) {
            self.not_balanced(state, busy);
            return Visit::Next;
        }
        let serialize = self.balance.rules.serialize == Serialize::Visits && sd.flags.contains(SdFlags::SERIALIZE);
        Visit::Due { serialize }
    }

    /// Records that a pass was made. `state` has been tuned with its plan; `jiffies` and `busy` are those at its end.
    pub fn balanced(&mut self, state: &mut SdBalance, jiffies: u64, busy: bool, continue_balancing: bool) {
        self.continue_balancing &= continue_balancing;
        state.last_balance = jiffies;
        self.not_balanced(state, busy);
    }

    /// Records that no pass was made, because the domain is not due or another CPU has the lock.
    pub fn not_balanced(&mut self, state: &SdBalance, busy: bool) {
        let next = state.last_balance.wrapping_add(get_sd_balance_interval(self.balance, state, busy));
        if time_after(self.next_balance, next) {
            self.next_balance = next;
            self.update_next_balance = true;
        }
    }

    /// Ends the visits and returns what the CPU records.
    pub fn finish(self) -> Rebalanced {
        let floor = u64::from(self.balance.tunables.migration_cost);
        Rebalanced {
            next_balance: self.update_next_balance.then_some(self.next_balance),
            max_idle_balance_cost: self.need_decay.then(|| self.max_cost.max(floor)),
        }
    }
}

/// `time_after()`: whether `a` is later than `b`, in jiffies. The counter wraps.
pub(super) fn time_after(a: u64, b: u64) -> bool {
    (b.wrapping_sub(a) as i64) < 0
}

/// `msecs_to_jiffies()`: converts milliseconds to jiffies, rounding up. It equals the kernel's for an `hz` that divides
/// 1000, and for 300.
pub(super) fn msecs_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * u64::from(hz)).div_ceil(1000)
}

/// `max_load_balance_interval` (`update_max_interval()`): returns the longest interval of any domain, jiffies.
fn max_load_balance_interval(hz: u32, nr_cpus: u32) -> u64 {
    u64::from(hz) * u64::from(nr_cpus) / 10
}

/// `get_sd_balance_interval()`: returns how long after the last pass the next is due, jiffies. `cpu_busy` is
/// [`Balance::cpu_busy`].
pub fn get_sd_balance_interval(balance: &Balance<'_>, state: &SdBalance, cpu_busy: bool) -> u64 {
    let hz = balance.tunables.hz;
    let (factor, less) = match (cpu_busy, balance.rules.busy_interval) {
        (false, _) => (1, 0),
        (true, BusyInterval::Times32) => (32, 0),
        (true, BusyInterval::Times16LessOne) => (16, 1),
    };
    let interval = msecs_to_jiffies(state.balance_interval * factor, hz).saturating_sub(less);
    // Not clamp(), which panics if the upper limit is below the lower: one CPU at 5 Hz has a limit of 0.
    interval.min(max_load_balance_interval(hz, balance.domains.nr_cpus)).max(1)
}

impl Balance<'_> {
    /// `busy` of `rebalance_domains()`: whether the CPU runs a task that is not SCHED_IDLE. `sched_idle` is
    /// `sched_idle_cpu()`, which does not count before 5.6.
    #[inline]
    pub fn cpu_busy(&self, idle: bool, sched_idle: bool) -> bool {
        let as_idle = sched_idle && self.rules.sched_idle_is_idle;
        !idle && !as_idle
    }
}

/// `update_next_balance()`: brings `next_balance`, in jiffies, forward to the time at which the domain is due on an
/// idle CPU.
pub fn update_next_balance(balance: &Balance<'_>, state: &SdBalance, next_balance: &mut u64) {
    let next = state.last_balance.wrapping_add(get_sd_balance_interval(balance, state, false));
    if time_after(*next_balance, next) {
        *next_balance = next;
    }
}
