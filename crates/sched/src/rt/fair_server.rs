//! The fair server: a deadline reservation of each CPU in which fair tasks run before realtime tasks (since 6.12).
//!
//! It is deferred: from its start it waits until it has just the time left that it needs (its zero-laxity time), and
//! what fair tasks and idle time have used meanwhile is subtracted from it. So it acts only where realtime tasks starve
//! the fair class; once it has run, it goes on in each period until fair tasks get their time without it.
//!
//! ```text
//! start ─▶ armed ──(deadline - runtime)──▶ runs ──(runtime used)──▶ throttled ──(deadline)──▶ runs ...
//!            ▲      └ used meanwhile: a new period ┘                    └ used meanwhile: armed again
//! ```
//!
//! Time that an idle CPU would have had for fair tasks counts as used. In 6.12 and 6.18 it brings the runtime down to 0
//! at most; in 7.2 a server whose runtime the idle CPU has used up begins one new period, and is stopped when its timer
//! expires in it, if the CPU has not run anything since ([`ServerParams::stops_idle`]).

use super::deadline::{DL_SCALE, before, to_ratio};

/// `struct sched_dl_entity`'s parameters of the server (debugfs `fair_server/cpuN/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerParams {
    /// `dl_runtime`, ns; 0 switches the server off.
    pub runtime: u64,
    /// `dl_period` and `dl_deadline`, ns.
    pub period: u64,
    /// A server that finds its CPU idle is stopped (`dl_defer_idle`), and one that has run for longer than its period
    /// waits for another.
    pub stops_idle: bool,
}

/// The work of the caller after the server's state has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStep {
    /// The CPU has to reschedule (`resched_curr()`).
    pub resched: bool,
}

/// `rq->fair_server`. Times are those of the run queue's clock, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FairServer {
    /// `runtime`: what is left of it.
    runtime: i64,
    /// `deadline`.
    deadline: u64,
    /// `dl_server_active`.
    active: bool,
    /// `dl_throttled`.
    throttled: bool,
    /// `dl_defer_armed`.
    armed: bool,
    /// `dl_defer_running`.
    running: bool,
    /// `dl_defer_idle`.
    idle: bool,
    /// `dl_timer`: when it expires.
    timer: Option<u64>,
}

/// "a defer timer will not be reset if the runtime consumed was < dl_server_min_res"
const DL_SERVER_MIN_RES: u64 = 1_000_000;

impl FairServer {
    /// Whether it has been started and not stopped (`dl_server_active`).
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Whether it is queued, so that the deadline class picks a fair task.
    #[inline]
    pub fn is_queued(&self) -> bool {
        self.active && !self.throttled
    }

    /// `runtime`: the rest of it, ns.
    pub fn runtime(&self) -> i64 {
        self.runtime
    }

    /// `deadline`: it comes before deadline tasks of a later one.
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// When its timer expires, ns.
    pub fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// `dl_server_start()`: the first fair task joins.
    pub fn start(&mut self, now: u64, params: &ServerParams) -> ServerStep {
        self.idle = false;
        if params.runtime == 0 || self.active {
            return ServerStep::default();
        }
        self.active = true;
        // update_dl_entity(). The deadline that a kernel sets at boot has passed, also when a run begins at 0.
        if self.deadline == 0 || self.deadline < now || self.overflows(now, params) {
            if self.running && self.deadline >= now {
                // update_dl_revised_wakeup()
                let laxity = u128::from(self.deadline - now);
                self.runtime = ((u128::from(to_ratio(params.period, params.runtime)) * laxity) >> 20) as i64;
            } else {
                self.running = false;
                self.new_period(now, params);
            }
        } else if !self.running {
            (self.armed, self.throttled) = (true, true);
        }
        if self.throttled {
            self.start_timer(now);
        }
        ServerStep { resched: !self.throttled }
    }

    /// `dl_server_stop()`: no fair task is left when the server is picked.
    pub fn stop(&mut self) {
        (self.active, self.armed, self.throttled, self.timer) = (false, false, false, None);
        self.idle = false;
    }

    /// `dl_server_update()`: fair tasks have run for `delta` ns.
    pub fn update(&mut self, now: u64, delta: u64, params: &ServerParams) -> ServerStep {
        self.update_curr(now, delta, false, params)
    }

    /// `update_curr_dl_se()`; `idle`: the CPU was idle.
    fn update_curr(&mut self, now: u64, delta: u64, idle: bool, params: &ServerParams) -> ServerStep {
        if !self.active || delta == 0 {
            return ServerStep::default();
        }
        self.runtime -= delta as i64;
        self.idle &= idle;
        if self.runtime > 0 {
            return ServerStep::default();
        }
        if self.throttled {
            if self.idle {
                // It waits for its timer, which stops it.
                self.runtime = 0;
                return ServerStep::default();
            }
            // The fair class has had its time without the server.
            self.running = false;
            self.new_period(now, params);
            self.idle = idle;
            self.start_timer(now);
            return ServerStep::default();
        }
        self.throttled = true;
        self.start_timer(now);
        if self.timer.is_none() {
            // Its next period has begun already.
            if params.stops_idle {
                self.new_period(now, params);
                self.start_timer(now);
            } else {
                self.replenish(now, params);
            }
        }
        ServerStep { resched: true }
    }

    /// `dl_server_update_idle()`, up to 6.18 `dl_server_update_idle_time()`: the CPU has been idle for `delta` ns, in
    /// which fair tasks could have run.
    pub fn update_idle(&mut self, now: u64, delta: u64, params: &ServerParams) -> ServerStep {
        if params.stops_idle {
            return self.update_curr(now, delta, true, params);
        }
        if self.runtime >= 0 {
            self.runtime -= delta as i64;
            if self.runtime < 0 {
                (self.running, self.runtime) = (false, 0);
            }
        }
        ServerStep::default()
    }

    /// `dl_server_timer()`, at the moment for which it was set. With [`ServerParams::stops_idle`] the caller has
    /// charged what was used up to now.
    pub fn expire(&mut self, now: u64, params: &ServerParams) -> ServerStep {
        self.timer = None;
        if !self.throttled {
            return ServerStep::default();
        }
        if self.idle {
            self.stop();
            return ServerStep::default();
        }
        if self.armed {
            let zero_laxity = self.zero_laxity();
            if now + DL_SERVER_MIN_RES < zero_laxity {
                self.timer = Some(zero_laxity);
                return ServerStep::default();
            }
            self.running = true;
        }
        self.replenish(now, params);
        ServerStep { resched: true }
    }

    /// `deadline - runtime`.
    fn zero_laxity(&self) -> u64 {
        self.deadline.saturating_add_signed(-self.runtime)
    }

    /// `start_dl_timer()`: at the zero-laxity time if the server is armed, else at the next period. No timer is set for
    /// a time that has passed; a microsecond is forgiven.
    fn start_timer(&mut self, now: u64) {
        // dl_next_period() is the deadline, because deadline and period are equal.
        let at = if self.armed { self.zero_laxity() } else { self.deadline };
        self.timer = (at + 1000 > now).then_some(at.max(now));
        if self.timer.is_none() && self.armed {
            (self.armed, self.throttled) = (false, false);
        }
    }

    /// `replenish_dl_new_period()`.
    fn new_period(&mut self, now: u64, params: &ServerParams) {
        (self.deadline, self.runtime) = (now + params.period, params.runtime as i64);
        if !self.running {
            (self.armed, self.throttled) = (true, true);
        }
    }

    /// `dl_entity_overflow()`: what is left would exceed the share if it were used up to the deadline.
    fn overflows(&self, now: u64, params: &ServerParams) -> bool {
        let left = self.deadline.wrapping_sub(now) >> DL_SCALE;
        let right = left.wrapping_mul(params.runtime >> DL_SCALE);
        let left = (params.period >> DL_SCALE).wrapping_mul((self.runtime >> DL_SCALE) as u64);
        before(right, left)
    }

    /// `replenish_dl_entity()`.
    fn replenish(&mut self, now: u64, params: &ServerParams) {
        if self.armed && self.overflows(now, params) {
            self.new_period(now, params);
        }
        while self.runtime <= 0 {
            self.deadline += params.period;
            self.runtime += params.runtime as i64;
        }
        if self.deadline < now {
            self.new_period(now, params);
        }
        self.throttled = false;
        if self.armed {
            self.armed = false;
            return;
        }
        if !self.running && now < self.zero_laxity() {
            (self.armed, self.throttled) = (true, true);
            self.start_timer(now);
        }
    }
}
