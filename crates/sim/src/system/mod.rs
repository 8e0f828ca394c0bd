//! The state of the simulated system. How placement and balancing see it is in the files of what they read.

pub mod idle;
pub mod llc;
pub mod root_domain;
pub mod search_policies;

use self::idle::IdleCpus;
use self::llc::Llc;
use self::root_domain::RootDomain;
use self::search_policies::SearchPolicies;
use crate::channel::Channel;
use crate::cpu::CpuState;
use crate::ext::ExtState;
use crate::futex::Sync;
use crate::model::Model;
use crate::numbered::{Numbered, PerCpu, PerTask};
use crate::pm::Pm;
use crate::pm::freq_invariance::RqClocks;
use crate::rcu_gp_kthread::RcuState;
use crate::rt::RtState;
use crate::sched_cache::CacheState;
use crate::task::Task;
use crate::task_group::TaskGroups;
use crate::uclamp::UclampState;
use crate::workqueue::Workqueue;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{Entities, TaskId};
use wakelab_sched::select::Rules;

/// The value of the CPUs' clocks when the run begins, ns. It is not 0, because PELT takes an average that was last
/// updated at 0 for one that no run queue has yet. A multiple of 1024 ns keeps PELT's periods in place.
pub const BOOT_NS: u64 = 1 << 32;

/// The system now.
#[derive(Debug)]
pub struct System<'m> {
    /// The constant data of the run.
    pub model: &'m Model<'m>,
    /// [`Model::rules`](crate::model::Model::rules), which each wake-up reads several times.
    pub rules: Rules<'m>,
    /// The time, ns.
    pub now: u64,
    /// The jiffies counter.
    pub jiffies: u64,
    /// All CPUs.
    pub cpus: PerCpu<CpuState>,
    /// All tasks.
    pub tasks: PerTask<Task>,
    /// Their entities.
    pub es: Entities,
    /// All channels.
    pub channels: Numbered<Channel>,
    /// All mutexes, conditions, barriers, semaphores and lists, by the same numbers.
    pub syncs: Numbered<Sync>,
    /// All workqueues.
    pub workqueues: Vec<Workqueue>,
    /// All LLCs.
    pub llcs: Numbered<Llc>,
    /// The idle CPUs.
    pub idle: IdleCpus,
    /// What balancing keeps.
    pub rd: RootDomain,
    /// The search that reads the system at present: when it began, and the time between two probes, ns.
    pub probing: (u64, u64),
    /// The CPU on which the kernel's code of the present event runs.
    pub this_cpu: Cpu,
    /// Frequencies, idle states and power; `None` without governors.
    pub pm: Option<Box<Pm>>,
    /// The run queues' clocks.
    pub clocks: RqClocks,
    /// The state of search policies.
    pub policies: SearchPolicies,
    /// `nr_idle_scan` of the domain with all capacities, for kernels that keep one there.
    pub asym_nr_idle_scan: i32,
    /// The state of cache-aware balancing; `None` if it is off.
    pub sched_cache: Option<Box<CacheState>>,
    /// Utilisation clamps; `None` in a run that sets none.
    pub uclamp: Option<Box<UclampState>>,
    /// The state of everything that leaves the fair class less of a CPU; `None` without any of it.
    pub rt: Option<Box<RtState>>,
    /// The scheduler of sched_ext; `None` for the fair class.
    pub ext: Option<Box<ExtState>>,
    /// The state that the groups' run queues share; `None` without control groups.
    pub task_groups: Option<Box<TaskGroups>>,
    /// Grace periods; `None` in a run that has no daemons.
    pub rcu: Option<Box<RcuState>>,
    /// Something wants timers: frequency governors, or groups' bandwidth.
    pub requests: bool,
}

impl System<'_> {
    /// `rq_clock_task()` of a CPU, ns.
    #[inline]
    pub fn clock_task(&self, cpu: Cpu) -> u64 {
        BOOT_NS + self.now - self.irq_time(cpu)
    }

    /// How many tasks are not the workload's. They come first.
    pub fn nr_background(&self) -> u32 {
        self.tasks.iter().position(Task::workload).unwrap_or(0) as u32
    }

    /// The task's name: that of the workload, or the program's name with a number if another task forked it.
    pub fn task_name(&self, id: TaskId) -> String {
        if let Some(name) = self.kworker_name(id) {
            return name;
        }
        let tasks = &self.model.workload.tasks;
        match tasks.get(id.0.wrapping_sub(self.nr_background()) as usize) {
            Some(task) => task.name.clone(),
            None => {
                let program = &self.model.programs[self.tasks[id].program];
                format!("{}#{}", program.name, id.0)
            }
        }
    }
}
