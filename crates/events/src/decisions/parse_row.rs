//! The fields of a line, checked and turned into a [`Row`].

use super::fields::{BELONGS, Column as C, Value};
use super::reader::Reader;
use super::row::{Row, RowFeatures, ScanState, SlowPathState, TaskState, WakerState};
use crate::error::{ReadError, shown};
use crate::limits;
use std::sync::Arc;
use wakelab_sched::CpuMask;
use wakelab_sched::select::WakeFlags;

impl Reader {
    pub(super) fn parse(&mut self, row: &mut Row) -> Result<(), ReadError> {
        self.same_machine()?;
        if *self.fields.bytes(C::features)? != *self.features.text.as_bytes() {
            let text = self.fields.short_text(C::features, limits::MAX_FEATURES)?;
            self.features = Arc::new(RowFeatures::parse(&String::from_utf8_lossy(&text), self.topo.preset));
        }
        let fields = &self.fields;
        let nr_cpus = self.topo.domains.nr_cpus;
        row.line = fields.rows.line();
        row.kernel.clone_from(&self.kernel);
        row.features = Arc::clone(&self.features);
        fields.text_into(C::load, limits::MAX_LABEL, &mut row.load)?;
        fields.text_into(C::variant, limits::MAX_LABEL, &mut row.variant)?;
        row.seq = fields.number(C::seq, limits::ROWS)?;
        row.t_ns = fields.number(C::t_ns, limits::TIMES)?;
        row.dur_ns = fields.number(C::dur_ns, limits::LENGTHS)?;
        row.stable = fields.flag(C::stable)?;
        self.parse_waker(&mut row.waker)?;
        self.parse_wakee(&mut row.wakee)?;
        row.wake_flags = WakeFlags::from_bits_retain(fields.hex(C::wake_flags)?);
        row.chosen_cpu = fields.cpu(C::chosen_cpu, nr_cpus)?;
        row.recent_used_cpu_after = fields.number(C::recent_used_cpu_after, -1..=i64::from(nr_cpus) - 1)?;
        row.sd_llc_size = self.sd_llc_size(row.waker.cpu)?;
        row.scan = self.scan_state()?;
        let simulated = fields.rows.simulated();
        (row.simulated, row.partial) = (simulated.is_some(), simulated == Some(true));
        self.parse_cpus(row)?;
        self.parse_llcs(row)?;
        if row.wake_flags.intersects(WakeFlags::FORK | WakeFlags::EXEC) {
            self.parse_slow_path(row.slow_path.get_or_insert_default())?;
            self.check_queued(row)
        } else {
            row.slow_path = None;
            Ok(())
        }
    }

    /// Checks that the row is of the same kernel and machine as the first.
    fn same_machine(&self) -> Result<(), ReadError> {
        for (column, first) in [(C::kernel, &self.kernel), (C::topology, &self.topology)] {
            if *self.fields.bytes(column)? != *first.as_bytes() {
                let what = format!("{first:?}, with which the file began");
                return Err(self
                    .fields
                    .expected(column, &what)
                    .with_hint("put each kernel and each machine into a file of its own"));
            }
        }
        Ok(())
    }

    /// The longest name of a task, bytes. Those of simulated tasks are from a workload's file.
    fn longest_comm(&self) -> usize {
        if self.fields.rows.simulated().is_some() { limits::MAX_LABEL } else { limits::MAX_COMM }
    }

    fn parse_waker(&self, waker: &mut WakerState) -> Result<(), ReadError> {
        let fields = &self.fields;
        waker.cpu = fields.cpu(C::waker_cpu, self.topo.domains.nr_cpus)?;
        waker.pid = fields.number(C::waker_pid, limits::PIDS)?;
        fields.text_into(C::waker_comm, self.longest_comm(), &mut waker.comm)?;
        waker.flags = fields.hex(C::waker_flags)?;
        waker.per_cpu_kthread = fields.flag(C::waker_percpu_kthread)?;
        waker.in_task = fields.flag(C::in_task)?;
        waker.flips_before = fields.number(C::waker_flips_before, 0..=u32::MAX)?;
        waker.flips = fields.number(C::waker_flips, 0..=u32::MAX)?;
        waker.last_wakee_is_p = fields.flag(C::last_wakee_is_p)?;
        waker.flip_decay_due = fields.flag(C::flip_decay_due)?;
        waker.h_load = fields.number(C::waker_h_load, limits::AVERAGES)?;
        waker.load_avg = fields.number(C::waker_load_avg, limits::AVERAGES)?;
        Ok(())
    }

    fn parse_wakee(&self, wakee: &mut TaskState) -> Result<(), ReadError> {
        let fields = &self.fields;
        let nr_cpus = self.topo.domains.nr_cpus;
        wakee.pid = fields.number(C::wakee_pid, limits::PIDS)?;
        fields.text_into(C::wakee_comm, self.longest_comm(), &mut wakee.comm)?;
        wakee.policy = fields.number(C::wakee_policy, limits::POLICIES)?;
        wakee.static_prio = fields.number(C::wakee_static_prio, limits::STATIC_PRIOS)?;
        wakee.on_rq = fields.flag(C::on_rq)?;
        wakee.prev_cpu = fields.cpu(C::prev_cpu, nr_cpus)?;
        wakee.recent_used_cpu = fields.number(C::recent_used_cpu, -1..=i64::from(nr_cpus) - 1)?;
        wakee.flips = fields.number(C::wakee_flips, 0..=u32::MAX)?;
        wakee.affinity = fields.mask(C::affinity, nr_cpus)?;
        if wakee.affinity.is_empty() {
            return Err(fields
                .expected(C::affinity, "at least one CPU")
                .with_hint("every task may use at least one CPU; was the file edited or damaged?"));
        }
        wakee.util_avg = fields.number(C::util_avg, limits::AVERAGES)?;
        wakee.runnable_avg = fields.number(C::runnable_avg, limits::AVERAGES)?;
        wakee.util_est = fields.number(C::util_est, limits::AVERAGES)?;
        wakee.h_load = fields.number(C::task_h_load, limits::AVERAGES)?;
        wakee.load_avg = fields.number(C::load_avg, limits::AVERAGES)?;
        wakee.last_update_time_set = fields.flag(C::last_update_time_set)?;
        wakee.numa_preferred_nid = fields.number(C::numa_preferred_nid, limits::NODES)?;
        Ok(())
    }

    /// The size of the waker's LLC, which must be that of the description of the machine.
    fn sd_llc_size(&self, waker_cpu: u32) -> Result<u32, ReadError> {
        let expected = self.topo.domains.sd_llc_size[waker_cpu as usize];
        if self.fields.number(C::sd_llc_size, 0..=u32::MAX)? == expected {
            return Ok(expected);
        }
        let what = format!("{expected}, the number of CPUs in the LLC of CPU {waker_cpu} according to the topo file");
        Err(self.fields.expected(C::sd_llc_size, &what).with_hint(BELONGS))
    }

    fn parse_cpus(&self, row: &mut Row) -> Result<(), ReadError> {
        let fields = &self.fields;
        let nr_cpus = self.topo.domains.nr_cpus;
        row.idle_mask = fields.mask(C::idle_mask, nr_cpus)?;
        row.idle_changed = fields.mask(C::idle_mask_exit, nr_cpus)? != row.idle_mask;
        row.curr_idle_mask = fields.mask(C::curr_idle_mask, nr_cpus)?;
        row.ttwu_pending_mask = fields.mask(C::ttwu_pending_mask, nr_cpus)?;

        let n = (nr_cpus as usize, "CPU");
        let cpus = &mut row.cpus;
        fields.list(C::cpu_nr_running, n, limits::TASKS, &mut cpus.nr_running)?;
        fields.list(C::cpu_h_nr_queued, n, limits::TASKS, &mut cpus.h_nr_queued)?;
        fields.list(C::cpu_h_nr_delayed, n, limits::TASKS_DIFFERENCE, &mut cpus.h_nr_delayed)?;
        fields.list(C::cpu_h_nr_idle, n, limits::TASKS, &mut cpus.h_nr_idle)?;
        fields.list(C::cpu_load_avg, n, limits::AVERAGES, &mut cpus.load_avg)?;
        fields.list(C::cpu_runnable_avg, n, limits::AVERAGES, &mut cpus.runnable_avg)?;
        fields.list(C::cpu_util_avg, n, limits::AVERAGES, &mut cpus.util_avg)?;
        fields.list(C::cpu_util_est, n, limits::AVERAGES, &mut cpus.util_est)?;
        fields.list(C::cpu_capacity, n, limits::CAPACITIES, &mut cpus.capacity)?;

        let total: u64 = cpus.nr_running.iter().copied().map(u64::from).sum();
        if total > u64::from(limits::MAX_TASKS) {
            let what = format!("expected at most {} running tasks on all CPUs, found {total}", limits::MAX_TASKS);
            return Err(fields.error(C::cpu_nr_running, what).with_hint("no kernel allows more (PID_MAX_LIMIT)"));
        }
        row.sched_idle_mask = CpuMask::new(nr_cpus);
        row.any_sched_idle = false;
        for (cpu, (&running, &idle)) in (0..).zip(cpus.nr_running.iter().zip(&cpus.h_nr_idle)) {
            // sched_idle_rq(): something runs, and all of it is SCHED_IDLE.
            if running > 0 && running == idle {
                row.sched_idle_mask.set(cpu);
                row.any_sched_idle = true;
            }
        }
        Ok(())
    }

    fn parse_llcs(&mut self, row: &mut Row) -> Result<(), ReadError> {
        let n = (self.llc_ids.len(), "LLC");
        let sd_shared = &mut self.sd_shared;
        self.fields.list(C::llc_ids, n, 0..=u32::MAX, &mut sd_shared.ids)?;
        self.fields.list(C::llc_has_idle_cores, n, 0..=1, &mut sd_shared.has_idle_cores)?;
        self.fields.list(C::llc_nr_idle_scan, n, limits::SCANS, &mut sd_shared.nr_idle_scan)?;
        if let Some(id) = self.llc_ids.iter().find(|id| !sd_shared.ids.contains(id)) {
            let what = format!(
                "expected the LLCs of the topo file, LLC {id} among them, found {}",
                shown(&self.fields.bytes(C::llc_ids)?)
            );
            return Err(self.fields.error(C::llc_ids, what).with_hint(BELONGS));
        }
        row.llcs.clear();
        let by_llc = sd_shared.ids.iter().zip(&sd_shared.has_idle_cores).zip(&sd_shared.nr_idle_scan);
        row.llcs.extend(by_llc.map(|((&id, &cores), &scan)| (id, cores != 0, scan)));
        Ok(())
    }

    /// The values that SIS_PROP reads, which may be missing.
    fn scan_state(&self) -> Result<ScanState, ReadError> {
        let number = |column, range| match self.fields.rows.value(column)? {
            Value::Text([]) => Ok(None),
            _ => self.fields.number(column, range).map(Some),
        };
        Ok(ScanState {
            jiffies: number(C::jiffies, limits::TIMES)?,
            wake_stamp: number(C::wake_stamp, limits::TIMES)?,
            wake_avg_idle: number(C::wake_avg_idle, limits::LENGTHS)?,
            avg_idle: number(C::avg_idle, limits::LENGTHS)?,
            avg_scan_cost: number(C::avg_scan_cost, limits::LENGTHS)?,
        })
    }

    fn parse_slow_path(&self, slow: &mut SlowPathState) -> Result<(), ReadError> {
        let fields = &self.fields;
        let n = (self.topo.domains.nr_cpus as usize, "CPU");
        fields.list(C::cpu_idle_stamp, n, limits::TIMES, &mut slow.idle_stamp)?;
        fields.list(C::cpu_idle_exit_latency, n, limits::EXIT_LATENCIES, &mut slow.idle_exit_latency)?;
        fields.list(C::cpu_group_imbalance, n, limits::LEVELS, &mut slow.group_imbalance)?;
        let columns = [C::cpu_group_cap_l0, C::cpu_group_cap_l1, C::cpu_group_cap_l2];
        for (level, (column, capacities)) in columns.into_iter().zip(&mut slow.group_capacity).enumerate() {
            fields.list(column, n, limits::GROUP_CAPACITIES, capacities)?;
            for (cpu, (domains, capacity)) in self.topo.domains.domains.iter().zip(capacities).enumerate() {
                let Some(group) = domains.get(level).and_then(|sd| sd.groups().next()) else { continue };
                let range = limits::group_capacities(group.weight);
                if !range.contains(capacity) {
                    let (weight, from, till) = (group.weight, range.start(), range.end());
                    let what = format!(
                        "expected a capacity from {from} to {till}, because CPU {cpu}'s group at level {level} has \
                         weight {weight}, found {capacity}"
                    );
                    return Err(fields.error(column, what).with_hint(BELONGS));
                }
            }
        }
        Ok(())
    }

    /// Checks that the previous CPU has a running task if the wakee is queued: the slow path subtracts it.
    fn check_queued(&self, row: &Row) -> Result<(), ReadError> {
        let prev = row.wakee.prev_cpu;
        if row.wakee.on_rq && row.cpus.nr_running[prev as usize] == 0 {
            let what =
                format!("expected at least one task on CPU {prev}, where the wakee is queued (on_rq is 1), found 0");
            return Err(self
                .fields
                .error(C::cpu_nr_running, what)
                .with_hint("a task runs while it execs; was the file edited or damaged?"));
        }
        Ok(())
    }
}
