//! The functions of `crates/scx-wakelab/src/bpf/policy.h` as this machine's compiler makes them. What they mean, with
//! units and sources, is said there and at the functions of `sched` that the tests hold them against.
//!
//! It may use a C compiler. It exists for its own tests, and is part of no program.

pub mod select;

use select::SisParam;

/// `struct pelt`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Pelt {
    pub last_update_time: u64,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u32,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
    pub util_est: u32,
    pub pad: u32,
}

/// `struct pelt_clock`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct PeltClock {
    pub wall: u64,
    pub pelt: u64,
    pub lost: u64,
}

/// `struct wakee_flips`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct WakeeFlips {
    pub decay_ts: u64,
    pub last_wakee: u64,
    pub flips: u32,
    pub pad: u32,
}

/// `struct affine_loads`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AffineLoads {
    pub this_load: u64,
    pub prev_load: u64,
    pub waker: u64,
    pub wakee: u64,
    pub this_capacity: u64,
    pub prev_capacity: u64,
}

/// `struct scan_cost`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ScanCost {
    pub wake_stamp: u64,
    pub wake_avg_idle: u64,
    pub avg_scan_cost: u64,
}

/// `struct dur_avg`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DurAvg {
    pub dur_avg: u64,
    pub prev_sum_exec_runtime_vol: u64,
}

/// `struct group_part`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct GroupPart {
    pub weight: u64,
    pub own: u64,
}

/// `group_part_of()` of policy.h.
pub fn group_part_of(load_weight: u32) -> GroupPart {
    let mut part = GroupPart::default();
    set_group_part(&mut part, load_weight);
    part
}

/// `AFFINE_NONE`.
pub const AFFINE_NONE: i32 = -1;
/// `AFFINE_PREV`.
pub const AFFINE_PREV: i32 = 0;
/// `AFFINE_THIS`.
pub const AFFINE_THIS: i32 = 1;

macro_rules! native {
    ($(fn $name:ident = $symbol:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "()` of policy.h.")]
            pub fn $name($($arg: $type),*) $(-> $result)? {
                unsafe extern "C" {
                    fn $symbol($($arg: $type),*) $(-> $result)?;
                }
                // SAFETY: the functions read and write what they are given and nothing else.
                unsafe { $symbol($($arg),*) }
            }
        )*
    };
}

native! {
    fn update_load_sum = wp_update_load_sum(now: u64, sa: &mut Pelt, load: u64, runnable: u64, running: bool) -> bool;
    fn update_load_avg = wp_update_load_avg(sa: &mut Pelt, load: u64);
    fn decay_load = wp_decay_load(val: u64, n: u64) -> u64;
    fn decayed = wp_decayed(avg: u64, ns: u64) -> u64;
    fn util_est_update = wp_util_est_update(sa: &mut Pelt);
    fn task_util_est = wp_task_util_est(util_est: u32) -> u32;
    fn update_rq_clock_pelt = wp_update_rq_clock_pelt(clock: &mut PeltClock, now: u64, idle: bool, cap: u64, freq: u64);
    fn update_idle_rq_clock_pelt = wp_update_idle_rq_clock_pelt(clock: &mut PeltClock, util_sum: u32);
    fn rq_clock_pelt = wp_rq_clock_pelt(clock: &PeltClock) -> u64;
    fn cpu_util = wp_cpu_util(
        util: u64, runnable: u64, util_est: u64, boost: bool, use_est: bool, capacity: u64) -> u32;
    fn weight_of = wp_weight_of(static_prio: i32, sched_idle: bool) -> u32;
    fn sched_weight_from_cgroup = wp_sched_weight_from_cgroup(weight: u32) -> u32;
    fn set_group_part = wp_group_part_of(of: &mut GroupPart, load_weight: u32);
    fn group_part_up = wp_group_part_up(of: &mut GroupPart, shares: u32, sum: i64);
    fn group_part_weight = wp_group_part_weight(of: &GroupPart) -> u64;
    fn calc_delta_fair = wp_calc_delta_fair(ns: u64, weight: u64) -> u64;
    fn record_wakee = wp_record_wakee(waker: &mut WakeeFlips, wakee: u64, jiffies: u64, hz: u64);
    fn wake_wide = wp_wake_wide(master: u32, slave: u32, llc_size: u32) -> bool;
    fn wake_affine_idle = wp_wake_affine_idle(
        this_idle: bool, prev_idle: bool, share_cache: bool, sync: bool, nr_running: u32) -> i32;
    fn wake_affine_weight = wp_wake_affine_weight(of: &AffineLoads, sync: bool, bias: bool, imbalance_pct: u32) -> i32;
    fn nr_idle_scan = wp_nr_idle_scan(
        sum_util: u64, llc_weight: u32, imbalance_pct: u32, form: u32, small_llc: bool) -> i32;
    fn sis_param_bounded = wp_sis_param_bounded(param: &SisParam, nr: i32) -> i32;
    fn update_avg_idle = wp_update_avg_idle(
        cost: &mut ScanCost, avg_idle: u64, idle: u64, most: u64, jiffies: u64) -> u64;
    fn sis_prop_decay = wp_sis_prop_decay(cost: &mut ScanCost, jiffies: u64);
    fn sis_prop_nr = wp_sis_prop_nr(cost: &ScanCost, span_weight: u32) -> i32;
    fn sis_limit_nr = wp_sis_limit_nr(cost: &ScanCost, span_weight: u32, siblings: u32) -> i32;
    fn sis_prop_after_scan = wp_sis_prop_after_scan(cost: &mut ScanCost, time: u64);
    fn is_short_task = wp_is_short_task(dur_avg: u64, min_granularity: u64) -> bool;
    fn dur_avg_update = wp_dur_avg_update(of: &mut DurAvg, sum_exec_runtime: u64);
}
