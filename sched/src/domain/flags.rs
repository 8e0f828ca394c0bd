//! The flags of a domain.

use std::fmt;

bitflags::bitflags! {
    /// `SD_*` flags (`include/linux/sched/sd_flags.h`). The bit numbers are wakelab's own: the kernel's differ from
    /// version to version.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// The kernel's names; where a flag has had two, the newer one comes first.
const NAMES: &[(&str, SdFlags)] = &[
    ("SD_BALANCE_NEWIDLE", SdFlags::BALANCE_NEWIDLE),
    ("SD_BALANCE_EXEC", SdFlags::BALANCE_EXEC),
    ("SD_BALANCE_FORK", SdFlags::BALANCE_FORK),
    ("SD_BALANCE_WAKE", SdFlags::BALANCE_WAKE),
    ("SD_WAKE_AFFINE", SdFlags::WAKE_AFFINE),
    ("SD_ASYM_CPUCAPACITY", SdFlags::ASYM_CPUCAPACITY),
    ("SD_ASYM_CPUCAPACITY_FULL", SdFlags::ASYM_CPUCAPACITY_FULL),
    ("SD_SHARE_CPUCAPACITY", SdFlags::SHARE_CPUCAPACITY),
    ("SD_CLUSTER", SdFlags::CLUSTER),
    ("SD_SHARE_LLC", SdFlags::SHARE_LLC),
    ("SD_SERIALIZE", SdFlags::SERIALIZE),
    ("SD_ASYM_PACKING", SdFlags::ASYM_PACKING),
    ("SD_PREFER_SIBLING", SdFlags::PREFER_SIBLING),
    ("SD_OVERLAP", SdFlags::OVERLAP),
    ("SD_NUMA", SdFlags::NUMA),
    ("SD_SHARE_PKG_RESOURCES", SdFlags::SHARE_LLC),
];

impl SdFlags {
    /// `SD_DEGENERATE_GROUPS_MASK` (`kernel/sched/topology.c`, since 5.10): the flags that mean something only where
    /// the domain has at least two groups.
    pub const DEGENERATE_GROUPS_MASK: SdFlags = SdFlags::all().difference(SdFlags::WAKE_AFFINE);

    /// The flag of a kernel name such as `SD_SHARE_LLC`; `SD_SHARE_PKG_RESOURCES` is its name before 6.9.
    pub fn from_kernel_name(name: &str) -> Option<SdFlags> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, flag)| flag)
    }

    /// The kernel's names of the flags in the set, in the order of `sd_flags.h`; the newer name where there are two.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES[..SdFlags::all().bits().count_ones() as usize]
            .iter()
            .filter(move |(_, flag)| self.contains(*flag))
            .map(|&(name, _)| name)
    }

    /// Reads the `flags` of a real kernel's domain. `numbering` names the bits of that version from bit 0 upwards,
    /// in the order of its `sd_flags.h`.
    pub fn from_raw(numbering: &[&str], raw: u64) -> Result<SdFlags, SdFlagsError> {
        let mut flags = SdFlags::empty();
        let mut rest = raw;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let name = numbering.get(bit as usize).ok_or(SdFlagsError::NoName { bit, raw })?;
            flags |= Self::from_kernel_name(name).ok_or_else(|| SdFlagsError::Unknown {
                name: name.to_string(),
                bit,
                raw,
            })?;
        }
        Ok(flags)
    }

    /// The `flags` a kernel with this numbering shows: the reverse of [`SdFlags::from_raw`].
    pub fn to_raw(self, numbering: &[&str]) -> Result<u64, SdFlagsError> {
        let mut raw = 0;
        let mut missing = self;
        for (bit, name) in numbering.iter().enumerate() {
            if let Some(flag) = Self::from_kernel_name(name)
                && self.contains(flag)
            {
                raw |= 1 << bit;
                missing -= flag;
            }
        }
        match missing.names().next() {
            Some(name) => Err(SdFlagsError::NotInNumbering { name }),
            None => Ok(raw),
        }
    }
}

/// Why a raw `flags` value could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdFlagsError {
    /// A bit is set for which the numbering has no name.
    NoName {
        /// The bit's number.
        bit: u32,
        /// The whole value.
        raw: u64,
    },
    /// The numbering names a bit that the model does not know.
    Unknown {
        /// The name in the numbering.
        name: String,
        /// The bit's number.
        bit: u32,
        /// The whole value.
        raw: u64,
    },
    /// The kernel version of the numbering does not have the flag.
    NotInNumbering {
        /// The flag.
        name: &'static str,
    },
}

impl fmt::Display for SdFlagsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SdFlagsError::NoName { bit, raw } => {
                write!(f, "domain flags {raw:x}: bit {bit} has no name in this kernel version's numbering")
            }
            SdFlagsError::Unknown { name, bit, raw } => {
                write!(f, "domain flags {raw:x}: bit {bit} is {name}, which the model does not have")
            }
            SdFlagsError::NotInNumbering { name } => write!(f, "this kernel version has no domain flag {name}"),
        }
    }
}

impl std::error::Error for SdFlagsError {}
