//! What a placement must be for any machine and state: a second implementation, and the laws that hold between the
//! ways to decide.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::collections::BTreeSet;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{
    Affine, Cx, Decision, Event, Observer, Probe, Reason, ScanClock, SearchCount, Select, select_task_rq_fair,
};
use wakelab_testing::select_reference::case::{World, case, slow_case};
use wakelab_testing::select_reference::table::Table;
use wakelab_testing::select_reference::{Kernel, Version};

/// Cases that fail are kept beside this file.
fn config(cases: u32) -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    let from_env = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: from_env.unwrap_or(cases),
        failure_persistence: Some(Box::new(beside)),
        ..ProptestConfig::default()
    }
}

/// All that a decision changes, in a form in which two implementations can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    cpu: Cpu,
    reason: Reason,
    target: Cpu,
    recent_used_cpu: Option<Cpu>,
    waker_recent_used_cpu: Option<Cpu>,
    /// The LLC whose `has_idle_cores` is cleared, by its lowest CPU.
    cleared: Option<Cpu>,
    clock: ScanClock,
    next_cpu: Option<(Cpu, Cpu)>,
    count: SearchCount,
}

fn outcome(world: &World, decision: &Decision) -> Outcome {
    let effects = &decision.effects;
    Outcome {
        cpu: decision.cpu,
        reason: decision.reason,
        target: decision.target,
        recent_used_cpu: effects.recent_used_cpu,
        waker_recent_used_cpu: effects.waker_recent_used_cpu,
        cleared: effects.clear_idle_cores.map(|cpu| world.domains.sd_llc_id[cpu as usize]),
        clock: world.table.clock_after(effects),
        next_cpu: effects.next_cpu,
        count: decision.count,
    }
}

fn reference(world: &World) -> Outcome {
    let (table, wakeup) = (world.table.fresh(), world.wakeup());
    let mut kernel =
        Kernel::new(world.version, world.features, &world.domains, &table, &wakeup, world.rules().min_granularity);
    let cpu = kernel.select_task_rq_fair();
    let Kernel { effects, count, target, reason, .. } = kernel;
    Outcome {
        cpu,
        reason,
        target,
        recent_used_cpu: effects.recent_used_cpu,
        waker_recent_used_cpu: effects.waker_recent_used_cpu,
        cleared: effects.clear_idle_cores.map(|cpu| world.domains.sd_llc_id[cpu as usize]),
        clock: table.clock_after(&effects),
        next_cpu: effects.next_cpu,
        count,
    }
}

/// Listens to single probes.
#[derive(Default)]
struct Probes(Vec<Probe>);

impl Observer for Probes {
    const PROBES: bool = true;

    fn event(&mut self, event: Event) {
        if let Event::Probe(probe) = event {
            self.0.push(probe);
        }
    }
}

fn at_once(select: &mut Select, world: &World, table: &Table, observer: &mut impl Observer) -> Decision {
    let (rules, wakeup, view) = (world.rules(), world.wakeup(), table.fresh());
    select_task_rq_fair(select, Cx { rules: &rules, wakeup: &wakeup, view: &view }, observer)
}

/// Decides step by step. `before` is asked for the table of each step, from its number and from the CPU that the step
/// is said to probe at; `after` is shown that CPU and the probes that were reported.
fn step_by_step(
    world: &World,
    mut before: impl FnMut(usize, Option<Cpu>) -> Table,
    mut after: impl FnMut(Option<Cpu>, &[Probe]),
) -> Decision {
    let (rules, wakeup) = (world.rules(), world.wakeup());
    let mut select = Select::default();
    let mut decision = select.start(&rules, &wakeup, &mut ());
    let mut number = 0;
    let readings = std::cell::Cell::new(0);
    while decision.is_none() {
        let at = select.next_probe(&wakeup);
        let view = before(number, at);
        view.clock_readings.set(readings.get());
        let mut probes = Probes::default();
        decision = select.probe(Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut probes);
        readings.set(view.clock_readings.get());
        after(at, &probes.0);
        number += 1;
    }
    decision.unwrap()
}

/// The cases are worth something only if they come to every end that there is.
#[test]
fn cases_come_to_every_end() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..60_000 {
        let world = case().new_tree(&mut runner).unwrap().current().world();
        let reason = at_once(&mut Select::default(), &world, &world.table, &mut ()).reason;
        seen.insert((world.version, reason));
    }
    for version in [Version::V5_3, Version::V5_10, Version::V6_1, Version::V6_12, Version::V7_2] {
        for reason in Reason::ALL {
            let possible = match reason {
                Reason::CurrentCpu | Reason::PrevFar | Reason::RecentFar => version >= Version::V6_12,
                Reason::CoreCpu => version >= Version::V6_1,
                Reason::Kthread => version >= Version::V5_10,
                // All CPUs of these machines are alike.
                Reason::Capacity | Reason::Energy => false,
                // It has no kernel to be compared with.
                Reason::Oracle => false,
                _ => true,
            };
            assert_eq!(seen.contains(&(version, reason)), possible, "{version:?} {reason}");
        }
    }
}

proptest! {
    #![proptest_config(config(10_000))]

    #[test]
    fn decides_as_the_reference(case in case()) {
        let world = case.world();
        let decision = at_once(&mut Select::default(), &world, &world.table, &mut ());
        prop_assert_eq!(outcome(&world, &decision), reference(&world));
    }

    /// At once, step by step, with or without a listener, by single probes, by words of masks or by sums over groups:
    /// all the same.
    #[test]
    fn all_ways_agree(case in case()) {
        let world = case.world();
        let expected = at_once(&mut Select::default(), &world, &world.table, &mut ());
        let mut heard = Vec::new();
        for table in [world.table.clone(), world.table.with_masks(), world.table.with_sums(&world.domains)] {
            prop_assert_eq!(at_once(&mut Select::default(), &world, &table, &mut ()), expected);

            let mut probes = Probes::default();
            prop_assert_eq!(at_once(&mut Select::default(), &world, &table, &mut probes), expected);
            heard.push(probes.0);

            let mut stepped = Vec::new();
            let decision = step_by_step(&world, |_, _| table.fresh(), |_, probes| stepped.extend_from_slice(probes));
            prop_assert_eq!(decision, expected);
            heard.push(stepped);
        }
        for probes in &heard[1..] {
            prop_assert_eq!(probes, &heard[0]);
        }
    }

    /// The kernel never asks whether the wakee may use the previous CPU: a fast path or a failed search answers with it
    /// or with a target that is it, and `select_task_rq()` corrects that. All others it asks for: the waking CPU
    /// before it becomes the target, and what a search or the slow path comes to. So the choice is in the affinity or
    /// is the previous CPU, and where the affinity has the previous CPU, it has the choice.
    ///
    /// One case is not promised. The slow path starts from the waking CPU without asking for it, and the walk over a
    /// group neither takes an idle CPU that has no idle state and no idle stamp nor compares its load. Where the
    /// affinity leaves only such CPUs, it stays where it started. In 5.3 it stays more often: the load of a local group
    /// that the affinity rules out starts at ULONG_MAX, and the margin that is added to it wraps.
    #[test]
    fn stays_in_the_affinity(case in case()) {
        let world = case.world();
        let decision = at_once(&mut Select::default(), &world, &world.table, &mut ());
        let wakeup = world.wakeup();
        let promised = |cpu| world.allowed.test(cpu) || cpu == wakeup.wakee.prev_cpu;
        let passed_over = |cpu: Cpu| {
            let row = &world.table.rows[cpu as usize];
            row.idle && row.exit_latency.is_none() && row.idle_stamp == 0
        };
        let stuck = decision.reason == Reason::Slow
            && decision.cpu == wakeup.waker.cpu
            && (world.allowed.iter().any(passed_over) || world.version == Version::V5_3);
        prop_assert!(promised(decision.target));
        prop_assert!(promised(decision.cpu) || stuck);
    }

    /// Forks and execs, which are few among the cases above, with sums over groups.
    #[test]
    fn sums_change_no_slow_path(case in slow_case()) {
        let world = case.world();
        let with_sums = world.table.with_sums(&world.domains);
        let expected = at_once(&mut Select::default(), &world, &world.table, &mut ());
        prop_assert_eq!(at_once(&mut Select::default(), &world, &with_sums, &mut ()), expected);
    }

    /// What one decision leaves behind does not reach the next one.
    #[test]
    fn used_again_as_fresh(cases in prop::collection::vec(case(), 2..5)) {
        let mut used = Select::default();
        for case in cases {
            let world = case.world();
            let table = world.table.with_masks();
            let fresh = at_once(&mut Select::default(), &world, &table, &mut ());
            prop_assert_eq!(at_once(&mut used, &world, &table, &mut ()), fresh);
        }
    }

    /// Each step names the CPU that it probes at, probes there, and probes at no other. Only `wake_affine()`'s step and
    /// those of the slow path tell of no probe: the one asks for two CPUs, the others for more than idleness.
    #[test]
    fn looks_where_it_says(case in case()) {
        let world = case.world();
        let mut steps = Vec::new();
        let note = |at, probes: &[Probe]| steps.push((at, probes.to_vec()));
        let decision = step_by_step(&world, |_, _| world.table.fresh(), note);
        let quiet = match decision.reason {
            Reason::Slow => steps.len(),
            _ => usize::from(decision.affine.rule != Affine::NotAsked),
        };
        for (number, (at, probes)) in steps.iter().enumerate() {
            prop_assert!(at.is_some());
            prop_assert!(probes.len() == 1 || probes.is_empty() && number < quiet, "step {}: {:?}", number, steps);
            prop_assert!(probes.iter().all(|probe| Some(probe.cpu) == *at), "step {}: {:?}", number, steps);
        }
    }

    /// A search knows of each CPU what it saw when it looked there, no more: when all others are turned about before
    /// each probe, it ends the same. The rule of `wake_affine()` probes at two CPUs in its one step, the slow path sums
    /// up all of them: those are left alone.
    #[test]
    fn only_the_looks_count(case in case(), masks in any::<bool>()) {
        let world = case.world();
        let expected = at_once(&mut Select::default(), &world, &world.table, &mut ());
        if expected.reason == Reason::Slow {
            return Ok(());
        }
        let affine = expected.affine.rule != Affine::NotAsked;
        let turned_about = |number: usize, at: Option<Cpu>| {
            let mut table = world.table.fresh();
            for (cpu, row) in (0..).zip(&mut table.rows) {
                if Some(cpu) != at && !(affine && number == 0) {
                    row.idle = !row.idle;
                    row.sched_idle = !row.sched_idle;
                }
            }
            if masks { table.with_masks() } else { table }
        };
        prop_assert_eq!(step_by_step(&world, turned_about, |_, _| ()), expected);
    }
}
