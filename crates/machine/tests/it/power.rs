//! Turbo, voltages, power and the kernel's energy model: what is read, and what follows from it.

use crate::support::{read, with_topology};
use wakelab_machine::{Clock, Machine, PerfDomain, Scope, get};

/// The power of a busy core at a frequency, mW.
fn busy_mw(machine: &Machine, cpu: u32, khz: u64) -> u64 {
    let policy = machine.frequencies.iter().find(|policy| policy.cpus.test(cpu)).expect("a policy");
    machine.power.of_core(cpu).expect("power").busy_uw(khz, policy.uv(khz)) / 1000
}

#[test]
fn a_pixel_6_has_the_capacities_and_the_power_of_its_device_tree() {
    let phone = get("pixel6").expect("a machine");
    let capacities: Vec<_> = phone.topology.cpus.iter().map(|cpu| cpu.capacity).collect();
    assert_eq!(capacities, [160, 160, 160, 160, 498, 498, 1024, 1024]);
    let counts: Vec<_> = phone.frequencies.iter().map(|policy| policy.targets_khz().len()).collect();
    assert_eq!(counts, [11, 14, 17]);
    // C × V² × f, rounded down, by hand.
    for (cpu, khz, mw) in [
        (0, 300_000, 6),
        (3, 1_803_000, 103),
        (4, 400_000, 29),
        (5, 2_253_000, 600),
        (6, 500_000, 81),
        (7, 2_802_000, 2031),
    ] {
        assert_eq!(busy_mw(&phone, cpu, khz), mw, "CPU {cpu} at {khz} kHz");
    }
    assert!(phone.frequencies.iter().all(|policy| policy.latency_ns == Some(500_000)));
}

#[test]
fn an_energy_model_follows_from_coefficient_and_voltages_where_the_file_has_none() {
    let mut phone = get("pixel6").expect("a machine");
    let model = phone.energy_model();
    let cpus: Vec<_> = model.iter().map(|domain| domain.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-3", "4-5", "6-7"]);
    assert_eq!((model[1].states[0].0, model[1].states[0].1 / 1000), (400_000, 29));
    assert!(model.iter().all(|domain| domain.states.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1)));

    let other = PerfDomain { states: vec![(400_000, 1), (2_253_000, 2)], ..model[1].clone() };
    phone.power.energy_model.push(other.clone());
    assert_eq!(phone.energy_model(), [model[0].clone(), other, model[2].clone()]);
    assert_eq!(get("i7-2600k").expect("a machine").energy_model(), [], "x86 has none");
}

/// The published table: 22.17 to 22.20 W with one CPU busy all the time, at 3798 MHz.
#[test]
fn one_busy_core_of_an_i7_2600k_makes_what_turbostat_shows_of_its_package() {
    let machine = get("i7-2600k").expect("a machine");
    let (core, package) = (machine.power.of_core(0).expect("power"), &machine.power.shared[0]);
    let deepest = machine.idle_states.last().and_then(|state| state.power_uw).expect("power");
    let busy = busy_mw(&machine, 0, 3_798_000) * 1000 + core.leakage_uw.value;
    let all = busy + package.awake_uw.value + 3 * deepest.value;
    assert!((21_700_000..=22_700_000).contains(&all), "{all} uW");
    let smt = busy_mw(&machine, 0, 3_500_000) * 10 * core.smt_pct.value + core.leakage_uw.value;
    assert!(4 * smt + package.awake_uw.value < 95_000_000, "more than the TDP");
}

#[test]
fn turbo_falls_with_the_active_cores_and_stays_at_its_last_bin() {
    let turbo = get("i7-2600k").expect("a machine").turbo.expect("turbo");
    assert_eq!([0, 1, 2, 3, 4, 9].map(|n| turbo.khz(n) / 1000), [3800, 3800, 3700, 3600, 3500, 3500]);
    let turbo = get("intel-broadwell-80c").expect("a machine").turbo.expect("turbo");
    assert_eq!([1, 2, 3, 9, 10, 20].map(|n| turbo.khz(n) / 1000), [3600, 3600, 3400, 2800, 2700, 2700]);
}

#[test]
fn a_grain_makes_the_frequencies_between_the_lowest_and_the_highest() {
    let policy = &get("i7-2600k").expect("a machine").frequencies[7];
    let targets = policy.targets_khz();
    assert_eq!((targets.len(), targets[0], targets[22]), (23, 1_600_000, 3_800_000));
    assert_eq!((policy.cpus.to_string().as_str(), policy.clock), ("7", Clock::Package));
}

#[test]
fn voltage_is_linear_between_points_and_flat_outside() {
    let policy = get("i7-2600k").expect("a machine").frequencies[0].clone();
    let uv = [1_000_000, 1_600_000, 2_500_000, 3_400_000, 3_600_000, 4_000_000].map(|khz| policy.uv(khz));
    assert_eq!(uv, [960_000, 960_000, 1_070_000, 1_180_000, 1_230_000, 1_280_000].map(Some));
    let none = wakelab_machine::FreqPolicy { voltages: Vec::new(), ..policy };
    assert_eq!(none.uv(3_400_000), None);
}

/// What idle states, power and turbo are held to for each machine that has them.
#[test]
fn deeper_states_cost_more_to_leave_and_less_to_stay_in() {
    for machine in wakelab_machine::all().into_iter().filter(|machine| !machine.power.is_empty()) {
        for cpu in 0..machine.topology.nr_cpus() {
            let states: Vec<_> = machine.idle_states.iter().filter(|state| state.cpus.test(cpu)).collect();
            assert!(states.len() >= 2, "{}", machine.name);
            assert!(states.is_sorted_by_key(|state| (state.index, state.exit_latency_ns, state.residency_ns)));
            let power: Vec<_> = states.iter().map(|state| state.power_uw.expect("power").value).collect();
            assert!(power.is_sorted_by(|a, b| a >= b), "{}: {power:?}", machine.name);
            let policy = machine.frequencies.iter().find(|policy| policy.cpus.test(cpu)).expect("a policy");
            let busy: Vec<_> = policy.targets_khz().into_iter().map(|khz| busy_mw(&machine, cpu, khz)).collect();
            assert!(busy.len() >= 2 && busy.is_sorted_by(|a, b| a < b), "{}: {busy:?}", machine.name);
            let leakage = machine.power.of_core(cpu).expect("power").leakage_uw.value;
            let deepest = power.last().expect("a state") / 1000;
            assert!(deepest < busy[0] + leakage / 1000, "{}: idle takes as much as busy", machine.name);
        }
    }
}

#[test]
fn a_machine_without_power_management_has_none() {
    for name in ["test-8c", "intel-1s56c112t", "intel-2s44c88t", "amd-zen3-2s128c256t-nps1", "bench-1024"] {
        let machine = get(name).expect("a machine");
        assert!(machine.frequencies.is_empty() && machine.idle_states.is_empty() && machine.turbo.is_none(), "{name}");
        assert!(machine.power.is_empty(), "{name}");
    }
}

const ALL: &str = "[topology]\ncores = 4\ncluster_cores = 2\n\
    [[frequency]]\ncpus = \"0-1\"\npolicy = 0\nopps = [[1000, 500], [2000, 500], [4000, 900]]\nlatency_us = 7\n\
    delay_us = 500\nclock = \"core\"\nvoltage_range_pct = [80, 120]\nsource = \"a table\"\n\
    [[frequency]]\ncpus = \"2-3\"\npolicy = 1\nmin_khz = 1000\nmax_khz = 3000\ngrain_khz = 500\nsource = \"a table\"\n\
    [turbo]\nkhz = [4000, 3000]\ncores = [1, 4]\nactive_states = [\"C1\"]\nsource = \"a table\"\n\
    [demotion]\nto = \"C1\"\nbelow_us = 1500\nbelow_range = [1000, 2000]\nassumed = \"for the test\"\n\
    [[idle]]\ncpus = \"0-3\"\nindex = 0\nname = \"C1\"\nexit_latency_ns = 1\nresidency_ns = 2\npower_uw = 30\n\
    power_range = [20, 40]\nassumed = \"for the test\"\n\
    [[power]]\ncpus = \"0-1\"\ndynamic = 70\ndynamic_range = [60, 80]\nsmt_pct = 120\nsmt_range = [110, 130]\n\
    leakage_uw = 5\nleakage_range = [0, 9]\nassumed = \"for the test\"\n\
    [[power]]\ncpus = \"2-3\"\nbusy_uw = [[1000, 10], [3000, 30]]\nbusy_range_pct = [50, 200]\nassumed = \"for the \
    test\"\n\
    [[shared_power]]\nof = \"cluster\"\ncpus = \"2-3\"\nawake_uw = 9\nawake_range = [8, 10]\nasleep_uw = 1\n\
    asleep_range = [0, 2]\nassumed = \"for the test\"\n\
    [[shared_power]]\nof = \"package\"\nawake_uw = 9\nawake_range = [8, 10]\nasleep_uw = 1\nasleep_range = [0, 2]\n\
    assumed = \"for the test\"\n\
    [[energy_model]]\ncpus = \"0-1\"\nopps = [[1000, 7], [4000, 8]]\nsource = \"a table\"\n";

#[test]
fn all_of_it_is_written_and_read_back_equal() {
    let machine = read(&with_topology(ALL)).expect("a machine");
    assert_eq!(machine.frequencies[0].targets_khz(), [1000, 2000, 4000]);
    assert_eq!((machine.frequencies[0].min_khz, machine.frequencies[0].max_khz), (1000, 4000));
    assert_eq!(machine.frequencies[1].targets_khz(), [1000, 1500, 2000, 2500, 3000]);
    assert_eq!((machine.power.cores.len(), machine.power.shared.len()), (2, 2));
    assert_eq!(machine.power.shared[0].scope, Scope::Cluster);
    assert_eq!(machine.power.cores[1].busy_uw(1500, None), 15);
    assert_eq!(machine.turbo.as_ref().expect("turbo").active_states, ["C1"]);
    let demotion = machine.demotion.as_ref().expect("demotion");
    assert_eq!((demotion.to.as_str(), demotion.below_us.value, demotion.below_us.high), ("C1", 1500, 2000));
    assert_eq!(read(&machine.to_toml()).expect("what was written"), machine);
}
