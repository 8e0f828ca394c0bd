//! Utilisation clamps (`kernel/sched/core.c`): the requests of tasks, their effective values, and the clamps that a run
//! queue derives from its runnable tasks.
//!
//! ```text
//! uclamp_eff_get(p, id)    = min(request of p, within the clamps of its group; system-wide limit of id)
//! uclamp_rq_inc(rq, p)       p's effective clamps join their buckets; the run queue's clamp is the largest of all
//! uclamp_rq_dec(rq, p)       they leave; the clamp of the highest bucket with a task is the run queue's
//! no task is left:           the minimum is 0, the maximum stays the last task's (UCLAMP_FLAG_IDLE)
//! ```
//!
//! A bucket keeps the largest clamp that was in it since it was last empty: a task of a smaller one is boosted, or not
//! capped, as if it had that. Both clamps are the largest of all tasks', so that one task without a maximum takes the
//! cap off its CPU.
//!
//! The code is the same from 5.10 to 7.3; what differs is when a task joins
//! ([`CoreRules::uclamp_after_enqueue`](wakelab_kernel::CoreRules)) and what reads the clamps
//! ([`util_fits_cpu`](crate::select::util_fits_cpu), [`effective_cpu_util`](crate::energy::effective_cpu_util)).

use crate::energy::RqUtil;
use crate::select::Uclamp;
use wakelab_kernel::Tunables;

/// SCHED_CAPACITY_SCALE: the largest clamp.
pub const UCLAMP_SCALE: u32 = 1024;

/// The largest CONFIG_UCLAMP_BUCKETS_COUNT.
const BUCKETS_MAX: usize = 20;

/// `enum uclamp_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UclampId {
    /// UCLAMP_MIN.
    Min,
    /// UCLAMP_MAX.
    Max,
}

/// `for_each_clamp_id()`.
const IDS: [UclampId; 2] = [UclampId::Min, UclampId::Max];

impl UclampId {
    /// `uclamp_none()`: the value that asks for nothing.
    pub const fn none(self) -> u32 {
        match self {
            UclampId::Min => 0,
            UclampId::Max => UCLAMP_SCALE,
        }
    }
}

/// The system's limits and configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UclampSystem {
    /// `uclamp_default[]`: `sched_util_clamp_min` and `sched_util_clamp_max`, the most that each can be, 0..=1024.
    pub limit: [u32; 2],
    /// `sched_util_clamp_min_rt_default`, 0..=1024.
    pub min_rt_default: u32,
    /// CONFIG_UCLAMP_BUCKETS_COUNT, 5..=20.
    pub buckets: u32,
}

impl Default for UclampSystem {
    fn default() -> Self {
        UclampSystem { limit: [UCLAMP_SCALE; 2], min_rt_default: UCLAMP_SCALE, buckets: 5 }
    }
}

impl UclampSystem {
    /// As these tunables have it.
    pub fn of(tunables: &Tunables) -> Self {
        let value = |tunable: Option<u64>, default: u32| tunable.map_or(default, |value| value as u32);
        UclampSystem {
            limit: [tunables.sched_util_clamp_min, tunables.sched_util_clamp_max].map(|t| value(t, UCLAMP_SCALE)),
            min_rt_default: value(tunables.sched_util_clamp_min_rt_default, UCLAMP_SCALE),
            buckets: value(tunables.uclamp_buckets, 5),
        }
    }

    /// Whether an administrator has changed one, which makes the kernel keep clamps (`sched_uclamp_used`).
    pub fn is_changed(&self) -> bool {
        UclampSystem { buckets: 5, ..*self } != UclampSystem::default()
    }

    /// `uclamp_bucket_id()`: the bucket of a clamp.
    pub fn bucket_id(&self, value: u32) -> usize {
        // DIV_ROUND_CLOSEST(SCHED_CAPACITY_SCALE, UCLAMP_BUCKETS).
        let delta = (UCLAMP_SCALE + self.buckets / 2) / self.buckets;
        (value / delta).min(self.buckets - 1) as usize
    }
}

/// The effective clamps of a task's group (`task_group(p)->uclamp`), 0..=1024. Groups' own requests are
/// `cpu.uclamp.min` and `cpu.uclamp.max`, which the groups above them limit (`cpu_util_update_eff()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupUclamp {
    /// UCLAMP_MIN.
    pub min: u32,
    /// UCLAMP_MAX.
    pub max: u32,
}

impl GroupUclamp {
    /// Those of a group that requests these, in a group with those of `above`; `None` is the root
    /// (`cpu_util_update_eff()`, the same from 5.10 to 7.3). Both are limited by those above: a maximum too, so that
    /// protection is never beyond the limit.
    pub fn update_eff(min: Option<u32>, max: Option<u32>, above: Option<GroupUclamp>) -> Self {
        let above = above.unwrap_or(GroupUclamp { min: UCLAMP_SCALE, max: UCLAMP_SCALE });
        let max = max.unwrap_or(UclampId::Max.none()).min(above.max);
        GroupUclamp { min: min.unwrap_or(UclampId::Min.none()).min(above.min).min(max), max }
    }
}

/// A request that `sched_setattr()` refuses (`uclamp_validate()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UclampInvalid {
    /// The minimum that the task would have.
    pub min: u32,
    /// The maximum that it would have.
    pub max: u32,
}

impl std::fmt::Display for UclampInvalid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "sched_setattr() refuses a minimum clamp of {} with a maximum of {} (EINVAL); expected 0 to 1024, the \
             minimum not above the maximum",
            self.min, self.max
        )
    }
}

impl std::error::Error for UclampInvalid {}

/// A clamp that is counted in a bucket (`struct uclamp_se`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    value: u32,
    bucket: usize,
    active: bool,
}

/// The clamps of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskUclamp {
    /// `p->uclamp_req[]`, and whether the user has defined it.
    req: [(u32, bool); 2],
    /// `p->uclamp[]`: while `active`, what the run queue counts.
    counted: [Counted; 2],
}

impl Default for TaskUclamp {
    fn default() -> Self {
        TaskUclamp { req: IDS.map(|id| (id.none(), false)), counted: [Counted::default(); 2] }
    }
}

impl TaskUclamp {
    /// `uclamp_fork()`: a child requests what its parent does, and is on no run queue.
    #[must_use]
    pub fn fork(&self) -> Self {
        TaskUclamp { counted: [Counted::default(); 2], ..*self }
    }

    /// Returns its request: the minimum and the maximum.
    pub fn requested(&self) -> [u32; 2] {
        self.req.map(|(value, _)| value)
    }

    /// `uclamp_validate()` and `__setscheduler_uclamp()`: the task requests a minimum, a maximum, or both, from now on.
    /// The caller takes it off its run queue's clamps before and puts it back behind.
    ///
    /// # Errors
    /// If a value is above 1024, or the minimum would be above the maximum. Then nothing changes.
    pub fn request(&mut self, min: Option<u32>, max: Option<u32>) -> Result<(), UclampInvalid> {
        let [old_min, old_max] = self.requested();
        let asked = UclampInvalid { min: min.unwrap_or(old_min), max: max.unwrap_or(old_max) };
        if asked.min > asked.max || asked.max > UCLAMP_SCALE {
            return Err(asked);
        }
        for (req, new) in self.req.iter_mut().zip([min, max]) {
            *req = new.map_or(*req, |value| (value, true));
        }
        Ok(())
    }

    /// `__uclamp_update_util_min_rt_default()`: a realtime task whose user has set no minimum has the system's.
    pub fn update_util_min_rt_default(&mut self, system: &UclampSystem) {
        let (value, user_defined) = &mut self.req[UclampId::Min as usize];
        if !*user_defined {
            *value = system.min_rt_default;
        }
    }

    /// `uclamp_eff_get()`: the effective value of a request. `group` is `None` for a task of the root group or of an
    /// autogroup (`uclamp_tg_restrict()`).
    pub fn eff_get(&self, id: UclampId, system: &UclampSystem, group: Option<GroupUclamp>) -> u32 {
        let (mut value, _) = self.req[id as usize];
        if let Some(GroupUclamp { min, max }) = group {
            // The kernel's clamp() of a value with a minimum above the maximum gives the maximum.
            value = value.max(min).min(max);
        }
        value.min(system.limit[id as usize])
    }

    /// `uclamp_eff_value()`: as the run queue counts it, or would.
    pub fn eff_value(&self, id: UclampId, system: &UclampSystem, group: Option<GroupUclamp>) -> u32 {
        match self.counted[id as usize] {
            Counted { active: true, value, .. } => value,
            _ => self.eff_get(id, system, group),
        }
    }

    /// Both effective values, as placement and balancing read them where clamps are used.
    pub fn uclamp(&self, system: &UclampSystem, group: Option<GroupUclamp>) -> Uclamp {
        let [min, max] = IDS.map(|id| u64::from(self.eff_value(id, system, group)));
        Uclamp { used: true, min, max }
    }
}

/// `struct uclamp_bucket`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    tasks: u32,
    value: u32,
}

/// The clamps of a run queue (`rq->uclamp[]`, `rq->uclamp_flags`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RqUclamp {
    value: [u32; 2],
    buckets: [[Bucket; BUCKETS_MAX]; 2],
    idle: bool,
}

impl Default for RqUclamp {
    fn default() -> Self {
        RqUclamp { value: IDS.map(UclampId::none), buckets: [[Bucket::default(); BUCKETS_MAX]; 2], idle: true }
    }
}

impl RqUclamp {
    /// `uclamp_rq_get()`.
    pub fn get(&self, id: UclampId) -> u32 {
        self.value[id as usize]
    }

    /// `uclamp_rq_is_idle()`: no task is runnable, and the maximum is the last task's.
    pub fn is_idle(&self) -> bool {
        self.idle
    }

    /// As what reads the run queue gets it.
    pub fn rq_util(&self) -> RqUtil {
        RqUtil {
            uclamp_min: u64::from(self.get(UclampId::Min)),
            uclamp_max: u64::from(self.get(UclampId::Max)),
            uclamp_idle: self.idle,
            ..RqUtil::default()
        }
    }

    /// `uclamp_rq_inc()`, where clamps are used: a task becomes runnable here.
    pub fn inc(&mut self, task: &mut TaskUclamp, system: &UclampSystem, group: Option<GroupUclamp>) {
        for id in IDS {
            self.inc_id(task, id, system, group);
        }
        self.idle = false;
    }

    /// `uclamp_rq_dec()`, where clamps are used: a task is no longer runnable. One that became runnable before somebody
    /// used clamps is not counted.
    pub fn dec(&mut self, task: &mut TaskUclamp) {
        for id in IDS {
            self.dec_id(task, id);
        }
    }

    /// `uclamp_update_active()`: the limits or the group's clamps have changed for a task of this run queue.
    pub fn update_active(&mut self, task: &mut TaskUclamp, system: &UclampSystem, group: Option<GroupUclamp>) {
        for id in IDS {
            if !task.counted[id as usize].active {
                continue;
            }
            self.dec_id(task, id);
            self.inc_id(task, id, system, group);
            if id == UclampId::Max {
                self.idle = false;
            }
        }
    }

    fn inc_id(&mut self, task: &mut TaskUclamp, id: UclampId, system: &UclampSystem, group: Option<GroupUclamp>) {
        let value = task.eff_get(id, system, group);
        let counted = Counted { value, bucket: system.bucket_id(value), active: true };
        task.counted[id as usize] = counted;
        let bucket = &mut self.buckets[id as usize][counted.bucket];
        bucket.tasks += 1;
        if bucket.tasks == 1 || value > bucket.value {
            bucket.value = value;
        }
        // uclamp_idle_reset(): the last task's maximum ends.
        if self.idle || value > self.value[id as usize] {
            self.value[id as usize] = value;
        }
    }

    fn dec_id(&mut self, task: &mut TaskUclamp, id: UclampId) {
        let counted = &mut task.counted[id as usize];
        if !std::mem::take(&mut counted.active) {
            return;
        }
        let bucket = &mut self.buckets[id as usize][counted.bucket];
        bucket.tasks -= 1;
        if bucket.tasks == 0 && bucket.value >= self.value[id as usize] {
            self.value[id as usize] = self.max_value(id, counted.value);
        }
    }

    /// `uclamp_rq_max_value()`: the clamp of the highest bucket with a task; without any, `uclamp_idle_value()`.
    fn max_value(&mut self, id: UclampId, last: u32) -> u32 {
        match (self.buckets[id as usize].iter().rev().find(|bucket| bucket.tasks != 0), id) {
            (Some(bucket), _) => bucket.value,
            (None, UclampId::Max) => {
                self.idle = true;
                last
            }
            (None, UclampId::Min) => UclampId::Min.none(),
        }
    }
}
