//! Message threads and workers, as in schbench: a message thread wakes all of its workers, each of which works and
//! answers.

use crate::futex::{pass_to, wait_for};
use crate::work::Numbers;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

const WORKERS: usize = 4;
const MOST_WORK: u64 = 60_000;

struct Group {
    /// By worker: 1 while it has work.
    given: [AtomicU32; WORKERS],
    /// How many have answered.
    answered: AtomicU32,
}

/// Runs so many message threads.
pub fn run(threads: usize, rounds: usize) -> io::Result<()> {
    let new = |_| Group { given: [const { AtomicU32::new(0) }; WORKERS], answered: AtomicU32::new(0) };
    let groups: Vec<Group> = (0..threads).map(new).collect();
    std::thread::scope(|scope| {
        for (at, group) in groups.iter().enumerate() {
            for worker in 0..WORKERS {
                scope.spawn(move || {
                    let mut numbers = Numbers::of(at * WORKERS + worker);
                    for _ in 0..rounds {
                        wait_for(&group.given[worker], 1);
                        group.given[worker].store(0, Ordering::Relaxed);
                        numbers.work(MOST_WORK);
                        let answered = group.answered.fetch_add(1, Ordering::AcqRel) + 1;
                        if answered == WORKERS as u32 {
                            pass_to(&group.answered, answered);
                        }
                    }
                });
            }
            scope.spawn(move || {
                for _ in 0..rounds {
                    group.answered.store(0, Ordering::Release);
                    group.given.iter().for_each(|given| pass_to(given, 1));
                    wait_for(&group.answered, WORKERS as u32);
                }
            });
        }
    });
    Ok(())
}
