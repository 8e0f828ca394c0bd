//! `wakelab trace`: what is in the file, how large it is, and what becomes of it in other hands.

use crate::support::{names, wakelab};
use prost::Message;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use wakelab_perfetto::schema::{EventType, FtraceEvent, SchedSwitch, SchedWakeup, Trace, TrackEvent};

/// A simulated run with its events, and its trace.
fn traced(folder: &Path, governor: &str) -> Trace {
    let compare = format!(
        "compare --machine {} --kernel v6.1 --workload hackbench:process-pipe --load 1 --base SIS_UTIL{governor} \
         --with NO_SIS_UTIL --time 60ms --settle 20ms --repeat 1 --no-cache --events run",
        if governor.is_empty() { "test-8c" } else { "i7-2600k" }
    );
    let output = wakelab(folder, &compare.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = find(&folder.join("run"), "side=base");
    let output = wakelab(folder, &["trace", run.to_str().expect("UTF-8"), "--perfetto", "out.pftrace"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Trace::decode(fs::read(folder.join("out.pftrace")).expect("the file").as_slice()).expect("packets")
}

/// The folder of the run whose path has this in it.
fn find(folder: &Path, part: &str) -> std::path::PathBuf {
    if folder.join("wakeups.parquet").exists() {
        return folder.to_owned();
    }
    let mut below: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    below.sort();
    let with = below.iter().find(|path| path.to_string_lossy().contains(part));
    find(with.unwrap_or(&below[0]), part)
}

fn track_events(trace: &Trace) -> impl Iterator<Item = (u64, &TrackEvent)> {
    trace.packet.iter().filter_map(|packet| Some((packet.timestamp?, packet.track_event.as_ref()?)))
}

#[test]
fn searches_are_slices_with_flows_to_where_their_wakees_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = traced(folder.path(), "");
    let (mut open, mut flows, mut searches, mut ended) = (HashMap::new(), HashMap::new(), 0, 0);
    for (time, event) in track_events(&trace) {
        let track = event.track_uuid.expect("a track");
        match event.r#type() {
            EventType::SliceBegin => {
                searches += 1;
                assert!(event.name_iid.is_some() && event.debug_annotations.len() == 6);
                assert_eq!(open.insert(track, time), None, "a thread makes one search at a time");
                event.flow_ids.iter().for_each(|&flow| assert_eq!(flows.insert(flow, time), None));
            }
            EventType::SliceEnd => assert!(open.remove(&track).is_some_and(|began| began <= time)),
            EventType::Instant => {
                for flow in &event.terminating_flow_ids {
                    ended += 1;
                    assert!(flows.remove(flow).is_some_and(|began| began <= time), "a flow goes forward, once");
                }
            }
            EventType::Counter | EventType::Unspecified => {}
        }
    }
    assert!(open.is_empty() && searches > 1000, "{searches}");
    assert!(ended > searches * 9 / 10, "{ended} of {searches} wakees are seen to run");
}

#[test]
fn the_trace_is_smaller_than_the_same_as_events_of_the_kernel() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = traced(folder.path(), "");
    let size = fs::metadata(folder.path().join("out.pftrace")).expect("the file").len();
    let (mut plain, mut runs) = (0, HashMap::new());
    for bundle in trace.packet.iter().filter_map(|packet| packet.ftrace_events.as_ref()) {
        let cpu = bundle.cpu();
        let compact = bundle.compact_sched.clone().unwrap_or_default();
        let name = |index: u32| Some(compact.intern_table[index as usize].clone());
        let first = bundle.event.iter().find_map(|event| event.sched_switch.as_ref());
        let mut last = first.map_or_else(|| runs.get(&cpu).cloned().unwrap_or_default(), next);
        plain += bundle.event.iter().map(|event| event.encoded_len() as u64 + 2).sum::<u64>();
        let mut time = 0;
        for n in 0..compact.switch_timestamp.len() {
            time += compact.switch_timestamp[n];
            let switch = SchedSwitch {
                prev_comm: last.1,
                prev_pid: Some(last.0),
                prev_prio: Some(120),
                prev_state: Some(compact.switch_prev_state[n]),
                next_comm: name(compact.switch_next_comm_index[n]),
                next_pid: Some(compact.switch_next_pid[n]),
                next_prio: Some(120),
            };
            last = next(&switch);
            plain += length(time, FtraceEvent { sched_switch: Some(switch), ..FtraceEvent::default() });
        }
        let mut time = 0;
        for n in 0..compact.waking_timestamp.len() {
            time += compact.waking_timestamp[n];
            let wakeup = SchedWakeup {
                comm: name(compact.waking_comm_index[n]),
                pid: Some(compact.waking_pid[n]),
                prio: Some(120),
                target_cpu: Some(compact.waking_target_cpu[n]),
            };
            let waking = FtraceEvent { sched_waking: Some(wakeup.clone()), ..FtraceEvent::default() };
            plain += length(time, waking);
            plain += length(time, FtraceEvent { sched_wakeup: Some(wakeup), ..FtraceEvent::default() });
        }
        runs.insert(cpu, last);
    }
    assert!(size * 2 <= plain * 3, "{size} bytes for what takes {plain} as single events");
}

fn next(switch: &SchedSwitch) -> (i32, Option<String>) {
    (switch.next_pid(), switch.next_comm.clone())
}

/// As a field of a bundle.
fn length(time: u64, event: FtraceEvent) -> u64 {
    let event = FtraceEvent { timestamp: Some(time), pid: Some(1000), ..event };
    event.encoded_len() as u64 + 2
}

#[test]
fn what_is_traced_can_be_taken_over_again() {
    let folder = tempfile::tempdir().expect("a folder");
    traced(folder.path(), "");
    let output = wakelab(folder.path(), &["import", "out.pftrace", "-o", "again"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stats = |path: &str| {
        let output = wakelab(folder.path(), &["stats", path, "--format", "json"]);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")["runs"][0].clone()
    };
    let again = stats("again");
    let told =
        String::from_utf8(wakelab(folder.path(), &["import", "out.pftrace", "-o", "more"]).stderr).expect("UTF-8");
    assert!(again["wakeups"].as_u64() > Some(1000), "{again}");
    assert!(again["wait_ns"]["p50"].as_u64() > Some(0), "{again}");
    assert!(told.contains("switches"), "{told}");
}

#[test]
fn frequencies_and_idle_states_are_there_where_power_is_modelled() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = traced(folder.path(), ",governor=schedutil");
    let events = || trace.packet.iter().filter_map(|packet| packet.ftrace_events.as_ref()).flat_map(|of| &of.event);
    let frequencies: Vec<u32> = events().filter_map(|event| event.cpu_frequency.as_ref()?.state).collect();
    assert!(frequencies.iter().any(|khz| *khz < 2_000_000) && frequencies.iter().any(|khz| *khz > 3_000_000));
    assert!(events().filter_map(|event| event.cpu_idle.as_ref()?.state).any(|state| state > 1));
}

/// Both sides of a comparison, as they run.
#[test]
fn a_comparison_leaves_the_first_repeat_of_each_side_with_its_power() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = "compare --machine i7-2600k --kernel v6.1 --workload hackbench:process-pipe --load 1 --repeat 2 \
        --base SIS_UTIL,governor=schedutil --with NO_SIS_UTIL --time 30ms --settle 0s --format json --perfetto \
                   traces";
    let output = wakelab(folder.path(), &compare.split_whitespace().collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("traces/base.pftrace") && said.contains("traces/with.pftrace"), "{said}");
    assert_eq!(names(&folder.path().join("traces")), ["base.pftrace", "with.pftrace"]);
    let read = |side: &str| fs::read(folder.path().join("traces").join(side)).expect("a trace");
    let trace = Trace::decode(read("base.pftrace").as_slice()).expect("packets");
    let power = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
    let power = power.filter(|track| track.name() == "power of package 0").map(|track| track.uuid()).next();
    let values: Vec<(u64, i64)> = track_events(&trace)
        .filter(|(_, event)| event.track_uuid == power)
        .map(|(time, event)| (time, event.counter_value.expect("a value")))
        .collect();
    let ends = values.iter().map(|(time, _)| *time).skip(1).chain([30_000_000]);
    let spent: f64 = values.iter().zip(ends).map(|((time, mw), end)| (*mw as f64) * (end - time) as f64).sum();
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // The mean of two repeats; the trace is of one.
    let mean = result["rows"][0]["base"]["power"]["total_mw"].as_f64().expect("a number");
    assert!((spent / 30e6 / mean - 1.0).abs() < 0.1, "{} mW, {mean} of both repeats", spent / 30e6);
    let plain = Trace::decode(read("with.pftrace").as_slice()).expect("packets");
    assert!(track_events(&plain).any(|(_, event)| event.r#type() == EventType::SliceBegin));
}

#[test]
fn several_cases_have_folders_of_their_own_and_old_traces_are_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let compare = "compare --machine test-8c --kernel v6.1 --workload netperf:TCP_RR --load 2,4 --base SIS_UTIL --with \
                   NO_SIS_UTIL --time 5ms --settle 5ms --no-cache --perfetto traces";
    let old = folder.path().join("traces/workload=netperf%3ATCP_RR/load=4%20threads");
    fs::create_dir_all(&old).expect("a folder");
    fs::write(old.join("base.pftrace"), "old").expect("written");
    let output = wakelab(folder.path(), &compare.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(&old), ["base.pftrace", "with.pftrace"]);
    assert!(fs::metadata(old.join("base.pftrace")).expect("the trace").len() > 1000);
    assert_eq!(names(&folder.path().join("traces/workload=netperf%3ATCP_RR")).len(), 2);
}

/// scx_simple has one queue of its own. The trace of a run is that of its events.
#[test]
fn dispatch_queues_are_counters() {
    let folder = tempfile::tempdir().expect("a folder");
    let object = concat!(env!("CARGO_MANIFEST_DIR"), "/../bpf/tests/data/scx_simple.bpf.o");
    let compare = "compare --machine test-2c --kernel v7.2 --workload hackbench:process-pipe --load 1 --repeat 1 \
                   --base SIS_UTIL --settle 5ms --time 10ms --no-cache --perfetto traces --events run --with";
    let with = format!("scx:{object}");
    let args: Vec<&str> = compare.split_whitespace().chain([&*with]).collect();
    let output = wakelab(folder.path(), &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = find(&folder.path().join("run"), "side=with");
    let output = wakelab(folder.path(), &["trace", run.to_str().expect("UTF-8"), "--perfetto", "out.pftrace"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lengths = |path: &str| {
        let bytes = fs::read(folder.path().join(path)).expect("the trace");
        let trace = Trace::decode(bytes.as_slice()).expect("packets");
        let mut tracks = trace.packet.iter().filter_map(|packet| packet.track_descriptor.as_ref());
        let queue = tracks.find(|track| track.name() == "DSQ 0x0").expect("the queue").uuid();
        let of_queue = track_events(&trace).filter(|(_, event)| event.track_uuid == Some(queue));
        of_queue.map(|(time, event)| (time, event.counter_value.expect("a value"))).collect::<Vec<_>>()
    };
    let (running, later) = (lengths("traces/with.pftrace"), lengths("out.pftrace"));
    assert_eq!(running, later);
    assert!(running.len() >= 100 && running.iter().any(|(_, length)| *length > 10), "{running:?}");
    assert!(running.iter().all(|(_, length)| *length >= 0), "{running:?}");
    let steps = |to: i64| running.windows(2).filter(|pair| pair[1].1 - pair[0].1 == to).count();
    assert_eq!(steps(1) + steps(-1), running.len() - 1, "one task at a time");
}

#[test]
fn one_run_is_traced_and_a_file_that_cannot_be_written_is_not_begun() {
    let folder = tempfile::tempdir().expect("a folder");
    traced(folder.path(), "");
    let several = wakelab(folder.path(), &["trace", "run", "--perfetto", "several.pftrace"]);
    let said = String::from_utf8_lossy(&several.stderr).into_owned();
    assert!(several.status.code() == Some(2) && said.contains("found 2") && said.contains("hint: name one"), "{said}");
    let nowhere = wakelab(folder.path(), &["trace", "run", "--perfetto", "nowhere/out.pftrace"]);
    let said = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(nowhere.status.code() == Some(2), "{said}");
    assert_eq!(names(folder.path()), ["out.pftrace", "run"]);
    let base =
        "compare --machine test-8c --kernel v6.1 --workload netperf:TCP_RR --load 2 --base SIS_UTIL --with NO_SIS_UTIL";
    for place in ["nowhere/traces", "out.pftrace"] {
        let args: Vec<&str> = base.split_whitespace().chain(["--perfetto", place]).collect();
        let refused = wakelab(folder.path(), &args);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && refused.stdout.is_empty(), "{said}");
        assert!(said.contains(&format!("--perfetto: {place}: ")) && said.contains("hint: "), "{said}");
    }
    assert_eq!(names(folder.path()), ["out.pftrace", "run"]);
}
