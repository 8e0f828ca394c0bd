//! Searches with one event each, against the plain form: an event for each probe.
//!
//! Random searches run side by side while CPUs go idle and busy, hints, clocks and tasks change, and CPUs become
//! slower.
//! Each has to end at the same time, with the same decision, counts and effects. For more cases:
//! `PROPTEST_CASES=5000000 cargo test --release -p wakelab-sim probe_by_probe`.

use super::*;
use crate::model::Model;
use crate::run::{Mechanisms, Setup};
use crate::system::search_policies::OnlyTask;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wakelab_kernel::{Preset, Switches};
use wakelab_machine::Machine;
use wakelab_sched::domain::{Numbering, Uniform};
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::select::policy::{Hook, HookTask};
use wakelab_sched::select::{AffineDetail, Effects, Reason, Rules, SearchCount, WakeFlags, Wakee, Waker};
use wakelab_workload::{Work, synthetic};

/// A search that is to be made.
#[derive(Clone, Debug)]
struct Planned {
    began: u64,
    waker: Cpu,
    prev: Cpu,
    recent: Cpu,
    affinity: usize,
    idle_policy: bool,
    dur_avg: u64,
    wakes_waker: bool,
    h_load: (u64, u64),
    flips: (u32, u32),
}

/// What changes meanwhile. Numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Change {
    Idle {
        cpu: Cpu,
        idle: bool,
        sched_idle: bool,
    },
    IdleCores {
        llc: u32,
        value: bool,
    },
    IdleScan {
        llc: u32,
        nr: i32,
    },
    Jiffy,
    AvgIdle {
        cpu: Cpu,
        idle_for: u64,
    },
    OnlyTask {
        cpu: Cpu,
        nr_running: u32,
        dur_avg: u64,
    },
    Slower {
        cpu: Cpu,
        slowdown: u64,
    },
    /// The idle task is picked, for policies with state.
    GoesIdle {
        cpu: Cpu,
    },
    /// A task leaves the run queue that sleeps so long on average, ns.
    Sleeps {
        cpu: Cpu,
        sis_rsv_avg: u64,
    },
    /// Another search has found nothing.
    InVain {
        target: Cpu,
    },
}

/// A search in the plain form.
struct Plain<'m> {
    planned: Planned,
    select: Select,
    wakeup: Wakeup<'m>,
    probe: u64,
    wakeup_cost: u64,
    /// The fast paths have been tried at the end of the moment when it began.
    tried: bool,
    end: Option<Ended>,
}

/// When the search ended, ns, what it decided, and the other LLCs whose `has_idle_cores` it clears.
type Ended = (u64, Decision, Vec<Cpu>);

impl<'m> Plain<'m> {
    fn cx<'a>(&'a self, sim: &'a Sim<'m, '_, ()>, rules: &'a Rules<'a>) -> Cx<'a, System<'m>> {
        Cx { rules, wakeup: &self.wakeup, view: &sim.sys }
    }

    fn ends(&mut self, sim: &Sim<'m, '_, ()>, select: &Select, decision: Decision, now: u64) {
        let probes = select.probes();
        let observed = if decision.count.domain_search != 0 { sim.sys.model.observer_cost } else { 0 };
        let end = self.planned.began + u64::from(probes) * self.probe + self.wakeup_cost + observed;
        self.end = Some((end.max(now), decision, select.cleared_idle_cores().to_vec()));
    }

    /// What needs no probe is decided now.
    fn try_fast_paths(&mut self, sim: &mut Sim<'m, '_, ()>, now: u64) {
        if self.end.is_none() && now <= self.planned.began + self.probe {
            sim.sys.probing = (self.planned.began, self.probe);
            let rules = sim.sys.model.rules();
            let mut select = self.select.clone();
            let mut decision = None;
            while decision.is_none() && select.probes() == 0 {
                decision = select.probe(self.cx(sim, &rules), &mut ());
            }
            if let Some(decision) = decision
                && select.probes() == 0
            {
                self.ends(sim, &select, decision, now);
            }
        }
    }

    /// Makes the probes whose moments are before `time`.
    fn probe_before(&mut self, sim: &mut Sim<'m, '_, ()>, time: u64) {
        if !self.tried && self.planned.began < time {
            self.tried = true;
            self.try_fast_paths(sim, self.planned.began);
        }
        while self.end.is_none() && self.planned.began + u64::from(self.select.probes() + 1) * self.probe < time {
            sim.sys.probing = (self.planned.began, self.probe);
            let rules = sim.sys.model.rules();
            let cx = Cx { rules: &rules, wakeup: &self.wakeup, view: &sim.sys };
            if let Some(decision) = self.select.probe(cx, &mut ()) {
                let select = std::mem::take(&mut self.select);
                self.ends(sim, &select, decision, 0);
            }
        }
    }
}

fn machines() -> Vec<Machine> {
    let of = |shape: Uniform| Machine { topology: shape.topology(), ..wakelab_machine::get("test-8c").expect("one") };
    let split = |cores, threads| Uniform { numbering: Numbering::Split, ..Uniform::new(cores, threads) };
    vec![
        of(split(12, 2)),
        of(Uniform::new(12, 2)),
        of(Uniform { llcs: 2, ..split(6, 2) }),
        of(Uniform { packages: 2, nodes: 2, ..split(5, 2) }),
        of(Uniform::new(20, 1)),
        of(Uniform { llcs: 3, ..Uniform::new(4, 1) }),
        of(Uniform { llcs: 6, ..split(3, 2) }),
        of(Uniform::new(5, 4)),
        of(Uniform { cluster_cores: Some(4), ..Uniform::new(12, 1) }),
        of(Uniform { cluster_cores: Some(3), ..split(9, 2) }),
        of(split(70, 2)),
        of(Uniform::new(150, 1)),
        wakelab_machine::get("pixel6").expect("one"),
    ]
}

fn wakeup_of<'m>(model: &'m Model<'m>, planned: &Planned) -> Wakeup<'m> {
    let mask = &model.masks[if planned.affinity == 0 { 0 } else { (model.masks.len() - planned.affinity) as u32 }];
    Wakeup {
        waker: Waker { wakee_flips: planned.flips.0, h_load: planned.h_load.0, ..Waker::new(planned.waker) },
        wakee: Wakee {
            recent_used_cpu: Some(planned.recent),
            wakee_flips: planned.flips.1,
            h_load: planned.h_load.1,
            idle_policy: planned.idle_policy,
            dur_avg: planned.dur_avg,
            wakes_waker: planned.wakes_waker,
            util_avg: planned.h_load.1 % 1025,
            ..Wakee::new(planned.prev, mask)
        },
        flags: WakeFlags::TTWU,
    }
}

fn make<S: Sink>(sim: &mut Sim<'_, '_, S>, change: &Change) {
    let (nr, llcs) = (sim.sys.model.nr_cpus(), sim.sys.llcs.len() as u32);
    match *change {
        Change::Idle { cpu, idle, sched_idle } => {
            let sched_idle = sched_idle && !idle && sim.sys.idle.may_be_sched_idle();
            sim.set_idle(cpu % nr, idle, sched_idle);
        }
        Change::IdleCores { llc, value } => sim.set_idle_cores(llc % llcs, value),
        Change::IdleScan { llc, nr } => sim.set_nr_idle_scan(llc % llcs, nr),
        Change::Jiffy => sim.next_jiffy(),
        Change::AvgIdle { cpu, idle_for } => {
            sim.sys.cpus[cpu % nr].idle_stamp = sim.sys.now.saturating_sub(idle_for).max(1);
            sim.update_rq_avg_idle(cpu % nr);
        }
        Change::OnlyTask { cpu, nr_running, dur_avg } => sim.set_only_task(cpu % nr, OnlyTask { nr_running, dur_avg }),
        Change::GoesIdle { cpu } => sim.hook(Hook::Idle, cpu % nr),
        Change::Sleeps { cpu, sis_rsv_avg } => {
            let task = HookTask { task: 0, sleep: true, idle_policy: false, sum_exec_runtime: 0, sis_rsv_avg };
            sim.hook(Hook::Dequeue(task), cpu % nr);
        }
        Change::InVain { target } => sim.hook_decision(&Decision {
            cpu: target % nr,
            reason: Reason::None,
            target: target % nr,
            affine: AffineDetail::NOT_ASKED,
            effects: Effects::default(),
            count: SearchCount::default(),
        }),
        Change::Slower { cpu, slowdown } => sim.sys.cpus[cpu % nr].slowdown = slowdown,
    }
}

/// Makes the searches in both forms, and returns how each ended in the plain one and with one event.
fn both(model: &Model<'_>, setup: &Setup<'_>, planned: &[Planned], changes: &[(u64, Change)]) -> Vec<[Ended; 2]> {
    let (mut sink, mut other) = ((), ());
    let mut plain = Sim::new(model, setup, &mut sink);
    let mut sim = Sim::new(model, setup, &mut other);
    let mut searches: Vec<Plain<'_>> = Vec::new();
    let mut ended: Vec<Option<Ended>> = vec![None; planned.len()];
    let begins = planned.iter().map(|planned| (planned.began, None, Some(planned)));
    let mut steps: Vec<_> = changes.iter().map(|(time, change)| (*time, Some(change), None)).chain(begins).collect();
    steps.sort_by_key(|step| step.0);
    steps.push((u64::MAX, None, None));
    for (time, change, begin) in steps {
        for search in &mut searches {
            search.probe_before(&mut plain, time);
        }
        for (n, search) in searches.iter().enumerate() {
            let cpu = search.planned.waker;
            if ended[n].is_none() && sim.timeline.get(cpu) < time {
                let (end, decision) = (sim.timeline.get(cpu), sim.take_search(cpu));
                let cleared = sim.searches[cpu].cleared_idle_cores(&decision).to_vec();
                ended[n] = Some((end, decision, cleared));
            }
        }
        (plain.sys.now, sim.sys.now) = (time, time);
        if let Some(change) = change {
            make(&mut plain, change);
            make(&mut sim, change);
            for search in searches.iter_mut().filter(|search| search.tried) {
                search.try_fast_paths(&mut plain, time);
            }
        }
        if let Some(planned) = begin {
            let wakeup = wakeup_of(model, planned);
            let (cpu, rules) = (planned.waker, model.rules());
            sim.begin_search(cpu, Waking::of(TaskId(0), None, true, false), wakeup);
            let [probe, wakeup_cost] = [model.costs.probe, model.costs.wakeup].map(|cost| plain.slowed(cpu, cost));
            let mut select = Select::default();
            let mut decision = select.start(&rules, &wakeup, &mut ());
            while decision.is_none() && select.reads_averages() {
                decision = select.probe(Cx { rules: &rules, wakeup: &wakeup, view: &plain.sys }, &mut ());
            }
            let end = decision.map(|decision| (time + wakeup_cost, decision, Vec::new()));
            let planned = planned.clone();
            searches.push(Plain { planned, select, wakeup, probe, wakeup_cost, tried: false, end });
        }
    }
    let ends = searches.iter().map(|search| search.end.clone().expect("the plain search ended"));
    ends.zip(ended).map(|(plain, ended)| [plain, ended.expect("the search ended")]).collect()
}

const SWITCHES: &[&str] = &[
    "",
    "SIS_PROP,NO_SIS_UTIL",
    "NO_SIS_PROP,SIS_UTIL",
    "NO_SIS_PROP,NO_SIS_UTIL",
    "NO_SIS_CORE",
    "SIS_PROP,NO_SIS_UTIL,SIS_LIMIT",
    "NO_SIS_PROP,SIS_UTIL,SIS_SHORT",
    "SIS_PROP,SIS_UTIL,SIS_SHORT",
    "SIS_UTIL,SIS_FILTER",
    "SIS_ORACLE",
    "NO_SIS_PROP,SIS_LIMIT",
    "NO_SIS_PROP,SIS_UTIL,SIS_SHORT_V6",
    "SIS_UTIL,SIS_CURRENT",
    "NO_SIS_PROP,SIS_UTIL,SIS_EFF_IDLE_CORE",
    "NO_SIS_PROP,SIS_UTIL,SIS_EFF_CORE_LIMIT",
    "NO_SIS_PROP,SIS_UTIL,SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY",
    "NO_SIS_PROP,SIS_UTIL,SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY,SIS_EFF_FILTER",
    "NO_SIS_CLUSTER",
    "NO_SIS_PROP,SIS_UTIL,SIS_CLUSTER_V5",
    "SIS_PROP,NO_SIS_UTIL,SIS_CLUSTER_V7",
    "NO_SIS_PROP,SIS_UTIL,SIS_CLUSTER_V8",
    "NO_SIS_PROP,SIS_UTIL,SIS_CLUSTER_V9",
    "NO_SIS_PROP,SIS_UTIL,SIS_CLUSTER_V10,SIS_FILTER",
    "NO_SIS_PROP,SIS_UTIL,SIS_CACHE",
    "SIS_PROP,NO_SIS_UTIL,SIS_CACHE,SIS_NODE",
    "SIS_SINGLE_PASS",
    "NO_SIS_PROP,SIS_UTIL,SIS_PARAM",
    "NO_SIS_PROP,SIS_UTIL,SIS_NODE",
    "SIS_PROP,NO_SIS_UTIL,SIS_NODE_LIMIT",
    "NO_SIS_PROP,SIS_UTIL,SIS_FILTER,SIS_NODE_TOPOEXT,SIS_NODE_PAIR",
];

prop_compose! {
    fn searches()(
        list in prop::collection::vec(
            (
                (0u64..400, 0u32..160, 0u32..160, 0u32..160),
                (prop_oneof![4 => Just(0), 1 => 1usize..4], prop::bool::weighted(0.2), 0u64..60_000),
                ((0u64..2000, 0u64..2000), (0u32..40, 0u32..40)),
            ),
            1..6,
        ),
    ) -> Vec<Planned> {
        list.into_iter()
            .map(|((began, waker, prev, recent), (affinity, idle_policy, dur_avg), (h_load, flips))| Planned {
                began,
                waker,
                prev,
                recent,
                affinity,
                idle_policy,
                dur_avg: dur_avg.saturating_sub(20_000),
                wakes_waker: h_load.0.is_multiple_of(2),
                h_load,
                flips: if h_load.0.is_multiple_of(4) { (0, 0) } else { flips },
            })
            .collect()
    }
}

fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
    let cpu = 0u32..160;
    let limits = prop::sample::select(vec![0, 1, 2, 5, 12, 40]);
    let change = prop_oneof![
        12 => (cpu.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(cpu, idle, sched_idle)| Change::Idle { cpu, idle, sched_idle }),
        1 => (0u32..4, any::<bool>()).prop_map(|(llc, value)| Change::IdleCores { llc, value }),
        1 => (0u32..4, limits).prop_map(|(llc, nr)| Change::IdleScan { llc, nr }),
        1 => Just(Change::Jiffy),
        1 => (cpu.clone(), 1u64..2_000_000).prop_map(|(cpu, idle_for)| Change::AvgIdle { cpu, idle_for }),
        1 => (cpu.clone(), 0u32..3, 0u64..60_000).prop_map(|(cpu, nr_running, dur_avg)| {
            Change::OnlyTask { cpu, nr_running, dur_avg: dur_avg.saturating_sub(20_000) }
        }),
        1 => cpu.clone().prop_map(|cpu| Change::GoesIdle { cpu }),
        2 => (cpu.clone(), 1u64..4_000).prop_map(|(cpu, sis_rsv_avg)| Change::Sleeps { cpu, sis_rsv_avg }),
        1 => cpu.clone().prop_map(|target| Change::InVain { target }),
        1 => (cpu, 100u64..250).prop_map(|(cpu, slowdown)| Change::Slower { cpu, slowdown }),
    ];
    prop::collection::vec((0u64..4_000, change), 0..60)
}

/// Runs one case: `busy` are per cent of the CPUs that are busy at first.
fn check(
    (machine, kernel, switches): (usize, &'static Preset, &str),
    (busy, with_idle_tasks, observer_cost, seed): (u32, bool, u64, u64),
    mut planned: Vec<Planned>,
    changes: &[(u64, Change)],
) -> Result<usize, TestCaseError> {
    let machine = &machines()[machine];
    let nr = machine.topology.nr_cpus();
    let work = Work::uniform(1000, 0);
    let mut workload = synthetic::run_sleep(4, work, work);
    for (n, task) in (1..).zip(&mut workload.tasks[1..]) {
        task.affinity = Some((0..nr).filter(|cpu| (cpu * 7 + n) % 5 < 4 - n % 3).collect());
    }
    workload.tasks[0].idle_policy = with_idle_tasks;
    let Ok(switches) = switches.parse::<Switches>() else { return Ok(0) };
    let setup = Setup {
        machine,
        kernel,
        features: switches.on(kernel.features),
        workload: &workload,
        seed,
        until: 0,
        mechanisms: Mechanisms { noise: false, ..Mechanisms::default() },
        observer_cost,
        pm: None,
        scheduler: None,
    };
    let Ok(domains) = crate::model::domains(machine, kernel, switches.on(kernel.features)) else { return Ok(0) };
    let Ok(model) = Model::new(&setup, &domains) else { return Ok(0) };
    // A CPU makes one search at a time.
    let mut by_waker = BTreeMap::new();
    for search in planned.drain(..) {
        let (waker, prev, recent) = (search.waker % nr, search.prev % nr, search.recent % nr);
        by_waker.insert(waker, Planned { waker, prev, recent, ..search });
    }
    let mut planned: Vec<_> = by_waker.into_values().collect();
    planned.sort_by_key(|search| search.began);
    let mut random = crate::engine::Random::new(seed);
    let mut all = Vec::new();
    for cpu in 0..nr {
        if random.below(100) < u64::from(busy) {
            all.push((0, Change::Idle { cpu, idle: false, sched_idle: random.below(5) == 0 }));
        }
    }
    all.extend(changes.iter().cloned());
    let ended = both(&model, &setup, &planned, &all);
    for (search, [plain, ended]) in planned.iter().zip(&ended) {
        prop_assert_eq!(plain, ended, "{:?} on {}", search, kernel.name);
    }
    Ok(ended.len())
}

/// How many cases are tried: 2,500 with about 6,000 searches, or `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(2_500), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn a_search_with_one_event_ends_as_one_with_an_event_for_each_probe(
        what in (0usize..13, prop::sample::select(Preset::all()), prop::sample::select(SWITCHES)),
        how in (
            prop::sample::select(vec![0u32, 60, 85, 95, 100]),
            prop::bool::weighted(0.2),
            prop::sample::select(vec![0, 300]),
            any::<u64>(),
        ),
        planned in searches(),
        changes in changes(),
    ) {
        check(what, how, planned, &changes)?;
    }
}
