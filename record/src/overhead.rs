//! What recording costs, by the kernel's own count.

use crate::bpf_program::RecordProgs;
use libbpf_rs::ProgramMut;
use std::cell::Cell;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Run counts and times of the programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overhead {
    /// How often the program at the entry ran.
    pub entries: u64,
    /// Its time, ns.
    pub entry_ns: u64,
    /// How often that at the exit ran.
    pub exits: u64,
    /// Its time, ns.
    pub exit_ns: u64,
    /// Times of all programs, ns.
    pub all_ns: u64,
    /// How often a program was not run, as it was running on that CPU (5.12). Counted whether or not times are.
    pub missed: u64,
    /// Whether the kernel counts at all (5.8).
    pub known: bool,
}

/// The kernel counts as long as this is open.
pub struct Counting(Option<OwnedFd>);

/// Has the kernel count run times of programs.
pub fn enable() -> Counting {
    const BPF_STATS_RUN_TIME: u32 = 0;
    // The call takes a number and gives a file descriptor that nobody else has.
    #[allow(unsafe_code)]
    let fd = unsafe {
        let fd = libbpf_rs::libbpf_sys::bpf_enable_stats(BPF_STATS_RUN_TIME);
        (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
    };
    Counting(fd)
}

impl Overhead {
    /// Reads the counts.
    pub fn read(progs: &RecordProgs<'_>, counting: &Counting) -> Self {
        let mut overhead = Overhead { known: counting.0.is_some(), ..Overhead::default() };
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
        let events = [&progs.on_waking, &progs.on_switch, &progs.on_migration, &progs.on_idle, &progs.on_frequency];
        overhead.all_ns = overhead.entry_ns + overhead.exit_ns + of(&events).1;
        overhead.missed = missed.get();
        overhead
    }
}

/// How many instructions the kernel's verifier has gone through at most for one of the programs. It gives up after a
/// million.
pub fn verified(progs: &RecordProgs<'_>) -> u32 {
    let of = [&progs.on_entry, &progs.on_exit, &progs.infer_waking, &progs.infer_moved, &progs.infer_woken];
    let loaded = of.into_iter().filter(|program| program.autoload());
    loaded.filter_map(info).map(|info| info.verified_insns).max().unwrap_or(0)
}

fn info(program: &ProgramMut<'_>) -> Option<libbpf_rs::libbpf_sys::bpf_prog_info> {
    use std::os::fd::AsRawFd;
    // An all-zero struct of integers is what the kernel is to fill in.
    #[allow(unsafe_code)]
    unsafe {
        let mut info: libbpf_rs::libbpf_sys::bpf_prog_info = std::mem::zeroed();
        let mut size = size_of_val(&info) as u32;
        let fd = program.as_fd().as_raw_fd();
        (libbpf_rs::libbpf_sys::bpf_prog_get_info_by_fd(fd, &mut info, &mut size) == 0).then_some(info)
    }
}
