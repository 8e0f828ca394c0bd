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

#[cfg(test)]
mod tests {
    use super::*;

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
