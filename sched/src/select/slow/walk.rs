//! The walk down the domains: first over the groups of a domain, CPU by CPU, then over the CPUs of the chosen group.

use super::find_cpu::IdlestCpu;
use super::find_group::{WORST, leaves_local, update_pick_idlest};
use super::group::GroupStats;
use super::loads::{ByLoad, GroupLoads};
use crate::cpumask::Cpu;
use crate::domain::{SchedDomain, SchedGroup, SdFlags};
use crate::select::step::Cx;
use crate::select::{Event, Observer, Rules, View, Wakeup};
use wakelab_kernel::FindGroup;

/// The state of one slow-path decision.
#[derive(Clone, Debug)]
pub(in crate::select) struct SlowPath {
    sd_flag: SdFlags,
    /// The CPU whose domains are walked down.
    cpu: Cpu,
    new_cpu: Cpu,
    /// The domain's level at that CPU.
    level: usize,
    part: Part,
}

/// What is being looked at.
#[derive(Clone, Debug)]
enum Part {
    /// The groups of the domain: the position in its ring, and what came out so far.
    Groups { at: usize, stats: GroupStats, local: Option<(usize, GroupStats)>, idlest: Option<(usize, GroupStats)> },
    /// The same where groups are compared by their loads.
    Loads { at: usize, loads: GroupLoads, so_far: ByLoad },
    /// The CPUs of the chosen group.
    Cpus { group: usize, best: IdlestCpu },
}

/// The next CPU to look at, or the one that is chosen.
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
    /// Begins at the domain `level` of the waking CPU.
    pub(in crate::select) fn start<O: Observer>(
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

    /// Goes to the domain at `level`, or below it to the next that has the flag; `None` is below the lowest.
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
            FindGroup::Loads => Part::Loads { at: 0, loads: GroupLoads::default(), so_far: ByLoad::new() },
        };
        self.next_group(0, rules, wakeup, observer)
    }

    /// Goes to the first group from `at` on that has an allowed CPU, and to its first CPU.
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
                    Part::Cpus { .. } => unreachable!("groups are being walked"),
                }
                return Ok(next_cpu(rules, wakeup, group, 0).expect("the group has an allowed CPU"));
            }
        }
        self.choose_group(rules, wakeup, observer)
    }

    /// Looks at one CPU and goes on.
    pub(in crate::select) fn look<V: View, O: Observer>(&mut self, cpu: Cpu, cx: Cx<'_, V>, observer: &mut O) -> Next {
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
            Part::Loads { at, loads, so_far } => {
                let group = ring(sd, *at);
                loads.add(cpu, cx.wakeup, cx.view);
                if let Some(next) = next_cpu(cx.rules, cx.wakeup, group, cpu + 1) {
                    return Ok(next);
                }
                loads.finish(cx.view.group_capacity(self.level, group));
                let local = group.span.test(self.cpu);
                let first = group.span.first().unwrap_or(cpu);
                observer.event(Event::GroupLoads { first, local, loads: *loads });
                so_far.add(*at, local, *loads, sd);
                let next = *at + 1;
                self.next_group(next, cx.rules, cx.wakeup, observer)
            }
            Part::Cpus { group, best } => {
                if best.look(cpu, cx, |look| observer.event(Event::Look(look))) {
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

    /// All groups are summed up: leave the local one, or go a domain lower.
    fn choose_group<O: Observer>(&mut self, rules: &Rules<'_>, wakeup: &Wakeup<'_>, observer: &mut O) -> Next {
        let sd = self.domain(rules);
        let chosen = match &self.part {
            Part::Groups { local, idlest, .. } => idlest.as_ref().and_then(|(index, stats)| {
                let local = local.as_ref().map(|(index, stats)| (ring(sd, *index), stats));
                leaves_local(rules, wakeup, sd, local, (ring(sd, *index), stats)).then_some(*index)
            }),
            Part::Loads { so_far, .. } => {
                so_far.chosen(self.sd_flag.contains(SdFlags::BALANCE_FORK), wakeup.wakee.util_avg, sd)
            }
            Part::Cpus { .. } => unreachable!("groups are being walked"),
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

    /// A CPU of the group is chosen: go on below this domain, at that CPU.
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

/// The group at a position of the ring, counted from the CPU's own.
fn ring(sd: &SchedDomain, position: usize) -> &SchedGroup {
    let count = sd.groups.len();
    &sd.groups[(sd.first_group as usize + position) % count]
}

/// The next CPU of a group whose statistics are summed up: all of them up to 6.8, those the task may use since.
fn next_cpu(rules: &Rules<'_>, wakeup: &Wakeup<'_>, group: &SchedGroup, from: Cpu) -> Option<Cpu> {
    if rules.code.wakeup_stats_allowed_only {
        group.span.next_from_and(wakeup.wakee.cpus_ptr, from)
    } else {
        group.span.next_from(from)
    }
}
