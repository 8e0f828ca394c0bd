//! One EEVDF run queue, operation by operation.

use wakelab_sched::runqueue::{
    EevdfParams, EevdfRq, EevdfRules, EnqueueFlags, Entities, Entity, Policy, Preempted, Prev, Resched, Switch, TaskId,
};
use wakelab_sched::select::WakeFlags;

pub const MS: u64 = 1_000_000;

pub const PARAMS: EevdfParams = EevdfParams {
    base_slice_ns: 3 * MS,
    tick_ns: MS,
    place_lag: true,
    place_deadline_initial: true,
    place_rel_deadline: true,
    run_to_parity: true,
    preempt_short: true,
    delay_dequeue: true,
    delay_zero: true,
    wakeup_preemption: true,
    hrtick: false,
    next_buddy: false,
    pick_buddy: true,
    paranoid_avg: false,
    migration_cost_ns: 500_000,
    normalized_base_slice_ns: 700_000,
    resched_ineligible: false,
};

pub struct Queue {
    pub rq: EevdfRq,
    pub es: Entities,
    pub now: u64,
}

impl Queue {
    pub fn new(params: EevdfParams, rules: EevdfRules) -> Self {
        Queue { rq: EevdfRq::new(params, rules, 0), es: Entities::new(), now: 1_000_000_000 }
    }

    /// A new task joins, without a check for preemption.
    pub fn join(&mut self, nice: i8, slice: u64) -> TaskId {
        let task = self.es.push(Entity::new(Policy::Normal, nice, slice));
        let _ = self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::INITIAL);
        task
    }

    /// Time passes and the running task is charged.
    pub fn pass(&mut self, ns: u64) -> Resched {
        self.now += ns;
        self.rq.update_curr(&mut self.es, self.now)
    }

    pub fn schedule(&mut self, prev: Prev) -> Switch {
        let switch = self.rq.schedule(&mut self.es, self.now, prev);
        self.rq.validate(&self.es).unwrap();
        switch
    }

    pub fn preempt(&mut self, task: TaskId, flags: WakeFlags) -> Preempted {
        let preempted = self.rq.wakeup_preempt(&mut self.es, self.now, task, flags, false);
        self.rq.validate(&self.es).unwrap();
        preempted
    }
}
