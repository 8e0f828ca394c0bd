//! The tick, as a thread sees it that does nothing but read the clock.

use super::{Run, on_cpu};
use crate::samples::Spread;
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// A gap between two reads of the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Gap {
    /// When it began, ns.
    at: f64,
    /// How long it was, ns.
    ns: f64,
}

/// Frequencies that kernels are built with (`kernel/Kconfig.hz`), the highest first.
const HZ: [u32; 4] = [1000, 300, 250, 100];

/// Shorter gaps are cache misses, longer ones other tasks, ns.
const SHORTEST: f64 = 250.0;
const LONGEST: f64 = 60_000.0;

/// How far gaps of the tick are from their phase, ns. CPUs are delayed by what holds interrupts off.
const PHASE: f64 = 60_000.0;

/// The share of ticks that must be there for a frequency to be that of the kernel: the others were missed while
/// another task ran. More than the third that ticks of 100 Hz are of those of 300 Hz.
const FOUND: f64 = 0.35;

pub(super) fn cost(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    let (gaps, time) = on_cpu(cpu, || Ok(gaps(run.time)))?;
    let (_, ticks) = ticks(&gaps, time).ok_or_else(|| none(cpu))?;
    Spread::of(ticks).ok_or_else(|| none(cpu))
}

pub(super) fn hz(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    let (gaps, time) = on_cpu(cpu, || Ok(gaps(run.time.max(Duration::from_millis(400)))))?;
    ticks(&gaps, time).map(|(hz, _)| Spread::exactly(f64::from(hz))).ok_or_else(|| none(cpu))
}

fn none(cpu: Cpu) -> io::Error {
    io::Error::other(format!("no gaps on CPU {cpu} have the frequency of a tick: it is stopped, or others ran there"))
}

/// Reads the clock for a time. Returns the gaps, and the time as it was, ns.
fn gaps(time: Duration) -> (Vec<Gap>, f64) {
    let began = Instant::now();
    let mut gaps = Vec::new();
    let mut before = 0.0;
    loop {
        let now = began.elapsed().as_nanos() as f64;
        if now - before > SHORTEST {
            gaps.push(Gap { at: before, ns: now - before });
        }
        before = now;
        if now >= time.as_nanos() as f64 {
            return (gaps, now);
        }
    }
}

/// The frequency of the tick, and how long each of its gaps is.
fn ticks(gaps: &[Gap], time: f64) -> Option<(u32, Vec<f64>)> {
    let short: Vec<Gap> = gaps.iter().copied().filter(|gap| gap.ns < LONGEST).collect();
    HZ.into_iter().find_map(|hz| {
        let period = 1e9 / f64::from(hz);
        let distance = |a: f64, b: f64| {
            let apart = (a - b).rem_euclid(period);
            apart.min(period - apart)
        };
        let in_phase = |at: f64| short.iter().filter(move |other| distance(at, other.at) < PHASE);
        // Ticks that had a gap: several gaps may be near one.
        let seen = |at: f64| {
            let numbers: BTreeSet<i64> = in_phase(at).map(|gap| ((gap.at - at) / period).round() as i64).collect();
            numbers.len() as f64
        };
        // More than at other times, between two ticks.
        let more = |gap: &Gap| seen(gap.at) - seen(gap.at + period / 2.0);
        let phase = short.iter().take(50).max_by(|a, b| more(a).total_cmp(&more(b)))?;
        let costs: Vec<f64> = in_phase(phase.at).map(|gap| gap.ns).collect();
        (more(phase) >= FOUND * time / period && costs.len() > 3).then_some((hz, costs))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of a frequency, 900 ns each, of which every tenth was missed, and gaps at any time.
    fn seen(hz: u32) -> (Vec<Gap>, f64) {
        let (period, time) = (1e9 / f64::from(hz), 1e9);
        let ticks = (0..hz).filter(|tick| tick % 10 != 9).map(|tick| (f64::from(tick) * period + 123_456.0, 900.0));
        let others = (0..37).map(|other: u32| (f64::from(other) * 26_543_210.0 + 77_777.0, 5_000.0));
        let long = [(5e8, 4e6)];
        let mut gaps: Vec<Gap> = ticks.chain(others).chain(long).map(|(at, ns)| Gap { at, ns }).collect();
        gaps.sort_by(|a, b| a.at.total_cmp(&b.at));
        (gaps, time)
    }

    #[test]
    fn the_frequency_of_ticks_is_found_among_other_gaps() {
        for hz in HZ {
            let (gaps, time) = seen(hz);
            let (found, costs) = ticks(&gaps, time).unwrap_or_else(|| panic!("{hz}"));
            assert_eq!(found, hz);
            assert_eq!(Spread::of(costs).expect("gaps").median, 900.0, "{hz}");
        }
    }

    #[test]
    fn many_other_gaps_are_no_tick() {
        // Interrupts of other devices, at 3 of 4 ms, and the ticks of 250 Hz.
        let (mut gaps, time) = seen(250);
        gaps.extend((0..1400).map(|other: u32| Gap { at: f64::from(other) * 713_131.0 + 9_999.0, ns: 15_000.0 }));
        gaps.sort_by(|a, b| a.at.total_cmp(&b.at));
        assert_eq!(ticks(&gaps, time).map(|found| found.0), Some(250));
    }

    #[test]
    fn without_ticks_there_is_none() {
        assert!(ticks(&[], 1e9).is_none());
        let others: Vec<Gap> =
            (0..20).map(|other: u32| Gap { at: f64::from(other) * 47_654_321.0, ns: 3_000.0 }).collect();
        assert!(ticks(&others, 1e9).is_none());
    }
}
