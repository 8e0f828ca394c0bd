//! Numbers of comparisons as people read them.

use crate::numbers::thousands;

/// What stands where there is no number.
pub(super) const NONE: &str = "n/a";

/// With so many digits after the point; `n/a` for what is no number.
pub(super) fn fixed(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { NONE.to_owned() }
}

/// The same of what may be missing.
pub(super) fn fixed_or_none(value: Option<f64>, digits: usize) -> String {
    fixed(value.unwrap_or(f64::NAN), digits)
}

/// The same with its sign.
pub(super) fn signed(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:+.digits$}") } else { NONE.to_owned() }
}

/// A mean: whole with separators from 1000 on, below it with two digits.
pub(super) fn amount(value: f64) -> String {
    // No finite mean of counts comes near the end of u64, to which the cast would clamp.
    if (1000.0..1e18).contains(&value) { thousands(value.round() as u64) } else { fixed(value, 2) }
}

/// A mean with its spread: `1,234,567 ± 0.16%`.
pub(super) fn spread(mean: f64, std_pct: f64) -> String {
    format!("{} ± {}%", amount(mean), fixed(std_pct, 2))
}

/// A p value: three digits, and no more than "less than 0.001".
pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        p => fixed_or_none(p, 3),
    }
}

/// ns as `600 ms`, in the greatest unit in which it is whole.
pub(super) fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.into_iter().find(|(_, length)| ns > 0 && ns.is_multiple_of(*length)) {
        Some((unit, length)) => format!("{} {unit}", thousands(ns / length)),
        None => format!("{} ns", thousands(ns)),
    }
}

/// Switches as given, or what stands for none.
pub(super) fn switches(label: &str) -> &str {
    if label.is_empty() { "(the kernel's own)" } else { label }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_says_so() {
        assert_eq!([fixed(f64::NAN, 1), signed(f64::INFINITY, 2), p_value(None), amount(f64::NAN)], [NONE; 4]);
    }

    #[test]
    fn p_is_not_more_exact_than_it_can_be() {
        assert_eq!([p_value(Some(0.0)), p_value(Some(0.000_9)), p_value(Some(0.04))], ["<0.001", "<0.001", "0.040"]);
    }

    #[test]
    fn durations_have_the_greatest_whole_unit() {
        let texts = [600_000_000, 1_500_000_000, 3_000_000_000, 2_500, 0].map(duration);
        assert_eq!(texts, ["600 ms", "1,500 ms", "3 s", "2,500 ns", "0 ns"]);
    }

    #[test]
    fn amounts_keep_what_can_be_read() {
        assert_eq!([amount(1_234_567.4), amount(12.345), amount(0.0)], ["1,234,567", "12.35", "0.00"]);
    }
}
