//! The run queues under test, as a [`System`].

use crate::runqueue_reference::system::{Op, QUEUES, QueueState, System, TaskState};
use crate::support::runqueue::virtual_time;
use wakelab_sched::runqueue::{
    DequeueFlags, EnqueueFlags, Entities, Entity, FairRq, FairRules, Resched, Switch, TaskId, Tick,
};
use wakelab_sched::select::WakeFlags;

pub struct Fast {
    rqs: Vec<FairRq>,
    es: Entities,
    queue_of: Vec<usize>,
    need_resched: [Resched; QUEUES],
}

impl Fast {
    pub fn of(rules: FairRules, virtual_time: u64) -> Self {
        let rqs = (0..QUEUES).map(|_| FairRq::new(rules, virtual_time)).collect();
        Fast { rqs, es: Entities::new(), queue_of: Vec::new(), need_resched: [Resched::No; QUEUES] }
    }

    /// Checks trees and sums against the entities.
    pub fn validate(&self) -> Result<(), String> {
        self.rqs.iter().try_for_each(|rq| rq.validate(&self.es))
    }

    fn join(&mut self, now: u64, queue: usize, task: TaskId, flags: EnqueueFlags, wake: WakeFlags) {
        self.queue_of[task.0 as usize] = queue;
        let flag = &mut self.need_resched[queue];
        *flag |= self.rqs[queue].enqueue_task(&mut self.es, now, task, flags);
        let preempted = self.rqs[queue].wakeup_preempt(&mut self.es, now, task, wake, flag.is_now());
        *flag |= preempted.resched;
        assert!(preempted.reaped.iter().all(|&task| !self.es[task].on_rq));
    }
}

fn id(task: usize) -> TaskId {
    TaskId(task as u32)
}

fn index(task: TaskId) -> usize {
    task.0 as usize
}

impl System for Fast {
    fn apply(&mut self, now: u64, op: Op) {
        let es = &mut self.es;
        match op {
            Op::Fork { queue, policy, nice, slice } => {
                let task = es.push(Entity::new(policy, nice, slice));
                self.queue_of.push(queue);
                // The parent is on queue 0.
                self.need_resched[0] |= self.rqs[0].task_fork(es, now, task);
                self.join(now, queue, task, EnqueueFlags::INITIAL, WakeFlags::FORK);
            }
            Op::Wake { task, queue, sync } => {
                let from = self.queue_of[task];
                let wake = if sync { WakeFlags::TTWU | WakeFlags::SYNC } else { WakeFlags::TTWU };
                if es[id(task)].sched_delayed || from == queue {
                    self.join(now, from, id(task), EnqueueFlags::WAKEUP, wake);
                } else {
                    self.rqs[from].migrate_task_rq(es, id(task));
                    self.join(now, queue, id(task), EnqueueFlags::WAKEUP | EnqueueFlags::MIGRATED, wake);
                }
            }
            Op::Tick { queue } => {
                let lazy = self.need_resched[queue] == Resched::Lazy;
                self.need_resched[queue] |= self.rqs[queue].tick(es, now, Tick { lazy, ..Tick::default() });
            }
            Op::Update { queue } => self.need_resched[queue] |= self.rqs[queue].update_curr(es, now),
            Op::Schedule { queue, prev } => {
                let Switch { reaped, .. } = self.rqs[queue].schedule(es, now, prev);
                assert!(reaped.iter().all(|&task| !es[task].on_rq));
                self.need_resched[queue] = Resched::No;
            }
            Op::Yield { queue } => self.rqs[queue].yield_task(es, now),
            Op::Nice { task, nice } => {
                let queue = self.queue_of[task];
                let flag = &mut self.need_resched[queue];
                *flag |= self.rqs[queue].set_user_nice(es, now, id(task), nice, flag.is_now()).resched;
            }
            Op::Slice { task, slice } => {
                let queue = self.queue_of[task];
                self.need_resched[queue] |= self.rqs[queue].set_custom_slice(es, now, id(task), slice);
            }
            Op::Migrate { task, queue } => {
                let from = self.queue_of[task];
                let dequeued = self.rqs[from].dequeue_task(es, now, id(task), DequeueFlags::empty());
                assert!(dequeued.off_rq);
                self.need_resched[from] |= dequeued.resched;
                self.join(now, queue, id(task), EnqueueFlags::empty(), WakeFlags::empty());
            }
        }
    }

    fn queues(&self) -> Vec<QueueState> {
        let state = |queue: usize| {
            let rq = &self.rqs[queue];
            let (markers, pick, eligible, zero) = match rq {
                FairRq::Groups(_) => unreachable!("these queues have no groups"),
                FairRq::Cfs(rq) => ([rq.next(), rq.last(), rq.skip()], None, Vec::new(), 0),
                FairRq::Eevdf(rq) => {
                    let curr = rq.curr().filter(|&curr| self.es[curr].on_rq);
                    let queued = curr.into_iter().chain(rq.waiting(&self.es));
                    let eligible = queued.filter(|&task| rq.entity_eligible(&self.es, task)).map(index).collect();
                    ([rq.next(), None, None], rq.pick_eevdf(&self.es), eligible, rq.zero_vruntime())
                }
            };
            QueueState {
                curr: rq.curr().map(index),
                waiting: rq.waiting(&self.es).map(index).collect(),
                virtual_time: virtual_time(rq, &self.es),
                zero,
                nr_delayed: rq.nr_delayed() as usize,
                need_resched: self.need_resched[queue],
                markers: markers.map(|task| task.map(index)),
                pick: pick.map(index),
                eligible,
            }
        };
        (0..QUEUES).map(state).collect()
    }

    fn tasks(&self) -> Vec<TaskState> {
        // CFS has no slices.
        let of_eevdf = |value: u64| if matches!(self.rqs[0], FairRq::Eevdf(_)) { value } else { 0 };
        let state = |(task, &queue): (usize, &usize)| {
            let e = &self.es[id(task)];
            TaskState {
                queue,
                on_rq: e.on_rq,
                delayed: e.sched_delayed,
                nice: e.nice,
                vruntime: e.vruntime,
                deadline: e.deadline,
                slice: of_eevdf(e.slice),
                vlag: (!e.on_rq).then_some(e.vlag),
                sum_exec: e.sum_exec_runtime,
            }
        };
        self.queue_of.iter().enumerate().map(state).collect()
    }
}
