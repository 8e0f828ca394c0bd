//! What sysfs does not have: costs and background work.

use crate::{Costs, MachineError, MachineFile, Noise, NoiseOrigin, Origin};

/// The machine whose costs are taken: the only one whose costs were fitted to anything.
const OF: &str = "intel-1s56c112t";

/// The costs and the background work of that machine, all assumed.
pub(super) fn defaults() -> Result<(Costs, Noise, NoiseOrigin), MachineError> {
    let machine = MachineFile::builtin(OF)?.machine;
    let mut costs = machine.costs;
    for name in Costs::NAMES {
        if let Some(cost) = costs.get_mut(name) {
            cost.origin = origin();
        }
    }
    Ok((costs, machine.noise, NoiseOrigin { origin: origin(), ..machine.noise_origin }))
}

fn origin() -> Origin {
    Origin::Assumed(format!(
        "sysfs does not have it: value and range of {OF}, and a machine of another kind may lie outside"
    ))
}
