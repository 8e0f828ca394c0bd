//! Writes events as the tables of a recording.

use crate::event::{Event, EventKind, Losses};
use crate::wakeup_tracker::{Wakeup, WakeupTracker};
use crate::{ImportError, Kind};
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_events::WriteError;
use wakelab_events::recording::{FrequencyRow, IdleStateRow, MigrationRow, RecordingWriter, SwitchRow, WakingRow};
use wakelab_events::stream::InOrder;

/// How many events of each kind were imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Events that are missing.
    pub losses: Losses,
    /// Events left out because the number of their CPU is above 8191.
    pub no_cpu: u64,
}

/// How many events are held to sort them by time. Perfetto writes the buffers of the CPUs one after the other, each as
/// full as it was.
const REORDER_EVENTS: usize = 1 << 19;
/// The highest CPU number that a recording may have.
const MAX_CPU: u32 = 8191;

/// Writes the events that `read` reports to a folder, which appears when it is complete.
pub(crate) fn write_folder(
    path: &Path,
    kind: Kind,
    to: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Losses, ImportError>,
) -> Result<Imported, ImportError> {
    let io = |at: &Path, e: std::io::Error| ImportError::new(at, e.to_string());
    let exists = to.exists();
    if exists && fs::read_dir(to).map_err(|e| io(to, e))?.next().is_some() {
        return Err(ImportError::new(to, "expected a folder that is empty or not there yet, found something in it")
            .with_hint("name another folder"));
    }
    let temporary = temporary_folder(to);
    let _ = fs::remove_dir_all(&temporary);
    let result = write(path, kind, &temporary, read).and_then(|imported| {
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
    path: &Path,
    kind: Kind,
    temporary: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Losses, ImportError>,
) -> Result<Imported, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let metadata = vec![
        ("wakelab.source", kind.name().to_owned()),
        ("wakelab.snapshot", "none".to_owned()),
        ("wakelab.workload", name),
        ("wakelab.variant", "default".to_owned()),
    ];
    let write_error = |e: WriteError| ImportError::new(temporary, e.to_string());
    let folder = RecordingWriter::new(temporary, metadata).map_err(write_error)?;
    let mut writer = Writer { folder, wakeups: WakeupTracker::default(), imported: Imported::default(), latest_ns: 0 };
    let mut reordered = InOrder::with_capacity(REORDER_EVENTS);
    let losses = read(&mut |event| {
        event.check().map_err(|what| ImportError::new(path, what).with_hint("was the file damaged?"))?;
        reordered.push(event.t_ns, event);
        match reordered.has_room() {
            true => Ok(()),
            false => reordered.pop().map_or(Ok(()), |event| writer.event(&event)).map_err(write_error),
        }
    })?;
    while let Some(event) = reordered.pop() {
        writer.event(&event).map_err(write_error)?;
    }
    let found = Imported { losses, ..writer.imported };
    if found.switches + found.wakings + found.migrations == 0 {
        return Err(ImportError::new(path, "expected scheduler events, found none").with_hint(
            "record sched_switch, sched_waking, sched_wakeup, sched_wakeup_new and sched_migrate_task; for idle states \
             and frequencies cpu_idle and cpu_frequency",
        ));
    }
    writer.folder.close_segments().map_err(write_error)?;
    Ok(found)
}

struct Writer {
    folder: RecordingWriter,
    wakeups: WakeupTracker,
    imported: Imported,
    latest_ns: u64,
}

impl Writer {
    fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.imported.late += u64::from(event.t_ns < self.latest_ns);
        self.latest_ns = self.latest_ns.max(event.t_ns);
        let (t_ns, known) = (event.t_ns as i64, |cpu: u32| cpu <= MAX_CPU);
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
        if wakeup.dest_cpu > MAX_CPU || wakeup.prev_cpu.is_some_and(|cpu| cpu > MAX_CPU) || wakeup.waker_pid < 0 {
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
        })
    }
}
