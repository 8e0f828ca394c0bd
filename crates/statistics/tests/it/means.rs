//! Means over several rows, against numbers from elsewhere.

use wakelab_statistics::{Better, MeanRow, difference, geometric_mean, weighted_mean};

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
}

/// With every seed a side has the other's value: that the seeds differ says nothing of the difference.
#[test]
fn identical_sides_have_no_interval_and_add_nothing_to_that_of_a_mean() {
    let base = [100.0, 120.0, 140.0];
    let found = difference(&base, &base, Better::Higher);
    assert_eq!((found.compare_pct, found.ci95, found.p_value), (0.0, None, None));
    let only = geometric_mean([(&base[..], &base[..], Better::Higher)]).unwrap();
    assert_eq!((only.pct, only.ci95), (0.0, Some([0.0, 0.0])));
    let (a, b) = ([99.0, 100.0, 101.0], [198.0, 200.0, 202.0]);
    let rows = [(&base[..], &base[..], Better::Higher), (&a[..], &b[..], Better::Higher)];
    let [low, high] = geometric_mean(rows).unwrap().ci95.unwrap();
    // Student's 97.5% point of 4 degrees of freedom, and half the deviation of the one row that varies.
    let width = (high / 100.0 + 1.0).ln() - (low / 100.0 + 1.0).ln();
    close(width, 2.776_445_105_198 * (2.0f64 / 30_000.0).sqrt());
}

/// Two rows, of which one doubles and one halves, and a metric of which less is better.
#[test]
fn a_geometric_mean_is_of_ratios_and_has_the_sign_of_better() {
    let (one, two, four) = ([1.0; 2], [2.0; 2], [4.0; 2]);
    let of = |rows: &[(&[f64], &[f64], Better)]| geometric_mean(rows.iter().copied()).map(|mean| mean.pct);
    let check = |rows: &[(&[f64], &[f64], Better)], expected: f64| close(of(rows).unwrap(), expected);
    check(&[(&one, &two, Better::Higher), (&two, &one, Better::Higher)], 0.0);
    check(&[(&one, &four, Better::Higher), (&one, &one, Better::Higher)], 100.0);
    // As compare% is, where less is better in all rows: half of the time is 50% better, and not 100%.
    check(&[(&two, &one, Better::Lower)], 50.0);
    check(&[(&four, &one, Better::Lower), (&one, &one, Better::Lower)], 50.0);
    check(&[(&one, &two, Better::Lower)], -100.0);
    // Together with a metric of which more is better it is twice as good.
    check(&[(&one, &two, Better::Higher), (&two, &one, Better::Lower)], 100.0);
    assert_eq!(of(&[]), None);
}

/// The variances of both means are a third of a hundredth of a per cent of their squares, so that Welch's degrees of
/// freedom are 4, where Student's 97.5% point is 2.776445105 in every table.
#[test]
fn the_interval_of_a_geometric_mean_is_that_of_its_logarithm() {
    let (base, with) = ([99.0, 100.0, 101.0], [198.0, 200.0, 202.0]);
    let half = 2.776_445_105_198 * (2.0f64 / 30_000.0).sqrt() / 2.0;
    let ends = |log: f64| [100.0 * ((log - half).exp() - 1.0), 100.0 * ((log + half).exp() - 1.0)];
    let still = [100.0; 3];
    let rows = [(&base[..], &with[..], Better::Higher), (&still[..], &still[..], Better::Higher)];
    let found = geometric_mean(rows).unwrap();
    close(found.pct, 100.0 * (2f64.sqrt() - 1.0));
    (0..2).for_each(|end| close(found.ci95.unwrap()[end], ends(2f64.ln() / 2.0)[end]));
    // One row has its own interval, so that it does not stand twice with two intervals.
    let alone = geometric_mean([rows[0]]).unwrap();
    assert_eq!(alone.ci95, difference(&base, &with, Better::Higher).ci95);
    // A base that is not told from 0 has a ratio without ends, alone as in its row.
    let wild = [1.0, 10.0, 100.0];
    assert_eq!(difference(&wild, &with, Better::Higher).ci95, None);
    assert_eq!(geometric_mean([(&wild[..], &with[..], Better::Higher)]).unwrap().ci95, None);
    // Two such rows: half the variance, and 8 degrees of freedom, of which the point is 2.306004135.
    let rows = [(&base[..], &with[..], Better::Higher), (&with[..], &base[..], Better::Higher)];
    let found = geometric_mean(rows).unwrap();
    let half = 2.306_004_135_033 * (1.0f64 / 30_000.0).sqrt();
    close(found.pct, 0.0);
    close(found.ci95.unwrap()[1], 100.0 * (half.exp() - 1.0));
    assert_eq!((found.rows, found.left_out), (2, 0));
    let once = geometric_mean([(&base[..1], &with[..], Better::Higher)]).unwrap();
    assert_eq!(once.ci95, None);
    let zero = geometric_mean([(&base[..], &with[..], Better::Higher), (&base[..], &[0.0; 3][..], Better::Higher)]);
    assert_eq!(zero.map(|mean| (mean.rows, mean.left_out)), Some((1, 1)));
}

/// Computed with scipy 1.17's Student's distribution by the equations of the module.
#[test]
fn weights_count_in_the_mean_its_interval_and_the_probability() {
    let row = |base, with, weight| MeanRow { base, with, better: Better::Higher, weight };
    let gain = row(&[100.0, 102.0, 98.0], &[110.0, 111.0, 109.0], 2.0);
    let loss = row(&[50.0, 52.0, 48.0], &[45.0, 44.0, 46.0], 1.0);
    // A row without a weight counts nothing.
    let ignored = row(&[1.0, 2.0, 3.0], &[9.0, 1.0, 5.0], 0.0);
    let found = weighted_mean(&[gain, loss, ignored]).expect("rows");
    close(found.pct, 2.882_764_781_018);
    let [low, high] = found.ci95.expect("repeats");
    close(low, -1.699_771_939_068);
    close(high, 7.678_929_111_183);
    close(found.probability_better.expect("repeats"), 0.935_348_969_729);
    assert!(weighted_mean(&[ignored]).is_none());
    let once = weighted_mean(&[row(&[1.0], &[2.0], 1.0), gain]).expect("rows");
    assert_eq!((once.ci95, once.probability_better), (None, None));
}

/// Half a per cent in each repeat is told from seeds that differ by a third.
#[test]
fn what_the_seeds_do_to_both_sides_cancels() {
    let (base, with) = ([80.0, 100.0, 120.0], [80.4, 100.5, 120.7]);
    let paired = MeanRow { base: &base, with: &with, better: Better::Higher, weight: 1.0 };
    let found = weighted_mean(&[paired]).expect("a row");
    assert!(found.ci95.expect("repeats")[0] > 0.4 && found.probability_better.expect("repeats") > 0.99, "{found:?}");
    assert!(difference(&base, &with, Better::Higher).ci95.is_some_and(|[low, _]| low < -10.0));
}

#[test]
fn what_has_no_ratio_or_does_not_vary_is_not_certain() {
    let row = |base, with, better| MeanRow { base, with, better, weight: 1.0 };
    let zero = row(&[0.0, 0.0], &[0.0, 0.0], Better::Lower);
    let half = row(&[2.0, 2.2], &[1.0, 1.2], Better::Lower);
    // Identical rows count, whatever their values are.
    close(weighted_mean(&[zero, half]).expect("rows").pct, 100.0 * ((2.1f64 / 1.1).sqrt() - 1.0));
    assert_eq!(weighted_mean(&[zero]).expect("a row").ci95, Some([0.0; 2]));
    assert!(weighted_mean(&[half, row(&[0.0, 0.0], &[0.0, 1.0], Better::Lower)]).is_none());
    // Two repeats that happen to be equal do not make a difference certain.
    let still = weighted_mean(&[row(&[10.0, 10.0], &[9.0, 9.0], Better::Higher)]).expect("a row");
    close(still.pct, -10.0);
    assert_eq!((still.ci95, still.probability_better), (None, None));
}
