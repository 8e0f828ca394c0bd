//! SIS_LIMIT's window and SIS_ORACLE's choice, in cases worked out by hand.

use crate::support::vectors::Table;
use wakelab_kernel::{Preset, Switches};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{DomainOptions, SchedDomains, Uniform, build_sched_domains};
use wakelab_sched::select::policy::{Hooks, PolicyStates};
use wakelab_sched::select::{
    Cx, Decision, Reason, Rules, ScanClock, Select, WakeFlags, Wakee, Waker, Wakeup, select_idle_sibling,
};

/// Eight cores with two CPUs each, siblings side by side, below one cache.
fn machine() -> SchedDomains {
    build_sched_domains(&Uniform::new(8, 2).topology(), &DomainOptions::of(Preset::get("v6.1").unwrap())).unwrap()
}

fn rules<'a>(domains: &'a SchedDomains, switches: &str) -> Rules<'a> {
    let kernel = Preset::get("v6.1").unwrap();
    Rules::new(kernel, switches.parse::<Switches>().unwrap().on(kernel.features), domains).unwrap()
}

/// Waker on CPU 0, and the search around `target`.
fn search(switches: &str, table: &Table, prev: Cpu, target: Cpu, allowed: &CpuMask) -> Decision {
    let domains = machine();
    let rules = rules(&domains, switches);
    let waker = Waker::new(0);
    let wakee = Wakee::new(prev, allowed);
    let wakeup = Wakeup { waker, wakee, flags: WakeFlags::TTWU };
    select_idle_sibling(&mut Select::default(), Cx { rules: &rules, wakeup: &wakeup, view: table }, target, &mut ())
}

/// Keeps what the policies keep of a search that has ended.
fn keep(switches: &str, table: &mut Table, decision: &Decision) {
    let domains = machine();
    let rules = rules(&domains, switches);
    let states = table.policies.get_or_insert_with(|| PolicyStates::new(&rules));
    assert_eq!(states.hooks(), Hooks::DECISION);
    states.decided(decision, &rules).into_iter().for_each(|change| states.apply(change));
}

fn idle(cpus: &[Cpu]) -> Table {
    Table { idle: Some(CpuMask::from_cpus(16, cpus.iter().copied())), nr_idle_scan: 16, ..Table::default() }
}

/// The limit is 2 to 4 on cores of two, and counts down before it probes: 1 to 3 CPUs are probed. Siblings of the
/// previous CPU come before the scan and do not count.
#[test]
fn the_window_goes_around_the_llc() {
    let all = CpuMask::full(16);
    let mut table = idle(&[]);
    // A tenth of a ms idle, and a search that costs nothing: the upper bound.
    table.clock = ScanClock { wake_avg_idle: 100_000, ..ScanClock::default() };
    let switches = "SIS_PROP,NO_SIS_UTIL,SIS_LIMIT";
    let mut ends = Vec::new();
    for _ in 0..5 {
        let decision = search(switches, &table, 4, 4, &all);
        assert_eq!((decision.reason, decision.cpu), (Reason::Limit, 4));
        let (target, last) = decision.effects.next_cpu.expect("a scan ends somewhere");
        assert_eq!(target, 4);
        ends.push(last);
        keep(switches, &mut table, &decision);
    }
    // From 5 on: 5 6 7 are probed, 8 ends the scan; the next begins there.
    assert_eq!(ends, [8, 11, 14, 1, 4]);

    // An idle CPU that lies in the window is found, and the next search begins there.
    table.idle.as_mut().unwrap().set(6);
    let decision = search(switches, &table, 4, 4, &all);
    assert_eq!((decision.reason, decision.cpu, decision.effects.next_cpu), (Reason::Scan, 6, Some((4, 6))));

    // Other targets have their own.
    assert_eq!(search(switches, &table, 10, 10, &all).effects.next_cpu, Some((10, 14)));
}

#[test]
fn without_sis_prop_only_the_rotation_remains() {
    let all = CpuMask::full(16);
    let switches = "NO_SIS_PROP,NO_SIS_UTIL,SIS_LIMIT";
    let mut table = idle(&[4]);
    let decision = search(switches, &table, 8, 8, &all);
    assert_eq!(decision.effects.next_cpu, Some((8, 4)));
    keep(switches, &mut table, &decision);
    let table = Table { policies: table.policies, ..idle(&[3]) };
    let decision = search(switches, &table, 8, 8, &all);
    // 4 to 15 and 0 to 3.
    assert_eq!((decision.cpu, decision.effects.next_cpu), (3, Some((8, 3))));
    let usual = search("NO_SIS_PROP,NO_SIS_UTIL", &table, 8, 8, &all);
    assert_eq!((usual.cpu, usual.effects.next_cpu), (3, None));
}

#[test]
fn the_scan_for_an_idle_core_does_not_move_the_window() {
    let mut table = idle(&[3]);
    table.has_idle_cores = true;
    let decision = search("SIS_PROP,NO_SIS_UTIL,SIS_LIMIT", &table, 8, 8, &CpuMask::full(16));
    assert_eq!((decision.reason, decision.cpu, decision.effects.next_cpu), (Reason::CoreCpu, 3, None));
}

#[test]
fn the_oracle_takes_the_previous_cpu_then_an_idle_core_then_the_nearest() {
    let all = CpuMask::full(16);
    let oracle = |table: &Table, allowed: &CpuMask| {
        let decision = search("SIS_ORACLE", table, 9, 4, allowed);
        (decision.reason, decision.cpu)
    };
    // A core (12, 13), the target's sibling 5, the previous CPU 9.
    assert_eq!(oracle(&idle(&[5, 9, 12, 13]), &all), (Reason::Oracle, 9));
    assert_eq!(oracle(&idle(&[5, 12, 13]), &all), (Reason::Oracle, 12));
    assert_eq!(oracle(&idle(&[5, 6, 12]), &all), (Reason::Oracle, 5));
    assert_eq!(oracle(&idle(&[2, 12]), &all), (Reason::Oracle, 12), "from the target on");
    let not_core = CpuMask::from_cpus(16, (0..16).filter(|cpu| ![12, 13].contains(cpu)));
    assert_eq!(oracle(&idle(&[2, 12, 13]), &not_core), (Reason::Oracle, 2));
}

#[test]
fn the_oracle_knows_of_wake_ups_that_no_run_queue_shows() {
    let all = CpuMask::full(16);
    let claimed = Table { claimed: vec![9, 12], ..idle(&[5, 9, 12, 13]) };
    let decision = search("SIS_ORACLE", &claimed, 9, 4, &all);
    assert_eq!(decision.cpu, 5, "the core of 12 and 13 is as good as busy");
    let none = Table { claimed: vec![9], ..idle(&[9]) };
    let decision = search("SIS_ORACLE", &none, 9, 4, &all);
    assert_eq!((decision.reason, decision.cpu, decision.count.failed), (Reason::None, 4, 1));
    let seen = search("NO_SIS_ORACLE", &none, 9, 4, &all);
    assert_eq!((seen.reason, seen.cpu), (Reason::Prev, 9), "a search takes what it sees");
}

/// `this_sd = rcu_dereference(*this_cpu_ptr(&sd_llc)); if (!this_sd) return -1;`: up to 6.0 a waker that shares its
/// cache with nobody scans nothing, whatever features are on.
#[test]
fn a_waker_without_an_llc_domain_scans_nothing_up_to_6_0() {
    let mut topology = Uniform::new(4, 1).topology();
    topology.cpus[0].llc = 99;
    let all = CpuMask::full(4);
    let v6_1 = Preset::names().iter().position(|&name| name == "v6.1").unwrap();
    for (n, kernel) in Preset::all().iter().enumerate() {
        let domains = build_sched_domains(&topology, &DomainOptions::of(kernel)).unwrap();
        assert!(domains.sd_llc(0).is_none() && domains.sd_llc(1).is_some(), "{}", kernel.name);
        let features = kernel.switched(&"NO_SIS_PROP,NO_SIS_UTIL".parse().unwrap()).unwrap();
        let rules = Rules::new(kernel, features, &domains).unwrap();
        let wakeup = Wakeup { waker: Waker::new(0), wakee: Wakee::new(1, &all), flags: WakeFlags::TTWU };
        let table = idle(&[3]);
        let decision = select_idle_sibling(
            &mut Select::default(),
            Cx { rules: &rules, wakeup: &wakeup, view: &table },
            1,
            &mut (),
        );
        let expected = if n < v6_1 { (Reason::Overloaded, 1) } else { (Reason::Scan, 3) };
        assert_eq!((decision.reason, decision.cpu), expected, "{}", kernel.name);
    }
}
