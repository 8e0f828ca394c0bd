//! The statistics in the form of the scx tools: served over a socket, and printed.

use crate::bpf_skel::types;
use crate::groups::{self, GroupMetrics};
use crate::scheduler::Scheduler;
use scx_stats_derive::Stats;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};
use wakelab_scx_decisions::features;

/// The names of `enum reason`, as the model calls them.
pub const REASONS: [&str; 14] = [
    "target",
    "prev",
    "kthread",
    "recent",
    "smt",
    "core",
    "core-cpu",
    "scan",
    "short",
    "limit",
    "overloaded",
    "none",
    "capacity",
    "current-cpu",
];

/// A CPU.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Stats)]
#[stat(desc = "a CPU", _om_prefix = "cpu_", _om_label = "cpu")]
pub struct CpuMetrics {
    #[stat(desc = "runnable tasks")]
    pub nr_runnable: u64,
    #[stat(desc = "util_avg")]
    pub util: u64,
    #[stat(desc = "runnable_avg")]
    pub runnable: u64,
    #[stat(desc = "load_avg")]
    pub load: u64,
    #[stat(desc = "util_est of the runnable tasks")]
    pub util_est: u64,
    #[stat(desc = "the request to cpufreq; 1024 is the largest capacity")]
    pub perf_target: u64,
    #[stat(desc = "the request that the kernel has stored")]
    pub kernel_perf_target: u64,
    #[stat(desc = "1 while the CPU is idle and not claimed")]
    pub idle: u64,
    #[stat(desc = "1 while it is offline")]
    pub offline: u64,
    #[stat(desc = "average idle time, ns")]
    pub avg_idle: u64,
    #[stat(desc = "SIS_PROP: average cost of a search, ns")]
    pub avg_scan_cost: u64,
    #[stat(desc = "SIS_PROP: wake_avg_idle of the CPU, ns")]
    pub wake_avg_idle: u64,
    #[stat(desc = "SIS_PROP: when wake_avg_idle was last decayed, jiffies")]
    pub wake_stamp: u64,
    #[stat(desc = "SIS_SHORT: dur_avg of the running task, ns")]
    pub curr_dur_avg: u64,
    #[stat(desc = "SIS_LIMIT: the CPU at which the next scan begins, plus 1; 0 for none yet")]
    pub next_cpu: u64,
    #[stat(desc = "virtual time of its queue, ns")]
    pub vclock: u64,
    #[stat(desc = "virtual time of all tasks of the LLC's queue on this CPU, counted as one task, ns")]
    pub llc_vtime: u64,
    #[stat(desc = "sum of the load weights of its runnable tasks")]
    pub load_weight: u64,
    #[stat(desc = "pid of the running task; 0 if no task of the scheduler runs")]
    pub pid: u64,
}

/// An LLC.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Stats)]
#[stat(desc = "an LLC", _om_prefix = "llc_", _om_label = "llc")]
pub struct LlcMetrics {
    #[stat(desc = "sum of its CPUs' util_avg")]
    pub sum_util: u64,
    #[stat(desc = "CPUs that a search may probe")]
    pub nr_idle_scan: u64,
    #[stat(desc = "sum of its CPUs' load_avg, if there are several LLCs")]
    pub load: u64,
    #[stat(desc = "load to pull from another LLC; 0 for none")]
    pub pull_load: u64,
    #[stat(desc = "its CPUs that are online")]
    pub nr_online: u64,
    #[stat(desc = "1 if a core may be idle")]
    pub has_idle_cores: u64,
    #[stat(desc = "virtual time of its queue, ns")]
    pub vclock: u64,
}

/// Decisions with one reason.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Stats)]
#[stat(desc = "decisions by reason", _om_prefix = "reason_", _om_label = "reason")]
pub struct ReasonMetrics {
    #[stat(desc = "decisions")]
    pub count: u64,
}

/// All statistics. Counts are those since the start, or of the time between two reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize, Stats)]
#[stat(desc = "scx_wakelab", top)]
pub struct Metrics {
    #[stat(desc = "the features and whether they are on", _om_skip)]
    pub features: String,
    #[stat(desc = "searches for an idle CPU")]
    pub sis_search: u64,
    #[stat(desc = "searches that went past the fast paths")]
    pub sis_domain_search: u64,
    #[stat(desc = "CPUs probed; 1 for the fast paths")]
    pub sis_scanned: u64,
    #[stat(desc = "searches that found nothing")]
    pub sis_failed: u64,
    #[stat(desc = "scans for an idle core")]
    pub core_scans: u64,
    #[stat(desc = "most probes of one scan with a limit, since the start")]
    pub max_probes: u64,
    #[stat(desc = "claims of an idle CPU that were lost to another waker")]
    pub lost_claims: u64,
    #[stat(desc = "claims of an idle CPU whose task went to another CPU")]
    pub freed_claims: u64,
    #[stat(desc = "new tasks placed")]
    pub forks: u64,
    #[stat(desc = "tasks inserted at once on an idle CPU")]
    pub direct: u64,
    #[stat(desc = "tasks put in the queue of an LLC")]
    pub queued_llc: u64,
    #[stat(desc = "tasks put in the queue of a CPU")]
    pub queued_cpu: u64,
    #[stat(desc = "tasks that ran on after their slice")]
    pub kept: u64,
    #[stat(desc = "tasks pulled from the queue of the CPU's own LLC")]
    pub pulled_llc: u64,
    #[stat(desc = "tasks pulled from the CPU's own queue")]
    pub pulled_cpu: u64,
    #[stat(desc = "tasks pulled from the queue of another CPU of the LLC")]
    pub pulled_sibling: u64,
    #[stat(desc = "tasks pulled from another LLC")]
    pub pulled_other: u64,
    #[stat(desc = "tasks pulled from another LLC to balance the load")]
    pub pulled_load: u64,
    #[stat(desc = "tasks preempted by a wake-up")]
    pub preempted: u64,
    #[stat(desc = "idle CPUs kicked for a task in a queue")]
    pub kicked_idle: u64,
    #[stat(desc = "tasks moved forward in a queue because they had waited long")]
    pub brought_forward: u64,
    #[stat(desc = "tasks that migrated to another CPU")]
    pub migrations: u64,
    #[stat(desc = "requests to cpufreq that runnable_avg raised")]
    pub boosted: u64,
    #[stat(desc = "decisions recorded")]
    pub recorded: u64,
    #[stat(desc = "decisions whose record found no room")]
    pub lost_records: u64,
    #[stat(desc = "longest wait of a runnable task for a CPU since the start, ns")]
    pub longest_wait_ns: u64,
    #[stat(desc = "the pid of that task")]
    pub longest_wait_pid: u64,
    #[stat(desc = "decisions by reason")]
    pub reasons: BTreeMap<String, ReasonMetrics>,
    #[stat(desc = "control groups that count as their parent, because there are too many or they are too deep")]
    pub groups_without_slot: u64,
    #[stat(desc = "by control group with a runnable task")]
    pub groups: BTreeMap<u64, GroupMetrics>,
    #[stat(desc = "by LLC")]
    pub llcs: BTreeMap<usize, LlcMetrics>,
    #[stat(desc = "by CPU")]
    pub cpus: BTreeMap<usize, CpuMetrics>,
}

macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        fn add(metrics: &mut Metrics, counts: &types::counts) {
            $(metrics.$name += counts.$name;)*
        }
        /// Subtracts the counts of `before`.
        fn less(metrics: &mut Metrics, before: &Metrics) {
            $(metrics.$name = metrics.$name.saturating_sub(before.$name);)*
        }
    };
}

counters! {
    sis_search, sis_domain_search, sis_scanned, sis_failed, core_scans, lost_claims, freed_claims, forks, direct,
    queued_llc, queued_cpu,
    kept, pulled_llc, pulled_cpu, pulled_sibling, pulled_other, pulled_load, preempted, kicked_idle,
    brought_forward, migrations,
    boosted, recorded, lost_records,
}

impl Metrics {
    /// Reads the statistics.
    pub fn read(scheduler: &Scheduler<'_>) -> Self {
        let mut metrics = Metrics { features: features::text(scheduler.features()), ..Metrics::default() };
        // If this fails, kernel_perf_target stays as it was, and nothing else depends on it.
        let _ = scheduler.skel.progs.read_kernel_cpuperf.test_run(libbpf_rs::ProgramInput::default());
        let variables = &scheduler.variables;
        let mut reasons = [0; REASONS.len()];
        for cpu in &scheduler.machine.cpus {
            let state = variables.cpu_state(cpu.id);
            add(&mut metrics, &state.counts);
            metrics.max_probes = metrics.max_probes.max(state.counts.max_probes);
            if state.counts.longest_wait_ns > metrics.longest_wait_ns {
                metrics.longest_wait_ns = state.counts.longest_wait_ns;
                metrics.longest_wait_pid = state.counts.longest_wait_pid;
            }
            for (sum, count) in reasons.iter_mut().zip(&state.counts.reasons) {
                *sum += count;
            }
            metrics.cpus.insert(
                cpu.id,
                CpuMetrics {
                    nr_runnable: state.nr_runnable.into(),
                    util: state.avg.util_avg,
                    runnable: state.avg.runnable_avg,
                    load: state.avg.load_avg,
                    util_est: state.util_est,
                    perf_target: state.perf_target.into(),
                    kernel_perf_target: state.kernel_perf_target.into(),
                    idle: variables.is_idle(cpu.id).into(),
                    offline: state.offline.into(),
                    avg_idle: state.avg_idle,
                    avg_scan_cost: state.cost.avg_scan_cost,
                    wake_avg_idle: state.cost.wake_avg_idle,
                    wake_stamp: state.cost.wake_stamp,
                    curr_dur_avg: state.curr_dur_avg,
                    next_cpu: state.next_cpu.max(0) as u64,
                    vclock: state.vclock,
                    llc_vtime: state.llc_vtime,
                    load_weight: state.load_weight,
                    pid: if state.curr_since == 0 { 0 } else { state.curr_pid as u64 },
                },
            );
        }
        for at in 0..scheduler.machine.llcs.len() {
            let state = variables.llc_state(at);
            metrics.llcs.insert(
                at,
                LlcMetrics {
                    sum_util: state.sum_util,
                    load: state.load,
                    pull_load: state.pull_load,
                    nr_idle_scan: state.nr_idle_scan.max(0) as u64,
                    nr_online: state.nr_online.into(),
                    has_idle_cores: state.has_idle_cores.into(),
                    vclock: state.vclock,
                },
            );
        }
        metrics.groups = groups::read(&variables.groups());
        metrics.groups_without_slot = variables.groups_without_slot().into();
        metrics.reasons =
            REASONS.iter().zip(reasons).map(|(name, count)| ((*name).to_owned(), ReasonMetrics { count })).collect();
        metrics
    }

    /// The counts since `before`. What is not a count stays as it is.
    pub fn since(&self, before: &Metrics) -> Metrics {
        let mut metrics = self.clone();
        less(&mut metrics, before);
        for (name, reason) in &mut metrics.reasons {
            reason.count -= before.reasons.get(name).map_or(0, |before| before.count.min(reason.count));
        }
        metrics
    }

    /// Prints the counts; with `all` also the state of control groups, LLCs and CPUs.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn write(&self, to: &mut dyn Write, all: bool) -> io::Result<()> {
        let searches = self.sis_search.max(1) as f64;
        writeln!(
            to,
            "searches {} past-fast-paths {} scanned {} ({:.2} each) failed {} core-scans {} max-probes {} lost-claims \
             {} freed {}",
            self.sis_search,
            self.sis_domain_search,
            self.sis_scanned,
            self.sis_scanned as f64 / searches,
            self.sis_failed,
            self.core_scans,
            self.max_probes,
            self.lost_claims,
            self.freed_claims,
        )?;
        let reasons = self.reasons.iter().filter(|(_, reason)| reason.count > 0);
        let reasons: Vec<String> = reasons.map(|(name, reason)| format!("{name} {}", reason.count)).collect();
        writeln!(to, "reasons: {}", reasons.join(", "))?;
        writeln!(
            to,
            "direct {} queued-llc {} queued-cpu {} kept {} pulled llc {} cpu {} sibling {} other {} load {}; \
             preempted {} kicked {} brought-forward {} migrations {} forks {} boosted {} recorded {} lost {}; longest \
             wait {:.3} ms (pid {})",
            self.direct,
            self.queued_llc,
            self.queued_cpu,
            self.kept,
            self.pulled_llc,
            self.pulled_cpu,
            self.pulled_sibling,
            self.pulled_other,
            self.pulled_load,
            self.preempted,
            self.kicked_idle,
            self.brought_forward,
            self.migrations,
            self.forks,
            self.boosted,
            self.recorded,
            self.lost_records,
            self.longest_wait_ns as f64 / 1e6,
            self.longest_wait_pid,
        )?;
        if !all {
            return to.flush();
        }
        writeln!(to, "features: {}", self.features)?;
        groups::write(&self.groups, to)?;
        if self.groups_without_slot > 0 {
            writeln!(to, "groups without a weight of their own: {}", self.groups_without_slot)?;
        }
        for (at, llc) in &self.llcs {
            writeln!(
                to,
                "llc {at}: util {} nr_idle_scan {} load {} pull_load {} nr_online {} has_idle_cores {} vclock {}",
                llc.sum_util, llc.nr_idle_scan, llc.load, llc.pull_load, llc.nr_online, llc.has_idle_cores, llc.vclock
            )?;
        }
        for (at, cpu) in &self.cpus {
            writeln!(
                to,
                "cpu {at}: runnable-tasks {} util {} runnable {} load {} util_est {} perf_target {} \
                 kernel_perf_target {} idle {} offline {} avg_idle {} avg_scan_cost {} wake_avg_idle {} wake_stamp {} \
                 curr_dur_avg {} next_cpu {} vclock {} \
                 llc_vtime {} load_weight {} pid {}",
                cpu.nr_runnable,
                cpu.util,
                cpu.runnable,
                cpu.load,
                cpu.util_est,
                cpu.perf_target,
                cpu.kernel_perf_target,
                cpu.idle,
                cpu.offline,
                cpu.avg_idle,
                cpu.avg_scan_cost,
                cpu.wake_avg_idle,
                cpu.wake_stamp,
                cpu.curr_dur_avg,
                cpu.next_cpu,
                cpu.vclock,
                cpu.llc_vtime,
                cpu.load_weight,
                cpu.pid
            )?;
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_the_programs() {
        let header = include_str!("bpf/intf.h");
        let body = header.split("enum reason {").nth(1).unwrap().split('}').next().unwrap();
        let names: Vec<String> = body
            .split(',')
            .filter_map(|word| word.trim().strip_prefix("PLACED_"))
            .map(|name| name.to_lowercase().replace('_', "-"))
            .collect();
        assert_eq!(names, REASONS);
    }

    #[test]
    fn counts_are_of_the_time_between_and_states_of_now() {
        let of = |searches, util| Metrics {
            sis_search: searches,
            cpus: [(0, CpuMetrics { util, ..CpuMetrics::default() })].into(),
            reasons: [("prev".to_owned(), ReasonMetrics { count: searches })].into(),
            ..Metrics::default()
        };
        let metrics = of(10, 500).since(&of(4, 900));
        assert_eq!((metrics.sis_search, metrics.cpus[&0].util, metrics.reasons["prev"].count), (6, 500, 6));
        let mut text = Vec::new();
        metrics.write(&mut text, true).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("prev 6"));
    }
}
