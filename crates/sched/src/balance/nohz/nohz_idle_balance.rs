//! `_nohz_idle_balance()` (`kernel/sched/fair.c`): one idle CPU balances for all whose tick is stopped.
//!
//! ```text
//! has_blocked = 0 if NOHZ_STATS_KICK; needs_update = 0 if NOHZ_NEXT_KICK
//! for each idle CPU of idle_cpus_mask, from the one after this CPU around to itself {
//!     if this CPU has work: set has_blocked and needs_update again, abort
//!     NOHZ_STATS_KICK:   update_blocked_averages(cpu) if it has blocked load
//!     NOHZ_BALANCE_KICK: rebalance_domains(cpu, CPU_IDLE) if rq->next_balance is reached
//!     next_balance = min(next_balance, rq->next_balance)
//! }
//! nohz.next_balance = next_balance
//! NOHZ_STATS_KICK: nohz.next_blocked = start + msecs_to_jiffies(LOAD_AVG_PERIOD)
//! ```
//!
//! 5.3 starts at CPU 0, visits this CPU last, and sets `nohz.next_balance` even after an abort.

use super::{Nohz, NohzFlags};
use crate::balance::rebalance_domains::{msecs_to_jiffies, time_after};
use crate::balance::{Balance, BalanceView, IlbWalk};
use crate::cpumask::Cpu;

/// `LOAD_AVG_PERIOD`, ms: the interval at which averages of idle CPUs are aged.
const LOAD_AVG_PERIOD: u64 = 32;

/// The visit of one idle CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IlbVisit {
    /// The CPU.
    pub cpu: Cpu,
    /// The caller first ages its averages and calls [`Nohz::averages_updated`].
    pub update_averages: bool,
    /// If `rq->next_balance` is reached, the caller runs [`Rebalance`](crate::balance::Rebalance) for it as for an idle
    /// CPU, without aging its averages before.
    pub balance: bool,
}

/// `_nohz_idle_balance()` under way. [`NohzIdleBalance::next`] returns the CPUs one after the other, the balancing CPU
/// itself last. If it is among them, this replaces its own periodic balancing.
#[derive(Clone, Debug)]
pub struct NohzIdleBalance {
    this_cpu: Cpu,
    flags: NohzFlags,
    start: u64,
    order: IlbWalk,
    /// The number of CPUs that were considered.
    considered: u32,
    next_balance: u64,
    update_next_balance: bool,
    has_blocked_load: bool,
    aborted: bool,
}

impl NohzIdleBalance {
    /// Starts at `jiffies` with the flags that [`Nohz::kicked`] returned, or with `STATS_KICK` after
    /// [`Nohz::run_idle`].
    pub fn new(nohz: &mut Nohz, balance: &Balance<'_>, this_cpu: Cpu, flags: NohzFlags, jiffies: u64) -> Self {
        if flags.contains(NohzFlags::STATS_KICK) {
            nohz.has_blocked = false;
        }
        if flags.contains(NohzFlags::NEXT_KICK) {
            nohz.needs_update = false;
        }
        NohzIdleBalance {
            this_cpu,
            flags,
            start: jiffies,
            order: balance.rules.ilb_walk,
            considered: 0,
            next_balance: jiffies.wrapping_add(60 * u64::from(balance.tunables.hz)),
            update_next_balance: false,
            has_blocked_load: false,
            aborted: false,
        }
    }

    /// Returns the next idle CPU at `jiffies`, after which the caller calls [`NohzIdleBalance::visited`]. `None` at the
    /// end, or once the balancing CPU has work of its own.
    pub fn next<V: BalanceView>(&mut self, nohz: &mut Nohz, view: &V, jiffies: u64) -> Option<IlbVisit> {
        let nr_cpus = nohz.cpus.len() as u32;
        while !self.aborted && self.considered < nr_cpus {
            let cpu = self.cpu_after(self.considered, nr_cpus);
            self.considered += 1;
            if !nohz.idle_cpus_mask.test(cpu) || !view.idle_cpu(cpu) {
                continue;
            }
            if !view.idle_cpu(self.this_cpu) && view.need_resched(self.this_cpu) {
                self.abort(nohz);
                return None;
            }
            let c = &nohz.cpus[cpu as usize];
            let stats = self.flags.contains(NohzFlags::STATS_KICK);
            let update_averages = stats && c.has_blocked_load && time_after(jiffies, c.last_update);
            return Some(IlbVisit { cpu, update_averages, balance: self.flags.contains(NohzFlags::BALANCE_KICK) });
        }
        None
    }

    /// The CPU that is considered after `considered` others.
    fn cpu_after(&self, considered: u32, nr_cpus: u32) -> Cpu {
        match self.order {
            IlbWalk::FromNext => (self.this_cpu + 1 + considered) % nr_cpus,
            IlbWalk::FromFirst if considered + 1 == nr_cpus => self.this_cpu,
            IlbWalk::FromFirst => considered + u32::from(considered >= self.this_cpu),
        }
    }

    /// Leaves the rest to the next kick.
    fn abort(&mut self, nohz: &mut Nohz) {
        self.aborted = true;
        self.has_blocked_load |= self.flags.contains(NohzFlags::STATS_KICK);
        nohz.needs_update |= self.flags.contains(NohzFlags::NEXT_KICK);
    }

    /// Records that a CPU was visited. `next_balance` is its new `rq->next_balance`, jiffies.
    pub fn visited(&mut self, nohz: &mut Nohz, visit: IlbVisit, next_balance: u64) {
        self.has_blocked_load |=
            self.flags.contains(NohzFlags::STATS_KICK) && nohz.cpus[visit.cpu as usize].has_blocked_load;
        if self.order == IlbWalk::FromFirst && visit.cpu == self.this_cpu {
            // rebalance_domains() brings it forward. If other CPUs were visited, they set it in finish().
            if time_after(nohz.next_balance, next_balance) {
                nohz.next_balance = next_balance;
            }
        } else if time_after(self.next_balance, next_balance) {
            self.next_balance = next_balance;
            self.update_next_balance = true;
        }
    }

    /// Ends the visits and updates `nohz`.
    pub fn finish(self, nohz: &mut Nohz, balance: &Balance<'_>) {
        if self.update_next_balance && (!self.aborted || self.order == IlbWalk::FromFirst) {
            nohz.next_balance = self.next_balance;
        }
        if !self.aborted && self.flags.contains(NohzFlags::STATS_KICK) {
            nohz.next_blocked = self.start.wrapping_add(msecs_to_jiffies(LOAD_AVG_PERIOD, balance.tunables.hz));
        }
        nohz.has_blocked |= self.has_blocked_load;
    }
}
