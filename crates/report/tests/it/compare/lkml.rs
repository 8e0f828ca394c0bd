//! The table of patch letters.

use super::fixture::{comparison, judged, stacked};
use wakelab_report::compare;
use wakelab_study::compare::Comparison;

/// What the sides differ in, the tables, and the verdict.
fn parts(comparison: &Comparison) -> [String; 3] {
    let text = compare::lkml(comparison, &judged(comparison));
    let (head, rest) = text.split_once("\n\n").expect("a head");
    let (tables, verdict) = rest.split_once("\nverdict: ").expect("it ends with a verdict");
    [head, tables, verdict].map(str::to_owned)
}

/// The tables.
fn lkml(comparison: &Comparison) -> String {
    let [_, tables, _] = parts(comparison);
    tables
}

#[test]
fn the_head_says_what_the_sides_differ_in() {
    let mut found = comparison();
    let [head, ..] = parts(&found);
    assert_eq!(
        head,
        "differ: SIS_PROP off, SIS_UTIL on\n        with: SIS_UTIL replaces SIS_PROP, which v5.19-rc1 has on; \
         SIS_PROP,SIS_UTIL has both on"
    );
    (found.experiment.differ, found.experiment.notes) = (vec![], vec![]);
    assert_eq!(parts(&found)[0], "differ: nothing: both sides are the same");
}

/// The lines without the first, which says that they are simulated.
fn table(text: &str) -> &str {
    text.split_once('\n').expect("several lines").1
}

#[test]
fn the_postings_line_is_printed_byte_for_byte() {
    let mut comparison = comparison();
    comparison.rows = vec![stacked()];
    let text = lkml(&comparison);
    let expected = "case      load         baseline(std%)   compare%( std%)\n\
                    TCP_RR    224 threads   1.00 (  0.16)  +197.30 (  7.85)\n";
    assert_eq!(table(&text), expected);
}

#[test]
fn a_line_before_the_table_says_that_it_is_simulated() {
    let text = lkml(&comparison());
    let first = text.lines().next().unwrap();
    let expected = "netperf throughput, simulated: intel-1s56c112t v5.19-rc1, baseline SIS_PROP, compare SIS_UTIL, n 3";
    assert_eq!(first, expected);
}

#[test]
fn an_interrupted_table_says_that_rows_are_missing() {
    let mut comparison = comparison();
    comparison.complete = false;
    assert!(lkml(&comparison).lines().next().unwrap().ends_with(", n 3, interrupted: rows are missing"));
}

#[test]
fn small_numbers_keep_the_columns() {
    let text = lkml(&comparison());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "TCP_RR    168 threads   1.00 (  0.21)    -0.66 (  0.22)");
    assert_eq!(lines.len(), 4);
}

#[test]
fn what_is_longer_widens_its_column_in_every_line() {
    let mut comparison = comparison();
    comparison.rows[0].case = "TCP_STREAM_LONG".to_owned();
    comparison.rows[1].load = "16384 instances".to_owned();
    comparison.rows[1].compare_pct = 12_345.678;
    comparison.rows[0].base.std_pct = 12_345.0;
    let text = lkml(&comparison);
    let expected = "\
case             load             baseline(std%)      compare%( std%)
TCP_STREAM_LONG  168 threads       1.00 (12345.00)      -0.66 (  0.22)
TCP_RR           16384 instances   1.00 (    0.16)  +12345.68 (  7.85)
";
    let header: usize = table(&text).lines().map(|line| line.len()).next().unwrap();
    assert!(table(&text).lines().all(|line| line.len() == header), "{text}");
    assert_eq!(table(&text).lines().skip(1).collect::<Vec<_>>(), expected.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn each_benchmark_has_a_table() {
    let mut comparison = comparison();
    comparison.rows[1].benchmark = "hackbench".to_owned();
    let text = lkml(&comparison);
    assert_eq!(text.matches("simulated").count(), 2);
    assert_eq!(text.matches("case      load").count(), 2);
    assert!(text.contains("\n\nhackbench throughput, simulated"), "{text}");
}

#[test]
fn what_is_no_number_is_not_printed_as_one() {
    let mut comparison = comparison();
    comparison.rows[0].compare_pct = f64::NAN;
    let text = lkml(&comparison);
    assert!(text.contains("      n/a (  0.22)") && !text.contains("NaN"), "{text}");
}
