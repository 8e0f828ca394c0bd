//! `load_balance()` a second time: written from the kernels' sources alone, straight down, on a copy of the system that
//! it changes as it goes, with the kernel's flags and jumps, and without a thought for speed.

mod detach;
mod groups;

use crate::support::balance::State;
use groups::{MIGRATE_TASK, Migration};
use std::collections::BTreeSet;
use wakelab_sched::CpuMask;
use wakelab_sched::balance::CpuIdleType;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomain, SchedDomains, SchedGroup, SdFlags};
use wakelab_sched::runqueue::TaskId;

/// A kernel whose source was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 5.10.262.
    V5_10,
    /// torvalds/linux at 13ede3315087.
    V5_18,
    /// torvalds/linux at cb29a5c19d2d.
    Tip,
    /// 6.1.176.
    V6_1,
    /// 6.12.107.
    V6_12,
    /// 7.2.12.
    V7_2,
    /// 7.3.4.
    V7_3,
}

/// What may be set.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub version: Version,
    pub cache_hot_buddy: bool,
    pub lb_min: bool,
    pub place_lag: bool,
    pub migration_cost: u32,
    pub nr_migrate: u32,
    pub preemption: bool,
}

/// The fields of the domain that the pass changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sd {
    pub balance_interval: u64,
    pub nr_balance_failed: u32,
}

/// What became of it all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Result {
    pub ld_moved: u32,
    /// Detached tasks, in order.
    pub detached: Vec<(TaskId, Cpu)>,
    /// The order in which they were attached.
    pub attached: Vec<(TaskId, Cpu)>,
    pub sd: Sd,
    pub busiest: Option<Cpu>,
    pub active_balance: bool,
    /// The lock of SD_SERIALIZE was taken.
    pub serialized: bool,
    pub continue_balancing: bool,
    pub sum_util: Option<u64>,
    pub overload: Option<bool>,
    /// Lists from tail to head, by CPU; what was moved is gone from its list and not yet in another.
    pub lists: Vec<Vec<TaskId>>,
    pub imbalanced: BTreeSet<(usize, Cpu)>,
}

const ALL_PINNED: u32 = 0x01;
const NEED_BREAK: u32 = 0x02;
const DST_PINNED: u32 = 0x04;
const SOME_PINNED: u32 = 0x08;
const BREAK: u32 = 32;

/// `struct lb_env` and what it points to.
struct Env<'a> {
    config: Config,
    state: State,
    domains: &'a SchedDomains,
    sd: &'a SchedDomain,
    level: usize,
    child_prefers_sibling: bool,
    has_parent: bool,
    llc_size: Option<u32>,
    nr_balance_failed: u32,
    src_cpu: Cpu,
    dst_cpu: Cpu,
    dst_grpmask: BTreeSet<Cpu>,
    new_dst_cpu: Cpu,
    idle: CpuIdleType,
    imbalance: i64,
    cpus: BTreeSet<Cpu>,
    flags: u32,
    loops: u32,
    loop_break: u32,
    loop_max: u32,
    migration_type: Migration,
    tasks: Vec<TaskId>,
    /// Attached so far, by CPU.
    arrived: Vec<u32>,
    sum_util: Option<u64>,
    overload: Option<bool>,
}

fn set(mask: &CpuMask) -> BTreeSet<Cpu> {
    (0..mask.room()).filter(|&cpu| mask.test(cpu)).collect()
}

fn balance_mask(group: &SchedGroup) -> BTreeSet<Cpu> {
    set(group.balance_mask.as_ref().unwrap_or(&group.span))
}

fn balance_cpu(group: &SchedGroup) -> Cpu {
    *balance_mask(group).first().unwrap()
}

impl Env<'_> {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        let c = &self.state.cpus[cpu as usize];
        c.tasks.len() as u32 + c.other + self.arrived[cpu as usize]
    }

    /// `h_nr_running`, `h_nr_queued` in 6.12, `h_nr_runnable` in 7.2.
    fn h_nr(&self, cpu: Cpu) -> u32 {
        let tasks = &self.state.cpus[cpu as usize].tasks;
        let counts = |task: &&TaskId| self.config.version < Version::V7_2 || !self.state.tasks[task.0 as usize].delayed;
        tasks.iter().filter(counts).count() as u32
    }

    fn is_core_idle(&self, cpu: Cpu) -> bool {
        for sibling in set(&self.domains.smt_mask[cpu as usize]) {
            if sibling == cpu {
                continue;
            }
            if !self.idle_cpu(sibling) {
                return false;
            }
        }
        true
    }

    fn idle_cpu(&self, cpu: Cpu) -> bool {
        self.nr_running(cpu) == 0 && !self.state.cpus[cpu as usize].ttwu_pending
    }

    /// `sd->groups`.
    fn own_group(&self) -> &SchedGroup {
        &self.sd.groups[self.sd.first_group as usize]
    }

    fn should_we_balance(&self) -> bool {
        if !self.cpus.contains(&self.dst_cpu) {
            return false;
        }
        if self.idle == CpuIdleType::NewlyIdle {
            if self.config.version >= Version::V6_1 {
                let c = &self.state.cpus[self.dst_cpu as usize];
                if self.nr_running(self.dst_cpu) > 0 || c.ttwu_pending {
                    return false;
                }
            }
            return true;
        }
        let mut swb_cpus = balance_mask(self.own_group());
        let mut idle_smt = None;
        for cpu in 0..self.domains.nr_cpus {
            if !swb_cpus.contains(&cpu) || !self.cpus.contains(&cpu) {
                continue;
            }
            if !self.idle_cpu(cpu) {
                continue;
            }
            if self.config.version >= Version::V6_12
                && !self.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY)
                && !self.is_core_idle(cpu)
            {
                if idle_smt.is_none() {
                    idle_smt = Some(cpu);
                }
                for sibling in set(&self.domains.smt_mask[cpu as usize]) {
                    swb_cpus.remove(&sibling);
                }
                continue;
            }
            return cpu == self.dst_cpu;
        }
        if let Some(cpu) = idle_smt {
            return cpu == self.dst_cpu;
        }
        balance_cpu(self.own_group()) == self.dst_cpu
    }

    fn cache_nice_tries(&self) -> u32 {
        let flags = self.sd.flags;
        if flags.contains(SdFlags::SHARE_CPUCAPACITY) {
            return 0;
        }
        if flags.contains(SdFlags::SHARE_LLC) {
            return 1;
        }
        if flags.contains(SdFlags::NUMA) { 2 } else { 1 }
    }

    fn voluntary_active_balance(&self) -> bool {
        let (src, dst) = (&self.state.cpus[self.src_cpu as usize], &self.state.cpus[self.dst_cpu as usize]);
        if self.idle != CpuIdleType::NotIdle && self.h_nr(self.src_cpu) == 1 {
            let pct = u64::from(self.sd.imbalance_pct);
            if src.capacity * pct < src.capacity_orig * 100 && src.capacity * pct < dst.capacity * 100 {
                return true;
            }
        }
        false
    }

    fn need_active_balance(&self) -> bool {
        if self.config.version == Version::V5_10 {
            return self.voluntary_active_balance() || self.nr_balance_failed > self.cache_nice_tries() + 2;
        }
        if self.migration_type == MIGRATE_TASK && self.nr_balance_failed > self.cache_nice_tries() + 2 {
            return true;
        }
        self.voluntary_active_balance()
    }

    fn attach_tasks(&mut self, attached: &mut Vec<(TaskId, Cpu)>) {
        // detach_tasks() put each at the list's head.
        while let Some(task) = self.tasks.pop() {
            self.arrived[self.dst_cpu as usize] += 1;
            attached.push((task, self.dst_cpu));
        }
    }
}

/// The labels of load_balance().
enum Label {
    Redo,
    OutBalanced,
    OutAllPinned,
    OutOnePinned,
    Out,
}

pub fn load_balance(
    config: Config,
    domains: &SchedDomains,
    state: &State,
    this_cpu: Cpu,
    level: usize,
    idle: CpuIdleType,
    sd_before: Sd,
) -> Result {
    let chain = &domains.domains[this_cpu as usize];
    let sd = &chain[level];
    let own = &sd.groups[sd.first_group as usize];
    let mut env = Env {
        config,
        state: state.clone(),
        domains,
        sd,
        level,
        child_prefers_sibling: level > 0 && chain[level - 1].flags.contains(SdFlags::PREFER_SIBLING),
        has_parent: level + 1 < chain.len(),
        llc_size: domains.sd_llc[this_cpu as usize].map(|_| domains.sd_llc_size[this_cpu as usize]),
        nr_balance_failed: sd_before.nr_balance_failed,
        src_cpu: 0,
        dst_cpu: this_cpu,
        dst_grpmask: match config.version {
            Version::V5_18 | Version::Tip => set(&own.span),
            _ => balance_mask(own),
        },
        new_dst_cpu: 0,
        idle,
        imbalance: 0,
        cpus: set(&sd.span),
        flags: 0,
        loops: 0,
        loop_break: BREAK,
        loop_max: 0,
        migration_type: Migration::Load,
        tasks: Vec::new(),
        arrived: vec![0; state.cpus.len()],
        sum_util: None,
        overload: None,
    };
    let mut balance_interval = sd_before.balance_interval;
    let min_interval = u64::from(sd.span_weight);
    let max_interval = 2 * min_interval;
    let parent_group = chain.get(level + 1).map(|parent| {
        let group = &parent.groups[parent.first_group as usize];
        (level + 1, balance_cpu(group))
    });
    let mut imbalanced = state.imbalanced.clone();
    let (mut detached, mut attached) = (Vec::new(), Vec::new());
    let (mut ld_moved, mut active_balance, mut continue_balancing) = (0, false, true);
    let mut found = None;
    let mut need_unlock = false;

    let mut label = Label::Redo;
    loop {
        match label {
            Label::Redo => {
                if !env.should_we_balance() {
                    continue_balancing = false;
                    label = Label::OutBalanced;
                    continue;
                }
                if config.version >= Version::V7_2 && !need_unlock && sd.flags.contains(SdFlags::SERIALIZE) {
                    if state.balance_running {
                        label = Label::OutBalanced;
                        continue;
                    }
                    need_unlock = true;
                }
                let Some(group) = env.find_busiest_group() else {
                    label = Label::OutBalanced;
                    continue;
                };
                let Some(busiest) = env.find_busiest_queue(group) else {
                    label = Label::OutBalanced;
                    continue;
                };
                found = Some(busiest);
                env.src_cpu = busiest;
                ld_moved = 0;
                if config.version != Version::V5_10 {
                    env.flags |= ALL_PINNED;
                }
                if env.nr_running(busiest) > 1 {
                    env.flags |= ALL_PINNED;
                    env.loop_max = config.nr_migrate.min(env.nr_running(busiest));
                    loop {
                        let cur_ld_moved = env.detach_tasks();
                        detached.extend(env.tasks.iter().map(|&task| (task, env.dst_cpu)));
                        if cur_ld_moved != 0 {
                            env.attach_tasks(&mut attached);
                            ld_moved += cur_ld_moved;
                        }
                        if env.flags & NEED_BREAK != 0 {
                            env.flags &= !NEED_BREAK;
                            continue;
                        }
                        if env.flags & DST_PINNED != 0 && env.imbalance > 0 {
                            env.cpus.remove(&env.dst_cpu);
                            env.dst_cpu = env.new_dst_cpu;
                            env.flags &= !DST_PINNED;
                            env.loops = 0;
                            env.loop_break = BREAK;
                            continue;
                        }
                        break;
                    }
                    if let Some(group) = parent_group
                        && env.flags & SOME_PINNED != 0
                        && env.imbalance > 0
                    {
                        imbalanced.insert(group);
                    }
                    if env.flags & ALL_PINNED != 0 {
                        env.cpus.remove(&busiest);
                        if !env.cpus.is_subset(&env.dst_grpmask) {
                            env.loops = 0;
                            env.loop_break = BREAK;
                            label = Label::Redo;
                            continue;
                        }
                        label = Label::OutAllPinned;
                        continue;
                    }
                }
                if ld_moved == 0 {
                    if idle != CpuIdleType::NewlyIdle {
                        env.nr_balance_failed += 1;
                    }
                    if env.need_active_balance() {
                        let curr = env.state.running(busiest);
                        if !curr.is_some_and(|task| env.state.tasks[task.0 as usize].cpus.test(this_cpu)) {
                            if config.version == Version::V5_10 {
                                env.flags |= ALL_PINNED;
                            }
                            label = Label::OutOnePinned;
                            continue;
                        }
                        if config.version != Version::V5_10 {
                            env.flags &= !ALL_PINNED;
                        }
                        let leaves = config.version == Version::V7_3 && env.state.cpus[busiest as usize].curr_leaves;
                        if !env.state.cpus[busiest as usize].active_balance && !leaves {
                            active_balance = true;
                        }
                        if config.version == Version::V5_10 {
                            env.nr_balance_failed = env.cache_nice_tries() + 1;
                        }
                    }
                } else {
                    env.nr_balance_failed = 0;
                }
                if config.version == Version::V5_10 {
                    if !active_balance || env.voluntary_active_balance() {
                        balance_interval = min_interval;
                    } else if balance_interval < max_interval {
                        balance_interval *= 2;
                    }
                } else if !active_balance || env.need_active_balance() {
                    balance_interval = min_interval;
                }
                label = Label::Out;
            }
            Label::OutBalanced => {
                if let Some(group) = parent_group
                    && env.flags & ALL_PINNED == 0
                {
                    imbalanced.remove(&group);
                }
                label = Label::OutAllPinned;
            }
            Label::OutAllPinned => {
                env.nr_balance_failed = 0;
                label = Label::OutOnePinned;
            }
            Label::OutOnePinned => {
                ld_moved = 0;
                label = Label::Out;
                if idle == CpuIdleType::NewlyIdle {
                    continue;
                }
                if (env.flags & ALL_PINNED != 0 && balance_interval < 512) || balance_interval < max_interval {
                    balance_interval *= 2;
                }
            }
            Label::Out => break,
        }
    }
    Result {
        ld_moved,
        detached,
        attached,
        sd: Sd { balance_interval, nr_balance_failed: env.nr_balance_failed },
        busiest: found,
        serialized: need_unlock,
        active_balance,
        continue_balancing,
        sum_util: env.sum_util,
        overload: env.overload,
        lists: env.state.cpus.iter().map(|c| c.tasks.clone()).collect(),
        imbalanced,
    }
}
