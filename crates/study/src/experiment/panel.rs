//! Panels: the machines, kernels and loads on which `wakelab score` judges a candidate.

use super::file::{missing, number, one_or_more, read_text, text, time, workloads};
use super::{Given, NamedSide, REPEATS_MAX, Spec, SpecError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wakelab_input::{Document, Table};
use wakelab_scx_fetch::Schedulers;

/// The highest weight of a part.
const WEIGHT_MAX: u64 = 1000;
/// The greatest loss at which a candidate can be given up, %.
const GIVE_UP_MAX: u64 = 99;

/// How long and how often a rung simulates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RungSpec {
    /// The measured time, ns.
    pub time_ns: Given<u64>,
    /// The simulated time before measuring begins, ns.
    pub settle_ns: Given<u64>,
    /// The runs of each case on each side.
    pub repeats: Given<u32>,
}

/// Machines, kernels and workloads that count alike.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelPart {
    /// What is compared with a candidate.
    spec: Spec,
    /// How much each of its rows counts, 0 to 1000.
    pub weight: u32,
    /// Whether it is held out: it judges candidates that were found on the others.
    pub held_out: bool,
}

/// A panel, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its name: `name` of the file, else its stem.
    pub name: String,
    /// The switches of the base, on top of each kernel's features; may be empty.
    pub base: String,
    /// The seed from which those of all runs are derived.
    pub seed: u64,
    /// The loss in % from which a candidate is given up after the fast rung; `None` if none is.
    pub give_up_pct: Option<u32>,
    /// The fast rung.
    pub fast: RungSpec,
    /// The full rung.
    pub full: RungSpec,
    /// The parts, one or more.
    pub parts: Vec<PanelPart>,
}

impl Panel {
    /// Reads a panel file; see docs/score.md. Its paths begin at its own folder.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is no TOML, lacks a key or has an unknown one, or if a value is out of
    /// range.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let text = read_text(path, "a panel is a TOML file, or a name from `wakelab list panels`")?;
        Panel::parse(path, &text)
    }

    /// Reads the text of a panel file at `path`.
    ///
    /// # Errors
    /// Fails if the text is no TOML, lacks a key or has an unknown one, or if a value is out of range.
    pub fn parse(path: &Path, toml: &str) -> Result<Self, SpecError> {
        let document = Document::parse(path, toml)?;
        let top = document.root(&["name", "base", "seed", "give_up_pct", "fast", "full", "part"])?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = text(&top, "name")?.map(|name| name.value).or(stem).unwrap_or_default();
        let base = text(&top, "base")?.unwrap_or_else(|| Given::by_default("base", String::new()));
        let seed = number(&top, "seed", &(0..=i64::MAX as u64))?.map_or(1, |seed| seed.value);
        let give_up = number(&top, "give_up_pct", &(0..=GIVE_UP_MAX))?;
        let tables = top.tables(
            "part",
            &["machine", "machines", "kernel", "kernels", "workload", "pinned", "weight", "held_out"],
        )?;
        if tables.is_empty() {
            return Err(missing(&top, "part", "[[part]] with a machine, a kernel and its workloads"));
        }
        let part = |table: &Table<'_>| part(table, path, (&name, &base));
        Ok(Panel {
            base: base.value.clone(),
            seed,
            give_up_pct: give_up.map(|pct| pct.value as u32),
            fast: rung(&top, "fast", (20_000_000, 60_000_000, 1))?,
            full: rung(&top, "full", (100_000_000, 100_000_000, 3))?,
            parts: tables.iter().map(part).collect::<Result<_, SpecError>>()?,
            name,
        })
    }

    /// Takes schedulers of sched_ext that the base and candidates name from there.
    pub fn set_schedulers(&mut self, schedulers: &Schedulers) {
        self.parts.iter_mut().for_each(|part| part.spec.schedulers = schedulers.clone());
    }

    /// The files that the parts name, as far as they exist.
    pub fn files(&self) -> Vec<PathBuf> {
        let all: BTreeSet<PathBuf> = self.parts.iter().flat_map(|part| part.spec.files()).collect();
        all.into_iter().collect()
    }
}

impl PanelPart {
    /// The experiment of a candidate, which `--with` has given, on a rung.
    pub fn spec(&self, candidate: &str, rung: &RungSpec, seed: u64) -> Spec {
        let variants = vec![NamedSide::with(Given::by_flag("--with", candidate.to_owned()))];
        let RungSpec { time_ns, settle_ns, repeats } = rung.clone();
        Spec { variants, time_ns, settle_ns, repeats, seed, ..self.spec.clone() }
    }
}

fn part(table: &Table<'_>, path: &Path, (name, base): (&str, &Given<String>)) -> Result<PanelPart, SpecError> {
    let example = "\"intel-1s56c112t\"";
    let machines =
        one_or_more(table, "machine", "machines", example)?.ok_or_else(|| missing(table, "machine", example))?;
    let example = "\"v6.12\"";
    let kernels = one_or_more(table, "kernel", "kernels", example)?.ok_or_else(|| missing(table, "kernel", example))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let workloads = workloads(table, &folder)?;
    let sides = (NamedSide::base(base.clone()), Vec::new());
    let mut spec = Spec::with_defaults(name.to_owned(), (machines, kernels), workloads, sides);
    spec.pinned = text(table, "pinned")?;
    spec.folder = folder;
    Ok(PanelPart {
        spec,
        weight: number(table, "weight", &(0..=WEIGHT_MAX))?.map_or(1, |weight| weight.value as u32),
        held_out: table.flag("held_out")?.unwrap_or(false),
    })
}

fn rung(top: &Table<'_>, name: &'static str, defaults: (u64, u64, u32)) -> Result<RungSpec, SpecError> {
    let mut rung = RungSpec {
        time_ns: Given::by_default("time", defaults.0),
        settle_ns: Given::by_default("settle", defaults.1),
        repeats: Given::by_default("repeats", defaults.2),
    };
    let Some(table) = top.table(name, &["time", "settle", "repeats"])? else { return Ok(rung) };
    if let Some(ns) = time(&table, "time", 1)? {
        rung.time_ns = ns;
    }
    if let Some(ns) = time(&table, "settle", 0)? {
        rung.settle_ns = ns;
    }
    if let Some(Given { value, place }) = number(&table, "repeats", &(1..=u64::from(REPEATS_MAX)))? {
        rung.repeats = Given { value: value as u32, place };
    }
    Ok(rung)
}
