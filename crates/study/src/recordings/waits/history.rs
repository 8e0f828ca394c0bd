//! What a CPU ran, as far back as a task waits for it.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The activity of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ran {
    /// It runs this task.
    Task(i64),
    /// It is idle, in the idle state of this number if the source has it.
    Idle(Option<u32>),
    /// It is not known: no switch was seen yet, switches were lost, or it is longer ago than is kept.
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    from_ns: u64,
    ran: Ran,
}

/// What a CPU ran: segments, each up to the beginning of the next.
#[derive(Clone, Debug)]
pub(super) struct History {
    segments: VecDeque<Segment>,
    /// The most segments that are kept.
    most: usize,
    /// Time spent idle, and time of which nothing is known, in the segments that are over, ns.
    idle_ns: u64,
    unknown_ns: u64,
    /// The segments that were dropped although a task waited since before their end.
    pub(super) dropped: u64,
}

impl History {
    /// A CPU that does `ran` since time 0.
    pub(super) fn new(ran: Ran, most: usize) -> Self {
        let segments = VecDeque::from([Segment { from_ns: 0, ran }]);
        History { segments, most, idle_ns: 0, unknown_ns: 0, dropped: 0 }
    }

    fn last(&self) -> Segment {
        *self.segments.back().expect("a CPU always does something")
    }

    /// The CPU has done `ran` since this time, ns, or all the time, where nothing else is known of it.
    pub(super) fn begins(&mut self, since_ns: u64, ran: Ran) {
        if self.segments.len() == 1 && self.now() == Ran::Unknown {
            if since_ns == 0 {
                self.segments[0].ran = ran;
            } else {
                self.push(since_ns, ran, Some(0));
            }
        }
    }

    /// What the CPU does.
    pub(super) fn now(&self) -> Ran {
        self.last().ran
    }

    /// It turns out that nobody knows what the CPU did since its last switch.
    pub(super) fn forget(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.ran = Ran::Unknown;
        }
    }

    /// The CPU does something else from now on. Segments that ended before `oldest_ns`, since when a task has been
    /// waiting, are dropped; all of them if none waits.
    pub(super) fn push(&mut self, now_ns: u64, ran: Ran, oldest_ns: Option<u64>) {
        let last = self.last();
        let ns = now_ns.saturating_sub(last.from_ns);
        match last.ran {
            Ran::Idle(_) => self.idle_ns += ns,
            Ran::Unknown => self.unknown_ns += ns,
            Ran::Task(_) => {}
        }
        match oldest_ns {
            None => self.segments.clear(),
            Some(oldest) => {
                while self.segments.get(1).is_some_and(|second| second.from_ns <= oldest) {
                    self.segments.pop_front();
                }
            }
        }
        if self.segments.len() >= self.most {
            self.segments.pop_front();
            self.dropped += 1;
        }
        self.segments.push_back(Segment { from_ns: now_ns, ran });
    }

    /// Time spent idle since time 0, and time of which nothing is known, ns.
    pub(super) fn idle_and_unknown(&self, now_ns: u64) -> (u64, u64) {
        let last = self.last();
        let ns = now_ns.saturating_sub(last.from_ns);
        match last.ran {
            Ran::Idle(_) => (self.idle_ns + ns, self.unknown_ns),
            Ran::Unknown => (self.idle_ns, self.unknown_ns + ns),
            Ran::Task(_) => (self.idle_ns, self.unknown_ns),
        }
    }

    /// Adds the time that the CPU spent on each thing in this interval.
    pub(super) fn add_to(&self, from_ns: u64, to_ns: u64, sums: &mut FxHashMap<Ran, u64>) {
        let mut until = to_ns;
        for segment in self.segments.iter().rev() {
            let begins = segment.from_ns.max(from_ns);
            if begins < until {
                *sums.entry(segment.ran).or_default() += until - begins;
                until = begins;
            }
            if segment.from_ns <= from_ns {
                return;
            }
        }
        if from_ns < until {
            *sums.entry(Ran::Unknown).or_default() += until - from_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(history: &History, from: u64, to: u64) -> Vec<(Ran, u64)> {
        let mut sums = FxHashMap::default();
        history.add_to(from, to, &mut sums);
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort();
        sums
    }

    #[test]
    fn an_interval_is_the_sum_of_what_ran_in_it() {
        let mut history = History::new(Ran::Unknown, 100);
        history.push(10, Ran::Task(1), Some(0));
        history.push(30, Ran::Idle(None), Some(0));
        history.push(35, Ran::Task(1), Some(0));
        assert_eq!(sums(&history, 5, 40), [(Ran::Task(1), 25), (Ran::Idle(None), 5), (Ran::Unknown, 5)]);
        assert_eq!(sums(&history, 12, 31), [(Ran::Task(1), 18), (Ran::Idle(None), 1)]);
        assert_eq!(sums(&history, 20, 20), []);
        assert_eq!(history.idle_and_unknown(40), (5, 10));
    }

    #[test]
    fn what_nobody_waits_for_is_dropped_and_so_is_what_has_no_room() {
        let mut history = History::new(Ran::Idle(None), 100);
        for at in 1..1000 {
            history.push(at, Ran::Task(at as i64), Some(at.saturating_sub(3)));
            assert!(history.segments.len() <= 5, "{at}");
            let from = at.saturating_sub(3);
            assert!(sums(&history, from, at).iter().all(|(ran, _)| *ran != Ran::Unknown));
        }
        assert_eq!(history.dropped, 0);
        history.push(1000, Ran::Idle(None), None);
        assert_eq!(history.segments.len(), 1);
        for at in 1001..1201 {
            history.push(at, Ran::Task(7), Some(1000));
        }
        assert_eq!((history.segments.len(), history.dropped), (100, 101));
        assert_eq!(sums(&history, 1000, 1201), [(Ran::Task(7), 100), (Ran::Unknown, 101)]);
    }
}
