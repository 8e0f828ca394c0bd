//! Wake-ups out of events: `sched_waking` says who wakes whom, `sched_wakeup`, a migration or the first run where the wakee goes.

use crate::event::{Event, What};
use std::collections::HashMap;

/// A wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Woke {
    pub(crate) t_ns: u64,
    pub(crate) waker_cpu: u32,
    pub(crate) waker_pid: i32,
    pub(crate) waker_comm: String,
    pub(crate) wakee_pid: i32,
    pub(crate) wakee_comm: String,
    pub(crate) prev_cpu: Option<u32>,
    pub(crate) dest_cpu: u32,
}

/// So many wakees are waited for; a kernel has at most four times as many tasks.
const MOST: usize = 1 << 20;

/// Follows who runs where and who is being woken.
#[derive(Default)]
pub(crate) struct Wakings {
    /// By CPU.
    running: HashMap<u32, (i32, String)>,
    /// By wakee; `dest_cpu` is where it goes as far as is known, the previous CPU at first.
    open: HashMap<i32, Woke>,
}

impl Wakings {
    /// Takes an event, in order of time; the wake-up that it completes, if it does.
    pub(crate) fn event(&mut self, event: &Event) -> Option<Woke> {
        match &event.what {
            What::Waking { pid, comm, prev_cpu } => {
                let woke = self.woke(event, *pid, comm, Some(*prev_cpu), *prev_cpu);
                // One before it that never got anywhere had its task queued still, or its end was lost.
                if self.open.len() < MOST {
                    self.open.insert(*pid, woke);
                }
                None
            }
            What::Woken { pid, comm, dest_cpu, .. } => match self.open.remove(pid) {
                Some(woke) => Some(Woke { dest_cpu: *dest_cpu, ..woke }),
                None => Some(self.woke(event, *pid, comm, None, *dest_cpu)),
            },
            What::Migrate { pid, to_cpu, .. } => {
                if let Some(woke) = self.open.get_mut(pid) {
                    woke.dest_cpu = *to_cpu;
                }
                None
            }
            What::Switch { next_pid, next_comm, .. } => {
                self.running.insert(event.cpu, (*next_pid, next_comm.clone()));
                // Without sched_wakeup, it runs where it went.
                self.open.remove(next_pid).map(|woke| Woke { dest_cpu: event.cpu, ..woke })
            }
            What::Idle { .. } | What::Frequency { .. } => None,
        }
    }

    fn woke(&self, event: &Event, pid: i32, comm: &str, prev_cpu: Option<u32>, dest_cpu: u32) -> Woke {
        let running = self.running.get(&event.cpu);
        let waker_pid = event.pid.or(running.map(|(pid, _)| *pid)).unwrap_or(0);
        let comm_of = running.filter(|(pid, _)| *pid == waker_pid).map(|(_, comm)| comm.clone());
        Woke {
            t_ns: event.t_ns,
            waker_cpu: event.cpu,
            waker_pid,
            waker_comm: comm_of.unwrap_or_default(),
            wakee_pid: pid,
            wakee_comm: comm.to_owned(),
            prev_cpu,
            dest_cpu,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_ns: u64, cpu: u32, what: What) -> Event {
        Event { t_ns, cpu, pid: Some(7), what }
    }

    fn switch_to(next_pid: i32) -> What {
        let (prev_comm, next_comm) = (String::new(), "b".to_owned());
        What::Switch { prev_pid: 0, prev_comm, prev_sleeps: false, next_pid, next_comm }
    }

    #[test]
    fn a_wake_up_goes_where_it_is_seen() {
        let waking = || What::Waking { pid: 9, comm: "b".into(), prev_cpu: 1 };
        let woken = What::Woken { pid: 9, comm: "b".into(), dest_cpu: 3, new: false };
        let mut wakings = Wakings::default();
        assert_eq!(wakings.event(&at(5, 0, waking())), None);
        let woke = wakings.event(&at(6, 0, woken)).expect("complete");
        assert_eq!((woke.t_ns, woke.prev_cpu, woke.dest_cpu, woke.waker_pid), (5, Some(1), 3, 7));
        // Without sched_wakeup.
        wakings.event(&at(7, 0, waking()));
        let woke = wakings.event(&at(9, 2, switch_to(9))).expect("it runs");
        assert_eq!((woke.t_ns, woke.dest_cpu), (7, 2));
        assert_eq!(wakings.event(&at(10, 2, switch_to(9))), None, "it was not woken");
    }
}
