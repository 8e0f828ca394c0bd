//! The boost of tasks that come back from I/O.

use crate::SCHED_CAPACITY_SCALE;

/// The boost of the first wake-up after I/O (`IOWAIT_BOOST_MIN`): an eighth of full speed.
pub const IOWAIT_BOOST_MIN: u32 = SCHED_CAPACITY_SCALE as u32 / 8;

/// A CPU's boost (the iowait fields of `struct sugov_cpu`, 5.3 to 7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct IowaitBoost {
    /// The boost, 0 or 128 to 1024.
    pub boost: u32,
    /// It was asked for since it was last applied.
    pub pending: bool,
    /// When the CPU was last updated, ns.
    pub last_update: u64,
}

impl IowaitBoost {
    /// A CPU that was not updated for more than a tick begins anew. Returns whether that was so
    /// (`sugov_iowait_reset()`).
    fn reset(&mut self, time: u64, tick_ns: u64, set: bool) -> bool {
        let delta = time.wrapping_sub(self.last_update) as i64;
        if delta <= tick_ns as i64 {
            return false;
        }
        self.boost = if set { IOWAIT_BOOST_MIN } else { 0 };
        self.pending = set;
        true
    }

    /// Doubles the boost, once for each time it is applied, if a task wakes up after I/O (`sugov_iowait_boost()`).
    /// `time` and `tick_ns` in ns.
    pub fn raise(&mut self, time: u64, tick_ns: u64, iowait: bool) {
        if self.boost != 0 && self.reset(time, tick_ns, iowait) {
            return;
        }
        if !iowait || self.pending {
            return;
        }
        self.pending = true;
        self.boost =
            if self.boost == 0 { IOWAIT_BOOST_MIN } else { (self.boost << 1).min(SCHED_CAPACITY_SCALE as u32) };
    }

    /// The boost on the capacity scale, for a CPU of capacity `max`; halved if nobody asked for it since
    /// (`sugov_iowait_apply()`). 0 is no boost.
    pub fn apply(&mut self, time: u64, tick_ns: u64, max: u64) -> u64 {
        if self.boost == 0 || self.reset(time, tick_ns, false) {
            return 0;
        }
        if !self.pending {
            self.boost >>= 1;
            if self.boost < IOWAIT_BOOST_MIN {
                self.boost = 0;
                return 0;
            }
        }
        self.pending = false;
        (u64::from(self.boost) * max) >> 10
    }
}
