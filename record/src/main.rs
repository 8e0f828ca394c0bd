//! `wakelab-record`: takes down how the running kernel places wake-ups. docs/recording.md says how to use it.

mod args;
mod bpf_program;
mod buffer;
mod cgroup;
mod counted;
mod drain;
mod kernel;
mod machine;
mod messages;
mod overhead;
mod probe;
mod programs;
mod refusal;
mod rows;
mod said;
mod session;
mod shared;
mod until;
mod usage;
mod wire;
mod writer;

use anyhow::{Context, Result};
use args::Args;
use bpf_program::RecordSkel;
use clap::Parser;
use drain::Drain;
use kernel::Kernel;
use libbpf_rs::{Link, OpenObject};
use machine::{Describer, FIRST, Machine};
use session::{Outcome, Session};
use std::mem::MaybeUninit;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakelab_events::recording::RecordingWriter;
use writer::Writer;

fn main() -> ExitCode {
    let args = Args::parse();
    if args.probe {
        print!("{}", probe::report());
        return ExitCode::SUCCESS;
    }
    match record(&args) {
        Ok(outcome) => {
            eprint!("{}", said::at_the_end(&args, &outcome));
            ExitCode::from(outcome.command.unwrap_or(0).clamp(0, 255) as u8)
        }
        Err(error) => {
            eprintln!("wakelab-record: {error:#}");
            let bad_input = error.is::<usage::Usage>();
            ExitCode::from(if bad_input { 2 } else { 1 })
        }
    }
}

fn record(args: &Args) -> Result<Outcome> {
    messages::show(args.verbose);
    refusal::check()?;
    let mut place = MaybeUninit::uninit();
    let mut describer = Describer::load(&mut place)?;
    let machine = Arc::new(describer.describe()?);
    let kernel = Kernel::read(machine.hz)?;
    if machine.capacities().windows(2).any(|two| two[0] != two[1]) {
        eprintln!("wakelab-record: the CPUs differ in capacity: decisions are recorded, but not explained or compared");
    }
    let stats = overhead::enable();
    let mut places = [MaybeUninit::uninit(), MaybeUninit::uninit()];
    let (mut skel, links, inferred) = programs(&mut places, args, &machine)?;
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
    let mut metadata = about(args, &kernel, inferred);
    metadata.extend(of_machine(&machine));
    let folder = RecordingWriter::new(&args.output, metadata)
        .map_err(|e| usage::Usage(format!("--output: {e}\n  hint: name a folder that is not there yet")))?;
    let bss = skel.maps.bss_data.as_mut().context("the program has no variables")?;
    machine.tell(bss, FIRST);
    let writer = Writer::start(kernel, Arc::clone(&machine), inferred, folder)?;
    let drain = Drain::new(&skel.maps.ring, writer.tell().clone())?;
    let (metadata, progs) = (&of_machine, &skel.progs);
    let mut session = Session {
        args,
        describer: &mut describer,
        metadata,
        bss,
        progs,
        stats,
        machine,
        started: (Instant::now(), Duration::ZERO),
        machines: 1,
    };
    let outcome = session.run(writer, drain, || links.into_iter().rev().for_each(drop));
    if outcome.is_err() {
        // Goes only if nothing has been written to it.
        let _ = std::fs::remove_dir(&args.output);
    }
    outcome
}

/// The programs, and whether they infer choices: where they are asked to, and where the function cannot be attached to.
fn programs<'a>(
    places: &'a mut [MaybeUninit<OpenObject>; 2],
    args: &Args,
    machine: &Machine,
) -> Result<(RecordSkel<'a>, Vec<Link>, bool)> {
    let [first, second] = places;
    let refused = match programs::start(first, args, machine, args.tracepoints) {
        Ok((skel, links)) => return Ok((skel, links, args.tracepoints)),
        Err(error) if args.tracepoints || error.is::<usage::Usage>() => return Err(error),
        Err(error) => error,
    };
    let Ok((skel, links)) = programs::start(second, args, machine, true) else { return Err(refused) };
    eprintln!("wakelab-record: choices are inferred from tracepoints, and no row is scored: {refused}");
    Ok((skel, links, true))
}

/// A name that no other recording has: by it the files of one are known when the machine has changed in between. Empty
/// without /proc, where nothing can be recorded.
fn recording() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default().trim().to_owned()
}

/// What the files say of all rows.
fn about(args: &Args, kernel: &Kernel, inferred: bool) -> Vec<(&'static str, String)> {
    let workload = args.workload.clone().or_else(|| args.command.first().cloned()).unwrap_or_default();
    let workload = workload.rsplit('/').next().unwrap_or_default().to_owned();
    vec![
        ("wakelab.kernel", kernel.short.clone()),
        ("wakelab.release", kernel.release.clone()),
        ("wakelab.arch", std::env::consts::ARCH.to_owned()),
        ("wakelab.hz", kernel.hz.to_string()),
        ("wakelab.workload", workload),
        ("wakelab.variant", "default".to_owned()),
        ("wakelab.recording", recording()),
        ("wakelab.snapshot", format!("{:?}", args.snapshot).to_lowercase()),
        ("wakelab.sample", args.sample.to_string()),
        ("wakelab.source", if inferred { "tracepoints" } else { "function" }.to_owned()),
    ]
}
