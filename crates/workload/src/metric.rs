//! The metrics by which a run can be measured.

use wakelab_input::did_you_mean;

/// The metrics that can be computed for a run. `throughput`: transactions (`done`) a second of the measured time.
/// [`TIME`]. Latencies of transactions, rates of seconds, frames, and periods of threads with a timer.
pub const METRICS: &[&str] = &[
    "throughput",
    TIME,
    LATENCY_50PCT,
    LATENCY_90PCT,
    LATENCY_99PCT,
    LATENCY_99_9PCT,
    LATENCY_MAX,
    LATENCY_MEAN,
    RATE_20PCT,
    RATE_50PCT,
    RATE_90PCT,
    RATE_MAX,
    FRAME_MEAN,
    FRAME_MAX,
    MISSED_16MS,
    MISSED_PERIODS,
    SLACK_MEAN,
];

/// The metric `latency_50pct`: the median of the time that transactions took, in us.
pub const LATENCY_50PCT: &str = "latency_50pct";

/// The metric `latency_90pct`: the 90th percentile of the time that transactions took, in us.
pub const LATENCY_90PCT: &str = "latency_90pct";

/// The metric `latency_99pct`: the 99th percentile.
pub const LATENCY_99PCT: &str = "latency_99pct";

/// The metric `latency_99.9pct`: the 99.9th percentile.
pub const LATENCY_99_9PCT: &str = "latency_99.9pct";

/// The metric `latency_max`: the longest.
pub const LATENCY_MAX: &str = "latency_max";

/// The metric `rate_20pct`: the 20th percentile of the transactions of each second of the measured time. A run of less
/// than a second has one such number, its throughput.
pub const RATE_20PCT: &str = "rate_20pct";

/// The metric `rate_50pct`: the median of them.
pub const RATE_50PCT: &str = "rate_50pct";

/// The metric `rate_90pct`: the 90th percentile.
pub const RATE_90PCT: &str = "rate_90pct";

/// The metric `rate_max`: the most.
pub const RATE_MAX: &str = "rate_max";

/// The metric `latency_mean`: the mean of the time that transactions took, in us. A sequence of transactions takes a
/// time in proportion to it, so the ratio of two means is the ratio of the times.
pub const LATENCY_MEAN: &str = "latency_mean";

/// The metric `frame_mean`: the same in ms, of frames and of other long transactions.
pub const FRAME_MEAN: &str = "frame_mean";

/// The metric `frame_max`: the longest frame, in ms.
pub const FRAME_MAX: &str = "frame_max";

/// The metric `missed_16ms`: how many of the frames took longer than 16 ms, in per cent (Jankbench's jank).
pub const MISSED_16MS: &str = "missed_16ms";

/// The metric `missed_periods`: how many of the periods of threads that wait for a periodic timer were late, their work
/// not done before the next period began, in per cent (rt-app's negative slack).
pub const MISSED_PERIODS: &str = "missed_periods";

/// The metric `slack_mean`: how long before the next period begins such threads are done, as the mean of all periods,
/// in us; the negative slack of missed periods counts too (`slack` in rt-app's log). More is better.
pub const SLACK_MEAN: &str = "slack_mean";

/// The metric `time`: from the first `begin` of a transaction that is done to the exit of the last task, in seconds.
/// The run goes on until then.
pub const TIME: &str = "time";

/// The unit of a metric in which less is better, if it is one.
pub(crate) fn unit_of_less(metric: &str) -> Option<&'static str> {
    match metric {
        TIME => Some("s"),
        LATENCY_50PCT | LATENCY_90PCT | LATENCY_99PCT | LATENCY_99_9PCT | LATENCY_MAX | LATENCY_MEAN => Some("us"),
        FRAME_MEAN | FRAME_MAX => Some("ms"),
        MISSED_16MS | MISSED_PERIODS => Some("%"),
        _ => None,
    }
}

/// Returns what is wrong with a metric that is not computed, and what to do about it. Returns `None` for one that is.
pub(crate) fn refuse(metric: &str) -> Option<(String, String)> {
    if METRICS.contains(&metric) {
        return None;
    }
    let what = format!("unknown metric {metric:?}; expected {}", METRICS.join(", "));
    let hint = did_you_mean(metric, METRICS.iter().copied());
    let hint =
        hint.unwrap_or_else(|| "\"done\" in a program counts one more transaction, whose unit is `unit`".to_owned());
    Some((what, hint))
}
