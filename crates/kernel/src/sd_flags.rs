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
