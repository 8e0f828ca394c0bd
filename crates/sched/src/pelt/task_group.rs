//! PELT of a task group: its share of a CPU's weight, and how the averages of its run queue reach the entity that
//! stands for it on the run queue above (`kernel/sched/fair.c`).
//!
//! ```text
//! calc_group_shares():             tg->shares * load / (sum of load over all CPUs)   load: of the group's cfs_rq here
//!
//! propagate_entity_load_avg():     after a task was attached to the group's cfs_rq, or detached
//!     update_tg_cfs_util()         se->util_avg     = gcfs_rq->util_avg,     cfs_rq->util_avg += the difference
//!     update_tg_cfs_runnable()     se->runnable_avg = gcfs_rq->runnable_avg, cfs_rq->runnable_avg += the difference
//!     update_tg_cfs_load()         se->load_sum     by the sum that came or went; load_avg from it by weight
//!
//! task_h_load():                   load_avg * h_load / (cfs_rq->load_avg + 1)
//!     h_load of a group            h_load of the cfs_rq above * se->load_avg / (its load_avg + 1)
//! ```
//!
//! A group's `cfs_rq` on a CPU is a [`CfsRqPelt`]; with what the group has beside it there, it is a [`GroupPelt`].
//! Weights of groups are of full resolution: 1024 times those of tasks here, `scale_load()` of 1024 being `1 << 20`.

use super::accumulate_sum::{
    ___update_load_avg, ___update_load_sum, EntityState, PELT_MIN_DIVIDER, SchedAvg, get_pelt_divider,
};
use super::attach_entity_load_avg::{Sum, attach_entity_load_avg, update_sa};
use super::update_load_avg::{CfsRqPelt, CfsRqState, UpdateFlags, update_cfs_rq_load_avg, update_load_avg};
use super::{PeltRules, SCHED_CAPACITY_SHIFT, SumRule};

/// The least weight of a group's entity, of full resolution (`MIN_SHARES`).
pub const MIN_SHARES: u64 = 2;

/// The weight that a group has on a CPU, of full resolution (`calc_group_shares()`, the same from 5.10 to 7.2).
///
/// `shares` is the group's, of full resolution (`tg->shares`, 2048 to 2^28). `weight` is the weight of the group's run
/// queue, scaled down, and `load_avg` its load; `contrib` is the part of `tg_load_avg`, the load of all CPUs, that
/// this run queue has added.
pub fn calc_group_shares(shares: u64, weight: u64, load_avg: u64, tg_load_avg: i64, contrib: u64) -> u64 {
    let load = weight.max(load_avg) as i64;
    let tg_weight = tg_load_avg.wrapping_sub(contrib as i64).wrapping_add(load);
    let shares = shares as i64;
    let mut share = shares.wrapping_mul(load);
    if tg_weight != 0 {
        share = share.wrapping_div(tg_weight);
    }
    // Not i64::clamp(), which panics where there are fewer shares than the least.
    share.max(MIN_SHARES as i64).min(shares) as u64
}

/// The changes to propagate to the run queue above (`cfs_rq->propagate` and `prop_runnable_sum`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Propagate {
    /// Averages have come or gone since the last update of the entity.
    pub pending: bool,
    /// The sum of their `load_sum`, those that went as negative numbers.
    pub runnable_sum: i64,
}

impl Propagate {
    /// `add_tg_cfs_propagate()`.
    pub fn add(&mut self, runnable_sum: i64) {
        self.pending = true;
        self.runnable_sum = self.runnable_sum.wrapping_add(runnable_sum);
    }
}

/// The sums of a group's averages over all CPUs (`struct task_group`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TgLoad {
    /// `tg->load_avg`.
    pub load_avg: i64,
    /// `tg->runnable_avg` (7.3).
    pub runnable_avg: i64,
}

impl TgLoad {
    /// The number of its tasks, at least 1 (`tg_tasks()`, 7.3).
    pub fn tg_tasks(&self) -> u64 {
        (self.runnable_avg >> SCHED_CAPACITY_SHIFT).max(1) as u64
    }
}

/// A CPU adds to the sums at most once in so long, ns (`update_tg_load_avg()`, 6.8).
const TG_LOAD_AVG_PERIOD: u64 = 1_000_000;

/// The averages of a group on one CPU.
#[derive(Clone, Copy, Debug)]
pub struct GroupPelt {
    /// Those of its run queue.
    pub cfs_rq: CfsRqPelt,
    /// Those of its entity on the run queue above.
    pub se: SchedAvg,
    /// `se->runnable_weight`: the runnable tasks below, as of the last `se_update_runnable()`.
    pub runnable_weight: u64,
    /// The changes that its entity does not have yet.
    pub propagate: Propagate,
    /// This run queue's contribution to the group's load (`tg_load_avg_contrib`).
    pub tg_load_avg_contrib: u64,
    /// The same of its runnable tasks (`tg_runnable_avg_contrib`, 7.3).
    pub tg_runnable_avg_contrib: u64,
    /// When it last did, ns (`last_update_tg_load_avg`).
    last_update_tg_load_avg: u64,
}

impl GroupPelt {
    /// A group without tasks. Its entity has no load, "to reflect the fact that nothing has been attached to the task
    /// group yet" (`init_entity_runnable_average()`).
    pub fn new(rules: PeltRules) -> Self {
        GroupPelt {
            cfs_rq: CfsRqPelt::new(rules),
            se: SchedAvg::default(),
            runnable_weight: 0,
            propagate: Propagate::default(),
            tg_load_avg_contrib: 0,
            tg_runnable_avg_contrib: 0,
            last_update_tg_load_avg: 0,
        }
    }

    /// Adds what has changed of the run queue's load to the group's, if it is more than a 64th
    /// (`update_tg_load_avg()`); with `with_runnable`, of the runnable tasks' average too. `now`, if it is given, is
    /// the clock, ns, by which a CPU does so once in a millisecond at most.
    pub fn update_tg_load_avg(&mut self, tg: &mut TgLoad, now: Option<u64>, with_runnable: bool) {
        if now.is_some_and(|now| now.wrapping_sub(self.last_update_tg_load_avg) < TG_LOAD_AVG_PERIOD) {
            return;
        }
        let SchedAvg { load_avg, runnable_avg, .. } = self.cfs_rq.avg;
        let changed = |new: u64, contrib: u64| {
            let delta = new.wrapping_sub(contrib) as i64;
            (delta, delta.unsigned_abs() > contrib / 64)
        };
        let (load, load_changed) = changed(load_avg, self.tg_load_avg_contrib);
        let (runnable, runnable_changed) = changed(runnable_avg, self.tg_runnable_avg_contrib);
        if load_changed || (with_runnable && runnable_changed) {
            tg.load_avg = tg.load_avg.wrapping_add(load);
            self.tg_load_avg_contrib = load_avg;
            if with_runnable {
                tg.runnable_avg = tg.runnable_avg.wrapping_add(runnable);
                self.tg_runnable_avg_contrib = runnable_avg;
            }
            self.last_update_tg_load_avg = now.unwrap_or(0);
        }
    }

    /// Ages a task and this run queue, of which it is a task, and attaches or detaches it (`update_load_avg()` of a
    /// task). Returns whether the group's load is to follow ([`update_tg_load_avg`](Self::update_tg_load_avg)).
    pub fn update_load_avg(
        &mut self,
        state: &CfsRqState,
        se: &mut SchedAvg,
        entity: &EntityState,
        now: u64,
        flags: UpdateFlags,
    ) -> bool {
        let attaches = se.last_update_time == 0 && flags.contains(UpdateFlags::DO_ATTACH);
        self.note_removed();
        let changed = update_load_avg(&mut self.cfs_rq, state, se, entity, now, flags);
        if attaches {
            self.propagate.add(se.load_sum as i64);
        } else if flags.contains(UpdateFlags::DO_DETACH) {
            self.propagate.add((se.load_sum as i64).wrapping_neg());
        } else {
            return changed && flags.contains(UpdateFlags::UPDATE_TG);
        }
        true
    }

    /// Before the run queue is aged: what tasks took along that left it asleep is to be propagated, too
    /// (`update_cfs_rq_load_avg()`).
    fn note_removed(&mut self) {
        let removed = &self.cfs_rq.removed;
        if removed.nr != 0 {
            let divider = u64::from(get_pelt_divider(&self.cfs_rq.avg));
            let sum = removed.runnable_avg.wrapping_mul(divider) as i64;
            self.propagate.add(sum.wrapping_neg() >> SCHED_CAPACITY_SHIFT);
        }
    }

    /// Subtracts the removed averages of this run queue and ages it (`update_cfs_rq_load_avg()`). Returns whether its
    /// averages changed.
    pub fn update_cfs_rq_load_avg(&mut self, now: u64, state: &CfsRqState) -> bool {
        self.note_removed();
        update_cfs_rq_load_avg(now, &mut self.cfs_rq, state)
    }

    /// Ages the group's entity up to `now`, if it has been attached (`__update_load_avg_se()` of a group's entity). Its
    /// weight is scaled down.
    pub fn update_se(&mut self, now: u64, entity: &EntityState) {
        // se_runnable()
        let runnable = if entity.sched_delayed { 0 } else { self.runnable_weight };
        if self.se.last_update_time != 0
            && ___update_load_sum(now, &mut self.se, u64::from(entity.on_rq), runnable, entity.curr)
        {
            ___update_load_avg(&mut self.se, entity.weight);
        }
    }

    /// Attaches the entity to the run queue above, which it has never been on (`attach_entity_load_avg()`).
    pub fn attach_se(&mut self, above: &mut Above<'_>, weight: u64) {
        attach_entity_load_avg(above.cfs_rq, &mut self.se, weight);
        if let Some(propagate) = &mut above.propagate {
            propagate.add(self.se.load_sum as i64);
        }
    }

    /// Brings what has changed in the group's run queue to its entity and to the run queue above
    /// (`propagate_entity_load_avg()`). `se_weight` is the entity's weight and `weight` that of the group's run queue,
    /// both scaled down. Returns whether there was anything.
    ///
    /// # Panics
    /// With the averages of 5.3 and before, whose form is another.
    pub fn propagate_entity_load_avg(&mut self, above: &mut Above<'_>, se_weight: u64, weight: u64) -> bool {
        if !self.propagate.pending {
            return false;
        }
        self.propagate.pending = false;
        if let Some(propagate) = &mut above.propagate {
            propagate.add(self.propagate.runnable_sum);
        }
        let cfs_rq = &mut *above.cfs_rq;
        let divider = get_pelt_divider(&cfs_rq.avg);
        let rule = cfs_rq.rules.sums;
        let (own, se, sa) = (&self.cfs_rq.avg, &mut self.se, &mut cfs_rq.avg);
        // update_tg_cfs_util() and update_tg_cfs_runnable()
        follow(rule, divider, own.util_avg, (&mut se.util_avg, &mut se.util_sum), (&mut sa.util_avg, &mut sa.util_sum));
        let of_above = (&mut sa.runnable_avg, &mut sa.runnable_sum);
        follow(rule, divider, own.runnable_avg, (&mut se.runnable_avg, &mut se.runnable_sum), of_above);
        self.update_tg_cfs_load(cfs_rq, se_weight, weight, divider);
        true
    }

    /// `update_tg_cfs_load()`.
    fn update_tg_cfs_load(&mut self, cfs_rq: &mut CfsRqPelt, se_weight: u64, weight: u64, divider: u32) {
        let came = std::mem::take(&mut self.propagate.runnable_sum);
        if came == 0 {
            return;
        }
        let (se, sa) = (&mut self.se, &mut cfs_rq.avg);
        let runnable_sum = if came >= 0 {
            // "Until the CPU is saturated running == runnable."
            came.wrapping_add(se.load_sum as i64).min(i64::from(divider))
        } else {
            // "Assuming all tasks are equally runnable", but "not to inflate se's runnable".
            se.load_sum.min(self.cfs_rq.avg.load_sum.checked_div(weight).unwrap_or(0)) as i64
        };
        let running_sum = i64::from(se.util_sum >> SCHED_CAPACITY_SHIFT);
        let runnable_sum = runnable_sum.max(running_sum) as u64;
        let load_sum = se_weight.wrapping_mul(runnable_sum);
        let load_avg = load_sum / u64::from(divider);
        let delta_avg = load_avg.wrapping_sub(se.load_avg);
        let delta_sum = load_sum.wrapping_sub(se_weight.wrapping_mul(se.load_sum));
        match cfs_rq.rules.sums {
            SumRule::Plain => panic!("the averages of groups are not modelled before 5.10"),
            SumRule::ResyncLoad if delta_avg == 0 => se.load_sum = runnable_sum,
            SumRule::Resync | SumRule::ResyncLoad => {
                (se.load_sum, se.load_avg) = (runnable_sum, load_avg);
                sa.load_avg = sa.load_avg.add_positive(delta_avg);
                sa.load_sum = sa.load_avg.wrapping_mul(u64::from(divider));
            }
            _ if delta_avg == 0 => {}
            SumRule::Bound32 => {
                (se.load_sum, se.load_avg) = (runnable_sum, load_avg);
                add_bound32(&mut sa.load_avg, &mut sa.load_sum, delta_avg, delta_sum);
            }
            SumRule::Bound => {
                (se.load_sum, se.load_avg) = (runnable_sum, load_avg);
                update_sa(&mut sa.load_avg, &mut sa.load_sum, delta_avg, delta_sum);
            }
        }
    }

    /// Whether nothing would change if the entity were aged (`skip_blocked_update()`).
    pub fn skip_blocked_update(&self) -> bool {
        self.se.load_avg == 0 && self.se.util_avg == 0 && !self.propagate.pending
    }
}

/// The run queue above a group's: the entity's.
#[derive(Debug)]
pub struct Above<'a> {
    /// Its averages.
    pub cfs_rq: &'a mut CfsRqPelt,
    /// The changes that it has to propagate further up; `None` for the root's.
    pub propagate: Option<&'a mut Propagate>,
}

/// Sets a group's entity to an average of its run queue, and adds the difference to the run queue above
/// (`update_tg_cfs_util()` and `update_tg_cfs_runnable()`).
fn follow<S: Sum + Into<u64>>(
    rule: SumRule,
    divider: u32,
    own: u64,
    (se_avg, se_sum): (&mut u64, &mut S),
    (avg, sum): (&mut u64, &mut S),
) {
    let delta_avg = own.wrapping_sub(*se_avg);
    if delta_avg == 0 {
        return;
    }
    *se_avg = own;
    let whole = own.wrapping_mul(u64::from(divider));
    match rule {
        SumRule::Plain => panic!("the averages of groups are not modelled before 5.10"),
        SumRule::Resync | SumRule::ResyncLoad => {
            *se_sum = S::truncate(whole);
            *avg = avg.add_positive(delta_avg);
            *sum = S::truncate(avg.wrapping_mul(u64::from(divider)));
        }
        SumRule::Bound32 | SumRule::Bound => {
            // The kernel's new_sum is a u32, that of runnable_sum too.
            let new = S::truncate(u64::from(whole as u32));
            let delta_sum = new.into().wrapping_sub((*se_sum).into());
            *se_sum = new;
            if rule == SumRule::Bound {
                update_sa(avg, sum, delta_avg, delta_sum);
            } else {
                add_bound32(avg, sum, delta_avg, delta_sum);
            }
        }
    }
}

/// Adds (a negative value in two's complement) to both and raises the sum to its lower bound, compared as 32 bits
/// (`update_tg_cfs_load()`, 6.1).
fn add_bound32<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.add_positive(d_avg);
    let bound = avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER)) as u32;
    *sum = S::truncate(u64::from(sum.add_positive(S::truncate(d_sum)).low32().max(bound)));
}

/// A group's `h_load`: the part of the run queue above that its entity stands for (`update_cfs_rq_h_load()`, the same
/// from 5.10 to 7.2). `h_load` and `load_avg` are those of the run queue above.
pub fn group_h_load(h_load: u64, se_load_avg: u64, load_avg: u64) -> u64 {
    h_load.wrapping_mul(se_load_avg) / load_avg.wrapping_add(1)
}
