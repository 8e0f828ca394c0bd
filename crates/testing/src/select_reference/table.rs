//! The system as a plain table.

use std::cell::Cell;
use std::rc::Rc;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, SchedGroup};
use wakelab_sched::group_sums::{DomainSums, GroupSums, GroupTable};
use wakelab_sched::select::policy::{Hook, HookView, PolicyStates};
use wakelab_sched::select::{
    AffineDetail, AsymView, Decision, Effects, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView,
    PolicyView, Reason, RqView, Rules, ScanClock, SearchCount, UtilView,
};

/// One CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `available_idle_cpu()`.
    pub idle: bool,
    /// `sched_idle_cpu()`.
    pub sched_idle: bool,
    /// Tasks on its queue.
    pub nr_running: u32,
    /// Those of them whose dequeue is delayed.
    pub h_nr_delayed: u32,
    /// The load.
    pub load: u64,
    /// The load of those that are on the queue, up to 5.6.
    pub runnable_load: u64,
    /// What is left of its capacity for fair tasks.
    pub capacity: u64,
    /// Its capacity.
    pub capacity_orig: u64,
    /// The runnable average.
    pub runnable: u64,
    /// The utilisation.
    pub util_avg: u64,
    /// The estimated utilisation.
    pub util_est: u64,
    /// Whether it runs its idle task.
    pub curr_is_idle: bool,
    /// Whether a wake-up is on its way to it.
    pub ttwu_pending: bool,
    /// When it went idle.
    pub idle_stamp: u64,
    /// How long it takes to leave its idle state.
    pub exit_latency: Option<u32>,
}

/// How dense the states are, in per cent, how much is added to every utilisation, and how small loads are.
#[derive(Clone, Copy, Debug)]
pub struct Density {
    /// Idle CPUs.
    pub idle: u32,
    /// CPUs that run SCHED_IDLE tasks only.
    pub sched_idle: u32,
    /// What is added to utilisation.
    pub heat: u64,
    /// By how many bits loads are shifted down.
    pub load_shift: u32,
}

/// Takes a number's bits from below.
struct Bits(u128);

impl Bits {
    fn take(&mut self, bits: u32) -> u64 {
        let value = self.0 & ((1 << bits) - 1);
        self.0 >>= bits;
        value as u64
    }
}

impl Row {
    /// The state that `raw` stands for; 0 is a CPU with one task and no load.
    pub fn new(raw: u128, density: Density) -> Self {
        let mut bits = Bits(raw);
        let kind = bits.take(7) as u32 * 100 / 128;
        let idle = kind + density.idle >= 100;
        let sched_idle = !idle && kind + density.idle + density.sched_idle >= 100;
        let busy = [1, 1, 1, 1, 2, 2, 3, 0][bits.take(3) as usize];
        let nr_running = match (idle, sched_idle) {
            (true, _) => 0,
            (_, true) => busy.max(1),
            _ => busy + (density.heat / 500) as u32,
        };
        let h_nr_delayed = (bits.take(2) as u32).min(nr_running);
        // Round loads, so that some are equal.
        let coarse = bits.take(1) == 0;
        let load = bits.take(13);
        let small = bits.take(1) == 1;
        let capacity = if small { 1024 - bits.take(10) } else { 1024 - (bits.take(10) & !1023) };
        let util_avg = bits.take(10) + density.heat;
        let util_est = bits.take(11);
        let runnable = bits.take(11) + density.heat;
        let (curr_is_idle, ttwu_pending) = (bits.take(1) == 1, bits.take(1) == 1);
        let capacity_orig = [1024, 1024, 1024, 700][bits.take(2) as usize];
        let (idle_stamp, exit_latency) = (bits.take(5), [None, Some(1), Some(2), Some(133)][bits.take(2) as usize]);
        let load = if coarse { load & !1023 } else { load } >> density.load_shift;
        Row {
            idle,
            sched_idle,
            nr_running,
            h_nr_delayed,
            load,
            // Some of it is that of sleepers; what was rounded may be more than all of it.
            runnable_load: load * bits.take(3) / 6,
            capacity,
            capacity_orig,
            runnable,
            util_avg,
            util_est,
            curr_is_idle: idle || (curr_is_idle && nr_running == 0),
            ttwu_pending: !idle && ttwu_pending,
            idle_stamp,
            exit_latency,
        }
    }
}

impl Row {
    /// Makes it idle.
    pub fn make_idle(&mut self) {
        self.idle = true;
        self.sched_idle = false;
        self.nr_running = 0;
        self.h_nr_delayed = 0;
        self.curr_is_idle = true;
        self.ttwu_pending = false;
    }
}

/// The shared state of one LLC.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// Whether some core is idle.
    pub has_idle_cores: bool,
    /// How many CPUs SIS_UTIL lets a search look at.
    pub nr_idle_scan: i32,
}

/// A machine's state.
#[derive(Clone, Debug)]
pub struct Table {
    /// By CPU.
    pub rows: Vec<Row>,
    /// By the lowest CPU of the LLC.
    pub hints: Vec<Hints>,
    /// The lowest CPU of the LLC of each CPU.
    pub sd_llc_id: Vec<Cpu>,
    /// What SIS_PROP reads.
    pub clock: ScanClock,
    /// The clock moves on by this with every reading.
    pub clock_step: u64,
    /// How often it was read.
    pub clock_readings: Cell<u64>,
    /// Whether UTIL_EST is on.
    pub util_est_on: bool,
    /// Which groups are marked as imbalanced.
    pub imbalances: u64,
    /// The idle CPUs and those that run SCHED_IDLE tasks only, if it offers them.
    pub masks: Option<(CpuMask, Option<CpuMask>)>,
    /// Sums over groups, if it keeps them.
    pub sums: Option<Rc<GroupTable>>,
    /// What search policies keep, if it keeps it.
    pub policies: Option<PolicyStates>,
}

impl Table {
    fn row(&self, cpu: Cpu) -> &Row {
        &self.rows[cpu as usize]
    }

    fn hints(&self, cpu: Cpu) -> Hints {
        self.hints[self.sd_llc_id[cpu as usize] as usize]
    }

    /// The same system, which now offers its idle CPUs as masks.
    pub fn with_masks(&self) -> Self {
        let nr_cpus = self.rows.len() as u32;
        let mask = |is: fn(&Row) -> bool| CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|&cpu| is(self.row(cpu))));
        let sched_idle = mask(|row| row.sched_idle);
        let sched_idle = (!sched_idle.is_empty()).then_some(sched_idle);
        Table { masks: Some((mask(|row| row.idle), sched_idle)), ..self.clone() }
    }

    /// The same system, which now keeps sums of what the slow path reads.
    pub fn with_sums(&self, domains: &SchedDomains) -> Self {
        // The order of groups goes by the capacities of the domains.
        let mut domains = domains.clone();
        for sd in domains.domains.iter_mut().flatten() {
            let of = |group: &SchedGroup| SchedGroup { capacity: self.group_capacity(0, group), ..group.clone() };
            sd.groups = sd.groups.iter().map(of).collect();
        }
        // Small domains have an order, too.
        let rules = Preset::get("v6.12").expect("a preset").balance;
        let mut sums = GroupTable::with_order_from(2, &domains, &rules);
        sums.refresh(|cpu| {
            let row = self.row(cpu);
            let util = if self.util_est_on { row.util_avg.max(row.util_est) } else { row.util_avg };
            GroupSums {
                load: row.load,
                util: util.min(row.capacity_orig),
                runnable: row.runnable,
                nr_running: row.nr_running,
                idle_cpus_without: u32::from(row.nr_running == 0 && row.curr_is_idle && !row.ttwu_pending),
                ..GroupSums::default()
            }
        });
        sums.rank_all();
        Table { sums: Some(Rc::new(sums)), ..self.clone() }
    }

    /// The same system before anyone has read its clock.
    pub fn fresh(&self) -> Self {
        Table { clock_readings: Cell::new(0), ..self.clone() }
    }

    /// What SIS_PROP keeps is what `scan_cost` says; without, it is as before.
    pub fn clock_after(&self, effects: &wakelab_sched::select::Effects) -> ScanClock {
        let mut clock = self.clock;
        if let Some(cost) = effects.scan_cost {
            clock.wake_stamp = cost.wake_stamp;
            clock.wake_avg_idle = cost.wake_avg_idle;
            clock.avg_scan_cost = cost.avg_scan_cost;
        }
        clock
    }

    /// The state of a machine, by CPU and by the lowest CPU of each LLC.
    pub fn new(domains: &SchedDomains, rows: Vec<Row>, hints: Vec<Hints>) -> Self {
        Table {
            rows,
            hints,
            sd_llc_id: domains.sd_llc_id.clone(),
            clock: ScanClock::default(),
            clock_step: 0,
            clock_readings: Cell::new(0),
            util_est_on: true,
            imbalances: 0,
            masks: None,
            sums: None,
            policies: None,
        }
    }

    /// The same system after a tick of each CPU, and after searches that ended somewhere around most of them.
    pub fn with_policies(mut self, rules: &Rules<'_>) -> Self {
        let mut states = PolicyStates::new(rules);
        for cpu in 0..self.rows.len() as Cpu {
            let row = self.row(cpu);
            let ended = (!row.runnable.is_multiple_of(4)).then_some((row.util_avg % self.rows.len() as u64) as Cpu);
            let decision = Decision {
                cpu,
                reason: Reason::None,
                target: cpu,
                affine: AffineDetail::NOT_ASKED,
                effects: Effects { next_cpu: ended.map(|last| (cpu, last)), ..Effects::default() },
                count: SearchCount::default(),
            };
            let ticked = states.hook(Hook::Tick, cpu, rules, &self);
            ticked.into_iter().for_each(|change| states.apply(change));
            states.decided(&decision, rules).into_iter().for_each(|change| states.apply(change));
        }
        self.policies = Some(states);
        self
    }
}

impl IdleView for Table {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.row(cpu).idle
    }
    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.row(cpu).sched_idle
    }
}

impl RqView for Table {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.row(cpu).nr_running
    }
    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.row(cpu).h_nr_delayed
    }
    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.row(cpu).load
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.row(cpu).runnable_load
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.row(cpu).capacity
    }
    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        self.row(cpu).ttwu_pending
    }
}

impl LlcView for Table {
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.hints(cpu).has_idle_cores
    }
    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.hints(cpu).nr_idle_scan
    }
}

impl AsymView for Table {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        self.row(cpu).capacity_orig
    }
}

impl PolicyView for Table {
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        self.clock
    }
    fn cpu_clock(&self, _: Cpu, _: u32) -> u64 {
        self.clock_readings.set(self.clock_readings.get() + 1);
        1_000 + self.clock_readings.get() * self.clock_step
    }
    fn curr_dur_avg(&self, cpu: Cpu) -> u64 {
        self.row(cpu).util_est * 600
    }
    fn policies(&self) -> Option<&PolicyStates> {
        self.policies.as_ref()
    }
}

impl HookView for Table {
    fn idle_h_nr_running(&self, cpu: Cpu) -> u32 {
        let row = self.row(cpu);
        if row.sched_idle { row.nr_running } else { 0 }
    }
    fn sched_clock_cpu(&self, _: Cpu) -> u64 {
        self.clock.jiffies
    }
}

impl MaskView for Table {
    fn idle_mask(&self) -> Option<&CpuMask> {
        self.masks.as_ref().map(|(idle, _)| idle)
    }
    fn sched_idle_mask(&self) -> Option<&CpuMask> {
        self.masks.as_ref().and_then(|(_, sched_idle)| sched_idle.as_ref())
    }
}

impl UtilView for Table {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.row(cpu).runnable
    }
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.row(cpu).util_avg
    }
    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.util_est_on.then_some(self.row(cpu).util_est)
    }
}

impl GroupView for Table {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.span.iter().map(|cpu| self.row(cpu).capacity).sum()
    }
    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool {
        let first = u64::from(group.span.first().unwrap());
        self.imbalances >> ((first + 7 * level as u64) % 64) & 1 == 1
    }
    fn may_be_imbalanced(&self) -> bool {
        self.imbalances != 0
    }
    fn group_sums(&self, cpu: Cpu, level: usize) -> Option<DomainSums<'_>> {
        self.sums.as_ref()?.domain(cpu, level)
    }
}

impl IdleStateView for Table {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.row(cpu).curr_is_idle
    }
    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        self.row(cpu).idle_stamp
    }
    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        self.row(cpu).exit_latency
    }
}

impl EnergyView for Table {}
