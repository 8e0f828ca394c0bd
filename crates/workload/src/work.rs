//! How much a step takes.

use serde::Serialize;
use std::num::NonZeroU32;

/// An amount of work or of time, drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Work {
    /// The mean, ns.
    pub ns: u64,
    /// The amount is drawn uniformly from `ns` minus and plus this part of it, %, 0 to 100.
    pub jitter_pct: u32,
    /// The number, from 1, of the distribution in [`Workload::distributions`](crate::Workload::distributions) from
    /// which the amount is drawn, in place of `jitter_pct`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<NonZeroU32>,
}

impl Work {
    /// Returns an amount with this mean, ns, that varies uniformly by this part of it, %, 0 to 100.
    pub const fn uniform(ns: u64, jitter_pct: u32) -> Self {
        Work { ns, jitter_pct, distribution: None }
    }
}

/// An empirical distribution of amounts of work or of times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// The name.
    pub name: String,
    /// The values, ns, one or more. Each is as likely as any other.
    pub values: Vec<u64>,
}

impl Distribution {
    /// The mean, ns, rounded down.
    pub fn mean(&self) -> u64 {
        let sum: u128 = self.values.iter().map(|&ns| u128::from(ns)).sum();
        (sum / self.values.len().max(1) as u128) as u64
    }
}
