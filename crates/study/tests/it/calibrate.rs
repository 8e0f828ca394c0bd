//! Constants of machines whose constants are known: what their microbenchmarks take is simulated, and the constants
//! that are derived from that must be the known ones.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;
use wakelab_calibrate::load::Kind;
use wakelab_calibrate::{Bench, FOOTPRINTS_KIB, Measured, Place, Spread, places};
use wakelab_kernel::Preset;
use wakelab_machine::{Machine, Origin};
use wakelab_study::calibrate::{Calls, Derivation, Derived, EQUATIONS, Found, Twin, derive};

/// Costs that no machine has assumed, in the ratio of its own where only a sum can be found.
const KNOWN: [(&str, u64); 15] = [
    ("switch_mm", 333),
    ("context_switch", 1_471),
    ("wakeup", 400),
    ("enqueue_local", 500),
    ("enqueue_remote", 2_345),
    ("wakelist", 1_234),
    ("cold_message", 876),
    ("ipi", 2_718),
    ("idle_exit", 14_142),
    ("tick", 3_141),
    ("cold_task", 4_321),
    ("smt_slowdown", 163),
    ("cold_message_far", 1_999),
    ("ipi_far", 5_050),
    ("cold_task_far", 7_777),
];

const CALLS: Calls = Calls { pipe_write: 620, pipe_read: 540, futex_wake: 310, futex_wait: 290, yields: 210 };

fn known(name: &str) -> Machine {
    let mut machine = wakelab_machine::get(name).expect("a machine");
    KNOWN.iter().for_each(|&(name, value)| assert!(machine.set_constant(name, value), "{name}"));
    machine
}

fn exactly(bench: Bench, place: Place, ns: f64) -> Measured {
    Measured { bench, place, spread: Spread::exactly(ns), note: None }
}

/// All that can be measured on a machine.
fn measurements(machine: &Machine, kernel: &Preset, allowed: &[u32]) -> Vec<Measured> {
    let places = places(machine, allowed);
    let one = places[0];
    let Calls { pipe_write, pipe_read, futex_wake, futex_wait, yields } = CALLS;
    let calls = [
        (Bench::PipeWrite, pipe_write),
        (Bench::PipeRead, pipe_read),
        (Bench::FutexWake, futex_wake),
        (Bench::FutexWait, futex_wait),
        (Bench::Yield, yields),
        (Bench::Syscall, 100),
    ];
    let mut all: Vec<Measured> = calls.map(|(bench, ns)| exactly(bench, one, ns as f64)).into();
    let work =
        BTreeMap::from([(Kind::Tcp, 9_000), (Kind::Pipes, 2_200), (Kind::Messages, 3_000), (Kind::Forks, 60_000)]);
    let twin = Twin { machine, kernel, calls: CALLS, work: &work };
    let of_one = [Bench::ThreadSwitch, Bench::ProcessSwitch, Bench::Pipe, Bench::PipeProcesses, Bench::Tick];
    let of_one = of_one.into_iter().chain(work.keys().map(|&kind| Bench::Load(kind)));
    let of_two = [Bench::Pipe, Bench::PipeBusy, Bench::WakeBusy, Bench::WakeIdle, Bench::ColdMessage, Bench::Together];
    let of_two: Vec<Bench> = of_two.into_iter().chain([Bench::Cold(FOOTPRINTS_KIB[0])]).collect();
    for bench in of_one {
        all.push(exactly(bench, one, twin.simulate(bench, one).expect("it runs").expect("a time")));
    }
    for &place in &places[1..] {
        for &bench in &of_two {
            all.push(exactly(bench, place, twin.simulate(bench, place).expect("it runs").expect("a time")));
        }
    }
    all
}

fn derived(name: &str, kernel: &str, allowed: &[u32]) -> (Machine, Derived) {
    let (known, kernel) = (known(name), Preset::get(kernel).expect("a preset"));
    let measured = measurements(&known, kernel, allowed);
    let assumed = wakelab_machine::get(name).expect("a machine");
    let of = Derivation { machine: &assumed, kernel, measured: &measured, date: "2026-11-23" };
    (known, derive(&of, &AtomicBool::new(false)).expect("it runs").expect("not stopped"))
}

/// The machine of two CPUs under v6.12, which several tests look at.
static TWO_CPUS: LazyLock<(Machine, Derived)> = LazyLock::new(|| derived("test-2c", "v6.12", &[0, 1]));

/// Asserts that the derived constants are the known ones, but for those that nothing shows.
fn recovers(name: &str, kernel: &str, allowed: &[u32], hidden: &[&str]) {
    let (known, derived) = derived(name, kernel, allowed);
    is_recovered(name, kernel, &known, &derived, hidden);
}

fn is_recovered(name: &str, kernel: &str, known: &Machine, derived: &Derived, hidden: &[&str]) {
    assert!(derived.settled, "{name} {kernel}: {} rounds", derived.rounds);
    for constant in &derived.constants {
        let solvable = EQUATIONS.iter().any(|equation| equation.constants.contains(&constant.name));
        let no_clusters = constant.name == "cluster_line" && !known.has_clusters();
        let hides = !solvable || no_clusters || hidden.contains(&constant.name);
        assert_eq!(constant.from.is_none(), hides, "{name} {kernel}: {constant:?}");
        let is = known.costs.clone().get_mut(constant.name).expect("a cost").value;
        // As near as constants settle: whether a wake-up preempts depends on all of them.
        let near = constant.value.abs_diff(is) <= 10 + is / 20;
        assert!(hides || near, "{name} {kernel}: {} is {is}, not {}", constant.name, constant.value);
        let cost = derived.machine.costs.clone().get_mut(constant.name).expect("a cost").clone();
        assert!((cost.low..=cost.high).contains(&cost.value), "{cost:?}");
        assert_eq!(matches!(cost.origin, Origin::Measured(_)), !hides, "{cost:?}");
    }
    for check in derived.checks.iter().filter(|check| check.derived_from) {
        let (is, was) = (check.simulated.expect("a twin"), check.measured.spread.median);
        assert!((is - was).abs() <= 5.0 + was / 20.0, "{name} {kernel}: {check:?}");
    }
}

const FAR: [&str; 4] = ["enqueue_far", "cold_message_far", "ipi_far", "cold_task_far"];

#[test]
fn a_machine_of_two_cpus_is_recovered() {
    is_recovered("test-2c", "v6.12", &TWO_CPUS.0, &TWO_CPUS.1, &[&FAR[..], &["smt_slowdown"]].concat());
    recovers("test-2c", "v6.1", &[0, 1], &[&FAR[..], &["smt_slowdown"]].concat());
}

#[test]
fn a_machine_with_smt_and_nodes_is_recovered() {
    // Wake-ups of another LLC go through the wakelist, so that nobody sees enqueue_far.
    recovers("test-2s", "v6.12", &(0..16).collect::<Vec<_>>(), &["enqueue_far"]);
}

#[test]
fn a_kernel_that_wakes_without_the_wakelist_hides_it() {
    recovers("test-2c", "v5.18", &[0, 1], &[&FAR[..], &["smt_slowdown", "wakelist"]].concat());
}

#[test]
fn one_cpu_gives_what_one_cpu_has() {
    let pairs = ["enqueue_remote", "wakelist", "cold_message", "ipi", "idle_exit", "cold_task", "smt_slowdown"];
    recovers("test-2c", "v6.12", &[1], &[&FAR[..], &pairs].concat());
    let (_, derived) = derived("test-1c", "v6.12", &[0]);
    let why = |name| derived.constants.iter().find(|one| one.name == name).and_then(|one| one.note.clone());
    assert_eq!(
        why("ipi").as_deref(),
        Some(r#"needs "pipe ping-pong, CPUs never idle" (LLC or SMT): no such CPUs may be used"#)
    );
    assert_eq!(why("probe").as_deref(), Some("not seen from user space"));
}

#[test]
fn the_work_of_loads_is_recovered() {
    let work: BTreeMap<Kind, u64> = TWO_CPUS.1.work.iter().map(|work| (work.kind, work.ns)).collect();
    for (kind, is) in [(Kind::Tcp, 9_000), (Kind::Pipes, 2_200), (Kind::Messages, 3_000), (Kind::Forks, 60_000)] {
        let found = work[&kind];
        assert!(found.abs_diff(is) <= is / 20, "{kind:?}: {found}, not {is}");
    }
}

#[test]
fn what_cannot_be_is_said() {
    let (assumed, kernel) = (wakelab_machine::get("test-2c").expect("a machine"), Preset::get("v6.12").expect("one"));
    let mut measured = measurements(&known("test-2c"), kernel, &[0, 1]);
    // A round through idle CPUs that takes less than one through busy ones: no idle exit explains both.
    let busy = measured.iter_mut().find(|one| one.bench == Bench::PipeBusy).expect("measured");
    busy.spread = Spread::exactly(90_000.0);
    let of = Derivation { machine: &assumed, kernel, measured: &measured, date: "2026-11-23" };
    let derived = derive(&of, &AtomicBool::new(false)).expect("it runs").expect("not stopped");
    let exit = derived.constants.iter().find(|one| one.name == "idle_exit").expect("it is there");
    assert_eq!((exit.value, exit.found), (0, Some(Found::Lowest(0))));
    assert!(exit.note.as_deref().is_some_and(|note| note.starts_with("at its lower bound")), "{exit:?}");
    let ipi = derived.constants.iter().find(|one| one.name == "ipi").expect("it is there");
    let exit_and_ipi = 14_142 + 2_718;
    assert!(ipi.value.abs_diff(exit_and_ipi) <= exit_and_ipi / 50, "that of the idle CPU: {ipi:?}");
    let origin = &derived.machine.costs.idle_exit.origin;
    assert!(matches!(origin, Origin::Measured(text) if text.contains("at its lower bound")), "{origin:?}");
    assert!(derive(&of, &AtomicBool::new(true)).expect("it runs").is_none(), "a stop leaves nothing");
}

#[test]
fn the_same_measurements_give_the_same_bytes() {
    assert_eq!(format!("{:?}", derived("test-2c", "v6.12", &[0, 1]).1), format!("{:?}", TWO_CPUS.1));
}
