//! The control flow of a placement: `select_task_rq_fair()` of `crates/scx-wakelab/src/bpf/select_task_rq_fair.h` and
//! what it calls, on a machine whose state is given.
//!
//! The kernel's helpers are stubbed (`kernel_stub.h`): one thread makes one wake-up at a time, so that no claim is ever
//! lost to another waker. The program keeps its state in static variables, as BPF does, so there is one [`Machine`] at
//! a time in a process.

use crate::ScanCost;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `struct cpu_info` of intf.h: where a CPU is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuInfo {
    /// The number of its LLC.
    pub llc: u32,
    /// Its place among the CPUs of its LLC, ascending.
    pub llc_pos: u32,
    /// Its capacity; 1024 is the largest.
    pub capacity: u32,
    /// How many CPUs its core has.
    pub nr_smt: u32,
    /// The CPUs of its core, ascending, itself among them.
    pub smt: [u16; 8],
    /// CPUs with the same number share the domain of that level.
    pub level: [u32; 6],
}

/// One level of scheduling domains.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// `sd->imbalance_pct`.
    pub imbalance_pct: u32,
    /// Whether it has SD_WAKE_AFFINE.
    pub affine: bool,
}

/// The state of a CPU at a wake-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuState {
    /// Whether it is idle.
    pub idle: bool,
    /// Its runnable tasks.
    pub nr_runnable: u32,
    /// Its `load_avg`.
    pub load: u64,
    /// SIS_SHORT: `dur_avg` of its running task, ns.
    pub curr_dur_avg: u64,
    /// SIS_LIMIT: where the next scan begins.
    pub next_cpu: Option<u32>,
    /// SIS_PARAM: failed searches around it.
    pub sis_failed: u32,
    /// The state that SIS_PROP keeps of it as a waker.
    pub cost: ScanCost,
}

/// `struct sis_param` of sis_param.h, which has the units.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SisParam {
    pub run: u64,
    pub short_run: u64,
    pub util_pct: u32,
    pub floor: u32,
    pub cap: u32,
    pub failed: u32,
    pub short_scan: u32,
    pub pad: u32,
}

impl SisParam {
    /// SIS_UTIL as it is.
    pub const SIS_UTIL: SisParam = SisParam {
        run: 0,
        short_run: 0,
        util_pct: 0,
        floor: 0,
        cap: i32::MAX as u32,
        failed: 0,
        short_scan: 100,
        pad: 0,
    };
}

/// `struct wake` of native_select.c: one wake-up.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Wake {
    pub features: u64,
    pub flags: u64,
    pub jiffies: u64,
    pub clock: u64,
    pub clock_step: u64,
    pub waker_load: u64,
    pub wakee_load: u64,
    pub wakee_dur_avg: u64,
    pub wakee_util_avg: u64,
    pub wakee_util_est: u32,
    pub waker_flips: u32,
    pub wakee_flips: u32,
    pub this_cpu: i32,
    pub prev: i32,
    pub recent: i32,
    pub exiting: bool,
    pub in_task: bool,
    pub kthread: bool,
    pub allowed: [u64; 16],
}

/// `struct outcome` of native_select.c: what the placement chose, counted and left behind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Outcome {
    pub cost: ScanCost,
    pub cpu: i32,
    pub target: i32,
    pub recent: i32,
    pub next_cpu: i32,
    pub sis_failed: u32,
    pub reason: u32,
    pub search: u32,
    pub domain_search: u32,
    pub scanned: u32,
    pub failed: u32,
    pub lost: u32,
    pub claimed: bool,
    pub cleared: bool,
}

/// `enum reason` of intf.h, by the names of the model's reasons.
pub const REASONS: [&str; 14] = [
    "target",
    "prev",
    "kthread",
    "recent",
    "smt",
    "core",
    "core-cpu",
    "scan",
    "short",
    "limit",
    "overloaded",
    "none",
    "capacity",
    "current-cpu",
];

unsafe extern "C" {
    fn ws_machine(cpus: u32, llcs: u32, levels: u32, smt: bool, asym: bool, min_granularity: u64);
    fn ws_cpu(cpu: u32, info: &CpuInfo);
    fn ws_llc(llc: u32, first: u32, nr: u32, imbalance_pct: u32, cpus: *const u16);
    fn ws_level(level: u32, imbalance_pct: u32, affine: bool);
    fn ws_cpu_state(
        cpu: u32,
        idle: bool,
        nr_runnable: u32,
        load: u64,
        curr_dur_avg: u64,
        next_cpu: i32,
        sis_failed: u32,
        cost: &ScanCost,
    );
    fn ws_sis_param(param: &SisParam);
    fn ws_llc_state(llc: u32, nr_idle_scan: i32, has_idle_cores: bool);
    fn ws_select(wake: &Wake, out: &mut Outcome);
}

static ONE: Mutex<()> = Mutex::new(());

/// The machine that the program's static variables describe, for as long as it lives.
#[derive(Debug)]
pub struct Machine {
    _one: MutexGuard<'static, ()>,
    cpus: usize,
    llcs: usize,
}

impl Machine {
    /// A machine of these CPUs and levels; `llcs` has the CPUs of each LLC, ascending, and the `imbalance_pct` of its
    /// domain. `min_granularity` is in ns.
    ///
    /// # Panics
    /// If there are more than 1024 CPUs or 6 levels, or an LLC has a CPU that there is not.
    pub fn new(cpus: &[CpuInfo], llcs: &[(Vec<u16>, u32)], levels: &[Level], asym: bool, min_granularity: u64) -> Self {
        assert!(cpus.len() <= 1024 && llcs.len() <= cpus.len() && levels.len() <= 6);
        assert!(llcs.iter().flat_map(|(of, _)| of).all(|&cpu| usize::from(cpu) < cpus.len()));
        assert!(llcs.iter().map(|(of, _)| of.len()).sum::<usize>() <= cpus.len());
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let smt = cpus.iter().any(|cpu| cpu.nr_smt > 1);
        // SAFETY: the lock makes this the only user of the static variables, and all indices are within their arrays.
        unsafe {
            ws_machine(cpus.len() as u32, llcs.len() as u32, levels.len() as u32, smt, asym, min_granularity);
            for (cpu, info) in cpus.iter().enumerate() {
                ws_cpu(cpu as u32, info);
            }
            let mut first = 0;
            for (llc, (of, imbalance_pct)) in llcs.iter().enumerate() {
                ws_llc(llc as u32, first, of.len() as u32, *imbalance_pct, of.as_ptr());
                first += of.len() as u32;
            }
            for (at, level) in levels.iter().enumerate() {
                ws_level(at as u32, level.imbalance_pct, level.affine);
            }
        }
        Machine { _one: one, cpus: cpus.len(), llcs: llcs.len() }
    }

    /// Sets the state of a CPU.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn set_cpu(&mut self, cpu: u32, state: &CpuState) {
        assert!((cpu as usize) < self.cpus);
        // The program keeps the CPU + 1; 0 is none.
        let next = state.next_cpu.map_or(0, |next| next as i32 + 1);
        let CpuState { idle, nr_runnable, load, curr_dur_avg, sis_failed, .. } = *state;
        // SAFETY: as in `new`.
        unsafe { ws_cpu_state(cpu, idle, nr_runnable, load, curr_dur_avg, next, sis_failed, &state.cost) }
    }

    /// Sets the parameters of SIS_PARAM. A new machine has those of SIS_UTIL.
    pub fn set_sis_param(&mut self, param: &SisParam) {
        // SAFETY: as in `new`.
        unsafe { ws_sis_param(param) }
    }

    /// Sets the shared state of an LLC.
    ///
    /// # Panics
    /// If there is no such LLC.
    pub fn set_llc(&mut self, llc: u32, nr_idle_scan: i32, has_idle_cores: bool) {
        assert!((llc as usize) < self.llcs);
        // SAFETY: as in `new`.
        unsafe { ws_llc_state(llc, nr_idle_scan, has_idle_cores) }
    }

    /// `select_task_rq_fair()`: places a task.
    ///
    /// # Panics
    /// If the waking or the previous CPU is none of this machine.
    pub fn select(&mut self, wake: &Wake) -> Outcome {
        assert!((wake.this_cpu as usize) < self.cpus && (wake.prev as usize) < self.cpus);
        let mut out = Outcome::default();
        // SAFETY: as in `new`; both structures are those of native_select.c.
        unsafe { ws_select(wake, &mut out) }
        out
    }
}
