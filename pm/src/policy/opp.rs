//! Operating points.

use super::error::PolicyError;
use crate::Khz;
use serde::{Deserialize, Serialize};

/// A frequency with the voltage it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Opp {
    /// Frequency, kHz.
    pub khz: Khz,
    /// Voltage, µV.
    pub microvolts: u32,
}

/// Whether the frequencies are above 0 and ascend. Says which one is not.
pub fn check_opps(frequencies: impl IntoIterator<Item = Khz>) -> Result<(), PolicyError> {
    let mut before = None;
    for (index, khz) in frequencies.into_iter().enumerate() {
        if khz == 0 {
            return Err(PolicyError::ZeroFrequency { index });
        }
        if let Some(before) = before.filter(|&before| before >= khz) {
            return Err(PolicyError::NotAscending { index, before, khz });
        }
        before = Some(khz);
    }
    before.map(|_| ()).ok_or(PolicyError::NoOpp)
}
