//! Cache-aware balancing in simulated time (`CONFIG_SCHED_CACHE`, 7.2): where the tasks of each process run, which LLC
//! it prefers for it, and how many queued tasks prefer which LLC.
//!
//! ```text
//! update_curr()               account_mm_sched(): the run time, and the task's preference
//! enqueue, dequeue            account_llc_enqueue(), account_llc_dequeue(): the counts
//! tick                        task_tick_cache(): asks for a scan, once an epoch
//! on the way to user space    task_cache_work(): the scan of all CPUs, which chooses the process's LLC
//! a balance pass              writes the LLCs' statistics (balance_pass())
//! ```
//!
//! There is none of it in a run in which no two tasks can be of one process: a process of one thread prefers nothing.
//! NUMA balancing is not modelled: no task has a preferred node, so that all CPUs are scanned, and a process's
//! footprint is what the workload says, at once, where NUMA balancing would count faults.

use crate::cpu::Doing;
use crate::engine::Sim;
use crate::model::Model;
use crate::numbered::{Numbered, PerCpu, PerTask};
use crate::system::System;
use wakelab_events::sim::Sink;
use wakelab_sched::balance::mm_sched::{CpuEpoch, LlcScan, SchedCacheTime, update_avg_scale};
use wakelab_sched::balance::{CacheGroup, LlcStats, Plan, SchedCache};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;

/// `struct sched_cache_group`.
#[derive(Clone, Debug)]
struct Process {
    /// `pcpu_sched`.
    times: PerCpu<SchedCacheTime>,
    /// The epoch of the CPU that last asked for a scan.
    epoch: u64,
    /// Before this, jiffies, no other scan is made.
    next_scan: u64,
    /// The values that balancing reads.
    group: CacheGroup,
}

/// The part of a task.
#[derive(Clone, Copy, Debug, Default)]
struct TaskCache {
    /// `p->sched_cache_grp`: its process.
    process: Option<u32>,
    /// `p->preferred_llc`: the number of the LLC.
    preferred_llc: Option<u32>,
    /// The run time up to which it is accounted, ns.
    accounted: u64,
    /// `p->cache_work` is queued.
    work: bool,
}

/// The system's state of cache-aware balancing.
#[derive(Clone, Debug)]
pub struct CacheState {
    cache: SchedCache,
    /// `sd->llc_bytes`.
    llc_bytes: PerCpu<u64>,
    /// By number, as in the workload.
    processes: Numbered<Process>,
    tasks: PerTask<TaskCache>,
    epochs: PerCpu<CpuEpoch>,
    /// By CPU and LLC: `sd->llc_counts`.
    counts: Vec<u32>,
    /// By LLC: those of them that are counted at CPUs of other LLCs.
    elsewhere: Numbered<u32>,
    /// By LLC: what `sd_llc_shared` has.
    stats: Numbered<LlcStats>,
}

impl CacheState {
    /// A machine at rest; `None` where it is off.
    pub fn new(model: &Model<'_>, jiffies: u64) -> Option<Box<Self>> {
        let cache = *model.balance.sched_cache()?;
        let (nr_cpus, nr_llcs) = (model.nr_cpus() as usize, model.llc_first.len());
        let nr_processes = model.workload.tasks.iter().filter_map(|task| task.process).max().map_or(0, |last| last + 1);
        let process = Process { times: PerCpu::default(), epoch: 0, next_scan: 0, group: CacheGroup::default() };
        Some(Box::new(CacheState {
            cache,
            llc_bytes: model.llc_bytes.clone(),
            processes: vec![process; nr_processes as usize].into(),
            tasks: PerTask::default(),
            epochs: vec![CpuEpoch { next: jiffies, ..CpuEpoch::default() }; nr_cpus].into(),
            counts: vec![0; nr_cpus * nr_llcs],
            elsewhere: vec![0; nr_llcs].into(),
            stats: vec![LlcStats::default(); nr_llcs].into(),
        }))
    }

    /// Where the count of a CPU and an LLC is.
    fn count_at(&self, cpu: Cpu, llc: u32) -> usize {
        cpu as usize * self.stats.len() + llc as usize
    }

    /// A task of a queue prefers this LLC, or no longer does.
    fn count(&mut self, model: &Model<'_>, cpu: Cpu, llc: u32, more: bool) {
        let at = self.count_at(cpu, llc);
        let change = |count: &mut u32| if more { *count += 1 } else { *count -= 1 };
        change(&mut self.counts[at]);
        if model.llc_of[cpu] != llc {
            change(&mut self.elsewhere[llc]);
        }
    }

    /// Whether a process has too many threads, or too much memory, for the LLC of a CPU.
    fn is_too_large(&self, model: &Model<'_>, process: u32, cpu: Cpu) -> bool {
        let group = &self.processes[process].group;
        let size = model.domains.sd_llc_size[cpu as usize];
        self.cache.invalid_llc_nr(group, size) || self.cache.exceed_llc_capacity(group, self.bytes(model, cpu))
    }

    fn bytes(&self, model: &Model<'_>, cpu: Cpu) -> Option<u64> {
        (!model.domains.domains[cpu as usize].is_empty()).then(|| self.llc_bytes[cpu])
    }
}

/// The last level cache of each CPU, bytes, as far as its LLC is given a part of it (`get_effective_llc_bytes()`); 0
/// where the machine does not say.
pub fn llc_bytes(machine: &wakelab_machine::Machine, sd_llc_size: &[u32]) -> PerCpu<u64> {
    let of = |(cpu, &span): (Cpu, &u32)| {
        let has = |cache: &&wakelab_machine::Cache| cache.cpus.as_ref().is_none_or(|cpus| cpus.test(cpu));
        // The largest number of sharers is that of the last level.
        let last = machine.caches.iter().filter(has).max_by_key(|cache| cache.shared_by);
        last.map_or(0, |cache| cache.size_kib * 1024 * u64::from(span) / u64::from(cache.shared_by.max(1)))
    };
    (0..).zip(sd_llc_size).map(of).collect()
}

impl System<'_> {
    /// `sched_cache_fork()`: a task joins its process, which begins with it if it is the first.
    pub fn cache_fork(&mut self, id: TaskId) {
        let Some(state) = &mut self.sched_cache else { return };
        let task = &self.tasks[id];
        let accounted = self.es[id].sum_exec_runtime;
        *state.tasks.reach(id, TaskCache::default()) =
            TaskCache { process: task.process, accounted, ..TaskCache::default() };
        let Some(process) = task.process else { return };
        let process = &mut state.processes[process];
        if process.group.nr_threads == 0 {
            // mm_init_sched().
            process.times = state.epochs.iter().map(|cpu| SchedCacheTime { runtime: 0, epoch: cpu.epoch }).collect();
            process.epoch = state.epochs.last().map_or(0, |cpu| cpu.epoch);
            process.next_scan = self.jiffies;
            process.group = CacheGroup::default();
        }
        process.group.nr_threads += 1;
        process.group.footprint += task.footprint;
    }

    /// A task leaves its process (`sched_cache_exit_mm()`, `sched_cache_exec_mmap()`). It is counted as it was until it
    /// is dequeued, because an exiting task is no longer accounted.
    pub fn cache_leave(&mut self, id: TaskId) {
        let Some(state) = &mut self.sched_cache else { return };
        let Some(process) = state.tasks[id].process.take() else { return };
        let group = &mut state.processes[process].group;
        group.nr_threads -= 1;
        group.footprint -= self.tasks[id].footprint;
    }

    /// `account_mm_sched()`: the current task of a CPU has run up to now. It comes before whatever has the run queue
    /// call `update_curr()`.
    #[inline]
    pub fn account_mm_sched(&mut self, cpu: Cpu) {
        if self.sched_cache.is_some() {
            self.account_curr(cpu);
        }
    }

    #[inline(never)]
    fn account_curr(&mut self, cpu: Cpu) {
        let model = self.model;
        let Some(id) = self.cpus[cpu].rq.curr() else { return };
        let (entity, clock) = (&self.es[id], self.clock_task(cpu));
        let total = entity.sum_exec_runtime + clock.saturating_sub(entity.exec_start);
        let Some(state) = &mut self.sched_cache else { return };
        let Some(process) = state.tasks.get(id).and_then(|task| task.process) else { return };
        let delta = total.saturating_sub(state.tasks[id].accounted);
        if delta == 0 {
            return;
        }
        state.tasks[id].accounted = total;
        let (epoch, period) = (&mut state.epochs[cpu], state.cache.epoch_period);
        let of = &mut state.processes[process];
        epoch.account(&mut of.times[cpu], delta, self.jiffies, period);
        let (epoch, scanned) = (epoch.epoch, of.epoch);
        let group = of.group;
        let (size, bytes) = (model.domains.sd_llc_size[cpu as usize], state.bytes(model, cpu));
        let preferred = group.cpu.filter(|_| !state.cache.loses_preference(&group, epoch, scanned, size, bytes));
        state.processes[process].group.cpu = preferred;
        self.set_preferred_llc(id, preferred.map(|cpu| model.llc_of[cpu]));
    }

    /// Sets the preference of a task, which is counted where the task is queued.
    fn set_preferred_llc(&mut self, id: TaskId, llc: Option<u32>) {
        let (model, cpu, queued) = (self.model, self.tasks[id].cpu, self.es[id].on_rq);
        let Some(state) = &mut self.sched_cache else { return };
        let old = std::mem::replace(&mut state.tasks[id].preferred_llc, llc);
        if queued && old != llc {
            [(old, false), (llc, true)].into_iter().for_each(|(llc, more)| {
                if let Some(llc) = llc {
                    state.count(model, cpu, llc, more);
                }
            });
        }
    }

    /// `account_llc_enqueue()` (`more`) and `account_llc_dequeue()`.
    #[inline]
    pub fn account_llc(&mut self, cpu: Cpu, id: TaskId, more: bool) {
        let Some(state) = &mut self.sched_cache else { return };
        if let Some(llc) = state.tasks.get(id).and_then(|task| task.preferred_llc) {
            state.count(self.model, cpu, llc, more);
        }
    }

    /// `task_tick_cache()`: the running task is to scan, if its CPU is in a later epoch than the last one that asked.
    pub fn task_tick_cache(&mut self, cpu: Cpu, id: TaskId) {
        let Some(state) = &mut self.sched_cache else { return };
        let Some(process) = state.tasks.get(id).and_then(|task| task.process) else { return };
        let (epoch, process) = (state.epochs[cpu].epoch, &mut state.processes[process]);
        let work = &mut state.tasks[id].work;
        if (epoch.wrapping_sub(process.epoch) as i64) > 0 && !*work {
            *work = true;
            process.epoch = epoch;
        }
    }

    /// `task_cache_work()`, if it is queued: scans all CPUs for where the task's process runs. Returns the time that it
    /// takes, ns at full speed: as much for each CPU as a balance pass takes.
    fn task_cache_work(&mut self, cpu: Cpu, id: TaskId) -> u64 {
        let model = self.model;
        let Some(state) = &mut self.sched_cache else { return 0 };
        let Some(task) = state.tasks.get_mut(id).filter(|task| task.work) else { return 0 };
        task.work = false;
        let Some(number) = task.process else { return 0 };
        let (jiffies, period) = (self.jiffies, state.cache.epoch_period);
        if jiffies < state.processes[number].next_scan {
            return 0;
        }
        state.processes[number].next_scan = jiffies + u64::from(period.max(1));
        if state.is_too_large(model, number, cpu) {
            state.processes[number].group.cpu = None;
            return 0;
        }
        let CacheState { processes, epochs, tasks, .. } = &mut **state;
        let process = &mut processes[number];
        let preferred = process.group.cpu.map(|cpu| model.llc_of[cpu]);
        let (mut scan, mut nr_running, mut nr_cpus) = (LlcScan::default(), 0, 0);
        for (llc, &first) in (0..).zip(&model.llc_first) {
            let Some(level) = model.domains.sd_llc[first as usize] else { continue };
            let span = &model.domains.domains[first as usize][level as usize].span;
            let shares = span.iter().map(|i| {
                let times = &mut process.times[i];
                (i, epochs[i].fraction(times, jiffies, period))
            });
            scan.add(shares, preferred == Some(llc));
            nr_cpus += u64::from(span.weight());
            nr_running += span
                .iter()
                .filter(|&i| {
                    let curr = self.cpus[i].curr.and_then(|curr| tasks.get(curr));
                    curr.is_some_and(|curr| curr.process == Some(number))
                })
                .count() as u64;
        }
        if let Some(cpu) = scan.prefers() {
            process.group.cpu = Some(cpu);
        }
        let avg = &mut process.group.nr_running_avg;
        *avg = update_avg_scale(*avg, nr_running, model.domains.sd_llc_size[cpu as usize]);
        model.costs.balance_cpu * nr_cpus
    }

    /// Writes what a balance pass has found of LLCs and processes.
    pub fn balanced_cache(&mut self, plan: &Plan) {
        let Some(state) = &mut self.sched_cache else { return };
        for &(llc, stats) in &plan.llc_stats {
            state.stats[self.model.llc_of[llc]] = stats;
        }
        for &task in &plan.llc_dropped {
            if let Some(process) = state.tasks.get(task).and_then(|task| task.process) {
                state.processes[process].group.cpu = None;
            }
        }
    }

    /// `p->preferred_llc`, as its lowest CPU.
    pub fn cache_preferred_llc(&self, id: TaskId) -> Option<Cpu> {
        let llc = self.sched_cache.as_ref()?.tasks.get(id)?.preferred_llc?;
        Some(self.model.llc_first[llc])
    }

    /// Returns the values that balancing reads of a task's process.
    pub fn cache_group_of(&self, id: TaskId) -> Option<CacheGroup> {
        let state = self.sched_cache.as_ref()?;
        Some(state.processes[state.tasks.get(id)?.process?].group)
    }

    /// `sd->llc_counts` of a CPU, for the LLC of this lowest CPU.
    pub fn cache_counts(&self, cpu: Cpu, llc: Cpu) -> u32 {
        let llc = self.model.llc_of[llc];
        self.sched_cache.as_ref().map_or(0, |state| state.counts[state.count_at(cpu, llc)])
    }

    /// Whether queued tasks of other LLCs prefer the LLC of this lowest CPU.
    pub fn cache_preferred_elsewhere(&self, llc: Cpu) -> bool {
        let llc = self.model.llc_of[llc];
        self.sched_cache.as_ref().is_some_and(|state| state.elsewhere[llc] != 0)
    }

    /// Returns the values of a CPU's `sd_llc_shared`.
    pub fn cache_llc_stats(&self, cpu: Cpu) -> Option<LlcStats> {
        self.model.domains.sd_llc[cpu as usize]?;
        Some(self.sched_cache.as_ref()?.stats[self.model.llc_of[cpu]])
    }

    /// `sd->llc_bytes` of a CPU.
    pub fn cache_llc_bytes(&self, cpu: Cpu) -> Option<u64> {
        self.sched_cache.as_ref()?.bytes(self.model, cpu)
    }
}

impl<S: Sink> Sim<'_, '_, S> {
    /// The CPU's task is on its way to user space, where its work is done. The kernel does it at the end of a system
    /// call, too; here a tick that comes within one leaves it to the next tick or switch.
    #[inline]
    pub fn exit_to_user_mode(&mut self, cpu: Cpu) {
        if self.sys.sched_cache.is_none() {
            return;
        }
        let c = &self.sys.cpus[cpu];
        let stays = c.doing == Doing::Run || matches!(c.doing, Doing::Switch(_));
        if let Some(id) = c.curr.filter(|_| stays && !c.need_resched && !c.need_resched_lazy) {
            let cost = self.sys.task_cache_work(cpu, id);
            self.sys.cpus[cpu].debt += cost;
        }
    }
}
