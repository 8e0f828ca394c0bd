//! The choice of an idle CPU against [`Reference`](crate::idle_reference::Reference), on machines of many shapes.

use crate::idle_reference::{Reference, Set, Wakee};
use crate::support::{KERNELS, topology};
use proptest::prelude::*;
use wakelab_kernel::ExtRules;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, Numbering, Topology, Uniform};
use wakelab_scx_core::flags::{SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_KEEP_BUILTIN_IDLE, SCX_WAKE_SYNC, SCX_WAKE_TTWU};
use wakelab_scx_core::idle::{Asks, Idle, IdleError};

/// A machine of nodes, each of LLCs, each of cores; or one whose four nodes are in a row, so that some are further
/// away.
fn machine() -> impl Strategy<Value = Topology> {
    (1u32..=3, 1u32..=3, 1u32..=3, 1u32..=2, any::<bool>(), 0u32..5).prop_map(
        |(packages, llcs, cores, threads, split, row)| {
            if row == 0 {
                let per_node = cores * threads;
                let cpu = |n: u32| {
                    let (node, core) = (n / per_node, n / threads);
                    CpuTopology { core, cluster: None, llc: node, die: node, package: node, node, capacity: 1024 }
                };
                let distances = |from: u32| (0..4).map(|to: u32| 10 * (1 + from.abs_diff(to))).collect();
                let node_distance = (0..4).map(distances).collect();
                return Topology { cpus: (0..4 * per_node).map(cpu).collect(), node_distance };
            }
            let numbering = if split { Numbering::Split } else { Numbering::Adjacent };
            // A single CPU has no domain.
            let threads = if packages * llcs * cores == 1 { 2 } else { threads };
            Uniform { packages, llcs, nodes: packages, numbering, ..Uniform::new(cores, threads) }.topology()
        },
    )
}

/// Numbers that become CPUs, nodes and masks of the machine, whatever its size.
#[derive(Clone, Debug)]
enum Step {
    Update { cpu: u32, idle: bool },
    Claim { cpu: u32 },
    Select { prev: u32, this: u32, cpus: u64, within: Option<u64>, sync: bool, exiting: bool, waits: bool, flags: u64 },
    Pick { this: u32, cpus: u64, node: u32, flags: u64 },
    Any { this: u32, cpus: u64, node: Option<u32> },
}

fn step() -> impl Strategy<Value = Step> {
    let flag = || prop::bool::weighted(0.2);
    let cpus = || prop_oneof![2 => Just(u64::MAX), 3 => any::<u64>(), 1 => Just(1u64 << 3), 1 => Just(0)];
    prop_oneof![
        5 => (0u32..64, any::<bool>()).prop_map(|(cpu, idle)| Step::Update { cpu, idle }),
        1 => (0u32..64).prop_map(|cpu| Step::Claim { cpu }),
        6 => ((0u32..64, 0u32..64), cpus(), prop::option::of(cpus()), any::<bool>(), flag(), flag(), 0u64..4).prop_map(
            |((prev, this), cpus, within, sync, exiting, waits, flags)| Step::Select {
                prev, this, cpus, within, sync, exiting, waits, flags
            }
        ),
        3 => (0u32..64, cpus(), 0u32..64, 0u64..4)
            .prop_map(|(this, cpus, node, flags)| Step::Pick { this, cpus, node, flags }),
        1 => (0u32..64, cpus(), prop::option::of(0u32..64))
            .prop_map(|(this, cpus, node)| Step::Any { this, cpus, node }),
    ]
}

fn mask(nr: u32, bits: u64) -> (CpuMask, Set) {
    let has = |cpu: u32| bits >> (cpu % 64) & 1 != 0;
    (CpuMask::from_cpus(nr, (0..nr).filter(|&cpu| has(cpu))), (0..nr).map(has).collect())
}

fn same(idle: &Idle, reference: &Reference) -> Result<(), TestCaseError> {
    for (node, (cpus, smts)) in reference.masks.iter().enumerate() {
        let set = |mask: &CpuMask| (0..cpus.len() as Cpu).map(|cpu| mask.test(cpu)).collect::<Set>();
        let (cpu, smt) = idle.masks(node);
        prop_assert_eq!(&set(cpu), cpus);
        prop_assert_eq!(&set(smt), if reference.smt_active() { smts } else { cpus });
    }
    Ok(())
}

fn check(machine: &Topology, rules: &ExtRules, per_node: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let flags = if per_node { SCX_OPS_BUILTIN_IDLE_PER_NODE } else { 0 };
    let mut idle = Idle::new(topology(machine), rules, flags, false);
    let mut reference = Reference::new(machine.clone(), per_node);
    let nr = machine.cpus.len() as u32;
    let nodes = machine.node_distance.len() as u32;
    same(&idle, &reference)?;
    for step in steps {
        let (got, expected) = match *step {
            Step::Update { cpu, idle: is } => {
                idle.update(cpu % nr, is);
                reference.update((cpu % nr) as usize, is);
                (None, None)
            }
            Step::Claim { cpu } => {
                let was = idle.test_and_clear(cpu % nr);
                (was.then_some(0), reference.test_and_clear((cpu % nr) as usize).then_some(0))
            }
            Step::Select { prev, this, cpus, within, sync, exiting, waits, flags } => {
                let (prev, this) = (prev % nr, this % nr);
                // A task may run somewhere.
                let cpus = if mask(nr, cpus).0.is_empty() { u64::MAX } else { cpus };
                let (cpus_ptr, cpus) = mask(nr, cpus);
                let within = within.map(|bits| mask(nr, bits));
                let on_all = cpus_ptr.weight() == nr;
                let local_nr = u32::from(waits);
                let asks = Asks { cpus_ptr: &cpus_ptr, on_all, this_cpu: this, exiting, local_nr };
                let wakee = Wakee { cpus_ptr: cpus, this_cpu: this as usize, exiting, local_nr };
                let wake = SCX_WAKE_TTWU | if sync { SCX_WAKE_SYNC } else { 0 };
                let got = idle.select_cpu_dfl(&asks, prev, wake, within.as_ref().map(|(mask, _)| mask), flags);
                let expected = if *rules == ExtRules::V6_12 {
                    reference.select_6_12(&wakee, prev as usize, wake)
                } else {
                    let within = within.as_ref().map(|(_, set)| set);
                    reference.select_6_18(*rules == ExtRules::V7_2, &wakee, prev as usize, wake, within, flags)
                };
                (got, expected)
            }
            Step::Pick { this, cpus, node, flags } => {
                let (allowed, set) = mask(nr, cpus);
                let node = if per_node { (node % nodes) as usize } else { 0 };
                let got = idle.pick(this % nr, &allowed, node, flags);
                (got, reference.pick((this % nr) as usize, &set, node, flags))
            }
            Step::Any { this, cpus, node } => {
                let (allowed, set) = mask(nr, cpus);
                let this = this % nr;
                match node.map(|node| (node % nodes) as usize) {
                    None => (idle.any(this, &allowed), reference.any(this as usize, &set)),
                    Some(node) => {
                        let got = idle.any_in_node(this, &allowed, node);
                        (got, reference.any_in_node(this as usize, &set, node))
                    }
                }
            }
        };
        prop_assert_eq!(got.map(|cpu| cpu as usize), expected, "{:?}", step);
        same(&idle, &reference)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn choices_are_those_of_the_reference(
        machine in machine(),
        rules in prop::sample::select(KERNELS.to_vec()),
        per_node in any::<bool>(),
        steps in prop::collection::vec(step(), 1..50),
    ) {
        // 6.12 has no masks by node.
        check(&machine, &rules, rules != ExtRules::V6_12 && per_node, &steps)?;
    }
}

#[test]
fn picks_go_round_from_cpu_1_on() {
    let mut idle = Idle::new(topology(&Uniform::new(4, 1).topology()), &ExtRules::V7_2, 0, false);
    let all = CpuMask::full(4);
    assert_eq!([(); 5].map(|()| idle.pick(0, &all, 0, 0)), [Some(1), Some(2), Some(3), Some(0), None]);
    // Another CPU has its own place to go on from, which is shared with the choice of any CPU.
    idle.update(3, true);
    assert_eq!((idle.pick(2, &all, 0, 0), idle.any(2, &all), idle.any(0, &all)), (Some(3), Some(0), Some(1)));
}

#[test]
fn schedulers_that_track_idle_cpus_have_the_core_track_none() {
    let new = |flags| Idle::new(topology(&Uniform::new(2, 2).topology()), &ExtRules::V7_2, flags, true);
    let mut idle = new(0);
    idle.update(0, false);
    assert!(idle.masks(0).0.test(0), "as it was at the beginning");
    assert_eq!(idle.check_enabled(), Err(IdleError::Scx("built-in idle tracking is disabled".to_owned())));
    assert_eq!(idle.check_node(0), Err(IdleError::Scx("per-node idle tracking is disabled".to_owned())));
    let mut idle = new(SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_BUILTIN_IDLE_PER_NODE);
    idle.update(0, false);
    assert!(!idle.masks(0).0.test(0) && idle.check_enabled().is_ok());
    assert_eq!((idle.check_node(0), idle.check_node(-1)), (Ok(0), Err(IdleError::Busy)));
    assert_eq!(idle.check_node(1), Err(IdleError::Scx("invalid node 1".to_owned())));
}
