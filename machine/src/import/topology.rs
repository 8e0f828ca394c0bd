//! The machine's shape: `cpu*/topology`, and with it caches, nodes and capacities.

use super::cache::{self, Caches};
use super::capacity;
use super::node::{self, Nodes};
use super::sys::{Groups, Sys, check, numbers, within};
use super::tree::{AGAIN, CPU, Tree};
use std::ops::RangeInclusive;
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, Topology};

/// Reads the shape and the caches. Also returns which parts of the shape are guessed.
pub(super) fn read(sys: &Sys<'_>, notes: &mut Vec<String>) -> Result<(Topology, Caches, Vec<String>), InputError> {
    let mut guesses = Vec::new();
    let shape = read_shape(sys)?;
    let nodes = node::read(sys, notes)?;
    let siblings = |cpu| sys.path(cpu, "topology/thread_siblings_list");
    within(sys, (&shape.cores, "the core"), (&nodes.cpus, "node"), siblings)?;
    let cluster_file = |cpu| sys.path(cpu, "topology/cluster_cpus_list");
    within(sys, (&shape.clusters, "the cluster"), (&nodes.cpus, "node"), cluster_file)?;
    let caches = cache::read(sys)?;
    let llcs = llcs(sys, &caches, &shape, &nodes, notes, &mut guesses)?;
    let (capacities, guess) = capacity::read(sys, notes)?;
    guesses.extend(guess);

    let [core, die, package, llc] = [&shape.cores, &shape.dies, &shape.packages, &llcs].map(numbers);
    let cluster = cluster_numbers(&shape);
    let cpu = |cpu: usize| CpuTopology {
        core: core[cpu],
        cluster: cluster[cpu],
        llc: llc[cpu],
        die: die[cpu],
        package: package[cpu],
        node: nodes.of_cpu[cpu],
        capacity: capacities[cpu],
    };
    let topology = Topology { cpus: (0..sys.ids.len()).map(cpu).collect(), node_distance: nodes.distances };
    // Other contradictions, such as siblings of different capacity, have no file of their own.
    topology.validate().map_err(|error| {
        let machine = if sys.offline().is_empty() { "" } else { " (CPUs are counted without those that are offline)" };
        sys.tree.error(CPU, format!("{error}{machine}")).with_hint(AGAIN)
    })?;
    Ok((topology, caches, guesses))
}

/// Numbers the clusters by CPU; `None` if a cluster is no wider than its core.
fn cluster_numbers(shape: &Shape) -> Vec<Option<u32>> {
    let wide = |cpu: usize| shape.clusters[cpu] != shape.cores[cpu];
    let all = numbers(&shape.clusters);
    let mut wider: Vec<u32> = (0..all.len()).filter(|&cpu| wide(cpu)).map(|cpu| all[cpu]).collect();
    wider.sort_unstable();
    wider.dedup();
    (0..all.len()).map(|cpu| wide(cpu).then(|| wider.partition_point(|&number| number < all[cpu]) as u32)).collect()
}

/// By CPU: the CPUs that share its LLC, as the scheduler sees it.
fn llcs(
    sys: &Sys<'_>,
    caches: &Caches,
    shape: &Shape,
    nodes: &Nodes,
    notes: &mut Vec<String>,
    guesses: &mut Vec<String>,
) -> Result<Groups, InputError> {
    let file = |cpu: Cpu| caches.last_file(sys, cpu);
    let wide = if caches.is_empty() {
        guesses.push("there is no cpu*/cache/index*: an LLC is taken to be a package's CPUs of one node".to_owned());
        shape.packages.clone()
    } else {
        let last = caches.last();
        within(sys, (&last, "the last cache"), (&shape.packages, "package"), file)?;
        within(sys, (&shape.cores, "the core"), (&last, "last cache"), file)?;
        last
    };
    let llcs: Vec<CpuMask> = wide.iter().zip(&nodes.cpus).map(|(llc, node)| llc.and(node)).collect();
    if !caches.is_empty() && llcs != wide {
        notes.push(
            "nodes share a last cache (sub-NUMA clustering): the scheduler sees one LLC for each (match_llc())"
                .to_owned(),
        );
    }
    for (cpu, (llc, cluster)) in (0..).zip(llcs.iter().zip(&shape.clusters)) {
        if !llc.is_subset(cluster) && !cluster.is_subset(llc) {
            let (llc, cluster) = (sys.names(llc), sys.names(cluster));
            let what =
                format!("lists CPUs {cluster}; expected all or a part of the LLC's, {llc}, or all of them and more");
            return Err(sys.tree.contradiction(&sys.path(cpu, "topology/cluster_cpus_list"), what));
        }
    }
    Ok(llcs)
}

/// Numbers of the firmware; -1 if it has none.
const ID: RangeInclusive<i64> = i32::MIN as i64..=u32::MAX as i64;

/// The cluster number of x86 if there are no clusters (`BAD_APICID`).
const NO_CLUSTER: i64 = 65535;

/// By CPU: the CPUs that share a core, a cluster, a die, a package with it.
#[derive(Clone, Debug)]
struct Shape {
    cores: Groups,
    /// No wider than the core if there are no clusters.
    clusters: Groups,
    dies: Groups,
    packages: Groups,
}

/// Reads `cpu*/topology` and checks that the files agree.
fn read_shape(sys: &Sys<'_>) -> Result<Shape, InputError> {
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

/// The two names that kernels write: the old one, and the one since 5.3.
const THREADS: &[&str] = &["thread_siblings_list", "core_cpus_list"];
const PACKAGE: &[&str] = &["core_siblings_list", "package_cpus_list"];

/// The packages, by their numbers, or by the lists if the firmware has no numbers.
fn packages(sys: &Sys<'_>) -> Result<Groups, InputError> {
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

/// The dies, by their numbers, which are unique in a package. If they have none, the package is the die.
fn dies(sys: &Sys<'_>, packages: &Groups) -> Result<Groups, InputError> {
    let ids: Vec<_> = ids(sys, "die_id")?.into_iter().map(|id| id.filter(|&id| id >= 0)).collect();
    let keys: Vec<_> = ids.iter().zip(packages).map(|(id, package)| (*id, package.first())).collect();
    let dies = sys.same(&keys);
    // Without numbers the kernel reports each CPU as a die.
    if ids.iter().all(Option::is_some) {
        agree(sys, &dies, &["die_cpus_list"], "die_id (and physical_package_id)")?;
    }
    Ok(dies)
}

/// The clusters. If there are none, the kernel reports each CPU as one.
fn clusters(sys: &Sys<'_>, cores: &Groups, packages: &Groups) -> Result<Groups, InputError> {
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

/// The path of the first of the files that exists.
fn first_of(sys: &Sys<'_>, cpu: Cpu, files: &[&str]) -> String {
    let file = files.iter().find(|file| sys.tree.has(&path(sys, cpu, file)));
    path(sys, cpu, file.unwrap_or(&files[0]))
}

/// A number of each CPU; `None` for CPUs without such a file.
fn ids(sys: &Sys<'_>, file: &str) -> Result<Vec<Option<i64>>, InputError> {
    sys.each(|cpu| sys.tree.number(&path(sys, cpu, file), &ID))
}

/// A list of each CPU, from the first of the files that exists. Returns `None` if no CPU has one.
fn read_lists(sys: &Sys<'_>, files: &[&str]) -> Result<Option<Groups>, InputError> {
    let has = |cpu| files.iter().any(|file| sys.tree.has(&path(sys, cpu, file)));
    if !(0..sys.len()).any(has) {
        return Ok(None);
    }
    need(sys, files, "a list of CPUs, as other CPUs have it").map(Some)
}

/// A list of each CPU, which must have one, from the first of the files that exists.
fn need(sys: &Sys<'_>, files: &[&str], expected: &str) -> Result<Groups, InputError> {
    let groups = sys.each(|cpu| {
        let path = first_of(sys, cpu, files);
        sys.tree.need(&path, expected, |_: Tree<'_>, path| sys.mask(path))
    })?;
    check(sys, &groups, |cpu| first_of(sys, cpu, files))?;
    Ok(groups)
}

/// Checks that the lists, if there are any, have the CPUs with the same number.
fn agree(sys: &Sys<'_>, groups: &Groups, files: &[&str], id: &str) -> Result<(), InputError> {
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

/// Checks that the CPUs of a list have the same number, if they have any. The reverse need not hold: core numbers are
/// unique in a package, a die or the machine, as the firmware likes.
fn same_id(sys: &Sys<'_>, groups: &Groups, list: &str, ids: &[Option<i64>], id: &str) -> Result<(), InputError> {
    for (cpu, group) in (0..).zip(groups) {
        let first = group.first().unwrap_or(cpu);
        if let (Some(a), Some(b)) = (ids[first as usize], ids[cpu as usize])
            && a != b
        {
            let other = sys.ids[first as usize];
            let what = format!("found {b}; expected {a} as of CPU {other}, which {list} puts into one group with it");
            return Err(sys.tree.contradiction(&path(sys, cpu, id), what));
        }
    }
    Ok(())
}
