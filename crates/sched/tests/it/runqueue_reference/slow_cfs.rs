//! CFS with lists and scans.

use crate::runqueue_reference::slow_task::{Task, diff, position, scale};
use crate::runqueue_reference::system::{Op, QUEUES, QueueState, System, TaskState};
use wakelab_sched::runqueue::{CfsParams, CfsRules, Policy, Prev, Resched};

struct Cfs {
    t: Task,
    prev_sum_exec: u64,
}

#[derive(Clone)]
struct Queue {
    curr: Option<usize>,
    waiting: Vec<usize>,
    min_vruntime: u64,
    next: Option<usize>,
    last: Option<usize>,
    skip: Option<usize>,
    flag: bool,
}

pub struct SlowCfs {
    p: CfsParams,
    r: CfsRules,
    tasks: Vec<Cfs>,
    queues: Vec<Queue>,
}

impl SlowCfs {
    pub fn new(p: CfsParams, r: CfsRules, min_vruntime: u64) -> Self {
        let queue =
            Queue { curr: None, waiting: Vec::new(), min_vruntime, next: None, last: None, skip: None, flag: false };
        SlowCfs { p, r, tasks: Vec::new(), queues: vec![queue; QUEUES] }
    }

    /// Whether the virtual times on each queue are close enough to each other to be ordered. They are not if a new
    /// task, which starts at 0, joins an idle queue half a wrap from 0: then the order depends on which is compared
    /// with which.
    pub fn ordered(&self) -> bool {
        (0..QUEUES).all(|q| {
            let near = |t: usize| diff(self.v(t), self.queues[q].min_vruntime).abs() < 1 << 61;
            self.members(q).into_iter().all(near)
        })
    }

    fn v(&self, t: usize) -> u64 {
        self.tasks[t].t.v
    }

    fn members(&self, q: usize) -> Vec<usize> {
        let curr = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq);
        self.queues[q].waiting.iter().copied().chain(curr).collect()
    }

    fn update_min(&mut self, q: usize) {
        let min = self.queues[q].min_vruntime;
        let ahead = self.members(q).into_iter().map(|t| self.v(t)).min_by_key(|&v| diff(v, min));
        self.queues[q].min_vruntime = ahead.filter(|&v| diff(v, min) > 0).unwrap_or(min);
    }

    fn charge(&mut self, q: usize, now: u64) {
        if self.queues[q].curr.is_some_and(|c| self.tasks[c].t.charge(now)) {
            self.update_min(q);
        }
    }

    /// The slice of a task on queue `q`. A task that is not queued there is counted as if it were.
    fn slice(&self, q: usize, t: usize) -> u64 {
        let mut tasks = self.members(q);
        let others_idle = !tasks.is_empty() && tasks.iter().all(|&other| self.tasks[other].t.idle());
        if !self.tasks[t].t.on_rq {
            tasks.push(t);
        }
        let n = tasks.len() as u64;
        let period = if n > u64::from(self.p.nr_latency) { n * self.p.min_granularity_ns } else { self.p.latency_ns };
        let sum: i128 = tasks.iter().map(|&t| self.tasks[t].t.weight()).sum();
        let r = scale(period, self.tasks[t].t.weight() as u64, u64::from(u32::MAX) / sum as u64);
        match self.p.base_slice {
            false => r,
            true if self.r.sched_idle_slices && self.tasks[t].t.idle() && !others_idle => {
                r.max(self.p.idle_min_granularity_ns)
            }
            true => r.max(self.p.min_granularity_ns),
        }
    }

    fn place(&mut self, q: usize, t: usize, now: u64, initial: bool) {
        let mut b = self.queues[q].min_vruntime;
        if initial && self.p.start_debit {
            b = b.wrapping_add(self.tasks[t].t.vd(self.slice(q, t)));
        }
        if !initial {
            let credit = if self.r.sched_idle_slices && self.tasks[t].t.idle() {
                self.p.min_granularity_ns
            } else {
                self.p.latency_ns
            };
            b = b.wrapping_sub(if self.p.gentle_fair_sleepers { credit / 2 } else { credit });
        }
        let task = &mut self.tasks[t].t;
        let long = task.exec_start != 0 && now > task.exec_start && now - task.exec_start > 1 << 53;
        if (long && self.r.long_sleeper) || diff(task.v, b) < 0 {
            task.v = b;
        }
    }

    fn wpe(&self, a: usize, b: usize) -> i32 {
        let d = diff(self.v(a), self.v(b));
        let gran = i128::from(self.tasks[b].t.vd(self.p.wakeup_granularity_ns));
        if d <= 0 { -1 } else { i32::from(d > gran) }
    }

    fn clear(&mut self, q: usize, t: usize) {
        let queue = &mut self.queues[q];
        for marker in [&mut queue.next, &mut queue.last, &mut queue.skip] {
            marker.take_if(|marked| *marked == t);
        }
    }

    fn insert(&mut self, q: usize, t: usize) {
        let at = position(&self.queues[q].waiting, self.v(t), |other| self.v(other));
        self.queues[q].waiting.insert(at, t);
    }

    fn take_out(&mut self, q: usize, t: usize) {
        self.queues[q].waiting.retain(|&other| other != t);
    }

    fn enqueue(&mut self, q: usize, t: usize, now: u64, wake: bool, migrated: bool) {
        self.charge(q, now);
        if !wake || migrated {
            self.tasks[t].t.v = self.v(t).wrapping_add(self.queues[q].min_vruntime);
        }
        if wake {
            self.place(q, t, now, false);
        }
        if migrated {
            self.tasks[t].t.exec_start = 0;
        }
        self.insert(q, t);
        self.tasks[t].t.on_rq = true;
        self.tasks[t].t.queue = q;
    }

    fn dequeue(&mut self, q: usize, t: usize, now: u64, sleep: bool) {
        self.charge(q, now);
        self.clear(q, t);
        self.take_out(q, t);
        self.tasks[t].t.on_rq = false;
        if sleep {
            self.update_min(q);
        } else {
            self.tasks[t].t.v = self.v(t).wrapping_sub(self.queues[q].min_vruntime);
        }
    }

    fn put(&mut self, q: usize, now: u64) {
        if let Some(c) = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq) {
            self.charge(q, now);
            self.insert(q, c);
        }
        self.queues[q].curr = None;
    }

    fn set(&mut self, q: usize, t: usize, now: u64) {
        if !self.r.pick_clears_buddies {
            self.clear(q, t);
        }
        self.take_out(q, t);
        self.tasks[t].t.exec_start = now;
        self.tasks[t].prev_sum_exec = self.tasks[t].t.sum_exec;
        self.queues[q].curr = Some(t);
    }

    fn pick(&self, q: usize, c: Option<usize>) -> Option<usize> {
        // The order of the pick: the current task is inserted before the first that is strictly later.
        let mut order = self.queues[q].waiting.clone();
        let sooner = |c: usize, t: usize| diff(self.v(c), self.v(t)) < 0;
        if let Some(c) = c {
            let at = order.iter().position(|&t| sooner(c, t)).unwrap_or(order.len());
            order.insert(at, c);
        }
        let left = *order.first()?;
        let mut picked = left;
        if self.queues[q].skip == Some(left) {
            picked = order.get(1).copied().filter(|&second| self.wpe(second, left) < 1).unwrap_or(left);
        }
        let [next, last] = [self.queues[q].next, self.queues[q].last].map(|m| m.filter(|&m| self.wpe(m, left) < 1));
        Some(next.or(last).unwrap_or(picked))
    }

    fn schedule(&mut self, q: usize, now: u64, prev: Prev) {
        if let Some(c) = self.queues[q].curr.filter(|_| prev != Prev::Runs) {
            self.dequeue(q, c, now, true);
        }
        let c = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq);
        if c.is_some() {
            self.charge(q, now);
        }
        let next = self.pick(q, c);
        if self.r.pick_clears_buddies {
            next.into_iter().for_each(|next| self.clear(q, next));
        }
        if next != self.queues[q].curr {
            self.put(q, now);
            next.into_iter().for_each(|next| self.set(q, next, now));
        }
        self.queues[q].flag = false;
    }

    fn check(&mut self, q: usize, t: usize, now: u64, fork: bool) {
        let Some(c) = self.queues[q].curr else {
            self.queues[q].flag = true;
            return;
        };
        if c == t {
            return;
        }
        let many = self.members(q).len() >= self.p.nr_latency as usize;
        if self.p.next_buddy && many && !fork && !self.tasks[t].t.idle() {
            self.queues[q].next = Some(t);
        }
        if self.queues[q].flag {
            return;
        }
        let wins = if self.tasks[c].t.idle() && !self.tasks[t].t.idle() {
            true
        } else if self.tasks[t].t.policy != Policy::Normal || !self.p.wakeup_preemption {
            false
        } else {
            self.charge(q, now);
            let wins = self.wpe(c, t) == 1;
            if wins && self.p.next_marker {
                self.queues[q].next = Some(t);
            }
            wins
        };
        self.queues[q].flag = wins;
        if wins && self.p.last_buddy && many && !self.tasks[c].t.idle() {
            self.queues[q].last = Some(c);
        }
    }
}

impl System for SlowCfs {
    fn apply(&mut self, now: u64, op: Op) {
        match op {
            Op::Fork { queue, policy, nice, .. } => {
                self.tasks.push(Cfs { t: Task::new(policy, nice, queue), prev_sum_exec: 0 });
                let t = self.tasks.len() - 1;
                if let Some(c) = self.queues[0].curr {
                    self.charge(0, now);
                    self.tasks[t].t.v = self.v(c);
                }
                self.place(0, t, now, true);
                self.tasks[t].t.v = self.v(t).wrapping_sub(self.queues[0].min_vruntime);
                self.enqueue(queue, t, now, false, false);
                self.check(queue, t, now, true);
            }
            Op::Wake { task: t, queue, .. } => {
                let from = self.tasks[t].t.queue;
                if from != queue {
                    self.tasks[t].t.v = self.v(t).wrapping_sub(self.queues[from].min_vruntime);
                }
                self.enqueue(queue, t, now, true, from != queue);
                self.check(queue, t, now, false);
            }
            Op::Tick { queue: q } => {
                self.charge(q, now);
                let Some(c) = self.queues[q].curr.filter(|_| self.members(q).len() > 1) else { return };
                let (ideal, ran) = (self.slice(q, c), self.tasks[c].t.sum_exec - self.tasks[c].prev_sum_exec);
                if ran > ideal {
                    self.queues[q].flag = true;
                    self.clear(q, c);
                } else if ran >= self.p.min_granularity_ns {
                    let ahead = diff(self.v(c), self.v(self.queues[q].waiting[0]));
                    self.queues[q].flag |= ahead > i128::from(ideal);
                }
            }
            Op::Update { queue } => self.charge(queue, now),
            Op::Schedule { queue, prev } => self.schedule(queue, now, prev),
            Op::Yield { queue: q } => {
                let Some(c) = self.queues[q].curr.filter(|_| self.members(q).len() != 1) else { return };
                self.clear(q, c);
                if self.tasks[c].t.policy != Policy::Batch {
                    self.charge(q, now);
                }
                self.queues[q].skip = Some(c);
            }
            Op::Nice { task: t, nice } => {
                let (q, old, queued) = (self.tasks[t].t.queue, self.tasks[t].t.nice, self.tasks[t].t.on_rq);
                if nice == old {
                    return;
                }
                let running = self.queues[q].curr == Some(t);
                if queued {
                    self.dequeue(q, t, now, false);
                }
                if running {
                    self.queues[q].curr = None;
                }
                self.tasks[t].t.nice = nice;
                self.tasks[t].t.reweigh();
                if queued {
                    self.enqueue(q, t, now, false, false);
                }
                if running {
                    self.set(q, t, now);
                }
                if !queued || self.members(q).len() == 1 {
                    return;
                }
                if running {
                    self.queues[q].flag |= nice > old;
                } else {
                    self.check(q, t, now, false);
                }
            }
            Op::Slice { .. } => {}
            Op::Migrate { task: t, queue } => {
                let from = self.tasks[t].t.queue;
                self.dequeue(from, t, now, false);
                self.update_min(from);
                self.enqueue(queue, t, now, false, false);
                self.check(queue, t, now, false);
            }
        }
    }

    fn queues(&self) -> Vec<QueueState> {
        let state = |queue: &Queue| QueueState {
            curr: queue.curr,
            waiting: queue.waiting.clone(),
            virtual_time: queue.min_vruntime,
            zero: 0,
            nr_delayed: 0,
            need_resched: if queue.flag { Resched::Now } else { Resched::No },
            markers: [queue.next, queue.last, queue.skip],
            pick: None,
            eligible: Vec::new(),
        };
        self.queues.iter().map(state).collect()
    }

    fn tasks(&self) -> Vec<TaskState> {
        let state = |task: &Cfs| TaskState {
            queue: task.t.queue,
            on_rq: task.t.on_rq,
            delayed: false,
            nice: task.t.nice,
            vruntime: task.t.v,
            deadline: 0,
            slice: 0,
            vlag: (!task.t.on_rq).then_some(0),
            sum_exec: task.t.sum_exec,
        };
        self.tasks.iter().map(state).collect()
    }
}
