//! The groups of a large domain in the order in which load balance and the slow path prefer them, so that neither
//! compares all groups each time.
//!
//! Both walk the ring and keep the best group so far (`update_sd_pick_busiest()`, `update_pick_idlest()`). If CPUs are
//! alike and no group is imbalanced by affinities, what they compare is a number of each group, its `Rank`, and of
//! equals the first or the last of the ring stays. Two tournaments keep these numbers. The best of the groups that come
//! one after the other in the ring takes log2(groups) steps:
//!
//! ```text
//! a CPU has changed        the ranks of its group are stale     GroupTable::refresh()
//! before a pass, a fork    stale ranks are worked out anew      GroupTable::rank_domain(), ::rank_all()
//! in it                    the best of a range of groups        RingOrder::busiest(), ::idlest()
//! ```
//!
//! The group that pulls, or in which the task is, takes no part: its walk compares the ranges around it, in the
//! ring's order, by the kernel's own comparison.

use crate::balance::{BalanceRules, SgLbStats, busiest_rank};
use crate::domain::{SchedDomain, SdFlags};
use crate::group_sums::GroupSums;
use crate::select::GroupStats;
use crate::tournament::Tournament;
use std::ops::Range;

/// How much a group is preferred: the lowest rank is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rank {
    /// Below 2^[`Rank::BITS`].
    pub value: u64,
    /// Of groups with this rank the last of the walk is the best, not the first. All of a ring's groups with one rank
    /// agree.
    pub last_of_equals: bool,
}

impl Rank {
    /// The bits of the value.
    pub const BITS: u32 = 50;

    /// Its bits below those of the group's type.
    pub const BITS_IN_TYPE: u32 = Self::BITS - 3;

    /// The rank of a group in the `nth` type, where 0 is the best, and the rank within the type.
    pub fn new(nth: u64, in_type: u64) -> Self {
        debug_assert!(nth < 8 && in_type < 1 << Self::BITS_IN_TYPE);
        Rank { value: nth << Self::BITS_IN_TYPE | in_type, last_of_equals: false }
    }
}

/// Low bits of a key that hold the group's index in the ring: 8192 groups.
const INDEX_BITS: u32 = 13;
const LAST_INDEX: u64 = (1 << INDEX_BITS) - 1;

/// The ranks of a ring's groups by one reader.
#[derive(Clone, Debug)]
struct Order {
    /// By index: the rank, how equals compare, and the index itself.
    ranks: Tournament,
    /// The indices whose rank is to be worked out anew.
    stale: Vec<u32>,
    /// By index: whether it is among them.
    is_stale: Vec<bool>,
}

impl Order {
    fn new(len: usize) -> Self {
        Order { ranks: Tournament::new(len), stale: (0..len as u32).collect(), is_stale: vec![true; len] }
    }

    #[inline]
    fn set(&mut self, index: usize, rank: Option<Rank>) {
        let key = rank.map_or(Tournament::NONE, |Rank { value, last_of_equals }| {
            let order = if last_of_equals { LAST_INDEX - index as u64 } else { index as u64 };
            (value << 1 | u64::from(last_of_equals)) << INDEX_BITS | order
        });
        self.ranks.set(index, key);
    }

    #[inline]
    fn outdate(&mut self, index: usize) {
        if !std::mem::replace(&mut self.is_stale[index], true) {
            self.stale.push(index as u32);
        }
    }

    #[inline]
    fn best(&self, range: Range<usize>) -> Option<usize> {
        let key = self.ranks.first_of(range.start, range.end);
        let order = key & LAST_INDEX;
        let last_of_equals = key >> INDEX_BITS & 1 != 0;
        (key != Tournament::NONE).then_some(if last_of_equals { LAST_INDEX - order } else { order } as usize)
    }
}

/// The values on which ranks depend besides the sums.
#[derive(Clone, Copy, Debug)]
struct Group {
    weight: u32,
    capacity: u64,
}

/// The order of one ring's groups.
#[derive(Clone, Debug)]
pub struct RingOrder {
    groups: Vec<Group>,
    flags: SdFlags,
    imbalance_pct: u32,
    rules: BalanceRules,
    /// Sum of the capacities of all groups.
    capacity: u64,
    busiest: Order,
    idlest: Order,
}

/// The reader that compares groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupReader {
    /// A balance pass: `update_sd_pick_busiest()`.
    LoadBalance,
    /// A fork or exec: `update_pick_idlest()`.
    SlowPath,
}

impl RingOrder {
    /// Creates the order of the groups of a domain, which are disjoint. Returns `None` if their ranks would not say
    /// which is the busiest: some are cores with SMT and others are not, or groups have no types (up to 5.4).
    pub(crate) fn new(sd: &SchedDomain, rules: &BalanceRules) -> Option<Self> {
        let flags = sd.groups[0].flags;
        let alike =
            sd.groups.iter().all(|group| (group.flags ^ flags) & SdFlags::SHARE_CPUCAPACITY == SdFlags::empty());
        let groups: Vec<Group> =
            sd.groups.iter().map(|group| Group { weight: group.weight, capacity: group.capacity }).collect();
        (alike && !rules.by_load && groups.len() as u64 <= LAST_INDEX + 1).then(|| RingOrder {
            capacity: groups.iter().map(|group| group.capacity).sum(),
            busiest: Order::new(groups.len()),
            idlest: Order::new(groups.len()),
            groups,
            flags,
            imbalance_pct: sd.imbalance_pct,
            rules: *rules,
        })
    }

    fn order(&mut self, reader: GroupReader) -> &mut Order {
        match reader {
            GroupReader::LoadBalance => &mut self.busiest,
            GroupReader::SlowPath => &mut self.idlest,
        }
    }

    /// Notes that a group has changed.
    #[inline]
    pub(crate) fn outdate(&mut self, index: usize) {
        self.busiest.outdate(index);
        self.idlest.outdate(index);
    }

    /// Works out the ranks of the groups anew that have changed, for this reader; `sums` returns those of a group.
    #[inline]
    pub(crate) fn rank<'s>(&mut self, reader: GroupReader, sums: impl Fn(usize) -> &'s GroupSums) {
        while let Some(index) = self.order(reader).stale.pop() {
            let index = index as usize;
            let (Group { weight, capacity }, sums) = (self.groups[index], sums(index));
            let pct = self.imbalance_pct;
            let rank = match reader {
                GroupReader::LoadBalance => {
                    let sgs = SgLbStats::of_other(sums, (weight, capacity, self.flags), pct, &self.rules);
                    busiest_rank(&self.rules, &sgs)
                }
                GroupReader::SlowPath => Some(GroupStats::of(sums).classified(weight, capacity, pct).rank()),
            };
            let order = self.order(reader);
            order.is_stale[index] = false;
            order.set(index, rank);
        }
    }

    /// Whether all ranks for this reader are those of now.
    #[inline]
    pub(crate) fn is_ranked(&self, reader: GroupReader) -> bool {
        match reader {
            GroupReader::LoadBalance => self.busiest.stale.is_empty(),
            GroupReader::SlowPath => self.idlest.stale.is_empty(),
        }
    }

    /// Sum of the capacities of all groups.
    #[inline]
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether the order is that of a CPU that is idle or not (`dst_idle`): some rules tell cores with SMT apart for an
    /// idle one (`smt_balance`).
    #[inline]
    pub(crate) fn holds_for(&self, dst_idle: bool) -> bool {
        dst_idle || !self.rules.smt_balance || !self.flags.contains(SdFlags::SHARE_CPUCAPACITY)
    }

    /// Returns the busiest of the groups in this range of the ring's indices; `None` if none has a task to take. The
    /// CPU that pulls is in none of them.
    #[inline]
    pub(crate) fn busiest(&self, range: Range<usize>) -> Option<usize> {
        self.busiest.best(range)
    }

    /// Returns the idlest of the groups in this range, of which none has the task that is placed.
    #[inline]
    pub(crate) fn idlest(&self, range: Range<usize>) -> Option<usize> {
        self.idlest.best(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuMask;
    use crate::balance::{CpuIdleType, LbParams, update_sd_pick_busiest};
    use crate::domain::{Level, SchedGroup};
    use crate::select::update_pick_idlest;
    use proptest::prelude::*;
    use wakelab_kernel::Preset;

    fn domain(groups: usize, weight: u32, flags: SdFlags) -> SchedDomain {
        let nr_cpus = groups as u32 * weight;
        let capacity = u64::from(weight) * 1024;
        let span = |at: u32| CpuMask::from_cpus(nr_cpus, at * weight..(at + 1) * weight);
        let group = |at| SchedGroup { span: span(at), weight, capacity, flags, balance_mask: None };
        SchedDomain {
            level: Level::Mc,
            flags: SdFlags::empty(),
            imbalance_pct: 117,
            imb_numa_nr: 0,
            span: CpuMask::full(nr_cpus).into(),
            span_weight: nr_cpus,
            groups: (0..groups as u32).map(group).collect(),
            first_group: 0,
        }
    }

    /// Sums of which many are equal, and near where the type of a group changes.
    fn sums(weight: u32) -> impl Strategy<Value = GroupSums> {
        let full = 1024 * u64::from(weight);
        let near = move |at: u64| prop_oneof![0..2 * full, at - 1..at + 2];
        let tasks = (0..2 * weight + 2, 0u32..3, 0..=weight, 0..=weight);
        (tasks, 0u64..3000, near(full * 100 / 117), near(full * 117 / 100)).prop_map(
            |((nr_running, others, idle_cpus, idle_cpus_without), load, util, runnable)| GroupSums {
                load,
                runnable_load: 0,
                util,
                runnable,
                nr_running,
                h_nr_running: nr_running.saturating_sub(others),
                idle_cpus,
                idle_cpus_without,
                overloaded_cpus: 0,
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The best of a range is what the kernel's walk keeps, group by group, after any changes.
        #[test]
        fn the_best_is_that_of_the_walk(
            (groups, weight, changes) in (1usize..40, 1u32..4).prop_flat_map(|(groups, weight)| {
                let change = (0..groups, sums(weight));
                (Just(groups), Just(weight), prop::collection::vec(change, groups..3 * groups + 1))
            }),
            ranges in prop::collection::vec((0usize..41, 0usize..41), 10),
            (is_smt, smt_balance) in any::<(bool, bool)>(),
        ) {
            let flags = if is_smt { SdFlags::SHARE_CPUCAPACITY } else { SdFlags::empty() };
            let sd = domain(groups, weight, flags);
            let rules = BalanceRules { smt_balance, ..Preset::get("v6.12").expect("a preset").balance };
            let mut order = RingOrder::new(&sd, &rules).expect("an order");
            let mut now = vec![GroupSums::default(); groups];
            let changes = (0..groups).map(|index| (index, GroupSums::default())).chain(changes);
            for (index, sums) in changes {
                now[index] = sums;
                order.outdate(index);
                order.outdate(index);
                for reader in [GroupReader::LoadBalance, GroupReader::SlowPath] {
                    prop_assert!(!order.is_ranked(reader));
                    order.rank(reader, |index| &now[index]);
                    prop_assert!(order.is_ranked(reader));
                }
            }
            let params = LbParams {
                rules: &rules,
                flags: sd.flags,
                imbalance_pct: sd.imbalance_pct,
                imb_numa_nr: 0,
                idle: CpuIdleType::NewlyIdle,
                dst_capacity: 0,
                dst_core_idle: false,
            };
            let facts = (weight, sd.groups[0].capacity, flags);
            for (from, to) in ranges {
                let range = from % (groups + 1)..to % (groups + 1);
                let (mut busiest, mut busiest_stat) = (None, SgLbStats::none());
                let (mut idlest, mut idlest_stat) = (None, None);
                for index in range.clone() {
                    let sgs = SgLbStats::of_other(&now[index], facts, sd.imbalance_pct, &rules);
                    if update_sd_pick_busiest(&params, &SgLbStats::default(), &busiest_stat, &sgs) {
                        (busiest, busiest_stat) = (Some(index), sgs);
                    }
                    let stats = GroupStats::of(&now[index]).classified(weight, facts.1, sd.imbalance_pct);
                    if idlest_stat.is_none_or(|best| update_pick_idlest(&best, &stats)) {
                        (idlest, idlest_stat) = (Some(index), Some(stats));
                    }
                }
                prop_assert_eq!(order.busiest(range.clone()), busiest);
                prop_assert_eq!(order.idlest(range), idlest);
            }
        }
    }
}
