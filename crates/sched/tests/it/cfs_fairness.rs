//! CFS is fair: shares by weight, in each version.

use crate::support::runqueue::cpu::{Cpu, rules};
use crate::support::runqueue::shares::shares_are_fair;
use crate::support::runqueue::{presets_of, virtual_time};
use wakelab_kernel::{Class, Feature};
use wakelab_sched::runqueue::Policy;

const MS: u64 = 1_000_000;

/// A task that is to be preempted runs until the next tick, so a share is off by at most the last granularity (3 ms on
/// 8 CPUs) and a tick.
#[test]
fn cfs_shares_of_hogs_follow_their_weights() {
    for kernel in presets_of(Class::Cfs) {
        for tick in [MS, 4 * MS] {
            for hrtick in [false, true] {
                let name = format!("{kernel}, tick {tick} ns, hrtick {hrtick}");
                let rules = rules(kernel, &[(Feature::HRTICK, hrtick)]);
                shares_are_fair(&name, rules, tick, 3 * MS + tick);
            }
        }
    }
}

/// The latency is 24 ms on 8 CPUs, and GENTLE_FAIR_SLEEPERS credits half of it: a hog that sleeps for long is placed so
/// much before `min_vruntime`, however long it slept.
#[test]
fn cfs_sleeper_is_placed_half_a_latency_before_the_others() {
    for kernel in presets_of(Class::Cfs) {
        for sleep in [100 * MS, 10_000 * MS] {
            let mut cpu = Cpu::new(rules(kernel, &[]), MS);
            let sleeper = cpu.fork(Policy::Normal, 0, 0);
            cpu.sleep();
            cpu.fork(Policy::Normal, 0, 0);
            cpu.run(cpu.now + sleep);
            cpu.wake(sleeper);
            let credit = virtual_time(&cpu.rq, &cpu.es).wrapping_sub(cpu.es[sleeper].vruntime);
            assert_eq!(credit, 12 * MS, "{kernel}");
        }
    }
}
