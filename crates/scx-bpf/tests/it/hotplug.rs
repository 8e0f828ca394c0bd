//! CPUs that go offline and come online under schedulers in BPF.

use crate::support::{MS, simulate, spinners};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_core::flags::{SCX_ECODE_ACT_RESTART, SCX_ECODE_RSN_HOTPLUG};
use wakelab_scx_core::ops::{Exit, ExitKind};
use wakelab_sim::SimError;
use wakelab_workload::synthetic::{fork_exit, ping_pong, run_sleep};
use wakelab_workload::{Change, Changed, Work, Workload};

const SIMPLE: &[u8] = include_bytes!("../../../bpf/tests/data/scx_simple.bpf.o");
const HOTPLUG: &[u8] = include_bytes!("../data/selftests/hotplug.bpf.o");
const OFFLINE: &[u8] = include_bytes!("../data/offline.bpf.o");
const MAXIMAL: &[u8] = include_bytes!("../data/selftests/maximal.bpf.o");

fn load(name: &str, object: &[u8]) -> BpfScheduler {
    BpfScheduler::new(name, object, name).unwrap()
}

/// A load during which CPUs go (`false`) and come (`true`) at so many milliseconds.
fn with_changes(mut load: Workload, changes: &[(u64, &[u32], bool)]) -> Workload {
    let change = |&(ms, cpus, online): &(u64, &[u32], bool)| {
        let cpus = cpus.to_vec();
        Change { at_ns: ms * MS, what: if online { Changed::Online { cpus } } else { Changed::Offline { cpus } } }
    };
    load.changes = changes.iter().map(change).collect();
    load
}

fn exit(scheduler: &BpfScheduler, load: &Workload) -> Exit {
    match simulate(scheduler, "test-8c", load, 100 * MS).0 {
        Err(SimError::SchedulerEnded { exit, .. }) => *exit,
        other => panic!("{other:?}"),
    }
}

/// `hotplug.c` of the kernel's selftests: CPU 1 goes offline or comes online, and the scheduler with callbacks asks for
/// a restart with a code of its own (`HOTPLUG_EXIT_RSN`, `HOTPLUG_ONLINING`). One without is ended by the core.
#[test]
fn hotplug_with_and_without_callbacks() {
    let goes = with_changes(spinners(&[0]), &[(20, &[1], false)]);
    let comes = with_changes(spinners(&[0]), &[(0, &[1], false), (20, &[1], true)]);
    for (load_of, onlining, going) in [(&goes, 0, "offline"), (&comes, 1 << 1, "online")] {
        let with = exit(&load("hotplug", HOTPLUG), load_of);
        assert_eq!((with.kind, with.at / MS), (ExitKind::UnregBpf, 20));
        assert_eq!(with.code, SCX_ECODE_ACT_RESTART | 1 | onlining, "{with}");
        assert_eq!(with.message, format!("hotplug event detected (1 going {going})"));
        let without = exit(&load("scx_simple", SIMPLE), load_of);
        assert_eq!((without.kind, without.at / MS), (ExitKind::UnregKern, 20));
        assert_eq!(without.code, SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG);
        assert_eq!(without.message, format!("cpu 1 going {going}, exiting scheduler"));
    }
}

/// Half of the CPUs go and come, and all tasks go on.
#[test]
fn tasks_go_on_elsewhere() {
    let us = |us: u64| Work::uniform(us * 1_000, 20);
    let all: &[u32] = &[1, 2, 3, 5, 7];
    let changes = [(30, all, false), (90, all, true), (120, &all[..3], false)];
    let mut pinned = spinners(&[0; 6]);
    pinned.tasks[2].affinity = Some(vec![3]);
    pinned.tasks[3].affinity = Some(vec![2, 6]);
    let all_of = [
        (run_sleep(24, us(300), us(900)), "test-2llc"),
        (ping_pong(6), "intel-kaby-lake-4c8t"),
        (fork_exit(1), "test-8c"),
        (pinned, "test-8c"),
    ];
    for (base, machine) in all_of {
        let load_of = with_changes(base.clone(), &changes);
        let runs = [(); 2].map(|()| simulate(&load("maximal", MAXIMAL), machine, &load_of, 140 * MS));
        assert_eq!(runs[0], runs[1]);
        let (outcome, done) = &runs[0];
        outcome.as_ref().unwrap_or_else(|error| panic!("{machine}: {error}"));
        assert!(done.0.len() >= base.tasks.len().min(6) && done.0.values().all(|&done| done > 5), "{done:?}");
    }
}

/// A scheduler that forgets the queue of a CPU that is offline stalls, and its chain says so. Without the change it
/// runs.
#[test]
fn a_queue_that_only_an_offline_cpu_takes_from() {
    let scheduler = load("offline", OFFLINE);
    let four = spinners(&[0; 4]);
    let outcome = simulate(&scheduler, "test-2c", &four, 300 * MS).0;
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let load_of = with_changes(four, &[(20, &[1], false)]);
    match simulate(&scheduler, "test-2c", &load_of, 3_000 * MS).0 {
        Err(SimError::SchedulerEnded { exit, .. }) => {
            assert_eq!(exit.kind, ExitKind::Stall);
            let chain = exit.chain.join("\n");
            assert!(chain.contains("of which it is") && chain.contains("DSQ 0x1"), "{chain}");
        }
        other => panic!("{other:?}"),
    }
}
