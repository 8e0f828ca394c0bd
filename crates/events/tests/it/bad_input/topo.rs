//! Descriptions of machines that are damaged or do not fit.

use super::support::*;
use std::fs;

/// The description with another text in one place.
fn with(from: &str, to: &str) -> String {
    assert!(TOPO.contains(from), "{from}");
    TOPO.replacen(from, to, 1)
}

#[test]
fn a_missing_file() {
    let dir = folder(SAMPLE.as_bytes(), TOPO);
    fs::remove_file(dir.path().join(TOPO_NAME)).expect("a file");
    error_in_folder_is(
        dir.path(),
        "r.csv: the machine's description topo-6.12-A.json is missing\n  hint: each recording needs the file \
         topo-<kernel>-<topology>.json of its machine in the same folder",
    );
    fs::create_dir(dir.path().join(TOPO_NAME)).expect("a folder");
    error_in_folder_is(
        dir.path(),
        "topo-6.12-A.json: Is a directory (os error 21)\n  hint: docs/formats.md describes the topo file",
    );
}

#[test]
fn the_file_of_another_machine() {
    topo_error_is(
        &with("A-8c-1s4x2", "B-16c-1s8x2"),
        "r.csv:2: column topology: expected \"B-16c-1s8x2\", according to topo-6.12-A.json, found \"A-8c-1s4x2\"\n  \
         hint: the topo file in this folder belongs to another recording",
    );
    // The numbers of flags differ between kernels, so the wrong kernel is detected in one place or another.
    topo_error_is(
        include_str!("../../../../../data/recordings/topo-6.1-A.json"),
        "r.csv:2: column kernel: expected \"6.1.176\", according to topo-6.12-A.json, found \"6.12\"\n  hint: the topo \
         file in this folder belongs to another recording",
    );
    topo_error_is(
        include_str!("../../../../../data/recordings/topo-6.12-C.json"),
        "r.csv:2: column topology: expected \"C-16c-2s4x2-numa2\", according to topo-6.12-A.json, found \
         \"A-8c-1s4x2\"\n  hint: the topo file in this folder belongs to another recording",
    );
}

#[test]
fn bad_json() {
    topo_error_is(
        "",
        "topo-6.12-A.json:1: expected the description of a machine in JSON: EOF while parsing a value, at character \
         0\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        &TOPO[..1000],
        "topo-6.12-A.json:1: expected the description of a machine in JSON: EOF while parsing a string, at character \
         1000\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        "[]",
        "topo-6.12-A.json:1: expected the description of a machine in JSON: invalid length 0, expected struct Json \
         with 5 elements, at character 2\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        "{\n  \"kernel\": \"6.12\",\n  \"topology\": 8\n}",
        "topo-6.12-A.json:3: expected the description of a machine in JSON: invalid type: integer `8`, expected a \
         string, at character 15\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        &with("imbalance_pct", "imbalance"),
        "topo-6.12-A.json:1: expected the description of a machine in JSON: missing field `imbalance_pct`, at \
         character 1711\n  \
         hint: docs/formats.md describes the topo file",
    );
    let long = format!("{{\"kernel\": \"6.12\", \"topology\": \"A\", \"cpu_llc\": \"{}\"}}", "x".repeat(1000));
    topo_error_is(
        &long,
        &format!(
            "topo-6.12-A.json:1: expected the description of a machine in JSON: invalid type: string \"{}..., \
             at character 1049\n  \
             hint: docs/formats.md describes the topo file",
            "x".repeat(278)
        ),
    );
}

#[test]
fn no_text() {
    let dir = folder(SAMPLE.as_bytes(), "");
    fs::write(dir.path().join(TOPO_NAME), [0xff, 0xfe, 0x00]).expect("a file");
    error_in_folder_is(
        dir.path(),
        "topo-6.12-A.json: expected JSON, found bytes that are not text\n  hint: docs/formats.md describes the topo \
         file",
    );
}

#[test]
fn an_unknown_kernel() {
    topo_error_is(
        &with("\"6.12.107\"", "\"6.13.1\""),
        &format!(
            "topo-6.12-A.json: key kernel: {}\n  hint: `wakelab kernel list` shows the known kernels",
            wakelab_kernel::Preset::of_release("6.13.1").unwrap_err()
        ),
    );
    topo_error_is(
        &with("\"6.12.107\"", &format!("\"{}\"", "6".repeat(1000))),
        "topo-6.12-A.json: key kernel: expected a name of at most 64 letters, digits and ._+~-, found \
         \"666666666666666666666666666666666666666666666666666666666666\"...\n  hint: a kernel is a release such as \
         6.12; a topology is the name of a machine such as A-8c-1s4x2",
    );
}

#[test]
fn a_bad_mask() {
    topo_error_is(
        &with("\"span\": \"3\"", "\"span\": \"three\""),
        "topo-6.12-A.json: key domains.0[0].span: expected a hexadecimal mask of CPUs 0 to 7, found \"three\"\n  hint: \
         masks are written without 0x; cpu_llc has one entry for each CPU",
    );
    topo_error_is(
        &with("\"span\": \"3\"", "\"span\": \"103\""),
        "topo-6.12-A.json: key domains.0[0].span: expected a hexadecimal mask of CPUs 0 to 7, found \"103\"\n  hint: \
         masks are written without 0x; cpu_llc has one entry for each CPU",
    );
    topo_error_is(
        &with("\"span\": \"3\"", "\"span\": \"7\""),
        "topo-6.12-A.json: key domains.0[0].span: expected a mask of 2 CPUs, according to its weight, found \"7\"\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        &with("\"mask\": \"1\"", "\"mask\": \"0x1\""),
        "topo-6.12-A.json: key domains.0[0].groups[0].mask: expected a hexadecimal mask of CPUs 0 to 7, found \
         \"0x1\"\n  hint: masks are written without 0x; cpu_llc has one entry for each CPU",
    );
}

#[test]
fn missing_and_surplus_cpus() {
    topo_error_is(
        &with("\"7\": [", "\"8\": ["),
        "topo-6.12-A.json: key domains.7: expected the domains of each of the 8 CPUs in cpu_llc, found none for CPU \
         7\n  hint: a CPU without domains has an empty list",
    );
    topo_error_is(
        &with("\"7\": [", "\"x\": [], \"7\": ["),
        "topo-6.12-A.json: key domains: expected CPUs 0 to 7, found \"x\"\n  hint: cpu_llc has one entry for each CPU",
    );
    topo_error_is(
        &with("[0, 0, 0, 0, 0, 0, 0, 0]", "[]"),
        "topo-6.12-A.json: key cpu_llc: expected 1 to 8192 CPUs, found 0\n  \
         hint: docs/formats.md describes the topo file",
    );
    topo_error_is(
        &with("[0, 0, 0, 0, 0, 0, 0, 0]", "[0, 0, 0, 0, 1, 1, 1, 1]"),
        "topo-6.12-A.json: key cpu_llc[4]: 1, but CPU 0 of the same LLC has 0\n  \
         hint: each CPU needs its domains as the kernel shows them under sched/domains",
    );
}

#[test]
fn groups_that_contradict_their_domain() {
    topo_error_is(
        &with("\"mask\": \"1\"", "\"mask\": \"2\""),
        "topo-6.12-A.json: key domains.0[0].groups: the first, 1, does not contain the CPU\n  \
         hint: each CPU needs its domains as the kernel shows them under sched/domains",
    );
    topo_error_is(
        &with("\"capacity\": 1024, \"weight\": 1", "\"capacity\": 0, \"weight\": 1"),
        "topo-6.12-A.json: key domains.0[0].groups[0].capacity: expected a capacity from 1 to 1048576, because the \
         group has weight 1, found 0\n  hint: a CPU has 1024 from which nothing is subtracted",
    );
    topo_error_is(
        &with("\"capacity\": 1024, \"weight\": 1", "\"capacity\": 1024, \"weight\": 2"),
        "topo-6.12-A.json: key domains.0[0].groups[0].mask: expected a mask of 2 CPUs, according to its weight, found \
         \"1\"\n  hint: docs/formats.md describes the topo file",
    );
    let groups = TOPO.find("\"groups\": [").expect("groups");
    let end = groups + TOPO[groups..].find(']').expect("an end");
    topo_error_is(
        &format!("{}\"groups\": [{}", &TOPO[..groups], &TOPO[end..]),
        "topo-6.12-A.json: key domains.0[0].groups: there is none\n  \
         hint: each CPU needs its domains as the kernel shows them under sched/domains",
    );
}

#[test]
fn what_the_model_does_not_have() {
    // Bit 3 of 6.12's numbering is SD_BALANCE_WAKE, bit 20 has no name.
    topo_error_is(
        &with("\"flags\": \"1297\"", "\"flags\": \"129f\""),
        "topo-6.12-A.json: key domains.0[0].flags: expected domains without SD_BALANCE_WAKE, found one with it\n  \
         hint: with it, wake-ups take the slow path, whose inputs are recorded only for forks and execs",
    );
    topo_error_is(
        &with("\"flags\": \"1297\"", "\"flags\": \"101297\""),
        "topo-6.12-A.json: key domains.0[0].flags: domain flags 101297: bit 20 has no name in this kernel version's \
         numbering\n  hint: is the recording from v6.12? The numbers of flags change between versions",
    );
    topo_error_is(
        &with("\"flags\": \"1297\"", "\"flags\": \"SMT\""),
        "topo-6.12-A.json: key domains.0[0].flags: expected hexadecimal domain flags, found \"SMT\"\n  \
         hint: they are written without 0x",
    );
    topo_error_is(
        &with("\"imbalance_pct\": 110", "\"imbalance_pct\": 99"),
        "topo-6.12-A.json: key domains.0[0].imbalance_pct: expected 100 to 1000, found 99\n  hint: kernels use 110, \
         117 or 125",
    );
    topo_error_is(
        &with("\"imbalance_pct\": 110", "\"imbalance_pct\": 4294967295"),
        "topo-6.12-A.json: key domains.0[0].imbalance_pct: expected 100 to 1000, found 4294967295\n  hint: kernels use \
         110, 117 or 125",
    );
    topo_error_is(
        &with("\"name\": \"SMT\"", "\"name\": \"SMP\""),
        "topo-6.12-A.json: key domains.0[0].name: `SMP` is unknown; expected SMT, CLS, MC, PKG, DIE, NODE or NUMA\n  \
         hint: each CPU needs its domains as the kernel shows them under sched/domains",
    );
}
