//! A decision with its inputs.

use std::sync::Arc;
use wakelab_kernel::{Feature, FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::{Uclamp, WakeFlags, Wakee, WakeeFlips, Waker, Wakeup, record_wakee};

/// `PF_EXITING`.
const PF_EXITING: u32 = 0x4;
/// `SCHED_IDLE`.
const SCHED_IDLE: u32 = 5;

/// A decision with its inputs. Reading the next row reuses its memory.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line in the file where the row begins, from 1.
    pub line: u64,
    /// The number of the row in its file (column `seq`).
    pub seq: u64,
    /// The kernel in short form (`6.12`).
    pub kernel: String,
    /// The workload that ran.
    pub load: String,
    /// `default`, or the features that were switched for this recording.
    pub variant: String,
    /// The features that were on.
    pub features: Arc<RowFeatures>,
    /// When select_task_rq_fair() was entered, ns of CLOCK_MONOTONIC, or of a simulated run.
    pub t_ns: u64,
    /// How long select_task_rq_fair() took, ns.
    pub dur_ns: u64,
    /// Whether the inputs did not change during the decision, so that it can be compared exactly.
    pub stable: bool,
    /// The waker.
    pub waker: WakerState,
    /// The wakee.
    pub wakee: TaskState,
    /// `WF_*`.
    pub wake_flags: WakeFlags,
    /// The CPU that the kernel chose.
    pub chosen_cpu: Cpu,
    /// `recent_used_cpu` of the wakee after the decision.
    pub recent_used_cpu_after: i64,
    /// `sd_llc_size` of the waking CPU.
    pub sd_llc_size: u32,
    /// The CPUs for which available_idle_cpu() was true.
    pub idle_mask: CpuMask,
    /// The CPUs that run SCHED_IDLE tasks only (sched_idle_cpu()), computed from the counts.
    pub sched_idle_mask: CpuMask,
    /// Whether there is such a CPU.
    pub any_sched_idle: bool,
    /// The CPUs whose idle task was current.
    pub curr_idle_mask: CpuMask,
    /// The CPUs with a wake-up on the wakelist (`rq->ttwu_pending`).
    pub ttwu_pending_mask: CpuMask,
    /// The run queues.
    pub cpus: PerCpu,
    /// By LLC: `sd_llc_id`, and `has_idle_cores` and `nr_idle_scan` of `struct sched_domain_shared`.
    pub llcs: Vec<(u32, bool, i32)>,
    /// The values that only forks and execs read; `None` for wake-ups.
    pub slow_path: Option<SlowPathState>,
    /// The values that SIS_PROP reads of the waking CPU and its LLC.
    pub scan: ScanState,
    /// Whether the set of idle CPUs changed during the decision.
    pub idle_changed: bool,
    /// Whether the decision is of a simulated run.
    pub simulated: bool,
    /// Whether only the run queues of the waking and the previous CPU are known, as of a simulated wake-up. The values
    /// of the other CPUs are such that `idle_mask` and `sched_idle_mask` are right.
    pub partial: bool,
}

/// The values that SIS_PROP reads of the waking CPU and its LLC, as far as the kernel has them and they were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanState {
    /// The jiffies counter.
    pub jiffies: Option<u64>,
    /// `rq->wake_stamp`, jiffies.
    pub wake_stamp: Option<u64>,
    /// `rq->wake_avg_idle`, ns.
    pub wake_avg_idle: Option<u64>,
    /// `rq->avg_idle`, ns.
    pub avg_idle: Option<u64>,
    /// `sd_llc->avg_scan_cost`, ns.
    pub avg_scan_cost: Option<u64>,
}

/// The waker.
#[derive(Clone, Debug, Default)]
pub struct WakerState {
    /// The waking CPU.
    pub cpu: Cpu,
    /// The pid of its current task.
    pub pid: i64,
    /// The name of that task.
    pub comm: String,
    /// `PF_*` of that task.
    pub flags: u32,
    /// `is_per_cpu_kthread()`.
    pub per_cpu_kthread: bool,
    /// `in_task()`.
    pub in_task: bool,
    /// `wakee_flips` before record_wakee().
    pub flips_before: u32,
    /// `wakee_flips` after record_wakee().
    pub flips: u32,
    /// Whether it woke the same task last.
    pub last_wakee_is_p: bool,
    /// Whether its flips were due to be halved (`wakee_flip_decay_ts` was over a second ago).
    pub flip_decay_due: bool,
    /// `task_h_load()`.
    pub h_load: u64,
    /// `load_avg` of the task itself, of which its control groups leave `h_load`; 0 where it was not recorded.
    pub load_avg: u64,
}

/// The wakee.
#[derive(Clone, Debug)]
pub struct TaskState {
    /// Its pid.
    pub pid: i64,
    /// Its name.
    pub comm: String,
    /// `SCHED_*`.
    pub policy: u32,
    /// `static_prio`, 100 to 139; 120 is nice 0.
    pub static_prio: u32,
    /// `p->on_rq`.
    pub on_rq: bool,
    /// Where it ran last.
    pub prev_cpu: Cpu,
    /// `recent_used_cpu` before the decision.
    pub recent_used_cpu: i64,
    /// `wakee_flips`. record_wakee() does not change it.
    pub flips: u32,
    /// The CPUs that it may use.
    pub affinity: CpuMask,
    /// `util_avg`.
    pub util_avg: u64,
    /// `runnable_avg`.
    pub runnable_avg: u64,
    /// `_task_util_est()`.
    pub util_est: u64,
    /// `task_h_load()`.
    pub h_load: u64,
    /// `load_avg` of the task itself, of which its control groups leave `h_load`; 0 where it was not recorded.
    pub load_avg: u64,
    /// Whether `last_update_time` is not 0.
    pub last_update_time_set: bool,
    /// `numa_preferred_nid`; -1 for none.
    pub numa_preferred_nid: i64,
}

/// The run queues at the entry of select_task_rq_fair(), by CPU.
#[derive(Clone, Debug, Default)]
pub struct PerCpu {
    /// `rq->nr_running`.
    pub nr_running: Vec<u32>,
    /// `cfs.h_nr_queued`: queued fair tasks.
    pub h_nr_queued: Vec<u32>,
    /// How many of them are delayed. It is the difference between two counts that were read one after the other, so it
    /// may be negative.
    pub h_nr_delayed: Vec<i32>,
    /// How many of them are SCHED_IDLE.
    pub h_nr_idle: Vec<u32>,
    /// `cfs.avg.load_avg`.
    pub load_avg: Vec<u64>,
    /// `cfs.avg.runnable_avg`.
    pub runnable_avg: Vec<u64>,
    /// `cfs.avg.util_avg`.
    pub util_avg: Vec<u64>,
    /// `cfs.avg.util_est`.
    pub util_est: Vec<u64>,
    /// `rq->cpu_capacity`.
    pub capacity: Vec<u64>,
}

/// The values that only the slow path (forks and execs) reads, by CPU.
#[derive(Clone, Debug, Default)]
pub struct SlowPathState {
    /// `rq->idle_stamp`, ns.
    pub idle_stamp: Vec<u64>,
    /// The exit latency of the CPU's idle state, us; -1 for none.
    pub idle_exit_latency: Vec<i64>,
    /// `sgc->capacity` of the CPU's own group at levels 0, 1 and 2; 0 if there is no such level.
    pub group_capacity: [Vec<u64>; 3],
    /// Bit l is `sgc->imbalance` of the CPU's own group at level l.
    pub group_imbalance: Vec<u64>,
}

impl Row {
    /// An empty row, to read into.
    pub fn new() -> Self {
        let none = || CpuMask::new(0);
        Row {
            line: 0,
            seq: 0,
            kernel: String::new(),
            load: String::new(),
            variant: String::new(),
            features: Arc::default(),
            t_ns: 0,
            dur_ns: 0,
            stable: false,
            waker: WakerState::default(),
            wakee: TaskState {
                pid: 0,
                comm: String::new(),
                policy: 0,
                static_prio: 0,
                on_rq: false,
                prev_cpu: 0,
                recent_used_cpu: 0,
                flips: 0,
                affinity: none(),
                util_avg: 0,
                runnable_avg: 0,
                util_est: 0,
                h_load: 0,
                load_avg: 0,
                last_update_time_set: false,
                numa_preferred_nid: -1,
            },
            wake_flags: WakeFlags::empty(),
            chosen_cpu: 0,
            recent_used_cpu_after: 0,
            sd_llc_size: 0,
            idle_mask: none(),
            sched_idle_mask: none(),
            any_sched_idle: false,
            curr_idle_mask: none(),
            ttwu_pending_mask: none(),
            cpus: PerCpu::default(),
            llcs: Vec::new(),
            slow_path: None,
            scan: ScanState::default(),
            idle_changed: false,
            simulated: false,
            partial: false,
        }
    }

    /// `wakee_flips` of the waker after record_wakee(), computed from the values before it.
    pub fn flips_after(&self) -> u32 {
        if !self.wake_flags.contains(WakeFlags::TTWU) {
            return self.waker.flips_before;
        }
        // Only the results of the two comparisons were recorded. Any numbers with these results will do.
        const HZ: u64 = 250;
        let jiffies = 10 * HZ;
        let before = WakeeFlips {
            wakee_flips: self.waker.flips_before,
            wakee_flip_decay_ts: if self.waker.flip_decay_due { 0 } else { jiffies },
            last_wakee: self.waker.last_wakee_is_p.then_some(self.wakee.pid as u64),
        };
        record_wakee(before, self.wakee.pid as u64, jiffies, HZ).wakee_flips
    }

    /// The inputs of the decision that are not the state of the system.
    pub fn wakeup(&self) -> Wakeup<'_> {
        let nr_cpus = self.cpus.nr_running.len() as i64;
        let (waker, wakee) = (&self.waker, &self.wakee);
        Wakeup {
            waker: Waker {
                cpu: waker.cpu,
                exiting: waker.flags & PF_EXITING != 0,
                in_task: waker.in_task,
                per_cpu_kthread: waker.per_cpu_kthread,
                wakee_flips: self.flips_after(),
                h_load: waker.h_load,
            },
            wakee: Wakee {
                prev_cpu: wakee.prev_cpu,
                cpus_ptr: &wakee.affinity,
                recent_used_cpu: (0..nr_cpus).contains(&wakee.recent_used_cpu).then_some(wakee.recent_used_cpu as Cpu),
                wakee_flips: wakee.flips,
                h_load: wakee.h_load,
                idle_policy: wakee.policy == SCHED_IDLE,
                util_avg: wakee.util_avg,
                runnable_avg: wakee.runnable_avg,
                util_est: wakee.util_est,
                uclamp: Uclamp::UNUSED,
                has_contributed: wakee.last_update_time_set,
                on_rq: wakee.on_rq,
                is_current: wakee.pid == waker.pid,
                dur_avg: 0,
                wakes_waker: false,
                numa_preferred_nid: u32::try_from(wakee.numa_preferred_nid).ok(),
            },
            flags: self.wake_flags,
        }
    }
}

impl Default for Row {
    fn default() -> Self {
        Row::new()
    }
}

/// The features of a recorded kernel.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RowFeatures {
    /// The text of the kernel's `features` file.
    pub text: String,
    /// The features that are on: those in the text, and the modelled features that kernels do not list, at the preset's
    /// default.
    pub set: FeatureSet,
    /// Names in the text that this program does not know.
    pub unknown: Vec<String>,
}

impl RowFeatures {
    /// Parses the text of a `features` file of a kernel of this preset.
    pub(crate) fn parse(text: &str, preset: &Preset) -> Self {
        let file = FeatureSet::parse_file(text);
        let set = Feature::ALL
            .iter()
            .filter(|&&feature| preset.features.has(feature) && !preset.lists(feature))
            .fold(file.set(), |set, &feature| set.with(feature, true));
        RowFeatures { text: text.to_owned(), set, unknown: file.unknown }
    }
}
