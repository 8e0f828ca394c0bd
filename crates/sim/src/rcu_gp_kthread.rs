//! Tasks that no workload has and that may run on any CPU: daemons, and the kthread that ends RCU's grace periods.
//!
//! Timers and softirqs wake them, and who happens to run on that CPU is their waker: `record_wakee()` writes to
//! `current`. So a pair of tasks that only wake each other has `wakee_flips`, and what asks for tasks without
//! (SIS_CURRENT, SIS_SHORT_V6, SIS_NODE_PAIR) seldom finds them on a machine with few CPUs.
//!
//! ```text
//! daemon   Sleep 1 s ─▶ Run ─▶ call_rcu() ─▶ Sleep ...
//! kthread  rcu_gp_init() ─▶ rcu_gp_fqs_loop(): sleeps until its timer, or the last CPU's report ─▶ rcu_gp_cleanup()
//! tick     rcu_core(), in softirq context: asks for a grace period, reports a quiescent state, invokes callbacks
//! ```
//!
//! kernel/rcu/tree.c, 6.1, the same in 6.12. A CPU notices a grace period at the first tick after it began
//! (`note_gp_changes()`). By the next tick it has passed a quiescent state (`rcu_note_context_switch()`, or the tick
//! finds it in user mode or idle), and reports it there. The kthread scans for idle CPUs (`rcu_gp_fqs()`): its first
//! scan finds those that are idle, later ones also those that were. A run in which nothing reads wakee flips has none
//! of these tasks.

use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use crate::model::Model;
use crate::numbered::PerCpu;
use crate::pm::rcu::jiffies_till_first_fqs;
use crate::system::System;
use crate::task::{Of, Wait};
use wakelab_events::sim::Sink;
use wakelab_kernel::Feature;
use wakelab_machine::Noise;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_workload::{Op, Program, Work};

/// How long daemons sleep, ns, half less to half more: the monitors of LKP and kcompactd's timer are set to a second
/// or half of it.
const DAEMON_SLEEP_NS: u64 = 1_000_000_000;

/// How many grace periods, one after another, the callbacks of a daemon's wake-up need (assumed, 1 to 6): the first of
/// its processes' callbacks one, those queued while that runs the next, and those that callbacks queue a third
/// (`delayed_put_task_struct()`, from it `put_cred_rcu()`). A guest of 6.1 (250 Hz, four CPUs) with nine loops of such
/// processes, 13 of these a second and slow, woke rcu_preempt 107 times a second, with nothing but two pairs 0.3 times.
const DAEMON_ROUNDS: u32 = 3;

/// Longer than any run: the kthread sleeps until it is woken.
const FOREVER_NS: u64 = 1 << 62;

/// What the kthread does when it runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing: nobody waits for a grace period.
    Idle,
    /// `rcu_gp_init()`.
    Init,
    /// `rcu_gp_fqs_loop()`, before its first scan or after it.
    Fqs { first: bool },
}

/// Grace periods.
#[derive(Clone, Debug)]
pub struct RcuState {
    kthread: TaskId,
    phase: Phase,
    /// When the kthread's timer expires, ns: before that only the last report wakes it.
    force_qs: u64,
    /// CPUs that have not reported.
    qsmask: CpuMask,
    /// Those of them that know of the grace period.
    noticed: CpuMask,
    /// Their idle time at the kthread's last scan, ns.
    idle_at_scan: PerCpu<u64>,
    /// How many callbacks, one after another, wait for a grace period to begin.
    next: PerCpu<u32>,
    /// Those that wait for the one that is under way.
    wait: PerCpu<u32>,
    /// Those whose grace period is over, and which the CPU's next tick invokes.
    done: PerCpu<u32>,
}

/// Whether a decision of this kernel asks for tasks without wakee flips.
fn asks_for_flips(model: &Model<'_>) -> bool {
    [Feature::SIS_CURRENT, Feature::SIS_SHORT_V6, Feature::SIS_NODE_PAIR]
        .iter()
        .any(|&feature| model.features.has(feature))
}

/// The programs of a daemon and of the kthread. A scan takes the kthread 2 µs (assumed), as in `pm/rcu.rs`.
pub fn programs(noise: &Noise) -> [Program; 2] {
    let program = |name: &str, run, sleep| Program {
        name: name.to_owned(),
        ops: vec![Op::Run(run), Op::Sleep(sleep), Op::Repeat { to: 0, times: None }],
    };
    [
        program("daemon", Work::uniform(noise.kworker_run_ns, 50), Work::uniform(DAEMON_SLEEP_NS, 50)),
        program("rcu_sched", Work::uniform(2_000, 50), Work::uniform(FOREVER_NS, 0)),
    ]
}

impl<S: Sink> Sim<'_, '_, S> {
    /// Adds the daemons and the kthread, if what they leave behind is read.
    pub fn add_daemons(&mut self) {
        let model = self.sys.model;
        if model.daemons == 0 || !asks_for_flips(model) {
            return;
        }
        let first = model.programs.len() as u32 - 2;
        let add = |sim: &mut Self, program| {
            let cpu = sim.random.below(u64::from(model.nr_cpus())) as Cpu;
            let id = sim.add_sleeping(program, (cpu, false), Of::Machine, Wait::Timer);
            sim.emit_task(id);
            id
        };
        for _ in 0..model.daemons {
            let id = add(self, first);
            let expires = self.random.below(DAEMON_SLEEP_NS);
            self.at(expires, TimedEvent::Timer(id));
        }
        let kthread = add(self, first + 1);
        let cpus = model.nr_cpus() as usize;
        self.sys.rcu = Some(Box::new(RcuState {
            kthread,
            phase: Phase::Idle,
            force_qs: 0,
            qsmask: CpuMask::new(model.nr_cpus()),
            noticed: CpuMask::new(model.nr_cpus()),
            idle_at_scan: vec![0; cpus].into(),
            next: vec![0; cpus].into(),
            wait: vec![0; cpus].into(),
            done: vec![0; cpus].into(),
        }));
    }

    /// `rcu_sched_clock_irq()` and the `rcu_core()` that it raises, after a tick. Returns the kthread if this CPU wakes
    /// it.
    pub fn rcu_tick(&mut self, cpu: Cpu) -> Option<TaskId> {
        let c = &self.sys.cpus[cpu];
        let stopped = c.curr_idle && c.tick_stopped;
        let rcu = self.sys.rcu.as_mut()?;
        // rcu_needs_cpu() keeps the tick.
        if stopped && rcu.next[cpu] == 0 && rcu.done[cpu] == 0 {
            return None;
        }
        let mut wakes = false;
        match rcu.phase {
            Phase::Idle if rcu.next[cpu] != 0 => {
                rcu.phase = Phase::Init;
                wakes = true;
            }
            Phase::Fqs { .. } if rcu.qsmask.test(cpu) && !rcu.noticed.test(cpu) => rcu.noticed.set(cpu),
            Phase::Fqs { .. } if rcu.qsmask.test(cpu) => {
                rcu.qsmask.clear(cpu);
                wakes = rcu.qsmask.is_empty();
            }
            _ => {}
        }
        // rcu_do_batch(), which is the end of rcu_core(): what callbacks queue is looked at by the next tick.
        let left = std::mem::take(&mut rcu.done[cpu]).saturating_sub(1);
        rcu.next[cpu] = rcu.next[cpu].max(left);
        wakes.then_some(rcu.kthread)
    }

    /// The timer of the kthread's sleep, set for `time`.
    pub fn rcu_timer(&mut self, time: u64) {
        let Some(rcu) = &self.sys.rcu else { return };
        if rcu.force_qs == time && matches!(rcu.phase, Phase::Fqs { .. }) {
            self.timer_interrupts(rcu.kthread);
        }
    }

    /// A task that is not the workload's goes to sleep on `cpu`.
    #[cold]
    pub fn background_sleeps(&mut self, cpu: Cpu, id: TaskId) {
        let daemon = self.sys.model.programs.len() as u32 - 2;
        let Some(rcu) = &self.sys.rcu else { return };
        if rcu.kthread == id {
            self.rcu_gp_kthread();
        } else if self.sys.tasks[id].program == daemon {
            self.sys.queue_callbacks(cpu, DAEMON_ROUNDS);
        }
    }

    /// What the kthread does between two sleeps (`rcu_gp_kthread()`). It takes no time but that of its run.
    fn rcu_gp_kthread(&mut self) {
        let model = self.sys.model;
        let System { rcu, cpus, now, .. } = &mut self.sys;
        let rcu = rcu.as_mut().expect("there is a kthread");
        let mut sleeps_anew = false;
        if let Phase::Fqs { first } = rcu.phase {
            if !rcu.qsmask.is_empty() && *now >= rcu.force_qs {
                // rcu_gp_fqs()
                for cpu in 0..model.nr_cpus() {
                    let (c, seen) = (&cpus[cpu], &mut rcu.idle_at_scan[cpu]);
                    if c.curr_idle || !first && c.time.idle != *seen {
                        rcu.qsmask.clear(cpu);
                    }
                    *seen = c.time.idle;
                }
                rcu.phase = Phase::Fqs { first: false };
                sleeps_anew = true;
            }
            if rcu.qsmask.is_empty() {
                // rcu_gp_cleanup(): goes on with the next grace period if callbacks wait for one.
                rcu.done.copy_from_slice(&rcu.wait);
                rcu.wait.fill(0);
                rcu.phase = if rcu.next.iter().any(|&rounds| rounds != 0) { Phase::Init } else { Phase::Idle };
            }
        }
        if rcu.phase == Phase::Init {
            std::mem::swap(&mut rcu.next, &mut rcu.wait);
            rcu.qsmask = CpuMask::full(model.nr_cpus());
            rcu.noticed = CpuMask::new(model.nr_cpus());
            rcu.phase = Phase::Fqs { first: true };
            sleeps_anew = true;
        }
        if sleeps_anew && rcu.phase != Phase::Idle {
            // schedule_timeout() of as many jiffies, which the timer wheel rounds up; jiffies_till_next_fqs is equal.
            let jiffies = jiffies_till_first_fqs(model.hz, model.nr_cpus()) + 1;
            rcu.force_qs = (*now / model.tick_ns + jiffies) * model.tick_ns;
            let at = rcu.force_qs;
            self.at(at, TimedEvent::RcuTimer(at));
        }
    }
}

impl System<'_> {
    /// `call_rcu()`, `rounds` times one after another: callbacks queue callbacks.
    pub fn queue_callbacks(&mut self, cpu: Cpu, rounds: u32) {
        if let Some(rcu) = &mut self.rcu {
            let next = &mut rcu.next[cpu];
            *next = rounds.max(*next);
        }
    }
}
