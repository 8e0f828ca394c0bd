//! The kernel's vectors of the energy model, and of effective utilisation: every row is equal.

use crate::support::vectors::{VectorRow, rows};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use wakelab_kernel::EnergyModel;
use wakelab_sched::CpuMask;
use wakelab_sched::energy::{
    CpuUtilType, EmPerfDomain, PerfState, RqUtil, effective_cpu_util, effective_cpu_util_of_type, em_create_perf_table,
    sugov_effective_cpu_perf,
};

/// The tables by id, as the kernel was given them: capacity, and (kHz, uW).
type Tables = BTreeMap<u32, (u64, Vec<(u64, u64)>)>;

/// Read once.
fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(read_tables)
}

fn read_tables() -> Tables {
    let mut tables = Tables::new();
    for row in rows("em_table.csv") {
        let table = tables.entry(row.get("table_id")).or_insert_with(|| (row.get("scale_cpu"), Vec::new()));
        assert_eq!(row.get::<usize>("index"), table.1.len(), "{row}");
        table.1.push((row.get("freq_khz"), row.get("power_uw")));
    }
    tables
}

fn states(scale_cpu: u64, table: &[(u64, u64)]) -> Vec<PerfState> {
    em_create_perf_table(EnergyModel::Microwatts, scale_cpu, table).expect("the kernel took it")
}

/// The domain that a row asks.
fn domain(row: &VectorRow) -> EmPerfDomain {
    let (scale_cpu, table) = &tables()[&row.get("table_id")];
    let states = states(*scale_cpu, table);
    EmPerfDomain {
        cpus: CpuMask::full(1),
        scale_cpu: *scale_cpu,
        min_perf_state: 0,
        max_perf_state: states.len() - 1,
        states,
        skip_inefficient: row.flag("skip_inefficient"),
        form: EnergyModel::Microwatts,
    }
}

#[test]
fn em_create_perf_table_equals_the_vectors() {
    let tables: BTreeMap<u32, Vec<PerfState>> =
        tables().iter().map(|(&id, (scale_cpu, table))| (id, states(*scale_cpu, table))).collect();
    for row in rows("em_table.csv") {
        let state = &tables[&row.get("table_id")][row.get::<usize>("index")];
        assert_eq!((state.cost, state.inefficient), (row.get("cost"), row.flag("inefficient")), "{row}");
    }
}

#[test]
fn em_pd_get_efficient_state_equals_the_vectors() {
    for row in rows("em_efficient_state.csv") {
        let pd = domain(&row);
        let index = pd.em_pd_get_efficient_state(row.get("freq_request_khz"));
        assert_eq!((index, pd.states[index].frequency), (row.get("index"), row.get("freq_khz")), "{row}");
    }
}

#[test]
fn em_cpu_energy_equals_the_vectors() {
    for row in rows("em_cpu_energy.csv") {
        let pd = EmPerfDomain { scale_cpu: row.get("scale_cpu"), ..domain(&row) };
        let energy = pd.em_cpu_energy(row.get("max_util"), row.get("sum_util"), row.get("allowed_cpu_cap"));
        assert_eq!(energy, row.get::<u64>("energy"), "{row}");
    }
}

/// `cpu_bw_dl()`: 2^20 is a CPU.
fn rq(row: &VectorRow) -> RqUtil {
    RqUtil {
        irq: row.get("irq_util"),
        rt: row.get("rt_util"),
        dl: row.get("dl_util"),
        bw_dl: (row.get::<u64>("dl_running_bw") * 1024) >> 20,
        rt_runnable: row.flag("rt_runnable"),
        uclamp_min: row.get("uclamp_min"),
        uclamp_max: row.get("uclamp_max"),
        uclamp_idle: false,
    }
}

#[test]
fn effective_cpu_util_6_1_equals_the_vectors() {
    for row in rows("effective_cpu_util_6_1.csv") {
        let kind = match row.text("type") {
            "frequency" => CpuUtilType::Frequency,
            "energy" => CpuUtilType::Energy,
            other => panic!("{row}: type {other}"),
        };
        let (util, used) = (row.get("util_cfs"), row.flag("uclamp_used"));
        let got = effective_cpu_util_of_type(kind, util, row.get("capacity"), &rq(&row), used, None);
        assert_eq!(got, row.get::<u64>("util"), "{row}");
    }
}

#[test]
fn effective_cpu_util_7_3_equals_the_vectors() {
    for row in rows("effective_cpu_util_7_3.csv") {
        let got = effective_cpu_util(row.get("util_cfs"), row.get("capacity"), &rq(&row), row.flag("uclamp_used"));
        assert_eq!((got.util, got.min, got.max), (row.get("util"), row.get("min"), row.get("max")), "{row}");
        assert_eq!(rq(&row).bw_dl, row.get::<u64>("dl_bw_util"), "{row}");
        let perf = sugov_effective_cpu_perf(got.util, got.min, got.max);
        assert_eq!(perf, row.get::<u64>("effective_perf"), "{row}");
    }
}

/// Each of these has to be in the vectors, or the equality above says nothing of it.
#[test]
fn the_vectors_show_each_rule_of_the_model() {
    let rows_of =
        |name: &str, differs: &dyn Fn(&VectorRow) -> bool| rows(name).iter().filter(|row| differs(row)).count();
    let skipped = rows_of("em_efficient_state.csv", &|row| {
        let pd = EmPerfDomain { skip_inefficient: false, ..domain(row) };
        pd.em_pd_get_efficient_state(row.get("freq_request_khz")) != row.get::<usize>("index")
    });
    let limited = rows_of("em_cpu_energy.csv", &|row| {
        let pd = EmPerfDomain { scale_cpu: row.get("scale_cpu"), ..domain(row) };
        pd.em_cpu_energy(row.get("max_util"), row.get("sum_util"), 1024) != row.get::<u64>("energy")
    });
    let headroom = rows_of("em_cpu_energy.csv", &|row| {
        let pd = EmPerfDomain { scale_cpu: row.get("scale_cpu"), ..domain(row) };
        let util = row.get::<u64>("max_util") * 4 / 5;
        pd.em_cpu_energy(util, row.get("sum_util"), row.get("allowed_cpu_cap")) != row.get::<u64>("energy")
    });
    for (rule, count) in [("inefficient states", skipped), ("the limit", limited), ("headroom", headroom)] {
        assert!(count >= 5, "{rule}: {count} rows");
    }
}
