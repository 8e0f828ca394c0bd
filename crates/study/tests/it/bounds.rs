//! What reads recordings, on values at both ends of their bounds and on changed files: no sum overflows, and all of it
//! ends. The tests are built with overflow checks.

use std::fs;
use std::path::{Path, PathBuf};
use wakelab_study::recordings::ablation::ablate;
use wakelab_study::recordings::conform::conform;
use wakelab_study::recordings::explain::{Filter, explain_file};
use wakelab_study::recordings::replay::replay;
use wakelab_study::recordings::sources;
use wakelab_study::recordings::stats::{By, stats_and_pictures};
use wakelab_study::recordings::summary::summarize;
use wakelab_study::recordings::trace::trace;
use wakelab_study::{Decider, Progress};
use wakelab_testing::changes;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a recording with everything that reads recordings. Returns whether it was read to its end.
fn read(folder: &Path, text: &[u8]) -> bool {
    let path = folder.join("r.csv");
    fs::write(&path, text).expect("written");
    let files = [path.clone()];
    let (found, errors) = sources(&files);
    assert!(errors.is_empty(), "{errors:?}");
    let by = [By::Comm, By::Task, By::Cpu, By::Llc];
    let (_, outcomes) = stats_and_pictures(&found, &by, &() as &dyn Progress);
    let whole = outcomes.iter().all(|outcome| outcome.error.is_none());
    for source in &found {
        assert_eq!(trace(source, Vec::new(), &()).is_ok(), whole, "a trace reads what statistics read");
    }
    let decider = Decider::as_recorded();
    conform(&files, &decider, 10, &());
    summarize(&files, &decider, &Filter::default(), &());
    let _ = replay(&files, &decider, &());
    let _ = explain_file(&path, &decider, &Filter::default(), &(), |_| true);
    whole
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["topo-6.12-A.json", "topo-6.12-C.json", "topo-6.1-C.json"] {
        fs::copy(root().join("data/recordings").join(name), folder.path().join(name)).expect("copied");
    }
    folder
}

#[test]
fn values_at_the_ends_of_their_bounds() {
    let sample = fs::read_to_string(root().join("crates/events/tests/it/data/6.12-A.csv")).expect("a recording");
    let header: Vec<&str> = sample.lines().next().expect("a header").split(',').collect();
    let rows: Vec<Vec<&str>> = sample.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let folder = folder();
    let (time, length) = (1_u64 << 62, 1_u64 << 50);
    let (mut accepted, mut all) = (0, 0);
    for (at, column) in header.iter().enumerate() {
        for end in ["0", "1", "1023", "4194304", "1048576", "65535", "2147483647", "4294967295"]
            .map(str::to_owned)
            .into_iter()
            .chain([time, length, 1 << 40, 1 << 30].map(|end| end.to_string()))
        {
            // All rows have the value, in each place of a list. The first row also has the earliest time.
            let mut changed: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(|c| (*c).to_owned()).collect()).collect();
            for row in &mut changed {
                let items = row[at].split_ascii_whitespace().count().max(1);
                row[at] = vec![end.as_str(); items].join(" ");
            }
            if *column == "dur_ns" {
                let t_ns = header.iter().position(|name| *name == "t_ns").expect("a time");
                changed[0][t_ns] = "0".into();
                changed[1][t_ns] = time.to_string();
            }
            let text: Vec<String> = changed.iter().map(|row| row.join(",")).collect();
            all += 1;
            accepted +=
                usize::from(read(folder.path(), format!("{}\n{}\n", header.join(","), text.join("\n")).as_bytes()));
        }
    }
    assert!(accepted > all / 4, "{accepted} of {all} files were read");

    let text: String = (0..2).map(|_| sample.as_str()).collect();
    fs::write(folder.path().join("r.csv"), text).expect("written");
    let (_, outcomes) = ablate(&[folder.path().join("r.csv")], &());
    assert_eq!(outcomes.len(), 1);
}

#[test]
fn changed_recordings() {
    let folder = folder();
    let mut read_to_the_end = 0;
    let corpus = changes::corpus("recording");
    for (number, (path, bytes)) in corpus.iter().enumerate() {
        if path.extension().is_some_and(|extension| extension == "gz") {
            continue;
        }
        read_to_the_end += usize::from(read(folder.path(), bytes));
        for round in 0..4 {
            let mut random = changes::Random::new(1 + ((number as u64) << 8 | round));
            let mut changed = bytes.clone();
            let header = changed.iter().position(|&byte| byte == b'\n').unwrap_or(0);
            let mut behind = changed.split_off(header);
            changes::change(&mut behind, &corpus[random.below(corpus.len())].1, &[], &mut random);
            changed.append(&mut behind);
            read_to_the_end += usize::from(read(folder.path(), &changed));
        }
    }
    assert!(read_to_the_end > 20, "{read_to_the_end} files");
}
