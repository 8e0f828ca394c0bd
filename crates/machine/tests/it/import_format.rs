//! What imported machines brought to the format: numbers of the kernel, caches of some CPUs, frequencies, idle states.

use crate::support::{read, refused, with_topology};
use wakelab_machine::{MachineFile, Origin};

/// Four CPUs; what is added begins in line 6.
fn machine(more: &str) -> String {
    with_topology(&format!("[topology]\ncores = 4\n{more}"))
}

#[test]
fn a_machine_without_the_new_keys_has_none_of_it() {
    let file = MachineFile::from_toml(&machine(""), "m.toml").unwrap();
    let machine = &file.machine;
    assert_eq!((&machine.cpu_ids, &file.topology_origin), (&None, &None));
    assert!(machine.frequencies.is_empty() && machine.idle_states.is_empty());
    let text = file.to_toml();
    assert!(!["cpu_ids", "[[frequency]]", "[[idle]]"].iter().any(|key| text.contains(key)), "{text}");
}

#[test]
fn numbers_of_the_kernel_are_one_for_each_cpu_lowest_first() {
    let ids = |list: &str| machine(&format!("cpu_ids = {list}\n"));
    assert_eq!(read(&ids("\"0-1,8-9\"")).unwrap().cpu_ids, Some(vec![0, 1, 8, 9]));
    assert_eq!(read(&ids("\"0-3\"")).unwrap().cpu_ids, None);
    for list in ["\"0-2\"", "\"0-4\"", "\"1,0,2,3\"", "\"0,0,1,2\"", "\"x\"", "[0, 1, 2, 3]"] {
        refused(&ids(list), 6, &["`topology.cpu_ids`: expected "]);
    }
    let rows = "[topology]\ncpu_ids = \"4-5\"\n[[topology.cpu]]\ncpus = \"0-1\"\ncore = [0, 1]\nllc = 0\ndie = 0\n\
                package = 0\nnode = 0\n";
    let read = read(&with_topology(rows)).unwrap();
    assert_eq!((read.kernel_cpu(0), read.kernel_cpu(1)), (4, 5));
}

#[test]
fn a_topology_says_where_it_is_from_or_nothing() {
    let file = MachineFile::from_toml(&machine("source = \"a table\"\n"), "m.toml").unwrap();
    assert_eq!(file.topology_origin, Some(Origin::Source("a table".to_owned())));
    assert_eq!(MachineFile::from_toml(&file.to_toml(), "m.toml").unwrap(), file);
    refused(&machine("source = \"a\"\nassumed = \"b\"\n"), 4, &["give `source` or `assumed`, not both"]);
    refused(&machine("sources = \"a\"\n"), 6, &["did you mean `source`?"]);
}

#[test]
fn caches_of_one_name_are_of_different_cpus() {
    let cache = |kib: u32, cpus: &str| {
        format!("[[cache]]\nname = \"L2\"\nsize_kib = {kib}\nshared_by = 2\ncpus = \"{cpus}\"\nsource = \"a table\"\n")
    };
    let both = machine(&(cache(1, "0-1") + &cache(2, "2-3")));
    let caches = read(&both).unwrap().caches;
    assert_eq!(caches.iter().map(|c| c.cpus.as_ref().unwrap().to_string()).collect::<Vec<_>>(), ["0-1", "2-3"]);
    assert_eq!(read(&machine(&cache(1, "0-3"))).unwrap().caches[0].cpus, None);
    refused(&machine(&(cache(1, "0-2") + &cache(2, "2-3"))), 12, &["the cache L2 already exists", "hint: "]);
    refused(&machine(&cache(1, "3-4")), 10, &["`cache.cpus`: expected CPUs from 0 to 3, such as 0-3,8, found `4`"]);
    refused(&machine(&cache(1, "3")), 9, &["`cache.shared_by`: expected a whole number from 1 to 1, found 2"]);
}

const FREQUENCY: &str = "[[frequency]]\ncpus = \"0-3\"\npolicy = [0, 0, 1, 1]\nmin_khz = 800000\nmax_khz = 3000000\n\
                         base_khz = 2000000\nsteps_khz = [800000, 3000000]\ndriver = \"d\"\nsource = \"a table\"\n";

#[test]
fn cpus_of_one_policy_change_their_frequency_together() {
    let file = MachineFile::from_toml(&machine(FREQUENCY), "m.toml").unwrap();
    let cpus: Vec<_> = file.machine.frequencies.iter().map(|policy| policy.cpus.to_string()).collect();
    assert_eq!(cpus, ["0-1", "2-3"]);
    assert_eq!(MachineFile::from_toml(&file.to_toml(), "m.toml").unwrap(), file);
    let one = FREQUENCY.replace("[0, 0, 1, 1]", "7");
    assert_eq!(read(&machine(&one)).unwrap().frequencies.len(), 1);
}

#[test]
fn frequencies_that_contradict_themselves_are_refused() {
    let with = |from: &str, to: &str| machine(&FREQUENCY.replace(from, to));
    refused(&with("[0, 0, 1, 1]", "[0, 0, 1]"), 6, &["policy has 3 numbers; expected one for each of the row's 4"]);
    refused(&with("policy = [0, 0, 1, 1]\n", ""), 6, &["`frequency.policy`: the key is missing"]);
    refused(&with("min_khz = 8", "min_khz = 38"), 6, &["max_khz = 3000000; expected min_khz, 3800000, or more"]);
    refused(&with("[800000, 3000000]", "[3000000, 800000]"), 6, &["ascending order"]);
    refused(&with("max_khz = 3000000", "max_khz = 0"), 10, &["`frequency.max_khz`", "from 1 to 1000000000"]);
    refused(&with("source = \"a table\"\n", ""), 6, &["expected `source = "]);
    refused(&with("0-3", "0-4"), 7, &["found `4`"]);
    refused(&machine(&FREQUENCY.repeat(2)), 15, &["already have frequencies"]);
    let rows = FREQUENCY.replace("0-3", "0-1").replace("[0, 0, 1, 1]", "0");
    refused(&machine(&(rows.clone() + &rows.replace("0-1", "2-3"))), 15, &["policy 0 is already in a row above"]);
}

const IDLE: &str = "[[idle]]\ncpus = \"0-1\"\nindex = 1\nname = \"C1\"\nexit_latency_ns = 1000\nresidency_ns = 2000\n\
                    disabled = true\nassumed = \"for the test\"\n";

#[test]
fn an_idle_state_is_one_of_its_index_for_each_cpu() {
    let file = MachineFile::from_toml(&machine(&(IDLE.replace("0-1", "2-3") + IDLE)), "m.toml").unwrap();
    let states: Vec<_> = file.machine.idle_states.iter().map(|s| (s.index, s.disabled, s.cpus.to_string())).collect();
    assert_eq!(states, [(1, true, "0-1".to_owned()), (1, true, "2-3".to_owned())]);
    assert_eq!(MachineFile::from_toml(&file.to_toml(), "m.toml").unwrap(), file);
    refused(&machine(&IDLE.repeat(2)), 14, &["already have a state 1"]);
    refused(&machine(&IDLE.replace("true", "1")), 12, &["`idle.disabled`: expected true or false, found 1"]);
    refused(&machine(&IDLE.replace("= 1000\n", "= -1\n")), 10, &["`idle.exit_latency_ns`", "found -1"]);
    refused(&machine(&IDLE.replace("name = \"C1\"\n", "")), 6, &["`idle.name`: the key is missing"]);
}
