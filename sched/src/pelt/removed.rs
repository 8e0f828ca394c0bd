//! Load of tasks that left while asleep.

/// The averages to be taken off a run queue at its next update (`cfs_rq->removed`, 7.3).
///
/// Who migrates a sleeping task does not hold the lock of the run queue it leaves, so what it takes along is only
/// noted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Removed {
    /// Tasks that left since the last update.
    pub nr: u32,
    /// Sum of their `load_avg`.
    pub load_avg: u64,
    /// Sum of their `util_avg`.
    pub util_avg: u64,
    /// Sum of their `runnable_avg`.
    pub runnable_avg: u64,
}
