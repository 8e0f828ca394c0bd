//! `struct load_weight` and `calc_delta_fair()`: weights, and the fixed-point arithmetic that turns run time into
//! virtual time (`kernel/sched/fair.c`; the tables are in `kernel/sched/core.c`).
//!
//! ```text
//! calc_delta_fair(delta, w) = delta * NICE_0_LOAD / w
//! ```

/// The policy of a task of the fair class: `SCHED_NORMAL`, `SCHED_BATCH` or `SCHED_IDLE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_NORMAL` (0).
    #[default]
    Normal,
    /// `SCHED_BATCH` (3): never preempts at wake-up.
    Batch,
    /// `SCHED_IDLE` (5): weighs 3 whatever its nice value, never preempts, and is preempted by any other policy.
    Idle,
}

/// `NICE_0_LOAD`, scaled down: the weight of nice 0, at which virtual time passes as fast as run time.
pub const NICE_0_LOAD: u32 = 1024;

/// `WMULT_SHIFT`: inverse weights are in units of 2^-32.
const WMULT_SHIFT: u32 = 32;

/// A weight and its inverse (`struct load_weight`, with the weight scaled down).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadWeight {
    /// The weight: 3 to 88761 for a task; nice 0 is 1024.
    pub weight: u32,
    /// 2^32 / weight, rounded as the kernel's table is.
    pub inv_weight: u32,
}

impl LoadWeight {
    /// The weight of a task (`set_load_weight()`, 6.1 and 6.12).
    ///
    /// # Panics
    /// If `nice` is outside -20..=19.
    pub fn of(policy: Policy, nice: i8) -> Self {
        assert!((-20..=19).contains(&nice), "a nice value is in -20..=19, not {nice}");
        match policy {
            Policy::Idle => IDLE_WEIGHT,
            Policy::Normal | Policy::Batch => {
                let (weight, inv_weight) = NICE_TO_WEIGHT[(nice + 20) as usize];
                LoadWeight { weight, inv_weight }
            }
        }
    }

    /// The weight of several tasks together, whose weights add up to `sum` (`__update_inv_weight()`, 6.1). The inverse
    /// is (2^32-1) / sum, rounded down.
    pub fn sum(sum: u64) -> Self {
        let inv_weight = u64::from(u32::MAX).checked_div(sum).map_or(u32::MAX, |inv| inv.max(1) as u32);
        LoadWeight { weight: sum.min(u64::from(u32::MAX)) as u32, inv_weight }
    }
}

/// Returns `delta * weight / load.weight` with the kernel's rounding (`__calc_delta()`, 6.1 and 6.12).
///
/// The kernel avoids a 64-by-64 division: it multiplies by the inverse and keeps 32 significant bits of
/// weight * inverse, so the result is a little below the exact quotient.
#[inline]
pub fn calc_delta(delta: u64, weight: u32, load: LoadWeight) -> u64 {
    let fact = u64::from(weight) * u64::from(load.inv_weight);
    let excess = u32::BITS - ((fact >> 32) as u32).leading_zeros();
    ((u128::from(delta) * u128::from(fact >> excess)) >> (WMULT_SHIFT - excess)) as u64
}

/// The virtual time, in ns, that passes for an entity of this weight while it runs for `delta` ns
/// (`calc_delta_fair()`, 6.1 and 6.12).
#[inline]
pub fn calc_delta_fair(delta: u64, load: LoadWeight) -> u64 {
    if load.weight == NICE_0_LOAD { delta } else { calc_delta(delta, NICE_0_LOAD, load) }
}

/// `WEIGHT_IDLEPRIO` and `WMULT_IDLEPRIO`.
const IDLE_WEIGHT: LoadWeight = LoadWeight { weight: 3, inv_weight: 1_431_655_765 };

/// `sched_prio_to_weight[]` and `sched_prio_to_wmult[]` from nice -20 to 19. One step is a factor of about 1.25.
#[rustfmt::skip]
const NICE_TO_WEIGHT: [(u32, u32); 40] = [
    (88761, 48388), (71755, 59856), (56483, 76040), (46273, 92818), (36291, 118348),
    (29154, 147320), (23254, 184698), (18705, 229616), (14949, 287308), (11916, 360437),
    (9548, 449829), (7620, 563644), (6100, 704093), (4904, 875809), (3906, 1099582),
    (3121, 1376151), (2501, 1717300), (1991, 2157191), (1586, 2708050), (1277, 3363326),
    (1024, 4194304), (820, 5237765), (655, 6557202), (526, 8165337), (423, 10153587),
    (335, 12820798), (272, 15790321), (215, 19976592), (172, 24970740), (137, 31350126),
    (110, 39045157), (87, 49367440), (70, 61356676), (56, 76695844), (45, 95443717),
    (36, 119304647), (29, 148102320), (23, 186737708), (18, 238609294), (15, 286331153),
];
