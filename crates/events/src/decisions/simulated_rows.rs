//! The wake-ups of a simulated run, row by row, with the columns that a recording would have: what explains a recorded
//! decision explains a simulated one.

use super::fields::{Column, Rows, Value};
use super::parquet_rows::{batch_rows, check_types, value_at};
use super::topo::TopoFile;
use crate::error::{ReadError, clipped};
use crate::limits::MAX_TIME;
use crate::simulated::Wakeups;
use crate::stream::TaskNames;
use crate::table::Table;
use crate::table::decode::Batches;
use crate::table::metadata::{Builder, ParquetFile};
use crate::table::pages::ListLimits;
use crate::table::reader::Columns;
use arrow_array::Array;
use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reader of the wake-ups of a run.
pub(super) struct SimulatedRows {
    path: PathBuf,
    batches: Batches,
    pub(super) topo: Arc<TopoFile>,
    features: String,
    load: String,
    variant: String,
    names: TaskNames,
    changes: Changes,
    /// The `sd_llc_id`s of the machine, sorted, each once.
    llc_ids: Vec<i64>,
    /// Of the current row: whether its inputs did not change, how long its decision took, ns, and whether it has the
    /// run queues of the waking and the previous CPU only.
    stable: bool,
    took: i64,
    partial: bool,
}

impl SimulatedRows {
    /// Begins to read `rows`, the file of this metadata.
    pub(super) fn open(path: &Path, rows: &File, file: &ParquetFile, builder: Builder) -> Result<Self, ReadError> {
        if file.table != "wakeups" {
            let what = format!("expected the wake-ups of a run, found the table {:?}", clipped(&file.table));
            return Err(ReadError::of_file(path, what).with_hint("name its wakeups.parquet, or its folder"));
        }
        let value = |key: &str| file.required(key).map(str::to_owned);
        let topo = crate::stream::run::topo_file(path, file)?;
        let (side, variant) = (value("wakelab.side")?, value("wakelab.variant")?);
        let folder = path.parent().unwrap_or(Path::new(""));
        let nr_cpus = topo.domains.nr_cpus;
        // `cpu_group_cap` has the values of all levels one after the other.
        let levels = topo.domains.domains.iter().map(Vec::len).max().unwrap_or(0).max(1) as u64;
        let lists = ListLimits { longest: u64::from(nr_cpus) * levels, most: u64::MAX };
        file.check_rows(rows, &builder, |_| true, lists)?;
        check_types::<Wakeups>(path, builder.schema(), Wakeups::COLUMNS.iter().map(|column| column.name))?;
        let mut llc_ids: Vec<i64> = topo.cpu_llc.iter().map(|&id| id.into()).collect();
        llc_ids.sort_unstable();
        llc_ids.dedup();
        Ok(SimulatedRows {
            path: path.to_owned(),
            batches: Batches::open(path, builder.with_batch_size(batch_rows(nr_cpus)))?,
            topo: Arc::new(topo),
            features: value("wakelab.features")?,
            load: format!("{} {}", value("wakelab.workload")?, value("wakelab.load")?),
            variant: if variant.is_empty() { side } else { format!("{side}: {variant}") },
            names: TaskNames::simulated(folder),
            changes: Changes::open(folder)?,
            llc_ids,
            stable: false,
            took: 0,
            partial: false,
        })
    }

    /// Whether the wake-up has a decision and is wanted.
    fn is_one_of(&self, wanted: &dyn Fn(u64, i64) -> bool) -> bool {
        let when = self.long("t_ns").and_then(|t_ns| u64::try_from(t_ns).ok()).zip(self.long("wakee_pid"));
        // A row without a time or wakee is reported when it is read.
        self.cell("chosen_cpu").is_some() && when.is_none_or(|(t_ns, pid)| wanted(t_ns, pid))
    }

    fn wrong(&self, column: &'static str) -> ReadError {
        ReadError::of_file(&self.path, "the value does not have the type and range of the schema")
            .at_line(self.batches.row)
            .in_column(column)
            .with_hint("docs/formats.md lists the columns")
    }

    fn time(&self, column: &'static str) -> Result<i64, ReadError> {
        let time = self.long(column).filter(|&time| u64::try_from(time).is_ok_and(|time| time <= MAX_TIME));
        time.ok_or_else(|| self.wrong(column))
    }

    /// The value of a column; `None` if a required value is missing.
    fn field(&self, column: Column) -> Option<Value<'_>> {
        use Column as C;
        use Value::{Cpus, List, Number, Text};
        Some(match column {
            C::kernel => Text(self.topo.preset.name.as_bytes()),
            C::topology => Text(self.topo.topology.as_bytes()),
            C::load => Text(self.load.as_bytes()),
            C::variant => Text(self.variant.as_bytes()),
            C::features => Text(self.features.as_bytes()),
            C::seq => Number(self.batches.row as i64),
            C::dur_ns => Number(self.took),
            C::stable => Number(self.stable.into()),
            C::waker_pid => Number(self.long("waker_pid").unwrap_or(0)),
            C::waker_comm => match self.long("waker_pid") {
                Some(pid) => Text(self.names.name(pid).as_bytes()),
                // The idle task, or the shell that starts the workload.
                None if self.long("waker_in_task") == Some(1) => Text(b"sh"),
                None => Text(b"swapper"),
            },
            C::wakee_comm => Text(self.names.name(self.long("wakee_pid")?).as_bytes()),
            C::waker_flags => Number(if self.long("waker_exiting") == Some(1) { 4 } else { 0 }),
            C::in_task => Number(self.long("waker_in_task")?),
            C::wakee_static_prio => Number(120),
            C::wake_flags => Number(self.long("wake_flags")?),
            // The waker's flips before record_wakee() are not known. With last_wakee_is_p these become those after it.
            C::waker_flips_before | C::waker_flips => Number(self.long("waker_flips")?),
            C::wakee_flips_before => Number(self.long("wakee_flips")?),
            C::last_wakee_is_p => Number(1),
            C::recent_used_cpu | C::recent_used_cpu_after | C::numa_preferred_nid => {
                Number(self.long(column.name()).unwrap_or(-1))
            }
            C::sd_llc_size => {
                let waker = usize::try_from(self.long("waker_cpu")?).ok()?;
                Number((*self.topo.domains.sd_llc_size.get(waker)?).into())
            }
            C::idle_mask_exit => self.recorded(C::idle_mask)?,
            C::curr_idle_mask if self.partial => self.recorded(C::idle_mask)?,
            C::ttwu_pending_mask if self.partial => Cpus(&[]),
            C::llc_ids => List((&self.llc_ids).into()),
            C::cpu_h_nr_queued => List(self.by_cpu("nr_running", 0)?),
            C::cpu_h_nr_idle => List(self.sched_idle()?.into()),
            C::cpu_nr_running => {
                let running = self.by_cpu("nr_running", 0)?;
                List(running.iter().zip(self.sched_idle()?).map(|(&n, idle)| n.max(idle)).collect())
            }
            C::cpu_h_nr_delayed => List(self.by_cpu("h_nr_delayed", 0)?),
            C::cpu_load_avg => List(self.by_cpu("load_avg", 0)?),
            C::cpu_capacity => List(self.by_cpu("capacity", 1024)?),
            C::cpu_runnable_avg | C::cpu_util_avg | C::cpu_util_est => {
                List(self.longs(column.name()).unwrap_or_else(|| vec![0; self.nr_cpus()].into()))
            }
            C::cpu_group_cap_l0 | C::cpu_group_cap_l1 | C::cpu_group_cap_l2 => {
                let level = column as usize - C::cpu_group_cap_l0 as usize;
                let Some(values) = self.longs("cpu_group_cap") else { return Some(Text(b"")) };
                let of_level = values.iter().copied().skip(level * self.nr_cpus());
                List(of_level.chain(std::iter::repeat(0)).take(self.nr_cpus()).collect())
            }
            // No decision reads these.
            C::waker_policy
            | C::waker_nr_cpus_allowed
            | C::preempt_count
            | C::wakee_flags
            | C::flip_decay_due
            | C::nr_cpus_allowed
            | C::load_avg
            | C::load_weight
            | C::waker_load_avg
            | C::waker_load_weight
            | C::wake_flags_text => Number(0),
            _ => self.recorded(column)?,
        })
    }

    fn nr_cpus(&self) -> usize {
        self.topo.domains.nr_cpus as usize
    }

    /// The value of a column of the table; `None` if it is null.
    fn cell(&self, name: &str) -> Option<Value<'_>> {
        let (batch, row) = self.batches.current()?;
        batch.column_by_name(name).filter(|array| array.is_valid(row)).map(|array| value_at(array, row))
    }

    fn long(&self, name: &str) -> Option<i64> {
        if let Some(Value::Number(number)) = self.cell(name) { Some(number) } else { None }
    }

    fn longs(&self, name: &str) -> Option<Cow<'_, [i64]>> {
        if let Some(Value::List(items)) = self.cell(name) { Some(items) } else { None }
    }

    /// By CPU: the values of all CPUs, or of the two that a wake-up reads, with `other` for the rest.
    fn by_cpu(&self, what: &str, other: i64) -> Option<Cow<'_, [i64]>> {
        if let Some(all) = self.longs(&format!("cpu_{what}")) {
            return Some(all);
        }
        let mut all = vec![other; self.nr_cpus()];
        for (cpu, whose) in [("prev_cpu", "prev"), ("waker_cpu", "this")] {
            let cpu = usize::try_from(self.long(cpu)?).ok()?;
            *all.get_mut(cpu)? = self.long(&format!("{whose}_{what}"))?;
        }
        Some(all.into())
    }

    /// By CPU: the number of its tasks if all are SCHED_IDLE, else 0.
    fn sched_idle(&self) -> Option<Vec<i64>> {
        let mut tasks = vec![0; self.nr_cpus()];
        if let Some(Value::Cpus(words)) = self.cell("sched_idle_mask") {
            let running = self.by_cpu("nr_running", 0)?;
            for (cpu, (tasks, running)) in tasks.iter_mut().zip(&*running).enumerate() {
                if words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0) {
                    *tasks = (*running).max(1);
                }
            }
        }
        Some(tasks)
    }

    /// A column of the table, as it is.
    fn recorded(&self, column: Column) -> Option<Value<'_>> {
        self.cell(column.name()).or(column.may_be_null().then_some(Value::Text(b"")))
    }
}

impl Rows for SimulatedRows {
    /// Goes to the next wake-up that has a decision and is wanted.
    fn advance(&mut self, wanted: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        while self.batches.advance()? {
            if self.is_one_of(wanted) {
                let (began, decided) = (self.time("t_ns")?, self.time("decided_ns")?);
                self.names.advance_to(decided as u64)?;
                self.stable = self.long("probe_ns").is_none() || self.changes.none_within(began, decided)?;
                self.took = decided - began;
                self.partial = self.cell("cpu_nr_running").is_none();
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn line(&self) -> u64 {
        self.batches.row
    }

    fn value(&self, column: Column) -> Result<Value<'_>, ReadError> {
        self.field(column).ok_or_else(|| self.wrong(column.name()))
    }

    fn simulated(&self) -> Option<bool> {
        Some(self.partial)
    }
}

impl Column {
    /// Whether the column may be null: only forks and execs have it, or not every kernel has it.
    fn may_be_null(self) -> bool {
        use Column::{cpu_group_imbalance, cpu_idle_exit_latency, cpu_idle_stamp};
        self.is_optional() || matches!(self, cpu_idle_stamp | cpu_idle_exit_latency | cpu_group_imbalance)
    }
}

/// Follows when something that searches read changed last.
struct Changes {
    tables: Vec<LastChange>,
}

/// Follows one table of changes.
struct LastChange {
    rows: Columns,
    last: Option<i64>,
    next: Option<i64>,
}

impl Changes {
    fn open(folder: &Path) -> Result<Self, ReadError> {
        let mut tables = Vec::new();
        for table in ["available", "hints"] {
            let file = folder.join(format!("{table}.parquet"));
            if file.exists() {
                let (rows, _) = Columns::open(&file, table, &["t_ns"])?;
                tables.push(LastChange { rows, last: None, next: None });
            }
        }
        Ok(Changes { tables })
    }

    /// Whether nothing changed from `from` until before `to`: at `to` the decision itself makes its CPU busy. The
    /// recorded inputs are of `from`, but the order of what happens within one ns is not known. `to` must not decrease
    /// from call to call. Returns false without these tables, unless no time passed.
    fn none_within(&mut self, from: i64, to: i64) -> Result<bool, ReadError> {
        let mut stable = !self.tables.is_empty() || from == to;
        for table in &mut self.tables {
            table.advance_to(to - 1)?;
            stable &= table.last.is_none_or(|last| last < from);
        }
        Ok(stable)
    }
}

impl LastChange {
    fn advance_to(&mut self, time: i64) -> Result<(), ReadError> {
        loop {
            if self.next.is_none() {
                if !self.rows.advance()? {
                    return Ok(());
                }
                self.next = self.rows.long(0);
            }
            match self.next {
                Some(next) if next > time => return Ok(()),
                _ => self.last = self.next.take().or(self.last),
            }
        }
    }
}
