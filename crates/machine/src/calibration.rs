//! The record of how a machine was measured.

use serde::Serialize;
use std::collections::BTreeMap;

/// How the costs of a machine were measured, and measurements of it that are not costs (`wakelab calibrate`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Calibration {
    /// When, in UTC: `2026-11-23 14:05`.
    pub date: String,
    /// The release of the kernel that ran: `6.18.44`.
    pub kernel: String,
    /// The preset that stood for it where constants were derived: `v6.12`.
    pub preset: String,
    /// Ticks per second that were measured; that of the preset if none could be.
    pub hz: u32,
    /// How noisy the machine was, in one line.
    pub noise: String,
    /// By the name of a load of `wakelab verify`: the work of one operation, besides its wake-ups and switches, ns.
    pub work: BTreeMap<String, u64>,
}
