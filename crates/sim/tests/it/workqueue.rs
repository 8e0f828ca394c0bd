//! Items that tasks queue for the kworkers of their CPUs.

use crate::support::{MS, Told, call, ns, simulate, workload};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wakelab_events::sim::{Event, NewTask, Sink};
use wakelab_kernel::{Feature, Preset};
use wakelab_sim::{Mechanisms, Setup, SimError, run_dyn};
use wakelab_workload::{Call, Op, Program, Workload};

const QUEUE: u32 = 0;
const ACK: u32 = 1;
const RESOURCES: [(&str, u32); 2] = [("gc", 1), ("ack", 8)];

/// Tasks on CPUs of their own, and a program for kworkers, which comes after theirs.
fn with_work(programs: Vec<Vec<Op>>, items: u32, work: Vec<Op>) -> Workload {
    let mut workload = workload(programs, &RESOURCES, None);
    for (task, cpu) in workload.tasks.iter_mut().zip(0..) {
        task.affinity = Some(vec![cpu]);
    }
    workload.channels[QUEUE as usize].capacity = items;
    workload.programs.push(Program { name: "free".to_owned(), ops: work });
    workload
}

fn queue(program: u32) -> Op {
    call(Call::QueueWork { workqueue: QUEUE, program })
}

const SEND: Op = Op::Send { channel: ACK, sync: false };
const RECV: Op = Op::Recv { channel: ACK };

fn at(ms: u64) -> Op {
    call(Call::SleepUntil { at_ns: ms * MS })
}

/// How long a task on CPU 1 waits for what the kworker of CPU 0 does, while the task that queued it computes there, ns.
fn wait_for_the_kworker(next_buddy: bool) -> u64 {
    let computes = vec![at(1), queue(2), Op::Run(ns(20 * MS))];
    let waits = vec![at(1), Op::Begin, RECV, Op::Done];
    let workload = with_work(vec![computes, waits], 1, vec![Op::Run(ns(10_000)), SEND]);
    let (machine, kernel) = (wakelab_machine::get("test-2c").unwrap(), Preset::get("v7.2").unwrap());
    let setup = Setup {
        machine: &machine,
        kernel,
        features: kernel.features.with(Feature::NEXT_BUDDY, next_buddy),
        workload: &workload,
        seed: 1,
        until: 50 * MS,
        mechanisms: Mechanisms { noise: false, ..Mechanisms::default() },
        observer_cost: 0,
        pm: None,
        scheduler: None,
    };
    let mut told = Told::default();
    run_dyn(&setup, &mut told, &AtomicBool::new(false)).unwrap();
    assert_eq!(told.done.len(), 1);
    told.done[0].2
}

/// RUN_TO_PARITY protects the running task's slice; a buddy is picked in spite of it (`__pick_eevdf()`, 7.2).
#[test]
fn a_kworker_waits_for_the_running_tasks_slice_unless_it_is_the_next_buddy() {
    let (base, with) = (wait_for_the_kworker(false), wait_for_the_kworker(true));
    assert!((MS..8 * MS).contains(&base), "{base} ns");
    assert!((10_000..100_000).contains(&with), "{with} ns");
}

/// Who runs where: names, by CPU, in order.
#[derive(Default)]
struct Runs {
    names: BTreeMap<u32, String>,
    kworkers: Vec<(u32, String)>,
}

impl Sink for Runs {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        if let Event::Switch { cpu, next: Some(next), .. } = *event
            && let Some(name) = self.names.get(&next).filter(|name| name.starts_with("kworker/"))
        {
            self.kworkers.push((cpu, name.clone()));
        }
    }

    fn task(&mut self, _: u64, task: &NewTask<'_>) {
        self.names.insert(task.task, task.name.to_owned());
        assert_eq!(task.workload, !task.name.starts_with("kworker"));
    }
}

#[test]
fn each_cpu_has_a_kworker_and_an_item_is_done_where_it_was_queued() {
    let queues = |ms| vec![at(ms), queue(2), RECV];
    let workload = with_work(vec![queues(1), queues(2)], 1, vec![Op::Run(ns(5_000)), SEND]);
    let mut runs = Runs::default();
    simulate(("test-2c", "v6.12"), &workload, (1, 10 * MS), true, &mut runs).unwrap();
    let ran = |cpu| (cpu, format!("kworker/{cpu}:1-gc"));
    assert_eq!(runs.kworkers, [ran(0), ran(1)]);
    assert_eq!(runs.names.values().filter(|name| name.starts_with("kworker/")).count(), 2);
}

#[test]
fn a_kworker_is_woken_by_as_many_items_as_the_workqueue_says_and_does_all() {
    let queues = |times: usize| [vec![queue(1); times], vec![RECV; times]].concat();
    let run = |times| {
        let workload = with_work(vec![queues(times)], 3, vec![Op::Run(ns(5_000)), SEND]);
        let mut told = Told::default();
        simulate(("test-1c", "v6.12"), &workload, (1, 10 * MS), true, &mut told).map(|_| told.exits.len())
    };
    assert_eq!(run(3), Ok(1));
    assert_eq!(run(6), Ok(1));
    // Those that come while the kworker has items wait for as many again.
    for times in [2, 4] {
        let Err(SimError::Deadlock { waiting, .. }) = run(times) else { panic!("{times} items are done") };
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].what, "a message in ack");
    }
}

/// A kworker that waits for ever is a deadlock as that of a task, and is named.
#[test]
fn a_deadlock_names_the_kworker_and_what_it_waits_for() {
    let mut workload = with_work(vec![vec![queue(1), RECV]], 1, vec![call(Call::Down { semaphore: 2 }); 2]);
    workload.channels.push(wakelab_workload::Channel::new("agi", 1));
    workload.tasks[0].channels = [QUEUE, ACK, 2].into();
    let result = simulate(("test-1c", "v6.12"), &workload, (1, 1 << 34), true, &mut ());
    let Err(SimError::Deadlock { waiting, .. }) = result else { panic!("{result:?}") };
    let texts: Vec<_> = waiting.iter().map(|wait| format!("{}: {}", wait.task, wait.what)).collect();
    assert_eq!(texts, ["kworker/0:1-gc: semaphore agi", "task 0: a message in ack"]);
}

/// So many items that take no time end the run as steps of a task do, and do not fill the stack.
#[test]
fn items_that_take_no_time_are_no_endless_recursion() {
    let queues = vec![queue(1), call(Call::Yield), crate::support::back(0, 100_000), Op::Run(ns(1_000))];
    let workload = with_work(vec![queues], 50_000, vec![Op::Begin, Op::Done]);
    let result = simulate(("test-1c", "v6.12"), &workload, (1, 100 * MS), true, &mut ());
    let text = result.map_or_else(|error| error.to_string(), |_| String::new());
    assert!(text.contains("without any time passing"), "{text:?}");
}

/// What a kworker queues is done for the task that its own item is of, whatever it does then.
#[test]
fn an_item_of_an_item_has_the_resources_of_the_first_task() {
    let queues = |times: usize| [vec![queue(2); times], vec![RECV; times]].concat();
    let mut workload = with_work(vec![queues(3), queues(3)], 1, vec![queue(3), Op::Run(ns(2_000))]);
    workload.programs.push(Program { name: "answers".to_owned(), ops: vec![SEND] });
    workload.channels.push(wakelab_workload::Channel::new("other", 8));
    // Both on one CPU, so that one kworker does the items of both.
    workload.tasks.iter_mut().for_each(|task| task.affinity = Some(vec![0]));
    workload.tasks[1].channels = [QUEUE, 2].into();
    let mut told = Told::default();
    simulate(("test-2c", "v6.12"), &workload, (1, 10 * MS), true, &mut told).unwrap();
    assert_eq!(told.exits.len(), 2);
}

/// An item has the resources of the task that queued it, by that task's numbers.
#[test]
fn an_item_has_the_resources_of_the_task_that_queued_it() {
    let queues = vec![queue(2), RECV, Op::Begin, Op::Done];
    let mut workload = with_work(vec![queues.clone(), queues], 1, vec![SEND]);
    workload.channels.push(wakelab_workload::Channel::new("other", 1));
    workload.tasks[1].channels = [QUEUE, 2].into();
    let mut told = Told::default();
    simulate(("test-2c", "v6.12"), &workload, (1, 10 * MS), true, &mut told).unwrap();
    assert_eq!(told.exits.len(), 2);
}
