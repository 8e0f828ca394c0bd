//! Regret in states whose numbers were computed by hand: eight CPUs, a wake-up on CPU 0 of a task that ran there last.
//! In 5.19 the scan begins one CPU after the target, at CPU 1.

use crate::support::view::{StubView, eight_cpus, on_cpu_0};
use wakelab_events::sim::{Event, Inputs, Queued, Sink};
use wakelab_kernel::Preset;
use wakelab_measure::regret::{
    CpuTimeOf, ProbeRegret, Regret, RegretStats, SearchRegret, StateRegret, WakeupRegret, position_bucket,
};
use wakelab_sched::CpuMask;
use wakelab_sched::select::{Cx, Decision, Rules, Select, select_task_rq_fair};

/// A state in which the kernel chooses a CPU. `busy_at_the_end` are CPUs that became busy during the search.
struct Case<'a> {
    switches: &'a str,
    threads: u32,
    view: StubView,
    allowed: &'a [u32],
    busy_at_the_end: &'a [u32],
    sched_idle_at_the_end: &'a [u32],
    kernel: &'a str,
    /// Whether the wakee is SCHED_IDLE.
    idle_policy: bool,
}

const ALL: [u32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

impl Case<'_> {
    fn idle(idle: &[u32]) -> Self {
        let view = StubView { idle: idle.iter().copied().collect(), nr_idle_scan: 100, ..StubView::default() };
        Case {
            switches: "SIS_UTIL,NO_SIS_PROP",
            threads: 1,
            view,
            allowed: &ALL,
            busy_at_the_end: &[],
            sched_idle_at_the_end: &[],
            kernel: "v5.19-rc1",
            idle_policy: false,
        }
    }

    fn run(&self) -> (Decision, RegretStats) {
        let kernel = Preset::get(self.kernel).unwrap();
        let features = kernel.switched(&self.switches.parse().unwrap()).unwrap();
        let domains = eight_cpus(self.threads);
        let rules = Rules::new(kernel, features, &domains).unwrap();
        let cpus_ptr = CpuMask::from_cpus(8, self.allowed.iter().copied());
        let mut wakeup = on_cpu_0(&cpus_ptr);
        wakeup.wakee.idle_policy = self.idle_policy;
        let mut regret = Regret::new(0, 1000, 8);
        let busy = |cpu: u32| Event::Available { cpu, available: false, sched_idle: false };
        for cpu in ALL.iter().filter(|cpu| !self.view.idle.contains(cpu)) {
            regret.event(0, &busy(*cpu));
        }
        regret.inputs(10, &Inputs { wakeup: &wakeup, rules: &rules, view: &self.view, probe: Some(1) });
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &self.view };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        for cpu in self.busy_at_the_end {
            regret.event(20, &busy(*cpu));
        }
        for &cpu in self.sched_idle_at_the_end {
            regret.event(20, &Event::Available { cpu, available: false, sched_idle: true });
        }
        let claimed = self.view.claimed.contains(&decision.cpu);
        regret.event(30, &wakeup_event(0, 2, decision, 10, claimed));
        (decision, regret.finish(1000, &[]))
    }
}

fn wakeup_event(waker_cpu: u32, wakee: u32, decision: Decision, began: u64, claimed: bool) -> Event {
    Event::Wakeup {
        waker_cpu,
        waker: Some(1),
        wakee,
        prev_cpu: 0,
        decision: Some(decision),
        cpu: decision.cpu,
        queued: Queued::Direct,
        began,
        scan_began: None,
        scan_ended: None,
        claimed,
        workload: true,
    }
}

fn one_search_needing(position: u32) -> [u64; 12] {
    let mut enough = [0; 12];
    enough[position_bucket(position)] = 1;
    enough
}

#[test]
fn a_search_that_finds_the_third_cpu_needed_three_probes() {
    let (decision, regret) = Case::idle(&[3]).run();
    assert_eq!(decision.cpu, 3);
    assert_eq!(regret.probes, ProbeRegret { n: 3, nothing_idle: 0, before_first: 2, from_first: 1 });
    assert_eq!((regret.enough, regret.enough_never), (one_search_needing(3), 0));
    assert_eq!(regret.searches, SearchRegret { n: 1, ..SearchRegret::default() });
    assert_eq!(regret.wakeups, WakeupRegret { n: 1, idle_existed: 1, on_idle: 1, ..WakeupRegret::default() });
}

#[test]
fn a_limit_of_two_probes_misses_the_third_cpu() {
    let mut case = Case::idle(&[3]);
    case.view.nr_idle_scan = 2;
    let (decision, regret) = case.run();
    assert_eq!(decision.cpu, 0);
    assert_eq!(regret.probes, ProbeRegret { n: 2, nothing_idle: 0, before_first: 2, from_first: 0 });
    assert_eq!((regret.enough, regret.enough_never), (one_search_needing(3), 0), "the scan is followed past its limit");
    assert_eq!(regret.searches, SearchRegret { n: 1, failed: 1, missed: 1, gone: 0, nothing: 0 });
    let missed = WakeupRegret { n: 1, idle_existed: 1, on_busy: 1, missed: 1, ..WakeupRegret::default() };
    assert_eq!(regret.wakeups, missed);
}

#[test]
fn a_search_that_did_not_begin_misses_without_a_probe() {
    let mut case = Case::idle(&[1]);
    case.view.nr_idle_scan = 0;
    let (_, regret) = case.run();
    assert_eq!(regret.probes, ProbeRegret::default());
    assert_eq!(regret.enough, one_search_needing(1));
    assert_eq!(regret.searches, SearchRegret { n: 1, failed: 1, missed: 1, gone: 0, nothing: 0 });
}

#[test]
fn a_search_of_a_busy_llc_probes_in_vain_and_misses_nothing() {
    let (_, regret) = Case::idle(&[]).run();
    assert_eq!(regret.probes, ProbeRegret { n: 8, nothing_idle: 8, before_first: 0, from_first: 0 });
    assert_eq!((regret.enough, regret.enough_never), ([0; 12], 1));
    assert_eq!(regret.searches, SearchRegret { n: 1, failed: 1, missed: 0, gone: 0, nothing: 1 });
    assert_eq!(regret.wakeups, WakeupRegret { n: 1, on_busy: 1, ..WakeupRegret::default() });
}

#[test]
fn an_idle_cpu_that_the_wakee_may_not_use_does_not_count() {
    let mut case = Case::idle(&[3]);
    case.allowed = &[0, 1, 2];
    let (_, regret) = case.run();
    assert_eq!((regret.enough_never, regret.searches.nothing, regret.wakeups.idle_existed), (1, 1, 0));
}

#[test]
fn a_cpu_that_became_busy_during_the_search_was_not_missed() {
    let mut case = Case::idle(&[3]);
    case.view.nr_idle_scan = 2;
    case.busy_at_the_end = &[3];
    let (_, regret) = case.run();
    assert_eq!(regret.searches, SearchRegret { n: 1, failed: 1, missed: 0, gone: 1, nothing: 0 });
}

/// The scan chose CPU 3, which was idle when it began: nobody could have known that another CPU was better.
#[test]
fn a_choice_that_became_busy_during_the_search_is_not_a_miss() {
    let mut case = Case::idle(&[3, 5]);
    case.busy_at_the_end = &[3];
    let (decision, regret) = case.run();
    assert_eq!(decision.cpu, 3);
    let gone = WakeupRegret { n: 1, idle_existed: 1, on_busy: 1, gone: 1, ..WakeupRegret::default() };
    assert_eq!(regret.wakeups, gone);
}

/// CPU 3 has SCHED_IDLE tasks at the end. For a wakee that is SCHED_IDLE itself, 7.2 does not count it as idle.
#[test]
fn a_cpu_with_sched_idle_tasks_counts_only_for_a_wakee_that_takes_it() {
    let mut case = Case::idle(&[3]);
    case.view.nr_idle_scan = 2;
    case.sched_idle_at_the_end = &[3];
    let (_, regret) = case.run();
    assert_eq!((regret.searches.missed, regret.searches.gone), (1, 0));
    case.kernel = "v7.2";
    case.switches = "SIS_UTIL";
    case.idle_policy = true;
    let (_, regret) = case.run();
    assert_eq!((regret.searches.missed, regret.searches.gone), (0, 1));
}

#[test]
fn perfect_knowledge_does_not_choose_a_claimed_cpu_that_looks_idle() {
    let mut case = Case::idle(&[3]);
    case.view.claimed.insert(3);
    let (decision, regret) = case.run();
    assert_eq!(decision.cpu, 3);
    assert_eq!(regret.wakeups, WakeupRegret { n: 1, on_claimed: 1, ..WakeupRegret::default() });
    case.view.idle.insert(5);
    let (_, regret) = case.run();
    assert_eq!(
        regret.wakeups,
        WakeupRegret { n: 1, idle_existed: 1, on_claimed: 1, missed: 1, ..WakeupRegret::default() }
    );
}

#[test]
fn a_search_of_an_idle_core_continues_after_an_idle_cpu() {
    // From CPU 1: its core (0, 1), then 2 and 3, which is idle and remembered; of the other cores the first CPU only.
    let mut case = Case::idle(&[3]);
    (case.threads, case.view.has_idle_cores) = (2, true);
    let (decision, regret) = case.run();
    assert_eq!(decision.cpu, 3);
    assert_eq!(regret.probes, ProbeRegret { n: 6, nothing_idle: 0, before_first: 3, from_first: 3 });
    assert_eq!(regret.enough, one_search_needing(4));
}

#[test]
fn the_fast_path_is_compared_with_perfect_knowledge_too() {
    let (decision, regret) = Case::idle(&[0, 3]).run();
    assert_eq!(decision.count.domain_search, 0);
    assert_eq!(regret.searches, SearchRegret::default());
    assert_eq!(regret.wakeups, WakeupRegret { n: 1, idle_existed: 1, on_idle: 1, ..WakeupRegret::default() });
}

#[test]
fn every_busy_ns_is_charged_to_one_kind_of_wakeup() {
    let (decision, _) = Case::idle(&[1]).run();
    let on = |cpu| Decision { cpu, ..decision };
    let switch = |cpu, prev, next| Event::Switch { cpu, prev, prev_sleeps: true, next };
    let idle = |cpu, entered| Event::Idle { cpu, entered };
    let available = |cpu, available| Event::Available { cpu, available, sched_idle: false };
    let enqueue = |cpu, task| Event::Enqueue { cpu, task };
    let events = [
        // A timer: task 1 has no wake-up with a choice yet, 100 to 300.
        (100, idle(0, false)),
        (100, available(0, false)),
        (150, switch(0, None, Some(1))),
        // It wakes task 2 to the idle CPU 1: 300 to 370 here, from 370 there.
        (340, wakeup_event(0, 2, on(1), 300, false)),
        (370, enqueue(1, 2)),
        (370, idle(1, false)),
        (370, available(1, false)),
        (400, switch(0, Some(1), None)),
        (400, available(0, true)),
        (420, idle(0, true)),
        (430, switch(1, None, Some(2))),
        // Task 2 wakes task 1 on its own CPU: 500 to 515.
        (510, wakeup_event(1, 1, on(1), 500, false)),
        (515, enqueue(1, 1)),
        (600, switch(1, Some(2), Some(1))),
        (700, switch(1, Some(1), None)),
        (720, idle(1, true)),
    ];
    let mut regret = Regret::new(0, 1000, 2);
    events.iter().for_each(|(time, event)| regret.event(*time, event));
    let stats = regret.finish(1000, &[]);
    let cpu = stats.cpu;
    assert_eq!(cpu.other, CpuTimeOf { wakeups: 0, busy_ns: 50 + 150 + 30 + 20 });
    assert_eq!(cpu.on_idle, CpuTimeOf { wakeups: 1, busy_ns: 70 + 60 + 70 + 85 });
    assert_eq!(cpu.on_busy, CpuTimeOf { wakeups: 1, busy_ns: 15 + 100 + 20 });
    assert_eq!(stats.migrating, StateRegret { time_ns: 1000, cpu_ns: 2000, busy_ns: 670, wakeups: 2 });

    // Measured from 400 to 600 only: the time before and after is cut off.
    let mut part = Regret::new(400, 600, 2);
    events.iter().for_each(|(time, event)| part.event(*time, event));
    let cpu = part.finish(600, &[]).cpu;
    assert_eq!((cpu.other.busy_ns, cpu.on_idle.busy_ns, cpu.on_busy.busy_ns), (20, 30 + 70 + 85, 15));
    assert_eq!((cpu.on_idle.wakeups, cpu.on_busy.wakeups), (0, 1));
}
