//! A whole pass: `load_balance()`, `sched_balance_rq()` since 6.10.

use super::active::{has_other_reason, need_active_balance};
use super::detach::{Detached, Tail, detach_tasks};
use super::env::{CpuIdleType, LbEnv, Lbf, SCHED_NR_MIGRATE_BREAK};
use super::find_group::find_busiest_group;
use super::find_queue::find_busiest_queue;
use super::forms::{Push, Serialize};
use super::migrate::cache_nice_tries;
use super::plan::{Forced, Move, Outcome, Plan, Why};
use super::setup::Balance;
use super::should::should_we_balance;
use super::state::SdBalance;
use super::view::BalanceView;
use crate::cpumask::Cpu;
use crate::domain::SdFlags;
use wakelab_kernel::Feature;

/// `load_balance()`: a pass over the domain of `dst_cpu` at `level`. `state` is that domain's; give it the plan with
/// [`SdBalance::tune`].
///
/// # Panics
/// If the CPU has no such domain.
pub fn plan_balance<V: BalanceView>(
    view: &V,
    balance: &Balance<'_>,
    dst_cpu: Cpu,
    level: usize,
    idle: CpuIdleType,
    state: &SdBalance,
) -> Plan {
    let mut env = LbEnv::new(view, balance, dst_cpu, level, idle, state);
    let mut plan = Plan::nothing();
    plan.outcome = loop {
        // A busiest CPU whose tasks are all pinned is taken out, and the pass starts over.
        if let Some(outcome) = plan.pass(&mut env, dst_cpu) {
            break outcome;
        }
    };
    plan.looked_at = env.looked_at;
    plan.no_failure = env.is_no_failure();
    plan.all_pinned = env.flags.contains(Lbf::ALL_PINNED);
    if let Outcome::Balanced(why) = plan.outcome {
        let kept = if balance.rules.pinned_keep_imbalance { plan.all_pinned } else { why == Why::AllPinned };
        if !kept {
            plan.clear_parent_imbalance(&env);
        }
    }
    plan
}

impl Plan {
    /// From `redo` to the end or to the next `redo`, which is `None`.
    fn pass<V: BalanceView>(&mut self, env: &mut LbEnv<'_, V>, this_cpu: Cpu) -> Option<Outcome> {
        if !should_we_balance(env) {
            self.continue_balancing = false;
            return Some(Outcome::Balanced(Why::NotOurs));
        }
        if !self.serialized
            && env.balance.rules.serialize == Serialize::Passes
            && env.sd.flags.contains(SdFlags::SERIALIZE)
        {
            if env.view.balance_running() {
                return Some(Outcome::Balanced(Why::Serialized));
            }
            self.serialized = true;
        }
        let (sds, found) = find_busiest_group(env);
        if env.parent.is_none() {
            self.overload = Some(sds.overload);
        }
        self.overutilized = env.overutilized_flag(&sds);
        let newidle = env.balance.features.has(Feature::SIS_UTIL_NEWIDLE);
        if (newidle || env.idle != CpuIdleType::NewlyIdle) && spans_llc(env) {
            self.sum_util = Some(sds.sum_util);
        }
        let Some((group, imbalance)) = found else { return Some(Outcome::Balanced(Why::NoBusiestGroup)) };
        (env.migration_type, env.imbalance) = (imbalance.migration_type, imbalance.amount);
        let Some(busiest) = find_busiest_queue(env, group) else {
            return Some(Outcome::Balanced(Why::NoBusiestQueue));
        };
        (self.busiest, self.imbalance) = (Some(busiest), Some(imbalance));
        env.src_cpu = busiest;
        env.src_nr_running = env.view.nr_running(busiest);
        let push = env.balance.rules.push;
        if env.src_nr_running > 1 || push == Push::TaskFailures {
            env.flags |= Lbf::ALL_PINNED;
        }
        if env.src_nr_running > 1 {
            env.loop_max = env.balance.tunables.nr_migrate.min(env.src_nr_running);
            self.pull(env);
            if env.parent.is_some() && env.flags.contains(Lbf::SOME_PINNED) && env.imbalance > 0 {
                self.parent_imbalance = Some(true);
            }
            if env.flags.contains(Lbf::ALL_PINNED) {
                env.removed.push(busiest);
                (env.loops, env.loop_break) = (0, SCHED_NR_MIGRATE_BREAK);
                let others = env.cpus_of(&env.sd.span).any(|cpu| !env.dst_grpmask.test(cpu));
                return if others { None } else { Some(Outcome::Balanced(Why::AllPinned)) };
            }
        }
        if !self.moves.is_empty() {
            return Some(Outcome::Moved);
        }
        env.nr_balance_failed += u32::from(env.idle != CpuIdleType::NewlyIdle && !env.is_no_failure());
        if need_active_balance(env) {
            if !env.view.curr_may_run_on(busiest, this_cpu) {
                if push == Push::AnyFailures {
                    env.flags |= Lbf::ALL_PINNED;
                }
                return Some(Outcome::OnePinned);
            }
            self.push(env, busiest);
        }
        Some(Outcome::Failed)
    }

    /// The stopper of the busiest CPU is to push its task, if it is not about to.
    fn push<V: BalanceView>(&mut self, env: &mut LbEnv<'_, V>, busiest: Cpu) {
        let rules = &env.balance.rules;
        let goes_to_sleep = rules.push_queued_only && !env.view.curr_on_rq(busiest);
        self.active_balance = !env.view.active_balance(busiest) && !goes_to_sleep;
        match rules.push {
            Push::TaskFailures => env.flags -= Lbf::ALL_PINNED,
            Push::AnyFailures => {
                self.forced = Some(Forced {
                    nr_balance_failed: cache_nice_tries(env.sd) + 1,
                    backs_off: self.active_balance && !has_other_reason(env),
                });
            }
        }
    }

    /// Takes tasks off the busiest CPU: for the CPU of the pass, then for others of its group that pinned tasks may use.
    fn pull<V: BalanceView>(&mut self, env: &mut LbEnv<'_, V>) {
        let view = env.view;
        let mut tail = Tail::new(view.cfs_tasks(env.src_cpu));
        let mut batch = 0;
        loop {
            let (dst_cpu, before) = (env.dst_cpu, self.moves.len());
            let detached = detach_tasks(env, &mut tail, |task| self.moves.push(Move { task, dst_cpu, batch }));
            batch += 1;
            env.dst_attached += (self.moves.len() - before) as u32;
            if let Detached::Break = detached {
                continue;
            }
            if !env.flags.contains(Lbf::DST_PINNED) || env.imbalance <= 0 {
                break;
            }
            env.removed.push(env.dst_cpu);
            env.dst_cpu = env.new_dst_cpu;
            env.dst_attached = 0;
            env.flags -= Lbf::DST_PINNED;
            (env.loops, env.loop_break) = (0, SCHED_NR_MIGRATE_BREAK);
        }
        self.skipped.append(&mut tail.skipped);
    }

    /// Other tasks had a chance to move: what pinned ones prevented is no longer known.
    fn clear_parent_imbalance<V: BalanceView>(&mut self, env: &LbEnv<'_, V>) {
        let Some(parent) = env.parent else { return };
        let own = &parent.groups[parent.first_group as usize];
        if env.view.group_imbalance(env.level + 1, own) {
            self.parent_imbalance = Some(false);
        }
    }
}

/// Whether `update_idle_cpu_scan()` takes the domain's utilisation for the LLC's: it spans as many CPUs.
fn spans_llc<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    let cpu = env.dst_cpu as usize;
    env.balance.domains.sd_llc[cpu].is_some() && env.sd.span_weight == env.balance.domains.sd_llc_size[cpu]
}
