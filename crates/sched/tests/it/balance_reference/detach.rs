//! Which tasks.

use super::groups::Migration;
use super::{ALL_PINNED, BREAK, DST_PINNED, Env, NEED_BREAK, SOME_PINNED, Version};
use wakelab_sched::balance::CpuIdleType;
use wakelab_sched::domain::SdFlags;
use wakelab_sched::runqueue::TaskId;

impl Env<'_> {
    fn task_hot(&self, task: TaskId) -> bool {
        let p = &self.state.tasks[task.0 as usize];
        let src = &self.state.cpus[self.src_cpu as usize];
        if p.idle_policy {
            return false;
        }
        if self.sd.flags.contains(SdFlags::SHARE_CPUCAPACITY) {
            return false;
        }
        if self.config.cache_hot_buddy && self.nr_running(self.dst_cpu) != 0 && src.buddy == Some(task) {
            return true;
        }
        if self.config.migration_cost == u32::MAX {
            return true;
        }
        if self.config.migration_cost == 0 {
            return false;
        }
        let delta = src.clock.wrapping_sub(p.exec_start) as i64;
        delta < i64::from(self.config.migration_cost)
    }

    fn can_migrate_task(&mut self, task: TaskId) -> bool {
        let p = self.state.tasks[task.0 as usize].clone();
        if self.config.version >= Version::V7_2 {
            if p.delayed && self.migration_type != Migration::Load {
                return false;
            }
            let dst = &self.state.cpus[self.dst_cpu as usize];
            let dst_nr_queued = dst.tasks.len() as u32 + self.arrived[self.dst_cpu as usize];
            if self.nr_balance_failed == 0 && self.config.place_lag && dst_nr_queued != 0 && !p.eligible {
                return false;
            }
        }
        if p.kthread {
            return false;
        }
        if !p.cpus.test(self.dst_cpu) {
            self.flags |= SOME_PINNED;
            if self.idle == CpuIdleType::NewlyIdle || self.flags & DST_PINNED != 0 {
                return false;
            }
            for &cpu in self.dst_grpmask.intersection(&self.cpus) {
                if p.cpus.test(cpu) {
                    self.flags |= DST_PINNED;
                    self.new_dst_cpu = cpu;
                    break;
                }
            }
            return false;
        }
        self.flags &= !ALL_PINNED;
        if p.on_cpu {
            return false;
        }
        !self.task_hot(task) || self.nr_balance_failed > self.cache_nice_tries()
    }

    /// Returns how many; they are in `tasks`, in the order in which they were taken.
    pub fn detach_tasks(&mut self) -> u32 {
        let src = self.src_cpu as usize;
        let mut detached = 0;
        if self.config.version >= Version::V5_18 && self.nr_running(self.src_cpu) <= 1 {
            self.flags &= !ALL_PINNED;
            return 0;
        }
        if self.imbalance <= 0 {
            return 0;
        }
        while !self.state.cpus[src].tasks.is_empty() {
            if self.idle != CpuIdleType::NotIdle && self.nr_running(self.src_cpu) <= 1 {
                break;
            }
            self.loops += 1;
            if self.loops > self.loop_max {
                break;
            }
            if self.loops > self.loop_break {
                self.loop_break += BREAK;
                self.flags |= NEED_BREAK;
                break;
            }
            let task = self.state.cpus[src].tasks[0];
            if !self.can_migrate_task(task) || !self.fits_imbalance(task) {
                self.state.cpus[src].tasks.rotate_left(1);
                continue;
            }
            self.state.cpus[src].tasks.remove(0);
            self.tasks.push(task);
            detached += 1;
            if self.config.preemption && self.idle == CpuIdleType::NewlyIdle {
                break;
            }
            if self.imbalance <= 0 {
                break;
            }
        }
        detached
    }

    /// The switch over the migration types; false is `goto next`.
    fn fits_imbalance(&mut self, task: TaskId) -> bool {
        let p = &self.state.tasks[task.0 as usize];
        let failed = self.nr_balance_failed;
        match self.migration_type {
            Migration::Load => {
                let load = p.h_load.max(1);
                if self.config.lb_min && load < 16 && failed == 0 {
                    return false;
                }
                if load >> failed.min(63) > self.imbalance as u64 {
                    return false;
                }
                self.imbalance -= load as i64;
            }
            Migration::Util => {
                let mut util = p.util_est;
                if self.config.version >= Version::V6_1 || self.config.version == Version::V5_10 {
                    util >>= failed.min(63);
                }
                if util > self.imbalance as u64 {
                    return false;
                }
                self.imbalance -= p.util_est as i64;
            }
            Migration::Task => self.imbalance -= 1,
        }
        true
    }
}
