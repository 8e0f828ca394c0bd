//! Files that are refused for something else than the topology, with the line.

use crate::support::{read, refused, with_topology};
use wakelab_machine::{Costs, Machine, MachineFile, get};

/// A small machine; what is added begins in line 6.
fn machine(more: &str) -> String {
    with_topology(&format!("[topology]\ncores = 2\n{more}"))
}

#[test]
fn text_that_is_no_toml_is_refused_at_its_line() {
    refused("name = \"m\"\ndescription = = 1\n", 2, &["this is not valid TOML"]);
}

#[test]
fn a_key_or_table_given_twice_is_refused() {
    refused("name = \"m\"\nname = \"n\"\n", 2, &["duplicate key"]);
    refused(&machine("[noise]\n[noise]\n"), 7, &["duplicate key"]);
}

#[test]
fn unknown_keys_are_refused_with_the_near_miss() {
    refused(&machine("[nosie]\n"), 6, &["`nosie`: unknown key", "did you mean `noise`?"]);
    refused(&machine("[costs.wakeups]\n"), 6, &["`costs.wakeups`", "did you mean `wakeup`?"]);
    refused(&machine("[costs.probe]\nns = 1\nranges = [1, 1]\n"), 8, &["did you mean `range`?"]);
    refused(&machine("[[cache]]\nsize = 2\n"), 7, &["did you mean `size_kib`?"]);
}

#[test]
fn the_first_of_several_unknown_keys_is_named() {
    refused("zebra = 1\nant = 1\n", 1, &["`zebra`"]);
}

#[test]
fn a_name_that_would_be_a_path_is_refused() {
    refused(&machine("").replace("\"m\"", "\"a/b\""), 1, &["`name`", "found \"a/b\""]);
    refused(&machine("").replace("\"m\"", "\"m.toml\""), 1, &["`name`"]);
    refused(&machine("").replace("\"m\"", "\" \""), 1, &["`name`"]);
    refused("description = \"d\"\n", None, &["`name`: the key is missing"]);
}

#[test]
fn a_missing_cost_is_named_with_what_it_is() {
    let text = get("intel-1s56c112t").unwrap().to_toml();
    for (name, doc) in Costs::NAMES.iter().zip(Costs::DOCS) {
        let start = text.find(&format!("[costs.{name}]")).unwrap();
        let end = start + text[start..].find("\n\n").unwrap();
        let without = format!("{}{}", &text[..start], &text[end..]);
        if *name == "cluster_line" {
            // Files from before clusters had a cost of their own: they make no difference.
            assert_eq!(read(&without).expect("a machine").costs.cluster_line.value, 100);
            continue;
        }
        refused(&without, None, &[&format!("`costs.{name}`: the key is missing"), doc, "hint: `costs_of"]);
    }
}

#[test]
fn what_sched_ext_costs_may_be_left_out() {
    let insn = "[scx_costs.bpf_insn]\nps = 250\nrange = [200, 300]\nsource = \"a table\"\n";
    let file = read(&machine(insn)).expect("a machine");
    // The file takes its costs from this machine, which says what its cache lines take.
    let unsaid = get("intel-1s56c112t").unwrap().scx_costs;
    assert_eq!((file.scx_costs.bpf_insn.value, &file.scx_costs.scx_op), (250, &unsaid.scx_op));
    // What is not in the file is not written.
    let text = file.to_toml();
    assert!(text.contains("[scx_costs.bpf_insn]\nps = 250") && !text.contains("scx_op"), "{text}");
    assert_eq!(read(&text).expect("a machine"), file);
    assert_eq!(read(&machine("")).expect("a machine").scx_costs, unsaid);
    refused(&machine("[scx_costs.bpf_insn]\nns = 1\n"), 6, &["in picoseconds; expected `ps`, found `ns`"]);
    refused(&machine("[scx_costs.bpf_ins]\nps = 1\n"), 6, &["`scx_costs.bpf_ins`", "did you mean `bpf_insn`"]);
}

#[test]
fn costs_of_an_unknown_machine_are_refused_with_the_near_miss() {
    let text = machine("").replace("56c112t", "56c");
    refused(&text, 3, &["`costs_of`: `intel-1s56c`", "did you mean `intel-1s56c112t`"]);
}

#[test]
fn a_cost_needs_its_unit_range_and_exactly_one_origin() {
    let cost = |text: &str| machine(&format!("[costs.probe]\n{text}\n"));
    refused(&cost("pct = 3"), 6, &["in nanoseconds; expected `ns`, found `pct`"]);
    refused(&machine("[costs.enqueue_visible]\nns = 3\n"), 6, &["in per cent; expected `pct`, found `ns`"]);
    refused(&cost("range = [1, 2]"), 6, &["`costs.probe.ns`: the key is missing"]);
    refused(&cost("ns = 3"), 6, &["`costs.probe.range`: the key is missing"]);
    refused(&cost("ns = 3\nrange = [1, 2, 3]"), 6, &["range has 3 numbers"]);
    refused(&cost("ns = 3\nrange = [4, 1]"), 6, &["the lower number first"]);
    refused(&cost("ns = 3\nrange = [1, 2]"), 6, &["ns = 3 is outside its own range; expected 1 to 2", "hint: "]);
    refused(&cost("ns = 3\nrange = [1, 4]"), 6, &["`source = ", "`assumed = "]);
    refused(
        &cost("ns = 3\nrange = [1, 4]\nsource = \"a\"\nassumed = \"b\""),
        6,
        &["give `source` or `assumed`, not both"],
    );
    refused(&cost("ns = 3\nrange = [1, 4]\nsource = \"\""), 9, &["`costs.probe.source`: expected text in quotes"]);
    refused(&cost("ns = -3\nrange = [1, 4]\nsource = \"a\""), 7, &["found -3"]);
    refused(&cost("ns = 1000000001\nrange = [1, 4]\nsource = \"a\""), 7, &["from 0 to 1000000000"]);
}

#[test]
fn per_cent_have_the_limits_of_what_they_are() {
    let cost = |name: &str, pct: u32| {
        machine(&format!("[costs.{name}]\npct = {pct}\nrange = [{pct}, {pct}]\nassumed = \"for the test\"\n"))
    };
    refused(&cost("smt_slowdown", 99), 7, &["from 100 to 400"]);
    refused(&cost("smt_slowdown", 401), 7, &["from 100 to 400"]);
    refused(&cost("enqueue_visible", 101), 7, &["from 0 to 100"]);
    for (name, pct) in [("smt_slowdown", 100), ("smt_slowdown", 400), ("enqueue_visible", 0), ("enqueue_visible", 100)]
    {
        read(&cost(name, pct)).unwrap();
    }
}

#[test]
fn caches_are_refused_twice_and_for_more_cpus_than_there_are() {
    let cache = "[[cache]]\nname = \"L2\"\nsize_kib = 1\nshared_by = 2\nsource = \"a table\"\n";
    refused(&machine(&format!("{cache}{cache}")), 11, &["the cache L2 already exists"]);
    refused(&machine(&cache.replace("source", "assumed").replace("a table", "")), 10, &["`cache.assumed`"]);
    refused(&machine(&cache.replace("source = \"a table\"\n", "")), 6, &["`cache`: expected `source = "]);
    refused(&machine(&cache.replace("by = 2", "by = 3")), 9, &["from 1 to 2, found 3"]);
    refused(&machine("[cache]\nname = \"L2\"\n"), 6, &["`[[cache]]`"]);
}

#[test]
fn noise_is_needed_and_must_leave_time_for_others() {
    let text = get("intel-1s56c112t").unwrap().to_toml();
    refused(&text[..text.find("[noise]").unwrap()], None, &["`noise`: the key is missing", "kworker_period_ns = 0"]);
    let noise = |period: u64, run: u64| {
        machine(&format!("[noise]\nkworker_period_ns = {period}\nkworker_run_ns = {run}\nassumed = \"for the test\"\n"))
    };
    refused(&noise(10, 10), 6, &["less than kworker_period_ns, 10"]);
    refused(&noise(10, 0), 6, &["expected at least 1"]);
    assert_eq!(read(&noise(0, 0)).unwrap().noise.kworker_period_ns, 0);
    refused(&machine("[noise]\nkworker_period_ns = 0\nkworker_run_ns = 0\n"), 6, &["`source = "]);
}

#[test]
fn noise_that_is_on_needs_ranges() {
    let noise = |ranges: &str| {
        let values = "kworker_period_ns = 1000\nkworker_run_ns = 10\nassumed = \"for the test\"\n";
        machine(&format!("[noise]\n{values}{ranges}"))
    };
    refused(&noise(""), 6, &["`noise.kworker_period_range`: the key is missing"]);
    refused(&noise("kworker_period_range = [1, 1000]\n"), 6, &["`noise.kworker_run_range`: the key is missing"]);
    let ranges = "kworker_period_range = [1, 999]\nkworker_run_range = [1, 20]\n";
    refused(&noise(ranges), 6, &["kworker_period_ns = 1000 is outside its own range", "widen `kworker_period_range`"]);
    let file = MachineFile::from_toml(&noise(&ranges.replace("999", "1000")), "m.toml").unwrap();
    assert_eq!((file.machine.noise_origin.period_range, file.machine.noise_origin.run_range), ([1, 1000], [1, 20]));
}

#[test]
fn a_name_may_be_in_any_case_and_an_unknown_one_has_names_like_it() {
    assert_eq!(get("Intel-1S56c112t").unwrap().name, "intel-1s56c112t");
    let message = get("test-2x").unwrap_err().to_string();
    assert!(message.starts_with("test-2x: there is no machine of that name"), "{message}");
    assert!(message.contains("; did you mean `test-2") && message.contains("`wakelab machine list`"), "{message}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = get("no/such/file").unwrap_err();
    assert_eq!((error.path.to_str(), error.line), (Some("no/such/file"), None));
    assert!(error.to_string().contains("wakelab machine list"), "{error}");
    assert!(get("nosuch.toml").unwrap_err().what.contains("expected a machine (.toml)"));
}

#[test]
fn errors_have_file_line_and_hint_in_that_form() {
    let error = Machine::from_toml("nam = 1\n", "dir/m.toml").unwrap_err();
    assert!(error.to_string().starts_with("dir/m.toml:1: `nam`: unknown key; expected name, "), "{error}");
    assert!(error.to_string().ends_with("\n  hint: did you mean `name`?"), "{error}");
}
