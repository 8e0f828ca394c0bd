//! What power management came to.

use crate::system::System;
use wakelab_pm::power::{CpuStats, DomainStats, PowerStats};

/// fJ to nJ, rounded.
fn nj(fj: u128) -> u64 {
    ((fj + 500_000) / 1_000_000) as u64
}

impl System<'_> {
    /// Up to now; `None` where no side asked.
    pub fn power_stats(&mut self) -> Option<PowerStats> {
        for cpu in 0..self.model.nr_cpus() {
            self.settle_counters(cpu);
        }
        let now = self.now;
        let model = self.pm_model()?;
        let pm = self.pm.as_mut()?;
        let mut cpus = Vec::new();
        for (of, &kind) in pm.cpus.iter_mut().zip(&model.kind_of) {
            of.residency.settle(now);
            let (end, start) = (of.counters.values(), of.start);
            cpus.push(CpuStats {
                kind: kind as u32,
                aperf: end.aperf.wrapping_sub(start.aperf),
                mperf: end.mperf.wrapping_sub(start.mperf),
                tsc: end.tsc.wrapping_sub(start.tsc),
                residency_ns: of.residency.residency_ns().to_vec(),
                idle_wakeups: of.idle_wakeups,
                interrupts: of.interrupts,
            });
        }
        let mut domains = Vec::new();
        for (n, account) in pm.cores.iter_mut().enumerate() {
            account.settle(now);
            domains.push(DomainStats { name: format!("core {n}"), energy_nj: nj(account.total_fj()) });
        }
        for ((account, _), of) in pm.shared.iter_mut().zip(&model.shared) {
            account.settle(now);
            domains.push(DomainStats { name: of.name.clone(), energy_nj: nj(account.total_fj()) });
        }
        Some(PowerStats {
            ns: now - pm.measured_from,
            kinds: model.kinds.iter().map(|kind| kind.stats.clone()).collect(),
            cpus,
            domains,
            transitions: pm.transitions,
        })
    }
}
