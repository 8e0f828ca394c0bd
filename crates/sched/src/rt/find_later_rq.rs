//! `select_task_rq_dl()` and `find_later_rq()`: a CPU without deadline tasks, or the one whose deadline is the latest.

use super::DlParams;
use super::find_lowest_rq::nearest;
use crate::CpuMask;
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;

/// A search for a CPU where a deadline task can run at once.
#[derive(Clone, Copy, Debug)]
pub struct LaterRq<'a> {
    /// `task_cpu()`.
    pub task_cpu: Cpu,
    /// `smp_processor_id()`.
    pub this_cpu: Cpu,
    /// The task's deadline.
    pub deadline: u64,
    /// Its parameters.
    pub params: DlParams,
    /// `p->cpus_ptr`.
    pub allowed: &'a CpuMask,
    /// The domains.
    pub domains: &'a SchedDomains,
    /// By CPU: `arch_scale_cpu_capacity()`.
    pub capacity: &'a [u64],
}

impl LaterRq<'_> {
    fn fits(&self, cpu: Cpu) -> bool {
        self.params.fits_capacity(self.capacity[cpu as usize])
    }

    /// `cpudl_find()`: the CPUs without a deadline entity, where capacities differ those of them that fit, or the
    /// largest if none does; without any, the CPU whose earliest deadline is the latest, if it is later than the
    /// task's. Of equal ones that is the first here, and any in the kernel's heap.
    fn cpudl_find(&self, earliest: &impl Fn(Cpu) -> Option<u64>) -> Option<CpuMask> {
        let nr_cpus = self.domains.nr_cpus;
        let free: Vec<Cpu> = self.allowed.iter().filter(|&cpu| earliest(cpu).is_none()).collect();
        if free.is_empty() {
            let latest = (0..nr_cpus).filter_map(|cpu| earliest(cpu).map(|deadline| (deadline, cpu)));
            let (deadline, cpu) = latest.max_by_key(|&(deadline, cpu)| (deadline, std::cmp::Reverse(cpu)))?;
            return (self.allowed.test(cpu) && self.deadline < deadline).then(|| CpuMask::from_cpus(nr_cpus, [cpu]));
        }
        if !self.domains.asym_cpucap_active {
            return Some(CpuMask::from_cpus(nr_cpus, free));
        }
        let fit: Vec<Cpu> = free.iter().copied().filter(|&cpu| self.fits(cpu)).collect();
        if !fit.is_empty() {
            return Some(CpuMask::from_cpus(nr_cpus, fit));
        }
        let mut best = (0, None);
        for &cpu in &free {
            let capacity = self.capacity[cpu as usize];
            if capacity > best.0 || (cpu == self.task_cpu && capacity == best.0) {
                best = (capacity, Some(cpu));
            }
        }
        best.1.map(|cpu| CpuMask::from_cpus(nr_cpus, [cpu]))
    }
}

/// `find_later_rq()`. `earliest` is each run queue's `dl.earliest_dl.curr`, `None` without an entity. `distribute` is
/// as in [`find_lowest_rq()`](super::find_lowest_rq).
///
/// Returns `None` if every CPU that the task may use has an earlier deadline.
pub fn find_later_rq(
    search: &LaterRq<'_>,
    earliest: impl Fn(Cpu) -> Option<u64>,
    distribute: Option<&mut Cpu>,
) -> Option<Cpu> {
    if search.allowed.weight() == 1 {
        return None;
    }
    let mask = search.cpudl_find(&earliest)?;
    nearest(&mask, (search.task_cpu, search.this_cpu), search.domains, distribute)
}

/// `select_task_rq_dl()` of a wake-up. The task stays on its CPU, unless `curr` there, if that is a deadline task, is
/// not to be displaced: it may use one CPU only, or its deadline is no later; or unless the CPU is too small.
pub fn select_task_rq_dl(
    search: &LaterRq<'_>,
    curr: Option<(bool, u64)>,
    earliest: impl Fn(Cpu) -> Option<u64>,
    distribute: Option<&mut Cpu>,
) -> Cpu {
    let may = search.allowed.weight() > 1;
    let stays = curr.is_none_or(|(pinned, deadline)| !pinned && search.deadline < deadline);
    let small = search.domains.asym_cpucap_active && !search.fits(search.task_cpu);
    if (!stays && may || small)
        && let Some(target) = find_later_rq(search, &earliest, distribute)
        && earliest(target).is_none_or(|other| search.deadline < other)
    {
        return target;
    }
    search.task_cpu
}
