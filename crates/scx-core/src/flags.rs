//! Constants of sched_ext that schedulers see (`include/linux/sched/ext.h`, `kernel/sched/ext/internal.h`, 7.2). Those
//! that differ between versions are in [`ExtRules`](wakelab_kernel::ExtRules).

/// `SCX_DSQ_FLAG_BUILTIN`.
pub const SCX_DSQ_FLAG_BUILTIN: u64 = 1 << 63;
/// `SCX_DSQ_INVALID`.
pub const SCX_DSQ_INVALID: u64 = SCX_DSQ_FLAG_BUILTIN;
/// `SCX_DSQ_GLOBAL`.
pub const SCX_DSQ_GLOBAL: u64 = SCX_DSQ_FLAG_BUILTIN | 1;
/// `SCX_DSQ_LOCAL`.
pub const SCX_DSQ_LOCAL: u64 = SCX_DSQ_FLAG_BUILTIN | 2;
/// `SCX_DSQ_LOCAL_ON`: with the CPU in the lower 32 bits.
pub const SCX_DSQ_LOCAL_ON: u64 = SCX_DSQ_FLAG_BUILTIN | 1 << 62;
/// `SCX_DSQ_LOCAL_CPU_MASK`.
pub const SCX_DSQ_LOCAL_CPU_MASK: u64 = 0xffff_ffff;

/// `SCX_SLICE_DFL`, ns.
pub const SCX_SLICE_DFL: u64 = 20_000_000;
/// `SCX_SLICE_INF`.
pub const SCX_SLICE_INF: u64 = u64::MAX;

/// `SCX_ENQ_WAKEUP`.
pub const SCX_ENQ_WAKEUP: u64 = 1;
/// `SCX_ENQ_PREEMPT`.
pub const SCX_ENQ_PREEMPT: u64 = 1 << 32;
/// `SCX_ENQ_IMMED`, 7.1.
pub const SCX_ENQ_IMMED: u64 = 1 << 33;
/// `SCX_ENQ_REENQ`.
pub const SCX_ENQ_REENQ: u64 = 1 << 40;
/// `SCX_ENQ_LAST`.
pub const SCX_ENQ_LAST: u64 = 1 << 41;
/// `__SCX_ENQ_INTERNAL_MASK`.
pub const SCX_ENQ_INTERNAL_MASK: u64 = 0xff << 56;
/// `SCX_ENQ_DSQ_PRIQ`.
pub const SCX_ENQ_DSQ_PRIQ: u64 = 1 << 57;

/// `SCX_REENQ_ANY`: all tasks of a queue, 7.1.
pub const SCX_REENQ_ANY: u64 = 1;
/// `SCX_TASK_REENQ_KFUNC` of `p->scx.flags`, 7.1.
pub const SCX_TASK_REENQ_KFUNC: u32 = 1 << 12;
/// `SCX_TASK_REENQ_IMMED`.
pub const SCX_TASK_REENQ_IMMED: u32 = 2 << 12;
/// `SCX_TASK_REENQ_PREEMPTED`.
pub const SCX_TASK_REENQ_PREEMPTED: u32 = 3 << 12;

/// `TASK_RUNNING` of `p->__state`.
pub const TASK_RUNNING: u32 = 0;
/// `TASK_INTERRUPTIBLE`, here of all that sleep.
pub const TASK_INTERRUPTIBLE: u32 = 1;
/// `TASK_DEAD`.
pub const TASK_DEAD: u32 = 0x80;

/// `DEQUEUE_SAVE`, `ENQUEUE_RESTORE`: the task comes back at once, changed. This and the next two are the core's own
/// (`kernel/sched/sched.h`), which schedulers see without a name.
pub const DEQUEUE_SAVE: u64 = 2;
/// `DEQUEUE_MOVE`, `ENQUEUE_MOVE`.
pub const DEQUEUE_MOVE: u64 = 4;
/// `DEQUEUE_NOCLOCK`, `ENQUEUE_NOCLOCK`.
pub const DEQUEUE_NOCLOCK: u64 = 8;
/// `SCX_DEQ_SLEEP`.
pub const SCX_DEQ_SLEEP: u64 = 1;
/// `SCX_DEQ_SCHED_CHANGE`, 7.1.
pub const SCX_DEQ_SCHED_CHANGE: u64 = 1 << 33;

/// `SCX_OPS_KEEP_BUILTIN_IDLE`.
pub const SCX_OPS_KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_ENQ_LAST`.
pub const SCX_OPS_ENQ_LAST: u64 = 1 << 1;
/// `SCX_OPS_ENQ_EXITING`.
pub const SCX_OPS_ENQ_EXITING: u64 = 1 << 2;
/// `SCX_OPS_SWITCH_PARTIAL`.
pub const SCX_OPS_SWITCH_PARTIAL: u64 = 1 << 3;
/// `SCX_OPS_ENQ_MIGRATION_DISABLED`.
pub const SCX_OPS_ENQ_MIGRATION_DISABLED: u64 = 1 << 4;
/// `SCX_OPS_ALLOW_QUEUED_WAKEUP`.
pub const SCX_OPS_ALLOW_QUEUED_WAKEUP: u64 = 1 << 5;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`.
pub const SCX_OPS_BUILTIN_IDLE_PER_NODE: u64 = 1 << 6;
/// `SCX_OPS_ALWAYS_ENQ_IMMED`.
pub const SCX_OPS_ALWAYS_ENQ_IMMED: u64 = 1 << 7;
/// `SCX_OPS_TID_TO_TASK`.
pub const SCX_OPS_TID_TO_TASK: u64 = 1 << 8;
/// The flags of `ops.flags` of all kernels, by name (`SCX_OPS_ALL_FLAGS`). `SCX_OPS_HAS_CGROUP_WEIGHT` was one that did
/// nothing, up to 6.18.
pub const SCX_OPS_FLAGS: [(&str, u64); 10] = [
    ("SCX_OPS_KEEP_BUILTIN_IDLE", SCX_OPS_KEEP_BUILTIN_IDLE),
    ("SCX_OPS_ENQ_LAST", SCX_OPS_ENQ_LAST),
    ("SCX_OPS_ENQ_EXITING", SCX_OPS_ENQ_EXITING),
    ("SCX_OPS_SWITCH_PARTIAL", SCX_OPS_SWITCH_PARTIAL),
    ("SCX_OPS_ENQ_MIGRATION_DISABLED", SCX_OPS_ENQ_MIGRATION_DISABLED),
    ("SCX_OPS_ALLOW_QUEUED_WAKEUP", SCX_OPS_ALLOW_QUEUED_WAKEUP),
    ("SCX_OPS_BUILTIN_IDLE_PER_NODE", SCX_OPS_BUILTIN_IDLE_PER_NODE),
    ("SCX_OPS_ALWAYS_ENQ_IMMED", SCX_OPS_ALWAYS_ENQ_IMMED),
    ("SCX_OPS_TID_TO_TASK", SCX_OPS_TID_TO_TASK),
    ("SCX_OPS_HAS_CGROUP_WEIGHT", 1 << 16),
];

/// `SCX_PICK_IDLE_CORE`.
pub const SCX_PICK_IDLE_CORE: u64 = 1;
/// `SCX_PICK_IDLE_IN_NODE`.
pub const SCX_PICK_IDLE_IN_NODE: u64 = 1 << 1;

/// `SCX_KICK_IDLE`.
pub const SCX_KICK_IDLE: u64 = 1;
/// `SCX_KICK_PREEMPT`.
pub const SCX_KICK_PREEMPT: u64 = 1 << 1;
/// `SCX_KICK_WAIT`.
pub const SCX_KICK_WAIT: u64 = 1 << 2;

/// `SCX_CPU_PREEMPT_RT`: a realtime task takes the CPU from the class.
pub const SCX_CPU_PREEMPT_RT: u32 = 0;
/// `SCX_CPU_PREEMPT_DL`: a deadline task does.
pub const SCX_CPU_PREEMPT_DL: u32 = 1;
/// `SCX_CPU_PREEMPT_STOP`: the stopper does.
pub const SCX_CPU_PREEMPT_STOP: u32 = 2;
/// `SCX_CPU_PREEMPT_UNKNOWN`: another class does.
pub const SCX_CPU_PREEMPT_UNKNOWN: u32 = 3;

/// `SCX_ECODE_RSN_HOTPLUG`: the scheduler ends as a CPU comes or goes.
pub const SCX_ECODE_RSN_HOTPLUG: i64 = 1 << 32;
/// `SCX_ECODE_ACT_RESTART`: its loader is to load it again.
pub const SCX_ECODE_ACT_RESTART: i64 = 1 << 48;

/// `SCX_WAKE_FORK`.
pub const SCX_WAKE_FORK: u64 = 4;
/// `SCX_WAKE_TTWU`.
pub const SCX_WAKE_TTWU: u64 = 8;
/// `SCX_WAKE_SYNC`.
pub const SCX_WAKE_SYNC: u64 = 0x10;

/// `SCX_DSP_DFL_MAX_BATCH`.
pub const SCX_DSP_DFL_MAX_BATCH: u32 = 32;
/// `SCX_DSP_MAX_LOOPS`.
pub const SCX_DSP_MAX_LOOPS: u32 = 32;
/// `SCX_WATCHDOG_MAX_TIMEOUT`, ms.
pub const SCX_WATCHDOG_MAX_TIMEOUT_MS: u32 = 30_000;
/// `SCX_CPUPERF_ONE`.
pub const SCX_CPUPERF_ONE: u32 = 1024;

/// `HARDIRQ_OFFSET` of `preempt_count()`.
pub const HARDIRQ_OFFSET: u32 = 1 << 16;
/// `SOFTIRQ_OFFSET`.
pub const SOFTIRQ_OFFSET: u32 = 1 << 8;
