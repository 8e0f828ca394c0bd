//! The kernel's vectors, and a system written down.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use wakelab_pm::Cpu;
use wakelab_pm::governor::{CounterValues, View};
use wakelab_pm::schedutil::{Asked, CpuUtil, SugovRules};
use wakelab_sched::select::Uclamp;

/// One row of a vector file.
pub struct Row {
    place: String,
    columns: std::rc::Rc<HashMap<String, usize>>,
    fields: csv::StringRecord,
}

/// The rows of `functions/<name>` of the committed vectors, or of the folder that `WAKELAB_VECTORS` names.
pub fn rows(name: &str) -> Vec<Row> {
    let folder = std::env::var_os("WAKELAB_VECTORS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/vectors"), PathBuf::from);
    let file = folder.join("functions").join(name);
    let mut reader = csv::Reader::from_path(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let header = reader.headers().expect("a header").clone();
    let columns = std::rc::Rc::new(header.iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect());
    let row = |(line, fields): (usize, csv::Result<csv::StringRecord>)| Row {
        place: format!("{name}:{}", line + 2),
        columns: std::rc::Rc::clone(&columns),
        fields: fields.unwrap_or_else(|e| panic!("{}: {e}", file.display())),
    };
    let rows: Vec<Row> = reader.records().enumerate().map(row).collect();
    assert!(!rows.is_empty(), "{} has no rows", file.display());
    rows
}

impl Row {
    pub fn text(&self, column: &str) -> &str {
        &self.fields[*self.columns.get(column).unwrap_or_else(|| panic!("{}: no column {column}", self.place))]
    }

    pub fn get<T: FromStr>(&self, column: &str) -> T {
        let text = self.text(column);
        text.parse().unwrap_or_else(|_| panic!("{}: {column}: {text:?} is no number of the wanted kind", self.place))
    }

    pub fn hex(&self, column: &str) -> u64 {
        let text = self.text(column);
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_else(|_| panic!("{}: {text}", self.place))
    }

    pub fn flag(&self, column: &str) -> bool {
        self.get::<u8>(column) != 0
    }

    /// The run queue of the files of `effective_cpu_util()`.
    pub fn cpu_util(&self) -> CpuUtil {
        CpuUtil {
            capacity: self.get("capacity"),
            util_cfs: self.get("util_cfs"),
            irq: self.get("irq_util"),
            rt: self.get("rt_util"),
            dl: self.get("dl_util"),
            dl_running_bw: self.get("dl_running_bw"),
            uclamp: Uclamp { used: self.flag("uclamp_used"), min: self.get("uclamp_min"), max: self.get("uclamp_max") },
            rt_runnable: self.flag("rt_runnable"),
        }
    }

    /// Panics unless the columns are as computed.
    pub fn check(&self, computed: &[(&str, u64)]) {
        for (column, got) in computed {
            let expected: u64 = self.get(column);
            assert_eq!(expected, *got, "{}: {column}", self.place);
        }
    }
}

/// A system in which every value is written down.
#[derive(Default)]
pub struct Table {
    pub util: HashMap<Cpu, CpuUtil>,
    pub asked: Option<Asked>,
    pub bw_dl: u64,
    pub capped: bool,
    pub idle_calls: u64,
    pub idle_us: HashMap<Cpu, u64>,
    pub counters: CounterValues,
}

impl View for Table {
    fn util(&self, cpu: Cpu) -> CpuUtil {
        self.util[&cpu]
    }

    fn idle_calls(&self, _cpu: Cpu) -> u64 {
        self.idle_calls
    }

    fn bw_dl(&self, _cpu: Cpu) -> u64 {
        self.bw_dl
    }

    fn capped(&self, _cpu: Cpu) -> bool {
        self.capped
    }

    fn idle_time_us(&self, cpu: Cpu, _io_is_busy: bool) -> u64 {
        self.idle_us.get(&cpu).copied().unwrap_or(0)
    }

    fn counters(&self, _cpu: Cpu) -> CounterValues {
        self.counters
    }

    fn asked(&self, rules: &SugovRules, cpu: Cpu) -> Asked {
        self.asked.unwrap_or_else(|| Asked::of(rules, &self.util(cpu)))
    }
}
