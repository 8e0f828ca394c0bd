//! An update of a policy of several CPUs.

use super::update::Sugov;
use crate::Khz;
use crate::governor::{Update, View};
use crate::policy::Policy;

impl Sugov {
    /// `sugov_update_shared()`: the CPU that asks for most decides for all. Nothing is held here while CPUs are busy.
    /// Returns as [`update`](Self::update).
    pub fn update_shared(&mut self, at: &Update, policy: &Policy, view: &dyn View) -> Option<Khz> {
        let asking = self.begin(at, view)?;
        if !self.is_time(at, policy) {
            return None;
        }
        let next = self.next_freq_shared(asking, at.now, policy, view);
        self.policy.update_next_freq(&self.rules, at.now, next).then_some(next)
    }

    /// `sugov_next_freq_shared()`.
    fn next_freq_shared(&mut self, asking: usize, time: u64, policy: &Policy, view: &dyn View) -> Khz {
        let rules = &self.rules;
        let (mut util, mut max) = (0, 1);
        for (id, cpu) in &mut self.cpus {
            cpu.get_util(rules, &view.asked(rules, *id), time, self.tick_ns);
            let more = match rules.shared_by_ratio {
                true => cpu.util * max > cpu.max * util,
                false => cpu.util > util,
            };
            if more {
                (util, max) = (cpu.util, cpu.max);
            }
        }
        if !rules.shared_by_ratio {
            max = self.cpus[asking].1.max;
        }
        self.policy.get_next_freq(rules, &policy.reference(), util, max, |freq| policy.resolve_freq(freq))
    }
}
