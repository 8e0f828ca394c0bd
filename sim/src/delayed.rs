//! Wake-ups of tasks whose dequeue was delayed (`ttwu_runnable()`): they sleep, are queued still, and stay where they are, so
//! that no CPU is chosen.
//!
//! That the wakee is queued is known for sure only under its run queue's lock. Where it has left meanwhile, the wake-up goes on
//! as any other; where balancing has moved it, the other run queue's lock is taken.

use crate::cpu::Waking;
use crate::engine::Sim;
use crate::task::State;
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::EnqueueFlags;
use wakelab_sched::select::WakeFlags;

/// `WF_RQ_SELECTED`, 7.2.
const WF_RQ_SELECTED: WakeFlags = WakeFlags::from_bits_retain(0x80);

impl<S: Sink> Sim<'_, '_, S> {
    /// Asks for the lock of the run queue that the wakee is on.
    pub fn wake_delayed(&mut self, cpu: Cpu) {
        let waking = self.sys.cpus[cpu as usize].waking.as_mut().expect("a wake-up is under way");
        waking.delayed = self.sys.es[waking.wakee].on_rq;
        if !waking.delayed {
            return self.wake_off_rq(cpu);
        }
        waking.dest = self.sys.tasks[waking.wakee.0 as usize].cpu;
        let dest = waking.dest;
        self.begin_enqueue(cpu, dest);
    }

    /// Has the lock. Returns false if the wake-up goes another way.
    pub fn requeue_delayed(&mut self, cpu: Cpu, waking: Waking) -> bool {
        let (wakee, dest) = (waking.wakee, waking.dest);
        let task = &self.sys.tasks[wakee.0 as usize];
        if !self.sys.es[wakee].on_rq || task.cpu != dest {
            self.wake_delayed(cpu);
            return false;
        }
        let on_cpu = task.on_cpu;
        self.tell(|sys| Event::Wakeup {
            waker_cpu: cpu,
            waker: waking.waker.map(|task| task.0),
            wakee: wakee.0,
            prev_cpu: dest,
            decision: None,
            cpu: dest,
            queued: Queued::Delayed,
            began: sys.now,
            scan_began: None,
            scan_ended: None,
            claimed: false,
            workload: sys.tasks[wakee.0 as usize].workload,
        });
        self.sys.load_enqueue(dest, wakee, true);
        let now = self.sys.clock_task(dest);
        let c = &mut self.sys.cpus[dest as usize];
        let mut resched = c.rq.enqueue_task(&mut self.sys.es, now, wakee, EnqueueFlags::WAKEUP);
        self.sys.tasks[wakee.0 as usize].state = State::Runnable;
        self.tell(|_| Event::Enqueue { cpu: dest, task: wakee.0 });
        if !on_cpu {
            resched |= self.wakeup_preempt(dest, wakee, waking.flags());
        }
        if self.sys.asked(dest, resched).is_now() {
            self.resched(cpu, dest);
        }
        true
    }
}

impl Waking {
    /// What `wakeup_preempt()` and placement are told of the wake-up.
    pub fn flags(&self) -> WakeFlags {
        let mut flags = WakeFlags::TTWU;
        flags.set(WakeFlags::SYNC, self.sync);
        flags.set(WF_RQ_SELECTED, self.selected);
        flags
    }
}
