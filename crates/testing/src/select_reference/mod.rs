//! `select_task_rq_fair()` a second time: written from the kernel's sources alone, straight down, without a thought
//! for speed. Each version's search has its own file, so that a mistake about one version is not a mistake about all.

pub mod case;
mod machine;
mod slow;
mod slow_v5_3;
pub mod table;
mod v5_10;
mod v5_3;
mod v6_1;
mod v6_12;
mod wake_affine;

use std::collections::BTreeSet;
use wakelab_kernel::{Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomain, SchedDomains, SdFlags};
use wakelab_sched::select::policy::{SisFilter, SisLimit};
use wakelab_sched::select::{Effects, Reason, ScanCost, SearchCount, View, WakeFlags, Wakeup};

/// A kernel whose source was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 5.3.
    V5_3,
    /// 5.10.
    V5_10,
    /// 6.1.
    V6_1,
    /// 6.12.
    V6_12,
    /// 7.2.
    V7_2,
}

/// What all functions read and write.
pub struct Kernel<'a> {
    /// Whose source is followed.
    pub version: Version,
    /// The features that are on.
    pub features: FeatureSet,
    /// The machine.
    pub domains: &'a SchedDomains,
    /// Its state.
    pub view: &'a dyn View,
    /// The waker and the wakee.
    pub wakeup: &'a Wakeup<'a>,
    /// What the decision leaves behind.
    pub effects: Effects,
    /// What it counted.
    pub count: SearchCount,
    /// Where select_idle_sibling() starts.
    pub target: Cpu,
    /// Why the CPU was taken.
    pub reason: Reason,
    /// Why the search in the LLC was given up before its end.
    given_up: Reason,
    /// SIS_SHORT took the target.
    short: bool,
    min_granularity: u64,
}

/// `for_each_cpu()` over a set that may shrink meanwhile is a walk over all numbers that asks the set each time.
fn wrap(nr_cpus: u32, start: Cpu) -> impl Iterator<Item = Cpu> {
    (start..nr_cpus).chain(0..start.min(nr_cpus))
}

fn set(mask: &CpuMask) -> BTreeSet<Cpu> {
    (0..mask.room()).filter(|&cpu| mask.test(cpu)).collect()
}

impl<'a> Kernel<'a> {
    /// Before the decision.
    pub fn new(
        version: Version,
        features: FeatureSet,
        domains: &'a SchedDomains,
        view: &'a dyn View,
        wakeup: &'a Wakeup<'a>,
        min_granularity: u64,
    ) -> Self {
        Kernel {
            version,
            features,
            domains,
            view,
            wakeup,
            effects: Effects::default(),
            count: SearchCount::default(),
            target: wakeup.wakee.prev_cpu,
            reason: Reason::Stay,
            given_up: Reason::None,
            short: false,
            min_granularity,
        }
    }

    fn on(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// `smp_processor_id()`.
    fn this_cpu(&self) -> Cpu {
        self.wakeup.waker.cpu
    }

    fn cpus_ptr(&self) -> BTreeSet<Cpu> {
        set(self.wakeup.wakee.cpus_ptr)
    }

    fn allowed(&self, cpu: Cpu) -> bool {
        self.cpus_ptr().contains(&cpu)
    }

    fn smt_mask(&self, cpu: Cpu) -> BTreeSet<Cpu> {
        set(&self.domains.smt_mask[cpu as usize])
    }

    /// `per_cpu(sd_llc, cpu)`.
    fn sd_llc(&self, cpu: Cpu) -> Option<&'a SchedDomain> {
        let level = self.domains.sd_llc[cpu as usize]?;
        Some(&self.domains.domains[cpu as usize][level as usize])
    }

    /// The waking CPU's `sd_llc`, where SIS_PROP keeps its average. A waker without one searches nothing; that has no
    /// reason of its own and goes by the name of the other one for which nothing is searched.
    fn waker_sd_llc(&mut self) -> Option<&'a SchedDomain> {
        let sd = self.sd_llc(self.this_cpu());
        if sd.is_none() {
            self.given_up = Reason::Overloaded;
        }
        sd
    }

    fn cpus_share_cache(&self, a: Cpu, b: Cpu) -> bool {
        self.domains.sd_llc_id[a as usize] == self.domains.sd_llc_id[b as usize]
    }

    fn cpus_share_resources(&self, a: Cpu, b: Cpu) -> bool {
        self.domains.sd_share_id[a as usize] == self.domains.sd_share_id[b as usize]
    }

    /// What counts as free for this wakee: `available_idle_cpu() || sched_idle_cpu()`, and in 7.2 `choose_idle_cpu()`.
    fn choose_idle_cpu(&self, cpu: Cpu) -> bool {
        self.view.available_idle_cpu(cpu) || self.choose_sched_idle_rq(cpu)
    }

    fn choose_sched_idle_rq(&self, cpu: Cpu) -> bool {
        if self.version == Version::V5_3 {
            return false;
        }
        if self.version >= Version::V7_2 && self.wakeup.wakee.idle_policy {
            return false;
        }
        self.view.sched_idle_cpu(cpu)
    }

    /// SIS_CORE is no kernel's feature: without it no core is ever known to be idle.
    fn test_idle_cores(&self, cpu: Cpu) -> bool {
        self.on(Feature::SIS_CORE) && self.view.has_idle_cores(cpu)
    }

    fn end(&mut self, reason: Reason, cpu: Cpu) -> Cpu {
        self.reason = reason;
        cpu
    }

    /// The last line of select_idle_sibling().
    fn fall_through(&mut self, target: Cpu) -> Cpu {
        self.count.failed += 1;
        self.end(self.given_up, target)
    }

    /// Decides; the CPU.
    pub fn select_task_rq_fair(&mut self) -> Cpu {
        let flags = self.wakeup.flags;
        let (cpu, prev_cpu) = (self.this_cpu(), self.wakeup.wakee.prev_cpu);
        let sync = flags.contains(WakeFlags::SYNC) && !self.wakeup.waker.exiting;
        let mut sd_flag = SdFlags::empty();
        sd_flag.set(SdFlags::BALANCE_EXEC, flags.contains(WakeFlags::EXEC));
        sd_flag.set(SdFlags::BALANCE_FORK, flags.contains(WakeFlags::FORK));
        sd_flag.set(SdFlags::BALANCE_WAKE, flags.contains(WakeFlags::TTWU));
        let mut new_cpu = prev_cpu;
        let mut want_affine = false;
        if flags.contains(WakeFlags::TTWU) {
            if self.version >= Version::V6_12 && flags.contains(WakeFlags::CURRENT_CPU) && self.allowed(cpu) {
                return self.end(Reason::CurrentCpu, cpu);
            }
            want_affine = !self.wake_wide() && self.allowed(cpu);
        }
        let mut sd = None;
        for (level, tmp) in self.domains.domains[cpu as usize].iter().enumerate() {
            if want_affine && tmp.flags.contains(SdFlags::WAKE_AFFINE) && tmp.span.test(prev_cpu) {
                if cpu != prev_cpu {
                    new_cpu = self.wake_affine(tmp, cpu, prev_cpu, sync);
                }
                sd = None;
                break;
            }
            if tmp.flags.intersects(sd_flag) {
                sd = Some(level);
            } else if !want_affine {
                break;
            }
        }
        if let Some(level) = sd {
            new_cpu = self.find_idlest_cpu(level, cpu, prev_cpu, sd_flag);
            return self.end(Reason::Slow, new_cpu);
        }
        if flags.contains(WakeFlags::TTWU) {
            self.target = new_cpu;
            new_cpu = self.select_idle_sibling(prev_cpu, new_cpu);
            if self.version <= Version::V5_10 && want_affine {
                self.effects.waker_recent_used_cpu = Some(cpu);
            }
        }
        new_cpu
    }

    fn wake_wide(&self) -> bool {
        let factor = self.domains.sd_llc_size[self.this_cpu() as usize];
        let (a, b) = (self.wakeup.waker.wakee_flips, self.wakeup.wakee.wakee_flips);
        let (master, slave) = (a.max(b), a.min(b));
        slave >= factor && master >= slave * factor
    }

    fn select_idle_sibling(&mut self, prev: Cpu, target: Cpu) -> Cpu {
        self.count.search += 1;
        self.count.scanned += 1;
        match self.version {
            Version::V5_3 => self.select_idle_sibling_5_3(prev, target),
            Version::V5_10 => self.select_idle_sibling_5_10(prev, target),
            Version::V6_1 => self.select_idle_sibling_6_1(prev, target),
            Version::V6_12 | Version::V7_2 => self.select_idle_sibling_6_12(prev, target),
        }
    }

    /// A task that a per-CPU kernel thread wakes on the CPU it ran on stays there; the same in all versions.
    fn stacks_on_kthread(&self, prev: Cpu) -> bool {
        let waker = self.wakeup.waker;
        waker.per_cpu_kthread && waker.in_task && prev == waker.cpu && self.view.nr_running(waker.cpu) <= 1
    }

    /// SIS_PROP's limit for a search in `sd`; 6.1's `select_idle_cpu()`.
    fn sis_prop_nr(&self, sd: &SchedDomain, avg_idle: u64, avg_cost: u64, target: Cpu) -> i32 {
        let span_avg = u64::from(sd.span_weight) * avg_idle;
        if self.on(Feature::SIS_LIMIT) {
            let floor = self.smt_mask(target).len().max(2) as u64;
            let mut nr = floor;
            if span_avg > floor * avg_cost {
                nr = span_avg / avg_cost;
                if nr > floor * 2 {
                    nr = floor * 2;
                }
            }
            return nr as i32;
        }
        if span_avg > 4 * avg_cost { (span_avg / avg_cost) as i32 } else { 4 }
    }

    /// SIS_LIMIT: where a walk for a CPU starts, in place of `usual`.
    fn walk_start(&self, target: Cpu, usual: Cpu) -> Cpu {
        let states = self.view.policies().filter(|_| self.on(Feature::SIS_LIMIT));
        states.and_then(|states| *states.cpu::<SisLimit>(target)).unwrap_or(usual)
    }

    /// SIS_FILTER: the CPUs of the LLC that were not overloaded at their last tick.
    fn not_overloaded(&self, target: Cpu, cpus: BTreeSet<Cpu>) -> BTreeSet<Cpu> {
        match self.view.policies().filter(|_| self.on(Feature::SIS_FILTER)) {
            Some(states) => &cpus - &set(states.llc::<SisFilter>(target)),
            None => cpus,
        }
    }

    /// SIS_LIMIT: the walk comes to a CPU.
    fn came_to(&mut self, target: Cpu, cpu: Cpu) {
        if self.on(Feature::SIS_LIMIT) {
            self.effects.next_cpu = Some((target, cpu));
        }
    }

    /// SIS_SHORT: a task that runs alone on a CPU is about to sleep.
    fn alone_and_short(&self, cpu: Cpu) -> bool {
        self.on(Feature::SIS_SHORT) && self.view.nr_running(cpu) == 1 && self.is_short(self.view.curr_dur_avg(cpu))
    }

    fn is_short(&self, dur_avg: u64) -> bool {
        dur_avg != 0 && dur_avg * 8 <= self.min_granularity
    }

    /// 6.1: the expected idle time fades with every jiffy that passed since it was learnt.
    fn sis_prop_age(&mut self) -> ScanCost {
        let clock = self.view.scan_clock(self.this_cpu());
        let (mut wake_stamp, mut wake_avg_idle) = (clock.wake_stamp, clock.wake_avg_idle);
        while wake_stamp < clock.jiffies && wake_avg_idle > 0 {
            wake_stamp += 1;
            wake_avg_idle >>= 1;
        }
        let cost = ScanCost { wake_stamp, wake_avg_idle, avg_scan_cost: clock.avg_scan_cost };
        self.effects.scan_cost = Some(cost);
        cost
    }

    /// 6.1: what a search took is taken from the expected idle time and averaged.
    fn sis_prop_end(&mut self, started: Option<(ScanCost, u64)>) {
        let Some((before, time)) = started else {
            return;
        };
        let time = self.view.cpu_clock(self.this_cpu(), 0) - time;
        self.effects.scan_cost = Some(ScanCost {
            wake_avg_idle: before.wake_avg_idle - before.wake_avg_idle.min(time),
            avg_scan_cost: update_avg(before.avg_scan_cost, time),
            ..before
        });
    }
}

fn update_avg(avg: u64, sample: u64) -> u64 {
    let diff = sample.wrapping_sub(avg) as i64;
    avg.wrapping_add((diff / 8) as u64)
}
