//! Random decisions.

use super::Version;
use super::machine::{Machine, machine};
use super::table::{Density, Hints, Row, Table};
use proptest::prelude::*;
use std::fmt;
use std::rc::Rc;
use wakelab_kernel::{Feature, FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::{Rules, ScanClock, Uclamp, WakeFlags, Wakee, Waker, Wakeup};

/// Which CPUs the wakee may use. CPU numbers are taken modulo the machine's.
#[derive(Clone, Debug)]
enum Affinity {
    All,
    /// Some, and the previous CPU among them or not.
    Some([u64; 3], bool),
    One(Cpu),
    /// No CPU of this one's LLC, unless there is no other LLC.
    NotLlcOf(Cpu),
}

#[derive(Clone, Debug)]
struct Task {
    flips: u32,
    h_load: u64,
}

#[derive(Clone, Debug)]
struct Who {
    cpu: Cpu,
    prev: Cpu,
    recent: Option<Cpu>,
    waker: Task,
    wakee: Task,
    exiting: bool,
    in_task: bool,
    kthread: bool,
    idle_policy: bool,
    has_contributed: bool,
    on_rq: bool,
    avgs: [u64; 3],
    nid: Option<u32>,
    /// Whether the previous and the recently used CPU are idle, however busy the others are.
    idle: [bool; 2],
}

/// What the rows are made from. Shown are those that are not 0.
#[derive(Clone)]
struct Rows(Vec<u128>);

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().enumerate().filter(|(_, raw)| **raw != 0)).finish()
    }
}

/// What a case is made of.
#[derive(Clone, Debug)]
pub struct Case {
    version: Version,
    machine: Machine,
    switched: Vec<(Feature, bool)>,
    flags: WakeFlags,
    who: Who,
    affinity: Affinity,
    density: Density,
    rows: Rows,
    hints: Vec<(bool, i32)>,
    clock: ScanClock,
    clock_step: u64,
    imbalances: u64,
}

/// A case worked out.
pub struct World {
    /// The kernel that decides.
    pub version: Version,
    /// What `sched` knows of it.
    pub preset: &'static Preset,
    /// The features that are on.
    pub features: FeatureSet,
    /// The machine.
    pub domains: Rc<SchedDomains>,
    /// Its state.
    pub table: Table,
    /// The CPUs that the wakee may use.
    pub allowed: CpuMask,
    waker: Waker,
    flags: WakeFlags,
    who: Who,
}

fn switches() -> impl Strategy<Value = Vec<(Feature, bool)>> {
    let switch = |feature, on: f64| prop::bool::weighted(on).prop_map(move |on| (feature, on));
    (
        switch(Feature::SIS_PROP, 0.3),
        switch(Feature::SIS_UTIL, 0.6),
        switch(Feature::SIS_CORE, 0.85),
        switch(Feature::SIS_LIMIT, 0.2),
        switch(Feature::SIS_SHORT, 0.15),
        switch(Feature::SIS_FILTER, 0.2),
        switch(Feature::WA_IDLE, 0.7),
        switch(Feature::WA_WEIGHT, 0.85),
        switch(Feature::WA_BIAS, 0.7),
        switch(Feature::UTIL_EST, 0.7),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i, j)| vec![a, b, c, d, e, f, g, h, i, j])
}

fn flags() -> impl Strategy<Value = WakeFlags> {
    let wake = prop::sample::select(vec![
        WakeFlags::TTWU,
        WakeFlags::TTWU,
        WakeFlags::TTWU,
        WakeFlags::TTWU,
        WakeFlags::TTWU | WakeFlags::CURRENT_CPU,
        WakeFlags::FORK,
        WakeFlags::EXEC,
    ]);
    (wake, prop::bool::weighted(0.4)).prop_map(|(wake, sync)| if sync { wake | WakeFlags::SYNC } else { wake })
}

fn task() -> impl Strategy<Value = Task> {
    let flips = prop_oneof![4 => Just(0u32), 2 => 0u32..6, 2 => 0u32..200, 1 => 0u32..30_000];
    let h_load = prop_oneof![Just(0u64), Just(1024), 0u64..3000];
    (flips, h_load).prop_map(|(flips, h_load)| Task { flips, h_load })
}

fn who() -> impl Strategy<Value = Who> {
    let cpus = (any::<Cpu>(), any::<Cpu>(), 0u32..4, prop::option::weighted(0.85, any::<Cpu>()));
    (
        cpus,
        task(),
        task(),
        any::<[bool; 8]>(),
        [0u64..2048, 0..2048, 0..1025],
        prop::option::of(0u32..2),
        any::<[bool; 4]>(),
    )
        .prop_map(|((cpu, prev, same, recent), waker, wakee, bits, avgs, nid, idle)| Who {
            cpu,
            prev: if same == 0 { cpu } else { prev },
            recent,
            waker,
            wakee,
            exiting: bits[0] && bits[1],
            in_task: bits[2] || bits[0],
            kthread: bits[3] && bits[4],
            idle_policy: bits[5] && bits[1],
            has_contributed: bits[6],
            on_rq: bits[7],
            avgs,
            nid,
            idle: [idle[0] && idle[1], idle[2] && idle[3]],
        })
}

fn affinity() -> impl Strategy<Value = Affinity> {
    prop_oneof![
        6 => Just(Affinity::All),
        2 => (any::<[u64; 3]>(), prop::bool::weighted(0.7)).prop_map(|(mask, prev)| Affinity::Some(mask, prev)),
        2 => (any::<[u64; 3]>(), any::<[u64; 3]>(), any::<[u64; 3]>(), prop::bool::weighted(0.7)).prop_map(
            |(a, b, c, prev)| Affinity::Some([0, 1, 2].map(|i| a[i] & b[i] & c[i]), prev)
        ),
        1 => any::<Cpu>().prop_map(Affinity::One),
        1 => any::<Cpu>().prop_map(Affinity::NotLlcOf),
    ]
}

fn density() -> impl Strategy<Value = Density> {
    let idle = prop_oneof![3 => 0u32..4, 2 => 4u32..30, 2 => 30u32..90, 1 => 90u32..=100];
    let sched_idle = prop_oneof![3 => Just(0u32), 2 => 0u32..10, 1 => 10u32..50];
    let heat = prop::sample::select(vec![0u64, 0, 300, 600, 1000]);
    let load_shift = prop::sample::select(vec![0u32, 0, 3, 5]);
    (idle, sched_idle, heat, load_shift).prop_map(|(idle, sched_idle, heat, load_shift)| Density {
        idle,
        sched_idle,
        heat,
        load_shift,
    })
}

fn clock() -> impl Strategy<Value = ScanClock> {
    // The last makes the kernel's limit, an int, wrap.
    let idle = || prop_oneof![4 => Just(0u64), 4 => 0u64..2000, 4 => 0u64..1_000_000, 1 => 0u64..1 << 45];
    let cost = prop_oneof![Just(0u64), 0u64..300, 0u64..20_000];
    (0u64..6, idle(), idle(), cost).prop_map(|(late, wake_avg_idle, avg_idle, avg_scan_cost)| ScanClock {
        jiffies: 1000 + late,
        wake_stamp: 1002,
        wake_avg_idle,
        avg_idle,
        avg_scan_cost,
    })
}

/// Cases of all kernels, machines, states and tasks.
pub fn case() -> impl Strategy<Value = Case> {
    case_of(vec![Version::V5_3, Version::V5_10, Version::V6_1, Version::V6_12, Version::V7_2])
}

/// Cases of these kernels.
pub fn case_of(versions: Vec<Version>) -> impl Strategy<Value = Case> {
    let version = prop::sample::select(versions);
    let limit = prop_oneof![Just(0i32), 1i32..4, 0i32..20, 0i32..140];
    let hints = prop::collection::vec((any::<bool>(), limit), 5);
    let rows = prop::collection::vec(any::<u128>(), 137).prop_map(Rows);
    let imbalances = prop_oneof![3 => Just(0u64), 1 => any::<u64>()];
    (
        version,
        machine(),
        switches(),
        flags(),
        who(),
        affinity(),
        density(),
        rows,
        hints,
        clock(),
        0u64..3000,
        imbalances,
    )
        .prop_map(
            |(
                version,
                machine,
                switched,
                flags,
                who,
                affinity,
                density,
                rows,
                hints,
                clock,
                clock_step,
                imbalances,
            )| Case {
                version,
                machine,
                switched,
                flags,
                who,
                affinity,
                density,
                rows,
                hints,
                clock,
                clock_step,
                imbalances,
            },
        )
}

/// A fork or an exec.
pub fn slow_case() -> impl Strategy<Value = Case> {
    (case(), prop::sample::select(vec![WakeFlags::FORK, WakeFlags::EXEC]))
        .prop_map(|(case, flags)| Case { flags, ..case })
}

impl Case {
    /// Works it out.
    pub fn world(&self) -> World {
        let name = match self.version {
            Version::V5_3 => "v5.3",
            Version::V5_10 => "v5.10",
            Version::V6_1 => "v6.1",
            Version::V6_12 => "v6.12",
            Version::V7_2 => "v7.2",
        };
        let preset = Preset::get(name).unwrap();
        let domains = self.machine.domains(self.version);
        let features = self.features(preset);
        let who = self.who_on(domains.nr_cpus);
        World {
            version: self.version,
            preset,
            features,
            table: self.table(&domains, features, &who).with_policies(&Rules::new(preset, features, &domains).unwrap()),
            allowed: self.allowed(&domains, who.prev),
            waker: Waker {
                cpu: who.cpu,
                exiting: who.exiting,
                in_task: who.in_task,
                per_cpu_kthread: who.kthread,
                wakee_flips: who.waker.flips,
                h_load: who.waker.h_load,
            },
            flags: self.flags,
            who,
            domains,
        }
    }

    fn features(&self, preset: &Preset) -> FeatureSet {
        let set = self.switched.iter().fold(preset.features, |set, &(feature, on)| set.with(feature, on));
        // No version with three walks has SIS_UTIL.
        if self.version <= Version::V5_10 { set.with(Feature::SIS_UTIL, false) } else { set }
    }

    fn who_on(&self, nr_cpus: u32) -> Who {
        let mut who = self.who.clone();
        who.cpu %= nr_cpus;
        who.prev %= nr_cpus;
        who.recent = who.recent.map(|cpu| cpu % nr_cpus);
        if self.flags.contains(WakeFlags::EXEC) {
            // A task that executes runs: here, now.
            who.prev = who.cpu;
            who.on_rq = true;
        }
        who
    }

    fn table(&self, domains: &SchedDomains, features: FeatureSet, who: &Who) -> Table {
        let nr_cpus = domains.nr_cpus as usize;
        let mut rows: Vec<Row> = self.rows.0[..nr_cpus].iter().map(|&raw| Row::new(raw, self.density)).collect();
        for (cpu, _) in [Some(who.prev), who.recent].into_iter().zip(who.idle).filter(|&(_, idle)| idle) {
            if let Some(cpu) = cpu {
                rows[cpu as usize].make_idle();
            }
        }
        if who.on_rq {
            // The wakee is one of those that are queued there.
            let row = &mut rows[who.prev as usize];
            row.nr_running = row.nr_running.max(1);
            row.idle = false;
            row.curr_is_idle = false;
        }
        let mut hints = vec![Hints { has_idle_cores: false, nr_idle_scan: 0 }; nr_cpus];
        let mut firsts = domains.sd_llc_id.clone();
        firsts.sort();
        firsts.dedup();
        for (i, &first) in firsts.iter().enumerate() {
            let (has_idle_cores, nr_idle_scan) = self.hints[i % self.hints.len()];
            hints[first as usize] = Hints { has_idle_cores, nr_idle_scan };
        }
        Table {
            clock: self.clock,
            clock_step: self.clock_step,
            util_est_on: features.has(Feature::UTIL_EST),
            imbalances: self.imbalances,
            ..Table::new(domains, rows, hints)
        }
    }

    fn allowed(&self, domains: &SchedDomains, prev: Cpu) -> CpuMask {
        let nr_cpus = domains.nr_cpus;
        let mut mask = match &self.affinity {
            Affinity::All => CpuMask::full(nr_cpus),
            Affinity::One(cpu) => CpuMask::from_cpus(nr_cpus, [cpu % nr_cpus]),
            Affinity::Some(words, with_prev) => {
                let cpus = (0..nr_cpus).filter(|&cpu| words[(cpu / 64) as usize] >> (cpu % 64) & 1 == 1);
                CpuMask::from_cpus(nr_cpus, cpus.chain(with_prev.then_some(prev)))
            }
            Affinity::NotLlcOf(cpu) => {
                let llc = domains.sd_llc_id[(cpu % nr_cpus) as usize];
                CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|&cpu| domains.sd_llc_id[cpu as usize] != llc))
            }
        };
        if mask.is_empty() {
            mask.set(prev);
        }
        mask
    }
}

impl World {
    /// The rules of the kernel on this machine.
    pub fn rules(&self) -> Rules<'_> {
        Rules::new(self.preset, self.features, &self.domains).unwrap()
    }

    /// The waker and the wakee.
    pub fn wakeup(&self) -> Wakeup<'_> {
        let who = &self.who;
        Wakeup {
            waker: self.waker,
            wakee: Wakee {
                prev_cpu: who.prev,
                cpus_ptr: &self.allowed,
                recent_used_cpu: who.recent,
                wakee_flips: who.wakee.flips,
                h_load: who.wakee.h_load,
                idle_policy: who.idle_policy,
                util_avg: who.avgs[0],
                runnable_avg: who.avgs[1],
                util_est: who.avgs[2],
                uclamp: Uclamp::UNUSED,
                has_contributed: who.has_contributed,
                on_rq: who.on_rq,
                is_current: self.flags.contains(WakeFlags::EXEC),
                // Some are short, of some it is not known.
                dur_avg: who.avgs[2] * 600,
                wakes_waker: who.avgs[2].is_multiple_of(2),
                numa_preferred_nid: who.nid,
            },
            flags: self.flags,
        }
    }
}
