//! Frequency, idle states and power of simulated CPUs, as pure functions and small state.
//!
//! As in the rest of the model, what is here decides and does not act: no clock is read, nothing is drawn at random, no
//! float is used. A simulator asks at its events, with `now` in ns:
//!
//! ```text
//! utilisation changes, tick     governor::Governor::update() ──▶ the frequency that is asked for
//!                               turbo::Turbo::limit()        ──▶ the highest that the hardware gives
//! tick                          invariance::FreqScale::tick() ─▶ the scale of PELT's clock (pelt::Scale::freq)
//! the CPU goes idle             idle::IdleGovernor::select() ──▶ an idle state, and whether the tick stops
//! the CPU wakes up              idle::IdleGovernor::reflect()
//! any change of state           power::Account::enter()      ──▶ residencies and energy
//! ```
//!
//! Functions carry the names of the kernel functions they follow; what differs between kernel versions is in a
//! preset's [`CpufreqRules`](wakelab_kernel::CpufreqRules) and [`CpuidleRules`](wakelab_kernel::CpuidleRules).
//!
//! PELT's own clock (`update_rq_clock_pelt()`, lost idle time) is in `wakelab-sched`, and so are `cpu_util_cfs()` and
//! `cpu_util_cfs_boost()`.

pub mod governor;
pub mod idle;
pub mod invariance;
pub mod policy;
pub mod power;
pub mod schedutil;
pub mod turbo;

/// A CPU's number.
pub type Cpu = u32;

/// A frequency, in kHz, as cpufreq counts it.
pub type Khz = u32;

/// The capacity of the machine's fastest CPU at its highest frequency, and the frequency scale of full speed.
pub const SCHED_CAPACITY_SCALE: u64 = 1024;
