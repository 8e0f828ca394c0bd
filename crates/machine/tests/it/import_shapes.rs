//! Shapes of imported machines: LLCs, nodes, CPUs that are not there.

use wakelab_kernel::Preset;
use wakelab_machine::Counts;
use wakelab_sched::domain::{DomainOptions, Level, build_sched_domains};
use wakelab_testing::sysfs::{Sysfs, caches, each, imported, noted, of};

#[test]
fn an_l3_for_each_two_cores_is_an_llc_each() {
    let imported = of("zen-ccx");
    assert_eq!(each(&imported, |c| c.llc), [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(each(&imported, |c| c.core), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(each(&imported, |c| c.node), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(each(&imported, |c| c.cluster), [None; 16]);
    assert_eq!(caches(&imported), [("L1d", 32, 2, "all".to_owned()), ("L3", 16384, 4, "all".to_owned())]);
    assert_eq!(imported.file.machine.topology.node_distance, [[10, 12], [12, 10]]);
    // A machine that is the same everywhere is written with counts.
    assert!(imported.to_toml().contains("llcs = 4\ncores = 2\nthreads = 2\nnodes = 2\nnear = 12\n"));
    assert!(imported.to_toml().contains("numbering = \"split\"\n"));
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
}

#[test]
fn siblings_that_are_switched_off_are_left_out() {
    let imported = of("smt-off");
    let expected = Counts {
        cpus: 4,
        packages: 2,
        dies: 2,
        llcs: 2,
        clusters: 0,
        cores: 4,
        threads_min: 1,
        threads_max: 1,
        nodes: 2,
    };
    assert_eq!(imported.file.machine.counts(), expected);
    assert_eq!(imported.file.machine.cpu_ids, None);
    noted(&imported, "CPUs 4-7 are offline and left out");
    noted(&imported, "no devices/system/cpu/cpufreq/policy*");
    noted(&imported, "no cpu*/cpuidle/state*");
    assert!(imported.file.machine.description.ends_with("4 cores, 2 LLCs, 2 packages, 2 nodes; CPUs 4-7 offline"));
    let names: Vec<_> = caches(&imported).into_iter().map(|(name, ..)| name.to_owned()).collect();
    assert_eq!(names, ["L1d", "L1i", "L2", "L3"]);
}

#[test]
fn cpus_are_renumbered_without_gaps_and_their_kernel_numbers_kept() {
    let imported = of("holes");
    let machine = &imported.file.machine;
    assert_eq!(machine.cpu_ids, Some(vec![0, 1, 3, 8, 10, 11]));
    assert_eq!((0..6).map(|cpu| machine.kernel_cpu(cpu)).collect::<Vec<_>>(), [0, 1, 3, 8, 10, 11]);
    assert!(imported.to_toml().contains("cpu_ids = \"0-1,3,8,10-11\"\n"));
    assert_eq!(each(&imported, |c| c.core), [0, 0, 1, 2, 3, 3]);
    assert_eq!(each(&imported, |c| c.llc), [0, 0, 0, 1, 1, 1]);
    assert_eq!(each(&imported, |c| c.package), [0, 0, 0, 1, 1, 1]);
    noted(&imported, "CPUs 2,9 are offline");
    noted(&imported, "CPUs 0-1,3,8,10-11 of the kernel are CPUs 0 to 5 here");
    // What one L2 serves differs, as a sibling is offline.
    let l2 = |shared_by, cpus: &str| ("L2", 1024, shared_by, cpus.to_owned());
    assert_eq!(caches(&imported)[..2], [l2(2, "0-1,4-5"), l2(1, "2-3")]);
    assert_eq!(caches(&imported)[2], ("L3", 8192, 3, "all".to_owned()));
}

#[test]
fn nodes_without_cpus_are_kept_and_renumbered() {
    let imported = of("holes");
    assert_eq!(each(&imported, |c| c.node), [0, 0, 0, 1, 1, 1]);
    assert_eq!(imported.file.machine.topology.node_distance, [[10, 40, 80], [40, 10, 80], [80, 80, 10]]);
    noted(&imported, "nodes 0-1,8 of the kernel are nodes 0 to 2 here");
}

#[test]
fn without_an_l3_the_llc_is_the_l2_and_without_numa_there_is_one_node() {
    let imported = of("no-numa");
    assert_eq!(each(&imported, |c| c.llc), [0, 0, 1, 1]);
    assert_eq!(each(&imported, |c| c.cluster), [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(imported.file.machine.topology.node_distance, [[10]]);
    noted(&imported, "no devices/system/node");
    noted(&imported, "L2 has no cpu*/cache/index*/size");
    assert!(imported.file.machine.caches.is_empty());
}

#[test]
fn a_last_cache_of_several_nodes_is_an_llc_for_each() {
    // Sub-NUMA clustering, as Intel's servers have it: the firmware says that both nodes share the L3.
    let whole = Sysfs::of("zen-ccx")
        .with("cpu/cpu{0-15}/cache/index3/shared_cpu_list", "0-15")
        .with("cpu/cpu{0-15}/cache/index3/id", "0");
    let imported = imported(&whole);
    assert_eq!(each(&imported, |c| c.llc), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]);
    noted(&imported, "sub-NUMA clustering");
    assert_eq!(caches(&imported)[1], ("L3", 16384, 16, "all".to_owned()));
}

#[test]
fn llcs_of_different_size_are_kept() {
    let unequal = Sysfs::of("zen-ccx")
        .with("cpu/cpu{0-3,8-11}/cache/index3/shared_cpu_list", "0-3,8-11")
        .with("cpu/cpu{0-3,8-11}/cache/index3/id", "0");
    let imported = imported(&unequal);
    assert_eq!(each(&imported, |c| c.llc)[..8], [0, 0, 0, 0, 1, 1, 2, 2]);
    let l3 = |shared_by, cpus: &str| ("L3", 16384, shared_by, cpus.to_owned());
    assert_eq!(caches(&imported)[1..], [l3(8, "0-3,8-11"), l3(4, "4-7,12-15")]);
    let domains =
        build_sched_domains(&imported.file.machine.topology, &DomainOptions::of(Preset::get("v7.2").unwrap()))
            .expect("domains");
    let mc = |cpu: usize| domains.domains[cpu].iter().find(|d| d.level == Level::Mc).map(|d| d.span.weight());
    assert_eq!((mc(0), mc(4)), (Some(8), Some(4)));
}

#[test]
fn a_package_without_a_number_is_known_by_its_list() {
    let sysfs = Sysfs::of("no-numa").with("cpu/cpu{0-3}/topology/physical_package_id", "-1");
    assert_eq!(imported(&sysfs).file, of("no-numa").file);
}
