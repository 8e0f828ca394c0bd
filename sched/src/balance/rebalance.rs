//! Periodic balancing of one CPU, domain by domain (`rebalance_domains()`, `sched_balance_domains()` since 6.10).

use super::forms::Serialize;
use super::interval::{get_sd_balance_interval, time_after};
use super::setup::Balance;
use super::state::SdBalance;
use crate::domain::{SchedDomain, SdFlags};

/// What to do with a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Make a pass, then call [`Rebalance::balanced`].
    Due {
        /// Only one CPU of the system may do so at a time (`SD_SERIALIZE`): a CPU that does not get the lock at once
        /// calls [`Rebalance::passed_over`] instead.
        serialize: bool,
    },
    /// Go on with the next domain.
    Next,
    /// Leave the higher domains alone.
    Stop,
}

/// What the CPU notes at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebalanced {
    /// `rq->next_balance`: when the tick starts this again, jiffies. `None`: it stays.
    pub next_balance: Option<u64>,
    /// `rq->max_idle_balance_cost`, ns. `None`: it stays.
    pub max_idle_balance_cost: Option<u64>,
}

/// `rebalance_domains()` under way. The tick starts it when `rq->next_balance` is reached, after
/// `update_blocked_averages()`; then every domain of the CPU is visited, from the lowest up.
///
/// `busy` below is `idle != CPU_IDLE && !sched_idle_cpu(cpu)`. A pass that moved tasks has `idle` taken anew for what
/// follows.
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
    /// Begins at `jiffies`.
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

    /// Comes to a domain.
    pub fn visit(&mut self, sd: &SchedDomain, state: &mut SdBalance, jiffies: u64, busy: bool) -> Visit {
        let decayed = self.balance.newidle_cost(state, 0, 0, jiffies, 0);
        let kept = self.need_decay && !self.balance.rules.newidle.last_decay_counts;
        self.need_decay = decayed || kept;
        self.max_cost += state.max_newidle_lb_cost;
        if !self.continue_balancing {
            return if self.need_decay { Visit::Next } else { Visit::Stop };
        }
        let due = state.last_balance.wrapping_add(get_sd_balance_interval(self.balance, state, busy));
        if time_after(due, jiffies) {
            self.passed_over(state, busy);
            return Visit::Next;
        }
        let serialize = self.balance.rules.serialize == Serialize::Visits && sd.flags.contains(SdFlags::SERIALIZE);
        Visit::Due { serialize }
    }

    /// A pass was made. `state` has been tuned by it; `jiffies` is the time at its end, and `busy` what the CPU is then.
    pub fn balanced(&mut self, state: &mut SdBalance, jiffies: u64, busy: bool, continue_balancing: bool) {
        self.continue_balancing &= continue_balancing;
        state.last_balance = jiffies;
        self.passed_over(state, busy);
    }

    /// No pass was made: another CPU has the lock.
    pub fn passed_over(&mut self, state: &SdBalance, busy: bool) {
        let next = state.last_balance.wrapping_add(get_sd_balance_interval(self.balance, state, busy));
        if time_after(self.next_balance, next) {
            self.next_balance = next;
            self.update_next_balance = true;
        }
    }

    /// The end.
    pub fn finish(self) -> Rebalanced {
        let floor = u64::from(self.balance.tunables.migration_cost);
        Rebalanced {
            next_balance: self.update_next_balance.then_some(self.next_balance),
            max_idle_balance_cost: self.need_decay.then(|| self.max_cost.max(floor)),
        }
    }
}
