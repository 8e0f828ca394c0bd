//! The kernel's vectors, and a system written down as a table.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use wakelab_kernel::Preset;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::policy::PolicyStates;
use wakelab_sched::select::{
    AsymView, Event, IdleView, LlcView, MaskView, Observer, PolicyView, Probe, RqView, ScanClock, Site,
};

/// The folder of vectors: the project's own, or the one that `WAKELAB_VECTORS` names.
pub fn folder() -> PathBuf {
    match std::env::var_os("WAKELAB_VECTORS") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"),
    }
}

/// One row of a vector file.
pub struct VectorRow {
    file: String,
    line: usize,
    columns: std::rc::Rc<HashMap<String, usize>>,
    fields: csv::StringRecord,
}

/// The rows of `functions/<name>.csv`.
pub fn rows(name: &str) -> Vec<VectorRow> {
    rows_of(&folder(), name)
}

/// The same of the project's own folder, for files that it makes itself (`data/vectors/harness`).
pub fn own_rows(name: &str) -> Vec<VectorRow> {
    rows_of(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"), name)
}

fn rows_of(folder: &Path, name: &str) -> Vec<VectorRow> {
    let file = folder.join("functions").join(name);
    let mut reader = csv::Reader::from_path(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let header = reader.headers().expect("a header").clone();
    let columns = std::rc::Rc::new(header.iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect());
    let rows: Vec<_> = reader
        .records()
        .enumerate()
        .map(|(i, record)| VectorRow {
            file: file.display().to_string(),
            line: i + 2,
            columns: std::rc::Rc::clone(&columns),
            fields: record.unwrap_or_else(|e| panic!("{}: {e}", file.display())),
        })
        .collect();
    assert!(!rows.is_empty(), "{} has no rows", file.display());
    rows
}

impl VectorRow {
    pub fn text(&self, column: &str) -> &str {
        let place = self.columns.get(column).unwrap_or_else(|| panic!("{} has no column {column}", self.file));
        &self.fields[*place]
    }

    pub fn get<T: FromStr>(&self, column: &str) -> T {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("{self}: column {column}: {text:?} is no number of the wanted kind"))
    }

    pub fn flag(&self, column: &str) -> bool {
        self.get::<u8>(column) != 0
    }

    pub fn mask(&self, column: &str, nr_cpus: u32) -> CpuMask {
        let text = self.text(column);
        let hex = text.strip_prefix("0x").unwrap_or(text);
        CpuMask::from_hex(64, hex)
            .map(|mask| CpuMask::from_cpus(nr_cpus, mask.iter().filter(|&cpu| cpu < nr_cpus)))
            .unwrap_or_else(|| panic!("{self}: column {column}: {text:?} is no mask"))
    }
}

impl std::fmt::Display for VectorRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A system in which every value is written down. What a vector does not name is 0.
#[derive(Default)]
pub struct Table {
    pub idle: Option<CpuMask>,
    pub sched_idle: Option<CpuMask>,
    pub nr_running: HashMap<u32, u32>,
    pub load: HashMap<u32, u64>,
    pub capacity: HashMap<u32, u64>,
    pub capacity_orig: HashMap<u32, u64>,
    pub thermal_pressure: HashMap<u32, u64>,
    pub thermal_load_avg: HashMap<u32, u64>,
    pub has_idle_cores: bool,
    pub nr_idle_scan: i32,
    pub policies: Option<PolicyStates>,
    /// CPUs to which a wake-up is on its way.
    pub claimed: Vec<u32>,
    pub clock: ScanClock,
    /// How far the clock moves between its two readings, ns.
    pub search_ns: u64,
    pub clock_reads: Cell<u64>,
    /// The first look at this CPU finds it busy, whatever it is: a rule that takes it if it is idle passes it by, and
    /// later looks see it as it is.
    pub overlooked: Cell<Option<u32>>,
    /// The second half of that look, at whether the CPU runs SCHED_IDLE only.
    pub overlooked_sched_idle: Cell<Option<u32>>,
}

impl IdleView for Table {
    fn available_idle_cpu(&self, cpu: u32) -> bool {
        if self.overlooked.get() == Some(cpu) {
            self.overlooked_sched_idle.set(self.overlooked.take());
            return false;
        }
        self.idle.as_ref().is_some_and(|mask| mask.test(cpu))
    }
    fn sched_idle_cpu(&self, cpu: u32) -> bool {
        if self.overlooked_sched_idle.get() == Some(cpu) {
            self.overlooked_sched_idle.take();
            return false;
        }
        self.sched_idle.as_ref().is_some_and(|mask| mask.test(cpu))
    }
}

impl RqView for Table {
    fn nr_running(&self, cpu: u32) -> u32 {
        self.nr_running.get(&cpu).copied().unwrap_or(0)
    }
    fn cpu_load(&self, cpu: u32) -> u64 {
        self.load.get(&cpu).copied().unwrap_or(0)
    }
    fn cpu_runnable_load(&self, cpu: u32) -> u64 {
        self.cpu_load(cpu)
    }
    fn capacity_of(&self, cpu: u32) -> u64 {
        self.capacity.get(&cpu).copied().unwrap_or(1024)
    }
}

impl LlcView for Table {
    fn has_idle_cores(&self, _: u32) -> bool {
        self.has_idle_cores
    }
    fn nr_idle_scan(&self, _: u32) -> i32 {
        self.nr_idle_scan
    }
}

impl AsymView for Table {
    fn arch_scale_cpu_capacity(&self, cpu: u32) -> u64 {
        self.capacity_orig.get(&cpu).copied().unwrap_or(1024)
    }
    fn thermal_pressure(&self, cpu: u32) -> u64 {
        self.thermal_pressure.get(&cpu).copied().unwrap_or(0)
    }
    fn thermal_load_avg(&self, cpu: u32) -> u64 {
        self.thermal_load_avg.get(&cpu).copied().unwrap_or(0)
    }
}

impl PolicyView for Table {
    fn scan_clock(&self, _: u32) -> ScanClock {
        self.clock
    }
    fn cpu_clock(&self, _: u32, _: u32) -> u64 {
        let reads = self.clock_reads.get();
        self.clock_reads.set(reads + 1);
        reads * self.search_ns
    }
    fn policies(&self) -> Option<&PolicyStates> {
        self.policies.as_ref()
    }
    fn claimed(&self, cpu: u32) -> bool {
        self.claimed.contains(&cpu)
    }
}

impl MaskView for Table {}

/// What a decision looked at, sorted as the vectors sort it.
#[derive(Default, Debug)]
pub struct Probes {
    pub fast: Vec<u32>,
    pub smt: Vec<u32>,
    pub scan: Vec<u32>,
    pub capacity: Vec<u32>,
    pub sched_idle: Vec<u32>,
    pub smt_ran: bool,
    pub scan_ran: bool,
    pub capacity_ran: bool,
    pub sis_prop_nr: Option<i32>,
}

impl Observer for Probes {
    const PROBES: bool = true;

    fn event(&mut self, event: Event) {
        match event {
            Event::Probe(Probe { site, cpu, sched_idle, .. }) => {
                match site {
                    Site::Target | Site::Prev | Site::Recent => self.fast.push(cpu),
                    Site::Smt => self.smt.push(cpu),
                    Site::Core | Site::Scan => self.scan.push(cpu),
                    Site::Capacity => self.capacity.push(cpu),
                    Site::Group => unreachable!("the vectors have no slow path"),
                }
                if sched_idle.is_some() {
                    self.sched_idle.push(cpu);
                }
            }
            Event::SelectIdleSmt { .. } => self.smt_ran = true,
            Event::SelectIdleCpu { .. } => self.scan_ran = true,
            Event::SelectIdleCapacity { .. } => self.capacity_ran = true,
            Event::Limit { by: wakelab_kernel::Feature::SIS_PROP, nr } => self.sis_prop_nr = Some(nr),
            _ => {}
        }
    }
}

/// A machine of one package, given by CPU as (core, llc).
pub fn machine(cpus: &[(u32, u32)]) -> SchedDomains {
    use wakelab_sched::domain::{CpuTopology, DomainOptions, LOCAL_DISTANCE, Topology, build_sched_domains};
    let cpus = cpus
        .iter()
        .map(|&(core, llc)| CpuTopology { core, cluster: None, llc, die: 0, package: 0, node: 0, capacity: 1024 })
        .collect();
    let topology = Topology { cpus, node_distance: vec![vec![LOCAL_DISTANCE]] };
    build_sched_domains(&topology, &DomainOptions::of(Preset::get("v6.1").unwrap())).expect("a machine")
}

/// One LLC of `span_weight` cores without SMT.
pub fn one_llc(span_weight: u32) -> SchedDomains {
    machine(&(0..span_weight).map(|cpu| (cpu, 0)).collect::<Vec<_>>())
}
