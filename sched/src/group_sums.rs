//! Sums over groups of CPUs, kept as CPUs change, so that load balance and the slow path need not add up every CPU of a
//! domain.
//!
//! The kernel's `update_sg_lb_stats()` and `update_sg_wakeup_stats()` read each CPU of a group anew. Few CPUs change
//! between two passes, so that a caller who keeps all CPUs can keep the sums as well:
//!
//! ```text
//! a CPU may have changed            GroupTable::touch(cpu)       notes it
//! before a pass, a fork, an exec    GroupTable::refresh(of)      for each CPU that is noted:
//!                                                                    new = of(cpu)
//!                                                                    sums of its spans += new - old
//! in them                           GroupView::group_sums()      the sums of a domain's groups
//! ```
//!
//! All are integers, and additions wrap, so that the sums are exactly those of a plain count.

use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SchedDomains, SchedGroup};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// What one CPU has, or all CPUs of a group together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupSums {
    /// `cpu_load()`; 1024 is a nice-0 task.
    pub load: u64,
    /// `cpu_runnable_load()`; 1024 is a nice-0 task. Read for versions up to 5.4 only.
    pub runnable_load: u64,
    /// `cpu_util_cfs()`: utilisation or its estimate, whichever is larger, at most the capacity; 1024 is a CPU.
    pub util: u64,
    /// `cpu_runnable()`; 1024 is a CPU.
    pub runnable: u64,
    /// `rq->nr_running`.
    pub nr_running: u32,
    /// The number of fair tasks as load balance counts them: since 7.2 without those that sleep and are still queued.
    pub h_nr_running: u32,
    /// The number of CPUs without a task for which `idle_cpu()` is true, as load balance counts them.
    pub idle_cpus: u32,
    /// The number of CPUs without a task for which `idle_cpu_without()` is true, as the slow path counts them.
    pub idle_cpus_without: u32,
    /// The number of CPUs with more than one task.
    pub overloaded_cpus: u32,
}

impl GroupSums {
    /// Adds `new` and takes `old` away.
    #[inline]
    fn replace(&mut self, old: &GroupSums, new: &GroupSums) {
        let u64s = |sum: u64, old: u64, new: u64| sum.wrapping_sub(old).wrapping_add(new);
        let u32s = |sum: u32, old: u32, new: u32| sum.wrapping_sub(old).wrapping_add(new);
        *self = GroupSums {
            load: u64s(self.load, old.load, new.load),
            runnable_load: u64s(self.runnable_load, old.runnable_load, new.runnable_load),
            util: u64s(self.util, old.util, new.util),
            runnable: u64s(self.runnable, old.runnable, new.runnable),
            nr_running: u32s(self.nr_running, old.nr_running, new.nr_running),
            h_nr_running: u32s(self.h_nr_running, old.h_nr_running, new.h_nr_running),
            idle_cpus: u32s(self.idle_cpus, old.idle_cpus, new.idle_cpus),
            idle_cpus_without: u32s(self.idle_cpus_without, old.idle_cpus_without, new.idle_cpus_without),
            overloaded_cpus: u32s(self.overloaded_cpus, old.overloaded_cpus, new.overloaded_cpus),
        };
    }

    /// Returns what decides on the type of a group with these sums.
    #[inline]
    pub(crate) fn group_use(&self, weight: u32, capacity: u64, imbalance_pct: u32) -> GroupUse {
        let GroupSums { nr_running, util, runnable, .. } = *self;
        GroupUse { nr_running, weight, capacity, util, runnable, imbalance_pct }
    }

    /// Returns the sums without one of the group's CPUs.
    #[must_use]
    pub fn without(mut self, cpu: &GroupSums) -> Self {
        self.replace(cpu, &GroupSums::default());
        self
    }
}

/// What `group_is_overloaded()` and `group_has_capacity()` read of a group, here and in the slow path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupUse {
    /// The number of tasks of all classes.
    pub nr_running: u32,
    /// The number of CPUs.
    pub weight: u32,
    /// `sgc->capacity`.
    pub capacity: u64,
    /// Sum of the CPUs' utilisation.
    pub util: u64,
    /// Sum of the CPUs' runnable averages.
    pub runnable: u64,
    /// The domain's, per cent.
    pub imbalance_pct: u32,
}

impl GroupUse {
    /// `group_is_overloaded()`: more tasks than CPUs, and the CPUs' time is used up or waited for.
    #[inline]
    pub fn group_is_overloaded(&self) -> bool {
        let pct = u64::from(self.imbalance_pct);
        self.nr_running > self.weight
            && (self.capacity * 100 < self.util * pct || self.capacity * pct < self.runnable * 100)
    }

    /// `group_has_capacity()`: fewer tasks than CPUs, or time to spare.
    #[inline]
    pub fn group_has_capacity(&self) -> bool {
        let pct = u64::from(self.imbalance_pct);
        self.nr_running < self.weight
            || (self.capacity * pct >= self.runnable * 100 && self.capacity * 100 > self.util * pct)
    }
}

/// The largest number of tasks that [`DomainSums::with_tasks`] tells apart.
pub const MOST_TASKS: usize = 4;

/// The sums of one domain's groups, and of single CPUs.
#[derive(Clone, Copy, Debug)]
pub struct DomainSums<'a> {
    sums: &'a [GroupSums],
    numbers: &'a [u32],
    disjoint: bool,
    with_tasks: &'a [CpuMask; MOST_TASKS],
}

impl<'a> DomainSums<'a> {
    /// Returns the sums of the group at this index of the domain's ring.
    ///
    /// # Panics
    /// If the ring has no such group.
    #[inline]
    pub fn group(&self, index: usize) -> &'a GroupSums {
        &self.sums[self.numbers[index] as usize]
    }

    /// Whether no CPU is in two groups, so that the only group with the domain's own CPU is its first group.
    #[inline]
    pub fn disjoint(&self) -> bool {
        self.disjoint
    }

    /// Returns what a CPU has.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[inline]
    pub fn cpu(&self, cpu: Cpu) -> &'a GroupSums {
        &self.sums[cpu as usize]
    }

    /// Returns the CPUs of the machine whose [`h_nr_running`](GroupSums::h_nr_running) is `tasks` or more, of 1 to
    /// [`MOST_TASKS`].
    ///
    /// # Panics
    /// If `tasks` is out of that range.
    #[inline]
    pub fn with_tasks(&self, tasks: usize) -> &'a CpuMask {
        &self.with_tasks[tasks - 1]
    }
}

/// The sums of all groups of a machine.
#[derive(Clone, Debug)]
pub struct GroupTable {
    /// By number: first the CPUs, then the spans of groups with several CPUs.
    sums: Vec<GroupSums>,
    /// By CPU: the numbers of those spans that it is in.
    spans_of: Vec<SmallVec<[u32; 6]>>,
    /// By ring: the numbers of its groups, and whether they are disjoint. It is empty if a group reaches beyond the
    /// domain: a pass counts only those of its CPUs that are in the domain.
    rings: Vec<(Vec<u32>, bool)>,
    /// By CPU and level: the ring.
    ring_of: Vec<SmallVec<[u32; 6]>>,
    /// The CPUs with at least 1, 2, ... tasks.
    with_tasks: [CpuMask; MOST_TASKS],
    /// The CPUs that may have changed since the last refresh.
    touched: Vec<Cpu>,
    /// By CPU: whether it is among them.
    is_touched: Vec<bool>,
}

impl GroupTable {
    /// Creates the sums of CPUs that have nothing. All CPUs may have changed.
    pub fn new(domains: &SchedDomains) -> Self {
        let nr_cpus = domains.nr_cpus as usize;
        let mut table = GroupTable {
            sums: vec![GroupSums::default(); nr_cpus],
            spans_of: vec![SmallVec::new(); nr_cpus],
            rings: Vec::new(),
            ring_of: vec![SmallVec::new(); nr_cpus],
            with_tasks: std::array::from_fn(|_| CpuMask::new(domains.nr_cpus)),
            touched: (0..domains.nr_cpus).collect(),
            is_touched: vec![true; nr_cpus],
        };
        let mut numbers = Numbers::default();
        let mut rings = HashMap::new();
        for (cpu, chain) in domains.domains.iter().enumerate() {
            for sd in chain {
                let ring = *rings.entry((Arc::as_ptr(&sd.groups), Arc::as_ptr(&sd.span))).or_insert_with(|| {
                    table.rings.push((Vec::new(), false));
                    let ring = table.rings.len() - 1;
                    table.add_ring(ring, sd, &mut numbers);
                    ring as u32
                });
                table.ring_of[cpu].push(ring);
            }
        }
        table
    }

    fn add_ring<'a>(&mut self, ring: usize, sd: &'a SchedDomain, numbers: &mut Numbers<'a>) {
        if sd.groups.iter().any(|group| !group.span.is_subset(&sd.span)) {
            return;
        }
        for group in sd.groups.iter() {
            let number = numbers.of(group, self.sums.len() as u32);
            if number as usize == self.sums.len() {
                self.sums.push(GroupSums::default());
                group.span.iter().for_each(|cpu| self.spans_of[cpu as usize].push(number));
            }
            self.rings[ring].0.push(number);
        }
        self.rings[ring].1 = sd.groups.iter().map(|group| group.weight).sum::<u32>() == sd.span_weight;
    }

    /// Notes that a CPU may have changed.
    #[inline]
    pub fn touch(&mut self, cpu: Cpu) {
        if !std::mem::replace(&mut self.is_touched[cpu as usize], true) {
            self.touched.push(cpu);
        }
    }

    /// Brings the sums up to date; `of` returns what a CPU has now.
    #[inline]
    pub fn refresh(&mut self, mut of: impl FnMut(Cpu) -> GroupSums) {
        while let Some(cpu) = self.touched.pop() {
            self.is_touched[cpu as usize] = false;
            let new = of(cpu);
            let old = std::mem::replace(&mut self.sums[cpu as usize], new);
            if old != new {
                for &number in &self.spans_of[cpu as usize] {
                    self.sums[number as usize].replace(&old, &new);
                }
            }
            if old.h_nr_running != new.h_nr_running {
                for (tasks, mask) in (1..).zip(&mut self.with_tasks) {
                    mask.assign(cpu, new.h_nr_running >= tasks);
                }
            }
        }
    }

    /// Whether the sums are those of a plain count, where `of` returns what a CPU has now: for assertions.
    pub fn is_count(&self, mut of: impl FnMut(Cpu) -> GroupSums) -> bool {
        let mut count = vec![GroupSums::default(); self.sums.len()];
        let mut with_tasks = true;
        for (cpu, spans) in self.spans_of.iter().enumerate() {
            let new = of(cpu as Cpu);
            count[cpu] = new;
            for &number in spans {
                count[number as usize].replace(&GroupSums::default(), &new);
            }
            let masks = (1..).zip(&self.with_tasks);
            with_tasks &= { masks }.all(|(tasks, mask)| mask.test(cpu as Cpu) == (new.h_nr_running >= tasks));
        }
        with_tasks && count == self.sums
    }

    /// Returns the sums of the groups of a CPU's domain at `level` (0 is the lowest). Returns `None` if CPUs have
    /// changed since the last refresh, or if a group reaches beyond the domain.
    ///
    /// # Panics
    /// If the CPU has no such domain.
    #[inline]
    pub fn domain(&self, cpu: Cpu, level: usize) -> Option<DomainSums<'_>> {
        let (numbers, disjoint) = &self.rings[self.ring_of[cpu as usize][level] as usize];
        let known = self.touched.is_empty() && !numbers.is_empty();
        known.then_some(DomainSums { sums: &self.sums, numbers, disjoint: *disjoint, with_tasks: &self.with_tasks })
    }
}

/// A span and its number.
type Numbered<'a> = (&'a CpuMask, u32);

/// The spans that have a number: one number for each set of CPUs.
#[derive(Default)]
struct Numbers<'a> {
    /// By first CPU and weight, which nearly always tell spans apart.
    known: HashMap<(Cpu, u32), SmallVec<[Numbered<'a>; 1]>>,
}

impl<'a> Numbers<'a> {
    /// Returns the number of a group's span: `next` if it is new. A single CPU has its own.
    fn of(&mut self, group: &'a SchedGroup, next: u32) -> u32 {
        let first = group.span.first().expect("a group has CPUs");
        if group.weight == 1 {
            return first;
        }
        let alike = self.known.entry((first, group.weight)).or_default();
        if let Some(&(_, number)) = alike.iter().find(|(span, _)| **span == group.span) {
            return number;
        }
        alike.push((&group.span, next));
        next
    }
}
