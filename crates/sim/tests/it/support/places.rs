//! Where tasks are.

use wakelab_events::sim::{Event, Sink};

/// How many tasks are on each CPU, from when the last of them was let go.
#[derive(Clone, Debug, Default)]
pub struct Places {
    first: Option<u32>,
    /// When the last was let go, ns.
    pub free: u64,
    place: Vec<u32>,
    /// When, and by CPU how many.
    pub counts: Vec<(u64, Vec<u32>)>,
}

impl Places {
    fn note(&mut self, time: u64) {
        let mut counts = vec![0; 1 + *self.place.iter().max().expect("a task") as usize];
        self.place.iter().for_each(|&cpu| counts[cpu as usize] += 1);
        self.counts.push((time, counts));
    }

    /// How long after the last was let go it is as `good` says for the first time, and for good, ns.
    pub fn when(&self, nr_cpus: u32, good: impl Fn(&[u32]) -> bool) -> Option<(u64, u64)> {
        let good = |(_, counts): &(u64, Vec<u32>)| {
            let mut counts = counts.clone();
            counts.resize(nr_cpus as usize, 0);
            good(&counts)
        };
        let first = self.counts.iter().position(good)?;
        let last = self.counts.iter().rposition(|at| !good(at)).map_or(0, |bad| bad + 1);
        let time = |at: usize| self.counts.get(at).map_or(u64::MAX, |at| at.0.saturating_sub(self.free));
        Some((time(first), time(last)))
    }
}

impl Sink for Places {
    const ON: bool = true;

    fn event(&mut self, time: u64, event: &Event) {
        match *event {
            Event::Fork { task, .. } => {
                self.first.get_or_insert(task);
            }
            Event::Enqueue { cpu, .. } => {
                self.place.push(cpu);
                self.note(time);
            }
            Event::Done { .. } => {
                (self.free, self.counts) = (time, Vec::new());
                self.note(time);
            }
            Event::Migrate { task, to, .. } => {
                self.place[(task - self.first.expect("a fork")) as usize] = to;
                self.note(time);
            }
            _ => {}
        }
    }
}
