//! Perfect knowledge of a search when it began: which CPUs were idle and unclaimed, which of them was the best, and at
//! which probe an unlimited scan finds the first idle one.

use wakelab_events::sim::Inputs;
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::{
    Cx, Event, Observer, Probe, Rules, Select, Site, View, Wakeup, best_idle_cpu, select_task_rq_fair,
};

/// The knowledge about a choice when it began.
#[derive(Clone, Debug)]
pub struct PerfectKnowledge {
    /// The CPUs of the target's LLC that looked idle and that the wakee may use.
    pub idle: CpuMask,
    /// Those of them that had no wake-up on its way to them.
    pub unclaimed: CpuMask,
    /// Whether a CPU that only has `SCHED_IDLE` tasks counts as idle for this wakee.
    pub takes_sched_idle: bool,
    /// The best CPU that was idle and had no wake-up on its way to it.
    pub best: Option<Cpu>,
    /// The number of the probe, from 1, at which an unlimited domain search finds the first idle CPU that the wakee may
    /// use; `None` if it finds none.
    pub first_idle_probe: Option<u32>,
    /// Whether this describes a choice that is not made yet.
    pub pending: bool,
}

impl PerfectKnowledge {
    /// The state before the first choice.
    pub fn none(nr_cpus: u32) -> Self {
        let none = CpuMask::new(nr_cpus);
        PerfectKnowledge {
            idle: none.clone(),
            unclaimed: none,
            takes_sched_idle: false,
            best: None,
            first_idle_probe: None,
            pending: false,
        }
    }

    /// Records what can be known of the choice that begins. `select` is scratch memory.
    pub fn record<V: View>(&mut self, select: &mut Select, inputs: &Inputs<'_, V>) {
        let Inputs { wakeup, rules, view, .. } = *inputs;
        // With SIS_ORACLE on, this is the scan of the kernel without it.
        let rules = &Rules { features: rules.features.with(Feature::SIS_ORACLE, false), ..*rules };
        let cx = Cx { rules, wakeup, view };
        let code = rules.code;
        let not_for_idle = code.sched_idle_not_for_idle && rules.features.has(Feature::SCHED_IDLE_NOT_FOR_IDLE);
        self.takes_sched_idle = code.sched_idle_cpus && !(not_for_idle && wakeup.wakee.idle_policy);
        let mut observer =
            FirstIdleProbe { wakeup, takes_sched_idle: self.takes_sched_idle, probes: 0, first_idle: None };
        let target = select_task_rq_fair(select, cx, &mut observer).target;
        self.first_idle_probe = observer.first_idle;
        self.best = best_idle_cpu(cx, target);
        let takes = |cpu: Cpu| view.available_idle_cpu(cpu) || (self.takes_sched_idle && view.sched_idle_cpu(cpu));
        let domains = rules.domains;
        let llc = domains.sd_llc(target).map(|sd| &sd.span);
        let in_llc = |cpu: Cpu| llc.map_or(cpu == target, |span| span.test(cpu));
        let idle = wakeup.wakee.cpus_ptr.iter().filter(|&cpu| in_llc(cpu) && takes(cpu));
        self.idle = CpuMask::from_cpus(domains.nr_cpus, idle);
        self.unclaimed = CpuMask::from_cpus(domains.nr_cpus, self.idle.iter().filter(|&cpu| !view.claimed(cpu)));
        self.pending = true;
    }
}

/// Counts the probes of an unlimited domain search up to the first idle CPU.
struct FirstIdleProbe<'a> {
    wakeup: &'a Wakeup<'a>,
    takes_sched_idle: bool,
    probes: u32,
    first_idle: Option<u32>,
}

impl Observer for FirstIdleProbe<'_> {
    const PROBES: bool = true;
    const UNLIMITED: bool = true;

    fn event(&mut self, event: Event) {
        let Event::Probe(Probe { site: Site::Smt | Site::Core | Site::Scan | Site::Capacity, cpu, idle, sched_idle }) =
            event
        else {
            return;
        };
        self.probes += 1;
        let free = idle || (sched_idle == Some(true) && self.takes_sched_idle);
        if self.first_idle.is_none() && free && self.wakeup.wakee.cpus_ptr.test(cpu) {
            self.first_idle = Some(self.probes);
        }
    }
}
