//! The machines that come with the program.

use std::path::Path;
use wakelab_kernel::Preset;
use wakelab_machine::{MachineFile, all, get, names};
use wakelab_sched::domain::{CpuTopology, DomainOptions, Level, build_sched_domains};

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/machines")
}

#[test]
fn every_file_of_the_directory_is_a_machine_of_its_name() {
    let mut files: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".toml", ""))
        .collect();
    files.sort_unstable();
    let mut known = names().to_vec();
    known.sort_unstable();
    assert_eq!(files, known);
    assert_eq!(all().iter().map(|machine| machine.name.as_str()).collect::<Vec<_>>(), names());
}

#[test]
fn a_path_gives_the_same_machine_as_the_name() {
    let path = directory().join("test-2s.toml");
    assert_eq!(get(path.to_str().unwrap()).unwrap(), get("test-2s").unwrap());
}

#[test]
fn every_machine_gives_domains_in_every_version() {
    for machine in all() {
        for kernel in Preset::all() {
            let domains = build_sched_domains(&machine.topology, &machine.domain_options(kernel));
            domains.unwrap_or_else(|e| panic!("{} {}: {e}", machine.name, kernel.name));
        }
    }
}

#[test]
fn names_say_how_many_cpus_there_are() {
    let cpus: Vec<_> = all().iter().map(|machine| machine.topology.nr_cpus()).collect();
    assert_eq!(
        cpus,
        [
            112, 88, 224, 256, 256, 256, 160, 80, 8, 8, 80, 48, 8, 128, 128, 96, 96, 192, 80, 64, 224, 120, 128, 128,
            128, 40, 48, 4, 8, 12, 20, 224, 224, 160, 1, 2, 8, 8, 16, 1024, 4096
        ]
    );
}

#[test]
fn the_machine_of_the_published_tables_has_smt_siblings_56_apart_below_one_llc() {
    let machine = get("intel-1s56c112t").unwrap();
    let domains =
        build_sched_domains(&machine.topology, &DomainOptions::of(Preset::get("v5.19-rc1").unwrap())).unwrap();
    let of_cpu_3: Vec<_> = domains.domains[3].iter().map(|domain| (domain.level, domain.span.to_string())).collect();
    assert_eq!(of_cpu_3, [(Level::Smt, "3,59".to_owned()), (Level::Mc, "0-111".to_owned())]);
}

#[test]
fn the_last_cache_of_every_machine_is_shared_by_the_cpus_of_an_llc() {
    // Kernels before 6.0 take a phone's clusters for packages, and do not see the cache that they share.
    for machine in all().into_iter().filter(|machine| machine.name != "pixel6") {
        let same = |cpu: &CpuTopology| if machine.split_llc { cpu.package == 0 } else { cpu.llc == 0 };
        let of_first = machine.topology.cpus.iter().filter(|cpu| same(cpu)).count();
        assert_eq!(machine.caches.last().unwrap().shared_by as usize, of_first, "{}", machine.name);
    }
}

#[test]
fn test_machines_have_no_background_work() {
    for machine in all().into_iter().filter(|machine| machine.name.starts_with("test-")) {
        assert_eq!(machine.noise.kworker_period_ns, 0, "{}", machine.name);
    }
}

#[test]
fn what_a_machine_is_written_to_reads_back_equal() {
    for name in names() {
        let file = MachineFile::get(name).unwrap();
        assert_eq!(MachineFile::from_toml(&file.to_toml(), "written").unwrap(), file);
    }
}
