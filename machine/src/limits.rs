//! What a cost can be at all.

use crate::Unit;
use std::ops::RangeInclusive;

/// The key that holds a cost's value.
pub(crate) fn key(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Pct => "pct",
    }
}

/// How the unit is called in a message.
pub(crate) fn in_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "nanoseconds",
        Unit::Pct => "per cent",
    }
}

/// Values that a cost and its range can have. No single cost is longer than a second: such a value was meant to be in
/// another unit.
pub(crate) fn limits(name: &str, unit: Unit) -> RangeInclusive<u64> {
    match (name, unit) {
        // Two threads of a core share it: work takes as long as without SMT, up to four times as long.
        ("smt_slowdown", _) => 100..=400,
        (_, Unit::Pct) => 0..=100,
        (_, Unit::Ns) => 0..=1_000_000_000,
    }
}
