//! What a search could have known when it began.

use wakelab_events::sim::Inputs;
use wakelab_kernel::Feature;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::{
    Cx, Event, Observer, Probe, Rules, Select, Site, View, Wakeup, best_idle_cpu, select_task_rq_fair,
};

/// What was known of a choice when it began.
#[derive(Clone, Debug)]
pub struct Begun {
    /// CPUs of the target's LLC that looked idle and that the wakee may use.
    pub idle: CpuMask,
    /// Those of them that had no wake-up on its way to them.
    pub unclaimed: CpuMask,
    /// Whether a CPU with SCHED_IDLE tasks only is idle to this wakee.
    pub takes_sched_idle: bool,
    /// The best CPU that was idle and had no wake-up on its way to it.
    pub best: Option<Cpu>,
    /// The position among the looks of the domain search, from 1, at which a walk without a limit comes to the first idle
    /// CPU that the wakee may use; `None` where it comes to none.
    pub first: Option<u32>,
    /// Whether it was told, and the choice is not made yet.
    pub open: bool,
}

impl Begun {
    /// Nothing has begun.
    pub fn none(nr_cpus: u32) -> Self {
        let none = CpuMask::new(nr_cpus);
        Begun { idle: none.clone(), unclaimed: none, takes_sched_idle: false, best: None, first: None, open: false }
    }

    /// Takes down what there is to know. `select` is used and left as it may be.
    pub fn fill<V: View>(&mut self, select: &mut Select, inputs: &Inputs<'_, V>) {
        let Inputs { wakeup, rules, view, .. } = *inputs;
        // With SIS_ORACLE on, the walk of the kernel without it.
        let rules = &Rules { features: rules.features.with(Feature::SIS_ORACLE, false), ..*rules };
        let cx = Cx { rules, wakeup, view };
        let code = rules.code;
        self.takes_sched_idle = code.sched_idle_cpus && !(code.sched_idle_not_for_idle && wakeup.wakee.idle_policy);
        let mut looks = FirstIdle { wakeup, takes_sched_idle: self.takes_sched_idle, looks: 0, first: None };
        let target = select_task_rq_fair(select, cx, &mut looks).target;
        self.first = looks.first;
        self.best = best_idle_cpu(cx, target);
        let takes = |cpu: Cpu| view.available_idle_cpu(cpu) || (self.takes_sched_idle && view.sched_idle_cpu(cpu));
        let domains = rules.domains;
        let llc = domains.sd_llc(target).map(|sd| &sd.span);
        let in_llc = |cpu: Cpu| llc.map_or(cpu == target, |span| span.test(cpu));
        let idle = wakeup.wakee.cpus_ptr.iter().filter(|&cpu| in_llc(cpu) && takes(cpu));
        self.idle = CpuMask::from_cpus(domains.nr_cpus, idle);
        self.unclaimed = CpuMask::from_cpus(domains.nr_cpus, self.idle.iter().filter(|&cpu| !view.claimed(cpu)));
        self.open = true;
    }
}

/// Counts the looks of a domain search until one shows an idle CPU.
struct FirstIdle<'a> {
    wakeup: &'a Wakeup<'a>,
    takes_sched_idle: bool,
    looks: u32,
    first: Option<u32>,
}

impl Observer for FirstIdle<'_> {
    const PROBES: bool = true;
    const UNLIMITED: bool = true;

    fn event(&mut self, event: Event) {
        let Event::Probe(Probe { site: Site::Smt | Site::Core | Site::Scan | Site::Capacity, cpu, idle, sched_idle }) =
            event
        else {
            return;
        };
        self.looks += 1;
        let free = idle || (sched_idle == Some(true) && self.takes_sched_idle);
        if self.first.is_none() && free && self.wakeup.wakee.cpus_ptr.test(cpu) {
            self.first = Some(self.looks);
        }
    }
}
