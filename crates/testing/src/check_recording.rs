//! What must hold for whatever bytes are a recording, or the description of its machine: no panic, errors that say
//! where, and decisions that do not depend on who listens.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use wakelab_events::{ReadError, Reader, Row, Snapshot, TopoFile};
use wakelab_sched::CpuMask;
use wakelab_sched::select::{Cx, Event, Observer, Rules, Select, select_task_rq_fair};

const FILE: &str = "fuzzed.csv";

/// Reads the bytes as a recording, and decides each row; how many there were.
pub fn recording(bytes: &[u8]) -> usize {
    match Reader::new(Path::new(FILE), Cursor::new(bytes.to_vec()), known_machine) {
        Ok(reader) => read_all(reader),
        Err(error) => check(&error),
    }
}

/// Reads the bytes as the description of a machine, and makes decisions on it; how many.
pub fn topo(bytes: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(bytes) else { return 0 };
    match TopoFile::parse(Path::new("fuzzed.json"), text) {
        Ok(topo) => decide_on(Arc::new(topo)),
        Err(error) => check(&error),
    }
}

/// The machines of the corpus, the one with eight CPUs for whatever has no other.
fn known_machine(kernel: &str, topology: &str) -> Result<Arc<TopoFile>, ReadError> {
    static KNOWN: OnceLock<[Arc<TopoFile>; 3]> = OnceLock::new();
    let [a, c, old_c] = KNOWN.get_or_init(|| {
        [
            ("topo-6.12-A.json", include_str!("../../../data/recordings/topo-6.12-A.json")),
            ("topo-6.12-C.json", include_str!("../../../data/recordings/topo-6.12-C.json")),
            ("topo-6.1-C.json", include_str!("../../../data/recordings/topo-6.1-C.json")),
        ]
        .map(|(path, text)| Arc::new(TopoFile::parse(Path::new(path), text).expect("the files are sound")))
    });
    Ok(Arc::clone(match (kernel, topology) {
        ("6.1", topology) if topology.starts_with('C') => old_c,
        (_, topology) if topology.starts_with('C') => c,
        _ => a,
    }))
}

/// Reads all rows and decides each; how many there were.
fn read_all(mut reader: Reader) -> usize {
    let topo = Arc::clone(reader.topo());
    let (mut row, mut rows, mut line) = (Row::new(), 0, 1);
    loop {
        match reader.read(&mut row) {
            Ok(true) => {
                assert!(row.line > line, "rows come one after the other");
                line = row.line;
                rows += 1;
                decide(&row, &topo);
            }
            Ok(false) => return rows,
            Err(error) => {
                check(&error);
                assert_eq!(reader.read(&mut row), Ok(false), "nothing is read after an error");
                return rows;
            }
        }
    }
}

/// An error says where and what to do; nothing was decided.
fn check(error: &ReadError) -> usize {
    assert!(!error.what.is_empty() && error.hint.is_some(), "no hint: {error}");
    assert!(error.to_string().len() < 4096, "the error repeats the file: {} bytes", error.to_string().len());
    0
}

/// Listens to every single look.
#[derive(Default)]
struct Counter {
    events: u32,
}

impl Observer for Counter {
    const PROBES: bool = true;

    fn event(&mut self, _: Event) {
        self.events += 1;
    }
}

fn decide(row: &Row, topo: &TopoFile) {
    let Ok(rules) = Rules::new(topo.preset, row.features.set, &topo.domains) else { return };
    let (view, wakeup) = (Snapshot::new(row, topo, row.features.set), row.wakeup());
    let cx = Cx { rules: &rules, wakeup: &wakeup, view: &view };
    let quiet = select_task_rq_fair(&mut Select::default(), cx, &mut ());
    let heard = select_task_rq_fair(&mut Select::default(), cx, &mut Counter::default());
    assert_eq!(quiet, heard, "line {}", row.line);
    assert!(quiet.cpu < topo.domains.nr_cpus, "line {}", row.line);
}

/// Makes a recording of a few wake-ups on that machine, with idle and loaded CPUs, and decides them.
fn decide_on(topo: Arc<TopoFile>) -> usize {
    if topo.domains.nr_cpus > 64 {
        return 0;
    }
    let text = recording_of(&topo);
    let machine = Arc::clone(&topo);
    let reader = Reader::new(Path::new(FILE), Cursor::new(text.into_bytes()), move |_, _| Ok(machine));
    read_all(reader.expect("the rows are made for the machine"))
}

/// Names of columns with a value each.
type Cells = Vec<(&'static str, String)>;

fn recording_of(topo: &TopoFile) -> String {
    let nr_cpus = topo.domains.nr_cpus;
    let mut text = String::new();
    let masks = [
        CpuMask::full(nr_cpus),
        CpuMask::from_cpus(nr_cpus, [nr_cpus - 1]),
        CpuMask::from_cpus(nr_cpus, [0, nr_cpus / 2]),
    ];
    for (flags, sync) in [("4", false), ("2", false), ("8", false), ("18", true)] {
        for affinity in &masks {
            for idle in ["0", &masks[2].to_hex()] {
                let cells = cells(topo, flags, sync, affinity, idle);
                if text.is_empty() {
                    text += &cells.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",");
                }
                text += "\n";
                text += &cells.into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(",");
            }
        }
    }
    text
}

fn cells(topo: &TopoFile, flags: &str, far: bool, affinity: &CpuMask, idle: &str) -> Cells {
    let nr_cpus = topo.domains.nr_cpus;
    let same = |value: &str| vec![value; nr_cpus as usize].join(" ");
    let by_cpu = |value: &dyn Fn(u32) -> u64| {
        (0..nr_cpus).fold(String::new(), |mut list, cpu| {
            let _ = write!(list, "{} ", value(cpu));
            list
        })
    };
    let ids: BTreeSet<_> = topo.cpu_llc.iter().collect();
    let by_llc = |value: &str| vec![value; ids.len()].join(" ");
    let capacity = |level: usize| {
        by_cpu(&|cpu| {
            let sd = topo.domains.domains[cpu as usize].get(level);
            sd.and_then(|sd| sd.groups().next()).map_or(0, |group| group.capacity)
        })
    };
    let waker = nr_cpus / 3;
    let text = |value: &str| value.to_owned();
    let mut cells: Cells = vec![
        ("kernel", topo.preset.name.trim_start_matches('v').to_owned()),
        ("topology", topo.topology.clone()),
        ("features", text("SIS_UTIL WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST")),
        ("waker_cpu", waker.to_string()),
        ("prev_cpu", (if far { nr_cpus - 1 } else { waker }).to_string()),
        ("wake_flags", text(flags)),
        ("on_rq", text(if flags == "2" { "1" } else { "0" })),
        ("sd_llc_size", topo.domains.sd_llc_size[waker as usize].to_string()),
        ("affinity", affinity.to_hex()),
        ("idle_mask", text(idle)),
        ("curr_idle_mask", text(idle)),
        ("ttwu_pending_mask", text("0")),
        ("wakee_static_prio", text("120")),
        ("cpu_nr_running", by_cpu(&|cpu| u64::from(1 + cpu % 3))),
        ("cpu_load_avg", by_cpu(&|cpu| 1 << (cpu % 40))),
        ("llc_ids", ids.iter().map(|id| id.to_string()).collect::<Vec<_>>().join(" ")),
        ("llc_has_idle_cores", by_llc("1")),
        ("llc_nr_idle_scan", by_llc("4")),
        ("cpu_capacity", same("1024")),
        ("cpu_idle_exit_latency", same("-1")),
        ("cpu_group_cap_l0", capacity(0)),
        ("cpu_group_cap_l1", capacity(1)),
        ("cpu_group_cap_l2", capacity(2)),
    ];
    let lists = [
        "cpu_h_nr_queued",
        "cpu_h_nr_delayed",
        "cpu_h_nr_idle",
        "cpu_runnable_avg",
        "cpu_util_avg",
        "cpu_util_est",
        "cpu_idle_stamp",
        "cpu_group_imbalance",
    ];
    cells.extend(lists.map(|name| (name, same("0"))));
    let numbers = [
        "load",
        "variant",
        "seq",
        "t_ns",
        "dur_ns",
        "stable",
        "waker_pid",
        "waker_comm",
        "waker_policy",
        "waker_flags",
        "waker_nr_cpus_allowed",
        "waker_percpu_kthread",
        "preempt_count",
        "in_task",
        "wakee_pid",
        "wakee_comm",
        "wakee_policy",
        "wakee_flags",
        "wake_flags_text",
        "chosen_cpu",
        "recent_used_cpu",
        "recent_used_cpu_after",
        "waker_flips_before",
        "waker_flips",
        "wakee_flips_before",
        "wakee_flips",
        "last_wakee_is_p",
        "flip_decay_due",
        "nr_cpus_allowed",
        "util_avg",
        "runnable_avg",
        "util_est",
        "load_avg",
        "load_weight",
        "task_h_load",
        "last_update_time_set",
        "numa_preferred_nid",
        "waker_load_avg",
        "waker_load_weight",
        "waker_h_load",
        "idle_mask_exit",
    ];
    cells.extend(numbers.map(|name| (name, text("0"))));
    cells
}
