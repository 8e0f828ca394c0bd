//! Experiments from flags, and from what a command chose itself.

use super::side::{self, BASE, NamedSide};
use super::{Given, Spec, SpecError, WorkloadSpec};
use std::collections::BTreeSet;

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
    /// `--with`, each; none if only the base is run.
    pub with: &'a [String],
}

impl Spec {
    /// Creates the experiment of `wakelab compare` with the defaults of everything that may be left out: three repeats,
    /// seed 1, and 1 s measured after 600 ms, or the times of the benchmark if they are longer. A file of rt-app has
    /// its own number of threads, and a load of 1 if none is given.
    ///
    /// # Errors
    /// Fails if a workload has no load, if there are more loads than workloads, if a name is none or comes twice, or if
    /// it is not said which kernel a side runs on.
    pub fn of_flags(flags: &Flags<'_>) -> Result<Self, SpecError> {
        let given = |flag, values: &[String]| -> Vec<Given<String>> {
            values.iter().map(|value| Given::by_flag(flag, value.clone())).collect()
        };
        let machines = given("--machine", flags.machines);
        if machines.is_empty() {
            return Err(none("--machine", "such as test-8c"));
        }
        let workloads = workloads(flags.workloads, flags.loads)?;
        if workloads.is_empty() {
            return Err(none("--workload", "such as netperf:TCP_RR"));
        }
        let base = side::of_flag("--base", flags.base, |_| BASE);
        let variants: Vec<NamedSide> = flags.with.iter().map(|text| side::of_flag("--with", text, unnamed)).collect();
        let kernels = kernels(given("--kernel", flags.kernels), &base, &variants)?;
        let mut spec = Spec::with_defaults("compare".to_owned(), (machines, kernels), workloads, (base, variants));
        spec.take_long_enough();
        spec.no_name_twice()?;
        Ok(spec)
    }

    /// Creates an experiment of two sides from flags, as [`Spec::of_flags`] does.
    ///
    /// # Errors
    /// Fails as [`Spec::of_flags`] does.
    pub fn of_two_sides(
        machine: &str,
        kernel: &str,
        workload: &str,
        load: Option<&str>,
        base: &str,
        with: &str,
    ) -> Result<Self, SpecError> {
        let flag = |flag, value: &str| Given::by_flag(flag, value.to_owned());
        let workload = WorkloadSpec::of_flags(workload, load)?;
        let names = (vec![flag("--machine", machine)], vec![flag("--kernel", kernel)]);
        let sides = (NamedSide::base(flag("--base", base)), vec![NamedSide::with(flag("--with", with))]);
        let mut spec = Spec::with_defaults("compare".to_owned(), names, vec![workload], sides);
        spec.take_long_enough();
        Ok(spec)
    }

    /// Creates an experiment on one machine and one kernel from what a command chose itself. Workloads are given with
    /// their loads.
    ///
    /// # Errors
    /// Fails if a workload has no load, or if two variants have one name.
    pub fn of_sides(
        name: &str,
        [machine, kernel]: [Given<String>; 2],
        workloads: &[(String, String)],
        base: Given<String>,
        variants: Vec<NamedSide>,
    ) -> Result<Self, SpecError> {
        let workload = |(name, load): &(String, String)| WorkloadSpec::of_flags(name, Some(load));
        let workloads = workloads.iter().map(workload).collect::<Result<_, _>>()?;
        let (names, sides) = ((vec![machine], vec![kernel]), (NamedSide::base(base), variants));
        let spec = Spec::with_defaults(name.to_owned(), names, workloads, sides);
        spec.no_name_twice()?;
        Ok(spec)
    }

    /// Whether two variants, or a variant and the base, have one name.
    fn no_name_twice(&self) -> Result<(), SpecError> {
        let mut seen = BTreeSet::from([self.base.name.as_str()]);
        match self.variants.iter().find(|variant| !seen.insert(&variant.name)) {
            None => Ok(()),
            Some(variant) => Err(variant
                .given()
                .error(format!("two sides have the name {}", variant.name))
                .with_hint("give each side a name of its own, as in --with fast=SIS_UTIL")),
        }
    }
}

/// What a variant without a name is called.
fn unnamed(switches: &str) -> &str {
    if switches.is_empty() { "with" } else { switches }
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
    base: &NamedSide,
    variants: &[NamedSide],
) -> Result<Vec<Given<String>>, SpecError> {
    let all_name_theirs = std::iter::once(base).chain(variants).all(|side| side.kernel().is_some());
    match (given.first(), base.kernel()) {
        (Some(kernel), Some(_)) if all_name_theirs => {
            Err(kernel.error("every side names a kernel of its own, so no side would run on this one"))
        }
        (Some(_), _) => Ok(given),
        (None, Some(kernel)) if all_name_theirs => {
            Ok(vec![Given { value: kernel.to_owned(), place: base.given().place.clone() }])
        }
        (None, _) => Err(Given::by_flag("--kernel", ())
            .error("is required for sides that name none themselves; expected one such as v6.12")
            .with_hint("a side names its own with kernel=v6.12 among its switches")),
    }
}
