//! Hogs that all begin on one CPU spread over the machine within the intervals of the kernel's domains.
//!
//! The bound, from the rules of `sd_init()` and `get_sd_balance_interval()`. A CPU visits a domain of `w` CPUs at least
//! every 2w ms while it idles (`max_interval`), 16 times as rarely while it is busy (`busy_factor`), and two ticks
//! later at most: times are rounded up to jiffies, and it is a tick that balances or kicks. A visit that finds its
//! group short of tasks takes all that it lacks (`calculate_imbalance()`), or fails: `cache_nice_tries` + 1 times for
//! warm caches, and once more by load, where a task is more than is to be moved and each failure halves it. So each
//! level is even after as many visits and one more, and all are after the sum, since a level can be even only once
//! those above are.

use crate::support::MS;
use crate::support::spread::{bound, even, hogs, machine, shapes, spread};
use wakelab_kernel::Preset;
use wakelab_sched::domain::Uniform;

/// CPUs fall out of step otherwise with each.
const SEEDS: u64 = 4;

/// The presets that balance by group types.
fn kernels() -> impl Iterator<Item = &'static Preset> {
    Preset::all().iter().copied().filter(|preset| !preset.balance.by_load)
}

/// Runs so many hogs of each number on each shape, and tells when what `good` says of the CPUs' counts holds for the
/// first time and for good, ns, with the bound.
fn all(
    numbers: impl Fn(u32) -> Vec<u32>,
    good: impl Fn(&Uniform, &[u32]) -> bool,
    hold: impl Fn(&str, (u64, u64), u64),
) {
    for (shape, uniform) in shapes() {
        let machine = machine(uniform);
        let nr_cpus = machine.topology.nr_cpus();
        for kernel in kernels() {
            for (n, seed) in numbers(nr_cpus).into_iter().flat_map(|n| (1..=SEEDS).map(move |seed| (n, seed))) {
                let bound = bound(&machine, kernel, n);
                let places = spread(&machine, kernel, &hogs(n, 0, None), seed, 2 * bound);
                let what = format!("{shape}, {}, {n} hogs, seed {seed}", kernel.name);
                let when = places.when(nr_cpus, |counts| good(&uniform, counts));
                hold(&what, when.unwrap_or_else(|| panic!("{what}: never")), bound);
            }
        }
    }
}

#[test]
fn no_cpu_has_two_hogs_while_another_idles() {
    let numbers = |nr_cpus| vec![2, nr_cpus / 2, nr_cpus - 1, nr_cpus];
    let good = |_: &Uniform, counts: &[u32]| counts.iter().all(|&n| n <= 1);
    all(numbers, good, |what, (_, after), bound| {
        assert!(after <= bound, "{what}: after {after} ns, the bound is {bound}");
    });
}

#[test]
fn every_cpu_gets_its_share_of_more_hogs_than_cpus() {
    let numbers = |nr_cpus| vec![nr_cpus * 3 / 2, 2 * nr_cpus, 4 * nr_cpus];
    let good = |shape: &Uniform, counts: &[u32]| {
        let near = shape.cluster_cores.unwrap_or(shape.cores) * shape.threads;
        counts.chunks(near as usize).all(|counts| even(counts, 1, 100)) && even(counts, near, 117)
    };
    // Where the tasks are no multiple of the CPUs they go on moving, so that a CPU has two more for a moment now and
    // then.
    all(numbers, good, |what, (first, _), bound| {
        assert!(first <= bound, "{what}: after {first} ns, the bound is {bound}");
    });
}

#[test]
fn a_group_that_affinities_keep_from_spreading_gives_to_another() {
    // Both LLCs have two of the four hogs, one of them on one CPU: averages are even, and no CPU of that LLC may take
    // one.
    let (_, uniform) = shapes()[2];
    let machine = machine(uniform);
    for kernel in kernels() {
        let bound = 2 * bound(&machine, kernel, 4);
        let places = spread(&machine, kernel, &hogs(4, 3, Some(vec![3, 4, 5, 6])), 1, bound);
        let last = places.counts.last().expect("a count");
        assert_eq!(last.1, [0, 0, 0, 1, 1, 1, 1], "{}", kernel.name);
    }
}

#[test]
fn a_pass_takes_a_task_that_is_being_switched_out() {
    // The hogs' slices end with ticks, at which CPUs with one hog look for more: each time they find the two of another
    // CPU in the switch from one to the other.
    let machine = machine(Uniform::new(8, 1));
    let kernel = Preset::get("v6.12").expect("a preset");
    let places = spread(&machine, kernel, &hogs(12, 0, None), 1, 5000 * MS);
    let late = places.counts.iter().filter(|counts| counts.0 > 1000 * MS).count();
    assert!(late > 10, "{late} moves");
}
