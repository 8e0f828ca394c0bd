//! A scheduler that somebody listens to is asked all that it would be asked without.

use crate::support::ext;
use std::sync::{Arc, Mutex};
use wakelab_kernel::ExtRules;
use wakelab_sched::CpuMask;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::Ext;
use wakelab_scx_core::listened::{CallListener, Listened};
use wakelab_scx_core::ops::{Call, Op, Ops, Priorities, TaskFields, TaskInfo};

type Log = Arc<Mutex<Vec<String>>>;

/// Notes what it is asked.
struct Noting(Log);

impl Noting {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }
}

impl TaskFields for Noting {
    fn slice(&self, p: TaskId) -> u64 {
        self.note("slice");
        u64::from(p.0)
    }

    fn set_slice(&mut self, _: TaskId, slice: u64) {
        self.note(format!("set_slice {slice}"));
    }

    fn dsq_vtime(&self, p: TaskId) -> u64 {
        self.note("dsq_vtime");
        u64::from(p.0) + 1
    }

    fn set_dsq_vtime(&mut self, _: TaskId, vtime: u64) {
        self.note(format!("set_dsq_vtime {vtime}"));
    }
}

impl Ops for Noting {
    fn add_task(&mut self, info: &TaskInfo) {
        self.note(format!("add_task {}", info.comm));
    }

    fn set_priorities(&mut self, _: TaskId, priorities: Priorities) {
        self.note(format!("set_priorities {}", priorities.prio));
    }

    fn remove_task(&mut self, _: &mut Ext, p: TaskId) {
        self.note(format!("remove_task {}", p.0));
    }

    fn set_cgroup_idle(&mut self, cgroup: u32, idle: bool) {
        self.note(format!("set_cgroup_idle {cgroup} {idle}"));
    }

    fn remove_cgroup(&mut self, _: &mut Ext, cgroup: u32) {
        self.note(format!("remove_cgroup {cgroup}"));
    }

    fn attached(&mut self, _: &mut Ext) {
        self.note("attached");
    }

    fn timer(&mut self, _: &mut Ext, number: u32) {
        self.note(format!("timer {number}"));
    }

    fn counters(&mut self) -> Vec<(String, u64)> {
        self.note("counters");
        vec![("nr_x".to_owned(), 5)]
    }

    fn variable(&self, name: &str) -> Option<u64> {
        self.note(format!("variable {name}"));
        Some(6)
    }

    fn take_records(&mut self, ring: &str) -> Vec<Vec<u8>> {
        self.note(format!("take_records {ring}"));
        vec![vec![8]]
    }

    fn call(&mut self, _: &mut Ext, call: Call) -> i64 {
        self.note(call.op().name());
        7
    }
}

struct Listener(Log);

impl CallListener for Listener {
    fn calls(&mut self, _: &Ext, call: Call) {
        self.0.lock().unwrap().push(format!("before {}", call.op().name()));
    }

    fn called(&mut self, _: &Ext, _: &mut dyn Ops) {
        self.0.lock().unwrap().push("after".to_owned());
    }

    fn over(&mut self, ops: &dyn Ops) {
        let value = ops.variable("last");
        self.0.lock().unwrap().push(format!("over {value:?}"));
    }
}

#[test]
fn everything_goes_on_to_the_scheduler() {
    let log = Log::default();
    let mut ext = ext(ExtRules::V7_2, &[Op::Init], 0);
    let mut ops = Listened::new(Box::new(Noting(Arc::clone(&log))), Listener(Arc::clone(&log)));
    let p = TaskId(3);
    let info = TaskInfo {
        task: p,
        comm: "a".to_owned(),
        process: 1,
        parent: None,
        kthread: false,
        kworker: false,
        priorities: Priorities::NORMAL,
        cpus_ptr: CpuMask::full(4),
    };
    ops.add_task(&info);
    assert_eq!((ops.slice(p), ops.dsq_vtime(p)), (3, 4));
    ops.set_slice(p, 10);
    ops.set_dsq_vtime(p, 11);
    ops.set_priorities(p, Priorities { prio: 98, ..Priorities::NORMAL });
    assert_eq!(ops.call(&mut ext, Call::Init), 7);
    ops.attached(&mut ext);
    ops.timer(&mut ext, 12);
    assert_eq!((ops.counters(), ops.variable("x")), (vec![("nr_x".to_owned(), 5)], Some(6)));
    assert_eq!(ops.take_records("ring"), vec![vec![8]]);
    ops.set_cgroup_idle(2, true);
    ops.remove_cgroup(&mut ext, 2);
    ops.remove_task(&mut ext, p);
    drop(ops);
    let expected = [
        "add_task a",
        "slice",
        "dsq_vtime",
        "set_slice 10",
        "set_dsq_vtime 11",
        "set_priorities 98",
        "before init",
        "init",
        "after",
        "attached",
        "timer 12",
        "counters",
        "variable x",
        "take_records ring",
        "set_cgroup_idle 2 true",
        "remove_cgroup 2",
        "remove_task 3",
        "variable last",
        "over Some(6)",
    ];
    assert_eq!(*log.lock().unwrap(), expected);
}
