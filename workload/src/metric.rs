//! What a run can be measured by.

use crate::near::did_you_mean;

/// The metrics that are computed of a run. `throughput`: transactions (`done`) a second of the measured time.
pub const METRICS: &[&str] = &["throughput"];

/// What is wrong with a metric that is not computed, and what to do about it.
pub(crate) fn refuse(metric: &str) -> Option<(String, Option<String>)> {
    if METRICS.contains(&metric) {
        return None;
    }
    let what = format!("no metric {metric:?} is computed of a run; expected {}", METRICS.join(", "));
    let hint = did_you_mean(metric, METRICS.iter().copied());
    Some((what, hint.or_else(|| Some("\"done\" in a program counts one more; unit says of what".to_owned()))))
}
