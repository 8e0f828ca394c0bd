//! What the user and the cooling allow.

use crate::Khz;
use serde::{Deserialize, Serialize};

/// Constraints on a policy (`freq_qos`): each is what it is without the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// `scaling_min_freq`, kHz.
    pub user_min: Khz,
    /// `scaling_max_freq`, kHz.
    pub user_max: Khz,
    /// What a cooling device allows, kHz.
    pub thermal_max: Khz,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits = Limits { user_min: 0, user_max: Khz::MAX, thermal_max: Khz::MAX };

    /// The lower of the maxima, kHz.
    pub fn max(&self) -> Khz {
        self.user_max.min(self.thermal_max)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::NONE
    }
}
