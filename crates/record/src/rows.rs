//! Converts the record of a decision to a row of the recording.

use crate::kernel::{FeaturesInEffect, Kernel};
use crate::machine::Machine;
use crate::wire::{CpuSlow, CpuState, Decision, H_LOAD_UNKNOWN, HAS_SCAN_COST, HAS_WAKE_AVG_IDLE, TaskState, c_string};
use std::sync::Arc;
use wakelab_events::recording::{DecisionRow, RecordingWriter};

/// A decision that took longer was interrupted, perhaps by the host of a guest: see docs/formats.md.
const MAX_STABLE_NS: u64 = 200_000;
const PF_KTHREAD: u32 = 0x20_0000;
/// `NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET`.
const NOT_IN_TASK: u32 = 0x00ff_0100;
const FORK_OR_EXEC: u32 = 0x06;
const WAKE_FLAGS: [(u32, &str); 8] = [
    (0x02, "EXEC"),
    (0x04, "FORK"),
    (0x08, "TTWU"),
    (0x10, "SYNC"),
    (0x20, "MIGRATED"),
    (0x40, "CURRENT_CPU"),
    (0x80, "RQ_SELECTED"),
    (0x100, "ON_CPU"),
];

/// Builds rows. Its memory is reused for the next row.
pub struct RowBuilder {
    kernel: Kernel,
    machine: Arc<Machine>,
    inferred: bool,
    llcs: Vec<(usize, u32)>,
    features: FeaturesInEffect,
    ints: [Vec<i32>; 7],
    longs: [Vec<i64>; 12],
    masks: [Vec<u64>; 4],
    /// The number of rows so far.
    pub seq: i64,
    /// The number of stable rows so far.
    pub stable: u64,
}

impl RowBuilder {
    /// Builds rows of decisions of this kernel on this machine. Inferred decisions are never stable.
    pub fn new(kernel: Kernel, machine: Arc<Machine>, inferred: bool) -> Self {
        RowBuilder {
            kernel,
            inferred,
            llcs: machine.llcs(),
            machine,
            features: FeaturesInEffect::default(),
            ints: Default::default(),
            longs: Default::default(),
            masks: Default::default(),
            seq: 0,
            stable: 0,
        }
    }

    /// The kernel that decides.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Sets the machine that the next rows are of.
    pub fn set_machine(&mut self, machine: Arc<Machine>) {
        self.llcs = machine.llcs();
        self.machine = machine;
    }

    /// Writes the row of a decision.
    pub fn write(
        &mut self,
        to: &mut RecordingWriter,
        d: &Decision,
        cpus: &[CpuState],
        slow: &[CpuSlow],
    ) -> anyhow::Result<()> {
        self.seq += 1;
        self.gather(d, cpus, slow);
        let [idle, idle_exit, curr_idle, pending] = &self.masks;
        let (features, known) = self.features.of(&self.kernel, d.features, d.t_ns);
        let stable = !self.inferred
            && known
            && idle == idle_exit
            && d.dur_ns < MAX_STABLE_NS
            && !cpus.is_empty()
            && h_load_unchanged(d);
        self.stable += u64::from(stable);
        let [running, queued, delayed, sched_idle, llc_ids, cores, scans] = &self.ints;
        let [load, runnable, util, util_est, capacity, stamp, latency, cap0, cap1, cap2, cap3, imbalance] =
            self.longs.each_ref().map(Vec::as_slice);
        let fork_or_exec = d.wake_flags & FORK_OR_EXEC != 0;
        let slow_list = |list| if fork_or_exec { Some(list) } else { None };
        let words = self.machine.nr_cpus.div_ceil(64);
        let (waker_comm, wakee_comm) = (c_string(&d.waker.comm), c_string(&d.wakee.comm));
        let flags_text = flags_text(d.wake_flags);
        to.decision(DecisionRow {
            seq: self.seq,
            t_ns: d.t_ns as i64,
            dur_ns: d.dur_ns as i64,
            stable,
            features,
            waker_cpu: d.waker_cpu as i32,
            waker_pid: d.waker.pid,
            waker_comm: &waker_comm,
            waker_policy: d.waker.policy as i32,
            waker_flags: i64::from(d.waker.flags),
            waker_nr_cpus_allowed: d.waker.nr_cpus_allowed,
            waker_percpu_kthread: per_cpu_kthread(&d.waker),
            preempt_count: i64::from(d.preempt_count),
            in_task: d.preempt_count & NOT_IN_TASK == 0,
            wakee_pid: d.wakee.pid,
            wakee_comm: &wakee_comm,
            wakee_policy: d.wakee.policy as i32,
            wakee_static_prio: d.wakee.static_prio,
            wakee_flags: i64::from(d.wakee.flags),
            on_rq: d.on_rq != 0,
            prev_cpu: d.prev_cpu,
            wake_flags: i64::from(d.wake_flags),
            wake_flags_text: &flags_text,
            chosen_cpu: d.chosen_cpu,
            recent_used_cpu: d.recent_used_cpu,
            recent_used_cpu_after: d.recent_used_cpu_after,
            waker_flips_before: i64::from(d.waker.flips_before),
            waker_flips: i64::from(d.waker.flips_after),
            wakee_flips_before: i64::from(d.wakee.flips_before),
            wakee_flips: i64::from(d.wakee.flips_after),
            last_wakee_is_p: d.last_wakee_is_p != 0,
            flip_decay_due: d.flip_decay_due != 0,
            sd_llc_size: d.sd_llc_size,
            affinity: &d.affinity[..words],
            nr_cpus_allowed: d.wakee.nr_cpus_allowed,
            util_avg: d.util_avg as i64,
            runnable_avg: d.runnable_avg as i64,
            util_est: d.util_est as i64,
            load_avg: d.wakee.load_avg as i64,
            load_weight: d.wakee.load_weight as i64,
            task_h_load: h_load(&d.wakee),
            last_update_time_set: d.last_update_time_set != 0,
            numa_preferred_nid: d.numa_preferred_nid,
            waker_load_avg: d.waker.load_avg as i64,
            waker_load_weight: d.waker.load_weight as i64,
            waker_h_load: h_load(&d.waker),
            jiffies: d.jiffies as i64,
            wake_stamp: has(d, HAS_WAKE_AVG_IDLE, d.wake_stamp),
            wake_avg_idle: has(d, HAS_WAKE_AVG_IDLE, d.wake_avg_idle),
            avg_idle: d.avg_idle as i64,
            avg_scan_cost: has(d, HAS_SCAN_COST, d.avg_scan_cost),
            idle_mask: idle,
            idle_mask_exit: idle_exit,
            curr_idle_mask: curr_idle,
            ttwu_pending_mask: pending,
            cpu_nr_running: running,
            cpu_h_nr_queued: queued,
            cpu_h_nr_delayed: delayed,
            cpu_h_nr_idle: sched_idle,
            cpu_load_avg: load,
            cpu_runnable_avg: runnable,
            cpu_util_avg: util,
            cpu_util_est: util_est,
            cpu_capacity: capacity,
            llc_ids,
            llc_has_idle_cores: cores,
            llc_nr_idle_scan: scans,
            cpu_idle_stamp: slow_list(stamp),
            cpu_idle_exit_latency: slow_list(latency),
            cpu_group_cap_l0: slow_list(cap0),
            cpu_group_cap_l1: slow_list(cap1),
            cpu_group_cap_l2: slow_list(cap2),
            cpu_group_cap_l3: slow_list(cap3),
            cpu_group_imbalance: slow_list(imbalance),
        })?;
        Ok(())
    }

    /// Converts the states of the CPUs to lists and masks.
    fn gather(&mut self, d: &Decision, cpus: &[CpuState], slow: &[CpuSlow]) {
        let words = self.machine.nr_cpus.div_ceil(64);
        self.ints.iter_mut().for_each(Vec::clear);
        self.longs.iter_mut().for_each(Vec::clear);
        for mask in &mut self.masks {
            mask.clear();
            mask.resize(words, 0);
        }
        let fork_or_exec = d.wake_flags & FORK_OR_EXEC != 0;
        for (at, taken) in cpus.iter().enumerate() {
            // The decision does not read a CPU that was left out. Its row shows it busy, not idle.
            let blank = CpuState { nr_running: 1, h_nr_queued: 1, capacity: 1024, ..CpuState::default() };
            let cpu = if taken.taken != 0 { taken } else { &blank };
            let bits = [
                cpu.curr_idle != 0 && cpu.nr_running == 0 && cpu.ttwu_pending == 0,
                taken.taken != 0 && cpu.idle_exit != 0,
                cpu.curr_idle != 0,
                cpu.ttwu_pending != 0,
            ];
            for (mask, bit) in self.masks.iter_mut().zip(bits) {
                mask[at / 64] |= u64::from(bit) << (at % 64);
            }
            let ints = [cpu.nr_running as i32, cpu.h_nr_queued as i32, cpu.h_nr_delayed, cpu.h_nr_idle as i32];
            for (list, value) in self.ints.iter_mut().zip(ints) {
                list.push(value);
            }
            let longs =
                [cpu.load_avg, cpu.runnable_avg.into(), cpu.util_avg.into(), cpu.util_est.into(), cpu.capacity.into()];
            for (list, value) in self.longs.iter_mut().zip(longs) {
                list.push(value as i64);
            }
        }
        for &(first, id) in &self.llcs {
            let state = cpus.get(first).copied().unwrap_or_default();
            let taken = state.taken != 0;
            self.ints[4].push(id as i32);
            self.ints[5].push(i32::from(taken && state.has_idle_cores != 0));
            self.ints[6].push(if taken { state.nr_idle_scan.max(0) } else { 0 });
        }
        let none = CpuSlow { exit_latency: -1, ..CpuSlow::default() };
        let slow = slow.iter().chain(std::iter::repeat_n(&none, self.machine.nr_cpus - slow.len()));
        for cpu in slow.take(if fork_or_exec { self.machine.nr_cpus } else { 0 }) {
            let [cap0, cap1, cap2, cap3] = cpu.capacity.map(i64::from);
            let values = [cpu.idle_stamp as i64, cpu.exit_latency.into(), cap0, cap1, cap2, cap3, cpu.imbalance.into()];
            for (list, value) in self.longs[5..].iter_mut().zip(values) {
                list.push(value);
            }
        }
    }
}

/// Whether `task_h_load()` of both tasks is known, and was the same at the end of the decision.
fn h_load_unchanged(d: &Decision) -> bool {
    d.h_load_moved == 0 && d.waker.h_load != H_LOAD_UNKNOWN && d.wakee.h_load != H_LOAD_UNKNOWN
}

/// `task_h_load()` of a task; 0 if it is unknown, in which case the row is not stable.
fn h_load(task: &TaskState) -> i64 {
    if task.h_load == H_LOAD_UNKNOWN { 0 } else { task.h_load as i64 }
}

/// A field that not every kernel has; `None` if this one does not.
fn has(d: &Decision, field: u32, value: u64) -> Option<i64> {
    (d.has & field != 0).then_some(value as i64)
}

fn per_cpu_kthread(task: &TaskState) -> bool {
    task.flags & PF_KTHREAD != 0 && task.nr_cpus_allowed == 1
}

fn flags_text(flags: u32) -> String {
    let names: Vec<&str> = WAKE_FLAGS.iter().filter(|(bit, _)| flags & bit != 0).map(|&(_, name)| name).collect();
    names.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    #[test]
    fn a_load_that_is_unknown_makes_a_decision_unstable() {
        let mut d: Decision = Zeroable::zeroed();
        (d.waker.h_load, d.wakee.h_load) = (0, 7);
        assert!(h_load_unchanged(&d));
        for at in 0..2 {
            let mut d = d;
            if at == 0 {
                d.waker.h_load = H_LOAD_UNKNOWN
            } else {
                d.wakee.h_load = H_LOAD_UNKNOWN
            }
            assert!(!h_load_unchanged(&d));
            assert_eq!((h_load(&d.waker), h_load(&d.wakee)), if at == 0 { (0, 7) } else { (0, 0) });
        }
        d.h_load_moved = 1;
        assert!(!h_load_unchanged(&d));
    }

    #[test]
    fn a_field_that_is_0_is_not_one_that_the_kernel_lacks() {
        let mut d: Decision = Zeroable::zeroed();
        assert_eq!(has(&d, HAS_WAKE_AVG_IDLE, 0), None);
        d.has = HAS_WAKE_AVG_IDLE;
        assert_eq!((has(&d, HAS_WAKE_AVG_IDLE, 0), has(&d, HAS_SCAN_COST, 0)), (Some(0), None));
    }
}
