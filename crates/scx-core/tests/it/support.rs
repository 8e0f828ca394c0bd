//! A machine of four CPUs in two cores, and a scheduler that is written down call by call.

use wakelab_kernel::{ExtRules, Preset};
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{DomainOptions, Topology, Uniform, build_sched_domains};
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{Declared, Ext, ExtCosts, Request};
use wakelab_scx_core::flags::{SCX_ENQ_WAKEUP, SCX_SLICE_DFL};
use wakelab_scx_core::idle::IdleTopology;
use wakelab_scx_core::ops::{Call, Op, Ops, Priorities, TaskFields};

/// The kernels.
pub const KERNELS: [ExtRules; 3] = [ExtRules::V6_12, ExtRules::V6_18, ExtRules::V7_2];
/// An affinity that has one CPU: the mask of CPU 0 is 1, and so on. Mask 0 has all.
pub const PINNED: u32 = 1;

/// What a scheduler does.
type Does = Box<dyn FnMut(&mut Script, &mut Ext, Call) -> i64>;

/// A scheduler, and what it was asked.
pub struct Script {
    slices: Vec<u64>,
    vtimes: Vec<u64>,
    /// All calls.
    pub calls: Vec<Call>,
    /// The policies that tasks got.
    pub priorities: Vec<(TaskId, Priorities)>,
    /// The tasks that are gone.
    pub removed: Vec<TaskId>,
    /// What a call of an operation takes, ns.
    pub takes: fn(Op) -> u64,
    does: Option<Does>,
}

impl Script {
    /// One that does nothing.
    pub fn idle() -> Self {
        Script {
            slices: vec![0; 64],
            vtimes: vec![0; 64],
            calls: Vec::new(),
            priorities: Vec::new(),
            removed: Vec::new(),
            takes: |_| 0,
            does: None,
        }
    }

    /// One that does this from now on.
    pub fn does(&mut self, does: impl FnMut(&mut Script, &mut Ext, Call) -> i64 + 'static) {
        self.does = Some(Box::new(does));
    }

    /// The calls of these operations since the last time.
    pub fn take(&mut self, of: &[Op]) -> Vec<Call> {
        let calls = std::mem::take(&mut self.calls);
        calls.into_iter().filter(|call| of.contains(&call.op())).collect()
    }
}

impl TaskFields for Script {
    fn slice(&self, p: TaskId) -> u64 {
        self.slices[p.0 as usize]
    }

    fn set_slice(&mut self, p: TaskId, slice: u64) {
        self.slices[p.0 as usize] = slice;
    }

    fn dsq_vtime(&self, p: TaskId) -> u64 {
        self.vtimes[p.0 as usize]
    }

    fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64) {
        self.vtimes[p.0 as usize] = vtime;
    }
}

impl Ops for Script {
    fn set_priorities(&mut self, p: TaskId, priorities: Priorities) {
        self.priorities.push((p, priorities));
    }

    fn remove_task(&mut self, _: &mut Ext, p: TaskId) {
        self.removed.push(p);
    }

    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        self.calls.push(call);
        ext.spend((self.takes)(call.op()));
        // A call within a call is only written down.
        let Some(mut does) = self.does.take() else { return 0 };
        let result = does(self, ext, call);
        self.does.get_or_insert(does);
        result
    }
}

/// The domains' view of a machine.
pub fn topology(machine: &Topology) -> IdleTopology {
    let domains =
        build_sched_domains(machine, &DomainOptions::of(Preset::get("v7.2").expect("a preset"))).expect("a machine");
    IdleTopology::new(&domains, |a, b| machine.node_distance[a as usize][b as usize])
}

/// The core under a scheduler with these operations and flags.
pub fn ext(rules: ExtRules, ops: &[Op], flags: u64) -> Ext {
    let declared = Declared {
        name: "script".to_owned(),
        ops: ops.iter().copied().collect(),
        cid_form: false,
        flags,
        dispatch_max_batch: 0,
        timeout_ms: 2000,
    };
    let costs = ExtCosts { op: 0, dsq: 0, remote: 0, mask_words: 0 };
    let mut masks = vec![CpuMask::full(4)];
    masks.extend((0..4).map(|cpu| CpuMask::from_cpus(4, [cpu])));
    Ext::new(rules, declared, costs, topology(&Uniform::new(2, 2).topology()), masks).expect("a scheduler")
}

/// The same with tasks 0 to `tasks - 1`, of CPU 0.
pub fn with_tasks(rules: ExtRules, ops: &[Op], flags: u64, tasks: u32) -> (Ext, Script) {
    let (mut ext, mut script) = (ext(rules, ops, flags), Script::idle());
    (0..tasks).for_each(|p| ext.init_task(&mut script, TaskId(p), 0, 0, 1024, true));
    script.calls.clear();
    (ext, script)
}

/// `try_to_wake_up()` of a task on a CPU that was chosen for it, and what is deferred until its end.
pub fn wake(ext: &mut Ext, ops: &mut Script, p: u32, cpu: Cpu) {
    ext.enqueue_task(ops, cpu, TaskId(p), SCX_ENQ_WAKEUP);
    settle(ext, ops);
}

/// What waits until locks can be given up.
pub fn settle(ext: &mut Ext, ops: &mut Script) {
    let this_cpu = ext.this_cpu;
    if ext.has_deferred(this_cpu) {
        ext.run_deferred(ops, this_cpu);
    }
}

/// `__schedule()` on a CPU.
pub fn pick(ext: &mut Ext, ops: &mut Script, cpu: Cpu) -> Option<u32> {
    ext.this_cpu = cpu;
    ext.current = None;
    let picked = ext.pick_task(ops, cpu, 0, true);
    settle(ext, ops);
    picked.map(|p| p.0)
}

/// A task runs on a CPU, by a local queue, with a slice.
pub fn run(ext: &mut Ext, ops: &mut Script, p: u32, cpu: Cpu) {
    let does = ops.does.take();
    ops.does(move |ops, ext, call| {
        if let Call::Enqueue { p, enq_flags } = call {
            ext.dsq_insert(ops, p, wakelab_scx_core::flags::SCX_DSQ_LOCAL, SCX_SLICE_DFL, None, enq_flags);
        }
        0
    });
    wake(ext, ops, p, cpu);
    let this_cpu = ext.this_cpu;
    assert_eq!(pick(ext, ops, cpu), Some(p));
    ext.this_cpu = this_cpu;
    ops.does = does;
    ops.calls.clear();
    ext.take_requests();
}

/// Whether a CPU is asked to reschedule.
pub fn rescheds(ext: &mut Ext) -> Vec<Cpu> {
    let resched = |request| if let Request::Resched(cpu) = request { Some(cpu) } else { None };
    let mut cpus: Vec<Cpu> = ext.take_requests().into_iter().filter_map(resched).collect();
    cpus.dedup();
    cpus
}

/// How the scheduler has ended.
pub fn message(ext: &Ext) -> &str {
    ext.exit().map_or("", |exit| &exit.message)
}
