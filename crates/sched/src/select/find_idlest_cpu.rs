//! `find_idlest_cpu()` (`sched_balance_find_dst_cpu()` since 6.10): the slow path of forks and execs, which goes down
//! the domains, one CPU a step; and `find_idlest_group_cpu()`, the idlest CPU of a group.
//!
//! ```text
//! find_idlest_cpu(sd, p, cpu, prev_cpu, sd_flag):
//!     while sd:
//!         if sd does not have sd_flag: sd = sd->child; continue       SlowPath::enter
//!         group = find_idlest_group(sd, p, cpu)                       SlowPath::probe, ::choose_group
//!         if no group: sd = sd->child; continue
//!         new_cpu = find_idlest_group_cpu(group, p, cpu)              IdlestCpu
//!         if new_cpu == cpu: sd = sd->child; continue                 SlowPath::descend
//!         cpu = new_cpu; sd = the widest domain of cpu below sd
//!     return new_cpu
//! ```

use super::find_idlest_group::{GroupStats, WORST, is_no_idler, leaves_local, update_pick_idlest};
use super::find_idlest_group_by_load::{ByLoad, GroupLoads};
use super::select_idle_sibling::takes_sched_idle;
use super::select_task_rq_fair::Cx;
use super::{Event, Observer, Probe, Rules, Site, View, Wakeup};
use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SchedGroup, SdFlags};
use crate::group_order::{GroupReader, RingOrder};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use wakelab_kernel::FindGroup;

/// The state of one slow-path decision.
#[derive(Clone, Debug)]
pub(super) struct SlowPath {
    sd_flag: SdFlags,
    /// The CPU whose domains are being descended.
    cpu: Cpu,
    new_cpu: Cpu,
    /// The domain's level at that CPU.
    level: usize,
    part: Part,
}

/// The purpose of the next probes.
#[derive(Clone, Debug)]
enum Part {
    /// The groups of the domain: the position in its ring, and the comparison so far.
    Groups { at: usize, stats: GroupStats, local: Option<(usize, GroupStats)>, idlest: Option<(usize, GroupStats)> },
    /// The groups of the domain if they are compared by their loads (up to 5.4).
    Loads { at: usize, loads: GroupLoads, by_load: ByLoad },
    /// The CPUs of the chosen group.
    Cpus { group: usize, best: IdlestCpu },
}

/// The CPU of the next probe, or as an error the CPU that is chosen.
type Next = Result<Cpu, Cpu>;

impl Default for SlowPath {
    fn default() -> Self {
        SlowPath {
            sd_flag: SdFlags::empty(),
            cpu: 0,
            new_cpu: 0,
            level: 0,
            part: Part::Cpus { group: 0, best: IdlestCpu::new(0) },
        }
    }
}

impl SlowPath {
    /// Enters find_idlest_cpu() at the domain `level` of the waking CPU.
    pub(super) fn start<O: Observer>(
        &mut self,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        level: usize,
        sd_flag: SdFlags,
        observer: &mut O,
    ) -> Next {
        self.sd_flag = sd_flag;
        self.cpu = wakeup.waker.cpu;
        self.new_cpu = self.cpu;
        let sd = &rules.domains.domains[self.cpu as usize][level];
        if !sd.span.intersects(wakeup.wakee.cpus_ptr) {
            return Err(wakeup.wakee.prev_cpu);
        }
        self.enter(Some(level), rules, wakeup, observer)
    }

    /// Goes to the domain at `level`, or to the next below it that has the flag; `None` is below the lowest.
    fn enter<O: Observer>(
        &mut self,
        level: Option<usize>,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        observer: &mut O,
    ) -> Next {
        let domains = &rules.domains.domains[self.cpu as usize];
        let level = level.and_then(|top| (0..=top).rev().find(|&level| domains[level].flags.intersects(self.sd_flag)));
        let Some(level) = level else { return Err(self.new_cpu) };
        self.level = level;
        observer.event(Event::Domain { level, cpu: self.cpu });
        self.part = match rules.code.find_group {
            FindGroup::GroupTypes => Part::Groups { at: 0, stats: GroupStats::default(), local: None, idlest: None },
            FindGroup::Loads => Part::Loads { at: 0, loads: GroupLoads::default(), by_load: ByLoad::new() },
        };
        self.next_group(0, rules, wakeup, observer)
    }

    /// Goes to the first group from `from` on that has an allowed CPU, and to its first CPU.
    fn next_group<O: Observer>(
        &mut self,
        from: usize,
        rules: &Rules<'_>,
        wakeup: &Wakeup<'_>,
        observer: &mut O,
    ) -> Next {
        let sd = self.domain(rules);
        for index in from..sd.groups.len() {
            let group = ring(sd, index);
            if group.span.intersects(wakeup.wakee.cpus_ptr) {
                match &mut self.part {
                    Part::Groups { at, stats, .. } => {
                        (*at, *stats) = (index, GroupStats::new(sd.flags.contains(SdFlags::ASYM_CPUCAPACITY)));
                    }
                    Part::Loads { at, loads, .. } => (*at, *loads) = (index, GroupLoads::default()),
                    Part::Cpus { .. } => unreachable!("groups are being compared"),
                }
                return Ok(next_cpu(rules, wakeup, group, 0).expect("the group has an allowed CPU"));
            }
        }
        self.choose_group(rules, wakeup, observer)
    }

    /// Probes one CPU and advances.
    pub(super) fn probe<V: View, O: Observer>(&mut self, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> Next {
        let sd = self.domain(cx.rules);
        match &mut self.part {
            Part::Groups { at, stats, local, idlest } => {
                let group = ring(sd, *at);
                stats.add(cpu, cx.wakeup, cx.view);
                if stats.group_misfit_task_load {
                    stats.add_fit(cpu, cx);
                }
                if let Some(next) = next_cpu(cx.rules, cx.wakeup, group, cpu + 1) {
                    return Ok(next);
                }
                stats.finish(self.level, sd.imbalance_pct, group, cx);
                let is_local = group.span.test(self.cpu);
                observer.event(Event::Group {
                    first: group.span.first().unwrap_or(cpu),
                    local: is_local,
                    stats: *stats,
                });
                if is_local {
                    *local = Some((*at, *stats));
                } else if update_pick_idlest(idlest.as_ref().map_or(&WORST, |(_, stats)| stats), stats) {
                    *idlest = Some((*at, *stats));
                }
                let next = *at + 1;
                self.next_group(next, cx.rules, cx.wakeup, observer)
            }
            Part::Loads { at, loads, by_load } => {
                let group = ring(sd, *at);
                loads.add(cpu, cx.wakeup, cx.view);
                if let Some(next) = next_cpu(cx.rules, cx.wakeup, group, cpu + 1) {
                    return Ok(next);
                }
                loads.finish(cx.view.group_capacity(self.level, group));
                let local = group.span.test(self.cpu);
                let first = group.span.first().unwrap_or(cpu);
                observer.event(Event::GroupLoads { first, local, loads: *loads });
                by_load.add(*at, local, *loads, sd);
                let next = *at + 1;
                self.next_group(next, cx.rules, cx.wakeup, observer)
            }
            Part::Cpus { group, best } => {
                if best.probe(cpu, cx, observer) {
                    return self.descend(cpu, cx.rules, cx.wakeup, observer);
                }
                let span = &ring(sd, *group).span;
                if let Some(next) = span.next_from_and(cx.wakeup.wakee.cpus_ptr, cpu + 1) {
                    return Ok(next);
                }
                let chosen = best.chosen();
                self.descend(chosen, cx.rules, cx.wakeup, observer)
            }
        }
    }

    /// Goes on from the probe of `cpu` to the end of what the probes are for, if nobody observes them. Returns `None`
    /// if they have to be made one by one.
    pub(super) fn finish_part<V: View>(&mut self, cpu: Cpu, cx: Cx<'_, V>) -> Option<Next> {
        match &self.part {
            Part::Groups { .. } => self.compare_by_sums(cpu, cx),
            Part::Loads { .. } => None,
            Part::Cpus { .. } => Some(self.compare_cpus(cpu, cx)),
        }
    }

    /// Compares the CPUs of the chosen group from `cpu` on.
    fn compare_cpus<V: View>(&mut self, cpu: Cpu, cx: Cx<'_, V>) -> Next {
        let sd = self.domain(cx.rules);
        let Part::Cpus { group, best } = &mut self.part else { unreachable!("CPUs are being compared") };
        let (span, allowed) = (&ring(sd, *group).span, cx.wakeup.wakee.cpus_ptr);
        let idle = cx.view.idle_mask().filter(|_| cx.view.sched_idle_mask().is_none());
        let mut next = Some(cpu);
        while let Some(cpu) = next {
            if let Some(idle) = idle
                && best.shallowest_idle_cpu.is_some()
            {
                // Once a CPU is idle, busy ones do not count any more.
                span.iter_and_and_from(allowed, idle, cpu).for_each(|cpu| best.idle(cpu, cx.view));
                break;
            }
            if best.probe(cpu, cx, &mut ()) {
                return self.descend(cpu, cx.rules, cx.wakeup, &mut ());
            }
            next = span.next_from_and(allowed, cpu + 1);
        }
        let chosen = best.chosen();
        self.descend(chosen, cx.rules, cx.wakeup, &mut ())
    }

    /// Compares the groups of the domain by the sums that the view keeps, from the first group on, and continues after
    /// the last. `cpu` is the next to be probed. Returns `None` if the groups have to be probed CPU by CPU. The only
    /// CPU that does not count as in the sums is the one that has the task itself.
    fn compare_by_sums<V: View>(&mut self, cpu: Cpu, cx: Cx<'_, V>) -> Option<Next> {
        let (sd, task) = (self.domain(cx.rules), &cx.wakeup.wakee);
        let Part::Groups { at: 0, stats: GroupStats { group_misfit_task_load: false, .. }, local, idlest } =
            &mut self.part
        else {
            return None;
        };
        if ring(sd, 0).span.first() != Some(cpu) || !sd.span.is_subset(task.cpus_ptr) {
            return None;
        }
        let sums = cx.view.group_sums(self.cpu, self.level)?;
        let own = (task.has_contributed || task.is_current).then_some(task.prev_cpu);
        let mut compare = |at: usize| {
            let group = ring(sd, at);
            let group_sums = sums.group(sd.group_index(at));
            let is_local = if sums.disjoint() { at == 0 } else { group.span.test(self.cpu) };
            let has_own = own.is_some_and(|cpu| group.span.test(cpu));
            if !is_local
                && !has_own
                && let Some((_, idlest)) = idlest
                && !cx.view.group_imbalance(self.level, group)
                && is_no_idler(idlest, group, group_sums, cx.view.group_capacity(self.level, group), sd.imbalance_pct)
            {
                return;
            }
            let mut stats = match own.filter(|_| has_own) {
                None => GroupStats::of(group_sums),
                Some(cpu) => {
                    let mut stats = GroupStats::of(&group_sums.without(sums.cpu(cpu)));
                    stats.add(cpu, cx.wakeup, cx.view);
                    stats
                }
            };
            stats.finish(self.level, sd.imbalance_pct, group, cx);
            if is_local {
                *local = Some((at, stats));
            } else if update_pick_idlest(idlest.as_ref().map_or(&WORST, |(_, stats)| stats), &stats) {
                *idlest = Some((at, stats));
            }
        };
        match sums.order(GroupReader::SlowPath).filter(|_| !cx.view.may_be_imbalanced()) {
            Some(order) => {
                let own = own.and_then(|cpu| sums.group_of(cpu));
                idlest_candidates(sd, order, own).into_iter().for_each(&mut compare);
            }
            None => (0..sd.groups.len()).for_each(&mut compare),
        }
        Some(self.choose_group(cx.rules, cx.wakeup, &mut ()))
    }

    /// Chooses after the last group: the task goes to the idlest group, or stays in the local one and goes a domain
    /// lower.
    fn choose_group<O: Observer>(&mut self, rules: &Rules<'_>, wakeup: &Wakeup<'_>, observer: &mut O) -> Next {
        let sd = self.domain(rules);
        let chosen = match &self.part {
            Part::Groups { local, idlest, .. } => idlest.as_ref().and_then(|(index, stats)| {
                let local = local.as_ref().map(|(index, stats)| (ring(sd, *index), stats));
                leaves_local(rules, wakeup, sd, local, (ring(sd, *index), stats)).then_some(*index)
            }),
            Part::Loads { by_load, .. } => {
                by_load.chosen(self.sd_flag.contains(SdFlags::BALANCE_FORK), wakeup.wakee.util_avg, sd)
            }
            Part::Cpus { .. } => unreachable!("groups are being compared"),
        };
        let Some(index) = chosen else {
            observer.event(Event::GroupChosen(None));
            return self.enter(self.level.checked_sub(1), rules, wakeup, observer);
        };
        let group = ring(sd, index);
        let first = group.span.first().expect("a group has CPUs");
        observer.event(Event::GroupChosen(Some(first)));
        if group.weight == 1 {
            return self.descend(first, rules, wakeup, observer);
        }
        self.part = Part::Cpus { group: index, best: IdlestCpu::new(self.cpu) };
        Ok(group.span.next_from_and(wakeup.wakee.cpus_ptr, 0).expect("the group has an allowed CPU"))
    }

    /// Continues at the chosen CPU of the group, below this domain.
    fn descend<O: Observer>(&mut self, chosen: Cpu, rules: &Rules<'_>, wakeup: &Wakeup<'_>, observer: &mut O) -> Next {
        observer.event(Event::CpuChosen(chosen));
        self.new_cpu = chosen;
        if chosen == self.cpu {
            return self.enter(self.level.checked_sub(1), rules, wakeup, observer);
        }
        let weight = self.domain(rules).span_weight;
        self.cpu = chosen;
        let below = rules.domains.domains[chosen as usize].iter().take_while(|sd| sd.span_weight < weight).count();
        self.enter(below.checked_sub(1), rules, wakeup, observer)
    }

    fn domain<'a>(&self, rules: &Rules<'a>) -> &'a SchedDomain {
        &rules.domains.domains[self.cpu as usize][self.level]
    }
}

/// The state of find_idlest_group_cpu(): the best CPU so far.
#[derive(Clone, Copy, Debug)]
struct IdlestCpu {
    least_loaded_cpu: Cpu,
    min_load: u64,
    shallowest_idle_cpu: Option<Cpu>,
    min_exit_latency: u32,
    latest_idle_timestamp: u64,
}

impl IdlestCpu {
    /// The state before the first probe; the fall-back is the CPU at which the search is.
    fn new(this_cpu: Cpu) -> Self {
        IdlestCpu {
            least_loaded_cpu: this_cpu,
            min_load: u64::MAX,
            shallowest_idle_cpu: None,
            min_exit_latency: u32::MAX,
            latest_idle_timestamp: 0,
        }
    }

    /// Probes one CPU; `true` ends the search with it.
    #[inline]
    fn probe<V: View, O: Observer>(&mut self, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> bool {
        let view = cx.view;
        // A CPU with SCHED_IDLE tasks only is the best: it is awake, and they are preempted.
        let sched_idle = cx.rules.code.sched_idle_cpus && view.sched_idle_cpu(cpu);
        let idle = !sched_idle && view.available_idle_cpu(cpu);
        observer.event(Event::Probe(Probe { site: Site::Group, cpu, idle, sched_idle: Some(sched_idle) }));
        if sched_idle && takes_sched_idle(cx.rules, cx.wakeup) {
            return true;
        }
        if view.available_idle_cpu(cpu) {
            self.idle(cpu, view);
        } else if self.shallowest_idle_cpu.is_none() {
            let load = cx.rules.load_of(cpu, view);
            if load < self.min_load {
                self.min_load = load;
                self.least_loaded_cpu = cpu;
            }
        }
        false
    }

    /// Compares a CPU that is idle.
    #[inline]
    fn idle<V: View>(&mut self, cpu: Cpu, view: &V) {
        let exit_latency = view.idle_exit_latency(cpu);
        let idle_stamp = view.idle_stamp(cpu);
        match exit_latency {
            // The shallowest idle state first, however long ago the CPU went idle...
            Some(latency) if latency < self.min_exit_latency => {
                self.min_exit_latency = latency;
                self.latest_idle_timestamp = idle_stamp;
                self.shallowest_idle_cpu = Some(cpu);
            }
            // ... and among equals the one that went idle last: its cache may be warm.
            _ if exit_latency.is_none_or(|latency| latency == self.min_exit_latency)
                && idle_stamp > self.latest_idle_timestamp =>
            {
                self.latest_idle_timestamp = idle_stamp;
                self.shallowest_idle_cpu = Some(cpu);
            }
            _ => {}
        }
    }

    /// The CPU, after all were probed.
    fn chosen(&self) -> Cpu {
        self.shallowest_idle_cpu.unwrap_or(self.least_loaded_cpu)
    }
}

/// The positions in the ring of groups of which one is the idlest, and of the local group: of each range without the
/// local group and `own`, the index of the group that has the task itself, the idlest by their order.
fn idlest_candidates(sd: &SchedDomain, order: &RingOrder, own: Option<usize>) -> SmallVec<[usize; 6]> {
    let (first, count) = (sd.first_group as usize, sd.groups.len());
    let mut found: SmallVec<[usize; 6]> = smallvec![0];
    let mut add = |range: Range<usize>| found.extend(order.idlest(range));
    for range in [first + 1..count, 0..first] {
        match own.filter(|own| range.contains(own)) {
            None => add(range),
            Some(own) => {
                add(range.start..own);
                add(own..own + 1);
                add(own + 1..range.end);
            }
        }
    }
    found[1..]
        .iter_mut()
        .for_each(|index| *index = if *index >= first { *index - first } else { *index + count - first });
    found
}

/// The group at a position of the ring, counted from the CPU's own.
fn ring(sd: &SchedDomain, position: usize) -> &SchedGroup {
    &sd.groups[sd.group_index(position)]
}

/// The next CPU of a group whose statistics are summed: each CPU up to 6.8, since then those that the task may use.
fn next_cpu(rules: &Rules<'_>, wakeup: &Wakeup<'_>, group: &SchedGroup, from: Cpu) -> Option<Cpu> {
    if rules.code.wakeup_stats_allowed_only {
        group.span.next_from_and(wakeup.wakee.cpus_ptr, from)
    } else {
        group.span.next_from(from)
    }
}
