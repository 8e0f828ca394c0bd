//! `nohz_balancer_kick()` and `find_new_ilb()` (`kernel/sched/fair.c`): when a busy CPU kicks an idle one to balance,
//! and which.
//!
//! ```text
//! no CPU has its tick stopped                          -> no kick
//! has_blocked and jiffies > next_blocked               -> NOHZ_STATS_KICK
//! jiffies >= next_balance and one of                   -> NOHZ_STATS_KICK | NOHZ_BALANCE_KICK
//!     rq->nr_running >= 2
//!     a fair task on a CPU of reduced capacity
//!     unequal CPUs: check_misfit_status()
//!     equal CPUs:   nr_busy_cpus of the LLC > 1
//! needs_update                                         -> also NOHZ_NEXT_KICK
//! ```

use super::{Nohz, NohzFlags};
use crate::balance::lb_env::check_cpu_capacity;
use crate::balance::rebalance_domains::time_after;
use crate::balance::{Balance, BalanceView, IlbWalk};
use crate::cpumask::Cpu;

/// A kick of an idle CPU (`kick_ilb()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kick {
    /// The idle CPU.
    pub cpu: Cpu,
    /// The work that it is to do. Earlier kicks are still in [`Nohz::flags`].
    pub flags: NohzFlags,
    /// An interrupt is sent to it ([`Nohz::kicked`]); false if one is already on its way.
    pub ipi: bool,
}

impl Nohz {
    /// `nohz_balancer_kick()`: called at the tick of `cpu` at `jiffies`. Returns the kick, if there is one; idle CPUs
    /// kick none.
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
        // 7.2 checks this later and then searches for an idle CPU in vain.
        if self.idle_cpus_mask.is_empty() {
            return None;
        }
        let mut flags = NohzFlags::empty();
        if self.has_blocked && time_after(jiffies, self.next_blocked) {
            flags = NohzFlags::STATS_KICK;
        }
        if !time_after(self.next_balance, jiffies) && self.needs_balance_kick(view, balance, cpu) {
            flags = NohzFlags::STATS_KICK | NohzFlags::BALANCE_KICK;
        }
        if self.needs_update {
            flags |= NohzFlags::NEXT_KICK;
        }
        if flags.is_empty() { None } else { self.kick_ilb(view, balance, cpu, flags, jiffies) }
    }

    /// The conditions for NOHZ_BALANCE_KICK. On CPUs of unequal capacities a misfit task counts, and the LLC's busy
    /// CPUs do not.
    fn needs_balance_kick<V: BalanceView>(&self, view: &V, balance: &Balance<'_>, cpu: Cpu) -> bool {
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

    /// `kick_ilb()`: kicks the CPU that `find_new_ilb()` returns.
    fn kick_ilb<V: BalanceView>(
        &mut self,
        view: &V,
        balance: &Balance<'_>,
        this_cpu: Cpu,
        flags: NohzFlags,
        jiffies: u64,
    ) -> Option<Kick> {
        // This happens even if no idle CPU is found.
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

    /// `find_new_ilb()`: returns the first idle CPU among those whose tick is stopped. In 7.3 the first of an idle core
    /// takes precedence.
    pub fn find_new_ilb<V: BalanceView>(&self, view: &V, balance: &Balance<'_>, this_cpu: Cpu) -> Option<Cpu> {
        let mut idle = self.idle_cpus_mask.iter().filter(|&cpu| cpu != this_cpu && view.idle_cpu(cpu));
        let first = idle.next()?;
        if !balance.rules.ilb_idle_core || balance.is_core_idle(view, first) {
            return Some(first);
        }
        // The kernel skips the siblings of a CPU on a busy core. They are on the same core and would not qualify.
        Some(idle.find(|&cpu| balance.is_core_idle(view, cpu)).unwrap_or(first))
    }

    /// `nohz_csd_func()`: the interrupt arrives. Returns what the CPU is to do; `None` if it has become busy, in which
    /// case no CPU does it.
    pub fn kicked<V: BalanceView>(&mut self, view: &V, cpu: Cpu) -> Option<NohzFlags> {
        let flags = std::mem::take(&mut self.cpus[cpu as usize].flags);
        view.idle_cpu(cpu).then_some(flags)
    }
}
