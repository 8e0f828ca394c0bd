//! A decision made at once, on a state that does not change meanwhile.

use super::decision::Decision;
use super::step::{Cx, Select, Stage};
use super::wake_affine::AffineDetail;
use super::{Effects, Observer, Rules, View, Wakeup};
use crate::cpumask::Cpu;

/// `select_task_rq_fair()`: where the wakee is put.
#[inline]
pub fn select_task_rq_fair<V: View, O: Observer>(
    select: &mut Select,
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    view: &V,
    observer: &mut O,
) -> Decision {
    match select.start(rules, wakeup, observer) {
        Some(decision) => decision,
        None => select.run(Cx { rules, wakeup, view }, observer),
    }
}

/// `select_idle_sibling()`: the search around `target`, without what comes before it.
#[inline]
pub fn select_idle_sibling<V: View, O: Observer>(
    select: &mut Select,
    rules: &Rules<'_>,
    wakeup: &Wakeup<'_>,
    target: Cpu,
    view: &V,
    observer: &mut O,
) -> Decision {
    select.target = target;
    select.affine = AffineDetail::NOT_ASKED;
    select.prev_far = None;
    select.recent_far = None;
    select.effects = Effects::default();
    select.begin_search();
    select.run(Cx { rules, wakeup, view }, observer)
}

impl Select {
    /// Makes all steps that are left.
    ///
    /// Where nobody listens to single looks and the view keeps its idle CPUs as a mask, the walk for an idle CPU takes
    /// whole words of it; the decision and its counts are the same.
    #[inline]
    pub fn run<V: View, O: Observer>(&mut self, cx: Cx<'_, V>, observer: &mut O) -> Decision {
        loop {
            if !O::LOOKS
                && let Stage::Scan(cpu) = self.stage
                && let Some(idle) = cx.view.idle_mask()
            {
                let end = self.scan.leap(cpu, cx, self.target, idle, &mut self.count);
                if let Some(decision) = self.scan_goes_on(end, cx, observer) {
                    return decision;
                }
                continue;
            }
            if let Some(decision) = self.step(cx, observer) {
                return decision;
            }
        }
    }
}
