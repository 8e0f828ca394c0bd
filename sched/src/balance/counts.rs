//! What the version counts on a CPU.

use super::setup::Balance;
use super::view::BalanceView;
use crate::cpumask::Cpu;

impl Balance<'_> {
    /// Tasks of the fair class: all that are queued, or since 7.2 those that do not sleep.
    #[inline]
    pub(super) fn h_nr_running<V: BalanceView>(&self, view: &V, cpu: Cpu) -> u32 {
        let queued = view.h_nr_running(cpu);
        if self.rules.h_nr_runnable { queued - view.h_nr_delayed(cpu) } else { queued }
    }

    /// `is_core_idle()`: all other CPUs of the CPU's core are idle.
    pub(super) fn is_core_idle<V: BalanceView>(&self, view: &V, cpu: Cpu) -> bool {
        self.domains.smt_mask[cpu as usize].iter().all(|other| other == cpu || view.idle_cpu(other))
    }
}
