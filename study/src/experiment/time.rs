//! Lengths of simulated time as people write them.

/// The longest time that is accepted, ns: an hour.
pub const TIME_MAX_NS: u64 = 3_600_000_000_000;

/// Units with their length in ns; those that end like others come first.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Reads `600ms`, `1s`, `2.5us`: ns, at most an hour.
///
/// # Errors
/// What was expected.
pub fn parse_time(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no time; expected a number and ns, us, ms or s, at most an hour: 600ms, 1.5s");
    let (number, unit) =
        UNITS.iter().find_map(|(name, ns)| Some((text.trim().strip_suffix(name)?, *ns))).ok_or_else(wrong)?;
    let (whole, part) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // Nine digits after the point are a nanosecond of the longest unit.
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let part_ns = part.parse::<u64>().map_err(|_| wrong())? * unit;
    let scale = 10u64.pow(part.len() as u32);
    let whole_ns = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wrong)?;
    if part_ns % scale != 0 {
        return Err(format!("{text:?} is not a whole number of ns"));
    }
    whole_ns.checked_add(part_ns / scale).filter(|&ns| ns <= TIME_MAX_NS).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_their_units() {
        for (text, ns) in [
            ("1s", 1_000_000_000),
            ("600ms", 600_000_000),
            ("0ns", 0),
            ("1.5s", 1_500_000_000),
            ("2.25us", 2_250),
            ("0.000000001s", 1),
            ("3600s", TIME_MAX_NS),
            (" 7 ms ", 7_000_000),
        ] {
            assert_eq!(parse_time(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            ["", "1", "s", "1m", "-1s", "1,5s", ".5s", "1.s", "1e3s", "3601s", "99999999999999999999s", "0.5ns", "+1s"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
        assert!(parse_time("1.0000000005s").is_err());
    }
}
