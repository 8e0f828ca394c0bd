//! Capacities of CPUs: `cpu*/cpu_capacity`, and the kinds of CPUs of hybrid x86 machines.

use super::sys::Sys;
use super::tree::Tree;
use std::ops::RangeInclusive;
use wakelab_input::InputError;
use wakelab_sched::cpumask::CpuMask;

/// The performance monitoring units of hybrid machines. Each lists the CPUs of one kind.
const KINDS: &[&str] = &["cpu_core", "cpu_atom", "cpu_lowpower"];

/// The capacities by CPU, and how they were derived if sysfs does not have them.
pub(super) type Capacities = (Vec<u32>, Option<String>);

/// Reads the capacities.
pub(super) fn read(sys: &Sys<'_>, notes: &mut Vec<String>) -> Result<Capacities, InputError> {
    let kinds = kinds(sys)?;
    let capacities = if !(0..sys.len()).any(|cpu| sys.tree.has(&sys.path(cpu, "cpu_capacity"))) {
        if kinds.len() < 2 { (vec![1024; sys.ids.len()], None) } else { derived(sys)? }
    } else {
        let read = |cpu| number(sys, cpu, "cpu_capacity", "the CPU's capacity, as other CPUs have it", &(1..=1024));
        (sys.each(read)?.into_iter().map(|capacity| capacity as u32).collect(), None)
    };
    let highest = capacities.0.iter().max().copied().unwrap_or(1024);
    if highest < 1024 {
        notes.push(format!("no CPU that is online has the capacity 1024: the highest is {highest}"));
    }
    if kinds.len() > 1 {
        let list =
            kinds.iter().map(|(kind, cpus)| format!("{kind} {}", sys.names(cpus))).collect::<Vec<_>>().join(", ");
        notes.push(format!("this is a hybrid machine: {list}"));
        if capacities.0.iter().all(|&capacity| capacity == 1024) {
            notes.push("cpu_capacity is 1024 of all its CPUs: they are simulated as equally fast".to_owned());
        }
    }
    Ok(capacities)
}

/// The kinds that have CPUs.
fn kinds(sys: &Sys<'_>) -> Result<Vec<(&'static str, CpuMask)>, InputError> {
    let mut kinds: Vec<(&'static str, CpuMask)> = Vec::new();
    for kind in KINDS {
        let path = format!("devices/{kind}/cpus");
        let Some(cpus) = sys.mask(&path)?.filter(|cpus| !cpus.is_empty()) else { continue };
        if let Some((other, both)) = kinds.iter().find_map(|(k, c)| Some((k, c.and(&cpus))).filter(|b| !b.1.is_empty()))
        {
            let what =
                format!("lists CPUs {}, which devices/{other}/cpus has too; expected one kind", sys.names(&both));
            return Err(sys.tree.contradiction(&path, what));
        }
        kinds.push((kind, cpus));
    }
    Ok(kinds)
}

/// Derives the capacities from the performance that the firmware reports, as intel_pstate does
/// (`hybrid_get_capacity_perf()`), else from the highest frequency.
fn derived(sys: &Sys<'_>) -> Result<Capacities, InputError> {
    const SOURCES: &[&str] = &["acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"];
    let Some(file) = SOURCES.iter().find(|file| (0..sys.len()).all(|cpu| sys.tree.has(&sys.path(cpu, file)))) else {
        let what =
            "the file is missing; expected the capacities of a hybrid machine (devices/cpu_core, devices/cpu_atom)";
        let hint = format!("or save cpu*/{} of all CPUs, from which they can be guessed", SOURCES.join(" or cpu*/"));
        return Err(sys.tree.error(&sys.path(0, "cpu_capacity"), what).with_hint(hint));
    };
    let values = sys.each(|cpu| number(sys, cpu, file, "a number", &(1..=u32::MAX as i64)))?;
    let most = values.iter().copied().max().unwrap_or(1);
    let capacities = values.iter().map(|&value| ((value * 1024 / most) as u32).max(1)).collect();
    Ok((capacities, Some(format!("capacities are 1024 x cpu*/{file} / the highest, as there is no cpu_capacity"))))
}

fn number(
    sys: &Sys<'_>,
    cpu: u32,
    file: &str,
    expected: &str,
    limits: &RangeInclusive<i64>,
) -> Result<i64, InputError> {
    sys.tree.need(&sys.path(cpu, file), expected, |tree: Tree<'_>, path| tree.number(path, limits))
}
