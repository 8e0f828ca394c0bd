//! Writing a machine file. All costs are written out, but for those of sched_ext that no file has.

use crate::{
    Amount, BusyPower, Calibration, Clock, FreqPolicy, MACHINE, Machine, MachineFile, Origin, Reference, Scope,
    ScxCosts,
};
use std::fmt::Write;
use wakelab_input::toml_text as quoted;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::domain::{Arch, CpuTopology, Numbering, Topology, Uniform};

impl Machine {
    /// Returns the machine as a file that [`Machine::from_toml`] reads back to an equal machine. The file does not name
    /// where the topology was taken from; that of [`MachineFile::to_toml`] does.
    pub fn to_toml(&self) -> String {
        to_toml(self, None, None, None)
    }
}

impl MachineFile {
    /// Returns the machine as a file that [`MachineFile::from_toml`] reads back to an equal one.
    pub fn to_toml(&self) -> String {
        let MachineFile { machine, topology_origin, reference, calibration } = self;
        to_toml(machine, topology_origin.as_ref(), reference.as_ref(), calibration.as_ref())
    }
}

// Writing to a string does not fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

fn to_toml(
    machine: &Machine,
    topology_origin: Option<&Origin>,
    reference: Option<&Reference>,
    calibration: Option<&Calibration>,
) -> String {
    let mut text = String::new();
    line!(text, "name = {}", quoted(&machine.name));
    line!(text, "description = {}", quoted(&machine.description));
    line!(text, "\n[topology]");
    if let Some(ids) = &machine.cpu_ids {
        let room = ids.last().map_or(0, |last| last + 1);
        line!(text, "cpu_ids = \"{}\"", CpuMask::from_cpus(room, ids.iter().copied()));
    }
    if machine.arch == Arch::Arm64 {
        line!(text, "arch = \"arm64\"");
    }
    if machine.split_llc {
        line!(text, "split_llc = true");
    }
    if let Some(distance) = machine.reclaim_distance {
        line!(text, "reclaim_distance = {distance}");
    }
    if let Some(from) = topology_origin {
        line!(text, "{}", origin(from));
    }
    match machine.uniform() {
        Some(uniform) => write_uniform(&mut text, machine, &uniform),
        None => write_explicit(&mut text, &machine.topology),
    }
    for cache in &machine.caches {
        line!(text, "\n[[cache]]\nname = {}", quoted(&cache.name));
        line!(text, "size_kib = {}\nshared_by = {}", cache.size_kib, cache.shared_by);
        if let Some(cpus) = &cache.cpus {
            line!(text, "cpus = \"{cpus}\"");
        }
        line!(text, "{}", origin(&cache.origin));
    }
    write_power_management(&mut text, machine);
    if let Some(Reference { clock, llc_line, far_line }) = reference {
        for (key, unit, (value, from)) in
            [("clock", "mhz", clock), ("llc_line", "ns", llc_line), ("far_line", "ns", far_line)]
        {
            line!(text, "\n[reference.{key}]\n{unit} = {value}\n{}", origin(from));
        }
    }
    // What a file that does not say has is not written.
    let unsaid = ScxCosts::default();
    let scx_costs = machine.scx_costs.list().into_iter().zip(unsaid.list()).filter(|(cost, unsaid)| cost != unsaid);
    let costs = machine.costs.list().into_iter().map(|cost| ("costs", cost));
    for (of, (name, unit, _, cost)) in costs.chain(scx_costs.map(|(cost, _)| ("scx_costs", cost))) {
        line!(text, "\n[{of}.{name}]\n{} = {}\nrange = [{}, {}]", unit.key(), cost.value, cost.low, cost.high);
        line!(text, "{}", origin(&cost.origin));
    }
    let (noise, noise_origin) = (&machine.noise, &machine.noise_origin);
    line!(text, "\n[noise]\nkworker_period_ns = {}", noise.kworker_period_ns);
    line!(text, "kworker_period_range = {:?}", noise_origin.period_range);
    line!(text, "kworker_run_ns = {}", noise.kworker_run_ns);
    line!(text, "kworker_run_range = {:?}", noise_origin.run_range);
    // What a file that does not say has is not written.
    if noise_origin.daemons_origin == noise_origin.origin {
        line!(text, "daemons = {}\ndaemons_range = {:?}", noise.daemons, noise_origin.daemons_range);
    }
    line!(text, "{}", origin(&noise_origin.origin));
    if let Some(ensemble) = &machine.ensemble {
        line!(text, "\n[ensemble]\nfitted = {}\n\n[ensemble.constants]", quoted(&ensemble.fitted));
        for (at, constant) in ensemble.constants.iter().enumerate() {
            let key = if constant.of == MACHINE { constant.key() } else { quoted(&constant.key()) };
            let values: Vec<u64> = ensemble.sets.iter().map(|set| set[at]).collect();
            line!(text, "{key} = {values:?}");
        }
    }
    if let Some(Calibration { date, kernel, preset, hz, noise, work }) = calibration {
        line!(text, "\n[calibration]\ndate = {}\nkernel = {}", quoted(date), quoted(kernel));
        line!(text, "preset = {}\nhz = {hz}\nnoise = {}", quoted(preset), quoted(noise));
        line!(text, "\n[calibration.work]");
        for (name, ns) in work {
            line!(text, "{name} = {ns}");
        }
    }
    text
}

fn write_uniform(text: &mut String, machine: &Machine, uniform: &Uniform) {
    let Uniform { packages, dies, llcs, cores, threads, cluster_cores, nodes, near, far, numbering } = *uniform;
    line!(text, "packages = {packages}\ndies = {dies}\nllcs = {llcs}\ncores = {cores}");
    line!(text, "threads = {threads}");
    if let Some(cores) = cluster_cores {
        line!(text, "cluster_cores = {cores}");
    }
    line!(text, "nodes = {nodes}\nnear = {near}\nfar = {far}");
    let numbering = match numbering {
        Numbering::Adjacent => "adjacent",
        Numbering::Split => "split",
    };
    line!(text, "numbering = \"{numbering}\"");
    if !machine.all_of_full_capacity() {
        line!(text, "capacities = {:?}", machine.topology.cpus.iter().map(|cpu| cpu.capacity).collect::<Vec<_>>());
    }
}

/// One row for all CPUs that differ only in their core.
fn write_explicit(text: &mut String, topology: &Topology) {
    line!(text, "distances = {:?}", topology.node_distance);
    let mut rows: Vec<(CpuTopology, Vec<Cpu>)> = Vec::new();
    for (cpu, of) in (0..).zip(&topology.cpus) {
        let key = CpuTopology { core: 0, ..*of };
        match rows.iter_mut().find(|(row, _)| *row == key) {
            Some((_, cpus)) => cpus.push(cpu),
            None => rows.push((key, vec![cpu])),
        }
    }
    for (row, cpus) in rows {
        let list = CpuMask::from_cpus(topology.nr_cpus(), cpus.iter().copied());
        let cores: Vec<_> = cpus.iter().map(|&cpu| topology.cpus[cpu as usize].core).collect();
        line!(text, "\n[[topology.cpu]]\ncpus = \"{list}\"\ncore = {cores:?}");
        if let Some(cluster) = row.cluster {
            line!(text, "cluster = {cluster}");
        }
        line!(text, "llc = {}\ndie = {}\npackage = {}\nnode = {}", row.llc, row.die, row.package, row.node);
        line!(text, "capacity = {}", row.capacity);
    }
}

fn write_power_management(text: &mut String, machine: &Machine) {
    write_frequencies(text, machine);
    if let Some(turbo) = &machine.turbo {
        let khz: Vec<_> = turbo.bins.iter().map(|bin| bin.khz).collect();
        let cores: Vec<_> = turbo.bins.iter().map(|bin| bin.cores).collect();
        line!(text, "\n[turbo]\nkhz = {khz:?}\ncores = {cores:?}");
        if !turbo.active_states.is_empty() {
            line!(
                text,
                "active_states = [{}]",
                turbo.active_states.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
            );
        }
        line!(text, "{}", origin(&turbo.origin));
    }
    if let Some(demotion) = &machine.demotion {
        line!(text, "\n[demotion]\nto = {}", quoted(&demotion.to));
        amount(text, "below_us", "below_range", &demotion.below_us);
        line!(text, "{}", origin(&demotion.origin));
    }
    for state in &machine.idle_states {
        line!(text, "\n[[idle]]\ncpus = \"{}\"\nindex = {}\nname = {}", state.cpus, state.index, quoted(&state.name));
        if let Some(description) = &state.description {
            line!(text, "description = {}", quoted(description));
        }
        line!(text, "exit_latency_ns = {}\nresidency_ns = {}", state.exit_latency_ns, state.residency_ns);
        if let Some(power) = &state.power_uw {
            amount(text, "power_uw", "power_range", power);
        }
        if state.disabled {
            line!(text, "disabled = true");
        }
        line!(text, "{}", origin(&state.origin));
    }
    write_power(text, machine);
}

fn write_power(text: &mut String, machine: &Machine) {
    for core in &machine.power.cores {
        line!(text, "\n[[power]]\ncpus = \"{}\"", core.cpus);
        match &core.busy {
            BusyPower::Coefficient(dynamic) => amount(text, "dynamic", "dynamic_range", dynamic),
            BusyPower::Table { points: table, range_pct } => {
                line!(text, "busy_uw = {}\nbusy_range_pct = {range_pct:?}", points(table));
            }
        }
        amount(text, "smt_pct", "smt_range", &core.smt_pct);
        amount(text, "leakage_uw", "leakage_range", &core.leakage_uw);
        line!(text, "{}", origin(&core.origin));
    }
    for shared in &machine.power.shared {
        let of = if shared.scope == Scope::Cluster { "cluster" } else { "package" };
        line!(text, "\n[[shared_power]]\nof = \"{of}\"\ncpus = \"{}\"", shared.cpus);
        amount(text, "awake_uw", "awake_range", &shared.awake_uw);
        amount(text, "asleep_uw", "asleep_range", &shared.asleep_uw);
        line!(text, "{}", origin(&shared.origin));
    }
    for domain in &machine.power.energy_model {
        line!(text, "\n[[energy_model]]\ncpus = \"{}\"\nopps = {}", domain.cpus, points(&domain.states));
        line!(text, "{}", origin(&domain.origin));
    }
}

fn amount(text: &mut String, key: &str, range: &str, amount: &Amount) {
    line!(text, "{key} = {}\n{range} = [{}, {}]", amount.value, amount.low, amount.high);
}

/// One row for all policies that differ only in their CPUs.
fn write_frequencies(text: &mut String, machine: &Machine) {
    let nr_cpus = machine.topology.nr_cpus();
    let none = CpuMask::new(nr_cpus);
    let mut rows: Vec<(FreqPolicy, Vec<(Cpu, usize)>)> = Vec::new();
    for (number, policy) in machine.frequencies.iter().enumerate() {
        let key = FreqPolicy { cpus: none.clone(), ..policy.clone() };
        let members = policy.cpus.iter().map(|cpu| (cpu, number));
        match rows.iter_mut().find(|(row, _)| *row == key) {
            Some((_, cpus)) => cpus.extend(members),
            None => rows.push((key, members.collect())),
        }
    }
    for (row, mut cpus) in rows {
        cpus.sort_unstable();
        let list = CpuMask::from_cpus(nr_cpus, cpus.iter().map(|&(cpu, _)| cpu));
        line!(text, "\n[[frequency]]\ncpus = \"{list}\"");
        match (cpus.first(), cpus.last()) {
            (Some((_, first)), Some((_, last))) if cpus.iter().all(|(_, n)| n == first && n == last) => {
                line!(text, "policy = {first}");
            }
            _ => line!(text, "policy = {:?}", cpus.iter().map(|&(_, number)| number).collect::<Vec<_>>()),
        }
        line!(text, "min_khz = {}\nmax_khz = {}", row.min_khz, row.max_khz);
        if let Some(base) = row.base_khz {
            line!(text, "base_khz = {base}");
        }
        if !row.steps_khz.is_empty() {
            line!(text, "steps_khz = {:?}", row.steps_khz);
        }
        if let Some(grain) = row.grain_khz {
            line!(text, "grain_khz = {grain}");
        }
        if !row.voltages.is_empty() {
            line!(text, "voltages = {}", points(&row.voltages));
        }
        if row.voltage_range_pct != [100; 2] {
            line!(text, "voltage_range_pct = {:?}", row.voltage_range_pct);
        }
        for (key, ns) in [("latency_us", row.latency_ns), ("delay_us", row.delay_ns)] {
            if let Some(ns) = ns {
                line!(text, "{key} = {}", ns / 1000);
            }
        }
        match row.clock {
            Clock::Policy => {}
            Clock::Core => line!(text, "clock = \"core\""),
            Clock::Package => line!(text, "clock = \"package\""),
        }
        if let Some(driver) = &row.driver {
            line!(text, "driver = {}", quoted(driver));
        }
        line!(text, "{}", origin(&row.origin));
    }
}

/// A list of points.
fn points(points: &[(u64, u64)]) -> String {
    format!("{:?}", points.iter().map(|&(x, y)| [x, y]).collect::<Vec<_>>())
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Source(text) => format!("source = {}", quoted(text)),
        Origin::Measured(text) => format!("measured = {}", quoted(text)),
        Origin::Assumed(text) => format!("assumed = {}", quoted(text)),
    }
}
