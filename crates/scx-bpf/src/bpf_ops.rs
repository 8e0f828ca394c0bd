//! A loaded scheduler: operations are calls of its programs, whose time counts.

use crate::kernel_objects::{KernelObjects, UPTIME_NS};
use crate::kfuncs::{self, Kfunc};
use crate::loaders::{Loading, Step};
use oorandom::Rand64;
use std::collections::BTreeMap;
use wakelab_bpf::image::{MapKind, Variable};
use wakelab_bpf::machine::{Counts, Fault, Kernel, Machine};
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{DsqIter, Ext, KTIME_MAX};
use wakelab_scx_core::flags::{SCX_ENQ_WAKEUP, SCX_WAKE_TTWU, TASK_RUNNING};
use wakelab_scx_core::ops::{Call, ExitKind, Host, Op, Ops, Priorities, ProgramCosts, TaskFields, TaskInfo};

/// The state of a scheduler besides its machine.
#[derive(Debug)]
pub struct State {
    pub objects: KernelObjects,
    /// By the number of the kernel function in the image.
    kfuncs: Vec<Option<Kfunc>>,
    /// Those of them that a scheduler by cids may not call.
    cpu_only: Vec<bool>,
    /// By operation: its program.
    programs: [Option<u32>; Op::ALL.len()],
    /// Iterators over queues, by the address of their `struct bpf_iter_scx_dsq`.
    pub iters: BTreeMap<u64, DsqIter>,
    /// How many queues it has made and not destroyed.
    pub nr_dsqs: u64,
    random: Rand64,
    /// Timers that run: where the `struct bpf_timer` of a number is, and the number of the one there.
    timers: BTreeMap<u32, u64>,
    timer_at: BTreeMap<u64, u32>,
    next_timer: u32,
    costs: ProgramCosts,
    hz: u64,
    pub nr_cpus: u32,
    /// By CPU: `arch_scale_cpu_capacity()`, 1 to 1024.
    pub capacity: Vec<u32>,
    /// A program of `SEC("syscall")` runs.
    in_syscall: bool,
    /// `set_cmask_scratch`, once it is there.
    cmasks: Option<Cmasks>,
}

impl State {
    pub fn new(
        machine: &Machine,
        objects: KernelObjects,
        programs: [Option<u32>; Op::ALL.len()],
        host: &Host<'_>,
    ) -> Self {
        let kfuncs = machine.image().kfuncs.iter().map(|kfunc| kfuncs::find(&kfunc.name)).collect();
        let cpu_only = machine.image().kfuncs.iter().map(|kfunc| kfuncs::is_cpu_only(&kfunc.name)).collect();
        State {
            objects,
            kfuncs,
            cpu_only,
            programs,
            iters: BTreeMap::new(),
            nr_dsqs: 0,
            random: Rand64::new(u128::from(host.seed)),
            timers: BTreeMap::new(),
            timer_at: BTreeMap::new(),
            next_timer: 0,
            costs: host.costs,
            hz: host.hz,
            nr_cpus: machine.nr_cpus(),
            capacity: host.topology.cpus.iter().map(|cpu| cpu.capacity).collect(),
            in_syscall: false,
            cmasks: None,
        }
    }
}

/// Where a CPU's `scx_cmask` is in the arena, and the address of the first (`scx_set_cmask_scratch_alloc()`).
#[derive(Clone, Copy, Debug)]
struct Cmasks {
    first: u64,
    size: u64,
}

/// Returns the time that the work takes, ns.
fn taken(costs: &ProgramCosts, done: &Counts) -> u64 {
    done.insns * costs.insn_ps / 1000
        + (done.helpers + done.kfuncs + done.own_kfuncs) * costs.call
        + (done.map_lookups + done.map_updates) * costs.map
        + (done.atomics + done.locks) * costs.atomic
}

/// When a timer expires that is started at `now`, ns since the run began: `ns_to_ktime()`, which makes a negative
/// number of more than [`KTIME_MAX`], and `ktime_add_safe()`, by which a time that does not fit is never.
fn timer_expires(now: u64, nsecs: u64, flags: u64) -> u64 {
    const BPF_F_TIMER_ABS: u64 = 1;
    match (flags & BPF_F_TIMER_ABS != 0, nsecs > KTIME_MAX) {
        (true, true) => now,
        (true, false) => nsecs.saturating_sub(UPTIME_NS).max(now),
        (false, true) => KTIME_MAX,
        (false, false) if UPTIME_NS + now + nsecs > KTIME_MAX => KTIME_MAX,
        (false, false) => now + nsecs,
    }
}

/// The kernel that a program runs in.
pub struct InKernel<'a> {
    pub ext: &'a mut Ext,
    pub state: &'a mut State,
}

impl Kernel for InKernel<'_> {
    fn kfunc(&mut self, machine: &mut Machine, kfunc: u32, args: [u64; 5]) -> Result<u64, Fault> {
        match self.state.kfuncs[kfunc as usize] {
            // scx_kfunc_context_filter(), which 7.2's verifier asks. Programs of SEC("syscall") may call them.
            Some(_)
                if self.state.cpu_only[kfunc as usize] && self.ext.declared().cid_form && !self.state.in_syscall =>
            {
                let name = machine.image().kfuncs[kfunc as usize].name.clone();
                self.ext.error(format!("calling kernel function {name} is not allowed"));
                Ok(0)
            }
            Some(run) => run(self, machine, args),
            None => {
                let name = machine.image().kfuncs[kfunc as usize].name.clone();
                Err(Fault::kernel(format!("{name}() is not modelled")))
            }
        }
    }

    fn ktime_ns(&mut self) -> u64 {
        UPTIME_NS + self.ext.clock()
    }

    fn smp_processor_id(&mut self) -> u32 {
        self.ext.this_cpu
    }

    fn prandom_u32(&mut self) -> u32 {
        (self.state.random.rand_u64() >> 32) as u32
    }

    fn current_task(&mut self) -> u64 {
        let current = self.ext.current.and_then(|task| self.state.objects.addr(task));
        current.unwrap_or_else(|| self.state.objects.idle_task(self.ext.this_cpu))
    }

    fn current_pid_tgid(&mut self) -> Option<u64> {
        Some(self.ext.current.and_then(|task| self.state.objects.pid_tgid(task)).unwrap_or(0))
    }

    fn jiffies64(&mut self) -> Option<u64> {
        Some((UPTIME_NS + self.ext.now) / (1_000_000_000 / self.state.hz))
    }

    fn ksym(&mut self, machine: &mut Machine, name: &str, cpu: Option<u32>) -> Option<u64> {
        let cpu = cpu.filter(|&cpu| cpu < self.state.nr_cpus)?;
        let objects = &mut self.state.objects;
        match name {
            "runqueues" => Some(objects.rq(machine.memory_mut(), self.ext, cpu)),
            "sd_llc_id" => Some(objects.sd_llc_id(machine.memory_mut(), self.ext, cpu)),
            "__preempt_count" | "pcpu_hot" => Some(objects.preempt_count(machine.memory_mut(), self.ext, cpu)),
            _ => None,
        }
    }

    fn kptr_release(&mut self, machine: &mut Machine, addr: u64) {
        if self.state.objects.put_task(addr) {
            self.free_task(machine, addr);
        }
    }

    fn timer_start(&mut self, done: &Counts, timer: u64, _: (u32, u32), nsecs: u64, flags: u64) {
        // The program has come this far, which `clock()` knows only when it has ended.
        let here = if self.ext.loads { 0 } else { taken(&self.state.costs, done) };
        let at = timer_expires(self.ext.clock() + here, nsecs, flags);
        self.timer_cancel(timer);
        let number = self.state.next_timer;
        self.state.next_timer = number.wrapping_add(1);
        self.state.timers.insert(number, timer);
        self.state.timer_at.insert(timer, number);
        self.ext.start_timer(at, number);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        let Some(number) = self.state.timer_at.remove(&timer) else { return false };
        self.state.timers.remove(&number);
        self.ext.cancel_timer(number);
        true
    }

    /// Nobody reads the kernel's trace.
    fn printk(&mut self, _: String) {}
}

impl InKernel<'_> {
    /// Frees a task that has left, and its local storage (`free_task()`).
    pub fn free_task(&mut self, machine: &mut Machine, addr: u64) {
        machine.storage_free(self, addr);
        self.state.objects.free_task(machine.memory_mut(), addr);
    }
}

/// A machine and what a scheduler has besides, for as long as a kernel function runs.
pub struct Running<'a> {
    pub machine: &'a mut Machine,
    pub state: &'a mut State,
}

/// Tasks' fields are in the memory of the machine, where programs find them.
macro_rules! task_fields_in_memory {
    ($of:ty) => {
        impl TaskFields for $of {
            fn slice(&self, p: TaskId) -> u64 {
                self.machine.memory().read_u64(self.state.objects.slice_at(p)).unwrap_or(0)
            }

            fn set_slice(&mut self, p: TaskId, slice: u64) {
                let at = self.state.objects.slice_at(p);
                let _ = self.machine.memory_mut().write_u64(at, slice);
            }

            fn dsq_vtime(&self, p: TaskId) -> u64 {
                self.machine.memory().read_u64(self.state.objects.dsq_vtime_at(p)).unwrap_or(0)
            }

            fn set_dsq_vtime(&mut self, p: TaskId, vtime: u64) {
                let at = self.state.objects.dsq_vtime_at(p);
                let _ = self.machine.memory_mut().write_u64(at, vtime);
            }
        }
    };
}

task_fields_in_memory!(Running<'_>);
task_fields_in_memory!(BpfOps);

impl Running<'_> {
    /// `scx_call_op_set_cpumask()` of a scheduler by cids: the affinity of a task as a `struct scx_cmask` in the
    /// scheduler's arena, of which each CPU has one. `None` if the arena is full, which ends the scheduler.
    fn cmask(&mut self, ext: &mut Ext, p: TaskId) -> Option<u64> {
        let nr_cids = self.state.nr_cpus;
        let words = nr_cids.div_ceil(64) + 1;
        let cmasks = match self.state.cmasks {
            Some(cmasks) => cmasks,
            None => {
                // struct scx_cmask: base, nr_cids, alloc_words, and the bits from the next 8 bytes on.
                let size = 16 + 8 * u64::from(words);
                let Some(first) = self.machine.arena_alloc(size * u64::from(nr_cids)) else {
                    ext.error("its arena has no room for the masks of ops.set_cmask() (ENOMEM)");
                    return None;
                };
                *self.state.cmasks.insert(Cmasks { first, size })
            }
        };
        let at = cmasks.first + cmasks.size * u64::from(ext.this_cpu);
        let mut bits = vec![0u64; words as usize];
        for cpu in ext.cpus_ptr(p).iter() {
            let cid = ext.cids.cid_of(cpu);
            bits[cid as usize / 64] |= 1 << (cid % 64);
        }
        let header = [0, u64::from(nr_cids), u64::from(words)];
        let memory = self.machine.memory_mut();
        let written = (0..).zip(header).try_for_each(|(n, value)| memory.write_u32(at + 4 * n, value as u32));
        let written = written.and((0..).zip(bits).try_for_each(|(n, word)| memory.write_u64(at + 16 + 8 * n, word)));
        written.is_ok().then_some(at)
    }

    /// Brings the groups and online CPUs that programs see up to date, before one runs.
    #[inline]
    fn sync(&mut self, ext: &Ext) {
        let memory = self.machine.memory_mut();
        self.state.objects.cgroups.sync(memory, ext);
        self.state.objects.sync_online(memory, ext);
    }

    /// Runs a program, and turns a fault into the scheduler's end. Its instructions take their time.
    fn run(&mut self, ext: &mut Ext, run: impl FnOnce(&mut Machine, &mut InKernel<'_>) -> Result<u64, Fault>) -> u64 {
        let result = run(self.machine, &mut InKernel { ext, state: self.state });
        let counts = self.machine.take_counts();
        ext.spend(taken(&self.state.costs, &counts));
        ext.count_insns(counts.insns);
        match result {
            Ok(value) => value,
            Err(fault) => {
                ext.end(ExitKind::Fault, fault.to_string(), 0);
                0
            }
        }
    }
}

/// `p->__state` while an operation runs, where it is not that of the task's entity: a task that wakes is TASK_WAKING up
/// to `ttwu_do_wakeup()`, one that is forked TASK_NEW.
fn state_during(call: Call) -> Option<(TaskId, u32)> {
    const TASK_WAKING: u32 = 0x200;
    const TASK_NEW: u32 = 0x800;
    match call {
        Call::SelectCpu { p, wake_flags, .. } if wake_flags & SCX_WAKE_TTWU != 0 => Some((p, TASK_WAKING)),
        Call::SelectCpu { p, .. } => Some((p, TASK_RUNNING)),
        Call::Enqueue { p, enq_flags } | Call::Runnable { p, enq_flags } if enq_flags & SCX_ENQ_WAKEUP != 0 => {
            Some((p, TASK_WAKING))
        }
        Call::InitTask { p, fork: true } => Some((p, TASK_NEW)),
        _ => None,
    }
}

impl Ops for Running<'_> {
    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        let Some(program) = self.state.programs[call.op() as usize] else { return 0 };
        self.sync(ext);
        let memory = self.machine.memory_mut();
        let objects = &mut self.state.objects;
        let mut task = |p: TaskId| objects.sync_task(memory, ext, p);
        let mut fourth = 0;
        let args: [u64; 3] = match call {
            Call::SelectCpu { p, prev_cpu, wake_flags } => [task(p), u64::from(ext.cpu_arg(prev_cpu)), wake_flags],
            Call::Enqueue { p, enq_flags } => [task(p), enq_flags, 0],
            Call::Dequeue { p, deq_flags } | Call::Quiescent { p, deq_flags } => [task(p), deq_flags, 0],
            Call::Dispatch { cpu, prev } => [u64::from(ext.cpu_arg(cpu)), prev.map_or(0, task), 0],
            Call::Tick { p } | Call::Running { p } | Call::Enable { p } | Call::Disable { p } => [task(p), 0, 0],
            Call::Runnable { p, enq_flags } => [task(p), enq_flags, 0],
            Call::Stopping { p, runnable } => [task(p), u64::from(runnable), 0],
            Call::Yield { from, to } => {
                let from = task(from);
                [from, to.map_or(0, task), 0]
            }
            Call::SetWeight { p, weight } => [task(p), u64::from(weight), 0],
            Call::SetCpumask { p } if ext.declared().cid_form => {
                let addr = task(p);
                let Some(cmask) = self.cmask(ext, p) else { return 0 };
                [addr, cmask, 0]
            }
            Call::SetCpumask { p } => {
                let addr = task(p);
                [addr, objects.cpus_ptr(p), 0]
            }
            Call::UpdateIdle { cpu, idle } => [u64::from(ext.cpu_arg(cpu)), u64::from(idle), 0],
            Call::CpuAcquire { cpu } => [u64::from(cpu), 0, 0],
            Call::CpuRelease { cpu, reason } => {
                let next = ext.rqs[cpu as usize].above.map_or(0, task);
                let values = [("reason", u64::from(reason)), ("task", next)];
                [u64::from(cpu), objects.args(memory, "scx_cpu_release_args", &values), 0]
            }
            Call::InitTask { p, fork } => {
                let addr = task(p);
                let cgroup = objects.cgroups.addr(ext.tg_cgrp(ext.task(p).group));
                let values = [("fork", u64::from(fork)), ("cgroup", cgroup)];
                [addr, objects.args(memory, "scx_init_task_args", &values), 0]
            }
            Call::ExitTask { p } => {
                let addr = task(p);
                [addr, objects.args(memory, "scx_exit_task_args", &[("cancelled", 0)]), 0]
            }
            Call::CpuOnline { cpu } | Call::CpuOffline { cpu } => [u64::from(cpu), 0, 0],
            Call::CgroupInit { cgroup } => {
                let group = ext.group(cgroup);
                let values = [
                    ("weight", u64::from(group.weight)),
                    ("bw_period_us", group.bandwidth.period_us),
                    ("bw_quota_us", group.bandwidth.quota_us),
                    ("bw_burst_us", group.bandwidth.burst_us),
                ];
                [objects.cgroups.addr(cgroup), objects.args(memory, "scx_cgroup_init_args", &values), 0]
            }
            Call::CgroupExit { cgroup } => [objects.cgroups.addr(cgroup), 0, 0],
            Call::CgroupPrepMove { p, from, to }
            | Call::CgroupMove { p, from, to }
            | Call::CgroupCancelMove { p, from, to } => {
                let addr = task(p);
                [addr, objects.cgroups.addr(from), objects.cgroups.addr(to)]
            }
            Call::CgroupSetWeight { cgroup, weight } => [objects.cgroups.addr(cgroup), u64::from(weight), 0],
            Call::CgroupSetBandwidth { cgroup, bandwidth } => {
                fourth = bandwidth.burst_us;
                [objects.cgroups.addr(cgroup), bandwidth.period_us, bandwidth.quota_us]
            }
            Call::CgroupSetIdle { cgroup, idle } => [objects.cgroups.addr(cgroup), u64::from(idle), 0],
            Call::Init => [0; 3],
        };
        let args = [args[0], args[1], args[2], fourth];
        if let Some((p, state)) = state_during(call) {
            self.state.objects.set_state(self.machine.memory_mut(), p, state);
        }
        let result = self.run(ext, |machine, kernel| machine.call_ops(kernel, program, &args));
        // No task has the policy SCHED_EXT, of which older kernels make an error.
        if let Call::InitTask { p, fork: true } = call
            && ext.rules().fork_disallow_ends
            && self.state.objects.disallowed(self.machine.memory(), p)
        {
            let named = ext.named(p);
            ext.error(format!("ops.init_task() set task->scx.disallow for {named} during fork"));
        }
        // Operations return an s32, or nothing.
        i64::from(result as i32)
    }
}

/// How many counters a scheduler has at most, of variables and in a map.
const COUNTERS_MAX: u32 = 1024;

/// A scheduler in BPF that is loaded.
#[derive(Debug)]
pub struct BpfOps {
    machine: Machine,
    state: State,
    /// The work that its loader does after loading; steps that are done are removed.
    loading: Loading,
}

impl BpfOps {
    pub fn new(machine: Machine, state: State, loading: Loading) -> Self {
        BpfOps { machine, state, loading }
    }

    /// Does the work of loaders between loading and attaching: they fill maps and run programs.
    fn after_load(&mut self, ext: &mut Ext) {
        for step in std::mem::take(&mut self.loading.after_load) {
            self.step(ext, step);
        }
    }

    fn step(&mut self, ext: &mut Ext, step: Step) {
        match step {
            Step::Element { map, key, value } => {
                let (machine, state) = (&mut self.machine, &mut self.state);
                let Some(map) = machine.map(map) else { return };
                if let Err(error) = machine.map_update(&mut InKernel { ext, state }, map, &key, &value) {
                    ext.error(format!("its loader cannot fill a map ({error})"));
                }
            }
            Step::Program { name, mut context } => self.run_program(ext, &name, &mut context),
            Step::TopologyNode { mask, id } => self.topology_node(ext, &mask, id),
        }
    }

    /// Runs a program of `SEC("syscall")`, if the object has it.
    fn run_program(&mut self, ext: &mut Ext, name: &str, context: &mut [u8]) {
        let Some(program) = self.machine.function(name) else { return };
        self.state.in_syscall = true;
        self.running().sync(ext);
        let returned = self.running().run(ext, |machine, kernel| machine.call_syscall(kernel, program, context));
        self.state.in_syscall = false;
        if returned as i32 != 0 {
            ext.error(format!("{name}(), which its loader runs, returns {}", returned as i32));
        }
    }

    /// `setup_topology_node()`: the program makes a bitmap in the arena, which user space fills.
    fn topology_node(&mut self, ext: &mut Ext, mask: &[u64], id: u64) {
        let mut bitmap = [0; 8];
        self.run_program(ext, "arena_alloc_mask", &mut bitmap);
        let bits = u64::from_le_bytes(bitmap);
        if let Some(at) = self.machine.arena_addr(bits) {
            for (word, value) in (0..).zip(mask) {
                if let Err(fault) = self.machine.memory_mut().write_u64(at + 8 * word, *value) {
                    return ext.error(format!("its loader cannot write a bitmap in its arena: {fault}"));
                }
            }
        }
        // struct arena_topology_node_init_args: bitmap, data_size, id
        let mut context: Vec<u8> = [bits, 0, id].into_iter().flat_map(u64::to_le_bytes).collect();
        self.run_program(ext, "arena_topology_node_init", &mut context);
    }

    fn running(&mut self) -> Running<'_> {
        Running { machine: &mut self.machine, state: &mut self.state }
    }
}

impl Ops for BpfOps {
    fn add_task(&mut self, info: &TaskInfo) {
        let nr_cpus = self.state.nr_cpus;
        self.state.objects.add_task(self.machine.memory_mut(), info, nr_cpus);
    }

    fn set_priorities(&mut self, p: TaskId, priorities: Priorities) {
        self.state.objects.set_priorities(self.machine.memory_mut(), p, priorities);
    }

    fn remove_task(&mut self, ext: &mut Ext, p: TaskId) {
        let (machine, state) = (&mut self.machine, &mut self.state);
        if let Some(addr) = state.objects.remove_task(machine.memory_mut(), p) {
            InKernel { ext, state }.free_task(machine, addr);
        }
    }

    fn set_cgroup_idle(&mut self, cgroup: u32, idle: bool) {
        self.state.objects.cgroups.set_idle(self.machine.memory_mut(), cgroup, idle);
    }

    fn remove_cgroup(&mut self, ext: &mut Ext, cgroup: u32) {
        let (machine, state) = (&mut self.machine, &mut self.state);
        let addr = state.objects.cgroups.addr(cgroup);
        machine.storage_free(&mut InKernel { ext, state }, addr);
    }

    fn attached(&mut self, ext: &mut Ext) {
        let this_cpu = ext.this_cpu;
        for (cpu, step) in std::mem::take(&mut self.loading.after_attach) {
            ext.this_cpu = cpu;
            self.step(ext, step);
        }
        ext.this_cpu = this_cpu;
    }

    fn variable(&self, name: &str) -> Option<u64> {
        let (at, size) = self.machine.variable(name)?;
        let memory = self.machine.memory();
        match size {
            1 => memory.read_u8(at).ok().map(u64::from),
            2 => memory.read_u16(at).ok().map(u64::from),
            4 => memory.read_u32(at).ok().map(u64::from),
            8 => memory.read_u64(at).ok(),
            _ => None,
        }
    }

    fn take_records(&mut self, ring: &str) -> Vec<Vec<u8>> {
        let number =
            self.machine.map(ring).filter(|&map| self.machine.image().maps[map as usize].kind == MapKind::Ringbuf);
        number.map(|map| self.machine.ringbuf_take(map)).unwrap_or_default()
    }

    fn timer(&mut self, ext: &mut Ext, number: u32) {
        let Some(timer) = self.state.timers.remove(&number) else { return };
        self.state.timer_at.remove(&timer);
        let mut running = self.running();
        running.sync(ext);
        running.run(ext, |machine, kernel| machine.call_timer(kernel, timer));
    }

    fn timer_is_set(&self, number: u32) -> bool {
        self.state.timers.contains_key(&number)
    }

    /// Variables `nr_*` that its programs write, and maps `stats`, as schedulers call what their user space prints.
    fn counters(&mut self) -> Vec<(String, u64)> {
        let mut names: Vec<String> = Vec::new();
        let mut stats: Vec<(u32, u32)> = Vec::new();
        for (number, map) in self.machine.image().maps.iter().enumerate() {
            let counts = |of: &&Variable| of.name.starts_with("nr_") && of.size == 8 && of.element == 8 && !of.signed;
            if !map.read_only {
                names.extend(map.variables.iter().filter(counts).map(|variable| variable.name.clone()));
            }
            // What nobody prints is no counter.
            let printed = map.max_entries <= COUNTERS_MAX;
            if map.name == "stats" && map.kind == MapKind::PercpuArray && map.value_size == 8 && printed {
                stats.push((number as u32, map.max_entries));
            }
        }
        names.truncate(COUNTERS_MAX as usize);
        let mut counters: Vec<(String, u64)> =
            names.into_iter().filter_map(|name| self.variable(&name).map(|value| (name, value))).collect();
        for (map, entries) in stats {
            for entry in 0..entries {
                let mut sum = 0;
                for cpu in 0..self.state.nr_cpus {
                    if let Some(addr) = self.machine.map_lookup_percpu(map, &entry.to_le_bytes(), cpu) {
                        sum = self.machine.memory().read_u64(addr).unwrap_or(0).wrapping_add(sum);
                    }
                }
                counters.push((format!("stats[{entry}]"), sum));
            }
        }
        counters
    }

    fn call(&mut self, ext: &mut Ext, call: Call) -> i64 {
        if call == Call::Init {
            self.after_load(ext);
        }
        self.running().call(ext, call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ktime_add_safe()` and `ns_to_ktime()` (include/linux/ktime.h, kernel/time/hrtimer.c).
    #[test]
    fn a_time_that_does_not_fit_is_never_and_one_that_is_over_is_now() {
        assert_eq!(timer_expires(100, 5, 0), 105);
        for nsecs in [u64::MAX, KTIME_MAX + 1, KTIME_MAX, KTIME_MAX - UPTIME_NS] {
            assert_eq!(timer_expires(100, nsecs, 0), KTIME_MAX, "{nsecs}");
        }
        assert_eq!(timer_expires(100, UPTIME_NS + 200, 1), 200);
        for nsecs in [0, UPTIME_NS + 50, u64::MAX] {
            assert_eq!(timer_expires(100, nsecs, 1), 100, "{nsecs}");
        }
    }
}
