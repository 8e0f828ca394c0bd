//! Load balancing's formulas against numbers computed by the kernel's own code (6.1.192): the type of a group, the
//! busier one of two, and the imbalance.

use crate::support::balance::{GROUP_TYPES, MIGRATION_TYPES};
use crate::support::vectors::{VectorRow, rows};
use wakelab_sched::balance::{
    BalanceRules, CpuIdleType, GroupType, Imbalance, LbParams, MigrationType, NumaImbalance, SdLbStats, SgLbStats,
    SiblingImbalance, calculate_imbalance, imbalance_of, is_balanced, update_sd_pick_busiest,
};
use wakelab_sched::domain::SdFlags;

fn group_type(row: &VectorRow, column: &str) -> GroupType {
    let name = row.text(column);
    let known = GROUP_TYPES.into_iter().find(|known| known.1 == name);
    known.map(|known| known.0).unwrap_or_else(|| panic!("{row}: column {column}: no group type is called {name:?}"))
}

fn name_of<T: PartialEq>(names: &[(T, &str)], value: T) -> String {
    names.iter().find(|known| known.0 == value).expect("every value has a name").1.to_owned()
}

fn idle_type(row: &VectorRow) -> CpuIdleType {
    match row.text("idle_type") {
        "idle" => CpuIdleType::Idle,
        "not_idle" => CpuIdleType::NotIdle,
        "newly_idle" => CpuIdleType::NewlyIdle,
        other => panic!("{row}: idle_type is {other:?}"),
    }
}

/// The rows that differ, with what the model gives.
fn differing(file: &str, mut model: impl FnMut(&VectorRow) -> Vec<(&'static str, String)>) -> Vec<String> {
    let wrong = |row: VectorRow| {
        let cells = model(&row);
        let (column, got) = cells.into_iter().find(|(column, got)| row.text(column) != got)?;
        Some(format!("{row}: {column}: expected {:?}, got {got:?}", row.text(column)))
    };
    rows(file).into_iter().filter_map(wrong).collect()
}

fn assert_equal(differing: &[String]) {
    assert!(
        differing.is_empty(),
        "{} rows differ:\n{}",
        differing.len(),
        differing[..differing.len().min(10)].join("\n")
    );
}

fn flag(value: bool) -> String {
    u8::from(value).to_string()
}

fn classified(row: &VectorRow) -> Vec<(&'static str, String)> {
    let sgs = SgLbStats {
        group_weight: row.get("group_weight"),
        sum_nr_running: row.get("sum_nr_running"),
        group_capacity: row.get("group_capacity"),
        group_util: row.get("group_util"),
        group_runnable: row.get("group_runnable"),
        group_asym_packing: row.flag("group_asym_packing"),
        group_misfit_task_load: row.get("group_misfit_task_load"),
        ..SgLbStats::default()
    };
    let group_type = sgs.group_classify(row.get("imbalance_pct"), || row.flag("sgc_imbalance"));
    vec![("group_type", name_of(&GROUP_TYPES, group_type))]
}

#[test]
fn a_group_has_the_type_that_the_kernel_gives_it() {
    assert_equal(&differing("group_classify.csv", classified));
}

fn picked(rules: &BalanceRules, row: &VectorRow) -> Vec<(&'static str, String)> {
    let params = LbParams {
        rules,
        flags: if row.flag("asym_cpucapacity") { SdFlags::ASYM_CPUCAPACITY } else { SdFlags::empty() },
        imbalance_pct: 117,
        imb_numa_nr: 0,
        idle: CpuIdleType::Idle,
        dst_capacity: row.get("dst_capacity"),
        dst_core_idle: row.flag("dst_core_idle"),
    };
    let local = SgLbStats { group_type: group_type(row, "local_type"), ..SgLbStats::default() };
    let candidate = SgLbStats {
        group_weight: 1,
        group_type: group_type(row, "cand_type"),
        sum_h_nr_running: row.get("cand_sum_h_nr_running"),
        sum_nr_running: row.get("cand_sum_nr_running"),
        idle_cpus: row.get("cand_idle_cpus"),
        avg_load: row.get("cand_avg_load"),
        group_misfit_task_load: row.get("cand_misfit_load"),
        min_capacity: row.get("cand_min_capacity"),
        max_capacity: row.get("cand_max_capacity"),
        prefer_priority: row.get("cand_prefer_priority"),
        ..SgLbStats::default()
    };
    let busiest = SgLbStats {
        group_weight: 1,
        group_type: group_type(row, "busiest_type"),
        sum_nr_running: row.get("busiest_sum_nr_running"),
        idle_cpus: row.get("busiest_idle_cpus"),
        avg_load: row.get("busiest_avg_load"),
        group_misfit_task_load: row.get("busiest_misfit_load"),
        prefer_priority: row.get("busiest_prefer_priority"),
        ..SgLbStats::default()
    };
    vec![("picked", flag(update_sd_pick_busiest(&params, &local, &busiest, &candidate)))]
}

/// The kernel of the vectors, 6.1.192, has two rules of 7.2 that 6.1.176 has not; on equal CPUs nothing shows them.
const V6_1_192: BalanceRules =
    BalanceRules { misfit_to_idle_core: true, larger_cpus_first: true, ..BalanceRules::V6_1 };

#[test]
fn the_busier_group_is_the_one_that_the_kernel_picks() {
    assert_equal(&differing("pick_busiest.csv", |row| picked(&V6_1_192, row)));
}

/// Otherwise the rows would not tell the versions apart.
#[test]
fn each_rule_of_another_version_breaks_rows_of_pick_busiest() {
    let others = [
        BalanceRules { first_of_equals: true, ..V6_1_192 },
        BalanceRules { misfit_to_idle_core: false, ..V6_1_192 },
        BalanceRules { larger_cpus_first: false, ..V6_1_192 },
        BalanceRules { smt_balance: true, ..V6_1_192 },
    ];
    for rules in others {
        assert!(!differing("pick_busiest.csv", |row| picked(&rules, row)).is_empty(), "{rules:?}");
    }
}

/// The row's domain. Where the local group's classification left `avg_load` out, it is 0.
fn domain(row: &VectorRow) -> SdLbStats<'static> {
    SdLbStats {
        local_stat: SgLbStats {
            group_type: group_type(row, "local_type"),
            group_weight: row.get("local_weight"),
            sum_nr_running: row.get("local_sum_nr_running"),
            idle_cpus: row.get("local_idle_cpus"),
            group_capacity: row.get("local_capacity"),
            group_util: row.get("local_util"),
            group_load: row.get("local_load"),
            avg_load: row.get("local_avg_load"),
            ..SgLbStats::default()
        },
        busiest_stat: SgLbStats {
            group_type: group_type(row, "busiest_type"),
            group_weight: row.get("busiest_weight"),
            sum_nr_running: row.get("busiest_sum_nr_running"),
            sum_h_nr_running: row.get("busiest_sum_h_nr_running"),
            idle_cpus: row.get("busiest_idle_cpus"),
            group_capacity: row.get("busiest_capacity"),
            group_load: row.get("busiest_load"),
            avg_load: row.get("busiest_avg_load"),
            group_misfit_task_load: row.get("busiest_misfit_load"),
            ..SgLbStats::default()
        },
        total_load: row.get("total_load"),
        total_capacity: row.get("total_capacity"),
        prefer_sibling: row.flag("prefer_sibling"),
        avg_load: row.get("domain_avg_load_in"),
        ..SdLbStats::default()
    }
}

fn params<'a>(rules: &'a BalanceRules, row: &VectorRow) -> LbParams<'a> {
    let flags = [
        ("sd_numa", SdFlags::NUMA),
        ("sd_asym_cpucapacity", SdFlags::ASYM_CPUCAPACITY),
        ("sd_share_llc", SdFlags::SHARE_LLC),
    ];
    LbParams {
        rules,
        flags: flags.into_iter().filter(|(column, _)| row.flag(column)).map(|(_, flag)| flag).collect(),
        imbalance_pct: row.get("imbalance_pct"),
        imb_numa_nr: row.get("imb_numa_nr"),
        idle: idle_type(row),
        dst_capacity: 1024,
        dst_core_idle: true,
    }
}

/// What calculate_imbalance() gives when it is called directly.
fn calculated(rules: &BalanceRules, row: &VectorRow) -> Vec<(&'static str, String)> {
    let mut sds = domain(row);
    let Imbalance { migration_type, amount } = calculate_imbalance(&params(rules, row), &mut sds);
    vec![
        ("ci_migration_type", name_of(&MIGRATION_TYPES, migration_type)),
        ("ci_imbalance", amount.to_string()),
        ("ci_local_avg_load", sds.local_stat.avg_load.to_string()),
        ("ci_domain_avg_load", sds.avg_load.to_string()),
    ]
}

/// What find_busiest_group() gives on the same sums.
fn found(rules: &BalanceRules, row: &VectorRow) -> Vec<(&'static str, String)> {
    let params = params(rules, row);
    let balanced = is_balanced(&params, &mut domain(row));
    let imbalance = imbalance_of(&params, &mut domain(row));
    let mut cells = vec![("fbg_calls_ci", flag(!balanced)), ("fbg_found", flag(imbalance.is_some()))];
    if let Some(Imbalance { migration_type, amount }) = imbalance {
        cells.push(("fbg_migration_type", name_of(&MIGRATION_TYPES, migration_type)));
        cells.push(("fbg_imbalance", amount.to_string()));
    }
    cells
}

#[test]
fn the_imbalance_is_the_kernels() {
    let v6_1 = BalanceRules::V6_1;
    assert_equal(&differing("calculate_imbalance.csv", |row| calculated(&v6_1, row)));
}

#[test]
fn a_domain_is_found_in_balance_where_the_kernel_finds_it() {
    let v6_1 = BalanceRules::V6_1;
    assert_equal(&differing("calculate_imbalance.csv", |row| found(&v6_1, row)));
}

#[test]
fn every_type_of_migration_is_among_the_rows() {
    let rows = rows("calculate_imbalance.csv");
    let shown = |name: &str| rows.iter().any(|row| row.flag("fbg_calls_ci") && row.text("ci_migration_type") == name);
    // 6.1 has no preferences for LLCs.
    for (_, name) in MIGRATION_TYPES.into_iter().filter(|known| known.0 != MigrationType::LlcTask) {
        assert!(shown(name), "no row moves by {name}");
    }
}

#[test]
fn each_rule_of_another_version_breaks_rows_of_calculate_imbalance() {
    let v6_1 = BalanceRules::V6_1;
    let others = [
        BalanceRules { local_above_average: false, ..v6_1 },
        BalanceRules { halved_after_numa: false, ..v6_1 },
        BalanceRules { numa_imbalance: NumaImbalance::BusiestPair, ..v6_1 },
        BalanceRules { sibling_imbalance: SiblingImbalance::TasksPerCore, ..v6_1 },
    ];
    for rules in others {
        assert!(!differing("calculate_imbalance.csv", |row| calculated(&rules, row)).is_empty(), "{rules:?}");
    }
}
