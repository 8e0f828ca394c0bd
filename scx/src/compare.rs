//! The facts about a metric that the statistics of `study` need. Their file is compiled here by its path, because a
//! dependency on `study` would bring the simulator along.

/// Which direction of a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Larger values are better.
    Higher,
    /// Smaller values are better.
    Lower,
}
