//! The tables of a recording. docs/formats.md shows the descriptions of the columns; a test compares the two.

use crate::table::column::{Cpus, Ints, Longs, Text};
use crate::table::{Table, table};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::{Map, Value};

table! {
    /// Decisions of `select_task_rq_fair()` with their inputs.
    Decisions, DecisionRow, "decisions" {
        seq: i64 = "The row's number in the recording, from 1.";
        t_ns: i64 = "When `select_task_rq_fair()` was entered, ns of CLOCK_MONOTONIC; the inputs are of this moment.";
        dur_ns: i64 = "The time from then to its exit.";
        stable: bool = "Whether the row can be compared exactly: the same CPUs were idle at entry and exit, it took \
                        less than 200 us, `task_h_load()` did not change, all features are known and none was \
                        switched in the last 50 ms, and the decision was recorded, not inferred.";
        features: Text = "The features that were on, in the form of the kernel's `features` file.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: i32 = "The task that was running there; 0 is the idle task.";
        waker_comm: Text = "Its name.";
        waker_policy: i32 = "Its `SCHED_*`.";
        waker_flags: i64 = "Its `PF_*`.";
        waker_nr_cpus_allowed: i32 = "How many CPUs it may use.";
        waker_percpu_kthread: bool = "`is_per_cpu_kthread(current)`.";
        preempt_count: i64 = "`preempt_count()`.";
        in_task: bool = "`in_task()`: false in an interrupt.";
        wakee_pid: i32 = "The wakee.";
        wakee_comm: Text = "Its name.";
        wakee_policy: i32 = "Its `SCHED_*`: 0 is normal, 5 is SCHED_IDLE.";
        wakee_static_prio: i32 = "100 to 139; 120 is nice 0.";
        wakee_flags: i64 = "Its `PF_*`.";
        on_rq: bool = "Whether it is queued, as in an exec.";
        prev_cpu: i32 = "Where it ran last.";
        wake_flags: i64 = "`WF_*`: 2 EXEC, 4 FORK, 8 TTWU, 16 SYNC, 64 CURRENT_CPU.";
        wake_flags_text: Text = "The flags in words.";
        chosen_cpu: i32 = "What the function returned.";
        recent_used_cpu: i32 = "`recent_used_cpu` of the wakee before the decision.";
        recent_used_cpu_after: i32 = "And after.";
        waker_flips_before: i64 = "`wakee_flips` of the waker before `record_wakee()`.";
        waker_flips: i64 = "And after.";
        wakee_flips_before: i64 = "The wakee's, before.";
        wakee_flips: i64 = "And after.";
        last_wakee_is_p: bool = "Whether the waker woke the same task last.";
        flip_decay_due: bool = "Whether the waker's flips were due to be halved.";
        sd_llc_size: i32 = "CPUs in the LLC of the waking CPU.";
        affinity: Cpus = "The CPUs that the wakee may use.";
        nr_cpus_allowed: i32 = "How many CPUs those are.";
        util_avg: i64 = "`util_avg` of the wakee.";
        runnable_avg: i64 = "`runnable_avg` of the wakee.";
        util_est: i64 = "`_task_util_est()` of the wakee.";
        load_avg: i64 = "`load_avg` of the wakee.";
        load_weight: i64 = "Its weight; 1024 is nice 0.";
        task_h_load: i64 = "`task_h_load()` of the wakee.";
        last_update_time_set: bool = "Whether the wakee has contributed to the averages of `prev_cpu`.";
        numa_preferred_nid: i32 = "Its preferred node; -1 for none.";
        waker_load_avg: i64 = "`load_avg` of the waker.";
        waker_load_weight: i64 = "Its weight.";
        waker_h_load: i64 = "`task_h_load()` of the waker.";
        jiffies: i64 = "Here and in the next four columns, what SIS_PROP reads of the waking CPU: the jiffies counter.";
        wake_stamp: Option<i64> = "`rq->wake_stamp`, jiffies; null if the kernel does not have it.";
        wake_avg_idle: Option<i64> = "`rq->wake_avg_idle`, ns.";
        avg_idle: i64 = "`rq->avg_idle`, ns.";
        avg_scan_cost: Option<i64> = "`sd_llc->avg_scan_cost`, ns.";
        idle_mask: Cpus = "The CPUs for which `available_idle_cpu()` was true at the entry of the function.";
        idle_mask_exit: Cpus = "The CPUs for which it was true at the exit.";
        curr_idle_mask: Cpus = "The CPUs whose idle task was current.";
        ttwu_pending_mask: Cpus = "The CPUs with a wake-up on the wakelist (`rq->ttwu_pending`).";
        cpu_nr_running: Ints = "By CPU: `rq->nr_running`.";
        cpu_h_nr_queued: Ints = "By CPU: fair tasks.";
        cpu_h_nr_delayed: Ints = "By CPU: fair tasks whose dequeue is delayed.";
        cpu_h_nr_idle: Ints = "By CPU: fair tasks with the policy SCHED_IDLE.";
        cpu_load_avg: Longs = "By CPU: `cfs.avg.load_avg`.";
        cpu_runnable_avg: Longs = "By CPU: `cfs.avg.runnable_avg`.";
        cpu_util_avg: Longs = "By CPU: `cfs.avg.util_avg`.";
        cpu_util_est: Longs = "By CPU: `cfs.avg.util_est`.";
        cpu_capacity: Longs = "By CPU: `rq->cpu_capacity`.";
        llc_ids: Ints = "`sd_llc_id` of each LLC.";
        llc_has_idle_cores: Ints = "By LLC: `has_idle_cores`, 0 or 1.";
        llc_nr_idle_scan: Ints = "By LLC: `nr_idle_scan`.";
        cpu_idle_stamp: Option<Longs> = "Here and below, what only forks and execs read; otherwise null. By CPU: \
                                         `rq->idle_stamp`, ns.";
        cpu_idle_exit_latency: Option<Longs> = "By CPU: the exit latency of its idle state, us; -1 for none.";
        cpu_group_cap_l0: Option<Longs> = "By CPU: `sgc->capacity` of its own group in its lowest domain; 0 if there \
                                           is none.";
        cpu_group_cap_l1: Option<Longs> = "By CPU: the capacity of its group in the second domain.";
        cpu_group_cap_l2: Option<Longs> = "By CPU: the capacity of its group in the third domain.";
        cpu_group_cap_l3: Option<Longs> = "By CPU: the capacity of its group in the fourth domain.";
        cpu_group_imbalance: Option<Longs> = "By CPU: bit l is `sgc->imbalance` in domain l.";
    }
}

table! {
    /// Context switches.
    Switches, SwitchRow, "switches" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC.";
        cpu: i32 = "The CPU.";
        prev_pid: i32 = "The task that ran; 0 is the idle task.";
        prev_sleeps: bool = "Whether it sleeps or has exited; otherwise it was preempted.";
        next_pid: i32 = "The task that runs now; 0 is the idle task.";
    }
}

table! {
    /// Tasks that changed their CPU, in a wake-up or by load balancing.
    Migrations, MigrationRow, "migrations" {
        t_ns: i64 = "When.";
        pid: i32 = "The task.";
        from_cpu: i32 = "The CPU that it leaves.";
        to_cpu: i32 = "The CPU that it goes to.";
    }
}

table! {
    /// Idle states of CPUs.
    IdleStates, IdleStateRow, "idle" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        state: Option<i32> = "The state that it enters; null if it leaves one.";
    }
}

table! {
    /// Frequencies of CPUs.
    Frequencies, FrequencyRow, "frequencies" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        khz: i64 = "Its frequency from now on.";
    }
}

table! {
    /// Wake-ups without a decision: those that chose no CPU of the fair class, or all that were imported from another
    /// recorder's events.
    Wakings, WakingRow, "wakings" {
        t_ns: i64 = "When the wake-up began. Rows are in the order in which the destination became known.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: i32 = "The task that was running there; 0 is the idle task, or unknown.";
        waker_comm: Text = "Its name; empty if it is not known.";
        wakee_pid: i32 = "The wakee.";
        wakee_comm: Text = "Its name.";
        prev_cpu: Option<i32> = "Where it ran last; null if the events do not have it, as for new tasks.";
        dest_cpu: i32 = "Where it goes.";
        preempt_count: Option<i64> = "`preempt_count()` of the waking CPU; here and below, null in imports.";
        wakee_policy: Option<i32> = "`SCHED_*` of the wakee.";
        wakee_static_prio: Option<i32> = "100 to 139; 120 is nice 0.";
        wakee_flags: Option<i64> = "Its `PF_*`.";
        wakee_nr_cpus_allowed: Option<i32> = "How many CPUs it may use.";
    }
}

table! {
    /// Names of tasks in an import, from any event or column that has them.
    Names, NameRow, "names" {
        t_ns: i64 = "When the task was first seen with the name.";
        pid: i32 = "The task.";
        comm: Text = "Its name from now on.";
    }
}

table! {
    /// Tasks that joined the queue of a running task, and whether they preempt it.
    WakeupPreempts, WakeupPreemptRow, "preempts" {
        t_ns: i64 = "When the fair class's function (`check_preempt_wakeup()`, `wakeup_preempt_fair()`) was entered, \
                     ns of CLOCK_MONOTONIC.";
        cpu: i32 = "The CPU of the queue.";
        waker_cpu: i32 = "The CPU that the function ran on.";
        stable: bool = "Whether the row can be compared exactly: no entities of groups are queued, there was room \
                        for all tasks, all features are known and none was switched in the last 50 ms.";
        features: Text = "The features that were on, in the form of the kernel's `features` file.";
        wake_flags: i64 = "`WF_*`, as in `decisions`; 0 if the balancer moved the task, or it was changed.";
        in_task: bool = "`in_task()` of the waking CPU.";
        curr_pid: i32 = "The running task, with which the one that joined is compared.";
        curr_comm: Text = "Its name.";
        wakee_pid: i32 = "The task that joined.";
        wakee_comm: Text = "Its name.";
        clock_task: i64 = "`rq_clock_task()`, ns.";
        resched: i32 = "What the running task was asked for before: 1 `TIF_NEED_RESCHED_LAZY`, 2 `TIF_NEED_RESCHED`, \
                        3 both.";
        resched_after: i32 = "And after.";
        base_slice: Option<i64> = "`sysctl_sched_base_slice`, ns; null here and below if the kernel does not have it.";
        migration_cost: Option<i64> = "`sysctl_sched_migration_cost`, ns.";
        wakeup_granularity: Option<i64> = "`sysctl_sched_wakeup_granularity`, ns.";
        nr_latency: Option<i64> = "`sched_nr_latency`.";
        nr_queued: i32 = "How many tasks are queued, the running one included.";
        nr_queued_after: i32 = "And after.";
        virtual_time: i64 = "`zero_vruntime` of EEVDF, `min_vruntime` of CFS, ns; here and below, times are u64 that \
                             wrap.";
        virtual_time_after: i64 = "And after.";
        sum_w_vruntime: Option<i64> = "EEVDF: `sum_w_vruntime`, up to 6.18 `avg_vruntime`.";
        sum_weight: Option<i64> = "EEVDF: `sum_weight`, up to 6.18 `avg_load`.";
        sum_shift: i32 = "EEVDF: `sum_shift`.";
        next_pid: i32 = "The next buddy; 0 for none.";
        next_pid_after: i32 = "And after.";
        last_pid: i32 = "CFS: the last buddy; 0 for none.";
        last_pid_after: i32 = "And after.";
        curr_exec_start: i64 = "`exec_start` of the running task, ns.";
        curr_vruntime_after: i64 = "Its `vruntime` after.";
        curr_deadline_after: i64 = "Its `deadline` after; 0 for CFS.";
        curr_slice_after: i64 = "Its `slice` after; 0 for CFS.";
        curr_protection_after: i64 = "EEVDF: its `vprot` after, in 6.6 to 6.12 its `vlag`.";
        task_pid: Ints = "Here and below, the running task, then those that wait, in the order of the tree: the pid.";
        task_policy: Ints = "`SCHED_*`: 0 is normal, 3 is batch, 5 is SCHED_IDLE.";
        task_static_prio: Ints = "100 to 139; 120 is nice 0.";
        task_flags: Ints = "1 `on_rq`, 2 `sched_delayed`, 4 `rel_deadline`, 8 `custom_slice`.";
        task_weight: Longs = "The weight; 1024 is nice 0.";
        task_vruntime: Longs = "`vruntime`, ns.";
        task_deadline: Longs = "EEVDF: `deadline`, ns.";
        task_slice: Longs = "EEVDF: `slice`, ns.";
        task_vlag: Longs = "EEVDF: `vlag`, ns.";
        task_vprot: Longs = "EEVDF since 6.18: `vprot`, ns; before, 0.";
    }
}

table! {
    /// Passes of the load balancer over a domain, with what they read and the group that they find to pull from.
    Balance, BalanceRow, "balance" {
        t_ns: i64 = "When `find_busiest_group()` (`sched_balance_find_src_group()` since 6.10) was entered, ns of \
                     CLOCK_MONOTONIC.";
        dur_ns: i64 = "The time from then to its exit, with the reading of the recorder.";
        stable: bool = "Whether the row can be compared exactly: what was read at the entry and again at the exit is \
                        the same, no CPU of the domain switched or updated its averages meanwhile, the domain is known \
                        and has at most 64 groups, all features are known and none was switched in the last 50 ms.";
        features: Text = "The features that were on, in the form of the kernel's `features` file.";
        cpu: i32 = "The CPU that the pass runs on.";
        dst_cpu: i32 = "The CPU that it pulls to: another one if an idle CPU balances for others.";
        level: i32 = "The level of the domain of that CPU; 0 is the lowest, -1 unknown.";
        idle: i32 = "What that CPU does: 0 it is idle, 1 it is not, 2 it is about to go idle.";
        span: Cpus = "The CPUs of the domain. Lists by CPU below hold 0 for the others.";
        cpus: Cpus = "The CPUs that the pass may take from or to (`env->cpus`).";
        curr_idle_mask: Cpus = "The CPUs whose idle task was current.";
        ttwu_pending_mask: Cpus = "The CPUs with a wake-up on the wakelist.";
        cpu_nr_running: Ints = "By CPU: `rq->nr_running`.";
        cpu_h_nr_queued: Ints = "By CPU: fair tasks.";
        cpu_h_nr_delayed: Ints = "By CPU: fair tasks whose dequeue is delayed.";
        cpu_prefer: Ints = "By CPU, since 7.2: queued tasks that prefer the LLC of `dst_cpu` (`llc_counts`).";
        cpu_load_avg: Longs = "By CPU: `cfs.avg.load_avg`.";
        cpu_runnable_avg: Longs = "By CPU: `cfs.avg.runnable_avg`.";
        cpu_util_avg: Longs = "By CPU: `cfs.avg.util_avg`.";
        cpu_util_est: Longs = "By CPU: `cfs.avg.util_est`.";
        cpu_capacity: Longs = "By CPU: `rq->cpu_capacity`, at the exit.";
        group_capacity: Longs = "By group, from that of `dst_cpu` around the ring: `sgc->capacity` at the exit. The \
                                 function refreshes that of its own group.";
        group_imbalance: Longs = "By group: 1 if `sgc->imbalance` is set.";
        busiest: i32 = "The group that it returned, as its place in those lists; -1 for none.";
        migration_type: i32 = "What is to be moved (`env->migration_type`): 0 load, 1 utilisation, 2 tasks, 3 a misfit \
                               task, 4 a task that prefers the LLC. It has no meaning without a group.";
        imbalance: i64 = "How much of it (`env->imbalance`).";
        sched_cache: Option<i32> = "Since 7.2: 1 if cache-aware balancing is on (`sched_cache_enabled()`). Null, as \
                                    what follows, if the kernel does not have it.";
        nr_balance_failed: Option<i32> = "`sd->nr_balance_failed`.";
        llc_overaggr_pct: Option<i32> = "`llc_balancing/overaggr_pct` of debugfs.";
        llc_imb_pct: Option<i32> = "`llc_balancing/imb_pct`.";
        dst_llc_util: Option<i64> = "`sd_llc_shared->util_avg` of the LLC of `dst_cpu`; -1, here and below, without \
                                     such a domain.";
        dst_llc_capacity: Option<i64> = "`sd_llc_shared->capacity` of that LLC.";
        group_llc_util: Option<Longs> = "By group: `util_avg` of the LLC of its first CPU.";
        group_llc_capacity: Option<Longs> = "By group: `capacity` of that LLC.";
        group_llc_util_after: Option<Longs> = "By group: `util_avg` of that LLC at the exit. A periodic pass over the \
                                               domain just above the LLCs writes it.";
        group_llc_capacity_after: Option<Longs> = "By group: `capacity` of that LLC at the exit.";
    }
}

table! {
    /// Counts of the recording so far. A row is added at regular intervals.
    Counts, CountsRow, "counts" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC. All columns that follow count from the beginning of the recording.";
        last: bool = "Whether the recording had ended, so that nothing is pending.";
        wakings: i64 = "Wake-ups of any scheduling class.";
        woken: i64 = "Wake-ups with a decision of the fair class; the others were still queued, pinned to one CPU, or \
                      of another class.";
        choices: i64 = "Decisions of the fair class: those of wake-ups, forks and execs. The next seven columns add \
                        up to them.";
        recorded: i64 = "Decisions in the table `decisions`.";
        lost: i64 = "Decisions that found no room in the ring buffer.";
        filtered: i64 = "Decisions left out by --pid, --comm or --cgroup.";
        sampled: i64 = "Decisions left out by --sample.";
        limited: i64 = "Decisions left out by --max-rate.";
        changed: i64 = "Decisions left out because the scheduling domains were being rebuilt, as when a CPU goes \
                        offline.";
        unfinished: i64 = "Decisions that were pending or in the buffer; at the end, those whose exit was not \
                           recorded.";
        stable: i64 = "Recorded decisions that can be compared exactly.";
        events_lost: i64 = "Rows of the other tables that found no room.";
        events_limited: i64 = "Rows of the other tables left out by --max-rate.";
        missed: i64 = "How often the kernel skipped a BPF program because one was running on that CPU. What it would \
                       have recorded is not counted above.";
        choice_ns: Option<i64> = "Time of the BPF programs at the entry and the exit of decisions, ns; null if the \
                                  kernel does not count it.";
        programs_ns: Option<i64> = "Time of all BPF programs, ns.";
        recorder_ns: i64 = "CPU time of wakelab-record itself, ns.";
        elapsed_ns: i64 = "Time since the beginning, ns. The two columns before, divided by it, are shares of one CPU.";
    }
}

impl CountsRow<'_> {
    /// The decisions that were left out by filters, sampling and limits, or because the machine changed.
    pub fn left_out(&self) -> i64 {
        self.filtered + self.sampled + self.limited + self.changed
    }

    /// The row as JSON, with the names of the columns as keys.
    pub(super) fn json(&self) -> String {
        let mut table = Counts::default();
        table.push(*self);
        let value = |array: &dyn Array| {
            if array.is_null(0) {
                Value::Null
            } else if let Some(flags) = array.as_boolean_opt() {
                flags.value(0).into()
            } else {
                array.as_primitive::<Int64Type>().value(0).into()
            }
        };
        let names = Counts::COLUMNS.iter().map(|column| column.name.to_owned());
        Value::Object(names.zip(table.finish().iter().map(|array| value(array))).collect::<Map<_, _>>()).to_string()
    }
}
