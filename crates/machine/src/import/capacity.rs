//! Capacities of CPUs: `cpu*/cpu_capacity`, and the kinds of CPUs of hybrid x86 machines.

use super::arch::Isa;
use super::sys::{Sys, and};
use super::tree::{CPU, Tree};
use crate::FreqPolicy;
use std::ops::RangeInclusive;
use wakelab_input::InputError;
use wakelab_sched::cpumask::CpuMask;
use wakelab_sched::domain::Topology;

/// The performance monitoring units of hybrid machines. Each lists the CPUs of one kind.
const KINDS: &[&str] = &["cpu_core", "cpu_atom", "cpu_lowpower"];

/// Reads the capacities by CPU.
pub(super) fn read(sys: &Sys<'_>) -> Result<Vec<u32>, InputError> {
    let kinds = kinds(sys)?;
    let capacities: Vec<u32> = if !has_capacities(sys) {
        if kinds.len() < 2 { vec![1024; sys.ids.len()] } else { derived(sys)? }
    } else {
        let read = |cpu| number(sys, cpu, "cpu_capacity", "the CPU's capacity, as other CPUs have it", &(1..=1024));
        sys.each(read)?.into_iter().map(|capacity| capacity as u32).collect()
    };
    let highest = capacities.iter().max().copied().unwrap_or(1024);
    if highest < 1024 {
        sys.note(format!("no online CPU has the capacity 1024: the highest is {highest}"));
    }
    if kinds.len() > 1 {
        let list =
            kinds.iter().map(|(kind, cpus)| format!("{kind} {}", sys.names(cpus))).collect::<Vec<_>>().join(", ");
        sys.note(format!("this is a hybrid machine: {list}"));
        if has_capacities(sys) && capacities.iter().all(|&capacity| capacity == 1024) {
            sys.note("cpu_capacity is 1024 for all its CPUs: they are simulated as equally fast".to_owned());
        }
    }
    Ok(capacities)
}

fn has_capacities(sys: &Sys<'_>) -> bool {
    (0..sys.len()).any(|cpu| sys.tree.has(&sys.path(cpu, "cpu_capacity")))
}

/// Notes that CPUs differ although the kernel takes them for equal, and that it prefers some of them (ITMT).
pub(super) fn note_unequal(sys: &Sys<'_>, isa: Option<Isa>, topology: &Topology, policies: &[FreqPolicy]) {
    let perf: Vec<i64> = (0..sys.len()).filter_map(|cpu| highest_perf(sys, cpu)).collect();
    let perf = if perf.len() == sys.ids.len() { distinct(perf) } else { Vec::new() };
    let khz = distinct(policies.iter().map(|policy| policy.max_khz as i64).collect());
    let mut differ = Vec::new();
    if perf.len() > 1 {
        differ.push(format!("highest_perf {}", several(&perf, |perf| perf.to_string())));
    }
    if khz.len() > 1 {
        differ.push(format!("{} GHz", several(&khz, |khz| format!("{}.{}", khz / 1_000_000, khz / 100_000 % 10))));
    }
    let equal = topology.cpus.iter().all(|cpu| cpu.capacity == 1024);
    let hybrid = kinds(sys).is_ok_and(|kinds| kinds.len() > 1);
    if !differ.is_empty() && equal && !hybrid && !has_capacities(sys) {
        // A few percent are what turbo of some cores or of another package is: the shape is hardly another for that.
        let small =
            |values: &[i64]| values.last().zip(values.first()).is_none_or(|(least, most)| least * 10 > most * 9);
        let say = if small(&perf) && small(&khz) { Sys::note } else { Sys::guess };
        say(
            sys,
            format!(
                "CPUs differ ({}), but there is neither cpu_capacity nor devices/cpu_core and cpu_atom: they are \
             simulated as equally fast",
                differ.join(", ")
            ),
        );
    }
    // Kernels with capacities of their own leave it off (hybrid_init_cpu_capacity_scaling()).
    let unequal_to_kernel = has_capacities(sys) && !equal;
    let driver = policies.first().and_then(|policy| policy.driver.as_deref()).unwrap_or_default();
    let pstate = driver.starts_with("intel_") || driver.starts_with("amd-pstate");
    let likely = perf.len() > 1 && (pstate || driver.is_empty()) || khz.len() > 1 && pstate && perf.is_empty();
    let off =
        sys.tree.text(&format!("{CPU}/amd_pstate/prefcore")).ok().flatten().is_some_and(|text| text == "disabled");
    if matches!(isa, None | Some(Isa::X86)) && likely && !off && !unequal_to_kernel {
        sys.note(
            "the kernel prefers CPUs by their highest_perf when it balances (ITMT, SD_ASYM_PACKING): \
             that is not modelled"
                .to_owned(),
        );
    }
}

fn highest_perf(sys: &Sys<'_>, cpu: u32) -> Option<i64> {
    sys.tree.number(&sys.path(cpu, "acpi_cppc/highest_perf"), &(1..=i64::from(u32::MAX))).ok().flatten()
}

/// The values, highest first, each once.
fn distinct(mut values: Vec<i64>) -> Vec<i64> {
    values.sort_unstable_by(|a, b| b.cmp(a));
    values.dedup();
    values
}

/// `64 and 39`, `231, 226 ... 166`.
fn several(values: &[i64], text: impl Fn(i64) -> String) -> String {
    let texts: Vec<String> = values.iter().map(|&value| text(value)).collect();
    match &texts[..] {
        [first, second, .., last] if texts.len() > 4 => format!("{first}, {second} ... {last}"),
        _ => and(&texts),
    }
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
fn derived(sys: &Sys<'_>) -> Result<Vec<u32>, InputError> {
    const SOURCES: &[&str] = &["acpi_cppc/highest_perf", "cpufreq/cpuinfo_max_freq"];
    let Some(file) = SOURCES.iter().find(|file| (0..sys.len()).all(|cpu| sys.tree.has(&sys.path(cpu, file)))) else {
        sys.guess(format!(
            "all capacities are 1024, as there is no cpu_capacity; save cpu*/{} of all CPUs, and they are \
             derived from it",
            SOURCES.join(" or cpu*/")
        ));
        return Ok(vec![1024; sys.ids.len()]);
    };
    let values = sys.each(|cpu| number(sys, cpu, file, "a number", &(1..=u32::MAX as i64)))?;
    let most = values.iter().copied().max().unwrap_or(1);
    sys.guess(format!("capacities are 1024 x cpu*/{file} / the highest, as there is no cpu_capacity"));
    Ok(values.iter().map(|&value| ((value * 1024 / most) as u32).max(1)).collect())
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
