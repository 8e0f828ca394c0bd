//! The same functions against the numbers that the kernel's own code computed.
//!
//! The files are in the repository's `data/vectors/`, or in the folder that `WAKELAB_VECTORS` names (same layout).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use wakelab_scx_policy as c;

/// A row by the names of its columns.
struct Row(HashMap<String, String>);

impl Row {
    fn get(&self, column: &str) -> i128 {
        let text = self.0.get(column).unwrap_or_else(|| panic!("no column {column}"));
        let hex = text.strip_prefix("0x").map(|digits| i128::from_str_radix(digits, 16));
        hex.unwrap_or_else(|| text.parse()).unwrap_or_else(|_| panic!("{column}: {text}"))
    }
    fn u64(&self, column: &str) -> u64 {
        self.get(column) as u64
    }
    fn u32(&self, column: &str) -> u32 {
        self.get(column) as u32
    }
    fn flag(&self, column: &str) -> bool {
        self.get(column) != 0
    }
}

fn rows(name: &str) -> Vec<Row> {
    let folder = std::env::var_os("WAKELAB_VECTORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"), PathBuf::from);
    let path = folder.join(name);
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Row> = reader.deserialize().map(|row| Row(row.expect("a row"))).collect();
    assert!(rows.len() > 30, "{}: {} rows", path.display(), rows.len());
    rows
}

#[test]
fn pelt_is_the_kernels() {
    let mut sa = c::Pelt::default();
    let mut now = 0;
    for row in rows("pelt.csv") {
        if row.get("step") == 0 {
            (sa, now) = (c::Pelt::default(), 0);
        }
        now += row.u64("delta_ns");
        let updated = c::update_load_sum(now, &mut sa, row.u64("load"), row.u64("runnable"), row.flag("running"));
        if updated {
            c::update_load_avg(&mut sa, row.u64("avg_weight"));
        }
        let ours = [u64::from(updated), sa.load_sum, sa.runnable_sum, sa.util_sum.into(), sa.period_contrib.into()];
        let theirs = ["updated", "load_sum", "runnable_sum", "util_sum", "period_contrib"].map(|name| row.u64(name));
        assert_eq!(ours, theirs, "sequence {} step {}", row.get("sequence"), row.get("step"));
        let averages = ["load_avg", "runnable_avg", "util_avg"].map(|name| row.u64(name));
        assert_eq!([sa.load_avg, sa.runnable_avg, sa.util_avg], averages);
    }
}

#[test]
fn estimates_are_the_kernels() {
    for row in rows("functions/util_est_7_3.csv") {
        let flag = |set: bool| if set { 0x8000_0000 } else { 0 };
        let unchanged = row.flag("flag_before") && !row.flag("pelt_changed");
        let mut sa = c::Pelt {
            util_avg: row.u64("util_avg"),
            runnable_avg: row.u64("runnable_avg"),
            util_est: row.u32("util_est_before") | flag(unchanged),
            ..c::Pelt::default()
        };
        c::util_est_update(&mut sa);
        assert_eq!(sa.util_est, row.u32("util_est_after") | flag(row.flag("flag_after")));
    }
}

#[test]
fn nr_idle_scan_is_the_kernels() {
    let mut computed = 0;
    for row in rows("functions/idle_cpu_scan.csv") {
        if !row.flag("sis_util") || row.flag("newly_idle") || row.get("sd_span_weight") != row.get("llc_weight") {
            continue;
        }
        let nr = c::nr_idle_scan(row.u64("sum_util"), row.u32("llc_weight"), row.u32("imbalance_pct"), 0, false);
        assert_eq!(i128::from(nr), row.get("nr_idle_scan_after"), "row {}", row.get("id"));
        computed += 1;
    }
    assert!(computed > 100, "{computed} rows");
}

#[test]
fn the_published_table_is_computed() {
    let table = include_str!("../../../data/published/sis_util-nr_idle_scan.csv");
    let rows: Vec<Vec<u64>> =
        table.lines().skip(1).map(|line| line.split(',').map(|n| n.parse().expect("a number")).collect()).collect();
    assert!(rows.len() > 5);
    for row in rows {
        let [weight, pct, nr] = row[..] else { panic!("three columns: {row:?}") };
        assert_eq!(c::nr_idle_scan(weight * 1024 * pct / 100, weight as u32, 117, 0, false), nr as i32, "{pct} %");
    }
}

#[test]
fn sis_prop_is_the_kernels() {
    for row in rows("functions/sis_prop.csv") {
        let mut cost = c::ScanCost {
            wake_stamp: row.u64("wake_stamp_before"),
            wake_avg_idle: row.u64("wake_avg_idle_before"),
            avg_scan_cost: row.u64("avg_scan_cost_before"),
        };
        c::sis_prop_decay(&mut cost, row.u64("jiffies"));
        let nr = c::sis_prop_nr(&cost, row.u32("span_weight"));
        assert_eq!(i128::from(nr), row.get("nr"), "row {}", row.get("id"));
        assert_eq!(cost.wake_stamp, row.u64("wake_stamp_after"), "row {}", row.get("id"));
        let walked = row.0["probes"].split_whitespace().count() as i128;
        // Stopped by its limit: the kernel returns before it learns anything.
        if row.get("result_cpu") < 0
            && walked == i128::from(nr) - 1
            && cost.avg_scan_cost == row.u64("avg_scan_cost_after")
        {
            assert_eq!(cost.wake_avg_idle, row.u64("wake_avg_idle_after"));
            continue;
        }
        c::sis_prop_after_scan(&mut cost, row.u64("search_ns"));
        let ours = [cost.wake_avg_idle, cost.avg_scan_cost];
        assert_eq!(
            ours,
            ["wake_avg_idle_after", "avg_scan_cost_after"].map(|name| row.u64(name)),
            "row {}",
            row.get("id")
        );
    }
}

#[test]
fn wake_wide_and_record_wakee_are_the_kernels() {
    for row in rows("functions/wake_wide.csv") {
        let wide = c::wake_wide(row.u32("waker_flips"), row.u32("wakee_flips"), row.u32("llc_size"));
        assert_eq!(wide, row.flag("wake_wide"), "row {}", row.get("id"));
    }
    let mut waker = c::WakeeFlips::default();
    for row in rows("functions/record_wakee.csv") {
        if row.get("step") < 0 {
            waker = c::WakeeFlips {
                decay_ts: row.u64("decay_ts_after"),
                flips: row.u32("wakee_flips_after"),
                ..Default::default()
            };
            continue;
        }
        // Numbered from 0 there; 0 is no task here.
        c::record_wakee(&mut waker, row.u64("wakee_id") + 1, row.u64("jiffies"), row.u64("hz"));
        let theirs = (row.u32("wakee_flips_after"), row.u64("decay_ts_after"), row.u64("last_wakee_after") + 1);
        assert_eq!((waker.flips, waker.decay_ts, waker.last_wakee), theirs, "{} {}", row.get("seq"), row.get("step"));
    }
}

#[test]
fn wake_affine_weight_is_the_kernels() {
    for row in rows("functions/wake_affine.csv") {
        let loads = c::AffineLoads {
            this_load: row.u64("load_this"),
            prev_load: row.u64("load_prev"),
            waker: row.u64("h_load_waker"),
            wakee: row.u64("h_load_wakee"),
            this_capacity: row.u64("capacity_this"),
            prev_capacity: row.u64("capacity_prev"),
        };
        let taken = c::wake_affine_weight(&loads, row.flag("sync"), row.flag("wa_bias"), row.u32("imbalance_pct"));
        let expected = if row.get("weight_result") >= 0 { c::AFFINE_THIS } else { c::AFFINE_NONE };
        assert_eq!(taken, expected, "row {}", row.get("id"));
    }
}

#[test]
fn weights_are_the_kernels() {
    let mut seen = 0;
    for row in rows("runqueue/weights.csv") {
        if row.0.contains_key("nice") && row.0.contains_key("weight") {
            assert_eq!(i128::from(c::weight_of(row.get("nice") as i32 + 120, false)), row.get("weight"));
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} weights");
}
