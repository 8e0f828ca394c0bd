//! The events that happen next: the next event of each CPU, and events with a time of their own.
//!
//! Each CPU does one thing at a time, so it has one next event, which moves often (the SMT sibling changes its speed,
//! an interrupt comes). A tournament over the CPUs makes moving it cost log2(CPUs) comparisons, and leaves no stale
//! entries behind as a heap would. Events at the same time come in the order of CPU numbers.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::runqueue::TaskId;
use wakelab_sched::tournament::Tournament;

/// No event.
pub const NEVER: u64 = u64::MAX;

/// Low bits of a key that hold the CPU: 8192 CPUs.
const CPU_BITS: u32 = 13;

/// The next event of each CPU, and the earliest of all. Times are below 2^51 ns (26 days).
#[derive(Clone, Debug)]
pub struct Timeline(Tournament);

impl Timeline {
    /// No events on `nr_cpus` CPUs.
    pub fn new(nr_cpus: u32) -> Self {
        Timeline(Tournament::new(nr_cpus as usize))
    }

    /// Sets the time of a CPU's next event; [`NEVER`] for none.
    #[inline]
    pub fn set(&mut self, cpu: u32, time: u64) {
        let key = if time == NEVER { Tournament::NONE } else { time << CPU_BITS | u64::from(cpu) };
        self.0.set(cpu as usize, key);
    }

    /// When the CPU's next event is.
    #[inline]
    pub fn get(&self, cpu: u32) -> u64 {
        match self.0.get(cpu as usize) {
            Tournament::NONE => NEVER,
            key => key >> CPU_BITS,
        }
    }

    /// The earliest event: its time, [`NEVER`] if there is none, and its CPU.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        let key = self.0.first();
        let time = if key == Tournament::NONE { NEVER } else { key >> CPU_BITS };
        (time, (key & ((1 << CPU_BITS) - 1)) as u32)
    }
}

/// The events with a time of their own, the earliest first; of those at one time the one that was set first.
#[derive(Clone, Debug, Default)]
pub struct TimedEvents {
    heap: BinaryHeap<Timed>,
    /// The number of the last event that was set.
    seq: u64,
}

/// One of them. The time and the number are one key, because a heap compares several times for each event.
#[derive(Clone, Copy, Debug)]
struct Timed {
    /// The time, ns, and in the low 64 bits the number.
    key: u128,
    what: TimedEvent,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The reverse of the key's: the largest of a [`BinaryHeap`] comes first.
impl Ord for Timed {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl TimedEvents {
    /// Sets an event for `time`, ns.
    #[inline]
    pub fn push(&mut self, time: u64, what: TimedEvent) {
        self.seq += 1;
        self.heap.push(Timed { key: u128::from(time) << 64 | u128::from(self.seq), what });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Sets several, in their order.
    pub fn extend(&mut self, events: impl IntoIterator<Item = (u64, TimedEvent)>) {
        events.into_iter().for_each(|(time, what)| self.push(time, what));
    }

    /// Keeps those of which `keeps` says so.
    pub fn retain(&mut self, mut keeps: impl FnMut(&TimedEvent) -> bool) {
        self.heap.retain(|timed| keeps(&timed.what));
    }

    /// When the first event is, ns; [`NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |timed| (timed.key >> 64) as u64)
    }

    /// Takes the first event.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn pop(&mut self) -> TimedEvent {
        self.heap.pop().expect("there is an event").what
    }
}

/// An event with a time of its own, which is not the end of what a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedEvent {
    /// The next jiffy begins.
    Jiffy,
    /// A task's timer expires.
    Timer(TaskId),
    /// The next period of a deadline task begins.
    DlReplenish(TaskId),
    /// The 0-lag time of a deadline task.
    DlInactive(TaskId),
    /// An interrupt of the workload's source of this number arrives.
    Device(u32, Cpu),
    /// A task of the workload is to be forked.
    Start(TaskId),
    /// An IPI with wakelist work arrives.
    IpiWakelist(Cpu),
    /// A rescheduling IPI arrives.
    IpiResched(Cpu),
    /// An IPI arrives that flushes a TLB.
    IpiTlbFlush(Cpu),
    /// An IPI arrives that asks an idle CPU to balance for others.
    IpiNohz(Cpu),
    /// The stopper of a CPU is woken, to push its running task to another CPU.
    Stopper(Cpu),
    /// The timer of RCU's kthread expires, if it is still set for this time, ns.
    RcuTimer(u64),
    /// The hrtick of a CPU expires, unless it was started again since: its number.
    Hrtick(Cpu, u32),
    /// An IPI arrives that has a CPU push realtime tasks.
    RtoPush(Cpu),
    /// The period timer of a group's bandwidth expires, on a CPU.
    CfsPeriod(u32, Cpu),
    /// The slack timer of a group's bandwidth expires, on a CPU.
    CfsSlack(u32, Cpu),
    /// An IPI arrives that has a CPU unthrottle its run queues.
    CfsUnthrottle(Cpu),
    /// A timer of the scheduler of sched_ext expires: its number, and its CPU.
    ExtTimer(u32, Cpu),
    /// A CPU can serve the next of the scheduler's timers that have expired on it.
    ExtTimerSoftirq(Cpu),
    /// The watchdog of sched_ext looks for tasks that do not run.
    ExtWatchdog,
    /// A CPU for which this one waits after a kick of sched_ext has gone through its scheduler.
    ExtKickSynced(Cpu),
    /// Something that an administrator does: a number of the workload's changes.
    Change(u32),
    /// A period of RT throttling is over.
    RtPeriod,
    /// The timer of a CPU's fair server.
    FairServer(Cpu),
    /// A policy's frequency changes to what its governor last asked for.
    Freq(u32),
    /// A core has slept for as long as the processor demotes it, if nothing has woken it.
    Undemoted(u32),
    /// Power and residencies are measured from here on.
    Measure,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timed_events_come_by_time_and_then_in_the_order_in_which_they_were_set(
            times in prop::collection::vec(0u64..20, 1..100),
        ) {
            let mut events = TimedEvents::default();
            for (n, &time) in times.iter().enumerate() {
                events.push(time, TimedEvent::Start(TaskId(n as u32)));
            }
            let mut order: Vec<usize> = (0..times.len()).collect();
            order.sort_by_key(|&n| times[n]);
            for n in order {
                prop_assert_eq!(events.first(), times[n]);
                prop_assert_eq!(events.pop(), TimedEvent::Start(TaskId(n as u32)));
            }
            prop_assert_eq!(events.first(), NEVER);
        }

        #[test]
        fn first_is_the_smallest(
            nr in 1u32..700,
            moves in prop::collection::vec((0u32..700, prop::option::of(0u64..1000)), 1..200),
        ) {
            let mut timeline = Timeline::new(nr);
            let mut slow = vec![NEVER; nr as usize];
            for (cpu, time) in moves {
                let cpu = cpu % nr;
                let time = time.unwrap_or(NEVER);
                timeline.set(cpu, time);
                slow[cpu as usize] = time;
                let (first, of) = (0..nr).map(|cpu| (slow[cpu as usize], cpu)).min().expect("a CPU");
                prop_assert_eq!(timeline.first().0, first);
                prop_assert!(first == NEVER || timeline.first().1 == of);
                prop_assert_eq!(timeline.get(cpu), time);
            }
        }
    }
}
