//! The running kernel.

use crate::refusal;
use anyhow::{Context, Result};
use std::fs;

/// What is known of it.
pub struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// The number that it begins with (`7.2.12`).
    pub version: String,
    /// Its first two parts (`7.2`).
    pub short: String,
    /// The features in the order of their bits, with whether each was on.
    pub features: Vec<(String, bool)>,
    /// Ticks a second.
    pub hz: u32,
}

const FEATURES: [&str; 2] = ["/sys/kernel/debug/sched/features", "/sys/kernel/debug/sched_features"];

impl Kernel {
    /// Looks at it; `hz` was measured.
    pub fn read(hz: u32) -> Result<Self> {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").context("/proc is not mounted")?;
        let release = release.trim().to_owned();
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        let version = release[..end].trim_end_matches('.').to_owned();
        let short = version.split('.').take(2).collect::<Vec<_>>().join(".");
        let text = FEATURES.iter().find_map(|path| fs::read_to_string(path).ok()).ok_or_else(refusal::of_features)?;
        let features = text
            .split_whitespace()
            .map(|word| word.strip_prefix("NO_").map_or((word.to_owned(), true), |name| (name.to_owned(), false)))
            .collect();
        Ok(Kernel { release, version, short, features, hz })
    }

    /// The text of the features file for these bits.
    pub fn features_text(&self, bits: u64) -> String {
        let word = |(at, (name, on)): (usize, &(String, bool))| {
            let on = if bits == 0 { *on } else { bits >> at & 1 != 0 };
            format!("{}{name}", if on { "" } else { "NO_" })
        };
        self.features.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    }

    /// Other settings that placement may go by, for the reader of the recording.
    pub fn settings() -> String {
        let Ok(folder) = fs::read_dir("/proc/sys/kernel") else { return String::new() };
        let mut lines: Vec<String> = folder
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                if !name.starts_with("sched_") && name != "numa_balancing" {
                    return None;
                }
                Some(format!("{name}={}", fs::read_to_string(entry.path()).ok()?.trim()))
            })
            .collect();
        lines.sort();
        lines.join(" ")
    }
}

/// The values of CONFIG_HZ.
const HZ: [u32; 4] = [100, 250, 300, 1000];
/// `jiffies` passes this number 300 s after boot (`INITIAL_JIFFIES`).
const WRAP: i128 = 1 << 32;
const WRAP_NS: i128 = 300_000_000_000;

/// Ticks a second, from two looks at jiffies and at CLOCK_MONOTONIC (ns). Counted since boot, but for the half minute
/// about the number's wrap; then from one look to the other.
pub fn hz(looks: [(u64, u64); 2]) -> u32 {
    let [(first, start), (last, end)] = looks.map(|(jiffies, ns)| (i128::from(jiffies), i128::from(ns)));
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
    use super::hz;

    #[test]
    fn hz_is_counted_before_and_after_the_wrap_and_about_it() {
        for expected in [100_u32, 250, 300, 1000] {
            for (seconds, between) in [(15_u64, 1_u64), (299, 2), (301, 2), (100_000, 1)] {
                let hz_of = u64::from(expected);
                let at = |seconds: u64| ((1 << 32) + seconds * hz_of - 300 * hz_of, seconds * 1_000_000_000);
                assert_eq!(hz([at(seconds), at(seconds + between)]), expected, "{seconds} s after boot");
            }
        }
    }
}
