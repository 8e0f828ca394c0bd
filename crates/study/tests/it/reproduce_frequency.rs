//! The frequency-invariance posting: its numbers come out, within what is said here.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use wakelab_study::reproduce::{Effort, Scored, TurbostatColumn, reproduce, tables};
use wakelab_study::runners::Simulator;

fn rows(name: &str) -> Vec<Scored> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/published");
    let tables = tables(&folder, &[name.to_owned()]).unwrap();
    let board = reproduce(&Simulator, &tables, Effort::FULL, 2, &(), &AtomicBool::new(false));
    board.tables.into_iter().next().unwrap().rows
}

/// Published and simulated numbers of what is called so.
fn of(rows: &[Scored], what: &str) -> Vec<(f64, f64)> {
    let beside = rows.iter().filter_map(|row| row.side_by_side.as_ref()).filter(|beside| beside.what.starts_with(what));
    beside.map(|beside| (beside.published[0].unwrap(), beside.simulated[0].unwrap())).collect()
}

#[test]
fn governors_are_as_slow_and_in_the_order_of_the_posting() {
    let rows = rows("freq-invariance-sequential-tasks-i7-2600k");
    let ratios = of(&rows, "worst time");
    assert_eq!(ratios.len(), 6);
    for (published, simulated) in &ratios {
        assert!((simulated / published - 1.0).abs() < 0.2, "{simulated}, published {published}");
    }
    // Reference, performance, ondemand, powersave, schedutil, invariant schedutil.
    let [reference, performance, ondemand, powersave, plain, invariant] =
        ratios.iter().map(|pair| pair.1).collect::<Vec<_>>()[..]
    else {
        panic!("{ratios:?}")
    };
    let order = [reference, performance, invariant, ondemand, powersave, plain];
    assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
    let mhz = of(&rows, TurbostatColumn::BzyMhz.name());
    assert_eq!(mhz.len(), 4);
    for (published, simulated) in mhz {
        assert!((simulated / published - 1.0).abs() < 0.04, "{simulated} MHz, published {published}");
    }
}

#[test]
fn tasks_that_are_not_pinned_cost_power_and_interrupts() {
    let rows = rows("freq-invariance-turbostat-i7-2600k");
    let times = |what: TurbostatColumn| {
        let pairs = of(&rows, what.name());
        let [pinned, free] = [pairs[0], pairs[1]];
        (free.0 / pinned.0, free.1 / pinned.1)
    };
    let (published, simulated) = times(TurbostatColumn::PkgWatt);
    // 1.06 published, 1.09 simulated.
    assert!((simulated / published - 1.0).abs() < 0.04, "{simulated} times the power, published {published}");
    let (published, simulated) = times(TurbostatColumn::Irq);
    // A miss: the posting has 6.0.
    assert!(simulated > 4.0 && simulated < published, "{simulated} times the interrupts, published {published}");
}

#[test]
fn the_git_test_suite_gains_from_invariance_what_was_published() {
    let rows = rows("freq-invariance-gitsource-ratio");
    assert_eq!(rows.len(), 2);
    for row in rows {
        let (published, simulated) = (row.published_compare_pct.unwrap(), row.simulated_compare_pct.unwrap());
        assert!((simulated - published).abs() < 10.0, "{:?}: {simulated}, published {published}", row.cells[0]);
    }
}
