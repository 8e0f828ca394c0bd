//! Reads a recording row by row.

use super::columns::Column;
use super::error::ReadError;
use super::features::RowFeatures;
use super::line_limit::LineLimit;
use super::fields::Fields;
use super::row::Row;
use super::topo::TopoFile;
use csv::ByteRecord;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::select::WakeFlags;

/// A recording that is being read. It holds one row at a time.
pub struct Reader {
    csv: csv::Reader<Box<dyn Read + Send>>,
    fields: Fields,
    /// The first row has been read into the fields already.
    pending: bool,
    topo: Arc<TopoFile>,
    kernel: String,
    topology: String,
    features: Arc<RowFeatures>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("file", &self.fields.file).field("line", &self.line()).finish_non_exhaustive()
    }
}

impl Reader {
    /// Opens a recording and the description of its machine beside it.
    ///
    /// # Errors
    /// Where one of the two cannot be read, has no rows, lacks a column, or is of a kernel without a preset.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(|e| {
            ReadError::of_file(path, e.to_string()).with_hint("expected a recording: a CSV file, plain or gzip")
        })?;
        Self::new(path, file, |kernel, topology| {
            let topo = TopoFile::path_for(path, kernel, topology);
            if !topo.exists() {
                return Err(ReadError::of_file(path, format!("the machine's description {} is missing", topo.display()))
                    .with_hint("each recording needs the topo-<kernel>-<topology>.json of its machine beside it"));
            }
            TopoFile::read(&topo).map(Arc::new)
        })
    }

    /// Reads a recording from `source`, plain or gzip; `path` is only named in errors. `topo` gives the description of
    /// the machine for a kernel and a topology.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn new(
        path: &Path,
        source: impl Read + Send + 'static,
        topo: impl FnOnce(&str, &str) -> Result<Arc<TopoFile>, ReadError>,
    ) -> Result<Self, ReadError> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        let magic = source.fill_buf().map_err(|e| ReadError::of_file(path, e.to_string()))?;
        let inner: Box<dyn Read + Send> = if magic.starts_with(&[0x1f, 0x8b]) {
            Box::new(LineLimit::new(MultiGzDecoder::new(source)))
        } else {
            Box::new(LineLimit::new(source))
        };
        let mut csv = csv::ReaderBuilder::new().has_headers(false).buffer_capacity(1 << 16).from_reader(inner);
        let mut record = ByteRecord::new();
        let header = csv.read_byte_record(&mut record).map_err(|e| csv_error(path, &e))?;
        if !header {
            return Err(ReadError::of_file(path, "empty; expected a header line with the names of the columns"));
        }
        let mut fields = Fields::new(path, &record)?;
        if !csv.read_byte_record(&mut fields.record).map_err(|e| csv_error(path, &e))? {
            return Err(ReadError::of_file(path, "a header, but no row"));
        }
        let kernel = fields.text(Column::kernel).into_owned();
        let topology = fields.text(Column::topology).into_owned();
        Preset::of_release(&kernel).map_err(|e| {
            fields.error(Column::kernel, e.to_string()).with_hint("`wakelab kernel list` shows the kernels that are known")
        })?;
        let topo = topo(&kernel, &topology)?;
        let reader = Reader { csv, fields, pending: true, topo, kernel, topology, features: Arc::default() };
        reader.check_topo()?;
        Ok(reader)
    }

    /// The machine.
    pub fn topo(&self) -> &Arc<TopoFile> {
        &self.topo
    }

    /// The kernel in short form, as the rows name it.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.fields.file
    }

    /// The line of the row that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.fields.line()
    }

    /// Reads the next row; false at the end.
    ///
    /// # Errors
    /// Where the row is not of the form that the header and the machine ask for. Nothing can be read after an error.
    pub fn read(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        if self.pending {
            self.pending = false;
        } else if !self.csv.read_byte_record(&mut self.fields.record).map_err(|e| csv_error(&self.fields.file, &e))? {
            return Ok(false);
        }
        self.fill(row)?;
        Ok(true)
    }

    /// Whether the description found is of the row's kernel and machine.
    fn check_topo(&self) -> Result<(), ReadError> {
        let topo = &self.topo;
        let of_kernel = Preset::of_release(&self.kernel).is_ok_and(|preset| preset.name == topo.preset.name);
        let (column, row, file) = if topo.topology != self.topology {
            (Column::topology, &self.topology, &topo.topology)
        } else if !of_kernel {
            (Column::kernel, &self.kernel, &topo.release)
        } else {
            return Ok(());
        };
        Err(self.fields.error(column, format!("the row says {row:?}, {} says {file:?}", topo.path.display())))
    }

    fn fill(&mut self, row: &mut Row) -> Result<(), ReadError> {
        use Column as C;
        if self.fields.bytes(C::kernel) != self.kernel.as_bytes() || self.fields.bytes(C::topology) != self.topology.as_bytes() {
            let found = format!(
                "kernel {:?}, topology {:?}, but the file began with {:?}, {:?}",
                self.fields.text(C::kernel), self.fields.text(C::topology), self.kernel, self.topology
            );
            return Err(self.fields.error(C::kernel, found).with_hint("put each kernel and machine into a file of its own"));
        }
        if self.fields.bytes(C::features) != self.features.text.as_bytes() {
            self.features = Arc::new(RowFeatures::parse(&self.fields.text(C::features), self.topo.preset));
        }
        let topo = Arc::clone(&self.topo);
        let domains = &topo.domains;
        let nr_cpus = domains.nr_cpus;

        row.line = self.line();
        row.kernel.clone_from(&self.kernel);
        row.features = Arc::clone(&self.features);
        self.fields.text_into(C::load, &mut row.load);
        self.fields.text_into(C::variant, &mut row.variant);
        row.seq = self.fields.number(C::seq)?;
        row.t_ns = self.fields.number(C::t_ns)?;
        row.dur_ns = self.fields.number(C::dur_ns)?;
        row.stable = self.fields.flag(C::stable)?;

        let waker = &mut row.waker;
        waker.cpu = self.fields.cpu(C::waker_cpu, nr_cpus)?;
        waker.pid = self.fields.signed(C::waker_pid)?;
        self.fields.text_into(C::waker_comm, &mut waker.comm);
        waker.flags = self.fields.hex(C::waker_flags)?;
        waker.per_cpu_kthread = self.fields.flag(C::waker_percpu_kthread)?;
        waker.in_task = self.fields.flag(C::in_task)?;
        waker.flips_before = self.fields.number(C::waker_flips_before)?;
        waker.flips = self.fields.number(C::waker_flips)?;
        waker.last_wakee_is_p = self.fields.flag(C::last_wakee_is_p)?;
        waker.flip_decay_due = self.fields.flag(C::flip_decay_due)?;
        waker.h_load = self.fields.number(C::waker_h_load)?;

        let wakee = &mut row.wakee;
        wakee.pid = self.fields.signed(C::wakee_pid)?;
        self.fields.text_into(C::wakee_comm, &mut wakee.comm);
        wakee.policy = self.fields.number(C::wakee_policy)?;
        wakee.static_prio = self.fields.number(C::wakee_static_prio)?;
        wakee.on_rq = self.fields.flag(C::on_rq)?;
        wakee.prev_cpu = self.fields.cpu(C::prev_cpu, nr_cpus)?;
        wakee.recent_used_cpu = self.fields.signed(C::recent_used_cpu)?;
        wakee.flips = self.fields.number(C::wakee_flips)?;
        wakee.affinity = self.fields.mask(C::affinity, nr_cpus)?;
        if wakee.affinity.is_empty() {
            return Err(self.fields.error(C::affinity, "expected at least one CPU, found none".into()));
        }
        wakee.util_avg = self.fields.number(C::util_avg)?;
        wakee.runnable_avg = self.fields.number(C::runnable_avg)?;
        wakee.util_est = self.fields.number(C::util_est)?;
        wakee.h_load = self.fields.number(C::task_h_load)?;
        wakee.last_update_time_set = self.fields.flag(C::last_update_time_set)?;
        wakee.numa_preferred_nid = self.fields.signed(C::numa_preferred_nid)?;

        row.wake_flags = WakeFlags::from_bits_retain(self.fields.hex(C::wake_flags)?);
        row.chosen_cpu = self.fields.cpu(C::chosen_cpu, nr_cpus)?;
        row.recent_used_cpu_after = self.fields.signed(C::recent_used_cpu_after)?;
        row.sd_llc_size = self.fields.number(C::sd_llc_size)?;
        row.idle_mask = self.fields.mask(C::idle_mask, nr_cpus)?;
        row.curr_idle_mask = self.fields.mask(C::curr_idle_mask, nr_cpus)?;
        row.ttwu_pending_mask = self.fields.mask(C::ttwu_pending_mask, nr_cpus)?;

        let n = nr_cpus as usize;
        let cpus = &mut row.cpus;
        self.fields.list(C::cpu_nr_running, n, &mut cpus.nr_running)?;
        self.fields.list(C::cpu_h_nr_queued, n, &mut cpus.h_nr_queued)?;
        self.fields.list(C::cpu_h_nr_delayed, n, &mut cpus.h_nr_delayed)?;
        self.fields.list(C::cpu_h_nr_idle, n, &mut cpus.h_nr_idle)?;
        self.fields.list(C::cpu_load_avg, n, &mut cpus.load_avg)?;
        self.fields.list(C::cpu_runnable_avg, n, &mut cpus.runnable_avg)?;
        self.fields.list(C::cpu_util_avg, n, &mut cpus.util_avg)?;
        self.fields.list(C::cpu_util_est, n, &mut cpus.util_est)?;
        self.fields.list(C::cpu_capacity, n, &mut cpus.capacity)?;
        row.sched_idle_mask = CpuMask::new(nr_cpus);
        row.any_sched_idle = false;
        for cpu in 0..n {
            // sched_idle_rq(): something runs, and all of it is SCHED_IDLE.
            if cpus.nr_running[cpu] > 0 && cpus.nr_running[cpu] == cpus.h_nr_idle[cpu] {
                row.sched_idle_mask.set(cpu as u32);
                row.any_sched_idle = true;
            }
        }
        self.fill_llcs(row)?;
        if row.wake_flags.intersects(WakeFlags::FORK | WakeFlags::EXEC) {
            let slow = row.slow_path.get_or_insert_default();
            self.fields.list(C::cpu_idle_stamp, n, &mut slow.idle_stamp)?;
            self.fields.list(C::cpu_idle_exit_latency, n, &mut slow.idle_exit_latency)?;
            self.fields.list(C::cpu_group_cap_l0, n, &mut slow.group_capacity[0])?;
            self.fields.list(C::cpu_group_cap_l1, n, &mut slow.group_capacity[1])?;
            self.fields.list(C::cpu_group_cap_l2, n, &mut slow.group_capacity[2])?;
            self.fields.list(C::cpu_group_imbalance, n, &mut slow.group_imbalance)?;
            let columns = [C::cpu_group_cap_l0, C::cpu_group_cap_l1, C::cpu_group_cap_l2];
            for (level, column) in columns.into_iter().enumerate() {
                let missing =
                    (0..n).find(|&cpu| level < domains.domains[cpu].len() && slow.group_capacity[level][cpu] == 0);
                if let Some(cpu) = missing {
                    let what = format!("expected the capacity of CPU {cpu}'s group at level {level}, found 0");
                    return Err(self.fields.error(column, what));
                }
            }
        } else {
            row.slow_path = None;
        }
        Ok(())
    }

    fn fill_llcs(&self, row: &mut Row) -> Result<(), ReadError> {
        let (mut ids, mut cores, mut scans) = (Vec::<u32>::new(), Vec::<u8>::new(), Vec::<i32>::new());
        self.fields.items(Column::llc_ids, None, &mut ids)?;
        self.fields.items(Column::llc_has_idle_cores, Some(ids.len()), &mut cores)?;
        self.fields.items(Column::llc_nr_idle_scan, Some(ids.len()), &mut scans)?;
        row.llcs.clear();
        row.llcs.extend(ids.iter().zip(&cores).zip(&scans).map(|((&id, &cores), &scan)| (id, cores != 0, scan)));
        for (what, cpu) in [("prev_cpu", row.wakee.prev_cpu), ("waker_cpu", row.waker.cpu)] {
            let id = self.topo.cpu_llc[cpu as usize];
            if !ids.contains(&id) {
                let what = format!("expected the hints of LLC {id}, that of {what} {cpu}; found LLCs {ids:?}");
                return Err(self.fields.error(Column::llc_ids, what));
            }
        }
        Ok(())
    }
}

/// An error of the CSV or gzip layer.
fn csv_error(path: &Path, error: &csv::Error) -> ReadError {
    let line = error.position().map(csv::Position::line);
    let read = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            ReadError::of_file(path, format!("expected {expected_len} columns as in the header, found {len}"))
                .with_hint("a line that was cut off has fewer; was the file copied whole?")
        }
        csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            ReadError::of_file(path, "the gzip stream ends early: the file is cut off").with_hint("copy it again, whole")
        }
        csv::ErrorKind::Io(e) => ReadError::of_file(path, e.to_string()),
        _ => ReadError::of_file(path, error.to_string()),
    };
    match line {
        Some(line) => read.at_line(line),
        None => read,
    }
}
