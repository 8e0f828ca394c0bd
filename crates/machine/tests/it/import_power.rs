//! What imported CPUs can do: capacities, frequencies, idle states.

use wakelab_machine::Origin;
use wakelab_testing::sysfs::{Sysfs, caches, each, imported, noted, of};

#[test]
fn policies_and_idle_states_are_kept_with_their_cpus() {
    let imported = of("zen-ccx");
    let machine = &imported.file.machine;
    assert_eq!(machine.frequencies.len(), 16);
    let policy = &machine.frequencies[3];
    assert_eq!((policy.cpus.to_string().as_str(), policy.min_khz, policy.max_khz), ("3", 1_500_000, 3_529_052));
    assert_eq!(policy.steps_khz, [1_500_000, 2_000_000, 2_450_000]);
    assert_eq!((policy.base_khz, policy.driver.as_deref()), (None, Some("acpi-cpufreq")));
    let states: Vec<_> = machine
        .idle_states
        .iter()
        .map(|s| (s.index, s.name.as_str(), s.exit_latency_ns, s.residency_ns, s.disabled, s.cpus.to_string()))
        .collect();
    let c2 = |disabled, cpus: &str| (2, "C2", 400_000, 800_000, disabled, cpus.to_owned());
    assert_eq!(
        states,
        [
            (0, "POLL", 0, 0, false, "0-15".to_owned()),
            (1, "C1", 1000, 2000, false, "0-15".to_owned()),
            c2(false, "0-7"),
            c2(true, "8-15"),
        ]
    );
}

#[test]
fn a_policy_has_its_online_cpus_and_is_left_out_without_any() {
    let policies = of("holes").file.machine.frequencies;
    let cpus: Vec<_> = policies.iter().map(|policy| policy.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-2", "3-5"]);
}

#[test]
fn hybrid_cores_differ_in_threads_caches_and_capacity() {
    let imported = of("hybrid");
    let counts = imported.file.machine.counts();
    assert_eq!((counts.cores, counts.threads_min, counts.threads_max, counts.clusters), (6, 1, 2, 1));
    assert_eq!(each(&imported, |c| c.cluster), [None, None, None, None, Some(0), Some(0), Some(0), Some(0)]);
    // 1024 x 40 / 64.
    assert_eq!(each(&imported, |c| c.capacity), [1024, 1024, 1024, 1024, 640, 640, 640, 640]);
    let l2 = |kib, shared_by, cpus: &str| ("L2", kib, shared_by, cpus.to_owned());
    assert_eq!(caches(&imported)[2..4], [l2(1280, 2, "0-3"), l2(2048, 4, "4-7")]);
    noted(&imported, "hybrid machine: cpu_core 0-3, cpu_atom 4-7");
    noted(&imported, "1024 x cpu*/acpi_cppc/highest_perf");
    let base: Vec<_> = imported.file.machine.frequencies.iter().map(|f| f.base_khz).collect();
    assert_eq!((base[0], base[7]), (Some(2_700_000), Some(2_000_000)));
}

#[test]
fn capacities_of_the_kernel_come_before_guesses() {
    let sysfs = Sysfs::of("hybrid").with("cpu/cpu{0-3}/cpu_capacity", "1024").with("cpu/cpu{4-7}/cpu_capacity", "700");
    let told = imported(&sysfs);
    assert_eq!(each(&told, |c| c.capacity)[3..5], [1024, 700]);
    assert!(matches!(told.file.topology_origin, Some(Origin::Source(_))));

    let equal = imported(&sysfs.with("cpu/cpu{4-7}/cpu_capacity", "1024"));
    assert!(equal.file.machine.all_of_full_capacity());
    noted(&equal, "cpu_capacity is 1024 for all its CPUs");

    let by_frequency = Sysfs::of("hybrid")
        .without("cpu/cpu{0-7}/acpi_cppc")
        .with("cpu/cpu{0-3}/cpufreq/cpuinfo_max_freq", "4700000")
        .with("cpu/cpu{4-7}/cpufreq/cpuinfo_max_freq", "3600000");
    assert_eq!(each(&imported(&by_frequency), |c| c.capacity)[3..5], [1024, 784]);
}

#[test]
fn a_phone_has_capacities_policies_and_idle_states_by_kind_of_core() {
    let imported = of("phone");
    let machine = &imported.file.machine;
    assert_eq!(each(&imported, |c| c.capacity), [160, 160, 160, 160, 498, 498, 1024, 1024]);
    assert_eq!(each(&imported, |c| c.llc), [0; 8]);
    assert_eq!(each(&imported, |c| (c.die, c.cluster)), [(0, None); 8]);
    noted(&imported, "no cpu*/cache/index*: the CPUs of a package in one node are assumed to share an LLC");
    let policies: Vec<_> = machine.frequencies.iter().map(|f| (f.cpus.to_string(), f.max_khz)).collect();
    let expected = [("0-3", 1_803_000), ("4-5", 2_253_000), ("6-7", 2_802_000)];
    assert_eq!(policies, expected.map(|(cpus, khz)| (cpus.to_owned(), khz)));
    let c2: Vec<_> = machine.idle_states[1..].iter().map(|s| (s.cpus.to_string(), s.exit_latency_ns)).collect();
    assert_eq!(c2, [("0-3", 160_000), ("4-5", 190_000), ("6-7", 220_000)].map(|(c, ns)| (c.to_owned(), ns)));
}

#[test]
fn a_machine_without_its_large_cores_is_noted() {
    let small = Sysfs::of("phone").with("cpu/online", "0-5");
    noted(&imported(&small), "no online CPU has the capacity 1024: the highest is 498");
}
