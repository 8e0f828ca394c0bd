//! `nohz` (`kernel/sched/fair.c`): balancing for idle CPUs whose tick is stopped.
//!
//! ```text
//!  a CPU stops its tick     nohz_balance_enter_idle()    its first busy tick: nohz_balance_exit_idle()
//!  tick of a busy CPU       nohz_balancer_kick() ──▶ Kick { cpu, flags, ipi }                nohz_balancer_kick.rs
//!  the kicked CPU           kicked ──▶ NohzIdleBalance: the idle CPUs, itself last           nohz_idle_balance.rs
//!  about to go idle         nohz_newidle_balance() records that blocked averages are due
//!  idle loop                nohz_run_idle_balance() ──▶ NohzIdleBalance, for the averages only
//! ```
//!
//! [`Nohz`] decides. The caller ages averages ([`Nohz::averages_updated`]), runs [`Rebalance`](super::Rebalance) for
//! each CPU visited, and sends the interrupt. All CPUs may balance: there are no isolated CPUs and no nohz_full.

mod nohz_balancer_kick;
mod nohz_idle_balance;

pub use nohz_balancer_kick::Kick;
pub use nohz_idle_balance::{IlbVisit, NohzIdleBalance};

use super::balancer::Balance;
use super::rebalance_domains::time_after;
use crate::cpumask::{Cpu, CpuMask};

bitflags::bitflags! {
    /// `NOHZ_*` (`nohz_flags()`): the work of a CPU for CPUs whose tick is stopped. The bit numbers are the kernel's.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct NohzFlags: u8 {
        /// `NOHZ_BALANCE_KICK`: balance.
        const BALANCE_KICK = 1;
        /// `NOHZ_STATS_KICK`: age the blocked averages.
        const STATS_KICK = 2;
        /// `NOHZ_NEWILB_KICK`: age the blocked averages before the CPU sleeps.
        const NEWILB_KICK = 4;
        /// `NOHZ_NEXT_KICK`: compute when the next balance is due.
        const NEXT_KICK = 8;
        /// `NOHZ_KICK_MASK`: the flags that need an interrupt.
        const KICK_MASK = 1 | 2 | 8;
    }
}

/// `nohz`, with the fields of run queues and LLCs that belong to it.
#[derive(Clone, Debug)]
pub struct Nohz {
    /// `nohz.idle_cpus_mask`: CPUs whose tick is stopped (`rq->nohz_tick_stopped`).
    pub idle_cpus_mask: CpuMask,
    /// `nohz.has_blocked` (`has_blocked_load` in 7.2): some of these CPUs have blocked averages to be aged.
    pub has_blocked: bool,
    /// `nohz.needs_update`: a CPU is new among them, so `next_balance` has to be computed again.
    pub needs_update: bool,
    /// `nohz.next_balance`: when the first of them is due for balancing, jiffies.
    pub next_balance: u64,
    /// `nohz.next_blocked`: when blocked averages are aged next, jiffies.
    pub next_blocked: u64,
    cpus: Vec<NohzCpu>,
    /// `sd_llc_shared->nr_busy_cpus`, by the lowest CPU of the LLC.
    nr_busy: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct NohzCpu {
    /// `nohz_flags()`.
    flags: NohzFlags,
    /// `rq->has_blocked_load`.
    has_blocked_load: bool,
    /// `rq->last_blocked_load_update_tick`, jiffies.
    last_update: u64,
    /// `sd_llc->nohz_idle` of this CPU.
    idle: bool,
}

impl Nohz {
    /// Returns the state as `init_sched_fair_class()` leaves it at `jiffies`: every CPU has its tick.
    pub fn new(balance: &Balance<'_>, jiffies: u64) -> Self {
        let domains = balance.domains;
        let cpu = NohzCpu { flags: NohzFlags::empty(), has_blocked_load: false, last_update: jiffies, idle: false };
        Nohz {
            idle_cpus_mask: CpuMask::new(domains.nr_cpus),
            has_blocked: false,
            needs_update: false,
            next_balance: jiffies,
            next_blocked: jiffies,
            cpus: vec![cpu; domains.nr_cpus as usize],
            nr_busy: domains.sd_llc_size.clone(),
        }
    }

    /// Returns `sd_llc_shared->nr_busy_cpus`: the number of CPUs of the CPU's LLC whose tick is not stopped; `None` if
    /// the CPU has no LLC domain. On equal CPUs `sd_balance_shared` of 7.2 is the same.
    pub fn nr_busy_cpus(&self, balance: &Balance<'_>, cpu: Cpu) -> Option<u32> {
        let domains = balance.domains;
        domains.sd_llc[cpu as usize].map(|_| self.nr_busy[domains.sd_llc_id[cpu as usize] as usize])
    }

    /// Returns `nohz_flags()` of a CPU: the kicks that it has not handled yet.
    pub fn flags(&self, cpu: Cpu) -> NohzFlags {
        self.cpus[cpu as usize].flags
    }

    /// `nohz_balance_enter_idle()`: records that an idle CPU stops its tick, or stays idle with its tick stopped.
    pub fn enter_idle(&mut self, balance: &Balance<'_>, cpu: Cpu) {
        self.cpus[cpu as usize].has_blocked_load = true;
        if !self.idle_cpus_mask.test(cpu) {
            if balance.nr_levels(cpu) == 0 {
                return;
            }
            self.idle_cpus_mask.set(cpu);
            self.set_idle(balance, cpu, true);
            self.needs_update |= balance.rules.nohz_next_kick;
        }
        self.has_blocked = true;
    }

    /// `nohz_balance_exit_idle()`: records that a CPU has its tick again. [`Nohz::balancer_kick`] calls it.
    pub fn exit_idle(&mut self, balance: &Balance<'_>, cpu: Cpu) {
        if self.idle_cpus_mask.test(cpu) {
            self.idle_cpus_mask.clear(cpu);
            self.set_idle(balance, cpu, false);
        }
    }

    /// `set_cpu_sd_state_idle()` and `set_cpu_sd_state_busy()`.
    fn set_idle(&mut self, balance: &Balance<'_>, cpu: Cpu, idle: bool) {
        let domains = balance.domains;
        let was = std::mem::replace(&mut self.cpus[cpu as usize].idle, idle);
        if domains.sd_llc[cpu as usize].is_none() || was == idle {
            return;
        }
        let nr_busy = &mut self.nr_busy[domains.sd_llc_id[cpu as usize] as usize];
        *nr_busy = if idle { *nr_busy - 1 } else { *nr_busy + 1 };
    }

    /// Records that the averages of a CPU were aged at `jiffies` (`update_blocked_averages()`), for whatever reason.
    /// `blocked` is whether a share of blocked tasks is left in them.
    pub fn averages_updated(&mut self, cpu: Cpu, jiffies: u64, blocked: bool) {
        let c = &mut self.cpus[cpu as usize];
        c.last_update = jiffies;
        c.has_blocked_load &= blocked;
    }

    /// `nohz_newidle_balance()`: a CPU that found no work and expects to be idle for `avg_idle` ns records whether
    /// blocked averages are due, for [`Nohz::run_idle`].
    pub fn newidle(&mut self, balance: &Balance<'_>, cpu: Cpu, avg_idle: u64, jiffies: u64) {
        let due = self.has_blocked && !time_after(self.next_blocked, jiffies);
        if due && avg_idle >= u64::from(balance.tunables.migration_cost) {
            self.cpus[cpu as usize].flags |= NohzFlags::NEWILB_KICK;
        }
    }

    /// `nohz_run_idle_balance()`: called in the idle loop, before the CPU sleeps. If it returns true, the caller starts
    /// a [`NohzIdleBalance`] with `STATS_KICK`. It returns false if a kick has arrived meanwhile because that does the
    /// work.
    pub fn run_idle(&mut self, cpu: Cpu, need_resched: bool) -> bool {
        let flags = &mut self.cpus[cpu as usize].flags;
        let only = *flags == NohzFlags::NEWILB_KICK;
        *flags -= NohzFlags::NEWILB_KICK;
        only && !need_resched
    }
}
