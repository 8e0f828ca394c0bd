//! The command line.

use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Records where this machine's kernel puts waking tasks, with everything that the choice read.
#[derive(Debug, Parser)]
#[command(name = "wakelab-record", version, max_term_width = 100)]
pub struct Args {
    /// The folder of the recording: new, or empty
    #[arg(short, long, value_name = "FOLDER", default_value = "wakeups")]
    pub output: PathBuf,
    /// For how long, as 10s, 500ms or 2m; without it and without a command until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Only where this process or thread wakes or is woken
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Only where a task wakes or is woken whose name begins so
    #[arg(long, value_name = "NAME", value_parser = comm)]
    pub comm: Option<String>,
    /// Only where a task of this control group (a folder of cgroup2) wakes or is woken
    #[arg(long, value_name = "FOLDER")]
    pub cgroup: Option<PathBuf>,
    /// Of which CPUs the state is taken down: all; those of the LLCs that a wake-up reads; none, which counts only
    #[arg(long, value_enum, default_value_t = Snapshot::Full)]
    pub snapshot: Snapshot,
    /// One decision in N
    #[arg(long, value_name = "1/N", value_parser = sample, default_value = "1/1")]
    pub sample: u32,
    /// At most so many decisions a second, on all CPUs together, and ten times as many switches, migrations, idle states
    /// and frequencies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rate: Option<u32>,
    /// Infer choices from tracepoints, where select_task_rq_fair() cannot be attached to: without wake flags, forks and
    /// execs, and not to be compared exactly
    #[arg(long)]
    pub tracepoints: bool,
    /// No context switches, migrations, idle states and frequencies
    #[arg(long)]
    pub decisions_only: bool,
    /// Room for records that are not written yet, rounded up to a power of two [default: by the CPUs from 64 to 256, at
    /// most a sixteenth of the memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: Option<u32>,
    /// What ran, for the reader of the recording
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Says what was done, one line for each step
    #[arg(short, long)]
    pub verbose: bool,
    /// Says what of this kernel is found, and what is lost where something is missing; records nothing
    #[arg(long)]
    pub probe: bool,
    /// What to run while recording; the recording ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Of which CPUs the state is taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Snapshot {
    /// Of all.
    Full,
    /// Of those in the LLCs of the waking CPU and of the previous one; of all for forks and execs.
    Llc,
    /// Of none.
    None,
}

fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a number with ms, s, m or h, as in 10s".into()),
    };
    let seconds = number.parse::<f64>().map_err(|_| "expected a number with a unit, as in 10s")? * factor;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a time above 0".into()),
    }
}

fn sample(text: &str) -> Result<u32, String> {
    let every = text.strip_prefix("1/").and_then(|n| n.parse::<u32>().ok()).filter(|&n| n > 0);
    every.ok_or_else(|| "expected 1/N with N from 1, as in 1/10".into())
}

fn comm(text: &str) -> Result<String, String> {
    if (1..=15).contains(&text.len()) {
        Ok(text.into())
    } else {
        Err("expected 1 to 15 bytes, as task names have".into())
    }
}
