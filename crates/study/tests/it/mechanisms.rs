//! Experiments without a mechanism, with a stand-in for the simulator.

use std::sync::atomic::AtomicBool;
use wakelab_sim::Mechanisms;
use wakelab_study::mechanisms::{MechanismTable, mechanisms};
use wakelab_testing::fake_runner::{Fake, experiment};

fn table(fake: &Fake, stop: bool) -> MechanismTable {
    mechanisms(fake, &experiment(&["1 thread", "2 threads"], 2), 1, &(), &AtomicBool::new(stop)).unwrap()
}

#[test]
fn the_full_model_comes_first_and_each_mechanism_after_it() {
    let table = table(&Fake::default(), false);
    assert!(table.complete);
    let names: Vec<_> = table.without.iter().map(|without| without.mechanism).collect();
    let listed = Mechanisms::LIST.iter().map(|(name, _)| Some(*name));
    assert_eq!(names, std::iter::once(None).chain(listed).collect::<Vec<_>>());
    assert!(table.without.iter().all(|without| without.rows.len() == 2 && without.rows[0].repeats == 2));
}

#[test]
fn only_the_block_of_a_mechanism_lacks_it() {
    let table = table(&Fake::default(), false);
    let base = |name| {
        let block = table.without.iter().find(|without| without.mechanism == name).unwrap();
        block.rows[0].base_mean
    };
    // The stand-in does a tenth without the window and heeds no other.
    assert!(base(Some("window")) < 0.2 * base(None));
    assert_eq!(base(Some("smt")), base(None));
}

#[test]
fn a_stopped_table_says_so() {
    let table = table(&Fake::default(), true);
    assert!(!table.complete && table.without.iter().all(|without| without.rows.is_empty()));
}
