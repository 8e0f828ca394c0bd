//! How sure a comparison is: `--control` and `--sensitivity`.

use crate::args::{How, ResultFormat, SensitivityMethod, Trust};
use crate::progress::RunBar;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use wakelab_report::compare as report;
use wakelab_study::compare::{Comparison, Control, Experiment, Runner, control};
use wakelab_study::experiment::Spec;
use wakelab_study::sensitivity::{Method, Plan, Running, Sensitivity, sensitivity};

/// What was found; of what was not asked for, nothing.
#[derive(Debug, Default)]
pub struct Found {
    control: Option<Control>,
    sensitivity: Option<Sensitivity>,
}

/// The forms that have room for it.
pub fn check(how: &How) -> anyhow::Result<()> {
    let Trust { control, sensitivity, .. } = &how.trust;
    let flag = match (control, sensitivity) {
        (true, _) => "--control",
        (false, Some(_)) => "--sensitivity",
        (false, None) => return Ok(()),
    };
    anyhow::ensure!(
        matches!(how.format, ResultFormat::Table | ResultFormat::Json),
        "--format: {flag} prints a table or JSON; leave --format out, or give --format json"
    );
    Ok(())
}

/// The samples, if they are asked for.
pub fn plan(spec: &Spec, experiment: &Experiment, trust: &Trust) -> anyhow::Result<Option<Plan>> {
    let method = match trust.sensitivity {
        None => return Ok(None),
        Some(SensitivityMethod::LatinHypercube) => Method::LatinHypercube,
        Some(SensitivityMethod::OneAtATime) => Method::OneAtATime,
    };
    let budget = trust.budget.map(|budget| budget as usize);
    Ok(Some(Plan::new(spec, experiment, method, budget)?))
}

/// Runs what is asked for.
pub fn run(
    runner: &dyn Runner,
    experiment: &Experiment,
    found: &Comparison,
    how: &How,
    plan: Option<&Plan>,
    stop: &AtomicBool,
) -> Result<Found, String> {
    let jobs = how.jobs();
    let mut trust = Found::default();
    // What was interrupted is printed as it is.
    if !found.complete {
        return Ok(trust);
    }
    let bar = RunBar::new();
    if how.trust.control {
        let control = control(runner, experiment, found, jobs, &bar, stop).map_err(|failed| failed.to_string());
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

impl Found {
    /// Whether nothing was interrupted.
    pub fn complete(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.complete)
            && self.sensitivity.as_ref().is_none_or(|sensitivity| sensitivity.complete)
    }

    /// Says on stderr what is missing.
    pub fn say_incomplete(&self) {
        if self.control.as_ref().is_some_and(|control| !control.complete) {
            eprintln!("interrupted: the control lacks rows");
        }
        if let Some(found) = self.sensitivity.as_ref().filter(|found| !found.complete) {
            eprintln!(
                "interrupted: {} of {} samples were run; the same command goes on",
                found.samples.len(),
                found.asked
            );
        }
    }

    /// What follows the tables.
    pub fn text(&self, comparison: &Comparison) -> String {
        let control = self.control.as_ref().map(|control| report::control(comparison, control));
        let sensitivity = self.sensitivity.as_ref().map(report::sensitivity);
        control.into_iter().chain(sensitivity).collect()
    }

    /// The result with what was found.
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
