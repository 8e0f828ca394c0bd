//! The CPU of each core that a wrapping scan of an LLC reaches first, where each core has two CPUs: what a scan for an
//! idle core comes to, as a mask with one CPU of each core.
//!
//! A scan that wraps reaches the lower CPU of a core first, unless it starts above that one and not above the other. So
//! the masks of two starts that follow each other differ by one core only:
//!
//! ```text
//! cores of an LLC    0 4   1 5   2 6   3 7
//! start 0            0     1     2     3
//! start 1              4   1     2     3       the scan comes to CPU 4 before it wraps to 0
//! start 2              4     5   2     3
//! start 5            0       5     6     7     between 4 and 0 it reaches 0 first again
//! ```
//!
//! Masks are as wide as the machine, so that those of all starts take a large part of its memory, and searches that are
//! positions need none. Those of an LLC are made when the first is asked for.

use super::SchedDomain;
use crate::cpumask::{Cpu, CpuMask};
use std::sync::{Arc, OnceLock};

/// Where a CPU is in its LLC.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The index of the LLC.
    llc: u32,
    /// How many of its CPUs are lower.
    rank: u32,
    /// The other CPU of its core; itself, if the LLC does not have that one.
    sibling: Cpu,
}

#[derive(Clone, Debug)]
struct LlcWalks {
    span: Arc<CpuMask>,
    /// By rank of the CPU at which the scan starts.
    walks: OnceLock<Vec<CpuMask>>,
}

/// The masks of all LLCs.
#[derive(Clone, Debug)]
pub struct CoreWalks {
    /// By CPU; `None` if it has no LLC domain.
    places: Vec<Option<Place>>,
    llcs: Vec<LlcWalks>,
}

impl CoreWalks {
    /// `None` unless each core has two CPUs. `sd_llc` has the index of each CPU's LLC in its domains.
    pub(super) fn new(
        domains: &[Vec<SchedDomain>],
        sd_llc: &[Option<u32>],
        smt_mask: &[Arc<CpuMask>],
    ) -> Option<CoreWalks> {
        if smt_mask.iter().any(|mask| mask.weight() != 2) {
            return None;
        }
        let mut walks = CoreWalks { places: vec![None; domains.len()], llcs: Vec::new() };
        for first in 0..domains.len() as Cpu {
            let Some(level) = sd_llc[first as usize] else { continue };
            let span = &domains[first as usize][level as usize].span;
            if span.first() != Some(first) {
                continue;
            }
            let llc = walks.llcs.len() as u32;
            for (rank, cpu) in (0..).zip(span.iter()) {
                let sibling = smt_mask[cpu as usize].iter().find(|&other| other != cpu && span.test(other));
                walks.places[cpu as usize] = Some(Place { llc, rank, sibling: sibling.unwrap_or(cpu) });
            }
            walks.llcs.push(LlcWalks { span: span.clone(), walks: OnceLock::new() });
        }
        Some(walks)
    }

    /// The first CPUs of the cores of `cpu`'s LLC, for a scan that starts at `start`: at `cpu` or at the number after
    /// it. `None` for another start, or if the CPU has no LLC.
    #[inline]
    pub fn from_start(&self, cpu: Cpu, start: Cpu) -> Option<&CpuMask> {
        let Place { llc, rank, .. } = self.places[cpu as usize]?;
        let walks = self.llcs[llc as usize].walks.get_or_init(|| self.walks_of(llc));
        let rank = rank as usize + [cpu, cpu + 1].iter().position(|&from| from == start)?;
        // Above the last CPU the scan wraps at once.
        Some(walks.get(rank).unwrap_or(&walks[0]))
    }

    fn walks_of(&self, llc: u32) -> Vec<CpuMask> {
        let span = &self.llcs[llc as usize].span;
        let sibling = |cpu: Cpu| self.places[cpu as usize].map_or(cpu, |place| place.sibling);
        let mut walk = CpuMask::from_cpus(span.room(), span.iter().filter(|&cpu| cpu <= sibling(cpu)));
        let next = |cpu: Cpu| {
            let before = walk.clone();
            walk.clear(cpu);
            walk.set(sibling(cpu));
            before
        };
        span.iter().map(next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DomainOptions, Numbering, Uniform, build_sched_domains};
    use crate::cpumask::{CpuMask, Wrap};
    use wakelab_kernel::Preset;

    /// The walk of a scan that takes a whole core off its mask with each CPU that it comes to.
    #[test]
    fn core_walk_is_the_walk_of_a_scan() {
        let options = DomainOptions::of(Preset::get("v6.1").expect("a preset"));
        for numbering in [Numbering::Split, Numbering::Adjacent] {
            for (packages, llcs, cores) in [(1, 1, 1), (1, 1, 5), (2, 1, 3), (2, 3, 2), (1, 1, 70)] {
                let machine = Uniform { packages, llcs, nodes: packages, numbering, ..Uniform::new(cores, 2) };
                let domains = build_sched_domains(&machine.topology(), &options).expect("a machine");
                let walks = domains.core_walks.as_ref().expect("pairs");
                for cpu in 0..domains.nr_cpus {
                    let llc = domains.sd_llc(cpu).expect("an LLC");
                    for start in [cpu, cpu + 1] {
                        let (mut first, mut left) = (CpuMask::new(domains.nr_cpus), CpuMask::clone(&llc.span));
                        let mut position = Wrap::new(start);
                        while let Some(cpu) = position.next(&left) {
                            first.set(cpu);
                            left.andnot_with(&domains.smt_mask[cpu as usize]);
                        }
                        assert_eq!(
                            walks.from_start(cpu, start),
                            Some(&first),
                            "from CPU {start} of the LLC of CPU {cpu}"
                        );
                    }
                    assert_eq!(walks.from_start(cpu, cpu + 2), None);
                }
            }
        }
    }
}
