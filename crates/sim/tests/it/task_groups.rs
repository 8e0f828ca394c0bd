//! Control groups: who gets how much of the CPUs, by the weights of groups.

use super::support::{MS, back, ns};
use proptest::prelude::*;
use wakelab_kernel::Preset;
use wakelab_sim::observe::observe;
use wakelab_sim::{Mechanisms, Setup, SimError, run_dyn};
use wakelab_workload::synthetic::of_programs;
use wakelab_workload::{CpuMax, Group, Op, Realtime, Workload};

fn group(parent: u32, weight: u32) -> Group {
    Group { name: format!("{parent}-{weight}"), parent, weight, ..Group::default() }
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
    shares_of(Preset::get(kernel).expect("a preset"), workload, ms)
}

fn shares_of(kernel: &Preset, workload: &Workload, ms: u64) -> Vec<u64> {
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    let mechanisms = Mechanisms { noise: false, ramp: false, ..Mechanisms::default() };
    let (features, until) = (kernel.features, ms * MS);
    let setup = Setup {
        machine: &machine,
        kernel,
        features,
        workload,
        seed: 1,
        until,
        mechanisms,
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut told = super::support::Told::default();
    observe(&setup, &mut told, (0..until).step_by(MS as usize), |snapshot, _| {
        (0..8).for_each(|cpu| snapshot.validate_run_queue(cpu).expect("a run queue that is right"));
    })
    .expect("a run");
    (0..workload.tasks.len()).map(|task| told.times(task).len() as u64 * 10_000 * 1000 / until).collect()
}

const KERNELS: [&str; 10] = ["v5.10", "v5.15", "v5.18", "v6.1", "v6.6", "v6.8", "v6.12", "v6.18", "v7.2", "v7.3"];

fn near(actual: u64, expected: u64) -> bool {
    actual.abs_diff(expected) <= 30
}

#[test]
fn two_groups_share_a_cpu_by_their_weights_however_many_tasks_they_have() {
    for kernel in KERNELS {
        // In a cpuset of one CPU, where 7.3 does not count tasks either.
        let of_one_cpu = |weight| Group { cpus: Some(vec![3]), ..group(0, weight) };
        let workload = hogs(vec![of_one_cpu(100), of_one_cpu(300)], &[1, 1, 1, 2], &[3]);
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

/// A group with so many ms of run time in a period of 100 ms.
fn limited(parent: u32, quota_ms: u64) -> Group {
    let max = CpuMax { quota: quota_ms * MS, period: 100 * MS, burst: 0 };
    Group { max: Some(max), ..group(parent, 100) }
}

#[test]
fn a_quota_is_all_the_run_time_of_a_group() {
    for kernel in KERNELS {
        let had = shares(kernel, &hogs(vec![limited(0, 20)], &[1, 0], &[5]), 3000);
        assert!(had[0].abs_diff(200) <= 6 && had[1].abs_diff(800) <= 8, "{kernel}: {had:?}");
    }
}

#[test]
fn a_quota_is_for_all_cpus_together() {
    for kernel in KERNELS {
        // Cores of their own: 150 ms of run time in 100 ms, of four CPUs.
        let mut workload = hogs(vec![limited(0, 150)], &[1, 1, 1, 1], &[0]);
        for (task, cpu) in workload.tasks.iter_mut().zip([0, 2, 4, 6]) {
            task.affinity = Some(vec![cpu]);
        }
        let had = shares(kernel, &workload, 3000);
        let all: u64 = had.iter().sum();
        // A CPU keeps up to a slice of 5 ms, and each may use more than its part up to its next tick.
        assert!(all.abs_diff(1500) <= 45, "{kernel}: {had:?}");
    }
}

#[test]
fn a_group_in_a_throttled_group_is_throttled_with_it() {
    for kernel in KERNELS {
        let workload = hogs(vec![limited(0, 30), group(1, 300)], &[1, 2, 0], &[3]);
        let had = shares(kernel, &workload, 3000);
        let all = had[0] + had[1];
        assert!(all.abs_diff(300) <= 8 && had[1].abs_diff(3 * all / 4) <= 12, "{kernel}: {had:?}");
        assert!(had[2].abs_diff(700) <= 12, "{kernel}: {had:?}");
    }
}

#[test]
fn a_throttled_cpu_is_idle() {
    for kernel in KERNELS {
        let had = shares(kernel, &hogs(vec![limited(0, 40)], &[1, 1], &[2]), 2000);
        assert!((had[0] + had[1]).abs_diff(400) <= 8, "{kernel}: {had:?}");
    }
}

#[test]
fn what_was_not_used_is_there_for_a_burst() {
    // 10 ms of work in every 100 ms, and after some periods as much as there is: with a burst three quotas at first.
    let mut workload = hogs(vec![limited(0, 20)], &[1], &[1]);
    workload.programs[0].ops = vec![Op::Sleep(ns(250 * MS)), Op::Run(ns(100_000)), Op::Done, back(1, 0)];
    let done = |burst: u64| {
        let mut workload = workload.clone();
        workload.groups[0].max.as_mut().expect("a quota").burst = burst;
        // Work is done in units of 0.1 ms, and counted in those of 10 us.
        shares("v6.12", &workload, 300)[0] * 300 / 100
    };
    assert!(done(0) < done(20 * MS), "{} and {}", done(0), done(20 * MS));
}

#[test]
fn a_group_s_clamps_are_those_of_its_tasks() {
    use wakelab_sched::select::Uclamp;
    let mut groups = vec![group(0, 100), group(1, 100)];
    (groups[0].uclamp_min, groups[0].uclamp_max) = (Some(300), Some(600));
    groups[1].uclamp_max = Some(900);
    let mut workload = hogs(groups, &[0, 1, 2, 1], &[0]);
    for (task, cpu) in workload.tasks.iter_mut().zip([0, 2, 4, 6]) {
        task.affinity = Some(vec![cpu]);
    }
    // A request is brought into the group's range; the second group protects nothing, and its limit is that above it.
    workload.tasks[2].uclamp_min = Some(500);
    workload.tasks[3].uclamp_max = Some(200);
    let machine = wakelab_machine::get("test-8c").expect("a machine");
    for kernel in KERNELS {
        let kernel = Preset::get(kernel).expect("a preset");
        let (features, mechanisms) = (kernel.features, Mechanisms { noise: false, ..Mechanisms::default() });
        let setup = Setup {
            machine: &machine,
            kernel,
            features,
            workload: &workload,
            seed: 1,
            until: 20 * MS,
            mechanisms,
            observer_cost: 0,
            pm: None,
            scheduler: None,
        };
        let mut seen = Vec::new();
        observe(&setup, &mut (), [15 * MS], |snapshot, ()| {
            seen = snapshot.tasks().filter(|task| task.alive).map(|task| task.uclamp).collect();
        })
        .expect("a run");
        let clamp = |min, max| Uclamp { used: true, min, max };
        let expected = [clamp(0, 1024), clamp(300, 600), clamp(500, 600), clamp(300, 300)];
        assert_eq!(seen, expected, "{}", kernel.name);
    }
}

#[test]
fn since_7_3_a_group_weighs_as_many_tasks_as_its_cpuset_has_cpus() {
    let mut groups = vec![group(0, 100), group(0, 100)];
    let tasks = [1, 1, 1, 1, 2];
    let without = shares("v7.3", &hogs(groups.clone(), &tasks, &[3]), 1500)[4];
    groups.iter_mut().for_each(|group| group.cpus = Some(vec![3]));
    let with = shares("v7.3", &hogs(groups, &tasks, &[3]), 1500)[4];
    assert!(without < 350 && near(with, 500), "{without} and {with}");
}

#[test]
fn with_autogroup_the_tasks_of_a_session_weigh_as_one() {
    for kernel in ["v6.1", "v6.12", "v7.2"] {
        let kernel = Preset::get(kernel).expect("a preset");
        let mut on = kernel.clone();
        on.tunables.sched_autogroup_enabled = Some(1);
        // Three tasks of the session beside one of a group.
        let workload = hogs(vec![group(0, 100)], &[0, 0, 0, 1], &[3]);
        let of_group = |kernel: &Preset| shares_of(kernel, &workload, 1500)[3];
        assert!(near(of_group(kernel), 250) && near(of_group(&on), 500), "{}", kernel.name);
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
            scheduler: None,
        };
        match run_dyn(&setup, &mut (), &Default::default()) {
            Err(SimError::Kernel(text)) => assert!(text.contains(what), "{}: {text}", kernel.name),
            other => panic!("{}: {other:?}", kernel.name),
        }
    };
    refused("v5.3", &idle, "from 5.10 on");
    idle.groups[0].idle = true;
    refused("v5.10", &idle, "were added in 5.15");
    idle.groups[0].idle = false;
    idle.groups[0].max = Some(CpuMax { quota: MS, period: MS, burst: MS });
    refused("v5.10", &idle, "bursts were added in 5.14");
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
        kernel in 0usize..KERNELS.len(),
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

    /// The same with quotas, which groups of groups have, too: nobody has more than there is.
    #[test]
    fn run_queues_of_groups_with_quotas_stay_right(
        parents in prop::collection::vec((0u32..3, prop::option::of(3u64..120)), 1..5),
        of in prop::collection::vec(0u32..5, 3..12),
        sleep in 0u64..4,
        kernel in 0usize..KERNELS.len(),
    ) {
        let groups: Vec<Group> = (1..)
            .zip(&parents)
            .map(|(number, &(parent, quota))| {
                let parent = parent.min(number - 1);
                quota.map_or_else(|| group(parent, 50 + 100 * number), |quota| limited(parent, quota))
            })
            .collect();
        let of: Vec<u32> = of.iter().map(|&group| group.min(groups.len() as u32)).collect();
        let mut workload = hogs(groups, &of, &[0, 1, 2]);
        workload.programs[0].ops = vec![Op::Run(ns(200_000)), Op::Done, Op::Sleep(ns(sleep * 300_000)), back(0, 0)];
        let had = shares(KERNELS[kernel], &workload, 400);
        for (number, group) in (1..).zip(&workload.groups) {
            let Some(max) = group.max else { continue };
            let of_group = |task: &usize| of[*task] == number;
            let ran_ms = (0..of.len()).filter(of_group).map(|task| had[task]).sum::<u64>() * 400 / 1000;
            // In 400 ms five periods begin, and each CPU may have a slice left and use two ticks too much.
            prop_assert!(ran_ms <= 5 * max.quota / MS + 3 * 13, "{}: {had:?} {ran_ms}", group.name);
        }
    }
}
