//! `select_task_rq_rt()` and `find_lowest_rq()`: the CPU whose task is the least urgent, and of several the nearest.

use super::NO_RT_PRIO;
use crate::CpuMask;
use crate::cpumask::Cpu;
use crate::domain::{SchedDomains, SdFlags};

/// A CPU's place in `struct cpupri`: the larger, the more urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cpupri {
    /// `CPUPRI_NORMAL`: fair tasks, or none. Nothing tells those two apart.
    Normal,
    /// A realtime task of `sched_priority` 1 to 99.
    Rt(u8),
}

impl Cpupri {
    /// `convert_prio()` of a run queue's `highest_prio.curr` or of a task's `prio`.
    pub fn of(prio: u8) -> Self {
        if prio >= NO_RT_PRIO { Cpupri::Normal } else { Cpupri::Rt(NO_RT_PRIO - prio) }
    }
}

/// A search for the least urgent CPU.
#[derive(Clone, Copy, Debug)]
pub struct LowestRq<'a> {
    /// `task_cpu()`.
    pub task_cpu: Cpu,
    /// `smp_processor_id()`.
    pub this_cpu: Cpu,
    /// `p->prio`.
    pub prio: u8,
    /// `p->cpus_ptr`.
    pub allowed: &'a CpuMask,
    /// The domains.
    pub domains: &'a SchedDomains,
}

/// `find_lowest_rq()`. `highest_prio` is each run queue's `rt.highest_prio.curr`, or 0 where a deadline task is queued
/// (`CPUPRI_HIGHER`). `distribute` is the CPU that this CPU took last (`distribute_cpu_mask_prev`, since 5.11); `None`
/// where the first of a domain is taken (5.10).
///
/// Returns `None` if no CPU that the task may use is less urgent than the task.
pub fn find_lowest_rq(
    search: &LowestRq<'_>,
    highest_prio: impl Fn(Cpu) -> u8,
    distribute: Option<&mut Cpu>,
) -> Option<Cpu> {
    if search.allowed.weight() == 1 {
        return None;
    }
    let task = Cpupri::of(search.prio);
    let levels = || search.allowed.iter().map(|cpu| (Cpupri::of(highest_prio(cpu)), cpu));
    let lowest = levels().map(|(level, _)| level).min().filter(|&level| level < task)?;
    let cpus = levels().filter(|(level, _)| *level == lowest).map(|(_, cpu)| cpu);
    let mask = CpuMask::from_cpus(search.domains.nr_cpus, cpus);
    nearest(&mask, (search.task_cpu, search.this_cpu), search.domains, distribute)
}

/// What `find_lowest_rq()` and `find_later_rq()` do with the CPUs that they found: the task's own, or one in the
/// smallest domain of the task's CPU that has one, this CPU first.
pub(super) fn nearest(
    mask: &CpuMask,
    (task_cpu, this_cpu): (Cpu, Cpu),
    domains: &SchedDomains,
    mut distribute: Option<&mut Cpu>,
) -> Option<Cpu> {
    if mask.test(task_cpu) {
        return Some(task_cpu);
    }
    let this_cpu = mask.test(this_cpu).then_some(this_cpu);
    for sd in &domains.domains[task_cpu as usize] {
        if !sd.flags.contains(SdFlags::WAKE_AFFINE) {
            continue;
        }
        if let Some(this_cpu) = this_cpu.filter(|&cpu| sd.span.test(cpu)) {
            return Some(this_cpu);
        }
        if let Some(cpu) = any_and(mask, &sd.span, distribute.as_deref_mut()) {
            return Some(cpu);
        }
    }
    this_cpu.or_else(|| any_and(mask, mask, distribute))
}

/// The next CPU after the last one taken (`cpumask_any_and_distribute()`); or the first (`cpumask_first_and()`, 5.10).
fn any_and(a: &CpuMask, b: &CpuMask, prev: Option<&mut Cpu>) -> Option<Cpu> {
    match prev {
        Some(prev) => a.any_and_distribute(b, prev),
        None => a.iter_and(b).next(),
    }
}

/// `select_task_rq_rt()` of a wake-up or fork. The task stays on its CPU unless `curr` there, if that is a realtime
/// task, is not to be displaced: it may use one CPU only, or is at least as urgent (its `prio`).
pub fn select_task_rq_rt(
    search: &LowestRq<'_>,
    curr: Option<(bool, u8)>,
    highest_prio: impl Fn(Cpu) -> u8,
    distribute: Option<&mut Cpu>,
) -> Cpu {
    if curr.is_some_and(|(pinned, prio)| pinned || prio <= search.prio)
        && let Some(target) = find_lowest_rq(search, &highest_prio, distribute)
        && search.prio < highest_prio(target)
    {
        return target;
    }
    search.task_cpu
}
