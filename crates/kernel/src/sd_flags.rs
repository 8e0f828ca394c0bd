//! How versions number the scheduling-domain flags (`include/linux/sched/sd_flags.h`).

/// The flags of one range of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SdFlagTable {
    /// The flags' names, the lowest bit first; an empty name is a bit that nothing uses.
    pub names: &'static [&'static str],
    /// Where the table was read.
    pub source: &'static str,
}

/// 5.2 and 5.3: defined in `include/linux/sched/topology.h`.
pub(crate) static V5_2: SdFlagTable = SdFlagTable {
    names: &[
        "SD_LOAD_BALANCE",
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_SHARE_CPUCAPACITY",
        "SD_SHARE_POWERDOMAIN",
        "SD_SHARE_PKG_RESOURCES",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_OVERLAP",
        "SD_NUMA",
    ],
    source: "the posting that renumbers them for 5.8, against include/linux/sched/topology.h",
};

/// 5.10: no SD_ASYM_CPUCAPACITY_FULL yet.
pub(crate) static V5_10: SdFlagTable = SdFlagTable {
    names: &[
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_SHARE_CPUCAPACITY",
        "SD_SHARE_PKG_RESOURCES",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_OVERLAP",
        "SD_NUMA",
    ],
    source: "include/linux/sched/sd_flags.h, 5.10.262",
};

/// 5.15, 6.1 and 6.6.
pub(crate) static V6_1: SdFlagTable = SdFlagTable {
    names: &[
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_ASYM_CPUCAPACITY_FULL",
        "SD_SHARE_CPUCAPACITY",
        "SD_SHARE_PKG_RESOURCES",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_OVERLAP",
        "SD_NUMA",
    ],
    source: "include/linux/sched/sd_flags.h, 6.1.176; 5.15.167 and 6.6.87 are the same, 5.18 and 5.19 are taken to be",
};

/// 6.8: SD_CLUSTER comes before SD_SHARE_PKG_RESOURCES.
pub(crate) static V6_8: SdFlagTable = SdFlagTable {
    names: &[
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_ASYM_CPUCAPACITY_FULL",
        "SD_SHARE_CPUCAPACITY",
        "SD_CLUSTER",
        "SD_SHARE_PKG_RESOURCES",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_OVERLAP",
        "SD_NUMA",
    ],
    source: "include/linux/sched/sd_flags.h, 6.8",
};

/// 6.12: SD_CLUSTER comes before SD_SHARE_LLC, which was SD_SHARE_PKG_RESOURCES.
pub(crate) static V6_12: SdFlagTable = SdFlagTable {
    names: &[
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_ASYM_CPUCAPACITY_FULL",
        "SD_SHARE_CPUCAPACITY",
        "SD_CLUSTER",
        "SD_SHARE_LLC",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_OVERLAP",
        "SD_NUMA",
    ],
    source: "include/linux/sched/sd_flags.h, 6.12.107",
};

/// 6.18, 7.2 and 7.3: SD_OVERLAP is gone.
pub(crate) static V7_2: SdFlagTable = SdFlagTable {
    names: &[
        "SD_BALANCE_NEWIDLE",
        "SD_BALANCE_EXEC",
        "SD_BALANCE_FORK",
        "SD_BALANCE_WAKE",
        "SD_WAKE_AFFINE",
        "SD_ASYM_CPUCAPACITY",
        "SD_ASYM_CPUCAPACITY_FULL",
        "SD_SHARE_CPUCAPACITY",
        "SD_CLUSTER",
        "SD_SHARE_LLC",
        "SD_SERIALIZE",
        "SD_ASYM_PACKING",
        "SD_PREFER_SIBLING",
        "SD_NUMA",
    ],
    source: "include/linux/sched/sd_flags.h, 6.18.15, 7.2.12 and 7.3.4",
};

/// The flags' names on a version (`6.12`, or a release like `6.12.107`), the lowest bit first; empty where the
/// numbering of that version is not known here.
pub fn sd_flag_names(version: &str) -> &'static [&'static str] {
    crate::Preset::of_release(version).map(|p| p.sd_flags.names).unwrap_or_default()
}

/// The names of the flags set in `bits`, and the bits that `names` does not know.
pub fn decode_sd_flags(names: &[&'static str], bits: u64) -> (Vec<&'static str>, u64) {
    let known = |bit: &u32| names.get(*bit as usize).is_some_and(|name| !name.is_empty());
    let set = || (0..u64::BITS).filter(|bit| bits >> bit & 1 != 0);
    let unknown = set().filter(|bit| !known(bit)).fold(0, |rest, bit| rest | 1 << bit);
    (set().filter(known).map(|bit| names[bit as usize]).collect(), unknown)
}

/// Returns the name of the level that spans a package in a version; `None` if it is not known here.
pub fn package_level(version: &str) -> Option<&'static str> {
    crate::Preset::of_release(version).ok().map(|p| p.package_level())
}
