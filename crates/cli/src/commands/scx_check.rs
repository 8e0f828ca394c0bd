//! `wakelab scx-check`.

use super::Hint;
use super::simulate::deliver;
use crate::cache::{CacheFlags, fence};
use crate::completion;
use crate::flags::{self, FormatFlag, JobsFlag, SeedFlag, TableFormat};
use crate::out_file::OutFile;
use crate::output::{Exit, say, say_error, say_warnings, tell};
use crate::progress::CountBar;
use crate::signals::stop_flag;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use wakelab_input::read_text;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_report::scx_check::{self as report, About, Again};
use wakelab_study::experiment::named_scheduler;
use wakelab_study::scx_check::{Check, Checked};
use wakelab_workload::from_toml;

pub const EXAMPLE: &str = "\
Example:
  wakelab scx-check crates/bpf/tests/data/scx_simple.bpf.o \\
    --machine test-2c --budget 4";

/// `wakelab scx-check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scheduler, and variables set in it.
    ///
    /// Named as in a side of `wakelab compare`, but without the first scx: (scx_bpfland,
    /// scx_simple.bpf.o,scx.fifo_sched=1).
    #[arg(value_name = "SCHEDULER")]
    scheduler: String,
    /// The machine: a name from `machine list`, or a file.
    ///
    /// Without it, each workload runs on one of the machines with up to 16 equal CPUs.
    #[arg(long, value_name = "MACHINE", add = completion::machine())]
    machine: Option<String>,
    /// A name from `kernel list`, with sched_ext.
    #[arg(long, value_name = "KERNEL", default_value = "v7.2", add = completion::kernel())]
    kernel: String,
    /// Draw and run this many workloads.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    budget: u32,
    /// Check this workload file instead, at one instance.
    ///
    /// Needs --machine. The seed of the search shows the same failure again.
    #[arg(long, value_name = "FILE", requires = "machine", conflicts_with_all = ["budget", "out"])]
    workload: Option<PathBuf>,
    /// Write the smallest failing workloads to this folder.
    ///
    /// A file for each kind: stall.toml. Without it they are printed inside the commands that run them again.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The seed.
    #[command(flatten)]
    seed: SeedFlag,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The format.
    #[command(flatten)]
    format: FormatFlag,
}

/// The most CPUs of a machine that is chosen without being named.
const CPUS_MAX: u32 = 16;

/// The machines whose workloads are drawn.
fn machines(args: &Args, kernel: &Preset) -> anyhow::Result<Vec<Machine>> {
    if let Some(name) = &args.machine {
        return Ok(vec![wakelab_machine::get(name).context("--machine")?]);
    }
    let all = wakelab_machine::all().into_iter();
    let small = all.filter(|machine| {
        let cpus = &machine.topology.cpus;
        cpus.len() <= CPUS_MAX as usize
            && cpus.iter().all(|cpu| cpu.capacity == cpus[0].capacity)
            && wakelab_sim::check(machine, kernel).is_ok()
    });
    Ok(small.collect())
}

/// Checks a scheduler.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let schedulers = CacheFlags::default().schedulers();
    let scheduler = named_scheduler(&schedulers, &args.scheduler).map_err(|error| anyhow::anyhow!("{error}"))?;
    let kernel = flags::preset(Some("--kernel"), &args.kernel)?;
    let machines = machines(args, kernel)?;
    ensure!(!machines.is_empty(), "--kernel: {} cannot be simulated on any small machine", kernel.name);
    let mut missing: Vec<String> = Vec::new();
    for machine in &machines {
        wakelab_sim::check(machine, kernel).map_err(|error| anyhow::anyhow!("--machine: {error}"))?;
        let (_, warnings) = wakelab_sim::check_scheduler(machine, kernel, &scheduler).map_err(|error| {
            anyhow::anyhow!("{error}").context_hint("`wakelab docs scheduler-authors` says what runs")
        })?;
        let new: Vec<String> = warnings.into_iter().filter(|warning| !missing.contains(warning)).collect();
        missing.extend(new);
    }
    say_warnings(&missing);
    if let Some(out) = &args.out {
        std::fs::create_dir_all(out)
            .with_context(|| format!("--out: {}", out.display()))
            .map_err(|error| error.context_hint("name a folder in one that exists and can be written"))?;
    }
    let names: Vec<&str> = machines.iter().map(|machine| &*machine.name).collect();
    let seed = args.seed.seed.unwrap_or(1);
    let about = About { scheduler: &args.scheduler, kernel: kernel.name, machines: &names, seed };
    let bar = CountBar::new(u64::from(args.budget), "workloads");
    let done = |finished: usize| bar.done(finished as u64);
    let stop = stop_flag();
    let jobs = args.jobs.jobs();
    let fence = fence();
    let check =
        Check { scheduler: &scheduler, machines: &machines, kernel, seed, jobs, stop, fence: &fence, done: &done };
    let is_json = args.format.format == TableFormat::Json;
    check.serve();
    if let Some(file) = &args.workload {
        return one(&check, file, &about, is_json);
    }
    let checked = check.check(args.budget);
    bar.finish();
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            say_error(error);
            return Ok(Exit::RunFailed);
        }
    };
    let again = again(args, &about, &checked);
    for (smallest, again) in checked.smallest.iter().zip(&again) {
        if let Some(file) = &again.file {
            OutFile::in_folder("--out", Path::new(file))?.write(&smallest.toml)?;
        }
    }
    let text = match is_json {
        true => format!("{:#}\n", report::json(&about, &checked, &again)),
        false => report::text(&about, &checked, &again),
    };
    deliver(None, &text, is_json)?;
    if !checked.complete {
        tell(format_args!("interrupted: {} of {} workloads are complete", checked.workloads, args.budget));
        return Ok(Exit::Interrupted);
    }
    Ok(if checked.smallest.is_empty() { Exit::Done } else { Exit::Found })
}

/// Checks the workload of a file.
fn one(check: &Check<'_>, file: &Path, about: &About<'_>, is_json: bool) -> anyhow::Result<Exit> {
    let text = read_text(file).map_err(|error| anyhow::anyhow!("--workload: {error}"))?;
    let workload = from_toml(&text, file, 1).map_err(|error| anyhow::anyhow!("--workload: {error}"))?;
    let seen = match check.check_workload(&workload, &text) {
        Ok(Some(seen)) => seen,
        Ok(None) => {
            debug_assert!(check.stop.load(Ordering::Relaxed), "only a stop ends a run early");
            tell("interrupted: the workload was not run to its end");
            return Ok(Exit::Interrupted);
        }
        Err(error) => {
            say_error(error);
            return Ok(Exit::RunFailed);
        }
    };
    let text = match is_json {
        true => format!("{:#}\n", report::workload_json(about, &seen)),
        false => report::workload_text(about, &seen),
    };
    deliver(None, &text, is_json)?;
    Ok(if seen.findings.is_empty() { Exit::Done } else { Exit::Found })
}

/// The file of each finding, if files are written, and the command that runs it again.
fn again(args: &Args, about: &About<'_>, checked: &Checked) -> Vec<Again> {
    let mut again: Vec<Again> = Vec::new();
    for (at, smallest) in checked.smallest.iter().enumerate() {
        let kind = smallest.finding.kind;
        let before = checked.smallest[..at].iter().filter(|other| other.finding.kind == kind).count();
        let name = if before == 0 { kind.name().to_owned() } else { format!("{}-{}", kind.name(), before + 1) };
        let file = args.out.as_ref().map(|out| out.join(format!("{name}.toml")).display().to_string());
        // A machine of a file has the name of its file.
        let machine = args.machine.as_deref().unwrap_or(&smallest.machine);
        let (seed, file_or_stdin) = (about.seed.to_string(), file.as_deref().unwrap_or("/dev/stdin"));
        let words = [
            ["wakelab", "scx-check"].as_slice(),
            &[about.scheduler, "--workload", file_or_stdin, "--machine", machine],
            &["--kernel", about.kernel, "--seed", &seed],
        ]
        .concat();
        let mut command = shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "));
        if file.is_none() {
            // As typed it runs again what was found: the workload is in it.
            command.push_str(&format!(" <<'END'\n{}END", smallest.toml));
        }
        again.push(Again { file, command });
    }
    if args.out.is_none() && !again.is_empty() {
        say!("each command below contains its workload; --out DIR writes them to files");
    }
    again
}
