//! `find_energy_efficient_cpu()` (feec, `kernel/sched/fair.c`): the CPU on which a waking task costs the least energy.
//!
//! Per performance domain only two CPUs are considered: the previous CPU and the one with the most spare capacity.
//! Since 6.1:
//!
//! ```text
//! if rd->overutilized or no domain with all capacities has this_cpu and prev_cpu: return -1
//! if task_util_est == 0: return prev_cpu
//! for each performance domain {
//!     of the CPUs in the sched_domain and in p->cpus_ptr that util_fits_cpu() accepts:
//!         prev_cpu, and max_spare_cap_cpu = the one with the largest capacity_of(cpu) - cpu_util(cpu with p)
//!     base_energy = compute_energy(none)
//!     prev_delta  = compute_energy(prev_cpu) - base_energy
//!     if max_spare_cap_cpu has more spare capacity than prev_cpu:
//!         cur_delta = compute_energy(max_spare_cap_cpu) - base_energy
//!         it becomes best_energy_cpu if it fits better, or as well with a smaller cur_delta
//! }
//! return best_energy_cpu if it fits better than prev_cpu or best_delta < prev_delta, else prev_cpu
//! ```
//!
//! Up to 5.18 a move away from `prev_cpu` has to save more than a sixteenth:
//! `prev_delta - best_delta > (prev_delta + base_energy) >> 4`, with `base_energy` summed over all domains.

use super::build_perf_domains::PerfDomains;
use super::compute_energy::Feec;
use super::effective_cpu_util::uclamp_rq_util_with;
use super::em_perf_domain::EmPerfDomain;
use crate::cpumask::{Cpu, CpuMask};
use crate::select::{CpuCapacity, EnergyProbe, Event, Fit, Observer, Rules, Uclamp, View, Wakeup, util_fits_cpu};
use wakelab_kernel::{Eas, UtilFits};

/// `find_energy_efficient_cpu()`: returns the CPU on which the wakee costs the least energy, or `None` (-1) if energy
/// does not decide.
///
/// Energy does not decide if [`Rules::energy`] is `None`, while a CPU is overutilized, and if no domain with different
/// capacities has both the waking and the previous CPU. A task without utilisation stays on its previous CPU.
pub fn find_energy_efficient_cpu<V: View, O: Observer>(
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    view: &V,
    observer: &mut O,
) -> Option<Cpu> {
    let pds = rules.energy?;
    if view.overutilized() {
        return None;
    }
    let span = energy_span(rules, wakeup)?;
    let (wakee, code) = (&wakeup.wakee, rules.code);
    let has_minimum = wakee.uclamp.used && wakee.uclamp.min != 0 && code.util_fits != UtilFits::Clamped;
    if wakee.task_util_est() == 0 && !has_minimum {
        return Some(wakee.prev_cpu);
    }
    let feec = Feec::new(rules, wakeup, view);
    let chosen = match code.eas {
        Eas::Margin => feec.find_v5_10(pds, span, observer),
        Eas::MarginOthers => feec.find_v5_18(pds, span, observer),
        Eas::EnergyEnv | Eas::EnergyEnvPerfThermal | Eas::EnergyEnvPerf => feec.find_v6_1(pds, span, observer),
    };
    Some(chosen)
}

/// The span of the lowest domain from `sd_asym_cpucapacity` up that has both CPUs.
fn energy_span<'a>(rules: &Rules<'a>, wakeup: &Wakeup<'_>) -> Option<&'a CpuMask> {
    let this_cpu = wakeup.waker.cpu;
    let lowest = rules.domains.sd_asym_cpucapacity(this_cpu)? as usize;
    let above = &rules.domains.domains[this_cpu as usize][lowest..];
    above.iter().map(|sd| &*sd.span).find(|span| span.test(wakeup.wakee.prev_cpu))
}

/// The best CPU so far, since 6.1.
struct Best {
    cpu: Option<Cpu>,
    fit: Fit,
    delta: u64,
    cap: u64,
}

/// The previous CPU, since 6.1.
struct Prev {
    fit: Fit,
    delta: u64,
    cap: u64,
}

impl<V: View> Feec<'_, V> {
    /// Since 6.1. The kernel's numbers for a fit are 1, 0 and -1, and it starts from -1: a CPU that misses only the
    /// minimum is no better than none.
    fn find_v6_1<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let task_busy_time = self.task_busy_time();
        let mut prev = Prev { fit: Fit::MissesMinimum, delta: u64::MAX, cap: 0 };
        let mut best = Best { cpu: None, fit: Fit::MissesMinimum, delta: u64::MAX, cap: 0 };
        for pd in pds.iter() {
            let candidates = self.candidates(pd, span);
            if let Some((fit, _)) = candidates.prev {
                prev.fit = fit;
            }
            if candidates.prev.is_none() && candidates.other.is_none() {
                continue;
            }
            let env = self.energy_env(pd, task_busy_time);
            let base = self.compute_energy(&env, pd, None);
            let mut seen = EnergyProbe { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
            if candidates.prev.is_some() {
                let energy = self.compute_energy(&env, pd, Some(prev_cpu));
                if energy < base {
                    return prev_cpu;
                }
                prev.delta = energy - base;
                prev.cap = env.cpu_cap;
                best.delta = best.delta.min(prev.delta);
                seen.prev = Some(energy);
            }
            if let Some((cpu, fit, spare)) = candidates.other
                && candidates.prev.is_none_or(|(_, prev_spare)| spare > prev_spare)
            {
                // A better fit counts before energy. If both miss only the minimum, the larger CPU wins.
                let misses = fit == Fit::MissesMinimum;
                if fit <= best.fit && !(misses && env.cpu_cap <= best.cap) {
                    let energy = self.compute_energy(&env, pd, Some(cpu));
                    if energy < base {
                        return prev_cpu;
                    }
                    seen.other = Some((cpu, energy));
                    let delta = energy - base;
                    let both_fit = fit == Fit::Fits && best.fit == Fit::Fits;
                    if !(both_fit && delta >= best.delta) {
                        best = Best { cpu: Some(cpu), fit, delta, cap: env.cpu_cap };
                    }
                }
            }
            observer.event(Event::Energy(seen));
        }
        let better = best.fit < prev.fit
            || (best.fit == Fit::Fits && best.delta < prev.delta)
            || (best.fit == Fit::MissesMinimum && best.cap > prev.cap);
        best.cpu.filter(|_| better).unwrap_or(prev_cpu)
    }

    /// 5.18: per domain the previous CPU and the best of the others; a domain that has neither costs no computation.
    fn find_v5_18<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (mut best_cpu, mut base_energy) = (prev_cpu, 0u64);
        let (mut prev_delta, mut best_delta) = (u64::MAX, u64::MAX);
        for pd in pds.iter() {
            let candidates = self.candidates(pd, span);
            // max_spare_cap starts at 0, so a CPU without spare capacity is no candidate.
            let other = candidates.other.filter(|&(_, _, spare)| spare > 0);
            if candidates.prev.is_none() && other.is_none() {
                continue;
            }
            let env = self.energy_env(pd, 0);
            let base = self.compute_energy(&env, pd, None);
            base_energy = base_energy.wrapping_add(base);
            let mut seen = EnergyProbe { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
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

    /// 5.10: the previous CPU's energy is computed within the loop over the CPUs, and the previous CPU can itself be
    /// the one with the most spare capacity. The kernel's differences wrap.
    fn find_v5_10<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
        let prev_cpu = self.wakeup.wakee.prev_cpu;
        let (mut best_cpu, mut base_energy) = (prev_cpu, 0u64);
        let (mut prev_delta, mut best_delta) = (u64::MAX, u64::MAX);
        for pd in pds.iter() {
            let env = self.energy_env(pd, 0);
            let base = self.compute_energy(&env, pd, None);
            base_energy = base_energy.wrapping_add(base);
            let mut seen = EnergyProbe { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
            let (mut max_spare_cap, mut max_spare_cap_cpu) = (0, None);
            let mut clamps = self.first_clamps();
            for cpu in pd.cpus.iter() {
                if !span.test(cpu) || !self.wakeup.wakee.cpus_ptr.test(cpu) {
                    continue;
                }
                let Some((_, spare)) = self.fit_and_spare(cpu, &mut clamps) else { continue };
                if cpu == prev_cpu {
                    let energy = self.compute_energy(&env, pd, Some(cpu));
                    prev_delta = energy.wrapping_sub(base);
                    best_delta = best_delta.min(prev_delta);
                    seen.prev = Some(energy);
                }
                if spare > max_spare_cap {
                    (max_spare_cap, max_spare_cap_cpu) = (spare, Some(cpu));
                }
            }
            if let Some(cpu) = max_spare_cap_cpu.filter(|&cpu| cpu != prev_cpu) {
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

    /// Finds a domain's candidates: the previous CPU if the domain has it, and of the other CPUs the one that fits
    /// best, then the one with the most spare capacity, then the first.
    fn candidates(&self, pd: &EmPerfDomain, span: &CpuMask) -> Candidates {
        let mut candidates = Candidates::default();
        let mut clamps = self.first_clamps();
        for cpu in pd.cpus.iter() {
            if !span.test(cpu) || !self.wakeup.wakee.cpus_ptr.test(cpu) {
                continue;
            }
            let Some((cpu_fit, cpu_spare)) = self.fit_and_spare(cpu, &mut clamps) else { continue };
            if cpu == self.wakeup.wakee.prev_cpu {
                candidates.prev = Some((cpu_fit, cpu_spare));
            } else if candidates.other.is_none_or(|(_, fit, spare)| (cpu_fit, spare) < (fit, cpu_spare)) {
                candidates.other = Some((cpu, cpu_fit, cpu_spare));
            }
        }
        candidates
    }

    /// The clamps with which the first CPU of a domain is checked.
    fn first_clamps(&self) -> Uclamp {
        let clamps = self.uclamp();
        if clamps.used { clamps } else { Uclamp::UNUSED }
    }

    /// Returns how well the task fits `cpu` and how much of the CPU's capacity it would leave; `None` if it does not
    /// fit. `clamps` carries over to the next CPU of the domain: if that one has no runnable task, the kernel checks it
    /// with the clamps of the CPU before it.
    fn fit_and_spare(&self, cpu: Cpu, clamps: &mut Uclamp) -> Option<(Fit, u64)> {
        let (code, util) = (self.rules.code, self.cpu_util(cpu, Some(cpu)));
        let capacity = CpuCapacity::of(cpu, self.view);
        let rq = self.rq(cpu);
        let fit = if code.util_fits == UtilFits::Clamped {
            let util = uclamp_rq_util_with(&rq, util, clamps.used, Some(self.uclamp()));
            util_fits_cpu(code, util, Uclamp::UNUSED, &capacity)
        } else {
            if clamps.used && !rq.uclamp_idle {
                clamps.min = rq.uclamp_min.max(self.uclamp().min);
                clamps.max = rq.uclamp_max.max(self.uclamp().max);
            }
            util_fits_cpu(code, util, *clamps, &capacity)
        };
        (fit != Fit::Misses).then_some((fit, capacity.capacity.saturating_sub(util)))
    }
}

/// A domain's CPUs for which energies are computed, with how well they fit and their spare capacity.
#[derive(Clone, Copy, Debug, Default)]
struct Candidates {
    prev: Option<(Fit, u64)>,
    other: Option<(Cpu, Fit, u64)>,
}

/// Up to 5.18: whether the best CPU saves more than a sixteenth of the energy. If the previous CPU's energy is not
/// known, the task cannot stay there.
fn saves_enough(prev_delta: u64, best_delta: u64, base_energy: u64) -> bool {
    prev_delta == u64::MAX || prev_delta.wrapping_sub(best_delta) > (prev_delta.wrapping_add(base_energy)) >> 4
}
