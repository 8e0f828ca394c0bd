//! Tasks under schedulers of sched_ext. The schedulers here are written in Rust, after those of the kernel's
//! `tools/sched_ext`; schedulers in BPF have tests of their own.

use crate::support::{MS, back, call, ns, workload};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use wakelab_events::sim::{Event, ScxStep, Sink};
use wakelab_kernel::Preset;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::entity::Curr;
use wakelab_scx_core::ext::{Declared, Ext};
use wakelab_scx_core::flags::{
    HARDIRQ_OFFSET, SCX_CPU_PREEMPT_DL, SCX_CPU_PREEMPT_RT, SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_ON, SCX_ENQ_LAST,
    SCX_ENQ_PREEMPT, SCX_KICK_IDLE, SCX_KICK_PREEMPT, SCX_KICK_WAIT, SCX_OPS_ENQ_LAST, SCX_OPS_KEEP_BUILTIN_IDLE,
    SCX_SLICE_DFL, SCX_SLICE_INF, SCX_WAKE_FORK, SOFTIRQ_OFFSET,
};
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Call, Host, Op as Member, OpSet, Ops, Priorities, Scheduler, TaskFields, TaskInfo};
use wakelab_sim::{Mechanisms, Outcome, Setup, SimError, run_dyn};
use wakelab_workload::synthetic::{fork_exit, ping_pong, run_sleep};
use wakelab_workload::{Call as Syscall, Change, Changed, Deadline, Op, Realtime, Workload};

/// What a scheduler does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `scx_simple`: one queue by `dsq_vtime`, and idle CPUs at once.
    Simple,
    /// `scx_simple -f`: one queue in the order of insertion.
    Fifo,
    /// No operations: all tasks go through the global queue.
    Minimal,
    /// As `Fifo`, and the queue is of a CPU that is told: what is queued there runs only if `ops.enqueue()` kicks it.
    /// The field says how.
    PerCpu(Option<u64>),
    /// Tasks go to a queue from which nobody takes them.
    Forgets,
    /// Dispatches a task to the local queue of a CPU that it may not use.
    WrongCpu,
    /// Dispatches the task twice.
    Twice,
    /// `select_cpu` returns a CPU that the machine does not have.
    NoSuchCpu,
    /// Slices without an end, which a scheduler ends by kicks: `scx_central`, without its timer.
    Infinite,
    /// Takes the last runnable task of a CPU with SCX_ENQ_LAST, and sends it back.
    Last,
    /// Wakees preempt the task that runs.
    Preempts,
    /// Tasks go to the local queue of CPU 1, if they may use it.
    Elsewhere,
    /// Tasks go to the local queues of their CPUs. When a task of CPU 0 yields, it kicks CPU 1 with these flags.
    Kicks(u64),
    /// At its ticks, each CPU kicks the next one, and waits for it.
    KickRing,
    /// As `Fifo`, and hears of realtime tasks that take CPUs, and of what becomes of tasks.
    Hears,
    /// A task whose slice is over goes to the local queue of the next CPU that it may use.
    Swaps,
    /// As `Fifo`, and asks for this performance on each CPU that begins to run a task.
    Perf(u32),
}

/// Where `Forgets` queues, and the first of the queues of `PerCpu`.
const OTHER: u64 = 0x100;

#[derive(Debug)]
struct Test(Kind);

impl Scheduler for Test {
    fn name(&self) -> &str {
        "test"
    }

    fn load(&self, host: &Host<'_>) -> Result<(Declared, Box<dyn Ops>), String> {
        use Member::{Dispatch, Enable, Enqueue, Init, Running, SelectCpu, Stopping};
        let (ops, flags) = match self.0 {
            Kind::Minimal => (vec![], 0),
            Kind::Last => (vec![Enqueue, Dispatch, Init], SCX_OPS_ENQ_LAST),
            Kind::Hears => {
                let hears = [Member::CpuAcquire, Member::CpuRelease, Member::InitTask, Member::ExitTask];
                (
                    Vec::from_iter(hears.into_iter().chain([
                        SelectCpu,
                        Enqueue,
                        Dispatch,
                        Enable,
                        Member::Disable,
                        Init,
                    ])),
                    0,
                )
            }
            Kind::Kicks(_) | Kind::KickRing => (vec![Enqueue, Member::Yield, Member::Tick], 0),
            Kind::Swaps => (vec![Enqueue], 0),
            Kind::Preempts | Kind::Elsewhere => (vec![Enqueue, Running, Stopping, Member::ExitTask], 0),
            Kind::PerCpu(_) | Kind::Forgets => (vec![SelectCpu, Enqueue, Dispatch, Init], 0),
            _ => (vec![SelectCpu, Enqueue, Dispatch, Running, Stopping, Enable, Init], 0),
        };
        let declared = Declared {
            name: "test".to_owned(),
            // CPUs come and go, and it goes on.
            ops: ops.into_iter().chain([Member::CpuOnline, Member::CpuOffline]).collect(),
            cid_form: false,
            flags,
            dispatch_max_batch: 0,
            timeout_ms: 2000,
        };
        let nr_cpus = host.topology.cpus.len();
        let state = State {
            kind: self.0,
            nr_cpus,
            slices: vec![],
            vtimes: vec![],
            vtime_now: 0,
            left: vec![],
            released: vec![false; nr_cpus],
            nr_released: 0,
            nr_by_dl: 0,
            policies: Default::default(),
            enabled: Default::default(),
        };
        Ok((declared, Box::new(state)))
    }

    fn identity(&self) -> &str {
        "test"
    }
}

struct State {
    kind: Kind,
    nr_cpus: usize,
    slices: Vec<u64>,
    vtimes: Vec<u64>,
    vtime_now: u64,
    /// Tasks that have left.
    left: Vec<TaskId>,
    /// By CPU: a realtime task has it.
    released: Vec<bool>,
    nr_released: u64,
    /// How many of them by deadline tasks.
    nr_by_dl: u64,
    /// How often tasks got each policy.
    policies: std::collections::BTreeMap<u32, u64>,
    /// Whether each task that has been initialized is one of the class.
    enabled: std::collections::BTreeMap<TaskId, bool>,
}

fn set(values: &mut Vec<u64>, p: TaskId, value: u64) {
    let at = p.0 as usize;
    if values.len() <= at {
        values.resize(at + 1, 0);
    }
    values[at] = value;
}

impl TaskFields for State {
    fn slice(&self, p: TaskId) -> u64 {
        self.slices[p.0 as usize]
    }

    fn set_slice(&mut self, p: TaskId, slice: u64) {
        set(&mut self.slices, p, slice);
    }

    fn dsq_vtime(&self, p: TaskId) -> u64 {
        self.vtimes[p.0 as usize]
    }

    fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64) {
        set(&mut self.vtimes, p, vtime);
    }
}

fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

impl Ops for State {
    fn counters(&mut self) -> Vec<(String, u64)> {
        let policies = self.policies.iter().map(|(policy, &count)| (format!("policy {policy}"), count));
        let released = [("released".to_owned(), self.nr_released), ("by_dl".to_owned(), self.nr_by_dl)];
        policies.chain(released).collect()
    }

    fn set_priorities(&mut self, _: TaskId, priorities: Priorities) {
        *self.policies.entry(priorities.policy).or_default() += 1;
    }

    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        let slice = if self.kind == Kind::Infinite { SCX_SLICE_INF } else { SCX_SLICE_DFL };
        if let Call::Running { p } | Call::Stopping { p, .. } | Call::Enqueue { p, .. } = call {
            assert!(!self.left.contains(&p), "{call:?} of a task that has left");
        }
        match call {
            Call::CpuRelease { cpu, reason } => {
                assert!(matches!(reason, SCX_CPU_PREEMPT_RT | SCX_CPU_PREEMPT_DL), "{reason}");
                assert!(!self.released[cpu as usize], "CPU {cpu} was released before");
                self.nr_by_dl += u64::from(reason == SCX_CPU_PREEMPT_DL);
                (self.released[cpu as usize], self.nr_released) = (true, self.nr_released + 1);
            }
            Call::CpuAcquire { cpu } => {
                assert!(std::mem::take(&mut self.released[cpu as usize]), "CPU {cpu} was not released");
            }
            Call::InitTask { p, .. } => assert_eq!(self.enabled.insert(p, false), None),
            Call::Enable { p } if self.kind == Kind::Hears => {
                assert_eq!(self.enabled.insert(p, true), Some(false));
            }
            Call::Disable { p } => assert_eq!(self.enabled.insert(p, false), Some(true)),
            Call::ExitTask { p } if self.kind == Kind::Hears => assert_eq!(self.enabled.remove(&p), Some(false)),
            Call::ExitTask { p } => self.left.push(p),
            Call::Enqueue { p, enq_flags } if self.kind == Kind::Preempts => {
                ext.dsq_insert(self, p, SCX_DSQ_LOCAL, slice, None, enq_flags | SCX_ENQ_PREEMPT);
            }
            Call::Init => {
                ext.create_dsq(0);
                (0..=self.nr_cpus as u64).for_each(|cpu| {
                    ext.create_dsq(OTHER + cpu);
                });
            }
            Call::SelectCpu { .. } if self.kind == Kind::NoSuchCpu => return self.nr_cpus as i64,
            Call::SelectCpu { prev_cpu, .. } if matches!(self.kind, Kind::PerCpu(_) | Kind::Forgets) => {
                return i64::from(prev_cpu);
            }
            Call::SelectCpu { p, prev_cpu, wake_flags } => {
                return match ext.select_cpu_from_kfunc(p, prev_cpu as i32, wake_flags, None, 0) {
                    Ok(cpu) => {
                        ext.dsq_insert(self, p, SCX_DSQ_LOCAL, slice, None, 0);
                        i64::from(cpu)
                    }
                    Err(_) => i64::from(prev_cpu),
                };
            }
            Call::Enqueue { p, enq_flags } => match self.kind {
                Kind::Simple => {
                    let least = self.vtime_now.wrapping_sub(SCX_SLICE_DFL);
                    let vtime = if before(self.dsq_vtime(p), least) { least } else { self.dsq_vtime(p) };
                    ext.dsq_insert(self, p, 0, slice, Some(vtime), enq_flags);
                }
                Kind::PerCpu(kick) => {
                    let cpu = 1 % self.nr_cpus as u32;
                    let cpu = if ext.cpus_ptr(p).weight() == 1 { ext.cpus_ptr(p).first().unwrap() } else { cpu };
                    ext.dsq_insert(self, p, OTHER + u64::from(cpu), slice, None, enq_flags);
                    if let Some(kick) = kick {
                        ext.kick_cpu(cpu, kick);
                    }
                }
                Kind::Forgets if ext.cpus_ptr(p).weight() > 1 => {
                    ext.dsq_insert(self, p, OTHER, slice, None, enq_flags);
                }
                Kind::Elsewhere if ext.cpus_ptr(p).test(1) => {
                    ext.dsq_insert(self, p, SCX_DSQ_LOCAL_ON | 1, slice, None, enq_flags);
                }
                Kind::Kicks(_) | Kind::KickRing => {
                    ext.dsq_insert(self, p, SCX_DSQ_LOCAL, slice, None, enq_flags);
                }
                Kind::Swaps => {
                    let next = (ext.task(p).cpu + 1) % self.nr_cpus as u32;
                    let to = if ext.cpus_ptr(p).test(next) { next } else { ext.task(p).cpu };
                    ext.dsq_insert(self, p, SCX_DSQ_LOCAL_ON | u64::from(to), MS, None, enq_flags);
                }
                Kind::WrongCpu => {
                    let wrong = (0..self.nr_cpus as u32).find(|&cpu| !ext.cpus_ptr(p).test(cpu)).unwrap_or(0);
                    ext.dsq_insert(self, p, SCX_DSQ_LOCAL_ON | u64::from(wrong), slice, None, enq_flags);
                }
                Kind::Twice => {
                    ext.dsq_insert(self, p, 0, slice, None, enq_flags);
                    ext.dsq_insert(self, p, 0, slice, None, enq_flags);
                }
                Kind::Last if enq_flags & SCX_ENQ_LAST != 0 => {
                    ext.dsq_insert(self, p, SCX_DSQ_LOCAL, slice, None, enq_flags);
                }
                _ => {
                    ext.dsq_insert(self, p, 0, slice, None, enq_flags);
                }
            },
            Call::Yield { .. } => {
                if let Kind::Kicks(flags) = self.kind
                    && ext.this_cpu == 0
                {
                    ext.kick_cpu(1, flags);
                }
            }
            Call::Tick { .. } if self.kind == Kind::KickRing => {
                ext.kick_cpu((ext.this_cpu + 1) % self.nr_cpus as u32, SCX_KICK_WAIT);
            }
            Call::Dispatch { cpu, .. } => {
                let dsq = if matches!(self.kind, Kind::PerCpu(_)) { OTHER + u64::from(cpu) } else { 0 };
                ext.dsq_move_to_local(self, dsq, 0);
            }
            Call::Running { p } if matches!(self.kind, Kind::Perf(_)) => {
                let Kind::Perf(perf) = self.kind else { unreachable!("it was looked at") };
                ext.cpuperf_set(ext.task(p).cpu as i32, perf);
            }
            Call::Running { p } if before(self.vtime_now, self.dsq_vtime(p)) => self.vtime_now = self.dsq_vtime(p),
            Call::Stopping { p, .. } if self.kind == Kind::Simple => {
                let used = SCX_SLICE_DFL - self.slice(p);
                let vtime = self.dsq_vtime(p) + used * 100 / u64::from(ext.task(p).weight);
                self.set_dsq_vtime(p, vtime);
            }
            Call::Enable { p } => self.set_dsq_vtime(p, self.vtime_now),
            _ => {}
        }
        0
    }
}

/// What is heard of a run: work done by each task in the order of forks, switches, and which CPUs ran what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heard {
    done: std::collections::BTreeMap<u32, u32>,
    /// By CPU, when each task began to run, ns.
    ran: Vec<(u64, u32, Option<u32>)>,
}

impl Sink for Heard {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Done { task, .. } => *self.done.entry(task).or_default() += 1,
            Event::Switch { cpu, next, .. } => self.ran.push((time, cpu, next)),
            _ => {}
        }
    }
}

fn simulate(
    kind: Kind,
    machine: &str,
    kernel: &str,
    load: &Workload,
    until: u64,
) -> (Result<Outcome, SimError>, Heard) {
    let mut heard = Heard::default();
    let outcome = listen(kind, machine, kernel, load, until, &mut heard);
    (outcome, heard)
}

fn listen<S: Sink>(
    kind: Kind,
    machine: &str,
    kernel: &str,
    load: &Workload,
    until: u64,
    sink: &mut S,
) -> Result<Outcome, SimError> {
    run_under(&Test(kind), kind != Kind::PerCpu(None), machine, kernel, load, until, sink)
}

/// Runs a load under a scheduler, with kworkers or without.
fn run_under<S: Sink>(
    scheduler: &dyn Scheduler,
    noise: bool,
    machine: &str,
    kernel: &str,
    load: &Workload,
    until: u64,
    sink: &mut S,
) -> Result<Outcome, SimError> {
    let machine = wakelab_machine::get(machine).expect("a machine");
    let kernel = Preset::get(kernel).expect("a preset");
    let setup = Setup {
        machine: &machine,
        kernel,
        features: kernel.features,
        workload: load,
        seed: 1,
        until,
        // A kworker's wake-up would have a CPU look at what is queued for it.
        mechanisms: Mechanisms { noise, ..Mechanisms::default() },
        observer_cost: 0,
        pm: None,
        scheduler: Some(scheduler),
    };
    run_dyn(&setup, sink, &AtomicBool::new(false))
}

#[test]
fn schedutil_follows_the_performance_that_a_scheduler_asks_for() {
    use crate::support::power::{outcome, periodic, setup, side};
    let machine = wakelab_machine::get("i7-2600k").expect("a machine");
    let load = periodic(2 * MS, 8 * MS);
    // The frequency of CPU 0 while it runs, of the base frequency.
    let frequency = |kind| {
        let scheduler = Test(kind);
        let pm = wakelab_sim::PmSide { measured_from: 100 * MS, ..side("schedutil") };
        let setup = Setup { scheduler: Some(&scheduler), ..setup(&machine, "v7.2", &load, Some(pm)) };
        let power = outcome(&setup).power.expect("governors");
        power.cpus[0].aperf as f64 / power.cpus[0].mperf as f64
    };
    let most = frequency(Kind::Perf(1024));
    // A quarter more than is asked for (sugov_effective_cpu_perf()), up to the next frequency of the table.
    for (perf, part) in [(512, 0.625), (256, 0.421)] {
        let of = frequency(Kind::Perf(perf)) / most;
        assert!((of - part).abs() < 0.05, "{perf} of 1024: {of}, expected about {part}");
    }
    // Until it asks, it has asked for the most (scx_root_enable()).
    assert_eq!(frequency(Kind::Fifo), most);
}

/// What the scheduler has counted itself.
fn counted(outcome: &Outcome, what: &str) -> u64 {
    outcome.scheduler.iter().find(|(name, _)| name == what).expect("the scheduler counts").1
}

fn released(outcome: &Outcome) -> u64 {
    counted(outcome, "released")
}

#[test]
fn realtime_tasks_run_before_the_schedulers() {
    for kernel in ["v6.12", "v7.2"] {
        let periodic = vec![Op::Run(ns(MS)), Op::Done, Op::Sleep(ns(MS)), back(0, 0)];
        let spinner = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
        let mut load = workload(vec![periodic, spinner.clone(), spinner], &[], None);
        load.tasks[0].realtime = Some(Realtime::Fifo(10));
        let (outcome, heard) = simulate(Kind::Hears, "test-1c", kernel, &load, 1_000 * MS);
        let outcome = outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let done: Vec<u32> = heard.done.into_values().collect();
        // It never waits, and the others have what is left.
        assert!(done[0] > 480 && done[1] + done[2] > 450 && done[1].abs_diff(done[2]) < 50, "{kernel}: {done:?}");
        assert!(released(&outcome) > 480, "{kernel}: {}", released(&outcome));
        assert_eq!(outcome.cpus[0].idle / MS, 0, "{kernel}");
    }
}

/// Half of its time a task is a realtime task, which has the CPU to itself then.
#[test]
fn a_task_leaves_the_scheduler_for_a_realtime_policy_and_comes_back() {
    for kernel in ["v6.12", "v6.18", "v7.2"] {
        let changes = vec![
            call(Syscall::Realtime(Realtime::Fifo(10))),
            Op::Run(ns(10 * MS)),
            call(Syscall::Realtime(Realtime::Rr(20))),
            Op::Run(ns(10 * MS)),
            Op::Done,
            call(Syscall::IdlePolicy(false)),
            Op::Run(ns(20 * MS)),
            call(Syscall::Nice(5)),
            call(Syscall::Nice(0)),
            back(0, 0),
        ];
        let spinner = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
        let load = workload(vec![changes, spinner], &[], None);
        let (outcome, heard) = simulate(Kind::Hears, "test-1c", kernel, &load, 3_000 * MS);
        let outcome = outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        // SCHED_FIFO, SCHED_RR, and SCHED_NORMAL with two nice values after it.
        let [fifo, rr, normal] = ["policy 1", "policy 2", "policy 0"].map(|policy| counted(&outcome, policy));
        assert!(fifo > 40 && fifo - rr <= 1 && fifo.abs_diff(normal / 3) <= 1, "{kernel}: {fifo} {rr} {normal}");
        let done: Vec<u32> = heard.done.into_values().collect();
        // A round: 20 ms alone, and 20 ms in turn with the other, which has a slice of 20 ms or two meanwhile.
        let meanwhile = f64::from(done[1]) / f64::from(done[0]);
        assert!((19.0..41.0).contains(&meanwhile), "{kernel}: {done:?}");
        assert!((40 * done[0] + done[1]).abs_diff(3_000) <= 60, "{kernel}: {done:?}");
    }
}

#[test]
fn deadline_tasks_run_before_the_schedulers_and_take_cpus_by_their_own_reason() {
    for kernel in ["v6.12", "v6.18", "v7.2"] {
        let periodic = vec![Op::Run(ns(MS)), Op::Done, Op::Sleep(ns(9 * MS)), back(0, 0)];
        let spinner = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
        // One is of the class when it starts, the other before.
        let deadline = Deadline { runtime_ns: 2 * MS, deadline_ns: 10 * MS, period_ns: 10 * MS };
        let becomes =
            [&[call(Syscall::Realtime(Realtime::Deadline(deadline)))], &periodic[..3], &[back(1, 0)]].concat();
        let mut load = workload(vec![periodic, becomes, spinner.clone(), spinner], &[], None);
        load.tasks[0].realtime = Some(Realtime::Deadline(deadline));
        let (outcome, heard) = simulate(Kind::Hears, "test-1c", kernel, &load, 1_000 * MS);
        let outcome = outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let done: Vec<u32> = heard.done.into_values().collect();
        assert!(done[..2].iter().all(|done| done.abs_diff(98) <= 4), "{kernel}: {done:?}");
        assert!(done[2] + done[3] > 750 && done[2].abs_diff(done[3]) < 50, "{kernel}: {done:?}");
        let by_dl = counted(&outcome, "by_dl");
        assert!(by_dl > 150 && by_dl == released(&outcome), "{kernel}: {by_dl} of {}", released(&outcome));
        assert_eq!(outcome.cpus[0].idle / MS, 0, "{kernel}");
    }
}

/// `rt_stall.c` of the kernel's selftests: a realtime task that never stops, and one of the scheduler.
#[test]
fn a_realtime_task_that_never_stops_leaves_the_class_its_share_since_there_is_a_server() {
    let mut load = spinners(&[0, 0]);
    load.tasks.iter_mut().for_each(|task| task.affinity = Some(vec![0]));
    load.tasks[0].realtime = Some(Realtime::Fifo(50));
    let (outcome, heard) = simulate(Kind::Hears, "test-2c", "v7.2", &load, 5_000 * MS);
    outcome.unwrap();
    let done: Vec<u32> = heard.done.into_values().collect();
    let share = f64::from(done[1]) / f64::from(done[0] + done[1]);
    // runtime 50 ms of each period of 1 s.
    assert!((0.04..0.06).contains(&share), "{share} {done:?}");
    let (outcome, _) = simulate(Kind::Hears, "test-2c", "v6.12", &load, 5_000 * MS);
    let error = outcome.expect_err("a stall").to_string();
    assert!(error.contains("runnable task stall"), "{error}");
}

#[test]
fn realtime_tasks_come_and_go_on_any_cpu() {
    // A realtime parent forks realtime children, others wake each other, and the scheduler's tasks take what is left.
    let mut load = ping_pong(4);
    (0..).zip(&mut load.tasks).for_each(|(n, task): (u8, _)| task.realtime = Some(Realtime::Rr(1 + n % 3)));
    let first = load.programs.len() as u32;
    let forks = fork_exit(3);
    load.programs.extend(forks.programs.into_iter().map(|mut program| {
        for op in &mut program.ops {
            if let Op::Fork { program } = op {
                *program += first;
            }
        }
        program
    }));
    load.tasks.extend(forks.tasks.into_iter().map(|task| wakelab_workload::Task {
        program: task.program + first,
        realtime: Some(Realtime::Fifo(5)),
        ..task
    }));
    let program = load.programs.len() as u32;
    load.programs.extend(spinners(&[0]).programs);
    let spins = spinners(&[0; 10]).tasks;
    load.tasks.extend(spins.into_iter().map(|task| wakelab_workload::Task { program, ..task }));
    for kernel in ["v6.12", "v6.18", "v7.2"] {
        let (outcome, heard) = simulate(Kind::Hears, MACHINE, kernel, &load, 300 * MS);
        let outcome = outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(heard.done.len() >= 15 && heard.done.values().all(|&done| done > 10), "{kernel}: {:?}", heard.done);
        assert!(released(&outcome) > 1_000, "{kernel}: {}", released(&outcome));
    }
}

/// Tasks that compute for ever, a millisecond after the other, with these nice values.
fn spinners(nices: &[i8]) -> Workload {
    let program = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
    let mut load = workload(vec![program; nices.len()], &[], None);
    load.tasks.iter_mut().zip(nices).for_each(|(task, &nice)| task.nice = nice);
    load
}

/// Four cores with two CPUs each.
const MACHINE: &str = "intel-kaby-lake-4c8t";

#[test]
fn every_kernel_with_sched_ext_runs_schedulers_and_no_other() {
    for kernel in Preset::all() {
        let (outcome, heard) = simulate(Kind::Simple, MACHINE, kernel.name, &ping_pong(3), 20 * MS);
        match kernel.core.ext {
            Some(_) => {
                outcome.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
                assert!(heard.done.values().all(|&done| done > 100), "{heard:?}");
            }
            None => {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("has no sched_ext") && error.contains("v6.12"), "{error}");
            }
        }
    }
}

#[test]
fn idle_cpus_take_wakees_at_once_under_each_scheduler() {
    // More CPUs than tasks: nobody waits, and pairs answer as fast as under the fair class, within what the operations
    // take.
    for kind in [Kind::Simple, Kind::Fifo, Kind::Minimal, Kind::Infinite] {
        let (outcome, heard) = simulate(kind, MACHINE, "v7.2", &ping_pong(2), 50 * MS);
        outcome.unwrap();
        assert!(heard.done.values().all(|&done| done > 1000), "{kind:?}: {:?}", heard.done);
    }
}

#[test]
fn cpu_time_follows_weights_by_vtime_and_is_equal_in_a_fifo() {
    // Six tasks for each CPU of a machine with one CPU... of nice 0 and 5, whose weights are 1024 and 335.
    let load = spinners(&[0, 0, 0, 5, 5, 5]);
    let share = |kind| {
        let (outcome, heard) = simulate(kind, "test-1c", "v7.2", &load, 6_000 * MS);
        outcome.unwrap();
        let done: Vec<u32> = heard.done.into_values().collect();
        let [heavy, light] = [&done[..3], &done[3..]].map(|done| done.iter().sum::<u32>());
        f64::from(heavy) / f64::from(light)
    };
    let by_vtime = share(Kind::Simple);
    // scx weights are of 1 to 10000 with 100 for nice 0: 33 for nice 5.
    assert!((by_vtime / (100.0 / 33.0) - 1.0).abs() < 0.05, "{by_vtime}");
    let fifo = share(Kind::Fifo);
    assert!((fifo - 1.0).abs() < 0.05, "{fifo}");
}

#[test]
fn slices_end_at_ticks() {
    let (outcome, heard) = simulate(Kind::Fifo, "test-1c", "v7.2", &spinners(&[0, 0]), 400 * MS);
    outcome.unwrap();
    // Of the two tasks, not of kworkers.
    let spins = |task: &&(u64, u32, Option<u32>)| task.2.is_some_and(|task| heard.done.contains_key(&task));
    let begun: Vec<u64> = heard.ran.iter().filter(spins).map(|ran| ran.0).collect();
    let slices: Vec<u64> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 20 ms, up to the next tick of 4 ms after that; kworkers come between.
    assert!(slices.len() >= 12, "{slices:?}");
    assert!(slices.iter().filter(|&&ns| (20 * MS..25 * MS).contains(&ns)).count() * 3 > slices.len() * 2, "{slices:?}");
}

#[test]
fn a_queue_that_nobody_reads_is_a_stall_with_the_tasks_name() {
    for kind in [Kind::Forgets, Kind::PerCpu(None)] {
        // Longer than the timeout of 2 s.
        let (outcome, _) = simulate(kind, MACHINE, "v7.2", &ping_pong(2), 10_000 * MS);
        let error = outcome.expect_err("a stall").to_string();
        assert!(error.contains("runnable task stall"), "{kind:?}: {error}");
        assert!(error.contains("failed to run for 3.00"), "{kind:?}: {error}");
    }
}

#[test]
fn a_kick_runs_what_is_queued_for_an_idle_cpu() {
    for kick in [0, SCX_KICK_IDLE] {
        let (outcome, heard) = simulate(Kind::PerCpu(Some(kick)), MACHINE, "v7.2", &ping_pong(2), 100 * MS);
        outcome.unwrap();
        assert!(heard.done.len() >= 2 && heard.done.values().all(|&done| done > 100), "{kick}: {:?}", heard.done);
    }
}

/// Who is preempted is enqueued, which kicks its CPU, which preempts whom it has just picked, and so on. The kernel's
/// loop in `schedule()` would go on for ever.
#[test]
fn a_kick_that_preempts_at_each_enqueue_hangs_the_cpu() {
    let preempts = Kind::PerCpu(Some(SCX_KICK_PREEMPT));
    let error = simulate(preempts, MACHINE, "v7.2", &ping_pong(2), 400 * MS).0.unwrap_err().to_string();
    assert!(error.contains("CPU 1 has gone through __schedule() 100001 times since "), "{error}");
    assert!(error.contains("ops.enqueue() on CPU 1 kicks it"), "{error}");
}

/// A task on CPU 0 that yields each 4.5 ms, and one on CPU 1 that computes, or sleeps for as long as it computes.
fn on_two_cpus(sleeps: bool) -> Workload {
    let yields = vec![Op::Run(ns(4 * MS + MS / 2)), call(Syscall::Yield), Op::Done, back(0, 0)];
    let spinner = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
    let sleeper = vec![Op::Run(ns(MS)), Op::Sleep(ns(MS)), Op::Done, back(0, 0)];
    let mut load = workload(vec![yields, if sleeps { sleeper } else { spinner }], &[], None);
    load.tasks.iter_mut().zip([0, 1]).for_each(|(task, cpu)| task.affinity = Some(vec![cpu]));
    load
}

#[test]
fn a_cpu_that_kicks_another_to_wait_for_it_loses_that_time() {
    let overhead = |kernel, flags, sleeps| {
        let (outcome, _) = simulate(Kind::Kicks(flags), "test-2c", kernel, &on_two_cpus(sleeps), 400 * MS);
        outcome.unwrap().cpus[0].overhead
    };
    let waits = |kernel, sleeps| overhead(kernel, SCX_KICK_WAIT, sleeps) - overhead(kernel, 0, sleeps);
    // 88 times. The other CPU is reached by an IPI, and then goes through its scheduler.
    let ipi = wakelab_machine::get("test-2c").unwrap().costs.ipi.value;
    let waited = waits("v7.2", false);
    assert!((80 * ipi..95 * ipi).contains(&waited), "{waited} ns, an IPI takes {ipi} ns");
    // Before, it waits until the other's task sleeps (`switch_class()` of 6.12.117), or comes and sleeps again.
    let waited = waits("v6.12", true);
    // It sleeps for 1 ms and runs for 1 ms, so that a kick half a millisecond into the sleep waits for 1.5 ms.
    assert!((60 * MS..130 * MS).contains(&waited), "{waited} ns");
}

#[test]
fn cpus_that_wait_for_each_other_go_on() {
    // All kick the next one at their ticks, which are at one moment.
    let (outcome, heard) = simulate(Kind::KickRing, MACHINE, "v7.2", &spinners(&[0; 16]), 400 * MS);
    outcome.unwrap();
    assert!(heard.done.len() == 16 && heard.done.values().all(|&done| done > 20), "{:?}", heard.done);
}

#[test]
fn in_6_18_a_cpu_waits_in_the_interrupt_for_a_pick_alone() {
    let (outcome, _) = simulate(Kind::Kicks(SCX_KICK_WAIT), "test-2c", "v6.18", &on_two_cpus(false), 1_000 * MS);
    let cpus = outcome.unwrap().cpus;
    assert!(cpus[0].work > 900 * MS && cpus[1].work > 900 * MS, "{cpus:?}");
}

#[test]
fn in_6_12_a_cpu_waits_for_ever_for_one_that_stays_in_the_class() {
    let (outcome, _) = simulate(Kind::Kicks(SCX_KICK_WAIT), "test-2c", "v6.12", &on_two_cpus(false), 5_000 * MS);
    // It is in its first kick's interrupt until the end.
    let cpus = outcome.unwrap().cpus;
    assert!(cpus[0].work < 10 * MS && cpus[1].work > 4_900 * MS, "{cpus:?}");
}

#[test]
fn errors_of_schedulers_are_the_kernels() {
    let mut pinned = spinners(&[0; 40]);
    pinned.tasks.iter_mut().for_each(|task| task.affinity = Some(vec![2, 3]));
    let cases = [
        (Kind::WrongCpu, "SCX_DSQ_LOCAL[_ON] target CPU 0 not allowed"),
        (Kind::Twice, "already direct-dispatched"),
        (Kind::NoSuchCpu, "invalid CPU 8 from ops.select_cpu()"),
    ];
    for (kind, message) in cases {
        let load = if kind == Kind::WrongCpu { pinned.clone() } else { spinners(&[0; 40]) };
        let error = simulate(kind, MACHINE, "v7.2", &load, 500 * MS).0.unwrap_err().to_string();
        assert!(error.contains("runtime error at ") && error.contains(message), "{kind:?}: {error}");
    }
}

#[test]
fn no_cpu_idles_while_a_shared_queue_has_tasks_for_it() {
    // 12 tasks that compute on 8 CPUs.
    for kind in [Kind::Simple, Kind::Fifo, Kind::Minimal, Kind::Last] {
        let (outcome, _) = simulate(kind, MACHINE, "v7.2", &spinners(&[0; 12]), 200 * MS);
        let idle: u64 = outcome.unwrap().cpus.iter().map(|cpu| cpu.idle).sum();
        assert!(idle < 8 * 200 * MS / 100, "{kind:?}: {idle} ns");
    }
}

#[test]
fn affinities_hold_in_shared_queues() {
    let mut load = spinners(&[0; 12]);
    (0..).zip(&mut load.tasks).for_each(|(n, task): (u32, _)| task.affinity = Some(vec![n % 4, 4 + n % 4]));
    for kind in [Kind::Simple, Kind::Minimal] {
        let (outcome, heard) = simulate(kind, MACHINE, "v7.2", &load, 300 * MS);
        outcome.unwrap();
        let first = *heard.done.keys().next().expect("a task made progress");
        for &(_, cpu, task) in &heard.ran {
            if let Some(n) = task.and_then(|task| task.checked_sub(first)).filter(|&n| n < 12) {
                assert_eq!(cpu % 4, n % 4, "{kind:?}: task {n} ran on CPU {cpu}");
            }
        }
        assert!(heard.done.len() == 12 && heard.done.values().all(|&done| done > 20), "{:?}", heard.done);
    }
}

#[test]
fn yielding_gives_the_cpu_to_the_next_in_line() {
    let program = vec![Op::Run(ns(MS)), Op::Done, call(Syscall::Yield), back(0, 0)];
    let load = workload(vec![program; 3], &[], None);
    let (outcome, heard) = simulate(Kind::Fifo, "test-1c", "v7.2", &load, 300 * MS);
    outcome.unwrap();
    let (least, most) = (heard.done.values().min().unwrap(), heard.done.values().max().unwrap());
    assert!(*least > 80 && most - least <= 2, "{:?}", heard.done);
}

#[test]
fn the_same_run_is_the_same_each_time() {
    for kind in [Kind::Simple, Kind::Minimal, Kind::PerCpu(Some(SCX_KICK_IDLE))] {
        let runs = [(); 2].map(|()| simulate(kind, MACHINE, "v7.2", &ping_pong(20), 50 * MS));
        assert!(runs[0].0.is_ok() && !runs[0].1.ran.is_empty());
        assert_eq!(runs[0], runs[1], "{kind:?}");
    }
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    let program = vec![call(Syscall::Uclamp { min: Some(1), max: None }), Op::Run(ns(MS)), back(0, 0)];
    let load = workload(vec![program], &[], None);
    let error = simulate(Kind::Simple, MACHINE, "v7.2", &load, MS).0.unwrap_err().to_string();
    assert!(error.contains("a utilisation clamp under a sched_ext scheduler"), "{error}");
    let mut load = spinners(&[0]);
    load.programs[0].ops.insert(0, call(Syscall::Realtime(Realtime::Fifo(1))));
    load.changes.push(Change { at_ns: MS, what: Changed::Offline { cpus: vec![1] } });
    let error = simulate(Kind::Simple, MACHINE, "v7.2", &load, 2 * MS).0.unwrap_err().to_string();
    assert!(error.contains("a CPU that goes offline while there are realtime tasks"), "{error}");
}

#[test]
fn a_task_that_changes_its_affinity_goes_where_it_may_run() {
    // Each goes to CPU 2, then to CPU 5 and back, under schedulers that take wakees at once, or by a shared queue, and
    // beside tasks that compute.
    for (kind, beside) in [(Kind::Simple, 0), (Kind::Simple, 12), (Kind::Minimal, 12), (Kind::Kicks(0), 0)] {
        let to = |set| call(Syscall::Affinity { cpus: Some(set) });
        let moves = vec![to(0), Op::Run(ns(MS)), Op::Done, to(1), Op::Run(ns(MS)), Op::Done, back(0, 0)];
        let spins = vec![Op::Run(ns(MS)), Op::Done, back(0, 0)];
        let programs = [moves].into_iter().chain(vec![spins; beside]).collect();
        let mut load = workload(programs, &[], None);
        load.cpu_sets = vec![vec![2], vec![5]];
        for kernel in ["v6.12", "v6.18", "v7.2"] {
            let (outcome, heard) = simulate(kind, MACHINE, kernel, &load, 200 * MS);
            outcome.unwrap_or_else(|error| panic!("{kind:?} {kernel}: {error}"));
            let (&first, &done) = heard.done.first_key_value().expect("a task made progress");
            let at_least = if beside == 0 { 80 } else { 4 };
            assert!(done >= at_least, "{kind:?} {kernel}: {done}");
            // From its first change on.
            let cpus: Vec<u32> = heard.ran.iter().filter(|ran| ran.2 == Some(first)).map(|ran| ran.1).skip(1).collect();
            assert!(cpus.iter().all(|cpu| [2, 5].contains(cpu)), "{kind:?} {kernel}: {cpus:?}");
            assert!(cpus.contains(&2) && cpus.contains(&5), "{kind:?} {kernel}: {cpus:?}");
        }
    }
}

#[test]
fn a_task_that_is_preempted_as_it_exits_leaves_when_it_has_run_for_the_last_time() {
    // Its exit wakes its parent.
    let (outcome, heard) = simulate(Kind::Preempts, "test-1c", "v7.2", &fork_exit(3), 20 * MS);
    outcome.unwrap();
    assert!(heard.done.values().sum::<u32>() > 100, "{:?}", heard.done);
}

/// Half of the CPUs go offline, come back, and some go again: each task goes on, and none runs where no CPU is.
#[test]
fn tasks_leave_cpus_that_go_offline() {
    let cpus: &[u32] = &[1, 2, 5, 7];
    let changes = [(30, cpus, false), (90, cpus, true), (120, &cpus[..3], false)];
    let offline = |ns: u64, cpu: u32| changes.iter().rfind(|of| of.0 * MS <= ns && of.1.contains(&cpu)).map(|of| !of.2);
    let mut pinned = spinners(&[0; 12]);
    pinned.tasks[2].affinity = Some(vec![5]);
    pinned.tasks[3].affinity = Some(vec![2, 6]);
    for (base, kinds) in [
        (ping_pong(6), &[Kind::Simple, Kind::Minimal, Kind::Preempts][..]),
        (pinned, &[Kind::Simple, Kind::Fifo, Kind::Minimal, Kind::Last]),
        (fork_exit(1), &[Kind::Simple]),
    ] {
        let mut load = base;
        load.changes = changes
            .iter()
            .map(|&(ms, cpus, online)| {
                let cpus = cpus.to_vec();
                let what = if online { Changed::Online { cpus } } else { Changed::Offline { cpus } };
                Change { at_ns: ms * MS, what }
            })
            .collect();
        for (&kind, kernel) in kinds.iter().flat_map(|kind| [(kind, "v7.2"), (kind, "v6.18"), (kind, "v6.12")]) {
            let (outcome, heard) = simulate(kind, MACHINE, kernel, &load, 140 * MS);
            outcome.unwrap_or_else(|error| panic!("{kind:?}, {kernel}: {error}"));
            // What a CPU does as it is told comes to its end first.
            let late = |&&(at, cpu, next): &&(u64, u32, Option<u32>)| {
                next.is_some() && offline(at, cpu) == Some(true) && offline(at - at.min(MS), cpu) == Some(true)
            };
            assert_eq!(heard.ran.iter().find(late), None, "{kind:?}, {kernel}");
            let back =
                |cpu| heard.ran.iter().any(|of| of.1 == cpu && of.2.is_some() && (91 * MS..120 * MS).contains(&of.0));
            assert!(load.tasks.len() < 8 || cpus.iter().all(|&cpu| back(cpu)), "{kind:?}, {kernel}");
            assert!(heard.done.values().all(|&done| done > 5), "{kind:?}, {kernel}: {:?}", heard.done);
        }
    }
}

#[test]
fn what_changes_during_a_run_is_refused_without_a_scheduler() {
    let mut load = spinners(&[0]);
    load.changes = vec![Change { at_ns: MS, what: Changed::Offline { cpus: vec![1] } }];
    let machine = wakelab_machine::get(MACHINE).expect("a machine");
    let setup =
        Setup { scheduler: None, workload: &load, ..crate::support::power::setup(&machine, "v7.2", &load, None) };
    let error = run_dyn(&setup, &mut Heard::default(), &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "a CPU that goes offline or online during the run is modelled only under a sched_ext scheduler"
        ),
        "{error}"
    );
}

/// When tasks join a run queue, and when they are moved to another, ns.
#[derive(Default)]
struct Steps(Vec<(u64, u32, ScxStep)>);

impl Sink for Steps {
    const ON: bool = true;
    const INPUTS: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        if let Event::Scx { task, step, .. } = *event {
            self.0.push((time, task, step));
        }
    }
}

/// A dispatch from `ops.enqueue()` to another CPU's local queue waits until the run queue's lock can be given up, which
/// is at that moment, too.
#[test]
fn the_steps_of_deferred_work_have_its_time() {
    let mut steps = Steps::default();
    // More tasks than CPUs, or an idle one would take each wakee.
    listen(Kind::Elsewhere, "test-2c", "v7.2", &ping_pong(6), 10 * MS, &mut steps).unwrap();
    let moved: Vec<usize> = (0..steps.0.len()).filter(|&at| steps.0[at].2 == ScxStep::Moved).collect();
    assert!(moved.len() > 100, "{}", moved.len());
    for at in moved {
        let (time, task, _) = steps.0[at];
        let before = steps.0[..at].iter().rfind(|(_, of, _)| *of == task).expect("it was woken");
        assert_eq!(before.0, time, "task {task}");
        assert!(matches!(before.2, ScxStep::Held | ScxStep::Joins | ScxStep::Stopped), "task {task}: {:?}", before.2);
    }
}

/// Finds tasks that begin to run on a CPU while they run on another.
#[derive(Default)]
struct Twice {
    /// By CPU: what runs there.
    running: std::collections::BTreeMap<Cpu, u32>,
    /// How often a task went from one CPU to another without a sleep.
    moved: u32,
    last: std::collections::BTreeMap<u32, Cpu>,
    found: Vec<String>,
}

impl Sink for Twice {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        let Event::Switch { cpu, prev, prev_sleeps, next } = *event else { return };
        if let Some(prev) = prev {
            self.running.remove(&cpu);
            self.last.remove(&prev);
            if !prev_sleeps {
                self.last.insert(prev, cpu);
            }
        }
        if let Some(next) = next {
            if let Some((on, _)) = self.running.iter().find(|(_, task)| **task == next) {
                self.found.push(format!("task {next} begins on CPU {cpu} at {time} ns and still runs on CPU {on}"));
            }
            self.moved += u32::from(self.last.get(&next).is_some_and(|&last| last != cpu));
            self.running.insert(cpu, next);
        }
    }
}

/// Whoever takes a task from another run queue takes that one's lock, which a CPU holds until it has switched away from
/// the task. This is so for those that idle CPUs take from a shared queue as soon as it is there, and for those that
/// `ops.enqueue()` sends elsewhere when their slices are over.
#[test]
fn a_task_that_is_taken_while_its_cpu_switches_away_begins_when_that_is_over() {
    for (kind, tasks, machine) in [
        (Kind::Simple, 12, MACHINE),
        (Kind::Minimal, 12, MACHINE),
        (Kind::Swaps, 3, "test-2c"),
        (Kind::Swaps, 12, MACHINE),
    ] {
        let mut twice = Twice::default();
        listen(kind, machine, "v7.2", &spinners(&vec![0; tasks]), 1_000 * MS, &mut twice).unwrap();
        assert_eq!(twice.found, Vec::<String>::new(), "{kind:?}");
        assert!(twice.moved > 20, "{kind:?}: tasks have moved {} times", twice.moved);
    }
}

/// What an operation sees.
#[derive(Clone, Copy, Debug)]
struct Seen {
    call: Call,
    this_cpu: Cpu,
    current: Option<TaskId>,
    preempt_count: u32,
    /// `task_cpu()` of the task that it is about.
    task_cpu: Option<Cpu>,
    /// The time of the event, what `scx_bpf_now()` returns, and the time of now, ns.
    times: [u64; 3],
    /// What runs on the CPU.
    curr: Curr,
}

/// A scheduler, and what its operations see. It has some operations more than the scheduler, which do nothing.
#[derive(Clone, Debug)]
struct Watched(Kind, Arc<Mutex<Vec<Seen>>>, Arc<Mutex<Vec<TaskInfo>>>);

struct Watcher(Arc<Mutex<Vec<Seen>>>);

impl CallListener for Watcher {
    fn calls(&mut self, ext: &Ext, call: Call) {
        let of = match call {
            Call::Enqueue { p, .. } | Call::Running { p } | Call::SelectCpu { p, .. } | Call::Tick { p } => Some(p),
            _ => None,
        };
        self.0.lock().unwrap().push(Seen {
            call,
            this_cpu: ext.this_cpu,
            current: ext.current,
            preempt_count: ext.preempt_count,
            task_cpu: of.map(|p| ext.task(p).cpu),
            times: [ext.now, ext.scx_bpf_now(), ext.clock()],
            curr: ext.rqs[ext.this_cpu as usize].curr,
        });
    }
}

impl Scheduler for Watched {
    fn name(&self) -> &str {
        "watched"
    }

    fn load(&self, host: &Host<'_>) -> Result<(Declared, Box<dyn Ops>), String> {
        let (mut declared, ops) = Test(self.0).load(host)?;
        let more = [Member::Tick, Member::UpdateIdle, Member::Runnable];
        let has = |op: &Member| declared.ops.has(*op) || more.contains(op);
        declared.ops = Member::ALL.into_iter().filter(has).collect::<OpSet>();
        declared.flags |= SCX_OPS_KEEP_BUILTIN_IDLE;
        let tasks = Arc::clone(&self.2);
        Ok((declared, Box::new(Listened::new(Box::new(Named(ops, tasks)), Watcher(Arc::clone(&self.1))))))
    }

    fn identity(&self) -> &str {
        "watched"
    }
}

/// A scheduler, and the tasks that it was told of.
struct Named(Box<dyn Ops>, Arc<Mutex<Vec<TaskInfo>>>);

impl TaskFields for Named {
    fn slice(&self, p: TaskId) -> u64 {
        self.0.slice(p)
    }

    fn set_slice(&mut self, p: TaskId, slice: u64) {
        self.0.set_slice(p, slice);
    }

    fn dsq_vtime(&self, p: TaskId) -> u64 {
        self.0.dsq_vtime(p)
    }

    fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64) {
        self.0.set_dsq_vtime(p, vtime);
    }
}

impl Ops for Named {
    fn add_task(&mut self, info: &TaskInfo) {
        self.1.lock().unwrap().push(info.clone());
        self.0.add_task(info);
    }

    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        self.0.call(ext, call)
    }
}

/// What the operations of a scheduler see of a load on eight CPUs, and the tasks.
fn watch(kind: Kind, load: &Workload, until: u64) -> (Vec<Seen>, Vec<TaskInfo>) {
    let watched = Watched(kind, Arc::default(), Arc::default());
    run_under(&watched, true, MACHINE, "v7.2", load, until, &mut Heard::default()).unwrap();
    let (seen, tasks) = (watched.1.lock().unwrap().clone(), watched.2.lock().unwrap().clone());
    (seen, tasks)
}

#[test]
fn preempt_count_says_from_where_a_task_is_woken() {
    // Timers wake these, and tasks wake those.
    let (timers, _) = watch(Kind::Simple, &run_sleep(4, ns(50_000), ns(50_000)), 20 * MS);
    let (pairs, _) = watch(Kind::Simple, &ping_pong(2), 20 * MS);
    let wakes =
        |seen: &&Seen| matches!(seen.call, Call::SelectCpu { wake_flags, .. } if wake_flags & SCX_WAKE_FORK == 0);
    let (by_timers, by_tasks) = (timers.iter().filter(wakes).count(), pairs.iter().filter(wakes).count());
    assert!(by_timers > 200 && by_tasks > 2_000, "{by_timers} and {by_tasks} wake-ups");
    // All that is about the wake-up sees the same.
    for seen in timers.iter().filter(|seen| wakes(seen)) {
        assert_eq!(seen.preempt_count, HARDIRQ_OFFSET, "{seen:?}");
    }
    // But for those of kworkers.
    let of_tasks = pairs.iter().filter(|seen| wakes(seen) && seen.current.is_some() && seen.preempt_count == 0).count();
    assert!(of_tasks * 100 > by_tasks * 99, "{of_tasks} of {by_tasks}");
    for seen in &pairs {
        match seen.call {
            Call::Tick { .. } => assert_eq!(seen.preempt_count, HARDIRQ_OFFSET, "{seen:?}"),
            // __schedule()
            Call::Dispatch { .. } => assert_eq!(seen.preempt_count, 0, "{seen:?}"),
            _ => assert_ne!(seen.preempt_count, SOFTIRQ_OFFSET, "{seen:?}"),
        }
    }
}

/// The clock of this CPU's run queue is valid from `update_rq_clock()` to the unlock, so that an operation under that
/// lock sees one time. `ops.select_cpu()` has no lock, `ops.enqueue()` on another run queue not this one's, and a
/// dispatch has unpinned it.
#[test]
fn the_clock_of_the_run_queue_is_valid_under_its_lock() {
    let (mut seen, _) = watch(Kind::Simple, &run_sleep(24, ns(50_000), ns(50_000)), 20 * MS);
    seen.append(&mut watch(Kind::Simple, &ping_pong(20), 20 * MS).0);
    let (mut own, mut other, mut fresh) = (0, 0, 0);
    for seen in seen.iter().filter(|seen| seen.times[0] != 0) {
        let [event, now, clock] = seen.times;
        match seen.call {
            Call::Enqueue { .. } if seen.task_cpu == Some(seen.this_cpu) && seen.curr != Curr::Idle => {
                // A wake-up sees the time of the event, and put_prev_task_scx() after a dispatch the time of now.
                own += u32::from(now == event);
            }
            Call::Enqueue { .. } if seen.task_cpu != Some(seen.this_cpu) => {
                assert_eq!(now, clock, "{seen:?}");
                other += 1;
            }
            Call::SelectCpu { .. } | Call::Dispatch { .. } => {
                assert_eq!(now, clock, "{seen:?}");
                fresh += u32::from(now > event);
            }
            Call::Tick { .. } => assert_eq!(now, event, "{seen:?}"),
            _ => {}
        }
    }
    assert!(own > 20 && other > 20 && fresh > 200, "{own} {other} {fresh}");
}

#[test]
fn idle_cpus_are_known_from_the_beginning() {
    let (seen, _) = watch(Kind::Simple, &spinners(&[0]), MS);
    let first_fork = seen.iter().position(|seen| matches!(seen.call, Call::SelectCpu { .. })).expect("a fork");
    let told: Vec<Cpu> = seen[..first_fork]
        .iter()
        .filter_map(|seen| match seen.call {
            Call::UpdateIdle { cpu, idle: true } => Some(cpu),
            _ => None,
        })
        .collect();
    assert_eq!(told, (0..8).collect::<Vec<_>>());
    // What was done before the run began, which is before CPU 0 has a task, has no other time.
    let begins = seen.iter().position(|seen| matches!(seen.call, Call::UpdateIdle { idle: false, .. }));
    let before = &seen[..begins.expect("the shell runs")];
    assert!(before.len() > 8 && before.iter().all(|seen| seen.times == [0; 3]), "{before:?}");
    assert!(seen.iter().all(|seen| !matches!(seen.call, Call::UpdateIdle { cpu, .. } if cpu != seen.this_cpu)));
}

/// The shell forks a load on CPU 0, which is not idle meanwhile: a scheduler that looks for an idle CPU takes another,
/// and one that asks who runs there gets the shell.
#[test]
fn the_shell_that_forks_a_load_runs_on_its_cpu() {
    let (seen, tasks) = watch(Kind::Simple, &spinners(&[0; 4]), MS);
    let shell = tasks.iter().find(|task| task.comm == "sh").expect("a shell");
    assert_eq!((shell.task, shell.kthread, shell.kworker), (TaskId(0), false, false));
    let forks: Vec<&Seen> = seen.iter().filter(|seen| matches!(seen.call, Call::SelectCpu { .. })).collect();
    assert_eq!(forks.len(), 4);
    for fork in forks {
        assert_eq!((fork.this_cpu, fork.current, fork.curr), (0, Some(shell.task), Curr::Ext(shell.task)), "{fork:?}");
    }
    let children: Vec<&TaskInfo> = tasks.iter().filter(|task| task.parent == Some(shell.task)).collect();
    assert_eq!(children.len(), 4);
    // It does what a task does, in order, and its CPU looks for work when it waits.
    let of_shell: Vec<Member> = seen
        .iter()
        .filter(|seen| match seen.call {
            Call::Runnable { p, .. } | Call::Running { p } | Call::Stopping { p, .. } => p == shell.task,
            _ => false,
        })
        .map(|seen| seen.call.op())
        .collect();
    assert_eq!(of_shell, [Member::Runnable, Member::Running, Member::Stopping].repeat(4));
    let mut heard = Heard::default();
    run_under(&Test(Kind::Simple), true, MACHINE, "v7.2", &spinners(&[0; 4]), MS, &mut heard).unwrap();
    let first = heard.ran.iter().filter(|(_, _, task)| task.is_some()).take(4).map(|&(_, cpu, _)| cpu);
    assert!(first.clone().all(|cpu| cpu != 0), "{:?}", first.collect::<Vec<_>>());
    // With tasks for all CPUs, the shell's has one, too.
    let mut heard = Heard::default();
    run_under(&Test(Kind::Simple), true, MACHINE, "v7.2", &spinners(&[0; 9]), MS, &mut heard).unwrap();
    let mut cpus: Vec<Cpu> =
        heard.ran.iter().filter(|(at, _, task)| *at < MS / 10 && task.is_some()).map(|ran| ran.1).collect();
    cpus.sort_unstable();
    cpus.dedup();
    assert_eq!(cpus, (0..8).collect::<Vec<_>>());
}

#[test]
fn kworkers_are_named_and_marked_as_the_kernels() {
    let (_, tasks) = watch(Kind::Simple, &ping_pong(1), MS);
    let kworkers: Vec<&TaskInfo> = tasks.iter().filter(|task| task.kworker).collect();
    assert_eq!(kworkers.len(), 8);
    for (cpu, kworker) in kworkers.iter().enumerate() {
        assert_eq!((kworker.comm.as_str(), kworker.kthread), (format!("kworker/{cpu}:0").as_str(), true));
        assert_eq!(kworker.cpus_ptr.iter().collect::<Vec<_>>(), [cpu as Cpu]);
    }
    assert!(tasks.iter().filter(|task| !task.kworker).all(|task| !task.kthread));
}
