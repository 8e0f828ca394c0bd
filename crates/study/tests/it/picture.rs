//! What is drawn of the first repeats of a comparison.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use wakelab_study::compare::{Comparison, compare};
use wakelab_study::experiment::Spec;
use wakelab_study::recordings::over_time::CpuState;
use wakelab_study::recordings::stats::WhyExplained;
use wakelab_study::runners::{Pictured, Pictures, Simulator};

fn spec(time_ms: u64, more: &str) -> Spec {
    let text = format!(
        r#"
        machine = "test-2llc"
        kernel = "v5.19-rc1"
        repeats = 2
        settle = "20ms"
        time = "{time_ms}ms"
        workload = [{{ name = "netperf:TCP_RR", load = "4,12", params = {{ ramp = 5000000 }} }}]
        {more}
    "#
    );
    Spec::parse(Path::new("small.toml"), &text).unwrap()
}

const SIDES: &str = "variants = { base = \"SIS_PROP\", with = \"SIS_UTIL\" }";

fn drawn(spec: &Spec) -> (Comparison, Pictures) {
    let pictured = Pictured::new(&Simulator, None);
    let found = compare(&pictured, &spec.resolve_two_sides().unwrap(), 1, &(), &AtomicBool::new(false)).unwrap();
    (found, pictured.found())
}

#[test]
fn drawing_changes_no_result() {
    let spec = spec(20, SIDES);
    let (found, _) = drawn(&spec);
    assert_eq!(
        found.rows,
        compare(&Simulator, &spec.resolve_two_sides().unwrap(), 1, &(), &AtomicBool::new(false)).unwrap().rows
    );
}

#[test]
fn what_is_drawn_adds_up_and_says_why() {
    let (found, pictures) = drawn(&spec(20, SIDES));
    for row in &found.rows {
        for (side, with) in [(&row.base, false), (&row.with, true)] {
            let picture = pictures.of(row, with).expect("a picture");
            let over_time = &picture.over_time;
            let heat = over_time.heat.as_ref().expect("switches");
            assert_eq!((heat.rows.len(), over_time.end_ns, picture.settle_ns), (8, 40_000_000, 20_000_000));
            for row in &heat.rows {
                for (running, searching) in row.running.iter().zip(&row.searching) {
                    assert!((0.0..=1.0001).contains(&(running + searching)), "{running} and {searching}");
                }
            }
            // Wake-ups on the wakelist of their own CPU have no choice.
            let reasons: u64 = picture.reasons.values().sum();
            assert!(reasons > 0 && reasons <= over_time.moved.values().sum::<u64>());
            assert!(reasons >= side.runs[0].search.sis_search);
            assert_eq!(over_time.llcs, [0, 1]);
            assert!(over_time.frequency.is_empty() && over_time.states.is_empty(), "nothing governs them");
            let chosen = picture.explained.as_ref().expect("explained");
            assert!(
                matches!(chosen[0].why, WhyExplained::Slowest(ns) if ns == picture.waits.max),
                "{:?}",
                chosen[0].why
            );
            for one in chosen.iter().map(|one| &one.explained) {
                assert!(!one.row.wakee.comm.is_empty() && !one.steps.is_empty());
                if one.row.stable {
                    assert_eq!(one.decision.cpu, one.row.chosen_cpu, "the same choice as in the run");
                }
            }
            let firsts =
                chosen.iter().filter(|one| matches!(one.why, WhyExplained::First(_)) && one.explained.row.stable);
            assert!(firsts.count() > 0);
        }
    }
}

#[test]
fn governed_cpus_have_frequencies_and_states() {
    let spec = Spec::of_two_sides(
        "i7-2600k",
        "v6.12",
        "netperf:TCP_RR",
        Some("2"),
        "governor=schedutil",
        "governor=performance",
    );
    let mut spec = spec.unwrap();
    spec.settle_ns = wakelab_study::experiment::Given::by_flag("--settle", 20_000_000);
    spec.time_ns = wakelab_study::experiment::Given::by_flag("--time", 20_000_000);
    let (found, pictures) = drawn(&spec);
    let picture = pictures.of(&found.rows[0], false).expect("a picture");
    let over_time = &picture.over_time;
    assert!(over_time.frequency.values().flatten().all(|(_, mhz)| (800.0..=4000.0).contains(mhz)));
    assert!(!over_time.frequency.is_empty() && picture.idle_states.iter().any(|name| name == "C1"));
    assert!(over_time.states.iter().any(|(state, _)| matches!(state, CpuState::Idle(Some(_)))));
    for at in 0..over_time.states[0].1.len() {
        let sum: f64 = over_time.states.iter().map(|(_, points)| points[at].1).sum();
        assert!((sum - 100.0).abs() < 1e-6, "{sum} %");
    }
}

#[test]
fn power_over_time_is_that_of_the_run() {
    let sides = ("governor=schedutil", "governor=performance");
    let mut spec = Spec::of_two_sides("i7-2600k", "v6.12", "netperf:TCP_RR", Some("2"), sides.0, sides.1).unwrap();
    spec.settle_ns = wakelab_study::experiment::Given::by_flag("--settle", 0);
    // 160 bins, each of them whole, so that their mean is that of the run.
    spec.time_ns = wakelab_study::experiment::Given::by_flag("--time", 160 * 256_000);
    let (found, pictures) = drawn(&spec);
    for (side, with) in [(&found.rows[0].base, false), (&found.rows[0].with, true)] {
        let power = &pictures.of(&found.rows[0], with).expect("a picture").over_time.power;
        let points = &power[&0];
        assert_eq!((power.len(), points.len()), (1, 160));
        let mean = points.iter().map(|(_, mw)| mw).sum::<f64>() / 160.0;
        let run = side.runs[0].power.as_ref().expect("power");
        // nJ for each s is nW.
        let expected = run.energy_nj().expect("energy") as f64 / (run.ns as f64 / 1e9) / 1e6;
        assert!((mean - expected).abs() < 1e-3 * expected, "{mean} mW, but {expected} mW");
        assert!(points.iter().any(|(_, mw)| (mw - mean).abs() > 1.0), "it changes");
    }
}
