//! Whoever misspells a name is told the nearest, wherever the name stands.

use crate::support::wakelab;
use std::fs;

/// A misspelt machine, kernel, workload and feature, and what is meant.
const MISSPELT: [(&str, &str, &str); 5] = [
    ("test-8c", "tset-8c", "`test-8c`"),
    ("test-8c", "coffee-lake", "`intel-coffee-lake-6c12t`"),
    ("v6.12", "v6.12-rt", "`v6.12`"),
    ("netperf:TCP_RR", "netperf:TPC_RR", "`netperf:TCP_RR`"),
    ("NO_SIS_UTIL", "NO_SIS_UTLI", "SIS_UTIL`"),
];

const EXPERIMENT: &str = r#"machine = "test-8c"
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "2" }]
[variants]
base = ""
with = "NO_SIS_UTIL"
"#;
const PANEL: &str = r#"base = "NO_SIS_UTIL"
[[part]]
machine = "test-8c"
kernel = "v6.12"
workload = [{ name = "netperf:TCP_RR", load = "2" }]
"#;
const SWEEP: &str = r#"[[grid]]
machine = "test-8c"
kernel = "v6.12"
sides = ["NO_SIS_UTIL"]
workload = [{ name = "netperf:TCP_RR", load = "2" }]
"#;
const TABLE: &str = r#"title = "A table"
source = "made up"
machine = "test-8c"
kernel = "v6.12"
base = ""
with = "NO_SIS_UTIL"
better = "positive"
confidence = "made up"
[workloads]
"netperf,TCP_RR" = "netperf:TCP_RR"
"#;
const ROWS: &str = "benchmark,case,load,base,compare_pct,unit\nnetperf,TCP_RR,2,100,1.5,trans/s\n";

#[test]
fn a_misspelt_name_is_answered_with_the_nearest() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    fs::create_dir_all(folder.path().join("tables/t")).expect("a folder");
    write("tables/t/rows.csv", ROWS);
    let flags = "compare --machine test-8c --kernel v6.12 --workload netperf:TCP_RR --load 2 --base SIS_PROP \
                 --with NO_SIS_UTIL --dry-run --no-cache";
    let mut all = vec![flags, "survey --machine test-8c --kernel v6.12 --only NO_SIS_UTIL --dry-run --no-cache"];
    all.extend(["kernel show v6.12", "machine show test-8c", "workload show netperf:TCP_RR"]);
    let files = [("run e.toml --dry-run", "e.toml", EXPERIMENT), ("sweep s.toml --dry-run", "s.toml", SWEEP)];
    let files = files.into_iter().chain([
        ("score p.toml --with NO_TTWU_QUEUE --no-cache", "p.toml", PANEL),
        ("reproduce --published tables --no-cache", "tables/t/table.toml", TABLE),
    ]);
    for (right, wrong, meant) in MISSPELT {
        let mut lines: Vec<String> = Vec::new();
        lines.extend(all.iter().filter(|line| line.contains(right)).map(|line| line.replace(right, wrong)));
        for (line, file, text) in files.clone().filter(|(.., text)| text.contains(right)) {
            write(file, &text.replace(right, wrong));
            let output = wakelab(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
            // A table's row that is not simulated says why.
            let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(meant), "{line} with {wrong}: {said}");
        }
        for line in lines {
            let output = wakelab(folder.path(), &line.split_whitespace().collect::<Vec<_>>());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(meant), "{line}: {said}");
        }
    }
}
