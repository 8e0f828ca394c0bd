//! What the waker sees of a wake-up, and what a message from another CPU costs.

use super::{Run, join, with_spinners};
use crate::cpus::pin;
use crate::samples::{Spread, ns};
use std::hint::spin_loop;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// The time between two wake-ups, ns: the reader sleeps again long before.
pub const WAKE_GAP_NS: u64 = 50_000;

/// Wake-ups of a short run.
const WAKES: u32 = 16;

/// The time of a `write()` that wakes a reader on another CPU.
pub(super) fn waker(cpus: [Cpu; 2], run: Run<'_>, busy: bool) -> io::Result<Spread> {
    let (mut from, mut to) = io::pipe()?;
    let body = || {
        std::thread::scope(|scope| {
            let reader = scope.spawn(move || {
                pin(&[cpus[1]])?;
                while from.read(&mut [0])? > 0 {}
                Ok(())
            });
            let waker = scope.spawn(move || {
                pin(&[cpus[0]])?;
                let clock = clock_ns();
                run.sample(|| {
                    let mut sum = 0.0;
                    for _ in 0..WAKES {
                        let began = Instant::now();
                        to.write_all(&[1])?;
                        let took = began.elapsed();
                        sum += ns(took) - clock;
                        wait(Duration::from_nanos(WAKE_GAP_NS));
                    }
                    Ok(Some(sum / f64::from(WAKES)))
                })
            });
            let (spread, read) = (join(waker), join(reader));
            read.and(spread)
        })
    };
    if busy { with_spinners(&cpus[1..], body) } else { body() }
}

/// Computes for a time.
pub(super) fn wait(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        spin_loop();
    }
}

/// What lies between two reads of the clock, ns: the least of many.
pub(super) fn clock_ns() -> f64 {
    let one = |_| {
        let began = Instant::now();
        ns(began.elapsed())
    };
    (0..1000).map(one).fold(f64::MAX, f64::min)
}

/// Whose turn it is of two threads that spin.
const OURS: u32 = 0;
const THEIRS: u32 = 1;
const END: u32 = 2;

/// A word alone on its cache lines: adjacent lines are fetched in pairs.
#[repr(align(128))]
struct Turn(AtomicU32);

impl Turn {
    fn pass(&self, to: u32) {
        self.0.store(to, Ordering::Release);
    }

    /// Spins while the word has a value. Yields now and then: the other may wait for this CPU on a busy machine.
    fn wait_while(&self, value: u32) -> u32 {
        for spins in 1_u32.. {
            let now = self.0.load(Ordering::Acquire);
            if now != value {
                return now;
            }
            if spins % 100_000 == 0 {
                std::thread::yield_now();
            }
            spin_loop();
        }
        unreachable!("it spins for as long as it takes")
    }
}

/// Half a round of handing a word over.
pub(super) fn line(cpus: [Cpu; 2], run: Run<'_>) -> io::Result<Spread> {
    let round = handed_over(cpus, run, |_| Ok(()), |_| Ok(()))?;
    Ok(Spread { median: round.median / 2.0, p10: round.p10 / 2.0, p90: round.p90 / 2.0, ..round })
}

/// A round of writing a byte here, handing over, reading it there, and handing back.
pub(super) fn message(cpus: [Cpu; 2], run: Run<'_>) -> io::Result<Spread> {
    let (mut from, mut to) = io::pipe()?;
    handed_over(cpus, run, move |byte| to.write_all(&[byte]), move |byte| from.read_exact(&mut [byte]))
}

fn handed_over(
    cpus: [Cpu; 2],
    run: Run<'_>,
    mut here: impl FnMut(u8) -> io::Result<()> + Send,
    mut there: impl FnMut(u8) -> io::Result<()> + Send,
) -> io::Result<Spread> {
    let turn = Turn(AtomicU32::new(OURS));
    let turn = &turn;
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            pin(&[cpus[1]])?;
            while turn.wait_while(OURS) != END {
                there(0)?;
                turn.pass(OURS);
            }
            Ok(())
        });
        let own = scope.spawn(move || {
            let result = pin(&[cpus[0]]).and_then(|()| {
                run.each(|times| {
                    let began = Instant::now();
                    for _ in 0..times {
                        here(1)?;
                        turn.pass(THEIRS);
                        turn.wait_while(THEIRS);
                    }
                    Ok(began.elapsed())
                })
            });
            turn.pass(END);
            result
        });
        let (spread, ended) = (join(own), join(other));
        ended.and(spread)
    })
}
