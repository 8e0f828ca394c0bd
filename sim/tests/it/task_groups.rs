//! Control groups: who gets how much of the CPUs, by the weights of groups.

use super::support::{MS, back, ns};
use proptest::prelude::*;
use wakelab_kernel::Preset;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, Setup, SimError, run};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{Group, Op, Realtime, Workload};

fn group(parent: u32, weight: u32) -> Group {
    Group { name: format!("{parent}-{weight}"), parent, weight, idle: false }
}

/// Tasks of these groups that only compute, on these CPUs.
fn hogs(groups: Vec<Group>, of: &[u32], cpus: &[u32]) -> Workload {
    let program = vec![Op::Run(ns(10_000)), Op::Done, back(0, 0)];
    let mut workload = of_programs(vec![program; of.len()], &[]);
    workload.groups = groups;
    for (task, &group) in workload.tasks.iter_mut().zip(of) {
        (task.group, task.affinity) = (group, Some(cpus.to_vec()));
    }
    workload
}

/// How much of a CPU each task had in so many ms, per thousand. The run queues are right at every millisecond.
fn shares(kernel: &str, workload: &Workload, ms: u64) -> Vec<u64> {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let mechanisms = Mechanisms { noise: false, ramp: false, ..Mechanisms::default() };
    let (features, until) = (kernel.features, ms * MS);
    let setup =
        Setup { machine: &machine, kernel, features, workload, seed: 1, until, mechanisms, observer_cost: 0, pm: None };
    let mut told = super::support::Told::default();
    observe(&setup, &mut told, (0..until).step_by(MS as usize), |snapshot, _| {
        (0..8).for_each(|cpu| snapshot.validate_run_queue(cpu).expect("a run queue that is right"));
    })
    .expect("a run");
    (0..workload.tasks.len()).map(|task| told.times(task).len() as u64 * 10_000 * 1000 / until).collect()
}

const KERNELS: [&str; 4] = ["v5.10", "v5.15", "v5.18", "v6.1"];

fn near(actual: u64, expected: u64) -> bool {
    actual.abs_diff(expected) <= 30
}

#[test]
fn two_groups_share_a_cpu_by_their_weights_however_many_tasks_they_have() {
    for kernel in KERNELS {
        let workload = hogs(vec![group(0, 100), group(0, 300)], &[1, 1, 1, 2], &[3]);
        let had = shares(kernel, &workload, 1500);
        let (first, second) = (had[0] + had[1] + had[2], had[3]);
        assert!(near(first, 250) && near(second, 750), "{kernel}: {had:?}");
        assert!(near(had[0], 83) && near(had[1], 83), "{kernel}: {had:?}");
    }
}

#[test]
fn a_group_in_a_group_has_its_part_of_what_that_has() {
    for kernel in KERNELS {
        // Half for the task of the root. Of the other half, a quarter for the task of group 1, and three for group 2.
        let workload = hogs(vec![group(0, 100), group(1, 300)], &[0, 1, 2], &[0]);
        let had = shares(kernel, &workload, 1500);
        assert!(near(had[0], 500) && near(had[1], 125) && near(had[2], 375), "{kernel}: {had:?}");
    }
}

#[test]
fn a_group_s_weight_is_divided_among_the_cpus_on_which_it_has_tasks() {
    // Group 1 has a task on either CPU, group 2 one on the second. Per CPU group 1 weighs half of group 2.
    let mut workload = hogs(vec![group(0, 100), group(0, 100)], &[1, 1, 2], &[1]);
    workload.tasks[0].affinity = Some(vec![0]);
    let had = shares("v6.1", &workload, 3000);
    // The first CPU's other thread is busy all the time, too: both do less than their time.
    let both = had[1] + had[2];
    assert!(had[0].abs_diff(both) < 30 && near(had[1] * 1000 / both, 333), "{had:?}");
}

#[test]
fn an_idle_group_has_next_to_nothing_beside_others() {
    let mut groups = vec![group(0, 100), group(0, 100)];
    groups[0].idle = true;
    let had = shares("v6.1", &hogs(groups, &[1, 2], &[0]), 1500);
    assert!(had[0] < 20 && had[1] > 960, "{had:?}");
}

#[test]
fn groups_share_what_a_realtime_task_leaves() {
    for kernel in KERNELS {
        let mut workload = hogs(vec![group(0, 100), group(0, 300)], &[0, 1, 2], &[3]);
        workload.tasks[0].realtime = Some(Realtime::Fifo(1));
        let had = shares(kernel, &workload, 4000);
        // RT throttling leaves a twentieth.
        assert!(near(had[0], 950), "{kernel}: {had:?}");
        assert!(had[1].abs_diff(12) <= 4 && had[2].abs_diff(37) <= 4, "{kernel}: {had:?}");
    }
}

#[test]
fn groups_are_refused_where_they_are_not_modelled() {
    let mut idle = hogs(vec![group(0, 100)], &[1], &[0]);
    let refused = |kernel: &str, workload: &Workload, what: &str| {
        let machine = wakelab_machine::get("test-8c").expect("a machine");
        let kernel = Preset::get(kernel).expect("a preset");
        let (features, mechanisms) = (kernel.features, Mechanisms::default());
        let setup = Setup {
            machine: &machine,
            kernel,
            features,
            workload,
            seed: 1,
            until: MS,
            mechanisms,
            observer_cost: 0,
            pm: None,
        };
        match run(&setup, &mut (), &Default::default()) {
            Err(SimError::Kernel(text)) => assert!(text.contains(what), "{}: {text}", kernel.name),
            other => panic!("{}: {other:?}", kernel.name),
        }
    };
    for kernel in ["v6.6", "v6.12", "v7.2", "v7.3"] {
        refused(kernel, &idle, "control groups are modelled of CFS only");
    }
    refused("v5.3", &idle, "since 5.10");
    idle.groups[0].idle = true;
    refused("v5.10", &idle, "came with 5.15");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Tasks of any groups that sleep, wake each other's CPUs and migrate: the queues stay right, and no CPU idles
    /// while as many tasks could run.
    #[test]
    fn run_queues_of_groups_stay_right(
        parents in prop::collection::vec(0u32..3, 1..5),
        of in prop::collection::vec(0u32..5, 3..12),
        sleep in 1u64..4,
        kernel in 0usize..4,
    ) {
        let groups: Vec<Group> =
            (1..).zip(&parents).map(|(number, &parent)| group(parent.min(number - 1), 50 + 100 * number)).collect();
        let of: Vec<u32> = of.iter().map(|&group| group.min(groups.len() as u32)).collect();
        let mut workload = hogs(groups, &of, &[0, 1, 2]);
        workload.programs[0].ops = vec![
            Op::Run(ns(200_000)), Op::Done, Op::Sleep(ns(sleep * 300_000)), back(0, 0),
        ];
        let had = shares(KERNELS[kernel], &workload, 60);
        let busy = had[1..].iter().sum::<u64>() * 10;
        prop_assert!(busy >= 600, "{had:?}");
    }
}
