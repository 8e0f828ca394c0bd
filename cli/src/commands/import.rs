//! `wakelab import`.

use crate::out_file::claim;
use crate::output::{Exit, hint, say};
use crate::progress::FileBar;
use crate::signals::stop_flag;
use std::path::PathBuf;
use wakelab_input::files;
use wakelab_report::numbers::{count, thousands};

pub const EXAMPLE: &str = "\
Example:
  wakelab import trace.dat -o imported
  wakelab import trace.txt.gz -o imported";

/// `wakelab import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Traces: trace-cmd, perf, Perfetto, ftrace text, CTF.
    ///
    /// Recognised by content: trace.dat of trace-cmd (version 6), perf.data, a Perfetto trace, the text of ftrace
    /// (tracefs, trace-cmd report, atrace), a page of systrace, the text of perf script, each of them also compressed
    /// by gzip, or the folder of a CTF trace, which needs babeltrace2. Several files of one recording are merged by
    /// time.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The folder to write; empty or new.
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,
}

/// Imports the events of another recorder.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.files.iter().for_each(|file| files::note(file));
    claim("--out", &args.out)?;
    let bar = FileBar::new();
    let found = wakelab_import::import(&args.files, &args.out, &|done, all| bar.read(done, all), stop_flag()?);
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
    if let (Some(file), Some(line)) = (&found.bad_file, found.losses.first_bad_line) {
        say!(
            "warning: {} not understood, the first of them line {line} of {}",
            count(found.losses.bad_lines, "line"),
            file.display()
        );
    }
    if found.losses.overwritten > 0 {
        say!(
            "warning: {} overwritten before the buffer was read, so that the CPUs' events begin at different times",
            count(found.losses.overwritten, "event")
        );
    }
    if found.switches == 0 {
        say!("warning: no sched_switch was recorded, so that no wait is known");
    }
    if found.wakings == 0 {
        say!("warning: neither sched_waking nor sched_wakeup was recorded, so that there are no wake-ups");
    }
    if found.losses.lost > 0 {
        say!(
            "warning: the recorder lost {} at least: a wait whose end was lost ends at a later switch, so that the \
             longest waits, and migrations, are not to be trusted; record with larger buffers",
            count(found.losses.lost, "event")
        );
    }
    if found.losses.unread > 0 {
        say!("warning: {} without a time, a CPU or the event's data left out", count(found.losses.unread, "sample"));
    }
    if found.no_cpu > 0 {
        say!("warning: {} of CPUs above 8191 left out", count(found.no_cpu, "event"));
    }
    if found.late > 0 {
        say!("warning: {} came too late to be put in order", count(found.late, "event"));
    }
    hint(format_args!("wakelab stats {} counts waits and migrations", args.out.display()));
    Ok(Exit::Done)
}
