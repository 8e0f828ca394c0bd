//! `wakelab-record`: records how the running kernel places wake-ups. docs/recording.md describes its use.
//!
//! It may use `events`, whose schema it writes, `process`, and libbpf-rs. It records a decision with what the kernel
//! read, as it was, and counts what it lost or left out. It never decides, changes nothing in the kernel, and computes
//! no statistic.

mod args;
mod balance_rows;
mod bpf_program;
mod bpf_variables;
mod counts;
mod kernel;
mod machine;
mod preempt_rows;
mod probe;
mod programs;
mod refusal;
mod ring_buffer;
mod rows;
mod session;
mod stop_condition;
mod summary;
mod task_groups;
mod wire;
mod writer;

use anyhow::{Context, Result};
use args::{Args, UsageError};
use clap::Parser;
use kernel::Kernel;
use libbpf_rs::OpenObject;
use machine::{Describer, FIRST_DESCRIPTION, Machine};
use programs::Loaded;
use ring_buffer::Drain;
use rustix::thread::CapabilitySet;
use session::{Outcome, Session};
use std::io::Write;
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakelab_events::recording::RecordingWriter;
use wakelab_process::capabilities;
use wakelab_process::signals::Signals;
use writer::Writer;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.probe {
        print!("{}", probe::report());
        return ExitCode::SUCCESS;
    }
    match record(&args) {
        Ok(outcome) => {
            say(&summary::summary(&args, &outcome));
            ExitCode::from(outcome.exit_code.unwrap_or(0).clamp(0, 255) as u8)
        }
        Err(error) => {
            say(&format!("wakelab-record: {error:#}\n"));
            let bad_input = error.is::<UsageError>();
            ExitCode::from(if bad_input { 2 } else { 1 })
        }
    }
}

/// Writes to stderr. After SIGHUP there may be no terminal any more, which must not end the recorder.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn record(args: &Args) -> Result<Outcome> {
    refusal::print_libbpf_log(args.verbose);
    refusal::check()?;
    let signals = Signals::catch().context("cannot catch signals")?;
    let mut place = MaybeUninit::uninit();
    let mut describer = Describer::load(&mut place)?;
    let machine = Arc::new(describer.describe()?);
    let kernel = Kernel::read(machine.hz)?;
    if machine.capacities().windows(2).any(|two| two[0] != two[1]) {
        say("wakelab-record: the CPUs differ in capacity: decisions are recorded, but not explained or compared\n");
    }
    let stats = counts::enable_run_time_stats();
    let mut places = [MaybeUninit::uninit(), MaybeUninit::uninit()];
    let (Loaded { skel, variables, links, each_task }, inferred) = load_programs(&mut places, args, &machine)?;
    let release = kernel.release.clone();
    let version = kernel.version.clone();
    let of_machine = move |machine: &Machine| {
        let meta = serde_json::json!({
            "uname": release,
            "arch": std::env::consts::ARCH,
            "cmdline": std::fs::read_to_string("/proc/cmdline").unwrap_or_default().trim(),
            "settings": Kernel::settings(),
            "capacities": machine.capacities(),
        });
        vec![("wakelab.machine", machine.name()), ("wakelab.domains", machine.json(&version, &meta))]
    };
    let mut metadata = metadata_of_recording(args, &kernel, inferred);
    metadata.extend(of_machine(&machine));
    let folder = RecordingWriter::new(&args.output, metadata)
        .map_err(|e| UsageError(format!("--output: {e}\n  hint: name a folder that does not exist yet")))?;
    // The folder is made, and the programs are loaded. The threads that follow have no more capabilities than this one.
    capabilities::drop_unneeded(CapabilitySet::DAC_OVERRIDE).context("cannot drop capabilities")?;
    machine.publish(&variables, FIRST_DESCRIPTION);
    let writer = Writer::start(kernel, Arc::clone(&machine), inferred, folder)?;
    let drain = Drain::new(&skel.maps.ring, writer.sender().clone())?;
    let (metadata, progs) = (&of_machine, &skel.progs);
    let mut session = Session {
        args,
        signals,
        describer: &mut describer,
        metadata,
        variables: &variables,
        progs,
        each_task,
        stats,
        machine,
        started: (Instant::now(), Duration::ZERO),
        machines: 1,
    };
    let outcome = session.run(writer, drain, || links.into_iter().rev().for_each(drop));
    if outcome.is_err() {
        // The folder is removed only if it is empty. It may be below a folder of another user.
        let _ = capabilities::restore();
        let _ = std::fs::remove_dir(&args.output);
    }
    outcome
}

/// Loads the programs. Also returns whether they infer decisions from tracepoints: because the arguments request it, or
/// because no program can be attached to the function.
fn load_programs<'a>(
    places: &'a mut [MaybeUninit<OpenObject>; 2],
    args: &Args,
    machine: &Machine,
) -> Result<(Loaded<'a>, bool)> {
    let [first, second] = places;
    let refused = match programs::start(first, args, machine, args.tracepoints) {
        Ok(loaded) => return Ok((loaded, args.tracepoints)),
        Err(error) if args.tracepoints || error.is::<UsageError>() => return Err(error),
        Err(error) => error,
    };
    let Ok(loaded) = programs::start(second, args, machine, true) else { return Err(refused) };
    say(&format!("wakelab-record: choices are inferred from tracepoints, and rows are not scored: {refused}\n"));
    Ok((loaded, true))
}

/// A unique name of this recording (`wakelab.recording`). Its files are recognized by it even if the machine changes in
/// between. Empty without /proc, where nothing can be recorded.
fn recording_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default().trim().to_owned()
}

/// The metadata of every file of the recording, except those of the machine.
fn metadata_of_recording(args: &Args, kernel: &Kernel, inferred: bool) -> Vec<(&'static str, String)> {
    let workload = args.workload.clone().or_else(|| args.command.first().cloned()).unwrap_or_default();
    let workload = workload.rsplit('/').next().unwrap_or_default().to_owned();
    vec![
        ("wakelab.kernel", kernel.short.clone()),
        ("wakelab.release", kernel.release.clone()),
        ("wakelab.arch", std::env::consts::ARCH.to_owned()),
        ("wakelab.hz", kernel.hz.to_string()),
        ("wakelab.workload", workload),
        ("wakelab.variant", "default".to_owned()),
        ("wakelab.recording", recording_id()),
        ("wakelab.snapshot", format!("{:?}", args.snapshot).to_lowercase()),
        ("wakelab.sample", args.sample.to_string()),
        ("wakelab.source", if inferred { "tracepoints" } else { "function" }.to_owned()),
    ]
}
