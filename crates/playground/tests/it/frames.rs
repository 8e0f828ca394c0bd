//! What frames say adds up to what the run measures.

use crate::netperf;
use wakelab_measure::{SearchStats, State};
use wakelab_playground::{Description, Frame, Run, Side};
use wakelab_sched::select::Reason;

/// All frames of a run of steps of `step` ns, each with its end, and the result.
fn frames(description: &Description, step: u64) -> (Vec<Frame>, wakelab_playground::Finished) {
    let side = Side::new(description).expect("it can be simulated");
    Run::with(&side, |mut run| {
        let mut frames = Vec::new();
        for at in (1..).map(|n| n * step) {
            let over = run.advance(at).expect("it runs");
            frames.push(run.frame());
            if over {
                break;
            }
        }
        (frames, run.finish().expect("something is measured"))
    })
    .expect("it is modelled")
}

#[test]
fn bins_and_steps_add_up_whatever_the_steps_are() {
    let description = Description { settle: "0ms".to_owned(), ..netperf("200%", "SIS_UTIL") };
    let mut seen = Vec::new();
    for step in [1_000_000, 7_300_000, 40_000_000] {
        let (frames, finished) = frames(&description, step);
        let bins: Vec<_> = frames.iter().flat_map(|frame| frame.bins.clone()).collect();
        let steps: SearchStats = frames.iter().map(|frame| frame.step.search).sum();
        assert_eq!(bins.len(), 40);
        assert_eq!(bins.iter().map(|bin| bin.done).sum::<u64>(), finished.stats.done);
        assert_eq!(bins.iter().map(|bin| bin.wakeups).sum::<u64>(), finished.stats.wakeups);
        assert_eq!(bins.iter().map(|bin| bin.search).sum::<SearchStats>(), finished.stats.search);
        assert_eq!(steps, finished.stats.search);
        let choices: u64 = frames.iter().map(|frame| frame.step.choices).sum();
        let reasons: u64 = frames.iter().flat_map(|frame| frame.step.reasons).sum();
        assert_eq!(choices, reasons);
        let migrations: u64 = frames.iter().map(|frame| frame.step.migrations).sum();
        assert_eq!(migrations, finished.stats.migrations);
        let last = frames.last().expect("there is one");
        assert_eq!(last.done, [finished.stats.done; 2]);
        assert_eq!(last.changes, finished.stats.changes);
        seen.push((bins, finished));
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "the bins do not depend on the steps");
}

#[test]
fn a_state_is_seen_when_its_windows_are_over() {
    let (frames, finished) = frames(&netperf("200%", "SIS_UTIL"), 1_000_000);
    let change = finished.stats.changes.first().copied().expect("it stacks");
    assert_eq!(change.state, State::Stacked);
    let seen = frames.iter().find(|frame| frame.state == State::Stacked).expect("a frame shows it");
    assert_eq!(seen.at_ns, change.at_ns + 30_000_000);
    assert_eq!(seen.changes, [change]);
    // Then the searches fail, and the CPUs show why their tasks are there.
    let limit = |frame: &Frame| {
        let fails = [Reason::Limit, Reason::Overloaded, Reason::None];
        let placed = frame.cpus.reason.iter().filter(|&&at| at >= 0).map(|&at| Reason::ALL[at as usize]);
        placed.filter(|reason| fails.contains(reason)).count()
    };
    assert!(limit(frames.last().expect("the last")) >= 6, "{:?}", frames.last().map(|frame| &frame.cpus));
}

#[test]
fn a_frame_has_every_cpu_and_the_tasks_by_name() {
    let (frames, _) = frames(&netperf("100%", "SIS_PROP"), 5_000_000);
    let names: Vec<String> = frames.iter().flat_map(|frame| frame.names.clone()).collect();
    assert!(names.iter().any(|name| name.starts_with("netserver")), "{names:?}");
    for frame in &frames {
        let cpus = &frame.cpus;
        assert_eq!([cpus.doing.len(), cpus.task.len(), cpus.reason.len(), cpus.queue.len()], [8; 4]);
        assert!(cpus.doing.chars().all(|letter| "iesrk".contains(letter)), "{}", cpus.doing);
        let known = |&task: &i64| task == -1 || (task as usize) < names.len();
        assert!(cpus.task.iter().all(known));
        assert_eq!(frame.llcs.len(), 1);
        let llc = frame.llcs[0];
        assert_eq!((llc.first, llc.weight, llc.nr_idle_scan), (0, 8, None), "SIS_PROP does not write the number");
        assert!((0.0..=1.0).contains(&llc.util), "{llc:?}");
        assert!(frame.latency[1] <= frame.latency[2]);
    }
}

#[test]
fn the_limit_is_told_where_something_reads_it() {
    let pct = |side: &str| {
        let side = Side::new(&netperf("100%", side)).expect("it can be simulated");
        Run::with(&side, |run| run.begun().sis_util_pct).expect("it is modelled")
    };
    assert_eq!(pct("SIS_PROP"), None);
    assert_eq!(pct("SIS_UTIL"), Some(117));
    assert_eq!(pct("SIS_UTIL,sis_util_pct=130"), Some(130));
    assert_eq!(pct("SIS_UTIL_V1"), Some(117));
    assert_eq!(pct("SIS_UTIL_V3"), None, "the third posting has a formula without it");
}

#[test]
fn a_lower_limit_searches_less() {
    // At 10% no run queue but the target's is looked at; at 100% the search goes on into the LLC.
    let looked = |side: &str| {
        let search = frames(&netperf("100%", side), 10_000_000).1.stats.search;
        search.sis_scanned as f64 / search.sis_search as f64
    };
    let [low, high] = ["SIS_UTIL,sis_util_pct=1000", "SIS_UTIL,sis_util_pct=100"].map(looked);
    assert!(low < 1.5 && high > 2.0 * low, "{low} and {high}");
}
