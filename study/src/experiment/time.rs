//! Lengths of simulated time as people write them.

use wakelab_workload::parse_duration;

/// The longest time that is accepted, ns: an hour.
pub const TIME_MAX_NS: u64 = wakelab_workload::DURATION_MAX_NS;

/// Reads `600ms`, `1s`, `2.5us`: ns, at most an hour.
///
/// # Errors
/// What was expected.
pub fn parse_time(text: &str) -> Result<u64, String> {
    let expected = "expected a number and ns, us, ms or s, at most an hour: 600ms, 1.5s";
    parse_duration(text).ok_or_else(|| format!("{text:?} is no time; {expected}"))
}

/// A time as [`parse_time`] reads it, in its largest unit, with three digits after the point at most: `200ms`, `4.002ms`.
pub(crate) fn time_text(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)];
    let (unit, length) = units.into_iter().find(|&(_, length)| ns >= length).unwrap_or(("ns", 1));
    let text = format!("{}.{:03}", ns / length, (ns % length) * 1000 / length);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_its_largest_unit() {
        let told = [0, 200, 4_002_200, 200_000_000, 3_600_000_000_000].map(time_text);
        assert_eq!(told, ["0ns", "200ns", "4.002ms", "200ms", "3600s"]);
    }

    #[test]
    fn times_are_those_of_workloads_and_what_is_none_says_what_was_expected() {
        assert_eq!(parse_time("1.5s"), Ok(1_500_000_000));
        assert_eq!(parse_time("3600s"), Ok(TIME_MAX_NS));
        assert_eq!(
            parse_time("3601s"),
            Err("\"3601s\" is no time; expected a number and ns, us, ms or s, at most an hour: 600ms, 1.5s".to_owned())
        );
    }
}
