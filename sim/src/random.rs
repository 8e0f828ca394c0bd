//! Randomness: one generator for each run, drawn from in the order of events.

use oorandom::Rand64;
use wakelab_workload::Work;

/// The generator.
#[derive(Clone, Debug)]
pub struct Random(Rand64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Random(Rand64::new(u128::from(seed)))
    }

    /// A number below `n`, of equal likelihood but for a part in 2^64 / n.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.rand_u64()) * u128::from(n)) >> 64) as u64
    }

    /// An amount of work, ns.
    #[inline]
    pub fn work(&mut self, work: Work) -> u64 {
        let spread = work.ns * u64::from(work.jitter_pct) / 100;
        if spread == 0 { work.ns } else { work.ns - spread + self.below(2 * spread + 1) }
    }
}
