//! The counts of the BPF programs, and their cost by the kernel's own count.

use crate::bpf_program::RecordProgs;
use crate::bpf_variables::BpfVariables;
use libbpf_rs::ProgramMut;
use std::cell::Cell;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;
use wakelab_events::recording::CountsRow;

/// The counts of `struct tally` (config.h), summed over the CPUs, and the overhead.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub wakings: u64,
    pub woken: u64,
    pub choices: u64,
    pub filtered: u64,
    pub sampled: u64,
    pub limited: u64,
    pub lost: u64,
    pub lost_events: u64,
    pub limited_events: u64,
    pub overhead: Overhead,
    /// CPU time of this process since counting began.
    pub recorder_time: Duration,
    /// Time since counting began.
    pub elapsed: Duration,
    /// CLOCK_MONOTONIC, ns.
    pub t_ns: i64,
}

impl Counts {
    /// Reads the counters. The programs increase a sum before its parts, so sums are read last: no part exceeds its
    /// sum.
    pub fn read(variables: &BpfVariables<'_>) -> Self {
        let lost_events = variables.lost_events().load(Ordering::Acquire);
        let limited_events = variables.limited_events().load(Ordering::Acquire);
        let lost = variables.lost();
        let (filtered, sampled, limited) = (variables.filtered(), variables.sampled(), variables.limited());
        let woken = variables.woken();
        let choices = variables.choices();
        let wakings = variables.wakings();
        let counts = Counts { wakings, woken, choices, filtered, sampled, limited, lost, ..Counts::default() };
        Counts { lost_events, limited_events, ..counts }
    }

    /// The row of the table `counts`: these, with what the writer counts. `changed` are decisions left out because the
    /// machine changed.
    pub fn row(&self, recorded: u64, stable: u64, changed: u64, last: bool) -> CountsRow<'static> {
        let int = |value: u64| value as i64;
        let known = |ns: u64| self.overhead.known.then_some(int(ns));
        let done = recorded + changed + self.lost + self.filtered + self.sampled + self.limited;
        CountsRow {
            t_ns: self.t_ns,
            last,
            wakings: int(self.wakings),
            woken: int(self.woken),
            choices: int(self.choices),
            recorded: int(recorded),
            lost: int(self.lost),
            filtered: int(self.filtered),
            sampled: int(self.sampled),
            limited: int(self.limited),
            changed: int(changed),
            unfinished: int(self.choices) - int(done),
            stable: int(stable),
            events_lost: int(self.lost_events),
            events_limited: int(self.limited_events),
            missed: int(self.overhead.missed),
            choice_ns: known(self.overhead.entry_ns + self.overhead.exit_ns),
            programs_ns: known(self.overhead.all_ns),
            recorder_ns: self.recorder_time.as_nanos() as i64,
            elapsed_ns: self.elapsed.as_nanos() as i64,
        }
    }
}

/// The CPU time of this process so far, user and system.
pub fn process_time() -> Duration {
    use nix::sys::resource::{UsageWho, getrusage};
    let time = |time: nix::sys::time::TimeVal| {
        Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64)
    };
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| time(usage.user_time()) + time(usage.system_time()))
}

/// CLOCK_MONOTONIC, ns.
pub fn now_ns() -> i64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC);
    now.map_or(0, |now| now.tv_sec() * 1_000_000_000 + now.tv_nsec())
}

/// The number of runs of the programs, and the time that they took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overhead {
    /// Runs of the program at the entry of `select_task_rq_fair()`.
    pub entries: u64,
    /// Its time, ns.
    pub entry_ns: u64,
    /// Runs of the program at its exit.
    pub exits: u64,
    /// Its time, ns.
    pub exit_ns: u64,
    /// The time of all programs, ns.
    pub all_ns: u64,
    /// The number of times that the kernel skipped a program because it was already running on that CPU. Counted since
    /// 5.12, even if times are not.
    pub missed: u64,
    /// Whether the kernel counts runs and times (since 5.8).
    pub known: bool,
}

/// The kernel counts run times as long as this is open.
pub struct RunTimeStats(Option<OwnedFd>);

/// Makes the kernel count run times of BPF programs.
pub fn enable_run_time_stats() -> RunTimeStats {
    const BPF_STATS_RUN_TIME: u32 = 0;
    // SAFETY: the call takes a number and returns a file descriptor that nobody else owns.
    #[allow(unsafe_code)]
    let fd = unsafe {
        let fd = libbpf_rs::libbpf_sys::bpf_enable_stats(BPF_STATS_RUN_TIME);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    RunTimeStats(fd)
}

impl Overhead {
    /// Reads the counts.
    pub fn read(progs: &RecordProgs<'_>, stats: &RunTimeStats) -> Self {
        let mut overhead = Overhead { known: stats.0.is_some(), ..Overhead::default() };
        let missed = Cell::new(0);
        let of = |programs: &[&ProgramMut<'_>]| {
            let infos = programs.iter().filter(|program| program.autoload()).filter_map(|program| info(program));
            infos.fold((0, 0), |sum, info| {
                missed.set(missed.get() + info.recursion_misses);
                (sum.0 + info.run_cnt, sum.1 + info.run_time_ns)
            })
        };
        (overhead.entries, overhead.entry_ns) = of(&[&progs.on_entry, &progs.infer_waking]);
        (overhead.exits, overhead.exit_ns) = of(&[&progs.on_exit, &progs.infer_moved, &progs.infer_woken]);
        let mut events = vec![&progs.on_waking, &progs.on_switch, &progs.on_migration, &progs.on_idle];
        events.extend([&progs.on_frequency, &progs.on_task_exit, &progs.on_each_task]);
        overhead.all_ns = overhead.entry_ns + overhead.exit_ns + of(&events).1;
        overhead.missed = missed.get();
        overhead
    }
}

/// The most instructions that the kernel's verifier processed for one of the programs. It gives up after a million.
pub fn verified_instructions(progs: &RecordProgs<'_>) -> u32 {
    let of = [&progs.on_entry, &progs.on_exit, &progs.infer_waking, &progs.infer_moved, &progs.infer_woken];
    let loaded = of.into_iter().filter(|program| program.autoload());
    loaded.filter_map(info).map(|info| info.verified_insns).max().unwrap_or(0)
}

fn info(program: &ProgramMut<'_>) -> Option<libbpf_rs::libbpf_sys::bpf_prog_info> {
    use std::os::fd::AsRawFd;
    // SAFETY: the struct has integers only, and the kernel writes no more than its size.
    #[allow(unsafe_code)]
    unsafe {
        let mut info: libbpf_rs::libbpf_sys::bpf_prog_info = std::mem::zeroed();
        let mut size = size_of_val(&info) as u32;
        let fd = program.as_fd().as_raw_fd();
        (libbpf_rs::libbpf_sys::bpf_prog_get_info_by_fd(fd, &mut info, &mut size) == 0).then_some(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_choices() {
        let counts = Counts { choices: 100, filtered: 10, sampled: 20, limited: 5, lost: 7, ..Counts::default() };
        let row = counts.row(40, 39, 8, true);
        assert_eq!(row.unfinished, 10);
        assert_eq!(row.recorded + row.lost + row.left_out() + row.unfinished, row.choices);
        assert_eq!((row.choice_ns, row.programs_ns), (None, None));
    }
}
