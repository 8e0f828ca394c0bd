//! The EEVDF run queue, driven by the vectors' operations.

use super::replay::{Cells, Model, bit, number, policy, signed};
use super::table::Row;
use wakelab_sched::runqueue::{
    EevdfParams, EevdfRq, EevdfRules, EnqueueFlags, Entities, Entity, Prev, Resched, TaskId,
};
use wakelab_sched::select::WakeFlags;

pub struct Eevdf {
    rq: EevdfRq,
    es: Entities,
    nr_tasks: u32,
    now: u64,
    need_resched: bool,
    resched_before: bool,
    preempt: Option<bool>,
    reaped: Vec<TaskId>,
}

impl Eevdf {
    fn joined(&mut self, task: TaskId, resched: Resched) {
        self.need_resched |= resched.asked();
        let flags = WakeFlags::empty();
        let preempted = self.rq.wakeup_preempt(&mut self.es, self.now, task, flags, self.need_resched);
        assert!(preempted.reaped.is_empty(), "6.12 takes no task off the queue here");
        let preempt = preempted.resched.asked();
        self.preempt = Some(preempt && !self.need_resched);
        self.need_resched |= preempt;
    }

    fn schedule(&mut self, prev: Prev) {
        self.reaped.extend(self.rq.schedule(&mut self.es, self.now, prev).reaped);
        self.need_resched = false;
    }
}

impl Model for Eevdf {
    type Params = EevdfParams;
    const NAME: &'static str = "eevdf";

    fn new(scenario: Row, over: &dyn Fn(&mut EevdfParams)) -> Self {
        let mut params = EevdfParams {
            base_slice_ns: scenario.int("base_slice"),
            tick_ns: scenario.int("tick"),
            place_lag: scenario.switch("place_lag"),
            place_deadline_initial: scenario.switch("place_deadline_initial"),
            place_rel_deadline: scenario.switch("place_rel_deadline"),
            run_to_parity: scenario.switch("run_to_parity"),
            preempt_short: scenario.switch("preempt_short"),
            delay_dequeue: scenario.switch("delay_dequeue"),
            delay_zero: scenario.switch("delay_zero"),
            wakeup_preemption: true,
            hrtick: false,
            next_buddy: false,
            pick_buddy: true,
            paranoid_avg: false,
            migration_cost_ns: 500_000,
            normalized_base_slice_ns: 700_000,
            resched_ineligible: false,
        };
        over(&mut params);
        Eevdf {
            rq: EevdfRq::new(params, EevdfRules::V6_12, scenario.int::<i64>("v0") as u64),
            es: Entities::new(),
            nr_tasks: 0,
            now: scenario.int("clock0"),
            need_resched: false,
            resched_before: false,
            preempt: None,
            reaped: Vec::new(),
        }
    }

    fn apply(&mut self, step: Row) {
        self.now += step.int::<u64>("dt");
        self.resched_before = self.need_resched;
        self.preempt = None;
        self.reaped.clear();
        let task = step.get("task").map(TaskId);
        match step.cell("op") {
            "fork" => {
                self.nr_tasks += 1;
                let entity = Entity::new(policy(step.int("policy")), step.int("nice"), step.int("slice"));
                let task = self.es.push(entity);
                let resched = self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::INITIAL);
                self.joined(task, resched);
            }
            "wake" => {
                let task = task.unwrap();
                let e = &self.es[task];
                if !e.on_rq {
                    let resched = self.rq.enqueue_task(&mut self.es, self.now, task, EnqueueFlags::WAKEUP);
                    self.joined(task, resched);
                } else if e.sched_delayed {
                    let resched = self.rq.requeue_delayed_entity(&mut self.es, self.now, task);
                    self.joined(task, resched);
                }
            }
            "tick" => self.need_resched |= self.rq.task_tick(&mut self.es, self.now).asked(),
            "update" => self.need_resched |= self.rq.update_curr(&mut self.es, self.now).asked(),
            "schedule" => self.schedule(Prev::Runs),
            "sleep" => self.schedule(Prev::Sleeps),
            "exit" => self.schedule(Prev::Exits),
            "yield" => {
                self.rq.yield_task(&mut self.es, self.now);
                self.schedule(Prev::Runs);
            }
            "nice" => {
                let (es, nice) = (&mut self.es, step.int("nice"));
                let preempted = self.rq.set_user_nice(es, self.now, task.unwrap(), nice, self.need_resched);
                self.need_resched |= preempted.resched.asked();
            }
            "slice" => {
                let (es, slice) = (&mut self.es, step.int("slice"));
                self.need_resched |= self.rq.set_custom_slice(es, self.now, task.unwrap(), slice).asked();
            }
            op => panic!("no operation is called {op}"),
        }
        self.rq.validate(&self.es).unwrap();
    }

    fn state(&self) -> Cells {
        let mut reaped = self.reaped.clone();
        reaped.sort();
        let reaped: Vec<String> = reaped.iter().map(|task| task.0.to_string()).collect();
        vec![
            ("resched_before", bit(self.resched_before)),
            ("preempt", self.preempt.map(bit).unwrap_or_default()),
            ("resched", bit(self.need_resched)),
            ("curr", number(self.rq.curr())),
            ("reaped", reaped.join(" ")),
            ("nr_queued", self.rq.nr_queued().to_string()),
            ("nr_delayed", self.rq.nr_delayed().to_string()),
            ("avg_vruntime", signed(self.rq.avg_vruntime(&self.es))),
            ("zero_vruntime", signed(self.rq.zero_vruntime())),
            ("key_sum", self.rq.sum_w_vruntime().to_string()),
            ("load_sum", self.rq.sum_weight().to_string()),
            ("pick", number(self.rq.pick_eevdf(&self.es))),
        ]
    }

    fn task(&self, task: TaskId) -> Cells {
        let e = &self.es[task];
        let is_curr = self.rq.curr() == Some(task);
        let only = |condition: bool, value: String| if condition { value } else { String::new() };
        vec![
            ("on_rq", bit(e.on_rq)),
            ("is_curr", bit(is_curr)),
            ("delayed", bit(e.sched_delayed)),
            ("nice", e.nice.to_string()),
            ("weight", e.load.weight.to_string()),
            ("slice", e.slice.to_string()),
            ("custom", bit(e.custom_slice)),
            ("vruntime", signed(e.vruntime)),
            ("deadline", signed(e.deadline)),
            ("vlag", only(!e.on_rq, e.vlag.to_string())),
            ("eligible", only(e.on_rq, bit(self.rq.entity_eligible(&self.es, task)))),
            ("protected", only(is_curr, bit(self.rq.protect_slice(&self.es, task)))),
            ("sum_exec", e.sum_exec_runtime.to_string()),
        ]
    }

    fn nr_tasks(&self) -> u32 {
        self.nr_tasks
    }

    fn curr(&self) -> Option<TaskId> {
        self.rq.curr()
    }
}
