//! `load_balance()` (`kernel/sched/fair.c`; `sched_balance_rq()` since 6.10): a pass over one domain for one CPU, and
//! the [`Plan`] that it makes.
//!
//! ```text
//! if not should_we_balance(): continue_balancing = 0, out_balanced
//! redo:
//! group   = find_busiest_group()                        or out_balanced (lb_nobusyg)
//! busiest = find_busiest_queue(group)                   or out_balanced (lb_nobusyq)
//! if busiest->nr_running > 1 {
//!     more_balance: detach_tasks(), attach_tasks()
//!     tasks pinned to other CPUs of the group: dst_cpu = new_dst_cpu, goto more_balance
//!     all tasks pinned: remove busiest from env->cpus, goto redo while CPUs are left
//! }
//! if nothing moved {
//!     nr_balance_failed++                               not if newly idle
//!     if need_active_balance(): the stopper of busiest pushes its running task
//! }
//! balance_interval is reset, or doubled if out_balanced or pinned (SdBalance::tune)
//! ```

use super::active_load_balance_cpu_stop::{need_active_balance, voluntary_active_balance};
use super::balancer::Balance;
use super::calculate_imbalance::{Imbalance, MigrationType};
use super::can_migrate_task::cache_nice_tries;
use super::detach_tasks::{Detached, Tail, detach_tasks};
use super::find_busiest_group::find_busiest_group;
use super::find_busiest_queue::find_busiest_queue;
use super::lb_env::{CpuIdleType, LbEnv, Lbf, SCHED_NR_MIGRATE_BREAK};
use super::sched_cache::LlcStats;
use super::sd_balance::SdBalance;
use super::should_we_balance::should_we_balance;
use super::view::BalanceView;
use super::{Push, Serialize};
use crate::cpumask::Cpu;
use crate::domain::SdFlags;
use crate::runqueue::TaskId;
use crate::select::IdleScanForm;
use smallvec::SmallVec;
use wakelab_kernel::Feature;

/// The move of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The task.
    pub task: TaskId,
    /// The CPU that receives it: the CPU of the pass, or another CPU of its group if affinity rules the former out.
    pub dst_cpu: Cpu,
    /// Number of the batch. Tasks of one batch are detached under one lock and attached under another.
    pub batch: u32,
}

/// Why a pass found the domain balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// Another CPU of the group is to pull, or there is already work to do (`should_we_balance()`).
    NotOurs,
    /// No group is busier than it should be (`lb_nobusyg`).
    NoBusiestGroup,
    /// No CPU of the busiest group has what is to be moved (`lb_nobusyq`).
    NoBusiestQueue,
    /// No task of any busy CPU may run here.
    AllPinned,
    /// Another CPU balances a domain with SD_SERIALIZE ([`Serialize::Passes`]).
    Serialized,
}

/// How a pass ends, for [`SdBalance::tune`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The domain is balanced (`lb_balanced`).
    Balanced(Why),
    /// Tasks are moved (`lb_gained`).
    Moved,
    /// There is an imbalance, and nothing is moved (`lb_failed`).
    Failed,
    /// There is an imbalance, nothing is moved, and the running task may not be pushed here either (`out_one_pinned`).
    OnePinned,
}

/// The changes that a push of the running task makes to the domain, under [`Push::AnyFailures`] (5.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AfterPush {
    /// The new `nr_balance_failed`, so that the push takes a cache-hot task.
    pub nr_balance_failed: u32,
    /// The interval doubles.
    pub backs_off: bool,
}

/// The decision of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The CPU that tasks are taken from.
    pub busiest: Option<Cpu>,
    /// How much was to be moved.
    pub imbalance: Option<Imbalance>,
    /// The tasks to move, in the order in which they are detached. [`Plan::attach_order`] is the order of attaching.
    pub moves: SmallVec<[Move; 4]>,
    /// The tasks that were skipped. Each in turn moves to the head of its `cfs_tasks`
    /// ([`CfsTasks::move_to_head`](super::CfsTasks::move_to_head)).
    pub skipped: SmallVec<[TaskId; 8]>,
    /// The stopper of `busiest` is to push its running task to the CPU of the pass. The caller sets `active_balance`
    /// and calls [`active_load_balance_cpu_stop`](super::active_load_balance_cpu_stop()) when the stopper runs.
    pub active_balance: bool,
    /// The changes that the push makes to the domain; `None` if they follow from `outcome`.
    pub after_push: Option<AfterPush>,
    /// The pass holds the lock of SD_SERIALIZE from its beginning to its end.
    pub serialized: bool,
    /// If false, higher domains need no pass now.
    pub continue_balancing: bool,
    /// The domain's sum of utilisation, to be passed to [`update_idle_cpu_scan`](crate::select::update_idle_cpu_scan)
    /// if SIS_UTIL is on. It is set on the domain that spans the LLC unless the CPU is newly idle, with
    /// SIS_UTIL_NEWIDLE then, too.
    pub sum_util: Option<u64>,
    /// The root domain's `overload`, which a pass over the CPU's highest domain writes.
    pub overload: Option<bool>,
    /// The root domain's `overutilized`, with an energy model ([`Balance::with_energy`]). A pass over the CPU's highest
    /// domain writes it; a pass over a lower one sets it if a CPU is overutilized.
    pub overutilized: Option<bool>,
    /// `sgc->imbalance` of the CPU's own group in its next higher domain, if it changes.
    pub parent_imbalance: Option<bool>,
    /// The number of run queues that were summed up. A CPU counts again each time the pass starts over. The CPUs of the
    /// busiest group are read once more, from warm caches, which does not count.
    pub nr_rqs: u32,
    /// How the pass ends.
    pub outcome: Outcome,
    /// The pass was for misfit tasks: it neither counts as a failure nor makes the interval longer (in 6.12, not in
    /// 6.1).
    pub no_failure: bool,
    /// A task stayed for its LLC (`LBF_LLC_PINNED`, 7.2): the pass does not count as a failure.
    pub llc_pinned: bool,
    /// The push is for a task that prefers the LLC of the pass's CPU (7.2).
    pub active_llc: bool,
    /// With cache-aware balancing: what the caller is to write to LLCs, by `sd_llc_id`; of two for one LLC the later.
    pub llc_stats: Vec<(Cpu, LlcStats)>,
    /// Tasks whose processes are to lose their preference, because they are too large for the destination's LLC.
    pub llc_dropped: Vec<TaskId>,
    /// `LBF_ALL_PINNED` at the end: tasks were to be taken, and none of them may run here.
    pub all_pinned: bool,
}

/// `load_balance()`: makes the pass over the domain of `dst_cpu` at `level`, whose state is `state`. The caller then
/// passes the plan to [`SdBalance::tune`].
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
    let mut plan = Plan::new();
    plan.outcome = loop {
        // If all tasks of the busiest CPU are pinned, it is removed and the pass starts over.
        if let Some(outcome) = plan.pass(&mut env, dst_cpu) {
            break outcome;
        }
    };
    plan.nr_rqs = env.nr_rqs;
    plan.no_failure = env.is_no_failure();
    plan.llc_pinned = env.is_llc_pinned();
    plan.all_pinned = env.flags.contains(Lbf::ALL_PINNED);
    (plan.llc_stats, plan.llc_dropped) = (std::mem::take(&mut env.llc_stats), std::mem::take(&mut env.llc_dropped));
    if let Outcome::Balanced(why) = plan.outcome {
        let stays = if balance.rules.pinned_keep_imbalance { plan.all_pinned } else { why == Why::AllPinned };
        if !stays {
            plan.clear_parent_imbalance(&env);
        }
    }
    plan
}

impl Plan {
    /// A pass that has decided nothing yet.
    fn new() -> Self {
        Plan {
            busiest: None,
            imbalance: None,
            moves: SmallVec::new(),
            skipped: SmallVec::new(),
            active_balance: false,
            after_push: None,
            serialized: false,
            continue_balancing: true,
            sum_util: None,
            overload: None,
            overutilized: None,
            parent_imbalance: None,
            nr_rqs: 0,
            outcome: Outcome::Balanced(Why::NotOurs),
            no_failure: false,
            llc_pinned: false,
            active_llc: false,
            llc_stats: Vec::new(),
            llc_dropped: Vec::new(),
            all_pinned: false,
        }
    }

    /// Iterates over the moves in the order in which the tasks are attached: within a batch, from the last detached to
    /// the first (`attach_tasks()`).
    pub fn attach_order(&self) -> impl Iterator<Item = Move> + '_ {
        self.moves.chunk_by(|a, b| a.batch == b.batch).flat_map(|batch| batch.iter().rev().copied())
    }

    /// Runs from `redo` to the end of the pass; `None` means that the pass starts over.
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
        self.overutilized = env.overutilized_write(&sds);
        let features = env.balance.features;
        let newidle = features.has(Feature::SIS_UTIL_NEWIDLE) && IdleScanForm::of(features).is_some();
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
        let counts = env.idle != CpuIdleType::NewlyIdle && !env.is_no_failure() && !env.is_llc_pinned();
        env.nr_balance_failed += u32::from(counts);
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

    /// Has the stopper of the busiest CPU push its running task, unless it is already about to.
    fn push<V: BalanceView>(&mut self, env: &mut LbEnv<'_, V>, busiest: Cpu) {
        let rules = &env.balance.rules;
        let goes_to_sleep = rules.push_queued_only && !env.view.curr_on_rq(busiest);
        self.active_balance = !env.view.active_balance(busiest) && !goes_to_sleep;
        let checked = env.balance.sched_cache.is_some_and(|cache| cache.rules.push_checked);
        self.active_llc = checked && env.migration_type == MigrationType::LlcTask;
        match rules.push {
            Push::TaskFailures => env.flags -= Lbf::ALL_PINNED,
            Push::AnyFailures => {
                self.after_push = Some(AfterPush {
                    nr_balance_failed: cache_nice_tries(env.sd) + 1,
                    backs_off: self.active_balance && !voluntary_active_balance(env),
                });
            }
        }
    }

    /// Takes tasks off the busiest CPU: for the CPU of the pass, then for other CPUs of its group that pinned tasks may
    /// use.
    fn pull<V: BalanceView>(&mut self, env: &mut LbEnv<'_, V>) {
        let view = env.view;
        let mut tasks: SmallVec<[TaskId; 16]> = SmallVec::new();
        let ordered = env.balance.sched_cache.is_some_and(|cache| cache.rules.tasks_ordered);
        if ordered {
            tasks.extend(view.cfs_tasks(env.src_cpu));
            tasks.sort_by_key(|&task| env.llc_place(task));
        }
        let unordered = (!ordered).then(|| view.cfs_tasks(env.src_cpu));
        let mut tail = Tail::new(tasks.into_iter().chain(unordered.into_iter().flatten()));
        let mut batch = 0;
        loop {
            let (dst_cpu, before) = (env.dst_cpu, self.moves.len());
            let detached = detach_tasks(env, &mut tail, |task| self.moves.push(Move { task, dst_cpu, batch }));
            batch += 1;
            env.dst_attached += (self.moves.len() - before) as u32;
            // In 6.8 a pass ends here once it has considered as many tasks as run there.
            if matches!(detached, Detached::Break)
                && (!env.balance.rules.pinned_extend || env.loops < env.src_nr_running)
            {
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

    fn clear_parent_imbalance<V: BalanceView>(&mut self, env: &LbEnv<'_, V>) {
        let Some(parent) = env.parent else { return };
        let own = &parent.groups[parent.first_group as usize];
        if env.view.group_imbalance(env.level + 1, own) {
            self.parent_imbalance = Some(false);
        }
    }
}

impl<V: BalanceView> LbEnv<'_, V> {
    /// Whether the pass is for misfit tasks, so that its failure is no sign of load that cannot be evened out.
    fn is_no_failure(&self) -> bool {
        self.balance.rules.misfit_is_no_failure && self.migration_type == MigrationType::Misfit
    }

    /// Whether tasks stayed for their LLC, which is no failure either.
    fn is_llc_pinned(&self) -> bool {
        self.flags.contains(Lbf::LLC_PINNED) && self.balance.sched_cache.is_some_and(|cache| cache.rules.not_a_failure)
    }
}

/// Whether the domain has as many CPUs as the LLC, so that `update_idle_cpu_scan()` takes its utilisation for the
/// LLC's.
fn spans_llc<V: BalanceView>(env: &LbEnv<'_, V>) -> bool {
    let cpu = env.dst_cpu as usize;
    env.balance.domains.sd_llc[cpu].is_some() && env.sd.span_weight == env.balance.domains.sd_llc_size[cpu]
}
