//! CSV, read back.

use super::fixture::{comparison, judged, once};
use std::collections::BTreeMap;
use wakelab_report::compare;
use wakelab_study::compare::Comparison;

fn csv(comparison: &Comparison) -> String {
    compare::csv(comparison, &judged(comparison))
}

fn rows(comparison: &Comparison) -> Vec<BTreeMap<String, String>> {
    let text = csv(comparison);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

#[test]
fn numbers_come_back_as_they_were() {
    let comparison = comparison();
    let rows = rows(&comparison);
    assert_eq!(rows.len(), comparison.rows.len());
    for (read, row) in rows.iter().zip(&comparison.rows) {
        let number = |name: &str| read[name].parse::<f64>().unwrap();
        assert_eq!([&read["benchmark"], &read["case"], &read["load"]], [&row.benchmark, &row.case, &row.load]);
        assert_eq!([&read["metric"], &read["unit"], &read["kind"]], ["throughput", "trans/s", "simulated"]);
        assert_eq!([number("base_mean"), number("with_mean")], [row.base.mean, row.with.mean]);
        let pct = [row.base.std_pct, row.compare_pct, row.compare_std_pct];
        assert_eq!(["baseline_std_pct", "compare_pct", "compare_std_pct"].map(number), pct);
        let [low, high] = row.ci95.unwrap();
        assert_eq!(["ci_low", "ci_high", "p_value", "n"].map(number), [low, high, row.p_value.unwrap(), 3.0]);
        assert_eq!([&read["machine"], &read["kernel"]], ["intel-1s56c112t", "v5.19-rc1"]);
        assert_eq!([&read["base"], &read["with"], &read["verdict"]], ["SIS_PROP", "SIS_UTIL", "same"]);
        assert_eq!(number("p_holm"), 2.0 * row.p_value.unwrap(), "corrected for two rows");
        assert_eq!(read["base_sis_scanned"], row.base.search.counts.sis_scanned.to_string());
        assert_eq!(["base_idle_pct", "with_idle_pct"].map(number), [row.base.idle_pct, row.with.idle_pct]);
        assert_eq!(number("with_dom_eff_pct"), row.with.search.dom_eff_pct.unwrap());
    }
}

#[test]
fn it_can_be_printed_beside_another_as_a_published_table() {
    let path = std::env::temp_dir().join(format!("wakelab-csv-{}.csv", std::process::id()));
    std::fs::write(&path, csv(&comparison())).unwrap();
    let read = wakelab_study::compare::Published::none().read_results(&path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read, Ok(()));
}

#[test]
fn what_there_is_not_is_empty() {
    let mut once = once();
    once.rows[0].compare_pct = f64::INFINITY;
    let row = &rows(&once)[0];
    assert_eq!(["ci_low", "ci_high", "p_value", "compare_pct"].map(|name| row[name].as_str()), [""; 4]);
}
