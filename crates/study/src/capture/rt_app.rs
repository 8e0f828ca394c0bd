//! A captured workload as rt-app's JSON: docs/your-workload.md has what of it is read.
//!
//! Amounts of work are their means in us, at least 1, and a wake-up is `resume`, a wait `suspend`. rt-app remembers no
//! `resume` for which nobody waits, so that tasks may wait longer than in our own format, where messages are counted.

use super::groups::Group;
use super::program::{Amount, CapturedOp, CapturedProgram};
use super::timeline::{TaskNr, Timelines};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value, json};

/// The file's text. Returns `None` if a task forks in every round: rt-app cannot wait for the children.
pub(super) fn to_json(lines: &Timelines, groups: &[Group]) -> Option<String> {
    let forks = |op: &CapturedOp| matches!(op, CapturedOp::Fork(_));
    if groups.iter().flat_map(|group| group.programs.values()).any(|program| program.for_ever.iter().any(forks)) {
        return None;
    }
    let mut tasks = Map::new();
    for (number, group) in groups.iter().enumerate() {
        let copies = if group.kernel { 1 } else { group.instances };
        let forked = group.forked();
        let waits = |program: &CapturedProgram| program.ops().any(|op| *op == CapturedOp::Receive);
        let suspends =
            group.programs.iter().filter(|(_, program)| waits(program)).map(|(&task, _)| group.mailbox(task)).collect();
        for copy in 0..copies {
            let of = Threads { lines, group, forked: &forked, suspends: &suspends, number, copy };
            for (&task, program) in &group.programs {
                tasks.insert(of.name(task), of.thread(task, program));
            }
        }
    }
    Some(format!("{:#}\n", json!({"tasks": tasks, "global": {"duration": -1, "calibration": "CPU0"}})))
}

struct Threads<'a> {
    lines: &'a Timelines,
    group: &'a Group,
    forked: &'a FxHashSet<TaskNr>,
    /// The tasks that ever wait to be woken: rt-app refuses to resume others.
    suspends: &'a FxHashSet<TaskNr>,
    number: usize,
    copy: u32,
}

impl Threads<'_> {
    fn name(&self, task: TaskNr) -> String {
        let line = &self.lines.tasks[task as usize];
        let comm = if line.comm.is_empty() { "task" } else { &line.comm };
        match self.group.instances {
            1 => format!("{comm}-{}", line.pid),
            _ => format!("{comm}-{}-{}", line.pid, self.copy),
        }
    }

    fn thread(&self, task: TaskNr, program: &CapturedProgram) -> Value {
        let line = &self.lines.tasks[task as usize];
        let mut thread = Map::new();
        if self.forked.contains(&task) {
            thread.insert("instance".to_owned(), json!(0));
        }
        if line.is_idle_policy() {
            thread.insert("policy".to_owned(), json!("SCHED_IDLE"));
        } else if line.attributes.nice != 0 {
            thread.insert("priority".to_owned(), json!(line.attributes.nice));
        }
        if let Some(cpus) = line.restricted_to(self.lines.busy_ns.len()) {
            thread.insert("cpus".to_owned(), json!(cpus));
        }
        let mut phases = Map::new();
        for (name, ops, times) in [("first", &program.first, 1), ("round", &program.for_ever, -1)] {
            let mut phase = self.events(task, ops);
            if !phase.is_empty() {
                phase.insert("loop".to_owned(), json!(times));
                phases.insert(name.to_owned(), Value::Object(phase));
            }
        }
        thread.insert("loop".to_owned(), json!(1));
        thread.insert("phases".to_owned(), Value::Object(phases));
        Value::Object(thread)
    }

    fn events(&self, task: TaskNr, ops: &[CapturedOp]) -> Map<String, Value> {
        let mut events = Map::new();
        let us = |amount: &Amount| (amount.mean() / 1000).max(1);
        for (step, op) in ops.iter().enumerate() {
            let (key, value) = match op {
                CapturedOp::Run(amount) if amount.mean() > 0 => ("run", json!(us(amount))),
                CapturedOp::Send { to, .. } if self.suspends.contains(to) => ("resume", json!(self.name(*to))),
                CapturedOp::Receive => ("suspend", json!(self.name(self.group.mailbox(task)))),
                CapturedOp::Sleep(amount) => ("sleep", json!(us(amount))),
                CapturedOp::Timer(ns) => ("timer", json!({"ref": "unique", "period": (ns / 1000).max(1)})),
                CapturedOp::Fork(child) => ("fork", json!(self.name(*child))),
                CapturedOp::EndOfRound => ("barrier", json!(format!("rounds {}-{}", self.number, self.copy))),
                _ => continue,
            };
            events.insert(format!("{key}{step}"), value);
        }
        events
    }
}
