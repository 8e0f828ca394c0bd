//! The table of wake-ups: what was decided, when, and from which inputs. Columns that a recording of a real kernel also
//! has bear its names.

use super::decision_inputs::DecisionInputs;
use crate::error::WriteError;
use crate::sim::{Queued, Task};
use crate::table::column::{Cpus, Ints, Longs, Name};
use crate::table::table;
use crate::table::writer::TableFile;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Affine, Decision, Reason};

table! {
    /// Wake-ups, and placements of new tasks.
    Wakeups, WakeupRow, "wakeups" {
        t_ns: i64 = "When `select_task_rq_fair()` began; the inputs are of this moment.";
        walk_began_ns: Option<i64> = "When `select_idle_cpu()` began its scan of the LLC, if it did.";
        walk_ended_ns: Option<i64> = "When that scan made its last probe.";
        decided_ns: i64 = "When the decision was made and the wakee is on its way. Rows are in this order.";
        probe_ns: Option<i64> = "The time between probes: probe number i (from 0) was made at `t_ns + (i + 1) * \
                                 probe_ns`. Null if all probes were made at `t_ns`, or it is not known.";
        waker_cpu: i32 = "The waking CPU.";
        waker_pid: Option<i32> = "The task that was running there; null for the idle task, and for the shell that \
                                  starts the workload.";
        wakee_pid: i32 = "The wakee.";
        background: bool = "Whether the wakee is background noise, not a task of the workload.";
        prev_cpu: i32 = "Where the wakee ran last.";
        dest_cpu: i32 = "The CPU on whose run queue it goes: `chosen_cpu`, or the fallback of `select_task_rq()`.";
        queued: Name<Queued> = "How it gets to that queue. `direct`: the waker enqueues it. `wakelist`: the target \
                                CPU enqueues it. `on-cpu`: it was still being switched out, and was put on the \
                                wakelist of its own CPU without a decision. `delayed`: it slept but was still queued, \
                                and stays there without a decision (EEVDF).";
        claimed: bool = "Whether another wake-up had chosen `dest_cpu` before and was not yet visible there.";
        chosen_cpu: Option<i32> = "What `select_task_rq_fair()` returned. Null, like all columns that follow, if it \
                                   was not called: `on-cpu`, `delayed`, and tasks that may use one CPU only.";
        reason: Option<Name<Reason>> = "Why, by the names of `wakelab explain --reason`.";
        target_cpu: Option<i32> = "The target with which `select_idle_sibling()` started.";
        affine: Option<Name<Affine>> = "Which rule of `wake_affine()` chose the target: `not-asked`, `waker-idle`, \
                                        `both-idle`, `sync`, `prev-idle`, `weight`, or `prev` if none preferred the \
                                        waking CPU.";
        this_eff_load: Option<i64> = "The effective load of the waking CPU, if `wake_affine_weight()` compared loads.";
        prev_eff_load: Option<i64> = "The effective load of the previous CPU.";
        sis_search: i32 = "1 if `select_idle_sibling()` was called.";
        sis_domain_search: i32 = "1 if its fast paths found nothing.";
        sis_scanned: i32 = "Probes: 1 for the fast paths, and 1 for each CPU that the domain search read.";
        sis_failed: i32 = "1 if it found no idle CPU and returned the target.";
        recent_used_cpu_after: Option<i32> = "`recent_used_cpu` of the wakee after the decision.";
        wake_flags: Option<i32> = "`WF_*`: 2 EXEC, 4 FORK, 8 TTWU, 16 SYNC.";
        waker_exiting: Option<bool> = "Whether the waker is exiting (PF_EXITING), so that its sync hint is ignored.";
        waker_in_task: Option<bool> = "`in_task()`: false in an interrupt.";
        waker_percpu_kthread: Option<bool> = "`is_per_cpu_kthread(current)`.";
        waker_flips: Option<i64> = "`wakee_flips` of the waker, after `record_wakee()`.";
        waker_h_load: Option<i64> = "`task_h_load()` of the waker.";
        recent_used_cpu: Option<i32> = "`recent_used_cpu` of the wakee before the decision; null if it is no CPU.";
        wakee_flips: Option<i64> = "`wakee_flips` of the wakee.";
        task_h_load: Option<i64> = "`task_h_load()` of the wakee.";
        wakee_policy: Option<i32> = "`SCHED_*` of the wakee: 0 is normal, 5 is SCHED_IDLE.";
        affinity: Option<Cpus> = "The CPUs that the wakee may use.";
        util_avg: Option<i64> = "`util_avg` of the wakee.";
        runnable_avg: Option<i64> = "`runnable_avg` of the wakee.";
        util_est: Option<i64> = "`_task_util_est()` of the wakee; 0 with UTIL_EST off.";
        uclamp_min: Option<i32> = "Its minimum utilization clamp; null if no clamp has been set since boot.";
        uclamp_max: Option<i32> = "Its maximum utilization clamp.";
        last_update_time_set: Option<bool> = "Whether the wakee has contributed to the averages of `prev_cpu`.";
        on_rq: Option<bool> = "Whether the wakee is queued, as in an exec.";
        numa_preferred_nid: Option<i32> = "Its preferred node; null if it has none.";
        idle_mask: Option<Cpus> = "The CPUs for which `available_idle_cpu()` was true.";
        sched_idle_mask: Option<Cpus> = "The CPUs that ran SCHED_IDLE tasks only (`sched_idle_cpu()`); null if no \
                                         task can be SCHED_IDLE.";
        this_nr_running: Option<i32> = "`rq->nr_running` of the waking CPU.";
        this_h_nr_delayed: Option<i32> = "How many of them are delayed.";
        this_load_avg: Option<i64> = "`cfs.avg.load_avg` of the waking CPU.";
        this_capacity: Option<i64> = "`rq->cpu_capacity` of the waking CPU.";
        this_runnable_load: Option<i64> = "`cfs.avg.runnable_load_avg` of the waking CPU; null in kernels that do not \
                                           read it (5.5 and later), here and below.";
        prev_nr_running: Option<i32> = "The same of `prev_cpu`.";
        prev_h_nr_delayed: Option<i32> = "The same of `prev_cpu`.";
        prev_load_avg: Option<i64> = "The same of `prev_cpu`.";
        prev_capacity: Option<i64> = "The same of `prev_cpu`.";
        prev_runnable_load: Option<i64> = "The same of `prev_cpu`.";
        llc_has_idle_cores: Option<Ints> = "`has_idle_cores` (0 or 1) by LLC, in the order of their lowest CPUs.";
        llc_nr_idle_scan: Option<Ints> = "`nr_idle_scan` by LLC.";
        jiffies: Option<i64> = "Here and in the next four columns, what SIS_PROP reads of the waking CPU, whether it \
                                is on or not: the jiffies counter.";
        wake_stamp: Option<i64> = "`rq->wake_stamp`, jiffies.";
        wake_avg_idle: Option<i64> = "`rq->wake_avg_idle`, ns.";
        avg_idle: Option<i64> = "`rq->avg_idle`, ns.";
        avg_scan_cost: Option<i64> = "`sd_llc->avg_scan_cost`, ns.";
        curr_idle_mask: Option<Cpus> = "Here and below, what only forks and execs read, and wake-ups if CPUs differ \
                                        in capacity; otherwise null. The CPUs whose idle task was current.";
        ttwu_pending_mask: Option<Cpus> = "The CPUs with a wake-up on the wakelist.";
        cpu_nr_running: Option<Ints> = "By CPU: `rq->nr_running`.";
        cpu_h_nr_delayed: Option<Ints> = "By CPU: how many of them are delayed.";
        cpu_load_avg: Option<Longs> = "By CPU: `cfs.avg.load_avg`.";
        cpu_runnable_load: Option<Longs> = "By CPU: `cfs.avg.runnable_load_avg`.";
        cpu_runnable_avg: Option<Longs> = "By CPU: `cfs.avg.runnable_avg`.";
        cpu_util_avg: Option<Longs> = "By CPU: `cfs.avg.util_avg`.";
        cpu_util_est: Option<Longs> = "By CPU: `cfs.avg.util_est`; null with UTIL_EST off.";
        cpu_capacity: Option<Longs> = "By CPU: `rq->cpu_capacity`.";
        cpu_idle_stamp: Option<Longs> = "By CPU: `rq->idle_stamp`, ns; 0 while it is not idle.";
        cpu_idle_exit_latency: Option<Longs> = "By CPU: the exit latency of its idle state, us; -1 without a cpuidle \
                                                driver.";
        cpu_group_cap: Option<Longs> = "`sgc->capacity` of the own group of CPU c in its domain at level l, at `l * \
                                        number of CPUs + c`; 0 if there is no such level.";
        cpu_group_imbalance: Option<Longs> = "By CPU: bit l is `sgc->imbalance` of its own group at level l.";
    }
}

/// The facts about a wake-up, whether or not it has a decision.
pub struct Woken {
    pub waker_cpu: Cpu,
    pub waker: Option<Task>,
    pub wakee: Task,
    pub prev_cpu: Cpu,
    pub cpu: Cpu,
    pub queued: Queued,
    pub claimed: bool,
    pub workload: bool,
}

impl Woken {
    /// Writes the row of the wake-up with the inputs of its decision. The times are when the decision began and was
    /// made, and when the scan began and ended.
    pub fn write(
        &self,
        table: &mut TableFile<Wakeups>,
        (began, decided_ns): (u64, i64),
        scan_times: (Option<u64>, Option<u64>),
        decision: Option<&Decision>,
        inputs: &mut DecisionInputs,
    ) -> Result<(), WriteError> {
        let (ns, cpu) = (|time: u64| time as i64, |cpu: Cpu| cpu as i32);
        let inputs = match decision {
            Some(_) if std::mem::take(&mut inputs.pending) => Some(&*inputs),
            _ => None,
        };
        let count = decision.map(|decision| decision.count).unwrap_or_default();
        let loads = decision.and_then(|decision| decision.affine.loads);
        let after = decision.and_then(|decision| decision.effects.recent_used_cpu);
        let all = inputs.and_then(|inputs| inputs.all.as_deref());
        let this = inputs.map(|inputs| inputs.this);
        let prev = inputs.map(|inputs| inputs.prev);
        let scan = inputs.map(|inputs| inputs.scan);
        table.push(WakeupRow {
            t_ns: ns(began),
            walk_began_ns: scan_times.0.map(ns),
            walk_ended_ns: scan_times.1.map(ns),
            decided_ns,
            probe_ns: inputs.and_then(|i| i.probe),
            waker_cpu: cpu(self.waker_cpu),
            waker_pid: self.waker.map(|task| task as i32),
            wakee_pid: self.wakee as i32,
            background: !self.workload,
            prev_cpu: cpu(self.prev_cpu),
            dest_cpu: cpu(self.cpu),
            queued: self.queued,
            claimed: self.claimed,
            chosen_cpu: decision.map(|decision| cpu(decision.cpu)),
            reason: decision.map(|decision| decision.reason),
            target_cpu: decision.map(|decision| cpu(decision.target)),
            affine: decision.map(|decision| decision.affine.rule),
            this_eff_load: loads.map(|loads| loads.0),
            prev_eff_load: loads.map(|loads| loads.1),
            sis_search: count.search as i32,
            sis_domain_search: count.domain_search as i32,
            sis_scanned: count.scanned as i32,
            sis_failed: count.failed as i32,
            recent_used_cpu_after: after.map(cpu).or(inputs.and_then(|i| i.recent_used_cpu)),
            wake_flags: inputs.map(|i| i.wake_flags),
            waker_exiting: inputs.map(|i| i.waker_exiting),
            waker_in_task: inputs.map(|i| i.waker_in_task),
            waker_percpu_kthread: inputs.map(|i| i.waker_percpu_kthread),
            waker_flips: inputs.map(|i| i.waker_flips),
            waker_h_load: inputs.map(|i| i.waker_h_load),
            recent_used_cpu: inputs.and_then(|i| i.recent_used_cpu),
            wakee_flips: inputs.map(|i| i.wakee_flips),
            task_h_load: inputs.map(|i| i.task_h_load),
            wakee_policy: inputs.map(|i| i.wakee_policy),
            affinity: inputs.map(|i| &*i.affinity),
            util_avg: inputs.map(|i| i.util_avg),
            runnable_avg: inputs.map(|i| i.runnable_avg),
            util_est: inputs.map(|i| i.util_est),
            uclamp_min: inputs.and_then(|i| i.uclamp).map(|clamp| clamp.0),
            uclamp_max: inputs.and_then(|i| i.uclamp).map(|clamp| clamp.1),
            last_update_time_set: inputs.map(|i| i.last_update_time_set),
            on_rq: inputs.map(|i| i.on_rq),
            numa_preferred_nid: inputs.and_then(|i| i.numa_preferred_nid),
            idle_mask: inputs.map(|i| &*i.idle),
            sched_idle_mask: inputs.and_then(|i| i.sched_idle.as_deref()),
            this_nr_running: this.map(|rq| rq.nr_running),
            this_h_nr_delayed: this.map(|rq| rq.h_nr_delayed),
            this_load_avg: this.map(|rq| rq.load_avg),
            this_capacity: this.map(|rq| rq.capacity),
            this_runnable_load: this.and_then(|rq| rq.runnable_load),
            prev_nr_running: prev.map(|rq| rq.nr_running),
            prev_h_nr_delayed: prev.map(|rq| rq.h_nr_delayed),
            prev_load_avg: prev.map(|rq| rq.load_avg),
            prev_capacity: prev.map(|rq| rq.capacity),
            prev_runnable_load: prev.and_then(|rq| rq.runnable_load),
            llc_has_idle_cores: inputs.map(|i| &*i.has_idle_cores),
            llc_nr_idle_scan: inputs.map(|i| &*i.nr_idle_scan),
            jiffies: scan.map(|scan| scan.jiffies as i64),
            wake_stamp: scan.map(|scan| scan.wake_stamp as i64),
            wake_avg_idle: scan.map(|scan| scan.wake_avg_idle as i64),
            avg_idle: scan.map(|scan| scan.avg_idle as i64),
            avg_scan_cost: scan.map(|scan| scan.avg_scan_cost as i64),
            curr_idle_mask: all.map(|all| &*all.curr_idle),
            ttwu_pending_mask: all.map(|all| &*all.ttwu_pending),
            cpu_nr_running: all.map(|all| &*all.nr_running),
            cpu_h_nr_delayed: all.map(|all| &*all.h_nr_delayed),
            cpu_load_avg: all.map(|all| &*all.load_avg),
            cpu_runnable_load: all.and_then(|all| all.runnable_load.as_deref()),
            cpu_runnable_avg: all.map(|all| &*all.runnable_avg),
            cpu_util_avg: all.map(|all| &*all.util_avg),
            cpu_util_est: all.and_then(|all| all.util_est.as_deref()),
            cpu_capacity: all.map(|all| &*all.capacity),
            cpu_idle_stamp: all.map(|all| &*all.idle_stamp),
            cpu_idle_exit_latency: all.map(|all| &*all.idle_exit_latency),
            cpu_group_cap: all.map(|all| &*all.group_cap),
            cpu_group_imbalance: all.map(|all| &*all.group_imbalance),
        })
    }
}
