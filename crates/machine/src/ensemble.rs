//! The sets of constants with which a simulated machine is like the real one.

use crate::Machine;
use serde::Serialize;

/// The owner of a machine's constants among those of an [`Ensemble`].
pub const MACHINE: &str = "machine";

/// A constant that was fitted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FittedConstant {
    /// Its owner: [`MACHINE`], or a workload (`netperf:TCP_RR`).
    pub of: String,
    /// Its name there: `probe`, `kworker_run_ns`.
    pub name: String,
}

impl FittedConstant {
    /// The key of a machine file that holds its values: `probe`, `netperf:TCP_RR client_ns`.
    pub fn key(&self) -> String {
        if self.of == MACHINE { self.name.clone() } else { format!("{} {}", self.of, self.name) }
    }
}

/// All sets of constants that fit what was measured on a machine, as far as they were found (`wakelab fit`). Several
/// do: measurements have noise, and some constants make up for each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ensemble {
    /// The data to which they were fitted, and the date.
    pub fitted: String,
    /// The constants in the order of their [keys](FittedConstant::key), which is that of the values of a set.
    pub constants: Vec<FittedConstant>,
    /// The sets, one or more. The first fits best, and is what the machine's own costs are.
    pub sets: Vec<Vec<u64>>,
}

impl Machine {
    /// The parameters of a workload that were fitted on this machine, by name: those of the set that fits best.
    pub fn fitted_params<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = (String, u64)> + 'a {
        let fitted = self.ensemble.iter().flat_map(|ensemble| ensemble.constants.iter().zip(&ensemble.sets[0]));
        fitted.filter(move |(one, _)| one.of == workload).map(|(one, &value)| (one.name.clone(), value))
    }

    /// Sets a constant of the machine: a cost, or a number of the background work. Returns false if it has none of that
    /// name.
    pub fn set_constant(&mut self, name: &str, value: u64) -> bool {
        match name {
            KWORKER_PERIOD => self.noise.kworker_period_ns = value,
            KWORKER_RUN => self.noise.kworker_run_ns = value,
            DAEMONS => self.noise.daemons = value,
            name => match self.costs.get_mut(name).or_else(|| self.scx_costs.get_mut(name)) {
                Some(cost) => cost.value = value,
                None => return false,
            },
        }
        // A machine file must also satisfy this: a kworker is done before it is woken again.
        let noise = &mut self.noise;
        if noise.kworker_period_ns > 0 {
            noise.kworker_run_ns = noise.kworker_run_ns.min(noise.kworker_period_ns - 1);
        }
        true
    }
}

/// The name of [`Noise::kworker_period_ns`](crate::Noise::kworker_period_ns) as a constant.
pub(crate) const KWORKER_PERIOD: &str = "kworker_period_ns";
/// The name of [`Noise::kworker_run_ns`](crate::Noise::kworker_run_ns) as a constant.
pub(crate) const KWORKER_RUN: &str = "kworker_run_ns";
/// The name of [`Noise::daemons`](crate::Noise::daemons) as a constant.
pub(crate) const DAEMONS: &str = "daemons";
