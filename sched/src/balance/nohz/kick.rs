//! When a busy CPU has an idle one balance, and which.

use super::{Nohz, NohzFlags};
use crate::balance::cpu::check_cpu_capacity;
use crate::balance::interval::time_after;
use crate::balance::{Balance, BalanceView, IlbWalk};
use crate::cpumask::Cpu;

/// A CPU is told to balance (`kick_ilb()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kick {
    /// Which.
    pub cpu: Cpu,
    /// What it is to do; earlier kicks are still in [`Nohz::flags`].
    pub flags: NohzFlags,
    /// An interrupt goes to it ([`Nohz::kicked`]); false if one is on its way.
    pub ipi: bool,
}

impl Nohz {
    /// `nohz_balancer_kick()`, at the tick of a CPU at `jiffies`. Idle CPUs kick nobody.
    pub fn balancer_kick<V: BalanceView>(
        &mut self,
        view: &V,
        balance: &Balance<'_>,
        cpu: Cpu,
        jiffies: u64,
    ) -> Option<Kick> {
        if view.idle_cpu(cpu) {
            return None;
        }
        self.exit_idle(balance, cpu);
        // 7.2 asks for this later, so that it can look for an idle CPU in vain.
        if self.idle_cpus_mask.is_empty() {
            return None;
        }
        let mut flags = NohzFlags::empty();
        if self.has_blocked && time_after(jiffies, self.next_blocked) {
            flags = NohzFlags::STATS_KICK;
        }
        if !time_after(self.next_balance, jiffies) && self.has_work_to_give(view, balance, cpu) {
            flags = NohzFlags::STATS_KICK | NohzFlags::BALANCE_KICK;
        }
        if self.needs_update {
            flags |= NohzFlags::NEXT_KICK;
        }
        if flags.is_empty() { None } else { self.kick_ilb(view, balance, cpu, flags, jiffies) }
    }

    /// On CPUs of unequal capacities a misfit task counts, and how busy the LLC is does not.
    fn has_work_to_give<V: BalanceView>(&self, view: &V, balance: &Balance<'_>, cpu: Cpu) -> bool {
        let reduced = || {
            balance.nr_levels(cpu) != 0
                && balance.h_nr_running(view, cpu) >= 1
                && check_cpu_capacity(view, balance.sd(cpu, 0), cpu)
        };
        if view.nr_running(cpu) >= 2 || reduced() {
            return true;
        }
        match balance.domains.sd_asym_cpucapacity(cpu) {
            Some(level) => balance.check_misfit_status(view, balance.sd(cpu, level as usize), cpu),
            None => self.nr_busy_cpus(balance, cpu).is_some_and(|nr_busy| nr_busy > 1),
        }
    }

    /// `kick_ilb()`.
    fn kick_ilb<V: BalanceView>(
        &mut self,
        view: &V,
        balance: &Balance<'_>,
        this_cpu: Cpu,
        flags: NohzFlags,
        jiffies: u64,
    ) -> Option<Kick> {
        // Also if nobody is found.
        match balance.rules.ilb_walk {
            IlbWalk::FromFirst => self.next_balance = self.next_balance.wrapping_add(1),
            IlbWalk::FromNext if flags.contains(NohzFlags::BALANCE_KICK) => self.next_balance = jiffies.wrapping_add(1),
            IlbWalk::FromNext => {}
        }
        let cpu = self.find_new_ilb(view, balance, this_cpu)?;
        let pending = &mut self.cpus[cpu as usize].flags;
        let ipi = !pending.intersects(NohzFlags::KICK_MASK);
        *pending |= flags;
        Some(Kick { cpu, flags, ipi })
    }

    /// `find_new_ilb()`: the first idle CPU among those whose tick is stopped, in 7.3 the first of an idle core before it.
    pub fn find_new_ilb<V: BalanceView>(&self, view: &V, balance: &Balance<'_>, this_cpu: Cpu) -> Option<Cpu> {
        let mut idle = self.idle_cpus_mask.iter().filter(|&cpu| cpu != this_cpu && view.idle_cpu(cpu));
        let first = idle.next()?;
        if !balance.rules.ilb_idle_core || balance.is_core_idle(view, first) {
            return Some(first);
        }
        // The kernel does not look at siblings of a CPU that is not idle: they would not do.
        Some(idle.find(|&cpu| balance.is_core_idle(view, cpu)).unwrap_or(first))
    }

    /// The interrupt arrives (`nohz_csd_func()`): what the CPU is to do. `None` if it has become busy; then nobody does it.
    pub fn kicked<V: BalanceView>(&mut self, view: &V, cpu: Cpu) -> Option<NohzFlags> {
        let flags = std::mem::take(&mut self.cpus[cpu as usize].flags);
        view.idle_cpu(cpu).then_some(flags)
    }
}
