//! The control flow of `scx_wakelab`'s placement against `sched`: for random machines, states and wake-ups the same
//! CPU, reason, target, counts and state left behind.
//!
//! The cases are those by which `sched` is compared with its own second implementation, without what the scheduler
//! leaves out on purpose: clusters, delayed dequeue, CPUs that run SCHED_IDLE tasks only (they cannot be claimed),
//! tasks whose previous CPU is no longer allowed, forks and execs, and SIS_FILTER.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_kernel::{Feature, FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, DomainOptions, SchedDomains, SchedGroup, SdFlags, Uniform, build_sched_domains};
use wakelab_sched::select::policy::{self, PolicyStates, SisLimit, SisParamRules};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, Reason,
    RqView, Rules, Select, UtilView, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair,
};
use wakelab_scx_decisions::features::NAMES;
use wakelab_scx_policy::ScanCost;
use wakelab_scx_policy::select::{CpuInfo, CpuState, Level, Machine, Outcome, REASONS, SisParam, Wake};
use wakelab_testing::select_reference::Version;
use wakelab_testing::select_reference::case::{World, case_of};
use wakelab_testing::select_reference::table::Table;

/// The machine and its state as the scheduler keeps them.
fn machine(world: &World) -> Machine {
    let domains = &world.domains;
    let all = 0..domains.nr_cpus;
    let mut llcs: BTreeMap<Cpu, Vec<u16>> = BTreeMap::new();
    for cpu in all.clone() {
        llcs.entry(domains.sd_llc_id[cpu as usize]).or_default().push(cpu as u16);
    }
    let numbers: BTreeMap<Cpu, u32> = llcs.keys().copied().zip(0..).collect();
    let mut kinds: Vec<_> = domains.domains.iter().flatten().map(|sd| sd.level).collect();
    kinds.sort();
    kinds.dedup();
    let levels: Vec<Level> = kinds
        .iter()
        .map(|kind| {
            let sd = domains.domains.iter().flatten().find(|sd| sd.level == *kind).expect("a domain of the level");
            Level { imbalance_pct: sd.imbalance_pct, affine: sd.flags.contains(SdFlags::WAKE_AFFINE) }
        })
        .collect();
    let info = |cpu: Cpu| {
        let llc = domains.sd_llc_id[cpu as usize];
        let mut info = CpuInfo {
            llc: numbers[&llc],
            llc_pos: llcs[&llc].iter().position(|&of| u32::from(of) == cpu).expect("in its LLC") as u32,
            capacity: world.table.rows[cpu as usize].capacity as u32,
            nr_smt: domains.smt_mask[cpu as usize].weight(),
            ..CpuInfo::default()
        };
        for (at, sibling) in domains.smt_mask[cpu as usize].iter().enumerate() {
            info.smt[at] = sibling as u16;
        }
        for (at, kind) in kinds.iter().enumerate() {
            let sd = domains.domains[cpu as usize].iter().find(|sd| sd.level == *kind);
            // A CPU without a domain of the level shares it with no other.
            info.level[at] = sd.map_or(1000 + cpu, |sd| sd.span.first().expect("not empty"));
        }
        info
    };
    let infos: Vec<CpuInfo> = all.clone().map(info).collect();
    let by_llc: Vec<(Vec<u16>, u32)> = llcs
        .values()
        .map(|of| {
            let first = usize::from(of[0]);
            let sd = domains.sd_llc[first].map(|level| &domains.domains[first][level as usize]);
            (of.clone(), sd.map_or(117, |sd| sd.imbalance_pct))
        })
        .collect();
    let mut machine = Machine::new(&infos, &by_llc, &levels, false, world.rules().min_granularity);
    let clock = world.table.clock;
    let cost = ScanCost {
        wake_stamp: clock.wake_stamp,
        wake_avg_idle: clock.wake_avg_idle,
        avg_scan_cost: clock.avg_scan_cost,
    };
    for cpu in all {
        let row = &world.table.rows[cpu as usize];
        machine.set_cpu(
            cpu,
            &CpuState {
                idle: row.idle,
                nr_runnable: row.nr_running,
                load: row.load,
                curr_dur_avg: world.table.curr_dur_avg(cpu),
                next_cpu: next_cpu_of(&world.table, cpu),
                sis_failed: failed_searches(world.table.policies.as_ref(), cpu),
                cost,
            },
        );
    }
    for (first, number) in numbers {
        let hints = world.table.hints[first as usize];
        machine.set_llc(number, hints.nr_idle_scan, hints.has_idle_cores);
    }
    machine
}

/// The wake-up as the scheduler is called for it, with clocks that stand still.
fn wake_of(wakeup: &Wakeup<'_>, features: FeatureSet) -> Wake {
    let bit = |(at, name): (usize, &&str)| {
        let on = name.parse::<Feature>().is_ok_and(|feature| features.has(feature));
        u64::from(on) << at
    };
    let mut allowed = [0; 16];
    for cpu in wakeup.wakee.cpus_ptr.iter() {
        allowed[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    Wake {
        features: NAMES.iter().enumerate().map(bit).sum(),
        flags: u64::from(wakeup.flags.bits()),
        jiffies: 0,
        clock: 0,
        clock_step: 0,
        waker_load: wakeup.waker.h_load,
        wakee_load: wakeup.wakee.h_load,
        wakee_dur_avg: wakeup.wakee.dur_avg,
        wakee_util_avg: wakeup.wakee.util_avg,
        wakee_util_est: wakeup.wakee.util_est as u32,
        waker_flips: wakeup.waker.wakee_flips,
        wakee_flips: wakeup.wakee.wakee_flips,
        this_cpu: wakeup.waker.cpu as i32,
        prev: wakeup.wakee.prev_cpu as i32,
        recent: wakeup.wakee.recent_used_cpu.map_or(-1, |cpu| cpu as i32),
        exiting: wakeup.waker.exiting,
        in_task: wakeup.waker.in_task,
        kthread: wakeup.waker.per_cpu_kthread,
        allowed,
    }
}

fn wake(world: &World) -> Wake {
    let (jiffies, clock_step) = (world.table.clock.jiffies, world.table.clock_step);
    Wake { jiffies, clock: 1_000, clock_step, ..wake_of(&world.wakeup(), world.features) }
}

/// The kernel that the scheduler follows.
const FOLLOWED: Version = Version::V7_2;

/// Whether the scheduler decides such a wake-up as the kernel does.
fn is_followed(world: &World) -> bool {
    let wakeup = world.wakeup();
    !world.features.has(Feature::SIS_FILTER)
        && wakeup.flags.contains(WakeFlags::TTWU)
        && world.allowed.test(wakeup.wakee.prev_cpu)
        && world.domains.domains.iter().flatten().all(|sd| !sd.flags.contains(SdFlags::CLUSTER))
}

/// SIS_LIMIT: where the next scan from this target begins.
fn next_cpu_of(table: &Table, target: Cpu) -> Option<Cpu> {
    table.policies.as_ref().and_then(|states| *states.cpu::<SisLimit>(target))
}

/// SIS_PARAM: how many searches around this CPU have failed one after another.
fn failed_searches(states: Option<&PolicyStates>, target: Cpu) -> u32 {
    states.map_or(0, |states| states.cpu::<policy::SisParam>(target).nr())
}

/// The state without what the scheduler does not know, and without what cannot be: a scan of SIS_LIMIT ends in its own
/// LLC.
fn simplified(mut world: World) -> World {
    for cpu in 0..world.domains.nr_cpus {
        let next = next_cpu_of(&world.table, cpu);
        let row = &mut world.table.rows[cpu as usize];
        row.sched_idle = false;
        row.h_nr_delayed = 0;
        let llc = |cpu: Cpu| world.domains.sd_llc_id[cpu as usize];
        if next.is_some_and(|next| llc(next) != llc(cpu)) {
            // `with_policies()` gives a CPU of this number no `next_cpu`.
            row.runnable = 0;
        }
    }
    world.table = world.table.clone().with_policies(&world.rules());
    world
}

fn model(world: &World) -> Decision {
    let (rules, wakeup, view) = (world.rules(), world.wakeup(), world.table.fresh());
    select_task_rq_fair(&mut Select::default(), Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut ())
}

/// What is compared, of either side.
#[derive(Debug, PartialEq, Eq)]
struct Compared {
    cpu: Cpu,
    reason: Option<&'static str>,
    target: Cpu,
    counts: [u32; 4],
    recent_used_cpu: Option<Cpu>,
    clears_idle_cores: bool,
    next_cpu: Option<Cpu>,
    cost: [u64; 3],
}

fn of_model(world: &World, decision: &Decision) -> Compared {
    let effects = &decision.effects;
    let clock = world.table.clock_after(effects);
    let next = next_cpu_of(&world.table, decision.target);
    Compared {
        cpu: decision.cpu,
        reason: (decision.reason != Reason::CurrentCpu).then(|| decision.reason.name()),
        target: decision.target,
        counts: [decision.count.search, decision.count.domain_search, decision.count.scanned, decision.count.failed],
        recent_used_cpu: effects.recent_used_cpu.or(world.wakeup().wakee.recent_used_cpu),
        clears_idle_cores: effects.clear_idle_cores.is_some(),
        next_cpu: effects.next_cpu.map(|(_, next)| next).or(next),
        cost: [clock.wake_stamp, clock.wake_avg_idle, clock.avg_scan_cost],
    }
}

fn of_program(out: &Outcome) -> Compared {
    Compared {
        cpu: out.cpu as Cpu,
        // WF_CURRENT_CPU is no search, and has no reason that is kept.
        reason: (out.search > 0).then(|| REASONS[out.reason as usize]),
        target: out.target as Cpu,
        counts: [out.search, out.domain_search, out.scanned, out.failed],
        recent_used_cpu: u32::try_from(out.recent).ok(),
        clears_idle_cores: out.cleared,
        next_cpu: u32::try_from(out.next_cpu - 1).ok(),
        cost: [out.cost.wake_stamp, out.cost.wake_avg_idle, out.cost.avg_scan_cost],
    }
}

#[test]
fn places_as_the_model_does() {
    let mut runner = TestRunner::deterministic();
    let strategy = case_of(vec![FOLLOWED]);
    let (mut compared, mut reasons) = (0, BTreeSet::new());
    for number in 0..40_000 {
        let case = strategy.new_tree(&mut runner).expect("a case").current();
        let world = simplified(case.world());
        if !is_followed(&world) {
            continue;
        }
        let decision = model(&world);
        let out = machine(&world).select(&wake(&world));
        assert_eq!(of_program(&out), of_model(&world, &decision), "case {number}: {case:#?}");
        assert_eq!(out.lost, 0, "nobody else claims a CPU");
        assert_eq!(out.claimed && out.search > 0, out.search > 0 && is_idle(&world, &decision), "case {number}");
        compared += 1;
        reasons.insert(decision.reason);
    }
    assert!(compared > 10_000, "{compared} cases");
    let ends = [
        Reason::Target,
        Reason::Prev,
        Reason::Kthread,
        Reason::Recent,
        Reason::Smt,
        Reason::Core,
        Reason::CoreCpu,
        Reason::Scan,
        Reason::Short,
        Reason::Limit,
        Reason::Overloaded,
        Reason::None,
        Reason::CurrentCpu,
    ];
    assert_eq!(reasons, BTreeSet::from(ends));
}

/// One parameter of SIS_PARAM or several, by the bits of a number; else those of SIS_UTIL.
fn param_of(bits: u64) -> SisParamRules {
    let own = SisParamRules::SIS_UTIL;
    let one_of = |at: u32, values: [u64; 4]| values[(bits >> (2 * at) & 3) as usize];
    SisParamRules {
        floor: one_of(0, [0, 0, 2, 6]) as i32,
        cap: one_of(1, [own.cap as u64, own.cap as u64, 2, 5]) as i32,
        failed: one_of(2, [0, 1, 3, 12]) as u8,
        run: one_of(3, [0, 0, 1_000, 100_000]),
        short: one_of(4, [0, 0, 50_000, 10_000_000]),
        short_scan: one_of(5, [100, 100, 40, 0]) as u32,
        ..own
    }
}

/// The same for the scheduler.
fn program_param(param: &SisParamRules) -> SisParam {
    SisParam {
        run: param.run,
        short_run: param.short,
        floor: param.floor as u32,
        cap: param.cap as u32,
        failed: u32::from(param.failed),
        short_scan: param.short_scan,
        ..SisParam::SIS_UTIL
    }
}

/// The state after searches that have all failed: one around each CPU, and up to three more by the bits of a number.
fn after_failed_searches(world: &World, rules: &Rules<'_>, bits: u64) -> Table {
    let mut table = world.table.clone().with_policies(rules);
    let states = table.policies.as_mut().expect("they were made");
    for cpu in 0..world.domains.nr_cpus {
        let (reason, effects) = (Reason::None, Default::default());
        let failed = Decision { target: cpu, reason, effects, ..model(world) };
        for _ in 0..bits >> (cpu % 20) & 3 {
            states.decided(&failed, rules).into_iter().for_each(|change| states.apply(change));
        }
    }
    table
}

/// SIS_PARAM, whose limits depend on how long tasks run and on the searches before.
#[test]
fn places_by_parameters_as_the_model_does() {
    let mut runner = TestRunner::deterministic();
    let strategy = (case_of(vec![FOLLOWED]), any::<u64>());
    let (mut compared, mut changed, mut halved, mut reasons) = (0, 0, 0, BTreeSet::new());
    for number in 0..20_000 {
        let (case, bits) = strategy.new_tree(&mut runner).expect("a case").current();
        let mut world = simplified(case.world());
        if !is_followed(&world) || !world.features.has(Feature::SIS_UTIL) {
            continue;
        }
        let plain = model(&world);
        world.features = world.features.with(Feature::SIS_PARAM, true);
        let param = param_of(bits);
        world.table = after_failed_searches(&world, &Rules { sis_param: param, ..world.rules() }, bits >> 20);
        let rules = Rules { sis_param: param, ..world.rules() };
        let (wakeup, view) = (world.wakeup(), world.table.fresh());
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &view };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        let mut machine = machine(&world);
        machine.set_sis_param(&program_param(&param));
        let out = machine.select(&wake(&world));
        assert_eq!(of_program(&out), of_model(&world, &decision), "case {number}: {param:?} {case:#?}");
        if out.search > 0 {
            let mut after = world.table.policies.clone().expect("they were made");
            after.decided(&decision, &rules).into_iter().for_each(|change| after.apply(change));
            let failed = failed_searches(Some(&after), decision.target);
            assert_eq!(out.sis_failed, failed, "case {number}: {decision:?} {param:?} {case:#?}");
            halved += u32::from(failed > 1);
        }
        compared += 1;
        changed += u32::from((plain.cpu, plain.reason) != (decision.cpu, decision.reason));
        reasons.insert(decision.reason);
    }
    assert!(compared > 2_000 && changed > 100 && halved > 100, "{compared} cases, {changed} changed, {halved} halved");
    for reason in [Reason::Scan, Reason::Short, Reason::Limit, Reason::Overloaded, Reason::None] {
        assert!(reasons.contains(&reason), "{reason}");
    }
}

/// An idle CPU that was chosen for being idle is claimed.
fn is_idle(world: &World, decision: &Decision) -> bool {
    let waits = [Reason::Kthread, Reason::Short, Reason::Limit, Reason::Overloaded, Reason::None, Reason::CurrentCpu];
    world.table.rows[decision.cpu as usize].idle && !waits.contains(&decision.reason)
}

/// CPUs of different capacities below one cache, and a wakee that fits some of them.
struct Unequal {
    domains: SchedDomains,
    capacities: Vec<u32>,
    idle: CpuMask,
    has_idle_cores: bool,
    nr_idle_scan: i32,
}

impl Unequal {
    /// What the scheduler reads; loads are 0.
    fn machine(&self, min_granularity: u64) -> Machine {
        let info = |cpu: Cpu| {
            let mut info = CpuInfo {
                llc_pos: cpu,
                capacity: self.capacities[cpu as usize],
                nr_smt: self.domains.smt_mask[cpu as usize].weight(),
                ..CpuInfo::default()
            };
            for (at, sibling) in self.domains.smt_mask[cpu as usize].iter().enumerate() {
                info.smt[at] = sibling as u16;
            }
            // The level of cores, then that of the cache.
            info.level[0] = u32::from(info.smt[0]);
            info
        };
        let infos: Vec<CpuInfo> = (0..self.domains.nr_cpus).map(info).collect();
        let all = (0..self.domains.nr_cpus as u16).collect();
        let levels = [110, 117].map(|imbalance_pct| Level { imbalance_pct, affine: true });
        let mut machine = Machine::new(&infos, &[(all, 117)], &levels, true, min_granularity);
        for cpu in 0..self.domains.nr_cpus {
            let idle = self.idle.test(cpu);
            machine.set_cpu(cpu, &CpuState { idle, nr_runnable: u32::from(!idle), ..CpuState::default() });
        }
        machine.set_llc(0, self.nr_idle_scan, self.has_idle_cores);
        machine
    }
}

impl IdleView for Unequal {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn sched_idle_cpu(&self, _: Cpu) -> bool {
        false
    }
}

impl RqView for Unequal {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        u32::from(!self.idle.test(cpu))
    }
    fn cpu_load(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_runnable_load(&self, _: Cpu) -> u64 {
        0
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        u64::from(self.capacities[cpu as usize])
    }
}

impl LlcView for Unequal {
    fn has_idle_cores(&self, _: Cpu) -> bool {
        self.has_idle_cores
    }
    fn nr_idle_scan(&self, _: Cpu) -> i32 {
        self.nr_idle_scan
    }
}

impl AsymView for Unequal {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        u64::from(self.capacities[cpu as usize])
    }
}

impl PolicyView for Unequal {}

impl MaskView for Unequal {}

impl UtilView for Unequal {
    fn cpu_runnable(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_util_avg(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_util_est(&self, _: Cpu) -> Option<u64> {
        None
    }
}

impl GroupView for Unequal {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.capacity
    }
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        false
    }
}

impl IdleStateView for Unequal {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn idle_stamp(&self, _: Cpu) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: Cpu) -> Option<u32> {
        None
    }
}

impl EnergyView for Unequal {}

type UnequalCase = (Vec<u8>, bool, u64, u64, [u32; 3], [u64; 2], (bool, i32), [bool; 4]);

fn unequal_case() -> impl Strategy<Value = UnequalCase> {
    let util = 0..1100_u64;
    (
        prop::collection::vec(0..3_u8, 2..9),
        any::<bool>(),
        prop_oneof![any::<u64>(), (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b), Just(0)],
        prop_oneof![2 => Just(u64::MAX), 1 => any::<u64>()],
        any::<[u32; 3]>(),
        [util.clone(), util],
        (any::<bool>(), prop_oneof![Just(0), 1..5_i32, Just(100)]),
        any::<[bool; 4]>(),
    )
}

/// select_idle_capacity(), and what the fast paths ask of capacity.
#[test]
fn places_on_unequal_cpus_as_the_model_does() {
    let mut runner = TestRunner::deterministic();
    let strategy = unequal_case();
    let preset = Preset::get("v7.2").expect("a preset");
    let mut reasons = BTreeSet::new();
    for number in 0..40_000 {
        let case = strategy.new_tree(&mut runner).expect("a case").current();
        let (kinds, smt, idle, allowed, [this, prev, recent], [util_avg, util_est], llc, [sync, util, core, has]) =
            case.clone();
        let threads = if smt { 2 } else { 1 };
        let mut topology = Uniform::new(kinds.len() as u32, threads).topology();
        let capacities: Vec<u32> =
            kinds.iter().flat_map(|&kind| vec![[300, 600, 1024][usize::from(kind)]; threads as usize]).collect();
        for (cpu, &capacity) in topology.cpus.iter_mut().zip(&capacities) {
            cpu.capacity = capacity;
        }
        let domains = build_sched_domains(&topology, &DomainOptions::of(preset).on(Arch::Arm64)).expect("a machine");
        if !domains.asym_cpucap_active {
            continue;
        }
        let nr_cpus = domains.nr_cpus;
        let cpus = |bits: u64| CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|cpu| bits >> cpu & 1 == 1));
        let (this, prev, recent) = (this % nr_cpus, prev % nr_cpus, recent % nr_cpus);
        let mut allowed = cpus(allowed);
        allowed.set(prev);
        let switches = format!("{}SIS_UTIL,{}SIS_CORE", if util { "" } else { "NO_" }, if core { "" } else { "NO_" });
        let features = preset.switched(&switches.parse().expect("switches")).expect("they fit the kernel");
        let system =
            Unequal { capacities, idle: cpus(idle), has_idle_cores: llc.0 && has, nr_idle_scan: llc.1, domains };
        let rules = Rules::new(preset, features, &system.domains).expect("rules");
        let wakeup = Wakeup {
            waker: Waker::new(this),
            wakee: Wakee { recent_used_cpu: Some(recent), util_avg, util_est, ..Wakee::new(prev, &allowed) },
            flags: WakeFlags::TTWU | if sync { WakeFlags::SYNC } else { WakeFlags::empty() },
        };
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &system };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        let out = system.machine(rules.min_granularity).select(&wake_of(&wakeup, features));
        let of_model = (
            decision.cpu,
            decision.reason.name(),
            decision.target,
            [decision.count.search, decision.count.domain_search, decision.count.scanned, decision.count.failed],
            decision.effects.clear_idle_cores.is_some(),
        );
        let of_program = (
            out.cpu as Cpu,
            REASONS[out.reason as usize],
            out.target as Cpu,
            [out.search, out.domain_search, out.scanned, out.failed],
            out.cleared,
        );
        assert_eq!(of_program, of_model, "case {number}: {case:?}");
        reasons.insert(decision.reason);
    }
    for reason in [Reason::Target, Reason::Prev, Reason::Recent, Reason::Capacity, Reason::Limit, Reason::Overloaded] {
        assert!(reasons.contains(&reason), "{reason}");
    }
}
