//! A task that changes its policy gets the weight of the new one, whether it runs or waits.

use crate::support::runqueue::cpu::{Cpu, rules};
use wakelab_kernel::Preset;
use wakelab_sched::runqueue::{LoadWeight, Policy};

const S: u64 = 1_000_000_000;

#[test]
fn a_change_of_policy_changes_the_share_and_back_again() {
    for kernel in Preset::all().iter().map(|preset| preset.name) {
        // Which of two hogs changes: one of them runs, and the other waits.
        for which in 0..2 {
            let mut cpu = Cpu::new(rules(kernel, &[]), 1_000_000);
            let hogs = [(); 2].map(|()| cpu.fork(Policy::Normal, 5, 0));
            cpu.run(cpu.now + S);
            for (policy, weight) in [(Policy::Idle, 3.0), (Policy::Normal, 335.0)] {
                let (now, hog) = (cpu.now, hogs[which]);
                let _ = cpu.rq.set_policy(&mut cpu.es, now, hog, policy);
                cpu.rq.validate(&cpu.es).unwrap();
                assert_eq!(cpu.es[hog].load, LoadWeight::of(policy, 5), "{kernel}");
                assert_eq!(cpu.rq.nr_idle(), u32::from(policy == Policy::Idle), "{kernel}");
                let before = cpu.ran(hog);
                cpu.run(now + 10 * S);
                let share = (cpu.ran(hog) - before) as f64 / (10 * S) as f64;
                let due = weight / (weight + 335.0);
                assert!((share - due).abs() < 0.01, "{kernel}, {policy:?}: {share}, expected {due}");
            }
        }
    }
}
