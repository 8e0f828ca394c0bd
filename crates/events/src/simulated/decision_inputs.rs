//! The inputs of a decision, kept until it is made.

use crate::sim::Inputs;
use wakelab_sched::cpumask::{Cpu, CpuMask};
use wakelab_sched::select::{Rules, ScanClock, View, WakeFlags, Wakeup};

/// The values that `wake_affine()` reads of a run queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rq {
    pub nr_running: i32,
    pub h_nr_delayed: i32,
    pub load_avg: i64,
    pub capacity: i64,
    pub runnable_load: Option<i64>,
}

impl Rq {
    fn of(view: &impl View, rules: &Rules<'_>, cpu: Cpu) -> Self {
        Rq {
            nr_running: view.nr_running(cpu) as i32,
            h_nr_delayed: view.h_nr_delayed(cpu) as i32,
            load_avg: view.cpu_load(cpu) as i64,
            capacity: view.capacity_of(cpu) as i64,
            runnable_load: rules.code.runnable_load.then(|| view.cpu_runnable_load(cpu) as i64),
        }
    }
}

/// The inputs of a decision. Its memory is reused for the next decision of the same CPU.
#[derive(Clone, Debug, Default)]
pub struct DecisionInputs {
    /// Whether the decision is pending.
    pub pending: bool,
    pub t_ns: i64,
    pub probe: Option<i64>,
    pub wake_flags: i32,
    pub waker_exiting: bool,
    pub waker_in_task: bool,
    pub waker_percpu_kthread: bool,
    pub waker_flips: i64,
    pub waker_h_load: i64,
    pub recent_used_cpu: Option<i32>,
    pub wakee_flips: i64,
    pub task_h_load: i64,
    pub wakee_policy: i32,
    pub affinity: Vec<u64>,
    pub util_avg: i64,
    pub runnable_avg: i64,
    pub util_est: i64,
    pub uclamp: Option<(i32, i32)>,
    pub last_update_time_set: bool,
    pub on_rq: bool,
    pub numa_preferred_nid: Option<i32>,
    pub idle: Vec<u64>,
    pub sched_idle: Option<Vec<u64>>,
    pub this: Rq,
    pub prev: Rq,
    pub has_idle_cores: Vec<i32>,
    pub nr_idle_scan: Vec<i32>,
    pub scan: ScanClock,
    pub all: Option<Box<AllCpus>>,
}

/// The values that forks and execs read of all CPUs, by CPU.
#[derive(Clone, Debug, Default)]
pub struct AllCpus {
    pub curr_idle: Vec<u64>,
    pub ttwu_pending: Vec<u64>,
    pub nr_running: Vec<i32>,
    pub h_nr_delayed: Vec<i32>,
    pub load_avg: Vec<i64>,
    pub runnable_load: Option<Vec<i64>>,
    pub runnable_avg: Vec<i64>,
    pub util_avg: Vec<i64>,
    pub util_est: Option<Vec<i64>>,
    pub capacity: Vec<i64>,
    pub idle_stamp: Vec<i64>,
    pub idle_exit_latency: Vec<i64>,
    pub group_cap: Vec<i64>,
    pub group_imbalance: Vec<i64>,
}

impl DecisionInputs {
    /// Copies the inputs. `llcs` are the lowest CPUs of the LLCs.
    pub fn fill<V: View>(&mut self, time: u64, llcs: &[Cpu], inputs: &Inputs<'_, V>) {
        let Inputs { wakeup, rules, view, probe } = *inputs;
        let nr_cpus = rules.domains.nr_cpus;
        (self.pending, self.t_ns, self.probe) = (true, time as i64, probe.map(|ns| ns as i64));
        self.tasks(wakeup);
        match view.idle_mask() {
            Some(mask) => {
                set(&mut self.idle, mask);
                self.sched_idle = view.sched_idle_mask().map(|mask| mask.words().to_vec());
            }
            None => {
                set(&mut self.idle, &mask(nr_cpus, |cpu| view.available_idle_cpu(cpu)));
                self.sched_idle = Some(words(nr_cpus, |cpu| view.sched_idle_cpu(cpu)));
            }
        }
        self.this = Rq::of(view, rules, wakeup.waker.cpu);
        self.prev = Rq::of(view, rules, wakeup.wakee.prev_cpu);
        self.has_idle_cores.clear();
        self.has_idle_cores.extend(llcs.iter().map(|&cpu| i32::from(view.has_idle_cores(cpu))));
        self.nr_idle_scan.clear();
        self.nr_idle_scan.extend(llcs.iter().map(|&cpu| view.nr_idle_scan(cpu)));
        self.scan = view.scan_clock(wakeup.waker.cpu);
        let slow = wakeup.flags.intersects(WakeFlags::FORK | WakeFlags::EXEC);
        let reads_all = slow || rules.domains.asym_cpucap_active;
        self.all = reads_all.then(|| Box::new(AllCpus::of(view, rules)));
    }

    fn tasks(&mut self, wakeup: &Wakeup<'_>) {
        let Wakeup { waker, wakee, flags } = wakeup;
        self.wake_flags = flags.bits() as i32;
        self.waker_exiting = waker.exiting;
        self.waker_in_task = waker.in_task;
        self.waker_percpu_kthread = waker.per_cpu_kthread;
        self.waker_flips = i64::from(waker.wakee_flips);
        self.waker_h_load = waker.h_load as i64;
        self.recent_used_cpu = wakee.recent_used_cpu.map(|cpu| cpu as i32);
        self.wakee_flips = i64::from(wakee.wakee_flips);
        self.task_h_load = wakee.h_load as i64;
        self.wakee_policy = super::policy(wakee.idle_policy);
        set(&mut self.affinity, wakee.cpus_ptr);
        self.util_avg = wakee.util_avg as i64;
        self.runnable_avg = wakee.runnable_avg as i64;
        self.util_est = wakee.util_est as i64;
        self.uclamp = wakee.uclamp.used.then_some((wakee.uclamp.min as i32, wakee.uclamp.max as i32));
        self.last_update_time_set = wakee.has_contributed;
        self.on_rq = wakee.on_rq;
        self.numa_preferred_nid = wakee.numa_preferred_nid.map(|node| node as i32);
    }
}

impl AllCpus {
    fn of(view: &impl View, rules: &Rules<'_>) -> Self {
        let domains = rules.domains;
        let nr_cpus = domains.nr_cpus;
        let levels = domains.domains.iter().map(Vec::len).max().unwrap_or(0);
        let own = |cpu: Cpu, level: usize| domains.domains[cpu as usize].get(level).and_then(|sd| sd.groups().next());
        let imbalance = |cpu| {
            let bit = |level| own(cpu, level).is_some_and(|group| view.group_imbalance(level, group));
            (0..levels).map(|level| i64::from(bit(level)) << level).sum()
        };
        let util_est: Vec<_> = (0..nr_cpus).map(|cpu| view.cpu_util_est(cpu).map(|util| util as i64)).collect();
        let cap = |cpu, level| own(cpu, level).map_or(0, |group| view.group_capacity(level, group) as i64);
        AllCpus {
            curr_idle: words(nr_cpus, |cpu| view.curr_is_idle(cpu)),
            ttwu_pending: words(nr_cpus, |cpu| view.ttwu_pending(cpu)),
            nr_running: (0..nr_cpus).map(|cpu| view.nr_running(cpu) as i32).collect(),
            h_nr_delayed: (0..nr_cpus).map(|cpu| view.h_nr_delayed(cpu) as i32).collect(),
            load_avg: (0..nr_cpus).map(|cpu| view.cpu_load(cpu) as i64).collect(),
            runnable_load: (rules.code.runnable_load)
                .then(|| (0..nr_cpus).map(|cpu| view.cpu_runnable_load(cpu) as i64).collect()),
            runnable_avg: (0..nr_cpus).map(|cpu| view.cpu_runnable(cpu) as i64).collect(),
            util_avg: (0..nr_cpus).map(|cpu| view.cpu_util_avg(cpu) as i64).collect(),
            util_est: util_est.into_iter().collect(),
            capacity: (0..nr_cpus).map(|cpu| view.capacity_of(cpu) as i64).collect(),
            idle_stamp: (0..nr_cpus).map(|cpu| view.idle_stamp(cpu) as i64).collect(),
            idle_exit_latency: (0..nr_cpus).map(|cpu| view.idle_exit_latency(cpu).map_or(-1, i64::from)).collect(),
            group_cap: (0..levels)
                .flat_map(|level| (0..nr_cpus).map(move |cpu| (cpu, level)))
                .map(|(c, l)| cap(c, l))
                .collect(),
            group_imbalance: (0..nr_cpus).map(imbalance).collect(),
        }
    }
}

fn mask(nr_cpus: u32, holds: impl Fn(Cpu) -> bool) -> CpuMask {
    CpuMask::from_cpus(nr_cpus, (0..nr_cpus).filter(|&cpu| holds(cpu)))
}

fn words(nr_cpus: u32, holds: impl Fn(Cpu) -> bool) -> Vec<u64> {
    mask(nr_cpus, holds).words().to_vec()
}

fn set(words: &mut Vec<u64>, mask: &CpuMask) {
    words.clear();
    words.extend_from_slice(mask.words());
}
