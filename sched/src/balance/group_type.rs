//! What kind of load a group has.

/// `enum group_type`, in the kernel's order: a later type is pulled from before an earlier one. The slow path of wake-ups
/// has a smaller one of its own, [`select::slow::GroupType`](crate::select::slow::GroupType).
///
/// 7.2 has `group_llc_balance` between the last two, for cache-aware balancing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// Capacity is left.
    #[default]
    HasSpare,
    /// As many tasks as it can take.
    FullyBusy,
    /// CPUs differ in capacity, and a task is on one that is too small; or a CPU has one task and a reduced capacity.
    MisfitTask,
    /// SMT siblings share a core while the destination has one to itself.
    SmtBalance,
    /// The destination has a higher priority (ITMT).
    AsymPacking,
    /// Affinities kept balancing from moving tasks out of it.
    Imbalanced,
    /// More tasks than it can take.
    Overloaded,
}

impl GroupType {
    /// All, in the kernel's order.
    pub const ALL: [GroupType; 7] = [
        GroupType::HasSpare,
        GroupType::FullyBusy,
        GroupType::MisfitTask,
        GroupType::SmtBalance,
        GroupType::AsymPacking,
        GroupType::Imbalanced,
        GroupType::Overloaded,
    ];

    /// The kernel's name, without `group_`.
    pub fn name(self) -> &'static str {
        match self {
            GroupType::HasSpare => "has_spare",
            GroupType::FullyBusy => "fully_busy",
            GroupType::MisfitTask => "misfit_task",
            GroupType::SmtBalance => "smt_balance",
            GroupType::AsymPacking => "asym_packing",
            GroupType::Imbalanced => "imbalanced",
            GroupType::Overloaded => "overloaded",
        }
    }
}
