//! The parts that the two slow implementations share. They are written from the definition of the classes, with lists,
//! scans and 128-bit sums. Of the run queues under test they only use the table of weights.

use wakelab_sched::runqueue::{LoadWeight, Policy};

pub struct Task {
    pub policy: Policy,
    pub nice: i8,
    pub queue: usize,
    pub on_rq: bool,
    pub v: u64,
    pub exec_start: u64,
    pub sum_exec: u64,
    /// The weight and its inverse, from which virtual time is computed.
    pub load: (i128, u64),
}

impl Task {
    pub fn new(policy: Policy, nice: i8, queue: usize) -> Self {
        let mut task = Task { policy, nice, queue, on_rq: false, v: 0, exec_start: 0, sum_exec: 0, load: (0, 0) };
        task.reweigh();
        task
    }

    /// Sets the weight of the policy and nice value, from the table.
    pub fn reweigh(&mut self) {
        let load = LoadWeight::of(self.policy, self.nice);
        self.load = (i128::from(load.weight), u64::from(load.inv_weight));
    }

    pub fn idle(&self) -> bool {
        self.policy == Policy::Idle
    }

    pub fn weight(&self) -> i128 {
        self.load.0
    }

    /// Run time `x` as virtual time.
    pub fn vd(&self, x: u64) -> u64 {
        if self.load.0 == 1024 { x } else { scale(x, 1024, self.load.1) }
    }

    /// Charges the run time up to `now`. Returns whether there was any.
    pub fn charge(&mut self, now: u64) -> bool {
        let ran = now > self.exec_start;
        if ran {
            let d = now - self.exec_start;
            self.exec_start = now;
            self.sum_exec += d;
            self.v = self.v.wrapping_add(self.vd(d));
        }
        ran
    }
}

/// Returns x * w * inv / 2^32, with the product w * inv cut to its leading 32 bits.
pub fn scale(x: u64, w: u64, inv: u64) -> u64 {
    let (mut f, mut shift) = (w * inv, 32);
    while f >> 32 != 0 {
        f >>= 1;
        shift -= 1;
    }
    ((u128::from(x) * u128::from(f)) >> shift) as u64
}

/// The difference a - b of two virtual times.
pub fn diff(a: u64, b: u64) -> i128 {
    i128::from(a.wrapping_sub(b) as i64)
}

/// The index at which a task is inserted in a list that is ordered by `key`: after those that compare equal.
pub fn position(waiting: &[usize], key: u64, key_of: impl Fn(usize) -> u64) -> usize {
    waiting.iter().position(|&other| diff(key, key_of(other)) < 0).unwrap_or(waiting.len())
}
