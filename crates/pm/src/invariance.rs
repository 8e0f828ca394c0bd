//! The scale of a CPU's frequency (`arch_scale_freq_capacity()`): PELT's clock runs by it, which makes utilisation
//! independent of frequency.
//!
//! x86 measures it at the tick: [`Counters`] count, [`FreqScale::tick`] divides by what [`MaxFreqRatio`] takes for the
//! highest frequency. arm64 takes it from cpufreq: [`arch_set_freq_scale`].
//!
//! As in the kernel, a limit that the ratio does not know of gives a wrong scale: under a frequency cap or with turbo
//! off, a CPU that is always busy has a scale below 1024, so that its utilisation never reaches 1024 and decays too
//! fast.

use crate::governor::CounterValues;
use crate::turbo::Turbo;
use crate::{Khz, SCHED_CAPACITY_SCALE};

/// A CPU's APERF, MPERF and TSC. APERF and MPERF count only while the CPU is in C0, which includes a polling idle loop;
/// the TSC counts always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counters {
    base: Khz,
    values: CounterValues,
    /// The fraction of a cycle not counted yet, millionths: kHz times ns is a millionth of a cycle.
    fraction: [u32; 3],
}

impl Counters {
    /// Starts at 0. `base` is the frequency of MPERF and the TSC, kHz.
    pub fn new(base: Khz) -> Counters {
        Counters { base, values: CounterValues::default(), fraction: [0; 3] }
    }

    /// Lets `ns` pass. `cur` is the frequency at which the CPU was in C0 meanwhile, kHz, or `None` in a deeper state.
    /// No cycle is lost, however the time is cut.
    pub fn count(&mut self, ns: u64, cur: Option<Khz>) {
        add(&mut self.values.tsc, &mut self.fraction[0], ns, self.base);
        if let Some(cur) = cur {
            add(&mut self.values.mperf, &mut self.fraction[1], ns, self.base);
            add(&mut self.values.aperf, &mut self.fraction[2], ns, cur);
        }
    }

    /// The counters' values.
    pub fn values(&self) -> CounterValues {
        self.values
    }
}

fn add(counter: &mut u64, fraction: &mut u32, ns: u64, khz: Khz) {
    const MILLION: u128 = 1_000_000;
    let cycles = u128::from(ns) * u128::from(khz) + u128::from(*fraction);
    *counter = counter.wrapping_add((cycles / MILLION) as u64);
    *fraction = (cycles % MILLION) as u32;
}

/// The turbo frequency that x86 takes as full speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaxFreq {
    /// That of four active cores: Intel's cores since 5.7, because a CPU seldom gets that of one.
    FourCores,
    /// That of one active core: Atoms.
    OneCore,
    /// The base frequency: the kernel does not know of turbo.
    Base,
}

/// The highest frequency over the base frequency (`arch_max_freq_ratio`), 1024 being 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaxFreqRatio {
    turbo: u64,
    current: u64,
}

impl MaxFreqRatio {
    /// Takes the ratio that holds while turbo is on (`arch_turbo_freq_ratio`), 1024 being 1. Returns `None` if it is 0.
    pub fn new(turbo: u64) -> Option<MaxFreqRatio> {
        (turbo != 0).then_some(MaxFreqRatio { turbo, current: turbo })
    }

    /// Divides the highest frequency by the base, both in kHz. Returns `None` if the ratio would be 0, or `base` is.
    pub fn of_khz(max: Khz, base: Khz) -> Option<MaxFreqRatio> {
        Self::new((u64::from(max) * SCHED_CAPACITY_SCALE).checked_div(u64::from(base))?)
    }

    /// Takes one of a package's turbo frequencies; of four cores where it has fewer, that of all. Returns `None` if the
    /// base frequency is 0.
    pub fn of_turbo(turbo: &Turbo, choice: MaxFreq) -> Option<MaxFreqRatio> {
        let max = match choice {
            MaxFreq::FourCores => turbo.limit(4),
            MaxFreq::OneCore => turbo.limit(1),
            MaxFreq::Base => turbo.base,
        };
        Self::of_khz(max, turbo.base)
    }

    /// Switches turbo off or on: without it the base frequency is full speed (`arch_set_max_freq_ratio()`).
    /// intel_pstate calls it for turbo that the firmware switches off, and (7.3, not 5.10) for `no_turbo`. No kernel
    /// calls it for a frequency cap.
    pub fn arch_set_max_freq_ratio(&mut self, turbo_disabled: bool) {
        self.current = if turbo_disabled { SCHED_CAPACITY_SCALE } else { self.turbo };
    }

    /// The ratio now, 1024 being 1.
    pub fn ratio(&self) -> u64 {
        self.current
    }
}

/// The arithmetic failed: the kernel switches frequency invariance off ("went wobbly"), for all CPUs and for good.
/// Their scale is 1024 since 6.1; 5.10 leaves it as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wobbly;

/// The scale of a CPU whose APERF and MPERF moved by `acnt` and `mcnt`, 1 to 1024 (`scale_freq_tick()`, 6.1 and 7.3;
/// `arch_scale_freq_tick()` in 5.10). `max_freq_ratio` is the highest frequency over the base, 1024 being 1.
///
/// # Errors
/// [`Wobbly`] if a product overflows, or the scale would be 0.
pub fn scale_freq_tick(acnt: u64, mcnt: u64, max_freq_ratio: u64) -> Result<u64, Wobbly> {
    if acnt.leading_zeros() < 20 {
        return Err(Wobbly);
    }
    let mcnt = mcnt.checked_mul(max_freq_ratio).filter(|&mcnt| mcnt != 0).ok_or(Wobbly)?;
    match (acnt << 20) / mcnt {
        0 => Err(Wobbly),
        scale => Ok(scale.min(SCHED_CAPACITY_SCALE)),
    }
}

/// APERF and MPERF of a CPU at its last tick (`struct aperfmperf`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FreqScale {
    aperf: u64,
    mperf: u64,
}

impl FreqScale {
    /// The tick on a CPU (`arch_scale_freq_tick()`). Returns its new scale, 1 to 1024, by which PELT's clock is to run.
    ///
    /// # Errors
    /// [`Wobbly`] if the counters give no scale, such as after a tick without a cycle in C0. The caller keeps the last
    /// one.
    pub fn tick(&mut self, counters: CounterValues, ratio: &MaxFreqRatio) -> Result<u64, Wobbly> {
        let acnt = counters.aperf.wrapping_sub(self.aperf);
        let mcnt = counters.mperf.wrapping_sub(self.mperf);
        (self.aperf, self.mperf) = (counters.aperf, counters.mperf);
        scale_freq_tick(acnt, mcnt, ratio.ratio())
    }
}

/// The scale of a policy's CPUs after its frequency changed to `cur`, kHz (`arch_set_freq_scale()` in 5.3,
/// `topology_set_freq_scale()` since 5.15). `max` is `cpuinfo.max_freq`, kHz, not 0; a cap does not change it. 1024 is
/// full speed.
pub fn arch_set_freq_scale(cur: Khz, max: Khz) -> u64 {
    (u64::from(cur) << 10) / u64::from(max)
}
