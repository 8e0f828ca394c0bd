//! `HZ` of the kernel. No file with its value exists on every kernel, so it is measured.

use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// The possible values of CONFIG_HZ.
const HZ: [u32; 4] = [100, 250, 300, 1000];

/// Measures `HZ` by counting jiffies.
///
/// # Errors
/// Fails if /proc/timer_list cannot be read.
pub fn measure() -> Result<u32> {
    let sample = || -> Result<(u64, Instant)> {
        let text = std::fs::read_to_string("/proc/timer_list").context("/proc/timer_list cannot be read")?;
        Ok((jiffies(&text).context("/proc/timer_list has no jiffies")?, Instant::now()))
    };
    let (before, start) = sample()?;
    std::thread::sleep(Duration::from_millis(200));
    let (after, end) = sample()?;
    Ok(nearest(after.wrapping_sub(before), end - start))
}

fn jiffies(text: &str) -> Option<u64> {
    let numbers = text.lines().filter_map(|line| line.trim().strip_prefix("jiffies:")?.trim().parse().ok());
    numbers.max()
}

fn nearest(jiffies: u64, took: Duration) -> u32 {
    let measured = (jiffies as f64 / took.as_secs_f64()).max(1.0);
    let far = |&hz: &u32| (f64::from(hz) / measured).ln().abs();
    HZ.into_iter().min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(250)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_configuration_is_taken() {
        let second = Duration::from_secs(1);
        assert_eq!([97, 240, 305, 900, 0].map(|jiffies| nearest(jiffies, second)), [100, 250, 300, 1000, 100]);
        assert_eq!(jiffies("cpu: 0\n  jiffies: 4294937296\ncpu: 1\n  jiffies: 4294937297\n"), Some(4_294_937_297));
    }
}
