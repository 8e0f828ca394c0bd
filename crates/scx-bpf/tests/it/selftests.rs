//! The kernel's own tests of sched_ext (`tools/testing/selftests/sched_ext`, 7.2): their schedulers, as the kernel has
//! them, under the simulated core, with what their user-space parts expect.
//!
//! `docs/evidence.md` lists all, with those that are not here and why.

use crate::support::{MS, simulate, spinners};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use wakelab_scx_bpf::BpfScheduler;
use wakelab_scx_core::ext::Declared;
use wakelab_scx_core::flags::SCX_OPS_BUILTIN_IDLE_PER_NODE;
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Exit, ExitKind, Host, Ops, Scheduler};
use wakelab_sim::{Outcome, SimError};
use wakelab_workload::synthetic::{fork_exit, of_programs, run_sleep};
use wakelab_workload::{Call as Syscall, Op, Work, Workload};

/// A scheduler whose variables are read when its run is over.
#[derive(Debug)]
struct Test {
    scheduler: BpfScheduler,
    variables: &'static [&'static str],
    values: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

struct Read {
    variables: &'static [&'static str],
    values: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl CallListener for Read {
    fn over(&mut self, ops: &dyn Ops) {
        let mut values = self.values.lock().unwrap();
        for name in self.variables {
            values.insert(name, ops.variable(name).unwrap_or_else(|| panic!("no variable {name}")));
        }
    }
}

impl Scheduler for Test {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn load(&self, host: &Host<'_>) -> Result<(Declared, Box<dyn Ops>), String> {
        let (declared, ops) = self.scheduler.load(host)?;
        let read = Read { variables: self.variables, values: Arc::clone(&self.values) };
        Ok((declared, Box::new(Listened::new(ops, read))))
    }

    fn identity(&self) -> &str {
        self.scheduler.identity()
    }
}

macro_rules! object {
    ($name:literal) => {
        ($name, include_bytes!(concat!("../data/selftests/", $name, ".bpf.o")).as_slice())
    };
}

fn load((name, object): (&str, &[u8])) -> BpfScheduler {
    BpfScheduler::new(name, object, name).unwrap()
}

/// Four cores with two CPUs each, and kworkers.
const MACHINE: &str = "intel-kaby-lake-4c8t";

/// Tasks that sleep and run, and some that only run: plenty of scheduling events.
fn plenty() -> Workload {
    let us = |us: u64| Work::uniform(us * 1_000, 20);
    let mut load = run_sleep(24, us(300), us(1_500));
    let program = load.programs.len() as u32;
    load.programs.extend(spinners(&[0]).programs);
    for (n, task) in load.tasks.iter_mut().enumerate().filter(|(n, _)| n % 4 == 0) {
        if n % 8 == 0 {
            task.program = program;
        }
        task.affinity = Some(vec![n as u32 % 3, 5]);
    }
    load
}

/// Tasks that run and sleep, all of which exit.
fn workers() -> Workload {
    let work = |ns| Work::uniform(ns, 20);
    let ops = vec![
        Op::Run(work(100_000)),
        Op::Sleep(work(200_000)),
        Op::Run(work(30_000_000)),
        Op::Call(Syscall::Yield),
        Op::Repeat { to: 0, times: Some(4) },
        Op::Exit,
    ];
    of_programs(vec![ops; 20], &[])
}

fn runs(scheduler: &dyn Scheduler, load: &Workload, ms: u64) -> Result<Outcome, SimError> {
    simulate(scheduler, MACHINE, load, ms * MS).0
}

/// The variables of a scheduler after a run without an error.
pub fn after(
    scheduler: BpfScheduler,
    machine: &str,
    load: &Workload,
    ms: u64,
    variables: &'static [&'static str],
) -> BTreeMap<&'static str, u64> {
    let test = Test { scheduler, variables, values: Arc::default() };
    simulate(&test, machine, load, ms * MS).0.unwrap_or_else(|error| panic!("{error}"));
    let values = test.values.lock().unwrap();
    values.clone()
}

/// How a scheduler ends.
fn exit(scheduler: &dyn Scheduler, load: &Workload) -> Exit {
    match runs(scheduler, load, 500) {
        Err(SimError::SchedulerEnded { exit, .. }) => *exit,
        other => panic!("{}: {other:?}", scheduler.name()),
    }
}

#[test]
fn schedulers_that_have_nothing_wrong_stay_loaded() {
    let all = [
        object!("allowed_cpus"),
        object!("create_dsq"),
        object!("enq_select_cpu"),
        object!("maximal"),
        object!("maybe_null"),
        object!("minimal"),
        object!("select_cpu_dispatch"),
    ];
    for object in all {
        runs(&load(object), &plenty(), 300).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn direct_dispatches_that_fail_are_errors() {
    let cases = [
        (object!("ddsp_bogus_dsq_fail"), "non-existent DSQ 0xcafef00d"),
        (object!("ddsp_vtimelocal_fail"), "cannot use vtime ordering for built-in DSQs"),
        (object!("select_cpu_dispatch_bad_dsq"), "non-existent DSQ 0xcafef00d"),
        (object!("select_cpu_dispatch_dbl_dsp"), " already direct-dispatched"),
    ];
    for (object, message) in cases {
        let exit = exit(&load(object), &plenty());
        assert_eq!(exit.kind, ExitKind::Error, "{}", object.0);
        assert!(exit.message.contains(message), "{}: {}", object.0, exit.message);
    }
}

#[test]
fn enq_last_no_enq_fails() {
    let error = runs(&load(object!("enq_last_no_enq_fails")), &plenty(), 1).unwrap_err().to_string();
    assert!(error.contains("SCX_OPS_ENQ_LAST requires ops.enqueue() to be implemented"), "{error}");
}

#[test]
fn dsp_local_on() {
    let mut scheduler = load(object!("dsp_local_on"));
    scheduler.set("nr_cpus", 8);
    runs(&scheduler, &plenty(), 300).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn exit_from_each_operation_has_its_code_and_its_words() {
    for point in 0..6 {
        let mut scheduler = load(object!("exit"));
        scheduler.set("exit_point", point);
        let exit = exit(&scheduler, &plenty());
        assert_eq!((exit.kind, i128::from(exit.code)), (ExitKind::UnregBpf, point));
        assert_eq!(exit.message, point.to_string());
    }
}

#[test]
fn init_enable_count() {
    const COUNTS: [&str; 6] =
        ["init_task_cnt", "exit_task_cnt", "enable_cnt", "disable_cnt", "init_fork_cnt", "init_transition_cnt"];
    let scheduler = load(object!("init_enable_count"));
    let counts = after(scheduler, MACHINE, &fork_exit(5), 50, &COUNTS);
    let [init, exit, enable, disable, fork, transition] = COUNTS.map(|name| counts[name]);
    // Kworkers were there before. Of the load's tasks the parent stays, and up to five children that have not exited.
    assert!(transition >= 8 && fork > 100 && init == transition + fork, "{counts:?}");
    assert!(enable == init && disable == exit && (1..=6).contains(&(fork - exit)), "{counts:?}");
}

#[test]
fn select_cpu_dfl() {
    let mut load_of = plenty();
    load_of.tasks.iter_mut().for_each(|task| task.name.insert_str(0, "select_cpu "));
    let names = &["saw_local"];
    // Tasks that may use one CPU only are enqueued without a search, there and here.
    assert_eq!(after(load(object!("select_cpu_dfl")), MACHINE, &load_of, 100, names)["saw_local"], 0);
    assert_eq!(after(load(object!("select_cpu_dfl_nodispatch")), MACHINE, &load_of, 100, names)["saw_local"], 1);
}

#[test]
fn select_cpu_vtime() {
    let values = after(load(object!("select_cpu_vtime")), MACHINE, &plenty(), 300, &["consumed"]);
    assert_eq!(values["consumed"], 1);
}

#[test]
fn prog_run() {
    let mut scheduler = load(object!("prog_run"));
    scheduler.run_program("prog_run_syscall", &[]);
    let exit = exit(&scheduler, &plenty());
    assert_eq!(
        (exit.kind, exit.code, exit.message.as_str()),
        (ExitKind::UnregBpf, 0xdead_beef, "Exited from PROG_RUN")
    );
}

#[test]
fn numa() {
    let mut scheduler = load(object!("numa"));
    scheduler.set("__COMPAT_SCX_PICK_IDLE_IN_NODE", 2);
    scheduler.add_flags(SCX_OPS_BUILTIN_IDLE_PER_NODE);
    // Of tasks that may use the CPUs of one node only, the other node has none: the test's own error follows, on a
    // kernel, too. They are not among those that a user would start.
    let us = |us: u64| Work::uniform(us * 1_000, 20);
    let outcome = simulate(&scheduler, "test-2s", &run_sleep(24, us(300), us(900)), 200 * MS).0;
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn dequeue_once_for_each_enqueue_into_the_schedulers_custody() {
    for scenario in 0..7 {
        let mut scheduler = load(object!("dequeue"));
        scheduler.set("test_scenario", scenario);
        let names = &["enqueue_cnt", "dequeue_cnt", "dispatch_dequeue_cnt", "bpf_queue_full"];
        // Without kworkers: all tasks have exited in the end.
        let counts = after(scheduler, "test-8c", &workers(), 5_000, names);
        let [enqueues, dequeues] = ["enqueue_cnt", "dequeue_cnt"].map(|name| counts[name]);
        match scenario {
            0 | 1 | 3 | 4 => assert_eq!((enqueues, dequeues), (0, 0), "{scenario}: {counts:?}"),
            _ => assert!(enqueues > 0 && enqueues == dequeues, "{scenario}: {counts:?}"),
        }
        assert_eq!(counts["dispatch_dequeue_cnt"], dequeues, "{scenario}: nothing else changes");
    }
}

#[test]
fn peek_dsq() {
    let names = &[
        "insert_test_cpu",
        "dsq_peek_result1",
        "dsq_peek_result2",
        "dsq_peek_result2_expected",
        "dsq_peek_result2_pid",
        "dsq_inserted_pid",
        "successful_peeks",
        "debug_ksym_exists",
    ];
    let values = after(load(object!("peek_dsq")), MACHINE, &plenty(), 300, names);
    assert_ne!(values["insert_test_cpu"] as i32, -1, "{values:?}");
    assert_eq!(values["dsq_peek_result1"], 0, "{values:?}");
    assert_eq!(values["dsq_peek_result2"], values["dsq_peek_result2_expected"], "{values:?}");
    assert_eq!(values["dsq_peek_result2_pid"], values["dsq_inserted_pid"], "{values:?}");
    assert!(values["successful_peeks"] > 100 && values["debug_ksym_exists"] == 1, "{values:?}");
}

/// The verifier is not run. A read through a null pointer to a kernel struct gives 0, as where a kernel's exception
/// table catches it.
#[test]
fn what_the_verifier_refuses_runs_here() {
    for object in [object!("maybe_null_fail_dsp"), object!("maybe_null_fail_yld")] {
        simulate(&load(object), "test-8c", &workers(), 2_000 * MS).0.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    let error = runs(&load(object!("non_scx_kfunc_deny")), &plenty(), 1).unwrap_err().to_string();
    assert!(error.contains("no struct_ops of the type sched_ext_ops"), "{error}");
}

/// `cyclic_kick_wait.c`: four threads yield on each of three CPUs, each of which kicks the next and waits for it.
#[test]
fn cpus_that_wait_for_each_other_in_a_circle_go_on() {
    let mut scheduler = load(object!("cyclic_kick_wait"));
    (0..3).zip(["test_cpu_a", "test_cpu_b", "test_cpu_c"]).for_each(|(cpu, name)| scheduler.set(name, cpu));
    let worker =
        vec![Op::Call(Syscall::Yield), Op::Done, Op::Run(Work::uniform(500, 0)), Op::Repeat { to: 0, times: None }];
    let mut workers = of_programs(vec![worker; 12], &[]);
    (0..).zip(&mut workers.tasks).for_each(|(n, task): (u32, _)| task.affinity = Some(vec![n / 4]));
    let test = Test { scheduler, variables: &["nr_enqueues", "nr_wait_kicks"], values: Arc::default() };
    let (outcome, done) = simulate(&test, MACHINE, &workers, 3_000 * MS);
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let values = test.values.lock().unwrap();
    // Kicks that wait, in the hundred thousands, and every worker goes on.
    assert!(values["nr_wait_kicks"] > 100_000 && values["nr_wait_kicks"] * 2 > values["nr_enqueues"], "{values:?}");
    assert!(done.0.len() == 12 && done.0.values().all(|&done| done > 5_000), "{done:?}");
}
