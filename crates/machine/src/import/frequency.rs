//! Frequencies: `cpufreq/policy*`.

use super::sys::Sys;
use super::tree::{CPU, Tree};
use crate::{Clock, FreqPolicy, Origin};
use std::ops::RangeInclusive;
use wakelab_input::InputError;
use wakelab_sched::cpumask::CpuMask;

/// kHz, up to 1 THz.
const KHZ: RangeInclusive<i64> = 0..=1_000_000_000;

/// The policies that have CPUs, lowest CPU first.
pub(super) fn read(sys: &Sys<'_>) -> Result<Vec<FreqPolicy>, InputError> {
    let folder = format!("{CPU}/cpufreq");
    let mut policies: Vec<(FreqPolicy, String)> = Vec::new();
    for path in folders(sys, &folder)? {
        let Some(policy) = read_one(sys, &path)? else { continue };
        if let Some((_, other)) = policies.iter().find(|(before, _)| before.cpus.intersects(&policy.cpus)) {
            let what = format!("has CPUs that are also in {other}/related_cpus; expected each CPU in one policy");
            return Err(sys.tree.contradiction(&format!("{path}/related_cpus"), what));
        }
        policies.push((policy, path));
    }
    if policies.is_empty() {
        sys.note(format!("there is no {folder}/policy*: the machine has no frequencies"));
    }
    policies.sort_by_key(|(policy, _)| policy.cpus.first());
    Ok(policies.into_iter().map(|(policy, _)| policy).collect())
}

/// The folders of the policies. Before 4.3, and in copies that followed its link, a policy is in the folders of its
/// CPUs.
fn folders(sys: &Sys<'_>, folder: &str) -> Result<Vec<String>, InputError> {
    let numbers = sys.tree.numbered(folder, "policy")?;
    if !numbers.is_empty() {
        return Ok(numbers.into_iter().map(|number| format!("{folder}/policy{number}")).collect());
    }
    let mut folders = Vec::new();
    let mut known = CpuMask::new(sys.len());
    for cpu in 0..sys.len() {
        let folder = sys.path(cpu, "cpufreq");
        if known.test(cpu) || !sys.tree.has(&format!("{folder}/cpuinfo_max_freq")) {
            continue;
        }
        match sys.mask(&format!("{folder}/related_cpus"))? {
            Some(cpus) => known.or_with(&cpus),
            None => known.set(cpu),
        }
        folders.push(folder);
    }
    if !folders.is_empty() {
        sys.note(format!("there is no {folder}/policy*: the policies are those of the folders cpu*/cpufreq"));
    }
    Ok(folders)
}

/// One policy, if one of its CPUs is online.
fn read_one(sys: &Sys<'_>, folder: &str) -> Result<Option<FreqPolicy>, InputError> {
    let tree = sys.tree;
    let file = |name: &str| format!("{folder}/{name}");
    let need = |name: &str, expected: &str| {
        tree.need(&file(name), expected, |tree: Tree<'_>, path| tree.number(path, &KHZ)).map(|khz| khz as u64)
    };
    let cpus = tree.need(&file("related_cpus"), "the CPUs of the policy", |_, path| sys.mask(path))?;
    if cpus.is_empty() {
        return Ok(None);
    }
    if let Some(affected) = sys.mask(&file("affected_cpus"))?.filter(|affected| *affected != cpus) {
        let (found, expected) = (sys.names(&affected), sys.names(&cpus));
        let what = format!("lists CPUs {found}; expected the online CPUs of related_cpus, {expected}");
        return Err(tree.contradiction(&file("affected_cpus"), what));
    }
    let min_khz = need("cpuinfo_min_freq", "the lowest frequency in kHz")?;
    let max_khz = need("cpuinfo_max_freq", "the highest frequency in kHz")?;
    if max_khz == 0 || min_khz > max_khz {
        let what = format!("found {max_khz}; expected a frequency of cpuinfo_min_freq, {min_khz}, or higher");
        return Err(tree.contradiction(&file("cpuinfo_max_freq"), what));
    }
    let steps = tree.text(&file("scaling_available_frequencies"))?.unwrap_or_default();
    let step = |text| tree.number_in(&file("scaling_available_frequencies"), text, &(1..=*KHZ.end()));
    let mut steps_khz: Vec<u64> =
        steps.split_whitespace().map(|text| step(text).map(|khz| khz as u64)).collect::<Result<_, _>>()?;
    steps_khz.sort_unstable();
    steps_khz.dedup();
    let base_khz = tree.number(&file("base_frequency"), &KHZ)?.filter(|&khz| khz > 0).map(|khz| khz as u64);
    let driver = tree.text(&file("scaling_driver"))?.filter(|driver| !driver.is_empty());
    let origin = Origin::Source("sysfs: cpufreq/policy*".to_owned());
    Ok(Some(FreqPolicy {
        cpus,
        driver,
        min_khz,
        max_khz,
        base_khz,
        steps_khz,
        grain_khz: None,
        voltages: Vec::new(),
        voltage_range_pct: [100; 2],
        latency_ns: None,
        delay_ns: None,
        clock: Clock::Policy,
        origin,
    }))
}
