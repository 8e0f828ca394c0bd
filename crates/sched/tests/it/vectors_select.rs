//! Placement against numbers computed by the kernel's own code (6.1), and what each rule and input is worth there.
//!
//! Each file has its replay: a row becomes the inputs of one call, these can be changed, and what the model then gives
//! is written as the columns of the row. The exact comparison changes nothing; the ablations leave one thing out.

use crate::support::ablation::{Ablation, Unshown};
use crate::support::vectors::{Probes, Table, VectorRow, machine, one_llc, rows};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use wakelab_kernel::{Code, Feature, FeatureSet, IdleSearch, Preset, SisProp, SmtScan};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::{
    Cx, Effects, Reason, Rules, ScanClock, Select, WakeFlags, Wakee, WakeeFlips, Waker, Wakeup, record_wakee,
    select_idle_cpu, select_idle_sibling, update_idle_core, update_idle_cpu_scan, wake_affine, wake_affine_idle,
    wake_affine_weight, wake_wide,
};

/// Columns of a row and what the model gives for them, as text; empty where the row has nothing to compare.
type Cells = Vec<(&'static str, String)>;

type Machines = HashMap<String, SchedDomains>;

/// The machines of `functions/topologies.csv`, by name.
fn topologies() -> HashMap<String, SchedDomains> {
    let mut cpus: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
    for row in rows("topologies.csv") {
        let machine = cpus.entry(row.text("topology").to_owned()).or_default();
        assert_eq!(row.get::<usize>("cpu"), machine.len(), "{row}: CPUs in order");
        machine.push((row.get("core"), row.get("llc")));
    }
    cpus.into_iter().map(|(name, cpus)| (name, machine(&cpus))).collect()
}

/// How a file compared.
struct Outcome {
    /// Rows that have something to compare.
    rows: usize,
    /// By row that differs: where, and the first column.
    differing: Vec<String>,
}

fn replay(file: &[VectorRow], mut model: impl FnMut(&VectorRow) -> Cells) -> Outcome {
    let mut outcome = Outcome { rows: 0, differing: Vec::new() };
    for row in file {
        let cells = model(row);
        outcome.rows += usize::from(!cells.is_empty());
        if let Some((column, got)) = cells.into_iter().find(|(column, got)| row.text(column) != got) {
            outcome.differing.push(format!("{row}: {column}: expected {:?}, got {got:?}", row.text(column)));
        }
    }
    outcome
}

/// Panics with the first rows that differ.
fn check(name: &str, model: impl FnMut(&VectorRow) -> Cells) {
    let Outcome { rows, differing } = replay(&rows(name), model);
    let mut message = String::new();
    for row in differing.iter().take(20) {
        writeln!(message, "{row}").expect("a string");
    }
    assert!(differing.is_empty(), "{message}{} of {rows} rows differ", differing.len());
}

fn v6_1() -> &'static Preset {
    Preset::get("v6.1").expect("the preset")
}

fn features(switches: &[(Feature, bool)]) -> FeatureSet {
    switches.iter().fold(v6_1().features, |set, &(feature, on)| set.with(feature, on))
}

fn or_none(cpu: Option<u32>) -> String {
    cpu.map_or("-1".to_owned(), |cpu| cpu.to_string())
}

fn bit(value: bool) -> String {
    u8::from(value).to_string()
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

/// A row of `idle_cpu_scan.csv`.
struct IdleCpuScan {
    sis_util: bool,
    newly_idle: bool,
    span: u32,
    llc: u32,
    imbalance_pct: u32,
    sum_util: u64,
}

fn idle_cpu_scan(change: fn(&mut IdleCpuScan)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let mut input = IdleCpuScan {
            sis_util: row.flag("sis_util"),
            newly_idle: row.flag("newly_idle"),
            span: row.get("sd_span_weight"),
            llc: row.get("llc_weight"),
            imbalance_pct: row.get("imbalance_pct"),
            sum_util: row.get("sum_util"),
        };
        change(&mut input);
        let IdleCpuScan { sis_util, newly_idle, span, llc, imbalance_pct, sum_util } = input;
        // The caller's part: SIS_UTIL is on, the balance is not a newly-idle one, the domain spans the LLC.
        let updates = sis_util && !newly_idle && span == llc;
        let after = match updates {
            true => update_idle_cpu_scan(sum_util, llc, imbalance_pct),
            false => row.get("nr_idle_scan_before"),
        };
        vec![("nr_idle_scan_after", after.to_string())]
    }
}

/// A row of `wake_wide.csv`.
struct WakeWide {
    waker_flips: u32,
    wakee_flips: u32,
    llc_size: u32,
}

fn wide(change: fn(&mut WakeWide)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let mut input = WakeWide {
            waker_flips: row.get("waker_flips"),
            wakee_flips: row.get("wakee_flips"),
            llc_size: row.get("llc_size"),
        };
        change(&mut input);
        vec![("wake_wide", bit(wake_wide(input.waker_flips, input.wakee_flips, input.llc_size)))]
    }
}

/// A row of `record_wakee.csv`, with the state that the rows before it led to.
struct RecordWakee {
    state: WakeeFlips,
    wakee: u64,
    jiffies: u64,
    hz: u64,
}

fn recorded_wakee(change: fn(&mut RecordWakee)) -> impl FnMut(&VectorRow) -> Cells {
    let mut state = WakeeFlips::default();
    move |row| {
        if row.get::<i64>("step") < 0 {
            state = WakeeFlips {
                wakee_flips: row.get("wakee_flips_after"),
                wakee_flip_decay_ts: row.get("decay_ts_after"),
                last_wakee: u64::try_from(row.get::<i64>("last_wakee_after")).ok(),
            };
            return Vec::new();
        }
        let mut input =
            RecordWakee { state, wakee: row.get("wakee_id"), jiffies: row.get("jiffies"), hz: row.get("hz") };
        change(&mut input);
        state = record_wakee(input.state, input.wakee, input.jiffies, input.hz);
        vec![
            ("wakee_flips_after", state.wakee_flips.to_string()),
            ("decay_ts_after", state.wakee_flip_decay_ts.to_string()),
            ("last_wakee_after", state.last_wakee.map_or("-1".to_owned(), |wakee| wakee.to_string())),
        ]
    }
}

/// A row of `wake_affine.csv`.
struct WakeAffine<'a> {
    code: Code,
    features: FeatureSet,
    domains: Cow<'a, SchedDomains>,
    waker: Waker,
    prev_cpu: u32,
    h_load_wakee: u64,
    sync: bool,
    imbalance_pct: u32,
    table: Table,
}

fn affine(machines: &Machines, change: fn(&mut WakeAffine)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let domains = &machines[row.text("topology")];
        let (this_cpu, prev_cpu): (u32, u32) = (row.get("this_cpu"), row.get("prev_cpu"));
        let switch = |feature, column| (feature, row.flag(column));
        let mut table = Table { idle: Some(row.mask("idle_mask", domains.nr_cpus)), ..Table::default() };
        table.nr_running.insert(this_cpu, row.get("this_nr_running"));
        table.load.insert(prev_cpu, row.get("load_prev"));
        table.load.insert(this_cpu, row.get("load_this"));
        table.capacity.insert(prev_cpu, row.get("capacity_prev"));
        table.capacity.insert(this_cpu, row.get("capacity_this"));
        let mut input = WakeAffine {
            code: v6_1().code,
            features: features(&[
                switch(Feature::WA_IDLE, "wa_idle"),
                switch(Feature::WA_WEIGHT, "wa_weight"),
                switch(Feature::WA_BIAS, "wa_bias"),
            ]),
            domains: Cow::Borrowed(domains),
            waker: Waker { h_load: row.get("h_load_waker"), ..Waker::new(this_cpu) },
            prev_cpu,
            h_load_wakee: row.get("h_load_wakee"),
            sync: row.flag("sync"),
            imbalance_pct: row.get("imbalance_pct"),
            table,
        };
        change(&mut input);

        let WakeAffine { code, features, domains, waker, prev_cpu, h_load_wakee, sync, imbalance_pct, table } = &input;
        let rules = Rules::of(code, *features, domains);
        let all = CpuMask::full(domains.nr_cpus);
        let wakeup = Wakeup {
            waker: *waker,
            wakee: Wakee { h_load: *h_load_wakee, ..Wakee::new(*prev_cpu, &all) },
            flags: if *sync { WakeFlags::TTWU | WakeFlags::SYNC } else { WakeFlags::TTWU },
        };
        let idle = wake_affine_idle(&rules, &wakeup, table).map(|(cpu, _)| cpu);
        let (taken, _) = wake_affine_weight(&rules, &wakeup, *imbalance_pct, table);
        let (target, _) = wake_affine(&rules, &wakeup, *imbalance_pct, table);
        vec![
            ("idle_result", or_none(idle)),
            ("weight_result", or_none(taken.then_some(this_cpu))),
            ("affine_target", target.to_string()),
        ]
    }
}

/// A row of `update_idle_core.csv`.
struct IdleCore<'a> {
    domains: Cow<'a, SchedDomains>,
    table: Table,
}

fn idle_core(machines: &Machines, change: fn(&mut IdleCore)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let domains = &machines[row.text("topology")];
        let before = row.flag("has_idle_cores_before");
        let idle = Some(row.mask("idle_mask", domains.nr_cpus));
        let table = Table { idle, has_idle_cores: before, ..Table::default() };
        let mut input = IdleCore { domains: Cow::Borrowed(domains), table };
        change(&mut input);
        let mut probes = Vec::new();
        let sets =
            update_idle_core(&input.domains, FeatureSet::EMPTY, row.get("cpu"), &input.table, |cpu| probes.push(cpu));
        vec![("has_idle_cores_after", bit(before || sets)), ("probes", list(&probes))]
    }
}

/// A row of `select_idle_sibling.csv` or, with what that file leaves open, of `sis_prop.csv`.
struct Search<'a> {
    code: Code,
    features: FeatureSet,
    domains: Cow<'a, SchedDomains>,
    waker: Waker,
    prev_cpu: u32,
    recent_used_cpu: Option<u32>,
    allowed: CpuMask,
    target: u32,
    table: Table,
    /// What becomes of that which the kernel would write.
    written: fn(&mut Effects),
}

impl Search<'_> {
    fn wakeup(&self) -> Wakeup<'_> {
        let wakee = Wakee { recent_used_cpu: self.recent_used_cpu, ..Wakee::new(self.prev_cpu, &self.allowed) };
        Wakeup { waker: self.waker, wakee, flags: WakeFlags::TTWU }
    }

    fn rules(&self) -> Rules<'_> {
        Rules::of(&self.code, self.features, &self.domains)
    }

    fn shares_cache_with_target(&self, cpu: u32) -> bool {
        self.domains.cpus_share_cache(cpu, self.target)
    }

    /// The CPU that the fast path looks at after the previous one, if it gets there.
    fn recent_candidate(&self) -> Option<u32> {
        self.recent_used_cpu
            .filter(|&cpu| cpu != self.prev_cpu && cpu != self.target && self.shares_cache_with_target(cpu))
    }

    /// Leaves every core one CPU.
    fn separate_siblings(&mut self) {
        separate_siblings(self.domains.to_mut());
    }

    /// Lets the wakee use every CPU.
    fn allow_all(&mut self) {
        self.allowed = CpuMask::full(self.domains.nr_cpus);
    }
}

fn separate_siblings(domains: &mut SchedDomains) {
    let nr_cpus = domains.nr_cpus;
    domains.smt_mask = (0..nr_cpus).map(|cpu| Arc::new(CpuMask::from_cpus(nr_cpus, [cpu]))).collect();
}

fn one_cache(domains: &mut SchedDomains) {
    domains.sd_llc_id.fill(0);
}

fn sis_prop(change: fn(&mut Search)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let domains = one_llc(row.get("span_weight"));
        let target: u32 = row.get("target");
        let clock = ScanClock {
            jiffies: row.get("jiffies"),
            wake_stamp: row.get("wake_stamp_before"),
            wake_avg_idle: row.get("wake_avg_idle_before"),
            avg_idle: 0,
            avg_scan_cost: row.get("avg_scan_cost_before"),
        };
        let table = Table {
            idle: Some(row.mask("idle_mask", domains.nr_cpus)),
            clock,
            search_ns: row.get("search_ns"),
            ..Table::default()
        };
        let mut input = Search {
            code: v6_1().code,
            features: features(&[(Feature::SIS_PROP, true), (Feature::SIS_UTIL, false)]),
            waker: Waker::new(target),
            prev_cpu: target,
            recent_used_cpu: None,
            allowed: row.mask("affinity_mask", domains.nr_cpus),
            target,
            domains: Cow::Owned(domains),
            table,
            written: |_| {},
        };
        change(&mut input);
        let mut probes = Probes::default();
        let cx = Cx { rules: &input.rules(), wakeup: &input.wakeup(), view: &input.table };
        let mut decision = select_idle_cpu(&mut Select::default(), cx, false, input.target, &mut probes);
        (input.written)(&mut decision.effects);
        let found = (!decision.reason.is_failed_search()).then_some(decision.cpu);
        let cost = decision.effects.scan_cost;
        vec![
            ("nr", probes.sis_prop_nr.unwrap_or(-1).to_string()),
            ("result_cpu", or_none(found)),
            ("probes", list(&probes.scan)),
            ("wake_stamp_after", cost.map_or(clock.wake_stamp, |cost| cost.wake_stamp).to_string()),
            ("wake_avg_idle_after", cost.map_or(clock.wake_avg_idle, |cost| cost.wake_avg_idle).to_string()),
            ("avg_scan_cost_after", cost.map_or(clock.avg_scan_cost, |cost| cost.avg_scan_cost).to_string()),
        ]
    }
}

fn sibling(machines: &Machines, change: fn(&mut Search)) -> impl FnMut(&VectorRow) -> Cells {
    move |row| {
        let domains = &machines[row.text("topology")];
        let this_cpu: u32 = row.get("this_cpu");
        let recent: i64 = row.get("recent_used");
        let gap: u64 = row.get("jiffies_gap");
        let clock = ScanClock {
            jiffies: 1_000_000,
            wake_stamp: 1_000_000 - gap,
            wake_avg_idle: row.get("wake_avg_idle_before"),
            avg_idle: 0,
            avg_scan_cost: row.get("avg_scan_cost_before"),
        };
        let has_idle_cores = row.flag("has_idle_cores");
        let mut table = Table {
            idle: Some(row.mask("idle_mask", domains.nr_cpus)),
            sched_idle: Some(row.mask("sched_idle_mask", domains.nr_cpus)),
            has_idle_cores,
            nr_idle_scan: row.get("nr_idle_scan"),
            clock,
            search_ns: row.get("search_ns"),
            ..Table::default()
        };
        table.nr_running.insert(this_cpu, row.get("waker_nr_running"));
        let switch = |feature, column| (feature, row.flag(column));
        let mut input = Search {
            code: v6_1().code,
            features: features(&[switch(Feature::SIS_PROP, "sis_prop"), switch(Feature::SIS_UTIL, "sis_util")]),
            domains: Cow::Borrowed(domains),
            waker: Waker {
                per_cpu_kthread: row.flag("waker_percpu_kthread"),
                in_task: row.flag("in_task"),
                ..Waker::new(this_cpu)
            },
            prev_cpu: row.get("prev"),
            recent_used_cpu: u32::try_from(recent).ok(),
            allowed: row.mask("affinity_mask", domains.nr_cpus),
            target: row.get("target"),
            table,
            written: |_| {},
        };
        change(&mut input);
        let mut probes = Probes::default();
        let cx = Cx { rules: &input.rules(), wakeup: &input.wakeup(), view: &input.table };
        let mut decision = select_idle_sibling(&mut Select::default(), cx, input.target, &mut probes);
        (input.written)(&mut decision.effects);

        let result = |ran: bool, found: bool| match (ran, found) {
            (false, _) => "-2".to_owned(),
            (true, true) => decision.cpu.to_string(),
            (true, false) => "-1".to_owned(),
        };
        let scan_found = matches!(decision.reason, Reason::Scan | Reason::Core | Reason::CoreCpu);
        let cost = decision.effects.scan_cost;
        vec![
            ("chosen_cpu", decision.cpu.to_string()),
            ("probes_fast", list(&probes.fast)),
            ("probes_smt", list(&probes.smt)),
            ("probes_scan", list(&probes.scan)),
            ("sched_idle_probes", list(&probes.sched_idle)),
            ("smt_result", result(probes.smt_ran, decision.reason == Reason::Smt)),
            ("scan_result", result(probes.scan_ran, scan_found)),
            ("has_idle_cores_after", bit(has_idle_cores && decision.effects.clear_idle_cores.is_none())),
            ("recent_used_after", decision.effects.recent_used_cpu.map_or(recent, i64::from).to_string()),
            ("sis_prop_nr", probes.sis_prop_nr.unwrap_or(-1).to_string()),
            ("wake_avg_idle_after", cost.map_or(clock.wake_avg_idle, |cost| cost.wake_avg_idle).to_string()),
            ("avg_scan_cost_after", cost.map_or(clock.avg_scan_cost, |cost| cost.avg_scan_cost).to_string()),
        ]
    }
}

#[test]
fn vectors_idle_cpu_scan() {
    check("idle_cpu_scan.csv", idle_cpu_scan(|_| {}));
}

#[test]
fn vectors_wake_wide() {
    check("wake_wide.csv", wide(|_| {}));
}

#[test]
fn vectors_record_wakee() {
    check("record_wakee.csv", recorded_wakee(|_| {}));
}

#[test]
fn vectors_wake_affine() {
    check("wake_affine.csv", affine(&topologies(), |_| {}));
}

#[test]
fn vectors_update_idle_core() {
    check("update_idle_core.csv", idle_core(&topologies(), |_| {}));
}

#[test]
fn vectors_sis_prop() {
    check("sis_prop.csv", sis_prop(|_| {}));
}

#[test]
fn vectors_select_idle_sibling() {
    check("select_idle_sibling.csv", sibling(&topologies(), |_| {}));
}

/// The rules and inputs of a file, and the change that takes each away.
type Offs<Change> = &'static [(&'static str, Change)];

const IDLE_CPU_SCAN: Offs<fn(&mut IdleCpuScan)> = &[
    ("only with SIS_UTIL (always)", |input| input.sis_util = true),
    ("not in a newly-idle balance (also there)", |input| input.newly_idle = false),
    ("only in the domain that spans the LLC (in all)", |input| input.span = input.llc),
    ("imbalance_pct (100)", |input| input.imbalance_pct = 100),
    ("sum_util (0)", |input| input.sum_util = 0),
];

const WAKE_WIDE: Offs<fn(&mut WakeWide)> = &[
    ("llc_size (1)", |input| input.llc_size = 1),
    ("the waker's flips (those of the wakee)", |input| input.waker_flips = input.wakee_flips),
    ("the wakee's flips (those of the waker)", |input| input.wakee_flips = input.waker_flips),
];

const RECORD_WAKEE: Offs<fn(&mut RecordWakee)> = &[
    // The sum of the time stamp and a span as long as this one is always in the future.
    ("decay (none)", |input| input.hz = 1 << 62),
    ("decay after a second (after a jiffy)", |input| input.hz = 1),
    ("last_wakee is remembered (forgotten)", |input| input.state.last_wakee = None),
    ("whom it wakes (always the same)", |input| input.wakee = 0),
];

const WAKE_AFFINE: Offs<fn(&mut WakeAffine)> = &[
    ("WA_IDLE", |input| input.features = input.features.with(Feature::WA_IDLE, false)),
    ("WA_WEIGHT", |input| input.features = input.features.with(Feature::WA_WEIGHT, false)),
    ("WA_BIAS", |input| input.features = input.features.with(Feature::WA_BIAS, false)),
    ("wa_idle_prev", |input| input.code.wa_idle_prev = false),
    ("the sync hint", |input| input.sync = false),
    ("cpus_share_cache (always)", |input| one_cache(input.domains.to_mut())),
    ("idle CPUs (all busy)", |input| input.table.idle = None),
    ("the waker's nr_running (1)", |input| {
        input.table.nr_running.insert(input.waker.cpu, 1);
    }),
    ("the CPUs' loads (0)", |input| input.table.load.clear()),
    ("the waker's h_load (0)", |input| input.waker.h_load = 0),
    ("the wakee's h_load (0)", |input| input.h_load_wakee = 0),
    ("capacity_of (1024)", |input| input.table.capacity.clear()),
    ("imbalance_pct (100)", |input| input.imbalance_pct = 100),
];

const UPDATE_IDLE_CORE: Offs<fn(&mut IdleCore)> = &[
    ("siblings (every core has one CPU)", |input| separate_siblings(input.domains.to_mut())),
    ("busy siblings (all idle)", |input| input.table.idle = Some(CpuMask::full(input.domains.nr_cpus))),
    ("has_idle_cores_before (false)", |input| input.table.has_idle_cores = false),
];

const LIMIT_ENDS: &str = "the limit ends the scan at 0 only (cluster_scan: at or below 0)";
const EMPTY_SCAN: &str = "an empty scan clears it too (empty_mask_returns)";

const SIS_PROP: Offs<fn(&mut Search)> = &[
    ("SIS_PROP", |input| input.features = input.features.with(Feature::SIS_PROP, false)),
    ("SIS_PROP's form (that of avg_idle, with the same number)", sis_prop_by_avg_idle),
    ("wake_avg_idle ages (no jiffies pass)", |input| input.table.clock.jiffies = input.table.clock.wake_stamp),
    ("the search is charged and measured (takes no time)", |input| input.table.search_ns = 0),
    ("avg_scan_cost (0)", |input| input.table.clock.avg_scan_cost = 0),
    ("the affinity (all)", |input| input.allow_all()),
    ("scan_after_target", |input| input.code.scan_after_target = false),
    (LIMIT_ENDS, |input| input.code.cluster_scan = true),
];

const SELECT_IDLE_SIBLING: Offs<fn(&mut Search)> = &[
    ("an idle target is taken (overlooked)", |input| input.table.overlooked.set(Some(input.target))),
    ("an idle prev is taken (overlooked)", |input| {
        input.table.overlooked.set(Some(input.prev_cpu).filter(|&prev| prev != input.target));
    }),
    ("kthread_stack", |input| input.code.kthread_stack = false),
    ("kthread: in task context (always)", |input| input.waker.in_task = true),
    ("kthread: nr_running (0)", |input| input.table.nr_running.clear()),
    ("an idle recent_used_cpu is taken (overlooked)", |input| {
        input.table.overlooked.set(input.recent_candidate().filter(|&cpu| input.allowed.test(cpu)));
    }),
    ("recent_used_cpu has to be allowed (need not be)", recent_is_allowed),
    ("recent_used_cpu's own affinity (prev's, as in 5.18)", |input| input.code.recent_used_prev_affinity = true),
    ("recent_used_always", |input| input.code.recent_used_always = false),
    ("cpus_share_cache (always)", |input| one_cache(input.domains.to_mut())),
    ("has_idle_cores, SIS_CORE", |input| input.features = input.features.with(Feature::SIS_CORE, false)),
    ("select_idle_smt (no siblings)", |input| {
        if !input.table.has_idle_cores {
            input.separate_siblings();
        }
    }),
    ("select_idle_smt: the affinity (all)", siblings_are_allowed),
    ("smt_scan (the whole core)", |input| input.code.smt_scan = SmtScan::WholeCore),
    ("select_idle_core: siblings (every core has one CPU)", |input| {
        if input.table.has_idle_cores {
            input.separate_siblings();
        }
    }),
    ("core_scan_by_span", |input| input.code.core_scan_by_span = false),
    ("has_idle_cores is cleared (kept)", |input| input.written = |effects| effects.clear_idle_cores = None),
    (EMPTY_SCAN, |input| input.code.empty_mask_returns = true),
    ("idle_search (three scans)", |input| input.code.idle_search = IdleSearch::ThreeScans),
    ("scan_after_target", |input| input.code.scan_after_target = false),
    (LIMIT_ENDS, |input| input.code.cluster_scan = true),
    ("the affinity (all)", |input| input.allow_all()),
    ("sched_idle_cpus", |input| input.code.sched_idle_cpus = false),
    ("CPUs that run SCHED_IDLE only (none)", |input| input.table.sched_idle = None),
    ("SIS_UTIL", |input| input.features = input.features.with(Feature::SIS_UTIL, false)),
    ("nr_idle_scan (one more)", |input| input.table.nr_idle_scan += 1),
    ("SIS_PROP", |input| input.features = input.features.with(Feature::SIS_PROP, false)),
    ("SIS_PROP's form (that of avg_idle, with the same number)", sis_prop_by_avg_idle),
    ("wake_avg_idle ages (no jiffies pass)", |input| input.table.clock.jiffies = input.table.clock.wake_stamp),
    ("the search is charged and measured (takes no time)", |input| input.table.search_ns = 0),
    ("avg_scan_cost (0)", |input| input.table.clock.avg_scan_cost = 0),
];

fn sis_prop_by_avg_idle(input: &mut Search) {
    input.code.sis_prop = SisProp::AvgIdle;
    input.table.clock.avg_idle = input.table.clock.wake_avg_idle;
}

/// Allows the recently used CPU where the fast path would then take it, so that the searches after it see the same
/// affinity as before.
fn recent_is_allowed(input: &mut Search) {
    let free = |cpu| [&input.table.idle, &input.table.sched_idle].into_iter().flatten().any(|mask| mask.test(cpu));
    if let Some(recent) = input.recent_candidate().filter(|&cpu| free(cpu)) {
        input.allowed.set(recent);
    }
}

/// Allows the siblings of the previous CPU where select_idle_smt() runs. The walk after it sees them too; it runs only
/// if they all were busy, and then the row differs by the look at them already.
fn siblings_are_allowed(input: &mut Search) {
    if !input.table.has_idle_cores && input.shares_cache_with_target(input.prev_cpu) {
        let prev = input.prev_cpu;
        let siblings = input.domains.smt_mask[prev as usize].iter().filter(|&cpu| cpu != prev);
        siblings.for_each(|cpu| input.allowed.set(cpu));
    }
}

const UNSHOWN: &[Unshown] = &[
    Unshown {
        file: "functions/sis_prop.csv",
        rule: LIMIT_ENDS,
        why: "no row has a limit below 1: it is 4 at least, unless it wraps at 2^31",
    },
    Unshown {
        file: "functions/select_idle_sibling.csv",
        rule: "core_scan_by_span",
        why: "no core of these machines reaches beyond its LLC, so the affinity alone says the same",
    },
    Unshown {
        file: "functions/select_idle_sibling.csv",
        rule: EMPTY_SCAN,
        why: "with has_idle_cores, the affinity leaves some CPU of the LLC in every row",
    },
    Unshown {
        file: "functions/select_idle_sibling.csv",
        rule: LIMIT_ENDS,
        why: "no row has a limit below 1, and no machine has clusters",
    },
];

#[test]
fn ablation_of_select_vectors() {
    let machines = topologies();
    let mut table = Ablation::new("select", UNSHOWN);
    ablate(&mut table, "idle_cpu_scan.csv", IDLE_CPU_SCAN, |off| idle_cpu_scan(off));
    ablate(&mut table, "wake_wide.csv", WAKE_WIDE, |off| wide(off));
    ablate(&mut table, "record_wakee.csv", RECORD_WAKEE, |off| recorded_wakee(off));
    ablate(&mut table, "wake_affine.csv", WAKE_AFFINE, |off| affine(&machines, off));
    ablate(&mut table, "update_idle_core.csv", UPDATE_IDLE_CORE, |off| idle_core(&machines, off));
    ablate(&mut table, "sis_prop.csv", SIS_PROP, |off| sis_prop(off));
    ablate(&mut table, "select_idle_sibling.csv", SELECT_IDLE_SIBLING, |off| sibling(&machines, off));
    table.check();
}

/// Adds to a table how many rows of a file differ with each of `rules` off; `model` replays with one change.
fn ablate<C: Copy, M: FnMut(&VectorRow) -> Cells>(
    table: &mut Ablation,
    name: &str,
    rules: &[(&'static str, C)],
    model: impl Fn(C) -> M,
) {
    let file = rows(name);
    for &(rule, off) in rules {
        let outcome = replay(&file, model(off));
        table.row(format!("functions/{name}"), rule, outcome.rows, outcome.differing.len());
    }
}
