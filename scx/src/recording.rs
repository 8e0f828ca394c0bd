//! `--record`: decisions in the schema of the recorder, which `wakelab stats`, `explain` and `conform` read.

use crate::bpf_skel::BpfSkel;
use crate::machine::Machine;
use crate::wire::{Record, RecordedCpu, parse, text};
use crate::{domains, features};
use anyhow::{Context, Result, bail};
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use wakelab_events::recording::{DecisionRow, RecordingWriter};

/// How often the open segments are closed, so that a scheduler that is killed leaves them.
const CLOSE_INTERVAL: Duration = Duration::from_secs(5);
/// A longer decision was interrupted, if only by the host, and is not stable.
const MAX_STABLE_NS: u64 = 200_000;
/// MAX_RECORDED_LLCS of src/bpf/record.h.
const MAX_LLCS: usize = 64;
const PF_KTHREAD: u32 = 0x20_0000;
/// The schema has no columns for some inputs of these features, so their decisions cannot be made again.
const NOT_RECORDED: [&str; 4] = ["SIS_PROP", "SIS_LIMIT", "SIS_SHORT", "SIS_PARAM"];
const WAKE_FLAGS: [(u32, &str); 5] =
    [(0x08, "TTWU"), (0x10, "SYNC"), (0x20, "MIGRATED"), (0x40, "CURRENT_CPU"), (0x80, "RQ_SELECTED")];

/// The folder, and what rows are made with.
struct Rows {
    folder: RecordingWriter,
    nr_cpus: usize,
    /// By LLC of the program: its id in the description, and its number of CPUs.
    llcs: Vec<(i32, usize)>,
    llc_of_cpu: Vec<usize>,
    capacities: Vec<i64>,
    not_recorded: u64,
    sis_core: u64,
    seq: i64,
    stable: u64,
    broken: Option<anyhow::Error>,
}

/// A recording that is being written.
pub struct Recording<'a> {
    rows: Rc<RefCell<Rows>>,
    ring: RingBuffer<'a>,
    closed: Instant,
}

impl<'a> Recording<'a> {
    /// Begins a recording in a folder that is new, or empty and root's alone.
    ///
    /// # Errors
    /// Fails if the folder cannot be made, or the machine cannot be described.
    pub fn begin(path: &Path, skel: &BpfSkel<'a>, machine: &Machine, hz: u32) -> Result<Self> {
        if machine.llcs.len() > MAX_LLCS {
            bail!("recordings have room for {MAX_LLCS} LLCs, and this machine has {}", machine.llcs.len());
        }
        let built = domains::build(machine)?;
        let name = format!("{}cpus-{}llcs", machine.nr_cpus, machine.llcs.len());
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let meta =
            serde_json::json!({ "uname": release, "scheduler": concat!("scx_wakelab ", env!("CARGO_PKG_VERSION")) });
        let metadata = vec![
            ("wakelab.kernel", domains::VERSION.to_owned()),
            ("wakelab.release", release),
            ("wakelab.machine", name.clone()),
            ("wakelab.hz", hz.to_string()),
            ("wakelab.workload", String::new()),
            ("wakelab.variant", "default".to_owned()),
            ("wakelab.snapshot", "full".to_owned()),
            ("wakelab.sample", "1/1".to_owned()),
            ("wakelab.source", "scx_wakelab".to_owned()),
            ("wakelab.domains", domains::json(&name, &built, meta)?.to_string()),
        ];
        let ids = built.kernel_llc_ids(wakelab_sched::domain::LlcId::Dense);
        let llcs =
            machine.llcs.iter().map(|cpus| (cpus.first().map_or(0, |&cpu| ids[cpu] as i32), cpus.len())).collect();
        let folder = RecordingWriter::new(path, metadata)
            .map_err(|e| anyhow::anyhow!("--record: {e}\n  hint: name a folder that is not there yet"))?;
        let rows = Rc::new(RefCell::new(Rows {
            folder,
            nr_cpus: machine.nr_cpus,
            llcs,
            llc_of_cpu: machine.cpus.iter().map(|cpu| cpu.llc).collect(),
            capacities: machine.cpus.iter().map(|cpu| cpu.capacity.into()).collect(),
            sis_core: features::bit("SIS_CORE").unwrap_or(0),
            not_recorded: NOT_RECORDED.iter().filter_map(|name| features::bit(name)).sum(),
            seq: 0,
            stable: 0,
            broken: None,
        }));
        let to = Rc::clone(&rows);
        let mut builder = RingBufferBuilder::new();
        builder.add(&skel.maps.ring, move |bytes| to.borrow_mut().put(bytes))?;
        let ring = builder.build().context("the ring buffer cannot be read")?;
        Ok(Recording { rows, ring, closed: Instant::now() })
    }

    /// Writes the records of the ring buffer.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn consume(&mut self) -> Result<()> {
        let consumed = self.ring.consume();
        let mut rows = self.rows.borrow_mut();
        if let Some(error) = rows.broken.take() {
            return Err(error);
        }
        consumed.context("the ring buffer cannot be read")?;
        if self.closed.elapsed() > CLOSE_INTERVAL {
            rows.folder.close_segments()?;
            self.closed = Instant::now();
        }
        Ok(())
    }

    /// Writes the rest and closes the files. Returns the number of decisions, and how many of them are stable.
    ///
    /// # Errors
    /// Those of [`Recording::consume`].
    pub fn end(mut self) -> Result<(i64, u64)> {
        self.consume()?;
        let mut rows = self.rows.borrow_mut();
        rows.folder.close_segments()?;
        Ok((rows.seq, rows.stable))
    }
}

impl Rows {
    fn put(&mut self, bytes: &[u8]) -> i32 {
        let Some((record, cpus)) = parse(bytes) else { return 0 };
        match self.write(&record, &cpus) {
            Ok(()) => 0,
            Err(error) => {
                self.broken = Some(error);
                -1
            }
        }
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
        let of_llcs =
            |of: fn(&crate::wire::RecordedLlc) -> i32| r.llcs[..self.llcs.len()].iter().map(of).collect::<Vec<_>>();
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
