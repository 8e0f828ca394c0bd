//! Converts the record of a wake-up preemption to a row of the recording.

use crate::kernel::{FeaturesInEffect, Kernel};
use crate::wire::{PREEMPT_EEVDF, PREEMPT_UNCERTAIN, PREEMPT_VPROT, Preempt, QueuedTask, c_string};
use wakelab_events::recording::{RecordingWriter, WakeupPreemptRow};

/// Builds rows. Its memory is reused for the next row.
#[derive(Default)]
pub struct PreemptRows {
    features: FeaturesInEffect,
    ints: [Vec<i32>; 4],
    longs: [Vec<i64>; 6],
}

impl PreemptRows {
    /// Writes the row of a wake-up preemption.
    pub fn write(
        &mut self,
        to: &mut RecordingWriter,
        kernel: &Kernel,
        p: &Preempt,
        waiting: &[QueuedTask],
    ) -> anyhow::Result<()> {
        let (before, after) = (&p.before, &p.after);
        self.gather(&before.curr, waiting);
        let (features, known) = self.features.of(kernel, before.features, p.t_ns);
        let stable = p.has & PREEMPT_UNCERTAIN == 0 && known && before.features == after.features;
        let eevdf = p.has & PREEMPT_EEVDF != 0;
        let sum = |value: i64| eevdf.then_some(value);
        let tunable = |value: u32| (value != 0).then_some(i64::from(value));
        let bits = NeedResched::of(&kernel.version);
        let (curr_comm, wakee_comm) = (c_string(&p.curr_comm), c_string(&p.wakee_comm));
        let [task_pid, task_policy, task_static_prio, task_flags] = self.ints.each_ref().map(Vec::as_slice);
        let [task_weight, task_vruntime, task_deadline, task_slice, task_vlag, task_vprot] =
            self.longs.each_ref().map(Vec::as_slice);
        let vprot = p.has & PREEMPT_VPROT != 0;
        to.wakeup_preempt(WakeupPreemptRow {
            t_ns: p.t_ns as i64,
            cpu: p.cpu as i32,
            waker_cpu: p.waker_cpu as i32,
            stable,
            features,
            wake_flags: p.wake_flags.into(),
            in_task: p.in_task != 0,
            curr_pid: before.curr.pid,
            curr_comm: &curr_comm,
            wakee_pid: p.wakee_pid,
            wakee_comm: &wakee_comm,
            clock_task: p.clock_task as i64,
            resched: bits.read(before.thread_flags),
            resched_after: bits.read(after.thread_flags),
            base_slice: tunable(p.base_slice),
            migration_cost: tunable(p.migration_cost),
            wakeup_granularity: tunable(p.wakeup_granularity),
            nr_latency: tunable(p.nr_latency),
            nr_queued: before.nr_queued as i32,
            nr_queued_after: after.nr_queued as i32,
            virtual_time: before.virtual_time as i64,
            virtual_time_after: after.virtual_time as i64,
            sum_w_vruntime: sum(before.sum_w_vruntime),
            sum_weight: sum(before.sum_weight as i64),
            sum_shift: before.sum_shift as i32,
            next_pid: before.next,
            next_pid_after: after.next,
            last_pid: before.last,
            last_pid_after: after.last,
            curr_exec_start: before.curr.exec_start as i64,
            curr_vruntime_after: after.curr.vruntime as i64,
            curr_deadline_after: after.curr.deadline as i64,
            curr_slice_after: after.curr.slice as i64,
            curr_protection_after: if vprot { after.curr.vprot as i64 } else { after.curr.vlag },
            task_pid,
            task_policy,
            task_static_prio,
            task_flags,
            task_weight,
            task_vruntime,
            task_deadline,
            task_slice,
            task_vlag,
            task_vprot,
        })?;
        Ok(())
    }

    /// Converts the tasks to lists, the running one first.
    fn gather(&mut self, curr: &QueuedTask, waiting: &[QueuedTask]) {
        self.ints.iter_mut().for_each(Vec::clear);
        self.longs.iter_mut().for_each(Vec::clear);
        for task in std::iter::once(curr).chain(waiting) {
            let flags = [task.on_rq, task.sched_delayed, task.rel_deadline, task.custom_slice];
            let flags = flags.iter().enumerate().map(|(bit, &set)| i32::from(set != 0) << bit).sum();
            let ints = [task.pid, task.policy as i32, task.static_prio, flags];
            for (list, value) in self.ints.iter_mut().zip(ints) {
                list.push(value);
            }
            let [weight, vruntime, deadline, slice, vprot] =
                [task.weight, task.vruntime, task.deadline, task.slice, task.vprot].map(|value| value as i64);
            for (list, value) in self.longs.iter_mut().zip([weight, vruntime, deadline, slice, task.vlag, vprot]) {
                list.push(value);
            }
        }
    }
}

/// The bits of `thread_info.flags` on x86, which BTF does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NeedResched {
    now: u32,
    /// `TIF_NEED_RESCHED_LAZY`, since 6.13.
    lazy: Option<u32>,
}

impl NeedResched {
    /// Those of a version: 3 and 4 up to 6.17 (arch/x86/include/asm/thread_info.h), then those of all architectures
    /// (asm-generic/thread_info_tif.h).
    fn of(version: &str) -> Self {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        match (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) {
            found if found >= (6, 18) => NeedResched { now: 4, lazy: Some(5) },
            found if found >= (6, 13) => NeedResched { now: 3, lazy: Some(4) },
            _ => NeedResched { now: 3, lazy: None },
        }
    }

    /// 1 if the lazy flag is set, 2 if the other is, 3 if both are.
    fn read(self, flags: u64) -> i32 {
        let bit = |at: u32| (flags >> at & 1) as i32;
        self.lazy.map_or(0, bit) | bit(self.now) << 1
    }
}

#[cfg(test)]
mod tests {
    use super::NeedResched;

    #[test]
    fn the_flags_are_where_the_version_has_them() {
        let read = |version: &str, flags| NeedResched::of(version).read(flags);
        assert_eq!([read("6.1.176", 8), read("6.1.176", 16), read("6.12.107", 8 | 16)], [2, 0, 2]);
        assert_eq!([read("6.13", 8), read("6.17.1", 16), read("6.17", 32)], [2, 1, 0]);
        assert_eq!([read("6.18.15", 8), read("7.2.12", 16), read("7.2", 32), read("7.2", 48)], [0, 2, 1, 3]);
    }
}
