//! Decisions as the ring buffer has them, written in the schema of the recorder.

use crate::wire::{MAX_LLCS, Record, RecordedCpu, RecordedLlc, parse, text};
use crate::{domains, features};
use anyhow::{Result, bail};
use std::path::Path;
use wakelab_events::recording::{DecisionRow, RecordingWriter};
use wakelab_sched::domain::{LlcId, Topology};

/// A longer decision was interrupted, if only by the host, and is not stable.
const MAX_STABLE_NS: u64 = 200_000;
const PF_KTHREAD: u32 = 0x20_0000;
/// The schema has no columns for some inputs of these features, so their decisions cannot be made again.
const NOT_RECORDED: [&str; 4] = ["SIS_PROP", "SIS_LIMIT", "SIS_SHORT", "SIS_PARAM"];
const WAKE_FLAGS: [(u32, &str); 5] =
    [(0x08, "TTWU"), (0x10, "SYNC"), (0x20, "MIGRATED"), (0x40, "CURRENT_CPU"), (0x80, "RQ_SELECTED")];

/// Where decisions were made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The machine.
    pub topology: &'a Topology,
    /// The CPUs of each LLC, ascending, in the order of the program.
    pub llcs: &'a [Vec<usize>],
    /// `HZ` of the kernel.
    pub hz: u32,
    /// The kernel that runs the program.
    pub release: &'a str,
}

/// The folder, and what rows are made with.
pub struct DecisionRows {
    folder: RecordingWriter,
    nr_cpus: usize,
    /// By LLC of the program: its id in the description, and its number of CPUs.
    llcs: Vec<(i32, usize)>,
    llc_of_cpu: Vec<usize>,
    capacities: Vec<i64>,
    not_recorded: u64,
    sis_core: u64,
    /// The decisions that were written.
    pub seq: i64,
    /// How many of them are stable.
    pub stable: u64,
}

impl DecisionRows {
    /// Begins a recording in a folder that is new, or empty and root's alone.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, or the machine cannot be described.
    pub fn new(path: &Path, place: &Place<'_>) -> Result<Self> {
        let &Place { topology, llcs, hz, release } = place;
        if llcs.len() > MAX_LLCS {
            bail!("recordings have room for {MAX_LLCS} LLCs, but this machine has {}", llcs.len());
        }
        let built = domains::build(topology)?;
        let name = format!("{}cpus-{}llcs", topology.cpus.len(), llcs.len());
        let meta =
            serde_json::json!({ "uname": release, "scheduler": concat!("scx_wakelab ", env!("CARGO_PKG_VERSION")) });
        let metadata = vec![
            ("wakelab.kernel", domains::VERSION.to_owned()),
            ("wakelab.release", release.to_owned()),
            ("wakelab.machine", name.clone()),
            ("wakelab.hz", hz.to_string()),
            ("wakelab.workload", String::new()),
            ("wakelab.variant", "default".to_owned()),
            ("wakelab.snapshot", "full".to_owned()),
            ("wakelab.sample", "1/1".to_owned()),
            ("wakelab.source", "scx_wakelab".to_owned()),
            ("wakelab.domains", domains::json(&name, &built, meta)?.to_string()),
        ];
        let ids = built.kernel_llc_ids(LlcId::Dense);
        let llc_of = |cpu: usize| llcs.iter().position(|llc| llc.contains(&cpu)).unwrap_or(0);
        let folder = RecordingWriter::new(path, metadata)
            .map_err(|e| anyhow::anyhow!("{e}\n  hint: name a folder that does not exist yet"))?;
        Ok(DecisionRows {
            folder,
            nr_cpus: topology.cpus.len(),
            llcs: llcs.iter().map(|cpus| (cpus.first().map_or(0, |&cpu| ids[cpu] as i32), cpus.len())).collect(),
            llc_of_cpu: (0..topology.cpus.len()).map(llc_of).collect(),
            capacities: topology.cpus.iter().map(|cpu| cpu.capacity.into()).collect(),
            sis_core: features::bit("SIS_CORE").unwrap_or(0),
            not_recorded: NOT_RECORDED.iter().filter_map(|name| features::bit(name)).sum(),
            seq: 0,
            stable: 0,
        })
    }

    /// Closes the open files, so that what was written can be read.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn close_segments(&mut self) -> Result<()> {
        Ok(self.folder.close_segments()?)
    }

    /// Writes a record of the ring buffer. One that is cut off is left out.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let Some((record, cpus)) = parse(bytes) else { return Ok(()) };
        self.write(&record, &cpus)
    }

    fn write(&mut self, r: &Record, cpus: &[RecordedCpu]) -> Result<()> {
        self.seq += 1;
        let words = self.nr_cpus.div_ceil(64);
        let stable = r.idle[..words] == r.idle_exit[..words]
            && r.lost_claims == 0
            && r.offline == 0
            && r.dur_ns < MAX_STABLE_NS
            && r.features & self.not_recorded == 0;
        self.stable += u64::from(stable);
        let ints = |of: fn(&RecordedCpu) -> i32| cpus.iter().map(of).collect::<Vec<_>>();
        let longs = |of: fn(&RecordedCpu) -> i64| cpus.iter().map(of).collect::<Vec<_>>();
        let zeros = vec![0; cpus.len()];
        let busy: Vec<u64> = vec![0; words];
        let ids: Vec<i32> = self.llcs.iter().map(|llc| llc.0).collect();
        let of_llcs = |of: fn(&RecordedLlc) -> i32| r.llcs[..self.llcs.len()].iter().map(of).collect::<Vec<_>>();
        let (waker_comm, wakee_comm, text) = (text(&r.waker_comm), text(&r.wakee_comm), features::text(r.features));
        let flags: Vec<&str> =
            WAKE_FLAGS.iter().filter(|(bit, _)| r.wake_flags & bit != 0).map(|&(_, name)| name).collect();
        let sd_llc_size = self.llc_of_cpu.get(r.waker_cpu as usize).map_or(1, |&llc| self.llcs[llc].1);
        self.folder.decision(DecisionRow {
            seq: self.seq,
            t_ns: r.t_ns as i64,
            dur_ns: r.dur_ns as i64,
            stable,
            features: &text,
            waker_cpu: r.waker_cpu,
            waker_pid: r.waker_pid,
            waker_comm: &waker_comm,
            waker_policy: r.waker_policy as i32,
            waker_flags: r.waker_flags.into(),
            waker_nr_cpus_allowed: r.waker_allowed as i32,
            waker_percpu_kthread: r.waker_flags & PF_KTHREAD != 0 && r.waker_allowed == 1,
            preempt_count: 0,
            in_task: r.in_task != 0,
            wakee_pid: r.wakee_pid,
            wakee_comm: &wakee_comm,
            wakee_policy: r.wakee_policy as i32,
            wakee_static_prio: r.static_prio,
            wakee_flags: r.wakee_flags.into(),
            on_rq: false,
            prev_cpu: r.prev_cpu,
            wake_flags: (r.wake_flags & 0x1f8).into(),
            wake_flags_text: &flags.join("|"),
            chosen_cpu: r.chosen_cpu,
            recent_used_cpu: r.recent,
            recent_used_cpu_after: r.recent_after,
            waker_flips_before: r.waker_flips_before.into(),
            waker_flips: r.waker_flips.into(),
            wakee_flips_before: r.wakee_flips.into(),
            wakee_flips: r.wakee_flips.into(),
            last_wakee_is_p: r.last_wakee_is_p != 0,
            flip_decay_due: r.decay_due != 0,
            sd_llc_size: sd_llc_size as i32,
            affinity: &r.affinity[..words],
            nr_cpus_allowed: r.wakee_allowed as i32,
            util_avg: r.util_avg as i64,
            runnable_avg: r.runnable_avg as i64,
            util_est: r.util_est as i64,
            load_avg: r.wakee_load as i64,
            load_weight: r.load_weight as i64,
            task_h_load: r.wakee_load as i64,
            last_update_time_set: true,
            numa_preferred_nid: -1,
            waker_load_avg: r.waker_load as i64,
            waker_load_weight: 1024,
            waker_h_load: r.waker_load as i64,
            jiffies: r.jiffies as i64,
            wake_stamp: Some(r.wake_stamp as i64),
            wake_avg_idle: Some(r.wake_avg_idle as i64),
            avg_idle: r.avg_idle as i64,
            avg_scan_cost: Some(r.avg_scan_cost as i64),
            idle_mask: &r.idle[..words],
            idle_mask_exit: &r.idle_exit[..words],
            curr_idle_mask: &r.idle[..words],
            ttwu_pending_mask: &busy,
            cpu_nr_running: &ints(|cpu| cpu.nr_running as i32),
            cpu_h_nr_queued: &ints(|cpu| cpu.nr_running as i32),
            cpu_h_nr_delayed: &zeros,
            cpu_h_nr_idle: &zeros,
            cpu_load_avg: &longs(|cpu| cpu.load_avg as i64),
            cpu_runnable_avg: &longs(|cpu| cpu.runnable_avg.into()),
            cpu_util_avg: &longs(|cpu| cpu.util_avg.into()),
            cpu_util_est: &longs(|cpu| cpu.util_est.into()),
            cpu_capacity: &self.capacities,
            llc_ids: &ids,
            // The schema has no kernel without SIS_CORE. Without idle cores, a search does the same as without
            // SIS_CORE.
            llc_has_idle_cores: &if r.features & self.sis_core == 0 {
                vec![0; self.llcs.len()]
            } else {
                of_llcs(|llc| (llc.has_idle_cores != 0).into())
            },
            llc_nr_idle_scan: &of_llcs(|llc| llc.nr_idle_scan.max(0)),
            cpu_idle_stamp: None,
            cpu_idle_exit_latency: None,
            cpu_group_cap_l0: None,
            cpu_group_cap_l1: None,
            cpu_group_cap_l2: None,
            cpu_group_cap_l3: None,
            cpu_group_imbalance: None,
        })?;
        Ok(())
    }
}
