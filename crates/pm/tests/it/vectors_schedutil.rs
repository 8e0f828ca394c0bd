//! schedutil held against numbers that the kernel's own code computed: every column of every row.

use crate::support::{Row, Table, rows};
use wakelab_pm::governor::Update;
use wakelab_pm::policy::{Driver, Policy};
use wakelab_pm::schedutil::{
    Asked, CapacityRef, IowaitBoost, Sugov, SugovPolicy, SugovRules, effective_cpu_util, effective_cpu_util_6_1,
};
use wakelab_sched::energy::{CpuUtilType, map_util_perf, sugov_effective_cpu_perf};
use wakelab_sched::select::Uclamp;

#[test]
fn effective_cpu_util_of_6_1_is_the_kernels() {
    for row in rows("effective_cpu_util_6_1.csv") {
        let kind = if row.text("type") == "frequency" { CpuUtilType::Frequency } else { CpuUtilType::Energy };
        row.check(&[("util", effective_cpu_util_6_1(&row.cpu_util(), kind))]);
    }
}

#[test]
fn effective_cpu_util_and_performance_of_7_3_are_the_kernels() {
    for row in rows("effective_cpu_util_7_3.csv") {
        let cpu = row.cpu_util();
        let got = effective_cpu_util(&cpu);
        row.check(&[
            ("util", got.util),
            ("min", got.min),
            ("max", got.max),
            ("dl_bw_util", cpu.cpu_bw_dl()),
            ("effective_perf", sugov_effective_cpu_perf(got.util, got.min, got.max)),
        ]);
    }
}

fn next_freq(row: &Row, rules: &SugovRules, freq_ref: u32) -> (u32, SugovPolicy) {
    let mut policy = SugovPolicy {
        cached_raw_freq: row.get("cached_raw_before"),
        next_freq: row.get("next_freq_before"),
        need_freq_update: row.flag("need_freq_update"),
        ..SugovPolicy::default()
    };
    let reference = CapacityRef {
        invariant: row.flag("invariant"),
        freq_ref,
        cpuinfo_max: row.get("max_freq_khz"),
        cur: row.get("cur_khz"),
    };
    let freq = policy.get_next_freq(rules, &reference, row.get("util"), row.get("max"), |freq| freq);
    (freq, policy)
}

#[test]
fn get_next_freq_of_6_1_is_the_kernels() {
    for row in rows("get_next_freq_6_1.csv") {
        let (freq, policy) = next_freq(&row, &SugovRules::V6_1, 0);
        row.check(&[
            ("util_perf", map_util_perf(row.get("util"))),
            ("freq_returned", freq.into()),
            ("cached_raw_after", policy.cached_raw_freq.into()),
        ]);
    }
}

#[test]
fn get_next_freq_of_7_3_is_the_kernels() {
    for row in rows("get_next_freq_7_3.csv") {
        let (freq, policy) = next_freq(&row, &SugovRules::V6_18, row.get("ref_freq_khz"));
        row.check(&[("freq_returned", freq.into()), ("cached_raw_after", policy.cached_raw_freq.into())]);
    }
}

#[test]
fn the_iowait_boost_is_the_kernels() {
    let mut boost = IowaitBoost::default();
    for row in rows("iowait_boost_6_1.csv") {
        let (time, tick): (u64, u64) = (row.get("time_ns"), row.get("tick_ns"));
        if row.get::<i32>("step") < 0 {
            boost = IowaitBoost { last_update: time, ..IowaitBoost::default() };
            continue;
        }
        boost.raise(time, tick, row.flag("iowait_flag"));
        boost.last_update = time;
        let mut util: u64 = row.get("util_in");
        if row.flag("apply") {
            util = util.max(boost.apply(time, tick, row.get("max")));
        }
        row.check(&[
            ("iowait_boost_after", boost.boost.into()),
            ("pending_after", boost.pending.into()),
            ("util_out", util),
        ]);
    }
}

#[test]
fn updates_of_a_single_cpu_are_the_kernels() {
    let mut state: Option<(Sugov, Policy)> = None;
    for row in rows("sugov_update_single_freq_6_1.csv") {
        if row.get::<u32>("step") == 0 {
            // The driver of the vectors takes any frequency, above the highest too.
            let mut policy = Policy::new(vec![0], Driver::Continuous { min: 0, max: u32::MAX, step: 1 }).unwrap();
            policy.invariant = true;
            policy.cpuinfo_max = row.get("max_freq_khz");
            let sugov = Sugov::new(SugovRules::V6_1, &[0], row.get("rate_limit_us"), row.get("tick_ns"), false);
            state = Some((sugov, policy));
        }
        let (sugov, policy) = state.as_mut().unwrap();
        let (max, util): (u64, u64) = (row.get("max"), row.get("util_in"));
        let bw_dl = row.get("dl_bw_util");
        let asked = Asked { actual: util, min: bw_dl, max, capacity: max, uclamp: Uclamp::UNUSED };
        let view = Table {
            asked: Some(asked),
            bw_dl,
            capped: row.flag("uclamp_capped"),
            idle_calls: row.get("idle_calls"),
            ..Table::default()
        };
        sugov.policy.limits_changed |= row.flag("limits_changed_set");
        let at = Update { now: row.get("time_ns"), cpu: 0, from: 0, iowait: row.flag("iowait_flag") };
        let switched = sugov.update_single_freq(&at, policy, &view);
        let (iowait, kept) = (sugov.cpu(0).unwrap().iowait, sugov.policy);
        row.check(&[
            ("switched", switched.is_some().into()),
            ("freq_khz", kept.next_freq.into()),
            ("iowait_boost_after", iowait.boost.into()),
            ("pending_after", iowait.pending.into()),
            ("last_freq_update_time", kept.last_freq_update_time),
            ("cached_raw_after", kept.cached_raw_freq.into()),
            ("need_freq_update_after", kept.need_freq_update.into()),
        ]);
    }
}
