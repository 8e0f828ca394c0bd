//! `wakelab import`.

use crate::out_file::claim;
use crate::output::{Exit, hint, say};
use crate::progress::FileBar;
use crate::signals::stop_flag;
use anyhow::Context;
use std::path::PathBuf;
use wakelab_import::{BadLines, Imported, KnownMachine};
use wakelab_input::{duration_text, files, printable};
use wakelab_machine::Machine;
use wakelab_report::numbers::{count, thousands};

pub const EXAMPLE: &str = "\
Example:
  wakelab import trace.dat -o imported
  wakelab import trace.txt.gz -o imported --machine test-8c";

/// `wakelab import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Traces: trace-cmd, perf, Perfetto, ftrace text, CTF.
    ///
    /// Recognised by content: trace.dat of trace-cmd (version 6), perf.data, a Perfetto trace, the text of ftrace
    /// (tracefs, trace-cmd report, atrace), a page of systrace, the text of perf script, each of them also compressed
    /// by gzip, the output of atrace -z, or the folder of a CTF trace, which needs babeltrace2. Several files of one
    /// recording are merged by time.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The folder to write; empty or new.
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
    /// The machine that was recorded: a name, or a file.
    ///
    /// It says which CPUs share a cache, which most traces do not. A name from `machine list`, or a file of `machine
    /// import`.
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
}

/// Imports the events of another recorder.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.files.iter().for_each(|file| files::note(file));
    let machine = args.machine.as_deref().map(|name| wakelab_machine::get(name).context("--machine")).transpose()?;
    let machine = machine.map(known);
    claim("--out", &args.out)?;
    let bar = FileBar::new();
    let progress = |done, all| bar.read(done, all);
    let found = wakelab_import::import(&args.files, machine.as_ref(), &args.out, &progress, stop_flag());
    bar.finish();
    let found = found?;
    say!(
        "{}, {} switches, {} migrations, {} idle and {} frequency changes{} in {}",
        count(found.wakings, "wake-up"),
        thousands(found.switches),
        thousands(found.migrations),
        thousands(found.idle),
        thousands(found.frequencies),
        found.span.map(|(from, to)| format!(" of {} ms", thousands((to - from) / 1_000_000))).unwrap_or_default(),
        args.out.display()
    );
    let release = found.info.release.as_ref().map(|release| format!("kernel {release}"));
    let machine = Some(found.info.machine()).filter(|machine| !machine.is_empty());
    let known: Vec<_> = found.info.format.map(str::to_owned).into_iter().chain(release).chain(machine).collect();
    say!("{}", known.join(", "));
    say_bad_lines(&found);
    say_lacks(&found);
    if found.losses.lost > 0 {
        say!(
            "warning: the recorder lost at least {}: a wait whose end was lost ends at a later switch, so do not trust \
             the longest waits or the migrations; record with larger buffers",
            count(found.losses.lost, "event")
        );
    }
    if found.losses.unread > 0 {
        say!("warning: left out {} without a time, a CPU or the event's data", count(found.losses.unread, "sample"));
    }
    if found.no_cpu > 0 {
        say!("warning: left out {} of CPUs above 8191", count(found.no_cpu, "event"));
    }
    if found.late > 0 {
        say!("warning: {} came too late to be put in order", count(found.late, "event"));
    }
    if found.info.cpu_llc.is_none() {
        hint(format_args!("the trace does not say which CPUs share a cache; name its machine with --machine"));
    }
    hint(format_args!("wakelab stats {} counts waits and migrations", args.out.display()));
    Ok(Exit::Done)
}

/// A machine by the kernel's numbers of its CPUs, which traces have.
fn known(machine: Machine) -> KnownMachine {
    let mut cpu_llc = Vec::new();
    for (cpu, of) in (0..).zip(&machine.topology.cpus) {
        cpu_llc.resize(machine.kernel_cpu(cpu) as usize, None);
        cpu_llc.push(Some(of.llc));
    }
    KnownMachine { name: machine.name, cpu_llc }
}

/// Lines that are not understood, by event and by what is wrong with them.
fn say_bad_lines(found: &Imported) {
    for BadLines { event, why, lines, file, first } in &found.losses.bad {
        let file = found.files.get(*file).map(|file| file.display().to_string()).unwrap_or_default();
        let event = event.map(|event| format!("{event} ")).unwrap_or_default();
        let what = why.words(*lines);
        let lines = count(*lines, "line").replacen(' ', &format!(" {event}"), 1);
        say!("warning: {lines} {what} (line {first} of {}, left out)", printable(&file));
    }
}

/// What the trace lacks, so that something is not known.
fn say_lacks(found: &Imported) {
    let overwritten = found.losses.overwritten;
    if overwritten > 0 {
        say!("warning: {} overwritten before the buffer was read", count(overwritten, "event"));
    }
    if let Some((apart, last)) = found.begin_apart() {
        let or_idle = if overwritten > 0 { "" } else { ", unless it was idle" };
        say!(
            "warning: the CPUs' events begin up to {} apart, CPU {last} last: what ran there before, who waited for \
             it, and wake-ups that went there are not known{or_idle}",
            duration_text(apart)
        );
    }
    let is_bad = |name: &str| found.losses.bad.iter().any(|bad| bad.event.is_none_or(|event| event.starts_with(name)));
    if found.switches == 0 {
        let none = if is_bad("sched_switch") { "could be read" } else { "was recorded" };
        say!("warning: no sched_switch {none}, so no wait is known");
    }
    if found.unfinished > 0 {
        let wakings = count(found.unfinished, "waking");
        say!("warning: {wakings} left out: the wake-up or the run is not in the file");
    } else if found.wakings == 0 && is_bad("sched_wak") {
        say!("warning: no sched_waking or sched_wakeup could be read, so there are no wake-ups");
    } else if found.wakings == 0 {
        say!("warning: neither sched_waking nor sched_wakeup was recorded, so there are no wake-ups");
    }
}
