//! What `study`'s statistics ask of a metric. The statistics are compiled here from their file, as all of `study` would
//! bring the simulator along.

/// Which way a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}
