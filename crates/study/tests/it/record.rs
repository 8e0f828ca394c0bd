//! Recorded events, read back: they are what was counted, and the choices follow from their inputs.

mod frame;
mod seen;

use frame::{Frame, Row};
use seen::{Change, Seen, changes, wakeup};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use wakelab_events::sim::{Event, Sink};
use wakelab_events::simulated::EventFolder;
use wakelab_kernel::{FeatureSet, Preset};
use wakelab_measure::{Measure, RunStats};
use wakelab_sched::domain::{DomainOptions, SchedDomains, build_sched_domains};
use wakelab_sched::select::{Cx, Decision, Rules, Select, select_task_rq_fair};
use wakelab_sim::{Outcome, Setup};
use wakelab_study::compare::{Block, Comparison, compare};
use wakelab_study::experiment::{Given, Spec};
use wakelab_study::runners::{EventWriter, Simulator};
use wakelab_study::runs::{RunId, Runner, Why};

/// Counts what `RunStats` does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    enqueues: usize,
    switches: usize,
    migrations: usize,
    transactions: usize,
    scans: usize,
    exits: usize,
}

impl Sink for Counts {
    const ON: bool = true;

    fn event(&mut self, _: u64, event: &Event) {
        match event {
            Event::Enqueue { .. } => self.enqueues += 1,
            Event::Switch { .. } => self.switches += 1,
            Event::Migrate { .. } => self.migrations += 1,
            Event::Done { .. } => self.transactions += 1,
            Event::IdleScan { .. } => self.scans += 1,
            Event::Exit { .. } => self.exits += 1,
            _ => {}
        }
    }
}

/// Makes each run twice: once to be recorded, once to be counted.
struct Twice<'a>(EventWriter<'a>, Mutex<Vec<(RunId, Counts)>>);

impl Runner for Twice<'_> {
    fn run(&self, id: &RunId, setup: &Setup<'_>, measure: &mut Measure, stop: &AtomicBool) -> Result<Outcome, Why> {
        let mut counts = Counts::default();
        wakelab_sim::run_dyn(setup, &mut counts, stop)?;
        self.1.lock().unwrap().push((id.clone(), counts));
        self.0.run(id, setup, measure, stop)
    }
}

struct Recorded {
    _temporary: TempDir,
    folder: PathBuf,
    found: Comparison,
    counts: Vec<(RunId, Counts)>,
    experiment: Block,
}

/// Everything from the start is measured, so that it can be counted.
fn record(machine: &str, kernel: &str, workload: &str, load: &str, (base, with): (&str, &str)) -> Recorded {
    let mut spec = Spec::of_two_sides(machine, kernel, workload, Some(load), base, with).expect("an experiment");
    spec.settle_ns = Given::by_default("settle", 0);
    spec.time_ns = Given::by_default("time", 130_000_000);
    spec.repeats = Given::by_default("repeats", 1);
    let experiment = spec.resolve_two_sides().expect("an experiment");
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = temporary.path().join("events");
    let events = EventFolder::new(&folder).expect("a new folder");
    let recording = EventWriter { events: Some(&events), traces: None, others: &Simulator };
    let runner = Twice(recording, Mutex::default());
    let found = compare(&runner, &experiment, 0, &(), &AtomicBool::new(false)).expect("all runs go well");
    let counts = runner.1.into_inner().unwrap();
    Recorded { _temporary: temporary, folder, found, counts, experiment }
}

impl Recorded {
    /// The folder and the counts of each run.
    fn runs(&self) -> impl Iterator<Item = (PathBuf, &RunStats, Counts, bool)> {
        assert_eq!(self.counts.len(), 2 * self.found.rows.len());
        self.counts.iter().map(|(id, counts)| {
            let name = id.workload.replace(':', "%3A").replace('/', "%2F");
            let load = id.load.replace(' ', "%20");
            let (side, variant) = (if id.with { "with" } else { "base" }, &id.variant);
            let folder = format!("workload={name}/load={load}/side={side}/variant={variant}/repeat=1");
            let row = self.found.rows.iter().find(|row| row.load == id.load).expect("its row");
            let stats = if id.with { &row.with.runs[0] } else { &row.base.runs[0] };
            (self.folder.join(folder), stats, *counts, id.with)
        })
    }
}

#[test]
fn what_is_recorded_is_what_was_counted() {
    let recorded = record("test-8c", "v5.19-rc1", "netperf:TCP_RR", "4,16", ("SIS_PROP", "SIS_UTIL"));
    let mut migrations = 0;
    for (folder, stats, counts, _) in recorded.runs() {
        let wakeups = Frame::read(&folder, "wakeups");
        let woken: Vec<Row<'_>> = wakeups.rows().filter(|row| row.int_or("wake_flags") != Some(4)).collect();
        let of_workload = |row: &&Row<'_>| !row.flag("background") && row.int_or("wake_flags") != Some(4);
        let forks = wakeups.len() - woken.len();
        assert!(forks > 4, "{forks} forks");
        assert_eq!(woken.iter().filter(of_workload).count() as u64, stats.wakeups);
        let on_cpu = woken.iter().filter(|row| !row.flag("background") && row.name("queued") == "on-cpu").count();
        assert_eq!(on_cpu as u64, stats.wakeups_on_cpu);
        let claimed = woken.iter().filter(|row| !row.flag("background") && row.flag("claimed")).count();
        assert_eq!(claimed as u64, stats.wakeups_claimed);
        let search = &stats.search;
        assert!(search.sis_search > 10_000, "{search:?}");
        for (column, counted) in [
            ("sis_search", search.sis_search),
            ("sis_domain_search", search.sis_domain_search),
            ("sis_scanned", search.sis_scanned),
            ("sis_failed", search.sis_failed),
        ] {
            assert_eq!(wakeups.sum(column), counted, "{column}");
        }
        let len = |table| Frame::read(&folder, table).len();
        let scans = Frame::read(&folder, "hints").rows().filter(|row| row.name("hint") == "nr_idle_scan").count();
        let exits = Frame::read(&folder, "tasks").rows().filter(|row| row.name("what") == "exits").count();
        let read = Counts {
            enqueues: len("enqueues"),
            switches: len("switches"),
            migrations: len("migrations"),
            transactions: len("transactions"),
            scans,
            exits,
        };
        assert_eq!(read, counts);
        let moved: u64 = Frame::read(&folder, "balance").sum("nr_moved");
        assert!(moved <= counts.migrations as u64, "{moved} of {}", counts.migrations);
        migrations += counts.migrations;
    }
    assert!(migrations > 0);
}

/// What searches of a run were made again, and how many of them were decided on one state.
#[derive(Debug, Default)]
struct Again {
    forks: u32,
    wakeups: u32,
    one_state: u32,
    in_time: u32,
}

fn domains(experiment: &Block) -> SchedDomains {
    build_sched_domains(&experiment.machine.topology, &DomainOptions::of(experiment.kernel)).expect("domains")
}

/// The choice made again with looks at their own moments. What needs no probe is decided at the first moment, and asked
/// again at each change up to the first probe.
fn in_time(seen: &mut Seen<'_>, row: Row<'_>, rules: &Rules<'_>, changes: &[(i64, Change)]) -> Decision {
    let affinity = seen.affinity();
    let wakeup = wakeup(row, &affinity);
    let mut select = Select::default();
    if let Some(decision) = select.start(rules, &wakeup, &mut ()) {
        return decision;
    }
    if select.reads_averages() {
        let _ = select.probe(Cx { rules, wakeup: &wakeup, view: seen }, &mut ());
    }
    let (began, probe) = (row.long("t_ns"), row.long("probe_ns"));
    let mut changes = changes.iter().peekable();
    loop {
        let mut early = select.clone();
        let decision = early.finish(Cx { rules, wakeup: &wakeup, view: seen }, &mut ());
        if early.probes() == 0 {
            return decision;
        }
        let Some((_, change)) = changes.next_if(|change| change.0 <= began + probe) else { break };
        seen.apply(change);
    }
    loop {
        let now = began + i64::from(select.probes() + 1) * probe;
        while let Some((_, change)) = changes.next_if(|change| change.0 <= now) {
            seen.apply(change);
        }
        if let Some(decision) = select.probe(Cx { rules, wakeup: &wakeup, view: seen }, &mut ()) {
            return decision;
        }
    }
}

#[track_caller]
fn same(row: Row<'_>, decision: &Decision, how: &str) {
    let count = decision.count;
    let got = (decision.cpu as i32, decision.reason.name(), decision.target as i32);
    let kept = (row.int("chosen_cpu"), row.name("reason"), row.int("target_cpu"));
    let at = (row.long("t_ns"), row.int("waker_cpu"), row.int("wakee_pid"));
    assert_eq!(got, kept, "{how}: wake-up at, by, of {at:?}");
    let counts = [count.search, count.domain_search, count.scanned, count.failed].map(|n| n as i32);
    let columns = ["sis_search", "sis_domain_search", "sis_scanned", "sis_failed"];
    assert_eq!(counts, columns.map(|name| row.int(name)), "{how}: wake-up at, by, of {at:?}");
}

fn decide_again(folder: &Path, kernel: &'static Preset, features: FeatureSet, domains: &SchedDomains) -> Again {
    let rules = Rules::new(kernel, features, domains).expect("a kernel that is modelled");
    let changes = changes(folder);
    let wakeups = Frame::read(folder, "wakeups");
    let mut again = Again::default();
    for row in wakeups.rows().filter(|row| row.int_or("chosen_cpu").is_some()) {
        let mut seen = Seen::new(row, domains);
        let affinity = seen.affinity();
        let at_once = || {
            let cx = Cx { rules: &rules, wakeup: &wakeup(row, &affinity), view: &seen };
            select_task_rq_fair(&mut Select::default(), cx, &mut ())
        };
        if row.long_or("probe_ns").is_none() {
            same(row, &at_once(), "fork");
            again.forks += 1;
            continue;
        }
        again.wakeups += 1;
        let at = changes.partition_point(|change| change.0 < row.long("t_ns"));
        let after = changes.partition_point(|change| change.0 <= row.long("t_ns"));
        if at != after {
            // It cannot be told what of that moment is in the inputs already.
            continue;
        }
        // SIS_PROP ages its average when a jiffy has begun, which is a whole number of ms, and reads it after `t_ns`.
        let ms = |column| row.long(column) / 1_000_000;
        if ms("t_ns") != ms("decided_ns") {
            continue;
        }
        if changes.get(at).is_none_or(|change| change.0 > row.long("decided_ns")) {
            same(row, &at_once(), "on one state");
            again.one_state += 1;
        }
        same(row, &in_time(&mut seen, row, &rules, &changes[at..]), "in time");
        again.in_time += 1;
    }
    again
}

#[test]
fn choices_made_again_from_what_is_recorded_are_the_same() {
    for (machine, kernel, load, base, with) in [
        ("test-8c", "v5.19-rc1", "1,12", "SIS_PROP", "SIS_UTIL"),
        ("test-2s", "v6.1", "16", "SIS_PROP", "SIS_UTIL,NO_SIS_PROP"),
    ] {
        let recorded = record(machine, kernel, "netperf:TCP_RR", load, (base, with));
        let domains = domains(&recorded.experiment);
        let mut all = Again::default();
        for (folder, _, _, with) in recorded.runs() {
            let experiment = &recorded.experiment;
            let side = experiment.side(usize::from(with));
            let again = decide_again(&folder, experiment.kernel, side.features, &domains);
            all.forks += again.forks;
            all.wakeups += again.wakeups;
            all.one_state += again.one_state;
            all.in_time += again.in_time;
        }
        assert!(all.wakeups - all.in_time < all.wakeups / 20, "{machine} {kernel}: {all:?}");
        assert!(all.forks > 10 && all.one_state > 1000 && all.in_time > 10_000, "{machine} {kernel}: {all:?}");
    }
}
