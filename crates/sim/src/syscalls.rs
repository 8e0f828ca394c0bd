//! The system calls of a program, except messages, forks and futexes.

use crate::SimError;
use crate::cpu::Doing;
use crate::engine::{Sim, ZERO_TIME_STEPS};
use crate::event_queue::TimedEvent;
use crate::task::{IoWait, Wait};
use wakelab_events::sim::{Event, Sink};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::pelt::{UpdateFlags, dequeue_runnable_load_avg, enqueue_runnable_load_avg, reweight_entity};
use wakelab_sched::runqueue::{Entities, FairRq, Policy, Prev, Resched, TaskId};
use wakelab_workload::{CPU_LOCK_PIECE_NS, Call, RUN_FOR_PIECE_NS, SPIN_PIECE_NS, TimerMode, Work};

impl<S: Sink> Sim<'_, '_, S> {
    /// Performs a system call of the running task. Returns whether the CPU has begun something else; if not, the
    /// program goes on.
    pub fn call(&mut self, cpu: Cpu, id: TaskId, call: Call) -> bool {
        let task = &mut self.sys.tasks[id];
        task.in_softirq = false;
        let resource = |number: u32| task.channels[number as usize];
        match call {
            Call::Lock { mutex } => {
                let mutex = resource(mutex);
                self.lock_mutex(cpu, id, mutex)
            }
            Call::Unlock { mutex } => {
                let mutex = resource(mutex);
                task.pc += 1;
                self.free_mutex(id, mutex);
                self.failed.is_some()
            }
            Call::CondWait { cond, mutex } => {
                let (cond, mutex) = (resource(cond), resource(mutex));
                self.cond_wait(cpu, id, cond, mutex) || self.failed.is_some()
            }
            Call::Signal { cond } | Call::Broadcast { cond } => {
                let (cond, all) = (resource(cond), matches!(call, Call::Broadcast { .. }));
                task.pc += 1;
                self.release(id, cond, all);
                false
            }
            Call::Barrier { barrier } => {
                let barrier = resource(barrier);
                self.barrier(cpu, id, barrier)
            }
            Call::Down { semaphore } => {
                let semaphore = resource(semaphore);
                self.down(cpu, id, semaphore)
            }
            Call::Up { semaphore } => {
                let semaphore = resource(semaphore);
                self.up(id, semaphore);
                false
            }
            Call::QueueWork { workqueue, program } => {
                let workqueue = resource(workqueue);
                task.pc += 1;
                self.queue_work(cpu, id, workqueue, program);
                false
            }
            Call::Ask { list } => {
                let list = resource(list);
                self.ask(cpu, id, list)
            }
            Call::Await { list } => {
                let list = resource(list);
                self.await_list(cpu, id, list)
            }
            Call::Serve { list, each } => {
                let list = resource(list);
                self.serve(id, list, each);
                false
            }
            Call::RecvBatch { channel, room, all } => {
                let channel = resource(channel);
                self.receive_batch(cpu, id, channel, room, all)
            }
            Call::Spin { lock, hold } => {
                let lock = resource(lock);
                task.pc += 1;
                self.spin(cpu, id, lock, hold);
                false
            }
            Call::RunCpuLocked(work) => {
                self.run_cpu_locked(cpu, id, work);
                false
            }
            Call::Io(time) => {
                task.pc += 1;
                self.io_schedule(cpu, id, time)
            }
            Call::SleepUntil { at_ns } => {
                task.pc += 1;
                self.sleep_until(cpu, id, at_ns)
            }
            Call::Timer { timer, period_ns, mode } => {
                task.pc += 1;
                let time = self.timer(id, timer as usize, period_ns, mode);
                self.sleep_until(cpu, id, time)
            }
            Call::Yield => {
                task.pc += 1;
                self.sched_yield(cpu, id)
            }
            Call::Realtime(realtime) => {
                task.pc += 1;
                self.set_realtime(cpu, id, realtime)
            }
            Call::Nice(nice) => {
                task.pc += 1;
                if self.sys.rt_or_dl(id) {
                    return self.is_not_fair(id);
                }
                if self.sys.scx_enabled() {
                    let policy = self.sys.es[id].policy;
                    self.ext_reweight(cpu, id, policy, nice);
                    return false;
                }
                self.reweight(cpu, id, |rq, es, now, need_resched| {
                    rq.set_user_nice(es, now, id, nice, need_resched).resched
                })
            }
            Call::IdlePolicy(idle) => {
                task.pc += 1;
                if self.sys.rt_or_dl(id) {
                    return self.set_fair(cpu, id, idle);
                }
                let policy = if idle { Policy::Idle } else { Policy::Normal };
                if self.sys.scx_enabled() {
                    let nice = self.sys.es[id].nice;
                    self.ext_reweight(cpu, id, policy, nice);
                    return false;
                }
                let begun = self.reweight(cpu, id, |rq, es, now, _| rq.set_policy(es, now, id, policy));
                self.tasks_have_left(cpu);
                begun
            }
            Call::Slice { ns } => {
                task.pc += 1;
                if self.sys.rt_or_dl(id) {
                    return self.is_not_fair(id);
                }
                // A scheduler of sched_ext has slices of its own.
                if self.sys.scx_enabled() {
                    return false;
                }
                // If nothing changes, __sched_setscheduler() does nothing.
                self.sys.cpus[cpu].rq.changes_slice(&self.sys.es, id, ns)
                    && self.reweight(cpu, id, |rq, es, now, _| rq.set_custom_slice(es, now, id, ns))
            }
            Call::Uclamp { min, max } => {
                task.pc += 1;
                self.set_uclamp(cpu, id, min, max)
            }
            Call::Affinity { cpus } => {
                task.pc += 1;
                self.set_affinity(cpu, id, cpus)
            }
            Call::Exec => {
                task.pc += 1;
                self.exec(cpu, id)
            }
            Call::RunFor { ns } => {
                // It computes a piece before it reads the clock.
                if self.left_of(id, ns.max(1)).is_some() {
                    self.sys.tasks[id].left += RUN_FOR_PIECE_NS;
                }
                false
            }
            Call::SpinFor { ns, counts } => {
                let left = self.left_of(id, ns);
                let task = &mut self.sys.tasks[id];
                match left {
                    // At the CPU's speed of the moment: a sibling that becomes idle or busy makes the piece end a
                    // little sooner or later.
                    Some(left) => {
                        let slowdown = self.sys.cpus[cpu].slowdown;
                        task.left += (left * 100 / slowdown).clamp(SPIN_PIECE_NS, RUN_FOR_PIECE_NS);
                    }
                    // A transaction of no time has begun now.
                    None if !counts => task.begun = self.sys.now.min(task.begun + ns),
                    None => {}
                }
                false
            }
        }
    }

    /// How long it is until `ns` have passed since the task's step began, ns; `None`, and the step is done, if they
    /// have.
    fn left_of(&mut self, id: TaskId, ns: u64) -> Option<u64> {
        let task = &mut self.sys.tasks[id];
        let since = *task.calls.run_for.get_or_insert(self.sys.now);
        let left = ns.checked_sub(self.sys.now - since).filter(|left| *left > 0);
        if left.is_none() {
            task.calls.run_for = None;
            task.pc += 1;
        }
        left
    }

    /// Waits in line for a spin lock and holds it. Each holder is assumed to keep its present speed until it releases
    /// the lock.
    fn spin(&mut self, cpu: Cpu, id: TaskId, lock: u32, hold: Work) {
        let hold = self.random.work(hold, &self.sys.model.workload.distributions);
        let slowdown = self.sys.cpus[cpu].slowdown;
        let lock = &mut self.sys.channels[lock];
        let wait = lock.free_at.saturating_sub(self.sys.now);
        lock.free_at = self.sys.now + wait + (hold * slowdown).div_ceil(100);
        self.sys.tasks[id].left += hold + wait * 100 / slowdown;
    }

    /// `do_work()` of schbench, up to the next moment at which time passes: takes a lock of the CPU, spins, or lets go.
    fn run_cpu_locked(&mut self, cpu: Cpu, id: TaskId, work: Work) {
        match self.sys.tasks[id].calls.cpu_lock {
            Some((lock, true)) => {
                self.sys.cpus[lock].work_locked = false;
                let task = &mut self.sys.tasks[id];
                task.calls.cpu_lock = None;
                task.pc += 1;
            }
            // lock_this_cpu() gives a lock back that it got after it was moved, and begins again.
            Some((lock, false)) if self.sys.cpus[lock].work_locked => {
                self.sys.tasks[id].left += CPU_LOCK_PIECE_NS;
            }
            _ if self.sys.cpus[cpu].work_locked => {
                let task = &mut self.sys.tasks[id];
                task.calls.cpu_lock = Some((cpu, false));
                task.left += CPU_LOCK_PIECE_NS;
            }
            _ => {
                self.sys.cpus[cpu].work_locked = true;
                let work = self.random.work(work, &self.sys.model.workload.distributions);
                let task = &mut self.sys.tasks[id];
                task.calls.cpu_lock = Some((cpu, true));
                task.left += work;
            }
        }
    }

    /// A task above the fair class asks for what only fair tasks have.
    fn is_not_fair(&mut self, id: TaskId) -> bool {
        let what = "has a realtime policy when it changes its nice value or slice, which only fair tasks have";
        self.fails(id, &format!("{what}; expected a change of policy before it"))
    }

    /// `io_schedule()`. Returns whether the task sleeps.
    pub fn io_schedule(&mut self, cpu: Cpu, id: TaskId, time: Work) -> bool {
        let time = self.random.work(time, &self.sys.model.workload.distributions);
        if time == 0 {
            return false;
        }
        let task = &mut self.sys.tasks[id];
        (task.iowait, task.iowait_cpu) = (IoWait::Waits, cpu);
        self.sys.cpus[cpu].nr_iowait += 1;
        self.at(self.sys.now + time, TimedEvent::Timer(id));
        self.block(cpu, id, Wait::Timer);
        true
    }

    /// Sleeps until `time`, ns, unless it has passed. Returns whether the task sleeps.
    fn sleep_until(&mut self, cpu: Cpu, id: TaskId, time: u64) -> bool {
        if time <= self.sys.now {
            return false;
        }
        self.at(time, TimedEvent::Timer(id));
        self.block(cpu, id, Wait::Timer);
        true
    }

    /// `sched_setaffinity()` of the running task. Returns whether it has moved to another CPU, which is the first that
    /// it may use now; the kernel takes any (`cpumask_any_and_distribute()`).
    fn set_affinity(&mut self, cpu: Cpu, id: TaskId, cpus: Option<u32>) -> bool {
        let model = self.sys.model;
        let mask = cpus.map_or(0, |set| model.set_masks[set]);
        if self.sys.is_dl(id) && model.masks[mask].weight() != model.nr_cpus() {
            // dl_task_check_affinity()
            return self.fails(id, "has the policy SCHED_DEADLINE, so its CPUs cannot be restricted (EBUSY)");
        }
        let task = &mut self.sys.tasks[id];
        (task.mask, task.pinned) = (mask, model.masks[mask].weight() == 1);
        if self.sys.is_ext(id) {
            self.ext_set_affinity(cpu, id, mask);
            let dest = self.sys.allowed_or_fallback(id, cpu);
            if dest != cpu {
                self.ext_stop_and_push(cpu, dest, id);
            }
            return dest != cpu;
        }
        let dest = self.sys.allowed_or_fallback(id, cpu);
        if dest == cpu {
            return false;
        }
        self.stop_and_push(cpu, dest, id)
    }

    /// When a periodic timer expires next, ns, if it is started now.
    fn timer(&mut self, id: TaskId, timer: usize, period: u64, mode: TimerMode) -> u64 {
        let now = self.sys.now;
        let calls = &mut self.sys.tasks[id].calls;
        if calls.timers.len() <= timer {
            calls.timers.resize(timer + 1, None);
        }
        let next = &mut calls.timers[timer];
        let expires = next.unwrap_or(calls.started) + period;
        *next = Some(if mode == TimerMode::Relative { expires.max(now) } else { expires });
        let slack_ns = expires.cast_signed() - now.cast_signed();
        self.emit(|sys| Event::Period { task: id.0, thread: id.0 - sys.nr_background(), slack_ns });
        expires
    }

    /// `sched_yield()`. Returns whether the task reschedules.
    fn sched_yield(&mut self, cpu: Cpu, id: TaskId) -> bool {
        if self.sys.rt_or_dl(id) {
            let yields = self.yield_rt(cpu, id);
            if yields {
                self.reschedule(cpu, id);
            }
            return yields;
        }
        if self.sys.scx_enabled() {
            self.ext_yield(cpu, id);
            return true;
        }
        let c = &mut self.sys.cpus[cpu];
        if c.rq.nr_queued() == 1 && !c.need_resched {
            return false;
        }
        self.sys.account_mm_sched(cpu);
        self.sys.on_rq(cpu, |rq, es, now| rq.yield_task(es, now));
        self.reschedule(cpu, id);
        true
    }

    /// Reschedules, as an event of this moment, so that a task that is picked again and again does not recurse.
    pub fn reschedule(&mut self, cpu: Cpu, id: TaskId) {
        let (at, count) = self.sys.tasks[id].calls.rescheduled;
        let again = if at == self.sys.now { count + 1 } else { 0 };
        self.sys.tasks[id].calls.rescheduled = (self.sys.now, again);
        if again > ZERO_TIME_STEPS {
            let name = self.sys.task_name(id);
            let text = format!("task {name} gives up its CPU {ZERO_TIME_STEPS} times without any time passing");
            self.failed = Some(SimError::Workload(text));
        }
        self.begin_until(cpu, Doing::LockSchedule(Prev::Runs), self.sys.now);
    }

    /// Gives the running task another weight or slice: `change` dequeues and requeues it as `set_user_nice()` does, and
    /// the averages follow. Returns whether the task reschedules.
    pub fn reweight(
        &mut self,
        cpu: Cpu,
        id: TaskId,
        change: impl FnOnce(&mut FairRq, &mut Entities, u64, bool) -> Resched,
    ) -> bool {
        self.sys.update_load(cpu, id, UpdateFlags::UPDATE_TG);
        let old = u64::from(self.sys.es[id].load.weight);
        let need_resched = self.sys.cpus[cpu].need_resched;
        if self.sys.task_groups.is_some() {
            let resched = self.sys.group_reweight(cpu, id, |rq, es, now| change(rq, es, now, need_resched));
            return self.reweighted(cpu, id, old, resched);
        }
        let resched = self.sys.on_rq(cpu, |rq, es, now| change(rq, es, now, need_resched));
        let new = u64::from(self.sys.es[id].load.weight);
        self.sys.cfs_rq_of(cpu, id, |cfs_rq, task| {
            dequeue_runnable_load_avg(cfs_rq, &task.avg, old);
            reweight_entity(cfs_rq, &mut task.avg, old, new);
            enqueue_runnable_load_avg(cfs_rq, &task.avg, new);
        });
        self.reweighted(cpu, id, old, resched)
    }

    /// The running task has another weight or slice, and its averages with it.
    fn reweighted(&mut self, cpu: Cpu, id: TaskId, old: u64, resched: Resched) -> bool {
        let new = u64::from(self.sys.es[id].load.weight);
        let c = &mut self.sys.cpus[cpu];
        c.weight = c.weight - old + new;
        c.cfs_tasks.move_to_head(id);
        self.sys.touch(cpu);
        if resched.asked() {
            self.reschedule(cpu, id);
        }
        resched.asked()
    }
}
