//! CPU bandwidth control of groups, `cpu.max` (`kernel/sched/fair.c`): a quota of run time in each period, for all CPUs
//! together.
//!
//! ```text
//! struct cfs_bandwidth     runtime: what is left of the period
//!     │  ▲                 __assign_cfs_rq_runtime(): 5 ms to a CPU whose part is used up
//!     │  └──────────────── __return_cfs_rq_runtime(): all but 1 ms of what a CPU has left when its last task leaves
//!     ▼
//! cfs_rq->runtime_remaining       account_cfs_rq_runtime(): less what runs; without any: throttle_cfs_rq()
//!
//! period timer   refills, and has distribute_cfs_runtime() unthrottle
//! slack timer    5 ms after a return: distributes what was returned
//! ```
//!
//! What a throttled group's queue does differs ([`ThrottleForm`]): up to 6.17 its entity leaves the queue above; since
//! 6.18 its tasks leave one by one, each on its way to user space, and come back from `throttled_limbo_list`.

use super::task_group::{Counts, GroupedRq, Hierarchy};
use super::{DequeueFlags, Entities, Resched, TaskId};
use crate::pelt::UpdateFlags;
use smallvec::SmallVec;
use wakelab_kernel::ThrottleForm;

/// The run time that a CPU takes of the group's at once where nothing else is set, ns
/// (`sysctl_sched_cfs_bandwidth_slice`: 5 ms, since 3.2).
pub const CFS_BANDWIDTH_SLICE: u64 = 5_000_000;
/// "a cfs_rq won't donate quota below this amount", ns (`min_cfs_rq_runtime`).
const MIN_CFS_RQ_RUNTIME: i64 = 1_000_000;
/// "minimum remaining period time to redistribute slack quota", ns (`min_bandwidth_expiration`).
const MIN_BANDWIDTH_EXPIRATION: u64 = 2_000_000;
/// "how long we wait to gather additional slack before distributing", ns (`cfs_bandwidth_slack_period`).
const CFS_BANDWIDTH_SLACK_PERIOD: u64 = 5_000_000;

/// `cpu.max` and `cpu.max.burst` of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Run time of all CPUs in a period, ns; at least 1 ms.
    pub quota: u64,
    /// The period, ns; 1 ms to 1 s.
    pub period: u64,
    /// The unused quota of earlier periods that may be saved up, ns; at most the quota.
    pub burst: u64,
}

/// The counts of `cpu.stat` for a group with a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandwidthStats {
    /// Periods in which the timer was active.
    pub nr_periods: u64,
    /// Periods at whose end a CPU's queue was throttled.
    pub nr_throttled: u64,
    /// How long the CPUs' queues were throttled, added up, ns.
    pub throttled_time: u64,
    /// Periods that used saved-up run time.
    pub nr_burst: u64,
    /// How much, ns.
    pub burst_time: u64,
}

/// A group's bandwidth, which all CPUs share (`struct cfs_bandwidth`). A group without a quota has an empty one.
#[derive(Clone, Debug, Default)]
pub struct CfsBandwidth {
    quota: Option<Quota>,
    slice: u64,
    runtime: u64,
    runtime_snap: u64,
    idle: bool,
    period_active: bool,
    slack_started: bool,
    /// When the period timer expires, or last did, ns; the periods are counted from this.
    period_expires: u64,
    /// `hrtimer_callback_running(&cfs_b->period_timer)`.
    refreshing: bool,
    /// `throttled_cfs_rq`: the CPUs whose queue is throttled, in the order of that.
    throttled: Vec<u32>,
    /// The counts of `cpu.stat`.
    pub stats: BandwidthStats,
}

/// A timer of a group's bandwidth that an operation has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerStart {
    /// The group.
    pub group: u32,
    /// The slack timer, not the period timer.
    pub slack: bool,
    /// When it expires, ns.
    pub expires: u64,
}

/// The requests of an operation to the caller, besides its result.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    /// A reschedule, of a running task whose group has no run time left, or because one has some again.
    pub resched: Resched,
    /// A reschedule if the CPU's current task is the idle task.
    pub resched_idle: bool,
    /// Timers that were started.
    pub timers: SmallVec<[TimerStart; 1]>,
}

/// A group's bandwidth on one CPU.
#[derive(Clone, Debug, Default)]
pub(super) struct CfsRqBandwidth {
    /// `runtime_enabled`: the group has a quota.
    pub(super) enabled: bool,
    pub(super) runtime_remaining: i64,
    pub(super) throttled: bool,
    /// How many of the group and of those above it are throttled here.
    pub(super) throttle_count: u32,
    /// Since when it is throttled with something queued, ns; 0 if it is not.
    throttled_clock: u64,
    pelt_clock_throttled: bool,
    throttled_clock_pelt: u64,
    throttled_clock_pelt_time: u64,
    /// `throttled_limbo_list`, from its head.
    limbo: Vec<TaskId>,
    /// It is on `rq->cfsb_csd_list`.
    csd: bool,
}

impl CfsBandwidth {
    /// That of a group with a quota, or without. The period timer counts from `offset`, ns: since 6.6 a random part of
    /// the period (`init_cfs_bandwidth()`). Begins with a quota, as after a write to `cpu.max`
    /// (`tg_set_cfs_bandwidth()`). A CPU takes `slice` ns at once.
    pub fn new(quota: Option<Quota>, offset: u64, slice: u64) -> Self {
        let mut bandwidth = CfsBandwidth { quota, slice, period_expires: offset, ..Self::default() };
        if let Some(quota) = quota {
            bandwidth.refill(&quota);
        }
        bandwidth
    }

    /// Returns the run time that is left of the period, ns.
    pub fn runtime(&self) -> u64 {
        self.runtime
    }

    /// Whether the period timer found nothing used in its last period.
    pub fn idle(&self) -> bool {
        self.idle
    }

    /// `__refill_cfs_bandwidth_runtime()`.
    fn refill(&mut self, quota: &Quota) {
        self.runtime += quota.quota;
        let used = self.runtime_snap as i64 - self.runtime as i64;
        if used > 0 {
            self.stats.burst_time += used as u64;
            self.stats.nr_burst += 1;
        }
        self.runtime = self.runtime.min(quota.quota + quota.burst);
        self.runtime_snap = self.runtime;
    }

    /// `hrtimer_forward_now()` of the period timer. Returns by how many periods.
    fn forward(&mut self, now: u64, period: u64) -> u64 {
        let overrun = (now + period).saturating_sub(self.period_expires) / period;
        self.period_expires += overrun * period;
        overrun
    }

    /// `start_cfs_bandwidth()`. Returns when the timer expires if it is started.
    pub fn start(&mut self, now: u64) -> Option<u64> {
        let period = self.quota?.period;
        if std::mem::replace(&mut self.period_active, true) {
            return None;
        }
        self.forward(now, period);
        Some(self.period_expires)
    }

    /// `__assign_cfs_rq_runtime()`: gives a CPU's queue as much as it has `target` ns left, or what there is. Returns
    /// whether it has any, and when the period timer expires if it is started.
    fn assign(&mut self, remaining: &mut i64, target: u64, now: u64) -> (bool, Option<u64>) {
        let started = self.start(now);
        if self.runtime > 0 {
            let amount = self.runtime.min((target as i64 - *remaining) as u64);
            self.runtime -= amount;
            self.idle = false;
            *remaining += amount as i64;
        }
        (*remaining > 0, started)
    }

    /// `runtime_refresh_within()`.
    fn runtime_refresh_within(&self, now: u64, min_expire: u64) -> bool {
        self.refreshing || (self.period_expires as i64 - now as i64) < min_expire as i64
    }

    /// `__return_cfs_rq_runtime()`. Returns when the slack timer expires if it is started.
    fn give_back(&mut self, slack: u64, now: u64) -> Option<u64> {
        self.runtime += slack;
        if self.runtime <= self.slice || self.throttled.is_empty() {
            return None;
        }
        // start_cfs_slack_bandwidth(): "if there's a quota refresh soon don't bother with slack".
        let soon = self.runtime_refresh_within(now, CFS_BANDWIDTH_SLACK_PERIOD + MIN_BANDWIDTH_EXPIRATION);
        if soon || std::mem::replace(&mut self.slack_started, true) {
            return None;
        }
        Some(now + CFS_BANDWIDTH_SLACK_PERIOD)
    }
}

impl CfsRqBandwidth {
    /// Whether PELT's clock of the queue stands still, and at what, ns.
    pub(super) fn clock_pelt(&self, form: ThrottleForm, clock: u64) -> u64 {
        let stands = match form {
            ThrottleForm::Queues => self.throttle_count != 0,
            ThrottleForm::TasksAtPick | ThrottleForm::Tasks => self.pelt_clock_throttled,
        };
        (if stands { self.throttled_clock_pelt } else { clock }).wrapping_sub(self.throttled_clock_pelt_time)
    }
}

/// The operations of a class of run queues that throttling up to 6.12 is made of.
pub(super) trait Throttles {
    /// The groups.
    fn h(&mut self) -> &mut Hierarchy;

    /// `dequeue_entity()` of a group's entity, which sleeps and is not delayed.
    fn dequeue_throttled(&mut self, es: &mut Entities, now: u64, se: TaskId);

    /// `enqueue_entity()` of a group's entity, which wakes.
    fn enqueue_unthrottled(&mut self, es: &mut Entities, now: u64, se: TaskId);

    /// `throttle_cfs_rq()`, up to 6.18. Returns whether the queue is throttled.
    fn throttle_cfs_rq(&mut self, es: &mut Entities, now: u64, group: u32) -> Throttled {
        if !self.h().throttle(group, 1) {
            return false;
        }
        if self.h().form() == ThrottleForm::Queues {
            self.move_group(es, now, group, -1);
        }
        self.h().throttled(group);
        true
    }

    /// What `enqueue_entity()` does once a queue has its first entity.
    fn check_enqueue_throttle(&mut self, es: &mut Entities, now: u64, group: u32) {
        if self.h().check_enqueue_throttle(es, group) {
            self.throttle_cfs_rq(es, now, group);
        }
        self.h().first_queued(group);
    }

    /// `check_cfs_rq_runtime()`, up to 6.18.
    fn check_cfs_rq_runtime(&mut self, es: &mut Entities, now: u64, group: u32) -> Throttled {
        let own = &self.h().of[group as usize].bandwidth;
        if !own.enabled || own.runtime_remaining > 0 {
            return false;
        }
        own.throttled || self.throttle_cfs_rq(es, now, group)
    }

    /// Takes a group's entity, with all tasks below, off the queue above (`by` is -1), or puts it back (1).
    fn move_group(&mut self, es: &mut Entities, now: u64, group: u32, by: i32) {
        let Counts { queued, runnable, mut idle } = self.h().of[group as usize].nr;
        let (mut moves, comes) = (true, by > 0);
        let mut next = Some(self.h().of[group as usize].se);
        while let Some(se) = next {
            let (my_q, above) = (es[se].my_q, es[se].group);
            if comes && moves && es[se].on_rq && !es[se].sched_delayed {
                moves = false;
            }
            match (comes, moves) {
                // "throttled entity or throttle-on-deactivate"
                (false, _) if !es[se].on_rq => return,
                (false, true) => self.dequeue_throttled(es, now, se),
                (true, true) => {
                    // "Handle any unfinished DELAY_DEQUEUE business first."
                    if es[se].on_rq {
                        self.dequeue_throttled(es, now, se);
                    }
                    self.enqueue_unthrottled(es, now, se);
                }
                (_, false) => {
                    let flags = if comes { UpdateFlags::UPDATE_TG } else { UpdateFlags::empty() };
                    self.h().update_load_avg(es, my_q, flags);
                    self.h().se_update_runnable(my_q);
                }
            }
            if self.h().of[my_q as usize].group.idle {
                idle = queued;
            }
            let of = &mut self.h().of[above as usize];
            of.nr.add(Counts { queued: by * queued, runnable: by * runnable, idle: by * idle });
            if comes && of.bandwidth.throttled {
                return;
            }
            if !comes && of.load != 0 {
                moves = false;
            }
            next = self.h().parent_entity(es, se);
        }
    }
}

/// Whether `account_cfs_rq_runtime()` or what it called left the queue throttled: the task that runs there is to leave
/// when it returns to user space (`task_throttle_setup_work()`).
type Throttled = bool;

impl Hierarchy {
    #[inline]
    pub(super) fn form(&self) -> ThrottleForm {
        self.params.rules.throttle
    }

    /// `cfs_rq_throttled()`.
    pub(super) fn cfs_rq_throttled(&self, group: u32) -> bool {
        self.of[group as usize].bandwidth.throttled
    }

    /// `throttled_hierarchy()`.
    pub fn throttled_hierarchy(&self, group: u32) -> bool {
        self.of[group as usize].bandwidth.throttle_count != 0
    }

    /// Whether any group has a quota.
    #[inline]
    pub(super) fn bandwidth_used(&self) -> bool {
        self.bandwidth_used
    }

    /// How long what runs on a queue has run, ns, before it is charged; `None` if that does not matter.
    #[inline]
    pub(super) fn ran(&self, es: &Entities, group: u32) -> Option<u64> {
        if !self.bandwidth_used {
            return None;
        }
        let of = &self.of[group as usize];
        of.curr.filter(|_| of.bandwidth.enabled).map(|curr| es[curr].sum_exec_runtime)
    }

    /// What `update_curr()` does to the run time of a queue's group. `ran` is from before it.
    #[inline]
    pub(super) fn account_ran(&mut self, es: &mut Entities, group: u32, ran: Option<u64>) {
        let Some(ran) = ran else { return };
        let curr = self.of[group as usize].curr.expect("something runs");
        let delta_exec = es[curr].sum_exec_runtime - ran;
        if delta_exec != 0 {
            self.account_cfs_rq_runtime(es, group, delta_exec);
        }
    }

    /// Whether a group's queue, or one above it, is throttled, where that takes its entity off the queue above.
    #[inline]
    pub(super) fn stands(&self, group: u32) -> bool {
        self.bandwidth_used && self.form() == ThrottleForm::Queues && self.throttled_hierarchy(group)
    }

    fn assign(&mut self, group: u32, target: u64) -> bool {
        let own = &mut self.of[group as usize].bandwidth;
        let shared = &mut self.shared[group as usize].bandwidth;
        let (any, started) = shared.assign(&mut own.runtime_remaining, target, self.clocks.clock);
        let starts = started.map(|expires| TimerStart { group, slack: false, expires });
        self.asks.timers.extend(starts);
        any
    }

    /// `account_cfs_rq_runtime()`.
    pub(super) fn account_cfs_rq_runtime(&mut self, es: &mut Entities, group: u32, delta_exec: u64) -> Throttled {
        let own = &mut self.of[group as usize].bandwidth;
        if !own.enabled {
            return false;
        }
        own.runtime_remaining -= delta_exec as i64;
        if own.runtime_remaining > 0 {
            return false;
        }
        let throttled = own.throttled;
        if self.form() == ThrottleForm::Tasks {
            return throttled || self.throttle_tasks(es, group);
        }
        let slice = self.shared[group as usize].bandwidth.slice;
        if !throttled && !self.assign(group, slice) && self.of[group as usize].curr.is_some() {
            self.asks.resched |= Resched::Now;
        }
        false
    }

    /// `throttle_cfs_rq()`, as far as it is the same for all forms: unless there is some run time again, the queue is
    /// on the group's list, and what is below knows. Returns whether it is throttled; the caller lets its entity leave,
    /// and calls [`throttled`](Self::throttled).
    pub(super) fn throttle(&mut self, group: u32, target: u64) -> bool {
        if self.assign(group, target) {
            return false;
        }
        self.shared[group as usize].bandwidth.throttled.push(self.cpu);
        self.tg_throttle_down(group);
        true
    }

    /// The end of `throttle_cfs_rq()`.
    pub(super) fn throttled(&mut self, group: u32) {
        let clock = self.clocks.clock;
        let counts_empty = !self.params.rules.throttled_time_if_queued;
        let of = &mut self.of[group as usize];
        of.bandwidth.throttled = true;
        if self.params.rules.throttle == ThrottleForm::Queues && (counts_empty || of.nr_queued != 0) {
            of.bandwidth.throttled_clock = clock;
        }
    }

    /// `throttle_cfs_rq()` of 7.2, which `update_curr()` and an enqueue call.
    fn throttle_tasks(&mut self, es: &mut Entities, group: u32) -> Throttled {
        let runs = self.of[group as usize].curr.is_some_and(|curr| es[curr].on_rq);
        let slice = self.shared[group as usize].bandwidth.slice;
        if !self.throttle(group, if runs { slice } else { 1 }) {
            return false;
        }
        self.throttled(group);
        if runs {
            self.task_throttle_setup_work(es, self.curr);
        }
        true
    }

    /// `task_throttle_setup_work()`.
    pub(super) fn task_throttle_setup_work(&self, es: &mut Entities, task: Option<TaskId>) {
        if let Some(task) = task {
            es[task].throttle_work = true;
        }
    }

    /// `check_enqueue_throttle()`: the first entity has joined a queue. Returns whether the queue is to be throttled,
    /// where that takes its entity off the queue above.
    pub(super) fn check_enqueue_throttle(&mut self, es: &mut Entities, group: u32) -> bool {
        let of = &self.of[group as usize];
        if !of.bandwidth.enabled || of.curr.is_some() || of.bandwidth.throttled {
            return false;
        }
        self.account_cfs_rq_runtime(es, group, 0);
        self.form() != ThrottleForm::Tasks && self.of[group as usize].bandwidth.runtime_remaining <= 0
    }

    /// What `enqueue_entity()` does to the clocks of a queue that has its first entity.
    pub(super) fn first_queued(&mut self, group: u32) {
        let clocks = self.clocks;
        let form = self.form();
        let own = &mut self.of[group as usize].bandwidth;
        match form {
            ThrottleForm::Queues => {
                if own.throttled && own.throttled_clock == 0 {
                    own.throttled_clock = clocks.clock;
                }
            }
            ThrottleForm::TasksAtPick | ThrottleForm::Tasks => {
                if std::mem::take(&mut own.pelt_clock_throttled) {
                    let stood = clocks.pelt.wrapping_sub(own.throttled_clock_pelt);
                    own.throttled_clock_pelt_time = own.throttled_clock_pelt_time.wrapping_add(stood);
                }
            }
        }
    }

    /// `return_cfs_rq_runtime()`, and what `dequeue_entity()` does to the clocks of a queue whose last entity leaves.
    #[inline]
    pub(super) fn last_dequeued(&mut self, group: u32) {
        if self.bandwidth_used && self.of[group as usize].nr_queued == 0 {
            self.return_cfs_rq_runtime(group);
        }
    }

    fn return_cfs_rq_runtime(&mut self, group: u32) {
        let of = &mut self.of[group as usize];
        let own = &mut of.bandwidth;
        let slack = own.runtime_remaining - MIN_CFS_RQ_RUNTIME;
        if own.enabled && slack > 0 {
            // "even if it's not valid for return we don't want to try again"
            own.runtime_remaining -= slack;
            let shared = &mut self.shared[group as usize].bandwidth;
            let started = shared.give_back(slack as u64, self.clocks.clock);
            self.asks.timers.extend(started.map(|expires| TimerStart { group, slack: true, expires }));
        }
        let own = &mut self.of[group as usize].bandwidth;
        if self.params.rules.throttle != ThrottleForm::Queues && own.throttle_count != 0 {
            (own.throttled_clock_pelt, own.pelt_clock_throttled) = (self.clocks.pelt, true);
        }
    }

    /// `record_throttle_clock()`: a task has left a queue because it is throttled.
    pub(super) fn record_throttle_clock(&mut self, group: u32) {
        let clock = self.clocks.clock;
        let own = &mut self.of[group as usize].bandwidth;
        if own.throttle_count != 0 && own.throttled && own.throttled_clock == 0 {
            own.throttled_clock = clock;
        }
    }

    /// The groups in a group.
    fn children(&self, group: u32) -> SmallVec<[u32; 8]> {
        // online_css() puts the newest first.
        (1..self.of.len() as u32).rev().filter(|&child| self.of[child as usize].group.parent == group).collect()
    }

    /// `tg_throttle_down()` of a group and of those in it.
    fn tg_throttle_down(&mut self, group: u32) {
        let (form, pelt) = (self.form(), self.throttle_clock());
        let of = &mut self.of[group as usize];
        let first = of.bandwidth.throttle_count == 0;
        of.bandwidth.throttle_count += 1;
        if first && form == ThrottleForm::Queues {
            of.bandwidth.throttled_clock_pelt = pelt;
        } else if first && of.nr_queued == 0 {
            (of.bandwidth.throttled_clock_pelt, of.bandwidth.pelt_clock_throttled) = (pelt, true);
        }
        for child in self.children(group) {
            self.tg_throttle_down(child);
        }
    }

    /// The clock by which a throttled queue's time stands still, ns: up to 5.18 `rq_clock_task()`.
    fn throttle_clock(&self) -> u64 {
        if self.params.rules.throttled_clock_task { self.clocks.task } else { self.clocks.pelt }
    }

    /// A group and those in it, each behind those in it: the order of `walk_tg_tree_from()` on its way up.
    pub(super) fn below_first(&self, group: u32) -> Vec<u32> {
        let mut order = Vec::new();
        for child in self.children(group) {
            order.extend(self.below_first(child));
        }
        order.push(group);
        order
    }

    /// `tg_unthrottle_up()` of one group, but for its tasks. Returns whether it is not throttled any more.
    pub(super) fn tg_unthrottle_up(&mut self, group: u32) -> bool {
        let (form, pelt) = (self.form(), self.throttle_clock());
        let own = &mut self.of[group as usize].bandwidth;
        own.throttle_count -= 1;
        if own.throttle_count != 0 {
            return false;
        }
        let stood = form == ThrottleForm::Queues || std::mem::take(&mut own.pelt_clock_throttled);
        if stood {
            own.throttled_clock_pelt_time =
                own.throttled_clock_pelt_time.wrapping_add(pelt.wrapping_sub(own.throttled_clock_pelt));
        }
        true
    }

    /// The beginning of `unthrottle_cfs_rq()`: the queue is not throttled any more, and the time for which it was is
    /// counted.
    pub(super) fn unthrottle(&mut self, group: u32) {
        let own = &mut self.of[group as usize].bandwidth;
        own.throttled = false;
        let since = std::mem::take(&mut own.throttled_clock);
        let shared = &mut self.shared[group as usize].bandwidth;
        if since != 0 {
            shared.stats.throttled_time += self.clocks.clock - since;
        }
        shared.throttled.retain(|&cpu| cpu != self.cpu);
    }

    /// What a group has on this CPU of its bandwidth: `runtime_remaining`, ns (0 without a quota), `throttled`,
    /// `throttle_count`.
    pub fn throttle_state(&self, group: u32) -> (i64, bool, u32) {
        let own = &self.of[group as usize].bandwidth;
        (if own.enabled { own.runtime_remaining } else { 0 }, own.throttled, own.throttle_count)
    }

    /// Takes the timers that operations have started since the last call.
    pub fn started_timers(&mut self) -> SmallVec<[TimerStart; 1]> {
        std::mem::take(&mut self.asks.timers)
    }

    /// The queued tasks that `rq->nr_running` does not count: those of throttled groups, up to 6.12.
    pub fn nr_hidden(&self) -> u32 {
        (self.nr_tasks - self.of[0].nr.queued) as u32
    }
}

/// The CPUs, on which bandwidth timers operate.
pub trait Cpus {
    /// An operation on a CPU's run queues, at the present time of its clock.
    fn on<R>(&mut self, cpu: u32, op: impl FnOnce(&mut GroupedRq, &mut Entities, u64) -> R) -> R;

    /// A group's bandwidth.
    fn bandwidth(&mut self, group: u32) -> &mut CfsBandwidth;

    /// Puts a task back on its run queue that was throttled, averages included (`enqueue_task_fair()` with
    /// `ENQUEUE_WAKEUP`).
    fn enqueue_throttled(&mut self, cpu: u32, task: TaskId);

    /// Sends an interrupt in which the CPU calls [`cfsb_csd_unthrottle`] (`smp_call_function_single_async()`).
    fn send_csd(&mut self, cpu: u32);
}

/// What came of giving run time to a throttled queue.
enum Given {
    /// The queue is not throttled, or on its way out of that.
    Nothing,
    /// There was not enough.
    TooLittle,
    /// It may be unthrottled.
    Enough,
}

/// The period timer of a group expires on a CPU (`sched_cfs_period_timer()`). Returns when it expires next, ns, if it
/// goes on.
pub fn sched_cfs_period_timer(
    cpus: &mut impl Cpus,
    group: u32,
    this_cpu: u32,
    now: u64,
    form: Bandwidth,
) -> Option<u64> {
    let bandwidth = cpus.bandwidth(group);
    let quota = bandwidth.quota?;
    let overrun = bandwidth.forward(now, quota.period);
    // do_sched_cfs_period_timer()
    let mut throttled = !bandwidth.throttled.is_empty();
    bandwidth.stats.nr_periods += overrun;
    let stops = bandwidth.idle && !throttled;
    if form.burst || !stops {
        bandwidth.refill(&quota);
    }
    if stops {
        bandwidth.period_active = false;
        return None;
    }
    if !throttled {
        bandwidth.idle = true;
        return Some(bandwidth.period_expires);
    }
    bandwidth.stats.nr_throttled += overrun;
    bandwidth.refreshing = true;
    while throttled && cpus.bandwidth(group).runtime > 0 {
        let left = distribute_cfs_runtime(cpus, group, this_cpu, form);
        throttled = if form.asynchronous { left } else { !cpus.bandwidth(group).throttled.is_empty() };
    }
    let bandwidth = cpus.bandwidth(group);
    (bandwidth.refreshing, bandwidth.idle) = (false, false);
    Some(bandwidth.period_expires)
}

/// The slack timer of a group expires on a CPU (`do_sched_cfs_slack_timer()`).
pub fn sched_cfs_slack_timer(cpus: &mut impl Cpus, group: u32, this_cpu: u32, now: u64, form: Bandwidth) {
    let bandwidth = cpus.bandwidth(group);
    bandwidth.slack_started = false;
    if !bandwidth.runtime_refresh_within(now, MIN_BANDWIDTH_EXPIRATION) && bandwidth.runtime > bandwidth.slice {
        distribute_cfs_runtime(cpus, group, this_cpu, form);
    }
}

/// The version-dependent parts of the timers.
#[derive(Clone, Copy, Debug)]
pub struct Bandwidth {
    /// How queues are throttled.
    pub throttle: ThrottleForm,
    /// Other CPUs unthrottle their own queues, in interrupts.
    pub asynchronous: bool,
    /// There are bursts, for which a period that nobody used refills, too.
    pub burst: bool,
}

/// Gives the throttled queues what they lack, in the order in which they were throttled (`distribute_cfs_runtime()`).
/// Returns whether some are throttled still.
fn distribute_cfs_runtime(cpus: &mut impl Cpus, group: u32, this_cpu: u32, form: Bandwidth) -> bool {
    let (mut throttled, mut remaining) = (false, 1);
    let mut local = false;
    let mut next = cpus.bandwidth(group).throttled.first().copied();
    while let Some(cpu) = next {
        if form.asynchronous && remaining == 0 {
            throttled = true;
            break;
        }
        let after = following(&cpus.bandwidth(group).throttled, cpu);
        let given = cpus.on(cpu, |rq, es, now| rq.give_runtime(es, now, group, &mut remaining));
        match given {
            Given::Nothing => {}
            Given::TooLittle => {
                throttled = true;
                // 7.2 ends here.
                if form.throttle == ThrottleForm::Tasks {
                    break;
                }
            }
            Given::Enough if !form.asynchronous => unthrottle_cfs_rq(cpus, cpu, group),
            Given::Enough if cpu == this_cpu && form.throttle != ThrottleForm::Tasks => local = true,
            Given::Enough => {
                let first = cpus.on(cpu, |rq, _, _| rq.hierarchy_mut().queue_csd(group));
                if cpu == this_cpu {
                    local |= first;
                } else if first {
                    cpus.send_csd(cpu);
                }
            }
        }
        if !form.asynchronous && remaining == 0 {
            break;
        }
        // An element that has left the list still points to the one that was behind it.
        let list = &cpus.bandwidth(group).throttled;
        next = if list.contains(&cpu) { following(list, cpu) } else { after };
    }
    if local && form.throttle == ThrottleForm::Tasks {
        cfsb_csd_unthrottle(cpus, this_cpu);
    } else if local && cpus.on(this_cpu, |rq, _, _| rq.hierarchy().cfs_rq_throttled(group)) {
        unthrottle_cfs_rq(cpus, this_cpu, group);
    }
    throttled
}

/// The element behind one of a list.
fn following(list: &[u32], cpu: u32) -> Option<u32> {
    let at = list.iter().position(|&other| other == cpu)?;
    list.get(at + 1).copied()
}

/// A CPU unthrottles those of its queues that were given run time (`__cfsb_csd_unthrottle()`).
pub fn cfsb_csd_unthrottle(cpus: &mut impl Cpus, cpu: u32) {
    let groups = cpus.on(cpu, |rq, _, _| rq.hierarchy_mut().take_csd());
    for group in groups {
        if cpus.on(cpu, |rq, _, _| rq.hierarchy().cfs_rq_throttled(group)) {
            unthrottle_cfs_rq(cpus, cpu, group);
        }
    }
}

/// `unthrottle_cfs_rq()`.
fn unthrottle_cfs_rq(cpus: &mut impl Cpus, cpu: u32, group: u32) {
    let Some(below) = cpus.on(cpu, |rq, es, now| rq.unthrottle_begin(es, now, group)) else { return };
    for group in below {
        // tg_unthrottle_up(): only where tasks are throttled one by one there are any.
        let mut tasks = cpus.on(cpu, |rq, es, now| rq.unthrottle_up(es, now, group)).into_iter();
        while let Some(&task) = tasks.as_slice().first() {
            if !cpus.on(cpu, |rq, es, _| rq.leaves_limbo(es, group, task)) {
                break;
            }
            tasks.next();
            cpus.enqueue_throttled(cpu, task);
        }
        let left = tasks.collect();
        cpus.on(cpu, |rq, _, _| rq.hierarchy_mut().back_to_limbo(group, left));
    }
    cpus.on(cpu, |rq, es, now| rq.unthrottle_end(es, now, group));
}

impl Hierarchy {
    /// Puts a group on `rq->cfsb_csd_list`. Returns whether it is the first there.
    fn queue_csd(&mut self, group: u32) -> bool {
        self.of[group as usize].bandwidth.csd = true;
        self.csd_list.push(group);
        self.csd_list.len() == 1
    }

    fn take_csd(&mut self) -> Vec<u32> {
        let groups = std::mem::take(&mut self.csd_list);
        groups.iter().for_each(|&group| self.of[group as usize].bandwidth.csd = false);
        groups
    }

    /// Tasks that were to leave the list of a group stay, because it is throttled again.
    fn back_to_limbo(&mut self, group: u32, tasks: Vec<TaskId>) {
        self.of[group as usize].bandwidth.limbo.splice(0..0, tasks);
    }

    /// A throttled task has left its queue and waits for run time.
    pub(super) fn enter_limbo(&mut self, es: &mut Entities, task: TaskId) {
        es[task].throttled = true;
        self.of[es[task].group as usize].bandwidth.limbo.insert(0, task);
        self.asks.resched |= Resched::Now;
    }

    /// A throttled task would join a queue (`enqueue_throttled_task()`). Returns whether it goes on waiting instead.
    pub(super) fn enqueue_throttled_task(&mut self, es: &mut Entities, task: TaskId) -> bool {
        let group = es[task].group;
        es[task].throttled = self.throttled_hierarchy(group) && self.curr != Some(task);
        if es[task].throttled {
            self.of[group as usize].bandwidth.limbo.insert(0, task);
        }
        es[task].throttled
    }

    /// A throttled task is to leave its queue again (`dequeue_throttled_task()`).
    pub(super) fn dequeue_throttled_task(&mut self, es: &mut Entities, task: TaskId, flags: DequeueFlags) {
        let limbo = &mut self.of[es[task].group as usize].bandwidth.limbo;
        limbo.retain(|&other| other != task);
        if flags.contains(DequeueFlags::SLEEP) {
            es[task].throttled = false;
        }
    }
}

impl GroupedRq {
    /// A step of `distribute_cfs_runtime()`: gives a throttled queue as much as it lacks, or what there is. `remaining`
    /// is what is left then.
    fn give_runtime(&mut self, es: &mut Entities, now: u64, group: u32, remaining: &mut u64) -> Given {
        let own = &self.hierarchy().of[group as usize].bandwidth;
        if !own.throttled || own.csd {
            return Given::Nothing;
        }
        if self.hierarchy().form() == ThrottleForm::Tasks {
            self.update_curr_of(es, now, group);
        }
        let h = self.hierarchy_mut();
        let (own, shared) = (&mut h.of[group as usize].bandwidth, &mut h.shared[group as usize].bandwidth);
        let runtime = ((1 - own.runtime_remaining) as u64).min(shared.runtime);
        shared.runtime -= runtime;
        *remaining = shared.runtime;
        own.runtime_remaining += runtime as i64;
        if own.runtime_remaining > 0 { Given::Enough } else { Given::TooLittle }
    }

    /// `unthrottle_cfs_rq()` up to the walk over the groups, whose order it returns; `None` if there is no run time any
    /// more.
    fn unthrottle_begin(&mut self, es: &mut Entities, now: u64, group: u32) -> Option<Vec<u32>> {
        match self.hierarchy().form() {
            ThrottleForm::Queues => {}
            form => {
                if form == ThrottleForm::Tasks {
                    self.update_curr_of(es, now, group);
                }
                let own = &self.hierarchy().of[group as usize].bandwidth;
                if own.enabled && own.runtime_remaining <= 0 {
                    return None;
                }
            }
        }
        self.hierarchy_mut().unthrottle(group);
        Some(self.hierarchy().below_first(group))
    }

    /// `tg_unthrottle_up()`, up to the tasks that may come back, which it returns.
    fn unthrottle_up(&mut self, es: &mut Entities, now: u64, group: u32) -> Vec<TaskId> {
        if self.hierarchy().form() == ThrottleForm::Tasks {
            self.update_curr_of(es, now, group);
        }
        let h = self.hierarchy_mut();
        match h.tg_unthrottle_up(group) {
            true => std::mem::take(&mut h.of[group as usize].bandwidth.limbo),
            false => Vec::new(),
        }
    }

    /// Whether a task comes back: not if its group has been throttled again meanwhile (7.2).
    fn leaves_limbo(&mut self, es: &mut Entities, group: u32, task: TaskId) -> bool {
        let h = self.hierarchy();
        if h.form() == ThrottleForm::Tasks && h.throttled_hierarchy(group) {
            return false;
        }
        es[task].throttled = false;
        true
    }

    /// The rest of `unthrottle_cfs_rq()`: up to 6.17 the group's entity comes back to the queue above.
    fn unthrottle_end(&mut self, es: &mut Entities, now: u64, group: u32) {
        if self.hierarchy().form() == ThrottleForm::Queues && self.hierarchy().of[group as usize].load != 0 {
            self.enqueue_group(es, now, group);
        }
        let h = self.hierarchy_mut();
        h.asks.resched_idle |= h.of[0].nr_queued != 0;
    }
}
