//! Events as the tables of a recording.

use crate::Kind;
use crate::error::ImportError;
use crate::event::{Event, Losses, What};
use crate::wakings::{Wakings, Woke};
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_events::WriteError;
use wakelab_events::recording::{FrequencyRow, IdleStateRow, MigrationRow, RecordingWriter, SwitchRow, WakingRow};
use wakelab_events::stream::InOrder;

/// How many events of each kind there were.
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
    /// Events that came so late that they are not in order.
    pub late: u64,
    /// What is missing among them.
    pub losses: Losses,
    /// Events left out, as their CPU has a number above 8191.
    pub no_cpu: u64,
}

/// Perfetto writes the CPUs' buffers one after the other, each as full as it was: so many events are put in order at a time.
const WINDOW: usize = 1 << 19;
/// The highest CPU that a recording may have.
const LAST_CPU: u32 = 8191;

/// What `read` tells, in a folder that appears when all is there.
pub(crate) fn to_folder(
    path: &Path,
    kind: Kind,
    to: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Losses, ImportError>,
) -> Result<Imported, ImportError> {
    let io = |at: &Path, e: std::io::Error| ImportError::new(at, e.to_string());
    let there = to.exists();
    if there && fs::read_dir(to).map_err(|e| io(to, e))?.next().is_some() {
        return Err(ImportError::new(to, "expected a folder that is empty or not there yet, found something in it")
            .with_hint("name another folder"));
    }
    let part = part_of(to);
    let _ = fs::remove_dir_all(&part);
    let result = write(path, kind, &part, read).and_then(|imported| {
        if there {
            fs::remove_dir(to).map_err(|e| io(to, e))?;
        }
        fs::rename(&part, to).map_err(|e| io(to, e))?;
        Ok(imported)
    });
    if result.is_err() {
        let _ = fs::remove_dir_all(&part);
    }
    result
}

/// The folder while it is written, beside the one that it becomes.
fn part_of(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    to.with_file_name(format!(".wakelab-{name}-{}", std::process::id()))
}

fn write(
    path: &Path,
    kind: Kind,
    part: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Losses, ImportError>,
) -> Result<Imported, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let metadata = vec![
        ("wakelab.source", kind.name().to_owned()),
        ("wakelab.snapshot", "none".to_owned()),
        ("wakelab.workload", name),
        ("wakelab.variant", "default".to_owned()),
    ];
    let of_record = |e: WriteError| ImportError::new(part, e.to_string());
    let folder = RecordingWriter::new(part, metadata).map_err(of_record)?;
    let mut writer = Writer { folder, wakings: Wakings::default(), imported: Imported::default(), last: 0 };
    let mut held = InOrder::with_capacity(WINDOW);
    let losses = read(&mut |event| {
        held.push(event.t_ns, event);
        match held.has_room() {
            true => Ok(()),
            false => held.pop().map_or(Ok(()), |event| writer.event(&event)).map_err(of_record),
        }
    })?;
    while let Some(event) = held.pop() {
        writer.event(&event).map_err(of_record)?;
    }
    let found = Imported { losses, ..writer.imported };
    if found.switches + found.wakings + found.migrations == 0 {
        return Err(ImportError::new(path, "expected scheduler events, found none").with_hint(
            "record sched_switch, sched_waking, sched_wakeup, sched_wakeup_new and sched_migrate_task; for idle states and \
             frequencies cpu_idle and cpu_frequency",
        ));
    }
    writer.folder.close_segments().map_err(of_record)?;
    Ok(found)
}

struct Writer {
    folder: RecordingWriter,
    wakings: Wakings,
    imported: Imported,
    last: u64,
}

impl Writer {
    fn event(&mut self, event: &Event) -> Result<(), WriteError> {
        self.imported.late += u64::from(event.t_ns < self.last);
        self.last = self.last.max(event.t_ns);
        let (t_ns, known) = (event.t_ns as i64, |cpu: u32| cpu <= LAST_CPU);
        if !known(event.cpu) {
            self.imported.no_cpu += 1;
            return Ok(());
        }
        if let Some(woke) = self.wakings.event(event) {
            self.woke(&woke)?;
        }
        let imported = &mut self.imported;
        match event.what {
            What::Switch { prev_pid, prev_sleeps, next_pid, .. } => {
                imported.switches += 1;
                self.folder.switch(SwitchRow { t_ns, cpu: event.cpu as i32, prev_pid, prev_sleeps, next_pid })
            }
            What::Migrate { pid, from_cpu, to_cpu } if known(from_cpu) && known(to_cpu) => {
                imported.migrations += 1;
                let (from_cpu, to_cpu) = (from_cpu as i32, to_cpu as i32);
                self.folder.migration(MigrationRow { t_ns, pid, from_cpu, to_cpu })
            }
            What::Idle { cpu, state } if known(cpu) => {
                imported.idle += 1;
                self.folder.idle(IdleStateRow { t_ns, cpu: cpu as i32, state })
            }
            What::Frequency { cpu, khz } if known(cpu) => {
                imported.frequencies += 1;
                self.folder.frequency(FrequencyRow { t_ns, cpu: cpu as i32, khz })
            }
            _ => Ok(()),
        }
    }

    fn woke(&mut self, woke: &Woke) -> Result<(), WriteError> {
        if woke.dest_cpu > LAST_CPU || woke.prev_cpu.is_some_and(|cpu| cpu > LAST_CPU) || woke.waker_pid < 0 {
            return Ok(());
        }
        self.imported.wakings += 1;
        self.folder.waking(WakingRow {
            t_ns: woke.t_ns as i64,
            waker_cpu: woke.waker_cpu as i32,
            waker_pid: woke.waker_pid,
            waker_comm: &woke.waker_comm,
            wakee_pid: woke.wakee_pid,
            wakee_comm: &woke.wakee_comm,
            prev_cpu: woke.prev_cpu.map(|cpu| cpu as i32),
            dest_cpu: woke.dest_cpu as i32,
        })
    }
}
