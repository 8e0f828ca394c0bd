//! Replays scenarios and compares every column of every row.

use super::table::{Row, Table};
use std::collections::{BTreeMap, BTreeSet};
use wakelab_sched::runqueue::{Policy, TaskId};

/// A row by column.
pub type Cells = Vec<(&'static str, String)>;

/// A run queue that is driven by the operations of the vectors.
///
/// With a rule switched off the model deviates from the kernel, and an operation may name a task that is not in the
/// state that it had in the kernel. Such an operation does nothing: the row differs already.
pub trait Model {
    type Params;
    const NAME: &'static str;

    fn new(scenario: Row, over: &dyn Fn(&mut Self::Params)) -> Self;
    /// Applies the operation of a row of `*_steps.csv`.
    fn apply(&mut self, step: Row);
    /// The columns of `*_steps.csv` that describe the state, after the last step.
    fn state(&self) -> Cells;
    /// The columns of `*_tasks.csv` for a task.
    fn task(&self, task: TaskId) -> Cells;
    /// The number of tasks forked so far.
    fn nr_tasks(&self) -> u32;
    fn curr(&self) -> Option<TaskId>;
}

/// The columns of `*_steps.csv` that describe the operation.
const ARGUMENTS: [&str; 8] = ["scenario", "step", "op", "task", "dt", "nice", "slice", "policy"];

/// The result of a replay.
#[derive(Default)]
pub struct Outcome {
    /// The number of rows of the steps and tasks files.
    pub rows: usize,
    /// The rows that differ from the model's.
    pub differing: usize,
    /// The rows of the model that are not in the files.
    pub extra: usize,
    /// The first difference.
    pub first: Option<String>,
}

impl Outcome {
    fn count(&mut self, difference: Option<String>) {
        self.rows += 1;
        if let Some(difference) = difference {
            self.differing += 1;
            self.first.get_or_insert(difference);
        }
    }

    fn count_extra(&mut self, row: String) {
        self.extra += 1;
        self.first.get_or_insert(row);
    }
}

/// Replays every scenario of a model, its parameters changed by `over`.
pub fn replay<M: Model>(over: &dyn Fn(&mut M::Params)) -> Outcome {
    let [scenarios, steps, tasks] =
        ["scenarios", "steps", "tasks"].map(|part| Table::read(&format!("{}_{part}.csv", M::NAME)));
    let mut steps_of = by_scenario(&steps);
    let mut tasks_of = by_scenario(&tasks);
    let mut outcome = Outcome::default();
    for scenario in scenarios.rows() {
        let id: u32 = scenario.int("scenario");
        let steps = steps_of.remove(&id).unwrap_or_default();
        let tasks = tasks_of.remove(&id).unwrap_or_default();
        replay_scenario(M::new(scenario, over), &steps, &tasks, &mut outcome);
    }
    assert!(steps_of.is_empty() && tasks_of.is_empty(), "{}: rows of scenarios that are not listed", M::NAME);
    assert!(outcome.rows > 0, "{}: no rows", M::NAME);
    outcome
}

fn by_scenario(table: &Table) -> BTreeMap<u32, Vec<Row<'_>>> {
    let mut rows = BTreeMap::<u32, Vec<Row>>::new();
    table.rows().for_each(|row| rows.entry(row.int("scenario")).or_default().push(row));
    rows
}

fn replay_scenario<M: Model>(mut model: M, steps: &[Row], tasks: &[Row], outcome: &mut Outcome) {
    let mut expected: BTreeMap<(u32, u32), Row> =
        tasks.iter().map(|row| ((row.int("step"), row.int("task")), *row)).collect();
    assert_eq!(expected.len(), tasks.len(), "{}: a task has two rows at one step", M::NAME);
    let mut last_row = BTreeMap::<TaskId, Cells>::new();
    let mut gone = BTreeSet::<TaskId>::new();
    for step in steps {
        let at = (step.int::<u32>("scenario"), step.int::<u32>("step"));
        let place = |kind: &str| format!("{}_{kind}.csv scenario {} step {}", M::NAME, at.0, at.1);
        let op = step.cell("op");
        // Operations on the current task name it.
        let runs = matches!(op, "tick" | "update" | "sleep" | "exit" | "yield").then(|| number(model.curr()));
        let named: Option<u32> = step.get("task");

        model.apply(*step);
        let mut state = model.state();
        if let Some(runs) = runs {
            state.push(("task", if runs == "-1" { String::new() } else { runs }));
        }
        outcome.count(difference(&place("steps"), *step, &state, &ARGUMENTS));

        for task in (0..model.nr_tasks()).map(TaskId).filter(|task| !gone.contains(task)) {
            let cells = model.task(task);
            let changed = last_row.get(&task) != Some(&cells);
            let row = expected.remove(&(at.1, task.0));
            let place = format!("{} task {}", place("tasks"), task.0);
            match row {
                Some(row) => outcome.count(difference(&place, row, &cells, &["scenario", "step", "task"])),
                None if changed || named == Some(task.0) => {
                    outcome.count_extra(format!("{place}: no such row, got {cells:?}"))
                }
                None => {}
            }
            last_row.insert(task, cells);
        }
        if op == "exit" {
            gone.extend(named.map(TaskId));
        }
    }
    for ((step, task), row) in expected {
        let place = format!("{}_tasks.csv scenario {} step {step} task {task}", M::NAME, row.cell("scenario"));
        outcome.count(Some(format!("{place}: there is no such task")));
    }
}

/// The first column in which a row and the model differ. All columns except `inputs` must be computed.
fn difference(place: &str, row: Row, got: &Cells, inputs: &[&str]) -> Option<String> {
    let unknown = row
        .columns()
        .iter()
        .find(|&column| !inputs.contains(&column.as_str()) && !got.iter().any(|(name, _)| name == column));
    assert_eq!(unknown, None, "{place}: a column that is not computed");
    let (column, got) = got.iter().find(|(column, got)| row.cell(column) != got)?;
    Some(format!("{place} column {column}: expected {:?}, got {got:?}", row.cell(column)))
}

/// A task's number; -1 is none.
pub fn number(task: Option<TaskId>) -> String {
    task.map_or("-1".to_owned(), |task| task.0.to_string())
}

/// 0 or 1.
pub fn bit(value: bool) -> String {
    u8::from(value).to_string()
}

/// A virtual time, printed signed.
pub fn signed(value: u64) -> String {
    (value as i64).to_string()
}

/// A policy by its kernel number.
pub fn policy(number: u32) -> Policy {
    match number {
        0 => Policy::Normal,
        3 => Policy::Batch,
        5 => Policy::Idle,
        _ => panic!("the fair class has no policy {number}"),
    }
}
