//! Passes of the load balancer of Debian's kernels in guests, asked of the model again. `tests/data/balance-passes` has
//! them: `cargo xtask vm balance-passes 2`, pairs of processes, two for each CPU, on two packages of two cores
//! with two CPUs each, which take turns. `7.2-llc` and `7.2-llc-smt` have two packages of four CPUs.

use std::path::PathBuf;
use wakelab_study::recordings::balance_passes::{BalanceConformance, conform_balance};

fn conformance(kernel: &str) -> BalanceConformance {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/balance-passes").join(kernel);
    let (found, errors) = conform_balance(&[folder], 1);
    assert!(errors.is_empty(), "{errors:?}");
    found
}

#[test]
fn every_group_and_imbalance_is_the_kernels() {
    for kernel in ["6.1", "6.12", "7.2"] {
        let found = conformance(kernel);
        assert!(found.disagreements.is_empty(), "{kernel}: {:#?}", found.disagreements);
        let total = found.total();
        assert_eq!(total.scored.equal, total.scored.rows);
        assert!(total.scored.rows > total.unstable, "{kernel}: {total:?}");
        // Either answer comes up, so that a model that always gives one of them would differ.
        assert!(total.scored.pulls > 40 && total.scored.rows - total.scored.pulls > 40, "{kernel}: {total:?}");
        for expected in ["balanced", "load", "task"] {
            assert!(found.cases.keys().any(|(.., found)| *found == expected), "{kernel} has no {expected}");
        }
    }
}

/// Cache-aware balancing of 7.2 in a guest with two LLCs (`cargo xtask vm balance-passes`, load `threads`), with and
/// without SMT: the passes above the LLC, most of them while tasks prefer the LLC of the pass's CPU.
#[test]
fn passes_with_preferred_llcs_are_the_kernels() {
    let mut moved = 0;
    for guest in ["7.2-llc", "7.2-llc-smt"] {
        let found = conformance(guest);
        assert!(found.disagreements.is_empty(), "{guest}: {:#?}", found.disagreements);
        let total = found.total();
        assert_eq!((total.scored.equal, total.prefer_llc), (total.scored.rows, 0), "{guest}");
        assert!(total.scored.preferring > 100, "{guest}: {total:?}");
        let llc_tasks = found.cases.iter().filter(|((.., found), _)| *found == "llc_task");
        moved += llc_tasks.map(|(_, agreement)| agreement.rows).sum::<u64>();
    }
    assert!(moved >= 10, "{moved} passes of the kernel are to move a task that prefers the LLC");
}
