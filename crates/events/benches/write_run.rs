//! How many events are written as Parquet in a second, by one core: `cargo bench -p wakelab-events`.
//!
//! Files go to the folder for temporary files: where that is a slow disk, its speed is measured.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wakelab_events::sim::{Event, Inputs, Queued, Sink};
use wakelab_events::simulated::{EventFolder, Recorder, RunInfo};
use wakelab_sched::domain::{Arch, Numbering, Topology, Uniform};
use wakelab_sched::select::{Cx, Decision, Select};
use wakelab_testing::placements::{Case, cases, machines, step_by_step};

/// Seven events to each wake-up, as in a run of netperf in which tasks migrate.
const OF_A_WAKEUP: u64 = 7;
const WAKEUPS: u64 = 150_000;

/// A wake-up that looks at half of 112 CPUs, and what it decides.
struct Woken {
    case: Case,
    decision: Decision,
}

fn woken() -> Woken {
    let (_, domains) = machines().into_iter().find(|(name, _)| *name == "112 CPUs").expect("a machine");
    let case = cases(&domains).into_iter().find(|case| case.name == "scan half the LLC").expect("a case");
    let (rules, wakeup) = (case.rules(), case.wakeup());
    let cx = Cx { rules: &rules, wakeup: &wakeup, view: &case.table };
    let decision = step_by_step(&mut Select::default(), cx, &mut ());
    Woken { case, decision }
}

fn record(write: impl FnOnce(&mut Recorder<'_>), topology: &Topology, case: &Case) {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = EventFolder::new(temporary.path()).expect("an empty folder");
    let run = RunInfo {
        machine: "bench",
        topology,
        arch: Arch::X86,
        reclaim_distance: None,
        kernel: case.kernel,
        features: case.kernel.features,
        variant: "",
        side: "base",
        workload: "bench",
        load: "112 threads",
        repeat: 1,
        seed: 1,
        settle_ns: 0,
        end_ns: 1_000_000_000,
    };
    let mut recorder = folder.record(&run).expect("files");
    write(&mut recorder);
    recorder.finish().expect("it is written");
}

/// What is told of one wake-up until its task has run. `n` varies tasks, CPUs and times.
fn wake(recorder: &mut Recorder<'_>, Woken { case, decision }: &Woken, n: u64) {
    let (rules, wakeup) = (case.rules(), case.wakeup());
    // Times without a pattern, which are hard to write small.
    let time = n * 100 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58);
    let (task, waker, cpu) = ((n % 448) as u32, (n * 31 % 448) as u32, (n * 7 % 112) as u32);
    recorder.inputs(time, &Inputs { wakeup: &wakeup, rules: &rules, view: &case.table, probe: Some(20) });
    let events = [
        Event::Wakeup {
            waker_cpu: case.waker,
            waker: Some(waker),
            wakee: task,
            prev_cpu: case.prev,
            decision: Some(*decision),
            cpu,
            queued: Queued::Direct,
            began: time,
            scan_began: Some(time),
            scan_ended: Some(time + 900),
            claimed: n.is_multiple_of(3),
            workload: true,
        },
        Event::Enqueue { cpu, task },
        Event::Available { cpu, available: false, sched_idle: false },
        Event::Idle { cpu, entered: false },
        Event::Switch { cpu, prev: None, prev_sleeps: false, next: Some(task) },
        Event::Done { task, latency: 40_000 + n % 1000 },
        Event::Switch { cpu, prev: Some(task), prev_sleeps: true, next: None },
    ];
    assert_eq!(events.len() as u64, OF_A_WAKEUP);
    events.iter().for_each(|event| recorder.event(time + 1000, event));
}

fn events(c: &mut Criterion) {
    let woken = woken();
    let topology = Uniform { numbering: Numbering::Split, ..Uniform::new(56, 2) }.topology();
    let mut group = c.benchmark_group("events as Parquet, 112 CPUs");
    group.sample_size(10);
    group.throughput(Throughput::Elements(WAKEUPS * OF_A_WAKEUP));
    group.bench_function("a wake-up with its inputs in seven events", |b| {
        b.iter(|| record(|to| (0..WAKEUPS).for_each(|n| wake(to, &woken, n)), &topology, &woken.case));
    });
    group.bench_function("switches", |b| {
        let switch = |n: u64| {
            let (cpu, task) = ((n * 7 % 112) as u32, (n % 448) as u32);
            Event::Switch { cpu, prev: Some(task), prev_sleeps: n.is_multiple_of(2), next: Some(task + 1) }
        };
        let all = |to: &mut Recorder<'_>| (0..WAKEUPS * OF_A_WAKEUP).for_each(|n| to.event(n * 37, &switch(n)));
        b.iter(|| record(all, &topology, &woken.case));
    });
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
