//! Kicks of CPUs, and the waits for those that were kicked with `SCX_KICK_WAIT`: `scx_bpf_kick_cpu()`,
//! `kick_cpus_irq_workfn()`, `kick_sync_wait_bal_cb()`.

use super::call::called_by;
use super::{Ext, Request};
use crate::entity::{Curr, Kick};
use crate::flags::{SCX_KICK_IDLE, SCX_KICK_PREEMPT, SCX_KICK_WAIT};
use crate::ops::Ops;
use wakelab_sched::cpumask::Cpu;

impl Ext {
    /// `scx_bpf_kick_cpu()`.
    pub fn kick_cpu(&mut self, cpu: Cpu, flags: u64) {
        if flags & SCX_KICK_IDLE != 0 && flags & (SCX_KICK_PREEMPT | SCX_KICK_WAIT) != 0 {
            return self.error("PREEMPT/WAIT cannot be used with SCX_KICK_IDLE");
        }
        let kick = if flags & SCX_KICK_IDLE != 0 {
            let rq = &self.rqs[cpu as usize];
            // Where the CPU's lock is held, nobody can look, and the kick is left to run_deferred().
            if self.locked_rq != Some(cpu) && rq.curr != Curr::Idle && !rq.in_balance {
                return;
            }
            Kick::IfIdle
        } else if flags & SCX_KICK_PREEMPT != 0 {
            Kick::Preempt
        } else {
            Kick::Resched
        };
        let (now, by) = (self.now, self.this_cpu);
        self.rqs[cpu as usize].lately.kicked(now, by, kick);
        self.rqs[cpu as usize].kicker = Some((self.running.map(|call| call.op()), by));
        let kicks = &mut self.rqs[self.this_cpu as usize].kicks;
        match kicks.binary_search_by_key(&cpu, |&(cpu, _)| cpu) {
            Err(at) => kicks.insert(at, (cpu, kick)),
            // The masks of what each is to do add up.
            Ok(at) if kick == Kick::Preempt || kicks[at].1 == Kick::IfIdle => kicks[at].1 = kick,
            Ok(_) => {}
        }
        let waits = &mut self.rqs[self.this_cpu as usize].cpus_to_wait;
        if flags & SCX_KICK_WAIT != 0
            && let Err(at) = waits.binary_search(&cpu)
        {
            waits.insert(at, cpu);
        }
    }

    /// Returns who kicked a CPU last, for messages: `ops.dispatch() on CPU 3`; `None` if nobody has.
    pub fn kicker(&self, cpu: Cpu) -> Option<String> {
        let (op, by) = self.rqs[cpu as usize].kicker?;
        Some(format!("{} on CPU {by}", called_by(op)))
    }

    /// `kick_cpus_irq_workfn()`.
    pub(super) fn kick_cpus(&mut self, ops: &mut dyn Ops, this_cpu: Cpu) {
        let mut kicks = std::mem::take(&mut self.rqs[this_cpu as usize].kicks);
        kicks.retain(|&(other, _)| other == this_cpu || self.online.test(other));
        let waits = std::mem::take(&mut self.rqs[this_cpu as usize].cpus_to_wait);
        let mut should_wait = false;
        for &(cpu, kick) in kicks.iter().filter(|(_, kick)| *kick != Kick::IfIdle) {
            should_wait |= self.kick_one_cpu(ops, this_cpu, cpu, kick, waits.contains(&cpu));
        }
        for (cpu, _) in kicks.into_iter().filter(|(_, kick)| *kick == Kick::IfIdle) {
            if self.rqs[cpu as usize].curr == Curr::Idle {
                self.resched_curr(cpu);
            }
        }
        match (should_wait, self.rules.kick_wait.in_irq()) {
            (false, _) => {}
            (true, true) => self.rqs[this_cpu as usize].kick_sync_waits = true,
            (true, false) => {
                self.rqs[this_cpu as usize].kick_sync_pending = true;
                self.resched_curr(this_cpu);
            }
        }
    }

    /// `kick_one_cpu()`. Returns whether the CPU that kicks is to wait for it.
    fn kick_one_cpu(&mut self, ops: &mut dyn Ops, this_cpu: Cpu, cpu: Cpu, kick: Kick, wait: bool) -> bool {
        let curr = self.rqs[cpu as usize].curr;
        if self.rules.kick_spares_above && curr == Curr::Above {
            return false;
        }
        let mut should_wait = !self.rules.kick_wait.until_pick();
        if let Curr::Ext(curr) = curr {
            should_wait = true;
            if kick == Kick::Preempt {
                ops.set_slice(curr, 0);
            }
        }
        if wait && should_wait {
            let seq = self.rqs[cpu as usize].kick_sync;
            let syncs = &mut self.rqs[this_cpu as usize].cpus_to_sync;
            syncs.retain(|&(other, _)| other != cpu);
            syncs.push((cpu, seq));
            self.advance_while_waiting(cpu);
        }
        self.resched_curr(cpu);
        wait && should_wait
    }

    /// Advances a CPU's `kick_sync` (`smp_store_release()`), which may end the waits of others.
    pub(super) fn advance_kick_sync(&mut self, cpu: Cpu) {
        self.rqs[cpu as usize].kick_sync += 1;
        let of = |&waits: &Cpu| self.rqs[waits as usize].cpus_to_sync.iter().any(|&(other, _)| other == cpu);
        let waiting = self.kick_waiting.iter().copied().filter(of);
        self.requests.extend(waiting.map(Request::KickSynced));
    }

    /// `kick_sync_wait_bal_cb()`, up to 6.18 the end of `kick_cpus_irq_workfn()`: whether the CPU, which has come to
    /// the place where it waits for those that it kicked with `SCX_KICK_WAIT`, has to wait (on). A later
    /// [`Request::KickSynced`] says when to ask again.
    pub fn kick_waits(&mut self, cpu: Cpu) -> bool {
        if !self.rqs[cpu as usize].kick_sync_waits {
            return false;
        }
        let mut syncs = std::mem::take(&mut self.rqs[cpu as usize].cpus_to_sync);
        syncs.retain(|&(other, seq)| other != cpu && self.rqs[other as usize].kick_sync == seq);
        let waits = !syncs.is_empty();
        let rq = &mut self.rqs[cpu as usize];
        (rq.cpus_to_sync, rq.kick_sync_waits) = (syncs, waits);
        let waited = self.kick_waiting.contains(&cpu);
        if !waits {
            self.kick_waiting.retain(|&other| other != cpu);
        } else if !waited {
            self.kick_waiting.push(cpu);
            self.advance_while_waiting(cpu);
        }
        waits
    }

    /// A CPU that waits keeps advancing its own `kick_sync`, so that CPUs cannot wait for each other in a circle.
    fn advance_while_waiting(&mut self, cpu: Cpu) {
        if !self.rules.kick_wait.in_irq() && self.kick_waiting.contains(&cpu) {
            self.advance_kick_sync(cpu);
        }
    }

    /// Whether a CPU waits with interrupts disabled (up to 6.18).
    pub fn kick_waits_in_irq(&self, cpu: Cpu) -> bool {
        self.rules.kick_wait.in_irq() && self.rqs[cpu as usize].kick_sync_waits
    }
}
