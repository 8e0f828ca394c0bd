//! Numbers and lists as people read them.

use std::fmt::Write;
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

/// `one thing`, `2 things`.
pub fn count(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// CPUs in the order given, with runs of neighbours upwards shortened: `5-7 0 3`.
pub fn cpu_runs(cpus: impl IntoIterator<Item = Cpu>) -> String {
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
}
