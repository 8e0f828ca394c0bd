//! Writes events as the tables of a recording.

use crate::event::{Event, EventKind, Losses};
use crate::trace_info::TraceInfo;
use crate::wakeup_tracker::{Wakeup, WakeupTracker};
use crate::{HOW_TO_RECORD, ImportError};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_events::WriteError;
use wakelab_events::limits::MAX_CPUS;
use wakelab_events::recording::{FrequencyRow, IdleStateRow, MigrationRow, RecordingWriter, SwitchRow, WakingRow};
use wakelab_events::stream::InOrder;

/// What was imported: how many events of each kind, and of what machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Wake-ups.
    pub wakings: u64,
    /// Context switches.
    pub switches: u64,
    /// Migrations.
    pub migrations: u64,
    /// Changes of idle states.
    pub idle: u64,
    /// Changes of frequencies.
    pub frequencies: u64,
    /// Events that were too far out of order to be sorted by time.
    pub late: u64,
    /// Events that are missing, of all files.
    pub losses: Losses,
    /// The file of `losses.first_bad_line`.
    pub bad_file: Option<PathBuf>,
    /// The machine and the kernel, as far as the files have them.
    pub info: TraceInfo,
    /// The times of the first and the last event, ns.
    pub span: Option<(u64, u64)>,
    /// Events left out because the number of their CPU is above 8191.
    pub no_cpu: u64,
}

/// How many events are held to sort them by time. Perfetto writes the buffers of the CPUs one after the other, each as
/// full as it was.
const REORDER_EVENTS: usize = 1 << 19;

/// Writes the events that `read` reports to a folder, which appears when it is complete. `read` returns what each file
/// lost; `info` is what it has found out about the machine by its first event.
pub(crate) fn write_folder(
    files: &[PathBuf],
    info: &RefCell<TraceInfo>,
    to: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Vec<Losses>, ImportError>,
) -> Result<Imported, ImportError> {
    let io = |at: &Path, e: std::io::Error| ImportError::new(at, e.to_string());
    let exists = to.exists();
    if exists && fs::read_dir(to).map_err(|e| io(to, e))?.next().is_some() {
        return Err(ImportError::new(to, "expected a folder that is empty or not there yet, found something in it")
            .with_hint("name another folder"));
    }
    let temporary = temporary_folder(to);
    let _ = fs::remove_dir_all(&temporary);
    let result = write(files, info, &temporary, read).and_then(|imported| {
        if exists {
            fs::remove_dir(to).map_err(|e| io(to, e))?;
        }
        fs::rename(&temporary, to).map_err(|e| io(to, e))?;
        Ok(imported)
    });
    if result.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    result
}

/// The name of the folder while it is written, next to its final name.
fn temporary_folder(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!(".wakelab-{name}-{}", std::process::id()))
}

fn write(
    files: &[PathBuf],
    info: &RefCell<TraceInfo>,
    temporary: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Vec<Losses>, ImportError>,
) -> Result<Imported, ImportError> {
    let write_error = |e: WriteError| ImportError::new(&e.path, e.what).with_hint("make room, or name another folder");
    // The folder is begun with the first event that leaves the buffer: by then the machine is known.
    let begin = || {
        let folder = RecordingWriter::new(temporary, metadata(files, &info.borrow()))?;
        Ok::<_, WriteError>(Writer {
            folder,
            wakeups: WakeupTracker::default(),
            imported: Imported::default(),
            seen: BTreeSet::new(),
        })
    };
    let mut writer: Option<Writer> = None;
    let mut write = |event: Event| {
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(begin()?),
        };
        writer.event(&event)
    };
    let mut reordered = InOrder::with_capacity(REORDER_EVENTS);
    let losses = read(&mut |event| {
        event.check().map_err(|what| ImportError::new(&files[0], what).with_hint("was the file damaged?"))?;
        reordered.push(event.t_ns, event);
        match reordered.has_room() {
            true => Ok(()),
            false => reordered.pop().map_or(Ok(()), &mut write).map_err(write_error),
        }
    })?;
    while let Some(event) = reordered.pop() {
        write(event).map_err(write_error)?;
    }
    let some = writer.filter(|Writer { imported, .. }| imported.switches + imported.wakings + imported.migrations > 0);
    let Some(mut writer) = some else { return Err(no_events(files, &losses)) };
    let mut imported = Imported { info: info.borrow().clone(), ..std::mem::take(&mut writer.imported) };
    for (file, of_file) in files.iter().zip(losses) {
        let sum = &mut imported.losses;
        sum.lost = sum.lost.saturating_add(of_file.lost);
        sum.unread += of_file.unread;
        sum.overwritten = sum.overwritten.saturating_add(of_file.overwritten);
        sum.bad_lines += of_file.bad_lines;
        if let (None, Some(line)) = (sum.first_bad_line, of_file.first_bad_line) {
            sum.first_bad_line = Some(line);
            imported.bad_file = Some(file.clone());
        }
    }
    let tracepoints = writer.seen.iter().copied().collect::<Vec<_>>().join(",");
    let mut closing =
        vec![("wakelab.tracepoints", tracepoints), ("wakelab.events_lost", imported.losses.lost.to_string())];
    closing.extend(imported.span.map(|(from, to)| ("wakelab.duration_ns", (to - from).to_string())));
    writer.folder.close_segments_with(closing).map_err(write_error)?;
    Ok(imported)
}

fn no_events(files: &[PathBuf], losses: &[Losses]) -> ImportError {
    let file = files.first().map_or(Path::new(""), PathBuf::as_path);
    let sum = |of: fn(&Losses) -> u64| losses.iter().map(of).sum::<u64>();
    if sum(|of| of.unread) > 0 {
        let what = "expected scheduler events with a time and a CPU, found none with both";
        return ImportError::new(file, what).with_hint("record all CPUs: `perf record -a -e 'sched:*'`");
    }
    if sum(|of| of.bad_lines) > 0 {
        let line = losses.iter().find_map(|of| of.first_bad_line).unwrap_or(0);
        let what = format!("expected scheduler events, found only lines that are not understood, such as line {line}");
        return ImportError::new(file, what).with_hint(HOW_TO_RECORD);
    }
    ImportError::new(file, "expected scheduler events, found none").with_hint(
        "record sched_switch, sched_waking, sched_wakeup, sched_wakeup_new and sched_migrate_task; for idle states \
         and frequencies cpu_idle and cpu_frequency",
    )
}

/// The metadata of the recording's files.
fn metadata(files: &[PathBuf], info: &TraceInfo) -> Vec<(&'static str, String)> {
    let names = files.iter().map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy());
    let mut workload = names.clone().next().unwrap_or_default().into_owned();
    if files.len() > 1 {
        workload += &format!(" and {} more", files.len() - 1);
    }
    let mut metadata = vec![
        ("wakelab.source", info.format.unwrap_or_default().to_owned()),
        ("wakelab.snapshot", "none".to_owned()),
        ("wakelab.workload", workload),
        ("wakelab.variant", "default".to_owned()),
    ];
    metadata.extend(info.release.clone().map(|release| ("wakelab.release", release)));
    metadata.extend(Some(info.machine()).filter(|machine| !machine.is_empty()).map(|text| ("wakelab.machine", text)));
    let domains = |llcs: &Vec<u32>| {
        let llcs = llcs.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        ("wakelab.domains", format!("{{\"cpu_llc\":[{llcs}]}}"))
    };
    metadata.extend(info.cpu_llc.as_ref().map(domains));
    metadata
}

struct Writer {
    folder: RecordingWriter,
    wakeups: WakeupTracker,
    imported: Imported,
    /// The tracepoints of the events so far.
    seen: BTreeSet<&'static str>,
}

impl Writer {
    fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        let (first, last) = self.imported.span.unwrap_or((event.t_ns, event.t_ns));
        self.imported.late += u64::from(event.t_ns < last);
        self.imported.span = Some((first.min(event.t_ns), last.max(event.t_ns)));
        self.seen.insert(event.kind.tracepoint());
        let (t_ns, known) = (event.t_ns as i64, |cpu: u32| cpu < MAX_CPUS);
        if !known(event.cpu) {
            self.imported.no_cpu += 1;
            return Ok(());
        }
        if let Some(wakeup) = self.wakeups.event(event) {
            self.wakeup(&wakeup)?;
        }
        let imported = &mut self.imported;
        match event.kind {
            EventKind::Switch { prev_pid, prev_sleeps, next_pid, .. } => {
                imported.switches += 1;
                self.folder.switch(SwitchRow { t_ns, cpu: event.cpu as i32, prev_pid, prev_sleeps, next_pid })
            }
            EventKind::Migrate { pid, from_cpu, to_cpu } if known(from_cpu) && known(to_cpu) => {
                imported.migrations += 1;
                let (from_cpu, to_cpu) = (from_cpu as i32, to_cpu as i32);
                self.folder.migration(MigrationRow { t_ns, pid, from_cpu, to_cpu })
            }
            EventKind::Idle { cpu, state } if known(cpu) => {
                imported.idle += 1;
                self.folder.idle(IdleStateRow { t_ns, cpu: cpu as i32, state })
            }
            EventKind::Frequency { cpu, khz } if known(cpu) => {
                imported.frequencies += 1;
                self.folder.frequency(FrequencyRow { t_ns, cpu: cpu as i32, khz })
            }
            _ => Ok(()),
        }
    }

    fn wakeup(&mut self, wakeup: &Wakeup) -> Result<(), WriteError> {
        if wakeup.dest_cpu >= MAX_CPUS || wakeup.prev_cpu.is_some_and(|cpu| cpu >= MAX_CPUS) || wakeup.waker_pid < 0 {
            return Ok(());
        }
        self.imported.wakings += 1;
        self.folder.waking(WakingRow {
            t_ns: wakeup.t_ns as i64,
            waker_cpu: wakeup.waker_cpu as i32,
            waker_pid: wakeup.waker_pid,
            waker_comm: &wakeup.waker_comm,
            wakee_pid: wakeup.wakee_pid,
            wakee_comm: &wakeup.wakee_comm,
            prev_cpu: wakeup.prev_cpu.map(|cpu| cpu as i32),
            dest_cpu: wakeup.dest_cpu as i32,
            preempt_count: None,
            wakee_policy: None,
            wakee_static_prio: None,
            wakee_flags: None,
            wakee_nr_cpus_allowed: None,
        })
    }
}
