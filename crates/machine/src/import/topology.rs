//! The machine's shape: `cpu*/topology`, and with it caches, nodes and capacities.

use super::arch::Isa;
use super::cache::{self, Caches};
use super::capacity;
use super::node::{self, Nodes};
use super::sys::{Groups, Sys, and, check, numbers, within};
use super::tree::{AGAIN, CPU, Tree};
use std::ops::RangeInclusive;
use wakelab_input::InputError;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{CpuTopology, Topology};

/// Reads the shape and the caches.
pub(super) fn read(sys: &Sys<'_>, isa: Option<Isa>) -> Result<(Topology, Caches), InputError> {
    let caches = cache::read(sys)?;
    let shape = read_shape(sys, isa, &caches)?;
    let nodes = node::read(sys)?;
    let siblings = |cpu| sys.path(cpu, "topology/thread_siblings_list");
    within(sys, (&shape.cores, "the core"), (&nodes.cpus, "node"), siblings)?;
    let cluster_file = |cpu| sys.path(cpu, "topology/cluster_cpus_list");
    within(sys, (&shape.clusters, "the cluster"), (&nodes.cpus, "node"), cluster_file)?;
    let llcs = llcs(sys, isa, &caches, &shape, &nodes)?;
    let capacities = capacity::read(sys)?;
    note_levels(sys, isa, &shape);

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
    Ok((topology, caches))
}

/// Notes what shapes the domains of real kernels and is not modelled.
fn note_levels(sys: &Sys<'_>, isa: Option<Isa>, shape: &Shape) {
    for (name, what, level) in [("book", "books", "BOOK"), ("drawer", "drawers", "DRAWER")] {
        let file = |cpu| path(sys, cpu, &format!("{name}_siblings_list"));
        let groups: Vec<CpuMask> = (0..sys.len()).filter_map(|cpu| sys.mask(&file(cpu)).ok().flatten()).collect();
        let mut names: Vec<String> = Vec::new();
        for group in &groups {
            let group = sys.names(group);
            if !names.contains(&group) {
                names.push(group);
            }
        }
        // A level as wide as the one above it degenerates.
        if names.len() > 1 {
            let shown = if names.len() > 4 { format!("{} of them", names.len()) } else { and(&names) };
            sys.note(format!(
                "the {what} ({name}_siblings_list: CPUs {shown}) are left out: s390's level {level} between sockets \
                 and the machine is not modelled"
            ));
        }
    }
    let vertical = |cpu| sys.tree.text(&sys.path(cpu, "polarization")).ok().flatten();
    if (0..sys.len()).filter_map(vertical).any(|text| text.starts_with("vertical")) {
        sys.note(
            "polarization is vertical: what the hypervisor gives each CPU (HiperDispatch) is not modelled".to_owned(),
        );
    }
    let threads = shape.cores.iter().any(|core| core.weight() > 1);
    if isa == Some(Isa::Powerpc) && threads {
        sys.note(
            "the SMT level of POWER7 has SD_ASYM_PACKING (CPU_FTR_ASYM_SMT), as have shared processors since 6.8: it \
             is not modelled"
                .to_owned(),
        );
    }
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

/// By CPU: the CPUs that share its LLC, as the scheduler of this architecture sees it.
fn llcs(sys: &Sys<'_>, isa: Option<Isa>, caches: &Caches, shape: &Shape, nodes: &Nodes) -> Result<Groups, InputError> {
    let file = |cpu: Cpu| caches.last_file(sys, cpu);
    let of_package = || shape.packages.iter().zip(&nodes.cpus).map(|(package, node)| package.and(node)).collect();
    let llcs: Groups = match isa {
        Some(Isa::S390) => of_package(),
        _ if caches.is_empty() => {
            sys.guess(
                "there is no cpu*/cache/index*: the CPUs of a package in one node are assumed to share an LLC"
                    .to_owned(),
            );
            of_package()
        }
        _ => {
            let last = if isa == Some(Isa::Powerpc) { caches.of_level(2) } else { None };
            let last = last.unwrap_or_else(|| caches.last());
            let last = with_core(sys, &last, &shape.cores);
            within(sys, (&shape.cores, "the core"), (&last, "last cache"), file)?;
            let llcs = match isa {
                Some(Isa::Arm64 | Isa::Riscv) => cpu_coregroup_mask(&last, &shape.packages, &nodes.cpus),
                _ => of_x86(&last, &shape.packages, &nodes.cpus),
            };
            note_narrower(sys, isa, &last, shape, nodes);
            check(sys, &llcs, file)?;
            llcs
        }
    };
    for (cpu, (llc, cluster)) in (0..).zip(llcs.iter().zip(&shape.clusters)) {
        if !llc.is_subset(cluster) && !cluster.is_subset(llc) {
            let (llc, cluster) = (sys.names(llc), sys.names(cluster));
            let what =
                format!("lists CPUs {cluster}; expected some or all of the LLC's CPUs, {llc}, or all of them and more");
            return Err(sys.tree.contradiction(&sys.path(cpu, "topology/cluster_cpus_list"), what));
        }
    }
    Ok(llcs)
}

/// `cpu_coregroup_mask()` of `drivers/base/arch_topology.c`, but for clusters: the node, the package if that is within
/// it, the last cache if that is within those.
fn cpu_coregroup_mask(last: &Groups, packages: &Groups, nodes: &Groups) -> Groups {
    let of_cpu = |((last, package), node): ((&CpuMask, &CpuMask), &CpuMask)| {
        let core_mask = if package.is_subset(node) { package } else { node };
        if last.is_subset(core_mask) { last.clone() } else { core_mask.clone() }
    };
    // A last cache of several nodes and packages leaves a part of each.
    let masks: Groups = last.iter().zip(packages).zip(nodes).map(of_cpu).collect();
    masks.iter().zip(packages).map(|(mask, package)| mask.and(package)).collect()
}

/// `match_llc()` of `arch/x86/kernel/smpboot.c` takes the last cache's CPUs of one node. Here an LLC also ends at its
/// package.
fn of_x86(last: &Groups, packages: &Groups, nodes: &Groups) -> Groups {
    last.iter().zip(packages).zip(nodes).map(|((last, package), node)| last.and(package).and(node)).collect()
}

/// Widens the last cache of a CPU to its core, if it is narrower: kernels do so when they build domains ("the SMT
/// domain not a subset of the MC domain").
fn with_core(sys: &Sys<'_>, last: &Groups, cores: &Groups) -> Groups {
    let narrower = |(last, core): (&CpuMask, &CpuMask)| last != core && last.is_subset(core);
    if last.iter().zip(cores).any(narrower) {
        sys.note(
            "CPUs of one core have last caches of their own: an LLC is at least a core, as build_sched_domains() \
                  mends it"
                .to_owned(),
        );
    }
    last.iter()
        .zip(cores)
        .map(|(last, core)| if narrower((last, core)) { core.clone() } else { last.clone() })
        .collect()
}

/// Notes that the scheduler's LLC is narrower than the last cache.
fn note_narrower(sys: &Sys<'_>, isa: Option<Isa>, last: &Groups, shape: &Shape, nodes: &Nodes) {
    if last.iter().zip(&nodes.cpus).any(|(llc, node)| !llc.is_subset(node)) {
        sys.note(
            "nodes share a last cache (sub-NUMA clustering): the scheduler sees one LLC for each (match_llc())"
                .to_owned(),
        );
    }
    let wider = last
        .iter()
        .zip(&shape.packages)
        .zip(&nodes.cpus)
        .find(|((llc, package), node)| !llc.and(node).is_subset(package));
    if let Some(((llc, package), _)) = wider {
        let (llc, package) = (sys.names(llc), sys.names(package));
        let what = format!("the last cache of CPUs {llc} is wider than their packages (CPUs {package}...)");
        match isa {
            Some(Isa::Arm64 | Isa::Riscv) => sys.note(format!(
                "{what}: an LLC is a package, as cpu_coregroup_mask() takes the last cache only if it is within \
             the package"
            )),
            _ => sys.guess(format!(
                "{what}: an LLC ends at its package, as cpu_coregroup_mask() of other architectures has it; x86 would \
                 balance over both"
            )),
        }
    }
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
fn read_shape(sys: &Sys<'_>, isa: Option<Isa>, caches: &Caches) -> Result<Shape, InputError> {
    let packages = packages(sys, isa)?;
    let dies = dies(sys, &packages)?;
    let cores = cores(sys, &packages, &dies)?;
    within(sys, (&cores, "the core"), (&packages, "package"), |cpu| first_of(sys, cpu, THREADS))?;
    within(sys, (&cores, "the core"), (&dies, "die"), |cpu| first_of(sys, cpu, THREADS))?;
    let clusters = clusters(sys, isa, &cores, &packages, caches)?;
    Ok(Shape { cores, clusters, dies, packages })
}

/// The two names that kernels write: the old one, and the one since 5.3.
const THREADS: &[&str] = &["thread_siblings_list", "core_cpus_list"];
const PACKAGE: &[&str] = &["core_siblings_list", "package_cpus_list"];

/// The cores, by the lists of siblings, or by their numbers if there is none.
fn cores(sys: &Sys<'_>, packages: &Groups, dies: &Groups) -> Result<Groups, InputError> {
    let core_ids = ids(sys, "core_id")?;
    match read_lists(sys, THREADS)? {
        Some(cores) => {
            note_core_ids(sys, &cores, &core_ids);
            Ok(cores)
        }
        None if core_ids.iter().all(Option::is_some) => {
            sys.guess(
                "there is no cpu*/topology/thread_siblings_list: CPUs with the same core_id in a die are assumed to be \
                 a core"
                    .to_owned(),
            );
            let keys: Vec<_> = core_ids
                .iter()
                .zip(packages.iter().zip(dies))
                .map(|(id, (p, d))| (*id, p.first(), d.first()))
                .collect();
            Ok(sys.same(&keys))
        }
        None => need(sys, THREADS, "the list of the core's CPUs"),
    }
}

/// Siblings may have different numbers of cores: `match_smt()` also takes those of one compute unit (`cu_id`).
fn note_core_ids(sys: &Sys<'_>, cores: &Groups, ids: &[Option<i64>]) {
    let differs = |(cpu, core): (usize, &CpuMask)| {
        let first = core.first().map_or(cpu, |first| first as usize);
        ids[first].zip(ids[cpu]).is_some_and(|(a, b)| a != b)
    };
    if let Some((cpu, core)) = cores.iter().enumerate().find(|&(cpu, core)| differs((cpu, core))) {
        let (core, id) = (sys.names(core), sys.ids[cpu]);
        sys.note(format!(
            "thread_siblings_list makes CPUs {core} one core, though CPU {id} has another core_id: match_smt() also \
             goes by cu_id (AMD Bulldozer to Excavator)"
        ));
    }
}

/// The packages, by their numbers, or by the lists if the firmware has no numbers.
fn packages(sys: &Sys<'_>, isa: Option<Isa>) -> Result<Groups, InputError> {
    const ID_FILE: &str = "physical_package_id";
    // The number of a socket is unique only within its book: tl_to_masks() takes that of the container.
    if isa == Some(Isa::S390)
        && let Some(packages) = read_lists(sys, PACKAGE)?
    {
        same_id(sys, &packages, PACKAGE[0], &self::ids(sys, ID_FILE)?, ID_FILE)?;
        return Ok(packages);
    }
    if !(0..sys.len()).any(|cpu| sys.tree.has(&path(sys, cpu, ID_FILE)))
        && let Some(packages) = read_lists(sys, PACKAGE)?
    {
        sys.note(format!("there is no cpu*/topology/{ID_FILE}: packages are read from {}", PACKAGE[0]));
        return Ok(packages);
    }
    let ids = sys.each(|cpu| {
        let path = path(sys, cpu, ID_FILE);
        sys.tree.need(&path, "the number of the CPU's package", |tree, path| tree.number(path, &ID))
    })?;
    if ids.iter().any(|&id| id < 0) {
        return need(sys, PACKAGE, "the list of the package's CPUs, as physical_package_id is -1");
    }
    let (drawers, books) = (self::ids(sys, "drawer_id")?, self::ids(sys, "book_id")?);
    let keys: Vec<_> = ids.iter().zip(drawers.iter().zip(&books)).collect();
    let packages = sys.same(&keys);
    // powerpc lists the node's CPUs: topology_core_cpumask() is cpu_cpu_mask().
    if isa != Some(Isa::Powerpc) {
        agree(sys, &packages, PACKAGE, ID_FILE)?;
    }
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
fn clusters(
    sys: &Sys<'_>,
    isa: Option<Isa>,
    cores: &Groups,
    packages: &Groups,
    caches: &Caches,
) -> Result<Groups, InputError> {
    const FILE: &str = "cluster_cpus_list";
    let Some(clusters) = read_lists(sys, &[FILE])? else {
        return clusters_of_caches(sys, isa, cores, packages, caches);
    };
    let valid = |id: Option<i64>| id.filter(|id| (0..NO_CLUSTER).contains(id));
    let ids: Vec<_> = ids(sys, "cluster_id")?.into_iter().map(valid).collect();
    same_id(sys, &clusters, FILE, &ids, "cluster_id")?;
    within(sys, (&clusters, "the cluster"), (packages, "package"), |cpu| path(sys, cpu, FILE))?;
    let widened: Groups = clusters.iter().zip(cores).map(|(cluster, core)| wider(cluster, core)).collect();
    within(sys, (cores, "the core"), (&widened, "cluster"), |cpu| path(sys, cpu, FILE))?;
    Ok(widened)
}

/// The clusters, if the kernel is older than 5.16 and does not report them. On x86 a cluster is the cores of one L2
/// (`match_l2c()`); elsewhere the firmware knows.
fn clusters_of_caches(
    sys: &Sys<'_>,
    isa: Option<Isa>,
    cores: &Groups,
    packages: &Groups,
    caches: &Caches,
) -> Result<Groups, InputError> {
    const NONE: &str = "there is no cpu*/topology/cluster_cpus_list (before 5.16)";
    match isa {
        Some(Isa::Arm64 | Isa::Riscv) => {
            sys.note(format!("{NONE}: clusters that the firmware may describe are unknown"));
        }
        Some(Isa::X86) | None => {
            let Some(l2) = caches.of_level(2) else { return Ok(cores.clone()) };
            let sound = |(l2, (core, package)): (&CpuMask, (&CpuMask, &CpuMask))| {
                (core.is_subset(l2) || l2.is_subset(core)) && l2.is_subset(package)
            };
            let widened: Groups = l2.iter().zip(cores).map(|(l2, core)| wider(l2, core)).collect();
            if widened != *cores && l2.iter().zip(cores.iter().zip(packages)).all(sound) {
                sys.note(format!("{NONE}: cores that share an L2 are assumed to be a cluster, as on x86"));
                return Ok(widened);
            }
        }
        _ => {}
    }
    Ok(cores.clone())
}

fn wider(cluster: &CpuMask, core: &CpuMask) -> CpuMask {
    if cluster.is_subset(core) { core.clone() } else { cluster.clone() }
}

fn path(sys: &Sys<'_>, cpu: Cpu, file: &str) -> String {
    sys.path(cpu, &format!("topology/{file}"))
}

/// The path of the first of the files that exists.
fn first_of(sys: &Sys<'_>, cpu: Cpu, files: &[&str]) -> String {
    let file = files.iter().find(|file| sys.has_mask(&path(sys, cpu, file)));
    path(sys, cpu, file.unwrap_or(&files[0]))
}

/// A number of each CPU; `None` for CPUs without such a file.
fn ids(sys: &Sys<'_>, file: &str) -> Result<Vec<Option<i64>>, InputError> {
    sys.each(|cpu| sys.tree.number(&path(sys, cpu, file), &ID))
}

/// A list of each CPU, from the first of the files that exists. Returns `None` if no CPU has one.
fn read_lists(sys: &Sys<'_>, files: &[&str]) -> Result<Option<Groups>, InputError> {
    let has = |cpu| files.iter().any(|file| sys.has_mask(&path(sys, cpu, file)));
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
            let what = format!("found {b}; expected {a} as for CPU {other}, which {list} puts into the same group");
            return Err(sys.tree.contradiction(&path(sys, cpu, id), what));
        }
    }
    Ok(())
}
