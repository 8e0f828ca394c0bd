//! Cores, clusters, dies and packages: `cpu*/topology`.

use super::groups::{Groups, check, within};
use super::sys::Sys;
use super::tree::Tree;
use crate::MachineError;
use std::ops::RangeInclusive;
use wakelab_sched::cpumask::{Cpu, CpuMask};

/// Numbers of the firmware; -1 where it has none.
const ID: RangeInclusive<i64> = i32::MIN as i64..=u32::MAX as i64;

/// What x86 says of clusters where there are none (`BAD_APICID`).
const NO_CLUSTER: i64 = 65535;

/// By CPU: who shares what with it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) cores: Groups,
    /// No wider than the core where there is none.
    pub(super) clusters: Groups,
    pub(super) dies: Groups,
    pub(super) packages: Groups,
}

/// Reads it and holds that the files agree.
pub(super) fn read(sys: &Sys<'_>) -> Result<Shape, MachineError> {
    let packages = packages(sys)?;
    let dies = dies(sys, &packages)?;
    let cores = need(sys, THREADS, "the list of the core's CPUs")?;
    let core_ids = ids(sys, "core_id")?;
    same_id(sys, &cores, THREADS[0], &core_ids, "core_id")?;
    within(sys, (&cores, "the core"), (&packages, "package"), |cpu| first_of(sys, cpu, THREADS))?;
    within(sys, (&cores, "the core"), (&dies, "die"), |cpu| first_of(sys, cpu, THREADS))?;
    let clusters = clusters(sys, &cores, &packages)?;
    Ok(Shape { cores, clusters, dies, packages })
}

/// The present name and the one before 5.3, which is still written.
const THREADS: &[&str] = &["thread_siblings_list", "core_cpus_list"];
const PACKAGE: &[&str] = &["core_siblings_list", "package_cpus_list"];

/// By the package's number; by the list where the firmware has no number.
fn packages(sys: &Sys<'_>) -> Result<Groups, MachineError> {
    let ids = sys.each(|cpu| {
        let path = path(sys, cpu, "physical_package_id");
        sys.tree.need(&path, "the number of the CPU's package", |tree, path| tree.number(path, &ID))
    })?;
    if ids.iter().any(|&id| id < 0) {
        return need(sys, PACKAGE, "the list of the package's CPUs, as physical_package_id is -1");
    }
    let packages = sys.same(&ids);
    agree(sys, &packages, PACKAGE, "physical_package_id")?;
    Ok(packages)
}

/// Dies have a number in their package. Where they have none, the package is the die.
fn dies(sys: &Sys<'_>, packages: &Groups) -> Result<Groups, MachineError> {
    let ids: Vec<_> = ids(sys, "die_id")?.into_iter().map(|id| id.filter(|&id| id >= 0)).collect();
    let keys: Vec<_> = ids.iter().zip(packages).map(|(id, package)| (*id, package.first())).collect();
    let dies = sys.same(&keys);
    // Without numbers the kernel writes that each CPU is a die.
    if ids.iter().all(Option::is_some) {
        agree(sys, &dies, &["die_cpus_list"], "die_id (and physical_package_id)")?;
    }
    Ok(dies)
}

/// Where there are no clusters, the kernel writes that each CPU is one.
fn clusters(sys: &Sys<'_>, cores: &Groups, packages: &Groups) -> Result<Groups, MachineError> {
    const FILE: &str = "cluster_cpus_list";
    let Some(clusters) = read_lists(sys, &[FILE])? else { return Ok(cores.clone()) };
    let valid = |id: Option<i64>| id.filter(|id| (0..NO_CLUSTER).contains(id));
    let ids: Vec<_> = ids(sys, "cluster_id")?.into_iter().map(valid).collect();
    same_id(sys, &clusters, FILE, &ids, "cluster_id")?;
    within(sys, (&clusters, "the cluster"), (packages, "package"), |cpu| path(sys, cpu, FILE))?;
    let widened: Groups = clusters.iter().zip(cores).map(|(cluster, core)| wider(cluster, core)).collect();
    within(sys, (cores, "the core"), (&widened, "cluster"), |cpu| path(sys, cpu, FILE))?;
    Ok(widened)
}

fn wider(cluster: &CpuMask, core: &CpuMask) -> CpuMask {
    if cluster.is_subset(core) { core.clone() } else { cluster.clone() }
}

fn path(sys: &Sys<'_>, cpu: Cpu, file: &str) -> String {
    sys.path(cpu, &format!("topology/{file}"))
}

/// The path of the first of the files that is there.
fn first_of(sys: &Sys<'_>, cpu: Cpu, files: &[&str]) -> String {
    let file = files.iter().find(|file| sys.tree.has(&path(sys, cpu, file)));
    path(sys, cpu, file.unwrap_or(&files[0]))
}

/// A number of each CPU, where there is such a file.
fn ids(sys: &Sys<'_>, file: &str) -> Result<Vec<Option<i64>>, MachineError> {
    sys.each(|cpu| sys.tree.number(&path(sys, cpu, file), &ID))
}

/// A list of each CPU, in the first of the files that is there; `None` if no CPU has one.
fn read_lists(sys: &Sys<'_>, files: &[&str]) -> Result<Option<Groups>, MachineError> {
    let has = |cpu| files.iter().any(|file| sys.tree.has(&path(sys, cpu, file)));
    if !(0..sys.len()).any(has) {
        return Ok(None);
    }
    need(sys, files, "a list of CPUs, as other CPUs have it").map(Some)
}

/// The same where it must be there.
fn need(sys: &Sys<'_>, files: &[&str], expected: &str) -> Result<Groups, MachineError> {
    let groups = sys.each(|cpu| {
        let path = first_of(sys, cpu, files);
        sys.tree.need(&path, expected, |_: Tree<'_>, path| sys.mask(path))
    })?;
    check(sys, &groups, |cpu| first_of(sys, cpu, files))?;
    Ok(groups)
}

/// Holds that lists, where there are any, have the CPUs of the same number.
fn agree(sys: &Sys<'_>, groups: &Groups, files: &[&str], id: &str) -> Result<(), MachineError> {
    let Some(lists) = read_lists(sys, files)? else { return Ok(()) };
    match (0..).zip(lists.iter().zip(groups)).find(|(_, (list, group))| list != group) {
        None => Ok(()),
        Some((cpu, (list, group))) => {
            let (list, group) = (sys.names(list), sys.names(group));
            let what = format!("lists CPUs {list}; expected those with the same {id}, CPUs {group}");
            Err(sys.tree.contradiction(&first_of(sys, cpu, files), what))
        }
    }
}

/// Holds that the CPUs of a list have one number, where they have any. The reverse need not be: numbers of cores are
/// those of a package, of a die or of the machine, as the firmware likes.
fn same_id(sys: &Sys<'_>, groups: &Groups, list: &str, ids: &[Option<i64>], id: &str) -> Result<(), MachineError> {
    for (cpu, group) in (0..).zip(groups) {
        let first = group.first().unwrap_or(cpu);
        if let (Some(a), Some(b)) = (ids[first as usize], ids[cpu as usize])
            && a != b
        {
            let other = sys.ids[first as usize];
            let what = format!("found {b}; expected {a} as of CPU {other}, which {list} says is one with it");
            return Err(sys.tree.contradiction(&path(sys, cpu, id), what));
        }
    }
    Ok(())
}
