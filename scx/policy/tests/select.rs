//! The control flow of `scx_wakelab`'s placement against `sched`: for random machines, states and wake-ups the same CPU, reason,
//! target, counts and state left behind.
//!
//! The cases are those that `sched` is compared with its own second implementation by. What the scheduler leaves out on purpose
//! is not among them: clusters, delayed dequeue, CPUs that run SCHED_IDLE tasks only (they cannot be claimed), tasks
//! whose previous CPU is not allowed any more, forks and execs.

#[path = "../../../sched/tests/it/select_reference/mod.rs"]
#[allow(dead_code, unused_imports)]
mod select_reference;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use select_reference::Version;
use select_reference::case::{World, case};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SdFlags;
use wakelab_sched::select::{Cx, Decision, PolicyView, Reason, Select, WakeFlags, select_task_rq_fair};
use wakelab_scx_policy::ScanCost;
use wakelab_scx_policy::select::{CpuInfo, CpuState, FEATURES, Level, Machine, Outcome, REASONS, Wake};

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
                next_cpu: world.table.next_cpu(cpu),
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

fn wake(world: &World) -> Wake {
    let wakeup = world.wakeup();
    let bit = |(at, name): (usize, &&str)| {
        let on = name.parse::<Feature>().is_ok_and(|feature| world.features.has(feature));
        u64::from(on) << at
    };
    let mut allowed = [0; 16];
    for cpu in world.allowed.iter() {
        allowed[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    Wake {
        features: FEATURES.iter().enumerate().map(bit).sum(),
        flags: u64::from(wakeup.flags.bits()),
        jiffies: world.table.clock.jiffies,
        clock: 1_000,
        clock_step: world.table.clock_step,
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

/// Whether the scheduler decides such a wake-up as the kernel does.
fn is_followed(world: &World) -> bool {
    let wakeup = world.wakeup();
    world.version == Version::V7_2
        && wakeup.flags.contains(WakeFlags::TTWU)
        && world.allowed.test(wakeup.wakee.prev_cpu)
        && world.domains.domains.iter().flatten().all(|sd| !sd.flags.contains(SdFlags::CLUSTER))
}

/// The state without what the scheduler does not know, and without what cannot be: a scan of SIS_LIMIT ends in its own LLC.
fn simplified(mut world: World) -> World {
    for cpu in 0..world.domains.nr_cpus {
        let next = world.table.next_cpu(cpu);
        let row = &mut world.table.rows[cpu as usize];
        row.sched_idle = false;
        row.h_nr_delayed = 0;
        let llc = |cpu: Cpu| world.domains.sd_llc_id[cpu as usize];
        if next.is_some_and(|next| llc(next) != llc(cpu)) {
            // The table has no `next_cpu` for such a number.
            row.runnable = 0;
        }
    }
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
    let next = world.table.next_cpu(decision.target);
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
    let strategy = case();
    let (mut compared, mut reasons) = (0, BTreeSet::new());
    for number in 0..200_000 {
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

/// An idle CPU that was chosen for being idle is claimed.
fn is_idle(world: &World, decision: &Decision) -> bool {
    let waits = [Reason::Kthread, Reason::Short, Reason::Limit, Reason::Overloaded, Reason::None, Reason::CurrentCpu];
    world.table.rows[decision.cpu as usize].idle && !waits.contains(&decision.reason)
}
