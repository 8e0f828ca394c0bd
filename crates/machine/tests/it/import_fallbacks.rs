//! Trees that lack a file, or hold what only some kernels accept: each fact has a second source, and each is noted.

use wakelab_machine::{Imported, Origin};
use wakelab_sched::domain::Arch;
use wakelab_testing::sysfs::{Sysfs, each, imported, noted, of};

/// Four CPUs in two packages of two, with a last cache each of `llcs`, and files of `more`.
fn small(packages: [u32; 4], llcs: [&str; 4], more: &[(&str, &str)]) -> Imported {
    let mut sysfs = Sysfs::empty().with("cpu/online", "0-3");
    for cpu in 0..4 {
        let package: Vec<String> =
            (0..4).filter(|&other| packages[other] == packages[cpu]).map(|other| other.to_string()).collect();
        let path = |file: &str| format!("cpu/cpu{cpu}/{file}");
        for (file, content) in [
            ("topology/physical_package_id", packages[cpu].to_string()),
            ("topology/core_siblings_list", package.join(",")),
            ("topology/thread_siblings_list", cpu.to_string()),
            ("cache/index0/level", "3".to_owned()),
            ("cache/index0/type", "Unified".to_owned()),
            ("cache/index0/size", "8192K".to_owned()),
            ("cache/index0/shared_cpu_list", llcs[cpu].to_owned()),
        ] {
            sysfs = sysfs.with(&path(file), &content);
        }
    }
    for (path, content) in more {
        sysfs = sysfs.with(path, content);
    }
    imported(&sysfs)
}

fn guessed(imported: &Imported) -> bool {
    matches!(imported.file.topology_origin, Some(Origin::Assumed(_)))
}

#[test]
fn without_a_list_the_folders_tell_which_cpus_and_nodes_there_are() {
    let whole = of("zen-ccx");
    let folders = imported(&Sysfs::of("zen-ccx").without("cpu/online").without("node/online"));
    assert_eq!(folders.file.machine.topology, whole.file.machine.topology);
    noted(
        &folders,
        "there is no devices/system/cpu/online: which CPUs are online is read from the folders cpu*/topology",
    );
    noted(&folders, "there is no devices/system/node/online: the nodes are those of the folders node0 and node1");
    let off = Sysfs::of("smt-off").without("cpu/online").with("cpu/cpu{4-7}/online", "0");
    assert_eq!(imported(&off).file, of("smt-off").file);
    noted(&imported(&off), "CPUs 4-7 are offline and left out");
    let one = Sysfs::of("holes").without("cpu/online").without("cpu/possible").with("cpu/cpu2/online", "0");
    noted(&imported(&one), "CPU 2 is offline and left out (cpu2/online is 0, no topology)");
}

#[test]
fn masks_are_read_where_there_is_no_list() {
    let whole = of("zen-ccx");
    let mut sysfs = Sysfs::of("zen-ccx");
    let lists: Vec<(String, Vec<u8>)> = sysfs
        .0
        .iter()
        .filter(|(path, _)| path.ends_with("_list") || path.ends_with("cpulist"))
        .map(|(path, list)| (path.clone(), list.clone()))
        .collect();
    for (path, list) in lists {
        sysfs.0.remove(&path);
        let list = String::from_utf8(list).unwrap();
        let cpus = wakelab_input::parse_sysfs_list(list.trim(), "CPUs", 64).unwrap();
        let mask: u64 = cpus.iter().map(|cpu| 1 << cpu).sum();
        let path = path.replace("shared_cpu_list", "shared_cpu_map").replace("cpulist", "cpumap");
        // More CPUs than there are: masks are as wide as the kernel's.
        sysfs.0.insert(path.replace("_list", ""), format!("00000000,{mask:08x}\n").into_bytes());
    }
    let masks = imported(&sysfs);
    assert_eq!(masks.file, whole.file);
    noted(
        &masks,
        "there is no cpu*/topology/thread_siblings_list: the mask cpu*/topology/thread_siblings is read instead",
    );
    noted(&masks, "the mask node*/cpumap is read");
}

#[test]
fn without_distances_those_of_a_machine_without_a_slit_are_assumed() {
    let imported = imported(&Sysfs::of("zen-ccx").without("node/node{0-1}/distance"));
    assert_eq!(imported.file.machine.topology.node_distance, [[10, 20], [20, 10]]);
    assert!(guessed(&imported));
    noted(&imported, "there is no node*/distance: distances are 10 and 20");
}

#[test]
fn a_last_cache_wider_than_its_package_is_cut_as_cpu_coregroup_mask_does() {
    let arm =
        small([0, 0, 1, 1], ["0-3"; 4], &[("cpu/cpu{0,1}/cpu_capacity", "300"), ("cpu/cpu{2,3}/cpu_capacity", "1024")]);
    assert_eq!(
        each(&arm, |cpu| (cpu.package, cpu.llc, cpu.capacity)),
        [(0, 0, 300), (0, 0, 300), (1, 1, 1024), (1, 1, 1024)]
    );
    noted(&arm, "cpu_coregroup_mask() takes the last cache only if it is within the package");
    assert_eq!(arm.file.machine.arch, Arch::Arm64);
    // x86 would take it: that an LLC ends at its package is a guess.
    let x86 = small([0, 0, 1, 1], ["0-3"; 4], &[("cpu/microcode/reload", "0")]);
    assert_eq!(each(&x86, |cpu| cpu.llc), [0, 0, 1, 1]);
    assert!(guessed(&x86) && !guessed(&arm));
}

#[test]
fn siblings_with_different_core_ids_are_a_core_as_match_smt_has_it() {
    let pairs = Sysfs::of("zen-ccx").with("cpu/cpu{8-15}/topology/core_id", "{}");
    let imported = imported(&pairs);
    assert_eq!(imported.file.machine.topology, of("zen-ccx").file.machine.topology);
    noted(&imported, "match_smt() also goes by cu_id");
}

#[test]
fn siblings_with_caches_of_their_own_share_an_llc() {
    let imported = imported(
        &Sysfs::of("zen-ccx")
            .with("cpu/cpu{0-15}/cache/index3/shared_cpu_list", "{}")
            .without("cpu/cpu{0-15}/cache/index3/id"),
    );
    assert_eq!(each(&imported, |cpu| cpu.llc), each(&imported, |cpu| cpu.core));
    noted(&imported, "an LLC is at least a core");
}

#[test]
fn cpus_that_differ_without_capacities_are_said_and_so_is_itmt() {
    let more = [
        ("cpu/intel_pstate/status", "active"),
        ("cpu/cpu{0,1}/acpi_cppc/highest_perf", "64"),
        ("cpu/cpu{2,3}/acpi_cppc/highest_perf", "39"),
        ("cpu/cpufreq/policy{0-3}/related_cpus", "{}"),
        ("cpu/cpufreq/policy{0-3}/cpuinfo_min_freq", "400000"),
        ("cpu/cpufreq/policy{0,1}/cpuinfo_max_freq", "5000000"),
        ("cpu/cpufreq/policy{2,3}/cpuinfo_max_freq", "3900000"),
        ("cpu/cpufreq/policy{0-3}/scaling_driver", "intel_pstate"),
    ];
    let unequal = small([0; 4], ["0-3"; 4], &more);
    noted(&unequal, "CPUs differ (highest_perf 64 and 39, 5.0 and 3.9 GHz)");
    noted(&unequal, "(ITMT, SD_ASYM_PACKING): that is not modelled");
    assert!(guessed(&unequal));
    let equal = small([0; 4], ["0-3"; 4], &[("cpu/cpu{0-3}/acpi_cppc/highest_perf", "64")]);
    assert!(!guessed(&equal) && !equal.notes.iter().any(|note| note.contains("ITMT")), "{:?}", equal.notes);
    noted(&of("hybrid"), "ITMT");
    // Nothing tells what a kind of CPU can do: as the kernel, they are taken for equal.
    let untold = imported(&Sysfs::of("hybrid").without("cpu/cpu7/acpi_cppc"));
    assert_eq!(each(&untold, |cpu| cpu.capacity), [1024; 8]);
    noted(&untold, "all capacities are 1024, as there is no cpu_capacity; save cpu*/acpi_cppc/highest_perf");
}

#[test]
fn the_llc_of_s390_is_the_socket_and_its_books_are_said() {
    let books = [
        ("cpu/cpu{0,1}/topology/book_siblings_list", "0-1"),
        ("cpu/cpu{2,3}/topology/book_siblings_list", "2-3"),
        ("cpu/cpu{0-3}/topology/drawer_siblings_list", "0-3"),
        ("cpu/cpu{0-3}/polarization", "vertical:high"),
    ];
    let s390 = small([0, 0, 1, 1], ["0", "1", "2", "3"], &books);
    assert_eq!(each(&s390, |cpu| cpu.llc), [0, 0, 1, 1]);
    noted(&s390, "the books (book_siblings_list: CPUs 0-1 and 2-3) are left out");
    noted(&s390, "an LLC is a socket");
    noted(&s390, "polarization is vertical");
    assert!(!s390.notes.iter().any(|note| note.contains("drawer_siblings_list")), "one drawer is no level");
}

#[test]
fn sockets_of_s390_are_numbered_in_each_book() {
    let alike = [
        ("cpu/cpu{0-3}/polarization", "horizontal"),
        ("cpu/cpu{0-3}/topology/physical_package_id", "0"),
        ("cpu/cpu{0,1}/topology/book_id", "0"),
        ("cpu/cpu{2,3}/topology/book_id", "1"),
    ];
    let numbers = Sysfs::empty().with("cpu/online", "0-3").with("cpu/cpu{0-3}/topology/thread_siblings_list", "{}");
    let numbers = alike.iter().fold(numbers, |sysfs, (path, content)| sysfs.with(path, content));
    let sockets = |of: &Imported| each(of, |cpu| (cpu.package, cpu.llc));
    assert_eq!(sockets(&imported(&numbers)), [(0, 0), (0, 0), (1, 1), (1, 1)]);
    let lists = numbers
        .with("cpu/cpu{0,1}/topology/core_siblings_list", "0-1")
        .with("cpu/cpu{2,3}/topology/core_siblings_list", "2-3");
    assert_eq!(sockets(&imported(&lists)), [(0, 0), (0, 0), (1, 1), (1, 1)]);
}

#[test]
fn the_architecture_is_told_by_files_that_only_it_has() {
    for (path, content, arch, note) in [
        ("cpu/cpu{0-3}/regs/identification/midr_el1", "0x410fd460", Arch::Arm64, ""),
        ("cpu/modalias", "cpu:type:x86,ven0000fam0006mod008F:feature:,0000", Arch::X86, ""),
        (
            "cpu/cpu0/uevent",
            "OF_NAME=cpu\nOF_COMPATIBLE_0=sifive,u74-mc\nOF_COMPATIBLE_1=riscv",
            Arch::Arm64,
            "this is riscv",
        ),
        ("cpu/cpu{0-3}/pir", "8", Arch::Arm64, "this is powerpc"),
        ("cpu/cpuidle/current_driver", "psci_idle", Arch::Arm64, ""),
        ("cpu/nothing", "", Arch::X86, "nothing here names the architecture: x86 is assumed"),
    ] {
        let imported = small([0; 4], ["0-3"; 4], &[(path, content)]);
        assert_eq!(imported.file.machine.arch, arch, "{path}");
        if note.is_empty() {
            assert!(
                !imported.notes.iter().any(|known| known.contains("this is") || known.contains("assumed (`arch`)"))
            );
        } else {
            noted(&imported, note);
        }
    }
}

#[test]
fn clusters_that_an_old_kernel_does_not_report_are_never_silent() {
    let arm = small([0; 4], ["0-3"; 4], &[("cpu/cpu{0-3}/regs/identification/midr_el1", "0x410fd460")]);
    noted(&arm, "clusters that the firmware may describe are unknown");
    let atoms = Sysfs::of("hybrid")
        .without("cpu/cpu{0-7}/topology/cluster_cpus_list")
        .without("cpu/cpu{0-7}/topology/cluster_id");
    assert_eq!(each(&imported(&atoms), |cpu| cpu.cluster), each(&of("hybrid"), |cpu| cpu.cluster));
    noted(&imported(&atoms), "cores that share an L2 are assumed to be a cluster");
}

#[test]
fn cores_and_packages_have_a_second_source_too() {
    let cores = imported(&Sysfs::of("zen-ccx").without("cpu/cpu{0-15}/topology/thread_siblings_list"));
    assert_eq!(cores.file.machine.topology, of("zen-ccx").file.machine.topology);
    assert!(guessed(&cores));
    let packages = imported(&Sysfs::of("zen-ccx").without("cpu/cpu{0-15}/topology/physical_package_id"));
    assert_eq!(packages.file, of("zen-ccx").file);
    noted(&packages, "packages are read from core_siblings_list");
}

#[test]
fn policies_are_found_in_the_folders_of_their_cpus() {
    let mut sysfs = Sysfs::of("zen-ccx");
    let policies: Vec<(String, Vec<u8>)> = sysfs
        .0
        .iter()
        .filter(|(path, _)| path.contains("cpufreq/policy"))
        .map(|(p, c)| (p.clone(), c.clone()))
        .collect();
    for (path, content) in policies {
        sysfs.0.remove(&path);
        let (_, rest) = path.split_once("cpufreq/policy").unwrap();
        let (cpu, file) = rest.split_once('/').unwrap();
        sysfs.0.insert(format!("devices/system/cpu/cpu{cpu}/cpufreq/{file}"), content);
    }
    let imported = imported(&sysfs);
    assert_eq!(imported.file.machine.frequencies, of("zen-ccx").file.machine.frequencies);
    noted(&imported, "the policies are those of the folders cpu*/cpufreq");
}
