//! 7.2's `scx_qmap`, which is a `struct sched_ext_ops_cid`: it names CPUs by the machine's topology, and is told
//! affinities as masks of those in its arena.

use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_core::ops::ExitKind;
use wakelab_sim::SimError;
use wakelab_workload::synthetic::{fork_exit, of_programs, ping_pong};
use wakelab_workload::{Call, Op, Work, Workload};

const QMAP: &[u8] = include_bytes!("../data/scx_qmap.bpf.o");

/// Four cores with two CPUs each, of which CPUs 0 and 4 are the first: CPU 1 is cid 2.
const MACHINE: &str = "intel-kaby-lake-4c8t";

fn qmap() -> BpfScheduler {
    BpfScheduler::new("scx_qmap", QMAP, "qmap").unwrap()
}

fn done(scheduler: &BpfScheduler, machine: &str, load: &Workload, ms: u64) -> Vec<u32> {
    let (outcome, done) = simulate(scheduler, machine, load, ms * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    done.0.into_values().collect()
}

#[test]
fn pairs_answer_each_other_and_forks_come_and_go() {
    let pairs = done(&qmap(), MACHINE, &ping_pong(3), 50);
    assert!(pairs.len() == 3 && pairs.iter().all(|&done| done > 500), "{pairs:?}");
    assert!(done(&qmap(), MACHINE, &fork_exit(5), 50).iter().sum::<u32>() > 100);
}

#[test]
fn its_queues_are_by_weight() {
    // Nice 10, 4 and 0 are its queues 0 to 2, of which it dispatches one task, two and four in turn. All have more.
    let nices = [&[10; 6][..], &[4; 8], &[0; 12]].concat();
    let done = done(&qmap(), "test-2c", &spinners(&nices), 8_000);
    let sum = |of: std::ops::Range<usize>| f64::from(done[of].iter().sum::<u32>());
    let ratios = [sum(6..14) / sum(0..6), sum(14..26) / sum(6..14)];
    assert!(ratios.iter().all(|ratio| (1.8..2.2).contains(ratio)), "{ratios:?} {done:?}");
}

#[test]
fn affinities_are_masks_of_cids() {
    // A dispatch to a CPU that a task may not use would end it. Tasks of one CPU go to local queues, and keep it from
    // dispatching others.
    let spin = Op::Run(Work::uniform(MS, 0));
    let to = |set| Op::Call(Call::Affinity { cpus: Some(set) });
    let again = |to| Op::Repeat { to, times: None };
    let mut programs = vec![vec![spin, Op::Done, again(0)]; 16];
    programs.extend(vec![vec![to(0), spin, Op::Done, to(1), spin, Op::Done, again(0)]; 2]);
    let mut load = of_programs(programs, &[]);
    (0..16).zip(&mut load.tasks).for_each(|(n, task): (u32, _)| task.affinity = Some(vec![n % 8, (n + 3) % 8]));
    load.cpu_sets = vec![vec![1, 2], vec![5, 6]];
    for mode in 0..2 {
        let mut scheduler = qmap();
        scheduler.set("cid_override_mode", mode);
        (0..8).for_each(|cpu| scheduler.set(&format!("cid_override_cpu_to_cid[{cpu}]"), 7 - cpu));
        let done = done(&scheduler, MACHINE, &load, 1_000);
        assert!(done.len() == 18 && done[..16].iter().all(|&done| done > 100), "{mode}: {done:?}");
        assert!(done[16..].iter().all(|&done| done > 10), "{mode}: {done:?}");
    }
}

/// `scx_qmap -C`: what `scx_bpf_cid_override()` refuses.
#[test]
fn wrong_mappings_of_its_own_end_it() {
    for (mode, cids, message) in [(2, [0, 0], "cid 0 assigned to multiple cpus"), (3, [8, 1], "invalid cid 8")] {
        let mut scheduler = qmap();
        scheduler.set("cid_override_mode", mode);
        (2..8).for_each(|cpu| scheduler.set(&format!("cid_override_cpu_to_cid[{cpu}]"), cpu));
        (0..).zip(cids).for_each(|(cpu, cid): (u32, _)| {
            scheduler.set(&format!("cid_override_cpu_to_cid[{cpu}]"), cid);
        });
        match simulate(&scheduler, MACHINE, &ping_pong(1), MS).0 {
            Err(SimError::SchedulerEnded { exit, .. }) => {
                assert_eq!((exit.kind, exit.message.as_str()), (ExitKind::Error, message));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_same_run_is_the_same_each_time() {
    let runs = [(); 2].map(|()| simulate(&qmap(), "test-2s", &ping_pong(20), 30 * MS));
    assert!(runs[0].0.is_ok());
    assert_eq!(runs[0], runs[1]);
}
