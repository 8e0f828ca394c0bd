//! Counters, turbo and the scale, by worked examples on a Sandy Bridge client, and what comes of it in PELT.

use wakelab_pm::invariance::{Counters, FreqScale, MaxFreq, MaxFreqRatio, arch_set_freq_scale};
use wakelab_pm::turbo::Turbo;
use wakelab_sched::pelt::{___update_load_avg, ___update_load_sum, RqClock, Scale, SchedAvg};

const MS: u64 = 1_000_000;

fn sandy_bridge() -> Turbo {
    let bins = vec![3_800_000, 3_700_000, 3_600_000, 3_500_000];
    Turbo::new(bins, 3_400_000).unwrap()
}

#[test]
fn turbo_falls_with_the_active_cores() {
    let turbo = sandy_bridge();
    assert_eq!([0, 1, 2, 3, 4, 9].map(|active| turbo.limit(active) / 100_000), [38, 38, 37, 36, 35, 35]);
    assert!(Turbo::new(vec![1, 2], 1).is_err(), "bins that ascend");
    assert!(Turbo::new(vec![], 1).is_err());
}

#[test]
fn the_chosen_maximum_is_that_of_four_cores_one_core_or_the_base() {
    let of = |choice| MaxFreqRatio::of_turbo(&sandy_bridge(), choice).unwrap().ratio();
    assert_eq!([MaxFreq::FourCores, MaxFreq::OneCore, MaxFreq::Base].map(of), [1054, 1144, 1024]);
}

/// The scale after a tick of 4 ms of which `busy_ms` were spent in C0 at `khz`.
fn scale(ratio: &MaxFreqRatio, busy_ms: u64, khz: u32) -> u64 {
    let mut counters = Counters::new(3_400_000);
    counters.count(busy_ms * MS, Some(khz));
    counters.count((4 - busy_ms) * MS, None);
    FreqScale::default().tick(counters.values(), ratio).unwrap()
}

#[test]
fn the_scale_does_not_depend_on_idle_time_and_stops_at_full_speed() {
    let ratio = MaxFreqRatio::of_turbo(&sandy_bridge(), MaxFreq::FourCores).unwrap();
    assert_eq!([1, 2, 4].map(|busy| scale(&ratio, busy, 1_750_000)), [512; 3]);
    assert_eq!(scale(&ratio, 4, 3_800_000), 1024);
}

#[test]
fn a_cap_that_the_ratio_does_not_know_leaves_a_busy_cpu_below_full_scale() {
    let mut ratio = MaxFreqRatio::of_turbo(&sandy_bridge(), MaxFreq::OneCore).unwrap();
    assert_eq!(scale(&ratio, 4, 3_400_000), 916, "turbo is off and not known to be");
    ratio.arch_set_max_freq_ratio(true);
    assert_eq!(scale(&ratio, 4, 3_400_000), 1024, "known");
    assert_eq!(scale(&ratio, 4, 1_700_000), 512, "a cap at half of the base");
}

#[test]
fn a_cpu_that_was_never_in_c0_has_no_scale() {
    let ratio = MaxFreqRatio::of_turbo(&sandy_bridge(), MaxFreq::FourCores).unwrap();
    let mut counters = Counters::new(3_400_000);
    counters.count(4 * MS, None);
    assert!(FreqScale::default().tick(counters.values(), &ratio).is_err());
    assert_eq!(counters.values().tsc, 13_600_000);
}

#[test]
fn arm64_takes_the_scale_from_cpufreq() {
    assert_eq!(arch_set_freq_scale(574_000, 1_803_000), 325);
}

/// The mean utilisation of a task that computes for 4 of 16 ms at full speed, on a CPU of frequency `freq` of 1024 that
/// PELT takes for `seen`.
fn converged(freq: u64, seen: u64) -> u64 {
    const STEP: u64 = 100_000;
    let (mut clock, mut avg) = (RqClock::default(), SchedAvg::default());
    let scale = Scale { cpu: 1024, freq: seen };
    let (mut sum, mut samples) = (0, 0);
    for period in 0..200 {
        let mut work = 4 * MS * 1024;
        for _ in 0..16 * MS / STEP {
            let running = work > 0;
            clock.update_rq_clock(STEP, 0, !running, scale);
            if ___update_load_sum(clock.rq_clock_pelt(), &mut avg, u64::from(running), u64::from(running), running) {
                ___update_load_avg(&mut avg, 1);
            }
            work = work.saturating_sub(if running { STEP * freq } else { 0 });
            if running && work == 0 {
                clock.update_idle_rq_clock_pelt(avg.util_sum);
            }
            if period >= 100 {
                (sum, samples) = (sum + avg.util_avg, samples + 1);
            }
        }
    }
    sum / samples
}

#[test]
fn the_same_work_has_the_same_utilisation_at_any_frequency_if_invariant() {
    let full = converged(1024, 1024);
    assert!((240..=300).contains(&full), "a quarter of 1024: {full}");
    for freq in [320, 512, 700, 900] {
        let invariant = converged(freq, freq);
        assert!(invariant.abs_diff(full) <= full / 8, "at {freq}: {invariant}, at full speed {full}");
        let wrong = converged(freq, 1024);
        let share = full * 1024 / freq;
        assert!(wrong.abs_diff(share) <= share / 8, "not invariant, at {freq}: {wrong}, expected about {share}");
    }
}
