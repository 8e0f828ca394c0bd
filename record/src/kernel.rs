//! The running kernel.

use crate::refusal::Refusal;
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
        let text = FEATURES.iter().find_map(|path| fs::read_to_string(path).ok()).ok_or_else(|| {
            Refusal::new(
                "the scheduler's features cannot be read (/sys/kernel/debug/sched/features)",
                "mount -t debugfs debugfs /sys/kernel/debug",
            )
        })?;
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

/// Ticks a second, from the jiffies that went by in so many ns.
pub fn hz(jiffies: u64, ns: u64) -> u32 {
    let measured = jiffies as f64 * 1e9 / ns.max(1) as f64;
    let near = |&hz: &u32| (f64::from(hz).ln() - measured.max(1.0).ln()).abs();
    [100_u32, 250, 300, 1000].into_iter().min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(250)
}
