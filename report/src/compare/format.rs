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

/// A mean: whole with separators from 1000 on, below it with two digits, and of less than 10 (seconds often) four in all.
pub(super) fn amount(value: f64) -> String {
    // No finite mean of counts comes near the end of u64, to which the cast would clamp.
    match value {
        1000.0..1e18 => thousands(value.round() as u64),
        // A picosecond is as far as it goes.
        1e-9..10.0 => fixed(value, (3.0 - value.log10().floor()) as usize),
        _ => fixed(value, 2),
    }
}

/// A mean with its spread: `1,234,567 ± 0.16%`. One value has none, which is not the same as a spread of 0.
pub(super) fn spread(mean: f64, std_pct: f64, n: usize) -> String {
    if n < 2 { format!("{} ± {NONE}", amount(mean)) } else { format!("{} ± {}%", amount(mean), fixed(std_pct, 2)) }
}

/// A p value: three digits, and no more than "less than 0.001".
pub(super) fn p_value(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        p => fixed_or_none(p, 3),
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
    fn amounts_keep_what_can_be_read() {
        assert_eq!([amount(1_234_567.4), amount(12.345), amount(0.0)], ["1,234,567", "12.35", "0.00"]);
        assert_eq!([amount(1.234_56), amount(0.012_345_6)], ["1.235", "0.01235"]);
    }
}
