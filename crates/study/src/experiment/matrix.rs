//! Experiments of any number of sides: machines, kernels and variants, each against the base.

use super::side::{self, SideText};
use super::{Catalogue, Given, Place, Remembering, Shipped, Spec, SpecError, WorkloadSpec};
use crate::compare::{Experiment, Matrix};
use std::collections::BTreeSet;
use std::path::PathBuf;
use wakelab_input::printable;
use wakelab_kernel::Preset;

/// A side with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSide {
    /// The name; the switches themselves if none was given.
    pub name: String,
    /// The switches: `A,NO_B`, or empty; `kernel=v6.12` among them is a kernel of its own.
    pub switches: Given<String>,
}

/// An experiment of any number of sides, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixSpec {
    /// The settings that all comparisons share. Its machine, kernel and sides are the first of each.
    pub common: Spec,
    /// The machines, one or more.
    pub machines: Vec<Given<String>>,
    /// The kernels, one or more: of the sides that name none themselves.
    pub kernels: Vec<Given<String>>,
    /// The name of the base.
    pub base_name: String,
    /// The variants that are compared with the base, one or more.
    pub variants: Vec<NamedSide>,
}

/// The flags of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Flags<'a> {
    /// `--machine`, each.
    pub machines: &'a [String],
    /// `--kernel`, each; none if all sides name theirs.
    pub kernels: &'a [String],
    /// `--workload`, each.
    pub workloads: &'a [String],
    /// `--load`: none, one for all workloads, or one for each.
    pub loads: &'a [String],
    /// `--base`.
    pub base: &'a str,
    /// `--with`, each.
    pub with: &'a [String],
}

/// The name of the base in files.
pub(super) const BASE: &str = "base";

impl MatrixSpec {
    /// Creates the experiment of `wakelab compare`, with the defaults of [`Spec::of_flags`].
    ///
    /// # Errors
    /// Fails if a workload has no load, if there are more loads than workloads, if a name is none or comes twice, or if
    /// it is not said which kernel a side runs on.
    pub fn of_flags(flags: &Flags<'_>) -> Result<Self, SpecError> {
        let given = |flag, values: &[String]| -> Vec<Given<String>> {
            values.iter().map(|value| Given::by_flag(flag, value.clone())).collect()
        };
        let machines = given("--machine", flags.machines);
        let machine = machines.first().cloned().ok_or_else(|| none("--machine", "such as test-8c"))?;
        let workloads = workloads(flags.workloads, flags.loads)?;
        if workloads.is_empty() {
            return Err(none("--workload", "such as netperf:TCP_RR"));
        }
        let (base_name, base) = side::named(flags.base);
        let base = Given::by_flag("--base", base.to_owned());
        let variant = |text: &String| {
            let (name, switches) = side::named(text);
            let unnamed = if switches.is_empty() { "with" } else { switches };
            let name = name.unwrap_or(unnamed).to_owned();
            NamedSide { name, switches: Given::by_flag("--with", switches.to_owned()) }
        };
        let variants: Vec<NamedSide> = flags.with.iter().map(variant).collect();
        let with = variants.first().ok_or_else(|| none("--with", "such as SIS_UTIL"))?.switches.clone();
        let kernels = kernels(given("--kernel", flags.kernels), &base, &variants)?;
        let names = (machine, kernels[0].clone());
        let mut common = Spec::with_defaults("compare".to_owned(), names, workloads, (base, with));
        common.take_long_enough();
        let base_name = base_name.unwrap_or(BASE).to_owned();
        let all = MatrixSpec { common, machines, kernels, base_name, variants };
        all.no_name_twice()?;
        Ok(all)
    }

    /// Creates an experiment on one machine and one kernel from what a command chose itself. Workloads are given with
    /// their loads.
    ///
    /// # Errors
    /// Fails if there is no variant, or if two have one name.
    pub fn of_sides(
        name: &str,
        [machine, kernel]: [Given<String>; 2],
        workloads: &[(String, String)],
        base: Given<String>,
        variants: Vec<NamedSide>,
    ) -> Result<Self, SpecError> {
        let workload = |(name, load): &(String, String)| WorkloadSpec::of_flags(name, Some(load));
        let workloads = workloads.iter().map(workload).collect::<Result<_, _>>()?;
        let with = variants.first().ok_or_else(|| none("--with", "such as SIS_UTIL"))?.switches.clone();
        let common = Spec::with_defaults(name.to_owned(), (machine.clone(), kernel.clone()), workloads, (base, with));
        let (machines, kernels, base_name) = (vec![machine], vec![kernel], BASE.to_owned());
        let all = MatrixSpec { common, machines, kernels, base_name, variants };
        all.no_name_twice()?;
        Ok(all)
    }

    /// The two sides, if there are no more: one machine, one kernel for each side, and one variant beside the base.
    pub fn two_sides(&self) -> Option<&Spec> {
        let one = self.machines.len() == 1 && self.kernels.len() == 1 && self.variants.len() == 1;
        one.then_some(&self.common)
    }

    /// Whether two variants, or a variant and the base, have one name.
    fn no_name_twice(&self) -> Result<(), SpecError> {
        let mut seen = BTreeSet::from([self.base_name.as_str()]);
        match self.variants.iter().find(|variant| !seen.insert(&variant.name)) {
            None => Ok(()),
            Some(NamedSide { name, switches }) => Err(switches
                .error(format!("two sides have the name {name}"))
                .with_hint("give each side a name of its own, as in --with fast=SIS_UTIL")),
        }
    }

    /// The two-sided experiments: for each machine and each kernel, one for each variant.
    fn cells(&self) -> impl Iterator<Item = Spec> {
        self.machines.iter().flat_map(move |machine| {
            self.kernels.iter().flat_map(move |kernel| {
                self.variants.iter().map(move |variant| Spec {
                    machine: machine.clone(),
                    kernel: kernel.clone(),
                    with: variant.switches.clone(),
                    ..self.common.clone()
                })
            })
        })
    }

    /// Returns the experiments with the machines and workloads that come with the program or are in files.
    ///
    /// # Errors
    /// Fails as [`MatrixSpec::resolve_from`] does.
    pub fn resolve(&self) -> Result<Matrix, SpecError> {
        self.resolve_from(&Shipped)
    }

    /// Returns the experiments with machines and workloads from `catalogue`.
    ///
    /// # Errors
    /// Fails if one of them cannot be simulated, as [`Spec::resolve_from`] does, if a machine or a kernel comes twice,
    /// or if there are published tables, which are of two sides.
    pub fn resolve_from(&self, catalogue: &dyn Catalogue) -> Result<Matrix, SpecError> {
        let published = self.common.results.as_ref().or(self.common.search.as_ref());
        if let Some(table) = published.filter(|_| self.two_sides().is_none()) {
            let what = "a published table compares two sides, and there are more here";
            return Err(table
                .error(what)
                .with_hint("leave [published] out, or compare one machine, kernel and variant"));
        }
        let mut experiments: Vec<Experiment> = Vec::new();
        let (mut warnings, mut places): (Vec<String>, BTreeSet<(String, &str)>) = Default::default();
        let catalogue = Remembering::new(catalogue);
        for (at, cell) in self.cells().enumerate() {
            let variant = &self.variants[at % self.variants.len()];
            let experiment = cell.resolve_from(&catalogue).map_err(|error| self.located(error, &cell, variant))?;
            if at % self.variants.len() == 0
                && !places.insert((experiment.machine.name.clone(), experiment.kernel.name))
            {
                return Err(self.twice(&cell, &experiment));
            }
            for warning in &experiment.warnings {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            experiments.push(experiment);
        }
        let named: Vec<String> = self.variants.iter().map(|variant| variant.name.clone()).collect();
        Ok(Matrix { base: self.base_name.clone(), variants: named, experiments, warnings })
    }

    /// An error with the machine, the kernel or the variant that it is about, if its place does not tell which.
    fn located(&self, mut error: SpecError, cell: &Spec, variant: &NamedSide) -> SpecError {
        let is_flag = |flag| error.place == Place::Flag(flag);
        let of_variant = self.variants.len() > 1 && is_flag("--with") && variant.name != variant.switches.value;
        if of_variant {
            error.what = format!("{}: {}", variant.name, error.what);
        }
        let (one, more) = (&cell.machine, self.machines.len() > 1);
        if more && error.place != one.place || more && is_flag("--machine") && !error.what.contains(&one.value) {
            error.what = format!("{} (on machine {})", error.what, printable(&one.value));
        }
        if self.kernels.len() > 1 && error.place != cell.kernel.place && error.place == variant.switches.place {
            error.what = format!("{} (with kernel {})", error.what, printable(&cell.kernel.value));
        }
        error
    }

    /// The error that a machine or a kernel is there twice.
    fn twice(&self, cell: &Spec, experiment: &Experiment) -> SpecError {
        let kernel = experiment.kernel.name;
        let same = |other: &&Given<String>| Preset::get(&other.value).is_ok_and(|preset| preset.name == kernel);
        if self.kernels.iter().filter(same).count() > 1 {
            return cell.kernel.error(format!("kernel {kernel} is given twice")).with_hint("give each kernel once");
        }
        let what = format!("machine {} is given twice", experiment.machine.name);
        cell.machine.error(what).with_hint("give each machine once; two files need a `name` of their own")
    }

    /// The files that the experiment names, as far as they exist.
    pub fn files(&self) -> Vec<PathBuf> {
        let of_machine = |machine: &Given<String>| Spec { machine: machine.clone(), ..self.common.clone() }.files();
        let all: BTreeSet<PathBuf> = self.machines.iter().flat_map(of_machine).collect();
        all.into_iter().collect()
    }
}

/// The error that a flag is given nowhere.
fn none(flag: &'static str, example: &str) -> SpecError {
    Given::by_flag(flag, ()).error(format!("nothing is compared without it; expected a value {example}"))
}

/// The workloads of flags, each with its load.
fn workloads(names: &[String], loads: &[String]) -> Result<Vec<WorkloadSpec>, SpecError> {
    if loads.len() > 1 && loads.len() != names.len() {
        let what =
            format!("given {} times for {} workloads; expected once, or once for each", loads.len(), names.len());
        return Err(Given::by_flag("--load", ()).error(what).with_hint("they are taken in the order of --workload"));
    }
    let load = |at: usize| loads.get(if loads.len() == 1 { 0 } else { at }).map(String::as_str);
    names.iter().enumerate().map(|(at, name)| WorkloadSpec::of_flags(name, load(at))).collect()
}

/// The kernels of a comparison: those that were given, or that of the base if all sides name theirs.
///
/// # Errors
/// Fails if a side has no kernel, or if kernels are given that no side runs on.
pub(super) fn kernels(
    given: Vec<Given<String>>,
    base: &Given<String>,
    variants: &[NamedSide],
) -> Result<Vec<Given<String>>, SpecError> {
    // What is wrong with a side is told when it is looked up.
    let own = |side: &Given<String>| SideText::parse(&side.value).ok().and_then(|text| text.kernel);
    let unnamed = std::iter::once(base).chain(variants.iter().map(|variant| &variant.switches));
    let unnamed: Vec<_> = unnamed.filter(|side| own(side).is_none()).collect();
    match (given.first(), own(base)) {
        (Some(kernel), Some(_)) if unnamed.is_empty() => {
            Err(kernel.error("every side names a kernel of its own, so no side would run on this one"))
        }
        (Some(_), _) => Ok(given),
        (None, Some(kernel)) if unnamed.is_empty() => Ok(vec![Given { value: kernel, place: base.place.clone() }]),
        (None, _) => Err(Given::by_flag("--kernel", ())
            .error("is required for sides that name none themselves; expected one such as v6.12")
            .with_hint("a side names its own with kernel=v6.12 among its switches")),
    }
}
