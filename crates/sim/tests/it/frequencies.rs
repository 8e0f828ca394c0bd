//! Frequencies, PELT and energy agree with each other.

use crate::support::MS;
use crate::support::power::{outcome, periodic, setup, side};
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use wakelab_events::Digest;
use wakelab_kernel::Preset;
use wakelab_machine::Machine;
use wakelab_pm::governor::GOVERNORS;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, PmSide, Setup, run_dyn};

/// A machine all of whose CPUs run at one frequency for ever, without idle states and power.
fn one_opp() -> Machine {
    let mut machine = wakelab_machine::get("i7-2600k").unwrap();
    for policy in &mut machine.frequencies {
        (policy.min_khz, policy.base_khz) = (policy.max_khz, Some(policy.max_khz));
    }
    (machine.turbo, machine.idle_states) = (None, Vec::new());
    machine
}

/// The mean of the task's util_avg when it goes to sleep, over the last 100 ms of 600.
fn settled_util(pm: PmSide, work: u64, sleep: u64) -> u64 {
    let machine = wakelab_machine::get("i7-2600k").unwrap();
    let workload = periodic(work, sleep);
    let setup = setup(&machine, "v5.10", &workload, Some(pm));
    let mut sum = 0;
    let times = (0..500).map(|step| 500 * MS + step * MS / 5);
    observe(&setup, &mut (), times, |snapshot, ()| {
        sum += snapshot.tasks().next_back().expect("a task").avg.util_avg;
    })
    .expect("a run");
    sum / 500
}

fn at_khz(khz: u32, invariant: bool) -> PmSide {
    PmSide {
        setspeed: Some(khz),
        invariant: Some(invariant),
        max_freq: wakelab_pm::invariance::MaxFreq::OneCore,
        ..side("userspace")
    }
}

#[test]
fn fixed_work_has_one_utilisation_at_any_frequency_only_if_it_is_invariant() {
    // 2 ms of work at 3.8 GHz for each 10 ms.
    let period = 10 * MS;
    for (work, khz) in [(2 * MS, 1_900_000), (2 * MS, 2_500_000), (MS, 1_600_000)] {
        let full = settled_util(at_khz(3_800_000, true), work, period - work);
        let stretched = work * 3_800_000 / u64::from(khz);
        let slow = |invariant| settled_util(at_khz(khz, invariant), work, period - stretched);
        let (invariant, not) = (slow(true), slow(false));
        assert!(invariant.abs_diff(full) <= full / 12, "{khz} kHz: {invariant}, at full speed {full}");
        let wrong = full * stretched / work;
        assert!(not.abs_diff(wrong) <= wrong / 8, "{khz} kHz: {not}, expected about {wrong}");
        assert!(not > invariant * 5 / 4);
    }
}

#[test]
fn work_takes_longer_by_as_much_as_the_frequency_is_lower() {
    let machine = wakelab_machine::get("i7-2600k").unwrap();
    let workload = periodic(2 * MS, 8 * MS);
    let busy = |khz| {
        let side = PmSide { measured_from: 100 * MS, ..at_khz(khz, true) };
        let power = outcome(&setup(&machine, "v5.10", &workload, Some(side))).power.unwrap();
        let cpu = &power.cpus[0];
        cpu.mperf as f64 / cpu.tsc as f64
    };
    // 2 of 10 ms, and 4 of 12.
    assert!((busy(3_800_000) - 0.2).abs() < 0.01, "{}", busy(3_800_000));
    assert!((busy(1_900_000) - 0.333).abs() < 0.015, "{}", busy(1_900_000));
}

#[test]
fn a_machine_with_one_frequency_simulates_the_same_events_as_without_governors() {
    let machine = one_opp();
    let workload = periodic(3 * MS, 2 * MS);
    let events = |pm| {
        let mut digest = Digest::default();
        run_dyn(&setup(&machine, "v6.1", &workload, pm), &mut digest, &AtomicBool::new(false)).unwrap();
        digest.finish()
    };
    assert_eq!(events(None), events(Some(side("performance"))));
    assert_eq!(events(None), events(Some(side("schedutil"))));
}

#[test]
fn performance_runs_at_what_turbo_gives_and_a_cap_and_no_turbo_lower_it() {
    let machine = wakelab_machine::get("i7-2600k").unwrap();
    let workload = periodic(8 * MS, 2 * MS);
    let khz = |pm: PmSide| {
        let pm = PmSide { measured_from: 100 * MS, ..pm };
        outcome(&setup(&machine, "v5.10", &workload, Some(pm))).power.unwrap().busy_khz()
    };
    let all = side("performance");
    assert!(khz(all).abs_diff(3_800_000) < 20_000, "{}", khz(all));
    assert!(khz(PmSide { no_turbo: true, ..all }).abs_diff(3_400_000) < 20_000);
    assert!(khz(PmSide { freq_cap: Some(2_000_000), ..all }).abs_diff(2_000_000) < 20_000);
    assert!(khz(PmSide { thermal_cap: Some(2_500_000), ..all }).abs_diff(2_500_000) < 20_000);
    assert!(khz(side("powersave")).abs_diff(1_600_000) < 20_000);
}

#[test]
fn a_governor_that_goes_by_load_gives_a_busy_cpu_more_than_an_idle_one() {
    let machine = wakelab_machine::get("i7-2600k").unwrap();
    for name in ["schedutil", "ondemand", "intel_pstate:powersave"] {
        let khz = |work, sleep| {
            let pm = PmSide { measured_from: 100 * MS, ..side(name) };
            let workload = periodic(work, sleep);
            outcome(&setup(&machine, "v5.10", &workload, Some(pm))).power.unwrap().busy_khz()
        };
        let (busy, idle) = (khz(100 * MS, MS / 10), khz(MS / 10, 20 * MS));
        assert!(busy > 3_500_000, "{name}: {busy} kHz while busy");
        assert!(idle < 2_600_000, "{name}: {idle} kHz while idle");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_its_reason() {
    let workload = periodic(MS, MS);
    let error = |machine: &str, kernel: &str, pm: PmSide| {
        let machine = wakelab_machine::get(machine).unwrap();
        run_dyn(&setup(&machine, kernel, &workload, Some(pm)), &mut (), &AtomicBool::new(false))
            .unwrap_err()
            .to_string()
    };
    let no_frequencies = error("test-8c", "v6.1", side("schedutil"));
    assert!(no_frequencies.contains("it has no frequencies"), "{no_frequencies}");
    let teo = PmSide { idle_governor: &IDLE_GOVERNORS[1], ..side("performance") };
    assert!(error("i7-2600k", "v5.3", teo).contains("idle governor teo"));
    let cap = PmSide { freq_cap: Some(1_000_000), ..side("schedutil") };
    assert!(
        error("i7-2600k", "v6.1", cap)
            .contains("freq_cap=1000000 is below their lowest frequency; expected at least 1600000 kHz")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn residencies_add_up_and_energy_is_that_of_the_states(
        name in prop::sample::select(GOVERNORS.iter().map(|governor| governor.name).collect::<Vec<_>>()),
        kernel in prop::sample::select(Preset::names()),
        (work, sleep) in (1_000u64..5 * MS, 1_000u64..5 * MS),
        from in prop::sample::select(vec![0, 50 * MS]),
    ) {
        let machine = wakelab_machine::get("i7-2600k").unwrap();
        let workload = periodic(work, sleep);
        let pm = PmSide { measured_from: from, ..side(name) };
        let setup = Setup {
            mechanisms: Mechanisms::default(), until: 120 * MS, ..setup(&machine, kernel, &workload, Some(pm))
        };
        let power = outcome(&setup).power.unwrap();
        prop_assert_eq!(power.ns, 120 * MS - from);
        for cpu in &power.cpus {
            prop_assert_eq!(cpu.residency_ns.iter().sum::<u64>(), power.ns);
            prop_assert!(cpu.mperf <= cpu.tsc);
        }
        // What a package takes beside its cores lies between asleep and awake, and the cores' between their extremes.
        let seconds = power.ns as f64 / 1e9;
        let package = power.energy_of("package").unwrap() as f64 / 1e9 / seconds;
        prop_assert!((3.0..=6.0).contains(&package), "{} W", package);
        let total: u64 = power.domains.iter().map(|domain| domain.energy_nj).sum();
        prop_assert_eq!(Some(total), power.energy_nj());
        let again = outcome(&setup).power.unwrap();
        prop_assert_eq!(power, again);
    }
}
