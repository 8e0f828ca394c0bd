//! Where a task wakes: `select_task_rq_scx()`, and the kernel functions that choose an idle CPU.

use super::call::{KF_ENQUEUE, KF_SELECT_CPU};
use super::{Direct, Ext};
use crate::flags::{SCX_DSQ_LOCAL, SCX_OPS_ALLOW_QUEUED_WAKEUP, SCX_WAKE_FORK};
use crate::idle::{Asks, IdleError};
use crate::ops::{Call, Op, Ops};
use crate::stall::What;
use wakelab_kernel::ExtSelectCpuKfunc;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::runqueue::TaskId;

impl Ext {
    /// `select_task_rq_scx()`. `current` is the waker, and `this_cpu` its CPU.
    pub fn select_task_rq(&mut self, ops: &mut dyn Ops, p: TaskId, prev_cpu: Cpu, wake_flags: u64) -> Cpu {
        let cpu = if self.declared.ops.has(Op::SelectCpu) {
            self.direct = Some(Direct::May(p));
            let cpu = self.call(ops, None, Call::SelectCpu { p, prev_cpu, wake_flags });
            self.direct = None;
            let cpu = self.cpu_ret(cpu);
            match Cpu::try_from(cpu) {
                Ok(cpu) if (cpu as usize) < self.rqs.len() => cpu,
                _ => {
                    self.error(format!("invalid CPU {cpu} from ops.select_cpu()"));
                    prev_cpu
                }
            }
        } else {
            match self.select_cpu_dfl(p, prev_cpu, wake_flags, None, 0) {
                Some(cpu) => {
                    self.refill_slice(ops, p);
                    self.task_mut(p).ddsp_dsq_id = SCX_DSQ_LOCAL;
                    cpu
                }
                None => prev_cpu,
            }
        };
        self.task_mut(p).selected_cpu = cpu;
        let fork = wake_flags & SCX_WAKE_FORK != 0;
        self.note(p, What::Selected { by: self.current, fork, prev_cpu, cpu });
        cpu
    }

    /// `scx_select_cpu_dfl()`.
    pub fn select_cpu_dfl(
        &mut self,
        p: TaskId,
        prev_cpu: Cpu,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<Cpu> {
        let words = self.idle.words;
        let asks = Asks {
            cpus_ptr: &self.masks[self.tasks[p.0 as usize].mask as usize],
            on_all: self.cpus_ptr(p).weight() >= self.rqs.len() as u32,
            this_cpu: self.this_cpu,
            exiting: self.current.is_some_and(|task| self.tasks[task.0 as usize].exiting),
            local_nr: self.rqs[self.this_cpu as usize].local_dsq.nr(),
        };
        let cpu = self.idle.select_cpu_dfl(&asks, prev_cpu, wake_flags, within, flags);
        self.spend_on_words_since(words);
        cpu
    }

    /// `scx_pick_idle_cpu()`, for this CPU.
    pub fn pick_idle_cpu(&mut self, allowed: &CpuMask, node: usize, flags: u64) -> Option<Cpu> {
        let words = self.idle.words;
        let cpu = self.idle.pick(self.this_cpu, allowed, node, flags);
        self.spend_on_words_since(words);
        cpu
    }

    /// Takes the time of the words of masks that were read since `Idle::words` was `before`.
    fn spend_on_words_since(&mut self, before: u64) {
        self.spent += (self.idle.words - before) * self.costs.mask_words / 64;
    }

    /// `select_cpu_from_kfunc()`: `scx_bpf_select_cpu_dfl()` and `scx_bpf_select_cpu_and()`.
    ///
    /// # Errors
    /// Fails if no CPU is idle, or with what ends the scheduler.
    pub fn select_cpu_from_kfunc(
        &mut self,
        p: TaskId,
        prev_cpu: i32,
        wake_flags: u64,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Result<Cpu, IdleError> {
        let prev_cpu = self.check_cpu(prev_cpu)?;
        self.idle.check_enabled()?;
        const NAME: &str = "scx_bpf_select_cpu_dfl";
        match (self.rules.select_cpu_kfunc, self.running, self.locked_rq) {
            (ExtSelectCpuKfunc::SelectCpu, ..) => {
                // ops.select_cpu() is not called for pinned tasks.
                if !self.kf_allowed(KF_SELECT_CPU, NAME) {
                    return Err(IdleError::Busy);
                }
                return self.select_cpu_dfl(p, prev_cpu, wake_flags, None, 0).ok_or(IdleError::Busy);
            }
            (ExtSelectCpuKfunc::Enqueue, ..) => {
                let may = self.kf_mask() == 0 || self.kf_allowed(KF_SELECT_CPU | KF_ENQUEUE, NAME);
                if !may {
                    return Err(IdleError::Busy);
                }
            }
            (_, Some(Call::SelectCpu { p: of, .. }), _) if of != p => {
                return Err(IdleError::Scx("called on a task not being operated on".to_owned()));
            }
            (_, Some(Call::SelectCpu { .. }), _) | (_, _, None) => {}
            (_, _, Some(rq)) if self.task(p).cpu != rq => {
                return Err(IdleError::Scx(format!("select_cpu kfunc called cross-task on {}", self.named(p))));
            }
            _ => {}
        }
        if self.cpus_ptr(p).weight() == 1 {
            let may = within.unwrap_or(self.cpus_ptr(p)).test(prev_cpu);
            return if may && self.idle.test_and_clear(prev_cpu) { Ok(prev_cpu) } else { Err(IdleError::Busy) };
        }
        self.select_cpu_dfl(p, prev_cpu, wake_flags, within, flags).ok_or(IdleError::Busy)
    }

    /// `scx_allow_ttwu_queue()`: whether wakees may go by the wakelist.
    pub fn allow_ttwu_queue(&self) -> bool {
        self.rules.queued_wakeup && self.declared.flags & SCX_OPS_ALLOW_QUEUED_WAKEUP != 0
    }
}
