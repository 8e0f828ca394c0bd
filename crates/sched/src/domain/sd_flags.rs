//! `SD_*`: the flags of a domain (`include/linux/sched/sd_flags.h`).

use std::fmt;

bitflags::bitflags! {
    /// The `SD_*` flags (`include/linux/sched/sd_flags.h`). The bit numbers are wakelab's own because the kernel's
    /// differ from version to version.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct SdFlags: u32 {
        /// Balance when a CPU is about to become idle.
        const BALANCE_NEWIDLE = 1 << 0;
        /// Balance on exec.
        const BALANCE_EXEC = 1 << 1;
        /// Balance on fork and clone.
        const BALANCE_FORK = 1 << 2;
        /// Balance on wake-up.
        const BALANCE_WAKE = 1 << 3;
        /// Consider the waking CPU for the wakee.
        const WAKE_AFFINE = 1 << 4;
        /// The CPUs of the domain have different capacities.
        const ASYM_CPUCAPACITY = 1 << 5;
        /// The domain has CPUs of every capacity of the system.
        const ASYM_CPUCAPACITY_FULL = 1 << 6;
        /// The CPUs are SMT siblings.
        const SHARE_CPUCAPACITY = 1 << 7;
        /// The CPUs share a cluster resource (an L2 cache, an LLC tag).
        const CLUSTER = 1 << 8;
        /// The CPUs share their last level cache (`SD_SHARE_PKG_RESOURCES` before 6.9).
        const SHARE_LLC = 1 << 9;
        /// Only one CPU balances such a domain at a time.
        const SERIALIZE = 1 << 10;
        /// Tasks are packed on CPUs of higher priority.
        const ASYM_PACKING = 1 << 11;
        /// Prefer to place tasks in a sibling domain.
        const PREFER_SIBLING = 1 << 12;
        /// Groups of the domain overlap (`SD_OVERLAP`; 7.x: `SD_NUMA` groups).
        const OVERLAP = 1 << 13;
        /// The domain spans NUMA nodes.
        const NUMA = 1 << 14;
    }
}

/// The kernel's names. If a flag has had two, the newer one comes first.
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
    /// `SD_DEGENERATE_GROUPS_MASK` (`kernel/sched/topology.c`, since 5.10): the flags that have a meaning only if the
    /// domain has at least two groups.
    pub(super) const DEGENERATE_GROUPS_MASK: SdFlags = SdFlags::all().difference(SdFlags::WAKE_AFFINE);

    /// Returns the flag of a kernel name such as `SD_SHARE_LLC`, which was `SD_SHARE_PKG_RESOURCES` before 6.9. `None`
    /// if no flag has this name.
    pub fn from_kernel_name(name: &str) -> Option<SdFlags> {
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, flag)| flag)
    }

    /// Iterates over the kernel's names of the flags, in the order of `sd_flags.h`. If a flag has had two names, it is
    /// the newer one.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES[..SdFlags::all().bits().count_ones() as usize]
            .iter()
            .filter(move |(_, flag)| self.contains(*flag))
            .map(|&(name, _)| name)
    }

    /// Decodes the `flags` value of a running kernel's domain. `numbering` names the bits of that version from bit 0
    /// up, in the order of its `sd_flags.h`.
    ///
    /// # Errors
    /// If a bit has no name, or one that the model does not have.
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

    /// Encodes the flags as a kernel with this numbering shows them. It is the inverse of [`SdFlags::from_raw`].
    ///
    /// # Errors
    /// If the numbering lacks one of the flags.
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

/// Why a raw `flags` value could not be decoded or encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdFlagsError {
    /// A bit is set that the numbering does not name.
    NoName {
        /// The number of the bit.
        bit: u32,
        /// The whole value.
        raw: u64,
    },
    /// A bit is set whose name the model does not have.
    Unknown {
        /// The name in the numbering.
        name: String,
        /// The number of the bit.
        bit: u32,
        /// The whole value.
        raw: u64,
    },
    /// The numbering lacks a flag: that kernel version does not have it.
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
