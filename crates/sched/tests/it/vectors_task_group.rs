//! The averages of task groups against numbers that the kernel's functions computed (data/vectors/harness/task_group).

use crate::support::vectors::{VectorRow, own_rows};
use wakelab_sched::pelt::{
    Above, CfsRqPelt, GroupPelt, PeltRules, Propagate, SchedAvg, TgLoad, calc_group_shares, group_h_load, task_h_load,
};

/// `scale_load_down()`.
fn scale_load_down(weight: u64) -> u64 {
    if weight == 0 { 0 } else { (weight >> 10).max(2) }
}

fn averages(row: &VectorRow, of: &str) -> SchedAvg {
    let column = |name: &str| row.get::<u64>(&format!("{of}_{name}"));
    SchedAvg {
        period_contrib: row.get("contrib"),
        load_avg: column("load_avg"),
        load_sum: column("load_sum"),
        runnable_avg: column("runnable_avg"),
        runnable_sum: column("runnable_sum"),
        util_avg: column("util_avg"),
        util_sum: column("util_sum") as u32,
        ..SchedAvg::default()
    }
}

fn propagates(version: &str, rules: PeltRules) {
    for row in own_rows(&format!("propagate_entity_load_avg_{version}.csv")) {
        let mut group = GroupPelt::new(rules);
        group.cfs_rq.avg = averages(&row, "own");
        group.se = averages(&row, "se");
        group.propagate.add(row.get("prop"));
        let mut cfs_rq = CfsRqPelt { avg: averages(&row, "above"), ..CfsRqPelt::new(rules) };
        let mut further = Propagate::default();
        let mut above = Above { cfs_rq: &mut cfs_rq, propagate: Some(&mut further) };
        let weights = (scale_load_down(row.get("se_weight")), scale_load_down(row.get("weight")));
        assert!(group.propagate_entity_load_avg(&mut above, weights.0, weights.1), "{row}");
        assert_eq!(group.se, averages(&row, "se_after"), "{row}: the group's entity");
        assert_eq!(cfs_rq.avg, averages(&row, "above_after"), "{row}: the run queue above");
        assert_eq!(group.propagate.runnable_sum, row.get::<i64>("prop_after"), "{row}");
        assert_eq!(further, Propagate { pending: true, runnable_sum: row.get("above_prop") }, "{row}");
        assert!(!group.propagate_entity_load_avg(&mut Above { cfs_rq: &mut cfs_rq, propagate: None }, 2, 0), "{row}");
    }
}

#[test]
fn averages_go_up_from_group_to_group_as_in_each_version() {
    propagates("5_10", PeltRules::V5_10);
    propagates("5_15", PeltRules::V5_15);
    propagates("6_1", PeltRules::V6_1);
    propagates("7_2", PeltRules::V7_2);
}

#[test]
fn a_group_has_the_part_of_its_weight_on_a_cpu_that_the_kernel_gives_it() {
    for row in own_rows("calc_group_shares_6_1.csv") {
        let weight = scale_load_down(row.get("weight"));
        let (shares, tg_load_avg) = (row.get("tg_shares"), row.get("tg_load_avg"));
        let share = calc_group_shares(shares, weight, row.get("load_avg"), tg_load_avg, row.get("contrib"));
        assert_eq!(share, row.get::<u64>("shares"), "{row}");
    }
}

#[test]
fn a_group_s_load_is_brought_up_to_date_when_it_changed_by_more_than_a_64th() {
    for row in own_rows("update_tg_load_avg_6_1.csv") {
        let mut group = GroupPelt::new(PeltRules::V6_1);
        group.cfs_rq.avg.load_avg = row.get("load_avg");
        group.tg_load_avg_contrib = row.get("contrib");
        let mut tg = TgLoad { load_avg: row.get("tg_load_avg"), runnable_avg: 0 };
        group.update_tg_load_avg(&mut tg, None, false);
        let expected = (row.get("contrib_after"), row.get("tg_load_avg_after"));
        assert_eq!((group.tg_load_avg_contrib, tg.load_avg), expected, "{row}");
    }
}

#[test]
fn the_load_of_a_task_in_a_group_in_a_group_is_the_kernel_s() {
    for row in own_rows("task_h_load_6_1.csv") {
        let number = |column: &str| row.get::<u64>(column);
        let h_load1 = group_h_load(number("root_load_avg"), number("se1_load_avg"), number("root_load_avg"));
        assert_eq!(h_load1, number("h_load1"), "{row}");
        let h_load2 = group_h_load(h_load1, number("se2_load_avg"), number("load_avg1"));
        assert_eq!(h_load2, number("h_load2"), "{row}");
        let mut cfs_rq = CfsRqPelt { h_load: h_load2, last_h_load_update: 9, ..CfsRqPelt::new(PeltRules::V6_1) };
        cfs_rq.avg.load_avg = number("load_avg2");
        let task = SchedAvg { load_avg: number("task_load_avg"), ..SchedAvg::default() };
        assert_eq!(task_h_load(&task, &mut cfs_rq, 9), number("task_h_load"), "{row}");
    }
}
