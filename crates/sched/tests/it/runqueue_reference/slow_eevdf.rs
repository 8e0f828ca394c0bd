//! EEVDF with lists and scans, in the form of each version. 6.12 is written from the vectors' own description, the
//! others from their sources.

mod ops;
mod pick;
mod preempt;
mod queue;

use crate::runqueue_reference::slow_task::{Task, diff};
use crate::runqueue_reference::system::QUEUES;
use std::cell::Cell;
use wakelab_kernel::SliceProtection;
use wakelab_sched::runqueue::{EevdfParams, EevdfRules, Resched};

pub struct Eevdf {
    t: Task,
    deadline: u64,
    slice: u64,
    custom: bool,
    vlag: i128,
    mark: u64,
    rel: bool,
    delayed: bool,
}

#[derive(Clone)]
struct Queue {
    curr: Option<usize>,
    waiting: Vec<usize>,
    zero: u64,
    flag: Resched,
    next: Option<usize>,
}

pub struct SlowEevdf {
    p: EevdfParams,
    r: EevdfRules,
    /// The version is 6.18 or later.
    v618: bool,
    /// The version is 7.2 or later.
    v72: bool,
    /// The version is 7.3 or later.
    v73: bool,
    tasks: Vec<Eevdf>,
    queues: Vec<Queue>,
    /// A product left the range of 64 bits, in which the kernel computes. From then on the kernel would decide
    /// otherwise.
    pub overflowed: Cell<bool>,
}

impl SlowEevdf {
    pub fn new(p: EevdfParams, r: EevdfRules, v0: u64) -> Self {
        let queue = Queue { curr: None, waiting: Vec::new(), zero: v0, flag: Resched::No, next: None };
        SlowEevdf {
            p,
            r,
            v618: r.slice_protection != SliceProtection::ToDeadline,
            v72: r.full_weights,
            v73: r.slice_protection == SliceProtection::UntilIneligible,
            tasks: Vec::new(),
            queues: vec![queue; QUEUES],
            overflowed: Cell::new(false),
        }
    }

    /// Requests a reschedule.
    fn ask(&mut self, q: usize) {
        self.queues[q].flag |= if self.r.lazy_preemption { Resched::Lazy } else { Resched::Now };
    }

    fn slices(&self, q: usize) -> Vec<u64> {
        self.members(q).into_iter().map(|t| self.tasks[t].slice).collect()
    }

    /// The queued tasks, including the current one.
    fn members(&self, q: usize) -> Vec<usize> {
        let curr = self.queues[q].curr.filter(|&c| self.tasks[c].t.on_rq);
        self.queues[q].waiting.iter().copied().chain(curr).collect()
    }

    /// Returns the product of a weight, and records if the kernel's, which has 10 more bits since 7.2, leaves 64 bits.
    fn checked(&self, product: i128) -> i128 {
        let scaled = if self.v72 { product << 10 } else { product };
        self.overflowed.set(self.overflowed.get() || i64::try_from(scaled).is_err());
        product
    }

    fn sums(&self, q: usize) -> (i128, i128) {
        let (mut k, mut l) = (0, 0);
        for t in self.members(q) {
            let t = &self.tasks[t].t;
            k += t.weight() * diff(t.v, self.queues[q].zero);
            l += t.weight();
        }
        (self.checked(k), l)
    }

    fn v(&self, q: usize) -> u64 {
        let (k, l) = self.sums(q);
        self.queues[q].zero.wrapping_add(if l == 0 { 0 } else { k.div_euclid(l) as u64 })
    }

    fn refresh(&mut self, q: usize) -> u64 {
        self.queues[q].zero = self.v(q);
        self.queues[q].zero
    }

    fn eligible(&self, q: usize, t: usize) -> bool {
        let (k, l) = self.sums(q);
        let product = diff(self.tasks[t].t.v, self.queues[q].zero) * l;
        k >= if self.v72 { product } else { self.checked(product) }
    }
}
