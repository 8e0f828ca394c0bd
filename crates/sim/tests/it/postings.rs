//! What patches that were posted, and never merged as they were, do in simulated time: that their state is kept and
//! read. Their decisions are tested in the package wakelab-sched.

use crate::support::{MS, back, ns, workload};
use std::collections::BTreeMap;
use wakelab_events::Digest;
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_kernel::{Preset, Setting, Switches};
use wakelab_machine::Machine;
use wakelab_pm::governor::governor;
use wakelab_pm::idle::IDLE_GOVERNORS;
use wakelab_sched::select::Reason;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, PmSide, Setup, run_dyn};
use wakelab_workload::{Load, Op, Workload, build};

/// Runs with these switches, and tunables on top.
fn simulate(
    machine: &Machine,
    kernel: &str,
    switches: &str,
    workload: &Workload,
    (until, pm): (u64, Option<PmSide>),
    sink: &mut impl Sink,
) {
    let switches: Switches = switches.parse().expect("switches");
    let kernel = Preset::get(kernel).expect("a preset").with_settings(switches.settings()).expect("tunables");
    let features = kernel.switched(&switches).expect("features");
    let mechanisms = Mechanisms { noise: false, ..Mechanisms::default() };
    let setup = Setup {
        machine,
        kernel: &kernel,
        features,
        workload,
        seed: 1,
        until,
        mechanisms,
        observer_cost: 0,
        pm,
        scheduler: None,
    };
    run_dyn(&setup, sink, &Default::default()).expect("a run");
}

fn netperf(machine: &Machine, load: Load) -> Workload {
    build("netperf:TCP_RR", load, machine.topology.nr_cpus(), &BTreeMap::from([("ramp".to_owned(), 1_000_000)]))
        .expect("a workload")
}

/// Wake-ups by what a search was made for.
#[derive(Default)]
struct Heard {
    llcs: Vec<u32>,
    /// Placed in another LLC than the target's.
    elsewhere: u32,
    /// Of those that were placed in another LLC than the waker's: enqueued by the waker.
    far_direct: u32,
    far: u32,
    current: u32,
}

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        let Event::Wakeup { waker_cpu, cpu, queued, decision: Some(decision), .. } = *event else { return };
        let llc = |cpu: u32| self.llcs[cpu as usize];
        self.elsewhere += u32::from(llc(cpu) != llc(decision.target));
        let far = llc(cpu) != llc(waker_cpu);
        self.far += u32::from(far);
        self.far_direct += u32::from(far && queued == Queued::Direct);
        self.current += u32::from(decision.reason == Reason::CurrentCpu);
    }
}

fn heard(machine: &str, switches: &str, load: Load, until: u64) -> Heard {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let mut heard = Heard { llcs: machine.topology.cpus.iter().map(|cpu| cpu.llc).collect(), ..Heard::default() };
    simulate(&machine, "v6.1", switches, &netperf(&machine, load), (until, None), &mut heard);
    heard
}

#[test]
fn sis_node_places_wakees_in_other_llcs_and_ttwu_by_node_enqueues_them_directly() {
    let heard = |switches: &str| heard("test-2llc", switches, Load::Percent(150), 40 * MS);
    let (without, node) = (heard(""), heard("SIS_NODE"));
    assert_eq!(without.elsewhere, 0);
    assert!(node.elsewhere > 0);
    assert!(node.far > 0 && node.far_direct == 0, "{}", node.far_direct);
    assert!(heard("SIS_NODE,TTWU_BY_NODE").far_direct > 0);
}

/// The first wake-up of each is a flip, which is forgotten after a second.
#[test]
fn a_pair_of_short_tasks_is_stacked_after_a_second() {
    let pair = |switches: &str, until: u64| heard("test-8c", switches, Load::Instances(1), until).current;
    assert_eq!([pair("", 1100 * MS), pair("SIS_CURRENT", 900 * MS)], [0, 0]);
    assert!(pair("SIS_CURRENT", 1100 * MS) > 1000);
}

#[test]
fn each_posting_changes_a_run() {
    let digest = |machine: &str, kernel: &str, switches: &str| {
        let machine = wakelab_machine::get(machine).expect("a machine");
        let mut digest = Digest::default();
        simulate(&machine, kernel, switches, &netperf(&machine, Load::Percent(150)), (30 * MS, None), &mut digest);
        digest.finish()
    };
    const BUSY: &str = "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT,SIS_EFF_BUSY";
    for (machine, kernel, base, with) in [
        ("test-8c", "v6.12", "", "SIS_CACHE"),
        ("test-8c", "v5.10", "", "SIS_SINGLE_PASS"),
        ("test-8c", "v5.19-rc2-tip", "SIS_UTIL,NO_SIS_PROP", BUSY),
        ("test-8c", "v5.19-rc2-tip", BUSY, "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT,SIS_EFF_BUSY,SIS_EFF_FILTER"),
        ("test-8c", "v6.12", "", "NI_MIGRATION_COST_GATE"),
        ("test-8c", "v6.1", "", "pelt_multiplier=2"),
    ] {
        let [base_run, with_run] = [base, with].map(|switches| digest(machine, kernel, switches));
        assert_ne!(base_run, with_run, "{kernel}: {base} against {with}");
        assert_eq!(with_run, digest(machine, kernel, with), "{with}");
    }
}

/// A task that sleeps for 80 ms and computes for 200.
fn burst(cpu: u32) -> Workload {
    workload(vec![vec![Op::Sleep(ns(80 * MS)), Op::Run(ns(200 * MS)), back(0, 0)]], &[], Some(vec![cpu]))
}

#[test]
fn pelt_rises_faster_with_a_multiplier() {
    let machine = wakelab_machine::get("test-1c").expect("a machine");
    let after = |multiplier: &str| {
        let setting = Setting::new("pelt_multiplier", multiplier).expect("a setting");
        let kernel = Preset::get("v6.1").expect("a preset").with_settings([setting]).expect("a tunable");
        let workload = workload(vec![vec![Op::Run(ns(500 * MS)), back(0, 0)]], &[], None);
        let mechanisms = Mechanisms { noise: false, ramp: false, ..Mechanisms::default() };
        let features = kernel.features;
        let (machine, kernel, workload) = (&machine, &kernel, &workload);
        let setup = Setup {
            machine,
            kernel,
            features,
            workload,
            seed: 1,
            until: 0,
            mechanisms,
            observer_cost: 0,
            pm: None,
            scheduler: None,
        };
        let mut utils = Vec::new();
        observe(&setup, &mut (), [32 * MS, 400 * MS], |snapshot, ()| {
            utils.push(snapshot.tasks().next_back().expect("a task").avg.util_avg);
        })
        .expect("a run");
        utils
    };
    let [one, two, four] = ["1", "2", "4"].map(after);
    assert!(one[0] + 60 < two[0] && two[0] + 30 < four[0], "{one:?} {two:?} {four:?}");
    assert!([&one, &two, &four].iter().all(|utils| utils[1] > 1000), "{one:?} {two:?} {four:?}");
}

/// When a CPU's clock first came to this frequency, ns.
struct Reaches(u32, u64, Option<u64>);

impl Sink for Reaches {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if let Event::Frequency { cpu, khz } = *event
            && cpu == self.0
            && u64::from(khz) >= self.1
        {
            self.2.get_or_insert(time);
        }
    }
}

#[test]
fn schedutil_comes_to_a_high_frequency_sooner_with_util_est_faster() {
    let machine = wakelab_machine::get("pixel6").expect("a machine");
    let high = machine.frequencies.iter().find(|policy| policy.cpus.test(6)).expect("a policy").max_khz * 3 / 4;
    let side = PmSide::of(governor("schedutil").expect("a governor"), &IDLE_GOVERNORS[0]);
    let reached = |switches: &str| {
        let mut sink = Reaches(6, high, None);
        simulate(&machine, "v5.18-eas", switches, &burst(6), (250 * MS, Some(side)), &mut sink);
        sink.2.expect("it comes there")
    };
    let base = reached("");
    assert!(reached("UTIL_EST_FASTER") + 10 * MS < base);
    assert!(reached("pelt_multiplier=4") + 10 * MS < base);
    assert_eq!(reached("UTIL_EST_FASTER,NO_UTIL_EST_FASTER_FREQ,NO_UTIL_EST_FASTER_LB,NO_UTIL_EST_FASTER_OU"), base);
}
