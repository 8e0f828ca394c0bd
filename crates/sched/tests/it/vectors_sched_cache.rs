//! Cache-aware balancing against numbers that the functions of 7.2.12 computed (data/vectors/harness/sched_cache).

use crate::support::balance::{Cache, MIGRATION_TYPES, State, domains_of};
use crate::support::vectors::{VectorRow, own_rows};
use wakelab_kernel::{Preset, SchedCacheRules};
use wakelab_sched::balance::mm_sched::{CpuEpoch, LlcScan, SchedCacheTime, update_avg_scale};
use wakelab_sched::balance::{
    Balance, BalanceTunables, CacheGroup, CpuIdleType, LbEnv, LlcMig, LlcStats, SchedCache, SdBalance,
};
use wakelab_sched::domain::{SchedDomains, Uniform};

const CACHE: SchedCache = SchedCache {
    rules: SchedCacheRules::V7_2,
    aggr_tolerance: 1,
    epoch_period: 10,
    epoch_affinity_timeout: 5,
    overaggr_pct: 50,
    imb_pct: 20,
    smt_num_threads: 1,
    numa_balancing: true,
};

fn flag(row: &VectorRow, column: &str) -> bool {
    row.get::<u32>(column) == 1
}

fn numbers<T: std::str::FromStr>(row: &VectorRow, column: &str) -> Vec<T> {
    let read = |word: &str| word.parse().unwrap_or_else(|_| panic!("{row}: {column}: {word:?}"));
    row.text(column).split(' ').map(read).collect()
}

#[test]
fn a_move_between_two_llcs_is_judged_as_the_kernel_judges_it() {
    for row in own_rows("sched_cache_can_migrate_llc_7_2.csv") {
        let cache = SchedCache {
            overaggr_pct: row.get("overaggr_pct"),
            imb_pct: row.get("imb_pct"),
            smt_num_threads: row.get("smt_threads"),
            ..CACHE
        };
        let src = LlcStats { util: row.get("src_util"), capacity: row.get("src_capacity") };
        let dst = LlcStats { util: row.get("dst_util"), capacity: row.get("dst_capacity") };
        let mig = cache.can_migrate_llc(Some(src), Some(dst), row.get("task_util"), flag(&row, "to_pref"));
        let name = match mig {
            LlcMig::Forbid => "forbid",
            LlcMig::Llc => "llc",
            LlcMig::Unrestricted => "unrestricted",
        };
        assert_eq!(name, row.text("mig"), "{row}");
    }
}

#[test]
fn processes_are_too_large_where_the_kernel_says_so() {
    for row in own_rows("sched_cache_size_7_2.csv") {
        let cache = SchedCache {
            aggr_tolerance: row.get("aggr_tolerance"),
            smt_num_threads: row.get("smt_threads"),
            numa_balancing: flag(&row, "numa_balancing"),
            ..CACHE
        };
        let group = CacheGroup {
            cpu: None,
            nr_threads: row.get("nr_threads"),
            nr_running_avg: row.get("nr_running_avg"),
            footprint: row.get("footprint"),
        };
        assert_eq!(cache.invalid_llc_nr(&group, row.get("llc_size")), flag(&row, "invalid_llc_nr"), "{row}");
        let exceeds = cache.exceed_llc_capacity(&group, Some(row.get("llc_bytes")));
        assert_eq!(exceeds, flag(&row, "exceed_llc_capacity"), "{row}");
    }
}

/// Three LLCs of four CPUs.
fn three_llcs() -> SchedDomains {
    domains_of(&Uniform { llcs: 3, ..Uniform::new(4, 1) }.topology(), "v7.2")
}

#[test]
fn tasks_stay_for_their_llc_where_the_kernel_keeps_them() {
    let domains = three_llcs();
    let preset = Preset::get("v7.2").unwrap();
    let tunables = BalanceTunables { migration_cost: 0, nr_migrate: 32, preemption: true, hz: 250 };
    let balance = Balance::new(preset.balance, preset.features, tunables, &domains).unwrap().with_sched_cache(CACHE);
    let mut seen = [[0; 2]; 4];
    for row in own_rows("sched_cache_degrades_llc_7_2.csv") {
        let (src, dst) = (row.get::<u32>("src_cpu"), row.get::<u32>("dst_cpu"));
        let llc_of: Vec<u32> = (0..12).map(|cpu| cpu / 4 * 4).collect();
        let cpu_of = |column: &str| u32::try_from(row.get::<i32>(column)).ok();
        let group = CacheGroup {
            cpu: cpu_of("group_cpu"),
            nr_threads: row.get("nr_threads"),
            nr_running_avg: row.get("nr_running_avg"),
            footprint: 0,
        };
        let preferred = cpu_of("preferred_llc").map(|llc| llc * 4);
        let mut state = State::idle(12);
        let utils: Vec<u64> = numbers(&row, "llc_util");
        let capacity = row.get("llc_capacity");
        let stats = (0..3).map(|llc| (llc * 4, LlcStats { util: utils[llc as usize], capacity })).collect();
        state.cache = Cache { stats, tasks: Default::default(), llc_of };
        let runnable = row.get::<u32>("h_nr_runnable");
        state.cpus[src as usize].other = row.get::<u32>("nr_running") - runnable;
        let mut others = state.clone();
        let util = 2 * row.get::<u64>("task_util");
        let task = state.add(src);
        (state.task(task).on_cpu, state.task(task).h_load) = (true, util);
        state.cache.tasks.insert(task, (preferred, group));
        let level = (0..balance.nr_levels(dst)).find(|&level| balance.sd(dst, level).span.test(src)).unwrap();
        assert_eq!(row.get::<u32>("cache_nice_tries"), 1, "that of each domain here");
        let failed = row.get("nr_balance_failed");
        let sd = SdBalance { nr_balance_failed: failed, ..SdBalance::new(balance.sd(dst, level), 0) };
        let known = MIGRATION_TYPES.iter().find(|known| known.1 == row.text("migration_type")).expect("a type");
        let env = |state| LbEnv::new(state, &balance, dst, level, CpuIdleType::Idle, &sd);
        let mut pass = env(&state).with_source(src, known.0, flag(&row, "active_lb_llc"));
        let wrong_dst = pass.migrate_llc_task_wrong_dst(task);
        assert_eq!(wrong_dst, flag(&row, "wrong_dst"), "{row}");
        let degrades = pass.migrate_degrades_llc(task);
        assert_eq!(degrades, flag(&row, "degrades"), "{row}");
        let dropped = !pass.llc_dropped().is_empty();
        let after = if dropped { None } else { group.cpu };
        assert_eq!(after, cpu_of("group_cpu_after"), "{row}");
        // What is in the source, of which the first runs.
        for n in 0..runnable {
            let task = others.add(src);
            (others.task(task).on_cpu, others.task(task).h_load) = (n == 0, util);
            if n < row.get("nr_pref_llc_running") {
                others.cache.tasks.insert(task, (Some(src / 4 * 4), group));
            }
        }
        let broken = env(&others).with_source(src, known.0, false).alb_break_llc();
        assert_eq!(broken, flag(&row, "alb_break"), "{row}");
        for (n, value) in [degrades, wrong_dst, dropped, broken].into_iter().enumerate() {
            seen[n][usize::from(value)] += 1;
        }
    }
    assert!(seen.iter().flatten().all(|&seen| seen > 50), "{seen:?}");
}

#[test]
fn run_times_halve_with_each_epoch_as_in_the_kernel() {
    let (mut cpu, mut own, mut other) = (CpuEpoch::default(), SchedCacheTime::default(), SchedCacheTime::default());
    for row in own_rows("sched_cache_epochs_7_2.csv") {
        if row.get::<u32>("step") == 0 {
            (cpu, own, other) =
                (CpuEpoch { next: 1 << 20, ..CpuEpoch::default() }, Default::default(), Default::default());
        }
        let (jiffies, period) = (row.get("jiffies"), row.get("epoch_period"));
        cpu.account(&mut own, row.get("delta_own"), jiffies, period);
        cpu.account(&mut other, row.get("delta_other"), jiffies, period);
        let fraction = cpu.fraction(&mut own, jiffies, period);
        let expected =
            CpuEpoch { runtime: row.get("cpu_runtime"), epoch: row.get("cpu_epoch"), next: row.get("cpu_epoch_next") };
        assert_eq!(cpu, expected, "{row}");
        assert_eq!(own, SchedCacheTime { runtime: row.get("runtime"), epoch: row.get("epoch") }, "{row}");
        assert_eq!(fraction, row.get::<u64>("fraction"), "{row}");
    }
}

#[test]
fn a_scan_prefers_the_llc_that_task_cache_work_prefers() {
    for row in own_rows("sched_cache_scan_7_2.csv") {
        let (llcs, size, cpu) = (row.get::<u32>("llcs"), row.get::<u32>("llc_size"), row.get::<u32>("cpu"));
        let preferred = u32::try_from(row.get::<i32>("group_cpu")).ok();
        let avg = row.get("nr_running_avg");
        let group = CacheGroup { cpu: preferred, nr_threads: row.get("nr_threads"), nr_running_avg: avg, footprint: 0 };
        let cache = SchedCache { smt_num_threads: 2, ..CACHE };
        let (mut after, mut avg_after) = (None, avg);
        if !cache.invalid_llc_nr(&group, size) {
            let (runtimes, cpu_runtimes): (Vec<u64>, Vec<u64>) =
                (numbers(&row, "runtimes"), numbers(&row, "cpu_runtimes"));
            let mut scan = LlcScan::default();
            for llc in 0..llcs {
                let shares = (llc * size..(llc + 1) * size).map(|i| {
                    let mut time = SchedCacheTime { runtime: runtimes[i as usize], epoch: 0 };
                    let mut epoch = CpuEpoch { runtime: cpu_runtimes[i as usize], epoch: 0, next: 1000 };
                    (i, epoch.fraction(&mut time, 1000, 10))
                });
                scan.add(shares, preferred.is_some_and(|cpu| cpu / size == llc));
            }
            after = scan.prefers().or(preferred);
            let mask = row.text("running_mask").trim_start_matches("0x");
            let running = u64::from_str_radix(mask, 16).expect("a mask").count_ones();
            avg_after = update_avg_scale(avg, u64::from(running), size);
        }
        assert_eq!(after, u32::try_from(row.get::<i32>("group_cpu_after")).ok(), "{row}, CPU {cpu}");
        assert_eq!(avg_after, row.get::<u64>("nr_running_avg_after"), "{row}");
    }
}
