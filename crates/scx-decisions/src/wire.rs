//! The records of the ring buffer, as crates/scx-wakelab/src/bpf/record.h declares them.

use bytemuck::{Pod, Zeroable};

/// MAX_CPUS of crates/scx-wakelab/src/bpf/intf.h.
pub const MAX_CPUS: usize = 1024;
/// The LLCs of a record.
pub const MAX_LLCS: usize = 64;
const WORDS: usize = MAX_CPUS / 64;

/// The state of a CPU when the decision began.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct RecordedCpu {
    pub load_avg: u64,
    pub util_avg: u32,
    pub runnable_avg: u32,
    pub util_est: u32,
    pub nr_running: u32,
}

/// The state of an LLC when the decision began.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct RecordedLlc {
    pub nr_idle_scan: i32,
    pub has_idle_cores: u32,
}

/// A decision. In the record the states of the CPUs follow it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Record {
    pub t_ns: u64,
    pub dur_ns: u64,
    pub features: u64,
    pub jiffies: u64,
    pub waker_load: u64,
    pub wakee_load: u64,
    pub load_weight: u64,
    pub util_avg: u64,
    pub runnable_avg: u64,
    pub util_est: u64,
    pub wake_stamp: u64,
    pub wake_avg_idle: u64,
    pub avg_idle: u64,
    pub avg_scan_cost: u64,
    pub waker_cpu: i32,
    pub waker_pid: i32,
    pub wakee_pid: i32,
    pub waker_policy: u32,
    pub wakee_policy: u32,
    pub waker_flags: u32,
    pub wakee_flags: u32,
    pub waker_allowed: u32,
    pub wakee_allowed: u32,
    pub static_prio: i32,
    pub prev_cpu: i32,
    pub chosen_cpu: i32,
    pub recent: i32,
    pub recent_after: i32,
    pub wake_flags: u32,
    pub reason: u32,
    pub lost_claims: u32,
    pub in_task: u32,
    pub waker_flips_before: u32,
    pub waker_flips: u32,
    pub wakee_flips: u32,
    pub last_wakee_is_p: u32,
    pub decay_due: u32,
    pub offline: u32,
    pub waker_comm: [u8; 16],
    pub wakee_comm: [u8; 16],
    pub affinity: [u64; WORDS],
    pub idle: [u64; WORDS],
    pub idle_exit: [u64; WORDS],
    pub llcs: [RecordedLlc; MAX_LLCS],
}

/// Parses a record. Returns `None` if it is shorter than it must be.
pub fn parse(bytes: &[u8]) -> Option<(Record, Vec<RecordedCpu>)> {
    let (head, rest) = bytes.split_at_checked(size_of::<Record>())?;
    let (cpus, []) = rest.as_chunks::<{ size_of::<RecordedCpu>() }>() else { return None };
    Some((bytemuck::pod_read_unaligned(head), cpus.iter().map(|cpu| bytemuck::pod_read_unaligned(cpu)).collect()))
}

/// A string up to its first NUL.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_are_cut_off_are_none() {
        let bytes = vec![0_u8; size_of::<Record>() + 2 * size_of::<RecordedCpu>()];
        assert_eq!(parse(&bytes).unwrap().1.len(), 2);
        assert!(parse(&bytes[..bytes.len() - 1]).is_none() && parse(&[]).is_none());
    }
}
