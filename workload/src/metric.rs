//! What a run can be measured by.

use crate::near::did_you_mean;

/// The metrics that are computed of a run. `throughput`: transactions (`done`) a second of the measured time. [`TIME`].
pub const METRICS: &[&str] = &["throughput", TIME];

/// The metric `time`: from the first `begin` of a transaction that is done to the exit of the last task, in seconds. The
/// run goes on until then.
pub const TIME: &str = "time";

/// What is wrong with a metric that is not computed, and what to do about it.
pub(crate) fn refuse(metric: &str) -> Option<(String, Option<String>)> {
    if METRICS.contains(&metric) {
        return None;
    }
    let what = format!("no metric {metric:?} is computed of a run; expected {}", METRICS.join(", "));
    let hint = did_you_mean(metric, METRICS.iter().copied());
    Some((what, hint.or_else(|| Some("\"done\" in a program counts one more; unit says of what".to_owned()))))
}
