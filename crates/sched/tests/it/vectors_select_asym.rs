//! Placement on CPUs of different capacities against numbers computed by the kernel's own code (6.1, and 7.3 for
//! `util_fits_cpu()`), and what each rule and input is worth there.

use crate::support::ablation::{Ablation, Unshown};
use crate::support::vectors::{Probes, Table, VectorRow, one_llc, rows};
use std::collections::HashMap;
use std::fmt::Write as _;
use wakelab_kernel::{CapacitySearch, Code, Feature, FeatureSet, Preset, UtilFits};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{SchedDomains, SdFlags};
use wakelab_sched::select::{
    CpuCapacity, Cx, Fit, Reason, Rules, Select, Uclamp, WakeFlags, Wakee, Waker, Wakeup, select_idle_sibling,
    util_fits_cpu,
};

const NR_CPUS: u32 = 8;

/// Columns of a row and what the model gives for them, as text.
type Cells = Vec<(&'static str, String)>;

/// The rows of a file that differ: where, and the first column.
fn differing(file: &[VectorRow], model: impl Fn(&VectorRow) -> Cells) -> Vec<String> {
    let differs = |row: &VectorRow| {
        let (column, got) = model(row).into_iter().find(|(column, got)| row.text(column) != got)?;
        Some(format!("{row}: {column}: expected {:?}, got {got:?}", row.text(column)))
    };
    file.iter().filter_map(differs).collect()
}

/// Panics with the first rows that differ.
fn check(name: &str, model: impl Fn(&VectorRow) -> Cells) {
    let file = rows(name);
    let differing = differing(&file, model);
    let mut message = String::new();
    for row in differing.iter().take(20) {
        writeln!(message, "{row}").expect("a string");
    }
    assert!(differing.is_empty(), "{message}{} of {} rows differ", differing.len(), file.len());
}

fn preset(name: &str) -> &'static Preset {
    Preset::get(name).expect("the preset")
}

/// A column with a number for each CPU.
fn by_cpu(row: &VectorRow, column: &str) -> HashMap<u32, u64> {
    let numbers = row.text(column).split(' ').map(|number| number.parse().expect("a number"));
    let by_cpu: HashMap<u32, u64> = (0..).zip(numbers).collect();
    assert_eq!(by_cpu.len(), NR_CPUS as usize, "{row}: {column}");
    by_cpu
}

fn uclamp(row: &VectorRow) -> Uclamp {
    Uclamp { used: row.flag("uclamp_used"), min: row.get("uclamp_min"), max: row.get("uclamp_max") }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// A row of `select_idle_sibling_asym.csv`.
struct Search {
    code: Code,
    features: FeatureSet,
    domains: SchedDomains,
    waker: Waker,
    prev_cpu: u32,
    recent_used_cpu: Option<u32>,
    util: u64,
    uclamp: Uclamp,
    allowed: CpuMask,
    target: u32,
    table: Table,
}

/// Eight CPUs with one cache, by name of different capacities.
fn machine(asym_domain: bool) -> SchedDomains {
    let mut domains = one_llc(NR_CPUS);
    domains.asym_cpucap_active = true;
    if asym_domain {
        let flags = SdFlags::ASYM_CPUCAPACITY | SdFlags::ASYM_CPUCAPACITY_FULL;
        domains.domains.iter_mut().flatten().for_each(|sd| sd.flags |= flags);
    }
    domains
}

fn search(change: fn(&mut Search)) -> impl Fn(&VectorRow) -> Cells {
    move |row| {
        let this_cpu: u32 = row.get("this_cpu");
        let recent: i64 = row.get("recent_used");
        let mut table = Table {
            idle: Some(row.mask("idle_mask", NR_CPUS)),
            sched_idle: Some(row.mask("sched_idle_mask", NR_CPUS)),
            nr_idle_scan: row.get("nr_idle_scan"),
            capacity: by_cpu(row, "capacity"),
            capacity_orig: by_cpu(row, "capacity_orig"),
            thermal_pressure: by_cpu(row, "thermal_pressure"),
            thermal_load_avg: by_cpu(row, "thermal_load_avg"),
            ..Table::default()
        };
        table.nr_running.insert(this_cpu, row.get("waker_nr_running"));
        let v6_1 = preset("v6.1");
        let mut input = Search {
            code: v6_1.code,
            features: v6_1.features.with(Feature::SIS_PROP, false).with(Feature::SIS_UTIL, true),
            domains: machine(row.flag("asym_domain")),
            waker: Waker {
                cpu: this_cpu,
                exiting: false,
                in_task: row.flag("in_task"),
                per_cpu_kthread: row.flag("waker_percpu_kthread"),
                wakee_flips: 0,
                h_load: 0,
            },
            prev_cpu: row.get("prev"),
            recent_used_cpu: u32::try_from(recent).ok(),
            util: row.get("task_util_est"),
            uclamp: uclamp(row),
            allowed: row.mask("affinity_mask", NR_CPUS),
            target: row.get("target"),
            table,
        };
        change(&mut input);

        let wakee = Wakee {
            recent_used_cpu: input.recent_used_cpu,
            util_est: input.util,
            uclamp: input.uclamp,
            ..Wakee::new(input.prev_cpu, &input.allowed)
        };
        let rules = Rules::of(&input.code, input.features, &input.domains);
        let wakeup = Wakeup { waker: input.waker, wakee, flags: WakeFlags::TTWU };
        let mut probes = Probes::default();
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &input.table };
        let decision = select_idle_sibling(&mut Select::default(), cx, input.target, &mut probes);

        let result = |ran: bool, found: bool| match (ran, found) {
            (false, _) => "-2".to_owned(),
            (true, true) => decision.cpu.to_string(),
            (true, false) => "-1".to_owned(),
        };
        vec![
            ("chosen_cpu", decision.cpu.to_string()),
            ("capacity_result", result(probes.capacity_ran, decision.reason == Reason::Capacity)),
            ("scan_result", result(probes.scan_ran, decision.reason == Reason::Scan)),
            ("probes_fast", list(&probes.fast)),
            ("probes_capacity", list(&probes.capacity)),
            ("probes_scan", list(&probes.scan)),
            ("recent_used_after", decision.effects.recent_used_cpu.map_or(recent, i64::from).to_string()),
        ]
    }
}

/// A row of `util_fits_cpu_6_1.csv` or `util_fits_cpu_7_3.csv`.
struct Fits {
    code: Code,
    util: u64,
    uclamp: Uclamp,
    cpu: CpuCapacity,
}

fn fits(name: &'static str, change: fn(&mut Fits)) -> impl Fn(&VectorRow) -> Cells {
    // The pressure of the moment, and the average that only 7.3 reads.
    let (pressure, average) = match name {
        "v6.1" => ("thermal_pressure", None),
        _ => ("cpufreq_pressure", Some("hw_load_avg")),
    };
    move |row| {
        let mut input = Fits {
            code: preset(name).code,
            util: row.get("util"),
            uclamp: uclamp(row),
            cpu: CpuCapacity {
                capacity: row.get("capacity"),
                capacity_orig: row.get("capacity_orig"),
                thermal_pressure: row.get(pressure),
                thermal_load_avg: average.map_or(0, |average| row.get(average)),
                capacity_inverted: 0,
            },
        };
        change(&mut input);
        let fit = match util_fits_cpu(&input.code, input.util, input.uclamp, &input.cpu) {
            Fit::Fits => "1",
            Fit::Misses => "0",
            Fit::MissesMinimum => "-1",
        };
        vec![("fits", fit.to_owned())]
    }
}

#[test]
fn vectors_select_idle_sibling_asym() {
    check("select_idle_sibling_asym.csv", search(|_| {}));
}

#[test]
fn vectors_util_fits_cpu() {
    check("util_fits_cpu_6_1.csv", fits("v6.1", |_| {}));
    check("util_fits_cpu_7_3.csv", fits("v7.3", |_| {}));
}

/// The rules and inputs of a file, and the change that takes each away.
type Offs<Change> = &'static [(&'static str, Change)];

const SEARCH: Offs<fn(&mut Search)> = &[
    ("sched_asym_cpucap_active (equal CPUs)", |input| input.domains.asym_cpucap_active = false),
    ("the domain with all capacities (none)", |input| input.domains = machine(false)),
    ("a partition of equal CPUs searches the LLC (by capacity)", |input| input.domains = machine(true)),
    ("capacity_search (none)", |input| input.code.capacity_search = CapacitySearch::WakeCap),
    ("capacity_search (with SIS_UTIL's limit)", |input| {
        input.code.capacity_search = CapacitySearch::GradedCores;
        input.features = input.features.with(Feature::ASYM_SMT, true);
    }),
    ("util_fits (the clamped utilisation, 5.18)", |input| input.code.util_fits = UtilFits::Clamped),
    ("util_fits (yes or no, 5.10)", |input| input.code.util_fits = UtilFits::YesNo),
    ("util_fits (the larger pressure, 6.12)", |input| input.code.util_fits = UtilFits::Actual),
    ("capacity_of (1024)", |input| input.table.capacity.clear()),
    ("arch_scale_cpu_capacity (1024)", |input| input.table.capacity_orig.clear()),
    ("thermal pressure (0)", |input| input.table.thermal_pressure.clear()),
    ("its average (0)", |input| input.table.thermal_load_avg.clear()),
    ("the task's utilisation (0)", |input| input.util = 0),
    ("uclamp_used (false)", |input| input.uclamp.used = false),
    ("uclamp_min (0)", |input| input.uclamp.min = 0),
    ("uclamp_max (1024)", |input| input.uclamp.max = 1024),
    ("the affinity (all)", |input| input.allowed = CpuMask::full(NR_CPUS)),
    ("CPUs that run SCHED_IDLE only (none)", |input| input.table.sched_idle = None),
    ("kthread_stack", |input| input.code.kthread_stack = false),
    ("SIS_UTIL", |input| input.features = input.features.with(Feature::SIS_UTIL, false)),
];

const FITS: Offs<fn(&mut Fits)> = &[
    ("util_fits (the clamped utilisation, 5.18)", |input| input.code.util_fits = UtilFits::Clamped),
    ("util_fits (yes or no, 5.10)", |input| input.code.util_fits = UtilFits::YesNo),
    ("uclamp_used (false)", |input| input.uclamp.used = false),
    ("uclamp_used (true)", |input| input.uclamp.used = true),
    ("uclamp_min (0)", |input| input.uclamp.min = 0),
    ("uclamp_max (1024)", |input| input.uclamp.max = 1024),
    ("capacity_of (1024)", |input| input.cpu.capacity = 1024),
    ("arch_scale_cpu_capacity (1024)", |input| input.cpu.capacity_orig = 1024),
    ("the pressure of the moment (0)", |input| input.cpu.thermal_pressure = 0),
];

const FITS_7_3: Offs<fn(&mut Fits)> = &[
    ("util_fits (the pressure of the moment, 6.1)", |input| input.code.util_fits = UtilFits::Thermal),
    ("hw_load_avg (0)", |input| input.cpu.thermal_load_avg = 0),
];

const UNSHOWN: &[Unshown] = &[];

#[test]
fn ablation_of_select_asym_vectors() {
    let mut table = Ablation::new("select-asym", UNSHOWN);
    let file = rows("select_idle_sibling_asym.csv");
    for &(rule, off) in SEARCH {
        let lost = differing(&file, search(off)).len();
        table.row("functions/select_idle_sibling_asym.csv", rule, file.len(), lost);
    }
    for (name, version, more) in
        [("util_fits_cpu_6_1.csv", "v6.1", &[][..]), ("util_fits_cpu_7_3.csv", "v7.3", FITS_7_3)]
    {
        let file = rows(name);
        for &(rule, off) in FITS.iter().chain(more) {
            let lost = differing(&file, fits(version, off)).len();
            table.row(format!("functions/{name}"), rule, file.len(), lost);
        }
    }
    table.check();
}
