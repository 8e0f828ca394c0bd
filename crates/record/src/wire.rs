//! The records of the ring buffer, as src/bpf/wire.h declares them.

use bytemuck::{Pod, Zeroable};

/// Machines with more CPUs cannot be recorded.
pub const MAX_CPUS: usize = 1024;
/// The `kind` of a decision.
pub const KIND_DECISION: u32 = 1;
/// The `kind` of a context switch.
pub const KIND_SWITCH: u32 = 2;
/// The `kind` of a migration.
pub const KIND_MIGRATION: u32 = 3;
/// The `kind` of an idle state.
pub const KIND_IDLE: u32 = 4;
/// The `kind` of a frequency.
pub const KIND_FREQUENCY: u32 = 5;
/// The `kind` of a wake-up that chose no CPU.
pub const KIND_WAKING: u32 = 6;
/// The `kind` of a wake-up preemption.
pub const KIND_PREEMPT: u32 = 7;
/// The `kind` of a pass of the balancer.
pub const KIND_BALANCE: u32 = 8;

/// The `kind` of a task group.
pub const KIND_TASK_GROUP: u32 = 9;
/// The `kind` of the group that a task is in.
pub const KIND_GROUP_MEMBER: u32 = 10;

/// In `has`: the kernel has `wake_stamp` and `wake_avg_idle`.
pub const HAS_WAKE_AVG_IDLE: u32 = 1;
/// In `has`: the kernel has `avg_scan_cost`, and the CPU a domain of its LLC.
pub const HAS_SCAN_COST: u32 = 2;
/// In `has` of a preemption: the class is EEVDF.
pub const PREEMPT_EEVDF: u32 = 1;
/// In `has` of a preemption: the kernel has `vprot`.
pub const PREEMPT_VPROT: u32 = 2;
/// In `has` of a preemption: what makes it uncertain (`PREEMPT_GROUPS`, `PREEMPT_PROXY`, `PREEMPT_CUT`).
pub const PREEMPT_UNCERTAIN: u32 = 4 | 8 | 16;
/// `h_load` of a task whose control group is too deep for the program.
pub const H_LOAD_UNKNOWN: u64 = u64::MAX;

/// The size of the fields of `struct scratch` before the decision, bytes.
pub const SCRATCH_HEAD: usize = 5 * 8 + size_of::<Waking>();

/// The state of a CPU when the decision began (`struct cpu_state`).
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct CpuState {
    pub load_avg: u64,
    pub nr_running: u32,
    pub h_nr_queued: u32,
    pub h_nr_delayed: i32,
    pub h_nr_idle: u32,
    pub runnable_avg: u32,
    pub util_avg: u32,
    pub util_est: u32,
    pub capacity: u32,
    pub has_idle_cores: i32,
    pub nr_idle_scan: i32,
    pub curr_idle: u8,
    pub ttwu_pending: u8,
    pub idle_exit: u8,
    pub taken: u8,
    pub prefer: u32,
}

/// The values that only forks and execs read of a CPU (`struct cpu_slow`).
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct CpuSlow {
    pub idle_stamp: u64,
    pub exit_latency: i32,
    pub imbalance: u32,
    pub capacity: [u32; 4],
}

/// A task (`struct task_state`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct TaskState {
    pub pid: i32,
    pub tgid: i32,
    pub policy: u32,
    pub flags: u32,
    pub static_prio: i32,
    pub nr_cpus_allowed: i32,
    pub flips_before: u32,
    pub flips_after: u32,
    pub load_avg: u64,
    pub load_weight: u64,
    pub h_load: u64,
    pub comm: [u8; 16],
}

/// A decision (`struct decision`). In the record the states of the CPUs follow it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Decision {
    pub kind: u32,
    pub cpus: u32,
    pub slow: u32,
    pub waker_cpu: u32,
    pub t_ns: u64,
    pub dur_ns: u64,
    pub features: u64,
    pub jiffies: u64,
    pub wake_stamp: u64,
    pub wake_avg_idle: u64,
    pub avg_idle: u64,
    pub avg_scan_cost: u64,
    pub waker: TaskState,
    pub wakee: TaskState,
    pub util_avg: u64,
    pub runnable_avg: u64,
    pub util_est: u64,
    pub preempt_count: u32,
    pub last_wakee_is_p: u32,
    pub flip_decay_due: u32,
    pub last_update_time_set: u32,
    pub on_rq: u32,
    pub prev_cpu: i32,
    pub wake_flags: u32,
    pub chosen_cpu: i32,
    pub recent_used_cpu: i32,
    pub recent_used_cpu_after: i32,
    pub numa_preferred_nid: i32,
    pub sd_llc_size: i32,
    pub h_load_moved: u32,
    pub has: u32,
    pub machine: u32,
    pub changed: u32,
    pub affinity: [u64; MAX_CPUS / 64],
}

/// Anything else; what `a`, `b` and `c` are goes by the kind.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Event {
    pub kind: u32,
    pub cpu: u32,
    pub t_ns: u64,
    pub a: i32,
    pub b: i32,
    pub c: i32,
    pub pad: u32,
}

/// A wake-up that chose no CPU (`struct waking`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Waking {
    pub kind: u32,
    pub cpu: u32,
    pub t_ns: u64,
    pub waker_pid: i32,
    pub wakee_pid: i32,
    pub task_cpu: i32,
    pub preempt_count: u32,
    pub policy: u32,
    pub flags: u32,
    pub static_prio: i32,
    pub nr_cpus_allowed: i32,
    pub waker_comm: [u8; 16],
    pub wakee_comm: [u8; 16],
}

/// A task of a run queue (`struct queued_task`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct QueuedTask {
    pub vruntime: u64,
    pub deadline: u64,
    pub slice: u64,
    pub vlag: i64,
    pub vprot: u64,
    pub exec_start: u64,
    pub weight: u64,
    pub pid: i32,
    pub policy: u32,
    pub static_prio: i32,
    pub on_rq: u8,
    pub sched_delayed: u8,
    pub rel_deadline: u8,
    pub custom_slice: u8,
}

/// The state that a wake-up preemption may change (`struct preempt_state`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct PreemptState {
    pub curr: QueuedTask,
    pub virtual_time: u64,
    pub sum_w_vruntime: i64,
    pub sum_weight: u64,
    pub features: u64,
    pub thread_flags: u64,
    pub next: i32,
    pub last: i32,
    pub nr_queued: u32,
    pub sum_shift: u32,
}

/// A wake-up preemption (`struct preempt`). In the record the waiting tasks follow it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Preempt {
    pub kind: u32,
    pub cpu: u32,
    pub t_ns: u64,
    pub clock_task: u64,
    pub waker_cpu: u32,
    pub wakee_pid: i32,
    pub wake_flags: u32,
    pub has: u32,
    pub in_task: u32,
    pub waiting: u32,
    pub base_slice: u32,
    pub migration_cost: u32,
    pub wakeup_granularity: u32,
    pub nr_latency: u32,
    pub curr_comm: [u8; 16],
    pub wakee_comm: [u8; 16],
    pub before: PreemptState,
    pub after: PreemptState,
}

/// The most groups of a domain that are recorded.
pub const MAX_GROUPS: usize = 64;
/// The size of the fields of `struct balance_scratch` before the pass, bytes.
pub const BALANCE_SCRATCH_HEAD: usize = 6 * 8;

/// The values that a pass of the balancer reads of a group besides its CPUs (`struct balance_group`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct BalanceGroup {
    pub capacity: u64,
    pub imbalance: u64,
    pub llc_util: u64,
    pub llc_capacity: u64,
    pub llc_util_after: u64,
    pub llc_capacity_after: u64,
}

/// A pass of the balancer (`struct balance`). In the record the states of the CPUs follow it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Balance {
    pub kind: u32,
    pub cpus: u32,
    pub t_ns: u64,
    pub dur_ns: u64,
    pub features: u64,
    pub features_after: u64,
    pub cpu: u32,
    pub dst_cpu: u32,
    pub level: i32,
    pub idle: u32,
    pub has: u32,
    pub machine: u32,
    pub nr_groups: u32,
    pub busiest: i32,
    pub imbalance: i64,
    pub migration_type: u32,
    pub sched_cache: i32,
    pub nr_balance_failed: u32,
    pub llc_overaggr_pct: u32,
    pub llc_imb_pct: u32,
    pub pad: u32,
    pub dst_llc_util: u64,
    pub dst_llc_capacity: u64,
    pub span: [u64; MAX_CPUS / 64],
    pub env_cpus: [u64; MAX_CPUS / 64],
    pub groups: [BalanceGroup; MAX_GROUPS],
}

/// In the number of a group: it is that of an autogroup.
pub const AUTOGROUP: u64 = 1 << 62;
/// In `has` of a group: the kernel has `cpu.max`.
pub const GROUP_BANDWIDTH: u32 = 1;
/// In `has` of a group: the kernel has clamps of groups.
pub const GROUP_UCLAMP: u32 = 2;
/// The room for the name of a cgroup, bytes.
pub const MAX_GROUP_NAME: usize = 192;

/// A task group (`struct task_group_record`).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct TaskGroupRecord {
    pub kind: u32,
    pub has: u32,
    pub t_ns: u64,
    pub id: u64,
    pub parent: u64,
    pub shares: u64,
    pub quota: u64,
    pub period: u64,
    pub burst: u64,
    pub idle: u32,
    pub uclamp_min: u32,
    pub uclamp_max: u32,
    pub pad: u32,
    pub name: [u8; MAX_GROUP_NAME],
}

/// The group that a task is in (`struct group_member`).
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct GroupMember {
    pub kind: u32,
    pub pid: i32,
    pub t_ns: u64,
    pub group: u64,
}

/// A domain and one of its groups.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct DomainPart {
    pub domain: u64,
    pub next_group: u64,
    pub first_group: u64,
    pub span: [u64; MAX_CPUS / 64],
    pub group: [u64; MAX_CPUS / 64],
    pub group_capacity: u64,
    pub group_flags: u32,
    pub group_weight: u32,
    pub flags: u32,
    pub imbalance_pct: u32,
    pub imb_numa_nr: u32,
    pub span_weight: u32,
    pub sd_llc_id: i32,
    pub exists: u32,
    pub sd_llc_size: i32,
    pub cpu_capacity_orig: u32,
    pub name: [u8; 16],
}

/// A record of the ring buffer. It is used on the stack for a moment; a box would cost an allocation for each record.
#[allow(clippy::large_enum_variant)]
pub enum Record<'a> {
    /// A decision with the states of the CPUs, and what forks and execs read in addition.
    Decision(Decision, &'a [CpuState], &'a [CpuSlow]),
    /// A wake-up that chose no CPU.
    Waking(Waking),
    /// A wake-up preemption with the waiting tasks.
    Preempt(Preempt, &'a [QueuedTask]),
    /// A pass of the balancer with the states of the CPUs.
    Balance(Balance, &'a [CpuState]),
    /// A task group.
    TaskGroup(TaskGroupRecord),
    /// The group that a task is in.
    GroupMember(GroupMember),
    /// A record of another kind.
    Event(Event),
}

impl<'a> Record<'a> {
    /// Parses a record, which is aligned to eight bytes. Returns `None` if it is shorter than its counts require.
    pub fn parse(bytes: &'a [u8]) -> Option<Record<'a>> {
        let kind = bytemuck::pod_read_unaligned::<u32>(bytes.get(..4)?);
        if kind == KIND_WAKING {
            return Some(Record::Waking(bytemuck::pod_read_unaligned(bytes.get(..size_of::<Waking>())?)));
        }
        if kind == KIND_TASK_GROUP {
            return Some(Record::TaskGroup(bytemuck::pod_read_unaligned(bytes.get(..size_of::<TaskGroupRecord>())?)));
        }
        if kind == KIND_GROUP_MEMBER {
            return Some(Record::GroupMember(bytemuck::pod_read_unaligned(bytes.get(..size_of::<GroupMember>())?)));
        }
        if kind == KIND_PREEMPT {
            let (head, rest) = bytes.split_at_checked(size_of::<Preempt>())?;
            let preempt: Preempt = bytemuck::pod_read_unaligned(head);
            let waiting = rest.get(..preempt.waiting as usize * size_of::<QueuedTask>())?;
            return Some(Record::Preempt(preempt, bytemuck::try_cast_slice(waiting).ok()?));
        }
        if kind == KIND_BALANCE {
            let (head, rest) = bytes.split_at_checked(size_of::<Balance>())?;
            let pass: Balance = bytemuck::pod_read_unaligned(head);
            let cpus = rest.get(..pass.cpus as usize * size_of::<CpuState>())?;
            return Some(Record::Balance(pass, bytemuck::try_cast_slice(cpus).ok()?));
        }
        if kind != KIND_DECISION {
            return Some(Record::Event(bytemuck::pod_read_unaligned(bytes.get(..size_of::<Event>())?)));
        }
        let (head, rest) = bytes.split_at_checked(size_of::<Decision>())?;
        let decision: Decision = bytemuck::pod_read_unaligned(head);
        let (cpus, rest) = rest.split_at_checked(decision.cpus as usize * size_of::<CpuState>())?;
        let slow = rest.get(..decision.slow as usize * size_of::<CpuSlow>())?;
        Some(Record::Decision(decision, bytemuck::try_cast_slice(cpus).ok()?, bytemuck::try_cast_slice(slow).ok()?))
    }
}

/// A string up to its first NUL.
pub fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf_program::types;

    #[test]
    fn types_are_as_large_as_the_program_has_them() {
        assert_eq!(size_of::<Decision>(), size_of::<types::decision>());
        assert_eq!(size_of::<TaskState>(), size_of::<types::task_state>());
        assert_eq!(size_of::<DomainPart>(), size_of::<types::domain_part>());
        assert_eq!(size_of::<Waking>(), size_of::<types::waking>());
        assert_eq!(size_of::<Preempt>(), size_of::<types::preempt>());
        assert_eq!(size_of::<QueuedTask>(), size_of::<types::queued_task>());
        assert_eq!(size_of::<Balance>(), size_of::<types::balance>());
        // The skeleton has no types that are in no map; src/bpf/task_groups.h asserts the same of these.
        assert_eq!((size_of::<TaskGroupRecord>(), size_of::<GroupMember>()), (272, 24));
        let balance = size_of::<types::balance_scratch>() - BALANCE_SCRATCH_HEAD - size_of::<Balance>();
        assert_eq!(balance, MAX_CPUS * size_of::<CpuState>());
        let scratch = size_of::<types::scratch>() - SCRATCH_HEAD - size_of::<Decision>();
        assert_eq!(scratch, MAX_CPUS * (size_of::<CpuState>() + size_of::<CpuSlow>()));
    }

    #[test]
    fn records_that_are_cut_off_are_refused() {
        let mut decision: Decision = Zeroable::zeroed();
        (decision.kind, decision.cpus, decision.slow) = (KIND_DECISION, 2, 1);
        let mut bytes = vec![0_u64; (size_of::<Decision>() + 2 * size_of::<CpuState>() + size_of::<CpuSlow>()) / 8];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut bytes);
        bytes[..size_of::<Decision>()].copy_from_slice(bytemuck::bytes_of(&decision));
        assert!(matches!(Record::parse(bytes), Some(Record::Decision(_, [_, _], [_]))));
        for length in [0, 3, 8, size_of::<Decision>(), bytes.len() - 1] {
            assert!(Record::parse(&bytes[..length]).is_none(), "{length} bytes");
        }
    }
}
