//! The rows that are kept here are decided as their kernels did.

use std::path::Path;
use std::sync::Arc;
use wakelab_events::{Reader, Row, Snapshot, TopoFile};
use wakelab_sched::select::{Cx, Rules, Select, select_task_rq_fair};

/// Decides all rows; how many there were.
fn decide(recording: &'static str, topo: &str) -> usize {
    let topo = Arc::new(TopoFile::parse(Path::new("topo.json"), topo).expect("a machine"));
    let machine = Arc::clone(&topo);
    let mut reader =
        Reader::new(Path::new("sample.csv"), recording.as_bytes(), |_, _| Ok(machine)).expect("a recording");
    let (mut row, mut rows) = (Row::new(), 0);
    while reader.read(&mut row).expect("a row") {
        let rules = Rules::new(topo.preset, row.features.set, &topo.domains).expect("a machine of like CPUs");
        let (view, wakeup) = (Snapshot::new(&row, &topo, row.features.set), row.wakeup());
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &view };
        let decision = select_task_rq_fair(&mut Select::default(), cx, &mut ());
        assert!(row.stable);
        assert_eq!(decision.cpu, row.chosen_cpu, "line {}: {decision:?}", row.line);
        rows += 1;
    }
    rows
}

#[test]
fn eight_cpus() {
    assert_eq!(
        decide(include_str!("data/6.12-A.csv"), include_str!("../../../../data/recordings/topo-6.12-A.json")),
        8
    );
}

#[test]
fn two_nodes() {
    assert_eq!(
        decide(include_str!("data/6.12-C.csv"), include_str!("../../../../data/recordings/topo-6.12-C.json")),
        3
    );
    assert_eq!(decide(include_str!("data/6.1-C.csv"), include_str!("../../../../data/recordings/topo-6.1-C.json")), 3);
}
