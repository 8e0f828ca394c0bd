//! Experiments made by chance, small enough to run in seconds: what the checked and the release build must agree on.

use crate::random_workload::{self, Allowed};
use crate::splitmix64::Random;

/// The name of the workload's file that an experiment may need beside it.
pub const WORKLOAD_FILE: &str = "workload.toml";

/// Objects of schedulers, from the root of the repository: what changes during a run is changed under one of them.
const SCHEDULERS: &[&str] = &["crates/bpf/tests/data/scx_simple.bpf.o", "crates/scx-bpf/tests/data/offline.bpf.o"];

/// An experiment and what it needs.
#[derive(Debug)]
pub struct Files {
    /// Its text.
    pub experiment: String,
    /// The text of its workload, for a file [`WORKLOAD_FILE`] in the experiment's folder; `None` if it has that of a
    /// benchmark.
    pub workload: Option<String>,
}

/// The experiment of this number: the same for each number, whatever built it. About a quarter are refused, for a
/// switch that the kernel does not have or a load that the workload does not take; that is compared as well. Paths of
/// schedulers begin at `root`, the folder of the repository.
pub fn files(number: u64, root: &str) -> Files {
    let mut random = Random(number);
    let (machine, cpus) = *random.of(&[
        ("test-1c", 1),
        ("test-2c", 2),
        ("test-8c", 8),
        ("test-8c", 8),
        ("test-2llc", 8),
        ("test-2llc", 8),
        ("test-2s", 8),
        ("test-2s", 8),
        ("i7-2600k", 8),
        ("pixel6", 8),
        ("pixel6", 8),
        ("intel-skylake-8c", 8),
        ("ampere-altra-1s80c", 80),
        ("intel-1s56c112t", 112),
    ]);
    let kernel = random.of(&[
        "v5.2",
        "v5.3",
        "v5.10",
        "v5.18",
        "v5.18-eas",
        "v5.19-rc1",
        "v5.19-rc2-tip",
        "v6.1",
        "v6.12",
        "v7.2",
        "v7.3",
    ]);
    const WORKLOADS: &[(&str, &[&str])] = &[
        ("netperf:TCP_RR", &["50%", "100%", "200%", "1..3/1"]),
        ("netperf:UDP_RR", &["25%", "125%"]),
        ("hackbench:process-pipe", &["1", "2"]),
        ("hackbench:thread-sockets", &["1", "2"]),
        ("will-it-scale:context_switch1", &["25%", "100%", "150%"]),
        ("will-it-scale:context_switch1-pinned", &["50%", "100%"]),
        ("perf-bench:sched-messaging", &["1"]),
        ("perf-bench:sched-pipe", &["50%", "100%"]),
        ("tbench:loopback", &["50%", "200%"]),
        ("schbench:normal", &["1", "2"]),
        ("uperf:pingpong", &["50%", "150%"]),
        ("sysbench:oltp_read_write", &["50%", "200%"]),
        ("sysbench:oltp_read_only", &["100%"]),
        ("oracle:oltp", &["100%", "300%"]),
        ("dbench:fileio", &["50%", "200%"]),
        ("ycsb:mongodb", &["1"]),
        ("stress-ng:sock", &["50%", "100%"]),
        ("stream:Triad", &["50%", "100%"]),
        ("gitsource:suite", &["1", "3"]),
        ("kernbench:make", &["50%", "200%"]),
        ("jankbench:mean", &["1"]),
    ];
    let own = random.below(2) == 0;
    let scheduler = (own && random.below(4) == 0).then(|| format!("scx:{root}/{}", random.of(SCHEDULERS)));
    let (workload, load) = match own {
        true => (WORKLOAD_FILE, random.of(&["1", "2", "3", "50%"])),
        false => {
            let (workload, loads) = *random.of(WORKLOADS);
            (workload, random.of(loads))
        }
    };
    // What changes needs a scheduler on each side, which acts on kernels from 6.12 on.
    let kernel = if scheduler.is_some() { random.of(&["v6.12", "v7.2"]) } else { kernel };
    let (base, with) = match &scheduler {
        Some(scheduler) => (scheduler.clone(), scheduler.clone() + *random.of(&["", ",base_slice=2000000"])),
        None => (switches(&mut random), switches(&mut random)),
    };
    let (settle, time) = (random.of(&["0ms", "5ms", "20ms"]), random.of(&["8ms", "30ms", "90ms"]));
    let observer_cost = random.of(&["0ns", "0ns", "0ns", "250ns"]);
    let (repeats, seed) = (1 + random.below(2), 1 + random.below(1 << 20));
    let experiment = format!(
        "name = \"random-{number}\"\nmachine = \"{machine}\"\nkernel = \"{kernel}\"\n\
         repeats = {repeats}\nseed = {seed}\n\
         settle = \"{settle}\"\ntime = \"{time}\"\nobserver_cost = \"{observer_cost}\"\n\n\
         [[workload]]\nname = \"{workload}\"\nload = \"{load}\"\n\n\
         [variants]\nbase = \"{base}\"\nwith = \"{with}\"\n"
    );
    let (groups, bursts) = (!["v5.2", "v5.3"].contains(kernel), !["v5.2", "v5.3", "v5.10"].contains(kernel));
    let allowed = Allowed { cpus, groups, bursts, fair: scheduler.is_none() };
    let workload = own.then(|| random_workload::text(&mut random, allowed));
    Files { experiment, workload }
}

/// None, one or two switches of different kinds.
fn switches(random: &mut Random) -> String {
    const PLACEMENT: &[&str] = &[
        "SIS_UTIL",
        "NO_SIS_UTIL",
        "SIS_PROP",
        "NO_SIS_PROP",
        "SIS_SHORT",
        "SIS_LIMIT",
        "SIS_FILTER",
        "SIS_ORACLE",
        "SIS_SHORT_V6",
        "SIS_CURRENT",
        "SIS_NODE",
        "SIS_NODE_TOPOEXT,SIS_NODE_PAIR",
        "SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY,SIS_EFF_FILTER",
        "SIS_CLUSTER_V9",
        "SIS_CACHE",
        "SIS_PARAM,sis_param_floor=2,sis_param_failed=2,sis_param_run=200,sis_param_short=20000",
        "SIS_SINGLE_PASS",
        "TTWU_BY_NODE",
        "NO_SIS_CORE",
        "NO_WA_WEIGHT",
        "NO_WA_IDLE",
        "NO_TTWU_QUEUE",
    ];
    const OTHERS: &[&str] = &[
        "NO_WAKEUP_PREEMPTION",
        "HRTICK",
        "NEXT_BUDDY",
        "NO_RUN_TO_PARITY",
        "NO_DELAY_DEQUEUE",
        "NO_UTIL_EST",
        "NO_RUNNABLE_BOOST",
        "LB_MIN",
        "NI_COST_BUMP",
        "NI_MIGRATION_COST_GATE",
        "UTIL_EST_FASTER",
        "pelt_multiplier=4",
        "NO_NI_RANDOM",
        "governor=schedutil",
        "governor=performance",
        "governor=ondemand",
        "governor=schedutil,NO_RUNNABLE_BOOST",
    ];
    match random.below(5) {
        0 => String::new(),
        1 | 2 => (*random.of(PLACEMENT)).to_owned(),
        3 => (*random.of(OTHERS)).to_owned(),
        _ => format!("{},{}", random.of(PLACEMENT), random.of(OTHERS)),
    }
}
