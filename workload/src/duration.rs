//! Lengths of time as people write them.

/// The longest time that is accepted, ns: an hour.
pub const DURATION_MAX_NS: u64 = 3_600_000_000_000;

/// Units with their length in ns; those that end like others come first.
const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// Reads `800ns`, `2.5us`, `1s`: ns, at most [`DURATION_MAX_NS`]. What is not a whole number of ns is no time, and gives
/// `None` like everything else.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = UNITS.iter().find_map(|(name, ns)| Some((text.strip_suffix(name)?.trim_end(), *ns)))?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Nine digits after the point are a nanosecond of the longest unit.
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(part.len() as u32);
    let part_ns = part.parse::<u64>().ok()? * unit;
    let whole_ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let ns = whole_ns.checked_add(part_ns / scale)?;
    (part_ns % scale == 0 && ns <= DURATION_MAX_NS).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::{DURATION_MAX_NS, parse_duration};

    #[test]
    fn times_are_read_in_their_units() {
        for (text, ns) in [
            ("800ns", 800),
            ("50us", 50_000),
            ("2.25us", 2_250),
            ("1.5ms", 1_500_000),
            ("2 s", 2_000_000_000),
            (" 7 ms ", 7_000_000),
            ("0ns", 0),
            ("0.000000001s", 1),
            ("3600s", DURATION_MAX_NS),
        ] {
            assert_eq!(parse_duration(text), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "50", "us", "-1us", "+1us", "1,5us", ".5us", "1.us", "0.5ns", "1e3us", "3601s", "1m"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_duration("1.0000000005s"), None);
        assert_eq!(parse_duration("99999999999999999999s"), None);
        assert_eq!(parse_duration("18446744073.8s"), None);
    }
}
