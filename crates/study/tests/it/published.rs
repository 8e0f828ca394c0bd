//! Published tables.

use std::path::{Path, PathBuf};
use wakelab_study::compare::{Published, PublishedError, PublishedRow};
use wakelab_testing::fake_runner::workload;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published")
}

fn read(text: &str) -> Result<Published, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.csv");
    std::fs::write(&path, text).unwrap();
    let mut published = Published::none();
    let told = |e: PublishedError| e.to_string().replace(&format!("{}/", folder.path().display()), "");
    published.read_results(&path).map_err(told).map(|()| published)
}

const HEADER: &str = "benchmark,case,load,metric,baseline_std_pct,compare_pct,compare_std_pct\n";

#[test]
fn the_published_files_are_read() {
    let mut published = Published::none();
    published.read_results(&folder().join("sis_util-results.csv")).unwrap();
    published.read_search(&folder().join("sis_util-vanilla-search-stats.csv")).unwrap();
    let row = published.result(&workload("224 threads")).unwrap();
    assert_eq!(row, PublishedRow { baseline_std_pct: 0.16, compare_pct: 197.30, compare_std_pct: 7.85 });
    let search = published.search(&workload("224 threads")).unwrap();
    assert_eq!((search.fast_rate_pct, search.dom_eff_pct), (25.775, 3.661));
    assert_eq!(published.result(&workload("225 threads")), None);
    let mut udp = workload("28 threads");
    udp.case = "UDP_RR".to_owned();
    let row = published.result(&udp).unwrap();
    assert_eq!(row, PublishedRow { baseline_std_pct: 0.37, compare_pct: 0.35, compare_std_pct: 0.33 });
    assert_eq!(published.search(&udp).unwrap().se_eff_pct, 99.988);
    udp.case = "SCTP_RR".to_owned();
    assert_eq!((published.result(&udp), published.search(&udp)), (None, None));
    assert_eq!(published.files().len(), 2);
}

#[test]
fn a_result_is_of_its_metric() {
    let published = read(&format!("{HEADER}netperf,TCP_RR,1 thread,latency,1,2,3\n")).unwrap();
    assert_eq!(published.result(&workload("1 thread")), None);
}

#[test]
fn columns_are_found_by_name() {
    let text = "compare_std_pct,metric,load,note,case,benchmark,compare_pct,baseline_std_pct\n\
                3,throughput,1 thread,x,TCP_RR,netperf,+2.5,1\n";
    let row = read(text).unwrap().result(&workload("1 thread")).unwrap();
    assert_eq!(row, PublishedRow { baseline_std_pct: 1.0, compare_pct: 2.5, compare_std_pct: 3.0 });
}

#[test]
fn errors_name_line_and_column() {
    let bad = |text: &str| read(text).unwrap_err();
    assert_eq!(
        bad("benchmark,case,load\n"),
        "results.csv:1: column metric: it is missing; the file has benchmark, case, load"
    );
    assert_eq!(
        bad(&format!("{HEADER}netperf,TCP_RR,1 thread,throughput,1,2,3\nnetperf,TCP_RR,2 threads,throughput,1,x,3\n")),
        "results.csv:3: column compare_pct: \"x\" is not a number; expected per cent, such as -0.47"
    );
    assert!(bad(&format!("{HEADER}netperf,TCP_RR,1 thread,throughput,NaN,2,3\n")).starts_with("results.csv:2: column"));
    let row = "netperf,TCP_RR,1 thread,throughput,1,2,3\n";
    assert_eq!(
        bad(&format!("{HEADER}{row}{row}")),
        "results.csv:3: netperf TCP_RR 1 thread throughput is in the file twice"
    );
    assert!(bad(&format!("{HEADER}netperf,TCP_RR\n")).starts_with("results.csv:2: "));
    let missing = Published::none().read_results(Path::new("no-such.csv")).unwrap_err();
    assert!(missing.to_string().starts_with("no-such.csv: "), "{missing}");
}

#[test]
fn numbers_out_of_range_and_columns_that_come_twice_are_refused() {
    let bad = |base: &str, effect: &str, with: &str| {
        let text = format!("{HEADER}netperf,TCP_RR,1 thread,throughput,{base},{effect},{with}\n");
        read(&text).unwrap_err()
    };
    let expected = |column: &str, number: &str, range: &str| {
        format!("results.csv:2: column {column}: {number} is out of range; expected per cent from {range}")
    };
    assert_eq!(bad("-1", "2", "3"), expected("baseline_std_pct", "-1", "0 to 1000000"));
    assert_eq!(bad("1", "2", "-0.1"), expected("compare_std_pct", "-0.1", "0 to 1000000"));
    assert_eq!(bad("1", "-1000001", "3"), expected("compare_pct", "-1000001", "-1000000 to 1000000"));
    for huge in ["1e308", "inf", "1e400"] {
        assert!(bad("1", huge, "3").starts_with("results.csv:2: column compare_pct: "), "{huge}");
    }
    let twice = read(&format!("load,{HEADER}1 thread,netperf,TCP_RR,1 thread,throughput,1,2,3\n")).unwrap_err();
    assert_eq!(twice, "results.csv:1: column load: the column is there twice; remove one of them");
}

#[test]
fn rows_that_fit_no_workload_are_named() {
    let misfits = |rows: &str| {
        let published = read(&format!("{HEADER}{rows}")).unwrap();
        let loads = ["28 threads", "56 threads"].map(workload);
        let told = published.misfits(loads.iter());
        told.iter().map(|text| text[text.find("results.csv").unwrap()..].to_owned()).collect::<Vec<_>>()
    };
    let row = |load: &str| format!("netperf,TCP_RR,{load},throughput,1,2,3\n");
    assert_eq!(misfits(&(row("28 threads") + &row("56 threads") + &row("84 threads"))), [""; 0]);
    assert_eq!(misfits(&row("28 threads")), [""; 0], "an experiment may have more than was published");
    assert_eq!(misfits(""), ["results.csv: the table has no rows, so nothing is compared with it"]);
    let none = misfits(&row("28 thread"));
    let expected = "results.csv: no row matches a workload of the experiment: the rows are \"netperf TCP_RR 28 thread \
                    throughput\"; the experiment has \"netperf TCP_RR 28 threads throughput\", \"netperf TCP_RR 56 \
                    threads throughput\"";
    assert_eq!(none, [expected]);
    let one = misfits(&(row("28 threads") + &row("65 threads")));
    let expected = "results.csv: no row matches \"netperf TCP_RR 56 threads throughput\"; rows without a load of the \
        experiment \
                    are \"netperf TCP_RR 65 threads throughput\"";
    assert_eq!(one, [expected]);
}
