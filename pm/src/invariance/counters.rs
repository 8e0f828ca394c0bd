//! APERF, MPERF and the TSC.

use crate::Khz;
use crate::governor::CounterValues;

/// A CPU's counters. APERF and MPERF count only while the CPU is in C0, in which a polling idle loop is too; the TSC
/// counts always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counters {
    base: Khz,
    values: CounterValues,
    /// What is left of a cycle, millionths: kHz times ns is a millionth of a cycle.
    rest: [u32; 3],
}

impl Counters {
    /// At 0. `base` is the frequency of MPERF and the TSC, kHz.
    pub fn new(base: Khz) -> Counters {
        Counters { base, values: CounterValues::default(), rest: [0; 3] }
    }

    /// Lets `ns` pass. `cur`: the frequency at which the CPU was in C0 meanwhile, kHz, or `None` in a deeper state. No
    /// cycle is lost, however the time is cut.
    pub fn count(&mut self, ns: u64, cur: Option<Khz>) {
        add(&mut self.values.tsc, &mut self.rest[0], ns, self.base);
        if let Some(cur) = cur {
            add(&mut self.values.mperf, &mut self.rest[1], ns, self.base);
            add(&mut self.values.aperf, &mut self.rest[2], ns, cur);
        }
    }

    /// What they show.
    pub fn values(&self) -> CounterValues {
        self.values
    }
}

fn add(counter: &mut u64, rest: &mut u32, ns: u64, khz: Khz) {
    const MILLION: u128 = 1_000_000;
    let cycles = u128::from(ns) * u128::from(khz) + u128::from(*rest);
    *counter = counter.wrapping_add((cycles / MILLION) as u64);
    *rest = (cycles % MILLION) as u32;
}
