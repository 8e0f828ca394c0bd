//! Placement on CPUs of different capacities, in cases worked out by hand from the sources of the kernels: what no
//! vector has, which is idle cores (7.2), the forms of 5.10 and 5.18, and forks.

use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{Arch, DomainOptions, SchedDomains, SchedGroup, Topology, Uniform, build_sched_domains};
use wakelab_sched::select::{
    AsymView, Cx, Decision, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, Reason,
    RqView, Rules, Select, Uclamp, UtilView, WakeFlags, Wakee, Waker, Wakeup, select_task_rq_fair,
};

/// A machine of which some CPUs are idle.
struct Machine {
    version: &'static str,
    domains: SchedDomains,
    capacities: Vec<u64>,
    idle: CpuMask,
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
        u32::from(!self.idle.test(cpu))
    }
    fn cpu_load(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_runnable_load(&self, cpu: Cpu) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.capacities[cpu as usize]
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

impl AsymView for Machine {
    fn arch_scale_cpu_capacity(&self, cpu: Cpu) -> u64 {
        self.capacities[cpu as usize]
    }
}

impl PolicyView for Machine {}

impl MaskView for Machine {}

impl UtilView for Machine {
    fn cpu_runnable(&self, _: Cpu) -> u64 {
        0
    }
    fn cpu_util_avg(&self, _: Cpu) -> u64 {
        0
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

impl Machine {
    fn new(version: &'static str, options: DomainOptions, topology: &Topology, idle: &[Cpu]) -> Self {
        let domains = build_sched_domains(topology, &options.on(Arch::Arm64)).expect("a machine");
        assert!(domains.asym_cpucap_active);
        Machine {
            version,
            capacities: topology.cpus.iter().map(|cpu| u64::from(cpu.capacity)).collect(),
            idle: CpuMask::from_cpus(domains.nr_cpus, idle.iter().copied()),
            domains,
            has_idle_cores: false,
            nr_idle_scan: 100,
        }
    }

    /// Four little, two middle and two big cores below one cache.
    fn pixel6(version: &'static str, options: DomainOptions, idle: &[Cpu]) -> Self {
        let topology = Topology::one_llc(&[160, 160, 160, 160, 498, 498, 1024, 1024]);
        Machine::new(version, options, &topology, idle)
    }

    /// Two little and two big cores of two threads each, as 7.3 sees them.
    fn with_smt(has_idle_cores: bool, idle: &[Cpu]) -> Self {
        let mut topology = Uniform::new(4, 2).topology();
        for cpu in &mut topology.cpus[..4] {
            cpu.capacity = 500;
        }
        let machine = Machine::new("v7.3", DomainOptions::of(Preset::get("v7.3").unwrap()), &topology, idle);
        assert_eq!(machine.domains.smt_mask[0].to_string(), "0-1");
        Machine { has_idle_cores, ..machine }
    }

    /// Places a task of CPU 0 that is woken or forked there.
    fn place(&self, flags: WakeFlags, util: u64, uclamp: Uclamp) -> Decision {
        let kernel = Preset::get(self.version).expect("a preset");
        let rules = Rules::new(kernel, kernel.features, &self.domains).expect("is modelled");
        let all = CpuMask::full(self.domains.nr_cpus);
        let wakeup = Wakeup {
            waker: Waker::new(0),
            wakee: Wakee {
                util_avg: util,
                runnable_avg: util,
                uclamp,
                has_contributed: !flags.contains(WakeFlags::FORK),
                ..Wakee::new(0, &all)
            },
            flags,
        };
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: self };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        let mut select = Select::default();
        let mut stepped = select.start(&rules, &wakeup, &mut ());
        while stepped.is_none() {
            assert!(select.next_probe(&wakeup).is_some());
            stepped = select.probe(cx, &mut ());
        }
        assert_eq!(stepped, Some(decision));
        decision
    }

    fn wakes(&self, util: u64) -> (Cpu, Reason) {
        let decision = self.place(WakeFlags::TTWU, util, Uclamp::UNUSED);
        (decision.cpu, decision.reason)
    }
}

fn old() -> DomainOptions {
    DomainOptions::of(Preset::get("v5.10").unwrap())
}

fn v6_1() -> DomainOptions {
    DomainOptions::of(Preset::get("v6.1").unwrap())
}

#[test]
fn an_idle_core_comes_before_everything_on_a_busy_one() {
    // The target is idle and large enough, but its sibling is busy.
    assert_eq!(Machine::with_smt(true, &[0, 6, 7]).wakes(100), (6, Reason::Capacity));
    // A little idle core that the task does not fit, against a big CPU with a busy sibling that it fits.
    assert_eq!(Machine::with_smt(true, &[2, 3, 5]).wakes(600), (2, Reason::Capacity));
    // Its sibling idle too, the target is taken.
    assert_eq!(Machine::with_smt(true, &[0, 1, 6, 7]).wakes(100), (0, Reason::Target));
}

#[test]
fn a_search_without_an_idle_core_clears_the_hint() {
    // Both fit; the larger wins.
    let decision = Machine::with_smt(true, &[3, 5]).place(WakeFlags::TTWU, 100, Uclamp::UNUSED);
    assert_eq!((decision.cpu, decision.reason), (5, Reason::Capacity));
    assert_eq!(decision.effects.clear_idle_cores, Some(0));
    // Without the hint the first that fits is taken, and there is nothing to clear.
    let decision = Machine::with_smt(false, &[3, 5]).place(WakeFlags::TTWU, 100, Uclamp::UNUSED);
    assert_eq!((decision.cpu, decision.reason), (3, Reason::Capacity));
    assert_eq!(decision.effects.clear_idle_cores, None);
}

#[test]
fn sis_util_limits_the_search_unless_a_core_is_wanted() {
    let limited = |has_idle_cores, nr_idle_scan| {
        let machine = Machine { nr_idle_scan, ..Machine::with_smt(has_idle_cores, &[2, 5]) };
        machine.wakes(600)
    };
    assert_eq!(limited(false, 0), (0, Reason::Overloaded));
    assert_eq!(limited(true, 0), (0, Reason::Overloaded));
    assert_eq!(limited(false, 2), (0, Reason::Limit));
    // CPU 2 was met before the limit, though the task does not fit.
    assert_eq!(limited(false, 3), (2, Reason::Capacity));
    assert_eq!(limited(false, 6), (5, Reason::Capacity));
    assert_eq!(limited(true, 1), (5, Reason::Capacity));
}

#[test]
fn a_cap_that_a_little_cpu_reaches_makes_a_task_fit_it_since_util_fits_cpu() {
    let capped = Uclamp { used: true, min: 0, max: 160 };
    for (version, options, expected) in [
        ("v5.18", v6_1(), (4, Reason::Capacity)),
        ("v5.10", old(), (0, Reason::Target)),
        ("v6.1", v6_1(), (0, Reason::Target)),
    ] {
        let machine = Machine::pixel6(version, options, &[0, 4, 6]);
        let decision = machine.place(WakeFlags::TTWU, 300, capped);
        assert_eq!((decision.cpu, decision.reason), expected, "{version}");
    }
}

#[test]
fn a_cpu_that_misses_only_the_minimum_comes_before_one_that_does_not_fit() {
    // Fits 498, but asks for 600. Big CPUs are busy; of the others the middle one misses least.
    let boosted = Uclamp { used: true, min: 600, max: 1024 };
    for (version, options) in [("v6.1", v6_1()), ("v5.10", old()), ("v5.18", v6_1())] {
        let machine = Machine::pixel6(version, options, &[0, 1, 5]);
        let decision = machine.place(WakeFlags::TTWU, 300, boosted);
        assert_eq!((decision.cpu, decision.reason), (5, Reason::Capacity), "{version}");
    }
    // A CPU that reaches the minimum ends the search.
    let machine = Machine::pixel6("v6.1", v6_1(), &[1, 5, 6]);
    assert_eq!(machine.place(WakeFlags::TTWU, 300, boosted).cpu, 6);
}

#[test]
fn a_task_that_fits_nothing_gets_the_largest_idle_cpu() {
    for (version, options) in [("v5.10", old()), ("v5.18", v6_1()), ("v6.1", v6_1())] {
        let machine = Machine::pixel6(version, options, &[1, 2, 4, 5]);
        assert_eq!(machine.wakes(1000), (4, Reason::Capacity), "{version}");
        assert_eq!(Machine { idle: CpuMask::new(8), ..machine }.wakes(1000), (0, Reason::None), "{version}");
    }
}

#[test]
fn forks_leave_groups_that_they_do_not_fit() {
    let all: Vec<Cpu> = (0..8).collect();
    for (version, options) in [("v5.10", old()), ("v5.18", v6_1()), ("v6.1", v6_1())] {
        let machine = Machine::pixel6(version, options, &all);
        let forks = |util| machine.place(WakeFlags::FORK, util, Uclamp::UNUSED);
        // Fits where it is.
        assert_eq!((forks(100).cpu, forks(100).reason), (0, Reason::Slow), "{version}");
        // The first CPU that it fits.
        assert_eq!(forks(300).cpu, 4, "{version}");
        // Fits none: the largest.
        assert_eq!(forks(1000).cpu, 6, "{version}");
    }
}
