//! Who wakes many: `record_wakee()` and `wake_wide()`.

/// What a task remembers of the tasks it woke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeeFlips {
    /// `wakee_flips`: how often the woken task was another one than before, halved about once a second.
    pub wakee_flips: u32,
    /// `wakee_flip_decay_ts`: when it was halved last, in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// `last_wakee`: whom it woke last, by whatever number identifies a task; `None` at the start.
    pub last_wakee: Option<u64>,
}

/// The waker's state after it woke `wakee` at `jiffies` (`record_wakee()`, unchanged from 5.2 to 7.3).
///
/// `hz` is CONFIG_HZ: the count is halved where more than one second has gone by, once, however much more it is.
pub fn record_wakee(mut waker: WakeeFlips, wakee: u64, jiffies: u64, hz: u64) -> WakeeFlips {
    // time_after() compares the signed difference, so that the counter may wrap.
    if (jiffies.wrapping_sub(waker.wakee_flip_decay_ts.wrapping_add(hz)) as i64) > 0 {
        waker.wakee_flips >>= 1;
        waker.wakee_flip_decay_ts = jiffies;
    }
    if waker.last_wakee != Some(wakee) {
        waker.last_wakee = Some(wakee);
        waker.wakee_flips = waker.wakee_flips.wrapping_add(1);
    }
    waker
}

/// Whether waker and wakee are in so many relationships that waking near each other would crowd the LLC
/// (`wake_wide()`, 5.2 to 7.3).
///
/// `llc_size` is `sd_llc_size` of the waking CPU.
#[inline]
pub fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let (master, slave) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    // The kernel multiplies an unsigned int by an int, which wraps at 32 bits.
    !(slave < llc_size || master < slave.wrapping_mul(llc_size))
}
