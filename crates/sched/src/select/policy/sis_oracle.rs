//! SIS_ORACLE: perfect knowledge for a search.
//!
//! It replaces the whole of `select_idle_sibling()`: it takes an idle CPU of the target's LLC whenever there is one, at
//! no cost, and knows the wake-ups that are on their way and that no run queue shows yet. In this order: the previous
//! CPU, a CPU of an idle core, the nearest (the target's siblings, its cluster, the rest of the LLC from the target
//! on).
//!
//! It bounds what a search can find: no search from the same state takes an idle CPU if the oracle finds none. It does
//! not bound throughput: an idle CPU for each wake-up can keep a system in a state that costs more than one in which
//! none is found (docs/policies.md).
//!
//! It ignores whether the wakee fits a CPU on machines whose CPUs differ in capacity.

use super::about::{About, Recorded, Switch};
use crate::cpumask::Cpu;
use crate::select::decision::Reason;
use crate::select::select_idle_sibling::takes_sched_idle;
use crate::select::select_task_rq_fair::{Chosen, Cx, Select};
use crate::select::{Event, IdleView, Observer, PolicyView, SearchView};
use wakelab_kernel::Feature;

/// The policy's declaration.
pub(super) const ABOUT: About = About {
    switches: &[Switch {
        feature: Feature::SIS_ORACLE,
        does: "knows every CPU of the LLC that is idle, and every wake-up that has chosen its CPU and is on its way to \
               it (not what another search that goes on meanwhile will choose), at no cost: prev, an idle core, the \
               nearest",
        recorded: Recorded::Yes,
    }],
    tunables: &[],
};

impl Select {
    /// Chooses in place of the first probe of the search.
    #[cold]
    pub(in crate::select) fn sis_oracle<V: SearchView, O: Observer>(
        &mut self,
        cx: Cx<'_, V>,
        observer: &mut O,
    ) -> Option<Chosen> {
        let best = best_idle_cpu(cx, self.target);
        observer.event(Event::Oracle(best));
        if cx.rules.code.recent_used_always {
            self.effects.recent_used_cpu = Some(cx.wakeup.wakee.prev_cpu);
        }
        match best {
            Some(cpu) => self.done(cpu, Reason::Oracle),
            None => {
                (self.count.domain_search, self.count.failed) = (1, 1);
                self.done(self.target, Reason::None)
            }
        }
    }
}

/// The best idle CPU for a wake-up with this target; `None` if the LLC has none that the wakee may use.
pub fn best_idle_cpu<V: IdleView + PolicyView>(cx: Cx<'_, V>, target: Cpu) -> Option<Cpu> {
    let domains = cx.rules.domains;
    let wakee = &cx.wakeup.wakee;
    let takes_sched_idle = cx.rules.code.sched_idle_cpus && takes_sched_idle(cx.rules, cx.wakeup);
    let empty = |cpu: Cpu| cx.view.available_idle_cpu(cpu) && !cx.view.claimed(cpu);
    let takes = |cpu: Cpu| {
        wakee.cpus_ptr.test(cpu)
            && (empty(cpu) || (takes_sched_idle && cx.view.sched_idle_cpu(cpu) && !cx.view.claimed(cpu)))
    };
    let prev = wakee.prev_cpu;
    if domains.cpus_share_cache(prev, target) && takes(prev) {
        return Some(prev);
    }
    let Some(sd) = domains.sd_llc(target) else { return takes(target).then_some(target) };
    let around = || sd.span.iter_wrap(target);
    let smt = &domains.smt_mask;
    let core = || around().find(|&cpu| takes(cpu) && smt[cpu as usize].iter().all(empty));
    let sibling = || around().find(|&cpu| smt[target as usize].test(cpu) && takes(cpu));
    let cluster = || around().find(|&cpu| domains.cpus_share_resources(cpu, target) && takes(cpu));
    let idle_core = if domains.smt_active { core() } else { None };
    idle_core.or_else(sibling).or_else(cluster).or_else(|| around().find(|&cpu| takes(cpu)))
}
