//! The tables of a recording. docs/recording.md shows the descriptions of the columns; a test compares the two.

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

table! {
    /// Context switches.
    Switches, SwitchRow, "switches" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC.";
        cpu: i32 = "The CPU.";
        prev_pid: i32 = "Who ran; 0 is the idle task.";
        prev_sleeps: bool = "Whether it sleeps, or has exited; else it waits for a CPU.";
        next_pid: i32 = "Who runs; 0 is the idle task.";
    }
}

table! {
    /// Tasks that got another CPU, by a wake-up or by balancing.
    Migrations, MigrationRow, "migrations" {
        t_ns: i64 = "When.";
        pid: i32 = "The task.";
        from_cpu: i32 = "From this CPU.";
        to_cpu: i32 = "To this one.";
    }
}

table! {
    /// Idle states of CPUs.
    IdleStates, IdleStateRow, "idle" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        state: Option<i32> = "The state that it enters; null where it leaves one.";
    }
}

table! {
    /// Frequencies of CPUs.
    Frequencies, FrequencyRow, "frequencies" {
        t_ns: i64 = "When.";
        cpu: i32 = "The CPU.";
        khz: i64 = "What it runs at from now on.";
    }
}

table! {
    /// Wake-ups without their inputs, as another recorder's events tell them.
    Wakings, WakingRow, "wakings" {
        t_ns: i64 = "When the wake-up began; rows come when it is known where the wakee goes.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: i32 = "Who was running there; 0 is the idle task, or not known.";
        waker_comm: Text = "Its name; empty where it is not known.";
        wakee_pid: i32 = "Who is woken.";
        wakee_comm: Text = "Its name.";
        prev_cpu: Option<i32> = "Where it ran last; null where the events do not tell, as for new tasks.";
        dest_cpu: i32 = "Where it goes.";
    }
}

table! {
    /// What was counted so far, again and again while recording.
    Counts, CountsRow, "counts" {
        t_ns: i64 = "When, ns of CLOCK_MONOTONIC. All that follows counts from the beginning of the recording.";
        last: bool = "Whether the recording had ended: nothing is under way any more.";
        wakings: i64 = "Wake-ups of whatever class.";
        woken: i64 = "Those of them that came to a choice; the others were still queued, pinned to one CPU, or of another class.";
        choices: i64 = "Choices of the fair class: those, and the ones of forks and execs. The next seven add up to them.";
        recorded: i64 = "In `decisions`.";
        lost: i64 = "Found no room in the buffer.";
        filtered: i64 = "Left out by --pid, --comm or --cgroup.";
        sampled: i64 = "Left out by --sample.";
        limited: i64 = "Left out by --max-rate.";
        changed: i64 = "Left out since the scheduling domains were being rebuilt, as when a CPU goes offline.";
        unfinished: i64 = "Under way, or in the buffer; at the end those whose end was not seen.";
        stable: i64 = "Of those recorded: can be compared exactly.";
        events_lost: i64 = "Rows of the other tables that found no room.";
        events_limited: i64 = "Rows of the other tables left out by --max-rate.";
        missed: i64 = "How often the kernel did not run a BPF program, as one was running on that CPU: what it would have seen is not counted above.";
        choice_ns: Option<i64> = "Time of the BPF programs at the beginning and the end of choices, ns; null where the kernel does not count it.";
        programs_ns: Option<i64> = "Time of all BPF programs, ns.";
        recorder_ns: i64 = "CPU time of wakelab-record itself, ns.";
        elapsed_ns: i64 = "Time since the beginning, ns; the two before over it are the shares of one CPU.";
    }
}

impl CountsRow<'_> {
    /// What was left out on purpose, or because the machine changed.
    pub fn left_out(&self) -> i64 {
        self.filtered + self.sampled + self.limited + self.changed
    }

    /// As JSON, with the names of the columns.
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
