//! The run queues under test.

use crate::system::{Op, QUEUES, QueueState, System, TaskState};
use wakelab_sched::runqueue::{DequeueFlags, EnqueueFlags, Entities, Entity, FairRq, TaskId};

pub struct Fast {
    rqs: Vec<FairRq>,
    es: Entities,
    queue_of: Vec<usize>,
    need_resched: [bool; QUEUES],
}

impl Fast {
    pub fn new(rq: impl Fn() -> FairRq) -> Self {
        let rqs = (0..QUEUES).map(|_| rq()).collect();
        Fast { rqs, es: Entities::new(), queue_of: Vec::new(), need_resched: [false; QUEUES] }
    }

    /// Checks trees and sums.
    pub fn validate(&self) -> Result<(), String> {
        self.rqs.iter().try_for_each(|rq| match rq {
            FairRq::Cfs(rq) => rq.validate(&self.es),
            FairRq::Eevdf(rq) => rq.validate(&self.es),
        })
    }

    fn join(&mut self, now: u64, queue: usize, task: TaskId, flags: EnqueueFlags) {
        self.queue_of[task.0 as usize] = queue;
        let flag = &mut self.need_resched[queue];
        *flag |= self.rqs[queue].enqueue_task(&mut self.es, now, task, flags);
        *flag |= self.rqs[queue].check_preempt_wakeup(&mut self.es, now, task, *flag);
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
                self.rqs[0].task_fork(es, now, task);
                self.join(now, queue, task, EnqueueFlags::INITIAL);
            }
            Op::Wake { task, queue } => {
                let from = self.queue_of[task];
                if es[id(task)].sched_delayed || from == queue {
                    self.join(now, from, id(task), EnqueueFlags::WAKEUP);
                } else {
                    self.rqs[from].migrate_task_rq(es, id(task));
                    self.join(now, queue, id(task), EnqueueFlags::WAKEUP | EnqueueFlags::MIGRATED);
                }
            }
            Op::Tick { queue } => self.need_resched[queue] |= self.rqs[queue].task_tick(es, now),
            Op::Update { queue } => self.need_resched[queue] |= self.rqs[queue].update_curr(es, now),
            Op::Schedule { queue, prev } => {
                self.rqs[queue].schedule(es, now, prev);
                self.need_resched[queue] = false;
            }
            Op::Yield { queue } => self.rqs[queue].yield_task(es, now),
            Op::Nice { task, nice } => {
                let queue = self.queue_of[task];
                let flag = &mut self.need_resched[queue];
                *flag |= self.rqs[queue].set_user_nice(es, now, id(task), nice, *flag);
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
                self.join(now, queue, id(task), EnqueueFlags::empty());
            }
        }
    }

    fn queues(&self) -> Vec<QueueState> {
        let state = |queue: usize| {
            let rq = &self.rqs[queue];
            let (virtual_time, markers, pick) = match rq {
                FairRq::Cfs(rq) => (rq.min_vruntime(), [rq.next(), rq.last(), rq.skip()], None),
                FairRq::Eevdf(rq) => (rq.avg_vruntime(&self.es), [None; 3], rq.pick_eevdf(&self.es)),
            };
            QueueState {
                curr: rq.curr().map(index),
                waiting: rq.waiting(&self.es).map(index).collect(),
                virtual_time,
                nr_delayed: (rq.nr_queued() - rq.nr_runnable()) as usize,
                need_resched: self.need_resched[queue],
                markers: markers.map(|task| task.map(index)),
                pick: pick.map(index),
            }
        };
        (0..QUEUES).map(state).collect()
    }

    fn tasks(&self) -> Vec<TaskState> {
        // CFS has no slices.
        let of_eevdf = |value: u64| if matches!(self.rqs[0], FairRq::Eevdf(_)) { value } else { 0 };
        let state = |(task, e): (TaskId, &Entity)| TaskState {
            queue: self.queue_of[index(task)],
            on_rq: e.on_rq,
            delayed: e.sched_delayed,
            nice: e.nice,
            vruntime: e.vruntime,
            deadline: e.deadline,
            slice: of_eevdf(e.slice),
            vlag: (!e.on_rq).then_some(e.vlag),
            sum_exec: e.sum_exec_runtime,
        };
        self.es.iter().map(state).collect()
    }
}
