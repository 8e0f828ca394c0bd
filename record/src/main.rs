//! `wakelab-record`: takes down how the running kernel places wake-ups. docs/recording.md says how to use it.

mod args;
mod bpf_program;
mod cgroup;
mod kernel;
mod machine;
mod messages;
mod overhead;
mod refusal;
mod rows;
mod session;
mod until;
mod usage;
mod wire;

use anyhow::Result;
use args::Args;
use clap::Parser;
use kernel::Kernel;
use machine::Machine;
use session::Outcome;
use std::process::ExitCode;
use wakelab_events::recorded::RecordedFolder;

fn main() -> ExitCode {
    let args = Args::parse();
    match record(&args) {
        Ok(outcome) => {
            eprint!("{}", said(&args, &outcome));
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
    let machine = Machine::describe()?;
    let kernel = Kernel::read(machine.hz)?;
    let meta = serde_json::json!({
        "uname": kernel.release,
        "cmdline": std::fs::read_to_string("/proc/cmdline").unwrap_or_default().trim(),
        "settings": Kernel::settings(),
    });
    let workload = args.workload.clone().or_else(|| args.command.first().cloned()).unwrap_or_default();
    let workload = workload.rsplit('/').next().unwrap_or_default().to_owned();
    let metadata = vec![
        ("wakelab.kernel", kernel.short.clone()),
        ("wakelab.release", kernel.release.clone()),
        ("wakelab.machine", machine.name()),
        ("wakelab.hz", kernel.hz.to_string()),
        ("wakelab.workload", workload),
        ("wakelab.variant", "default".to_owned()),
        ("wakelab.snapshot", format!("{:?}", args.snapshot).to_lowercase()),
        ("wakelab.sample", args.sample.to_string()),
        ("wakelab.source", if args.tracepoints { "tracepoints" } else { "function" }.to_owned()),
        ("wakelab.domains", machine.json(&kernel.version, meta).to_string()),
    ];
    let folder = RecordedFolder::new(&args.output, metadata)
        .map_err(|e| usage::Usage(format!("--output: {e}\n  hint: name a folder that is not there yet")))?;
    let outcome = session::run(args, &kernel, &machine, folder);
    if outcome.is_err() {
        // Goes only if nothing has been written to it.
        let _ = std::fs::remove_dir(&args.output);
    }
    outcome
}

/// What the user is told at the end.
fn said(args: &Args, outcome: &Outcome) -> String {
    let Outcome { choices, wakings, woken, left_out, written, stable, lost, lost_events, overhead, took, .. } = outcome;
    let mut text = format!(
        "{written} decisions in {} ({stable} stable), {lost} lost; {left_out} of {choices} left out by filters and sampling\n\
         {woken} of them in wake-ups, {} in forks and execs; {} of {wakings} wake-ups chose no CPU of the fair class: still \
         queued, one CPU only, or another class\n",
        args.output.display(),
        choices - woken,
        wakings - woken,
    );
    if *lost_events > 0 {
        text += &format!("{lost_events} other events lost; --buffer makes more room, --decisions-only needs less\n");
    }
    if overhead.known && overhead.entries > 0 {
        let each = overhead.entry_ns / overhead.entries + overhead.exit_ns / overhead.exits.max(1);
        let share = overhead.all_ns as f64 / took.as_nanos().max(1) as f64 * 100.0;
        text += &format!("overhead: {each} ns a decision, all programs {share:.2} % of one CPU\n");
    }
    text
}
