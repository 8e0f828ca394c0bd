//! Writing frequencies.

use crate::write::{origin, quoted};
use crate::{Clock, FreqPolicy, Machine};
use std::fmt::Write;
use wakelab_sched::cpumask::{Cpu, CpuMask};

// Writing to a string does not fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{ let _ = writeln!($text, $($arg)*); }};
}

/// One row for all policies that differ in nothing but their CPUs.
pub(crate) fn write(text: &mut String, machine: &Machine) {
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
pub(crate) fn points(points: &[(u64, u64)]) -> String {
    format!("{:?}", points.iter().map(|&(x, y)| [x, y]).collect::<Vec<_>>())
}
