//! The verdict in words: one sentence, what chance can do, what the constants do, and the record.

use super::fixture::{comparison, judged, once};
use super::trust::{control, sensitivity};

use wakelab_measure::NeverRan;
use wakelab_study::compare::{CompareRow, Comparison, DecidedNothing};
use wakelab_study::verdict::{Certainty, RowVerdict, Verdict, verdict};

/// The lines of the verdict, each whole.
fn verdict_text(verdict: &Verdict<'_>) -> String {
    wakelab_report::compare::verdict_text(verdict).replace("\n  ", " ")
}

/// Four rows: one that is better, one with equal values, one within its noise, and one that chance may have made.
fn four() -> Comparison {
    let mut found = comparison();
    let row = |load: &str, compare_pct, p| {
        let like = &comparison().rows[1];
        let load = load.to_owned();
        CompareRow {
            load,
            compare_pct,
            p_value: Some(p),
            ci95: Some([compare_pct - 2.0, compare_pct + 2.0]),
            ..like.clone()
        }
    };
    found.rows = vec![
        row("168 threads", 0.3, 0.001),
        row("112 threads", 0.0, 1.0),
        row("224 threads", 197.3, 0.002),
        row("196 threads", 30.0, 0.06),
    ];
    found.rows[1].with.values = found.rows[1].base.values.clone();
    found
}

fn verdicts(verdict: &Verdict<'_>) -> Vec<RowVerdict> {
    verdict.rows.iter().map(|row| row.verdict).collect()
}

#[test]
fn a_row_is_better_only_above_its_noise_and_beyond_chance() {
    use RowVerdict::{Better, Identical, Same};
    let found = four();
    assert_eq!(verdicts(&judged(&found)), [Same, Identical, Better, Same], "0.3% is within the noise");
    assert_eq!(judged(&found).rows[3].p_holm, Some(0.06), "the third of three tested rows");
    let mut many = four();
    many.rows[2].p_value = Some(0.02);
    assert_eq!(verdicts(&judged(&many))[2], Better, "the second of three tested rows: 0.04");
    many.rows[2].p_value = Some(0.03);
    assert_eq!(verdicts(&judged(&many))[2], Same, "the second of three tested rows: 0.06");
}

#[test]
fn the_sentence_names_the_sides_the_rows_and_the_largest_differences() {
    let text = verdict_text(&judged(&four()));
    let expected = "\nverdict: SIS_UTIL is better than SIS_PROP in 1 of 4 rows (+197% [+195, +199] at 224 threads), \
                    worse in none, 1 identical, 1 differs by less than 5%, 1 not shown to differ\n\
                    chance: 3 runs per side, p below 0.05 after Holm's correction for 3 tested rows\n";
    assert!(text.starts_with(expected), "{text}");
    // What differs beyond chance, but by less than the model can tell, is not called no difference.
    let mut small = four();
    small.rows.truncate(1);
    small.rows[0].p_value = Some(0.001);
    let text = verdict_text(&judged(&small));
    let expected = "\nverdict: SIS_UTIL differs from SIS_PROP by less than 5% in 1 row, which is too little for the \
                    model to tell\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn one_run_a_side_is_never_better() {
    let found = once();
    assert_eq!(verdicts(&judged(&found)), [RowVerdict::Untested; 2]);
    let text = verdict_text(&judged(&found));
    let expected = "\nverdict: none, as one run per side cannot tell a difference from chance: SIS_UTIL and SIS_PROP \
                    differ in 2 of 2 rows (+197% at 224 threads, -0.7% at 168 threads), none identical; --repeat 3 \
                    gives a verdict\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn sides_that_are_the_same_with_every_seed_are_identical() {
    let mut found = comparison();
    found.experiment.base.clear();
    for row in &mut found.rows {
        row.with = row.base.clone();
    }
    let text = verdict_text(&judged(&found));
    assert!(text.starts_with("\nverdict: SIS_UTIL and the kernel's own setting are identical in 2 rows\n"), "{text}");
}

#[test]
fn control_and_constants_are_in_the_verdict() {
    let mut found = four();
    found.rows.truncate(3);
    let (control, sensitivity) = (control(), sensitivity());
    let judged = verdict(&found, Certainty { control: Some(&control), sensitivity: Some(&sensitivity) });
    let text = verdict_text(&judged);
    assert!(text.contains("; the base side against itself with other seeds differs by up to 0.5%\n"), "{text}");
    let constants = "\nconstants: the difference holds in 20 of 32 samples, less than 95%\n";
    assert!(text.contains(constants), "{text}");
    let mut holds = sensitivity.clone();
    holds.rows[2] = holds.rows[0].clone();
    let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&holds) });
    assert!(verdict_text(&judged).contains("\nconstants: the difference holds in 32 of 32 samples\n"));
    let mut few = sensitivity.clone();
    few.rows.iter_mut().for_each(|row| (row.same.n, row.same.of) = (5, 6));
    let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&few) });
    let text = verdict_text(&judged);
    assert!(text.contains("\nconstants: 6 samples are too few to tell whether the difference holds, 8 are needed\n"));
    // Where no row is better or worse, how far the constants move the rows is said all the same.
    found.rows[2].compare_pct = 1.0;
    let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&sensitivity) });
    let text = verdict_text(&judged);
    assert!(text.contains("\nconstants: compare% is between "), "{text}");
}

#[test]
fn without_a_better_and_a_worse_row_it_says_that_none_is_shown() {
    let text = verdict_text(&judged(&comparison()));
    assert!(text.starts_with("\nverdict: no difference between SIS_PROP and SIS_UTIL is shown in 2 rows\n"), "{text}");
}

#[test]
fn lines_are_wrapped_for_letters() {
    let text = wakelab_report::compare::verdict_text(&judged(&four()));
    assert!(text.lines().count() > 3 && text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

/// A verdict does not stand against its own samples: what holds in 20 of 32 is no finding.
#[test]
fn what_does_not_hold_with_other_constants_is_undecided() {
    let mut found = four();
    found.rows.truncate(3);
    let study = sensitivity();
    let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&study) });
    assert_eq!(verdicts(&judged)[2], RowVerdict::Undecided);
    let text = verdict_text(&judged);
    let expected = "\nverdict: undecided: SIS_PROP";
    assert!(!text.starts_with(expected) && text.contains("but not as surely with other constants"), "{text}");
    let mut holds = study.clone();
    holds.rows[2] = holds.rows[0].clone();
    let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&holds) });
    assert_eq!(verdicts(&judged)[2], RowVerdict::Better);
    // Too few samples for a verdict say something if one differs.
    for (same, expected) in [(6, RowVerdict::Better), (5, RowVerdict::Undecided)] {
        let mut few = study.clone();
        few.rows.iter_mut().for_each(|row| (row.same.n, row.same.of) = (same, 6));
        let judged = verdict(&found, Certainty { control: None, sensitivity: Some(&few) });
        assert_eq!(verdicts(&judged)[2], expected, "{same} of 6");
    }
}

#[test]
fn a_side_on_which_tasks_starve_is_not_better() {
    let mut found = four();
    let starve = |found: &mut Comparison, with: bool, count| {
        let row = &mut found.rows[2];
        let side = if with { &mut row.with } else { &mut row.base };
        side.runs[0].never_ran = NeverRan { count, of: 4, names: vec!["n5".to_owned(), "m5".to_owned()] };
    };
    starve(&mut found, true, 2);
    assert_eq!(verdicts(&judged(&found))[2], RowVerdict::Undecided);
    let text = verdict_text(&judged(&found));
    let note = "\nstarved: SIS_UTIL: 2 of 4 tasks (n5, m5) never ran in the measured time at 224 threads\n";
    assert!(text.contains(note) && text.contains("but tasks never ran on the side that is ahead"), "{text}");
    // Where the base starves as many, or more, the difference is not made by it.
    starve(&mut found, false, 2);
    assert_eq!(verdicts(&judged(&found))[2], RowVerdict::Better);
    let text = verdict_text(&judged(&found));
    assert!(text.contains("\nstarved: SIS_PROP and SIS_UTIL: 2 of 4 tasks (n5, m5)"), "{text}");
}

#[test]
fn settings_that_decided_nothing_are_told_with_the_reason() {
    let nothing =
        |setting: &str| DecidedNothing { setting: setting.to_owned(), why: "its limit ended no search".to_owned() };
    let mut found = comparison();
    found.rows[0].decided_nothing = vec![nothing("SIS_UTIL on")];
    let text = verdict_text(&judged(&found));
    let line = "\nmechanism: SIS_UTIL on decided nothing in 1 of 2 rows (168 threads): its limit ended no search\n";
    assert!(text.contains(line), "{text}");
    for row in &mut found.rows {
        row.with = row.base.clone();
        row.decided_nothing = vec![nothing("SIS_PROP off"), nothing("SIS_UTIL on")];
    }
    let text = verdict_text(&judged(&found));
    assert!(text.starts_with("\nverdict: none, as nothing was compared: "), "{text}");
    assert!(text.contains("\nmechanism: SIS_PROP off and SIS_UTIL on decided nothing: its limit "), "{text}");
}

#[test]
fn the_record_of_the_fair_class_is_not_that_of_a_sched_ext_scheduler() {
    let mut found = comparison();
    assert!(verdict_text(&judged(&found)).contains("\nmodel: netperf, "));
    found.schedulers = vec!["scx_lavd".to_owned()];
    let text = verdict_text(&judged(&found));
    assert!(!text.contains("published effects right"), "{text}");
    assert!(text.contains("\nmodel: no record for sched_ext schedulers: "), "{text}");
}

/// A loss to 1.8% is larger than a gain of 300%, whatever the per cents are.
#[test]
fn the_largest_difference_is_that_of_the_ratio() {
    let mut found = four();
    found.rows.truncate(3);
    found.rows[0].compare_pct = -98.2;
    found.rows[0].p_value = Some(0.001);
    found.rows[2].compare_pct = 300.0;
    found.rows[2].ci95 = None;
    found.rows[0].ci95 = None;
    let sizes: Vec<f64> = judged(&found).rows.iter().map(|row| row.size()).collect();
    assert!(sizes[0] > sizes[2] && sizes[1] == 0.0, "{sizes:?}");
}
