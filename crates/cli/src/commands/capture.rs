//! `wakelab capture`.

use super::trace::only;
use crate::out_file::OutFile;
use crate::output::{Exit, hint, print, say};
use crate::progress::Bar;
use anyhow::Context;
use std::path::{Path, PathBuf};
use wakelab_events::stream::Source;
use wakelab_input::parse_duration;
use wakelab_machine::Machine;
use wakelab_study::capture::{CaptureOptions, Captured, capture};

pub const EXAMPLE: &str = "\
Example:
  wakelab capture crates/cli/tests/data/sis-prop-6.1 -o captured.toml \\
    --machine test-8c";

/// `wakelab capture`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A recording, an import, or the folder of one simulated run.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Write the workload to this file (captured.toml).
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// How it is captured.
    #[command(flatten)]
    pub flags: CaptureFlags,
    /// Write the recorded steps once, instead of a model.
    ///
    /// Keeps every amount of work, and every expiry of a timer. A program has at most 10,000 steps, so choose a short
    /// --window.
    #[arg(long, conflicts_with = "rt_app")]
    exact: bool,
    /// Also write it as a file of rt-app.
    ///
    /// With mean amounts of work, in us; `wakelab docs your-workload` describes such files.
    #[arg(long, value_name = "FILE")]
    rt_app: Option<PathBuf>,
}

/// Flags of the commands that capture.
#[derive(Debug, clap::Args)]
pub struct CaptureFlags {
    /// The machine that was recorded: a name, or a file.
    ///
    /// Its costs are subtracted from what tasks computed, because a simulation adds them. A simulated run names its
    /// own.
    #[arg(long, value_name = "MACHINE")]
    pub machine: Option<String>,
    /// Begin this long after the first event.
    ///
    /// In a simulated run it counts from the start; the default is when measuring began.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, hide_short_help = true)]
    pub from: Option<u64>,
    /// Capture for this long.
    ///
    /// The default is everything up to the end.
    #[arg(long, value_name = "TIME", value_parser = super::compare::positive_time)]
    pub window: Option<u64>,
}

/// The machine of a source: what `--machine` names, or what a simulated run names.
pub fn machine(source: &Source, flags: &CaptureFlags) -> anyhow::Result<Option<Machine>> {
    match &flags.machine {
        Some(name) => Ok(Some(wakelab_machine::get(name).context("--machine")?)),
        None => match source {
            Source::Simulated(_) => {
                let about = wakelab_study::recordings::about(source)?;
                Ok(wakelab_machine::get(&about.machine).ok())
            }
            _ => Ok(None),
        },
    }
}

/// Captures a recording as a workload.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let source = only(&args.recording)?;
    let machine = machine(&source, &args.flags)?;
    let out = OutFile::new("--out", &args.out)?;
    let rt_app = args.rt_app.as_deref().map(|path| OutFile::new("--rt-app", path)).transpose()?;
    let captured = captured(&source, &args.flags, machine.as_ref(), args.exact)?;
    out.write(&captured.toml)?;
    match (rt_app, &captured.rt_app) {
        (Some(file), Some(text)) => file.write(text)?,
        (Some(_), None) => say!(
            "warning: --rt-app: no file was written: tasks fork in every round, and rt-app cannot wait for their \
             children"
        ),
        (None, _) => {}
    }
    print(&wakelab_report::capture::text(&captured))?;
    say_losses(&captured, machine.as_ref(), args.exact, &args.out);
    Ok(Exit::Done)
}

/// Captures a source with the flags of a command.
pub fn captured(
    source: &Source,
    flags: &CaptureFlags,
    machine: Option<&Machine>,
    exact: bool,
) -> anyhow::Result<Captured> {
    let bar = Bar::new(&source.wakeups(), false);
    let options = CaptureOptions { machine, from_ns: flags.from, window_ns: flags.window, exact };
    let captured = capture(source, &options, &bar);
    bar.finish();
    Ok(captured?)
}

fn say_losses(captured: &Captured, machine: Option<&Machine>, exact: bool, out: &Path) {
    if let Some(warning) = wakelab_report::capture::off(captured).filter(|_| !exact) {
        say!("warning: {warning}");
    }
    if machine.is_none() {
        say!(
            "warning: the recorded machine is not known, so the work includes the kernel's costs and what slow CPUs \
             and busy SMT siblings add; name it with --machine"
        );
    }
    if !captured.complete {
        say!(
            "warning: the recording has more steps than a workload can hold, so its end is left out; choose a shorter \
            --window"
        );
    }
    hint(format_args!("wakelab workload show {} prints it", out.display()));
}
