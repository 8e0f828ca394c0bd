//! Combines events into wake-ups: `sched_waking` has the waker and the wakee; `sched_wakeup`, a migration or the first
//! run has the CPU that the wakee goes to. Without `sched_waking`, the previous CPU is the one on which `sched_switch`
//! last had the wakee.

use crate::event::{Event, EventKind};
use crate::trace_info::TraceInfo;
use std::collections::HashMap;

/// A complete wake-up, with the columns of the table `wakings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wakeup {
    pub(crate) t_ns: u64,
    pub(crate) waker_cpu: u32,
    pub(crate) waker_pid: i32,
    pub(crate) waker_comm: String,
    pub(crate) wakee_pid: i32,
    pub(crate) wakee_comm: String,
    pub(crate) prev_cpu: Option<u32>,
    pub(crate) dest_cpu: u32,
}

/// At most this many wake-ups are pending; a kernel has at most four times as many tasks (`PID_MAX_LIMIT`).
const MAX_PENDING: usize = 1 << 20;

/// Tracks which task runs on each CPU, and which tasks are being woken.
#[derive(Default)]
pub(crate) struct WakeupTracker {
    /// By CPU: the running task's pid and name.
    running: HashMap<u32, (i32, String)>,
    /// By wakee: the wake-up so far. Its `dest_cpu` is the previous CPU until a migration is seen.
    pending: HashMap<i32, Wakeup>,
    /// By task: the CPU on which it ran last.
    ran_on: HashMap<i32, u32>,
    names: TaskNames,
    /// Wake-ups that another of the same task followed before their end was seen.
    given_up: u64,
}

/// The names of tasks, from any event or column that has them.
#[derive(Default)]
struct TaskNames {
    /// By task: its name, and whether a field of an event has it. Columns may be older: ftrace looks them up when the
    /// text is printed.
    known: HashMap<i32, (String, bool)>,
    /// The names that are new since they were taken.
    new: Vec<(i32, String)>,
}

impl TaskNames {
    fn add(&mut self, pid: i32, comm: &str, of_a_field: bool) {
        if pid == 0 || comm.is_empty() || comm == "<...>" {
            return;
        }
        let has_room = self.known.len() < MAX_PENDING;
        match self.known.get_mut(&pid) {
            Some((known, of_known)) if known == comm => *of_known |= of_a_field,
            Some((_, true)) if !of_a_field => {}
            Some(known) => {
                *known = (comm.to_owned(), of_a_field);
                self.new.push((pid, comm.to_owned()));
            }
            None if has_room => {
                self.known.insert(pid, (comm.to_owned(), of_a_field));
                self.new.push((pid, comm.to_owned()));
            }
            None => {}
        }
    }

    fn of(&self, pid: i32, info: &TraceInfo) -> String {
        let beside = || info.names.get(&pid).cloned();
        self.known.get(&pid).map(|(comm, _)| comm.clone()).or_else(beside).unwrap_or_default()
    }
}

impl WakeupTracker {
    /// How many wake-ups have begun whose end was not seen.
    pub(crate) fn unfinished(&self) -> u64 {
        self.given_up + self.pending.len() as u64
    }

    /// The names that tasks have since the last event, each with its task.
    pub(crate) fn new_names(&mut self) -> impl Iterator<Item = (i32, String)> + '_ {
        self.names.new.drain(..)
    }

    fn learn_names(&mut self, event: &Event, info: &TraceInfo) {
        let names = &mut self.names;
        match &event.kind {
            EventKind::Switch { prev_pid, prev_comm, next_pid, next_comm, .. } => {
                names.add(*prev_pid, prev_comm, true);
                names.add(*next_pid, next_comm, true);
                for pid in [prev_pid, next_pid] {
                    info.names.get(pid).into_iter().for_each(|comm| names.add(*pid, comm, false));
                }
            }
            EventKind::Waking { pid, comm, .. }
            | EventKind::Woken { pid, comm, .. }
            | EventKind::Migrate { pid, comm, .. } => names.add(*pid, comm, true),
            EventKind::Idle { .. } | EventKind::Frequency { .. } => {}
        }
        event.pid.into_iter().for_each(|pid| names.add(pid, &event.comm, false));
    }
    /// Takes the next event in the order of time. Returns the wake-up that it completes, if any.
    pub(crate) fn event(&mut self, event: &Event, info: &TraceInfo) -> Option<Wakeup> {
        self.learn_names(event, info);
        match &event.kind {
            EventKind::Waking { pid, comm, prev_cpu } => {
                let prev_cpu = prev_cpu.or_else(|| self.ran_on.get(pid).copied());
                let wakeup = self.begin(event, *pid, comm, prev_cpu, info);
                // An earlier one that is still pending found its task on its run queue, or its end was lost.
                self.wait_for_end(wakeup);
                None
            }
            EventKind::Woken { pid, comm, dest_cpu, new } => {
                if *new {
                    // The number was of another task before.
                    self.ran_on.remove(pid);
                }
                let pending = self.pending.remove(pid);
                let ran_on = self.ran_on.get(pid).copied();
                let wakeup = pending.unwrap_or_else(|| self.begin(event, *pid, comm, ran_on, info));
                if let Some(dest_cpu) = *dest_cpu {
                    return Some(Wakeup { dest_cpu, ..wakeup });
                }
                self.wait_for_end(wakeup);
                None
            }
            EventKind::Migrate { pid, to_cpu, .. } => {
                if let Some(wakeup) = self.pending.get_mut(pid) {
                    wakeup.dest_cpu = *to_cpu;
                }
                None
            }
            EventKind::Switch { prev_pid, next_pid, next_comm, .. } => {
                for &pid in [prev_pid, next_pid] {
                    if pid != 0 && (self.ran_on.len() < MAX_PENDING || self.ran_on.contains_key(&pid)) {
                        self.ran_on.insert(pid, event.cpu);
                    }
                }
                self.running.insert(event.cpu, (*next_pid, next_comm.clone()));
                // Without sched_wakeup, the CPU of its first run is the CPU it went to.
                self.pending.remove(next_pid).map(|wakeup| Wakeup { dest_cpu: event.cpu, ..wakeup })
            }
            EventKind::Idle { .. } | EventKind::Frequency { .. } => None,
        }
    }

    fn wait_for_end(&mut self, wakeup: Wakeup) {
        if self.pending.len() < MAX_PENDING || self.pending.contains_key(&wakeup.wakee_pid) {
            self.given_up += u64::from(self.pending.insert(wakeup.wakee_pid, wakeup).is_some());
        } else {
            self.given_up += 1;
        }
    }

    fn begin(&self, event: &Event, pid: i32, comm: &str, prev_cpu: Option<u32>, info: &TraceInfo) -> Wakeup {
        let running = self.running.get(&event.cpu);
        let waker_pid = event.pid.or(running.map(|(pid, _)| *pid)).unwrap_or(0);
        let waker_comm = running.filter(|(pid, _)| *pid == waker_pid).map(|(_, comm)| comm.clone());
        Wakeup {
            t_ns: event.t_ns,
            waker_cpu: event.cpu,
            waker_pid,
            waker_comm: waker_comm.filter(|comm| !comm.is_empty()).unwrap_or_else(|| self.names.of(waker_pid, info)),
            wakee_pid: pid,
            wakee_comm: comm.to_owned(),
            prev_cpu,
            dest_cpu: prev_cpu.unwrap_or(event.cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t_ns: u64, cpu: u32, kind: EventKind) -> Event {
        Event { t_ns, cpu, pid: Some(7), comm: String::new(), kind }
    }

    /// Returns the wake-ups that an event completes.
    fn take(tracker: &mut WakeupTracker, event: &Event) -> Option<Wakeup> {
        tracker.event(event, &TraceInfo::default())
    }

    fn switch_to(next_pid: i32) -> EventKind {
        let (prev_comm, next_comm) = (String::new(), "b".to_owned());
        EventKind::Switch { prev_pid: 0, prev_comm, prev_sleeps: false, next_pid, next_comm }
    }

    #[test]
    fn a_wake_up_goes_where_it_is_seen() {
        let waking = || EventKind::Waking { pid: 9, comm: "b".into(), prev_cpu: Some(1) };
        let woken = EventKind::Woken { pid: 9, comm: "b".into(), dest_cpu: Some(3), new: false };
        let mut tracker = WakeupTracker::default();
        assert_eq!(take(&mut tracker, &at(5, 0, waking())), None);
        let wakeup = take(&mut tracker, &at(6, 0, woken)).expect("complete");
        assert_eq!((wakeup.t_ns, wakeup.prev_cpu, wakeup.dest_cpu, wakeup.waker_pid), (5, Some(1), 3, 7));
        // The trace has no sched_wakeup.
        take(&mut tracker, &at(7, 0, waking()));
        let wakeup = take(&mut tracker, &at(9, 2, switch_to(9))).expect("it runs");
        assert_eq!((wakeup.t_ns, wakeup.dest_cpu), (7, 2));
        assert_eq!(take(&mut tracker, &at(10, 2, switch_to(9))), None, "it was not woken");
    }

    #[test]
    fn what_the_recorder_does_not_report_is_known_from_switches() {
        let woken = |dest_cpu, new| EventKind::Woken { pid: 9, comm: "b".into(), dest_cpu, new };
        let mut tracker = WakeupTracker::default();
        let wakeup = take(&mut tracker, &at(1, 0, woken(Some(3), false))).expect("complete");
        assert_eq!((wakeup.prev_cpu, wakeup.dest_cpu), (None, 3), "it was not seen to run yet");
        take(&mut tracker, &at(2, 3, switch_to(9)));
        let wakeup = take(&mut tracker, &at(4, 0, woken(Some(1), false))).expect("complete");
        assert_eq!((wakeup.prev_cpu, wakeup.dest_cpu), (Some(3), 1));
        // Without target_cpu it goes where it runs.
        assert_eq!(take(&mut tracker, &at(5, 0, woken(None, false))), None);
        let wakeup = take(&mut tracker, &at(7, 2, switch_to(9))).expect("it runs");
        assert_eq!((wakeup.t_ns, wakeup.prev_cpu, wakeup.dest_cpu), (5, Some(3), 2));
        // A new task of the same number ran nowhere.
        let wakeup = take(&mut tracker, &at(8, 0, woken(Some(1), true))).expect("complete");
        assert_eq!(wakeup.prev_cpu, None);
    }

    #[test]
    fn names_come_from_any_column_and_those_of_fields_are_newer() {
        let mut tracker = WakeupTracker::default();
        let waking = EventKind::Waking { pid: 9, comm: "b".into(), prev_cpu: Some(1) };
        let by = |comm: &str, kind| Event { comm: comm.into(), ..at(5, 0, kind) };
        take(&mut tracker, &by("<...>", waking.clone()));
        assert_eq!(tracker.new_names().collect::<Vec<_>>(), [(9, "b".to_owned())]);
        take(&mut tracker, &by("my waker", waking.clone()));
        let wakeup = take(&mut tracker, &at(9, 2, switch_to(9))).expect("it runs");
        assert_eq!((wakeup.waker_pid, &*wakeup.waker_comm), (7, "my waker"));
        // What a column says of a task that a field names is older.
        take(&mut tracker, &Event { pid: Some(9), ..by("old", waking) });
        assert_eq!(tracker.new_names().collect::<Vec<_>>(), [(7, "my waker".to_owned())]);
        assert_eq!(tracker.unfinished(), 2, "one was followed by another, and one is pending");
    }
}
