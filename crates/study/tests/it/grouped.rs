//! Choices of Debian's kernels in guests for tasks in control groups, made again by the model. `tests/data/grouped`
//! has a part of what `cargo xtask vm grouped` records: groups of different weights, one with a quota, one with half of
//! the CPUs, one in another, an idle one, and pairs whose ends are in two groups.

use std::path::PathBuf;
use wakelab_events::{Reader, Row};
use wakelab_sched::select::Select;
use wakelab_study::recordings::conform::conform;
use wakelab_study::{Decider, recordings};

fn files(kernel: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/grouped").join(kernel);
    let (files, errors) = recordings::decision_files(&[folder]);
    assert!(errors.is_empty(), "{errors:?}");
    files
}

#[test]
fn choices_for_grouped_tasks_are_the_kernels() {
    for kernel in ["6.12", "7.2"] {
        let (conformance, outcomes) = conform(&files(kernel), &Decider::as_recorded(), 1, &());
        assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{kernel}");
        let total = conformance.total();
        assert_eq!(total.agree, total.rows, "{kernel}: {:#?}", conformance.disagreements.first());
        assert!(total.rows > 300 && total.rows > 10 * conformance.unstable, "{kernel}: {}", total.rows);
    }
}

/// With the load that a task would have without its groups, some of these choices come out differently: their weights
/// have been decisive.
#[test]
fn weights_of_groups_decide_some_of_these_choices() {
    let decider = Decider::as_recorded();
    for kernel in ["6.12", "7.2"] {
        let (mut grouped, mut decided) = (0, 0);
        for file in files(kernel) {
            let mut reader = Reader::open(&file).expect("a recording");
            let topo = reader.topo().clone();
            let (mut row, mut select) = (Row::new(), Select::default());
            while reader.read(&mut row).expect("a row") {
                if !row.stable {
                    continue;
                }
                let with_groups = decider.decide(&row, &topo, &mut select, &mut ());
                grouped += u32::from(row.wakee.h_load * 2 <= row.wakee.load_avg);
                (row.wakee.h_load, row.waker.h_load) = (row.wakee.load_avg, row.waker.load_avg);
                decided += u32::from(decider.decide(&row, &topo, &mut select, &mut ()) != with_groups);
            }
        }
        assert!(grouped > 200, "{kernel}: {grouped} wakees have half of their load or less");
        assert!(decided >= 50, "{kernel}: the weight of a group decides {decided} choices");
    }
}
