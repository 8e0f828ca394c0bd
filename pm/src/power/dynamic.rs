//! The power of switching transistors.

use crate::policy::Opp;

/// C × V² × f, in µW. `coefficient` is C in µW per MHz and V² (`dynamic-power-coefficient` of a device tree), for one
/// CPU that is always busy.
pub fn dynamic_power_uw(coefficient: u32, opp: &Opp) -> u64 {
    let volts = u128::from(opp.microvolts).pow(2);
    let uw = u128::from(coefficient) * volts * u128::from(opp.khz) / 1_000_000_000_000_000;
    u64::try_from(uw).unwrap_or(u64::MAX)
}
