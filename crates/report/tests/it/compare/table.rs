//! The tables for people.

use super::fixture::{comparison, once};
use wakelab_report::compare::table;
use wakelab_statistics::Better;

fn line<'a>(text: &'a str, section: &str, load: &str) -> &'a str {
    let section = text.split_once(section).unwrap_or_else(|| panic!("no {section}: {text}")).1;
    section.lines().find(|line| line.contains(load)).unwrap_or_else(|| panic!("no {load}: {text}"))
}

fn words(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()
}

#[test]
fn results_have_their_spread_their_interval_and_the_published_value_beside() {
    let text = table(&comparison());
    assert_eq!(
        words(line(&text, "netperf throughput, trans/s, higher is better", "224 threads")),
        [
            "TCP_RR",
            "224 threads",
            "1,000,000 ± 0.16%",
            "2,973,000 ± 7.85%",
            "+197.30",
            "[-0.90, +0.12]",
            "0.042",
            "3",
            "+197.30 (7.85)"
        ]
    );
    assert!(line(&text, "netperf throughput", "168 threads").ends_with(" n/a"), "{text}");
    assert!(text.contains("\np: Welch's t-test\n"), "{text}");
}

#[test]
fn one_repeat_has_no_interval_and_says_how_to_get_one() {
    let text = table(&once());
    let line = words(line(&text, "netperf throughput", "224 threads"));
    assert_eq!(line[2..4], ["1,000,000 ± n/a", "2,970,000 ± n/a"]);
    assert_eq!(line[5..8], ["n/a", "n/a", "1"]);
    assert!(text.contains("\nOne repeat: no interval and no p."), "{text}");
}

#[test]
fn the_header_says_what_was_simulated() {
    let text = table(&comparison());
    for part in [
        "simulated by wakelab",
        "machine   intel-1s56c112t\n",
        "kernel    v5.19-rc1\n",
        "workload  netperf:TCP_RR 150%..200%/50%\n",
        "base      SIS_PROP\n",
        "with      SIS_UTIL\n",
        "3 repeats, seed 1, 1 s measured after 600 ms; spread over seeds, not over machines\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("observer") && !text.contains("Not complete"), "{text}");
}

#[test]
fn search_statistics_of_both_sides_have_the_published_ones_beside() {
    let text = table(&comparison());
    let counters = words(line(&text, "Searches", "224 threads"));
    assert_eq!(counters[2..7], ["base", "17,528,688", "13,633,476", "384,900,000", "115,617"]);
    let rates = words(line(&text, "Rates of the searches", "224 threads"));
    assert_eq!(rates[2..], ["base", "4.524", "4.524", "3.548", "3.547", "22.222", "22.220", "99.340", "99.340"]);
    let times = words(line(&text, "Times", "224 threads"));
    assert_eq!(times[2..], ["base", "31.25", "257.00", "12.34", "12.00", "87.5", "3.2"]);
    let woken = words(line(&text, "Wake-up latency", "224 threads"));
    assert_eq!(woken[2..], ["base", "3.00", "9.50", "41.00", "90.00"]);
}

#[test]
fn a_run_that_changed_state_is_named() {
    let text = table(&comparison());
    let change = "TCP_RR 224 threads, base, repeat 2: stacked at 740 ms  (while it was measured: ";
    assert!(text.contains(change), "{text}");
    assert_eq!(text.matches("stacked at").count(), 1);
    let mut calm = comparison();
    calm.rows.pop();
    assert!(table(&calm).contains("No run changed state"));
    let mut early = comparison();
    early.rows[1].base.runs[1].changes[0].at_ns = 599_999_999;
    assert!(table(&early).contains("stacked at 599 ms\n"));
}

#[test]
fn the_footer_counts_what_is_assumed() {
    let mut comparison = comparison();
    let text = table(&comparison);
    let expected =
        "1 constant of the model is assumed, 1 of them of the machine: `wakelab machine show intel-1s56c112t`";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("published: data/published/sis_util-results.csv\n"), "{text}");
    let mut of_workload = comparison.assumed[0].clone();
    of_workload.of = "netperf:TCP_RR".to_owned();
    comparison.assumed.push(of_workload);
    assert!(table(&comparison).contains("2 constants of the model are assumed, 1 of them of the machine"));
}

#[test]
fn an_interrupted_comparison_says_so() {
    let mut comparison = comparison();
    comparison.complete = false;
    assert!(table(&comparison).contains("\nNot complete: "));
}

#[test]
fn no_line_is_wider_than_110_columns() {
    let text = table(&comparison());
    for line in text.lines() {
        assert!(line.chars().count() <= 110, "{}: {line}", line.chars().count());
    }
}

#[test]
fn the_metric_time_is_in_seconds_and_less_is_better() {
    let mut timed = once();
    for row in &mut timed.rows {
        (row.metric, row.unit, row.better) = ("time".to_owned(), "s".to_owned(), Better::Lower);
        (row.base.mean, row.with.mean, row.compare_pct) = (0.012_345_6, 0.006_172_8, 50.0);
    }
    let text = table(&timed);
    assert!(text.contains("1 repeat, seed 1, all of it measured; "), "{text}");
    let line = words(line(&text, "netperf time, s, lower is better; compare%: positive is better", "224 threads"));
    assert_eq!(line[2..5], ["0.01235 ± n/a", "0.006173 ± n/a", "+50.00"]);
    timed.rows[0].metric = "throughput".to_owned();
    assert!(table(&timed).contains(", 1 s measured after 600 ms (time: all of it); "), "{text}");
}

#[test]
fn without_a_wakeup_there_is_no_time_of_one() {
    let mut comparison = once();
    let base = &mut comparison.rows[1].base;
    (base.busy_ns_per_wakeup, base.wakeup_latency_ns) = (None, None);
    let text = table(&comparison);
    assert_eq!(words(line(&text, "Times", "224 threads"))[5], "n/a");
    assert_eq!(words(line(&text, "Wake-up latency", "224 threads"))[3..], ["n/a"; 4]);
    for row in &mut comparison.rows {
        (row.base.wakeup_latency_ns, row.with.wakeup_latency_ns) = (None, None);
    }
    assert!(!table(&comparison).contains("Wake-up latency"));
}
