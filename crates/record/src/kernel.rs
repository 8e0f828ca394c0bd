//! The running kernel: its release, features, settings and HZ.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs;

/// The running kernel.
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// The version that the release begins with (`7.2.12`).
    pub version: String,
    /// The first two numbers of the version (`7.2`).
    pub short: String,
    /// The scheduler's features in the order of their bits, and whether each was on.
    pub features: Vec<(String, bool)>,
    /// Whether the states are known, and not only the names.
    pub states_known: bool,
    /// `CONFIG_HZ`.
    pub hz: u32,
}

/// A switched feature takes effect up to this time after its bit changes, because the kernel patches its code, ns.
const SWITCHING_NS: u64 = 50_000_000;

const FEATURES: [&str; 2] = ["/sys/kernel/debug/sched/features", "/sys/kernel/debug/sched_features"];

impl Kernel {
    /// Reads what is known of the running kernel; `hz` was measured.
    pub fn read(hz: u32) -> Result<Self> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").context("/proc is not mounted")?;
        let release = release.trim().to_owned();
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        let version = release[..end].trim_end_matches('.').to_owned();
        let short = version.split('.').take(2).collect::<Vec<_>>().join(".");
        let text = FEATURES.iter().find_map(|path| fs::read_to_string(path).ok());
        let named =
            |word: &str| word.strip_prefix("NO_").map_or((word.to_owned(), true), |name| (name.to_owned(), false));
        let (features, states_known) = match text {
            Some(text) => (text.split_whitespace().map(named).collect(), true),
            // Without debugfs, BTF has the names. The BPF program reads which are on at each decision.
            None => (crate::probe::features().into_iter().map(|name| (name, false)).collect(), false),
        };
        Ok(Kernel { release, version, short, features, states_known, hz })
    }

    /// The text of the features file for these bits. They are 0 if the program cannot read them; then the states at the
    /// start are used. Returns an empty text if neither is known.
    pub fn features_text(&self, bits: u64) -> String {
        if bits == 0 && !self.states_known {
            return String::new();
        }
        let word = |(at, (name, on)): (usize, &(String, bool))| {
            let on = if bits == 0 { *on } else { bits >> at & 1 != 0 };
            format!("{}{name}", if on { "" } else { "NO_" })
        };
        self.features.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    }

    /// The scheduler's settings from /proc/sys/kernel and, if it is mounted, from debugfs, for the reader of the
    /// recording.
    pub fn settings() -> String {
        let of_sysctl = |name: &str| name.starts_with("sched_") || name == "numa_balancing";
        let of_debugfs = |name: &str| !["debug", "features", "verbose"].contains(&name);
        let mut lines = values("/proc/sys/kernel", of_sysctl);
        lines.extend(values("/sys/kernel/debug/sched", of_debugfs));
        lines.join(" ")
    }
}

/// The features of rows of one table, in the order of time.
#[derive(Default)]
pub struct FeaturesInEffect {
    texts: HashMap<u64, String>,
    switches: InEffect,
}

impl FeaturesInEffect {
    /// The text of the features file for the bits of a row of this time, ns, and whether the row can be stable: the
    /// features are known, and none was switched shortly before.
    pub fn of(&mut self, kernel: &Kernel, bits: u64, t_ns: u64) -> (&str, bool) {
        let in_effect = self.switches.holds(bits, t_ns);
        let text = self.texts.entry(bits).or_insert_with(|| kernel.features_text(bits));
        (text, !text.is_empty() && in_effect)
    }
}

/// Switches that rows have as their state: the kernel changes its code some time before or after that.
#[derive(Default)]
pub struct InEffect {
    /// Of the last row, and the time from which it is in effect, ns.
    last: Option<(u64, u64)>,
}

impl InEffect {
    /// Whether the state of a row of this time, ns, is in effect: it has not changed shortly before.
    pub fn holds(&mut self, state: u64, t_ns: u64) -> bool {
        let since = match self.last {
            None => 0,
            Some((last, since)) if last == state => since,
            Some(_) => t_ns + SWITCHING_NS,
        };
        self.last = Some((state, since));
        t_ns >= since
    }
}

/// `NAME=VALUE` for each file of a folder that `wanted` selects, sorted.
fn values(folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let Ok(folder) = fs::read_dir(folder) else { return Vec::new() };
    let of = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok().filter(|name| wanted(name))?;
        let text = fs::read_to_string(entry.path()).ok()?;
        let text = text.trim();
        // A file with several lines is a table, not a setting.
        (!text.contains('\n')).then(|| format!("{name}={}", text.replace(' ', ",")))
    };
    let mut lines: Vec<String> = folder.filter_map(of).collect();
    lines.sort();
    lines
}

/// The possible values of CONFIG_HZ.
const HZ: [u32; 4] = [100, 250, 300, 1000];
/// `jiffies` reaches this value 300 s after boot (`INITIAL_JIFFIES`).
const WRAP: i128 = 1 << 32;
const WRAP_NS: i128 = 300_000_000_000;

/// `HZ` from two samples of jiffies and CLOCK_MONOTONIC (ns). It is computed from boot to the second sample, or between
/// the two samples within 15 s of the wrap.
pub fn hz_from_samples(samples: [(u64, u64); 2]) -> u32 {
    let [(first, start), (last, end)] = samples.map(|(jiffies, ns)| (i128::from(jiffies), i128::from(ns)));
    let (jiffies, ns) = match end - WRAP_NS {
        ns if ns.abs() > 15_000_000_000 => (last - WRAP, ns),
        _ => (last - first, end - start),
    };
    let measured = (jiffies as f64 * 1e9 / ns as f64).max(1.0);
    let far = |&hz: &u32| (f64::from(hz) / measured).ln().abs();
    HZ.into_iter().min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(250)
}

#[cfg(test)]
mod tests {
    use super::{Kernel, hz_from_samples};

    #[test]
    fn features_are_named_without_debugfs_and_unknown_without_their_bits() {
        let features = vec![("A".to_owned(), false), ("B".to_owned(), false)];
        let mut kernel = Kernel {
            release: String::new(),
            version: String::new(),
            short: String::new(),
            features,
            states_known: false,
            hz: 250,
        };
        assert_eq!((kernel.features_text(2), kernel.features_text(0)), ("NO_A B".to_owned(), String::new()));
        kernel.states_known = true;
        assert_eq!(kernel.features_text(0), "NO_A NO_B");
    }

    #[test]
    fn hz_is_counted_before_and_after_the_wrap_and_about_it() {
        for expected in [100_u32, 250, 300, 1000] {
            for (seconds, between) in [(15_u64, 1_u64), (299, 2), (301, 2), (100_000, 1)] {
                let hz_of = u64::from(expected);
                let at = |seconds: u64| ((1 << 32) + seconds * hz_of - 300 * hz_of, seconds * 1_000_000_000);
                assert_eq!(hz_from_samples([at(seconds), at(seconds + between)]), expected, "{seconds} s after boot");
            }
        }
    }
}
