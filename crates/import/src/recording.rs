//! Writes events as the tables of a recording.

use crate::event::{Event, EventKind, Losses};
use crate::trace_info::TraceInfo;
use crate::wakeup_tracker::{Wakeup, WakeupTracker};
use crate::{HOW_TO_RECORD, ImportError, KnownMachine};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use wakelab_events::WriteError;
use wakelab_events::limits::MAX_CPUS;
use wakelab_events::recording::{
    FrequencyRow, IdleStateRow, MigrationRow, NameRow, RecordingWriter, SwitchRow, WakingRow,
};
use wakelab_events::stream::InOrder;
use wakelab_input::cpulist_text;

/// The result of an import: the number of events of each kind, and the machine.
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
    /// The files.
    pub files: Vec<PathBuf>,
    /// The machine and the kernel, as far as the files have them.
    pub info: TraceInfo,
    /// The times of the first and the last event, ns.
    pub span: Option<(u64, u64)>,
    /// Events left out because the number of their CPU is above 8191.
    pub no_cpu: u64,
    /// Wake-ups left out because their end, the wake-up or the run of the wakee, is not in the files.
    pub unfinished: u64,
    /// By CPU: the time of its first event, ns.
    pub cpu_begins_ns: BTreeMap<u32, u64>,
}

/// CPUs whose first events are this far apart, and this part of the trace, are told of, ns.
const APART_NS: u64 = 10_000_000;
const APART_SHARE: f64 = 0.1;

impl Imported {
    /// Returns the time between the first events of CPUs, ns, and the CPU that begins last, if it is long, or if events
    /// were overwritten before they were read.
    pub fn begin_apart(&self) -> Option<(u64, u32)> {
        let first = self.cpu_begins_ns.values().min()?;
        let (&last_cpu, &last) = self.cpu_begins_ns.iter().max_by_key(|&(&cpu, &at)| (at, std::cmp::Reverse(cpu)))?;
        let apart = last - first;
        let (from, to) = self.span?;
        let far = apart >= APART_NS && apart as f64 >= APART_SHARE * (to - from) as f64;
        (apart > 0 && (far || self.losses.overwritten > 0)).then_some((apart, last_cpu))
    }
}

/// How many events are held to sort them by time. Perfetto writes the buffers of the CPUs one after the other, each as
/// full as it was.
const REORDER_EVENTS: usize = 1 << 19;

/// Writes the events that `read` reports to a folder, which appears when it is complete. `read` returns what each file
/// lost; `info` is what it has found out about the machine by its first event.
pub(crate) fn write_folder(
    files: &[PathBuf],
    info: &RefCell<TraceInfo>,
    machine: Option<&KnownMachine>,
    to: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Vec<Losses>, ImportError>,
) -> Result<Imported, ImportError> {
    let io = |at: &Path, e: std::io::Error| ImportError::new(at, e.to_string());
    let exists = to.exists();
    if exists && fs::read_dir(to).map_err(|e| io(to, e))?.next().is_some() {
        return Err(ImportError::new(to, "expected an empty or new folder, found one with something in it")
            .with_hint("name another folder"));
    }
    let temporary = temporary_folder(to);
    let _ = fs::remove_dir_all(&temporary);
    let result = write(files, info, machine, &temporary, read).and_then(|imported| {
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
    machine: Option<&KnownMachine>,
    temporary: &Path,
    read: impl FnOnce(&mut dyn FnMut(Event) -> Result<(), ImportError>) -> Result<Vec<Losses>, ImportError>,
) -> Result<Imported, ImportError> {
    let write_error = |e: WriteError| ImportError::new(&e.path, e.what).with_hint("make room, or name another folder");
    // The folder is begun with the first event that leaves the buffer: by then the machine is known.
    let begin = || {
        let folder = RecordingWriter::new(temporary, metadata(files, &info.borrow(), machine))?;
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
        writer.event(&event, &info.borrow())
    };
    let mut reordered = InOrder::with_capacity(REORDER_EVENTS);
    let losses = read(&mut |event| {
        event.check().map_err(|what| ImportError::new(&files[0], what).with_hint("was the file damaged?"))?;
        if let Some((machine, cpu)) = machine.and_then(|machine| Some((machine, machine.lacks(&event)?))) {
            let cpus = machine.cpus();
            let cpus = match cpus.len() {
                1 if cpus == [0] => "one CPU".to_owned(),
                n if n == machine.cpu_llc.len() => format!("{n} CPUs"),
                _ => format!("CPUs {}", cpulist_text(&cpus)),
            };
            let what = format!("--machine: the trace has CPU {cpu}, but {} has {cpus}", machine.name);
            return Err(ImportError::new(&files[0], what).with_hint("name the machine on which the trace was recorded"));
        }
        reordered.push(event.t_ns, event);
        match reordered.has_room() {
            true => Ok(()),
            false => reordered.pop().map_or(Ok(()), &mut write).map_err(write_error),
        }
    })?;
    while let Some(event) = reordered.pop() {
        write(event).map_err(write_error)?;
    }
    let found = writer.as_ref().map(|Writer { imported, wakeups, .. }| {
        (imported.switches + imported.wakings + imported.migrations, wakeups.unfinished())
    });
    let Some(mut writer) = writer.filter(|_| found.is_some_and(|(rows, _)| rows > 0)) else {
        return Err(no_events(files, &losses, found.map_or(0, |(_, unfinished)| unfinished)));
    };
    let mut imported =
        Imported { info: info.borrow().clone(), files: files.to_vec(), ..std::mem::take(&mut writer.imported) };
    imported.info.names.clear();
    imported.unfinished = writer.wakeups.unfinished();
    if let Some(machine) = machine {
        imported.info.cpu_llc = Some(machine.llcs());
    }
    losses.into_iter().enumerate().for_each(|(file, of_file)| imported.losses.add(file, of_file));
    let tracepoints = writer.seen.iter().copied().collect::<Vec<_>>().join(",");
    let mut closing = vec![
        ("wakelab.tracepoints", tracepoints),
        ("wakelab.events_lost", imported.losses.lost.to_string()),
        ("wakelab.unfinished", imported.unfinished.to_string()),
    ];
    if imported.losses.overwritten > 0 {
        let begins: Vec<String> = imported.cpu_begins_ns.iter().map(|(cpu, since)| format!("{cpu}:{since}")).collect();
        closing.push(("wakelab.events_overwritten", imported.losses.overwritten.to_string()));
        closing.push(("wakelab.cpu_begins", begins.join(",")));
    }
    closing.extend(imported.span.map(|(from, to)| ("wakelab.duration_ns", (to - from).to_string())));
    writer.folder.close_segments_with(closing).map_err(write_error)?;
    Ok(imported)
}

fn no_events(files: &[PathBuf], losses: &[Losses], unfinished: u64) -> ImportError {
    let file = files.first().map_or(Path::new(""), PathBuf::as_path);
    let sum = |of: fn(&Losses) -> u64| losses.iter().map(of).sum::<u64>();
    if sum(|of| of.unread) > 0 {
        let what = "expected scheduler events with a time and a CPU, found none that have both";
        return ImportError::new(file, what).with_hint("record all CPUs: `perf record -a -e 'sched:*'`");
    }
    if unfinished > 0 {
        let wakings = if unfinished == 1 {
            "sched_waking event whose wake-up or run is"
        } else {
            "sched_waking events whose wake-ups or runs are"
        };
        let what = format!("expected scheduler events, found only {unfinished} {wakings} not in the file");
        return ImportError::new(file, what)
            .with_hint("record sched_wakeup, sched_switch and sched_migrate_task besides sched_waking");
    }
    let worst = |of: &Losses| of.bad.iter().max_by_key(|bad| bad.lines).cloned();
    if let Some((file, of, worst)) = files.iter().zip(losses).find_map(|(file, of)| Some((file, of, worst(of)?))) {
        let event = worst.event.map(|event| format!("{event} ")).unwrap_or_default();
        let lines = if worst.lines == 1 { "line" } else { "lines" };
        let what = format!(
            "expected scheduler events, found only lines that wakelab does not understand, such as line {}: {} \
             {event}{lines} {}",
            of.first_bad_line.unwrap_or(worst.first),
            worst.lines,
            worst.why.words(worst.lines)
        );
        return ImportError::new(file, what).with_hint(HOW_TO_RECORD);
    }
    ImportError::new(file, "expected scheduler events, found none").with_hint(
        "record sched_switch, sched_waking, sched_wakeup, sched_wakeup_new and sched_migrate_task, and for idle states \
         and frequencies also cpu_idle and cpu_frequency",
    )
}

/// The metadata of the recording's files.
fn metadata(files: &[PathBuf], info: &TraceInfo, machine: Option<&KnownMachine>) -> Vec<(&'static str, String)> {
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
    let name = machine.map_or_else(|| info.machine(), |machine| machine.name.clone());
    metadata.extend(Some(name).filter(|name| !name.is_empty()).map(|name| ("wakelab.machine", name)));
    let domains = |llcs: Vec<u32>| {
        let llcs = llcs.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        ("wakelab.domains", format!("{{\"cpu_llc\":[{llcs}]}}"))
    };
    metadata.extend(machine.map(KnownMachine::llcs).or_else(|| info.cpu_llc.clone()).map(domains));
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
    fn event(&mut self, event: &Event, info: &TraceInfo) -> Result<(), WriteError> {
        let (first, last) = self.imported.span.unwrap_or((event.t_ns, event.t_ns));
        self.imported.late += u64::from(event.t_ns < last);
        self.imported.span = Some((first.min(event.t_ns), last.max(event.t_ns)));
        self.seen.insert(event.kind.tracepoint());
        let (t_ns, known) = (event.t_ns as i64, |cpu: u32| cpu < MAX_CPUS);
        if !known(event.cpu) {
            self.imported.no_cpu += 1;
            return Ok(());
        }
        let begins = self.imported.cpu_begins_ns.entry(event.cpu).or_insert(event.t_ns);
        *begins = event.t_ns.min(*begins);
        let wakeup = self.wakeups.event(event, info);
        for (pid, comm) in self.wakeups.new_names() {
            self.folder.name(NameRow { t_ns, pid, comm: &comm })?;
        }
        if let Some(wakeup) = wakeup {
            self.wakeup(&wakeup)?;
        }
        let imported = &mut self.imported;
        match event.kind {
            EventKind::Switch { prev_pid, prev_sleeps, next_pid, .. } => {
                imported.switches += 1;
                self.folder.switch(SwitchRow { t_ns, cpu: event.cpu as i32, prev_pid, prev_sleeps, next_pid })
            }
            EventKind::Migrate { pid, from_cpu, to_cpu, .. } if known(from_cpu) && known(to_cpu) => {
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
