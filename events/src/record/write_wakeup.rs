//! A wake-up as a row.

use super::RecordError;
use super::snapshot::Snapshot;
use super::table_file::TableFile;
use super::wakeups::{WakeupRow, Wakeups};
use crate::sim::{Queued, Task};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::Decision;

/// What is known of a wake-up with and without a choice.
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
    /// Writes it, with the inputs that were kept of its choice. Times are when it began and was decided, and when the walk
    /// began and ended.
    pub fn write(
        &self,
        table: &mut TableFile<Wakeups>,
        (began, decided_ns): (u64, i64),
        walk: (Option<u64>, Option<u64>),
        decision: Option<&Decision>,
        choice: &mut Snapshot,
    ) -> Result<(), RecordError> {
        let (ns, cpu) = (|time: u64| time as i64, |cpu: Cpu| cpu as i32);
        let choice = match decision {
            Some(_) if std::mem::take(&mut choice.waits) => Some(&*choice),
            _ => None,
        };
        let count = decision.map(|decision| decision.count).unwrap_or_default();
        let loads = decision.and_then(|decision| decision.affine.loads);
        let after = decision.and_then(|decision| decision.effects.recent_used_cpu);
        let all = choice.and_then(|choice| choice.all.as_deref());
        let this = choice.map(|choice| choice.this);
        let prev = choice.map(|choice| choice.prev);
        let scan = choice.map(|choice| choice.scan);
        table.push(WakeupRow {
            t_ns: ns(began),
            walk_began_ns: walk.0.map(ns),
            walk_ended_ns: walk.1.map(ns),
            decided_ns,
            probe_ns: choice.and_then(|c| c.probe),
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
            recent_used_cpu_after: after.map(cpu).or(choice.and_then(|c| c.recent_used_cpu)),
            wake_flags: choice.map(|c| c.wake_flags),
            waker_exiting: choice.map(|c| c.waker_exiting),
            waker_in_task: choice.map(|c| c.waker_in_task),
            waker_percpu_kthread: choice.map(|c| c.waker_percpu_kthread),
            waker_flips: choice.map(|c| c.waker_flips),
            waker_h_load: choice.map(|c| c.waker_h_load),
            recent_used_cpu: choice.and_then(|c| c.recent_used_cpu),
            wakee_flips: choice.map(|c| c.wakee_flips),
            task_h_load: choice.map(|c| c.task_h_load),
            wakee_policy: choice.map(|c| c.wakee_policy),
            affinity: choice.map(|c| &*c.affinity),
            util_avg: choice.map(|c| c.util_avg),
            runnable_avg: choice.map(|c| c.runnable_avg),
            util_est: choice.map(|c| c.util_est),
            uclamp_min: choice.and_then(|c| c.uclamp).map(|clamp| clamp.0),
            uclamp_max: choice.and_then(|c| c.uclamp).map(|clamp| clamp.1),
            last_update_time_set: choice.map(|c| c.last_update_time_set),
            on_rq: choice.map(|c| c.on_rq),
            numa_preferred_nid: choice.and_then(|c| c.numa_preferred_nid),
            idle_mask: choice.map(|c| &*c.idle),
            sched_idle_mask: choice.and_then(|c| c.sched_idle.as_deref()),
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
            llc_has_idle_cores: choice.map(|c| &*c.has_idle_cores),
            llc_nr_idle_scan: choice.map(|c| &*c.nr_idle_scan),
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
