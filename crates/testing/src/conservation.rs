//! What must hold in the events of any run: time goes on, a task is in one place, only where it may be, none is lost,
//! and amounts add up ([`crate::amounts`]).
//!
//! This reads the tables of docs/formats.md with the Parquet library alone, not with the readers of `events`, so that
//! an error of those does not hide one of the simulator.

use crate::amounts::{Amounts, Limits};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The longest that a CPU may idle with a task waiting on it, and that a wake-up may take to reach its queue, ns. It
/// has to be above the longest exit from an idle state and the longest that interrupts are off.
const LOST_AFTER: i64 = 10_000_000;
/// The longest from the choice of the next task to the end of the switch, with a newly-idle pass between them, ns.
const SWITCH_WITHIN: i64 = 1_000_000;
/// How many faults of a run are told; those that follow are mostly of the same cause.
const TOLD: usize = 20;

/// What was found in the events of a run.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many rows of the five tables there were.
    pub rows: u64,
    /// How many tasks entered the run.
    pub tasks: usize,
    /// The idle share of the measured time, %; `None` if all tasks exited, which ends a run early.
    pub idle_pct: Option<f64>,
    /// What does not hold, at most 20 of them.
    pub faults: Vec<String>,
}

/// The folders of runs at or below a path, in the order of their names.
pub fn runs(path: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    if path.join("switches.parquet").is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    let entries = fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut folders: Vec<_> = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        found.extend(runs(folder)?);
    }
    Ok(found)
}

/// Follows the tasks of a run through its folder of events, and adds up what has `limits`.
pub fn check(folder: &Path, limits: Limits) -> Result<Findings, Box<dyn Error>> {
    let open = |table: &str, columns: &'static [&'static str]| Rows::open(&folder.join(table), columns);
    let mut tables = [
        open("tasks.parquet", &["t_ns", "what", "pid", "comm", "background", "affinity"])?,
        open("switches.parquet", &["t_ns", "cpu", "prev_pid", "prev_sleeps", "next_pid"])?,
        open("migrations.parquet", &["t_ns", "pid", "from_cpu", "to_cpu"])?,
        open("wakeups.parquet", &["decided_ns", "waker_pid", "wakee_pid", "dest_cpu", "queued", "affinity"])?,
        open("enqueues.parquet", &["t_ns", "cpu", "pid"])?,
        open("transactions.parquet", &["t_ns", "pid"])?,
    ];
    let time = |key| Ok::<_, Box<dyn Error>>(tables[1].metadata(key)?.parse::<i64>()?);
    let (settle, end) = (time("wakelab.settle_ns")?, time("wakelab.end_ns")?);
    let nr_cpus = tables[1].metadata("wakelab.topology")?.matches("\"core\":").count() as i64;
    let (amounts, sched_ext) = (Amounts::new(limits, nr_cpus, (settle, end)), folder.join("scx.parquet").is_file());
    let mut run = Run { amounts, sched_ext, ..Run::default() };
    while let Some(now) = tables.iter().filter_map(Rows::time).min() {
        if now < run.now || now > end {
            run.fault(now, format!("the time is not between {} and the end of the run, {end}", run.now));
        }
        run.now = now;
        // Order within one ns is known in a table, not between two: whatever can have happened now, did.
        let possible = |run: &Run, rows: &Rows| {
            rows.time() == Some(now) && rows.event.as_ref().is_some_and(|event| run.objection(event).is_none())
        };
        let first = tables.iter().position(|rows| possible(&run, rows));
        // A task that is woken and pushed on at once is moved from the queue that it came to, not in its sleep.
        let first = first.map(|first| match tables.iter().position(|rows| comes_before(rows, &tables[first])) {
            Some(other) if possible(&run, &tables[other]) => other,
            _ => first,
        });
        let at = match first {
            Some(at) => at,
            None => {
                let at = tables.iter().position(|rows| rows.time() == Some(now)).ok_or("no row is left")?;
                let objection = tables[at].event.as_ref().and_then(|event| run.objection(event));
                run.fault(now, objection.unwrap_or_default());
                at
            }
        };
        if let Some(event) = tables[at].event.take() {
            run.apply(event);
        }
        tables[at].advance()?;
        run.found.rows += 1;
    }
    run.end(end);
    run.found.tasks = run.tasks.len();
    Ok(run.found)
}

/// Whether a row puts a task on the queue from which another moves it.
fn comes_before(rows: &Rows, other: &Rows) -> bool {
    match (&rows.event, &other.event) {
        (Some(Event::Enqueue { cpu, pid }), Some(Event::Migrate { pid: moved, from, .. })) => {
            (cpu, pid) == (from, moved)
        }
        _ => false,
    }
}

/// A row of one of the tables.
#[derive(Debug)]
enum Event {
    Begins { pid: i64, name: String, background: bool, affinity: Vec<u64> },
    Exits { pid: i64 },
    Switch { cpu: i64, prev: Option<i64>, prev_sleeps: bool, next: Option<i64> },
    Migrate { pid: i64, from: i64, to: i64 },
    Wakeup { waker: Option<i64>, wakee: i64, dest: i64, on_cpu: bool, affinity: Option<Vec<u64>> },
    Enqueue { cpu: i64, pid: i64 },
    Done { pid: i64 },
}

/// Where a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// It has not been on a CPU yet.
    #[default]
    New,
    Queued(i64),
    Running(i64),
    /// Balancing took it from the CPU that ran it or was just switching from it: it waits there or, with a delayed
    /// dequeue, it sleeps. No table tells which.
    Moved(i64),
    /// It sleeps; from EEVDF's delayed dequeue on it may still be on the queue of its last CPU.
    Asleep(i64),
}

#[derive(Debug, Default)]
struct Task {
    place: Place,
    /// The CPU whose queue it was put on its way to, and when.
    due: Option<(i64, i64)>,
    exited: bool,
    background: bool,
    /// Its CPU may idle while it waits: it may be throttled, or waits in a queue of a scheduler of sched_ext.
    waits_beside_idle: bool,
    affinity: Vec<u64>,
    /// Since when it has its CPU, if it runs.
    runs_since: i64,
    /// It was seen where it may not be, unless `sched_setaffinity()` had changed that: its next wake-up tells.
    astray: Option<String>,
}

#[derive(Debug, Default)]
struct Run {
    now: i64,
    tasks: HashMap<i64, Task>,
    /// By CPU: the task that runs.
    curr: HashMap<i64, i64>,
    /// By CPU: the tasks that wait on its queue, each with when it began to.
    waiting: HashMap<i64, BTreeMap<i64, i64>>,
    /// By CPU: since when it runs nothing while tasks wait on it.
    idle_since: HashMap<i64, i64>,
    /// A scheduler of sched_ext places tasks, whose forks have no row in `wakeups`.
    sched_ext: bool,
    /// Tasks of the workload that have not exited.
    alive: usize,
    amounts: Amounts,
    found: Findings,
}

impl Run {
    fn fault(&mut self, at: i64, what: String) {
        if self.found.faults.len() < TOLD {
            self.found.faults.push(format!("at {at} ns: {what}"));
        }
    }

    /// Why an event cannot happen now.
    fn objection(&self, event: &Event) -> Option<String> {
        let unknown = |pid: &i64| format!("task {pid} never entered the run");
        match event {
            Event::Begins { pid, .. } => self.tasks.get(pid).map(|_| format!("task {pid} enters the run twice")),
            Event::Exits { pid } => match self.tasks.get(pid) {
                None => Some(unknown(pid)),
                Some(task) if task.exited => Some(format!("task {pid} exits twice")),
                Some(Task { place: Place::Running(_), .. }) => None,
                Some(task) => Some(format!("task {pid} exits while it is {:?}", task.place)),
            },
            Event::Switch { cpu, prev, next, .. } => {
                let curr = self.curr.get(cpu);
                if curr != prev.as_ref() {
                    return Some(format!("CPU {cpu} switches from {prev:?} while {curr:?} runs"));
                }
                let next = next.as_ref().filter(|next| Some(*next) != prev.as_ref())?;
                match self.tasks.get(next) {
                    None => Some(unknown(next)),
                    // One that exits may be preempted before its last switch.
                    Some(task) if [Place::Queued(*cpu), Place::Moved(*cpu)].contains(&task.place) => None,
                    Some(task) => Some(format!("task {next} runs on CPU {cpu} while it is {:?}", task.place)),
                }
            }
            Event::Migrate { pid, from, .. } => match self.tasks.get(pid) {
                None => Some(unknown(pid)),
                Some(task) => match task.place {
                    Place::Queued(cpu) | Place::Running(cpu) | Place::Moved(cpu) | Place::Asleep(cpu)
                        if cpu == *from =>
                    {
                        None
                    }
                    place => Some(format!("task {pid} is moved from CPU {from} while it is {place:?}")),
                },
            },
            // Its exec only chooses a CPU; that it goes there is a migration.
            Event::Wakeup { waker, wakee, .. } if *waker == Some(*wakee) => None,
            Event::Wakeup { wakee, on_cpu, .. } => match self.tasks.get(wakee) {
                None => Some(unknown(wakee)),
                Some(task) if task.exited => Some(format!("task {wakee} is woken and has exited")),
                Some(Task { due: Some((dest, _)), .. }) => {
                    Some(format!("task {wakee} is woken and on its way to CPU {dest} already"))
                }
                Some(task) => match task.place {
                    Place::New | Place::Asleep(_) | Place::Moved(_) => None,
                    Place::Running(_) if *on_cpu => None,
                    place => Some(format!("task {wakee} is woken while it is {place:?}")),
                },
            },
            Event::Done { pid } => match self.tasks.get(pid) {
                None => Some(unknown(pid)),
                Some(_) => None,
            },
            Event::Enqueue { cpu, pid } => match self.tasks.get(pid) {
                None => Some(unknown(pid)),
                Some(task) => match (task.due, task.place) {
                    (Some((dest, _)), Place::New | Place::Asleep(_) | Place::Moved(_)) if dest == *cpu => None,
                    (None, Place::New) if self.sched_ext => None,
                    (due, place) => {
                        Some(format!("task {pid} is enqueued on CPU {cpu}, it is {place:?} and due on {due:?}"))
                    }
                },
            },
        }
    }

    fn apply(&mut self, event: Event) {
        match event {
            Event::Begins { pid, name, background, affinity } => {
                let waits_beside_idle = self.amounts.begins(pid, &name) || self.sched_ext;
                self.alive += usize::from(!background);
                self.tasks.insert(pid, Task { affinity, background, waits_beside_idle, ..Task::default() });
            }
            Event::Exits { pid } => {
                let task = self.tasks.entry(pid).or_default();
                task.exited = true;
                self.alive -= usize::from(!task.background);
            }
            Event::Done { pid } => self.amounts.done(pid),
            Event::Switch { cpu, prev, prev_sleeps, next } => {
                self.amounts.switch(self.now, cpu, next);
                if let Some(prev) = prev {
                    self.curr.remove(&cpu);
                    self.put(prev, if prev_sleeps { Place::Asleep(cpu) } else { Place::Queued(cpu) });
                }
                if let Some(next) = next {
                    self.put(next, Place::Running(cpu));
                    self.curr.insert(cpu, next);
                } else {
                    self.idles(cpu);
                }
                self.settle(cpu);
            }
            Event::Migrate { pid, from, to } => {
                self.amounts.migrate(self.now, from, pid);
                let place = self.tasks.get(&pid).map(|task| task.place);
                if place == Some(Place::Running(from)) {
                    self.curr.remove(&from);
                }
                let place = match place {
                    Some(Place::Asleep(_)) => Place::Asleep(to),
                    Some(Place::Running(_) | Place::Moved(_)) => Place::Moved(to),
                    _ => Place::Queued(to),
                };
                self.put(pid, place);
                self.settle(from);
                self.settle(to);
            }
            Event::Wakeup { waker, wakee, dest, affinity, .. } => {
                let now = self.now;
                if let Some(affinity) = affinity {
                    let task = self.tasks.entry(wakee).or_default();
                    let astray = task.astray.take();
                    if task.affinity == affinity {
                        let room = self.found.faults.len() < TOLD;
                        self.found.faults.extend(astray.filter(|_| room));
                    } else {
                        task.affinity = affinity;
                    }
                }
                if waker != Some(wakee) {
                    self.tasks.entry(wakee).or_default().due = Some((dest, now));
                }
            }
            Event::Enqueue { cpu, pid } => {
                let due = self.tasks.entry(pid).or_default().due.take();
                if let Some((_, since)) = due.filter(|(_, since)| self.now - since > LOST_AFTER) {
                    self.fault(self.now, format!("task {pid} was woken at {since} and took until now to its queue"));
                }
                self.put(pid, Place::Queued(cpu));
                self.settle(cpu);
            }
        }
    }

    /// Puts a task at a place, and counts who waits where.
    fn put(&mut self, pid: i64, place: Place) {
        let now = self.now;
        let task = self.tasks.entry(pid).or_default();
        let before = std::mem::replace(&mut task.place, place);
        if let Place::Queued(cpu) | Place::Running(cpu) | Place::Moved(cpu) = place
            && !allows(&task.affinity, cpu)
            && !self.amounts.loses_affinity(&task.affinity)
            && task.astray.is_none()
        {
            task.astray = Some(format!("at {now} ns: task {pid} is on CPU {cpu}, which it may not use"));
        }
        if matches!(before, Place::Running(_)) {
            self.amounts.had_cpu(task.runs_since, now);
        }
        if matches!(place, Place::Running(_)) {
            task.runs_since = now;
        }
        if let Place::Queued(cpu) = before {
            self.waiting.entry(cpu).or_default().remove(&pid);
        }
        if let Place::Queued(cpu) = place
            && !task.waits_beside_idle
        {
            self.waiting.entry(cpu).or_default().insert(pid, now);
        }
    }

    /// Notes whether a CPU has tasks that wait and runs none.
    fn settle(&mut self, cpu: i64) {
        let idle = !self.curr.contains_key(&cpu) && self.waiting.get(&cpu).is_some_and(|waiting| !waiting.is_empty());
        let began = match idle {
            true => *self.idle_since.entry(cpu).or_insert(self.now),
            false => self.idle_since.remove(&cpu).unwrap_or(self.now),
        };
        if self.now - began > LOST_AFTER {
            self.fault(self.now, format!("CPU {cpu} has run nothing since {began}, with tasks waiting on it"));
        }
    }

    /// A CPU has switched to its idle task: nobody can have waited on it for longer than the switch took.
    fn idles(&mut self, cpu: i64) {
        let waiting = self.waiting.get(&cpu).and_then(|waiting| waiting.iter().min_by_key(|(_, since)| **since));
        if let Some((pid, since)) = waiting.filter(|(_, since)| self.now - **since > SWITCH_WITHIN) {
            self.fault(self.now, format!("CPU {cpu} goes idle, and task {pid} waits on it since {since}"));
        }
    }

    fn end(&mut self, end: i64) {
        self.now = end;
        let mut cpus: Vec<i64> = self.waiting.keys().copied().collect();
        cpus.sort_unstable();
        for cpu in cpus {
            self.settle(cpu);
        }
        let mut lost: Vec<String> = Vec::new();
        for (pid, task) in &mut self.tasks {
            lost.extend(task.astray.take());
            if matches!(task.place, Place::Running(_)) {
                self.amounts.had_cpu(task.runs_since, end);
            }
            if let Some((dest, since)) = task.due.filter(|(_, since)| end - since > LOST_AFTER) {
                lost.push(format!("at {end} ns: task {pid} was woken at {since} for CPU {dest} and is on no queue"));
            }
        }
        lost.sort();
        let (amounts, idle_pct) = std::mem::take(&mut self.amounts).end(end);
        lost.extend(amounts);
        lost.truncate(TOLD);
        self.found.faults.extend(lost);
        self.found.idle_pct = Some(idle_pct).filter(|_| self.alive != 0);
    }
}

/// Whether a set of CPUs, as 64-bit words, has a CPU.
fn allows(words: &[u64], cpu: i64) -> bool {
    words.get((cpu / 64) as usize).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
}

/// The rows of a table, one at a time.
struct Rows {
    path: PathBuf,
    columns: &'static [&'static str],
    metadata: HashMap<String, String>,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<RecordBatch>,
    next: usize,
    time: i64,
    event: Option<Event>,
}

impl Rows {
    /// Opens a table and reads its first row. A table without rows may lack its file.
    fn open(path: &Path, columns: &'static [&'static str]) -> Result<Self, Box<dyn Error>> {
        let mut rows = Rows {
            path: path.to_owned(),
            columns,
            metadata: HashMap::new(),
            batches: None,
            batch: None,
            next: 0,
            time: 0,
            event: None,
        };
        if path.is_file() {
            let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
            let pairs = builder.metadata().file_metadata().key_value_metadata();
            rows.metadata = pairs
                .into_iter()
                .flatten()
                .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
                .collect();
            let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
            rows.batches = Some(builder.with_projection(mask).build()?);
            rows.advance()?;
        }
        Ok(rows)
    }

    fn metadata(&self, key: &str) -> Result<&str, Box<dyn Error>> {
        Ok(self.metadata.get(key).ok_or_else(|| format!("{}: no {key}", self.path.display()))?)
    }

    fn time(&self) -> Option<i64> {
        self.event.as_ref().map(|_| self.time)
    }

    fn advance(&mut self) -> Result<(), Box<dyn Error>> {
        self.event = None;
        while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
            match self.batches.as_mut().and_then(Iterator::next) {
                None => return Ok(()),
                Some(batch) => (self.batch, self.next) = (Some(batch?), 0),
            }
        }
        if let Some(batch) = &self.batch {
            let row = Row { batch, at: self.next };
            self.time = row.number(self.columns[0]).ok_or("a row without a time")?;
            self.event = Some(row.event(self.columns).ok_or_else(|| format!("{}: a bad row", self.path.display()))?);
        }
        self.next += 1;
        Ok(())
    }
}

struct Row<'a> {
    batch: &'a RecordBatch,
    at: usize,
}

impl Row<'_> {
    fn valid(&self, column: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(column).filter(|array| array.is_valid(self.at))
    }

    fn number(&self, column: &str) -> Option<i64> {
        let array = self.valid(column)?;
        match array.data_type() {
            DataType::Int32 => Some(array.as_primitive::<Int32Type>().value(self.at).into()),
            DataType::Int64 => Some(array.as_primitive::<Int64Type>().value(self.at)),
            DataType::Boolean => Some(array.as_boolean().value(self.at).into()),
            _ => None,
        }
    }

    fn name(&self, column: &str) -> Option<&str> {
        let names = self.valid(column)?.as_any_dictionary_opt()?;
        Some(names.values().as_string::<i32>().value(*names.normalized_keys().get(self.at)?))
    }

    fn text(&self, column: &str) -> Option<&str> {
        Some(self.valid(column)?.as_string_opt::<i32>()?.value(self.at))
    }

    fn cpus(&self, column: &str) -> Option<Vec<u64>> {
        let words = self.valid(column)?.as_list::<i32>().value(self.at);
        Some(words.as_primitive::<UInt64Type>().values().to_vec())
    }

    /// The event that the row tells, by which table has such columns.
    fn event(&self, columns: &[&str]) -> Option<Event> {
        let number = |column| self.number(column);
        Some(match columns[1] {
            "what" if self.name("what")? == "exits" => Event::Exits { pid: number("pid")? },
            "what" => Event::Begins {
                pid: number("pid")?,
                name: self.text("comm")?.to_owned(),
                background: number("background")? == 1,
                affinity: self.cpus("affinity")?,
            },
            "pid" if columns.len() == 2 => Event::Done { pid: number("pid")? },
            "cpu" if columns.len() == 3 => Event::Enqueue { cpu: number("cpu")?, pid: number("pid")? },
            "cpu" => Event::Switch {
                cpu: number("cpu")?,
                prev: number("prev_pid"),
                prev_sleeps: number("prev_sleeps")? == 1,
                next: number("next_pid"),
            },
            "pid" => Event::Migrate { pid: number("pid")?, from: number("from_cpu")?, to: number("to_cpu")? },
            _ => Event::Wakeup {
                waker: number("waker_pid"),
                wakee: number("wakee_pid")?,
                dest: number("dest_cpu")?,
                on_cpu: self.name("queued")? == "on-cpu",
                affinity: self.cpus("affinity"),
            },
        })
    }
}
