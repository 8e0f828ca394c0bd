//! Whether two means differ, against numbers from elsewhere.
//!
//! t, p and the degrees of freedom of `mtcars` and `sleep` are those that R's t.test prints for its own data; the other
//! literals come from integrating Student's density by Simpson's rule and bisecting formula 4 as it stands.

use wakelab_statistics::{Better, difference, mean, std_pct};

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
