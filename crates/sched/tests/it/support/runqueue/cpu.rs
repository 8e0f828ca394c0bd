//! One CPU that runs hogs and sleepers on a run queue, with its periodic tick, its hrtick and its need-resched flags.

use wakelab_kernel::{Feature, Preset};
use wakelab_sched::runqueue::{
    EnqueueFlags, Entities, Entity, FairRq, FairRules, Hrtick, Policy, Prev, Resched, TaskId, Tick,
};
use wakelab_sched::select::WakeFlags;

/// The number of CPUs of the machine, by which the kernel scales slices.
pub const NR_CPUS: usize = 8;

pub struct Cpu {
    pub rq: FairRq,
    pub es: Entities,
    pub now: u64,
    tick_ns: u64,
    next_tick: u64,
    hrtick: Option<u64>,
    flag: Resched,
}

/// The rules of a preset, with some features set otherwise.
pub fn rules(kernel: &str, features: &[(Feature, bool)]) -> FairRules {
    let kernel = Preset::get(kernel).unwrap();
    let set = features.iter().fold(kernel.features, |set, &(feature, on)| set.with(feature, on));
    FairRules::of(kernel, set, NR_CPUS).unwrap()
}

impl Cpu {
    pub fn new(rules: FairRules, tick_ns: u64) -> Self {
        let now = 1_000_000_000;
        let rq = FairRq::new(rules, -(1i64 << 20) as u64);
        Cpu { rq, es: Entities::new(), now, tick_ns, next_tick: now + tick_ns, hrtick: None, flag: Resched::No }
    }

    /// Forks a task here.
    pub fn fork(&mut self, policy: Policy, nice: i8, slice: u64) -> TaskId {
        let task = self.es.push(Entity::new(policy, nice, slice));
        self.flag |= self.rq.task_fork(&mut self.es, self.now, task);
        self.join(task, EnqueueFlags::INITIAL, WakeFlags::FORK);
        task
    }

    /// Wakes a task that sleeps here.
    pub fn wake(&mut self, task: TaskId) {
        self.join(task, EnqueueFlags::WAKEUP, WakeFlags::TTWU);
    }

    fn join(&mut self, task: TaskId, flags: EnqueueFlags, wake: WakeFlags) {
        self.flag |= self.rq.enqueue_task(&mut self.es, self.now, task, flags);
        let preempted = self.rq.wakeup_preempt(&mut self.es, self.now, task, wake, self.flag.is_now());
        self.flag |= preempted.resched;
        if self.hrtick.is_none() {
            self.start_hrtick();
        }
        self.schedule_if_asked();
    }

    /// The running task blocks.
    pub fn sleep(&mut self) {
        self.schedule(Prev::Sleeps);
    }

    /// Runs to the next tick, the hrtick or `until`, whichever is first.
    pub fn step(&mut self, until: u64) {
        let at = until.min(self.next_tick).min(self.hrtick.unwrap_or(u64::MAX));
        self.now = at;
        if self.hrtick == Some(at) {
            self.hrtick = None;
            self.flag |= self.rq.hrtick_tick(&mut self.es, at);
        }
        if self.next_tick == at {
            self.next_tick += self.tick_ns;
            let pending = Tick { lazy: self.flag == Resched::Lazy, hrtick_active: self.hrtick.is_some() };
            self.flag |= self.rq.tick(&mut self.es, at, pending);
        }
        self.schedule_if_asked();
    }

    /// Runs up to `until`.
    pub fn run(&mut self, until: u64) {
        while self.now < until {
            self.step(until);
        }
    }

    /// The run time of a task up to now, ns.
    pub fn ran(&mut self, task: TaskId) -> u64 {
        self.flag |= self.rq.update_curr(&mut self.es, self.now);
        self.es[task].sum_exec_runtime
    }

    /// Reschedules if the request is urgent. A lazy one waits for a tick, because tasks here do not enter the kernel.
    fn schedule_if_asked(&mut self) {
        if self.flag.is_now() {
            self.schedule(Prev::Runs);
        }
    }

    fn schedule(&mut self, prev: Prev) {
        let before = self.rq.curr();
        self.flag = Resched::No;
        let switch = self.rq.schedule(&mut self.es, self.now, prev);
        self.rq.validate(&self.es).unwrap();
        if switch.next != before {
            self.hrtick = None;
        }
        self.start_hrtick();
    }

    fn start_hrtick(&mut self) {
        match self.rq.hrtick(&self.es, 0) {
            Hrtick::Off => {}
            Hrtick::Over => self.flag |= Resched::Now,
            Hrtick::In(ns) => self.hrtick = Some(self.now + ns),
        }
    }
}
