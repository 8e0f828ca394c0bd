//! scx_lavd 1.1.4 (`src/main.rs`, `src/cpu_order.rs`).

use super::topology::CoreType;
use super::{Loading, Machine, Step, arena};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use wakelab_sched::cpumask::Cpu;
use wakelab_scx_core::ops::Op;

/// `LAVD_CPU_ID_MAX` of its intf.h.
const LAVD_CPU_ID_MAX: u32 = 8192;
/// `LAVD_CPDOM_MAX_NR`.
const LAVD_CPDOM_MAX_NR: usize = 128;
/// `LAVD_CPDOM_MAX_DIST`.
const LAVD_CPDOM_MAX_DIST: usize = 3;
/// `LAVD_PCO_STATE_MAX`.
const LAVD_PCO_STATE_MAX: usize = 11;
/// A power profile of its intf.h (`LAVD_PM_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Performance = 0,
    Balanced = 1,
    Powersave = 2,
}

impl Profile {
    /// The profile whose option the user's settings stand for: `--performance` sets `no_core_compaction`, and
    /// `--powersave` `is_powersave_mode` (`Opts::proc()`). Without either it is the one in which autopilot begins.
    fn of(machine: &Machine<'_>) -> Self {
        let is_set = |name: &str| (machine.finds.setting)(name).is_some_and(|value| value != 0);
        match (is_set("no_core_compaction"), is_set("is_powersave_mode")) {
            (true, _) => Profile::Performance,
            (false, true) => Profile::Powersave,
            (false, false) => Profile::Balanced,
        }
    }
}

/// `CpuId`. Caches are left out: CPUs of one capacity have the same.
#[derive(Clone, Copy, Debug)]
struct CpuId {
    numa: u32,
    llc: u32,
    /// Of the LLCs of its node, of the cores of its LLC, of the CPUs of its core.
    llc_rdx: usize,
    core_rdx: usize,
    cpu_rdx: usize,
    cpu: Cpu,
    smt_level: usize,
    capacity: u32,
    big: bool,
    turbo: bool,
}

/// `ComputeDomainId`, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DomainId {
    numa: u32,
    llc: u32,
    llc_rdx: usize,
    big: bool,
}

impl DomainId {
    /// `dist()`: core type before node before LLC. The LLCs of a node differ in their place and in the kernel's number.
    fn distance(&self, to: &DomainId) -> u32 {
        let near = match self.numa == to.numa {
            true => 2 * u32::from(self.llc != to.llc),
            false => 10,
        };
        near + if self.big == to.big { 0 } else { 100 }
    }
}

/// `ComputeDomain`.
#[derive(Clone, Debug)]
struct Domain {
    number: usize,
    alternative: usize,
    cpus: Vec<Cpu>,
    /// Other domains by distance, those of one distance in a circle from its own number.
    neighbours: BTreeMap<u32, Vec<usize>>,
}

/// `build_topo_order()` without an energy model, which is in debugfs and of which a simulated machine has none there.
fn order(machine: &Machine<'_>, powersave: bool) -> Vec<CpuId> {
    let mut ids = Vec::new();
    for (&numa, llcs) in &machine.scx.nodes {
        for (llc_rdx, (&llc, of_llc)) in llcs.iter().enumerate() {
            for (core_rdx, cpus) in of_llc.cores.values().enumerate() {
                for (cpu_rdx, &cpu) in cpus.iter().enumerate() {
                    let of = machine.scx.cpus[cpu as usize];
                    let big = of.core_type != CoreType::Little;
                    let turbo = of.core_type == CoreType::Big { turbo: true };
                    let (smt_level, capacity) = (of.smt_level, of.capacity);
                    ids.push(CpuId { numa, llc, llc_rdx, core_rdx, cpu_rdx, cpu, smt_level, capacity, big, turbo });
                }
            }
        }
    }
    let little = machine.scx.has_little_cores();
    match powersave {
        true => ids.sort_by_key(|id| {
            let capacity = if little { i64::from(id.capacity) } else { -i64::from(id.capacity) };
            let core = (id.llc, id.core_rdx, Reverse(id.smt_level), id.cpu_rdx, id.cpu);
            (id.numa, id.llc_rdx, capacity, core)
        }),
        false => ids.sort_by_key(|id| {
            let core = (id.smt_level, id.llc, id.core_rdx, id.cpu);
            (id.cpu_rdx, id.numa, id.llc_rdx, Reverse(id.capacity), core)
        }),
    }
    ids
}

/// `circular_sort()`: others from the next one on, alternately up and down.
fn circular_sort(start: usize, others: &[usize]) -> Vec<usize> {
    let mut list = others.to_vec();
    list.push(start);
    list.sort_unstable();
    let (n, at) = (list.len(), list.partition_point(|&other| other < start));
    let distance = |x: usize| {
        let ahead = (x + n - at) % n;
        ahead.min(n - ahead)
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&x| (distance(x), x));
    order[1..].iter().map(|&x| list[x]).collect()
}

/// `build_cpdom()`: CPUs of one node, LLC and type of core.
fn domains(cpus: &[CpuId]) -> BTreeMap<DomainId, Domain> {
    let mut domains: BTreeMap<DomainId, Domain> = BTreeMap::new();
    for id in cpus {
        let number = domains.len();
        let key = DomainId { numa: id.numa, llc: id.llc, llc_rdx: id.llc_rdx, big: id.big };
        let new = || Domain { number, alternative: number, cpus: Vec::new(), neighbours: BTreeMap::new() };
        domains.entry(key).or_insert_with(new).cpus.push(id.cpu);
    }
    let all: Vec<(DomainId, usize)> = domains.iter().map(|(&id, domain)| (id, domain.number)).collect();
    let big_of = |number: usize| all.iter().any(|&(id, other)| other == number && id.big);
    let same_llc = |id: &DomainId| {
        let other = DomainId { big: !id.big, ..*id };
        all.iter().find(|&&(id, _)| id == other).map(|&(_, number)| number)
    };
    for (id, domain) in &mut domains {
        for (to, number) in all.iter().filter(|(to, _)| to != id) {
            domain.neighbours.entry(id.distance(to)).or_default().push(*number);
        }
        for others in domain.neighbours.values_mut() {
            *others = circular_sort(domain.number, others);
        }
        let nearest = || domain.neighbours.values().flatten().copied().find(|&other| big_of(other) != id.big);
        if let Some(alternative) = same_llc(id).or_else(nearest) {
            domain.alternative = alternative;
        }
    }
    domains
}

pub(super) fn lavd(loading: &mut Loading, machine: &Machine<'_>) -> Result<(), String> {
    if machine.nr_cpus > LAVD_CPU_ID_MAX {
        return Err(format!("the machine has {} CPUs; its loader takes up to {LAVD_CPU_ID_MAX}", machine.nr_cpus));
    }
    let performance = order(machine, false);
    let domains = domains(&performance);
    let too_complex = |domain: &Domain| {
        domain.neighbours.len() > LAVD_CPDOM_MAX_DIST
            || domain.neighbours.values().any(|others| others.len() > LAVD_CPDOM_MAX_NR)
    };
    if domains.len() > LAVD_CPDOM_MAX_NR || domains.values().any(too_complex) {
        let limits = format!("{LAVD_CPDOM_MAX_NR} domains at {LAVD_CPDOM_MAX_DIST} distances");
        return Err(format!("the machine has {} domains of CPUs; its loader takes up to {limits}", domains.len()));
    }
    cpus(loading, machine, &performance);
    compute_domains(loading, machine, &domains);
    // attach_futex_ftraces(), attach_futex_tracepoints(), attach_execve_tracepoints()
    let execve = if domains.len() > 1 { ", and execve() does not make a task migrate" } else { "" };
    loading.warnings.push(format!("its programs on futexes do not run here: holders of locks get no boost{execve}"));
    let profile = Profile::of(machine);
    // init_globals(), with what Opts::proc() makes of no option but one for the profile
    let is = |of: Profile| i128::from(profile == of);
    loading.read(
        machine,
        &[
            ("performance", is(Profile::Performance)),
            ("powersave", is(Profile::Powersave)),
            ("balanced", is(Profile::Balanced)),
            ("xmig_min_gain_ns", if machine.scx.has_little_cores() { 350_000 } else { 0 }),
        ],
    );
    // >= 6.19: it gives tasks back in sched_switch, if a task of a class above comes.
    if (machine.finds.kernel_has)("scx_bpf_reenqueue_local___v2") {
        loading.without.push(Op::CpuRelease);
    }
    arena::setup(loading, machine, "task_ctx")?;
    // run(): without an option for the profile it begins balanced, and autopilot changes that.
    let context = (profile as i32).to_le_bytes().to_vec();
    loading.after_attach.push((0, Step::Program { name: "set_power_profile".into(), context }));
    Ok(())
}

/// `init_cpus()`, with `get_fake_perf_cpu_order_table()`: two orders of CPUs, by how much capacity is needed.
fn cpus(loading: &mut Loading, machine: &Machine<'_>, performance: &[CpuId]) {
    let mut by_cpu = performance.to_vec();
    by_cpu.sort_by_key(|id| id.cpu);
    loading.array("cpu_capacity", by_cpu.iter().map(|id| id.capacity));
    loading.array("cpu_big", by_cpu.iter().map(|id| u8::from(id.big)));
    loading.array("cpu_turbo", by_cpu.iter().map(|id| u8::from(id.turbo)));
    // -1 as a usize as a u32
    loading.array("cpu_sibling", by_cpu.iter().map(|id| machine.sibling(id.cpu) as u32));
    let powersave = order(machine, true);
    let total: u32 = performance.iter().map(|id| id.capacity).sum();
    let states = BTreeMap::from([(total, performance.to_vec())]);
    let states: BTreeMap<u32, Vec<CpuId>> = states.into_iter().chain([(powersave[0].capacity, powersave)]).collect();
    loading.set(&[("nr_pco_states", states.len() as i128)]);
    let last = states.last_key_value().expect("there are one or two");
    // The states beyond repeat the last.
    let padded = states.iter().chain(std::iter::repeat(last)).take(LAVD_PCO_STATE_MAX);
    for (at, (&bound, order)) in padded.enumerate() {
        loading.numbers.push((format!("pco_bounds[{at}]"), bound.into()));
        loading.numbers.push((format!("pco_nr_primary[{at}]"), 1));
        loading.array(format!("pco_table[{at}]"), order.iter().map(|id| id.cpu));
    }
}

/// `init_cpdoms()`.
fn compute_domains(loading: &mut Loading, machine: &Machine<'_>, domains: &BTreeMap<DomainId, Domain>) {
    for (id, domain) in domains {
        let member = |name: &str| format!("cpdom_ctxs[{}].{name}", domain.number);
        let values = [
            ("id", domain.number as i128),
            ("alt_id", domain.alternative as i128),
            ("numa_id", i128::from(id.numa as u8)),
            ("llc_id", i128::from(id.llc as u8)),
            ("is_big", id.big.into()),
            ("is_valid", 1),
        ];
        loading.numbers.extend(values.map(|(name, value)| (member(name), value)));
        loading.array(member("__cpumask"), machine.words(domain.cpus.iter().copied()));
        for (at, others) in domain.neighbours.values().enumerate() {
            loading.numbers.push((member(&format!("nr_neighbors[{at}]")), others.len() as i128));
            for (next, &other) in others.iter().enumerate() {
                let index = at * LAVD_CPDOM_MAX_NR + next;
                loading.numbers.push((member(&format!("neighbor_ids[{index}]")), other as i128));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finds, loading};
    use super::*;
    use std::fmt::Write;

    fn lavd_on(machine: &str) -> (Loading, usize) {
        let machine = wakelab_machine::get(machine).unwrap();
        let size_of = |name: &str| (name == "task_ctx").then_some(8);
        let finds = Finds { size_of: &size_of, ..Finds::of(&machine.topology) };
        (loading("lavd_1.1.4", &finds).unwrap(), machine.topology.cpus.len())
    }

    /// The loading as `tests/data/lavd_cpu_order/main.rs` prints what the scheduler's own code makes of a machine.
    fn text(loading: &Loading, nr_cpus: usize) -> String {
        let number = |name: &str| loading.numbers.iter().find(|(of, _)| of == name).map(|&(_, value)| value);
        let array = |name: &str| &loading.arrays.iter().find(|(of, _)| of == name).expect(name).1;
        let on = |name: &str| number(name) == Some(1);
        let little = number("xmig_min_gain_ns") != Some(0);
        let mut text = String::new();
        let (llcs, smt) = (number("nr_llcs").unwrap(), on("is_smt_active"));
        writeln!(text, "llcs {llcs} smt {smt} little {little}").unwrap();
        for cpu in 0..nr_cpus {
            let of = ["cpu_capacity", "cpu_big", "cpu_turbo", "cpu_sibling"].map(|name| array(name)[cpu]);
            writeln!(text, "cpu {cpu} {} {} {} {}", of[0], of[1], of[2], of[3]).unwrap();
        }
        for state in 0..number("nr_pco_states").unwrap() {
            let of = |name: &str| number(&format!("{name}[{state}]")).unwrap();
            let cpus = array(&format!("pco_table[{state}]"));
            writeln!(text, "order {} {} {cpus:?}", of("pco_bounds"), of("pco_nr_primary")).unwrap();
        }
        for domain in (0..).take_while(|domain| number(&format!("cpdom_ctxs[{domain}].is_valid")).is_some()) {
            let of = |name: &str| number(&format!("cpdom_ctxs[{domain}].{name}"));
            assert_eq!(of("id"), Some(domain));
            let words = array(&format!("cpdom_ctxs[{domain}].__cpumask"));
            let cpus: Vec<usize> = (0..nr_cpus).filter(|cpu| words[cpu / 64] >> (cpu % 64) & 1 == 1).collect();
            let near = (0..LAVD_CPDOM_MAX_DIST).map_while(|at| {
                let count = of(&format!("nr_neighbors[{at}]"))?;
                let ids = (0..count).map(|id| of(&format!("neighbor_ids[{}]", at as i128 * 128 + id)).unwrap());
                Some(ids.collect::<Vec<_>>())
            });
            let near: Vec<Vec<i128>> = near.collect();
            let [alternative, numa, llc, big] = ["alt_id", "numa_id", "llc_id", "is_big"].map(|name| of(name).unwrap());
            writeln!(text, "domain {alternative} {numa} {llc} {big} {cpus:?} {near:?}").unwrap();
        }
        text
    }

    fn matches_the_schedulers_own_code(machine: &str, expected: &str) {
        let (loading, nr_cpus) = lavd_on(machine);
        let order: Vec<&str> = expected.lines().filter(|line| !line.starts_with("place")).collect();
        assert_eq!(text(&loading, nr_cpus).lines().collect::<Vec<_>>(), order, "{machine}");
        let topology = wakelab_machine::get(machine).unwrap().topology;
        let scx = super::super::topology::ScxTopology::new(&topology);
        let place = scx
            .cpus
            .iter()
            .enumerate()
            .map(|(at, cpu)| format!("place {at} {} {} {} {}", cpu.core, cpu.llc, cpu.node, cpu.smt_level));
        let expected: Vec<&str> = expected.lines().filter(|line| line.starts_with("place")).collect();
        assert_eq!(place.collect::<Vec<_>>(), expected, "{machine}");
    }

    #[test]
    fn cpus_are_in_the_order_of_the_schedulers_own_code() {
        for (machine, expected) in [
            ("amd-zen3-2s64c128t", include_str!("../../tests/data/lavd_cpu_order/amd-zen3-2s64c128t.txt")),
            ("intel-2s48c96t-snc", include_str!("../../tests/data/lavd_cpu_order/intel-2s48c96t-snc.txt")),
            ("intel-kaby-lake-4c8t", include_str!("../../tests/data/lavd_cpu_order/intel-kaby-lake-4c8t.txt")),
            ("pixel6", include_str!("../../tests/data/lavd_cpu_order/pixel6.txt")),
            ("test-2llc", include_str!("../../tests/data/lavd_cpu_order/test-2llc.txt")),
        ] {
            matches_the_schedulers_own_code(machine, expected);
        }
    }

    #[test]
    fn domains_are_sorted_in_a_circle() {
        // The examples of the comment in build_cpdom().
        let others = |start: usize| (0..8).filter(|&id| id != start).collect::<Vec<_>>();
        assert_eq!(circular_sort(0, &others(0)), [1, 7, 2, 6, 3, 5, 4]);
        assert_eq!(circular_sort(1, &others(1)), [0, 2, 3, 7, 4, 6, 5]);
        assert_eq!(circular_sort(7, &others(7)), [0, 6, 1, 5, 2, 4, 3]);
    }

    #[test]
    fn a_machine_with_more_cpus_than_the_library_takes_is_refused() {
        let machine = wakelab_machine::get("bench-1024").unwrap();
        let refused = loading("lavd", &Finds::of(&machine.topology)).unwrap_err();
        assert_eq!(refused, "the machine has 1024 CPUs; its loader (scx_arena) takes up to 639");
    }

    #[test]
    fn settings_of_a_profile_are_its_option() {
        let machine = wakelab_machine::get("test-2c").unwrap();
        let with = |setting: &str| {
            let set = |name: &str| (name == setting).then_some(1);
            let loading = loading("lavd", &Finds { setting: &set, ..Finds::of(&machine.topology) }).unwrap();
            let value = |name: &str| loading.numbers.iter().find(|(of, _)| of == name).map(|&(_, value)| value);
            let names = ["no_core_compaction", "no_ovrflw_extend", "is_powersave_mode", "is_autopilot_on"];
            let [(0, Step::Program { context, .. })] = &loading.after_attach[..] else { panic!("{loading:?}") };
            (names.map(|name| value(name).unwrap()), i32::from_le_bytes(context[..].try_into().unwrap()))
        };
        assert_eq!(with("no_core_compaction"), ([1, 1, 0, 0], 0), "--performance");
        assert_eq!(with("is_powersave_mode"), ([0, 0, 1, 0], 2), "--powersave");
        assert_eq!(with("verbose"), ([0, 0, 0, 1], 1), "autopilot");
    }

    #[test]
    fn cpu_release_is_left_out_where_the_kernel_gives_back_anywhere() {
        let machine = wakelab_machine::get("test-2c").unwrap();
        let without = |has: bool| {
            loading("lavd", &Finds { kernel_has: &|_| has, ..Finds::of(&machine.topology) }).unwrap().without
        };
        assert_eq!((without(true), without(false)), (vec![Op::CpuRelease], Vec::new()));
    }
}
