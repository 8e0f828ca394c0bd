//! Lengths of time.

use std::time::Duration;

/// The longest simulated time that is accepted, ns: an hour.
pub const DURATION_MAX_NS: u64 = 3_600_000_000_000;

/// The text that [`parse_duration`] expects, as messages describe it.
pub const DURATION: &str = "a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms";

/// A unit and its length in ns.
type Unit = (&'static str, u64);

/// Units of simulated time, the longest first.
const SIMULATED: [Unit; 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Units of wall time.
const WALL: [Unit; 4] = [("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000)];

/// Reads a simulated time such as `800ns`, `2.5us` or `1 s` and returns it in ns, at most [`DURATION_MAX_NS`].
///
/// # Errors
///
/// What was expected, if the text is not a number with a unit, not a whole number of ns, or more than an hour.
pub fn parse_duration(text: &str) -> Result<u64, String> {
    let ns = nanoseconds(text.trim(), &SIMULATED).filter(|&ns| ns <= DURATION_MAX_NS);
    ns.ok_or_else(|| format!("expected {DURATION}, found {text:?}"))
}

/// Reads a time on the wall clock such as `500ms`, `10s`, `5m` or `1.5h`, more than 0.
///
/// # Errors
///
/// What was expected, if the text is not a number with a unit, 0, or more than 584 years.
pub fn parse_wall_time(text: &str) -> Result<Duration, String> {
    let ns = nanoseconds(text.trim(), &WALL).filter(|&ns| ns > 0);
    let expected = "a time above 0 in ms, s, m or h, such as 500ms or 10s";
    ns.map(Duration::from_nanos).ok_or_else(|| format!("expected {expected}, found {text:?}"))
}

/// Writes a time as [`parse_duration`] reads it, in the longest unit that it fills, with at most three digits after the
/// point: `200ms`, `4.002ms`. What is shorter is cut off.
pub fn duration_text(ns: u64) -> String {
    let (unit, length) = SIMULATED.into_iter().find(|&(_, length)| ns >= length).unwrap_or(("ns", 1));
    let text = format!("{}.{:03}", ns / length, (ns % length) * 1000 / length);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number with one of the units, in ns. `None` for anything else, such as a sign, an exponent, a part of a ns, or
/// more ns than a `u64` holds.
fn nanoseconds(text: &str, units: &[Unit]) -> Option<u64> {
    let number_end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (text[..number_end].trim_end(), &text[number_end..]);
    let &(_, length) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Nine digits after the point are a nanosecond of a second.
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let scaled = (whole.parse::<u128>().ok()?.checked_mul(scale)? + fraction.parse::<u128>().ok()?)
        .checked_mul(u128::from(length))?;
    if scaled % scale == 0 { u64::try_from(scaled / scale).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(parse_duration(text), Ok(ns), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_time_is_refused_with_what_was_expected() {
        for text in [
            "",
            "50",
            "us",
            "-1us",
            "+1us",
            "1,5us",
            ".5us",
            "1.us",
            "0.5ns",
            "1e3us",
            "3601s",
            "1m",
            "1.0000000005s",
            "99999999999999999999s",
            "99999999999999999999999999999999999999999s",
            "18446744073.8s",
        ] {
            let expected = "expected a time in ns, us, ms or s, at most an hour, such as 50us or 1.5ms, found ";
            assert_eq!(parse_duration(text), Err(format!("{expected}{text:?}")));
        }
    }

    #[test]
    fn times_on_the_wall_clock_are_longer() {
        for (text, ms) in [("250ms", 250), ("5m", 300_000), ("1.5h", 5_400_000), ("0.25s", 250)] {
            assert_eq!(parse_wall_time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "0s", "s", "5us", "1e3s", "99999999999999h"] {
            assert!(parse_wall_time(text).unwrap_err().contains("expected a time above 0 in ms, s, m or h"), "{text}");
        }
    }

    #[test]
    fn a_time_is_written_in_the_longest_unit_that_it_fills() {
        let written = [0, 200, 4_002_200, 200_000_000, 3_600_000_000_000].map(duration_text);
        assert_eq!(written, ["0ns", "200ns", "4.002ms", "200ms", "3600s"]);
    }
}
