//! How noisy the machine is: what others use of it, and what its hypervisor takes.

use serde::{Deserialize, Serialize};
use std::fs;

/// The noise while something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The load average of a minute before it began; `None` if `/proc/loadavg` cannot be read.
    pub load_average: Option<f64>,
    /// What the hypervisor took of the CPUs' time, %; `None` if `/proc/stat` does not say.
    pub steal_pct: Option<f64>,
    /// How long it took, s.
    pub seconds: f64,
}

/// Before something is measured.
#[derive(Debug)]
pub(crate) struct Before {
    load_average: Option<f64>,
    ticks: Option<[u64; 2]>,
    began: std::time::Instant,
}

impl Before {
    /// Takes note of it.
    pub(crate) fn now() -> Self {
        let load_average = fs::read_to_string("/proc/loadavg").ok().and_then(|text| first_number(&text));
        Before { load_average, ticks: stat(), began: std::time::Instant::now() }
    }

    /// The noise since then.
    pub(crate) fn noise(&self) -> Noise {
        let steal_pct = self.ticks.zip(stat()).and_then(|(before, after)| steal_pct(before, after));
        Noise { load_average: self.load_average, steal_pct, seconds: self.began.elapsed().as_secs_f64() }
    }
}

impl Noise {
    /// Takes note of the noise from now on, and returns what ends that.
    pub fn begin() -> impl FnOnce() -> Noise {
        let before = Before::now();
        move || before.noise()
    }

    /// A line of it.
    pub fn text(&self) -> String {
        let load =
            self.load_average.map_or("an unknown load average".to_owned(), |load| format!("load average {load}"));
        let steal = self.steal_pct.map_or("unknown".to_owned(), |pct| format!("{pct:.1}%"));
        format!("{load} before, steal time {steal} in {:.0} s", self.seconds)
    }
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn stat() -> Option<[u64; 2]> {
    cpu_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// Of all CPUs: stolen ticks, and all. `guest` is in `user` already.
fn cpu_ticks(stat: &str) -> Option<[u64; 2]> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map_while(|number| number.parse().ok()).collect();
    let steal = *ticks.get(7)?;
    Some([steal, ticks.iter().sum()])
}

fn steal_pct([steal, all]: [u64; 2], [steal_after, all_after]: [u64; 2]) -> Option<f64> {
    let passed = all_after.checked_sub(all).filter(|&passed| passed > 0)?;
    Some(100.0 * steal_after.saturating_sub(steal) as f64 / passed as f64)
}

/// The release of the kernel that runs: `6.18.44`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_time_is_the_eighth_number() {
        let stat = "cpu  10 20 30 40 50 60 70 80 900 900\ncpu0 1 2 3\n";
        assert_eq!(cpu_ticks(stat), Some([80, 360]));
        assert_eq!(cpu_ticks("cpu  1 2 3\n"), None, "Linux before 2.6.11");
        assert_eq!(cpu_ticks("intr 1\n"), None);
        assert_eq!(steal_pct([80, 360], [90, 460]), Some(10.0));
        assert_eq!(steal_pct([80, 360], [80, 360]), None);
    }

    #[test]
    fn what_is_unknown_is_said() {
        let noise = Noise { load_average: None, steal_pct: None, seconds: 2.0 };
        assert_eq!(noise.text(), "an unknown load average before, steal time unknown in 2 s");
        let noise = Noise { load_average: Some(0.5), steal_pct: Some(0.25), seconds: 61.4 };
        assert_eq!(noise.text(), "load average 0.5 before, steal time 0.2% in 61 s");
    }

    #[test]
    fn the_load_average_is_the_first_number() {
        assert_eq!(first_number("1.52 1.37 1.53 2/300 1234\n"), Some(1.52));
        assert_eq!(first_number(""), None);
    }
}
