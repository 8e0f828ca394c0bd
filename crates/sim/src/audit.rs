//! Checks of sums that must add up at the end of a run. Builds with debug assertions look, as `fuzz/soak` and all
//! tests have them.
//!
//! What can be seen from outside of the simulator (quotas, reservations, CPUs that are offline) is checked by its
//! events (`crates/testing/src/amounts.rs`).

use crate::system::System;

impl System<'_> {
    /// Checks that the time of each CPU, accounted up to now, adds up to the run's, and that no message is lost.
    ///
    /// # Errors
    /// What does not add up.
    pub fn audit(&self) -> Result<(), String> {
        for (cpu, c) in self.cpus.iter().enumerate() {
            let all = c.time.work + c.time.overhead + c.time.idle;
            if all != self.now {
                return Err(format!("CPU {cpu} has spent {all} ns of {} ns: {:?}", self.now, c.time));
            }
        }
        for (number, channel) in self.channels.iter().enumerate() {
            let (sent, received, there) = (channel.sent, channel.received, channel.messages.len());
            if sent != received + there as u64 || there > channel.capacity {
                let name = &self.model.workload.channels[number].name;
                return Err(format!(
                    "{name}: {sent} messages sent, {received} received, {there} of {} there",
                    channel.capacity
                ));
            }
        }
        Ok(())
    }
}
