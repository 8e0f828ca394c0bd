//! The kernel functions of sched_ext that programs call (`kernel/sched/ext/ext.c` and `idle.c`).

use crate::bpf_ops::{InKernel, Running};
use crate::cgroups;
use crate::kernel_objects::UPTIME_NS;
use wakelab_bpf::machine::{Fault, Machine};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::cid::CidTopo;
use wakelab_scx_core::flags::{
    SCX_CPUPERF_ONE, SCX_DSQ_LOCAL, SCX_OPS_BUILTIN_IDLE_PER_NODE, SCX_OPS_TID_TO_TASK, SCX_PICK_IDLE_IN_NODE,
};
use wakelab_scx_core::idle::IdleError;
use wakelab_scx_core::ops::ExitKind;

/// A kernel function: its arguments, as registers hold them, and what it returns.
pub type Kfunc = fn(&mut InKernel<'_>, &mut Machine, [u64; 5]) -> Result<u64, Fault>;

const EBUSY: i64 = -16;
const ENOENT: i64 = -2;
pub(crate) const EINVAL: i64 = -22;

/// The functions, by name.
pub const KFUNCS: &[(&str, Kfunc)] = &[
    ("__scx_bpf_dsq_insert_vtime", dsq_insert_vtime_args),
    ("__scx_bpf_select_cpu_and", select_cpu_and_args),
    ("bpf_cgroup_acquire", cgroups::cgroup_acquire),
    ("bpf_cgroup_ancestor", cgroups::cgroup_ancestor),
    ("bpf_cgroup_from_id", cgroups::cgroup_from_id),
    ("bpf_cgroup_release", cgroups::cgroup_release),
    ("bpf_iter_css_destroy", cgroups::iter_css_destroy),
    ("bpf_iter_css_new", cgroups::iter_css_new),
    ("bpf_iter_css_next", cgroups::iter_css_next),
    ("bpf_iter_scx_dsq_destroy", iter_scx_dsq_destroy),
    ("bpf_iter_scx_dsq_new", iter_scx_dsq_new),
    ("bpf_iter_scx_dsq_next", iter_scx_dsq_next),
    ("bpf_task_acquire", task_acquire),
    ("bpf_task_from_pid", task_from_pid),
    ("bpf_task_release", task_release),
    ("scx_bpf_cid_curr", cid_curr),
    ("scx_bpf_cid_override", cid_override),
    ("scx_bpf_cid_to_cpu", cid_to_cpu),
    ("scx_bpf_cid_topo", cid_topo),
    ("scx_bpf_cidperf_cap", cidperf_cap),
    ("scx_bpf_cidperf_cur", cidperf_cur),
    ("scx_bpf_cidperf_set", cidperf_set),
    ("scx_bpf_consume", dsq_move_to_local),
    ("scx_bpf_cpu_curr", cpu_curr),
    ("scx_bpf_cpu_node", cpu_node),
    ("scx_bpf_cpu_rq", cpu_rq),
    ("scx_bpf_cpu_to_cid", cpu_to_cid),
    ("scx_bpf_cpuperf_cap", cpuperf_cap),
    ("scx_bpf_cpuperf_cur", cpuperf_cur),
    ("scx_bpf_cpuperf_set", cpuperf_set),
    ("scx_bpf_create_dsq", create_dsq),
    ("scx_bpf_destroy_dsq", destroy_dsq),
    ("scx_bpf_dispatch", dsq_insert),
    ("scx_bpf_dispatch_cancel", dispatch_cancel),
    ("scx_bpf_dispatch_from_dsq", dsq_move),
    ("scx_bpf_dispatch_from_dsq_set_slice", dsq_move_set_slice),
    ("scx_bpf_dispatch_from_dsq_set_vtime", dsq_move_set_vtime),
    ("scx_bpf_dispatch_nr_slots", dispatch_nr_slots),
    ("scx_bpf_dispatch_vtime", dsq_insert_vtime),
    ("scx_bpf_dispatch_vtime_from_dsq", dsq_move_vtime),
    ("scx_bpf_dsq_insert", dsq_insert),
    ("scx_bpf_dsq_insert___v2", dsq_insert),
    ("scx_bpf_dsq_insert_vtime", dsq_insert_vtime),
    ("scx_bpf_dsq_move", dsq_move),
    ("scx_bpf_dsq_move_set_slice", dsq_move_set_slice),
    ("scx_bpf_dsq_move_set_vtime", dsq_move_set_vtime),
    ("scx_bpf_dsq_move_to_local", dsq_move_to_local),
    ("scx_bpf_dsq_move_to_local___v2", dsq_move_to_local_flags),
    ("scx_bpf_dsq_move_vtime", dsq_move_vtime),
    ("scx_bpf_dsq_nr_queued", dsq_nr_queued),
    ("scx_bpf_dsq_peek", dsq_peek),
    ("scx_bpf_dsq_reenq", dsq_reenq),
    ("scx_bpf_dump_bstr", nothing),
    ("scx_bpf_error_bstr", error_bstr),
    ("scx_bpf_events", events),
    ("scx_bpf_exit_bstr", exit_bstr),
    ("scx_bpf_get_idle_cpumask", get_idle_cpumask),
    ("scx_bpf_get_idle_cpumask_node", get_idle_cpumask_node),
    ("scx_bpf_get_idle_smtmask", get_idle_smtmask),
    ("scx_bpf_get_idle_smtmask_node", get_idle_smtmask_node),
    ("scx_bpf_get_online_cpumask", online_cpumask),
    ("scx_bpf_get_possible_cpumask", possible_cpumask),
    ("scx_bpf_kick_cid", kick_cid),
    ("scx_bpf_kick_cpu", kick_cpu),
    ("scx_bpf_now", now),
    ("scx_bpf_nr_cids", nr_cpu_ids),
    ("scx_bpf_nr_cpu_ids", nr_cpu_ids),
    ("scx_bpf_nr_node_ids", nr_node_ids),
    ("scx_bpf_nr_online_cids", nr_online_cids),
    ("scx_bpf_pick_any_cpu", pick_any_cpu),
    ("scx_bpf_pick_any_cpu_node", pick_any_cpu_node),
    ("scx_bpf_pick_idle_cpu", pick_idle_cpu),
    ("scx_bpf_pick_idle_cpu_node", pick_idle_cpu_node),
    ("scx_bpf_put_cpumask", nothing),
    ("scx_bpf_put_idle_cpumask", nothing),
    ("scx_bpf_reenqueue_local", reenqueue_local),
    ("scx_bpf_reenqueue_local___v2", reenqueue_local_anywhere),
    ("scx_bpf_select_cpu_and", select_cpu_and),
    ("scx_bpf_select_cpu_dfl", select_cpu_dfl),
    ("scx_bpf_sub_dispatch", nothing),
    ("scx_bpf_task_cgroup", cgroups::task_cgroup),
    ("scx_bpf_task_cid", task_cid),
    ("scx_bpf_task_cpu", task_cpu),
    ("scx_bpf_task_running", task_running),
    ("scx_bpf_task_set_dsq_vtime", task_set_dsq_vtime),
    ("scx_bpf_task_set_slice", task_set_slice),
    ("scx_bpf_test_and_clear_cpu_idle", test_and_clear_cpu_idle),
    ("scx_bpf_this_cid", this_cid),
    ("scx_bpf_tid_to_task", tid_to_task),
];

/// Those that a scheduler by cids may not call (`scx_kfunc_ids_cpu_only`, 7.2).
const CPU_ONLY: [&str; 24] = [
    "__scx_bpf_select_cpu_and",
    "scx_bpf_cpu_curr",
    "scx_bpf_cpu_node",
    "scx_bpf_cpu_rq",
    "scx_bpf_cpuperf_cap",
    "scx_bpf_cpuperf_cur",
    "scx_bpf_cpuperf_set",
    "scx_bpf_get_idle_cpumask",
    "scx_bpf_get_idle_cpumask_node",
    "scx_bpf_get_idle_smtmask",
    "scx_bpf_get_idle_smtmask_node",
    "scx_bpf_get_online_cpumask",
    "scx_bpf_get_possible_cpumask",
    "scx_bpf_kick_cpu",
    "scx_bpf_pick_any_cpu",
    "scx_bpf_pick_any_cpu_node",
    "scx_bpf_pick_idle_cpu",
    "scx_bpf_pick_idle_cpu_node",
    "scx_bpf_put_cpumask",
    "scx_bpf_put_idle_cpumask",
    "scx_bpf_select_cpu_and",
    "scx_bpf_select_cpu_dfl",
    "scx_bpf_task_cpu",
    "scx_bpf_test_and_clear_cpu_idle",
];

/// Whether operations of a scheduler by cids may not call a function: cids and CPUs are numbers, and easily confused.
pub fn is_cpu_only(name: &str) -> bool {
    CPU_ONLY.binary_search(&name).is_ok()
}

/// The function of a name.
pub fn find(name: &str) -> Option<Kfunc> {
    KFUNCS.binary_search_by(|(other, _)| (*other).cmp(name)).ok().map(|at| KFUNCS[at].1)
}

/// The work of a step through what the core has.
pub(crate) const WORK_OF_STEP: u64 = 8;

pub(crate) type Returned = Result<u64, Fault>;

/// An s32 as a register returns it.
pub(crate) fn s32(value: i64) -> Returned {
    Ok(value as u64)
}

/// A task by the address of its `task_struct`.
fn task(kernel: &InKernel<'_>, function: &str, addr: u64) -> Result<TaskId, Fault> {
    kernel.state.objects.task_at(addr).ok_or_else(|| {
        let expected = if addr == 0 { "a task, but got NULL" } else { "a task of the scheduler" };
        Fault::argument(function, expected)
    })
}

/// The mask at an address.
fn mask(kernel: &InKernel<'_>, machine: &Machine, addr: u64) -> Result<CpuMask, Fault> {
    let nr_cpus = kernel.state.nr_cpus;
    let mut mask = CpuMask::new(nr_cpus);
    for at in 0..nr_cpus.div_ceil(64) {
        let mut word = machine.memory().read_u64(addr.wrapping_add(u64::from(at) * 8))?;
        while word != 0 {
            let cpu = at * 64 + word.trailing_zeros();
            if cpu < nr_cpus {
                mask.set(cpu);
            }
            word &= word - 1;
        }
    }
    Ok(mask)
}

/// The result of an idle choice; an error that ends the scheduler does so.
fn chosen(kernel: &mut InKernel<'_>, result: Result<Cpu, IdleError>) -> i64 {
    match result {
        Ok(cpu) => i64::from(cpu),
        Err(IdleError::Busy) => EBUSY,
        Err(IdleError::Scx(message)) => {
            kernel.ext.error(message);
            EINVAL
        }
    }
}

fn checked_cpu(kernel: &mut InKernel<'_>, cpu: u64) -> Option<Cpu> {
    match kernel.ext.check_cpu(cpu as i32) {
        Ok(cpu) => Some(cpu),
        Err(error) => {
            chosen(kernel, Err(error));
            None
        }
    }
}

fn nothing(_: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(0)
}

// --- Idle CPUs ------------------------------------------------------------------------------------------------------

fn select_cpu_dfl(
    kernel: &mut InKernel<'_>,
    machine: &mut Machine,
    [p, prev_cpu, wake_flags, is_idle, _]: [u64; 5],
) -> Returned {
    let p = task(kernel, "scx_bpf_select_cpu_dfl", p)?;
    let result = kernel.ext.select_cpu_from_kfunc(p, prev_cpu as i32, wake_flags, None, 0);
    let cpu = chosen(kernel, result);
    machine.memory_mut().program_write(is_idle, [u8::from(cpu >= 0)])?;
    s32(if cpu >= 0 { cpu } else { i64::from(prev_cpu as i32) })
}

fn select_and(
    kernel: &mut InKernel<'_>,
    machine: &Machine,
    (p, allowed): (u64, u64),
    (prev_cpu, wake_flags, flags): (u64, u64, u64),
) -> Returned {
    let p = task(kernel, "scx_bpf_select_cpu_and", p)?;
    let allowed = mask(kernel, machine, allowed)?;
    let result = kernel.ext.select_cpu_from_kfunc(p, prev_cpu as i32, wake_flags, Some(&allowed), flags);
    s32(chosen(kernel, result))
}

fn select_cpu_and(
    kernel: &mut InKernel<'_>,
    machine: &mut Machine,
    [p, prev, wake, allowed, flags]: [u64; 5],
) -> Returned {
    select_and(kernel, machine, (p, allowed), (prev, wake, flags))
}

/// `struct scx_bpf_select_cpu_and_args`: `prev_cpu`, `wake_flags`, `flags`.
fn select_cpu_and_args(kernel: &mut InKernel<'_>, machine: &mut Machine, [p, allowed, args, ..]: [u64; 5]) -> Returned {
    let memory = machine.memory();
    let values = (u64::from(memory.read_u32(args)?), memory.read_u64(args + 8)?, memory.read_u64(args + 16)?);
    select_and(kernel, machine, (p, allowed), values)
}

/// The idle masks of all CPUs.
fn idle_masks(kernel: &mut InKernel<'_>, machine: &mut Machine) -> [u64; 2] {
    let none = [kernel.state.objects.none; 2];
    if kernel.ext.declared().flags & SCX_OPS_BUILTIN_IDLE_PER_NODE != 0 {
        kernel.ext.error("SCX_OPS_BUILTIN_IDLE_PER_NODE enabled");
        return none;
    }
    match kernel.ext.idle.check_enabled() {
        Ok(()) => kernel.state.objects.sync_idle(machine.memory_mut(), kernel.ext, 0),
        Err(error) => {
            chosen(kernel, Err(error));
            none
        }
    }
}

/// Those of a node.
fn idle_masks_of(kernel: &mut InKernel<'_>, machine: &mut Machine, node: u64) -> [u64; 2] {
    match kernel.ext.idle.check_node(node as i32) {
        Ok(node) => kernel.state.objects.sync_idle(machine.memory_mut(), kernel.ext, node),
        Err(error) => {
            chosen(kernel, Err(error));
            [kernel.state.objects.none; 2]
        }
    }
}

fn get_idle_cpumask(kernel: &mut InKernel<'_>, machine: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(idle_masks(kernel, machine)[0])
}

fn get_idle_smtmask(kernel: &mut InKernel<'_>, machine: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(idle_masks(kernel, machine)[1])
}

fn get_idle_cpumask_node(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    Ok(idle_masks_of(kernel, machine, args[0])[0])
}

fn get_idle_smtmask_node(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    Ok(idle_masks_of(kernel, machine, args[0])[1])
}

fn test_and_clear_cpu_idle(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Err(error) = kernel.ext.idle.check_enabled() {
        chosen(kernel, Err(error));
        return Ok(0);
    }
    let Some(cpu) = checked_cpu(kernel, args[0]) else { return Ok(0) };
    Ok(u64::from(kernel.ext.idle.test_and_clear(cpu)))
}

/// `scx_bpf_pick_idle_cpu()` and `scx_bpf_pick_any_cpu()`, of all CPUs or from a node on.
fn pick(
    kernel: &mut InKernel<'_>,
    machine: &Machine,
    allowed: u64,
    node: Option<u64>,
    flags: u64,
    any: bool,
) -> Returned {
    let allowed = mask(kernel, machine, allowed)?;
    let from = match node {
        Some(node) => kernel.ext.idle.check_node(node as i32),
        None if kernel.ext.idle.per_node() => Err(IdleError::Scx("per-node idle tracking is enabled".to_owned())),
        None => Ok(0),
    };
    let from = match from {
        Ok(from) => from,
        Err(error) => return s32(chosen(kernel, Err(error))),
    };
    let enabled = kernel.ext.idle.check_enabled();
    if let Err(error) = enabled.clone()
        && !any
    {
        return s32(chosen(kernel, Err(error)));
    }
    let idle = if enabled.is_ok() { kernel.ext.pick_idle_cpu(&allowed, from, flags) } else { None };
    let this_cpu = kernel.ext.this_cpu;
    let in_node = node.is_some() && flags & SCX_PICK_IDLE_IN_NODE != 0;
    let cpu = match idle {
        None if any && in_node => kernel.ext.idle.any_in_node(this_cpu, &allowed, from),
        None if any => kernel.ext.idle.any(this_cpu, &allowed),
        idle => idle,
    };
    s32(cpu.map_or(EBUSY, i64::from))
}

fn pick_idle_cpu(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    pick(kernel, machine, args[0], None, args[1], false)
}

fn pick_idle_cpu_node(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    pick(kernel, machine, args[0], Some(args[1]), args[2], false)
}

fn pick_any_cpu(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    pick(kernel, machine, args[0], None, args[1], true)
}

fn pick_any_cpu_node(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    pick(kernel, machine, args[0], Some(args[1]), args[2], true)
}

// --- Queues ---------------------------------------------------------------------------------------------------------

fn insert(
    kernel: &mut InKernel<'_>,
    machine: &mut Machine,
    p: u64,
    [dsq, slice, flags]: [u64; 3],
    vtime: Option<u64>,
) -> Returned {
    if p == 0 {
        kernel.ext.error("called with NULL task");
        return Ok(0);
    }
    let p = task(kernel, "scx_bpf_dsq_insert", p)?;
    let ops = &mut Running { machine, state: kernel.state };
    Ok(u64::from(kernel.ext.dsq_insert(ops, p, dsq, slice, vtime, flags)))
}

fn dsq_insert(kernel: &mut InKernel<'_>, machine: &mut Machine, [p, dsq, slice, flags, _]: [u64; 5]) -> Returned {
    insert(kernel, machine, p, [dsq, slice, flags], None)
}

fn dsq_insert_vtime(
    kernel: &mut InKernel<'_>,
    machine: &mut Machine,
    [p, dsq, slice, vtime, flags]: [u64; 5],
) -> Returned {
    insert(kernel, machine, p, [dsq, slice, flags], Some(vtime))
}

/// `struct scx_bpf_dsq_insert_vtime_args`: `dsq_id`, `slice`, `vtime`, `enq_flags`.
fn dsq_insert_vtime_args(kernel: &mut InKernel<'_>, machine: &mut Machine, [p, args, ..]: [u64; 5]) -> Returned {
    let memory = machine.memory();
    let mut values = [0; 4];
    for (at, value) in (0..).zip(&mut values) {
        *value = memory.read_u64(args + at * 8)?;
    }
    let [dsq, slice, vtime, flags] = values;
    insert(kernel, machine, p, [dsq, slice, flags], Some(vtime))
}

fn dsq_move_to_local(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let ops = &mut Running { machine, state: kernel.state };
    Ok(u64::from(kernel.ext.dsq_move_to_local(ops, args[0], 0)))
}

fn dsq_move_to_local_flags(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let ops = &mut Running { machine, state: kernel.state };
    Ok(u64::from(kernel.ext.dsq_move_to_local(ops, args[0], args[1])))
}

/// The cost of a queue, bytes.
const DSQ_COST: u64 = 512;

fn create_dsq(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    machine.memory_mut().charge(DSQ_COST)?;
    let result = kernel.ext.create_dsq_on_node(args[0], args[1] as i32);
    match result {
        0 => kernel.state.nr_dsqs += 1,
        _ => machine.memory_mut().discharge(DSQ_COST),
    }
    s32(result)
}

fn destroy_dsq(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    if kernel.ext.destroy_dsq(args[0]) {
        kernel.state.nr_dsqs = kernel.state.nr_dsqs.saturating_sub(1);
        machine.memory_mut().discharge(DSQ_COST);
    }
    Ok(0)
}

fn dsq_nr_queued(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    s32(kernel.ext.dsq_nr_queued(args[0]))
}

fn dsq_peek(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let first = kernel.ext.dsq_peek(args[0]);
    Ok(first.and_then(|task| kernel.state.objects.addr(task)).unwrap_or(0))
}

fn dsq_reenq(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    // It is looked for among those that are reenqueued already.
    machine.work(kernel.state.nr_dsqs)?;
    kernel.ext.dsq_reenq(args[0], args[1]);
    Ok(0)
}

fn reenqueue_local(kernel: &mut InKernel<'_>, machine: &mut Machine, _: [u64; 5]) -> Returned {
    let ops = &mut Running { machine, state: kernel.state };
    Ok(u64::from(kernel.ext.reenqueue_local(ops)))
}

fn reenqueue_local_anywhere(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    kernel.ext.dsq_reenq(SCX_DSQ_LOCAL, 0);
    Ok(0)
}

fn dispatch_nr_slots(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(u64::from(kernel.ext.dispatch_nr_slots()))
}

fn dispatch_cancel(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    kernel.ext.dispatch_cancel();
    Ok(0)
}

/// `SCX_DSQ_ITER_REV`.
const SCX_DSQ_ITER_REV: u64 = 1 << 16;

/// The most iterators over queues that a scheduler may have at a time: one on each place that its stack frames have for
/// one. What they know is kept outside of the program's memory.
const ITERS_MAX: usize = 1024;

fn iter_scx_dsq_new(kernel: &mut InKernel<'_>, machine: &mut Machine, [iter, dsq, flags, ..]: [u64; 5]) -> Returned {
    machine.memory().bytes(iter, 8)?;
    if kernel.state.iters.len() >= ITERS_MAX && !kernel.state.iters.contains_key(&iter) {
        let text = format!("the programs have {ITERS_MAX} iterators over queues, which is the limit");
        return Err(Fault::kernel(text));
    }
    if flags & !SCX_DSQ_ITER_REV != 0 {
        return s32(EINVAL);
    }
    match kernel.ext.dsq_iter(dsq, flags & SCX_DSQ_ITER_REV != 0) {
        Some(new) => {
            kernel.state.iters.insert(iter, new);
            Ok(0)
        }
        None => s32(ENOENT),
    }
}

fn iter_scx_dsq_next(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let Some(iter) = kernel.state.iters.get_mut(&args[0]) else { return Ok(0) };
    machine.work(WORK_OF_STEP)?;
    let next = kernel.ext.dsq_iter_next(iter);
    Ok(next.map_or(0, |task| kernel.state.objects.sync_task(machine.memory_mut(), kernel.ext, task)))
}

fn iter_scx_dsq_destroy(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    kernel.state.iters.remove(&args[0]);
    Ok(0)
}

fn dsq_move_set_slice(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Some(iter) = kernel.state.iters.get_mut(&args[0]) {
        iter.slice = Some(args[1]);
    }
    Ok(0)
}

fn dsq_move_set_vtime(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Some(iter) = kernel.state.iters.get_mut(&args[0]) {
        iter.vtime = Some(args[1]);
    }
    Ok(0)
}

fn moves(kernel: &mut InKernel<'_>, machine: &mut Machine, [iter, p, dsq, flags, _]: [u64; 5], priq: bool) -> Returned {
    let p = task(kernel, "scx_bpf_dsq_move", p)?;
    let Some(mut of) = kernel.state.iters.get(&iter).copied() else { return Ok(0) };
    let ops = &mut Running { machine, state: kernel.state };
    let moved = kernel.ext.dsq_move(ops, &mut of, p, dsq, flags, priq);
    kernel.state.iters.insert(iter, of);
    Ok(u64::from(moved))
}

fn dsq_move(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    moves(kernel, machine, args, false)
}

fn dsq_move_vtime(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    moves(kernel, machine, args, true)
}

// --- CPUs and tasks -------------------------------------------------------------------------------------------------

fn kick_cpu(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Some(cpu) = checked_cpu(kernel, args[0]) {
        kernel.ext.kick_cpu(cpu, args[1]);
    }
    Ok(0)
}

/// The task that runs on a CPU, up to date.
fn curr(kernel: &mut InKernel<'_>, machine: &mut Machine, cpu: Cpu) -> u64 {
    let curr = kernel.state.objects.curr(kernel.ext, cpu);
    if let Some(task) = kernel.state.objects.task_at(curr) {
        kernel.state.objects.sync_task(machine.memory_mut(), kernel.ext, task);
    }
    curr
}

fn cpu_curr(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let Some(cpu) = checked_cpu(kernel, args[0]) else { return Ok(0) };
    Ok(curr(kernel, machine, cpu))
}

fn cpu_rq(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let Some(cpu) = checked_cpu(kernel, args[0]) else { return Ok(0) };
    // A program may follow rq->curr.
    curr(kernel, machine, cpu);
    Ok(kernel.state.objects.rq(machine.memory_mut(), kernel.ext, cpu))
}

fn cpu_node(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    match checked_cpu(kernel, args[0]) {
        Some(cpu) => Ok(u64::from(kernel.ext.idle.topology().node_of(cpu))),
        None => s32(-1),
    }
}

/// `task_cpu()`. An idle task belongs to its CPU.
fn cpu_of_task(kernel: &InKernel<'_>, function: &str, addr: u64) -> Result<Cpu, Fault> {
    // Most are not idle, and found sooner.
    if kernel.state.objects.task_at(addr).is_none()
        && let Some(cpu) = kernel.state.objects.cpu_of_idle_task(addr)
    {
        return Ok(cpu);
    }
    task(kernel, function, addr).map(|p| kernel.ext.task(p).cpu)
}

fn task_cpu(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    cpu_of_task(kernel, "scx_bpf_task_cpu", args[0]).map(u64::from)
}

fn task_running(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = cpu_of_task(kernel, "scx_bpf_task_running", args[0])?;
    Ok(u64::from(kernel.state.objects.curr(kernel.ext, cpu) == args[0]))
}

fn task_from_pid(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let objects = &mut kernel.state.objects;
    let Some(task) = objects.task_from_pid(args[0] as u32) else { return Ok(0) };
    let addr = objects.sync_task(machine.memory_mut(), kernel.ext, task);
    objects.hold_task(addr);
    Ok(addr)
}

fn task_acquire(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    kernel.state.objects.hold_task(args[0]);
    Ok(args[0])
}

fn task_release(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    if kernel.state.objects.put_task(args[0]) {
        kernel.free_task(machine, args[0]);
    }
    Ok(0)
}

fn task_set_slice(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let p = task(kernel, "scx_bpf_task_set_slice", args[0])?;
    machine.memory_mut().write_u64(kernel.state.objects.slice_at(p), args[1])?;
    Ok(1)
}

fn task_set_dsq_vtime(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let p = task(kernel, "scx_bpf_task_set_dsq_vtime", args[0])?;
    machine.memory_mut().write_u64(kernel.state.objects.dsq_vtime_at(p), args[1])?;
    Ok(1)
}

fn online_cpumask(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(kernel.state.objects.online)
}

fn possible_cpumask(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(kernel.state.objects.possible)
}

fn nr_online_cids(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(u64::from(kernel.ext.online().weight()))
}

fn nr_cpu_ids(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(u64::from(kernel.state.nr_cpus))
}

fn nr_node_ids(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(u64::from(kernel.ext.idle.topology().nr_nodes()))
}

fn now(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(UPTIME_NS + kernel.ext.scx_bpf_now())
}

/// `scx_bpf_cpuperf_cap()`: `arch_scale_cpu_capacity()`.
fn cpuperf_cap(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = checked_cpu(kernel, args[0]);
    Ok(u64::from(cpu.map_or(SCX_CPUPERF_ONE, |cpu| kernel.state.capacity[cpu as usize])))
}

/// `scx_bpf_cpuperf_cur()`: `arch_scale_freq_capacity()`.
fn cpuperf_cur(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = checked_cpu(kernel, args[0]);
    Ok(u64::from(cpu.map_or(SCX_CPUPERF_ONE, |cpu| kernel.ext.rqs[cpu as usize].freq_capacity)))
}

fn cpuperf_set(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    kernel.ext.cpuperf_set(args[0] as i32, args[1] as u32);
    Ok(0)
}

// --- Cids -----------------------------------------------------------------------------------------------------------

/// The CPU of a cid; an invalid one ends the scheduler (`scx_cid_to_cpu()`).
fn cpu_of(kernel: &mut InKernel<'_>, cid: u64) -> Option<Cpu> {
    match kernel.ext.cids.cpu_of(cid as i32) {
        Ok(cpu) => Some(cpu),
        Err(error) => {
            chosen(kernel, Err(error));
            None
        }
    }
}

fn cid_to_cpu(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    s32(cpu_of(kernel, args[0]).map_or(EINVAL, i64::from))
}

fn cpu_to_cid(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = checked_cpu(kernel, args[0]);
    s32(cpu.map_or(EINVAL, |cpu| i64::from(kernel.ext.cids.cid_of(cpu))))
}

fn this_cid(kernel: &mut InKernel<'_>, _: &mut Machine, _: [u64; 5]) -> Returned {
    Ok(u64::from(kernel.ext.cids.cid_of(kernel.ext.this_cpu)))
}

fn task_cid(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = task_cpu(kernel, machine, args)?;
    Ok(u64::from(kernel.ext.cids.cid_of(cpu as Cpu)))
}

fn cid_curr(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    let Some(cpu) = cpu_of(kernel, args[0]) else { return Ok(0) };
    Ok(curr(kernel, machine, cpu))
}

fn kick_cid(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Some(cpu) = cpu_of(kernel, args[0]) {
        kernel.ext.kick_cpu(cpu, args[1]);
    }
    Ok(0)
}

fn cidperf_cap(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = cpu_of(kernel, args[0]);
    Ok(u64::from(cpu.map_or(SCX_CPUPERF_ONE, |cpu| kernel.state.capacity[cpu as usize])))
}

fn cidperf_cur(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cpu = cpu_of(kernel, args[0]);
    Ok(u64::from(cpu.map_or(SCX_CPUPERF_ONE, |cpu| kernel.ext.rqs[cpu as usize].freq_capacity)))
}

fn cidperf_set(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    if let Some(cpu) = cpu_of(kernel, args[0]) {
        kernel.ext.cpuperf_set(cpu as i32, args[1] as u32);
    }
    Ok(0)
}

/// `scx_bpf_cid_override()`, of `ops.init()` alone.
fn cid_override(kernel: &mut InKernel<'_>, machine: &mut Machine, [table, bytes, ..]: [u64; 5]) -> Returned {
    if !kernel.ext.in_init() {
        kernel.ext.error("calling kernel function scx_bpf_cid_override is not allowed");
        return Ok(0);
    }
    let expected = 4 * u64::from(kernel.state.nr_cpus);
    if bytes as u32 as u64 != expected {
        kernel.ext.error(format!("scx_bpf_cid_override: expected {expected} bytes, got {}", bytes as u32));
        return Ok(0);
    }
    let of = |cpu: u64| machine.memory().read_u32(table + 4 * cpu).map(|cid| cid as i32);
    let cpu_to_cid = (0..u64::from(kernel.state.nr_cpus)).map(of).collect::<Result<Vec<i32>, _>>()?;
    if let Err(error) = kernel.ext.cids.override_with(&cpu_to_cid) {
        chosen(kernel, Err(error));
    }
    Ok(0)
}

/// `scx_bpf_cid_topo()`: what the program's struct has besides is -1.
fn cid_topo(kernel: &mut InKernel<'_>, machine: &mut Machine, [cid, out, bytes, ..]: [u64; 5]) -> Returned {
    let valid = cpu_of(kernel, cid).is_some();
    let topo = if valid { kernel.ext.cids.topo(cid as u32) } else { CidTopo::NEG };
    machine.memory().bytes(out, bytes)?;
    machine.work(bytes)?;
    let fields = [topo.core, topo.llc, topo.node].into_iter().flatten().map(|field| field as u32);
    for (at, field) in (0..bytes / 4).zip(fields.chain(std::iter::repeat(u32::MAX))) {
        machine.memory_mut().program_write(out + 4 * at, field.to_le_bytes())?;
    }
    Ok(0)
}

fn tid_to_task(kernel: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    if kernel.ext.declared().flags & SCX_OPS_TID_TO_TASK == 0 {
        kernel.ext.error("scx_bpf_tid_to_task() called without SCX_OPS_TID_TO_TASK");
        return Ok(0);
    }
    let Some(task) = kernel.state.objects.task_of_tid(args[0]) else { return Ok(0) };
    Ok(kernel.state.objects.sync_task(machine.memory_mut(), kernel.ext, task))
}

/// `scx_bpf_events()`: what the core counts; the rest of `struct scx_event_stats` is 0.
fn events(kernel: &mut InKernel<'_>, machine: &mut Machine, [out, bytes, ..]: [u64; 5]) -> Returned {
    let counts = kernel.ext.stats.list();
    let count = |name: &str| counts.iter().find(|(of, _)| *of == name).map_or(0, |(_, count)| *count);
    for (at, name) in &kernel.state.objects.event_stats {
        if u64::from(*at) + 8 <= bytes {
            machine.memory_mut().program_write(out.wrapping_add(u64::from(*at)), count(name).to_le_bytes())?;
        }
    }
    Ok(0)
}

// --- Ends -----------------------------------------------------------------------------------------------------------

fn error_bstr(kernel: &mut InKernel<'_>, machine: &mut Machine, [fmt, data, len, ..]: [u64; 5]) -> Returned {
    let message = machine.bprintf(fmt, data, len as u32)?;
    kernel.ext.end(ExitKind::ErrorBpf, message, 0);
    Ok(0)
}

fn exit_bstr(kernel: &mut InKernel<'_>, machine: &mut Machine, [code, fmt, data, len, _]: [u64; 5]) -> Returned {
    let message = machine.bprintf(fmt, data, len as u32)?;
    kernel.ext.end(ExitKind::UnregBpf, message, code as i64);
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf_ops::State;
    use crate::cgroups::{iter_css_destroy, iter_css_new, iter_css_next};
    use crate::kernel_objects::KernelObjects;
    use crate::test_support::{ext_of_two_cpus, two_cpus};
    use wakelab_bpf::btf::Btf;
    use wakelab_bpf::machine::Limits;
    use wakelab_bpf::{LinkOptions, Object};
    use wakelab_kernel::{ExtRules, ExtTypes};
    use wakelab_scx_core::cgroup::ROOT;
    use wakelab_scx_core::ops::{Host, Op, ProgramCosts};

    const SIMPLE: &[u8] = include_bytes!("../../bpf/tests/data/scx_simple.bpf.o");

    /// Calls kernel functions on a machine of two CPUs, and gives memory for their arguments.
    fn with_kernel(test: impl FnOnce(&mut InKernel<'_>, &mut Machine, u64)) {
        with_types(ExtTypes::V7_2, test);
    }

    /// The same with the types of a kernel.
    fn with_types(types: ExtTypes, test: impl FnOnce(&mut InKernel<'_>, &mut Machine, u64)) {
        let btf = Btf::parse(types.btf()).unwrap();
        let image = Object::parse(SIMPLE).unwrap().link(&btf, &LinkOptions::default()).unwrap();
        let mut machine = Machine::new(image, &Limits::default(), 2, &|_| true).unwrap();
        let objects = KernelObjects::new(&btf, machine.memory_mut(), 2, 1).unwrap();
        let (topology, costs) = (two_cpus(), ProgramCosts { insn_ps: 0, call: 0, map: 0, atomic: 0 });
        let host = Host { topology: &topology, rules: &ExtRules::V7_2, kernel: "v7.2", hz: 250, seed: 1, costs };
        let mut state = State::new(&machine, objects, [None; Op::ALL.len()], &host);
        let (mut ext, _) = ext_of_two_cpus();
        let place = machine.memory_mut().region("arguments", 64);
        test(&mut InKernel { ext: &mut ext, state: &mut state }, &mut machine, place);
    }

    /// The orders of `enum bpf_cgroup_iter_order`, 7.2: down and up from a css without children and a parent there is
    /// that css alone, and none among its children. `bpf_iter_css_new()` returns EINVAL for BPF_CGROUP_ITER_SELF_ONLY
    /// (1) and what is no order. After its end `css_next_descendant_pre()` and its kin begin anew, as at NULL.
    #[test]
    fn the_css_iterator_has_the_root_once() {
        with_kernel(|kernel, machine, iter| {
            let start = kernel.state.objects.cgroups.css(ROOT);
            for (order, result, expected) in
                [(0, EINVAL, 0), (1, EINVAL, 0), (2, 0, 1), (3, 0, 1), (4, 0, 1), (5, 0, 0), (6, EINVAL, 0)]
            {
                let returned = iter_css_new(kernel, machine, [iter, start, order, 0, 0]).unwrap();
                assert_eq!(returned as i64, result, "order {order}");
                let mut found = Vec::new();
                while let css @ 1.. = iter_css_next(kernel, machine, [iter, 0, 0, 0, 0]).unwrap() {
                    found.push(css);
                }
                assert_eq!(found, vec![start; expected], "order {order}");
                let anew = iter_css_next(kernel, machine, [iter, 0, 0, 0, 0]).unwrap();
                assert_eq!(anew, if expected == 0 { 0 } else { start }, "order {order}");
                iter_css_new(kernel, machine, [iter, start, order, 0, 0]).unwrap();
                iter_css_destroy(kernel, machine, [iter, 0, 0, 0, 0]).unwrap();
                assert_eq!(iter_css_next(kernel, machine, [iter, 0, 0, 0, 0]).unwrap(), 0, "it is gone");
            }
        });
    }

    #[test]
    fn now_is_the_run_queues_clock_where_that_is_valid() {
        with_kernel(|kernel, machine, _| {
            kernel.ext.now = 1_000;
            kernel.ext.spend(50);
            let now_is =
                |kernel: &mut InKernel<'_>, machine: &mut Machine| now(kernel, machine, [0; 5]).unwrap() - UPTIME_NS;
            assert_eq!(now_is(kernel, machine), 1_050);
            kernel.ext.clock_valid = Some((0, 1_000));
            assert_eq!(now_is(kernel, machine), 1_000);
            kernel.ext.this_cpu = 1;
            assert_eq!(now_is(kernel, machine), 1_050, "that of this CPU alone counts");
        });
    }

    #[test]
    fn preempt_count_is_that_of_this_cpu() {
        use wakelab_bpf::machine::Kernel;
        use wakelab_scx_core::flags::SOFTIRQ_OFFSET;
        // In 6.12 it is a field of `pcpu_hot`.
        for (types, name, offset) in [
            (ExtTypes::V7_2, "__preempt_count", 0),
            (ExtTypes::V6_18, "__preempt_count", 0),
            (ExtTypes::V6_12, "pcpu_hot", 8),
        ] {
            with_types(types, |kernel, machine, _| {
                (kernel.ext.this_cpu, kernel.ext.preempt_count) = (1, SOFTIRQ_OFFSET);
                let mut read = |kernel: &mut InKernel<'_>, cpu| {
                    let at = kernel.ksym(machine, name, Some(cpu)).unwrap();
                    machine.memory().read_u32(at + offset).unwrap()
                };
                assert_eq!((read(kernel, 0), read(kernel, 1)), (0, SOFTIRQ_OFFSET));
                kernel.ext.preempt_count = 0;
                assert_eq!(read(kernel, 1), 0);
            });
        }
    }

    #[test]
    fn the_functions_are_in_the_order_of_their_names() {
        assert!(CPU_ONLY.is_sorted() && CPU_ONLY.iter().all(|name| find(name).is_some()));
        assert!(KFUNCS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(find("scx_bpf_kick_cpu").is_some() && find("scx_bpf_kick").is_none());
    }
}
