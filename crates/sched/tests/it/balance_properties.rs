//! What a pass must be on any machine and in any state: a second implementation.

use crate::balance_reference::{self, Config, Sd, Version, load_balance};
use crate::support::balance::{CpuState, NOW, State, TaskState, domains_of};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use wakelab_kernel::{Feature, FeatureSet};
use wakelab_sched::CpuMask;
use wakelab_sched::balance::*;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{CpuTopology, SchedDomains, SdFlags, Topology, Uniform};
use wakelab_sched::runqueue::TaskId;

/// Cases that fail are kept beside this file.
fn config(cases: u32) -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    let from_env = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: from_env.unwrap_or(cases),
        failure_persistence: Some(Box::new(beside)),
        ..ProptestConfig::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Machine {
    packages: u32,
    llcs: u32,
    cores: u32,
    threads: u32,
    cluster: bool,
    /// Four nodes in a row, whose NUMA groups overlap.
    row: bool,
    /// Of each LLC's cores, the odd ones have one CPU only.
    mixed: bool,
}

fn machine() -> impl Strategy<Value = Machine> {
    let threads = prop::sample::select(vec![1u32, 2, 2, 4]);
    let cores = prop::sample::select(vec![1u32, 2, 2, 4, 6]);
    (1u32..=2, 1u32..=2, cores, threads, any::<bool>(), 0u32..5, prop::bool::weighted(0.2)).prop_map(
        |(packages, llcs, cores, threads, cluster, row, mixed)| {
            let cluster = cluster && cores % 2 == 0;
            // A single CPU has no domain.
            let threads = if packages * llcs * cores == 1 { threads.max(2) } else { threads };
            Machine { packages, llcs, cores, threads, cluster, row: row == 0, mixed }
        },
    )
}

impl Machine {
    fn topology(self) -> Topology {
        if self.row {
            let per_node = self.cores.min(2) * self.threads;
            let cpu = |n: u32| {
                let (node, core) = (n / per_node, n / self.threads);
                CpuTopology { core, cluster: None, llc: node, die: node, package: node, node, capacity: 1024 }
            };
            let row = |from: u32| (0..4).map(|to: u32| 10 * (1 + from.abs_diff(to))).collect();
            return Topology { cpus: (0..4 * per_node).map(cpu).collect(), node_distance: (0..4).map(row).collect() };
        }
        let mut topology = Uniform {
            packages: self.packages,
            llcs: self.llcs,
            nodes: self.packages,
            cluster_cores: self.cluster.then_some(2),
            ..Uniform::new(self.cores, self.threads)
        }
        .topology();
        if self.mixed && self.cores > 1 && !self.cluster {
            let mut seen = BTreeSet::new();
            topology.cpus.retain(|cpu| cpu.core % 2 == 0 || seen.insert((cpu.package, cpu.llc, cpu.core)));
        }
        topology
    }

    /// Its domains in 6.1 or in 7.2, built once.
    fn domains(self, version: Version) -> Rc<SchedDomains> {
        thread_local!(static BUILT: RefCell<HashMap<(Machine, bool), Rc<SchedDomains>>> = RefCell::default());
        let new = version >= Version::V6_12;
        let kernel = if new { "v7.2" } else { "v6.1" };
        let build = || Rc::new(domains_of(&self.topology(), kernel));
        BUILT.with_borrow_mut(|built| built.entry((self, new)).or_insert_with(build).clone())
    }
}

/// How busy a CPU is made.
#[derive(Clone, Debug)]
struct RawCpu {
    tasks: Vec<RawTask>,
    other: u32,
    /// Averages, in per cent of what the tasks would come to.
    level: [u64; 4],
    reduced: Option<u64>,
    ttwu_pending: bool,
    active_balance: bool,
    runs: bool,
    buddy: Option<usize>,
}

#[derive(Clone, Debug)]
struct RawTask {
    /// `None`: any CPU. Else the CPUs of these bits, repeated over the machine, and its own.
    cpus: Option<u8>,
    kind: u8,
    age: u64,
    h_load: u64,
    util_est: u64,
}

/// Kinds of system, so that every type of group and of migration comes up.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    Sparse,
    Mixed,
    Full,
}

fn raw_task(pinned: u32) -> impl Strategy<Value = RawTask> {
    let cpus = prop_oneof![(100 - pinned) => Just(None), pinned => any::<u8>().prop_map(Some)];
    let age = prop_oneof![3 => 1_000_000u64..20_000_000, 1 => 0u64..600_000];
    let load = prop_oneof![6 => 0u64..1100, 1 => 0u64..20, 1 => 1024u64..90_000];
    (cpus, 0u8..24, age, load, 0u64..1024).prop_map(|(cpus, kind, age, h_load, util_est)| RawTask {
        cpus,
        kind,
        age,
        h_load,
        util_est,
    })
}

fn raw_cpu(crowd: Crowd, pinned: u32) -> impl Strategy<Value = RawCpu> {
    let weights = match crowd {
        Crowd::Sparse => [10, 5, 2, 1, 0],
        Crowd::Mixed => [5, 5, 5, 3, 1],
        Crowd::Full => [1, 4, 6, 5, 1],
    };
    let nr = prop_oneof![
        weights[0] => Just(0usize),
        weights[1] => Just(1usize),
        weights[2] => 2usize..3,
        weights[3] => 2usize..6,
        weights[4] => 30usize..80,
    ];
    let tasks = nr.prop_flat_map(move |nr| prop::collection::vec(raw_task(pinned), nr));
    let other = prop_oneof![12 => Just(0u32), 1 => 1u32..3];
    let reduced = prop_oneof![5 => Just(None), 1 => (1u64..1024).prop_map(Some)];
    let level = prop::array::uniform4(prop_oneof![2 => Just(100), 2 => 80u64..120, 1 => 0u64..250]);
    let rare = || prop::bool::weighted(0.05);
    (tasks, other, level, reduced, rare(), rare(), prop::bool::weighted(0.95), prop::option::of(0usize..4)).prop_map(
        |(tasks, other, level, reduced, ttwu_pending, active_balance, runs, buddy)| RawCpu {
            tasks,
            other,
            level,
            reduced,
            ttwu_pending,
            active_balance,
            runs,
            buddy,
        },
    )
}

const VERSIONS: [Version; 7] =
    [Version::V5_10, Version::V5_18, Version::Tip, Version::V6_1, Version::V6_12, Version::V7_2, Version::V7_3];

/// One pass.
#[derive(Clone, Debug)]
struct Case {
    machine: Machine,
    cpus: Vec<RawCpu>,
    util_est: bool,
    version: Version,
    features: [bool; 3],
    balance_running: bool,
    migration_cost: u32,
    nr_migrate: u32,
    preemption: bool,
    dst_cpu: u32,
    level: usize,
    idle: CpuIdleType,
    failed: u32,
    interval: u64,
    imbalanced: u64,
    dst_is_empty: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let crowd = prop::sample::select(vec![Crowd::Sparse, Crowd::Mixed, Crowd::Full]);
    let pinned = prop::sample::select(vec![0u32, 3, 30, 95]);
    let world = (machine(), crowd, pinned).prop_flat_map(|(machine, crowd, pinned)| {
        let nr_cpus = machine.topology().nr_cpus() as usize;
        (Just(machine), prop::collection::vec(raw_cpu(crowd, pinned), nr_cpus))
    });
    let version = prop::sample::select(VERSIONS.to_vec());
    let migration_cost = prop::sample::select(vec![0u32, 500_000, 500_000, 5_000_000, u32::MAX]);
    let nr_migrate = prop::sample::select(vec![32u32, 32, 32, 3, 64, 100]);
    let idle = prop::sample::select(vec![CpuIdleType::Idle, CpuIdleType::NotIdle, CpuIdleType::NewlyIdle]);
    let failed = prop_oneof![4 => Just(0u32), 3 => 0u32..8, 1 => Just(100u32)];
    let imbalanced = prop_oneof![3 => Just(0u64), 1 => any::<u64>()];
    let rules = (version, any::<[bool; 3]>(), migration_cost, nr_migrate, any::<bool>());
    let pass = (any::<u32>(), any::<usize>(), idle, failed, 0u32..5, imbalanced, prop::bool::weighted(0.7));
    let running = prop::bool::weighted(0.1);
    (world, rules, pass, any::<bool>(), running).prop_map(
        |((machine, cpus), rules, pass, util_est, balance_running)| {
            let (version, features, migration_cost, nr_migrate, preemption) = rules;
            let (dst_cpu, level, idle, failed, doubled, imbalanced, dst_is_empty) = pass;
            let domains = machine.domains(version);
            let dst_cpu = dst_cpu % domains.nr_cpus;
            let chain = &domains.domains[dst_cpu as usize];
            let level = level % chain.len();
            let weight = chain[level].span_weight;
            Case {
                machine,
                cpus,
                util_est,
                version,
                features,
                balance_running,
                migration_cost,
                nr_migrate,
                preemption,
                dst_cpu,
                level,
                idle,
                failed,
                interval: u64::from(weight) << doubled,
                imbalanced,
                dst_is_empty,
            }
        },
    )
}

impl Case {
    fn state(&self) -> State {
        let nr_cpus = self.cpus.len() as u32;
        let mut state = State::idle(nr_cpus);
        state.util_est = self.util_est;
        state.balance_running = self.balance_running;
        for (cpu, raw) in (0..).zip(&self.cpus) {
            // Mostly, a CPU that pulls because it is idle is.
            if cpu == self.dst_cpu && self.dst_is_empty && self.idle != CpuIdleType::NotIdle {
                continue;
            }
            self.fill(&mut state, cpu, raw);
        }
        for (cpu, domains) in self.machine.domains(self.version).domains.iter().enumerate() {
            for (level, sd) in domains.iter().enumerate() {
                let own = sd.groups[sd.first_group as usize].group_balance_cpu();
                if self.imbalanced >> ((cpu * 7 + level) % 64) & 1 != 0 {
                    state.imbalanced.insert((level, own));
                }
            }
        }
        state
    }

    fn fill(&self, state: &mut State, cpu: Cpu, raw: &RawCpu) {
        let nr_cpus = self.cpus.len() as u32;
        let mut ids = Vec::new();
        for task in &raw.tasks {
            let cpus = match task.cpus {
                None => CpuMask::full(nr_cpus),
                Some(bits) => {
                    let allowed = |&other: &Cpu| other == cpu || bits >> (other % 8) & 1 != 0;
                    CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(allowed))
                }
            };
            ids.push(TaskId(state.tasks.len() as u32));
            state.tasks.push(TaskState {
                cpus,
                on_cpu: false,
                kthread: task.kind == 0,
                idle_policy: task.kind == 1,
                exec_start: if task.kind == 2 { NOW + task.age } else { NOW - task.age },
                h_load: task.h_load,
                util_est: task.util_est,
                delayed: matches!(task.kind, 3 | 4) || (!raw.runs && raw.level[1].is_multiple_of(2)),
                eligible: task.kind % 3 != 2,
            });
        }
        let nr = ids.len() as u64;
        if let Some(&last) = ids.last()
            && raw.runs
        {
            state.task(last).on_cpu = true;
            state.task(last).delayed = false;
        }
        let [load, util, util_est, runnable] = raw.level;
        state.cpus[cpu as usize] = CpuState {
            buddy: raw.buddy.and_then(|n| ids.get(n).copied()),
            tasks: ids,
            other: raw.other,
            // Blocked tasks leave some.
            load: if nr == 0 { 20 * load.saturating_sub(100) } else { nr * 1024 * load / 100 },
            util: nr.min(1) * 1024 * util / 100,
            util_est: nr * 512 * util_est / 100,
            runnable: nr * 1024 * runnable / 100,
            capacity: raw.reduced.unwrap_or(1024),
            capacity_orig: 1024,
            ttwu_pending: raw.ttwu_pending,
            active_balance: raw.active_balance,
            clock: NOW,
            curr_leaves: raw.level[0].is_multiple_of(16),
            misfit_task_load: 0,
            uclamp: (0, 1024),
        };
    }

    fn rules(&self) -> BalanceRules {
        match self.version {
            Version::V5_10 => BalanceRules::V5_10,
            Version::V5_18 => BalanceRules::V5_18,
            Version::Tip => BalanceRules::V5_19_RC2_TIP,
            Version::V6_1 => BalanceRules::V6_1,
            Version::V6_12 => BalanceRules::V6_12,
            Version::V7_2 => BalanceRules::V7_2,
            Version::V7_3 => BalanceRules::V7_3,
        }
    }

    fn features(&self) -> FeatureSet {
        let [cache_hot_buddy, lb_min, place_lag] = self.features;
        FeatureSet::EMPTY
            .with(Feature::CACHE_HOT_BUDDY, cache_hot_buddy)
            .with(Feature::LB_MIN, lb_min)
            .with(Feature::PLACE_LAG, place_lag)
            .with(Feature::RUNNABLE_BOOST, self.version >= Version::V6_12)
            .with(Feature::RUNNABLE_BOOST_LB, true)
    }

    fn reference(&self, state: &State) -> balance_reference::Result {
        let config = Config {
            version: self.version,
            cache_hot_buddy: self.features[0],
            lb_min: self.features[1],
            place_lag: self.features[2],
            migration_cost: self.migration_cost,
            nr_migrate: self.nr_migrate,
            preemption: self.preemption,
        };
        let sd = Sd { balance_interval: self.interval, nr_balance_failed: self.failed };
        load_balance(config, &self.machine.domains(self.version), state, self.dst_cpu, self.level, self.idle, sd)
    }

    fn plan(&self, state: &State) -> (Plan, balance_reference::Result) {
        self.plan_by(self.rules(), self.features(), state)
    }

    fn balance<'a>(&self, rules: BalanceRules, features: FeatureSet, domains: &'a SchedDomains) -> Balance<'a> {
        let tunables = BalanceTunables {
            migration_cost: self.migration_cost,
            nr_migrate: self.nr_migrate,
            preemption: self.preemption,
            hz: 1000,
        };
        Balance::new(rules, features, tunables, domains).unwrap()
    }

    /// The pass, and its result in the reference's form.
    fn plan_by(&self, rules: BalanceRules, features: FeatureSet, state: &State) -> (Plan, balance_reference::Result) {
        let domains = self.machine.domains(self.version);
        let balance = self.balance(rules, features, &domains);
        let sd = balance.sd(self.dst_cpu, self.level);
        let before =
            SdBalance { balance_interval: self.interval, nr_balance_failed: self.failed, ..SdBalance::new(sd, 0) };
        let plan = plan_balance(state, &balance, self.dst_cpu, self.level, self.idle, &before);
        let mut after = before;
        after.tune(sd, self.idle, &plan);

        let mut lists: Vec<CfsTasks> = state.cpus.iter().map(|_| CfsTasks::new()).collect();
        for (list, c) in lists.iter_mut().zip(&state.cpus) {
            c.tasks.iter().for_each(|&task| list.enqueue(task));
        }
        let cpu_of = |task: TaskId| state.cpus.iter().position(|c| c.tasks.contains(&task)).unwrap();
        for &task in &plan.skipped {
            lists[cpu_of(task)].move_to_head(task);
        }
        for moved in &plan.moves {
            lists[cpu_of(moved.task)].dequeue(moved.task);
        }
        let mut imbalanced = state.imbalanced.clone();
        if let Some(set) = plan.parent_imbalance {
            let parent = balance.sd(self.dst_cpu, self.level + 1);
            let group = (self.level + 1, parent.groups[parent.first_group as usize].group_balance_cpu());
            if set {
                imbalanced.insert(group)
            } else {
                imbalanced.remove(&group)
            };
        }
        let moves = |moved: Move| (moved.task, moved.dst_cpu);
        let result = balance_reference::Result {
            ld_moved: plan.moves.len() as u32,
            detached: plan.moves.iter().copied().map(moves).collect(),
            attached: plan.attach_order().map(moves).collect(),
            sd: Sd { balance_interval: after.balance_interval, nr_balance_failed: after.nr_balance_failed },
            busiest: plan.busiest,
            active_balance: plan.active_balance,
            serialized: plan.serialized,
            continue_balancing: plan.continue_balancing,
            sum_util: plan.sum_util,
            overload: plan.overload,
            lists: lists.iter().map(|list| list.iter().collect()).collect(),
            imbalanced,
        };
        (plan, result)
    }
}

proptest! {
    #![proptest_config(config(14_000))]

    #[test]
    fn a_pass_is_what_a_second_implementation_makes_of_it(case in case()) {
        let state = case.state();
        prop_assert_eq!(case.plan(&state).1, case.reference(&state));
    }

    /// A pass is the same if the view keeps sums over groups, under every version's rules.
    #[test]
    fn sums_change_no_pass(case in case(), by_load in prop::bool::weighted(0.1)) {
        let mut state = case.state();
        state.cpus.iter_mut().for_each(|cpu| cpu.capacity = cpu.capacity_orig);
        let rules = if by_load { BalanceRules::V5_3 } else { case.rules() };
        let domains = case.machine.domains(case.version);
        let with_sums = state.with_sums(&case.balance(rules, case.features(), &domains), &domains);
        let (plan, result) = case.plan_by(rules, case.features(), &state);
        let (plan_of_sums, result_of_sums) = case.plan_by(rules, case.features(), &with_sums);
        prop_assert_eq!(result_of_sums, result);
        prop_assert_eq!((plan_of_sums.outcome, plan_of_sums.nr_rqs), (plan.outcome, plan.nr_rqs));
        prop_assert_eq!(plan_of_sums.imbalance, plan.imbalance);
    }

    /// What holds whatever is decided.
    #[test]
    fn a_pass_moves_no_task_twice_nor_where_it_may_not_run_nor_one_that_runs(case in case()) {
        let state = case.state();
        let (plan, _) = case.plan(&state);
        let sd = &case.machine.domains(case.version).domains[case.dst_cpu as usize][case.level];
        let mut seen = BTreeSet::new();
        for moved in &plan.moves {
            let task = &state.tasks[moved.task.0 as usize];
            prop_assert!(seen.insert(moved.task));
            prop_assert!(task.cpus.test(moved.dst_cpu) && !task.on_cpu && !task.kthread);
            prop_assert!(state.cpus[plan.busiest.unwrap() as usize].tasks.contains(&moved.task));
            prop_assert!(sd.groups[sd.first_group as usize].span.test(moved.dst_cpu));
        }
        prop_assert!(plan.skipped.iter().all(|task| !seen.contains(task)));
        prop_assert!(!plan.active_balance || plan.moves.is_empty());
    }
}

proptest! {
    #![proptest_config(config(3000))]

    /// Once a plan is carried out, every task is on one run queue, and what ran still runs where it did.
    #[test]
    fn a_pass_loses_no_load(case in case()) {
        let mut state = case.state();
        let (plan, result) = case.plan(&state);
        let load = |state: &State| -> u64 {
            state.cpus.iter().flat_map(|c| &c.tasks).map(|task| state.tasks[task.0 as usize].h_load).sum()
        };
        let before = load(&state);
        let running: Vec<_> = (0..state.nr_cpus()).map(|cpu| state.running(cpu)).collect();
        for (c, list) in state.cpus.iter_mut().zip(&result.lists) {
            c.tasks.clone_from(list);
        }
        plan.attach_order().for_each(|moved| state.cpus[moved.dst_cpu as usize].tasks.push(moved.task));
        prop_assert_eq!(load(&state), before);
        let mut all: Vec<_> = state.cpus.iter().flat_map(|c| c.tasks.iter().map(|task| task.0)).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..state.tasks.len() as u32).collect::<Vec<_>>());
        let after: Vec<_> = (0..state.nr_cpus()).map(|cpu| state.running(cpu)).collect();
        prop_assert_eq!(after, running);
    }
}

/// A rule that changes no pass would not be held by the comparison above.
#[test]
fn each_rule_changes_some_pass() {
    let mut runner = TestRunner::deterministic();
    let cases: Vec<_> = (0..14_000).map(|_| case().new_tree(&mut runner).unwrap().current()).collect();
    type Change = fn(&mut BalanceRules);
    // last_task_stays and first_of_equals need rarer cases: balance_versions.rs has them.
    let changes: [(&str, Change); 20] = [
        ("newidle_bails_out", |rules| rules.newidle_bails_out ^= true),
        ("idle_core_first", |rules| rules.idle_core_first ^= true),
        ("reduced_capacity", |rules| rules.reduced_capacity ^= true),
        ("h_nr_runnable", |rules| rules.h_nr_runnable ^= true),
        ("smt_balance", |rules| rules.smt_balance ^= true),
        ("local_above_average", |rules| rules.local_above_average ^= true),
        ("halved_after_numa", |rules| rules.halved_after_numa ^= true),
        ("idle_queues_skipped", |rules| rules.idle_queues_skipped ^= true),
        ("dst_balance_mask", |rules| rules.dst_balance_mask ^= true),
        ("util_relaxed", |rules| rules.util_relaxed ^= true),
        ("delayed_only_with_load", |rules| rules.delayed_only_with_load ^= true),
        ("ineligible_waits", |rules| rules.ineligible_waits ^= true),
        ("push_queued_only", |rules| rules.push_queued_only ^= true),
        ("prefer_sibling child", |rules| rules.prefer_sibling = PreferSibling::ChildDomain),
        ("prefer_sibling group", |rules| rules.prefer_sibling = PreferSibling::BusiestGroup),
        ("sibling_imbalance", |rules| rules.sibling_imbalance = SiblingImbalance::TasksPerCore),
        ("numa_imbalance pair", |rules| rules.numa_imbalance = NumaImbalance::BusiestPair),
        ("numa_imbalance imb_numa_nr", |rules| rules.numa_imbalance = NumaImbalance::ImbNumaNr),
        ("push", |rules| rules.push = Push::AnyFailures),
        ("serialize", |rules| rules.serialize = Serialize::Passes),
    ];
    let unshown: Vec<_> = changes
        .iter()
        .filter(|(_, change)| {
            !cases.iter().any(|case| {
                let state = case.state();
                let mut rules = case.rules();
                change(&mut rules);
                case.plan_by(rules, case.features(), &state).1 != case.plan(&state).1
            })
        })
        .map(|&(name, _)| name)
        .collect();
    assert!(unshown.is_empty(), "no pass shows {unshown:?}");
}

/// The switch of boosting's third site, which acts only where utilisation is moved: between LLCs.
#[test]
fn boosting_changes_some_pass_and_only_between_llcs() {
    let mut runner = TestRunner::deterministic();
    let mut shown = false;
    for _ in 0..14_000 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let state = case.state();
        let off = case.features().with(Feature::RUNNABLE_BOOST_LB, false);
        let (with, without) = (case.plan(&state), case.plan_by(case.rules(), off, &state));
        if with.1 != without.1 {
            let sd = &case.machine.domains(case.version).domains[case.dst_cpu as usize][case.level];
            assert!(case.version >= Version::V6_12 && !sd.flags.contains(SdFlags::SHARE_LLC), "{case:?}");
            shown = true;
        }
    }
    assert!(shown, "no pass shows it");
}

/// The cases are worth something only if they come to every end that there is.
#[test]
fn cases_come_to_every_end() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    let mut count = |end: String| *ends.entry(end).or_default() += 1;
    let mut runner = TestRunner::deterministic();
    for _ in 0..14_000 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let state = case.state();
        let (plan, result) = case.plan(&state);
        count(format!("{:?}", plan.outcome));
        if let Some(imbalance) = plan.imbalance {
            count(format!("{:?} {:?}", imbalance.migration_type, plan.outcome));
        }
        if plan.active_balance {
            count("active balance".into());
        }
        if plan.after_push.is_some_and(|push| push.backs_off) {
            count("forced".into());
        }
        if plan.moves.iter().any(|moved| moved.dst_cpu != case.dst_cpu) {
            count("another destination".into());
        }
        if plan.moves.len() > 1 {
            count("several tasks".into());
        }
        if plan.moves.iter().any(|moved| moved.batch > 0) {
            count("several batches".into());
        }
        if result.imbalanced != state.imbalanced {
            count(format!("parent imbalance {:?}", plan.parent_imbalance));
        }
        let sd = &case.machine.domains(case.version).domains[case.dst_cpu as usize][case.level];
        if plan.nr_rqs > sd.groups.iter().map(|group| group.weight).sum() {
            count("redo".into());
        }
        if sd.groups.iter().any(|group| group.balance_mask.is_some()) && !plan.moves.is_empty() {
            count("overlapping groups".into());
        }
    }
    let expected = [
        "Balanced(NotOurs)",
        "Balanced(NoBusiestGroup)",
        "Balanced(NoBusiestQueue)",
        "Balanced(AllPinned)",
        "Balanced(Serialized)",
        "Moved",
        "Failed",
        "OnePinned",
        "Load Moved",
        "Util Moved",
        "Task Moved",
        "Load Failed",
        "Util Failed",
        "Task Failed",
        "active balance",
        "forced",
        "another destination",
        "several tasks",
        "several batches",
        "parent imbalance Some(true)",
        "parent imbalance Some(false)",
        "redo",
        "overlapping groups",
    ];
    for end in expected {
        assert!(ends.get(end).is_some_and(|&times| times >= 5), "{end}: {:?} of {ends:#?}", ends.get(end));
    }
}
