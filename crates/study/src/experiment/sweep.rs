//! Sweep files: the space of runs that `wakelab sweep` makes.

use super::file::{missing, number, one_or_more, read_text, text, time, workloads};
use super::{Given, NamedSide, Place, REPEATS_MAX, Spec, SpecError};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use wakelab_input::{Document, Table, Value};
use wakelab_scx_fetch::Schedulers;

/// The highest number of points that can be drawn.
const SAMPLES_MAX: u64 = 10_000_000;
/// The highest number of runs in a part.
const RUNS_PER_PART_MAX: u64 = 10_000;
/// The number of runs in a part if the file gives none.
const RUNS_PER_PART: u64 = 32;
/// The highest number of values of an axis.
const VALUES_MAX: u64 = 10_000_000;

/// A value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisValue {
    /// A whole number.
    Whole(i64),
    /// A finite number.
    Number(f64),
    /// A word, such as the name of a governor.
    Word(String),
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisValue::Whole(value) => value.fmt(f),
            AxisValue::Number(value) => value.fmt(f),
            AxisValue::Word(value) => value.fmt(f),
        }
    }
}

/// The values of a tunable.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    Listed(Vec<AxisValue>),
    Range { from: u64, step: u64, count: u64 },
}

/// A tunable that takes several values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The name of the tunable, which is also that of a column.
    pub name: String,
    values: Values,
    place: Place,
}

impl Axis {
    /// The number of values, 1 or more.
    pub fn count(&self) -> u64 {
        match &self.values {
            Values::Listed(values) => values.len() as u64,
            Values::Range { count, .. } => *count,
        }
    }

    /// The values, if they are a list; those of a range are whole numbers.
    pub fn listed(&self) -> Option<&[AxisValue]> {
        match &self.values {
            Values::Listed(values) => Some(values),
            Values::Range { .. } => None,
        }
    }

    /// A value by its number, from 0 to `count() - 1`.
    pub fn value(&self, at: u64) -> AxisValue {
        match &self.values {
            Values::Listed(values) => values[at as usize].clone(),
            Values::Range { from, step, .. } => AxisValue::Whole((from + at * step) as i64),
        }
    }

    /// The numbers of values that stand for all when a sweep is checked: each of a list, and both ends of a range.
    pub(crate) fn checked(&self) -> Vec<u64> {
        match &self.values {
            Values::Listed(values) => (0..values.len() as u64).collect(),
            Values::Range { count, .. } => BTreeSet::from([0, count - 1]).into_iter().collect(),
        }
    }
}

/// Machines, kernels, workloads, sides and tunables, of which every combination is a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The settings that all points share: workloads, times, repeats, the seed.
    common: Spec,
    /// The machines, one or more.
    pub machines: Vec<Given<String>>,
    /// The kernels, one or more.
    pub kernels: Vec<Given<String>>,
    /// The switches on top of each kernel's features, one or more; may be empty.
    pub sides: Vec<Given<String>>,
    /// The tunables, in the order of the file; may be none.
    pub axes: Vec<Axis>,
}

impl Grid {
    /// The experiment of one combination, of one side. `values` has a number for each axis; with none, the side is
    /// taken without them.
    pub(crate) fn spec(&self, machine: usize, kernel: usize, side: usize, values: &[u64]) -> Spec {
        let mut base = self.sides[side].clone();
        for (axis, &at) in self.axes.iter().zip(values) {
            let separator = if base.value.is_empty() { "" } else { "," };
            base.value = format!("{}{separator}{}={}", base.value, axis.name, axis.value(at));
            // The side alone has been found right before.
            base.place = axis.place.clone();
        }
        Spec {
            machines: vec![self.machines[machine].clone()],
            kernels: vec![self.kernels[kernel].clone()],
            base: NamedSide::base(base),
            ..self.common.clone()
        }
    }

    /// The number of combinations of kernels, sides and values on a machine; `None` if it has more than 64 bits.
    pub(crate) fn combinations(&self) -> Option<u64> {
        let counts = [self.kernels.len() as u64, self.sides.len() as u64].into_iter();
        counts.chain(self.axes.iter().map(Axis::count)).try_fold(1u64, u64::checked_mul)
    }
}

/// A sweep, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepSpec {
    /// Its name: `name` of the file, else its stem.
    pub name: String,
    /// The seed from which those of the runs are derived, and by which points are drawn.
    pub seed: u64,
    /// The runs of a point.
    pub repeats: u32,
    /// How many points are drawn; `None` for all.
    pub samples: Option<Given<u64>>,
    /// The runs of a part, 1 to 10,000: what is written as one file, and what one task of a cluster makes.
    pub runs_per_part: u64,
    /// The grids, one or more.
    pub grids: Vec<Grid>,
    /// The text of the file.
    pub text: String,
    /// The file.
    pub(crate) place: Place,
}

impl SweepSpec {
    /// Reads a sweep file; see docs/sweep.md. Its paths begin at its own folder.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no TOML, lacks a key or has an unknown one, or if a value is out of
    /// range.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let text = read_text(path, "a sweep is a TOML file; `wakelab docs sweep` describes it")?;
        SweepSpec::parse(path, &text)
    }

    /// Reads the text of a sweep file at `path`.
    ///
    /// # Errors
    /// Fails if the text is no TOML, lacks a key or has an unknown one, or if a value is out of range.
    pub fn parse(path: &Path, toml: &str) -> Result<Self, SpecError> {
        let document = Document::parse(path, toml)?;
        let keys = ["name", "seed", "repeats", "time", "settle", "samples", "runs_per_part", "grid"];
        let top = document.root(&keys)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = text(&top, "name")?.map(|name| name.value).or(stem).unwrap_or_default();
        let seed = number(&top, "seed", &(0..=i64::MAX as u64))?.map_or(1, |seed| seed.value);
        let repeats = number(&top, "repeats", &(1..=u64::from(REPEATS_MAX)))?.map_or(1, |repeats| repeats.value);
        let samples = number(&top, "samples", &(1..=SAMPLES_MAX))?;
        let runs_per_part = number(&top, "runs_per_part", &(1..=RUNS_PER_PART_MAX))?;
        let times = (time(&top, "time", 1)?, time(&top, "settle", 0)?);
        let grid_keys = ["machine", "machines", "kernel", "kernels", "side", "sides", "workload", "pinned", "tunables"];
        let tables = top.tables("grid", &grid_keys)?;
        if tables.is_empty() {
            return Err(missing(&top, "grid", "[[grid]] with a machine, a kernel and its workloads"));
        }
        let grid = |table: &Table<'_>| {
            let mut grid = grid(table, path, &name)?;
            let common = &mut grid.common;
            if times == (None, None) {
                common.take_long_enough();
            }
            common.time_ns = times.0.clone().unwrap_or_else(|| common.time_ns.clone());
            common.settle_ns = times.1.clone().unwrap_or_else(|| common.settle_ns.clone());
            common.repeats = Given::by_default("repeats", repeats as u32);
            common.seed = seed;
            Ok(grid)
        };
        let grids: Vec<Grid> = tables.iter().map(grid).collect::<Result<_, SpecError>>()?;
        Ok(SweepSpec {
            name,
            seed,
            repeats: repeats as u32,
            samples,
            runs_per_part: runs_per_part.map_or(RUNS_PER_PART, |runs| runs.value),
            grids,
            text: toml.to_owned(),
            place: Place::File { path: path.to_owned(), line: None, key: None },
        })
    }

    /// Takes schedulers of sched_ext that sides name from there.
    pub fn set_schedulers(&mut self, schedulers: &Schedulers) {
        self.grids.iter_mut().for_each(|grid| grid.common.schedulers = schedulers.clone());
    }

    /// The absolute paths that the grids name. What has only the sweep's folder lacks them.
    pub fn absolute_paths(&self) -> Vec<&str> {
        let names = self.grids.iter().flat_map(|grid| {
            let workloads = grid.common.workloads.iter().map(|workload| &workload.name.value);
            grid.machines.iter().map(|machine| &machine.value).chain(workloads)
        });
        names.map(String::as_str).filter(|name| Path::new(name).is_absolute()).collect()
    }

    /// The files that the grids name, as far as they exist.
    pub fn files(&self) -> Vec<PathBuf> {
        let of_grid = |grid: &Grid| -> Vec<PathBuf> {
            (0..grid.machines.len()).flat_map(|machine| grid.spec(machine, 0, 0, &[]).files()).collect()
        };
        let all: BTreeSet<PathBuf> = self.grids.iter().flat_map(of_grid).collect();
        all.into_iter().collect()
    }
}

fn grid(table: &Table<'_>, path: &Path, name: &str) -> Result<Grid, SpecError> {
    let example = "\"intel-1s56c112t\"";
    let machines =
        one_or_more(table, "machine", "machines", example)?.ok_or_else(|| missing(table, "machine", example))?;
    let example = "\"v6.12\"";
    let kernels = one_or_more(table, "kernel", "kernels", example)?.ok_or_else(|| missing(table, "kernel", example))?;
    let sides = one_or_more(table, "side", "sides", "\"NO_SIS_UTIL\"")?;
    let sides = sides.unwrap_or_else(|| vec![Given::by_default("side", String::new())]);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let workloads = workloads(table, &folder)?;
    let (names, base) = ((machines.clone(), kernels.clone()), NamedSide::base(sides[0].clone()));
    let mut common = Spec::with_defaults(name.to_owned(), names, workloads, (base, Vec::new()));
    common.pinned = text(table, "pinned")?;
    common.folder = folder;
    let axes = match table.map("tunables", "a table such as { migration_cost = [0, 500000] }")? {
        Some(tunables) => axes(&tunables)?,
        None => Vec::new(),
    };
    Ok(Grid { common, machines, kernels, sides, axes })
}

fn axes(tunables: &Table<'_>) -> Result<Vec<Axis>, SpecError> {
    let mut entries: Vec<(usize, &str)> = tunables.entries().map(|(name, value)| (value.span().start, name)).collect();
    entries.sort_unstable();
    let axis = |(_, name): (usize, &str)| {
        let place = SpecError::from(tunables.wrong(name, "")).place;
        Ok::<_, SpecError>(Axis { name: name.to_owned(), values: values(tunables, name)?, place })
    };
    entries.into_iter().map(axis).collect()
}

fn values(tunables: &Table<'_>, name: &str) -> Result<Values, SpecError> {
    let expected = "a list of values such as [0, 500000], or a range such as { from = 0, to = 500000, step = 100000 }";
    if tunables.get(name).is_some_and(|value| value.get_ref().as_table().is_some()) {
        let range = tunables.need_table(name, &["from", "to", "step"])?;
        let limits = 0..=i64::MAX as u64;
        let [from, to] = [range.need_number("from", &limits)?, range.need_number("to", &limits)?];
        let step = range.number("step", &(1..=i64::MAX as u64))?.unwrap_or(1);
        if to < from {
            return Err(range
                .wrong("to", format!("expected {from} or more, where the range begins, found {to}"))
                .into());
        }
        let count = (to - from) / step + 1;
        if count > VALUES_MAX {
            let what = format!("{count} values; expected {VALUES_MAX} or fewer");
            return Err(SpecError::from(range.wrong("to", what)).with_hint("give a larger `step`"));
        }
        return Ok(Values::Range { from, step, count });
    }
    let read = |value: &Value<'_>| {
        let inner = value.get_ref();
        let whole = inner.as_integer().and_then(|n| i64::from_str_radix(n.as_str(), n.radix()).ok());
        let whole = whole.map(AxisValue::Whole);
        let number = || inner.as_float().and_then(|number| number.as_str().parse::<f64>().ok());
        let number = || number().filter(|number| number.is_finite()).map(AxisValue::Number);
        let word = || inner.as_str().filter(|word| !word.contains(',')).map(|word| AxisValue::Word(word.to_owned()));
        let found = whole.or_else(number).or_else(word);
        found.ok_or_else(|| tunables.unexpected_at(name, value, "a finite number, or a word without a comma"))
    };
    let listed = tunables.elements(name, expected)?.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = listed.iter().find(|value| !seen.insert(value.to_string())) {
        return Err(tunables.wrong(name, format!("{twice} is given twice; expected each value once")).into());
    }
    Ok(Values::Listed(listed))
}
