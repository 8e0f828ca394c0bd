//! Statistics against numbers from elsewhere.
//!
//! t, p and the degrees of freedom of `mtcars` and `sleep` are those that R's t.test prints for its own data; the other
//! literals come from integrating Student's density by Simpson's rule and bisecting formula 4 as it stands.

use wakelab_study::compare::Better;
use wakelab_study::geometric_mean::geometric_mean;
use wakelab_study::statistics::{difference, mean, std_pct};
use wakelab_study::weighted_mean::{MeanRow, weighted_mean};

/// mpg of R's mtcars with automatic and with manual transmission.
const AUTOMATIC: [f64; 19] =
    [21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7, 21.5, 15.5, 15.2, 13.3, 19.2];
const MANUAL: [f64; 13] = [21.0, 21.0, 22.8, 32.4, 30.4, 33.9, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4];

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
}

fn check(base: &[f64], with: &[f64], better: Better, compare: f64, ci95: Option<[f64; 2]>, p: f64) {
    let found = difference(base, with, better);
    close(found.compare_pct, compare);
    close(found.p_value.unwrap(), p);
    match (found.ci95, ci95) {
        (Some(found), Some(expected)) => (0..2).for_each(|n| close(found[n], expected[n])),
        (found, expected) => assert_eq!(found, expected),
    }
}

#[test]
fn unequal_numbers_and_variances_as_in_mtcars() {
    let ci = [17.783597667342143, 70.05260993803837];
    check(&AUTOMATIC, &MANUAL, Better::Higher, 42.25102705765686, Some(ci), 0.0013736383330873);
    close(std_pct(&AUTOMATIC), 22.358919989461274);
    close(std_pct(&MANUAL), 25.280526496875876);
}

#[test]
fn less_is_better_turns_sign_and_interval() {
    let ci = [-70.05260993803837, -17.783597667342143];
    check(&AUTOMATIC, &MANUAL, Better::Lower, -42.25102705765686, Some(ci), 0.0013736383330873);
}

#[test]
fn three_repeats_of_a_jump() {
    let ci = [172.01354747319218, 222.39221497741485];
    let base = [100.0, 101.0, 102.0];
    check(&base, &[290.0, 300.0, 310.0], Better::Higher, 197.02970297029702, Some(ci), 0.0007567868777811);
}

#[test]
fn three_repeats_of_a_fall() {
    let ci = [-57.22770894255489, -28.837591521658148];
    check(&[10.0, 11.0, 9.0], &[5.0, 5.5, 6.0], Better::Higher, -45.0, Some(ci), 0.0064575892026976);
}

/// Student's sleep data: the base's mean, 0.75, is not told from 0.
#[test]
fn a_base_that_may_be_zero_has_no_interval() {
    let base = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let with = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    check(&base, &with, Better::Higher, 210.66666666666666, None, 0.0793941401873562);
}

#[test]
fn the_interval_leaves_zero_out_where_p_is_below_five_per_cent() {
    let base = [100.0, 101.0, 103.0];
    for shift in 0..200 {
        let with = [98.0, 99.5, 100.0].map(|value| value + f64::from(shift) * 0.1);
        let found = difference(&base, &with, Better::Higher);
        let [low, high] = found.ci95.unwrap();
        assert_eq!(found.p_value.unwrap() < 0.05, low > 0.0 || high < 0.0, "shift {shift}: {found:?}");
        assert!(low <= found.compare_pct && found.compare_pct <= high);
    }
}

#[test]
fn one_value_has_no_spread_no_interval_and_no_test() {
    assert_eq!(std_pct(&[5.0]), 0.0);
    let found = difference(&[100.0], &[150.0], Better::Higher);
    assert_eq!((found.compare_pct, found.ci95, found.p_value), (50.0, None, None));
    let found = difference(&[100.0, 101.0], &[150.0], Better::Higher);
    assert_eq!((found.ci95, found.p_value), (None, None));
}

/// 0.1 summed three times and divided by 3 is not 0.1.
#[test]
fn equal_values_have_no_spread() {
    assert_eq!((mean(&[0.1; 3]), std_pct(&[0.1; 3])), (0.1, 0.0));
    let same = difference(&[0.1; 3], &[0.1; 3], Better::Higher);
    assert_eq!((same.compare_pct, same.ci95, same.p_value), (0.0, None, None), "identical: nothing to test");
    let fewer = difference(&[0.1; 2], &[0.1; 3], Better::Higher);
    assert_eq!((fewer.compare_pct, fewer.ci95, fewer.p_value), (0.0, Some([0.0, 0.0]), Some(1.0)));
    let other = difference(&[2.0; 3], &[3.0; 3], Better::Lower);
    assert_eq!((other.compare_pct, other.ci95, other.p_value), (-50.0, Some([-50.0, -50.0]), Some(0.0)));
}

#[test]
fn one_side_without_spread_is_tested_against_the_other() {
    let found = difference(&[100.0; 3], &[110.0, 111.0, 112.0], Better::Higher);
    // The classical one-sample interval: 111 +- 4.302652730 x 1/sqrt(3).
    let half = 4.302652729749464 / 3f64.sqrt();
    let [low, high] = found.ci95.unwrap();
    close(low, 11.0 - half);
    close(high, 11.0 + half);
    assert!(found.p_value.unwrap() < 0.05);
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
