//! Machines from the XML of lstopo.

use std::path::Path;
use wakelab_machine::{Imported, InputError, MachineFile, import, import_lstopo};
use wakelab_sched::domain::Arch;
use wakelab_testing::sysfs::{Sysfs, caches, each, noted};

/// Two packages of two cores with two CPUs, an L3 and a node each.
const TWO_PACKAGES: &str = include_str!("lstopo/two-packages.xml");
/// The same in the form before hwloc 2.
const OLD: &str = include_str!("lstopo/version-1.xml");

fn read(text: &str) -> Imported {
    import_lstopo(text, Path::new("machine.xml"), "mine").unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> InputError {
    import_lstopo(text, Path::new("machine.xml"), "mine").expect_err("it should be refused")
}

#[test]
fn cores_caches_packages_and_nodes_are_those_of_the_file() {
    for (text, version) in [(TWO_PACKAGES, 2), (OLD, 1)] {
        let imported = read(text);
        let machine = &imported.file.machine;
        assert_eq!(
            each(&imported, |cpu| (cpu.core, cpu.llc, cpu.package, cpu.node))[3..5],
            [(1, 0, 0, 0), (2, 1, 1, 1)]
        );
        assert_eq!(machine.topology.node_distance, [[10, 21], [21, 10]], "version {version}");
        assert_eq!(caches(&imported), [("L2", 1024, 2, "all".to_owned()), ("L3", 8192, 4, "all".to_owned())]);
        assert_eq!(machine.description, "From lstopo: 8 CPUs, 4 cores, 2 LLCs, 2 packages, 2 nodes");
        assert!(machine.frequencies.is_empty() && machine.idle_states.is_empty());
        assert!(imported.to_toml().contains("source = \"lstopo's XML\"\n"), "{}", imported.to_toml());
        noted(&imported, "read from lstopo's XML");
        assert_eq!(MachineFile::from_toml(&imported.to_toml(), "mine.toml").unwrap(), imported.file);
    }
    assert_eq!(read(&TWO_PACKAGES.replace("x86_64", "aarch64")).file.machine.arch, Arch::Arm64);
}

#[test]
fn an_error_names_the_file_its_line_and_the_next_step() {
    let twice = refused(&TWO_PACKAGES.replacen("type=\"PU\" os_index=\"1\"", "type=\"PU\" os_index=\"0\"", 1));
    assert!(twice.line.is_some() && twice.what.contains("each once, found 0"), "{twice}");
    let mask = refused(&TWO_PACKAGES.replacen("cpuset=\"0x0000000f\"", "cpuset=\"all\"", 1));
    assert!(mask.what.contains("cpuset: expected a mask of CPUs"), "{mask}");
    for (text, part) in [
        ("<?xml version=\"1.0\"?><html/>", "with `topology` as its first element, found html"),
        ("<topology version=\"2.0\"></topology>", "no online object of type PU"),
        ("<topology", "expected lstopo's XML: "),
    ] {
        let error = refused(text);
        assert!(error.what.contains(part) && error.hint.is_some(), "{error}");
    }
}

#[test]
fn a_cache_of_memory_is_none_of_cpus() {
    let cache = "<object type=\"MemCache\" cpuset=\"0x0000000f\" cache_size=\"17179869184\" depth=\"1\" \
                 cache_type=\"0\">";
    let node = "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0000000f\" local_memory=\"1024\"/>";
    let cached = TWO_PACKAGES.replace(node, &format!("{cache}{node}</object>"));
    assert_ne!(cached, TWO_PACKAGES);
    assert_eq!(read(&cached).file, read(TWO_PACKAGES).file);
}

#[test]
fn an_entity_that_grows_is_refused() {
    let bomb = "<?xml version=\"1.0\"?><!DOCTYPE topology [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \
                \"&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\"><!ENTITY d \
                \"&c;&c;&c;&c;&c;&c;&c;&c;\">]>\
                <topology>&d;&d;&d;&d;</topology>";
    assert!(refused(bomb).hint.is_some());
    let flat = "<!DOCTYPE topology [<!ENTITY m \"0xff\">]><topology><object type=\"Core\" \
                cpuset=\"&m;\"/></topology>";
    assert!(refused(flat).what.contains("which declares no entity"));
}

#[test]
fn objects_with_more_cpus_than_a_machine_has_are_refused() {
    let cache = format!("<object type=\"L1Cache\" cpuset=\"0x{}\"/>", "f".repeat(8192 / 4));
    let package = "<object type=\"Package\"";
    let error = refused(&TWO_PACKAGES.replacen(package, &(cache.repeat(65) + package), 1));
    assert!(error.line.is_some() && error.what.contains("524288 CPUs at most together"), "{error}");
}

#[test]
fn a_file_in_place_of_a_folder_is_read_or_named() {
    let folder = Sysfs::empty().with("/machine.xml", TWO_PACKAGES).with("/mine.toml", "name = 1").unpacked();
    let path = folder.path().join("machine.xml");
    assert_eq!(import(&path, "mine").unwrap().to_toml(), read(TWO_PACKAGES).to_toml());
    let other = import(&folder.path().join("mine.toml"), "mine").unwrap_err();
    assert!(other.what.contains("expected the folder of a /sys tree, or a file of `lstopo --of xml`"), "{other}");
}
