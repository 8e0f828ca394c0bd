//! Runs that are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;
use wakelab_kernel::Preset;
use wakelab_sim::Mechanisms;
use wakelab_study::compare;
use wakelab_study::compare::{Block, Comparison, Variant};
use wakelab_study::runs::cache::{Cached, LIMIT_BYTES, Store};
use wakelab_study::runs::{Program, RunFailed};
use wakelab_testing::fake_runner::{Fake, experiment};

const LOADS: [&str; 3] = ["1 thread", "2 threads", "3 threads"];

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn store(folder: &Path) -> Store {
    Store::open(folder, Program::named("one build"), false).unwrap()
}

fn try_compare(store: &Store, fake: &Fake, experiment: &Block) -> Result<Comparison, RunFailed> {
    compare::compare(&Cached { store, runner: fake }, experiment, 2, &(), &AtomicBool::new(false))
}

fn compare(store: &Store, experiment: &Block) -> String {
    format!("{:?}", try_compare(store, &Fake::default(), experiment).unwrap())
}

/// How many runs are made of `experiment` where those of the usual one are kept.
fn made(folder: &Path, experiment: &Block) -> usize {
    let store = store(folder);
    compare(&store, experiment);
    store.made()
}

/// The files of all entries, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let inner = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut all: Vec<_> = inner(folder).iter().filter(|path| path.is_dir()).flat_map(|path| inner(path)).collect();
    all.sort();
    all
}

#[test]
fn what_is_kept_is_the_same_to_the_last_bit() {
    let (here, usual) = (folder(), experiment(&LOADS, 3));
    let first = store(here.path());
    let made = compare(&first, &usual);
    assert_eq!((first.found(), first.made()), (0, 18));
    let second = store(here.path());
    assert_eq!(compare(&second, &usual), made);
    assert_eq!((second.found(), second.made()), (18, 0));
    let without = compare::compare(&Fake::default(), &usual, 1, &(), &AtomicBool::new(false)).unwrap();
    assert_eq!(format!("{without:?}"), made);
    assert!(second.warnings().is_empty());
}

#[test]
fn every_input_of_a_run_is_in_its_key() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    assert_eq!((made(here.path(), &usual), made(here.path(), &usual)), (2, 0));
    let differs = |what: &str, change: &dyn Fn(&mut Block)| {
        let mut other = usual.clone();
        change(&mut other);
        assert!(made(here.path(), &other) > 0, "{what}");
    };
    for name in wakelab_machine::Costs::NAMES {
        differs(name, &|e| e.machine.costs.get_mut(name).unwrap().value += 1);
    }
    differs("noise", &|e| e.machine.noise.kworker_run_ns += 1);
    differs("topology", &|e| e.machine.topology.cpus[3].core = 0);
    differs("seed", &|e| e.seed = 2);
    differs("settle", &|e| e.settle_ns += 1);
    differs("time", &|e| e.time_ns += 1);
    differs("observer", &|e| e.observer_cost_ns = 1);
    differs("tasks", &|e| std::sync::Arc::make_mut(&mut e.cases[0].workload).cpu_sets.push(vec![1]));
    differs("parameter", &|e| std::sync::Arc::make_mut(&mut e.cases[0].workload).params[0].value += 1);
    for (name, _) in Mechanisms::LIST {
        differs(name, &|e| e.mechanisms = Mechanisms::without(name).unwrap());
    }
    let side = |switches: &str| Variant::new(Preset::get("v5.19-rc1").unwrap(), &switches.parse().unwrap()).unwrap();
    differs("feature", &|e| e.variants[0] = side("SIS_UTIL,NO_WAKEUP_PREEMPTION"));
    differs("tunable", &|e| e.variants[0] = side("SIS_UTIL,sis_util_pct=200"));
    differs("kernel", &|e| {
        e.variants[0].kernel = Preset::get("v6.1").unwrap().clone();
    });
    let rebuilt = Store::open(here.path(), Program::named("another build"), false).unwrap();
    compare(&rebuilt, &usual);
    assert_eq!((rebuilt.found(), rebuilt.made()), (0, 2));
}

#[test]
fn sides_that_are_the_same_are_one_run() {
    let (here, mut same) = (folder(), experiment(&["1 thread"], 1));
    same.variants[0] = same.base.clone();
    same.variants[0].label = "as the kernel has it".to_owned();
    let store = store(here.path());
    let run = |jobs| {
        compare::compare(&Cached { store: &store, runner: &Fake::default() }, &same, jobs, &(), &AtomicBool::new(false))
    };
    run(1).unwrap();
    assert_eq!((store.found(), store.made()), (1, 1));
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_stopped() {
    let (here, usual) = (folder(), experiment(&LOADS, 2));
    let stopped = store(here.path());
    let stops = Fake { stops_at: Some("2 threads"), ..Fake::default() };
    let run = |store, fake: &Fake| {
        compare::compare(&Cached { store, runner: fake }, &usual, 1, &(), &AtomicBool::new(false)).unwrap()
    };
    assert!(!run(&stopped, &stops).complete);
    assert_eq!((stopped.found(), stopped.made()), (0, 4));
    let again = store(here.path());
    let found = run(&again, &Fake::default());
    assert_eq!((again.found(), again.made()), (4, 8));
    // Of what is lost, no more than that is made again.
    for lost in entries(here.path()).iter().step_by(4) {
        fs::remove_file(lost).unwrap();
    }
    let third = store(here.path());
    assert_eq!(format!("{:?}", run(&third, &Fake::default())), format!("{found:?}"));
    assert_eq!((third.found(), third.made()), (9, 3));
}

#[test]
fn a_run_that_fails_is_not_kept() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    let failing = Fake { fails_at: Some("1 thread"), ..Fake::default() };
    let store = store(here.path());
    assert!(try_compare(&store, &failing, &usual).is_err());
    assert_eq!((store.made(), entries(here.path()).len()), (0, 0));
}

#[test]
fn an_entry_that_is_not_whole_is_made_again_with_a_warning() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    let first = compare(&store(here.path()), &usual);
    type Spoil = fn(&mut Vec<u8>);
    let spoil: [(&str, Spoil); 5] = [
        ("cut", |bytes| bytes.truncate(bytes.len() - 1)),
        ("empty", |bytes| bytes.clear()),
        ("longer", |bytes| bytes.push(0)),
        ("changed", |bytes| *bytes.last_mut().unwrap() ^= 1),
        ("another format", |bytes| bytes[12] ^= 1),
    ];
    for (what, spoil) in spoil {
        let entry = &entries(here.path())[0];
        let mut bytes = fs::read(entry).unwrap();
        spoil(&mut bytes);
        fs::write(entry, bytes).unwrap();
        let store = store(here.path());
        assert_eq!(compare(&store, &usual), first, "{what}");
        assert_eq!((store.found(), store.made()), (1, 1), "{what}");
        let [warning] = &store.warnings()[..] else { panic!("{what}: {:?}", store.warnings()) };
        assert!(warning.contains("is not a complete result; the run is simulated again"), "{warning}");
        assert_eq!(made(here.path(), &usual), 0, "{what}: it was replaced");
    }
}

#[test]
fn an_entry_under_another_name_is_not_taken_for_that() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    let first = compare(&store(here.path()), &usual);
    let all = entries(here.path());
    fs::copy(&all[0], &all[1]).unwrap();
    let store = store(here.path());
    assert_eq!(compare(&store, &usual), first);
    assert_eq!((store.found(), store.made()), (1, 1));
}

#[test]
fn fresh_makes_all_runs_and_replaces_what_was_kept() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    compare(&store(here.path()), &usual);
    for entry in entries(here.path()) {
        fs::write(entry, "old").unwrap();
    }
    let fresh = Store::open(here.path(), Program::named("one build"), true).unwrap();
    compare(&fresh, &usual);
    assert_eq!((fresh.found(), fresh.made(), fresh.warnings().len()), (0, 2, 0));
    assert_eq!(made(here.path(), &usual), 0);
}

#[test]
fn what_was_used_longest_ago_goes_first_and_nothing_else() {
    let (here, usual) = (folder(), experiment(&LOADS, 1));
    let store = store(here.path());
    compare(&store, &usual);
    fs::write(here.path().join("letter.run"), "somebody's").unwrap();
    let all = entries(here.path());
    let old = |path: &Path, hours: u64| {
        let time = std::time::SystemTime::now() - std::time::Duration::from_secs(3600 * hours);
        fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    old(&all[2], 2);
    old(&all[4], 3);
    assert_eq!(store.prune(LIMIT_BYTES), 0);
    assert_eq!(store.prune(4 * 4096), 2);
    let kept: Vec<_> = [0, 1, 3, 5].map(|n| all[n].clone()).to_vec();
    assert_eq!(entries(here.path()), kept);
    // Who only reads does not look.
    let reader = Store::open(here.path(), Program::named("one build"), false).unwrap();
    assert_eq!(reader.prune(0), 0);
    assert!(here.path().join("letter.run").exists() && here.path().join("CACHEDIR.TAG").exists());
}

#[test]
fn what_is_taken_counts_as_used() {
    let (here, usual) = (folder(), experiment(&["1 thread"], 1));
    compare(&store(here.path()), &usual);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let all = entries(here.path());
    for entry in &all {
        fs::File::options().append(true).open(entry).unwrap().set_modified(long_ago).unwrap();
    }
    compare(&store(here.path()), &usual);
    assert!(all.iter().all(|entry| fs::metadata(entry).unwrap().modified().unwrap() > long_ago));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_with_its_name() {
    let here = folder();
    let file = here.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file, Program::named("x"), false).unwrap_err().to_string();
    assert!(error.contains("file cannot be used as a cache: "), "{error}");
}

#[test]
fn the_program_is_known_by_its_bytes() {
    let running = Program::running().unwrap();
    assert_eq!(running, Program::running().unwrap());
    assert_ne!(running, Program::named("one build"));
}

/// Backups leave out what has the tag: it is for folders that hold nothing else.
#[test]
fn only_a_folder_that_was_made_or_empty_is_marked_as_a_cache() {
    let here = folder();
    let tag = |name: &str| here.path().join(name).join("CACHEDIR.TAG");
    fs::create_dir(here.path().join("empty")).unwrap();
    fs::create_dir(here.path().join("home")).unwrap();
    fs::write(here.path().join("home/thesis.txt"), "years of work").unwrap();
    for name in ["new", "empty", "home"] {
        let store = store(&here.path().join(name));
        compare(&store, &experiment(&["1 thread"], 1));
        assert_eq!((store.made(), store.warnings().len()), (2, 0), "{name}");
    }
    assert_eq!(["new", "empty", "home"].map(|name| tag(name).exists()), [true, true, false]);
}
