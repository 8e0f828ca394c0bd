//! A recorded wake-up as the system that its choice looked at.

use super::frame::{Frame, Row};
use wakelab_sched::CpuMask;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::{SchedDomains, SchedGroup};
use wakelab_sched::select::{
    AsymView, EnergyView, GroupView, IdleStateView, IdleView, LlcView, MaskView, PolicyView, RqView, ScanClock, Uclamp,
    UtilView, WakeFlags, Wakee, Waker, Wakeup,
};

/// What happened to what searches look at: time, and what became what.
pub enum Change {
    Available(Cpu, bool, bool),
    IdleCores(Cpu, bool),
    IdleScan(Cpu, i32),
}

/// All changes of a run, in order.
pub fn changes(folder: &std::path::Path) -> Vec<(i64, Change)> {
    let available = Frame::read(folder, "available");
    let hints = Frame::read(folder, "hints");
    let idle = available.rows().map(|row| {
        (row.long("t_ns"), Change::Available(row.int("cpu") as Cpu, row.flag("available"), row.flag("sched_idle")))
    });
    let hint = |row: Row<'_>| {
        // Nothing is written with SIS_UTIL off.
        let (llc, value) = (row.int("llc_cpu") as Cpu, row.int_or("value")?);
        let change = match row.name("hint") {
            "has_idle_cores" => Change::IdleCores(llc, value != 0),
            "nr_idle_scan" => Change::IdleScan(llc, value),
            other => panic!("hint {other}"),
        };
        Some((row.long("t_ns"), change))
    };
    let mut all: Vec<_> = idle.chain(hints.rows().filter_map(hint)).collect();
    // Stable: two changes of one thing at one moment stay in their order.
    all.sort_by_key(|change| change.0);
    all
}

/// A row, brought up to a moment.
pub struct Seen<'a> {
    row: Row<'a>,
    domains: &'a SchedDomains,
    llcs: Vec<Cpu>,
    idle: CpuMask,
    sched_idle: CpuMask,
    has_idle_cores: Vec<i32>,
    nr_idle_scan: Vec<i32>,
}

fn mask(nr_cpus: u32, words: &[u64]) -> CpuMask {
    CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|&cpu| words[cpu as usize / 64] >> (cpu % 64) & 1 != 0))
}

impl<'a> Seen<'a> {
    pub fn new(row: Row<'a>, domains: &'a SchedDomains) -> Self {
        let mut llcs = domains.sd_llc_id.clone();
        llcs.sort_unstable();
        llcs.dedup();
        Seen {
            row,
            domains,
            llcs,
            idle: mask(domains.nr_cpus, &row.words("idle_mask").expect("inputs")),
            sched_idle: row
                .words("sched_idle_mask")
                .map_or(CpuMask::new(domains.nr_cpus), |words| mask(domains.nr_cpus, &words)),
            has_idle_cores: row.ints("llc_has_idle_cores").expect("inputs"),
            nr_idle_scan: row.ints("llc_nr_idle_scan").expect("inputs"),
        }
    }

    pub fn affinity(&self) -> CpuMask {
        mask(self.domains.nr_cpus, &self.row.words("affinity").expect("inputs"))
    }

    pub fn apply(&mut self, change: &Change) {
        let llc = |cpu: Cpu| self.llcs.iter().position(|&first| first == cpu).expect("an LLC");
        match *change {
            Change::Available(cpu, available, sched_idle) => {
                self.idle.assign(cpu, available);
                self.sched_idle.assign(cpu, sched_idle);
            }
            Change::IdleCores(cpu, value) => {
                let at = llc(cpu);
                self.has_idle_cores[at] = i32::from(value);
            }
            Change::IdleScan(cpu, value) => {
                let at = llc(cpu);
                self.nr_idle_scan[at] = value;
            }
        }
    }

    fn llc(&self, cpu: Cpu) -> usize {
        let id = self.domains.sd_llc_id[cpu as usize];
        self.llcs.iter().position(|&first| first == id).expect("an LLC")
    }

    /// Of the waking or the previous CPU, or, where all CPUs were recorded, of any.
    fn rq(&self, cpu: Cpu, what: &str) -> i64 {
        let long = |name: String| match what {
            "nr_running" | "h_nr_delayed" => i64::from(self.row.int(&name)),
            _ => self.row.long(&name),
        };
        match cpu as i32 {
            cpu if cpu == self.row.int("waker_cpu") => long(format!("this_{what}")),
            cpu if cpu == self.row.int("prev_cpu") => long(format!("prev_{what}")),
            _ => self.all(cpu, what),
        }
    }

    fn all(&self, cpu: Cpu, what: &str) -> i64 {
        let name = format!("cpu_{what}");
        match what {
            "nr_running" | "h_nr_delayed" => i64::from(self.row.ints(&name).expect("recorded")[cpu as usize]),
            _ => self.row.longs(&name).expect("recorded")[cpu as usize],
        }
    }
}

impl IdleView for Seen<'_> {
    fn available_idle_cpu(&self, cpu: Cpu) -> bool {
        self.idle.test(cpu)
    }

    fn sched_idle_cpu(&self, cpu: Cpu) -> bool {
        self.sched_idle.test(cpu)
    }
}

impl RqView for Seen<'_> {
    fn nr_running(&self, cpu: Cpu) -> u32 {
        self.rq(cpu, "nr_running") as u32
    }

    fn h_nr_delayed(&self, cpu: Cpu) -> u32 {
        self.rq(cpu, "h_nr_delayed") as u32
    }

    fn cpu_load(&self, cpu: Cpu) -> u64 {
        self.rq(cpu, "load_avg") as u64
    }

    fn capacity_of(&self, cpu: Cpu) -> u64 {
        self.rq(cpu, "capacity") as u64
    }

    fn cpu_runnable_load(&self, _: Cpu) -> u64 {
        unreachable!("no kernel of these tests reads it")
    }

    fn ttwu_pending(&self, cpu: Cpu) -> bool {
        mask(self.domains.nr_cpus, &self.row.words("ttwu_pending_mask").expect("recorded")).test(cpu)
    }
}

impl LlcView for Seen<'_> {
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.has_idle_cores[self.llc(cpu)] != 0
    }

    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.nr_idle_scan[self.llc(cpu)]
    }
}

impl AsymView for Seen<'_> {}

impl PolicyView for Seen<'_> {
    fn scan_clock(&self, cpu: Cpu) -> ScanClock {
        assert_eq!(cpu as i32, self.row.int("waker_cpu"));
        let long = |name| self.row.long(name) as u64;
        ScanClock {
            jiffies: long("jiffies"),
            wake_stamp: long("wake_stamp"),
            wake_avg_idle: long("wake_avg_idle"),
            avg_idle: long("avg_idle"),
            avg_scan_cost: long("avg_scan_cost"),
        }
    }

    fn cpu_clock(&self, _: Cpu, looks: u32) -> u64 {
        (self.row.long("t_ns") + i64::from(looks) * self.row.long_or("probe_ns").unwrap_or(0)) as u64
    }
}

impl MaskView for Seen<'_> {}

impl UtilView for Seen<'_> {
    fn cpu_runnable(&self, cpu: Cpu) -> u64 {
        self.all(cpu, "runnable_avg") as u64
    }

    fn cpu_util_avg(&self, cpu: Cpu) -> u64 {
        self.all(cpu, "util_avg") as u64
    }

    fn cpu_util_est(&self, cpu: Cpu) -> Option<u64> {
        self.row.longs("cpu_util_est").map(|by_cpu| by_cpu[cpu as usize] as u64)
    }
}

impl GroupView for Seen<'_> {
    fn group_capacity(&self, level: usize, group: &SchedGroup) -> u64 {
        let (cpu, caps) = (group.span.first().expect("a CPU"), self.row.longs("cpu_group_cap").expect("recorded"));
        caps[level * self.domains.nr_cpus as usize + cpu as usize] as u64
    }

    fn group_imbalance(&self, level: usize, group: &SchedGroup) -> bool {
        self.all(group.span.first().expect("a CPU"), "group_imbalance") >> level & 1 != 0
    }
}

impl IdleStateView for Seen<'_> {
    fn curr_is_idle(&self, cpu: Cpu) -> bool {
        mask(self.domains.nr_cpus, &self.row.words("curr_idle_mask").expect("recorded")).test(cpu)
    }

    fn idle_stamp(&self, cpu: Cpu) -> u64 {
        self.all(cpu, "idle_stamp") as u64
    }

    fn idle_exit_latency(&self, cpu: Cpu) -> Option<u32> {
        u32::try_from(self.all(cpu, "idle_exit_latency")).ok()
    }
}

impl EnergyView for Seen<'_> {}

/// Who wakes whom.
pub fn wakeup<'a>(row: Row<'_>, affinity: &'a CpuMask) -> Wakeup<'a> {
    let long = |name| row.long(name) as u64;
    Wakeup {
        waker: Waker {
            cpu: row.int("waker_cpu") as Cpu,
            exiting: row.flag("waker_exiting"),
            in_task: row.flag("waker_in_task"),
            per_cpu_kthread: row.flag("waker_percpu_kthread"),
            wakee_flips: row.long("waker_flips") as u32,
            h_load: long("waker_h_load"),
        },
        wakee: Wakee {
            prev_cpu: row.int("prev_cpu") as Cpu,
            cpus_ptr: affinity,
            recent_used_cpu: row.int_or("recent_used_cpu").map(|cpu| cpu as Cpu),
            wakee_flips: row.long("wakee_flips") as u32,
            h_load: long("task_h_load"),
            idle_policy: row.int("wakee_policy") == 5,
            util_avg: long("util_avg"),
            runnable_avg: long("runnable_avg"),
            util_est: long("util_est"),
            uclamp: Uclamp::UNUSED,
            has_contributed: row.flag("last_update_time_set"),
            on_rq: row.flag("on_rq"),
            is_current: false,
            dur_avg: 0,
            wakes_waker: false,
            numa_preferred_nid: row.int_or("numa_preferred_nid").map(|node| node as u32),
        },
        flags: WakeFlags::from_bits_retain(row.int("wake_flags") as u32),
    }
}
