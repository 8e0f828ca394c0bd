//! The walk over the idle CPUs (`_nohz_idle_balance()`).

use super::{Nohz, NohzFlags};
use crate::balance::interval::{msecs_to_jiffies, time_after};
use crate::balance::{Balance, BalanceView, IlbWalk};
use crate::cpumask::Cpu;

/// `LOAD_AVG_PERIOD`, ms: how often averages of idle CPUs are aged.
const LOAD_AVG_PERIOD: u64 = 32;

/// An idle CPU that the walk comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IlbVisit {
    /// Which.
    pub cpu: Cpu,
    /// Its averages are to be aged first, then [`Nohz::averages_updated`] is told.
    pub update_averages: bool,
    /// If it is due (`rq->next_balance`), [`Rebalance`](crate::balance::Rebalance) is run for it as for an idle CPU; without
    /// averages to be aged before.
    pub balance: bool,
}

/// A CPU balances for those whose tick is stopped: [`NohzIdleBalance::next`] names one after the other, the CPU itself last.
/// If it is among them that stands for its own periodic balancing.
#[derive(Clone, Debug)]
pub struct NohzIdleBalance {
    this_cpu: Cpu,
    flags: NohzFlags,
    began: u64,
    order: IlbWalk,
    /// How many CPUs were looked at.
    passed: u32,
    next_balance: u64,
    update_next_balance: bool,
    has_blocked_load: bool,
    aborted: bool,
}

impl NohzIdleBalance {
    /// Begins at `jiffies`, by [`Nohz::kicked`] or, with `STATS_KICK`, by [`Nohz::run_idle`].
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
            began: jiffies,
            order: balance.rules.ilb_walk,
            passed: 0,
            next_balance: jiffies.wrapping_add(60 * u64::from(balance.tunables.hz)),
            update_next_balance: false,
            has_blocked_load: false,
            aborted: false,
        }
    }

    /// The next idle CPU at `jiffies`; then tell [`NohzIdleBalance::visited`]. `None` at the end, or once this CPU has work of
    /// its own.
    pub fn next<V: BalanceView>(&mut self, nohz: &mut Nohz, view: &V, jiffies: u64) -> Option<IlbVisit> {
        let nr_cpus = nohz.cpus.len() as u32;
        while !self.aborted && self.passed < nr_cpus {
            let cpu = self.at(self.passed, nr_cpus);
            self.passed += 1;
            if !nohz.idle_cpus_mask.test(cpu) || !view.idle_cpu(cpu) {
                continue;
            }
            if !view.idle_cpu(self.this_cpu) && view.need_resched(self.this_cpu) {
                self.abort(nohz);
                return None;
            }
            let c = &nohz.cpus[cpu as usize];
            let stats = self.flags.contains(NohzFlags::STATS_KICK);
            let update_averages = stats && c.has_blocked_load && time_after(jiffies, c.updated);
            return Some(IlbVisit { cpu, update_averages, balance: self.flags.contains(NohzFlags::BALANCE_KICK) });
        }
        None
    }

    /// The CPU that comes after so many others.
    fn at(&self, passed: u32, nr_cpus: u32) -> Cpu {
        match self.order {
            IlbWalk::FromNext => (self.this_cpu + 1 + passed) % nr_cpus,
            IlbWalk::FromFirst if passed + 1 == nr_cpus => self.this_cpu,
            IlbWalk::FromFirst => passed + u32::from(passed >= self.this_cpu),
        }
    }

    /// Another CPU will do it.
    fn abort(&mut self, nohz: &mut Nohz) {
        self.aborted = true;
        self.has_blocked_load |= self.flags.contains(NohzFlags::STATS_KICK);
        nohz.needs_update |= self.flags.contains(NohzFlags::NEXT_KICK);
    }

    /// The CPU was visited; `next_balance` is what its run queue has now, jiffies.
    pub fn visited(&mut self, nohz: &mut Nohz, visit: IlbVisit, next_balance: u64) {
        self.has_blocked_load |=
            self.flags.contains(NohzFlags::STATS_KICK) && nohz.cpus[visit.cpu as usize].has_blocked_load;
        if self.order == IlbWalk::FromFirst && visit.cpu == self.this_cpu {
            // rebalance_domains() brings it forward, and the others, if there are any, set it anew.
            if time_after(nohz.next_balance, next_balance) {
                nohz.next_balance = next_balance;
            }
        } else if time_after(self.next_balance, next_balance) {
            self.next_balance = next_balance;
            self.update_next_balance = true;
        }
    }

    /// The end.
    pub fn finish(self, nohz: &mut Nohz, balance: &Balance<'_>) {
        if self.update_next_balance && (!self.aborted || self.order == IlbWalk::FromFirst) {
            nohz.next_balance = self.next_balance;
        }
        if !self.aborted && self.flags.contains(NohzFlags::STATS_KICK) {
            nohz.next_blocked = self.began.wrapping_add(msecs_to_jiffies(LOAD_AVG_PERIOD, balance.tunables.hz));
        }
        nohz.has_blocked |= self.has_blocked_load;
    }
}
