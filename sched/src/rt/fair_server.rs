//! The fair server: a deadline reservation of each CPU in which fair tasks run before realtime tasks (6.12).
//!
//! It is deferred: from its start it waits until it has just the time left that it needs (its zero-laxity time), and
//! what fair tasks and idle time have used meanwhile is subtracted from it. So it acts only where realtime tasks starve
//! the fair class; once it has run, it goes on in each period until fair tasks get their time without it.
//!
//! ```text
//! start ─▶ armed ──(deadline - runtime)──▶ runs ──(runtime used)──▶ throttled ──(deadline)──▶ runs ...
//!            ▲      └ used meanwhile: a new period ┘                    └ used meanwhile: armed again
//! ```

/// `struct sched_dl_entity`'s parameters of the server (debugfs `fair_server/cpuN/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerParams {
    /// `dl_runtime`, ns; 0 switches the server off.
    pub runtime: u64,
    /// `dl_period` and `dl_deadline`, ns.
    pub period: u64,
}

/// What the caller has to do after the server's state has changed.
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

    /// When its timer expires, ns.
    pub fn timer(&self) -> Option<u64> {
        self.timer
    }

    /// `dl_server_start()`: the first fair task joins.
    pub fn start(&mut self, now: u64, params: &ServerParams) -> ServerStep {
        if params.runtime == 0 || self.active {
            return ServerStep::default();
        }
        self.active = true;
        // update_dl_entity()
        if self.deadline < now || self.overflows(now, params) {
            self.new_period(now, params);
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
    }

    /// `dl_server_update()`: fair tasks have run for `delta` ns.
    pub fn update(&mut self, now: u64, delta: u64, params: &ServerParams) -> ServerStep {
        if !self.active || delta == 0 {
            return ServerStep::default();
        }
        self.runtime -= delta as i64;
        if self.runtime > 0 {
            return ServerStep::default();
        }
        if self.throttled {
            // The fair class has had its time without the server.
            self.running = false;
            self.new_period(now, params);
            self.start_timer(now);
            return ServerStep::default();
        }
        self.throttled = true;
        self.start_timer(now);
        if self.timer.is_none() {
            self.replenish(now, params);
        }
        ServerStep { resched: true }
    }

    /// `dl_server_update_idle_time()`: the CPU has been idle for `delta` ns, in which fair tasks could have run.
    pub fn update_idle(&mut self, delta: u64) {
        if self.runtime < 0 {
            return;
        }
        self.runtime -= delta as i64;
        if self.runtime < 0 {
            (self.running, self.runtime) = (false, 0);
        }
    }

    /// `dl_server_timer()`, at the moment for which it was set.
    pub fn expire(&mut self, now: u64, params: &ServerParams) -> ServerStep {
        self.timer = None;
        if !self.throttled {
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
    /// a time that has passed.
    fn start_timer(&mut self, now: u64) {
        // dl_next_period() is the deadline, because deadline and period are equal.
        let at = if self.armed { self.zero_laxity() } else { self.deadline };
        self.timer = (at > now).then_some(at);
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
        let left = i128::from(self.deadline) - i128::from(now);
        left * i128::from(params.runtime) < i128::from(self.runtime) * i128::from(params.period)
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
