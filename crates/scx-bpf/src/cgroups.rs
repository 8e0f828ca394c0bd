//! Control groups as programs see them, `struct cgroup` and what leads to it, and the kernel functions about them
//! (`kernel/bpf/helpers.c`, `kernel/bpf/task_iter.c`, `scx_bpf_task_cgroup()`).

use crate::bpf_ops::InKernel;
use crate::kernel_objects::{Field, Layout, field, put};
use crate::kfuncs::{EINVAL, Returned, WORK_OF_STEP, s32};
use std::collections::BTreeMap;
use wakelab_bpf::btf::Btf;
use wakelab_bpf::machine::{Fault, Machine};
use wakelab_bpf::memory::Memory;
use wakelab_scx_core::cgroup::ROOT;
use wakelab_scx_core::ext::Ext;

/// The memory that stands for a group.
#[derive(Clone, Debug)]
struct Cgroup {
    /// `struct cgroup`; 0 for an autogroup, which has none.
    cgroup: u64,
    /// `struct css_set`, with nothing but its `dfl_cgrp`.
    css_set: u64,
    /// `struct task_group`.
    task_group: u64,
    /// `cgrp->ancestors[]`: the root first, and itself last.
    ancestors: Vec<u64>,
}

/// The control groups of a kernel, by their numbers in the core.
#[derive(Clone, Debug)]
pub struct Cgroups {
    cgroup: Layout,
    kernfs_node: Layout,
    css_set: Layout,
    task_group: Layout,
    /// `cgroup_subsys_state`'s `cgroup` and `parent`.
    css: [Option<Field>; 2],
    list: Vec<Cgroup>,
    /// Where `self` is in a `struct cgroup`.
    own_css: u32,
    /// Where `subsys[cpu_cgrp_id]` is in it.
    cpu_css: Option<Field>,
    /// Groups by the regions of their `struct cgroup`.
    by_region: BTreeMap<u32, u32>,
}

impl Cgroups {
    /// The root of a kernel with these types.
    pub fn new(btf: &Btf, memory: &mut Memory) -> Self {
        let [cgroup, kernfs_node, css_set, task_group] =
            ["cgroup", "kernfs_node", "css_set", "task_group"].map(|name| Layout::new(btf, name));
        let css = ["cgroup", "parent"].map(|path| field(btf, "cgroup_subsys_state", path));
        let own_css = cgroup.get("self").map_or(0, |own| own.offset);
        let cpu_css = cgroup.get("subsys").zip(btf.enum_value(Some("cgroup_subsys_id"), "cpu_cgrp_id"));
        let cpu_css = cpu_css.map(|(subsys, cpu)| Field { offset: subsys.offset + 8 * cpu as u32, size: 8 });
        let (list, by_region) = (Vec::new(), BTreeMap::new());
        let mut cgroups = Cgroups { cgroup, kernfs_node, css_set, task_group, css, own_css, cpu_css, list, by_region };
        cgroups.add(memory, "", Some(&[ROOT]), ROOT);
        cgroups
    }

    /// The groups that the core has, too, are there from now on.
    pub fn sync(&mut self, memory: &mut Memory, ext: &Ext) {
        for group in self.list.len() as u32..ext.nr_groups() {
            let of = ext.group(group);
            let ancestors = (!of.autogroup).then(|| ext.cgroup_ancestors(group));
            self.add(memory, &of.name, ancestors.as_deref(), of.parent);
            self.set_idle(memory, group, of.idle);
        }
    }

    /// `tg->idle`.
    pub fn set_idle(&self, memory: &mut Memory, group: u32, idle: bool) {
        // Before the first operation there is no struct: it gets this with all else.
        if let Some(of) = self.list.get(group as usize) {
            put(memory, of.task_group, self.task_group.get("idle"), idle.into());
        }
    }

    /// Makes the structs of the next group. An autogroup has no `ancestors`.
    fn add(&mut self, memory: &mut Memory, name: &str, ancestors: Option<&[u32]>, parent: u32) {
        let number = self.list.len() as u32;
        let shown = if number == ROOT { "the root" } else { name };
        let region = |memory: &mut Memory, layout: &Layout, of: &str, more: u32| {
            memory.region(&format!("{of} of {shown}"), layout.size.max(64) + more)
        };
        let task_group = region(memory, &self.task_group, "task_group", 0);
        let Some(numbers) = ancestors else {
            // tg->css.cgroup is NULL, and its tasks are the root's for all else.
            let css_set = self.list[ROOT as usize].css_set;
            return self.list.push(Cgroup { cgroup: 0, css_set, task_group, ancestors: Vec::new() });
        };
        let level = numbers.len() as u32 - 1;
        let cgroup = region(memory, &self.cgroup, "cgroup", 8 * (level + 1));
        let kn = region(memory, &self.kernfs_node, "kernfs_node", 0);
        let css_set = region(memory, &self.css_set, "css_set", 0);
        self.by_region.insert((cgroup >> 32) as u32, number);
        let text = memory.region(&format!("name of {shown}"), name.len() as u32 + 1);
        if let Ok(bytes) = memory.bytes_mut(text, name.len() as u64) {
            bytes.copy_from_slice(name.as_bytes());
        }
        let ancestors: Vec<u64> = numbers
            .iter()
            .map(|&other| if other == number { cgroup } else { self.list[other as usize].cgroup })
            .collect();
        put(memory, cgroup, self.cgroup.get("kn"), kn);
        put(memory, cgroup, self.cgroup.get("level"), u64::from(level));
        // None is threaded.
        put(memory, cgroup, self.cgroup.get("dom_cgrp"), cgroup);
        if let Some(first) = self.cgroup.get("ancestors") {
            for (at, &ancestor) in (0..).zip(&ancestors) {
                put(memory, cgroup, Some(Field { offset: first.offset + 8 * at, size: 8 }), ancestor);
            }
        }
        put(memory, kn, self.kernfs_node.get("id"), cgroup_id(number));
        put(memory, kn, self.kernfs_node.get("name"), text);
        put(memory, css_set, self.css_set.get("dfl_cgrp"), cgroup);
        // The root has no parent.
        let above = if number == ROOT { 0 } else { self.css(parent) };
        let [of, parent] = self.css.map(|f| f.map(|f| Field { offset: self.own_css + f.offset, ..f }));
        put(memory, cgroup, of, cgroup);
        put(memory, cgroup, parent, above);
        // A css is the first member of its task_group.
        put(memory, cgroup, self.cpu_css, task_group);
        put(memory, task_group, self.task_group.get("css.cgroup"), cgroup);
        self.list.push(Cgroup { cgroup, css_set, task_group, ancestors });
    }

    /// The address of a control group's `struct cgroup`.
    pub fn addr(&self, cgroup: u32) -> u64 {
        self.list[cgroup as usize].cgroup
    }

    /// `p->cgroups` of a task of a group.
    pub fn css_set(&self, group: u32) -> u64 {
        self.list[group as usize].css_set
    }

    /// `p->sched_task_group` of a task of a group.
    pub fn task_group(&self, group: u32) -> u64 {
        self.list[group as usize].task_group
    }

    /// The control group whose `struct cgroup` is at an address.
    fn at(&self, function: &str, addr: u64) -> Result<u32, Fault> {
        let of = self.by_region.get(&((addr >> 32) as u32));
        of.copied().filter(|&number| self.addr(number) == addr).ok_or_else(|| {
            let expected = if addr == 0 { "a cgroup, but got NULL" } else { "a cgroup" };
            Fault::argument(function, expected)
        })
    }

    /// The control group of a css. Programs come to `cgroup->self` alone.
    fn of_css(&self, addr: u64) -> Option<u32> {
        let number = *self.by_region.get(&((addr >> 32) as u32))?;
        (addr == self.css(number)).then_some(number)
    }

    /// `&cgroup->self`.
    pub fn css(&self, number: u32) -> u64 {
        self.addr(number) + u64::from(self.own_css)
    }
}

/// `cgrp->kn->id`. The root's is 1.
fn cgroup_id(number: u32) -> u64 {
    u64::from(number) + 1
}

// --- Kernel functions -----------------------------------------------------------------------------------------------

/// `scx_bpf_task_cgroup()`. Idle tasks are in the root.
pub fn task_cgroup(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let objects = &kernel.state.objects;
    let group = match objects.task_at(args[0]) {
        Some(p) => kernel.ext.tg_cgrp(kernel.ext.task(p).group),
        None if objects.cpu_of_idle_task(args[0]).is_some() => ROOT,
        None => return Err(Fault::argument("scx_bpf_task_cgroup", "a task of the scheduler")),
    };
    Ok(objects.cgroups.addr(group))
}

/// `bpf_cgroup_from_id()`: NULL if there is none, or no longer.
pub fn cgroup_from_id(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let number = args[0].checked_sub(1).and_then(|number| u32::try_from(number).ok());
    let lives = number.filter(|&number| number < kernel.ext.nr_groups() && kernel.ext.cgroup_lives(number));
    Ok(lives.map_or(0, |number| kernel.state.objects.cgroups.addr(number)))
}

/// `bpf_cgroup_ancestor()`: NULL at a level that the group has not.
pub fn cgroup_ancestor(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    let cgroups = &kernel.state.objects.cgroups;
    let number = cgroups.at("bpf_cgroup_ancestor", args[0])?;
    let level = usize::try_from(args[1] as i32).ok();
    Ok(level.and_then(|level| cgroups.list[number as usize].ancestors.get(level)).copied().unwrap_or(0))
}

/// `bpf_cgroup_acquire()`. Groups stay in memory as long as the run.
pub fn cgroup_acquire(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    kernel.state.objects.cgroups.at("bpf_cgroup_acquire", args[0])?;
    Ok(args[0])
}

/// `bpf_cgroup_release()`.
pub fn cgroup_release(kernel: &mut InKernel<'_>, _: &mut Machine, args: [u64; 5]) -> Returned {
    kernel.state.objects.cgroups.at("bpf_cgroup_release", args[0])?;
    Ok(0)
}

/// `enum bpf_cgroup_iter_order`.
const DESCENDANTS_PRE: u32 = 2;
const DESCENDANTS_POST: u32 = 3;
const ANCESTORS_UP: u32 = 4;
const CHILDREN: u32 = 5;

/// `bpf_iter_css_new()`. An iterator has where it starts, where it is, and its order (`struct bpf_iter_css_kern`).
pub fn iter_css_new(_: &mut InKernel<'_>, machine: &mut Machine, [iter, start, order, ..]: [u64; 5]) -> Returned {
    let order = order as u32;
    let known = matches!(order, DESCENDANTS_PRE | DESCENDANTS_POST | ANCESTORS_UP | CHILDREN);
    let memory = machine.memory_mut();
    let start = if known { start } else { 0 };
    memory.program_write(iter, start.to_le_bytes())?;
    memory.program_write(iter + 8, [0; 8])?;
    memory.program_write(iter + 16, order.to_le_bytes())?;
    s32(if known { 0 } else { EINVAL })
}

/// `bpf_iter_css_next()`: after the last one NULL, and then anew.
pub fn iter_css_next(kernel: &mut InKernel<'_>, machine: &mut Machine, [iter, ..]: [u64; 5]) -> Returned {
    // All are gathered at each step.
    machine.work(WORK_OF_STEP * u64::from(kernel.ext.nr_groups()))?;
    let memory = machine.memory_mut();
    let (start, at, order) = (memory.read_u64(iter)?, memory.read_u64(iter + 8)?, memory.read_u32(iter + 16)?);
    if start == 0 {
        return Ok(0);
    }
    let cgroups = &kernel.state.objects.cgroups;
    let Some(from) = cgroups.of_css(start) else {
        return Err(Fault::argument("bpf_iter_css_next", "the css of a cgroup (cgroup->self) to start at"));
    };
    let all = match order {
        DESCENDANTS_PRE => kernel.ext.cgroup_descendants_pre(from),
        DESCENDANTS_POST => kernel.ext.cgroup_descendants_post(from),
        ANCESTORS_UP => kernel.ext.cgroup_ancestors(from).into_iter().rev().collect(),
        _ => kernel.ext.cgroup_children(from).collect(),
    };
    let mut all = all.into_iter();
    if let Some(last) = cgroups.of_css(at) {
        all.find(|&number| number == last);
    }
    let next = all.next().map_or(0, |number| cgroups.css(number));
    memory.program_write(iter + 8, next.to_le_bytes())?;
    Ok(next)
}

/// `bpf_iter_css_destroy()`.
pub fn iter_css_destroy(_: &mut InKernel<'_>, machine: &mut Machine, args: [u64; 5]) -> Returned {
    machine.memory_mut().program_write(args[0], [0; 8])?;
    Ok(0)
}
