//! How noisy the machine is: what others use of it, and what its hypervisor takes.

use crate::sys::Usage;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;

/// The noise while something was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The load average of a minute before it began; `None` if `/proc/loadavg` cannot be read.
    pub load_average: Option<f64>,
    /// The share of the CPUs that other processes, and the kernel beside this one, used, %; `None` if `/proc/stat` does
    /// not say.
    pub others_pct: Option<f64>,
    /// The share of the CPUs' time that the hypervisor took, %; `None` if `/proc/stat` does not say.
    pub steal_pct: Option<f64>,
    /// How long it took, s.
    pub seconds: f64,
}

/// Before something is measured.
#[derive(Debug)]
pub(crate) struct Before {
    load_average: Option<f64>,
    ticks: Option<Ticks>,
    /// CPU time of this process and its children, s.
    own: f64,
    began: std::time::Instant,
}

impl Before {
    /// Takes note of it.
    pub(crate) fn now() -> Self {
        let load_average = fs::read_to_string("/proc/loadavg").ok().and_then(|text| first_number(&text));
        Before { load_average, ticks: stat(), own: own(), began: std::time::Instant::now() }
    }

    /// The noise since then.
    pub(crate) fn noise(&self) -> Noise {
        let seconds = self.began.elapsed().as_secs_f64();
        let both = self.ticks.zip(stat());
        let steal_pct = both.and_then(|(before, after)| before.steal_pct(after));
        let others_pct = both.and_then(|(before, after)| before.others_pct(after, (own() - self.own) / seconds));
        Noise { load_average: self.load_average, others_pct, steal_pct, seconds }
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
        let others = self.others_pct.map_or("unknown".to_owned(), |pct| format!("{pct:.0}%"));
        format!("{load} before; others used {others} of the CPUs, steal time {steal}, in {:.0} s", self.seconds)
    }
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn own() -> f64 {
    Usage::now().map_or(0.0, |usage| usage.cpu_s)
}

fn stat() -> Option<Ticks> {
    cpu_ticks(&fs::read_to_string("/proc/stat").ok()?)
}

/// Ticks of all CPUs since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    steal: u64,
    idle: u64,
    all: u64,
    cpus: u64,
}

/// `guest` is in `user` already, and `iowait` is idle time.
fn cpu_ticks(stat: &str) -> Option<Ticks> {
    let line = stat.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().skip(1).take(8).map_while(|number| number.parse().ok()).collect();
    let steal = *ticks.get(7)?;
    let cpus = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu ")).count() as u64;
    Some(Ticks { steal, idle: ticks[3] + ticks[4], all: ticks.iter().sum(), cpus })
}

impl Ticks {
    fn share(self, after: Self, of: fn(Self) -> u64) -> Option<f64> {
        let passed = after.all.checked_sub(self.all).filter(|&passed| passed > 0)?;
        Some(of(after).saturating_sub(of(self)) as f64 / passed as f64)
    }

    fn steal_pct(self, after: Self) -> Option<f64> {
        self.share(after, |ticks| ticks.steal).map(|share| 100.0 * share)
    }

    /// What is neither idle, nor stolen, nor used by `own` CPUs.
    fn others_pct(self, after: Self, own: f64) -> Option<f64> {
        let rest = self.share(after, |ticks| ticks.idle + ticks.steal)?;
        Some((100.0 * (1.0 - rest - own / after.cpus.max(1) as f64)).max(0.0))
    }
}

/// The release of the kernel that runs: `6.18.44`.
pub fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// `CONFIG_HZ` of the running kernel, where its configuration can be read: `/proc/config.gz` or `/boot/config-*`.
pub fn config_hz() -> Option<u32> {
    let own = fs::File::open("/proc/config.gz").ok().and_then(|file| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(file).take(MOST_CONFIG_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    });
    let text = own.or_else(|| fs::read_to_string(format!("/boot/config-{}", release())).ok())?;
    hz_of_config(&text)
}

/// The configuration of a distribution's kernel has some 300 KiB.
const MOST_CONFIG_BYTES: u64 = 16 << 20;

fn hz_of_config(text: &str) -> Option<u32> {
    let value = text.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?;
    value.trim().parse().ok().filter(|hz| (24..=10_000).contains(hz))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_that_of_the_configuration() {
        let text = "# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n";
        assert_eq!(hz_of_config(text), Some(250));
        assert_eq!(hz_of_config("CONFIG_HZ_250=y\n"), None);
        assert_eq!(hz_of_config("CONFIG_HZ=0\n"), None);
    }

    #[test]
    fn steal_time_is_the_eighth_number_and_others_use_what_is_left() {
        let stat = "cpu  10 20 30 40 50 60 70 80 900 900\ncpu0 1 2 3\ncpu1 1 2 3\n";
        let before = Ticks { steal: 80, idle: 90, all: 360, cpus: 2 };
        assert_eq!(cpu_ticks(stat), Some(before));
        assert_eq!(cpu_ticks("cpu  1 2 3\n"), None, "Linux before 2.6.11");
        assert_eq!(cpu_ticks("intr 1\n"), None);
        let after = Ticks { steal: 90, idle: 140, all: 460, cpus: 2 };
        assert_eq!(before.steal_pct(after).map(f64::round), Some(10.0));
        assert_eq!(before.steal_pct(before), None);
        // 40% of the time was neither idle nor stolen; half a CPU of two is 25%.
        assert_eq!(before.others_pct(after, 0.5).map(f64::round), Some(15.0));
        assert_eq!(before.others_pct(after, 2.0), Some(0.0), "both are rounded to ticks");
    }

    #[test]
    fn what_is_unknown_is_said() {
        let noise = Noise { load_average: None, others_pct: None, steal_pct: None, seconds: 2.0 };
        let text = "an unknown load average before; others used unknown of the CPUs, steal time unknown, in 2 s";
        assert_eq!(noise.text(), text);
        let noise = Noise { load_average: Some(0.5), others_pct: Some(3.0), steal_pct: Some(0.25), seconds: 61.4 };
        assert_eq!(noise.text(), "load average 0.5 before; others used 3% of the CPUs, steal time 0.2%, in 61 s");
    }

    #[test]
    fn the_load_average_is_the_first_number() {
        assert_eq!(first_number("1.52 1.37 1.53 2/300 1234\n"), Some(1.52));
        assert_eq!(first_number(""), None);
    }
}
