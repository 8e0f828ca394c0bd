//! How sure a comparison is: `--control` and `--sensitivity`.

use super::simulate::{ResultFormat, SimulationFlags};
use crate::output::tell;
use crate::progress::RunBar;
use clap::ValueEnum;
use clap::builder::TypedValueParser;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use wakelab_report::compare as report;
use wakelab_study::compare::{Block, Comparison, Control, control};
use wakelab_study::experiment::Spec;
use wakelab_study::runs::Runner;
use wakelab_study::sensitivity::{BUDGET_MAX, Method, Plan, Running, Sensitivity, sensitivity};
use wakelab_study::verdict::Certainty;

/// The flags that ask how sure a result is.
#[derive(Debug, clap::Args)]
pub struct TrustFlags {
    /// Also run the base side against itself.
    ///
    /// With other seeds: one example of what chance alone does (not in CSV).
    #[arg(long, conflicts_with = "events")]
    control: bool,
    /// Also vary all assumed constants.
    ///
    /// Compares again with every assumed constant varied within its range, and shows for each row whether its
    /// conclusion holds or what it depends on (not in CSV): latin-hypercube, all at once, or one-at-a-time.
    /// `wakelab docs trust` explains how.
    #[arg(long, value_name = "METHOD", num_args = 0..=1, default_missing_value = "latin-hypercube",
          hide_possible_values = true, conflicts_with = "events")]
    sensitivity: Option<SensitivityMethod>,
    /// Use N samples; 32 if left out.
    ///
    /// A greater budget runs only the samples that are new.
    #[arg(long, value_name = "N", requires = "sensitivity", value_parser = budgets())]
    budget: Option<u32>,
    /// Use N sets of a fitted machine; 0 for none.
    ///
    /// The default is all. A machine that `wakelab fit` wrote has the sets of constants that fit its measurements, and
    /// the comparison is made with each (not in CSV).
    #[arg(long, value_name = "N", conflicts_with_all = ["sensitivity", "events"], hide_short_help = true)]
    ensemble: Option<u32>,
}

/// How constants are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SensitivityMethod {
    /// All at once.
    LatinHypercube,
    /// Each alone, at both ends of its range.
    OneAtATime,
}

/// Numbers of samples.
fn budgets() -> impl TypedValueParser<Value = u32> {
    clap::value_parser!(u32).range(1..=BUDGET_MAX as i64)
}

/// The results of the flags that were given.
#[derive(Debug, Default)]
pub struct TrustResults {
    control: Option<Control>,
    sensitivity: Option<Sensitivity>,
}

/// The first flag that asks how sure a result is.
pub fn asked_for(flags: &SimulationFlags) -> Option<&'static str> {
    let TrustFlags { control, sensitivity, ensemble, .. } = &flags.trust;
    match (control, sensitivity, ensemble) {
        (true, ..) => Some("--control"),
        (_, Some(_), _) => Some("--sensitivity"),
        (.., Some(1..)) => Some("--ensemble"),
        _ => None,
    }
}

/// Fails if the output format has no room for the results.
pub fn check(flags: &SimulationFlags) -> anyhow::Result<()> {
    let Some(flag) = asked_for(flags) else { return Ok(()) };
    anyhow::ensure!(
        has_room(flags),
        "--format: {flag} prints no CSV; leave --format out, or give --format lkml or json"
    );
    Ok(())
}

/// Whether the format shows more than the comparison.
fn has_room(flags: &SimulationFlags) -> bool {
    !matches!(flags.format, ResultFormat::Csv)
}

/// Plans the samples that were asked for, or those of a fitted machine.
pub fn plan(spec: &Spec, block: &Block, flags: &SimulationFlags) -> anyhow::Result<Option<Plan>> {
    let trust = &flags.trust;
    let method = match trust.sensitivity {
        None => {
            let fitted = block.machine.ensemble.is_some();
            if trust.ensemble.is_some_and(|most| most > 0) && !fitted {
                anyhow::bail!(
                    "--ensemble: machine {} was not fitted\n  hint: `wakelab fit` writes a machine with an ensemble",
                    block.machine.name
                );
            }
            if !fitted || trust.ensemble == Some(0) || !has_room(flags) || flags.events.is_some() {
                return Ok(None);
            }
            let most = trust.ensemble.map(|most| most as usize);
            return Ok(Some(Plan::new(spec, block, Method::Ensemble, most)?));
        }
        Some(SensitivityMethod::LatinHypercube) => Method::LatinHypercube,
        Some(SensitivityMethod::OneAtATime) => Method::OneAtATime,
    };
    let budget = trust.budget.map(|budget| budget as usize);
    Ok(Some(Plan::new(spec, block, method, budget)?))
}

/// Makes the runs that were asked for.
pub fn run_trust(
    runner: &dyn Runner,
    block: &Block,
    found: &Comparison,
    flags: &SimulationFlags,
    plan: Option<&Plan>,
    stop: &AtomicBool,
) -> Result<TrustResults, String> {
    let jobs = flags.jobs.jobs();
    let mut trust = TrustResults::default();
    // An interrupted comparison is printed as it is.
    if !found.complete {
        return Ok(trust);
    }
    let bar = RunBar::new();
    if flags.trust.control {
        let control = control(runner, block, found, jobs, &bar, stop).map_err(|failed| failed.to_string());
        bar.finish();
        trust.control = Some(control?);
    }
    if let Some(plan) = plan {
        let bar = RunBar::new();
        let sensitivity = sensitivity(plan, found, Running { runner, jobs, progress: &bar, stop });
        bar.finish();
        trust.sensitivity = Some(sensitivity.map_err(|failed| failed.to_string())?);
    }
    Ok(trust)
}

impl TrustResults {
    /// Whether nothing was interrupted.
    pub fn complete(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.complete)
            && self.sensitivity.as_ref().is_none_or(|sensitivity| sensitivity.complete)
    }

    /// Prints to stderr what is missing.
    pub fn say_incomplete(&self) {
        if self.control.as_ref().is_some_and(|control| !control.complete) {
            tell("interrupted: the control lacks rows");
        }
        if let Some(found) = self.sensitivity.as_ref().filter(|found| !found.complete) {
            tell(format_args!(
                "interrupted: {} of {} samples were run; run the same command again to continue",
                found.samples.len(),
                found.asked
            ));
        }
    }

    /// What was run.
    pub fn certainty(&self) -> Certainty<'_> {
        Certainty { control: self.control.as_ref(), sensitivity: self.sensitivity.as_ref() }
    }

    /// The tables that follow the result.
    pub fn text(&self, comparison: &Comparison) -> String {
        let control = self.control.as_ref().map(|control| report::control(comparison, control));
        let sensitivity = self.sensitivity.as_ref().map(report::sensitivity);
        control.into_iter().chain(sensitivity).collect()
    }

    /// Adds the results to those of the comparison.
    pub fn add_json(&self, mut result: Value) -> Value {
        if let Some(control) = &self.control {
            result["control"] = report::control_json(control);
        }
        if let Some(sensitivity) = &self.sensitivity {
            result["sensitivity"] = report::sensitivity_json(sensitivity);
        }
        result
    }
}
