//! Tasks that differ in policy, nice value and slice.

use std::io;

/// `struct sched_attr`, up to the field that deadline tasks have last.
#[repr(C)]
struct SchedAttr {
    size: u32,
    sched_policy: u32,
    sched_flags: u64,
    sched_nice: i32,
    sched_priority: u32,
    sched_runtime: u64,
    sched_deadline: u64,
    sched_period: u64,
}

const SCHED_NORMAL: u32 = 0;
const SCHED_BATCH: u32 = 3;
const SCHED_IDLE: u32 = 5;
/// By the number of the task, in turns of different lengths, so that all combinations come up.
const POLICIES: [u32; 7] =
    [SCHED_NORMAL, SCHED_NORMAL, SCHED_NORMAL, SCHED_BATCH, SCHED_NORMAL, SCHED_NORMAL, SCHED_IDLE];
const NICE: [i32; 6] = [0, -5, 0, 5, -12, 14];
/// The slice that a task asks for, ns (`sched_setattr()`, EEVDF since 6.12); 0 for none.
const SLICES: [u64; 5] = [0, 400_000, 0, 12_000_000, 1_500_000];

/// Gives the calling thread the policy, the nice value and the slice of the task of that number.
pub fn become_task(number: usize) -> io::Result<()> {
    let policy = POLICIES[number % POLICIES.len()];
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        sched_policy: policy,
        sched_flags: 0,
        sched_nice: NICE[number % NICE.len()],
        sched_priority: 0,
        sched_runtime: SLICES[number % SLICES.len()],
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the argument lives until the call has returned, and has the size that it says.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attr, 0) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
