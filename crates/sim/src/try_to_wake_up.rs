//! `try_to_wake_up()`: from the decision to wake a task until it is on a run queue.
//!
//! A task whose dequeue was delayed sleeps, and is still queued (`ttwu_runnable()`). It stays where it is, so that no
//! CPU is chosen. The wake-up knows that it is queued only under its run queue's lock: if it has left meanwhile, the
//! wake-up goes on as any other; if balancing has moved it, the wake-up takes the other run queue's lock.

use crate::cpu::{Doing, Interrupted, Irq, Waking};
use crate::engine::Sim;
use crate::event_queue::NEVER;
use crate::event_queue::TimedEvent;
use crate::system::{BOOT_NS, System};
use crate::task::{IoWait, State};
use wakelab_events::sim::{Event, Queued, Sink};
use wakelab_kernel::{Feature, Wakelist};
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::{EnqueueFlags, IN_TASK, Resched, TaskId};
use wakelab_sched::select::policy::Hooks;
use wakelab_sched::select::{Decision, WakeFlags, Wakee, Waker, Wakeup, record_wakee};

impl<'m, S: Sink> Sim<'m, '_, S> {
    /// `cpu` begins to wake a task that sleeps.
    pub fn wake(&mut self, cpu: Cpu, waking: Waking) {
        let wakee = waking.wakee;
        self.wakeups += 1;
        let task = &mut self.sys.tasks[wakee];
        let was_unblocked = matches!(task.state, State::Sleeping(crate::task::Wait::Timer));
        if task.matters() && !was_unblocked {
            self.nr_unblocked += 1;
        }
        if self.sys.es[wakee].sched_delayed {
            task.state = State::Waking;
            return self.begin(cpu, Doing::WakeDelayed(waking), self.sys.model.costs.wakeup);
        }
        if self.sys.es[wakee].on_rq {
            // ttwu_runnable(): it has not left its run queue yet, and will stay there.
            task.state = State::Runnable;
            let own = task.cpu;
            // The lock is held for a few stores only.
            let end = self.lock(own, 0) + self.slowed(cpu, self.sys.model.costs.wakeup);
            return self.begin_until(cpu, Doing::WakeRunnable, end);
        }
        task.state = State::Waking;
        self.wake_off_rq(cpu, waking);
    }

    /// The wakee is off its run queue; it may still be on its CPU.
    pub fn wake_off_rq(&mut self, cpu: Cpu, waking: Waking) {
        let model = self.sys.model;
        let task = &self.sys.tasks[waking.wakee];
        let own = task.cpu;
        if task.on_cpu {
            if own != cpu && self.queues_on_cpu(cpu, waking.wakee, own) {
                self.emit(|sys| Event::Wakeup {
                    waker_cpu: cpu,
                    waker: waking.waker.map(|task| task.0),
                    wakee: waking.wakee.0,
                    prev_cpu: own,
                    decision: None,
                    cpu: own,
                    queued: Queued::OnCpu,
                    began: sys.now,
                    scan_began: None,
                    scan_ended: None,
                    claimed: false,
                    workload: sys.tasks[waking.wakee].workload(),
                });
                return self.send_to_wakelist(cpu, waking, own);
            }
            self.sys.tasks[waking.wakee].add_spinner(cpu);
            return self.begin_until(cpu, Doing::Spin(waking), NEVER);
        }
        if task.pinned {
            // select_task_rq() does not ask the class if only one CPU is allowed.
            let dest = self.pinned_to(waking.wakee);
            return self.chosen(cpu, waking, dest, None, self.sys.now, [None; 2]);
        }
        if self.sys.rt.is_some() && self.sys.rt_or_dl(waking.wakee) {
            self.sys.cpus[cpu].debt += model.costs.wakeup;
            let dest = match self.sys.is_dl(waking.wakee) {
                true => self.sys.select_dl(cpu, waking.wakee),
                false => self.sys.select_rt(cpu, waking.wakee),
            };
            return self.chosen(cpu, waking, dest, None, self.sys.now, [None; 2]);
        }
        if self.sys.scx_enabled() {
            return self.ext_select(cpu, waking);
        }
        let wakeup = self.wakeup(cpu, &waking);
        self.begin_search(cpu, waking, wakeup);
    }

    /// The wakee for which this waker spins has left its CPU.
    pub fn spun(&mut self, cpu: Cpu) {
        if let Doing::Spin(waking) = self.sys.cpus[cpu].doing {
            self.account(cpu);
            self.wake_off_rq(cpu, waking);
        }
    }

    /// `ttwu_queue_cond()`: whether a CPU is too far away for its run queue's lock to be taken.
    fn queues_as_far(&self, cpu: Cpu, other: Cpu) -> bool {
        let model = self.sys.model;
        if model.features.has(Feature::TTWU_BY_NODE) {
            return model.domains.node[cpu as usize] != model.domains.node[other as usize];
        }
        !model.share_cache(cpu, other)
    }

    /// `ttwu_queue_cond()` for a wakee that is still on its CPU `own`.
    fn queues_on_cpu(&self, cpu: Cpu, wakee: TaskId, own: Cpu) -> bool {
        let model = self.sys.model;
        if !model.features.has(Feature::TTWU_QUEUE) || self.sys.ext_forbids_wakelist(wakee) {
            return false;
        }
        let nr_running = self.sys.cpus[own].nr_running;
        self.queues_as_far(cpu, own)
            || match model.code.wakelist {
                Wakelist::OtherLlc => false,
                Wakelist::OnCpuAtMostOne => nr_running <= 1,
                Wakelist::OnCpuNoneQueued | Wakelist::EmptyRunQueue => nr_running == 0,
            }
    }

    /// `ttwu_queue_cond()` for a wakee whose chosen CPU is `dest`.
    fn queues_on_wakelist(&self, cpu: Cpu, wakee: TaskId, dest: Cpu) -> bool {
        let model = self.sys.model;
        model.features.has(Feature::TTWU_QUEUE)
            && !self.sys.ext_forbids_wakelist(wakee)
            && (self.queues_as_far(cpu, dest)
                || (model.code.wakelist == Wakelist::EmptyRunQueue
                    && cpu != dest
                    && self.sys.cpus[dest].nr_running == 0))
    }

    /// What the choice of a CPU is made from. Counts the wakee in the waker's flips (`record_wakee()`).
    fn wakeup(&mut self, cpu: Cpu, waking: &Waking) -> Wakeup<'m> {
        let model = self.sys.model;
        let jiffies = self.sys.jiffies;
        let flips = match waking.waker {
            Some(task) => &mut self.sys.tasks[task].flips,
            None => &mut self.sys.cpus[cpu].idle_flips,
        };
        *flips = record_wakee(*flips, u64::from(waking.wakee.0), jiffies, model.hz);
        let wakee_flips = flips.wakee_flips;
        let h_load = match waking.waker {
            Some(task) => self.sys.h_load(task),
            None => 0,
        };
        let wakes_waker =
            waking.waker.is_some_and(|waker| self.sys.tasks[waking.wakee].flips.last_wakee == Some(u64::from(waker.0)));
        let kthread = waking.waker.is_some_and(|task| {
            let task = &self.sys.tasks[task];
            task.pinned && !task.workload()
        });
        Wakeup {
            waker: Waker {
                cpu,
                exiting: waking.waker.is_some_and(|task| self.sys.tasks[task].state == State::Dead),
                in_task: waking.in_task,
                per_cpu_kthread: kthread,
                wakee_flips,
                h_load,
            },
            wakee: Wakee { wakes_waker, ..self.sys.wakee(waking.wakee) },
            flags: waking.flags(),
        }
    }

    /// The search has ended.
    pub fn search_ends(&mut self, cpu: Cpu, waking: Waking) {
        let decision = self.take_search(cpu);
        let effects = decision.effects;
        if let Some(recent) = effects.recent_used_cpu {
            self.sys.tasks[waking.wakee].recent_used_cpu = recent;
        }
        if let (Some(recent), Some(waker)) = (effects.waker_recent_used_cpu, waking.waker) {
            self.sys.tasks[waker].recent_used_cpu = recent;
        }
        if let Some(target) = effects.clear_idle_cores {
            self.set_idle_cores(self.sys.model.idle_cores_of[target], false);
        }
        let mut others = 0;
        while let Some(&other) = self.searches[cpu].cleared_idle_cores(&decision).get(others) {
            self.set_idle_cores(self.sys.model.idle_cores_of[other], false);
            others += 1;
        }
        self.hook_decision(&decision);
        if let Some(cost) = effects.scan_cost {
            let c = &mut self.sys.cpus[cpu];
            (c.wake_stamp, c.wake_avg_idle, c.avg_scan_cost) =
                (cost.wake_stamp, cost.wake_avg_idle, cost.avg_scan_cost);
        }
        let search = &self.searches[cpu];
        let began = search.began;
        let scanned = decision.count.domain_search != 0;
        let ended = began + u64::from(search.probes()) * search.probe + self.sys.model.observer_cost;
        // Probes of the fast paths take no time, so that the scan begins with the choice.
        let scan = [began, ended].map(|time| scanned.then_some(time));
        let dest = self.sys.allowed_or_fallback(waking.wakee, decision.cpu);
        self.chosen(cpu, waking, dest, Some(&decision), began, scan);
    }

    /// A CPU is chosen: the wakee is on its way to that run queue, directly or by the wakelist.
    pub fn chosen(
        &mut self,
        cpu: Cpu,
        waking: Waking,
        dest: Cpu,
        decision: Option<&Decision>,
        began: u64,
        scan: [Option<u64>; 2],
    ) {
        let model = self.sys.model;
        let wakee = waking.wakee;
        let prev = self.sys.tasks[wakee].cpu;
        let wakelist = self.queues_on_wakelist(cpu, wakee, dest);
        self.emit(|sys| Event::Wakeup {
            waker_cpu: cpu,
            waker: waking.waker.map(|task| task.0),
            wakee: wakee.0,
            prev_cpu: prev,
            decision: decision.copied(),
            cpu: dest,
            queued: if wakelist { Queued::Wakelist } else { Queued::Direct },
            began,
            scan_began: scan[0],
            scan_ended: scan[1],
            claimed: sys.cpus[dest].claims != 0,
            workload: sys.tasks[wakee].workload(),
        });
        let waking = Waking { dest, selected: decision.is_some(), migrated: prev != dest, ..waking };
        if prev != dest {
            if self.sys.scx_enabled() {
                self.ext_set_task_cpu(wakee, dest);
            } else if !self.sys.rt_or_dl(wakee) {
                self.sys.load_migrate(wakee);
                self.sys.cpus[prev].rq.migrate_task_rq(&mut self.sys.es, wakee);
            } else if self.sys.is_dl(wakee) {
                self.sys.migrate_dl(prev, wakee);
            }
            self.sys.tasks[wakee].cpu = dest;
        }
        if wakelist {
            return self.send_to_wakelist(cpu, waking, dest);
        }
        self.sys.cpus[dest].claims += 1;
        if !model.mechanisms.window {
            self.sys.touch(dest);
            self.update_idle(dest);
        }
        self.begin_enqueue(cpu, waking);
    }

    /// Takes the lock of the wakee's run queue, to enqueue it there.
    pub fn begin_enqueue(&mut self, cpu: Cpu, waking: Waking) {
        let model = self.sys.model;
        let dest = waking.dest;
        let hold = self.slowed(cpu, model.costs.enqueue.at(model.distances.between(dest, cpu)));
        let start = self.lock(dest, hold);
        let until = start + hold;
        if dest == cpu {
            self.begin_until(cpu, Doing::EnqueueEnd(waking), until);
        } else {
            self.begin_until(cpu, Doing::Enqueue(waking, until), start + hold * model.costs.enqueue_visible / 100);
        }
    }

    /// Takes a run queue's lock for `hold` ns once all who asked before have released it. Returns when that is, ns.
    pub fn lock(&mut self, cpu: Cpu, hold: u64) -> u64 {
        let wait = self.sys.model.mechanisms.lock_wait;
        let (c, now) = (&mut self.sys.cpus[cpu], self.sys.now);
        let start = if wait { now.max(c.lock_free) } else { now };
        c.lock_free = start + hold;
        if start != now {
            self.emit(|_| Event::LockWait { rq: cpu, ns: start - now });
        }
        start
    }

    /// Other CPUs see the wakee on the run queue of another CPU, whose lock the waker still holds.
    pub fn enqueue_seen(&mut self, cpu: Cpu, waking: Waking, until: u64) {
        if self.enqueue_waking(cpu, waking) {
            let until = until + self.ext_holds_lock(cpu, waking.dest);
            self.begin_until(cpu, Doing::EnqueueEnd(waking), until);
        }
    }

    /// Puts the wakee on its run queue. Returns false if the wake-up goes on in another way.
    fn enqueue_waking(&mut self, cpu: Cpu, waking: Waking) -> bool {
        if waking.delayed {
            return self.requeue_delayed(cpu, waking);
        }
        let dest = waking.dest;
        self.sys.cpus[dest].claims -= 1;
        let resched = self.activate(dest, waking.wakee, waking.migrated, waking.preempt_flags());
        self.update_idle(dest);
        if resched.is_now() {
            // check_preempt_curr() is called with the lock held: an idle CPU leaves idle while the waker still holds
            // it.
            self.resched(cpu, dest);
        }
        true
    }

    /// The waker releases the lock.
    pub fn enqueue_ends(&mut self, cpu: Cpu, waking: Waking) {
        let dest = waking.dest;
        if dest == cpu && !self.enqueue_waking(cpu, waking) {
            return;
        }
        self.sys.cpus[cpu].doing = Doing::WakeEnded;
        if dest == cpu {
            let spent = self.ext_holds_lock(cpu, dest);
            self.sys.cpus[cpu].debt += spent;
        }
        self.proceed(cpu);
    }

    /// `ttwu_do_activate()`: enqueues the task. Returns whether to reschedule at once. The caller updates the idle
    /// masks.
    fn activate(&mut self, cpu: Cpu, task: TaskId, migrated: bool, wake_flags: WakeFlags) -> Resched {
        if self.sys.is_ext(task) {
            let resched = self.ext_activate(cpu, task, migrated, wake_flags);
            self.emit(|_| Event::Enqueue { cpu, task: task.0 });
            return self.sys.note_resched(cpu, resched);
        }
        let mut flags = EnqueueFlags::WAKEUP;
        flags.set(EnqueueFlags::MIGRATED, migrated);
        if self.sys.policies.hooks().contains(Hooks::DEQUEUE) {
            let (now, migration_cost) = (BOOT_NS + self.sys.now, self.sys.model.migration_cost);
            self.sys.tasks[task].sleep.wakes(now, migration_cost);
        }
        let mut resched = self.enqueue(cpu, task, flags);
        self.emit(|_| Event::Enqueue { cpu, task: task.0 });
        resched |= self.wakeup_preempt(cpu, task, wake_flags);
        if !self.sys.model.code.avg_idle_at_switch {
            self.update_rq_avg_idle(cpu);
        }
        self.sys.note_resched(cpu, resched)
    }

    /// `resched_curr()` of `dest`, by `cpu`.
    pub fn resched(&mut self, cpu: Cpu, dest: Cpu) {
        let already = std::mem::replace(&mut self.sys.cpus[dest].need_resched, true);
        if dest == cpu {
            return;
        }
        let ipi = self.ipi(cpu, dest);
        match self.sys.cpus[dest].doing {
            Doing::Idle => self.leave_idle(dest, Interrupted::Ipi { ns: ipi }),
            // A CPU that enters or leaves idle checks the flag at the end of that.
            Doing::IdleEntry | Doing::IdleExit => {}
            _ if already => {}
            _ => self.at(self.sys.now + ipi, TimedEvent::IpiResched(dest)),
        }
    }

    /// Makes a CPU reschedule, as soon as all that happens at this moment has happened.
    pub fn kick(&mut self, cpu: Cpu) {
        self.sys.cpus[cpu].need_resched = true;
        self.at(self.sys.now, TimedEvent::IpiResched(cpu));
    }

    pub fn ipi(&self, from: Cpu, to: Cpu) -> u64 {
        let model = self.sys.model;
        let near = model.package_of[from] == model.package_of[to];
        if near { model.costs.ipi } else { model.costs.ipi_far }
    }

    /// `ttwu_queue_wakelist()`.
    fn send_to_wakelist(&mut self, cpu: Cpu, waking: Waking, dest: Cpu) {
        self.sys.cpus[dest].ttwu_pending = true;
        self.sys.touch(dest);
        self.update_idle(dest);
        let model = self.sys.model;
        self.begin(cpu, Doing::WakelistSend(waking), model.costs.wakelist.at(model.distances.between(dest, cpu)));
    }

    /// The wakee is on the wakelist of its CPU.
    pub fn wakelist_sent(&mut self, cpu: Cpu, waking: Waking) {
        self.sys.cpus[cpu].doing = Doing::WakeEnded;
        let dest = self.sys.tasks[waking.wakee].cpu;
        let model = self.sys.model;
        let flush = model.costs.wakelist_flush.at(model.distances.between(cpu, dest));
        let c = &mut self.sys.cpus[dest];
        c.wakelist.push((waking.wakee, waking.migrated));
        c.flush_cost = c.flush_cost.max(flush);
        // An IPI is sent if the list was empty.
        if c.wakelist.len() == 1 {
            let ipi = self.ipi(cpu, dest);
            if self.sys.cpus[dest].doing == Doing::Idle {
                self.sys.cpus[dest].irqs.push(Irq::Wakelist);
                self.leave_idle(dest, Interrupted::Ipi { ns: ipi });
            } else {
                self.at(self.sys.now + ipi, TimedEvent::IpiWakelist(dest));
            }
        }
        self.proceed(cpu);
    }

    /// `sched_ttwu_pending()` takes the wakelist and the run queue's lock.
    pub fn flush_wakelist(&mut self, cpu: Cpu) {
        let model = self.sys.model;
        let c = &mut self.sys.cpus[cpu];
        c.flushing = std::mem::take(&mut c.wakelist);
        let cost = std::mem::take(&mut c.flush_cost);
        if !model.code.pending_until_enqueued {
            c.ttwu_pending = false;
            self.sys.touch(cpu);
            self.update_idle(cpu);
        }
        let hold = self.slowed(cpu, cost);
        let end = self.lock(cpu, hold) + hold;
        self.begin_until(cpu, Doing::WakelistFlush, end);
    }

    /// Enqueues the tasks of the wakelist.
    pub fn wakelist_flushed(&mut self, cpu: Cpu) {
        for (task, migrated) in std::mem::take(&mut self.sys.cpus[cpu].flushing) {
            // sched_ttwu_pending() does not know the wake-up's flags.
            if self.activate(cpu, task, migrated, WakeFlags::TTWU).is_now() {
                self.sys.cpus[cpu].need_resched = true;
            }
        }
        if self.sys.model.code.pending_until_enqueued {
            // Even if another task has come to the list meanwhile: the CPU has work, so that it is not seen as idle.
            self.sys.cpus[cpu].ttwu_pending = false;
            self.sys.touch(cpu);
        }
        self.update_idle(cpu);
        self.proceed(cpu);
    }

    /// A task's timer has expired on this CPU; returns whether a wake-up has begun.
    pub fn timer_expires(&mut self, cpu: Cpu, task: TaskId) -> bool {
        if !matches!(self.sys.tasks[task].state, State::Sleeping(crate::task::Wait::Timer)) {
            return false;
        }
        self.sys.io_done(task);
        let waker = self.sys.cpus[cpu].curr;
        self.wake(cpu, Waking::of(task, waker, false, false));
        true
    }
}

/// `WF_RQ_SELECTED`, 7.2.
pub const WF_RQ_SELECTED: WakeFlags = WakeFlags::from_bits_retain(0x80);

impl<S: Sink> Sim<'_, '_, S> {
    /// Takes the lock of the run queue on which the wakee is, if it is still on one.
    pub fn wake_delayed(&mut self, cpu: Cpu, waking: Waking) {
        if !self.sys.es[waking.wakee].on_rq {
            return self.wake_off_rq(cpu, Waking { delayed: false, ..waking });
        }
        let dest = self.sys.tasks[waking.wakee].cpu;
        self.begin_enqueue(cpu, Waking { delayed: true, dest, ..waking });
    }

    /// Has the lock: requeues the wakee. Returns false if the wakee has left or moved meanwhile, and the wake-up goes
    /// on in another way.
    pub fn requeue_delayed(&mut self, cpu: Cpu, waking: Waking) -> bool {
        let (wakee, dest) = (waking.wakee, waking.dest);
        let task = &self.sys.tasks[wakee];
        if !self.sys.es[wakee].on_rq || task.cpu != dest {
            self.wake_delayed(cpu, waking);
            return false;
        }
        let on_cpu = task.on_cpu;
        self.emit(|sys| Event::Wakeup {
            waker_cpu: cpu,
            waker: waking.waker.map(|task| task.0),
            wakee: wakee.0,
            prev_cpu: dest,
            decision: None,
            cpu: dest,
            queued: Queued::Delayed,
            began: sys.now,
            scan_began: None,
            scan_ended: None,
            claimed: false,
            workload: sys.tasks[wakee].workload(),
        });
        let uclamp_last = self.sys.uclamp_after_enqueue();
        if !uclamp_last {
            self.sys.uclamp_inc(dest, wakee, true);
        }
        self.sys.load_enqueue(dest, wakee, true);
        let mut resched = self.sys.on_rq(dest, |rq, es, now| rq.enqueue_task(es, now, wakee, EnqueueFlags::WAKEUP));
        if uclamp_last {
            self.sys.uclamp_inc(dest, wakee, true);
        }
        self.sys.tasks[wakee].state = State::Runnable;
        self.emit(|_| Event::Enqueue { cpu: dest, task: wakee.0 });
        if !on_cpu {
            resched |= self.wakeup_preempt(dest, wakee, waking.preempt_flags());
        }
        if self.sys.note_resched(dest, resched).is_now() {
            self.resched(cpu, dest);
        }
        true
    }
}

impl Waking {
    /// A wake-up at its beginning.
    pub fn of(wakee: TaskId, waker: Option<TaskId>, in_task: bool, sync: bool) -> Self {
        Waking { wakee, waker, in_task, sync, dest: 0, delayed: false, selected: false, migrated: false }
    }

    /// The flags that `wakeup_preempt()` receives. On the wakelist they are lost, and an interrupt enqueues.
    #[inline]
    fn preempt_flags(&self) -> WakeFlags {
        let mut flags = self.flags();
        flags.set(IN_TASK, self.in_task);
        flags
    }

    /// The flags that placement receives.
    #[inline]
    pub fn flags(&self) -> WakeFlags {
        let mut flags = WakeFlags::TTWU;
        flags.set(WakeFlags::SYNC, self.sync);
        flags.set(WF_RQ_SELECTED, self.selected);
        flags
    }
}

impl<'m> System<'m> {
    /// The class's choice as `select_task_rq()` corrects it: if the task may not use that CPU, it gets the first CPU
    /// that it may use on the node where it was, or else anywhere (`select_fallback_rq()`).
    #[inline]
    pub fn allowed_or_fallback(&self, task: TaskId, cpu: Cpu) -> Cpu {
        let mask = &self.model.masks[self.tasks[task].mask];
        if mask.test(cpu) {
            return cpu;
        }
        let node = &self.model.domains.node;
        let own = node[self.tasks[task].cpu as usize];
        let near = mask.iter().find(|&cpu| node[cpu as usize] == own);
        near.or(mask.first()).expect("a mask has a CPU")
    }

    /// The I/O is done: the CPU where the task went to sleep does not count it any more (`try_to_wake_up()`).
    #[inline]
    pub fn io_done(&mut self, id: TaskId) {
        let task = &mut self.tasks[id];
        // Not the task's present CPU: balancing moves sleepers whose dequeue is delayed.
        if task.iowait == IoWait::Waits {
            task.iowait = IoWait::Woken;
            self.cpus[task.iowait_cpu].nr_iowait -= 1;
        }
    }

    /// A task that has run before, as a wake-up's placement sees it.
    #[inline]
    pub fn wakee(&mut self, id: TaskId) -> Wakee<'m> {
        let h_load = self.h_load(id);
        let task = &self.tasks[id];
        Wakee {
            recent_used_cpu: Some(task.recent_used_cpu),
            wakee_flips: task.flips.wakee_flips,
            h_load,
            idle_policy: self.es[id].is_idle(),
            util_avg: task.avg.util_avg,
            runnable_avg: task.avg.runnable_avg,
            util_est: self.task_util_est(id),
            has_contributed: task.avg.last_update_time != 0,
            dur_avg: task.dur.dur_avg,
            uclamp: self.uclamp_of(id),
            ..Wakee::new(task.cpu, &self.model.masks[task.mask])
        }
    }
}
