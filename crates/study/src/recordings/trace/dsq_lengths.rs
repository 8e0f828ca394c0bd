//! How many tasks are on each dispatch queue of sched_ext that is no CPU's own, by the steps of tasks.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use wakelab_events::sim::{ScxDsq, ScxStep};
use wakelab_perfetto::Counter;

/// The lengths of queues.
#[derive(Debug, Default)]
pub(super) struct DsqLengths {
    /// By task: the queue that it is on.
    on: FxHashMap<i32, Counter>,
    lengths: FxHashMap<Counter, i64>,
}

impl DsqLengths {
    /// Takes a step of a task. Returns the queues whose lengths change, and the lengths: a task leaves its queue with
    /// whatever happens to it next.
    pub fn after(&mut self, pid: i32, step: ScxStep, dsq: Option<ScxDsq>) -> SmallVec<[(Counter, i64); 2]> {
        let joins = match dsq.filter(|_| step == ScxStep::Queued) {
            Some(ScxDsq::User(id)) => Some(Counter::Dsq(id)),
            Some(ScxDsq::Global(node)) => Some(Counter::GlobalDsq(node)),
            Some(ScxDsq::Local(_)) | None => None,
        };
        let leaves = match joins {
            Some(queue) => self.on.insert(pid, queue),
            None => self.on.remove(&pid),
        };
        let mut changes = SmallVec::new();
        for (queue, by) in leaves.map(|queue| (queue, -1)).into_iter().chain(joins.map(|queue| (queue, 1))) {
            let length = self.lengths.entry(queue).or_default();
            *length += by;
            changes.push((queue, *length));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_join_and_leave() {
        let mut lengths = DsqLengths::default();
        let user = Some(ScxDsq::User(7));
        let queue = Counter::Dsq(7);
        assert_eq!(lengths.after(1, ScxStep::Queued, user)[..], [(queue, 1)]);
        assert_eq!(lengths.after(2, ScxStep::Queued, user)[..], [(queue, 2)]);
        assert!(lengths.after(3, ScxStep::Queued, Some(ScxDsq::Local(1))).is_empty());
        assert_eq!(lengths.after(1, ScxStep::Taken, user)[..], [(queue, 1)]);
        assert!(lengths.after(1, ScxStep::Picked, None).is_empty());
        let global = Some(ScxDsq::Global(0));
        assert_eq!(lengths.after(2, ScxStep::Queued, global)[..], [(queue, 0), (Counter::GlobalDsq(0), 1)]);
        assert_eq!(lengths.after(2, ScxStep::Picked, None)[..], [(Counter::GlobalDsq(0), 0)]);
    }
}
