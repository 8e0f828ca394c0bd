//! A decision that is finished from any probe on, with words of masks, against one that makes every probe by itself.

use proptest::prelude::*;
use wakelab_kernel::{Preset, Switches};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{
    DomainOptions, Numbering, SchedDomains, SchedGroup, Topology, Uniform, build_sched_domains,
};
use wakelab_sched::select::policy::{Hook, HookView, PolicyStates};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleCores, IdleStateView, IdleView, LlcView, MaskView, PolicyView,
    RqView, Rules, ScanClock, Select, UtilView, WakeFlags, Wakee, Waker, Wakeup,
};

#[derive(Clone)]
struct Machine {
    idle: CpuMask,
    /// Without it every probe is made by itself.
    cores: Option<IdleCores>,
    /// CPUs that are overloaded at their tick.
    overloaded: CpuMask,
    policies: Option<PolicyStates>,
    has_idle_cores: bool,
    nr_idle_scan: i32,
}

impl IdleView for Machine {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn sched_idle_cpu(&self, _: Cpu) -> bool {
        false
    }
}

impl RqView for Machine {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        u32::from(!self.idle.test(cpu)) + u32::from(self.overloaded.test(cpu))
    }
    fn cpu_load(&self, _: Cpu) -> u64 {
        1024
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, _: Cpu) -> u64 {
        1024
    }
}

impl LlcView for Machine {
    fn has_idle_cores(&self, _: Cpu) -> bool {
        self.has_idle_cores
    }
    fn nr_idle_scan(&self, _: Cpu) -> i32 {
        self.nr_idle_scan
    }
}

impl AsymView for Machine {}

impl HookView for Machine {
    fn idle_h_nr_running(&self, _: Cpu) -> u32 {
        0
    }
    fn sched_clock_cpu(&self, _: Cpu) -> u64 {
        0
    }
}

impl PolicyView for Machine {
    fn policies(&self) -> Option<&PolicyStates> {
        self.policies.as_ref()
    }
    fn scan_clock(&self, _: Cpu) -> ScanClock {
        ScanClock { jiffies: 5, wake_stamp: 5, wake_avg_idle: 3000, avg_idle: 6000, avg_scan_cost: 5000 }
    }
    fn cpu_clock(&self, _: Cpu, probes: u32) -> u64 {
        1000 + 50 * u64::from(probes)
    }
}

impl MaskView for Machine {
    fn idle_mask(&self) -> Option<&CpuMask> {
        self.cores.as_ref().map(|_| &self.idle)
    }
    fn idle_cores(&self) -> Option<&IdleCores> {
        self.cores.as_ref()
    }
}

impl UtilView for Machine {
    fn cpu_runnable(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        if self.overloaded.test(cpu) { 1024 } else { 0 }
    }
    fn cpu_util_est(&self, _: Cpu) -> Option<u64> {
        None
    }
}

impl GroupView for Machine {
    fn group_capacity(&self, _: usize, group: &SchedGroup) -> u64 {
        group.capacity
    }
    fn group_imbalance(&self, _: usize, _: &SchedGroup) -> bool {
        false
    }
}

impl IdleStateView for Machine {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }
    fn idle_stamp(&self, _: Cpu) -> u64 {
        0
    }
    fn idle_exit_latency(&self, _: Cpu) -> Option<u32> {
        None
    }
}

impl EnergyView for Machine {}

fn topologies() -> Vec<Topology> {
    let split = Uniform { numbering: Numbering::Split, ..Uniform::new(20, 2) };
    vec![
        split.topology(),
        Uniform::new(20, 2).topology(),
        Uniform { llcs: 2, ..Uniform { numbering: Numbering::Split, ..Uniform::new(12, 2) } }.topology(),
        Uniform::new(10, 4).topology(),
        Uniform::new(30, 1).topology(),
    ]
}

fn probe_by_probe(select: &mut Select, cx: Cx<'_, Machine>) -> (Decision, u32) {
    loop {
        if let Some(decision) = select.probe(cx, &mut ()) {
            return (decision, select.probes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn a_prediction_is_made_probe_by_probe(
        topology in 0usize..5,
        kernel in prop::sample::select(Preset::all()),
        switches in prop::sample::select(vec![
            "SIS_PROP,NO_SIS_UTIL",
            "SIS_UTIL",
            "NO_SIS_PROP,NO_SIS_UTIL",
            "SIS_UTIL,SIS_FILTER",
        ]),
        idle in prop::collection::btree_set(0u32..40, 0..8),
        overloaded in prop::collection::btree_set(0u32..40, 0..40),
        pick in (0u32..40, 0u32..40, 0u32..40),
        has_idle_cores: bool,
        nr_idle_scan in prop::sample::select(vec![0, 1, 5, 20, 40]),
        allowed in prop::option::weighted(0.3, prop::collection::btree_set(0u32..40, 1..30)),
    ) {
        let topology = &topologies()[topology];
        let domains: SchedDomains =
            build_sched_domains(topology, &DomainOptions::of(Preset::get("v5.19-rc1").unwrap())).expect("a machine");
        let nr = domains.nr_cpus;
        let features = switches.parse::<Switches>().expect("switches").on(kernel.features);
        let rules = Rules::new(kernel, features, &domains).expect("rules");
        let idle = CpuMask::from_cpus(nr, idle.into_iter().filter(|&cpu| cpu < nr));
        let all = allowed.map_or(CpuMask::full(nr), |cpus| {
            CpuMask::from_cpus(nr, cpus.into_iter().filter(|&c| c < nr).chain([pick.1 % nr]))
        });
        let wakeup = Wakeup {
            waker: Waker { in_task: false, wakee_flips: 1, h_load: 512, ..Waker::new(pick.0 % nr) },
            wakee: Wakee {
                recent_used_cpu: Some(pick.2 % nr),
                wakee_flips: 1,
                h_load: 512,
                util_avg: 100,
                runnable_avg: 100,
                ..Wakee::new(pick.1 % nr, &all)
            },
            flags: WakeFlags::TTWU | WakeFlags::SYNC,
        };
        let cores = Some(IdleCores::new(&idle, &domains.smt_mask));
        let overloaded = CpuMask::from_cpus(nr, overloaded.into_iter().filter(|&cpu| cpu < nr));
        let slow = Machine { idle, cores: None, overloaded, policies: None, has_idle_cores, nr_idle_scan };
        let mut states = PolicyStates::new(&rules);
        for cpu in 0..nr {
            let change = states.hook(Hook::Tick, cpu, &rules, &slow);
            change.into_iter().for_each(|change| states.apply(change));
        }
        let slow = Machine { policies: Some(states), ..slow };
        let fast = Machine { cores, ..slow.clone() };
        let (cx_fast, cx_slow) = (
            Cx { rules: &rules, wakeup: &wakeup, view: &fast },
            Cx { rules: &rules, wakeup: &wakeup, view: &slow },
        );
        let mut start = Select::default();
        if start.start(&rules, &wakeup, &mut ()).is_some() {
            return Ok(());
        }
        let wanted = probe_by_probe(&mut start.clone(), cx_slow);
        let mut finished = start.clone();
        let predicted = finished.finish(cx_fast, &mut ());
        prop_assert_eq!((predicted, finished.probes()), wanted);
        for probes in 0..wanted.1 {
            let mut part = start.clone();
            if let Some(decision) = part.probe_until(probes, cx_fast) {
                // Siblings that the wakee may not use are counted, and were not waited for.
                prop_assert!(all != CpuMask::full(nr) && decision == wanted.0, "{} of {} probes", probes, wanted.1);
                break;
            }
            prop_assert!(part.probes() >= probes);
            let mut rest = part.clone();
            while let Some(cpu) = rest.next_probe(&wakeup) {
                let may_probe = part.may_probe(&rules, &wakeup, &finished, &predicted, cpu);
                prop_assert!(may_probe, "CPU {} from probe {}", cpu, probes);
                let _ = rest.probe(cx_slow, &mut ());
            }
            let end = (part.clone().finish(cx_fast, &mut ()), wanted.1);
            prop_assert_eq!(end, wanted, "from probe {}", probes);
            prop_assert_eq!(probe_by_probe(&mut part, cx_fast), wanted, "from probe {}, one by one", probes);
        }
    }
}
