//! Hogs that all begin on one CPU, where balancing goes by load alone (5.2 and 5.3).

use crate::support::MS;
use crate::support::spread::{bound, even, hogs, machine, shapes, spread};
use wakelab_kernel::Preset;

/// How long a busy CPU's utilisation takes from 0 to where the CPU counts as overloaded, 1024 / 1.17, with half as much
/// missing after 32 ms.
const RAMP: u64 = 90 * MS;

#[test]
fn no_cpu_has_two_hogs_while_another_idles() {
    for kernel in Preset::all().iter().filter(|preset| preset.balance.by_load) {
        for (shape, uniform) in shapes() {
            let machine = machine(uniform);
            let nr_cpus = machine.topology.nr_cpus();
            for n in [2, nr_cpus / 2, nr_cpus - 1, nr_cpus] {
                // An idle CPU leaves a group that does not count as overloaded alone, and a task that is moved takes
                // its utilisation along.
                let bound = bound(&machine, kernel, n) + u64::from(n) * RAMP;
                let places = spread(&machine, kernel, &hogs(n, 0, None), 1, 2 * bound);
                let when = places.when(nr_cpus, |counts| counts.iter().all(|&n| n <= 1));
                let (_, after) = when.unwrap_or_else(|| panic!("{shape}, {n} hogs: never"));
                assert!(after <= bound, "{shape}, {n} hogs: after {after} ns, the bound is {bound}");
            }
        }
    }
}

#[test]
fn every_cpu_gets_its_share_of_more_hogs_than_cpus() {
    let kernel = Preset::get("v5.3").expect("a preset");
    for (shape, uniform) in shapes() {
        let machine = machine(uniform);
        let nr_cpus = machine.topology.nr_cpus();
        for n in [nr_cpus * 3 / 2, 2 * nr_cpus, 4 * nr_cpus] {
            let bound = bound(&machine, kernel, n);
            let places = spread(&machine, kernel, &hogs(n, 0, None), 1, 2 * bound);
            let llc = uniform.cores * uniform.threads;
            let good = |counts: &[u32]| {
                counts.chunks(llc as usize).all(|counts| even(counts, 1, 117)) && even(counts, llc, 125)
            };
            let (first, _) = places.when(nr_cpus, good).unwrap_or_else(|| panic!("{shape}, {n} hogs: never"));
            assert!(first <= bound, "{shape}, {n} hogs: after {first} ns, the bound is {bound}");
        }
    }
}

#[test]
fn what_affinities_have_kept_is_forgotten_as_soon_as_the_rest_is_even() {
    // The case of f6cad8df6b30: a pass that finds the two hogs of CPU 3 pinned, and then nothing else to take, forgets
    // that they are. CPU 6 goes without.
    let (_, uniform) = shapes()[2];
    let machine = machine(uniform);
    let kernel = Preset::get("v5.2").expect("a preset");
    let places = spread(&machine, kernel, &hogs(4, 3, Some(vec![3, 4, 5, 6])), 1, 2000 * MS);
    assert_eq!(places.counts.last().expect("a count").1, [0, 0, 0, 2, 1, 1]);
}
