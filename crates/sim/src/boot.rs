//! How a run begins: a machine at rest, and the tasks that it will have.

use crate::channel::Channel;
use crate::cpu::{CpuState, Doing, Newidle};
use crate::engine::Random;
use crate::engine::Sim;
use crate::event_queue::{TimedEvent, TimedEvents, Timeline};
use crate::ext::{ExtState, TimerSoftirq};
use crate::futex::Sync;
use crate::model::Model;
use crate::numbered::PerTask;
use crate::pm::Pm;
use crate::pm::clocks::dilation;
use crate::pm::freq_invariance::RqClocks;
use crate::pm::rcu::{grace_period_ns, queues_callbacks};
use crate::sched_cache::CacheState;
use crate::search::Search;
use crate::system::System;
use crate::system::idle::IdleCpus;
use crate::system::llc::Llc;
use crate::system::root_domain::RootDomain;
use crate::system::search_policies::SearchPolicies;
use crate::task::{Of, State, Task, Wait};
use crate::tick::Hrtimer;
use crate::uclamp::UclampState;
use crate::{CpuTime, Setup};
use smallvec::SmallVec;
use wakelab_events::sim::{NewTask, Sink};
use wakelab_sched::balance::{CfsTasks, Nohz, get_sd_balance_interval};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::domain::SdFlags;
use wakelab_sched::pelt::{CfsRqPelt, init_entity_runnable_average};
use wakelab_sched::runqueue::{EnqueueFlags, Entities, Entity, FairRq, Policy, Prev, TaskId};
use wakelab_sched::select::{Select, WakeeFlips};

/// The jiffies counter at the start. The kernel's starts five minutes before it wraps. Here it has to be above the
/// longest balance interval of a domain, because the last balance lies before the start.
const INITIAL_JIFFIES: u64 = 1 << 20;

/// The CPU on which the benchmark's shell forks its tasks.
pub const LAUNCHER: Cpu = 0;

impl<'m, 's, S: Sink> Sim<'m, 's, S> {
    /// An idle machine, on which the workload's tasks are still to be forked.
    pub fn new(model: &'m Model<'m>, setup: &Setup<'_>, sink: &'s mut S) -> Self {
        let nr_cpus = model.nr_cpus();
        let idle_cpu = idle_cpu(model);
        let cpus = model.capacity.iter().map(|&capacity| {
            // At the highest frequency. pm_start() sets that with which a governor starts.
            CpuState { dilation: dilation(1, 1, capacity), ..idle_cpu.clone() }
        });
        let rules = model.rules();
        let sys = System {
            model,
            rules,
            now: 0,
            jiffies: INITIAL_JIFFIES,
            cpus: cpus.collect(),
            tasks: PerTask::default(),
            es: Entities::new(),
            channels: model.workload.channels.iter().map(|channel| Channel::new(channel, &model.mechanisms)).collect(),
            syncs: model.workload.channels.iter().map(|channel| Sync::new(channel.capacity)).collect(),
            workqueues: Vec::new(),
            llcs: Llc::all(model),
            idle: IdleCpus::new(model),
            rd: RootDomain::new(model),
            probing: (0, 0),
            this_cpu: LAUNCHER,
            pm: model.pm.as_ref().map(|pm| Box::new(Pm::new(pm))),
            clocks: RqClocks::new(model),
            policies: SearchPolicies::new(model, &rules),
            asym_nr_idle_scan: nr_cpus as i32,
            sched_cache: CacheState::new(model, INITIAL_JIFFIES),
            uclamp: UclampState::new(model),
            rt: model.realtime(setup.kernel),
            ext: None,
            task_groups: None,
            rcu: None,
            requests: false,
        };
        let mut sim = Sim {
            sys,
            searches: vec![Search::default(); nr_cpus as usize].into(),
            beginning: Select::default(),
            timeline: Timeline::new(nr_cpus),
            timed_events: TimedEvents::default(),
            random: Random::new(setup.seed),
            sink,
            wakeups: 0,
            events: 0,
            instant: (0, 0),
            nested_picks: 0,
            nr_unblocked: 0,
            nr_unexited: 0,
            failed: None,
            launcher: idle_cpu.rq.clone(),
            dependent_searches: Vec::new(),
            dependent_positions: Vec::new(),
            nohz: Nohz::new(&model.balance, INITIAL_JIFFIES),
        };
        sim.at(model.tick_ns, TimedEvent::Jiffy);
        sim.add_launcher();
        sim.add_domains();
        sim.add_kworkers();
        sim.add_rcu_kthread();
        sim.add_daemons();
        sim.add_workqueues();
        sim.add_task_groups(setup.scheduler.is_some());
        sim.add_tasks();
        sim.add_interrupts();
        sim.pm_start();
        match ExtState::new(setup, model) {
            Ok(None) => {}
            Ok(ext) => {
                sim.sys.ext = ext;
                sim.sys.rd.keep_no_sums();
                sim.enable_ext();
            }
            Err(error) => sim.failed = Some(error),
        }
        sim
    }

    /// The shell that forks the workload's tasks. It is not simulated, but its children start where its run queue, on
    /// which it is alone, places them (START_DEBIT).
    fn add_launcher(&mut self) {
        let avg = init_entity_runnable_average(1024);
        let shell = self.add(Task::new(0, &[], 0, true, avg), Entity::new(Policy::Normal, 0, 0));
        let task = &mut self.sys.tasks[shell];
        (task.of, task.state) = (Of::Machine, State::Dead);
        let now = self.sys.clock_task(LAUNCHER);
        let _ = self.launcher.enqueue_task(&mut self.sys.es, now, shell, EnqueueFlags::WAKEUP);
        self.launcher.schedule(&mut self.sys.es, now, Prev::Runs);
    }

    /// The state that each CPU keeps of its domains. The CPUs of a machine that has run for a while balance at
    /// different times, and know how long newly idle passes take.
    fn add_domains(&mut self) {
        let model = self.sys.model;
        for (cpu, domains) in (0..).zip(&model.domains.domains) {
            for (level, sd) in domains.iter().enumerate() {
                let mut state = model.balance.sd_state(cpu, level, INITIAL_JIFFIES, 0);
                let smt = sd.flags.contains(SdFlags::SHARE_CPUCAPACITY);
                state.max_newidle_lb_cost = if smt { model.costs.newidle_max_smt } else { model.costs.newidle_max_llc };
                // Within the interval of a busy CPU, which is how CPUs come to balance at different times.
                state.last_balance -= self.random.below(get_sd_balance_interval(&model.balance, &state, true) + 1);
                self.sys.cpus[cpu].sd.push(state);
            }
        }
    }

    fn add_kworkers(&mut self) {
        let model = self.sys.model;
        let (period, _) = model.noise;
        if period == 0 {
            return;
        }
        for cpu in 0..model.nr_cpus() {
            let program = model.workload.programs.len() as u32;
            let id = self.add_sleeping(program, (cpu, true), Of::Machine, Wait::Timer);
            let first = self.random.below(period);
            self.at(first, TimedEvent::Timer(id));
            self.emit_task(id);
        }
    }

    /// Adds the RCU kthread, if callbacks are queued and idle states are modelled. Without idle states its work does
    /// not matter.
    fn add_rcu_kthread(&mut self) {
        let model = self.sys.model;
        if model.pm.is_none() || model.noise.0 == 0 || !queues_callbacks(&model.workload.programs) {
            return;
        }
        let program = model.workload.programs.len() as u32 + 1;
        let id = self.add_sleeping(program, (LAUNCHER, false), Of::Machine, Wait::Timer);
        self.at(grace_period_ns(model.hz, model.nr_cpus()), TimedEvent::Timer(id));
        self.emit_task(id);
    }

    fn add_tasks(&mut self) {
        let model = self.sys.model;
        let first = self.sys.tasks.len() as u32;
        let tasks = &model.workload.tasks;
        for (task, &mask) in tasks.iter().zip(&model.task_masks) {
            let pinned = model.masks[mask].weight() == 1;
            let avg = init_entity_runnable_average(0);
            let mut new = Task::new(task.program, &task.channels, mask, pinned, avg);
            new.process = task.process;
            new.footprint = task.footprint;
            new.forker = task.parent.map(|parent| TaskId(first + parent));
            let id = self.add(new, entity(task, model.run_queue.forgets_slices()));
            if let (Some(rt), Some(realtime)) = (&mut self.sys.rt, task.realtime) {
                rt.add(id, realtime);
            }
            (self.nr_unblocked, self.nr_unexited) = (self.nr_unblocked + 1, self.nr_unexited + 1);
        }
        // Of those that start at one moment, who forks others comes first.
        let mut forks = vec![false; tasks.len()];
        tasks.iter().filter_map(|task| task.parent).for_each(|parent| forks[parent as usize] = true);
        for first_to_start in [true, false] {
            for ((id, task), _) in (first..).zip(tasks).zip(&forks).filter(|(_, forks)| **forks == first_to_start) {
                let start = if model.mechanisms.ramp { task.start_ns } else { 0 };
                self.at(start, TimedEvent::Start(TaskId(id)));
            }
        }
    }

    /// Adds a task that is no task of the workload, and sleeps on a CPU. If it is bound, it may use no other.
    pub fn add_sleeping(&mut self, program: u32, (cpu, bound): (Cpu, bool), of: Of, wait: Wait) -> TaskId {
        // Masks: all CPUs, then each CPU alone.
        let mask = if bound { 1 + cpu } else { 0 };
        let new = Task::new(program, &[], mask, bound, init_entity_runnable_average(1024));
        let id = self.add(new, Entity::new(Policy::Normal, 0, 0));
        let task = &mut self.sys.tasks[id];
        (task.of, task.cpu, task.state) = (of, cpu, State::Sleeping(wait));
        id
    }

    /// Adds a task that has not been forked.
    pub fn add(&mut self, mut task: Task, entity: Entity) -> TaskId {
        let id = self.sys.es.push(entity);
        task.avg = init_entity_runnable_average(u64::from(self.sys.es[id].load.weight));
        self.sys.tasks.push(task);
        id
    }

    /// Describes the task to a sink that wants inputs.
    pub fn emit_task(&mut self, id: TaskId) {
        if S::INPUTS {
            let (task, entity) = (&self.sys.tasks[id], &self.sys.es[id]);
            let new = NewTask {
                task: id.0,
                name: &self.sys.task_name(id),
                parent: task.parent.or(task.forker).map(|parent| parent.0),
                workload: task.workload(),
                nice: entity.nice,
                idle_policy: entity.is_idle(),
                affinity: &self.sys.model.masks[task.mask],
                group: entity.group,
            };
            self.sink.task(self.sys.now, &new);
        }
    }
}

/// The entity of a task of the workload that is not forked yet.
fn entity(task: &wakelab_workload::Task, forgets_slices: bool) -> Entity {
    let policy = if task.idle_policy { Policy::Idle } else { Policy::Normal };
    // A task of policy SCHED_IDLE cannot ask for a slice (fair_policy()).
    let slice = if task.idle_policy || forgets_slices { 0 } else { task.slice_ns };
    Entity::new(policy, task.nice, slice).in_group(task.group)
}

fn idle_cpu(model: &Model<'_>) -> CpuState {
    CpuState {
        doing: Doing::Idle,
        since: 0,
        slowdown: 100,
        dilation: crate::pm::clocks::FULL,
        curr_idle: true,
        curr: None,
        // init_cfs_rq(): min_vruntime starts just below where it wraps.
        rq: FairRq::new(model.run_queue, 0u64.wrapping_sub(1 << 20)),
        nr_running: 0,
        nr_rt: 0,
        weight: 0,
        pelt: CfsRqPelt::new(model.pelt),
        not_running: 0,
        lock_free: 0,
        ttwu_pending: false,
        wakelist: SmallVec::new(),
        flush_cost: 0,
        flushing: SmallVec::new(),
        need_resched: false,
        need_resched_lazy: false,
        hrtick: Hrtimer::default(),
        irqs: SmallVec::new(),
        claims: 0,
        idle_flips: WakeeFlips::default(),
        idle_stamp: 1,
        // sched_init(): rq->avg_idle = 2 × sysctl_sched_migration_cost.
        avg_idle: 2 * model.migration_cost,
        wake_stamp: INITIAL_JIFFIES,
        wake_avg_idle: 2 * model.migration_cost,
        avg_scan_cost: 0,
        max_idle_balance_cost: model.migration_cost,
        work_locked: false,
        nr_iowait: 0,
        debt: 0,
        passes: 0,
        passes_since: 0,
        timer_softirq: TimerSoftirq::default(),
        misfit_task_load: 0,
        cfs_tasks: CfsTasks::new(),
        active_balance: None,
        active_llc: false,
        next_balance: INITIAL_JIFFIES,
        sd: SmallVec::new(),
        newidle: Newidle::default(),
        tick_stopped: false,
        time: CpuTime::default(),
    }
}
