//! SIS_CLUSTER: the target's cluster is scanned before the rest of the LLC (since 6.7), and how its postings did it.
//!
//! ```text
//! select_idle_sibling(): an idle prev or recent_used_cpu that shares only the LLC with the target is
//!     V5, V7, V10    forgotten
//!     V8, merged     kept, and taken where nothing is found, without another look: prev before recent_used_cpu
//!     V9             kept, and taken where nothing is found if it is still idle
//! select_idle_cpu(), after the limits:
//!     for cpu in the target's cluster:      from target + 1 on, wrapping; V5: in ascending order, and only without SMT
//!         as in the scan of the LLC, whose limit goes on
//!     cpus &= ~cluster
//! ```
//!
//! All of it only where some domain has `SD_CLUSTER` (`sched_cluster_active`), which the postings set for the level CLS
//! ([`DomainOptions::with_features`](crate::domain::DomainOptions::with_features)).
//!
//! "[PATCH] sched/fair: Scan cluster before scanning LLC in wake-up path", Barry Song and Yicong Yang: v5 30 June 2022,
//! v7 22 August 2022, v8 30 May 2023, v9 19 July 2023, v10 12 October 2023. Merged as 8881e1639f1f and 22165f61d0c4.

use super::policy::{About, Recorded, Switch};
use wakelab_kernel::{Code, Feature, FeatureSet};

/// SIS_CLUSTER and its postings.
pub(super) const ABOUT: About = About {
    switches: &[
        Switch {
            feature: Feature::SIS_CLUSTER,
            does: "on by default, if the version scans the target's cluster before the LLC and there are clusters. \
                   `NO_SIS_CLUSTER` turns it off",
            recorded: Recorded::Yes,
        },
        Switch {
            feature: Feature::SIS_CLUSTER_V5,
            does: "scans the target's cluster first, without SMT, in ascending order; an idle prev or recent_used_cpu \
                counts only in the cluster",
            recorded: Recorded::Not(CLUSTERS),
        },
        Switch {
            feature: Feature::SIS_CLUSTER_V7,
            does: "the same from the target on, and with SMT, too",
            recorded: Recorded::Not(CLUSTERS),
        },
        Switch {
            feature: Feature::SIS_CLUSTER_V8,
            does: "as V7; an idle prev or recent_used_cpu elsewhere in the LLC is taken if nothing is found",
            recorded: Recorded::Not(CLUSTERS),
        },
        Switch {
            feature: Feature::SIS_CLUSTER_V9,
            does: "as V8, if it is still idle then",
            recorded: Recorded::Not(CLUSTERS),
        },
        Switch {
            feature: Feature::SIS_CLUSTER_V10,
            does: "as V7: v10 without its third patch, which makes it the merged form",
            recorded: Recorded::Not(CLUSTERS),
        },
    ],
    tunables: &[],
};

/// The input that recordings of kernels without the scan of clusters lack.
const CLUSTERS: &str = "SD_CLUSTER, by which clusters are known";

/// How the target's cluster is scanned first, and what becomes of an idle CPU outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterScan {
    /// v5: in ascending order, and not with SMT.
    pub ascending: bool,
    /// How an idle previous or recently used CPU outside of the cluster is treated.
    pub far: Far,
}

/// How an idle previous or recently used CPU that shares only the LLC with the target is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// It is forgotten.
    Forgotten,
    /// It is taken where nothing is found.
    Taken,
    /// The same if it is still idle then.
    TakenIfIdle,
}

/// The postings.
const POSTED: [(Feature, ClusterScan); 5] = [
    (Feature::SIS_CLUSTER_V5, ClusterScan { ascending: true, far: Far::Forgotten }),
    (Feature::SIS_CLUSTER_V7, ClusterScan { ascending: false, far: Far::Forgotten }),
    (Feature::SIS_CLUSTER_V8, ClusterScan { ascending: false, far: Far::Taken }),
    (Feature::SIS_CLUSTER_V9, ClusterScan { ascending: false, far: Far::TakenIfIdle }),
    (Feature::SIS_CLUSTER_V10, ClusterScan { ascending: false, far: Far::Forgotten }),
];

impl ClusterScan {
    /// The form that is on; a posting replaces the version's own. `None` where clusters are not scanned first.
    pub(super) fn of(code: &Code, features: FeatureSet) -> Option<Self> {
        let merged = ClusterScan { ascending: false, far: Far::Taken };
        let posted = POSTED.into_iter().find(|&(feature, _)| features.has(feature));
        let own = code.cluster_scan && features.has(Feature::SIS_CLUSTER);
        posted.map(|(_, scan)| scan).or(own.then_some(merged))
    }
}

/// Whether a posting is on, so that domains of clusters have `SD_CLUSTER`.
pub(crate) fn sets_cluster_flag(features: FeatureSet) -> bool {
    POSTED.iter().any(|&(feature, _)| features.has(feature))
}
