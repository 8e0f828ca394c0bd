//! The idlest CPU of a group (`sched_balance_find_dst_group_cpu()`, `find_idlest_group_cpu()` before 6.10).

use crate::cpumask::Cpu;
use crate::select::step::{Cx, takes_sched_idle};
use crate::select::{Look, View};

/// The best CPU so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdlestCpu {
    least_loaded_cpu: Cpu,
    min_load: u64,
    shallowest_idle_cpu: Option<Cpu>,
    min_exit_latency: u32,
    latest_idle_timestamp: u64,
}

impl IdlestCpu {
    /// Nothing looked at yet; the fall-back is the CPU that the search came from.
    pub(super) fn new(this_cpu: Cpu) -> Self {
        IdlestCpu {
            least_loaded_cpu: this_cpu,
            min_load: u64::MAX,
            shallowest_idle_cpu: None,
            min_exit_latency: u32::MAX,
            latest_idle_timestamp: 0,
        }
    }

    /// Looks at one CPU; `true` ends the search with it.
    #[inline]
    pub(super) fn look<V: View>(&mut self, cpu: Cpu, cx: Cx<'_, V>, mut saw: impl FnMut(Look)) -> bool {
        let view = cx.view;
        // A CPU with SCHED_IDLE tasks only is the best: it is awake, and gives way at once.
        let sched_idle = cx.rules.code.sched_idle_cpus && view.sched_idle_cpu(cpu);
        let idle = !sched_idle && view.available_idle_cpu(cpu);
        saw(Look { site: crate::select::Site::Group, cpu, idle, sched_idle: Some(sched_idle) });
        if sched_idle && takes_sched_idle(cx.rules, cx.wakeup) {
            return true;
        }
        if view.available_idle_cpu(cpu) {
            let exit_latency = view.idle_exit_latency(cpu);
            let idle_stamp = view.idle_stamp(cpu);
            match exit_latency {
                // The shallowest idle state first, however long ago the CPU went idle...
                Some(latency) if latency < self.min_exit_latency => {
                    self.min_exit_latency = latency;
                    self.latest_idle_timestamp = idle_stamp;
                    self.shallowest_idle_cpu = Some(cpu);
                }
                // ... and among equals the one that went idle last: its cache may be warm.
                _ if exit_latency.is_none_or(|latency| latency == self.min_exit_latency)
                    && idle_stamp > self.latest_idle_timestamp =>
                {
                    self.latest_idle_timestamp = idle_stamp;
                    self.shallowest_idle_cpu = Some(cpu);
                }
                _ => {}
            }
        } else if self.shallowest_idle_cpu.is_none() {
            let load = cx.rules.load_of(cpu, view);
            if load < self.min_load {
                self.min_load = load;
                self.least_loaded_cpu = cpu;
            }
        }
        false
    }

    /// The CPU, when all have been looked at.
    pub(super) fn chosen(&self) -> Cpu {
        self.shallowest_idle_cpu.unwrap_or(self.least_loaded_cpu)
    }
}
