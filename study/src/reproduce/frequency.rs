//! The frequency-invariance tables: times over that of a reference, turbostat's columns, ratios of run times.

use super::form::{Published, Recipe, What};
use crate::compare::{PowerSummary, PublishedError};
use crate::published::{CsvRow, CsvTable};

/// The posting has 5.3-rc8.
const KERNEL: &str = "v5.3";
const MACHINE: &str = "i7-2600k";

/// Starts a second. The posting gives the worst ratio "over a range of task rates", and not the range; at more than 800 a second
/// what a process costs is all that a task does.
pub(super) const RATES: [u64; 8] = [10, 20, 40, 80, 160, 320, 400, 800];

/// Where the posting does not say at which rate it has measured: where it costs most.
const WORST_RATE: u64 = 800;

/// A worst ratio is of more than one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorstOver {
    /// What the metric is divided by, load by load.
    pub reference: Recipe,
    /// The loads.
    pub loads: &'static [u64],
}

/// A column of turbostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turbostat {
    /// `Busy%`.
    BusyPct,
    /// `Bzy_MHz`.
    BzyMhz,
    /// `IRQ`, of 60 s.
    Irq,
    /// `PkgWatt`.
    PkgWatt,
}

impl Turbostat {
    /// The column's name, and of what unit it is.
    pub fn name(self) -> &'static str {
        match self {
            Turbostat::BusyPct => "Busy%",
            Turbostat::BzyMhz => "Bzy_MHz",
            Turbostat::Irq => "IRQ in 60 s",
            Turbostat::PkgWatt => "PkgWatt",
        }
    }

    /// The simulated number; `None` where the machine does not say what it spends.
    pub(super) fn of(self, power: &PowerSummary) -> Option<f64> {
        match self {
            Turbostat::BusyPct => Some(power.busy_pct),
            Turbostat::BzyMhz => Some(power.bzy_mhz),
            Turbostat::Irq => Some(60.0 * power.irq_per_s),
            Turbostat::PkgWatt => power.total_mw.map(|mw| mw / 1e3),
        }
    }
}

fn recipe(machine: &str, workload: &str, base: &str, with: &str) -> Recipe {
    Recipe {
        machine: machine.to_owned(),
        kernel: KERNEL,
        base: base.to_owned(),
        with: with.to_owned(),
        workload: workload.to_owned(),
        params: Vec::new(),
        observer_cost_ns: 0,
    }
}

/// The script pinned to a CPU under the performance governor.
fn pinned() -> Recipe {
    recipe(MACHINE, "sequential-tasks:pinned", PERFORMANCE, "governor=powersave")
}

const PERFORMANCE: &str = "governor=performance";

/// `intel_pstate_mode,governor,worst_time_over_reference,power,busy_mhz`: a row for the ratio, and one for the frequency where there is one.
pub(super) fn sequential(table: &CsvTable, row: &CsvRow, all: Published) -> Result<Vec<Published>, PublishedError> {
    let side = governor(table.text(row, "intel_pstate_mode"), table.said(row, "governor")?);
    let with = |side: &str| if side == PERFORMANCE { "governor=powersave" } else { PERFORMANCE };
    let recipe = match side.as_deref() {
        Ok("pinned") => Ok(pinned()),
        Ok(side) => Ok(recipe(MACHINE, "sequential-tasks:any", side, with(side))),
        Err(why) => Err(why.clone()),
    };
    let ratio = Published {
        recipe: recipe.clone().map(|recipe| (recipe, WORST_RATE)),
        what: What::WorstRatio,
        beside: Some([Some(table.above_0(row, "worst_time_over_reference")?), None]),
        over: Some(WorstOver { reference: pinned(), loads: &RATES }),
        ..all.clone()
    };
    let column = |column: Turbostat, value: f64| Published {
        recipe: recipe.clone().map(|recipe| (recipe, WORST_RATE)),
        what: What::Turbostat(column),
        beside: Some([Some(value), None]),
        ..all.clone()
    };
    let mhz = table.number(row, "busy_mhz")?.map(|mhz| column(Turbostat::BzyMhz, mhz));
    Ok([ratio].into_iter().chain(mhz).collect())
}

/// The switches of a row's governor; `pinned` is the reference.
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

/// `placement,busy_pct,bzy_mhz,irq_per_60s,…,pkg_watt`: a row for each column.
pub(super) fn turbostat(table: &CsvTable, row: &CsvRow, all: Published) -> Result<Vec<Published>, PublishedError> {
    let recipe = match table.said(row, "placement")? {
        "pinned to one CPU" => Ok(pinned()),
        "scheduler decides" => Ok(recipe(MACHINE, "sequential-tasks:any", PERFORMANCE, "governor=powersave")),
        other => Err(format!("placement {other} is not known")),
    };
    let columns = [
        (Turbostat::BusyPct, "busy_pct"),
        (Turbostat::BzyMhz, "bzy_mhz"),
        (Turbostat::Irq, "irq_per_60s"),
        (Turbostat::PkgWatt, "pkg_watt"),
    ];
    let one = |(column, name): (Turbostat, &str)| {
        Ok(Published {
            recipe: recipe.clone().map(|recipe| (recipe, WORST_RATE)),
            what: What::Turbostat(column),
            beside: Some([Some(table.above_0(row, name)?), None]),
            ..all.clone()
        })
    };
    columns.into_iter().map(one).collect()
}

/// The published repeats of each placement as one, with their mean.
pub(super) fn means(rows: Vec<Published>) -> Vec<Published> {
    let placement =
        |row: &Published| row.cells.iter().find(|(name, _)| name == "placement").map(|(_, cell)| cell.clone());
    let mut all: Vec<(Published, f64, f64)> = Vec::new();
    for row in rows {
        let value = row.beside.and_then(|[base, _]| base).unwrap_or_default();
        match all.iter_mut().find(|(one, ..)| one.what == row.what && placement(one) == placement(&row)) {
            Some((_, sum, n)) => (*sum, *n) = (*sum + value, *n + 1.0),
            None => all.push((row, value, 1.0)),
        }
    }
    all.into_iter().map(|(row, sum, n)| Published { beside: Some([Some(sum / n), None]), ..row }).collect()
}

/// `machine,schedutil_4C_over_unpatched_time`.
pub(super) fn gitsource(table: &CsvTable, row: &CsvRow, all: Published) -> Result<Vec<Published>, PublishedError> {
    let ratio = table.above_0(row, "schedutil_4C_over_unpatched_time")?;
    let machine = match table.said(row, "machine")?.to_lowercase().as_str() {
        "i7-2600k" => Ok(MACHINE),
        "80x-broadwell-numa" => Ok("intel-broadwell-80c"),
        "48x-haswell-numa" => Ok("intel-haswell-48c"),
        "8x-skylake-uma" => Ok("intel-skylake-8c"),
        other => Err(format!("machine {other} is not described")),
    };
    let sides = ["governor=schedutil,NO_FREQ_INVARIANCE", "governor=schedutil,FREQ_INVARIANCE,max_freq=4C"];
    Ok(vec![Published {
        recipe: machine.map(|machine| (recipe(machine, "gitsource:suite", sides[0], sides[1]), 1)),
        // A time: less is better.
        compare_pct: Some(100.0 * (1.0 - ratio)),
        ..all
    }])
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
