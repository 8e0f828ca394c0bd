//! Files of trace-cmd and perf: the events that are read are those that these programs print (`recorded/README.md`).

use wakelab_import::{Event, EventKind, Kind, read_events};
use wakelab_testing::recorder_files::gunzip;

pub const TRACE_DAT: &[u8] = include_bytes!("../../../../fuzz/corpus/trace_dat/linux-6.1.dat");
pub const TRACE_TEXT: &[u8] = include_bytes!("recorded/linux-6.1.trace-cmd.txt.gz");
pub const PERF_DATA: &[u8] = include_bytes!("../../../../fuzz/corpus/perf_data/linux-6.1.data");
pub const PERF_TEXT: &[u8] = include_bytes!("recorded/linux-6.1.perf.txt.gz");
const VERSION_7: &[u8] = include_bytes!("../../../../fuzz/corpus/trace_dat/bad-version-7.dat");

/// The events of a file in the order of their times.
pub fn events(kind: Kind, bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let losses = read_events(kind, bytes, &mut |event| {
        events.push(event);
        Ok(())
    });
    losses.expect("events");
    events.sort_by_key(|event| event.t_ns);
    events
}

/// The events of a printed trace: `rcu_preempt-15 [001] 139.908889: sched_switch: prev_comm=rcu_preempt prev_pid=15 …`.
/// Times are in us.
fn printed(text: &[u8]) -> Vec<Event> {
    let whole = String::from_utf8(gunzip(text)).expect("text");
    whole.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Event> {
    let (who, rest) = line.split_once(" [")?;
    let pid = who.trim_end().rsplit([' ', '-']).next()?.parse().ok();
    let (cpu, rest) = rest.split_once(']')?;
    let (time, rest) = rest.split_once(": ")?;
    let (seconds, us) = time.trim().split_once('.')?;
    let t_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + us.parse::<u64>().ok()? * 1000;
    let (name, fields) = rest.split_once(": ")?;
    let field = |name: &str| fields.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let text = |name: &str| field(name).map(str::to_owned);
    let number = |name: &str| field(name)?.parse::<i64>().ok();
    let (a_pid, a_cpu) = (|name: &str| Some(number(name)? as i32), |name: &str| Some(number(name)? as u32));
    let kind = match name.trim().rsplit(':').next()? {
        "sched_switch" => EventKind::Switch {
            prev_pid: a_pid("prev_pid")?,
            prev_comm: text("prev_comm")?,
            prev_sleeps: !field("prev_state")?.starts_with('R'),
            next_pid: a_pid("next_pid")?,
            next_comm: text("next_comm")?,
        },
        "sched_waking" => {
            EventKind::Waking { pid: a_pid("pid")?, comm: text("comm")?, prev_cpu: Some(a_cpu("target_cpu")?) }
        }
        name @ ("sched_wakeup" | "sched_wakeup_new") => EventKind::Woken {
            pid: a_pid("pid")?,
            comm: text("comm")?,
            dest_cpu: Some(a_cpu("target_cpu")?),
            new: name == "sched_wakeup_new",
        },
        "sched_migrate_task" => {
            let (from_cpu, to_cpu) = (a_cpu("orig_cpu")?, a_cpu("dest_cpu")?);
            EventKind::Migrate { pid: a_pid("pid")?, comm: text("comm")?, from_cpu, to_cpu }
        }
        "cpu_idle" => {
            let state = number("state")?;
            EventKind::Idle { cpu: a_cpu("cpu_id")?, state: (state != i64::from(u32::MAX)).then_some(state as i32) }
        }
        "cpu_frequency" => EventKind::Frequency { cpu: a_cpu("cpu_id")?, khz: number("state")? },
        _ => return None,
    };
    Some(Event { t_ns, cpu: cpu.trim().parse().ok()?, pid, comm: String::new(), kind })
}

fn hold(read: &[Event], printed: &[Event]) {
    assert!(printed.len() > 200, "{} events", printed.len());
    assert_eq!(read.len(), printed.len());
    for (read, printed) in read.iter().zip(printed) {
        assert!(read.t_ns.abs_diff(printed.t_ns) <= 1000, "{read:?} {printed:?}");
        assert_eq!((read.cpu, read.pid, &read.kind), (printed.cpu, printed.pid, &printed.kind));
    }
    for kind in ["Switch", "Waking", "Woken", "Migrate", "Idle"] {
        assert!(read.iter().any(|event| format!("{:?}", event.kind).starts_with(kind)), "{kind}");
    }
}

#[test]
fn a_trace_dat_has_what_trace_cmd_prints() {
    hold(&events(Kind::TraceDat, TRACE_DAT), &printed(TRACE_TEXT));
}

#[test]
fn a_perf_data_has_what_perf_prints() {
    hold(&events(Kind::PerfData, PERF_DATA), &printed(PERF_TEXT));
}

#[test]
fn version_7_of_trace_cmd_is_refused_with_the_next_step() {
    let error = read_events(Kind::TraceDat, VERSION_7, &mut |_| Ok(())).expect_err("version 7");
    assert!(error.to_string().contains("trace-cmd convert --file-version 6"), "{error}");
}

#[test]
fn a_perf_data_that_ends_anywhere_is_refused() {
    for length in (0..PERF_DATA.len()).step_by(97) {
        let result = read_events(Kind::PerfData, &PERF_DATA[..length], &mut |_| Ok(()));
        assert!(result.is_err(), "{length} of {}", PERF_DATA.len());
    }
}
