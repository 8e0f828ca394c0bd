//! The way into an operation and back (`SCX_CALL_OP()`): what is known while it runs, which kernel functions it may
//! call, and how CPUs and errors are told.

use super::{EINVAL, Ext};
use crate::idle::IdleError;
use crate::ops::{Call, Op, Ops};
use wakelab_sched::cpumask::Cpu;

/// Groups of kernel functions by where they may be called (`enum scx_kf_mask`, 6.12 and 6.18).
pub(super) const KF_CPU_RELEASE: u32 = 1;
pub(super) const KF_DISPATCH: u32 = 1 << 1;
pub(super) const KF_ENQUEUE: u32 = 1 << 2;
pub(super) const KF_SELECT_CPU: u32 = 1 << 3;
pub(super) const KF_REST: u32 = 1 << 4;

/// An operation as people write it; a timer of the scheduler is no operation.
pub(super) fn called_by(op: Option<Op>) -> String {
    op.map_or_else(|| "the function of a timer".to_owned(), |op| format!("ops.{}()", op.name()))
}

impl Ext {
    /// Calls an operation, if the scheduler has it and has not ended.
    pub(crate) fn call(&mut self, ops: &mut dyn Ops, rq: Option<Cpu>, call: Call) -> i64 {
        if !self.declared.ops.has(call.op()) || self.exit.is_some() {
            return 0;
        }
        let outer = (std::mem::replace(&mut self.locked_rq, rq), self.running.replace(call));
        self.last_op = Some(call.op());
        let (before, outer_inner) = (self.spent, std::mem::take(&mut self.inner));
        self.spent += self.costs.op;
        let result = ops.call(self, call);
        let spent = self.spent - before;
        let time = &mut self.op_times[call.op() as usize];
        time.calls += 1;
        time.ns += spent - self.inner;
        self.inner = outer_inner + spent;
        (self.locked_rq, self.running) = outer;
        result
    }

    /// An operation that returns 0 or an error: what it returned, of which `ops_sanitize_err()` has seen that it is
    /// one.
    pub(crate) fn call_err(&mut self, ops: &mut dyn Ops, call: Call) -> i64 {
        let result = self.call(ops, None, call);
        self.sanitize_err(call.op(), result)
    }

    /// `ops_sanitize_err()`: what an operation has returned, if that is 0 or an error.
    pub(crate) fn sanitize_err(&mut self, op: Op, result: i64) -> i64 {
        const MAX_ERRNO: i64 = 4095;
        const EPROTO: i64 = 71;
        if (-MAX_ERRNO..=0).contains(&result) {
            return result;
        }
        self.error(format!("ops.{}() returned an invalid errno {result}", op.name()));
        -EPROTO
    }

    /// The operation that was called last, as people write it.
    pub fn last_call(&self) -> String {
        called_by(self.last_op)
    }

    /// Whether `ops.init()` is running.
    pub fn in_init(&self) -> bool {
        self.running == Some(Call::Init)
    }

    /// `scx_kf_allowed()` (6.12, 6.18), `scx_kfunc_context_filter()` (7.2): whether the operation that runs may call a
    /// kernel function of these groups. The scheduler ends if not; 7.2 does not load it at all.
    pub(super) fn kf_allowed(&mut self, groups: u32, function: &str) -> bool {
        let may = self.kf_mask();
        if may & groups != 0 {
            return true;
        }
        self.error(match self.rules.old_messages {
            true => format!("kfunc with mask {groups:#x} called from an operation only allowing {may:#x}"),
            false => format!("calling kernel function {function} is not allowed"),
        });
        false
    }

    /// `current->scx.kf_mask`, and `scx_kf_allow_flags[]`: 0 where nothing is locked.
    pub(super) fn kf_mask(&self) -> u32 {
        match self.running {
            None | Some(Call::Init | Call::InitTask { .. } | Call::CpuOnline { .. } | Call::CpuOffline { .. }) => 0,
            // Of all that concerns groups, only the move of a task has its run queue locked.
            Some(Call::CgroupMove { .. }) if self.rules.cgroup_move_locked => KF_REST,
            Some(
                Call::CgroupInit { .. }
                | Call::CgroupExit { .. }
                | Call::CgroupPrepMove { .. }
                | Call::CgroupMove { .. }
                | Call::CgroupCancelMove { .. }
                | Call::CgroupSetWeight { .. }
                | Call::CgroupSetBandwidth { .. }
                | Call::CgroupSetIdle { .. },
            ) => 0,
            Some(Call::SelectCpu { .. }) => KF_ENQUEUE | KF_SELECT_CPU,
            Some(Call::Enqueue { .. }) => KF_ENQUEUE,
            Some(Call::Dispatch { .. }) => KF_DISPATCH,
            Some(Call::CpuRelease { .. }) => KF_CPU_RELEASE,
            Some(_) => KF_REST,
        }
    }

    /// `scx_cpu_arg()`: a CPU as an operation gets it.
    pub fn cpu_arg(&self, cpu: Cpu) -> u32 {
        if self.declared.cid_form { self.cids.cid_of(cpu) } else { cpu }
    }

    /// `scx_cpu_ret()`: the CPU that a scheduler means; negative for none, of which an invalid cid ends it.
    pub(super) fn cpu_ret(&mut self, cpu_or_cid: i64) -> i64 {
        if cpu_or_cid < 0 || !self.declared.cid_form {
            return cpu_or_cid;
        }
        let cpu = self.cids.cpu_of(cpu_or_cid as i32);
        self.or_end(cpu).map_or(EINVAL, i64::from)
    }

    fn or_end(&mut self, cpu: Result<Cpu, IdleError>) -> Option<Cpu> {
        if let Err(IdleError::Scx(message)) = &cpu {
            self.error(&**message);
        }
        cpu.ok()
    }

    /// The same as [`check_cpu`](Self::check_cpu), which ends the scheduler.
    pub(super) fn valid_cpu(&mut self, cpu: i32) -> Option<Cpu> {
        let cpu = self.check_cpu(cpu);
        self.or_end(cpu)
    }

    /// `scx_cpu_valid()`.
    ///
    /// # Errors
    /// Fails with what ends the scheduler.
    pub fn check_cpu(&self, cpu: i32) -> Result<Cpu, IdleError> {
        match Cpu::try_from(cpu) {
            Ok(cpu) if (cpu as usize) < self.rqs.len() => Ok(cpu),
            _ => Err(IdleError::Scx(format!("invalid CPU {cpu}"))),
        }
    }
}
