//! `[scaled]` and `[reference]`: costs that are those of another machine times ratios.

use crate::support::{read, refused, with_topology};
use proptest::prelude::*;
use wakelab_machine::{Costs, Distance, Machine, MachineFile, Origin, ScxCosts, Unit, get};

/// A machine of two LLCs of `cores` with two CPUs each, with these numbers of its speed.
fn two_llcs(cores: u32, mhz: u64, llc: [u64; 3], far: [u64; 3]) -> String {
    format!(
        "name = \"m\"\ndescription = \"d\"\n[topology]\nllcs = 2\ncores = {cores}\nthreads = 2\n[scaled]\n\
         from = \"intel-1s56c112t\"\n[scaled.clock]\nmhz = {mhz}\nsource = \"a clock\"\n{}{}",
        line("llc_line", llc),
        line("far_line", far)
    )
}

fn line(key: &str, [ns, low, high]: [u64; 3]) -> String {
    format!("[scaled.{key}]\nns = {ns}\nrange = [{low}, {high}]\nassumed = \"a line\"\n")
}

/// The file of a machine as fast as the one that it is scaled from, but with two of its LLCs. The topology begins in
/// line 3, `[scaled]` in line 7, its clock in 9, its lines in 12 and 16.
fn same() -> String {
    two_llcs(56, 3800, [55; 3], [135; 3])
}

fn values(machine: &Machine, name: &str) -> [u64; 3] {
    let costs = machine.costs.list();
    let (.., cost) = costs.iter().find(|(known, ..)| *known == name).expect("a cost");
    [cost.value, cost.low, cost.high]
}

fn why(machine: &Machine, name: &str) -> String {
    let costs = machine.costs.list();
    let (.., cost) = costs.iter().find(|(known, ..)| *known == name).expect("a cost");
    match &cost.origin {
        Origin::Assumed(why) => why.clone(),
        Origin::Source(source) | Origin::Measured(source) => panic!("{name} has a source: {source}"),
    }
}

#[test]
fn a_machine_of_the_same_speed_has_the_same_costs() {
    let (machine, from) = (read(&same()).expect("a machine"), get("intel-1s56c112t").expect("built in"));
    // That machine's own is not of its lines.
    for name in Costs::NAMES.iter().filter(|name| **name != "enqueue_far") {
        assert_eq!(values(&machine, name), values(&from, name), "{name}");
    }
    assert_eq!(values(&machine, "enqueue_far"), [1700 + 15 * 80, 1500 + 15 * 80, 2500 + 15 * 80]);
    assert_eq!(machine.noise, from.noise);
    let noise = Origin::Assumed("that of intel-1s56c112t: nothing is published".to_owned());
    assert_eq!(machine.noise_origin.origin, noise);
}

#[test]
fn each_cost_is_scaled_by_what_it_is_made_of() {
    // Half the clock, lines of the LLC in a fifth of the time, of the other in twice, an LLC of an eighth of the CPUs.
    let machine = read(&two_llcs(7, 1900, [11, 11, 22], [270, 135, 540])).expect("a machine");
    let of = |name| values(&machine, name);
    assert_eq!(
        (of("context_switch"), of("wakeup"), of("tick")),
        ([1000, 800, 1200], [400, 200, 600], [2000, 1000, 6000])
    );
    assert_eq!((of("probe"), of("cold_task")), ([12, 4, 32], [580, 140, 1280]));
    assert_eq!((of("cold_task_far"), of("cold_message_far")), ([10_000, 3000, 32_000], [2400, 600, 8000]));
    assert_eq!(of("enqueue_remote"), [500 + 1450 / 5, 300 + 1350 / 5, 800 + 2100 * 2 / 5]);
    assert_eq!(of("enqueue_far"), [790 + 15 * 259 + 5, 570 + 15 * 124, 9410]);
    assert_eq!(of("newidle_max_smt"), [60_000, 20_000, 120_000]);
    assert_eq!(of("newidle_max_llc"), [63_000, 21_000, 130_000]);
    assert_eq!((of("enqueue_visible"), of("smt_slowdown")), ([76, 55, 80], [140, 115, 175]));
}

/// The lines of a dispatch queue are the machine's own, wherever the file says what a line takes.
#[test]
fn lines_of_a_dispatch_queue_are_those_of_the_machine() {
    let of = |machine: &Machine| {
        let ScxCosts { scx_line, scx_line_far, .. } = &machine.scx_costs;
        [scx_line, scx_line_far].map(|cost| [cost.value, cost.low, cost.high])
    };
    let scaled = read(&two_llcs(7, 1900, [11, 11, 22], [270, 135, 540])).expect("a machine");
    assert_eq!(of(&scaled), [[11, 11, 22], [270, 135, 540]]);
    let by_distance = scaled.scx_costs.line_by_distance(&scaled.costs.cluster_line);
    let at = [Distance::Own, Distance::Cluster, Distance::Llc, Distance::Far].map(|distance| by_distance.at(distance));
    assert_eq!(at, [0, 11, 11, 270]);
    let reference = get("intel-1s56c112t").expect("built in");
    assert_eq!(of(&reference).map(|[value, ..]| value), [55, 135]);
    assert_eq!(of(&get("test-2c").expect("built in")), of(&reference), "costs_of");
    let given = "[scx_costs.scx_line]\nns = 7\nrange = [7, 9]\nsource = \"a table\"\n";
    let given = read(&(two_llcs(7, 1900, [11, 11, 22], [270, 135, 540]) + given)).expect("a machine");
    assert_eq!(of(&given)[0], [7, 7, 9]);
}

#[test]
fn a_scaled_cost_says_from_what_and_by_what() {
    let machine = get("intel-2s44c88t").expect("built in");
    let line = "(55 ns of a Xeon W9-3475X, 44 ns of a Xeon E5-2695 v4, nviennot core-to-core-latency)";
    let far = "118 ns, to the other socket of a Xeon E5-2695 v4, nviennot core-to-core-latency";
    for (name, expected) in [
        (
            "context_switch",
            "context_switch of intel-1s56c112t (500) × 1.06, by the highest clock (3.8 GHz of a Xeon 8480+, 3.6 GHz of \
             a Xeon E5-2699 v4)"
                .to_owned(),
        ),
        ("probe", format!("probe of intel-1s56c112t (60) × 0.80, by a cache line of the LLC {line}")),
        (
            "enqueue_remote",
            format!(
                "the part of it that is enqueue_local's × 1.06, the rest of intel-1s56c112t's (1450) × 0.80, by a \
                 cache line of the LLC {line}"
            ),
        ),
        (
            "enqueue_far",
            format!(
                "enqueue_remote and about 15 cache lines from another LLC ({far}) instead of the CPU's own, as in \
                 intel-1s56c112t"
            ),
        ),
        (
            "cold_task_far",
            format!("cold_task_far of intel-1s56c112t (5000) × 0.87, by a cache line of another LLC (135 ns, {far})"),
        ),
        (
            "enqueue_visible",
            "enqueue_visible of intel-1s56c112t: a share, which neither the clock nor cache lines change".to_owned(),
        ),
    ] {
        assert_eq!(why(&machine, name), expected);
    }
    assert_eq!(
        why(&get("intel-haswell-48c").expect("built in"), "newidle_max_llc"),
        "newidle_max_smt and what intel-1s56c112t has above it (100000) × 0.21, by the CPUs of the LLC (24 of 112), × \
         0.87, by a cache line of the LLC"
    );
    assert_eq!(
        why(&get("i7-2600k").expect("built in"), "enqueue_far"),
        "enqueue_far of intel-1s56c112t: not used, there is only one LLC"
    );
    assert_eq!(why(&get("pixel6").expect("built in"), "smt_slowdown"), "not used: there is no SMT");
    assert!(why(&read(&same()).expect("a machine"), "probe").ends_with("(55 ns of a Xeon W9-3475X, assumed a line)"));
}

#[test]
fn the_file_s_own_costs_win() {
    let own = "[costs.probe]\nns = 7\nrange = [6, 8]\nsource = \"a table\"\n[noise]\nkworker_period_ns = 0\n\
               kworker_run_ns = 0\nassumed = \"off\"\n";
    let machine = read(&(same() + own)).expect("a machine");
    assert_eq!(values(&machine, "probe"), [7, 6, 8]);
    assert_eq!(machine.costs.probe.origin, Origin::Source("a table".to_owned()));
    assert_eq!(values(&machine, "balance_cpu"), [60, 20, 200]);
    assert_eq!(machine.noise.kworker_period_ns, 0);
}

#[test]
fn a_reference_is_read_and_written() {
    let file = MachineFile::get("intel-1s56c112t").expect("built in");
    let reference = file.reference.as_ref().expect("a reference");
    assert_eq!([reference.clock.0, reference.llc_line.0, reference.far_line.0], [3800, 55, 135]);
    assert_eq!(MachineFile::from_toml(&file.to_toml(), "m.toml").as_ref(), Ok(&file));
    assert!(file.to_toml().contains("[reference.clock]\nmhz = 3800\nsource = \"a Xeon 8480+\"\n"));
}

#[test]
fn what_costs_cannot_be_scaled_from_is_refused() {
    let from = |name: &str| same().replace("intel-1s56c112t", name);
    refused(&from("intel-1s56c"), 8, &["`scaled.from`: `intel-1s56c`", "did you mean `intel-1s56c112t`"]);
    for scaled_itself in ["intel-2s44c88t", "test-2s", "sparc-2s16c128t"] {
        let hint = "hint: `intel-1s56c112t` has both";
        refused(&from(scaled_itself), 8, &[&format!("{scaled_itself} has costs of another"), "[reference]", hint]);
    }
    refused(&from("m.toml"), 8, &["there is no machine of that name"]);
    refused(&same().replace("from = \"intel-1s56c112t\"", ""), 7, &["`scaled.from`: the key is missing"]);
}

/// A machine whose costs come from another cannot be scaled from, so that none can come from itself.
#[test]
fn costs_come_from_one_place() {
    let both = same().replace("[topology]", "costs_of = \"test-1c\"\n[topology]");
    refused(&both, 8, &["`scaled`: give `costs_of`", "not both"]);
    let reference = "[topology]\ncores = 1\n[reference.clock]\nmhz = 1\nsource = \"a\"\n";
    refused(&with_topology(reference), 6, &["`reference`", "found `costs_of` too"]);
    refused(&(same() + "[reference.clock]\nmhz = 1\nsource = \"a\"\n"), 20, &["`reference`", "found `scaled` too"]);
}

#[test]
fn speeds_that_are_missing_or_of_another_unit_are_refused() {
    refused(
        &same().replace("[scaled.clock]\nmhz = 3800\nsource = \"a clock\"\n", ""),
        7,
        &["`scaled.clock`: the key is"],
    );
    refused(&same().replace("mhz = 3800", "mhz = 0"), 10, &["`scaled.clock.mhz`", "from 1 to 100000, found 0"]);
    refused(&same().replace("mhz = 3800", "ghz = 3"), 10, &["`scaled.clock.ghz`: unknown key; expected mhz"]);
    let of = "of intel-1s56c112t";
    refused(&same().replace("3800", "189"), 9, &["189 MHz differs by more than 20 times", "3800 MHz", of]);
    refused(&same().replace("3800", "76001"), 9, &["76001 MHz differs by more than 20 times"]);
    let slow = |llc, far| two_llcs(1, 3800, [llc; 3], [far; 3]);
    refused(&slow(2, 135), 12, &["`scaled.llc_line`: 2 ns differs by more than 20 times", "55 ns", of]);
    refused(&slow(55, 2701), 16, &["`scaled.far_line`: 2701 ns", "135 ns", of]);
    read(&slow(1100, 2700)).expect("a machine at the limits");
}

#[test]
fn lines_have_ranges_and_far_ones_are_no_nearer() {
    refused(&same().replace("range = [55, 55]\n", ""), 12, &["`scaled.llc_line.range`: the key is missing"]);
    refused(&same().replace("[55, 55]", "[56, 60]"), 12, &["ns = 55 is outside its own range"]);
    let near = |far| two_llcs(1, 3800, [55, 40, 70], far);
    for far in [[54, 50, 80], [60, 39, 80], [60, 50, 69]] {
        let found = format!("{} ns ({} to {}) is less than llc_line's 55 ns (40 to 70)", far[0], far[1], far[2]);
        refused(&near(far), 16, &["`scaled.far_line`", &found]);
    }
    refused(&same().replace("llcs = 2\n", ""), 15, &["`scaled.far_line`: the machine has only one LLC"]);
    let without = same().replace(&line("far_line", [135; 3]), "");
    refused(&without, 7, &["`scaled.far_line`: the key is missing"]);
    // The two that the kernel sees are parts of one.
    read(&without.replace("llcs = 2", "llcs = 2\nsplit_llc = true")).expect("a machine of one LLC");
}

/// A value, and up to so much less and more.
fn line_of(most: u64) -> impl Strategy<Value = [u64; 3]> {
    (3..most).prop_flat_map(move |ns| (Just(ns), 3..=ns, ns..=most)).prop_map(|(ns, low, high)| [ns, low, high])
}

proptest! {
    #[test]
    fn every_scaled_cost_can_be_a_cost(
        cores in 1..100u32, mhz in 190..76_000u64, llc in line_of(1000), over in line_of(100),
    ) {
        let far = [0, 1, 2].map(|i| llc[i] + over[i] + 4);
        let text = two_llcs(cores, mhz, llc, far);
        let machine = read(&text).expect("a machine");
        for (name, unit, _, cost) in machine.costs.list() {
            prop_assert!((cost.low..=cost.high).contains(&cost.value), "{}: {:?}", name, cost);
            prop_assert!(unit != Unit::Ns || cost.high <= 1_000_000_000, "{}: {:?}", name, cost);
        }
        prop_assert!(machine.costs.enqueue_far.value >= machine.costs.enqueue_remote.value);
        prop_assert!(machine.costs.newidle_max_llc.value >= machine.costs.newidle_max_smt.value);
        prop_assert_eq!(read(&machine.to_toml()).expect("what was written"), machine.clone());
        // A slower machine has no lower cost.
        let half = (mhz / 2).max(190);
        let slower = read(&two_llcs(cores, half, llc.map(|ns| ns + 1), far.map(|ns| ns + 2))).expect("one");
        for name in Costs::NAMES {
            for (a, b) in values(&machine, name).into_iter().zip(values(&slower, name)) {
                prop_assert!(b >= a, "{}: {} is less than {}", name, b, a);
            }
        }
    }
}
