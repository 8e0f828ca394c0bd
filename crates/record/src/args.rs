//! The command line, and errors that only its values have.

use anyhow::Result;
use clap::{Parser, ValueEnum};
use nix::sys::statfs::{CGROUP2_SUPER_MAGIC, statfs};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wakelab_input::parse_wall_time;

/// Record where the running kernel places waking tasks, with all inputs of each decision
#[derive(Debug, Parser)]
#[command(name = "wakelab-record", version, max_term_width = 100)]
pub struct Args {
    /// Write the recording to this folder, which must be new, or empty and writable only by you
    #[arg(short, long, value_name = "FOLDER", default_value = "wakeups")]
    pub output: PathBuf,
    /// Record for this long, as in 10s, 500ms or 2m; without it and without a command, until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = parse_wall_time)]
    pub duration: Option<Duration>,
    /// Record only wake-ups whose waker or wakee is this process or thread
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Record only wake-ups whose waker or wakee has a name that begins with NAME
    #[arg(long, value_name = "NAME", value_parser = comm)]
    pub comm: Option<String>,
    /// Record only wake-ups whose waker or wakee is in this control group (a folder of cgroup2)
    #[arg(long, value_name = "FOLDER")]
    pub cgroup: Option<PathBuf>,
    /// Record the state of all CPUs, of the LLCs that a wake-up reads, or of none, for counts alone
    #[arg(long, value_enum, default_value_t = Snapshot::Full)]
    pub snapshot: Snapshot,
    /// Record one decision in N
    #[arg(long, value_name = "1/N", value_parser = sample, default_value = "1/1")]
    pub sample: u32,
    /// Record at most N decisions a second on all CPUs together, and ten times as many switches, migrations, idle
    /// states and frequencies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rate: Option<u32>,
    /// Infer decisions from tracepoints, for kernels that do not allow attaching to select_task_rq_fair(): without wake
    /// flags, forks and execs, and not comparable exactly
    #[arg(long)]
    pub tracepoints: bool,
    /// Do not record context switches, migrations, idle states, frequencies, or wake-ups that choose no CPU
    #[arg(long)]
    pub decisions_only: bool,
    /// Record, for each task that joins the queue of a running one, whether it preempts that task, and the queue (Linux
    /// 5.17 or newer)
    #[arg(long)]
    pub wakeup_preempt: bool,
    /// Record the passes of the load balancer, one in N on each CPU: what it reads of the domain, and the group that it
    /// finds to pull from (Linux 5.17 or newer). --pid, --comm, --cgroup and --sample do not apply to them
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub balance: Option<u32>,
    /// Size of the ring buffer, rounded up to a power of two [default: 64 to 256 by the number of CPUs, at most a
    /// sixteenth of the memory]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub buffer: Option<u32>,
    /// Name of the workload, for the reader of the recording
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Print a line for each step
    #[arg(short, long)]
    pub verbose: bool,
    /// Print what the recorder finds in this kernel, and what is lost if something is missing; record nothing
    #[arg(long)]
    pub probe: bool,
    /// Run this command, as root, while recording; the recording ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The CPUs whose state is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Snapshot {
    /// All CPUs.
    Full,
    /// Those in the LLCs of the waking CPU and of the previous CPU; all of them for forks and execs.
    Llc,
    /// No CPU.
    None,
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

/// The kernel's id of a control group (cgroup2), which is the inode number of its folder; 0 without a folder.
///
/// # Errors
/// Fails if the folder is not in cgroup2. Ids of cgroup v1 belong to another hierarchy.
pub fn cgroup_id(folder: Option<&Path>) -> Result<u64> {
    let Some(folder) = folder else { return Ok(0) };
    let refused = |found: &str| {
        UsageError(format!(
            "--cgroup: expected a folder of cgroup2, found {}: {found}\n  \
             hint: such folders are under /sys/fs/cgroup, or where `mount -t cgroup2` shows",
            folder.display()
        ))
    };
    let kind = statfs(folder).map_err(|e| refused(e.desc()))?.filesystem_type();
    let metadata = std::fs::metadata(folder).map_err(|e| refused(&e.to_string()))?;
    if kind != CGROUP2_SUPER_MAGIC || !metadata.is_dir() {
        return Err(refused("not such a folder, or one of cgroup v1").into());
    }
    Ok(metadata.ino())
}

/// An error of the command line that clap does not detect. It ends the program with code 2.
#[derive(Debug)]
pub struct UsageError(
    /// The error: what was expected and what was found, with a hint.
    pub String,
);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::cgroup_id;

    #[test]
    fn a_folder_is_a_control_group_by_its_filesystem_and_not_by_its_files() {
        let folder = std::env::temp_dir().join(format!("wakelab-cgroup-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("cgroup.procs"), "").unwrap();
        let refused = cgroup_id(Some(&folder)).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(refused.contains("cgroup2") && refused.contains("v1") && refused.contains("hint"), "{refused}");
        assert!(cgroup_id(Some(&folder)).unwrap_err().to_string().contains("hint"), "it is not there");
        assert_eq!(cgroup_id(None).unwrap(), 0);
    }
}
