//! The constants of a machine from microbenchmarks on it.
//!
//! Each microbenchmark has a twin: the same calls as a workload program, simulated on the machine. The constants are
//! those with which the twins take the measured times. [`EQUATIONS`] says which microbenchmark gives which constant.

mod derive;
mod equations;
mod solve;
mod twin;

pub use derive::{Check, Constant, Derivation, Derived, WorkOf, derive};
pub use equations::{EQUATIONS, Equation, IDLE_FIRST};
pub use solve::{Found, solve};
pub use twin::{Calls, Twin};

use wakelab_kernel::{Hz, Preset};

/// The preset that stands for a kernel, with the machine's own tick.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// The preset.
    pub kernel: Preset,
    /// Whether it is of the same version.
    pub exact: bool,
}

impl StandIn {
    /// The preset of the same version as a release (`6.18.44-cloud`), or the newest that is not newer. Without such a
    /// one, the oldest.
    pub fn of_release(release: &str) -> Self {
        if let Ok(preset) = Preset::of_release(release) {
            return StandIn { kernel: preset.clone(), exact: true };
        }
        let running = version(release).unwrap_or((u32::MAX, u32::MAX));
        // Presets of candidates and of other trees have more behind their version.
        let plain = Preset::all().iter().filter(|preset| !preset.name.contains('-'));
        let mut versions: Vec<((u32, u32), &Preset)> =
            plain.filter_map(|preset| Some((version(preset.name.strip_prefix('v')?)?, *preset))).collect();
        versions.sort_by_key(|(version, _)| *version);
        let stands = versions.iter().rev().find(|(version, _)| *version <= running).or(versions.first());
        StandIn { kernel: stands.expect("there are presets of versions").1.clone(), exact: false }
    }

    /// The preset, with so many ticks a second.
    #[must_use]
    pub fn with_hz(mut self, hz: u32) -> Self {
        if hz != self.kernel.hz.value {
            self.kernel.hz =
                Hz { value: hz, source: "CONFIG_HZ of the machine, or the ticks that were measured there" };
        }
        self
    }
}

/// The major and minor number.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_a_preset_is_stood_for_by_the_one_before_it() {
        let of = |release| {
            let stands = StandIn::of_release(release);
            (stands.kernel.name, stands.exact)
        };
        assert_eq!(of("6.12.107+deb13-cloud-amd64"), ("v6.12", true));
        assert_eq!(of("6.18.44-fc-v669"), ("v6.18", true));
        assert_eq!(of("6.8.0-45-generic"), ("v6.8", true));
        assert_eq!(of("6.14.0-37-generic"), ("v6.12", false));
        assert_eq!(of("5.17.0"), ("v5.15", false));
        assert_eq!(of("4.19.1"), ("v5.2", false));
        assert!(!of("unknown").1);
    }

    #[test]
    fn the_tick_is_the_machines() {
        let stands = StandIn::of_release("6.12").with_hz(100);
        assert_eq!(
            (stands.kernel.hz.value, stands.kernel.hz.source),
            (100, "CONFIG_HZ of the machine, or the ticks that were measured there")
        );
    }
}
