//! Machines as they are shown.

use serde_json::json;
use wakelab_machine::{Costs, MachineFile, Origin, all};
use wakelab_report::machine;

fn file(name: &str) -> MachineFile {
    MachineFile::get(name).expect("a machine")
}

fn shown(name: &str) -> String {
    machine::show_text(&file(name))
}

#[test]
fn the_list_has_a_line_with_the_counts_of_every_machine() {
    let text = machine::list_text(&all());
    let line = |name: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().take(7).map(str::to_owned).collect()
    };
    assert_eq!(line("machine"), ["machine", "CPUs", "packages", "LLCs", "cores", "threads", "nodes"]);
    assert_eq!(line("intel-1s56c112t"), ["intel-1s56c112t", "112", "1", "1", "56", "2", "1"]);
    assert_eq!(line("bench-4096"), ["bench-4096", "4096", "4", "32", "2048", "2", "4"]);
}

#[test]
fn the_shape_is_drawn_by_package() {
    let tree = "16 CPUs, 8 cores, 2 LLCs, 2 packages, 2 NUMA nodes\n\
                package 0\n└─ die 0, LLC 0, node 0: 4 cores, CPUs 0-7\n\
                package 1\n└─ die 1, LLC 1, node 1: 4 cores, CPUs 8-15\n\
                SMT siblings of CPU 0: 1\n\
                distances of the nodes:\n   10   20\n   20   10\n";
    assert!(shown("test-2s").contains(tree), "{}", shown("test-2s"));
    let two = "├─ die 0, LLC 0, node 0: 4 cores, CPUs 0-3\n└─ die 0, LLC 1, node 0: 4 cores, CPUs 4-7\n";
    assert!(shown("test-2llc").contains(two), "{}", shown("test-2llc"));
    assert!(!shown("test-2llc").contains("siblings"), "it has no SMT");
    assert!(shown("intel-1s56c112t").contains("SMT siblings of CPU 0: 56\n"));
}

#[test]
fn machines_of_published_tables_are_drawn_as_their_kernels_see_them() {
    let zen3 = shown("amd-zen3-2s128c256t-nps4");
    assert!(zen3.contains("\n256 CPUs, 128 cores, 16 LLCs, 2 packages, 8 NUMA nodes\n"), "{zen3}");
    assert!(zen3.contains("\n├─ die 0, LLC 2, node 1: 8 cores, CPUs 16-23,144-151\n"), "{zen3}");
    assert!(zen3.contains("\nSMT siblings of CPU 0: 128\n"), "{zen3}");
    assert!(zen3.contains("\n   10   12   12   12   32   32   32   32\n"), "{zen3}");
    assert!(zen3.contains("\nwake-ups and forks are placed across nodes up to distance 32\n"), "{zen3}");
    assert!(zen3.contains("\n25 of 25 costs are assumed.\n"), "{zen3}");
    let altra = shown("ampere-altra-2s160c");
    assert!(altra.contains("\n160 CPUs, 160 cores, 80 clusters, 160 LLCs, 2 packages, 2 NUMA nodes\n"), "{altra}");
    assert!(altra.contains("\ndomains as arm64 kernels build them\n") && !altra.contains("siblings"), "{altra}");
    let sparc = shown("sparc-2s16c128t");
    assert!(sparc.contains("\nSMT siblings of CPU 0: 1, 2, 3, 4, 5, 6, 7\n"), "{sparc}");
    let broadwell = shown("intel-2s44c88t");
    assert!(broadwell.contains("\n└─ die 1, LLC 1, node 1: 22 cores, CPUs 22-43,66-87\n"), "{broadwell}");
    let json = machine::json(&file("ampere-altra-2s160c").machine);
    assert_eq!(json["topology"]["arch"], "arm64");
    assert_eq!(machine::json(&file("amd-zen3-2s128c256t-nps1").machine)["topology"]["reclaim_distance"], 32);
}

#[test]
fn clusters_capacities_and_many_llcs_are_said() {
    let text = "name = \"m\"\ndescription = \"d\"\ncosts_of = \"intel-1s56c112t\"\n[topology]\n";
    let shown = |topology: &str| {
        machine::show_text(&MachineFile::from_toml(&format!("{text}{topology}"), "m.toml").expect("a machine"))
    };
    let small = shown("cores = 4\ncluster_cores = 2\ncapacities = [160, 160, 1024, 1024]\n");
    assert!(small.contains("├─ die 0, LLC 0, node 0: 2 cores in 1 cluster of capacity 160, CPUs 0-1\n"), "{small}");
    assert!(small.contains("└─ die 0, LLC 0, node 0: 2 cores in 1 cluster, CPUs 2-3\n"), "{small}");
    let many = shown("llcs = 17\ncores = 2\n");
    assert!(many.contains("package 0\n└─ LLCs 0 to 16: 34 cores, CPUs 0-33\n"), "{many}");
}

#[test]
fn every_cost_and_cache_is_shown_with_value_range_and_origin() {
    for name in wakelab_machine::names() {
        let (file, text) = (file(name), shown(name));
        let machine = &file.machine;
        let origins = machine.costs.list().into_iter().map(|(name, _, _, cost)| (name, &cost.origin));
        let caches = machine.caches.iter().map(|cache| (cache.name.as_str(), &cache.origin));
        for (name, origin) in origins.chain(caches) {
            // Caches of one name can differ by their CPUs, and have a line each.
            let mut lines = text.lines().filter(|line| line.split_whitespace().next() == Some(name));
            let from = match origin {
                Origin::Source(from) | Origin::Measured(from) => from.clone(),
                Origin::Assumed(why) => format!("assumed: {why}"),
            };
            assert!(lines.any(|line| line.ends_with(&from)), "{name} in\n{text}");
        }
    }
    let mut file = file("test-1c");
    let probe = &mut file.machine.costs.probe;
    (probe.value, probe.low, probe.high) = (1234, 1000, 20000);
    let text = machine::show_text(&file);
    let line = text.lines().find(|line| line.starts_with("probe ")).expect("a line");
    let words: Vec<_> = line.split_whitespace().take(5).collect();
    assert_eq!(words, ["probe", "1,234", "ns", "1,000..20,000", "assumed:"]);
}

#[test]
fn background_work_is_shown_with_its_ranges() {
    let mut file = file("intel-1s56c112t");
    (file.machine.noise.kworker_period_ns, file.machine.noise_origin.period_range) =
        (20_000_000, [4_000_000, 100_000_000]);
    (file.machine.noise.kworker_run_ns, file.machine.noise_origin.run_range) = (5000, [1000, 20_000]);
    let text = machine::show_text(&file);
    assert!(
        text.contains("about every 20 ms (4 ms to 100 ms) and runs for 5 us (1 us to 20 us)\n  assumed: "),
        "{text}"
    );
    assert!(shown("test-1c").contains("\nBackground work: none (assumed: "));
}

#[test]
fn json_has_counts_topology_costs_and_noise() {
    let file = file("test-2s");
    let value = machine::json(&file.machine);
    assert_eq!(value["name"], "test-2s");
    assert_eq!((&value["cpus"], &value["threads_max"], &value["nodes"]), (&json!(16), &json!(2), &json!(2)));
    assert_eq!(value["topology"]["llcs"][1]["cpus"], "8-15");
    assert_eq!(value["topology"]["distances"], json!([[10, 20], [20, 10]]));
    assert_eq!(value["costs"].as_object().map(|costs| costs.len()), Some(Costs::NAMES.len()));
    let smt = &file.machine.costs.smt_slowdown;
    assert_eq!(
        (&value["costs"]["smt_slowdown"]["unit"], &value["costs"]["smt_slowdown"]["low"]),
        (&json!("pct"), &json!(smt.low))
    );
    assert!(value["caches"][0]["origin"]["assumed"].is_string(), "{value:#}");
    assert!(value["noise"]["origin"]["assumed"].is_string(), "{value:#}");
    let listed = machine::list_json(&all());
    assert_eq!(listed["machines"][0]["cpus"], 112);
}

#[test]
fn power_management_is_shown_where_there_is_any() {
    let i7 = shown("i7-2600k");
    assert!(
        i7.contains("\nTurbo, MHz by active cores: 3,800 with 1, 3,700 with 2, 3,600 with 3, 3,500 with 4\n"),
        "{i7}"
    );
    let words = |text: &str, start: &str| -> Vec<String> {
        let line = text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(words(&i7, "5 C7")[..7], ["5", "C7", "8", "109", "us", "345", "us"]);
    assert_eq!(words(&i7, "package awake")[..4], ["package", "awake", "0-7", "6,000"]);
    let phone = shown("pixel6");
    assert!(phone.contains("\nEnergy model of CPUs 4-5: 29 to 600 mW a CPU in 14 operating points\n"), "{phone}");
    let none = shown("intel-1s56c112t");
    assert!(["Frequencies", "Turbo", "Idle states", "Power"].iter().all(|text| !none.contains(text)), "{none}");
}

#[test]
fn json_has_power_management_where_there_is_any() {
    let phone = machine::json(&file("pixel6").machine);
    assert_eq!(phone["frequencies"][2]["voltages"][0], json!([500_000, 500_000]));
    assert_eq!(phone["power"]["energy_model"].as_array().map(Vec::len), Some(3));
    assert_eq!(machine::json(&file("i7-2600k").machine)["turbo"]["bins"][3], json!({"cores": 4, "khz": 3_500_000}));
    let none = machine::json(&file("test-8c").machine);
    assert!(["frequencies", "turbo", "idle_states", "power"].iter().all(|key| none.get(*key).is_none()), "{none:#}");
}
