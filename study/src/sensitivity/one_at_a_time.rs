//! Each constant at both ends of its range, all others as they are.

use super::Constant;

/// Two samples for each constant: at its lowest, at its highest.
pub(super) fn samples(constants: &[Constant]) -> Vec<Vec<u64>> {
    let usual: Vec<u64> = constants.iter().map(|constant| constant.value).collect();
    let changed = |at: usize, value| {
        let mut values = usual.clone();
        values[at] = value;
        values
    };
    let both = |(at, constant): (usize, &Constant)| [changed(at, constant.low), changed(at, constant.high)];
    constants.iter().enumerate().flat_map(both).collect()
}
