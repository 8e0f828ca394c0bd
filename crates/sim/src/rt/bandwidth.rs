//! The mechanisms that keep a share of each CPU for fair tasks: RT throttling up to 6.11, the fair server since. Under
//! a scheduler of sched_ext the server is its class's (`ext_server`, 7.2), which has the same code and parameters; the
//! fair class has no tasks then.

use crate::engine::Sim;
use crate::event_queue::TimedEvent;
use wakelab_events::sim::Sink;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::rt::{FairServer, ServerParams, ServerStep};

impl<S: Sink> Sim<'_, '_, S> {
    /// `start_rt_bandwidth()`: the period's timer goes while there are realtime tasks.
    pub fn start_rt_bandwidth(&mut self) {
        let Some(rt) = &mut self.sys.rt else { return };
        let Some(period) = rt.bandwidth.map(|bandwidth| bandwidth.period).filter(|_| !rt.period_active) else {
            return;
        };
        rt.period_active = true;
        self.at(self.sys.now + period, TimedEvent::RtPeriod);
    }

    /// `sched_rt_period_timer()`: a period is over. Its interrupt takes no time.
    pub fn rt_period_ends(&mut self) {
        let Some(rt) = &mut self.sys.rt else { return };
        let Some(bandwidth) = rt.bandwidth else { return };
        let mut busy = false;
        for cpu in 0..self.sys.model.nr_cpus() {
            let Some(rt) = &mut self.sys.rt else { return };
            if rt.cpus[cpu].rq.throttled() {
                rt.balance_runtime(cpu);
            }
            let rq = &mut rt.cpus[cpu].rq;
            let end = rq.replenish(1, &bandwidth);
            busy |= end.busy;
            if !end.unthrottled {
                continue;
            }
            // sched_rt_rq_enqueue()
            let (nr, highest) = (rq.nr_running(), rq.highest_prio());
            let c = &mut self.sys.cpus[cpu];
            c.nr_running += nr;
            c.nr_rt += nr;
            self.update_idle(cpu);
            self.update_only_task(cpu);
            if nr != 0 && self.sys.curr_rt_prio(cpu).is_none_or(|curr| highest < curr) {
                self.kick(cpu);
            }
        }
        let Some(rt) = &mut self.sys.rt else { return };
        rt.period_active = busy;
        if busy {
            self.at(self.sys.now + bandwidth.period, TimedEvent::RtPeriod);
        }
    }

    /// Changes a CPU's fair server, and sets its timer. Returns whether the CPU is to reschedule.
    fn change_fair_server(
        &mut self,
        cpu: Cpu,
        change: impl FnOnce(&mut FairServer, u64, &ServerParams) -> ServerStep,
    ) -> bool {
        let now = self.sys.now;
        let Some(rt) = &mut self.sys.rt else { return false };
        let Some(params) = rt.server else { return false };
        let server = &mut rt.cpus[cpu].server;
        let before = server.timer();
        let step = change(server, now, &params);
        if let Some(at) = server.timer().filter(|at| before != Some(*at)) {
            self.at(at, TimedEvent::FairServer(cpu));
        }
        step.resched
    }

    /// What fair tasks and idle time have had since this was last called is the server's (`dl_server_update()`,
    /// `dl_server_update_idle_time()`). It is called where the kernel charges tasks: at schedules, ticks, and when the
    /// first fair task joins.
    pub fn account_fair_server(&mut self, cpu: Cpu) {
        let curr = self.sys.cpus[cpu].curr;
        let rt_runs = curr.is_some_and(|task| self.sys.rt_or_dl(task));
        let Some(rt) = self.sys.rt.as_mut().filter(|rt| rt.server.is_some()) else { return };
        let delta = self.sys.now - std::mem::replace(&mut rt.cpus[cpu].accounted, self.sys.now);
        if rt_runs {
            return;
        }
        let resched = match curr {
            None => self.change_fair_server(cpu, |server, now, params| server.update_idle(now, delta, params)),
            Some(_) => self.change_fair_server(cpu, |server, now, params| server.update(now, delta, params)),
        };
        if resched {
            self.sys.cpus[cpu].need_resched = true;
        }
    }

    /// The first fair task joins a run queue (`dl_server_start()`).
    pub fn start_fair_server(&mut self, cpu: Cpu) {
        self.account_fair_server(cpu);
        if self.change_fair_server(cpu, FairServer::start) {
            self.kick(cpu);
        }
    }

    /// A server's timer expires, if it was not set anew.
    pub fn fair_server_timer(&mut self, cpu: Cpu) {
        let now = self.sys.now;
        let set = self.sys.rt.as_ref().and_then(|rt| rt.cpus[cpu].server.timer());
        if set != Some(now) {
            return;
        }
        // update_curr() of the running task comes with the next schedule, so that a timer reads what was charged; later
        // the timer itself calls it.
        let stops_idle = |rt: &crate::rt::RtState| rt.server.is_some_and(|server| server.stops_idle);
        if self.sys.rt.as_ref().is_some_and(|rt| stops_idle(rt)) {
            self.account_fair_server(cpu);
        }
        if self.change_fair_server(cpu, FairServer::expire) {
            self.kick(cpu);
        }
    }
}
