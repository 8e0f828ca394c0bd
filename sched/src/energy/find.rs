//! Where a waking task costs least (`find_energy_efficient_cpu()`).

use super::build::PerfDomains;
use super::env::Landscape;
use super::perf_domain::EmPerfDomain;
use crate::cpumask::{Cpu, CpuMask};
use crate::select::{EnergyLook, Event, Fit, Observer, Rules, View, Wakeup};
use wakelab_kernel::{Eas, UtilFits};

/// `find_energy_efficient_cpu()`: the CPU on which the wakee costs least; `None` (-1) where energy does not decide.
///
/// It does not on a machine that [`Rules::with_energy`] was not told of, while a CPU is overutilized, and where no domain with
/// different capacities has both the waking and the previous CPU. A task without utilisation stays where it was.
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
    let asks_minimum = wakee.uclamp.used && wakee.uclamp.min != 0 && code.util_fits != UtilFits::Clamped;
    if wakee.task_util_est() == 0 && !asks_minimum {
        return Some(wakee.prev_cpu);
    }
    let land = Landscape::new(rules, wakeup, view);
    let chosen = match code.eas {
        Eas::Margin => land.by_margin(pds, span, observer),
        Eas::MarginOthers => land.by_margin_of_others(pds, span, observer),
        Eas::EnergyEnv | Eas::EnergyEnvPerf => land.by_least(pds, span, observer),
    };
    Some(chosen)
}

/// The lowest domain from `sd_asym_cpucapacity` up that has both CPUs.
fn energy_span<'a>(rules: &Rules<'a>, wakeup: &Wakeup<'_>) -> Option<&'a CpuMask> {
    let this_cpu = wakeup.waker.cpu;
    let lowest = rules.domains.sd_asym_cpucapacity(this_cpu)? as usize;
    let above = &rules.domains.domains[this_cpu as usize][lowest..];
    above.iter().map(|sd| &*sd.span).find(|span| span.test(wakeup.wakee.prev_cpu))
}

/// What is best so far, since 6.1.
struct Best {
    cpu: Option<Cpu>,
    fit: Fit,
    delta: u64,
    cap: u64,
}

/// The previous CPU.
struct Prev {
    fit: Fit,
    delta: u64,
    cap: u64,
}

impl<V: View> Landscape<'_, V> {
    /// Since 6.1. The kernel's numbers for a fit are 1, 0 and -1, and it starts from -1: a CPU that misses only the minimum is no
    /// better than none.
    fn by_least<O: Observer>(&self, pds: &PerfDomains, span: &CpuMask, observer: &mut O) -> Cpu {
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
            let env = self.env(pd, task_busy_time);
            let base = self.compute_energy(&env, pd, None);
            let mut seen = EnergyLook { domain: pd.cpus.first().unwrap_or(0), base, prev: None, other: None };
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
                // Fits before energy, and where only the minimum is missed, the larger CPU.
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

    /// The previous CPU if it is one, and of the others the one that fits best, then has most room; the first of equals.
    pub(super) fn candidates(&self, pd: &EmPerfDomain, span: &CpuMask) -> Candidates {
        let mut candidates = Candidates::default();
        let mut clamps = self.first_clamps();
        for cpu in pd.cpus.iter() {
            if !span.test(cpu) || !self.wakeup.wakee.cpus_ptr.test(cpu) {
                continue;
            }
            let Some(room) = self.room(cpu, &mut clamps) else { continue };
            if cpu == self.wakeup.wakee.prev_cpu {
                candidates.prev = Some((room.fit, room.spare));
            } else if candidates.other.is_none_or(|(_, fit, spare)| (room.fit, spare) < (fit, room.spare)) {
                candidates.other = Some((cpu, room.fit, room.spare));
            }
        }
        candidates
    }
}

/// The CPUs of a domain that energies are worked out for, with how they fit and what room they have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Candidates {
    pub(super) prev: Option<(Fit, u64)>,
    pub(super) other: Option<(Cpu, Fit, u64)>,
}
