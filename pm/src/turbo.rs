//! What the hardware gives of what is asked for.

use crate::Khz;
use crate::policy::{PolicyError, check_opps};
use serde::{Deserialize, Serialize};

/// Which cores run at one frequency, whatever each asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordination {
    /// Each core has its own (servers since Haswell, phones' clusters by their policy).
    Core,
    /// All active cores of a package have that of the one that asks for most (clients such as Sandy Bridge).
    Package,
}

/// A package's highest frequency by the number of its active cores (MSR_TURBO_RATIO_LIMIT).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turbo {
    /// With 1, 2, ... active cores, kHz. More active cores than entries have the last. Never ascends.
    pub bins: Vec<Khz>,
    /// The highest frequency without turbo, kHz.
    pub base: Khz,
    /// Who shares a frequency.
    pub coordination: Coordination,
}

impl Turbo {
    /// An error if there is no bin, one is 0 or above the one before it.
    pub fn new(bins: Vec<Khz>, base: Khz, coordination: Coordination) -> Result<Turbo, PolicyError> {
        let mut ascending = bins.clone();
        ascending.reverse();
        ascending.dedup();
        check_opps(ascending)?;
        Ok(Turbo { bins, base, coordination })
    }

    /// The highest frequency, kHz, with `active` cores in C0 (1 if 0). `no_turbo`: turbo is switched off. `cap` is what
    /// the user or the cooling leaves of the package, kHz.
    pub fn limit(&self, active: u32, no_turbo: bool, cap: Khz) -> Khz {
        let index = (active.max(1) as usize - 1).min(self.bins.len().saturating_sub(1));
        let bin = self.bins.get(index).copied().unwrap_or(self.base);
        let hardware = if no_turbo { bin.min(self.base) } else { bin };
        hardware.min(cap)
    }

    /// What a core that asks for `requested` gets, kHz. `highest` is the highest request of the package's active cores,
    /// this one's too; `limit` is that of [`limit`](Self::limit).
    pub fn grant(&self, requested: Khz, highest: Khz, limit: Khz) -> Khz {
        let wanted = match self.coordination {
            Coordination::Core => requested,
            Coordination::Package => highest.max(requested),
        };
        wanted.min(limit)
    }
}
