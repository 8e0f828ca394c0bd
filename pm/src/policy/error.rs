//! What is wrong with a description.

use crate::Khz;
use std::fmt;

/// Why operating points or a policy cannot be. A reader of files adds the file and the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// There is no operating point.
    NoOpp,
    /// A frequency is not above the one before it.
    NotAscending {
        /// Which one, from 0.
        index: usize,
        /// The one before, kHz.
        before: Khz,
        /// This one, kHz.
        khz: Khz,
    },
    /// A frequency is 0.
    ZeroFrequency {
        /// Which one, from 0.
        index: usize,
    },
    /// The power at an operating point is below that of a slower one.
    PowerFalls {
        /// Which one, from 0.
        index: usize,
        /// The power of the one before, µW.
        before: u64,
        /// Its own power, µW.
        power_uw: u64,
    },
    /// A policy without a CPU.
    NoCpu,
    /// The lowest frequency is above the highest, or the step is 0.
    NoRange {
        /// The lowest, kHz.
        min: Khz,
        /// The highest, kHz.
        max: Khz,
        /// The step, kHz.
        step: Khz,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOpp => write!(f, "no operating point: give at least one frequency"),
            Self::NotAscending { index, before, khz } => {
                write!(f, "operating point {index}: {khz} kHz is not above {before} kHz: list them ascending")
            }
            Self::ZeroFrequency { index } => write!(f, "operating point {index}: a frequency of 0: give it in kHz"),
            Self::PowerFalls { index, before, power_uw } => write!(
                f,
                "operating point {index}: {power_uw} µW is below the {before} µW of a lower frequency: power rises with \
                 frequency"
            ),
            Self::NoCpu => write!(f, "a frequency domain without a CPU: list its CPUs"),
            Self::NoRange { min, max, step } => {
                write!(f, "frequencies from {min} to {max} kHz by {step}: expected lowest ≤ highest and a step above 0")
            }
        }
    }
}

impl std::error::Error for PolicyError {}
