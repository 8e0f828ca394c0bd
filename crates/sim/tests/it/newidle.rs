//! Newly idle balancing as the simulator drives it: when a CPU begins, what passes it makes, and when it stops.

use crate::support::ns;
use crate::support::watched::{Run, watch, workload};
use std::collections::BTreeMap;
use wakelab_events::sim::Event;
use wakelab_kernel::Preset;
use wakelab_sched::balance::CpuIdleType;
use wakelab_sim::observe::Doing;
use wakelab_workload::Op;

const MACHINE: &str = "test-2llc";

/// Two LLCs of four CPUs in one package: a domain of 4 CPUs and one of 8.
const WEIGHTS: [u64; 2] = [4, 8];

/// How long the passes over the two domains take, ns.
fn pass_times() -> [u64; 2] {
    let costs = wakelab_machine::get(MACHINE).expect("a machine").costs;
    WEIGHTS.map(|weight| costs.balance.value + costs.balance_cpu.value * weight)
}

/// What a domain remembers of its newly idle passes at first (`max_newidle_lb_cost`), ns.
fn first_cost() -> u64 {
    wakelab_machine::get(MACHINE).expect("a machine").costs.newidle_max_llc.value
}

/// Two hogs share CPU 0 and may not leave it, so that the root domain stays overloaded and no pass moves a task. CPU 1
/// works for 50 us and sleeps for 100 us. Its `avg_idle` starts at 1 ms (twice `sysctl_sched_migration_cost`) and falls
/// by an eighth of the difference with each period. It begins while that is at least 500 us (5.3, 5.10), or the cost of
/// the lowest domain (since 5.18); the higher domain takes part while it is at least the time of the first pass plus
/// the cost.
#[test]
fn passes_are_made_while_the_expected_idle_time_allows_them() {
    let hog = vec![Op::Run(ns(1_000_000)), Op::Repeat { to: 0, times: None }];
    let sleeper = vec![Op::Run(ns(50_000)), Op::Sleep(ns(100_000)), Op::Repeat { to: 0, times: None }];
    let tasks = vec![(0, vec![], vec![0], false), (0, vec![], vec![0], false), (1, vec![], vec![1], false)];
    let workload = workload(vec![hog, sleeper], tasks);
    for preset in Preset::all() {
        let kernel = preset.name;
        let begins_at = if preset.balance.newidle.cost_floor { 500_000 } else { first_cost() };
        let run = Run { machine: MACHINE, kernel, switches: "NO_NI_RANDOM", ..Run::on_8_cpus(&workload) };
        // By the time at which the CPU is idle: the expected idle time then.
        let (mut searches, mut was_idle, mut avg_idle) = (Vec::new(), true, 0);
        let events = watch(&run, 8_000_000, |snapshot| {
            let c = snapshot.cpu(1);
            // A tick that balances interrupts the idle time (IdleExit) and does not end it.
            let idle = c.curr.is_none() && matches!(c.doing, Doing::IdleEntry | Doing::Idle | Doing::IdleExit);
            if idle && !was_idle {
                searches.push((snapshot.now(), avg_idle));
            }
            (was_idle, avg_idle) = (idle, c.avg_idle);
        });
        let levels_before = |from: u64, to: u64| {
            let newidle = |event: &Event| match *event {
                Event::Balance { cpu: 1, level, idle: CpuIdleType::NewlyIdle, .. } => Some(level),
                _ => None,
            };
            let of_search = events.iter().filter(|(time, _)| (from..to).contains(time));
            of_search.filter_map(|(_, event)| newidle(event)).collect::<Vec<_>>()
        };
        let mut passes = [0; 3];
        for pair in searches.windows(2) {
            let (from, (to, avg_idle)) = (pair[0].0, pair[1]);
            let expected: &[u32] = match avg_idle {
                _ if avg_idle < begins_at.max(first_cost()) => &[],
                _ if avg_idle < pass_times()[0] + first_cost() => &[0],
                _ => &[0, 1],
            };
            assert_eq!(levels_before(from, to), expected, "{kernel}: avg_idle {avg_idle} at {to}");
            passes[expected.len()] += 1;
        }
        assert!(passes[0] > 5 && passes[2] > 5, "{kernel}: {passes:?}");
    }
}

/// A search goes from the lowest domain up and takes the time of its passes. It ends with the first pass that moves a
/// task, and the CPU then runs one, unless DELAY_DEQUEUE has let the pass move a task that sleeps.
#[test]
fn a_search_goes_up_the_domains_until_it_finds_a_task() {
    // 14 tasks on 8 CPUs, each with its own times of work and sleep.
    let times = |n: u64| vec![Op::Run(ns(400_000 + 70_000 * n)), Op::Sleep(ns(300_000 + 110_000 * n))];
    let program = |n| [times(n), vec![Op::Repeat { to: 0, times: None }]].concat();
    let tasks = (0..14).map(|n| (n, vec![], (0..8).collect(), false)).collect();
    let workload = workload((0..14).map(program).collect(), tasks);
    for kernel in Preset::all().iter().map(|preset| preset.name) {
        let run =
            Run { machine: MACHINE, kernel, switches: "NO_NI_RANDOM,NO_DELAY_DEQUEUE", ..Run::on_8_cpus(&workload) };
        // By CPU: when its last pass ended, over which level, and whether it moved a task.
        let mut last: BTreeMap<u32, (u64, u32, bool)> = BTreeMap::new();
        let (mut pulled, mut went_up) = (0, 0);
        for (time, event) in watch(&run, 60_000_000, |_| {}) {
            match event {
                Event::Balance { cpu, level, idle: CpuIdleType::NewlyIdle, moved, .. } => {
                    let before = last.insert(cpu, (time, level, moved != 0));
                    if level != 0 {
                        let (before, below, found) = before.expect("a search begins with the lowest domain");
                        assert!(!found, "{kernel}: CPU {cpu} went on at {time}");
                        assert_eq!(level, below + 1, "{kernel}: CPU {cpu} at {time}");
                        // Interrupts can prolong a pass.
                        assert!(time - before >= pass_times()[level as usize], "{kernel}: CPU {cpu} at {time}");
                        went_up += 1;
                    }
                    pulled += u32::from(moved != 0);
                }
                Event::Switch { cpu, next, .. } => {
                    if let Some((_, _, true)) = last.remove(&cpu) {
                        assert!(next.is_some(), "{kernel}: CPU {cpu} at {time}");
                    }
                }
                _ => {}
            }
        }
        assert!(pulled > 5 && went_up > 5, "{kernel}: {pulled} pulled, {went_up} went up");
    }
}
