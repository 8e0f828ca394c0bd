//! Turbo: the highest frequency of a package by the number of its active cores.

use crate::Khz;
use crate::policy::{PolicyError, check_opps};

/// A package's turbo frequencies (MSR_TURBO_RATIO_LIMIT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turbo {
    /// The highest frequency with 1, 2, ... active cores, kHz. It never rises; more active cores than entries have the
    /// last.
    bins: Vec<Khz>,
    /// The highest frequency without turbo, kHz.
    pub base: Khz,
}

impl Turbo {
    /// Takes the highest frequency with 1, 2, ... active cores, and without turbo, kHz.
    ///
    /// # Errors
    /// If there is no bin, or one is 0 or above the one before it.
    pub fn new(bins: Vec<Khz>, base: Khz) -> Result<Turbo, PolicyError> {
        let mut ascending = bins.clone();
        ascending.reverse();
        ascending.dedup();
        check_opps(ascending)?;
        Ok(Turbo { bins, base })
    }

    /// The highest frequency with `active` cores in C0, kHz; with none, that of one.
    pub fn limit(&self, active: u32) -> Khz {
        let index = (active.max(1) as usize - 1).min(self.bins.len() - 1);
        self.bins[index]
    }
}
