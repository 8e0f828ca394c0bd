//! Events as Parquet: the metadata of the files, and folders that cannot be used.

use crate::support::description_of;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fs::{self, File};
use std::path::Path;
use wakelab_events::sim::{Event, NewGroup, ScxDsq, ScxStep, Sink};
use wakelab_events::simulated::{EventFolder, SCHEMA_VERSION, tables};
use wakelab_events::stream::{ScxStepRow, ScxSteps};
use wakelab_testing::simulated_run::{run_info, topology};

/// The folder of the run.
const RUN: &str = "workload=netperf%3ATCP_RR/load=2%20threads/side=with/variant=NO_SIS_UTIL/repeat=3";

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// If the page differs, the test prints what it should have.
#[test]
fn the_page_describes_the_schema() {
    let page = include_str!("../../../../docs/formats.md");
    let expected = description_of(&tables(), "");
    assert!(page.contains(&expected), "docs/formats.md should have:\n{expected}\n");
    assert!(page.contains(&format!("is {SCHEMA_VERSION}")), "docs/formats.md should name version {SCHEMA_VERSION}");
}

#[test]
fn every_file_has_the_metadata_of_its_run() {
    let (temporary, topology) = (tempfile::tempdir().expect("a folder"), topology());
    let folder = EventFolder::new(temporary.path()).expect("an empty folder");
    let mut recorder = folder.record(&run_info(&topology)).expect("files");
    recorder.event(7, &Event::Enqueue { cpu: 1, task: 2 });
    let step = ScxStep::Queued;
    let (op, dsq) = (Some("enqueue"), Some(ScxDsq::User(0x1f)));
    recorder.event(8, &Event::Scx { task: 2, cpu: 1, step, op, dsq, queued: Some(3), to_cpu: None });
    let none = [None; 2];
    let group =
        NewGroup { group: 1, parent: 0, name: "a", weight: 100, idle: false, max: None, uclamp: none, cpus: None };
    recorder.group(0, &group);
    recorder.finish().expect("it is written");
    let run = temporary.path().join(RUN);
    let read = ScxSteps::simulated(&run).next_step().expect("a file").expect("a step");
    let (op, dsq) = ("enqueue".to_owned(), "0x1f".to_owned());
    assert_eq!(read, ScxStepRow { t_ns: 8, cpu: 1, pid: 2, step, op, dsq, nr_queued: Some(3), to_cpu: None });
    let mut expected: Vec<String> = tables().iter().map(|(name, _)| format!("{name}.parquet")).collect();
    expected.sort();
    assert_eq!(names(&run), expected);
    for (table, columns) in tables() {
        let file = File::open(run.join(format!("{table}.parquet"))).expect("a file");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        let data = reader.metadata().file_metadata();
        assert_eq!(data.num_rows(), i64::from(matches!(table, "enqueues" | "task_groups" | "scx")), "{table}");
        let fields = data.schema_descr().root_schema().get_fields();
        let got: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        assert_eq!(got, columns.iter().map(|column| column.name).collect::<Vec<_>>());
        let pairs = data.key_value_metadata().expect("metadata");
        let value = |key: &str| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
        for (key, expected) in [
            ("wakelab.schema_version", SCHEMA_VERSION),
            ("wakelab.version", env!("CARGO_PKG_VERSION")),
            ("wakelab.kind", "simulated"),
            ("wakelab.table", table),
            ("wakelab.machine", "two"),
            ("wakelab.arch", "arm64"),
            ("wakelab.kernel", "v6.1"),
            ("wakelab.side", "with"),
            ("wakelab.variant", "NO_SIS_UTIL"),
            ("wakelab.workload", "netperf:TCP_RR"),
            ("wakelab.load", "2 threads"),
            ("wakelab.repeat", "3"),
            ("wakelab.seed", "18446744073709551615"),
            ("wakelab.settle_ns", "5"),
            ("wakelab.end_ns", "9"),
        ] {
            assert_eq!(value(key).as_deref(), Some(expected), "{table}: {key}");
        }
        let features = value("wakelab.features").expect("features");
        assert!(features.split(' ').any(|word| word == "NO_SIS_UTIL"), "{features}");
        assert!(features.split(' ').any(|word| word == "TTWU_QUEUE"), "{features}");
        let shape: serde_json::Value =
            serde_json::from_str(&value("wakelab.topology").expect("a shape")).expect("JSON");
        assert_eq!(shape["cpus"].as_array().map(Vec::len), Some(2));
        assert_eq!(shape["cpus"][1]["core"], 1);
        assert_eq!(shape["node_distance"][0][0], 10);
    }
}

#[test]
fn a_run_that_is_not_finished_leaves_nothing() {
    let (temporary, topology) = (tempfile::tempdir().expect("a folder"), topology());
    let path = temporary.path().join("events");
    let folder = EventFolder::new(&path).expect("a new folder");
    let mut recorder = folder.record(&run_info(&topology)).expect("files");
    for time in 0..10_000 {
        recorder.event(time, &Event::Enqueue { cpu: 1, task: 2 });
    }
    assert_eq!(names(&path).len(), 1);
    drop(recorder);
    assert_eq!(names(&path), [""; 0]);
    drop(folder);
    assert!(!path.exists(), "the folder was made for nothing");
}

#[test]
fn a_run_whose_name_is_taken_is_refused_and_leaves_the_other() {
    let (temporary, topology) = (tempfile::tempdir().expect("a folder"), topology());
    let folder = EventFolder::new(temporary.path()).expect("an empty folder");
    let record = || folder.record(&run_info(&topology)).expect("files");
    record().finish().expect("it is written");
    let before = fs::read(temporary.path().join(RUN).join("idle.parquet")).expect("a file");
    let error = record().finish().expect_err("the folder is there");
    assert_eq!(error.path, temporary.path().join(RUN));
    assert_eq!(fs::read(temporary.path().join(RUN).join("idle.parquet")).expect("a file"), before);
    assert_eq!(names(temporary.path()), ["workload=netperf%3ATCP_RR"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_refused_and_stays_as_it_is() {
    let temporary = tempfile::tempdir().expect("a folder");
    let at = |name: &str| temporary.path().join(name);
    fs::create_dir(at("full")).expect("a folder");
    fs::write(at("full/x.parquet"), "x").expect("a file");
    fs::write(at("file"), "x").expect("a file");
    let refused = |path: &Path| {
        let error = EventFolder::new(path).expect_err("it cannot be used");
        assert_eq!(error.path, path);
        error.what
    };
    assert_eq!(refused(&at("full")), "the folder is not empty: it contains x.parquet");
    assert!(refused(&at("file")).starts_with("Not a directory"));
    assert!(refused(&at("no/such")).starts_with("No such file or directory"));
    assert_eq!(
        (names(temporary.path()), names(&at("full"))),
        (vec!["file".into(), "full".into()], vec!["x.parquet".into()])
    );
}
