//! A recording during which CPUs came or went: segments of several machines.

use std::path::Path;
use wakelab_events::recording::{DecisionRow, RecordingWriter, SwitchRow};
use wakelab_study::Decider;
use wakelab_study::recordings::conform::conform;
use wakelab_study::recordings::explain::{Filter, explain_file};
use wakelab_study::recordings::stats::{By, Key, stats};
use wakelab_study::recordings::{decision_files, sources};
use wakelab_testing::recording_rows::{DOMAINS, decision, metadata};

/// The second machine has other numbers for its caches, and a wakee that changes its CPU.
fn record(folder: &Path) {
    let mut keys = metadata();
    keys.push(("wakelab.recording", "1".to_owned()));
    let mut recording = RecordingWriter::new(folder, keys).expect("an empty folder");
    let of = |seq| DecisionRow { prev_cpu: 1, ..decision(seq) };
    let ran = |t_ns| SwitchRow { t_ns, cpu: 0, prev_pid: 0, prev_sleeps: false, next_pid: 8 };
    recording.decision(of(1)).expect("written");
    recording.switch(ran(1010)).expect("written");
    let other = DOMAINS.replace("\"2cpus\"", "\"other\"").replace("[0, 0]", "[1, 1]");
    recording
        .change_metadata(vec![("wakelab.machine", "other".to_owned()), ("wakelab.domains", other)])
        .expect("written");
    recording.decision(DecisionRow { llc_ids: &[1], ..of(100) }).expect("written");
    recording.switch(ran(1200)).expect("written");
    recording.close_segments().expect("written");
}

#[test]
fn all_segments_are_counted_compared_and_explained_each_by_its_machine() {
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("rec");
    record(&folder);
    let (found, errors) = sources(std::slice::from_ref(&folder));
    assert_eq!(errors, []);
    let (stats, outcomes) = stats(&found, &[By::Llc], &());
    assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{outcomes:?}");
    let (run, tally) = stats.first_key_value().expect("a run");
    assert_eq!((run.machine.as_str(), tally.all.wakeups, tally.unseen), ("2cpus, then other", 2, 0));
    let parts = &tally.breakdowns[0].tallies;
    assert_eq!(parts.keys().collect::<Vec<_>>(), [&Key::Number(0), &Key::Number(1)]);
    assert!(parts.values().all(|part| part.wakeups == 1 && part.waits.latency().n == 1), "{parts:?}");

    let (files, errors) = decision_files(&[folder]);
    assert_eq!(errors, []);
    let (conformance, outcomes) = conform(&files, &Decider::as_recorded(), 5, &());
    assert!(outcomes.iter().all(|outcome| outcome.error.is_none()));
    assert_eq!(conformance.total().rows + conformance.unstable, 2);
    let mut machines = Vec::new();
    for file in files {
        explain_file(&file, &Decider::as_recorded(), &Filter::default(), &(), |explained| {
            machines.push(explained.topo.topology.clone());
            true
        })
        .expect("it reads");
    }
    assert_eq!(machines, ["2cpus", "other"]);
}
