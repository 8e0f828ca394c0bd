//! Converts the record of a pass of the load balancer to a row of the recording.

use crate::kernel::{FeaturesInEffect, InEffect, Kernel};
use crate::wire::{Balance, CpuState, MAX_GROUPS};
use wakelab_events::recording::{BalanceRow, RecordingWriter};

/// Builds rows. Its memory is reused for the next row.
#[derive(Default)]
pub struct BalanceRows {
    features: FeaturesInEffect,
    sched_cache: InEffect,
    ints: [Vec<i32>; 4],
    longs: [Vec<i64>; 11],
    masks: [Vec<u64>; 2],
}

impl BalanceRows {
    /// Writes the row of a pass. `current`: it refers to the description of the machine that the file has.
    pub fn write(
        &mut self,
        to: &mut RecordingWriter,
        kernel: &Kernel,
        current: bool,
        p: &Balance,
        cpus: &[CpuState],
    ) -> anyhow::Result<()> {
        self.gather(p, cpus);
        let (features, known) = self.features.of(kernel, p.features, p.t_ns);
        let in_effect = self.sched_cache.holds(p.sched_cache as u64, p.t_ns);
        let same = p.features == p.features_after && in_effect;
        let stable = p.has == 0 && current && p.level >= 0 && known && same;
        let [cpu_nr_running, cpu_h_nr_queued, cpu_h_nr_delayed, cpu_prefer] = self.ints.each_ref().map(Vec::as_slice);
        let [load, runnable, util, util_est, capacity, group_capacity, group_imbalance, llcs @ ..] =
            self.longs.each_ref().map(Vec::as_slice);
        let has_cache = p.sched_cache >= 0;
        let [group_llc_util, group_llc_capacity, group_llc_util_after, group_llc_capacity_after] =
            llcs.map(|list| has_cache.then_some(list));
        let words = cpus.len().div_ceil(64);
        to.balance(BalanceRow {
            t_ns: p.t_ns as i64,
            dur_ns: p.dur_ns as i64,
            stable,
            features,
            cpu: p.cpu as i32,
            dst_cpu: p.dst_cpu as i32,
            level: p.level,
            idle: p.idle as i32,
            span: &p.span[..words],
            cpus: &p.env_cpus[..words],
            curr_idle_mask: &self.masks[0],
            ttwu_pending_mask: &self.masks[1],
            cpu_nr_running,
            cpu_h_nr_queued,
            cpu_h_nr_delayed,
            cpu_prefer,
            cpu_load_avg: load,
            cpu_runnable_avg: runnable,
            cpu_util_avg: util,
            cpu_util_est: util_est,
            cpu_capacity: capacity,
            group_capacity,
            group_imbalance,
            busiest: p.busiest,
            migration_type: p.migration_type as i32,
            imbalance: p.imbalance,
            sched_cache: has_cache.then_some(p.sched_cache),
            nr_balance_failed: has_cache.then_some(p.nr_balance_failed as i32),
            llc_overaggr_pct: has_cache.then_some(p.llc_overaggr_pct as i32),
            llc_imb_pct: has_cache.then_some(p.llc_imb_pct as i32),
            dst_llc_util: has_cache.then_some(p.dst_llc_util as i64),
            dst_llc_capacity: has_cache.then_some(p.dst_llc_capacity as i64),
            group_llc_util,
            group_llc_capacity,
            group_llc_util_after,
            group_llc_capacity_after,
        })?;
        Ok(())
    }

    fn gather(&mut self, p: &Balance, cpus: &[CpuState]) {
        self.ints.iter_mut().for_each(Vec::clear);
        self.longs.iter_mut().for_each(Vec::clear);
        for mask in &mut self.masks {
            mask.clear();
            mask.resize(cpus.len().div_ceil(64), 0);
        }
        for (at, cpu) in cpus.iter().enumerate() {
            let ints = [cpu.nr_running as i32, cpu.h_nr_queued as i32, cpu.h_nr_delayed, cpu.prefer as i32];
            for (list, value) in self.ints.iter_mut().zip(ints) {
                list.push(value);
            }
            let averages = [cpu.runnable_avg, cpu.util_avg, cpu.util_est, cpu.capacity].map(i64::from);
            let longs = [cpu.load_avg as i64].into_iter().chain(averages);
            for (list, value) in self.longs.iter_mut().zip(longs) {
                list.push(value);
            }
            for (mask, set) in self.masks.iter_mut().zip([cpu.curr_idle, cpu.ttwu_pending]) {
                mask[at / 64] |= u64::from(set != 0) << (at % 64);
            }
        }
        for group in &p.groups[..(p.nr_groups as usize).min(MAX_GROUPS)] {
            let longs = [
                group.capacity,
                group.imbalance,
                group.llc_util,
                group.llc_capacity,
                group.llc_util_after,
                group.llc_capacity_after,
            ];
            for (list, value) in self.longs[5..].iter_mut().zip(longs) {
                list.push(value as i64);
            }
        }
    }
}
