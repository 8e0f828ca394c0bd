//! When a domain is due.

use super::forms::BusyInterval;
use super::setup::Balance;
use super::state::SdBalance;

/// `time_after()`: whether `a` is later than `b`, jiffies; the counter wraps.
pub(super) fn time_after(a: u64, b: u64) -> bool {
    (b.wrapping_sub(a) as i64) < 0
}

/// `msecs_to_jiffies()`, rounded up as it rounds. Exact for an `hz` that divides 1000, and for 300.
pub fn msecs_to_jiffies(ms: u64, hz: u32) -> u64 {
    (ms * u64::from(hz)).div_ceil(1000)
}

/// `max_load_balance_interval`, jiffies (`update_max_interval()`): no domain waits longer.
pub fn max_load_balance_interval(hz: u32, nr_cpus: u32) -> u64 {
    u64::from(hz) * u64::from(nr_cpus) / 10
}

/// `get_sd_balance_interval()`: how long after the last pass the next is due, jiffies. `cpu_busy`: the CPU runs something
/// that is not SCHED_IDLE.
pub fn get_sd_balance_interval(balance: &Balance<'_>, state: &SdBalance, cpu_busy: bool) -> u64 {
    let hz = balance.tunables.hz;
    let (factor, less) = match (cpu_busy, balance.rules.busy_interval) {
        (false, _) => (1, 0),
        (true, BusyInterval::Times32) => (32, 0),
        (true, BusyInterval::Times16LessOne) => (16, 1),
    };
    let interval = msecs_to_jiffies(state.balance_interval * factor, hz).saturating_sub(less);
    // Not clamp(): one CPU at 5 Hz would have its upper end below the lower.
    interval.min(max_load_balance_interval(hz, balance.domains.nr_cpus)).max(1)
}

impl Balance<'_> {
    /// `cpu_busy` of a CPU that is idle or not, and whether it runs SCHED_IDLE tasks only (`rebalance_domains()`).
    #[inline]
    pub fn cpu_busy(&self, idle: bool, sched_idle: bool) -> bool {
        let as_idle = sched_idle && self.rules.sched_idle_is_idle;
        !idle && !as_idle
    }
}

/// `update_next_balance()`: brings `next_balance`, in jiffies, forward to where the domain is due on an idle CPU.
pub fn update_next_balance(balance: &Balance<'_>, state: &SdBalance, next_balance: &mut u64) {
    let next = state.last_balance.wrapping_add(get_sd_balance_interval(balance, state, false));
    if time_after(*next_balance, next) {
        *next_balance = next;
    }
}
