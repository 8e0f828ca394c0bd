//! RCU, as far as it keeps CPUs awake: a CPU keeps its tick while its callbacks wait for a grace period, and the
//! kthread that ends grace periods has timers.
//!
//! Callbacks are queued when tasks and memory are freed: by exec, by exit, and by the parent's wait. If a workload does
//! so all the time, one grace period follows the other. Each takes one sleep of the kthread (`rcu_gp_fqs_loop()`,
//! 5.10): after it, idle CPUs are seen to be idle, and busy ones have passed a tick in user mode.

use crate::system::System;
use wakelab_sched::cpumask::Cpu;
use wakelab_workload::{Call, Op, Program, Work};

/// `RCU_JIFFIES_TILL_FORCE_QS` (kernel/rcu/tree.h, 5.10) plus `nr_cpu_ids / RCU_JIFFIES_FQS_DIV`
/// (`rcu_init_geometry()`).
pub fn jiffies_till_first_fqs(hz: u64, nr_cpus: u32) -> u64 {
    1 + u64::from(hz > 250) + u64::from(hz > 500) + u64::from(nr_cpus / 256)
}

/// How long a grace period takes, ns: the kthread's sleep begins within a jiffy, and its timer rounds up.
pub fn grace_period_ns(hz: u64, nr_cpus: u32) -> u64 {
    (jiffies_till_first_fqs(hz, nr_cpus) + 1) * (1_000_000_000 / hz)
}

/// Whether a workload queues callbacks.
pub fn queues_callbacks(programs: &[Program]) -> bool {
    programs.iter().any(|program| program.ops.iter().any(|op| matches!(op, Op::Fork { .. } | Op::Call(Call::Exec))))
}

/// The program of the kthread: it checks the CPUs, which is assumed to take 2 µs, and sleeps.
pub fn kthread(hz: u64, nr_cpus: u32) -> Program {
    let sleep = jiffies_till_first_fqs(hz, nr_cpus) * (1_000_000_000 / hz);
    let ops =
        vec![Op::Run(Work::uniform(2_000, 50)), Op::Sleep(Work::uniform(sleep, 0)), Op::Repeat { to: 0, times: None }];
    Program { name: "rcu_sched".to_owned(), ops }
}

/// When the last of so many rounds of callbacks is invoked, ns, if the first is queued at `now`, ns.
fn invoked_at(now: u64, rounds: u64, hz: u64, nr_cpus: u32) -> u64 {
    let tick_ns = 1_000_000_000 / hz;
    let length = grace_period_ns(hz, nr_cpus);
    let next_tick = |time: u64| (time / tick_ns + 1) * tick_ns;
    let round = |time: u64| next_tick((next_tick(time) / length + 2) * length);
    (0..rounds).fold(now, |time, _| round(time))
}

impl System<'_> {
    /// `call_rcu()`, `rounds` times one after another if callbacks queue callbacks. Each waits for the grace period
    /// that begins after the one that is under way at the CPU's next tick (`rcu_core()`), and the tick after its end
    /// invokes it.
    pub fn call_rcu(&mut self, cpu: Cpu, rounds: u64) {
        self.queue_callbacks(cpu, rounds as u32);
        let until = invoked_at(self.now, rounds, self.model.hz, self.model.nr_cpus());
        let Some(pm) = &mut self.pm else { return };
        let of = &mut pm.cpus[cpu].callbacks_until;
        *of = until.max(*of);
    }

    /// `rcu_needs_cpu()`: whether callbacks of this CPU are still to be invoked.
    pub fn rcu_needs_cpu(&self, cpu: Cpu) -> bool {
        self.pm.as_ref().is_some_and(|pm| self.now <= pm.cpus[cpu].callbacks_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_is_one_to_three_jiffies_and_the_wheels_rounding() {
        assert_eq!(grace_period_ns(100, 8), 20_000_000);
        assert_eq!(grace_period_ns(250, 8), 8_000_000);
        assert_eq!(grace_period_ns(300, 8), 9_999_999);
        assert_eq!(grace_period_ns(1000, 8), 4_000_000);
        assert_eq!(grace_period_ns(1000, 512), 6_000_000);
    }

    #[test]
    fn a_callback_waits_for_the_grace_period_after_the_one_that_it_meets_and_for_ticks_on_both_ends() {
        // A tick each 4 ms, grace periods of 8 ms: noticed at 4 ms, over at 16 ms, invoked at 20 ms; then once more.
        assert_eq!(invoked_at(1_000_000, 1, 250, 8), 20_000_000);
        assert_eq!(invoked_at(1_000_000, 2, 250, 8), 44_000_000);
    }

    #[test]
    fn only_a_workload_that_forks_or_execs_has_grace_periods() {
        let program = |op| Program { name: "program".into(), ops: vec![op] };
        assert!(!queues_callbacks(&[program(Op::Sleep(Work::uniform(1_000_000, 0)))]));
        assert!(queues_callbacks(&[program(Op::Call(Call::Exec))]));
        assert!(queues_callbacks(&[program(Op::Fork { program: 0 })]));
    }
}
