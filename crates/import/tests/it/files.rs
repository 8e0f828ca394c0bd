//! Files of other recorders, built of known bytes: their events are read, and damaged ones are refused.

use std::cell::Cell;
use std::fs;
use std::sync::atomic::AtomicBool;
use wakelab_events::stream::{Source, Switches, Wakes};
use wakelab_import::{Event, EventKind, ImportError, Kind, import, read_events};
use wakelab_testing::recorder_files::{self, header, page, perfetto, switch, trace_dat, waking};

fn events(kind: Kind, bytes: &[u8]) -> Result<Vec<Event>, ImportError> {
    let mut events = Vec::new();
    read_events(kind, bytes, &mut |event| {
        events.push(event);
        Ok(())
    })?;
    Ok(events)
}

/// Task 7 on CPU 0 wakes task 9, which ran last on CPU 1 and runs there.
fn two_cpus() -> Vec<u8> {
    trace_dat(&[
        page(1000, &[(0, switch(0, 0, 7, "waker")), (500, waking(7, 9, "wakee", 1))]),
        page(1100, &[(1400, switch(0, 0, 9, "wakee")), (100, switch(9, 1, 0, "swapper/1"))]),
    ])
}

#[test]
fn the_cpus_of_a_trace_dat_are_merged_by_time() {
    let found = events(Kind::TraceDat, &two_cpus()).expect("events");
    assert_eq!(found.iter().map(|e| (e.t_ns, e.cpu)).collect::<Vec<_>>(), [(1000, 0), (1500, 0), (2500, 1), (2600, 1)]);
    assert_eq!(found[1].kind, EventKind::Waking { pid: 9, comm: "wakee".into(), prev_cpu: Some(1) });
    assert_eq!(found[1].pid, Some(7));
    assert!(matches!(found[3].kind, EventKind::Switch { prev_pid: 9, prev_sleeps: true, next_pid: 0, .. }));
}

#[test]
fn an_import_is_a_recording_with_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, to) = (folder.path().join("trace.dat"), folder.path().join("rec"));
    fs::write(&file, two_cpus()).expect("written");
    let progress = Cell::new((0, 0));
    let found =
        import(std::slice::from_ref(&file), None, &to, &|done, all| progress.set((done, all)), &AtomicBool::new(false))
            .expect("imported");
    assert_eq!((found.wakings, found.switches, found.late), (1, 3, 0));
    let all = two_cpus().len() as u64;
    assert_eq!(progress.get(), (all, all), "progress");
    let sources = Source::at(&to).expect("a recording");
    let [Source::Recorded(tables)] = &sources[..] else { panic!("{sources:?}") };
    let wake = Wakes::recorded(tables).next_wake().expect("read").expect("a wake-up");
    assert_eq!((wake.t_ns, wake.waker_pid, wake.wakee_pid, wake.prev_cpu, wake.dest_cpu), (1500, 7, 9, Some(1), 1));
    let mut switches = Switches::new(tables.switches.clone());
    let ran =
        std::iter::from_fn(|| switches.next_switch().expect("read")).find(|ran| ran.next_pid == 9).expect("it ran");
    assert_eq!(ran.t_ns, 2500);
    assert!(
        import(std::slice::from_ref(&file), None, &to, &|_, _| {}, &AtomicBool::new(false))
            .expect_err("there is something in it")
            .to_string()
            .contains("empty or new folder")
    );
}

#[test]
fn a_file_that_ends_anywhere_is_an_error_or_has_less() {
    let whole = two_cpus();
    for length in 0..whole.len() {
        // Nothing panics; a file that is cut off within the pages is refused.
        let result = events(Kind::TraceDat, &whole[..length]);
        assert!(result.is_err(), "{length} of {}: {result:?}", whole.len());
    }
}

#[test]
fn a_newer_trace_dat_is_refused_with_a_hint_how_to_convert_it() {
    let error = events(Kind::TraceDat, &header("7")).expect_err("version 7").to_string();
    assert!(error.contains("version 6") && error.contains("trace-cmd convert"), "{error}");
}

#[test]
fn a_file_of_no_known_kind_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text, expected) in [("some text\n", "found something else"), ("PERFILE2", "perf.data cannot be read")] {
        let (file, to) = (folder.path().join("file"), folder.path().join("rec"));
        fs::write(&file, text).expect("written");
        let error =
            import(std::slice::from_ref(&file), None, &to, &|_, _| {}, &AtomicBool::new(false)).expect_err(text);
        assert!(error.what.contains(expected) && error.hint.is_some(), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "only the file");
    }
}

/// A packet of a Perfetto trace by hand: a bundle of CPU 2 with one switch from 7, which sleeps, to 9 at 1000.
const PERFETTO: &[u8] = &[
    0x0a, 23, // Trace.packet
    0x0a, 21, // ftrace_events
    0x08, 2, // cpu
    0x12, 17, // event
    0x08, 0xe8, 0x07, // timestamp
    0x10, 7, // pid
    0x22, 10, // sched_switch
    0x10, 7, 0x20, 1, 0x2a, 2, b'a', b'b', 0x30, 9,
];

#[test]
fn perfetto_has_each_kind_of_event_plain_and_compressed() {
    let expected = recorder_files::events();
    for compressed in [false, true] {
        assert_eq!(events(Kind::Perfetto, &perfetto(&expected, compressed)).expect("events"), expected);
    }
}

#[test]
fn pages_that_overlap_or_leave_the_file_are_refused() {
    let whole = two_cpus();
    let places = whole.len() - 2 * 4096 - 2 * 16;
    for (at, value) in [(places + 8, 1 << 40), (places, u64::MAX), (places + 16, 0), (places + 24, 3 * 4096_u64)] {
        let mut changed = whole.clone();
        changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let result = events(Kind::TraceDat, &changed);
        assert!(result.is_err(), "{value} at {at}: {result:?}");
    }
}

#[test]
fn perfetto_packets_are_read() {
    let found = events(Kind::Perfetto, PERFETTO).expect("events");
    let kind = EventKind::Switch {
        prev_pid: 7,
        prev_comm: String::new(),
        prev_sleeps: true,
        next_pid: 9,
        next_comm: "ab".into(),
    };
    assert_eq!(found, [Event { t_ns: 1000, cpu: 2, pid: Some(7), comm: String::new(), kind }]);
    for length in 1..PERFETTO.len() {
        assert!(events(Kind::Perfetto, &PERFETTO[..length]).is_err(), "{length}");
    }
    assert!(events(Kind::Perfetto, &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err(), "4 GiB");
}

#[test]
fn lost_events_are_counted() {
    let lost = |kind, bytes: &[u8]| read_events(kind, bytes, &mut |_| Ok(())).expect("events").lost;
    assert_eq!(lost(Kind::TraceDat, &two_cpus()), 0);
    let mut pages = [page(1000, &[(0, switch(0, 0, 7, "a"))]), page(1100, &[(0, switch(0, 0, 9, "b"))])];
    // RB_MISSED_EVENTS on the first; on the other RB_MISSED_STORED, too, with the number behind the data.
    pages[0][11] |= 0x80;
    pages[1][11] |= 0xc0;
    let length = usize::from(pages[1][8]) + usize::from(pages[1][9]) * 256;
    pages[1][16 + length] = 41;
    assert_eq!(lost(Kind::TraceDat, &trace_dat(&pages)), 1 + 41);
    // FtraceEventBundle.lost_events.
    let mut bundle = PERFETTO.to_vec();
    bundle.extend([0x18, 1]);
    bundle[1] += 2;
    bundle[3] += 2;
    assert_eq!((lost(Kind::Perfetto, PERFETTO), lost(Kind::Perfetto, &bundle)), (0, 1));
}
