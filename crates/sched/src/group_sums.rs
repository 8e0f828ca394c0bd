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
//!                                   GroupTable::rank_all()       the order of the groups of large domains
//! in them                           GroupView::group_sums()      the sums of a domain's groups
//! ```
//!
//! All are integers, and additions wrap, so that the sums are exactly those of a plain count.

use crate::balance::BalanceRules;
use crate::cpumask::{Cpu, CpuMask};
use crate::domain::{SchedDomain, SchedDomains, SdFlags};
use crate::group_order::{GroupReader, RingOrder};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// The sums of one CPU, or of all CPUs of a group together. Each is one line of a cache: passes read those of many
/// CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
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

/// The values that `group_is_overloaded()` and `group_has_capacity()` read of a group, here and in the slow path.
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
    table: &'a GroupTable,
    number: u32,
    numbers: &'a [u32],
    disjoint: bool,
}

impl<'a> DomainSums<'a> {
    /// Returns the sums of the group at this index of the domain's ring.
    ///
    /// # Panics
    /// If the ring has no such group.
    #[inline]
    pub fn group(&self, index: usize) -> &'a GroupSums {
        &self.table.sums[self.numbers[index] as usize]
    }

    /// Whether no CPU is in two groups, so that the only group with the domain's own CPU is its first group.
    #[inline]
    pub fn disjoint(&self) -> bool {
        self.disjoint
    }

    /// Returns the sums of a CPU.
    ///
    /// # Panics
    /// If there is no such CPU.
    #[inline]
    pub fn cpu(&self, cpu: Cpu) -> &'a GroupSums {
        &self.table.sums[cpu as usize]
    }

    /// Returns the sums of all groups together; `None` if the groups have no order.
    #[inline]
    pub fn total(&self) -> Option<&'a GroupSums> {
        let ordered = self.table.rings[self.number as usize].ordered.as_ref()?;
        Some(&self.table.sums[ordered.total as usize])
    }

    /// Returns the order of the groups for this reader, who must have had them ranked since they changed
    /// ([`GroupTable::rank_domain`], [`GroupTable::rank_all`]); `None` if he has not, or if the groups are few or not
    /// disjoint.
    #[inline]
    pub fn order(&self, reader: GroupReader) -> Option<&'a RingOrder> {
        let ordered = self.table.rings[self.number as usize].ordered.as_ref()?;
        ordered.order.is_ranked(reader).then_some(&ordered.order)
    }

    /// Returns the index of the CPU's group in the ring. Only where groups have an order.
    #[inline]
    pub fn group_of(&self, cpu: Cpu) -> Option<usize> {
        let places = &self.table.members[cpu as usize].places;
        places.iter().find(|(ring, _)| *ring == self.number).map(|&(_, index)| index as usize)
    }

    /// Returns the CPUs of the machine whose [`h_nr_running`](GroupSums::h_nr_running) is `tasks` or more, of 1 to
    /// [`MOST_TASKS`].
    ///
    /// # Panics
    /// If `tasks` is out of that range.
    #[inline]
    pub fn with_tasks(&self, tasks: usize) -> &'a CpuMask {
        &self.table.with_tasks[tasks - 1]
    }
}

/// The sums of all groups of a machine.
#[derive(Clone, Debug)]
pub struct GroupTable {
    /// By number: first the CPUs, then the spans of groups with several CPUs.
    sums: Vec<GroupSums>,
    /// By CPU: where its sums go.
    members: Vec<Member>,
    rings: Vec<Ring>,
    /// By CPU and level: the ring.
    ring_of: Vec<SmallVec<[u32; 6]>>,
    /// The CPUs with at least 1, 2, ... tasks.
    with_tasks: [CpuMask; MOST_TASKS],
    /// The CPUs that may have changed since the last refresh.
    touched: Vec<Cpu>,
    /// By CPU: whether it is among them.
    is_touched: Vec<bool>,
    /// The rings that have an order.
    ordered: Vec<u32>,
}

/// The groups that a CPU is in: what a refresh reads of each CPU, on one line of a cache.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Member {
    /// The numbers of the spans with several CPUs.
    spans: SmallVec<[u32; 6]>,
    /// The groups in rings that have an order, as number of the ring and index.
    places: SmallVec<[(u32, u32); 2]>,
}

/// A ring of groups.
#[derive(Clone, Debug, Default)]
struct Ring {
    /// The numbers of its groups. It is empty if a group reaches beyond the domain: a pass counts only those of its
    /// CPUs that are in the domain.
    numbers: Vec<u32>,
    /// No CPU is in two of its groups.
    disjoint: bool,
    /// If it has many groups.
    ordered: Option<Box<Ordered>>,
}

/// A ring whose groups have an order.
#[derive(Clone, Debug)]
struct Ordered {
    /// The number of the span of all groups together.
    total: u32,
    order: RingOrder,
}

const _: () = assert!(size_of::<Member>() == 64 && size_of::<GroupSums>() == 64);

/// From how many groups on a ring has an order. To compare fewer one by one is cheaper than to keep it.
const ORDERED_FROM: usize = 16;

impl GroupTable {
    /// Creates the sums of CPUs that have nothing. All CPUs may have changed. The groups of large domains have an order
    /// by `rules`.
    pub fn new(domains: &SchedDomains, rules: &BalanceRules) -> Self {
        Self::with_order_from(ORDERED_FROM, domains, rules)
    }

    /// The same with an order of the groups in domains of at least so many groups.
    pub fn with_order_from(groups: usize, domains: &SchedDomains, rules: &BalanceRules) -> Self {
        let nr_cpus = domains.nr_cpus as usize;
        let mut table = GroupTable {
            sums: vec![GroupSums::default(); nr_cpus],
            members: vec![Member::default(); nr_cpus],
            rings: Vec::new(),
            ring_of: vec![SmallVec::new(); nr_cpus],
            with_tasks: std::array::from_fn(|_| CpuMask::new(domains.nr_cpus)),
            touched: (0..domains.nr_cpus).collect(),
            is_touched: vec![true; nr_cpus],
            ordered: Vec::new(),
        };
        let mut numbers = Numbers::default();
        let mut rings = HashMap::new();
        for (cpu, chain) in domains.domains.iter().enumerate() {
            for sd in chain {
                let key = (Arc::as_ptr(&sd.groups), Arc::as_ptr(&sd.span), sd.imbalance_pct);
                let ring = *rings.entry(key).or_insert_with(|| {
                    table.add_ring(sd, &mut numbers);
                    let ring = table.rings.len() - 1;
                    let few = sd.groups.len() < groups;
                    if !few && table.rings[ring].disjoint && !sd.flags.contains(SdFlags::ASYM_CPUCAPACITY) {
                        table.add_order(ring as u32, sd, rules, &mut numbers);
                    }
                    ring as u32
                });
                table.ring_of[cpu].push(ring);
            }
        }
        table
    }

    /// Returns the number of a span.
    fn number<'a>(&mut self, span: &'a CpuMask, weight: u32, numbers: &mut Numbers<'a>) -> u32 {
        let number = numbers.of(span, weight, self.sums.len() as u32);
        if number as usize == self.sums.len() {
            self.sums.push(GroupSums::default());
            span.iter().for_each(|cpu| self.members[cpu as usize].spans.push(number));
        }
        number
    }

    fn add_ring<'a>(&mut self, sd: &'a SchedDomain, numbers: &mut Numbers<'a>) {
        let mut ring = Ring::default();
        if sd.groups.iter().all(|group| group.span.is_subset(&sd.span)) {
            ring.numbers = sd.groups.iter().map(|group| self.number(&group.span, group.weight, numbers)).collect();
            ring.disjoint = sd.groups.iter().map(|group| group.weight).sum::<u32>() == sd.span_weight;
        }
        self.rings.push(ring);
    }

    fn add_order<'a>(&mut self, ring: u32, sd: &'a SchedDomain, rules: &BalanceRules, numbers: &mut Numbers<'a>) {
        let Some(order) = RingOrder::new(sd, rules) else { return };
        let total = self.number(&sd.span, sd.span_weight, numbers);
        self.rings[ring as usize].ordered = Some(Box::new(Ordered { total, order }));
        for (index, group) in (0..).zip(sd.groups.iter()) {
            group.span.iter().for_each(|cpu| self.members[cpu as usize].places.push((ring, index)));
        }
        self.ordered.push(ring);
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
                let Member { spans, places } = &self.members[cpu as usize];
                for &number in spans {
                    self.sums[number as usize].replace(&old, &new);
                }
                for &(ring, index) in places {
                    let ordered = self.rings[ring as usize].ordered.as_mut().expect("the ring has an order");
                    ordered.order.outdate(index as usize);
                }
            }
            if old.h_nr_running != new.h_nr_running {
                for (tasks, mask) in (1..).zip(&mut self.with_tasks) {
                    mask.assign(cpu, new.h_nr_running >= tasks);
                }
            }
        }
    }

    /// Ranks the groups of a CPU's domain that have changed, for a balance pass over it.
    ///
    /// # Panics
    /// If the CPU has no such domain.
    #[inline]
    pub fn rank_domain(&mut self, cpu: Cpu, level: usize) {
        self.rank(self.ring_of[cpu as usize][level], GroupReader::LoadBalance);
    }

    /// Ranks the groups of all domains that have changed, for a fork or exec, which goes down the domains.
    #[inline]
    pub fn rank_all(&mut self) {
        (0..self.ordered.len()).for_each(|at| self.rank(self.ordered[at], GroupReader::SlowPath));
    }

    #[inline]
    fn rank(&mut self, ring: u32, reader: GroupReader) {
        let Ring { numbers, ordered, .. } = &mut self.rings[ring as usize];
        if let Some(ordered) = ordered {
            ordered.order.rank(reader, |index| &self.sums[numbers[index] as usize]);
        }
    }

    /// Whether the sums are those of a plain count, where `of` returns what a CPU has now: for assertions.
    pub fn is_count(&self, mut of: impl FnMut(Cpu) -> GroupSums) -> bool {
        let mut count = vec![GroupSums::default(); self.sums.len()];
        let mut with_tasks = true;
        for (cpu, Member { spans, .. }) in self.members.iter().enumerate() {
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
        let number = self.ring_of[cpu as usize][level];
        let Ring { numbers, disjoint, .. } = &self.rings[number as usize];
        let known = self.touched.is_empty() && !numbers.is_empty();
        known.then_some(DomainSums { table: self, number, numbers, disjoint: *disjoint })
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
    /// Returns the number of a span: `next` if it is new. A single CPU has its own.
    fn of(&mut self, span: &'a CpuMask, weight: u32, next: u32) -> u32 {
        let first = span.first().expect("a group has CPUs");
        if weight == 1 {
            return first;
        }
        let alike = self.known.entry((first, weight)).or_default();
        if let Some(&(_, number)) = alike.iter().find(|(other, _)| *other == span) {
            return number;
        }
        alike.push((span, next));
        next
    }
}
