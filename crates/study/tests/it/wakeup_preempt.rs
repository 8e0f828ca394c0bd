//! Wake-up preemptions of Debian's kernels in guests, asked of the model again. `tests/data/wakeup-preempt` has them:
//! `guest-loads 1 buddies` (tools/vm/), one in three, with 2 CPUs in turns.

use std::path::PathBuf;
use wakelab_study::recordings::wakeup_preempt::{Case, PreemptConformance, conform_preempts};

fn conformance(kernel: &str) -> PreemptConformance {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/wakeup-preempt").join(kernel);
    let (found, errors) = conform_preempts(&[folder], 1);
    assert!(errors.is_empty(), "{errors:?}");
    found
}

#[test]
fn every_preemption_is_the_kernels() {
    for (kernel, preset) in [("6.1", "v6.1"), ("6.12", "v6.12"), ("7.2", "v7.2")] {
        let found = conformance(kernel);
        assert!(found.disagreements.is_empty(), "{kernel}: {:#?}", found.disagreements);
        let total = found.total();
        assert_eq!(total.scored.equal, total.scored.rows);
        assert!(total.scored.rows > 4 * total.not_scored, "{kernel}: {total:?}");
        // Either answer comes up, so that a model that always gives one of them would differ.
        let compared = found.cases[&(preset, Case::Compared)];
        assert!(compared.preempted > 40 && compared.rows - compared.preempted > 40, "{kernel}: {compared:?}");
        let mut expected = vec![Case::Asked, Case::Off, Case::Idle, Case::NotNormal];
        if kernel != "6.1" {
            expected.push(Case::Short);
        }
        for case in expected {
            assert!(found.cases.contains_key(&(preset, case)), "{kernel} has no row of {case:?}");
        }
    }
}
