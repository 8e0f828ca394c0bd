//! The decision code against decisions that real kernels made.
//!
//! The recordings are the committed sample, or all of the folder that `WAKELAB_RECORDINGS` names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wakelab_events::{Reader, Row, Snapshot};
use wakelab_sched::select::{Cx, Decision, Reason, Rules, Select};
use wakelab_study::recordings::ablation::{RULES, ablate};
use wakelab_study::recordings::conform::conform;
use wakelab_study::recordings::explain::Steps;
use wakelab_study::{Decider, recordings as study_recordings};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/recordings")
}

fn recordings() -> Vec<PathBuf> {
    let folder = std::env::var_os("WAKELAB_RECORDINGS").map_or_else(sample, PathBuf::from);
    listed(folder)
}

fn listed(folder: PathBuf) -> Vec<PathBuf> {
    let (files, errors) = study_recordings::decision_files(&[folder]);
    assert!(errors.is_empty(), "{errors:?}");
    files
}

/// Every stable row: the CPU, the wakee's recent_used_cpu, the waker's wakee_flips.
#[test]
fn recordings_agree_with_the_kernel_on_every_stable_row() {
    let files = recordings();
    let (conformance, outcomes) = conform(&files, &Decider::as_recorded(), 5, &());
    for outcome in &outcomes {
        assert!(outcome.error.is_none(), "{}", outcome.error.as_ref().expect("just seen"));
    }
    let total = conformance.total();
    for disagreement in &conformance.disagreements {
        eprintln!("{}", located(disagreement));
    }
    assert!(total.rows > 0, "no stable row in {} files", files.len());
    assert_eq!(total.agree, total.rows, "{} rows of {} agree", total.agree, total.rows);
    println!("{} stable rows of {} files agree, {} unstable", total.rows, files.len(), conformance.unstable);
}

/// Where a row is and what the model did on it.
fn located(explained: &wakelab_study::recordings::explain::Explained<'_>) -> String {
    format!(
        "{}:{}: kernel chose {}, model {:?} {:#?}",
        explained.file.display(),
        explained.row.line,
        explained.row.chosen_cpu,
        explained.decision,
        explained.steps
    )
}

/// The committed sample is worth its bytes only if every reason that the recorded kernels gave is in it.
#[test]
fn recordings_sample_covers_every_reason() {
    let (conformance, _) = conform(&listed(sample()), &Decider::as_recorded(), 0, &());
    let found: BTreeSet<(&str, Reason)> = conformance.reasons.keys().copied().collect();
    // The recorded machines have no clusters, equal CPUs and no energy model, nothing asked for the waking CPU, and no
    // kernel has SIS_ORACLE or SIS_SHORT.
    let absent = [
        Reason::Oracle,
        Reason::Short,
        Reason::PrevFar,
        Reason::RecentFar,
        Reason::Capacity,
        Reason::Energy,
        Reason::CurrentCpu,
        Reason::Stay,
    ];
    for kernel in ["v6.1", "v6.12", "v7.2"] {
        for reason in Reason::ALL.into_iter().filter(|reason| !absent.contains(reason)) {
            assert!(found.contains(&(kernel, reason)), "{kernel}: no row with reason {reason}");
        }
    }
    let bytes: u64 = std::fs::read_dir(sample())
        .expect("the sample")
        .map(|entry| entry.and_then(|entry| entry.metadata()).expect("a file").len())
        .sum();
    assert!(bytes <= 4 << 20, "{bytes} bytes are more than a clone should carry");
}

/// What is listed here breaks no recorded decision; it is held by the kernel's vectors or by the second implementation
/// of placement only.
const NOT_SHOWN_BY_RECORDINGS: [&str; 6] = [
    // Differs only where a core lies partly outside its LLC's domain (isolcpus).
    "core_scan_by_span",
    // No recorded fork or exec was of a task with a restricted affinity whose group held other CPUs.
    "wakeup_stats_allowed_only",
    // 1 on the recorded machines, so it counts only while no other task runs on the node.
    "imb_numa_nr",
    // Set in thousands of rows, but none of them is a fork or exec across nodes.
    "numa_preferred_nid",
    // Never set while a task forked.
    "sgc->imbalance",
    // An executing task's estimate never made the difference between two groups.
    "task_util_est",
];

#[test]
fn recordings_ablation_every_rule_is_needed() {
    let (ablation, _) = ablate(&listed(sample()), &());
    for (rule, lost) in RULES.iter().zip(&ablation.lost) {
        let lost: u64 = lost.values().sum();
        let exempt = NOT_SHOWN_BY_RECORDINGS.contains(&rule.name);
        assert!(lost > 0 || exempt, "{}: no decision is lost when it is made wrong ({})", rule.name, rule.what);
        assert!(lost == 0 || !exempt, "{}: is shown by {lost} recorded decisions; take it off the list", rule.name);
    }
}

/// The three ways to make a decision: at once on masks, at once with every look told, and step by step.
#[test]
fn recordings_are_decided_alike_at_once_and_step_by_step() {
    let decider = Decider::as_recorded();
    for file in listed(sample()) {
        let mut reader = Reader::open(&file).unwrap_or_else(|e| panic!("{e}"));
        let topo = reader.topo().clone();
        let mut row = Row::new();
        let mut select = Select::default();
        while reader.read(&mut row).unwrap_or_else(|e| panic!("{e}")) {
            let at_once = decider.decide(&row, &topo, &mut select, &mut ());
            let told = decider.decide(&row, &topo, &mut select, &mut Steps::default());
            assert_eq!(at_once, told, "{}:{}", file.display(), row.line);

            let rules = Rules::new(topo.preset, row.features.set, &topo.domains).expect("modelled");
            let wakeup = row.wakeup();
            let view = Snapshot::new(&row, &topo, row.features.set);
            let mut stepped: Option<Decision> = select.start(&rules, &wakeup, &mut ());
            while stepped.is_none() {
                assert!(select.next_probe(&wakeup).is_some(), "an undecided search looks somewhere");
                stepped = select.probe(Cx { rules: &rules, wakeup: &wakeup, view: &view }, &mut ());
            }
            assert_eq!(Some(at_once), stepped, "{}:{}", file.display(), row.line);
        }
    }
}

/// Switched features change decisions, and only in the direction that the feature has.
#[test]
fn recordings_without_sis_util_are_searched_to_the_end() {
    let decider = Decider::with("NO_SIS_UTIL".parse().expect("a feature")).expect("a placement feature");
    let (conformance, _) = conform(&listed(sample()), &decider, 0, &());
    let reasons: BTreeSet<Reason> = conformance.reasons.keys().map(|(_, reason)| *reason).collect();
    assert!(!reasons.contains(&Reason::Overloaded) && !reasons.contains(&Reason::Limit), "{reasons:?}");
    assert!(conformance.switched.scanned > conformance.recorded.scanned);
    assert!(conformance.switched.failed < conformance.recorded.failed);
    assert_eq!(conformance.switched.search, conformance.recorded.search);
}
