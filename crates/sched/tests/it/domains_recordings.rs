//! Domains that real kernels built, against those built from a description of the machine.
//!
//! Reads every `topo-*.json` in the folder that `WAKELAB_RECORDINGS` names, else in `data/recordings/`.

use serde_json::Value;
use std::path::PathBuf;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::*;

fn recorded() -> Vec<(String, Value)> {
    let folder = std::env::var_os("WAKELAB_RECORDINGS")
        .map_or(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings"), PathBuf::from);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.retain(|path| name(path).starts_with("topo-") && name(path).ends_with(".json"));
    assert!(!files.is_empty(), "no topo-*.json in {}", folder.display());
    let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    files.iter().map(|path| (name(path), read(path))).collect()
}

fn preset(recording: &Value) -> &'static Preset {
    Preset::of_release(recording["kernel"].as_str().unwrap()).unwrap()
}

/// The names of the bits, from bit 0 upwards.
fn numbering(kernel: &str) -> &'static [&'static str] {
    Preset::get(kernel).unwrap().sd_flags.names
}

/// Reads `0-3,8` into a CPU-indexed table.
fn set_cpulist(table: &mut [u32], list: &str, value: u32) {
    for range in list.trim().split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        table[from.parse::<usize>().unwrap()..=to.parse().unwrap()].fill(value);
    }
}

/// The number before or after a word in a name such as `C-16c-2s4x2-numa2`.
fn counts(name: &str) -> (u32, u32) {
    let packages = name.split('-').filter_map(|part| part.split_once('s')?.0.parse().ok()).next();
    let nodes = name.split('-').filter_map(|part| part.strip_prefix("numa")?.parse().ok()).next();
    (packages.unwrap_or(1), nodes.unwrap_or(1))
}

/// The machine as the recording's `meta` describes it.
fn description(recording: &Value) -> Topology {
    let nr_cpus = recording["cpu_llc"].as_array().unwrap().len();
    let (mut core, mut llc) = (vec![0; nr_cpus], vec![0; nr_cpus]);
    let meta = &recording["meta"];
    for (i, list) in (0..).zip(meta["smt"].as_str().unwrap().lines()) {
        set_cpulist(&mut core, list, i);
    }
    for (i, line) in (0..).zip(meta["l3"].as_str().unwrap().lines()) {
        set_cpulist(&mut llc, line.split_whitespace().last().unwrap(), i);
    }
    let (packages, nodes) = counts(recording["topology"].as_str().unwrap());
    let part = |cpu: usize, of: u32| (cpu * of as usize / nr_cpus) as u32;
    let cpu = |cpu: usize| CpuTopology {
        core: core[cpu],
        cluster: None,
        llc: llc[cpu],
        die: part(cpu, packages),
        package: part(cpu, packages),
        node: part(cpu, nodes),
        capacity: 1024,
    };
    let distance = |a, b| if a == b { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
    Topology {
        cpus: (0..nr_cpus).map(cpu).collect(),
        node_distance: (0..nodes).map(|a| (0..nodes).map(|b| distance(a, b)).collect()).collect(),
    }
}

fn hex(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap(), 16).unwrap()
}

fn parts(recording: &Value) -> KernelDomains {
    let ids = recording["cpu_llc"].as_array().unwrap();
    let numbering = preset(recording).sd_flags.names;
    let flags = |value: &Value| SdFlags::from_raw(numbering, hex(value)).unwrap();
    let mask = |value: &Value| CpuMask::from_hex(ids.len() as u32, value.as_str().unwrap()).unwrap();
    let group = |group: &Value| KernelGroup {
        span: mask(&group["mask"]),
        capacity: group["capacity"].as_u64().unwrap(),
        flags: flags(&group["flags"]),
    };
    let sd = |sd: &Value| KernelSd {
        name: sd["name"].as_str().unwrap().to_string(),
        flags: flags(&sd["flags"]),
        imbalance_pct: sd["imbalance_pct"].as_u64().unwrap() as u32,
        imb_numa_nr: sd["imb_numa_nr"].as_u64().unwrap() as u32,
        span: mask(&sd["span"]),
        groups: sd["groups"].as_array().unwrap().iter().map(group).collect(),
    };
    let cpu = |cpu: usize| KernelCpu {
        domains: recording["domains"][cpu.to_string()].as_array().unwrap().iter().map(sd).collect(),
        sd_llc_id: ids[cpu].as_u64().unwrap() as u32,
    };
    KernelDomains { cpus: (0..ids.len()).map(cpu).collect(), node: None }
}

#[test]
fn recordings_are_rebuilt_from_the_description() {
    for (name, recording) in recorded() {
        let numbering = preset(&recording).sd_flags.names;
        let options = DomainOptions::of(preset(&recording));
        let topology = description(&recording);
        let built = build_sched_domains(&topology, &options).unwrap();
        let raw = |flags: SdFlags| format!("{:x}", flags.to_raw(numbering).unwrap());

        let ids: Vec<u64> = recording["cpu_llc"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        // The kernel compares these numbers and nothing else; only up to 6.12 they are those of CPUs.
        let same = |other: usize| ids.iter().position(|&id| id == ids[other]).unwrap() as u32;
        assert_eq!(built.sd_llc_id, (0..ids.len()).map(same).collect::<Vec<_>>(), "{name}: sd_llc_id");
        if options.rules.llc_id == LlcId::FirstCpu {
            assert!(built.sd_llc_id.iter().zip(&ids).all(|(&ours, &id)| u64::from(ours) == id), "{name}: sd_llc_id");
        }

        for cpu in 0..topology.nr_cpus() {
            let expected = recording["domains"][cpu.to_string()].as_array().unwrap();
            let domains = &built.domains[cpu as usize];
            let levels: Vec<&str> = domains.iter().map(|sd| sd.level.name(options.rules.pkg_name)).collect();
            let names: Vec<&str> = expected.iter().map(|sd| sd["name"].as_str().unwrap()).collect();
            assert_eq!(levels, names, "{name}: levels of CPU {cpu}");
            for (sd, expected) in domains.iter().zip(expected) {
                let at = format!("{name}: CPU {cpu} {}", expected["name"]);
                assert_eq!(raw(sd.flags), expected["flags"].as_str().unwrap(), "{at}: flags");
                assert_eq!(u64::from(sd.imbalance_pct), expected["imbalance_pct"], "{at}: imbalance_pct");
                assert_eq!(u64::from(sd.imb_numa_nr), expected["imb_numa_nr"], "{at}: imb_numa_nr");
                assert_eq!(u64::from(sd.span_weight), expected["span_weight"], "{at}: span_weight");
                assert_eq!(sd.span.to_hex(), expected["span"].as_str().unwrap(), "{at}: span");
                let groups = expected["groups"].as_array().unwrap();
                assert_eq!(sd.groups().count(), groups.len(), "{at}: groups");
                for (i, (group, expected)) in sd.groups().zip(groups).enumerate() {
                    assert_eq!(group.span.to_hex(), expected["mask"].as_str().unwrap(), "{at}: group {i}");
                    assert_eq!(u64::from(group.weight), expected["weight"], "{at}: group {i}: weight");
                    assert_eq!(raw(group.flags), expected["flags"].as_str().unwrap(), "{at}: group {i}: flags");
                    // What realtime tasks and interrupts took is gone from a recorded capacity.
                    let capacity = expected["capacity"].as_u64().unwrap();
                    assert!(capacity <= group.capacity, "{at}: group {i}: capacity {capacity}");
                }
            }
        }
    }
}

/// The names that the kernel printed for the first CPU's domains are the flags that were decoded.
#[test]
fn recordings_name_the_same_flags() {
    for (name, recording) in recorded() {
        let parts = parts(&recording);
        for (sd, line) in parts.cpus[0].domains.iter().zip(recording["meta"]["domains"].as_str().unwrap().lines()) {
            let printed = line.split_whitespace().filter(|word| word.starts_with("SD_"));
            let printed = printed.fold(SdFlags::empty(), |set, word| set | SdFlags::from_kernel_name(word).unwrap());
            assert_eq!(sd.flags, printed, "{name}: {line}");
            let names = preset(&recording).sd_flags.names;
            let renamed = |flag: &'static str| match !names.contains(&flag) && flag == "SD_SHARE_LLC" {
                true => "SD_SHARE_PKG_RESOURCES",
                false => flag,
            };
            for flag in sd.flags.names() {
                assert!(line.split_whitespace().any(|word| word == renamed(flag)), "{name}: {line}: {flag}");
            }
        }
    }
}

#[test]
fn recordings_taken_over_equal_those_built() {
    for (name, recording) in recorded() {
        let taken = SchedDomains::from_kernel(&parts(&recording)).unwrap();
        let built = build_sched_domains(&description(&recording), &DomainOptions::of(preset(&recording))).unwrap();
        assert_eq!(taken.smt_mask, built.smt_mask, "{name}");
        assert_eq!(taken.sd_llc, built.sd_llc, "{name}");
        assert_eq!(taken.sd_llc_id, built.sd_llc_id, "{name}");
        assert_eq!(taken.sd_llc_size, built.sd_llc_size, "{name}");
        assert_eq!(taken.sd_share_id, built.sd_share_id, "{name}");
        assert_eq!(taken.node, built.node, "{name}");
        assert_eq!(taken.smt_active, built.smt_active, "{name}");
        assert_eq!(taken.cluster_active, built.cluster_active, "{name}");
        assert_eq!(taken.asym_cpucap_active, built.asym_cpucap_active, "{name}");
        for (taken, built) in taken.domains.iter().flatten().zip(built.domains.iter().flatten()) {
            assert_eq!((taken.level, taken.flags, &taken.span), (built.level, built.flags, &built.span), "{name}");
            let masks = |sd: &SchedDomain| sd.groups().map(|group| group.span.clone()).collect::<Vec<_>>();
            assert_eq!(masks(taken), masks(built), "{name}");
        }
    }
}

#[test]
fn recordings_with_a_fault_are_refused() {
    for (name, recording) in recorded() {
        let good = parts(&recording);
        let refused = |change: &dyn Fn(&mut KernelDomains), message: &str| {
            let mut bad = good.clone();
            change(&mut bad);
            let error = SchedDomains::from_kernel(&bad).unwrap_err().to_string();
            assert!(error.starts_with(message), "{name}: {error}");
        };
        refused(&|parts| parts.cpus.clear(), "cpus: 0 CPUs");
        refused(&|parts| parts.node = Some(vec![0]), "node: 1 entries for");
        refused(
            &|parts| parts.cpus[1].domains[0].name = "SMP".into(),
            "CPU 1, domain 0, name: `SMP` is unknown; expected SMT",
        );
        refused(&|parts| parts.cpus[1].domains.swap(0, 1), "CPU 1, domain 1, name: SMT is above Mc");
        refused(&|parts| parts.cpus[2].domains[0].span.clear(2), "CPU 2, domain 0, span: 3 does not contain the CPU");
        refused(&|parts| parts.cpus[0].domains[1].groups.clear(), "CPU 0, domain 1, groups: there is none");
        refused(&|parts| parts.cpus[0].domains[1].groups.rotate_left(1), "CPU 0, domain 1, groups: the first, 2-3,");
        refused(
            &|parts| drop(parts.cpus[0].domains[1].groups.pop()),
            "CPU 0, domain 1, groups: they cover 0-5, but the domain spans 0-7",
        );
        refused(&|parts| parts.cpus[3].domains[1].imbalance_pct = 17, "CPU 3, domain 1, imbalance_pct: 17 is below");
        refused(&|parts| parts.cpus[3].sd_llc_id = 7777, "CPU 3, sd_llc_id: 7777, but CPU 0 of the same LLC has");
        refused(
            &|parts| parts.cpus[0].domains[0].flags -= SdFlags::SHARE_LLC,
            "CPU 0, domain 1, flags: SD_SHARE_LLC is set here but not in the domain below",
        );
    }
}

#[test]
fn raw_flags_of_every_version() {
    for (kernel, raw, names) in [
        ("v5.10", 0x417, "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE SD_PREFER_SIBLING"),
        ("v5.10", 0x1900, "SD_SERIALIZE SD_OVERLAP SD_NUMA"),
        (
            "v6.1",
            0x997,
            "SD_BALANCE_NEWIDLE SD_BALANCE_EXEC SD_BALANCE_FORK SD_WAKE_AFFINE SD_SHARE_CPUCAPACITY \
                         SD_SHARE_LLC SD_PREFER_SIBLING",
        ),
        ("v6.12", 0x6400, "SD_SERIALIZE SD_OVERLAP SD_NUMA"),
        ("v7.2", 0x2400, "SD_SERIALIZE SD_NUMA"),
        ("v7.3", 0x360, "SD_ASYM_CPUCAPACITY SD_ASYM_CPUCAPACITY_FULL SD_CLUSTER SD_SHARE_LLC"),
    ] {
        let numbering = numbering(kernel);
        let flags = SdFlags::from_raw(numbering, raw).unwrap();
        assert_eq!(flags.names().collect::<Vec<_>>().join(" "), names, "{kernel} {raw:x}");
        assert_eq!(flags.to_raw(numbering), Ok(raw));
    }
    assert_eq!(
        SdFlags::from_raw(numbering("v7.2"), 0x8001).unwrap_err().to_string(),
        "domain flags 8001: bit 15 has no name in this kernel version's numbering"
    );
    assert_eq!(
        SdFlags::from_raw(&["SD_LOAD_BALANCE"], 1).unwrap_err().to_string(),
        "domain flags 1: bit 0 is SD_LOAD_BALANCE, which the model does not have"
    );
    assert_eq!(
        SdFlags::CLUSTER.to_raw(numbering("v6.1")).unwrap_err().to_string(),
        "this kernel version has no domain flag SD_CLUSTER"
    );
}
