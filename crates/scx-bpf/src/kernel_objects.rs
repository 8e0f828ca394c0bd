//! The kernel objects that programs see: tasks, run queues, cpumasks, in the machine's memory.

use crate::cgroups::Cgroups;
use std::collections::{BTreeMap, BTreeSet};
use wakelab_bpf::btf::Btf;
use wakelab_bpf::image::Image;
use wakelab_bpf::memory::Memory;
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::cgroup::ROOT;
use wakelab_scx_core::entity::{Curr, Dsq};
use wakelab_scx_core::ext::{Ext, ExtStats};
use wakelab_scx_core::flags::{SCX_DSQ_GLOBAL, SCX_DSQ_LOCAL};
use wakelab_scx_core::ops::{Priorities, TaskInfo, pid, task_of_pid};

/// PF_EXITING.
const PF_EXITING: u32 = 4;
/// PF_KTHREAD.
const PF_KTHREAD: u32 = 0x0020_0000;
/// PF_WQ_WORKER.
const PF_WQ_WORKER: u32 = 0x20;
/// PF_NO_SETAFFINITY, which the workers of a CPU have, too (`create_worker()` binds them by `kthread_bind_mask()`).
const PF_NO_SETAFFINITY: u32 = 0x0400_0000;
/// PF_IDLE.
const PF_IDLE: u32 = 2;
/// `SCX_TASK_QUEUED` of `p->scx.flags`.
const SCX_TASK_QUEUED: u32 = 1;
/// `SCX_TASK_ENABLED` (3) at `SCX_TASK_STATE_SHIFT` (8).
const SCX_TASK_ENABLED: u32 = 3 << 8;
/// `SCX_TASK_READY` (2): it is of another class.
const SCX_TASK_READY: u32 = 2 << 8;
/// The time that clocks show when a run begins, ns: programs take 0 for a time that was never set.
pub const UPTIME_NS: u64 = 1 << 32;

/// The fields that have values, by type. Of `task_struct` those that a program may write are `scx.slice` and
/// `scx.dsq_vtime`, as in the kernel (`bpf_scx_btf_struct_access()`).
pub const FIELDS: &[(&str, &[&str])] = &[
    (
        "task_struct",
        &[
            "__state",
            "cgroups",
            "comm",
            "cpus_mask",
            "cpus_ptr",
            "flags",
            "group_leader",
            // No task waits for a disk.
            "in_iowait",
            "migration_disabled",
            "mempolicy",
            "mm",
            "nivcsw",
            "normal_prio",
            "nr_cpus_allowed",
            "numa_preferred_nid",
            "nvcsw",
            "on_cpu",
            "parent",
            "pid",
            "policy",
            "prio",
            "real_parent",
            "recent_used_cpu",
            "sched_info.last_arrival",
            "sched_info.last_queued",
            "sched_info.pcount",
            "sched_info.run_delay",
            "sched_task_group",
            "scx.ddsp_dsq_id",
            "scx.ddsp_enq_flags",
            "scx.disallow",
            "scx.dsq",
            "scx.dsq_vtime",
            "scx.flags",
            "scx.selected_cpu",
            "scx.slice",
            "scx.sticky_cpu",
            "scx.tid",
            "scx.weight",
            "se.sum_exec_runtime",
            "start_boottime",
            "start_time",
            "static_prio",
            "stime",
            "tgid",
            "thread_info.cpu",
            "utime",
            "wake_cpu",
        ],
    ),
    // No task has one.
    ("mempolicy", &["home_node", "mode", "nodes"]),
    (
        "rq",
        &[
            "clock",
            "clock_pelt",
            "clock_task",
            "cpu",
            "curr",
            // No CPU that goes offline waits for its tasks to leave.
            "hotplug_wait.task",
            "idle",
            "lost_idle_time",
            "nr_running",
            "scx.cpuperf_target",
            "scx.nr_running",
        ],
    ),
    ("cgroup", &["ancestors", "dom_cgrp", "kn", "level", "self", "subsys"]),
    ("cgroup_subsys_state", &["cgroup", "parent"]),
    // Programs come to none: `cpufreq_cpu_data` has no place in memory.
    ("cpufreq_policy", &["cpuinfo.max_freq", "max"]),
    ("css_set", &["dfl_cgrp"]),
    ("task_group", &["css.cgroup", "idle"]),
    ("kernfs_node", &["id", "name"]),
    ("cpumask", &["bits"]),
    ("scx_dispatch_q", &["id"]),
    ("pcpu_hot", &["preempt_count"]),
    // Nobody attaches a scheduler for a control group of its own.
    ("sched_ext_ops", &["sub_cgroup_id"]),
    ("scx_sub_attach_args", &["cgroup_path", "ops"]),
    ("scx_sub_detach_args", &["cgroup_path", "ops"]),
    // Filled by kernel functions.
    (
        "scx_event_stats",
        &[
            "SCX_EV_BYPASS_ACTIVATE",
            "SCX_EV_BYPASS_DISPATCH",
            "SCX_EV_BYPASS_DURATION",
            "SCX_EV_DISPATCH_KEEP_LAST",
            "SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE",
            "SCX_EV_ENQ_SKIP_EXITING",
            "SCX_EV_ENQ_SKIP_MIGRATION_DISABLED",
            "SCX_EV_REENQ_IMMED",
            "SCX_EV_REENQ_LOCAL_REPEAT",
            "SCX_EV_REFILL_SLICE_DFL",
            "SCX_EV_SELECT_CPU_FALLBACK",
        ],
    ),
    ("scx_cid_topo", &["core_cid", "core_idx", "llc_cid", "llc_idx", "node_cid", "node_idx"]),
    ("scx_init_task_args", &["cgroup", "fork"]),
    ("scx_exit_task_args", &["cancelled"]),
    ("scx_cgroup_init_args", &["weight", "bw_period_us", "bw_quota_us", "bw_burst_us"]),
    ("scx_cpu_release_args", &["reason", "task"]),
    ("scx_exit_info", &["dump", "exit_code", "exit_cpu", "kind", "msg", "reason"]),
    ("scx_bpf_dsq_insert_vtime_args", &["dsq_id", "enq_flags", "slice", "vtime"]),
    ("scx_bpf_select_cpu_and_args", &["flags", "prev_cpu", "wake_flags"]),
];

/// The fields of a task that change from operation to operation.
#[derive(Clone, Copy, Debug)]
enum Change {
    Flags,
    ScxFlags,
    Weight,
    SelectedCpu,
    DdspDsqId,
    DdspEnqFlags,
    SumExecRuntime,
    OnCpu,
    Cpu,
    State,
    StartTime,
    Nvcsw,
    Nivcsw,
    Pcount,
    RunDelay,
    LastArrival,
    LastQueued,
}

/// The fields that have it.
const CHANGES: [(&str, Change); 21] = [
    ("flags", Change::Flags),
    ("scx.flags", Change::ScxFlags),
    ("scx.weight", Change::Weight),
    ("scx.selected_cpu", Change::SelectedCpu),
    ("scx.ddsp_dsq_id", Change::DdspDsqId),
    ("scx.ddsp_enq_flags", Change::DdspEnqFlags),
    ("se.sum_exec_runtime", Change::SumExecRuntime),
    ("utime", Change::SumExecRuntime),
    ("on_cpu", Change::OnCpu),
    ("recent_used_cpu", Change::Cpu),
    ("wake_cpu", Change::Cpu),
    ("thread_info.cpu", Change::Cpu),
    ("__state", Change::State),
    ("start_time", Change::StartTime),
    ("start_boottime", Change::StartTime),
    ("nvcsw", Change::Nvcsw),
    ("nivcsw", Change::Nivcsw),
    ("sched_info.pcount", Change::Pcount),
    ("sched_info.run_delay", Change::RunDelay),
    ("sched_info.last_arrival", Change::LastArrival),
    ("sched_info.last_queued", Change::LastQueued),
];

/// The fields of a run queue that change.
#[derive(Clone, Copy, Debug)]
enum RqChange {
    Curr,
    NrRunning,
    CpuperfTarget,
    Clock,
    ClockTask,
    ClockPelt,
}

/// The fields that have it. `rq_clock_pelt()` is `clock_pelt` less `lost_idle_time`, which stays 0.
const RQ_CHANGES: [(&str, RqChange); 7] = [
    ("curr", RqChange::Curr),
    ("nr_running", RqChange::NrRunning),
    ("scx.nr_running", RqChange::NrRunning),
    ("scx.cpuperf_target", RqChange::CpuperfTarget),
    ("clock", RqChange::Clock),
    ("clock_task", RqChange::ClockTask),
    ("clock_pelt", RqChange::ClockPelt),
];

/// Types of which programs have their own, and read what they have written themselves.
const OWN_TYPES: [&str; 4] = ["scx_cmask", "atomic_t", "bpf_perf_event_value", "class_rcu_t"];

/// Where a field is, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub offset: u32,
    pub size: u32,
}

/// The fields of one struct, by their place in [`FIELDS`], and its size, bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    fields: BTreeMap<&'static str, Field>,
    pub size: u32,
}

impl Layout {
    /// Where the kernel has the fields. Those that it does not have are left out.
    pub fn new(btf: &Btf, name: &str) -> Self {
        let Some(id) = btf.find_composite(name) else { return Layout::default() };
        let known = FIELDS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, fields)| fields);
        let fields = known.iter().filter_map(|&path| Some((path, field(btf, name, path)?))).collect();
        Layout { fields, size: btf.size(id).unwrap_or(0) as u32 }
    }

    pub fn get(&self, path: &str) -> Option<Field> {
        self.fields.get(path).copied()
    }

    /// Where those fields of a table are that are `wanted`.
    fn changes<T: Copy>(&self, table: &[(&'static str, T)], wanted: impl Fn(&str) -> bool) -> Vec<(Field, T)> {
        let wanted = table.iter().filter(|(path, _)| wanted(path));
        wanted.filter_map(|&(path, change)| Some((self.get(path)?, change))).collect()
    }
}

/// Where the field of a dotted path is in a struct.
pub(crate) fn field(btf: &Btf, name: &str, path: &str) -> Option<Field> {
    let (offset, kind) = btf.field(name, path)?;
    Some(Field { offset, size: btf.size(kind)? as u32 })
}

/// The fields that an image uses and that have no values, as a sentence; `None` if all have.
pub fn refused_fields(image: &Image) -> Option<String> {
    let has = |type_name: &str, path: &str| {
        let of = FIELDS.iter().find(|(of, _)| *of == type_name);
        let fits = |known: &str| known == path || path.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'));
        of.is_some_and(|(_, known)| known.iter().any(|known| fits(known)))
    };
    let missing: Vec<String> = image
        .accesses
        .iter()
        .filter(|access| access.used && access.exists)
        .filter(|access| !OWN_TYPES.contains(&access.type_name.as_str()))
        .filter(|access| !access.path.is_empty() && !has(&access.type_name, &access.path))
        .map(|access| format!("{}.{}", access.type_name, access.path))
        .collect();
    (!missing.is_empty())
        .then(|| format!("it reads fields that have no value in a simulated kernel: {}", missing.join(", ")))
}

/// A task in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    addr: u64,
    /// `p->flags` without PF_EXITING.
    flags: u32,
    /// The number of the mask that `cpus_ptr` points to; `u32::MAX` before it is set.
    mask: u32,
    /// The number of the group that `cgroups` and `sched_task_group` lead to.
    group: u32,
    /// `p->tgid`.
    tgid: u64,
    /// `p->real_parent`, if that is a task.
    parent: Option<TaskId>,
    /// It has left: no pid names it any more.
    dead: bool,
    /// How many references programs hold (`bpf_task_acquire()`): its memory stays as long.
    held: u32,
}

/// The objects of the kernel that programs see.
#[derive(Clone, Debug)]
pub struct KernelObjects {
    task: Layout,
    rq: Layout,
    /// Where those of [`CHANGES`] are that programs can read.
    changes: Vec<(Field, Change)>,
    /// The same of [`RQ_CHANGES`].
    rq_changes: Vec<(Field, RqChange)>,
    /// Where `scx.dsq` is, if programs read it; the queues' structs so far, and their layout.
    scx_dsq: Option<Field>,
    dsqs: BTreeMap<Dsq, u64>,
    dispatch_q: Layout,
    /// `scx.slice` and `scx.dsq_vtime`, which every operation reads.
    slice: u32,
    dsq_vtime: u32,
    tasks: Vec<Task>,
    /// Tasks by the numbers of their regions.
    by_region: Vec<Option<TaskId>>,
    /// The children of tasks: parent and child.
    children: BTreeSet<(TaskId, TaskId)>,
    /// By CPU: its idle task.
    idle: Vec<u64>,
    /// By CPU: its `struct rq`.
    rqs: Vec<u64>,
    /// Per-CPU variables, of the CPUs one after the other.
    sd_llc_id: u64,
    preempt_count: u64,
    /// The variable that holds `preempt_count` of each CPU: that alone, or in 6.12 a `struct pcpu_hot`, of which it is
    /// a field.
    pcpu_hot: Field,
    /// `cpu_possible_mask`.
    pub possible: u64,
    /// `cpu_online_mask`, and the number of the change after which it was written.
    pub online: u64,
    online_seq: u64,
    /// Copies of the idle masks, by node: of CPUs and of cores.
    pub idle_masks: Vec<[u64; 2]>,
    /// An empty mask (`cpu_none_mask`).
    pub none: u64,
    /// Control groups.
    pub cgroups: Cgroups,
    /// An address for `p->mm` of each process.
    mms: BTreeMap<u32, u64>,
    /// Arguments of `ops.init_task()`, `ops.exit_task()` and others, and their layouts.
    args: BTreeMap<&'static str, (u64, Layout)>,
    /// Where the counts of `struct scx_event_stats` are, bytes, and their names; empty if the kernel has none.
    pub event_stats: Vec<(u32, &'static str)>,
    /// Bytes of a cpumask.
    mask_len: u32,
}

impl KernelObjects {
    /// The objects of a kernel with these types on a machine with so many CPUs and nodes.
    ///
    /// # Errors
    /// Fails if the types lack what every scheduler needs.
    pub fn new(btf: &Btf, memory: &mut Memory, nr_cpus: u32, nr_nodes: u32) -> Result<Self, String> {
        let task = Layout::new(btf, "task_struct");
        let needs = |path: &str| {
            let field = task.get(path).filter(|field| field.size == 8);
            field.map(|field| field.offset).ok_or_else(|| format!("the kernel's BTF has no task_struct.{path}"))
        };
        let (slice, dsq_vtime) = (needs("scx.slice")?, needs("scx.dsq_vtime")?);
        let rq = Layout::new(btf, "rq");
        let mask_len = btf.find_composite("cpumask").and_then(|id| btf.size(id)).unwrap_or(8) as u32;
        let mask_len = mask_len.max(nr_cpus.div_ceil(64) * 8);
        let mask = |memory: &mut Memory, name: &str| {
            let addr = memory.region(name, mask_len);
            memory.set_read_only(addr, true);
            addr
        };
        let possible = mask(memory, "cpu_possible_mask");
        let online = mask(memory, "cpu_online_mask");
        let none = mask(memory, "cpu_none_mask");
        let idle_masks = (0..nr_nodes.max(1))
            .map(|node| ["idle cpumask", "idle smtmask"].map(|name| mask(memory, &format!("{name} of node {node}"))))
            .collect();
        let hot = Layout::new(btf, "pcpu_hot");
        let hot = match hot.get("preempt_count") {
            Some(count) => Field { offset: count.offset, size: hot.size },
            None => Field { offset: 0, size: 4 },
        };
        let mut objects = KernelObjects {
            changes: task.changes(&CHANGES, |_| true),
            rq_changes: rq.changes(&RQ_CHANGES, |_| true),
            scx_dsq: task.get("scx.dsq"),
            dsqs: BTreeMap::new(),
            dispatch_q: Layout::new(btf, "scx_dispatch_q"),
            slice,
            dsq_vtime,
            tasks: Vec::new(),
            by_region: Vec::new(),
            children: BTreeSet::new(),
            idle: Vec::new(),
            rqs: Vec::new(),
            sd_llc_id: memory.region("sd_llc_id", 4 * nr_cpus),
            preempt_count: memory.region("__preempt_count", hot.size * nr_cpus),
            pcpu_hot: hot,
            possible,
            online,
            // Before the first change some CPUs may be offline.
            online_seq: u64::MAX,
            idle_masks,
            none,
            cgroups: Cgroups::new(btf, memory),
            mms: BTreeMap::new(),
            args: BTreeMap::new(),
            event_stats: ExtStats::default()
                .list()
                .into_iter()
                .filter_map(|(name, _)| Some((btf.field("scx_event_stats", name)?.0, name)))
                .collect(),
            mask_len,
            task,
            rq,
        };
        for mask in [possible, online] {
            objects.write_mask(memory, mask, &CpuMask::full(nr_cpus), mask_len);
        }
        for cpu in 0..nr_cpus {
            objects.add_cpu(memory, cpu);
        }
        for name in ["scx_init_task_args", "scx_exit_task_args", "scx_cgroup_init_args", "scx_cpu_release_args"] {
            let layout = Layout::new(btf, name);
            let addr = memory.region(name, layout.size.max(64));
            objects.args.insert(name, (addr, layout));
        }
        Ok(objects)
    }

    /// Keeps only those fields up to date that an image accesses, of which its relocations tell. One without
    /// relocations of a type has offsets of its own, and may read any of its fields.
    pub fn only_accessed(&mut self, image: &Image) {
        let accessed = |name: &str, path: &str| {
            let mut paths =
                image.accesses.iter().filter(|of| of.type_name == name).map(|of| of.path.as_str()).peekable();
            // A program may take the address of a struct that has the field.
            paths.peek().is_none() || paths.any(|of| path.starts_with(of) || of.starts_with(path))
        };
        self.changes = self.task.changes(&CHANGES, |path| accessed("task_struct", path));
        self.rq_changes = self.rq.changes(&RQ_CHANGES, |path| accessed("rq", path));
        self.scx_dsq = self.scx_dsq.filter(|_| accessed("task_struct", "scx.dsq"));
    }

    fn add_cpu(&mut self, memory: &mut Memory, cpu: Cpu) {
        let idle = memory.region(&format!("idle task of CPU {cpu}"), self.task.size);
        put(memory, idle, self.task.get("flags"), u64::from(PF_IDLE | PF_KTHREAD));
        put(memory, idle, self.task.get("thread_info.cpu"), u64::from(cpu));
        put(memory, idle, self.task.get("prio"), 120);
        put(memory, idle, self.task.get("static_prio"), 120);
        if let Some(cpus_mask) = self.task.get("cpus_mask") {
            let at = idle + u64::from(cpus_mask.offset);
            let mut own = CpuMask::new(cpu + 1);
            own.set(cpu);
            self.write_mask(memory, at, &own, cpus_mask.size);
            put(memory, idle, self.task.get("cpus_ptr"), at);
        }
        put(memory, idle, self.task.get("nr_cpus_allowed"), 1);
        put(memory, idle, self.task.get("cgroups"), self.cgroups.css_set(ROOT));
        let rq = memory.region(&format!("rq of CPU {cpu}"), self.rq.size.max(64));
        put(memory, rq, self.rq.get("cpu"), u64::from(cpu));
        put(memory, rq, self.rq.get("curr"), idle);
        put(memory, rq, self.rq.get("idle"), idle);
        self.idle.push(idle);
        self.rqs.push(rq);
    }

    /// A task exists from now on.
    pub fn add_task(&mut self, memory: &mut Memory, info: &TaskInfo, nr_cpus: u32) {
        let at = info.task.0 as usize;
        if self.tasks.len() <= at {
            self.tasks.resize(at + 1, Task::default());
        }
        let addr = memory.region(&format!("task_struct of {}", info.comm), self.task.size);
        let region = (addr >> 32) as usize;
        if self.by_region.len() <= region {
            self.by_region.resize(region + 1, None);
        }
        self.by_region[region] = Some(info.task);
        let flags =
            if info.kthread { PF_KTHREAD } else { 0 } | if info.kworker { PF_WQ_WORKER | PF_NO_SETAFFINITY } else { 0 };
        let pid = pid(info.task);
        let tgid = if info.process < 1 << 31 { u64::from(info.process) + (1 << 20) } else { pid };
        let parent = info.parent.filter(|&parent| self.lives(parent));
        self.children.extend(parent.map(|parent| (parent, info.task)));
        self.tasks[at] = Task { addr, flags, mask: u32::MAX, group: ROOT, tgid, parent, dead: false, held: 0 };
        let parent = parent.and_then(|parent| self.addr(parent)).unwrap_or(self.idle[0]);
        let mm = match info.kthread {
            true => 0,
            false => *self.mms.entry(info.process).or_insert_with(|| memory.region("mm_struct", 8)),
        };
        let values = [
            ("pid", pid),
            ("tgid", tgid),
            ("mm", mm),
            ("real_parent", parent),
            ("parent", parent),
            ("group_leader", addr),
            ("nr_cpus_allowed", u64::from(info.cpus_ptr.weight().min(nr_cpus))),
            ("numa_preferred_nid", u64::MAX),
            ("cgroups", self.cgroups.css_set(ROOT)),
            ("sched_task_group", self.cgroups.task_group(ROOT)),
            ("flags", u64::from(flags)),
            ("scx.sticky_cpu", u64::MAX),
            ("scx.tid", u64::from(info.task.0) + 1),
        ];
        for (path, value) in values {
            put(memory, addr, self.task.get(path), value);
        }
        self.set_priorities(memory, info.task, info.priorities);
        if let Some(comm) = self.task.get("comm") {
            let bytes = info.comm.as_bytes();
            let len = bytes.len().min(comm.size.saturating_sub(1) as usize);
            if let Ok(place) = memory.bytes_mut(addr + u64::from(comm.offset), len as u64) {
                place.copy_from_slice(&bytes[..len]);
            }
        }
    }

    /// A task leaves (`release_task()`): its children get another parent, and no pid names it. Returns its address if
    /// nobody holds it, so that it is to be freed.
    pub fn remove_task(&mut self, memory: &mut Memory, task: TaskId) -> Option<u64> {
        let addr = self.addr(task)?;
        let children: Vec<_> = self.children.range((task, TaskId(0))..=(task, TaskId(u32::MAX))).copied().collect();
        for pair in children {
            self.children.remove(&pair);
            self.tasks[pair.1.0 as usize].parent = None;
            let child = self.addr(pair.1).expect("a task leaves its parent before it is freed");
            for path in ["real_parent", "parent"] {
                put(memory, child, self.task.get(path), self.idle[0]);
            }
        }
        let of = &mut self.tasks[task.0 as usize];
        of.dead = true;
        let unheld = of.held == 0;
        if let Some(parent) = of.parent.take() {
            self.children.remove(&(parent, task));
        }
        unheld.then_some(addr)
    }

    /// A task has this policy from now on. No task is boosted by another that waits for it, so that `normal_prio` is
    /// `prio`.
    pub fn set_priorities(&self, memory: &mut Memory, task: TaskId, priorities: Priorities) {
        let Some(addr) = self.addr(task) else { return };
        let Priorities { policy, prio, static_prio } = priorities;
        let prio = u64::from(prio.cast_unsigned());
        let values =
            [("prio", prio), ("normal_prio", prio), ("static_prio", static_prio.into()), ("policy", policy.into())];
        for (path, value) in values {
            put(memory, addr, self.task.get(path), value);
        }
    }

    /// `bpf_task_acquire()` of the task at an address. Idle tasks stay anyway.
    pub fn hold_task(&mut self, addr: u64) {
        if let Some(task) = self.task_at(addr) {
            let held = &mut self.tasks[task.0 as usize].held;
            *held = held.saturating_add(1);
        }
    }

    /// `bpf_task_release()`. Returns whether the task has left and nobody holds it any more, so that it is to be freed.
    pub fn put_task(&mut self, addr: u64) -> bool {
        let Some(task) = self.task_at(addr) else { return false };
        let of = &mut self.tasks[task.0 as usize];
        of.held = of.held.saturating_sub(1);
        of.dead && of.held == 0
    }

    /// Frees the memory of a task that has left (`free_task()`).
    pub fn free_task(&mut self, memory: &mut Memory, addr: u64) {
        if let Some(task) = self.by_region.get_mut((addr >> 32) as usize).and_then(Option::take) {
            memory.free(addr);
            self.tasks[task.0 as usize].addr = 0;
        }
    }

    fn lives(&self, task: TaskId) -> bool {
        self.tasks.get(task.0 as usize).is_some_and(|task| task.addr != 0 && !task.dead)
    }

    /// The task of a pid (`find_task_by_vpid()`).
    pub fn task_from_pid(&self, pid: u32) -> Option<TaskId> {
        task_of_pid(pid).filter(|&task| self.lives(task))
    }

    /// The task of a `p->scx.tid`. The kernel hands these out in chunks of its CPUs; here they are as pids.
    pub fn task_of_tid(&self, tid: u64) -> Option<TaskId> {
        u32::try_from(tid).ok().and_then(task_of_pid).filter(|&task| self.lives(task))
    }

    /// Whether a program has set `p->scx.disallow` of a task.
    pub fn disallowed(&self, memory: &Memory, task: TaskId) -> bool {
        let at = self.task.get("scx.disallow").zip(self.addr(task));
        at.is_some_and(|(field, addr)| memory.read_u8(addr + u64::from(field.offset)).is_ok_and(|set| set != 0))
    }

    /// `tgid << 32 | pid` of a task (`bpf_get_current_pid_tgid()`).
    pub fn pid_tgid(&self, task: TaskId) -> Option<u64> {
        self.tasks.get(task.0 as usize).map(|of| of.tgid << 32 | pid(task))
    }

    /// The address of a task's `task_struct`.
    #[inline]
    pub fn addr(&self, task: TaskId) -> Option<u64> {
        self.tasks.get(task.0 as usize).map(|task| task.addr).filter(|&addr| addr != 0)
    }

    /// The task at an address.
    #[inline]
    pub fn task_at(&self, addr: u64) -> Option<TaskId> {
        if addr as u32 == 0 { self.by_region.get((addr >> 32) as usize).copied().flatten() } else { None }
    }

    /// The CPU whose idle task is at an address.
    pub fn cpu_of_idle_task(&self, addr: u64) -> Option<Cpu> {
        self.idle.iter().position(|&idle| idle == addr).map(|cpu| cpu as Cpu)
    }

    /// The idle task of a CPU.
    pub fn idle_task(&self, cpu: Cpu) -> u64 {
        self.idle[cpu as usize]
    }

    /// The address of what runs on a CPU.
    pub fn curr(&self, ext: &Ext, cpu: Cpu) -> u64 {
        match ext.rqs[cpu as usize].curr {
            Curr::Ext(task) => self.addr(task).unwrap_or(self.idle[cpu as usize]),
            Curr::Idle => self.idle[cpu as usize],
            Curr::Above => {
                let above = ext.rqs[cpu as usize].above.and_then(|task| self.addr(task));
                above.unwrap_or(self.idle[cpu as usize])
            }
        }
    }

    /// The address of a CPU's run queue, with what programs may read of it.
    pub fn rq(&self, memory: &mut Memory, ext: &Ext, cpu: Cpu) -> u64 {
        let addr = self.rqs[cpu as usize];
        let rq = &ext.rqs[cpu as usize];
        for &(field, change) in &self.rq_changes {
            let value = match change {
                RqChange::Curr => self.curr(ext, cpu),
                RqChange::NrRunning => u64::from(rq.nr_running),
                RqChange::CpuperfTarget => u64::from(rq.cpuperf_target),
                RqChange::Clock => UPTIME_NS + ext.clock(),
                RqChange::ClockTask => UPTIME_NS + rq.clocks.task,
                RqChange::ClockPelt => UPTIME_NS + rq.clocks.pelt,
            };
            put(memory, addr, Some(field), value);
        }
        addr
    }

    /// The address of a CPU's `sd_llc_id`: CPUs that share a last level cache have the same.
    pub fn sd_llc_id(&self, memory: &mut Memory, ext: &Ext, cpu: Cpu) -> u64 {
        let at = self.sd_llc_id + 4 * u64::from(cpu);
        let _ = memory.write_u32(at, ext.idle.topology().sd_llc_id(cpu));
        at
    }

    /// The address of a CPU's `__preempt_count` or `pcpu_hot`, which says of this CPU whether it is in an interrupt.
    pub fn preempt_count(&self, memory: &mut Memory, ext: &Ext, cpu: Cpu) -> u64 {
        let at = self.preempt_count + u64::from(self.pcpu_hot.size) * u64::from(cpu);
        let count = if cpu == ext.this_cpu { ext.preempt_count } else { 0 };
        let _ = memory.write_u32(at + u64::from(self.pcpu_hot.offset), count);
        at
    }

    /// Where `scx.slice` of a task is.
    #[inline]
    pub fn slice_at(&self, task: TaskId) -> u64 {
        self.tasks[task.0 as usize].addr + u64::from(self.slice)
    }

    /// Where `scx.dsq_vtime` of a task is.
    #[inline]
    pub fn dsq_vtime_at(&self, task: TaskId) -> u64 {
        self.tasks[task.0 as usize].addr + u64::from(self.dsq_vtime)
    }

    /// Brings a task's `task_struct` up to date, for an operation that gets it. Returns its address.
    pub fn sync_task(&mut self, memory: &mut Memory, ext: &Ext, task: TaskId) -> u64 {
        let of = self.tasks[task.0 as usize];
        let (addr, entity) = (of.addr, ext.task(task));
        if let Ok(bytes) = memory.bytes_mut(addr, u64::from(self.task.size)) {
            for &(field, change) in &self.changes {
                let value = match change {
                    Change::Flags => u64::from(of.flags | if entity.exiting { PF_EXITING } else { 0 }),
                    Change::ScxFlags => {
                        let ready = entity.ready && !entity.enabled;
                        let state = if ready { SCX_TASK_READY } else { SCX_TASK_ENABLED };
                        u64::from(if entity.queued { SCX_TASK_QUEUED } else { 0 } | state | entity.reenq_reason)
                    }
                    Change::Weight => u64::from(entity.weight),
                    Change::SelectedCpu => u64::from(entity.selected_cpu),
                    Change::DdspDsqId => entity.ddsp_dsq_id,
                    Change::DdspEnqFlags => entity.ddsp_enq_flags,
                    Change::SumExecRuntime => entity.sum_exec_runtime,
                    Change::OnCpu => {
                        let rq = &ext.rqs[entity.cpu as usize];
                        let runs = rq.curr == Curr::Ext(task) || rq.curr == Curr::Above && rq.above == Some(task);
                        u64::from(runs)
                    }
                    Change::Cpu => u64::from(entity.cpu),
                    Change::State => u64::from(entity.state),
                    Change::StartTime => UPTIME_NS + entity.created_at,
                    Change::Nvcsw => entity.switches[0],
                    Change::Nivcsw => entity.switches[1],
                    Change::Pcount => entity.sched_info.pcount,
                    Change::RunDelay => entity.sched_info.run_delay,
                    // The clock of a task that has not run in this run is older.
                    Change::LastArrival => UPTIME_NS + entity.sched_info.last_arrival,
                    Change::LastQueued => entity.sched_info.last_queued.map_or(0, |since| UPTIME_NS + since),
                };
                let place = &mut bytes[field.offset as usize..];
                match field.size {
                    2 => place[..2].copy_from_slice(&(value as u16).to_le_bytes()),
                    4 => place[..4].copy_from_slice(&(value as u32).to_le_bytes()),
                    _ => place[..8].copy_from_slice(&value.to_le_bytes()),
                }
            }
        }
        if let Some(field) = self.scx_dsq {
            let dsq = entity.dsq.map(|(dsq, _)| dsq);
            let at = dsq.map_or(0, |dsq| self.dsq_addr(memory, dsq));
            put(memory, addr, Some(field), at);
        }
        if of.mask != entity.mask {
            let allowed = ext.cpus_ptr(task);
            // Migration is never disabled, so that cpus_ptr is the task's own mask: schedulers ask whether it is.
            if let Some(cpus_mask) = self.task.get("cpus_mask") {
                let at = addr + u64::from(cpus_mask.offset);
                self.write_mask(memory, at, allowed, cpus_mask.size);
                put(memory, addr, self.task.get("cpus_ptr"), at);
            }
            put(memory, addr, self.task.get("nr_cpus_allowed"), u64::from(allowed.weight()));
            self.tasks[task.0 as usize].mask = entity.mask;
        }
        if of.group != entity.group {
            put(memory, addr, self.task.get("cgroups"), self.cgroups.css_set(entity.group));
            put(memory, addr, self.task.get("sched_task_group"), self.cgroups.task_group(entity.group));
            self.tasks[task.0 as usize].group = entity.group;
        }
        addr
    }

    /// Sets `p->__state` while an operation runs, if programs read it: it is not always what the queues tell.
    pub fn set_state(&self, memory: &mut Memory, task: TaskId, state: u32) {
        let field = self.changes.iter().find(|(_, change)| matches!(change, Change::State));
        if let (Some(&(field, _)), Some(addr)) = (field, self.addr(task)) {
            put(memory, addr, Some(field), u64::from(state));
        }
    }

    /// The address of a queue's `struct scx_dispatch_q`, which has nothing but its id.
    fn dsq_addr(&mut self, memory: &mut Memory, dsq: Dsq) -> u64 {
        if let Some(&addr) = self.dsqs.get(&dsq) {
            return addr;
        }
        let id = match dsq {
            Dsq::Local(_) => SCX_DSQ_LOCAL,
            Dsq::Global(_) => SCX_DSQ_GLOBAL,
            Dsq::User(id) => id,
        };
        let addr = memory.region("scx_dispatch_q", self.dispatch_q.size.max(64));
        put(memory, addr, self.dispatch_q.get("id"), id);
        memory.set_read_only(addr, true);
        self.dsqs.insert(dsq, addr);
        addr
    }

    /// `p->cpus_ptr` of a task that is up to date.
    pub fn cpus_ptr(&self, task: TaskId) -> u64 {
        let cpus_mask = self.task.get("cpus_mask").map_or(0, |field| field.offset);
        self.tasks[task.0 as usize].addr + u64::from(cpus_mask)
    }

    /// Writes a mask that has room for so many bytes.
    fn write_mask(&self, memory: &mut Memory, addr: u64, mask: &CpuMask, len: u32) {
        for (at, word) in mask.words().iter().enumerate().take(len.min(self.mask_len) as usize / 8) {
            let _ = memory.write_u64(addr + at as u64 * 8, *word);
        }
    }

    /// Brings `cpu_online_mask` up to date.
    #[inline]
    pub fn sync_online(&mut self, memory: &mut Memory, ext: &Ext) {
        if self.online_seq != ext.online_seq() {
            self.online_seq = ext.online_seq();
            self.write_mask(memory, self.online, ext.online(), self.mask_len);
        }
    }

    /// Brings the copies of the idle masks of a node up to date: the addresses of that of CPUs and that of cores.
    pub fn sync_idle(&self, memory: &mut Memory, ext: &Ext, node: usize) -> [u64; 2] {
        let (cpus, cores) = ext.idle.masks(node);
        let at = self.idle_masks[node];
        self.write_mask(memory, at[0], cpus, self.mask_len);
        self.write_mask(memory, at[1], cores, self.mask_len);
        at
    }

    /// The arguments of an operation, with these values.
    pub fn args(&self, memory: &mut Memory, name: &str, values: &[(&str, u64)]) -> u64 {
        let (addr, layout) = &self.args[name];
        for (path, value) in values {
            put(memory, *addr, layout.get(path), *value);
        }
        *addr
    }
}

/// Writes a field of 1 to 8 bytes, if the kernel has it.
#[inline]
pub(crate) fn put(memory: &mut Memory, addr: u64, field: Option<Field>, value: u64) {
    let Some(field) = field else { return };
    let at = addr + u64::from(field.offset);
    // Regions are as long as the struct, so that writing cannot fail.
    let _ = match field.size {
        1 => memory.write_u8(at, value as u8),
        2 => memory.write_u16(at, value as u16),
        4 => memory.write_u32(at, value as u32),
        _ => memory.write_u64(at, value),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use wakelab_bpf::machine::{Limits, Machine};
    use wakelab_bpf::{LinkOptions, Object};
    use wakelab_kernel::ExtTypes;

    const SIMPLE: &[u8] = include_bytes!("../../bpf/tests/data/scx_simple.bpf.o");

    fn objects() -> (Machine, KernelObjects) {
        let btf = Btf::parse(ExtTypes::V7_2.btf()).unwrap();
        let image = Object::parse(SIMPLE).unwrap().link(&btf, &LinkOptions::default()).unwrap();
        let mut machine = Machine::new(image, &Limits::default(), 2, &|_| true).unwrap();
        let objects = KernelObjects::new(&btf, machine.memory_mut(), 2, 1).unwrap();
        (machine, objects)
    }

    /// A task of process 1.
    fn task(number: u32, parent: Option<u32>) -> TaskInfo {
        TaskInfo {
            task: TaskId(number),
            comm: "spawn".to_owned(),
            process: 1,
            parent: parent.map(TaskId),
            kthread: false,
            kworker: false,
            priorities: Priorities::NORMAL,
            cpus_ptr: CpuMask::full(2),
        }
    }

    fn free(machine: &mut Machine, objects: &mut KernelObjects, number: u32) {
        let addr = objects.remove_task(machine.memory_mut(), TaskId(number)).expect("nobody holds it");
        objects.free_task(machine.memory_mut(), addr);
    }

    #[test]
    fn the_memory_of_tasks_that_left_is_used_again() {
        let (mut machine, mut objects) = objects();
        objects.add_task(machine.memory_mut(), &task(0, None), 2);
        let used = machine.memory().used();
        for number in 1..2_000 {
            objects.add_task(machine.memory_mut(), &task(number, Some(0)), 2);
            free(&mut machine, &mut objects, number);
        }
        assert_eq!(machine.memory().used(), used);
        assert_eq!((objects.by_region.iter().flatten().count(), objects.children.len()), (1, 0));
    }

    #[test]
    fn a_task_that_a_program_holds_stays_until_it_is_released() {
        let (mut machine, mut objects) = objects();
        objects.add_task(machine.memory_mut(), &task(0, None), 2);
        let addr = objects.addr(TaskId(0)).unwrap();
        objects.hold_task(addr);
        objects.hold_task(addr);
        assert_eq!(objects.task_from_pid(1), Some(TaskId(0)));
        assert_eq!(objects.remove_task(machine.memory_mut(), TaskId(0)), None);
        assert_eq!(objects.task_from_pid(1), None, "it has left");
        assert_eq!((objects.put_task(addr), objects.task_at(addr)), (false, Some(TaskId(0))));
        assert!(objects.put_task(addr), "it was the last reference");
        objects.free_task(machine.memory_mut(), addr);
        assert_eq!((objects.task_at(addr), machine.memory().region_name(addr)), (None, None));
    }

    #[test]
    fn children_of_a_task_that_left_have_another_parent() {
        let (mut machine, mut objects) = objects();
        objects.add_task(machine.memory_mut(), &task(0, None), 2);
        objects.add_task(machine.memory_mut(), &task(1, Some(0)), 2);
        let parents = |machine: &Machine, objects: &KernelObjects| {
            let child = objects.addr(TaskId(1)).unwrap();
            let at = |path: &str| child + u64::from(objects.task.get(path).unwrap().offset);
            ["real_parent", "parent"].map(|path| machine.memory().read_u64(at(path)).unwrap())
        };
        assert_eq!(parents(&machine, &objects), [objects.addr(TaskId(0)).unwrap(); 2]);
        free(&mut machine, &mut objects, 0);
        assert_eq!(parents(&machine, &objects), [objects.idle_task(0); 2]);
        // A parent that has left already is none.
        objects.add_task(machine.memory_mut(), &task(2, Some(0)), 2);
        free(&mut machine, &mut objects, 1);
        free(&mut machine, &mut objects, 2);
        assert_eq!(objects.children.len(), 0);
    }

    /// `init_task_work()`, `set_cpus_allowed_common()`: a task whose migration is not disabled has `p->cpus_ptr ==
    /// &p->cpus_mask`, by which scx_p2dq tells those that may use all CPUs.
    #[test]
    fn cpus_ptr_is_the_tasks_own_mask() {
        let btf = Btf::parse(ExtTypes::V7_2.btf()).unwrap();
        let (mut machine, mut objects) = objects();
        let (mut ext, mut ops) = crate::test_support::ext_of_two_cpus();
        objects.add_task(machine.memory_mut(), &task(0, None), 2);
        ext.init_task(&mut ops, TaskId(0), 0, 0, 1024, false);
        let offset = |path: &str| u64::from(field(&btf, "task_struct", path).unwrap().offset);
        for (mask, cpus) in [(0, 0b11), (1, 0b10)] {
            ext.set_cpus_allowed(&mut ops, TaskId(0), mask);
            let addr = objects.sync_task(machine.memory_mut(), &ext, TaskId(0));
            let memory = machine.memory();
            let cpus_ptr = memory.read_u64(addr + offset("cpus_ptr")).unwrap();
            assert_eq!((cpus_ptr, objects.cpus_ptr(TaskId(0))), (addr + offset("cpus_mask"), cpus_ptr));
            assert_eq!(memory.read_u64(cpus_ptr).unwrap(), cpus);
            assert_eq!(memory.read_u32(addr + offset("nr_cpus_allowed")).unwrap(), u64::count_ones(cpus));
        }
        let idle = objects.idle_task(1);
        let cpus_ptr = machine.memory().read_u64(idle + offset("cpus_ptr")).unwrap();
        assert_eq!((cpus_ptr, machine.memory().read_u64(cpus_ptr).unwrap()), (idle + offset("cpus_mask"), 0b10));
    }

    /// scx_simple charges tasks by their weight, and does not ask on which CPU they woke.
    #[test]
    fn only_what_programs_read_is_kept_up_to_date() {
        for (only_accessed, wake_cpu) in [(false, 1), (true, 0)] {
            let (mut machine, mut objects) = objects();
            let (mut ext, mut ops) = crate::test_support::ext_of_two_cpus();
            if only_accessed {
                objects.only_accessed(machine.image());
            }
            objects.add_task(machine.memory_mut(), &task(0, None), 2);
            ext.init_task(&mut ops, TaskId(0), 1, 0, 2048, false);
            let addr = objects.sync_task(machine.memory_mut(), &ext, TaskId(0));
            let read = |path: &str| {
                let at = addr + u64::from(objects.task.get(path).unwrap().offset);
                machine.memory().read_u32(at).unwrap()
            };
            assert_eq!((read("scx.weight"), read("wake_cpu")), (200, wake_cpu));
        }
    }

    #[test]
    fn kworkers_have_the_kernels_flags() {
        let (mut machine, mut objects) = objects();
        let (mut ext, mut ops) = crate::test_support::ext_of_two_cpus();
        for (number, kthread, kworker, flags) in [
            (0, false, false, 0),
            (1, true, false, PF_KTHREAD),
            (2, true, true, PF_KTHREAD | PF_WQ_WORKER | 0x0400_0000),
        ] {
            let info = TaskInfo { kthread, kworker, ..task(number, None) };
            objects.add_task(machine.memory_mut(), &info, 2);
            ext.init_task(&mut ops, TaskId(number), 0, 0, 1024, false);
            let addr = objects.sync_task(machine.memory_mut(), &ext, TaskId(number));
            let at = addr + u64::from(objects.task.get("flags").unwrap().offset);
            assert_eq!(machine.memory().read_u32(at).unwrap(), flags);
        }
    }

    #[test]
    fn the_tgid_of_a_thread_is_that_of_its_task_struct() {
        let (mut machine, mut objects) = objects();
        objects.add_task(machine.memory_mut(), &task(4, None), 2);
        let addr = objects.addr(TaskId(4)).unwrap();
        let read = |path: &str| {
            let at = addr + u64::from(objects.task.get(path).unwrap().offset);
            u64::from(machine.memory().read_u32(at).unwrap())
        };
        assert_eq!(objects.pid_tgid(TaskId(4)), Some(read("tgid") << 32 | read("pid")));
        assert_eq!((read("pid"), objects.pid_tgid(TaskId(9))), (5, None));
    }
}
