//! Balancing for idle CPUs whose tick is stopped (`nohz`, `nohz_idle_balance()`).
//!
//! ```text
//!  a CPU stops its tick     enter_idle          its first busy tick   exit_idle, by balancer_kick
//!  tick of a busy CPU       balancer_kick ──▶ Kick { cpu, flags, ipi }       kick.rs
//!  the kicked CPU           kicked ──▶ NohzIdleBalance: the idle CPUs, one by one, itself last      walk.rs
//!  about to go idle         newidle notes that blocked averages are due
//!  idle loop                run_idle ──▶ NohzIdleBalance, for the averages only
//! ```
//!
//! It decides; the caller ages averages ([`Nohz::averages_updated`]), runs [`Rebalance`](super::Rebalance) for a CPU that is
//! visited, and sends the interrupt. All CPUs may balance (no isolated ones, no nohz_full).

mod kick;
mod walk;

pub use kick::Kick;
pub use walk::{IlbVisit, NohzIdleBalance};

use super::interval::time_after;
use super::setup::Balance;
use crate::cpumask::{Cpu, CpuMask};

bitflags::bitflags! {
    /// `NOHZ_*`: what a CPU is to do for those whose tick is stopped (`nohz_flags()`). The bit numbers are the kernel's.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct NohzFlags: u8 {
        /// `NOHZ_BALANCE_KICK`: balance.
        const BALANCE_KICK = 1;
        /// `NOHZ_STATS_KICK`: age the averages that blocked tasks have left.
        const STATS_KICK = 2;
        /// `NOHZ_NEWILB_KICK`: the same, before the CPU goes idle.
        const NEWILB_KICK = 4;
        /// `NOHZ_NEXT_KICK`: work out when the next balance is due.
        const NEXT_KICK = 8;
        /// `NOHZ_KICK_MASK`: what needs an interrupt.
        const KICK_MASK = 1 | 2 | 8;
    }
}

/// `nohz`, with what CPUs and LLCs keep for it.
#[derive(Clone, Debug)]
pub struct Nohz {
    /// `nohz.idle_cpus_mask`: CPUs whose tick is stopped (`rq->nohz_tick_stopped`).
    pub idle_cpus_mask: CpuMask,
    /// `nohz.has_blocked` (`has_blocked_load` in 7.2): some of them have averages to be aged.
    pub has_blocked: bool,
    /// `nohz.needs_update`: some CPU is new among them.
    pub needs_update: bool,
    /// `nohz.next_balance`: when one of them is due, jiffies.
    pub next_balance: u64,
    /// `nohz.next_blocked`: when averages are aged next, jiffies.
    pub next_blocked: u64,
    cpus: Vec<NohzCpu>,
    /// By the lowest CPU of an LLC: `nr_busy_cpus`.
    nr_busy: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct NohzCpu {
    /// `nohz_flags()`.
    flags: NohzFlags,
    /// `rq->has_blocked_load`.
    has_blocked_load: bool,
    /// `rq->last_blocked_load_update_tick`, jiffies.
    updated: u64,
    /// `sd_llc->nohz_idle` of this CPU.
    idle: bool,
}

impl Nohz {
    /// As `init_sched_fair_class()` leaves it at `jiffies`: every CPU ticks.
    pub fn new(balance: &Balance<'_>, jiffies: u64) -> Self {
        let domains = balance.domains;
        let cpu = NohzCpu { flags: NohzFlags::empty(), has_blocked_load: false, updated: jiffies, idle: false };
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

    /// `sd_llc_shared->nr_busy_cpus`: how many CPUs of the CPU's LLC have not stopped their tick; `None` where the LLC is that
    /// CPU alone. On equal CPUs `sd_balance_shared` of 7.2 is the same.
    pub fn nr_busy_cpus(&self, balance: &Balance<'_>, cpu: Cpu) -> Option<u32> {
        let domains = balance.domains;
        domains.sd_llc[cpu as usize].map(|_| self.nr_busy[domains.sd_llc_id[cpu as usize] as usize])
    }

    /// `nohz_flags()` of a CPU.
    pub fn flags(&self, cpu: Cpu) -> NohzFlags {
        self.cpus[cpu as usize].flags
    }

    /// `nohz_balance_enter_idle()`: the tick of an idle CPU is stopped, or was and is not needed again.
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

    /// `nohz_balance_exit_idle()`: it ticks again. [`Nohz::balancer_kick`] calls it.
    pub fn exit_idle(&mut self, balance: &Balance<'_>, cpu: Cpu) {
        if self.idle_cpus_mask.test(cpu) {
            self.idle_cpus_mask.clear(cpu);
            self.set_idle(balance, cpu, false);
        }
    }

    /// `set_cpu_sd_state_idle()`, `set_cpu_sd_state_busy()`.
    fn set_idle(&mut self, balance: &Balance<'_>, cpu: Cpu, idle: bool) {
        let domains = balance.domains;
        let was = std::mem::replace(&mut self.cpus[cpu as usize].idle, idle);
        if domains.sd_llc[cpu as usize].is_none() || was == idle {
            return;
        }
        let nr_busy = &mut self.nr_busy[domains.sd_llc_id[cpu as usize] as usize];
        *nr_busy = if idle { *nr_busy - 1 } else { *nr_busy + 1 };
    }

    /// The averages of a CPU were aged at `jiffies` (`update_blocked_averages()`), by whatever reason; `blocked` tells whether
    /// something of blocked tasks is left in them.
    pub fn averages_updated(&mut self, cpu: Cpu, jiffies: u64, blocked: bool) {
        let c = &mut self.cpus[cpu as usize];
        c.updated = jiffies;
        c.has_blocked_load &= blocked;
    }

    /// `nohz_newidle_balance()`: a CPU that has found no work, and expects to be idle for `avg_idle` ns, notes whether averages
    /// are due ([`Nohz::run_idle`]).
    pub fn newidle(&mut self, balance: &Balance<'_>, cpu: Cpu, avg_idle: u64, jiffies: u64) {
        let due = self.has_blocked && !time_after(self.next_blocked, jiffies);
        if due && avg_idle >= u64::from(balance.tunables.migration_cost) {
            self.cpus[cpu as usize].flags |= NohzFlags::NEWILB_KICK;
        }
    }

    /// `nohz_run_idle_balance()`: in the idle loop, before the CPU sleeps. True: begin a [`NohzIdleBalance`] with
    /// `STATS_KICK`. If a kick has come meanwhile, that does it.
    pub fn run_idle(&mut self, cpu: Cpu, need_resched: bool) -> bool {
        let flags = &mut self.cpus[cpu as usize].flags;
        let only = *flags == NohzFlags::NEWILB_KICK;
        *flags -= NohzFlags::NEWILB_KICK;
        only && !need_resched
    }
}
