//! The CFS run queue, driven by the vectors' operations.

use super::replay::{Cells, Model, bit, number, policy, signed};
use super::table::Row;
use wakelab_sched::runqueue::{CfsParams, CfsRq, CfsRules, EnqueueFlags, Entities, Entity, Prev, TaskId};
use wakelab_sched::select::WakeFlags;

pub struct Cfs {
    rq: CfsRq,
    es: Entities,
    nr_tasks: u32,
    now: u64,
    need_resched: bool,
    resched_before: bool,
    preempt: Option<bool>,
    /// The task that joined.
    joined: Option<TaskId>,
}

impl Cfs {
    fn check_preempt_wakeup(&mut self, task: TaskId) {
        let flags = WakeFlags::empty();
        let preempt = self.rq.check_preempt_wakeup(&mut self.es, self.now, task, flags, self.need_resched);
        self.preempt = Some(preempt && !self.need_resched);
        self.need_resched |= preempt;
        self.joined = Some(task);
    }

    fn schedule(&mut self, prev: Prev) {
        self.rq.schedule(&mut self.es, self.now, prev);
        self.need_resched = false;
    }
}

impl Model for Cfs {
    type Params = CfsParams;
    const NAME: &'static str = "cfs";

    fn new(scenario: Row, over: &dyn Fn(&mut CfsParams)) -> Self {
        let mut params = CfsParams {
            latency_ns: scenario.int("latency"),
            min_granularity_ns: scenario.int("min_gran"),
            idle_min_granularity_ns: scenario.int("idle_min_gran"),
            wakeup_granularity_ns: scenario.int("wakeup_gran"),
            nr_latency: scenario.int("nr_latency"),
            gentle_fair_sleepers: scenario.switch("gentle_sleepers"),
            start_debit: scenario.switch("start_debit"),
            wakeup_preemption: scenario.switch("wakeup_preemption"),
            alt_period: true,
            base_slice: scenario.switch("base_slice"),
            next_marker: scenario.switch("next_marker"),
            last_buddy: false,
            next_buddy: false,
            hrtick: false,
            double_tick: false,
        };
        over(&mut params);
        Cfs {
            rq: CfsRq::new(params, CfsRules::V6_1, scenario.int::<i64>("min_vruntime0") as u64),
            es: Entities::new(),
            nr_tasks: 0,
            now: scenario.int("clock0"),
            need_resched: false,
            resched_before: false,
            preempt: None,
            joined: None,
        }
    }

    fn apply(&mut self, step: Row) {
        self.now += step.int::<u64>("dt");
        self.resched_before = self.need_resched;
        self.preempt = None;
        self.joined = None;
        let task = step.get("task").map(TaskId);
        match step.cell("op") {
            "fork" => {
                self.nr_tasks += 1;
                let task = self.es.push(Entity::new(policy(step.int("policy")), step.int("nice"), 0));
                self.rq.task_fork(&mut self.es, self.now, task);
                self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::INITIAL);
                self.check_preempt_wakeup(task);
            }
            "wake" => {
                let task = task.unwrap();
                if !self.es[task].on_rq {
                    self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::WAKEUP);
                    self.check_preempt_wakeup(task);
                }
            }
            "tick" => self.need_resched |= self.rq.task_tick(&mut self.es, self.now),
            "update" => self.rq.update_curr(&mut self.es, self.now),
            "schedule" => self.schedule(Prev::Runs),
            "sleep" => self.schedule(Prev::Sleeps),
            "exit" => self.schedule(Prev::Exits),
            "yield" => {
                self.rq.yield_task(&mut self.es, self.now);
                self.schedule(Prev::Runs);
            }
            "nice" => {
                let (es, nice) = (&mut self.es, step.int("nice"));
                self.need_resched |= self.rq.set_user_nice(es, self.now, task.unwrap(), nice, self.need_resched);
            }
            op => panic!("no operation is called {op}"),
        }
        self.rq.validate(&self.es).unwrap();
    }

    fn state(&self) -> Cells {
        let curr = self.rq.curr();
        let wpe = self.joined.and_then(|task| {
            let curr = curr.filter(|&curr| curr != task)?;
            Some((self.rq.wakeup_preempt_entity(&self.es, curr, task) as i8).to_string())
        });
        vec![
            ("resched_before", bit(self.resched_before)),
            ("wpe", wpe.unwrap_or_default()),
            ("preempt", self.preempt.map(bit).unwrap_or_default()),
            ("resched", bit(self.need_resched)),
            ("curr", number(curr)),
            ("nr_queued", self.rq.nr_queued().to_string()),
            ("min_vruntime", signed(self.rq.min_vruntime())),
            ("load", self.rq.load().to_string()),
            ("leftmost", number(self.rq.waiting(&self.es).next())),
            ("next", number(self.rq.next())),
            ("skip", number(self.rq.skip())),
            ("curr_slice", curr.map(|curr| self.rq.sched_slice(&self.es, curr).to_string()).unwrap_or_default()),
        ]
    }

    fn task(&self, task: TaskId) -> Cells {
        let e = &self.es[task];
        vec![
            ("on_rq", bit(e.on_rq)),
            ("is_curr", bit(self.rq.curr() == Some(task))),
            ("nice", e.nice.to_string()),
            ("weight", e.load.weight.to_string()),
            ("vruntime", signed(e.vruntime)),
            ("sum_exec", e.sum_exec_runtime.to_string()),
            ("prev_sum_exec", e.prev_sum_exec_runtime.to_string()),
        ]
    }

    fn nr_tasks(&self) -> u32 {
        self.nr_tasks
    }

    fn curr(&self) -> Option<TaskId> {
        self.rq.curr()
    }
}
