//! Passes of the load balancer of Debian's kernels in guests, asked of the model again. `tests/data/balance-passes` has
//! them: `vm/balance-passes 2`, pairs of processes, two for each CPU, on two packages of two cores
//! with two CPUs each, which take turns.

use std::path::PathBuf;
use wakelab_study::balance_passes::{BalanceConformance, conform_balance};

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
