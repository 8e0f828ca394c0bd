//! The flags of a domain.

bitflags::bitflags! {
    /// `SD_*` flags (`include/linux/sched/sd_flags.h`). The bit numbers are wakelab's own: the kernel's differ from
    /// version to version.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct SdFlags: u32 {
        /// Balance when about to become idle.
        const BALANCE_NEWIDLE = 1 << 0;
        /// Balance on exec.
        const BALANCE_EXEC = 1 << 1;
        /// Balance on fork and clone.
        const BALANCE_FORK = 1 << 2;
        /// Balance on wake-up.
        const BALANCE_WAKE = 1 << 3;
        /// Consider waking the task on the waking CPU.
        const WAKE_AFFINE = 1 << 4;
        /// The CPUs of the domain have different capacities.
        const ASYM_CPUCAPACITY = 1 << 5;
        /// All capacities of the system are in the domain.
        const ASYM_CPUCAPACITY_FULL = 1 << 6;
        /// SMT siblings.
        const SHARE_CPUCAPACITY = 1 << 7;
        /// The CPUs share a cluster resource (an L2 cache, an LLC tag).
        const CLUSTER = 1 << 8;
        /// The CPUs share their last level cache (`SD_SHARE_PKG_RESOURCES` before 6.9).
        const SHARE_LLC = 1 << 9;
        /// Only one CPU balances at a time.
        const SERIALIZE = 1 << 10;
        /// Asymmetric packing.
        const ASYM_PACKING = 1 << 11;
        /// Prefer to place tasks in a sibling domain.
        const PREFER_SIBLING = 1 << 12;
        /// Groups of the domain overlap (`SD_OVERLAP`; 7.x: `SD_NUMA` groups).
        const OVERLAP = 1 << 13;
        /// The domain spans NUMA nodes.
        const NUMA = 1 << 14;
    }
}
