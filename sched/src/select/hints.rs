//! How the LLC's shared hints are kept: `has_idle_cores` and `nr_idle_scan`.

use super::View;
use crate::cpumask::Cpu;
use crate::domain::SchedDomains;

/// `__update_idle_core()`: whether `cpu`, which goes idle, makes its core idle as a whole, so that `has_idle_cores` of
/// its LLC must become true. `probe` is told of each sibling that is looked at, in order.
///
/// The kernel calls it where SMT is active (`update_idle_core()`), from `set_next_task_idle()`.
pub fn update_idle_core(domains: &SchedDomains, cpu: Cpu, view: &impl View, mut probe: impl FnMut(Cpu)) -> bool {
    if domains.sd_llc(cpu).is_none() || view.has_idle_cores(cpu) {
        return false;
    }
    domains.smt_mask[cpu as usize].iter().filter(|&sibling| sibling != cpu).all(|sibling| {
        probe(sibling);
        view.available_idle_cpu(sibling)
    })
}

/// `update_idle_cpu_scan()`: how many CPUs of an LLC a search may look at, from the LLC's summed utilisation.
///
/// The caller is a balance pass that is not a newly-idle one, on the domain that spans the LLC (6.1 compares the
/// domain's weight with `sd_llc_size`), with SIS_UTIL on. `sum_util` is the sum of the CPUs' utilisation,
/// `llc_weight` how many CPUs, `imbalance_pct` the domain's.
///
/// With `x = sum_util / (llc_weight × 1024)`, the share of CPUs to scan is `y = 1 - p x²`, where `p = (pct/100)²` makes
/// it 0 at `x = 100/pct`, which is the utilisation (85% for 117) where load balancing calls a group overloaded. In
/// integers, with the patch's numbers:
///
/// ```text
/// x' = sum_util / llc_weight                                  (3)
/// y  = 1024 - min(x'² pct² / (10000 × 1024), 1024)            (4)
/// nr_scan = llc_weight × y / 1024                             (2)
/// ```
///
/// Source: "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg", v4, merged as 70fb5ccf2ebb.
pub fn update_idle_cpu_scan(sum_util: u64, llc_weight: u32, imbalance_pct: u32) -> i32 {
    const SCHED_CAPACITY_SCALE: u64 = 1024;
    // equation (3)
    let x = sum_util / u64::from(llc_weight);
    // equation (4); the kernel's product wraps at 64 bits and is compared as a signed long
    let pct = u64::from(imbalance_pct);
    let used = x.wrapping_mul(x).wrapping_mul(pct).wrapping_mul(pct) / (10000 * SCHED_CAPACITY_SCALE);
    let y = SCHED_CAPACITY_SCALE.wrapping_sub((used as i64).min(SCHED_CAPACITY_SCALE as i64) as u64);
    // equation (2)
    (y.wrapping_mul(u64::from(llc_weight)) / SCHED_CAPACITY_SCALE) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the SIS_UTIL posting (v4): utilisation in per cent of the LLC against CPUs to scan.
    #[test]
    fn published_nr_idle_scan_for_112_cpus() {
        let table = include_str!("../../../published/sis_util-nr_idle_scan.csv");
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("llc_weight,sum_util_pct,nr_scan"));
        let mut rows = 0;
        for line in lines {
            let numbers: Vec<u32> = line.split(',').map(|number| number.parse().expect("a number")).collect();
            let [llc_weight, util, nr_scan] = numbers[..] else { panic!("three columns: {line}") };
            let sum_util = u64::from(llc_weight) * 1024 * u64::from(util) / 100;
            assert_eq!(update_idle_cpu_scan(sum_util, llc_weight, 117), nr_scan as i32, "{line}");
            rows += 1;
        }
        assert!(rows > 5);
    }
}
