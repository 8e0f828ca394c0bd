//! `freq-invariance-sequential-tasks-i7-2600k`: short sequential processes under each governor, as a ratio to the time
//! of the same script pinned to one CPU under the performance governor.

use super::{Published, PublishedTable, Recipe, Row, WorstOver};
use crate::compare::PublishedError;
use crate::reproduce::{Quantity, TurbostatColumn};

/// The kernel of the posting is 5.3-rc8.
const KERNEL: &str = "v5.3";
pub(super) const MACHINE: &str = "i7-2600k";
pub(super) const PERFORMANCE: &str = "governor=performance";

/// Starts per second. The posting gives the worst ratio "over a range of task rates", and not the range. Above 800 per
/// second a task does nothing but what a process costs.
const RATES: [u64; 8] = [10, 20, 40, 80, 160, 320, 400, 800];

/// The rate where the posting does not say at which rate it measured: the one that costs most.
pub(super) const WORST_RATE: u64 = 800;

pub(super) struct SequentialTasks;

impl PublishedTable for SequentialTasks {
    fn name(&self) -> &'static str {
        "freq-invariance-sequential-tasks-i7-2600k"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["intel_pstate_mode", "governor", "worst_time_over_reference", "busy_mhz"]
    }

    /// Returns the ratio, and the frequency if there is one.
    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        let side = governor(row.text_or_empty("intel_pstate_mode"), row.text("governor")?);
        let with = |side: &str| if side == PERFORMANCE { "governor=powersave" } else { PERFORMANCE };
        let recipe = match side.as_deref() {
            Ok("pinned") => Ok(pinned()),
            Ok(side) => Ok(recipe(MACHINE, "sequential-tasks:any", side, with(side))),
            Err(why) => Err(why.clone()),
        };
        let published = row.published(recipe.map(|recipe| (recipe, WORST_RATE)));
        let ratio = Published {
            quantity: Quantity::WorstRatio,
            values: Some([Some(row.above_0("worst_time_over_reference")?), None]),
            over: Some(WorstOver { reference: pinned(), loads: &RATES }),
            ..published.clone()
        };
        let frequency = row.number("busy_mhz")?.map(|mhz| Published {
            quantity: Quantity::Turbostat(TurbostatColumn::BzyMhz),
            values: Some([Some(mhz), None]),
            ..published
        });
        Ok([ratio].into_iter().chain(frequency).collect())
    }
}

pub(super) fn recipe(machine: &str, workload: &str, base: &str, with: &str) -> Recipe {
    Recipe {
        machine: machine.to_owned(),
        kernel: KERNEL.to_owned(),
        base: base.to_owned(),
        with: Some(with.to_owned()),
        workload: workload.to_owned(),
        pinned: None,
        params: Vec::new(),
        observer_cost_ns: 0,
    }
}

/// The script pinned to a CPU under the performance governor.
pub(super) fn pinned() -> Recipe {
    recipe(MACHINE, "sequential-tasks:pinned", PERFORMANCE, "governor=powersave")
}

/// The switches for the governor of a row; `pinned` for the reference.
fn governor(mode: &str, governor: &str) -> Result<String, String> {
    let name = governor.split(' ').next().unwrap_or_default();
    let side = match (mode, name) {
        ("reference", _) => return Ok("pinned".to_owned()),
        ("active", "powersave" | "performance") => format!("governor=intel_pstate:{name}"),
        ("active", _) => return Err(format!("intel_pstate in active mode has no governor {name}")),
        (_, "schedutil") => "governor=schedutil".to_owned(),
        (_, "performance" | "powersave" | "ondemand") => format!("governor={name}"),
        _ => return Err(format!("governor {governor} is not modelled")),
    };
    if name != "schedutil" {
        return Ok(side);
    }
    let form = governor.split_once('(').map_or("", |(_, form)| form.trim_end_matches(')'));
    match form.split(", ").collect::<Vec<_>>()[..] {
        ["not invariant"] => Ok(format!("{side},NO_FREQ_INVARIANCE")),
        ["invariant", highest @ ("4C" | "1C" | "base")] => Ok(format!("{side},FREQ_INVARIANCE,max_freq={highest}")),
        _ => Err(format!("governor {governor} is not modelled; expected (not invariant), or (invariant, 4C)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_are_switches_of_a_side_or_are_refused_by_name() {
        let of = |mode: &str, name: &str| governor(mode, name).unwrap_or_else(|why| format!("! {why}"));
        assert_eq!(of("reference", "performance, pinned to 1 CPU"), "pinned");
        assert_eq!(of("-", "performance"), "governor=performance");
        assert_eq!(of("passive", "ondemand"), "governor=ondemand");
        assert_eq!(of("active", "powersave"), "governor=intel_pstate:powersave");
        assert_eq!(of("passive", "schedutil (not invariant)"), "governor=schedutil,NO_FREQ_INVARIANCE");
        assert_eq!(of("passive", "schedutil (invariant, 1C)"), "governor=schedutil,FREQ_INVARIANCE,max_freq=1C");
        assert!(of("passive", "schedutil (invariant, 2C)").starts_with("! governor schedutil (invariant, 2C)"));
        assert!(of("active", "ondemand").starts_with("! intel_pstate in active mode"));
        assert!(of("passive", "conservative").starts_with("! governor conservative"));
    }
}
