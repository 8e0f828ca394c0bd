//! The decisions, column by column as docs/recording-format.md names them.

use crate::record::cell::{Cpus, Ints, Longs, Text};
use crate::record::table::table;

table! {
    /// Decisions of `select_task_rq_fair()` with their inputs.
    Decisions, DecisionRow, "decisions" {
        seq: i64 = "The row's number in the recording, from 1.";
        t_ns: i64 = "When `select_task_rq_fair()` was entered, ns of CLOCK_MONOTONIC; the inputs are of this moment.";
        dur_ns: i64 = "From then to its exit.";
        stable: bool = "Whether the row can be compared exactly: the same CPUs were idle at both, it took less than 200 us, `task_h_load()` held, all features are known and none was switched in the last 50 ms, and the choice was seen, not inferred.";
        features: Text = "What was on, as the kernel's `features` file says it.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: i32 = "Who was running there; 0 is the idle task.";
        waker_comm: Text = "Its name.";
        waker_policy: i32 = "Its `SCHED_*`.";
        waker_flags: i64 = "Its `PF_*`.";
        waker_nr_cpus_allowed: i32 = "How many CPUs it may use.";
        waker_percpu_kthread: bool = "`is_per_cpu_kthread(current)`.";
        preempt_count: i64 = "`preempt_count()`.";
        in_task: bool = "`in_task()`: false in an interrupt.";
        wakee_pid: i32 = "Who is woken.";
        wakee_comm: Text = "Its name.";
        wakee_policy: i32 = "Its `SCHED_*`: 0 is normal, 5 is SCHED_IDLE.";
        wakee_static_prio: i32 = "100 to 139; 120 is nice 0.";
        wakee_flags: i64 = "Its `PF_*`.";
        on_rq: bool = "It is queued: an exec.";
        prev_cpu: i32 = "Where it ran last.";
        wake_flags: i64 = "`WF_*`: 2 EXEC, 4 FORK, 8 TTWU, 16 SYNC, 64 CURRENT_CPU.";
        wake_flags_text: Text = "The same in words.";
        chosen_cpu: i32 = "What the function returned.";
        recent_used_cpu: i32 = "`recent_used_cpu` of the wakee before.";
        recent_used_cpu_after: i32 = "And after.";
        waker_flips_before: i64 = "`wakee_flips` of the waker before `record_wakee()`.";
        waker_flips: i64 = "And after.";
        wakee_flips_before: i64 = "The wakee's, before.";
        wakee_flips: i64 = "And after.";
        last_wakee_is_p: bool = "The waker woke the same task last.";
        flip_decay_due: bool = "The waker's flips were due to be halved.";
        sd_llc_size: i32 = "CPUs in the LLC of the waking CPU.";
        affinity: Cpus = "The CPUs that the wakee may use.";
        nr_cpus_allowed: i32 = "How many those are.";
        util_avg: i64 = "`util_avg` of the wakee.";
        runnable_avg: i64 = "`runnable_avg` of the wakee.";
        util_est: i64 = "`_task_util_est()` of the wakee.";
        load_avg: i64 = "`load_avg` of the wakee.";
        load_weight: i64 = "Its weight; 1024 is nice 0.";
        task_h_load: i64 = "`task_h_load()` of the wakee.";
        last_update_time_set: bool = "The wakee has contributed to the averages of `prev_cpu`.";
        numa_preferred_nid: i32 = "Its preferred node; -1 for none.";
        waker_load_avg: i64 = "`load_avg` of the waker.";
        waker_load_weight: i64 = "Its weight.";
        waker_h_load: i64 = "`task_h_load()` of the waker.";
        jiffies: i64 = "Here and in the next four what SIS_PROP reads of the waking CPU: the jiffies counter.";
        wake_stamp: Option<i64> = "`rq->wake_stamp`, jiffies; null where the kernel has it not.";
        wake_avg_idle: Option<i64> = "`rq->wake_avg_idle`, ns.";
        avg_idle: i64 = "`rq->avg_idle`, ns.";
        avg_scan_cost: Option<i64> = "`sd_llc->avg_scan_cost`, ns.";
        idle_mask: Cpus = "The CPUs for which `available_idle_cpu()` was true as the function began.";
        idle_mask_exit: Cpus = "And as it ended.";
        curr_idle_mask: Cpus = "The CPUs whose idle task was current.";
        ttwu_pending_mask: Cpus = "The CPUs with a wake-up on its way.";
        cpu_nr_running: Ints = "By CPU: `rq->nr_running`.";
        cpu_h_nr_queued: Ints = "By CPU: fair tasks.";
        cpu_h_nr_delayed: Ints = "By CPU: those whose dequeue is delayed.";
        cpu_h_nr_idle: Ints = "By CPU: those of SCHED_IDLE.";
        cpu_load_avg: Longs = "By CPU: `cfs.avg.load_avg`.";
        cpu_runnable_avg: Longs = "By CPU: `cfs.avg.runnable_avg`.";
        cpu_util_avg: Longs = "By CPU: `cfs.avg.util_avg`.";
        cpu_util_est: Longs = "By CPU: `cfs.avg.util_est`.";
        cpu_capacity: Longs = "By CPU: `rq->cpu_capacity`.";
        llc_ids: Ints = "`sd_llc_id` of each LLC.";
        llc_has_idle_cores: Ints = "By LLC, 0 or 1.";
        llc_nr_idle_scan: Ints = "By LLC.";
        cpu_idle_stamp: Option<Longs> = "Here and below what forks and execs read besides; else null. By CPU: `rq->idle_stamp`, ns.";
        cpu_idle_exit_latency: Option<Longs> = "By CPU: exit latency of its idle state, us; -1 for none.";
        cpu_group_cap_l0: Option<Longs> = "By CPU: `sgc->capacity` of its own group in its lowest domain; 0 where there is none.";
        cpu_group_cap_l1: Option<Longs> = "In the second.";
        cpu_group_cap_l2: Option<Longs> = "In the third.";
        cpu_group_cap_l3: Option<Longs> = "In the fourth.";
        cpu_group_imbalance: Option<Longs> = "By CPU: bit l is `sgc->imbalance` in domain l.";
    }
}
