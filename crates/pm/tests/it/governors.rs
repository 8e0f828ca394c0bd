//! What each governor asks for, by worked examples on a Sandy Bridge client (1.6 to 3.8 GHz, base 3.4).

use crate::support::Table;
use wakelab_kernel::{Preset, TransitionDelay};
use wakelab_pm::governor::{
    CounterValues, GOVERNORS, Governor, PstateSample, Pstates, Setup, Update, get_target_pstate, governor,
};
use wakelab_pm::policy::{Driver, Limits, Policy, PolicyError, Relation, cpufreq_policy_transition_delay_us};

const PSTATES: Pstates = Pstates { min: 16, max: 34, turbo: 38, scaling: 100_000 };
const MS: u64 = 1_000_000;

fn sandy_bridge() -> Policy {
    Policy::new(vec![0], Driver::continuous(1_600_000, 3_800_000, 100_000).unwrap()).unwrap()
}

fn setup(preset: &str) -> Setup {
    let mut setup = Setup::of_preset(Preset::get(preset).unwrap(), 20_000, 500);
    setup.pstates = Some(PSTATES);
    setup
}

fn make(name: &str, policy: &Policy) -> Box<dyn Governor> {
    (governor(name).unwrap().make)(&setup("v5.10"), policy)
}

fn at(now: u64) -> Update {
    Update { now, cpu: 0, from: 0, iowait: false }
}

#[test]
fn every_governor_is_found_by_its_name() {
    for about in GOVERNORS {
        assert_eq!(governor(about.name).unwrap().name, about.name);
    }
    let error = governor("on-demand").unwrap_err().to_string();
    assert!(error.contains("`on-demand`") && error.contains("ondemand, schedutil"), "{error}");
}

#[test]
fn the_fixed_governors_take_the_limits_that_hold() {
    let mut policy = sandy_bridge();
    let view = Table::default();
    policy.set_limits(&Limits { user_max: 3_000_000, user_min: 2_000_000, ..Limits::NONE });
    assert_eq!(make("performance", &policy).start(0, &policy, &view), Some(3_000_000));
    assert_eq!(make("powersave", &policy).start(0, &policy, &view), Some(2_000_000));
    policy.set_limits(&Limits { thermal_max: 1_800_000, user_min: 2_000_000, ..Limits::NONE });
    assert_eq!(
        make("performance", &policy).limits(&policy),
        Some(1_800_000),
        "cooling comes before the user's minimum"
    );
}

#[test]
fn userspace_gets_what_it_asks_for_or_the_next_above() {
    let policy = sandy_bridge();
    let setup = Setup { userspace: Some(2_050_000), ..setup("v6.1") };
    let mut userspace = (governor("userspace").unwrap().make)(&setup, &policy);
    assert_eq!(userspace.start(0, &policy, &Table::default()), Some(2_100_000));
}

#[test]
fn ondemand_goes_by_the_load_of_the_last_sample_and_to_the_top_above_95_percent() {
    let mut policy = sandy_bridge();
    let mut view = Table::default();
    let mut ondemand = make("ondemand", &policy);
    ondemand.start(0, &policy, &view);
    assert_eq!(ondemand.update(&at(7 * MS), &policy, &view), None, "two ticks have not passed");
    view.idle_us.insert(0, 5_000);
    assert_eq!(ondemand.update(&at(10 * MS), &policy, &view), Some(2_700_000), "1.6 + 50% of 2.2 GHz");
    policy.changed_to(2_700_000);
    view.idle_us.insert(0, 5_300);
    assert_eq!(ondemand.update(&at(20 * MS), &policy, &view), Some(3_800_000), "97%");
    policy.changed_to(3_800_000);
    assert_eq!(ondemand.update(&at(30 * MS), &policy, &view), None, "already there");
}

#[test]
fn ondemand_forgives_one_long_sleep() {
    let mut policy = sandy_bridge();
    let mut view = Table::default();
    let mut ondemand = make("ondemand", &policy);
    ondemand.start(0, &policy, &view);
    ondemand.update(&at(10 * MS), &policy, &view);
    policy.changed_to(3_800_000);
    view.idle_us.insert(0, 90_000);
    assert_eq!(ondemand.update(&at(100 * MS), &policy, &view), None, "the load before the sleep, 100%, counts");
    view.idle_us.insert(0, 180_000);
    assert_eq!(ondemand.update(&at(190 * MS), &policy, &view), Some(1_600_000), "but once only");
}

fn sample(busy_pct: u64, khz: u64) -> PstateSample {
    let tsc = 34_000_000;
    let mperf = tsc * busy_pct / 100;
    PstateSample { delta: CounterValues { aperf: mperf * khz / 3_400_000, mperf, tsc } }
}

#[test]
fn intel_pstate_asks_for_a_quarter_above_the_busy_share_of_the_highest() {
    assert_eq!(get_target_pstate(&PSTATES, false, &sample(50, 1_600_000), 0), 23, "(38 + 9) x 50%");
    assert_eq!(get_target_pstate(&PSTATES, false, &sample(50, 3_800_000), 0), 30, "half-way back to 37");
    assert_eq!(get_target_pstate(&PSTATES, true, &sample(50, 1_600_000), 0), 21, "(34 + 8) x 50% without turbo");
    assert_eq!(get_target_pstate(&PSTATES, false, &sample(10, 1_600_000), 0), 16, "never below the lowest");
    assert_eq!(get_target_pstate(&PSTATES, false, &sample(10, 1_600_000), 256), 47, "waiting for I/O counts as busy");
}

#[test]
fn intel_pstate_samples_every_10_ms_and_only_on_its_own_cpu() {
    let policy = sandy_bridge();
    let mut view = Table::default();
    let mut active = make("intel_pstate:powersave", &policy);
    active.start(0, &policy, &view);
    let count = |view: &mut Table, ms: u64| {
        let cycles = 3_400_000 * ms;
        view.counters = CounterValues { aperf: cycles, mperf: cycles, tsc: cycles };
    };
    count(&mut view, 20);
    assert_eq!(active.update(&at(20 * MS), &policy, &view), None, "the first only takes note");
    count(&mut view, 29);
    assert_eq!(active.update(&at(29 * MS), &policy, &view), None);
    count(&mut view, 31);
    assert_eq!(active.update(&Update { from: 1, ..at(31 * MS) }, &policy, &view), None, "run by another CPU");
    assert_eq!(active.update(&at(31 * MS), &policy, &view), Some(3_800_000), "always busy");
    count(&mut view, 45);
    assert_eq!(active.update(&at(45 * MS), &policy, &view), None, "the same P-state");
}

#[test]
fn a_table_resolves_by_the_relation() {
    let mut policy = Policy::new(vec![0, 1], Driver::table(vec![300_000, 574_000, 738_000]).unwrap()).unwrap();
    assert_eq!(policy.resolve_freq(574_001), 738_000);
    assert_eq!(policy.target(573_999, Relation::High), 300_000);
    assert_eq!(policy.target(437_000, Relation::Closest), 300_000, "as near as 574: the lower");
    assert_eq!(policy.target(437_001, Relation::Closest), 574_000);
    assert_eq!(policy.resolve_freq(900_000), 738_000);
    policy.set_limits(&Limits { user_max: 700_000, ..Limits::NONE });
    assert_eq!((policy.max(), policy.resolve_freq(574_001)), (574_000, 574_000), "a limit is an operating point");
}

#[test]
fn a_wrong_policy_is_refused_with_the_place() {
    let error = Driver::table(vec![300_000, 300_000]).unwrap_err();
    assert_eq!(error, PolicyError::NotAscending { index: 1, before: 300_000, khz: 300_000 });
    assert!(error.to_string().contains("list them in ascending order"));
    assert_eq!(Driver::table(vec![]).unwrap_err(), PolicyError::NoOpp);
    assert_eq!(Driver::table(vec![0, 1]).unwrap_err(), PolicyError::ZeroFrequency { index: 0 });
    assert!(Driver::continuous(2, 1, 1).is_err() && Driver::continuous(1, 2, 0).is_err());
    assert_eq!(Policy::new(vec![], Driver::table(vec![1]).unwrap()).unwrap_err(), PolicyError::NoCpu);
}

#[test]
fn the_transition_delay_is_that_of_the_version() {
    let old = |latency, driver| cpufreq_policy_transition_delay_us(TransitionDelay::Times1000, latency, driver);
    let new = |latency, driver| cpufreq_policy_transition_delay_us(TransitionDelay::Times1_5, latency, driver);
    assert_eq!((old(4_000, 0), old(20_000, 0), old(0, 0)), (4_000, 10_000, 1_000));
    assert_eq!((new(20_000, 0), new(0, 0)), (30, 1_000));
    assert_eq!((old(20_000, 500), new(500_000, 0)), (500, 750));
}
