//! Which states there are and what they use.

use super::account::PowerState;
use super::dynamic::dynamic_power_uw;
use crate::Khz;
use crate::idle::IdleStates;
use crate::policy::{Opp, PolicyError, check_opps};
use serde::{Deserialize, Serialize};

/// The power of a CPU.
///
/// A CPU with siblings is one thread of a core: while the siblings are busy too it uses `smt_pct` of the dynamic power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPower {
    opps: Vec<Opp>,
    busy_uw: Vec<u64>,
    smt_uw: Vec<u64>,
    idle: Vec<PowerState>,
}

impl CpuPower {
    /// `coefficient` as in [`dynamic_power_uw`]; `static_uw` is used on top while the CPU is in C0; `smt_pct` 0 to 100.
    /// `opps` has every frequency that the hardware gives. Errors: no operating point, frequencies that do not ascend, a
    /// power that falls with frequency.
    pub fn new(
        opps: &[Opp],
        coefficient: u32,
        static_uw: u64,
        smt_pct: u32,
        idle: &IdleStates,
    ) -> Result<CpuPower, PolicyError> {
        let dynamic = opps.iter().map(|opp| dynamic_power_uw(coefficient, opp)).collect();
        Self::of_powers(opps, dynamic, static_uw, smt_pct, idle)
    }

    /// Of given powers at each operating point, µW, in place of C × V² × f.
    pub fn of_powers(
        opps: &[Opp],
        dynamic_uw: Vec<u64>,
        static_uw: u64,
        smt_pct: u32,
        idle: &IdleStates,
    ) -> Result<CpuPower, PolicyError> {
        check_opps(opps.iter().map(|opp| opp.khz))?;
        for (index, pair) in dynamic_uw.windows(2).enumerate() {
            if pair[1] < pair[0] {
                return Err(PolicyError::PowerFalls { index: index + 1, before: pair[0], power_uw: pair[1] });
            }
        }
        let share = |uw: &u64| (u128::from(*uw) * u128::from(smt_pct) / 100) as u64 + static_uw;
        Ok(CpuPower {
            opps: opps.to_vec(),
            smt_uw: dynamic_uw.iter().map(share).collect(),
            busy_uw: dynamic_uw.iter().map(|uw| uw + static_uw).collect(),
            idle: idle.iter().map(|s| PowerState { name: s.name.clone(), power_uw: s.power_uw }).collect(),
        })
    }

    /// The states of a CPU's [`Account`](super::Account): busy at each operating point, the same with a busy sibling, then
    /// the idle states.
    pub fn states(&self) -> Vec<PowerState> {
        let busy = |powers: &[u64], with: &str| -> Vec<PowerState> {
            let state =
                |(opp, &power_uw): (&Opp, &u64)| PowerState { name: format!("{} kHz{with}", opp.khz), power_uw };
            self.opps.iter().zip(powers).map(state).collect()
        };
        [busy(&self.busy_uw, ""), busy(&self.smt_uw, ", sibling busy"), self.idle.clone()].concat()
    }

    /// The operating point of a frequency, kHz: the lowest that has it, or the highest of all.
    pub fn opp(&self, khz: Khz) -> usize {
        self.opps.partition_point(|opp| opp.khz < khz).min(self.opps.len() - 1)
    }

    /// The state of a CPU that is busy at an operating point.
    pub fn busy(&self, opp: usize, sibling_busy: bool) -> usize {
        opp + if sibling_busy { self.opps.len() } else { 0 }
    }

    /// The state of a CPU in an idle state.
    pub fn idle(&self, index: usize) -> usize {
        2 * self.opps.len() + index
    }

    /// The operating points.
    pub fn opps(&self) -> &[Opp] {
        &self.opps
    }
}

/// What CPUs share: a cluster's or a package's part of the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DomainPower {
    /// While a CPU of it is awake, µW.
    pub awake_uw: u64,
    /// While all are idle, µW.
    pub idle_uw: u64,
}

impl DomainPower {
    /// The state while a CPU is awake.
    pub const AWAKE: usize = 0;
    /// The state while all are idle.
    pub const IDLE: usize = 1;

    /// The states of its [`Account`](super::Account).
    pub fn states(&self) -> Vec<PowerState> {
        let state = |name: &str, power_uw| PowerState { name: name.to_owned(), power_uw };
        vec![state("awake", self.awake_uw), state("idle", self.idle_uw)]
    }
}
