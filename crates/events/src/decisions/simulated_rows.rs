//! The wake-ups of a simulated run, row by row, as the fields that a recording would have: what explains a recorded
//! decision explains a simulated one.

use super::csv::Record;
use super::fields::Column;
use super::parquet_rows::{append_list, append_value, batch_rows};
use super::topo::TopoFile;
use crate::error::{ReadError, clipped};
use crate::limits::MAX_TIME;
use crate::stream::TaskNames;
use crate::table::decode::{decode, next_batch};
use crate::table::metadata::{Builder, ParquetFile, damaged, damaged_rows};
use crate::table::pages::ListLimits;
use crate::table::reader::Columns;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A reader of the wake-ups of a run.
pub(super) struct SimulatedRows {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    batch: Option<RecordBatch>,
    next: usize,
    row: u64,
    pub(super) topo: Arc<TopoFile>,
    features: String,
    load: String,
    variant: String,
    names: TaskNames,
    changes: Changes,
    /// Whether the current row has the run queues of the waking and the previous CPU only.
    pub(super) partial: bool,
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
        let batches = decode(|| builder.with_batch_size(batch_rows(nr_cpus)).build());
        let batches = batches.map_err(|e| damaged(path, &e))?.map_err(|e| damaged(path, &e.to_string()))?;
        Ok(SimulatedRows {
            path: path.to_owned(),
            batches,
            batch: None,
            next: 0,
            row: 0,
            topo: Arc::new(topo),
            features: value("wakelab.features")?,
            load: format!("{} {}", value("wakelab.workload")?, value("wakelab.load")?),
            variant: if variant.is_empty() { side } else { format!("{side}: {variant}") },
            names: TaskNames::simulated(folder),
            changes: Changes::open(folder)?,
            partial: false,
        })
    }

    /// Reads the next wake-up that has a decision and is wanted. Returns false at the end.
    pub(super) fn read(&mut self, record: &mut Record, wanted: &dyn Fn(u64, i64) -> bool) -> Result<bool, ReadError> {
        loop {
            while self.batch.as_ref().is_none_or(|batch| self.next == batch.num_rows()) {
                let Some(batch) = next_batch(&mut self.batches) else { return Ok(false) };
                self.batch = Some(batch.map_err(|e| damaged_rows(&self.path, self.row + 1, &e))?);
                self.next = 0;
            }
            self.next += 1;
            self.row += 1;
            if !self.batch.as_ref().is_some_and(|batch| Wakeup { batch, at: self.next - 1, cpus: 0 }.is_one_of(wanted))
            {
                continue;
            }
            let Some(batch) = self.batch.clone() else { return Ok(false) };
            let row = Wakeup { batch: &batch, at: self.next - 1, cpus: self.topo.domains.nr_cpus as usize };
            let wrong = |column: &'static str, line| {
                ReadError::of_file(&self.path, "the value does not have the type and range of the schema")
                    .at_line(line)
                    .in_column(column)
                    .with_hint("docs/formats.md lists the columns")
            };
            let time = |column| {
                let time = row.long(column).filter(|&time| u64::try_from(time).is_ok_and(|time| time <= MAX_TIME));
                time.ok_or_else(|| wrong(column, self.row))
            };
            let (began, decided) = (time("t_ns")?, time("decided_ns")?);
            self.names.advance_to(decided.max(0) as u64)?;
            let stable = row.long("probe_ns").is_none() || self.changes.none_within(began, decided)?;
            self.partial = row.cell("cpu_nr_running").is_none();
            record.begin(self.row);
            for &column in Column::ALL {
                let mut known = true;
                record.field(|to| known = self.field(to, column, &row, stable, decided - began).is_some());
                if !known {
                    return Err(wrong(column.name(), self.row));
                }
            }
            return Ok(true);
        }
    }

    /// Appends the value of a column. Returns `None` if a required value is missing.
    fn field(&self, to: &mut Vec<u8>, column: Column, row: &Wakeup<'_>, stable: bool, took: i64) -> Option<()> {
        use Column as C;
        let text = |to: &mut Vec<u8>, text: &str| to.extend_from_slice(text.as_bytes());
        let number = |to: &mut Vec<u8>, number: i64| write!(to, "{number}").ok();
        let hex = |to: &mut Vec<u8>, number: i64| write!(to, "{number:x}").ok();
        match column {
            C::kernel => text(to, self.topo.preset.name),
            C::topology => text(to, &self.topo.topology),
            C::load => text(to, &self.load),
            C::variant => text(to, &self.variant),
            C::features => text(to, &self.features),
            C::seq => number(to, self.row as i64)?,
            C::dur_ns => number(to, took)?,
            C::stable => number(to, stable.into())?,
            C::waker_pid => number(to, row.long("waker_pid").unwrap_or(0))?,
            C::waker_comm => text(
                to,
                match row.long("waker_pid") {
                    Some(pid) => self.names.name(pid),
                    // The idle task, or the shell that starts the workload.
                    None if row.long("waker_in_task") == Some(1) => "sh",
                    None => "swapper",
                },
            ),
            C::wakee_comm => text(to, self.names.name(row.long("wakee_pid")?)),
            C::waker_flags => text(to, if row.long("waker_exiting") == Some(1) { "4" } else { "0" }),
            C::in_task => number(to, row.long("waker_in_task")?)?,
            C::wakee_static_prio => text(to, "120"),
            C::wake_flags => hex(to, row.long("wake_flags")?)?,
            // The waker's flips before record_wakee() are not known. With last_wakee_is_p these become those after it.
            C::waker_flips_before | C::waker_flips => number(to, row.long("waker_flips")?)?,
            C::wakee_flips_before => number(to, row.long("wakee_flips")?)?,
            C::last_wakee_is_p => text(to, "1"),
            C::recent_used_cpu | C::recent_used_cpu_after | C::numa_preferred_nid => {
                number(to, row.long(column.name()).unwrap_or(-1))?;
            }
            C::sd_llc_size => {
                let waker = usize::try_from(row.long("waker_cpu")?).ok()?;
                number(to, i64::from(*self.topo.domains.sd_llc_size.get(waker)?))?;
            }
            C::idle_mask_exit => row.put(to, C::idle_mask, "idle_mask")?,
            C::curr_idle_mask if self.partial => row.put(to, C::idle_mask, "idle_mask")?,
            C::ttwu_pending_mask if self.partial => text(to, "0"),
            C::llc_ids => {
                let mut ids = self.topo.cpu_llc.clone();
                ids.sort_unstable();
                ids.dedup();
                numbers(to, ids.into_iter().map(i64::from))?;
            }
            C::cpu_h_nr_queued => numbers(to, row.by_cpu("nr_running", 0)?.into_iter())?,
            C::cpu_h_nr_idle => numbers(to, row.sched_idle()?.into_iter())?,
            C::cpu_nr_running => {
                let idle = row.sched_idle()?;
                numbers(to, row.by_cpu("nr_running", 0)?.into_iter().zip(idle).map(|(n, idle)| n.max(idle)))?;
            }
            C::cpu_h_nr_delayed => numbers(to, row.by_cpu("h_nr_delayed", 0)?.into_iter())?,
            C::cpu_load_avg => numbers(to, row.by_cpu("load_avg", 0)?.into_iter())?,
            C::cpu_capacity => numbers(to, row.by_cpu("capacity", 1024)?.into_iter())?,
            C::cpu_runnable_avg | C::cpu_util_avg | C::cpu_util_est => match row.longs(column.name()) {
                Some(values) => numbers(to, values.into_iter())?,
                None => numbers(to, std::iter::repeat_n(0, row.cpus))?,
            },
            C::cpu_group_cap_l0 | C::cpu_group_cap_l1 | C::cpu_group_cap_l2 => {
                let level = column as usize - C::cpu_group_cap_l0 as usize;
                if let Some(values) = row.longs("cpu_group_cap") {
                    let of_level = values.iter().copied().skip(level * row.cpus).take(row.cpus);
                    numbers(to, of_level.chain(std::iter::repeat(0)).take(row.cpus))?;
                }
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
            | C::wake_flags_text => text(to, "0"),
            _ => row.put(to, column, column.name())?,
        }
        Some(())
    }
}

fn numbers(to: &mut Vec<u8>, items: impl Iterator<Item = i64>) -> Option<()> {
    for (at, item) in items.enumerate() {
        write!(to, "{}{item}", if at > 0 { " " } else { "" }).ok()?;
    }
    Some(())
}

/// A row of the table `wakeups`.
struct Wakeup<'a> {
    batch: &'a RecordBatch,
    at: usize,
    cpus: usize,
}

impl Wakeup<'_> {
    /// Whether it has a decision and is wanted.
    fn is_one_of(&self, wanted: &dyn Fn(u64, i64) -> bool) -> bool {
        let when = self.long("t_ns").and_then(|t_ns| u64::try_from(t_ns).ok()).zip(self.long("wakee_pid"));
        // A row without a time or wakee is reported when it is read.
        self.cell("chosen_cpu").is_some() && when.is_none_or(|(t_ns, pid)| wanted(t_ns, pid))
    }

    fn cell(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name).filter(|array| array.is_valid(self.at))
    }

    fn long(&self, name: &str) -> Option<i64> {
        let cell = self.cell(name)?;
        let int = cell.as_primitive_opt::<Int32Type>().map(|array| i64::from(array.value(self.at)));
        let long = cell.as_primitive_opt::<Int64Type>().map(|array| array.value(self.at));
        int.or(long).or_else(|| cell.as_boolean_opt().map(|array| array.value(self.at).into()))
    }

    fn list(&self, name: &str) -> Option<ArrayRef> {
        self.cell(name)?.as_list_opt::<i32>().map(|array| array.value(self.at))
    }

    fn longs(&self, name: &str) -> Option<Vec<i64>> {
        let list = self.list(name)?;
        let ints = list.as_primitive_opt::<Int32Type>().map(|a| a.values().iter().map(|&n| n.into()).collect());
        ints.or_else(|| list.as_primitive_opt::<Int64Type>().map(|a| a.values().to_vec()))
    }

    /// By CPU: the values of all CPUs, or of the two that a wake-up reads, with `other` for the rest.
    fn by_cpu(&self, what: &str, other: i64) -> Option<Vec<i64>> {
        if let Some(all) = self.longs(&format!("cpu_{what}")) {
            return Some(all);
        }
        let mut all = vec![other; self.cpus];
        for (cpu, whose) in [("prev_cpu", "prev"), ("waker_cpu", "this")] {
            let cpu = usize::try_from(self.long(cpu)?).ok()?;
            *all.get_mut(cpu)? = self.long(&format!("{whose}_{what}"))?;
        }
        Some(all)
    }

    /// By CPU: the number of its tasks if all are SCHED_IDLE, else 0.
    fn sched_idle(&self) -> Option<Vec<i64>> {
        let mut tasks = vec![0; self.cpus];
        if let Some(words) = self.list("sched_idle_mask") {
            let words = words.as_primitive_opt::<UInt64Type>()?.values().to_vec();
            let running = self.by_cpu("nr_running", 0)?;
            for (cpu, (tasks, running)) in tasks.iter_mut().zip(running).enumerate() {
                if words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 != 0) {
                    *tasks = running.max(1);
                }
            }
        }
        Some(tasks)
    }

    fn put(&self, to: &mut Vec<u8>, column: Column, name: &str) -> Option<()> {
        let Some(cell) = self.cell(name) else {
            return column.may_be_null().then_some(());
        };
        if let Some(list) = cell.as_list_opt::<i32>() {
            return append_list(to, &list.value(self.at)).then_some(());
        }
        append_value(to, column, cell, self.at).then_some(())
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
