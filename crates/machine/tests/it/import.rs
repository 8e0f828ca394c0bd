//! Machines from saved `/sys` trees.

use wakelab_kernel::Preset;
use wakelab_machine::{MachineFile, Origin, import};
use wakelab_sched::domain::{DomainOptions, build_sched_domains};
use wakelab_testing::sysfs::{Sysfs, TREES, imported, of};

#[test]
fn every_tree_is_written_to_a_file_that_reads_back_equal() {
    for (name, _) in TREES {
        let imported = of(name);
        let read = MachineFile::from_toml(&imported.to_toml(), "mine.toml").unwrap();
        assert_eq!(read, imported.file, "{name}");
        assert_eq!(MachineFile::from_toml(&read.to_toml(), "mine.toml").unwrap(), read, "{name}");
    }
}

#[test]
fn a_tree_in_a_folder_gives_the_same_bytes_as_in_memory() {
    for (name, _) in TREES {
        let folder = Sysfs::of(name).unpacked();
        let read = import(folder.path(), "mine").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read.to_toml(), of(name).to_toml(), "{name}");
    }
}

#[test]
fn every_tree_gives_domains() {
    for (name, _) in TREES {
        for kernel in Preset::all() {
            let domains = build_sched_domains(&of(name).file.machine.topology, &DomainOptions::of(kernel));
            domains.unwrap_or_else(|e| panic!("{name} {}: {e}", kernel.name));
        }
    }
}

#[test]
fn what_is_not_in_sysfs_is_assumed_and_what_is_has_its_source() {
    for (name, _) in TREES {
        let MachineFile { machine, topology_origin, .. } = of(name).file;
        for (cost, _, _, value) in machine.costs.list() {
            // Of a machine without clusters this is what all lines of the LLC cost.
            let why = if cost == "cluster_line" { "" } else { "not in sysfs" };
            assert!(matches!(&value.origin, Origin::Assumed(given) if given.contains(why)), "{cost}");
            assert!((value.low..=value.high).contains(&value.value), "{cost}");
        }
        assert!(matches!(machine.noise_origin.origin, Origin::Assumed(_)));
        let origins = machine.caches.iter().map(|c| &c.origin);
        let origins = origins.chain(machine.frequencies.iter().map(|f| &f.origin));
        for origin in origins.chain(machine.idle_states.iter().map(|s| &s.origin)) {
            assert!(matches!(origin, Origin::Source(text) if text.starts_with("sysfs: ")), "{name}: {origin:?}");
        }
        let guessed = matches!(topology_origin, Some(Origin::Assumed(_)));
        assert_eq!(guessed, ["hybrid", "phone"].contains(name), "{name}: {topology_origin:?}");
    }
}

#[test]
fn files_that_tar_filled_with_zeros_are_read() {
    let padded = Sysfs::of("smt-off").with("cpu/cpu0/topology/core_id", "0\n\0\0\0\0").with("cpu/online", "0-3\n\0\0");
    assert_eq!(imported(&padded).file, of("smt-off").file);
}

#[test]
fn a_fixture_has_no_line_that_is_not_used() {
    // A fixture whose paths had a slip would still import; this holds that each file is one that is read.
    let known = [
        "online",
        "possible",
        "cpulist",
        "distance",
        "cpus",
        "cpu_capacity",
        "highest_perf",
        "physical_package_id",
        "die_id",
        "cluster_id",
        "core_id",
        "_list",
        "level",
        "type",
        "size",
        "id",
        "related_cpus",
        "affected_cpus",
        "cpuinfo_min_freq",
        "cpuinfo_max_freq",
        "base_frequency",
        "scaling_available_frequencies",
        "scaling_driver",
        "name",
        "desc",
        "latency",
        "residency",
        "disable",
    ];
    for (name, text) in TREES {
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let file = line.split(':').next().and_then(|path| path.rsplit('/').next()).unwrap();
            assert!(known.iter().any(|known| file.ends_with(known)), "{name}: {line}");
        }
    }
}
