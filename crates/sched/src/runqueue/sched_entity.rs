//! `struct sched_entity` (`include/linux/sched.h`): a run queue's knowledge of a task.

use super::load_weight::{LoadWeight, NICE_0_LOAD, Policy, calc_delta, calc_delta_fair};
use super::tasks_timeline::Node;
use std::ops::{Index, IndexMut};

/// A task's number: its index in [`Entities`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// One task's `struct sched_entity`, of either class, and the fields of `task_struct` that the fair class reads.
///
/// The fields that order a queued task (`vruntime`, `deadline`, `load`) may only be changed by the run queue's
/// operations.
///
/// What every operation reads comes first, on one line of 64 bytes: the entities of thousands of tasks do not fit into
/// the caches.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entity {
    /// `p->policy`.
    pub policy: Policy,
    /// `task_nice(p)`: -20 to 19.
    pub nice: i8,
    /// The task is queued: it waits, runs, or (EEVDF) its dequeue is delayed.
    pub on_rq: bool,
    /// EEVDF: the task sleeps, but stays queued until it is eligible.
    pub sched_delayed: bool,
    /// EEVDF: `slice` is the task's own (`sched_attr::sched_runtime`), not the system's.
    pub custom_slice: bool,
    /// EEVDF: `deadline` is relative to `vruntime`.
    pub rel_deadline: bool,
    /// What the weight of a group's entity is above `load`, in 1024ths; 0 of a task.
    pub(super) load_rest: i16,
    /// Weight by policy and nice value; of a group its share on the CPU, scaled down.
    pub load: LoadWeight,
    /// EEVDF: the weight that the queue uses. Up to 7.2 it equals `load`; since 7.3 it is the weight at the last
    /// enqueue, with an inverse of its own (`h_load`, `reweight_eevdf()`, 7.3).
    pub(super) h_load: LoadWeight,
    /// Virtual run time, ns at weight 1024; wraps. A dequeued CFS task that did not go to sleep keeps it relative
    /// to its queue's `min_vruntime`.
    pub vruntime: u64,
    /// When `update_curr()` last charged this task or it was given the CPU, ns; 0 after a migration, and before its
    /// first run.
    pub exec_start: u64,
    /// Total run time, ns.
    pub sum_exec_runtime: u64,
    /// EEVDF: the virtual deadline, ns; relative to `vruntime` while `rel_deadline` is set.
    pub deadline: u64,
    /// `sum_exec_runtime` when the task was last given the CPU, ns.
    pub prev_sum_exec_runtime: u64,
    /// EEVDF: the request, ns of run time.
    pub slice: u64,
    /// EEVDF: V - vruntime when the task left the queue, ns; clamped. Since 7.2 also of a delayed task: when it went to
    /// sleep. Otherwise it is meaningless while the task is queued.
    pub vlag: i64,
    /// EEVDF: the limit of the running task's slice protection, virtual ns. Since 7.2 the vruntime up to which it is
    /// protected (`vprot`). In 6.12 the deadline for which it is; the kernel keeps that in `vlag`, which a queued task
    /// does not need there.
    pub vprot: u64,
    pub(super) node: Node,
    /// The group whose run queue it is on, among the CPU's; 0 for the root's (`se->cfs_rq`).
    pub group: u32,
    /// The group that it stands for; 0 for a task (`se->my_q`).
    pub(super) my_q: u32,
    /// As `load_rest`, of `h_load`.
    pub(super) h_load_rest: i16,
    /// The task is to leave its queue when it returns to user space, as its group's quota is used up
    /// (`sched_throttle_work`, 6.18).
    pub throttle_work: bool,
    /// It has left, and waits for run time (`p->throttled`, 6.18).
    pub throttled: bool,
}

const _: () = assert!(std::mem::offset_of!(Entity, slice) == 64 && std::mem::offset_of!(Entity, load) == 8);

impl Entity {
    /// The entity of a new task, not queued. `slice` is the slice that the task asked for, ns, or 0 for none: then it
    /// takes the queue's when it is placed. It is clamped to 0.1 to 100 ms (`__setscheduler_params()`, 6.12;
    /// `__setparam_fair()`, 7.2). A forked task inherits its parent's.
    ///
    /// # Panics
    /// If `nice` is outside -20..=19.
    pub fn new(policy: Policy, nice: i8, slice: u64) -> Self {
        let load = LoadWeight::of(policy, nice);
        Entity {
            policy,
            nice,
            load_rest: 0,
            load,
            h_load: load,
            on_rq: false,
            vruntime: 0,
            exec_start: 0,
            sum_exec_runtime: 0,
            prev_sum_exec_runtime: 0,
            deadline: 0,
            slice: clamp_slice(slice),
            custom_slice: slice != 0,
            vlag: 0,
            vprot: 0,
            rel_deadline: false,
            sched_delayed: false,
            node: Node::default(),
            group: 0,
            my_q: 0,
            h_load_rest: 0,
            throttle_work: false,
            throttled: false,
        }
    }

    /// The weight with its full resolution (`se->load.weight`; 1024 times that of a task here).
    #[inline]
    pub fn full_weight(&self) -> u64 {
        ((u64::from(self.load.weight) << 10) as i64 + i64::from(self.load_rest)) as u64
    }

    /// Sets the weight of a group's entity, at least 2, by its full resolution (`update_load_set()`).
    pub(super) fn set_full_weight(&mut self, weight: u64) {
        let scaled = (weight >> 10).max(2);
        self.load = LoadWeight::sum(scaled);
        self.load_rest = (weight as i64 - (scaled << 10) as i64) as i16;
    }

    /// The weight that an EEVDF queue uses, with its full resolution.
    #[inline]
    pub fn full_h_weight(&self) -> u64 {
        ((u64::from(self.h_load.weight) << 10) as i64 + i64::from(self.h_load_rest)) as u64
    }

    /// Sets the weight that an EEVDF queue uses, at least 2, by its full resolution.
    pub(super) fn set_full_h_weight(&mut self, weight: u64) {
        let scaled = (weight >> 10).max(2);
        self.h_load = LoadWeight::sum(scaled);
        self.h_load_rest = (weight as i64 - (scaled << 10) as i64) as i16;
    }

    /// `calc_delta_fair()` of an EEVDF queue with groups.
    #[inline]
    pub(super) fn h_calc_delta_fair(&self, delta: u64) -> u64 {
        let (rest, load) = (self.h_load_rest, self.h_load);
        if rest == 0 { calc_delta_fair(delta, load) } else { calc_delta(delta, NICE_0_LOAD, load) }
    }

    /// `calc_delta_fair()`. A group's weight that is that of nice 0 but for the last bits is not taken for it.
    #[inline]
    pub(super) fn calc_delta_fair(&self, delta: u64) -> u64 {
        if self.load_rest == 0 { calc_delta_fair(delta, self.load) } else { calc_delta(delta, NICE_0_LOAD, self.load) }
    }

    /// The same in a control group, 0 for the root.
    pub fn in_group(self, group: u32) -> Self {
        Entity { group, ..self }
    }

    /// Whether the task's policy is `SCHED_IDLE` (`task_has_idle_policy()`), or the group's `cpu.idle` is set
    /// (`se_is_idle()`).
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.policy == Policy::Idle
    }

    /// Adds the run time up to `now` to the task's total and returns it, ns (`update_curr_se()`, 6.12). Returns `None`
    /// if no time has passed, or if the clock stepped back a little, as the kernel's clocks may.
    pub(super) fn update_curr_se(&mut self, now: u64) -> Option<u64> {
        let delta_exec = now.wrapping_sub(self.exec_start);
        if delta_exec as i64 <= 0 {
            return None;
        }
        self.exec_start = now;
        self.sum_exec_runtime += delta_exec;
        Some(delta_exec)
    }
}

/// The slice that a task gets if it asks for `slice` ns; 0 is none.
pub(super) fn clamp_slice(slice: u64) -> u64 {
    if slice == 0 { 0 } else { slice.clamp(100_000, 100_000_000) }
}

/// The entities of all tasks of a system, by task number.
#[derive(Clone, Debug, Default)]
pub struct Entities(Vec<Entity>);

impl Entities {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task and returns its number: 0, 1, 2 and so on.
    pub fn push(&mut self, entity: Entity) -> TaskId {
        self.0.push(entity);
        TaskId(self.0.len() as u32 - 1)
    }
}

impl Index<TaskId> for Entities {
    type Output = Entity;

    #[inline]
    fn index(&self, task: TaskId) -> &Entity {
        &self.0[task.0 as usize]
    }
}

impl IndexMut<TaskId> for Entities {
    #[inline]
    fn index_mut(&mut self, task: TaskId) -> &mut Entity {
        &mut self.0[task.0 as usize]
    }
}
