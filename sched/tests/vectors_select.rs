//! Placement against numbers computed by the kernel's own code (6.1).

mod support;

use support::{Probes, Table, VectorRow, one_llc, rows, topologies};
use wakelab_kernel::{Feature, FeatureSet, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::{
    Cx, Decision, Reason, Rules, ScanClock, Select, WakeFlags, WakeeFlips, Wakee, Waker, Wakeup, record_wakee,
    select_idle_cpu, select_idle_sibling, update_idle_core, update_idle_cpu_scan, wake_affine, wake_affine_idle,
    wake_affine_weight, wake_wide,
};

fn v6_1(switches: &[(Feature, bool)]) -> FeatureSet {
    let features = Preset::get("v6.1").expect("the preset").features;
    switches.iter().fold(features, |set, &(feature, on)| set.with(feature, on))
}

fn rules<'a>(features: FeatureSet, domains: &'a SchedDomains) -> Rules<'a> {
    Rules::new(Preset::get("v6.1").expect("the preset"), features, domains).expect("modelled")
}

fn waker(cpu: u32) -> Waker {
    Waker { cpu, exiting: false, in_task: true, per_cpu_kthread: false, wakee_flips: 0, h_load: 0 }
}

fn wakee(prev_cpu: u32, cpus_ptr: &CpuMask) -> Wakee<'_> {
    Wakee {
        prev_cpu,
        cpus_ptr,
        recent_used_cpu: None,
        wakee_flips: 0,
        h_load: 0,
        idle_policy: false,
        util_avg: 0,
        runnable_avg: 0,
        util_est: 0,
        has_contributed: true,
        on_rq: false,
        is_current: false,
        numa_preferred_nid: None,
    }
}

fn or_none(cpu: Option<u32>) -> i64 {
    cpu.map_or(-1, i64::from)
}

#[test]
fn vectors_idle_cpu_scan() {
    for row in rows("idle_cpu_scan.csv") {
        let before: i32 = row.get("nr_idle_scan_before");
        let (span, llc): (u32, u32) = (row.get("sd_span_weight"), row.get("llc_weight"));
        // The caller's part: SIS_UTIL is on, the balance is not a newly-idle one, the domain spans the LLC.
        let updates = row.flag("sis_util") && !row.flag("newly_idle") && span == llc;
        let after =
            if updates { update_idle_cpu_scan(row.get("sum_util"), llc, row.get("imbalance_pct")) } else { before };
        assert_eq!(after, row.get::<i32>("nr_idle_scan_after"), "{row}: nr_idle_scan_after");
    }
}

#[test]
fn vectors_wake_wide() {
    for row in rows("wake_wide.csv") {
        let wide = wake_wide(row.get("waker_flips"), row.get("wakee_flips"), row.get("llc_size"));
        assert_eq!(wide, row.flag("wake_wide"), "{row}: wake_wide");
    }
}

#[test]
fn vectors_record_wakee() {
    let mut state = WakeeFlips::default();
    for row in rows("record_wakee.csv") {
        let after = WakeeFlips {
            wakee_flips: row.get("wakee_flips_after"),
            wakee_flip_decay_ts: row.get("decay_ts_after"),
            last_wakee: u64::try_from(row.get::<i64>("last_wakee_after")).ok(),
        };
        if row.get::<i64>("step") < 0 {
            state = after;
            continue;
        }
        state = record_wakee(state, row.get("wakee_id"), row.get("jiffies"), row.get("hz"));
        assert_eq!(state, after, "{row}");
    }
}

#[test]
fn vectors_wake_affine() {
    let machines = topologies();
    for row in rows("wake_affine.csv") {
        let domains = &machines[row.text("topology")];
        let (this_cpu, prev_cpu): (u32, u32) = (row.get("this_cpu"), row.get("prev_cpu"));
        let switch = |feature, column| (feature, row.flag(column));
        let features = v6_1(&[
            switch(Feature::WA_IDLE, "wa_idle"),
            switch(Feature::WA_WEIGHT, "wa_weight"),
            switch(Feature::WA_BIAS, "wa_bias"),
        ]);
        let rules = rules(features, domains);
        let all = CpuMask::full(domains.nr_cpus);
        let wakeup = Wakeup {
            waker: Waker { h_load: row.get("h_load_waker"), ..waker(this_cpu) },
            wakee: Wakee { h_load: row.get("h_load_wakee"), ..wakee(prev_cpu, &all) },
            flags: if row.flag("sync") { WakeFlags::TTWU | WakeFlags::SYNC } else { WakeFlags::TTWU },
        };
        let mut table = Table { idle: Some(row.mask("idle_mask", domains.nr_cpus)), ..Table::default() };
        table.nr_running.insert(this_cpu, row.get("this_nr_running"));
        table.load.insert(prev_cpu, row.get("load_prev"));
        table.load.insert(this_cpu, row.get("load_this"));
        table.capacity.insert(prev_cpu, row.get("capacity_prev"));
        table.capacity.insert(this_cpu, row.get("capacity_this"));

        let imbalance_pct = row.get("imbalance_pct");
        let idle = wake_affine_idle(&rules, &wakeup, &table).map(|(cpu, _)| cpu);
        assert_eq!(or_none(idle), row.get::<i64>("idle_result"), "{row}: idle_result");
        let (taken, _) = wake_affine_weight(&rules, &wakeup, imbalance_pct, &table);
        assert_eq!(or_none(taken.then_some(this_cpu)), row.get::<i64>("weight_result"), "{row}: weight_result");
        let (target, _) = wake_affine(&rules, &wakeup, imbalance_pct, &table);
        assert_eq!(target, row.get::<u32>("affine_target"), "{row}: affine_target");
    }
}

#[test]
fn vectors_update_idle_core() {
    let machines = topologies();
    for row in rows("update_idle_core.csv") {
        let domains = &machines[row.text("topology")];
        let before = row.flag("has_idle_cores_before");
        let table = Table {
            idle: Some(row.mask("idle_mask", domains.nr_cpus)),
            has_idle_cores: before,
            ..Table::default()
        };
        let mut probes = Vec::new();
        let sets = update_idle_core(domains, row.get("cpu"), &table, |cpu| probes.push(cpu));
        assert_eq!(before || sets, row.flag("has_idle_cores_after"), "{row}: has_idle_cores_after");
        assert_eq!(probes, row.list("probes"), "{row}: probes");
    }
}

#[test]
fn vectors_sis_prop() {
    for row in rows("sis_prop.csv") {
        let domains = one_llc(row.get("span_weight"));
        let rules = rules(v6_1(&[(Feature::SIS_PROP, true), (Feature::SIS_UTIL, false)]), &domains);
        let target: u32 = row.get("target");
        let allowed = row.mask("affinity_mask", domains.nr_cpus);
        let wakeup = Wakeup { waker: waker(target), wakee: wakee(target, &allowed), flags: WakeFlags::TTWU };
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
        let mut probes = Probes::default();
        let cx = Cx { rules: &rules, wakeup: &wakeup, view: &table };
        let decision = select_idle_cpu(&mut Select::default(), cx, false, target, &mut probes);
        let found = (!decision.reason.is_failed_search()).then_some(decision.cpu);
        assert_eq!(or_none(found), row.get::<i64>("result_cpu"), "{row}: result_cpu");
        assert_eq!(probes.scan, row.list("probes"), "{row}: probes");
        assert_eq!(probes.sis_prop_nr, Some(row.get("nr")), "{row}: nr");
        let after = decision.effects.scan_cost.expect("SIS_PROP is on");
        assert_eq!(after.wake_stamp, row.get::<u64>("wake_stamp_after"), "{row}: wake_stamp_after");
        assert_eq!(after.wake_avg_idle, row.get::<u64>("wake_avg_idle_after"), "{row}: wake_avg_idle_after");
        assert_eq!(after.avg_scan_cost, row.get::<u64>("avg_scan_cost_after"), "{row}: avg_scan_cost_after");
    }
}

/// What select_idle_sibling() did on one row.
struct Sibling {
    decision: Decision,
    probes: Probes,
    clock: ScanClock,
    has_idle_cores: bool,
    recent_used: i64,
}

fn select_row(row: &VectorRow, domains: &SchedDomains) -> Sibling {
    let features = v6_1(&[(Feature::SIS_PROP, row.flag("sis_prop")), (Feature::SIS_UTIL, row.flag("sis_util"))]);
    let rules = rules(features, domains);
    let this_cpu: u32 = row.get("this_cpu");
    let allowed = row.mask("affinity_mask", domains.nr_cpus);
    let recent: i64 = row.get("recent_used");
    let wakeup = Wakeup {
        waker: Waker {
            per_cpu_kthread: row.flag("waker_percpu_kthread"),
            in_task: row.flag("in_task"),
            ..waker(this_cpu)
        },
        wakee: Wakee { recent_used_cpu: u32::try_from(recent).ok(), ..wakee(row.get("prev"), &allowed) },
        flags: WakeFlags::TTWU,
    };
    let gap: u64 = row.get("jiffies_gap");
    let clock = ScanClock {
        jiffies: 1_000_000,
        wake_stamp: 1_000_000 - gap,
        wake_avg_idle: row.get("wake_avg_idle_before"),
        avg_idle: 0,
        avg_scan_cost: row.get("avg_scan_cost_before"),
    };
    let mut table = Table {
        idle: Some(row.mask("idle_mask", domains.nr_cpus)),
        sched_idle: Some(row.mask("sched_idle_mask", domains.nr_cpus)),
        has_idle_cores: row.flag("has_idle_cores"),
        nr_idle_scan: row.get("nr_idle_scan"),
        clock,
        search_ns: row.get("search_ns"),
        ..Table::default()
    };
    table.nr_running.insert(this_cpu, row.get("waker_nr_running"));
    let mut probes = Probes::default();
    let cx = Cx { rules: &rules, wakeup: &wakeup, view: &table };
    let decision = select_idle_sibling(&mut Select::default(), cx, row.get("target"), &mut probes);
    Sibling {
        probes,
        clock,
        has_idle_cores: table.has_idle_cores && decision.effects.clear_idle_cores.is_none(),
        recent_used: decision.effects.recent_used_cpu.map_or(recent, i64::from),
        decision,
    }
}

#[test]
fn vectors_select_idle_sibling() {
    let machines = topologies();
    for row in rows("select_idle_sibling.csv") {
        let domains = &machines[row.text("topology")];
        let Sibling { decision, probes, clock, has_idle_cores, recent_used } = select_row(&row, domains);
        assert_eq!(decision.cpu, row.get::<u32>("chosen_cpu"), "{row}: chosen_cpu");
        assert_eq!(probes.fast, row.list("probes_fast"), "{row}: probes_fast");
        assert_eq!(probes.smt, row.list("probes_smt"), "{row}: probes_smt");
        assert_eq!(probes.scan, row.list("probes_scan"), "{row}: probes_scan");
        assert_eq!(probes.sched_idle, row.list("sched_idle_probes"), "{row}: sched_idle_probes");

        let result = |ran: bool, found: bool| match (ran, found) {
            (false, _) => -2,
            (true, true) => i64::from(decision.cpu),
            (true, false) => -1,
        };
        let smt = result(probes.smt_ran, decision.reason == Reason::Smt);
        assert_eq!(smt, row.get::<i64>("smt_result"), "{row}: smt_result");
        let found = matches!(decision.reason, Reason::Scan | Reason::Core | Reason::CoreCpu);
        assert_eq!(result(probes.scan_ran, found), row.get::<i64>("scan_result"), "{row}: scan_result");

        assert_eq!(has_idle_cores, row.flag("has_idle_cores_after"), "{row}: has_idle_cores_after");
        assert_eq!(recent_used, row.get::<i64>("recent_used_after"), "{row}: recent_used_after");
        assert_eq!(probes.sis_prop_nr.unwrap_or(-1), row.get::<i32>("sis_prop_nr"), "{row}: sis_prop_nr");
        let cost = decision.effects.scan_cost;
        let wake_avg_idle = cost.map_or(clock.wake_avg_idle, |cost| cost.wake_avg_idle);
        assert_eq!(wake_avg_idle, row.get::<u64>("wake_avg_idle_after"), "{row}: wake_avg_idle_after");
        let avg_scan_cost = cost.map_or(clock.avg_scan_cost, |cost| cost.avg_scan_cost);
        assert_eq!(avg_scan_cost, row.get::<u64>("avg_scan_cost_after"), "{row}: avg_scan_cost_after");
    }
}
