//! Power management that is refused, with line, key, reason and hint.

use crate::support::{refused, with_topology};

/// Four CPUs; what is added begins in line 6.
fn machine(more: &str) -> String {
    with_topology(&format!("[topology]\ncores = 4\n{more}"))
}

const OPPS: &str =
    "[[frequency]]\ncpus = \"0-3\"\npolicy = 0\nopps = [[1000, 500], [2000, 600]]\nsource = \"a table\"\n";

fn with_opps(more: &str) -> String {
    machine(&format!("{OPPS}{more}"))
}

#[test]
fn operating_points_that_do_not_rise_are_refused() {
    let opps = |opps: &str| machine(&OPPS.replace("[[1000, 500], [2000, 600]]", opps));
    refused(
        &opps("[[1000, 500],\n[3000, 600],\n[2000, 700]]"),
        11,
        &["`frequency.opps`: found 2000 kHz after 3000 kHz", "ascending order", "hint: "],
    );
    refused(&opps("[[1000, 500], [1000, 600]]"), 9, &["found 1000 kHz after 1000 kHz"]);
    refused(&opps("[[1000, 500], [2000, 400]]"), 9, &["the voltage falls", "400 uV at 2000 kHz", "hint: "]);
    refused(&opps("[[1000]]"), 9, &["`frequency.opps`: expected a list of [kHz, uV]", "found [1000]"]);
    refused(&opps("[]"), 9, &["expected a list of [kHz, uV]"]);
    refused(&opps("[[0, 500]]"), 9, &["from 1 to 1000000000, found 0"]);
    refused(&opps("[[1000, 500]]\nsteps_khz = [1000]"), 6, &["give `opps` or `steps_khz`, not both"]);
    refused(
        &opps("[[1000, 500]]\nmax_khz = 900\nmin_khz = 1"),
        6,
        &["`opps` range from 1000 to 1000 kHz; expected them to lie between min_khz, 1, and max_khz, 900"],
    );
    refused(&opps("[[1000, 500]]\nclock = \"cpu\""), 10, &["`frequency.clock`", "\"core\" or \"package\""]);
}

#[test]
fn idle_states_that_the_machine_does_not_have_are_refused() {
    let turbo = with_opps("[turbo]\nkhz = [2000]\nactive_states = [\"C1\"]\nsource = \"a table\"\n");
    refused(&turbo, 11, &["active_states has C1, but no `[[idle]]` has that name", "hint: "]);
    let numbers = with_opps("[turbo]\nkhz = [2000]\nactive_states = [1]\nsource = \"a table\"\n");
    refused(&numbers, 13, &["`turbo.active_states`: expected a list of quoted texts, found [1]"]);
    let demotion = with_opps("[demotion]\nto = \"C1\"\nbelow_us = 5\nassumed = \"for the test\"\n");
    refused(&demotion, 11, &["to is C1, but no `[[idle]]` has that name", "hint: "]);
}

#[test]
fn a_grain_and_steps_exclude_each_other() {
    let row = "[[frequency]]\ncpus = \"0-3\"\npolicy = 0\nmin_khz = 1\nmax_khz = 9\nsteps_khz = [1]\ngrain_khz = 1\n";
    refused(&machine(&format!("{row}source = \"a table\"\n")), 6, &["`steps_khz` or `grain_khz`", "hint: "]);
}

#[test]
fn a_power_that_falls_with_the_frequency_is_refused() {
    let power =
        |rows: &str| with_opps(&format!("[[power]]\ncpus = \"0-3\"\nbusy_uw = {rows}\nassumed = \"for the test\"\n"));
    refused(&power("[[1000, 9],\n[2000, 8]]"), 14, &["`power.busy_uw`: the power falls", "8 uW at 2000 kHz", "hint: "]);
    refused(&power("[[1000, 9], [2000, 9]]"), 13, &["more than 9 uW"]);
    let model = "[[energy_model]]\ncpus = \"0-3\"\nopps = [[1000, 9], [2000, 8]]\nassumed = \"for the test\"\n";
    refused(&with_opps(model), 13, &["`energy_model.opps`: the power falls"]);
}

#[test]
fn a_capacity_of_0_is_refused() {
    let text = with_topology("[topology]\ncores = 2\ncapacities = [0, 1024]\n");
    refused(&text, 6, &["`topology.capacities`", "from 1 to 1024, found 0"]);
}

#[test]
fn cpus_that_the_machine_does_not_have_are_refused() {
    for table in ["power", "shared_power", "energy_model"] {
        let of = if table == "shared_power" { "of = \"package\"\n" } else { "" };
        let text = with_opps(&format!("[[{table}]]\n{of}cpus = \"3-4\"\n"));
        let line = 12 + of.lines().count();
        refused(&text, line, &[&format!("`{table}.cpus`: expected CPUs from 0 to 3, such as 0-3,8, found `4`")]);
    }
}

#[test]
fn turbo_that_rises_with_the_active_cores_is_refused() {
    let turbo = |rest: &str| with_opps(&format!("[turbo]\n{rest}\nsource = \"a table\"\n"));
    refused(&turbo("khz = [1500, 1600]"), 11, &["`turbo`: khz has 1600 after 1500", "not to rise", "hint: "]);
    refused(&turbo("khz = [3000]"), 11, &["khz begins with 3000; expected at most 2000", "hint: max_khz"]);
    refused(&turbo("khz = []"), 11, &["`turbo.khz`: the key is missing"]);
    refused(&turbo("khz = [2000]\ncores = [1, 2]"), 11, &["cores has 2 numbers; expected one for each of khz, 1"]);
    refused(&turbo("khz = [2000, 1000]\ncores = [2, 2]"), 11, &["`cores` in ascending order"]);
    refused(&machine("[turbo]\nkhz = [2000]\nsource = \"a table\"\n"), 6, &["no frequencies", "hint: `[[frequency]]`"]);
}

#[test]
fn power_needs_a_way_to_be_computed_and_whole_cores() {
    let power = |keys: &str| format!("[[power]]\ncpus = \"0-3\"\n{keys}assumed = \"for the test\"\n");
    let dynamic = "dynamic = 5\ndynamic_range = [4, 6]\n";
    refused(&machine(&power(dynamic)), 6, &["`dynamic` needs the voltage, and CPU 0 has none", "hint: give `opps`"]);
    refused(&machine(&power("")), 6, &["either `dynamic` or `busy_uw`", "hint: "]);
    refused(&with_opps(&power("dynamic = 5\n")), 11, &["`power.dynamic_range`: the key is missing"]);
    refused(&with_opps(&power("dynamic = 5\ndynamic_range = [6, 7]\n")), 11, &["dynamic = 5 is outside its own range"]);
    refused(&with_opps(&power("busy_uw = [[1, 1]]\n")), 11, &["`power.busy_range_pct`: the key is missing"]);
    refused(&with_opps(&(power(dynamic) + &power(dynamic))), 16, &["some of these CPUs already have an entry"]);
    let smt = with_opps("").replace("cores = 4", "cores = 2\nthreads = 2");
    let part = format!("{smt}{}", power(dynamic).replace("0-3", "0"));
    refused(&part, 12, &["the CPUs are only a part of a core; expected CPU 1"]);
}

#[test]
fn shared_power_is_of_what_there_is_and_less_asleep_than_awake() {
    let shared = |keys: &str| {
        let range = "awake_range = [0, 9]\nasleep_range = [0, 9]\nassumed = \"for the test\"\n";
        with_opps(&format!("[[shared_power]]\n{keys}{range}"))
    };
    refused(&shared("of = \"socket\"\n"), 12, &["`shared_power.of`", "\"cluster\" or \"package\""]);
    refused(&shared("of = \"cluster\"\n"), 11, &["CPU 0 is in no cluster"]);
    refused(
        &shared("of = \"package\"\ncpus = \"1\"\n"),
        11,
        &["the CPUs are only a part of a package; expected CPU 0"],
    );
    refused(
        &shared("of = \"package\"\nawake_uw = 1\nasleep_uw = 2\n"),
        11,
        &["asleep_uw = 2; expected at most awake_uw, 1"],
    );
    refused(&shared("of = \"package\"\nawake_uw = 1\n"), 11, &["`shared_power.asleep_uw`: the key is missing"]);
}

#[test]
fn a_performance_domain_is_a_policy() {
    let model = "[[energy_model]]\ncpus = \"0-1\"\nopps = [[1000, 9]]\nassumed = \"for the test\"\n";
    refused(&with_opps(model), 11, &["CPUs 0-1 are not the CPUs of a policy", "hint: a performance domain"]);
    let model = model.replace("0-1", "0-3");
    refused(&with_opps(&model.replace("opps = [[1000, 9]]\n", "")), 11, &["`energy_model.opps`: the key is missing"]);
    refused(&with_opps(&(model.clone() + &model)), 15, &["some of these CPUs already have an entry"]);
}

#[test]
fn a_deeper_state_that_takes_more_is_refused() {
    let state = |index: u32, uw: u64| {
        let times = "exit_latency_ns = 1\nresidency_ns = 1\n";
        let power = format!("power_uw = {uw}\npower_range = [0, 9]\nassumed = \"for the test\"\n");
        format!("[[idle]]\ncpus = \"0-3\"\nindex = {index}\nname = \"C{index}\"\n{times}{power}")
    };
    let what = ["`idle`: power_uw = 5 in state 2, 4 in state 1", "expected less in the deeper one"];
    refused(&machine(&(state(1, 4) + &state(2, 5))), 15, &what);
    refused(&machine(&(state(2, 5) + &state(1, 4))), 15, &["power_uw = 4 in state 1, 5 in state 2"]);
    refused(
        &machine(&state(1, 4).replace("power_range = [0, 9]\n", "")),
        6,
        &["`idle.power_range`: the key is missing"],
    );
}
