//! The watchdog: `scx_watchdog_workfn()`, `check_rq_for_timeouts()`.

use super::Ext;
use crate::entity::Entity;
use crate::flags::SCX_WATCHDOG_MAX_TIMEOUT_MS;
use crate::ops::ExitKind;
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// How often the watchdog looks, ns: `scx_watchdog_interval`, half of what `ops.timeout_ms` says.
    pub fn watchdog_interval(&self) -> u64 {
        u64::from(self.timeout_ms()) * 1_000_000 / 2
    }

    fn timeout_ms(&self) -> u32 {
        match self.declared.timeout_ms {
            0 => SCX_WATCHDOG_MAX_TIMEOUT_MS,
            ms => ms,
        }
    }

    /// `check_rq_for_timeouts()` of each CPU: ends the scheduler if a task has been runnable for too long, with how it
    /// came to that ([`Exit::chain`](crate::ops::Exit::chain)).
    pub fn check_for_timeouts(&mut self) {
        let limit = u64::from(self.timeout_ms()) * 1_000_000;
        let late = |task: &Entity| self.now > task.runnable_at + limit;
        // The first of a CPU's list, of the first CPU that has one.
        let waits = self.tasks.iter().enumerate().filter_map(|(at, task)| Some((task.cpu, task.runnable?, at, task)));
        let first = waits.filter(|(.., task)| late(task)).min_by_key(|&(cpu, seq, ..)| (cpu, seq));
        if let Some((cpu, _, at, task)) = first {
            let ms = (self.now - task.runnable_at) / 1_000_000;
            let named = self.named(TaskId(at as u32));
            let message = format!("{named} failed to run for {}.{:03}s", ms / 1000, ms % 1000);
            let chain = self.chain_of(TaskId(at as u32));
            self.this_cpu = cpu;
            self.end(ExitKind::Stall, message, 0);
            if let Some(exit) = self.exit.as_mut().filter(|exit| exit.kind == ExitKind::Stall) {
                exit.chain = chain;
            }
        }
    }
}
