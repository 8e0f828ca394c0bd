//! A decision made at once, on a state that does not change meanwhile.

use super::decision::Decision;
use super::step::{Cx, Select, Stage};
use super::wake_affine::AffineDetail;
use super::{Effects, Observer, View};
use crate::cpumask::Cpu;

/// `select_task_rq_fair()`: where the wakee is put.
#[inline]
pub fn select_task_rq_fair<V: View, O: Observer>(select: &mut Select, cx: Cx<'_, V>, observer: &mut O) -> Decision {
    match select.begin(cx.rules, cx.wakeup, observer) {
        Some(chosen) => select.decision(chosen),
        None => select.run(cx, observer),
    }
}

/// `select_idle_sibling()`: the search around `target`, without what comes before it.
#[inline]
pub fn select_idle_sibling<V: View, O: Observer>(
    select: &mut Select,
    cx: Cx<'_, V>,
    target: Cpu,
    observer: &mut O,
) -> Decision {
    select.enter(target);
    select.run(cx, observer)
}

/// `select_idle_cpu()` alone: the walk over the LLC of `target`, where `has_idle_core` says for what. A walk that finds
/// nothing ends at the target.
#[inline]
pub fn select_idle_cpu<V: View, O: Observer>(
    select: &mut Select,
    cx: Cx<'_, V>,
    has_idle_core: bool,
    target: Cpu,
    observer: &mut O,
) -> Decision {
    select.enter(target);
    match select.begin_walk(has_idle_core, cx, observer) {
        Some(chosen) => select.decision(chosen),
        None => select.run(cx, observer),
    }
}

impl Select {
    /// Forgets the last decision and stands at the door of select_idle_sibling().
    fn enter(&mut self, target: Cpu) {
        self.target = target;
        self.affine = AffineDetail::NOT_ASKED;
        self.prev_far = None;
        self.recent_far = None;
        self.effects = Effects::default();
        self.begin_search();
    }

    /// Makes all steps that are left.
    ///
    /// Where nobody listens to single looks and the view keeps its idle CPUs as a mask, the walk over the LLC takes
    /// whole words of it; the decision and its counts are the same.
    #[inline]
    pub fn run<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Decision {
        loop {
            let chosen = if !O::LOOKS
                && let Stage::Scan(cpu) = self.stage
                && let Some(idle) = cx.view.idle_mask()
            {
                let end = self.scan.leap(cpu, cx, self.target, idle, &mut self.count);
                self.scan_goes_on(end, cx, observer)
            } else {
                self.look(cx, observer)
            };
            if let Some(chosen) = chosen {
                return self.decision(chosen);
            }
        }
    }
}
