//! Hogs of different nice values on one CPU.

use crate::support::runqueue::cpu::Cpu;
use wakelab_sched::runqueue::{FairRules, LoadWeight, Policy};

/// Runs hogs of nice 0, 5 and 19 for 10 s, and asserts that the share of each is that of its weight within 1% or
/// `quantum` ns, whichever is more.
pub fn shares_are_fair(name: &str, rules: FairRules, tick_ns: u64, quantum: u64) {
    let nices = [0, 5, 19];
    let mut cpu = Cpu::new(rules, tick_ns);
    let tasks = nices.map(|nice| cpu.fork(Policy::Normal, nice, 0));
    let total = 10_000_000_000;
    cpu.run(cpu.now + total);
    let weight = |nice| f64::from(LoadWeight::of(Policy::Normal, nice).weight);
    let sum: f64 = nices.map(weight).iter().sum();
    let mut all = 0;
    for (task, nice) in tasks.into_iter().zip(nices) {
        let (ran, due) = (cpu.ran(task), total as f64 * weight(nice) / sum);
        all += ran;
        let off = (ran as f64 - due).abs();
        println!("{name} nice {nice}: ran {ran} ns of {due:.0}, {:.3}% off", 100.0 * off / due);
        assert!(off <= (0.01 * due).max(quantum as f64), "{name} nice {nice}: ran {ran} ns, due {due:.0}");
    }
    assert_eq!(all, total, "{name}: no time is lost");
}
