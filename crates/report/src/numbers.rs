//! Numbers, names and lists as people read them.

use std::fmt::Write;
use wakelab_input::printable;
use wakelab_sched::cpumask::Cpu;

/// `1,234,567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in the largest unit that leaves it whole: `600 ms`, `1,200 ns`.
pub fn duration(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.into_iter().find(|(_, length)| ns > 0 && ns.is_multiple_of(*length)) {
        Some((unit, length)) => format!("{} {unit}", thousands(ns / length)),
        None => format!("{} ns", thousands(ns)),
    }
}

/// `part` of `whole` in per cent, with one digit; `-` for nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}

/// `part` of `whole` in per cent, with one digit, `0.0` for no part; `-` where there is no whole.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}", 100.0 * part as f64 / whole as f64) }
}

/// `[-4.42, +11.62]`; `n/a` for none.
pub fn interval(ci95: Option<[f64; 2]>) -> String {
    ci95.map_or_else(|| NONE.to_owned(), |[low, high]| format!("[{}, {}]", signed(low, 2), signed(high, 2)))
}

/// A time as us with one decimal, rounded half up.
pub(crate) fn us(ns: u64) -> String {
    let tenths = (ns + 50) / 100;
    format!("{}.{}", thousands(tenths / 10), tenths % 10)
}

/// A time in seconds: `12.000345 s`.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1000)
}

/// A task as `name/pid`, or `pid 7` if it has no name.
pub(crate) fn pid_name(comm: &str, pid: i64) -> String {
    if comm.is_empty() { format!("pid {pid}") } else { format!("{}/{pid}", printable(comm)) }
}

/// `one thing`, `2 things`.
pub fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// CPUs in the order given, with runs of neighbours upwards shortened: `5-7 0 3`.
pub(crate) fn cpu_runs(cpus: impl IntoIterator<Item = Cpu>) -> String {
    let mut text = String::new();
    let mut run: Option<(Cpu, Cpu)> = None;
    let mut put = |(first, last): (Cpu, Cpu)| {
        let space = if text.is_empty() { "" } else { " " };
        let _ = match last - first {
            0 => write!(text, "{space}{first}"),
            1 => write!(text, "{space}{first} {last}"),
            _ => write!(text, "{space}{first}-{last}"),
        };
    };
    for cpu in cpus {
        run = match run {
            Some((first, last)) if cpu == last + 1 => Some((first, cpu)),
            done => {
                if let Some(done) = done {
                    put(done);
                }
                Some((cpu, cpu))
            }
        };
    }
    if let Some(done) = run {
        put(done);
    }
    text
}

/// What stands where there is no number.
pub(crate) const NONE: &str = "n/a";

/// With so many digits after the point; `n/a` for what is no number.
pub(crate) fn fixed(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { NONE.to_owned() }
}

/// The same of what may be missing.
pub(crate) fn fixed_or_none(value: Option<f64>, digits: usize) -> String {
    fixed(value.unwrap_or(f64::NAN), digits)
}

/// The same with its sign.
pub(crate) fn signed(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:+.digits$}") } else { NONE.to_owned() }
}

/// A mean: whole with separators from 1000 on, below it with two digits, and of less than 10 (seconds often) four in
/// all.
pub(crate) fn amount(value: f64) -> String {
    // No finite mean of counts comes near the end of u64, to which the cast would clamp.
    match value {
        1000.0..1e18 => thousands(value.round() as u64),
        // A picosecond is as far as it goes.
        1e-9..10.0 => fixed(value, (3.0 - value.log10().floor()) as usize),
        _ => fixed(value, 2),
    }
}

/// A mean with its spread: `1,234,567 ± 0.16%`. One value has none, which is not the same as a spread of 0.
pub(crate) fn spread(mean: f64, std_pct: f64, n: usize) -> String {
    if n < 2 { format!("{} ± {NONE}", amount(mean)) } else { format!("{} ± {}%", amount(mean), fixed(std_pct, 2)) }
}

/// A p value: three digits, and no more than "less than 0.001".
pub(crate) fn p_value(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.001 => "<0.001".to_owned(),
        p => fixed_or_none(p, 3),
    }
}

/// Switches as given, or what stands for none.
pub(crate) fn switches(label: &str) -> &str {
    if label.is_empty() { "(the kernel's own)" } else { label }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_keep_the_order() {
        assert_eq!(cpu_runs([5, 6, 7, 0, 3]), "5-7 0 3");
        assert_eq!(cpu_runs([1, 2, 4, 7]), "1 2 4 7");
        assert_eq!(cpu_runs([]), "");
    }

    #[test]
    fn thousands_and_percent() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(percent(1, 3), "33.3");
        assert_eq!(percent(0, 3), "-");
        assert_eq!(count(1, "row"), "1 row");
    }

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
