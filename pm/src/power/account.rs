//! Time by state, and the energy that comes of it.

use serde::{Deserialize, Serialize};

/// A state in which something uses so much power.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerState {
    /// `2208 MHz`, `C6`, ...
    pub name: String,
    /// What is used in it, µW.
    pub power_uw: u64,
}

/// The residencies of one CPU, cluster or package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    states: Vec<PowerState>,
    residency_ns: Vec<u64>,
    entered: Vec<u64>,
    since: u64,
    current: usize,
}

impl Account {
    /// Begins at `now`, ns, in state `current`. Panics if there is no such state.
    pub fn new(states: Vec<PowerState>, now: u64, current: usize) -> Account {
        assert!(current < states.len(), "state {current} of {}", states.len());
        let mut entered = vec![0; states.len()];
        entered[current] = 1;
        Account { residency_ns: vec![0; states.len()], states, entered, since: now, current }
    }

    /// From `now` on the state is `state`. Entering the present one again changes nothing. Panics if there is no such
    /// state or `now` is before the last change.
    #[inline]
    pub fn enter(&mut self, now: u64, state: usize) {
        self.settle(now);
        if state != self.current {
            self.entered[state] += 1;
            self.current = state;
        }
    }

    /// Counts the time up to `now`. Panics if `now` is before the last change.
    #[inline]
    pub fn settle(&mut self, now: u64) {
        assert!(now >= self.since, "time goes back from {} to {now} ns", self.since);
        self.residency_ns[self.current] += now - self.since;
        self.since = now;
    }

    /// Forgets the time up to `now`: what is measured begins here.
    pub fn restart(&mut self, now: u64) {
        self.residency_ns.fill(0);
        self.entered.fill(0);
        self.since = now;
    }

    /// The state it is in.
    pub fn current(&self) -> usize {
        self.current
    }

    /// The states.
    pub fn states(&self) -> &[PowerState] {
        &self.states
    }

    /// Time in each state up to the last [`settle`](Self::settle) or [`enter`](Self::enter), ns.
    pub fn residency_ns(&self) -> &[u64] {
        &self.residency_ns
    }

    /// How often each state was entered.
    pub fn entered(&self) -> &[u64] {
        &self.entered
    }

    /// All of the time, ns.
    pub fn total_ns(&self) -> u64 {
        self.residency_ns.iter().sum()
    }

    /// The energy of each state, fJ: a µW for a ns.
    pub fn energy_fj(&self) -> impl Iterator<Item = u128> {
        let each = self.states.iter().zip(&self.residency_ns);
        each.map(|(state, &ns)| u128::from(state.power_uw) * u128::from(ns))
    }

    /// The energy of all, fJ.
    pub fn total_fj(&self) -> u128 {
        self.energy_fj().sum()
    }

    /// The mean power, µW, rounded down; 0 if no time has passed.
    pub fn mean_uw(&self) -> u64 {
        self.total_fj().checked_div(u128::from(self.total_ns())).map_or(0, |uw| uw as u64)
    }
}

/// Shares of a whole in thousandths of a percent, which add up to 100000 (all 0 if there is nothing to share): what
/// rounding leaves goes to the largest remainders, the first of equals first.
pub fn millipercent(parts: &[u64]) -> Vec<u32> {
    const WHOLE: u128 = 100_000;
    let total: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    if total == 0 {
        return vec![0; parts.len()];
    }
    let exact = |part: u64| u128::from(part) * WHOLE;
    let mut shares: Vec<u32> = parts.iter().map(|&part| (exact(part) / total) as u32).collect();
    let left = WHOLE as u32 - shares.iter().sum::<u32>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(exact(parts[i]) % total));
    for &i in order.iter().take(left as usize) {
        shares[i] += 1;
    }
    shares
}
