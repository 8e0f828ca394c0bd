//! The search by energy up to 5.18: the previous CPU is kept unless a sixteenth of the energy is saved.

use super::build::PerfDomains;
use super::env::Landscape;
use crate::cpumask::{Cpu, CpuMask};
use crate::select::{EnergyLook, Event, Observer, View};

/// The end: whether the best CPU saves enough. Without an energy of the previous CPU it cannot be used.
fn saves_enough(prev_delta: u64, best_delta: u64, base_energy: u64) -> bool {
    prev_delta == u64::MAX || prev_delta.wrapping_sub(best_delta) > (prev_delta.wrapping_add(base_energy)) >> 4
}

impl<V: View> Landscape<'_, V> {
    /// 5.10: the previous CPU's energy is taken on the way, and it may be the one with most room. Differences wrap.
    pub(super) fn by_margin<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (mut best_cpu, mut base_energy) = (prev_cpu, 0u64);
        let (mut prev_delta, mut best_delta) = (u64::MAX, u64::MAX);
        for pd in pds.iter() {
            let env = self.env(pd, 0);
            let base = self.compute_energy(&env, pd, None);
            base_energy = base_energy.wrapping_add(base);
            let mut seen = EnergyLook { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
            let (mut most, mut most_cpu) = (0, None);
            let mut clamps = self.first_clamps();
            for cpu in pd.cpus.iter() {
                if !span.test(cpu) || !self.wakeup.wakee.cpus_ptr.test(cpu) {
                    continue;
                }
                let Some(room) = self.room(cpu, &mut clamps) else { continue };
                if cpu == prev_cpu {
                    let energy = self.compute_energy(&env, pd, Some(cpu));
                    prev_delta = energy.wrapping_sub(base);
                    best_delta = best_delta.min(prev_delta);
                    seen.prev = Some(energy);
                }
                if room.spare > most {
                    (most, most_cpu) = (room.spare, Some(cpu));
                }
            }
            if let Some(cpu) = most_cpu.filter(|&cpu| cpu != prev_cpu) {
                let energy = self.compute_energy(&env, pd, Some(cpu));
                seen.other = Some((cpu, energy));
                let delta = energy.wrapping_sub(base);
                if delta < best_delta {
                    (best_delta, best_cpu) = (delta, cpu);
                }
            }
            observer.event(Event::Energy(seen));
        }
        if saves_enough(prev_delta, best_delta, base_energy) { best_cpu } else { prev_cpu }
    }

    /// 5.18: the previous CPU and the best of the others, and no energy for a domain that has neither.
    pub(super) fn by_margin_of_others<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (mut best_cpu, mut base_energy) = (prev_cpu, 0u64);
        let (mut prev_delta, mut best_delta) = (u64::MAX, u64::MAX);
        for pd in pds.iter() {
            let candidates = self.candidates(pd, span);
            // A CPU without any room left is none.
            let other = candidates.other.filter(|&(_, _, spare)| spare > 0);
            if candidates.prev.is_none() && other.is_none() {
                continue;
            }
            let env = self.env(pd, 0);
            let base = self.compute_energy(&env, pd, None);
            base_energy = base_energy.wrapping_add(base);
            let mut seen = EnergyLook { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
            if candidates.prev.is_some() {
                let energy = self.compute_energy(&env, pd, Some(prev_cpu));
                if energy < base {
                    return prev_cpu;
                }
                prev_delta = energy - base;
                best_delta = best_delta.min(prev_delta);
                seen.prev = Some(energy);
            }
            if let Some((cpu, ..)) = other {
                let energy = self.compute_energy(&env, pd, Some(cpu));
                if energy < base {
                    return prev_cpu;
                }
                seen.other = Some((cpu, energy));
                let delta = energy - base;
                if delta < best_delta {
                    (best_delta, best_cpu) = (delta, cpu);
                }
            }
            observer.event(Event::Energy(seen));
        }
        if saves_enough(prev_delta, best_delta, base_energy) { best_cpu } else { prev_cpu }
    }
}
