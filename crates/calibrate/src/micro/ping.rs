//! Two tasks that wake each other in turn.

use super::{Run, join, with_spinners};
use crate::child::Role;
use crate::cpus::pin;
use crate::samples::Spread;
use rustix::io::Errno;
use rustix::thread::futex;
use std::io::{self, Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// Rounds of a byte through two pipes.
fn rounds(to: &mut impl Write, from: &mut impl Read, times: u32) -> io::Result<Duration> {
    let began = Instant::now();
    for _ in 0..times {
        to.write_all(&[1])?;
        from.read_exact(&mut [0])?;
    }
    Ok(began.elapsed())
}

/// Between threads; `busy`: no CPU is ever idle.
pub(super) fn threads(cpus: [Cpu; 2], run: Run<'_>, busy: bool) -> io::Result<Spread> {
    let (mut there_out, mut there_in) = io::pipe()?;
    let (mut back_out, mut back_in) = io::pipe()?;
    let body = || {
        std::thread::scope(|scope| {
            let answers = scope.spawn(move || {
                pin(&[cpus[1]])?;
                let mut byte = [0];
                // The end of the pipe is the end of the run.
                while there_out.read(&mut byte)? > 0 {
                    back_in.write_all(&byte)?;
                }
                Ok(())
            });
            let asks = scope.spawn(move || {
                pin(&[cpus[0]])?;
                run.each(|times| rounds(&mut there_in, &mut back_out, times))
            });
            let (spread, answered) = (join(asks), join(answers));
            answered.and(spread)
        })
    };
    if busy { with_spinners(&cpus, body) } else { body() }
}

/// Between processes.
pub(super) fn processes(cpus: [Cpu; 2], run: Run<'_>) -> io::Result<Spread> {
    let mut command = run.child.command(&Role::Echo(cpus[1]))?;
    std::thread::scope(|scope| {
        let asks = scope.spawn(move || {
            pin(&[cpus[0]])?;
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
            let spread = match (child.stdin.take(), child.stdout.take()) {
                (Some(mut to), Some(mut from)) => run.each(|times| rounds(&mut to, &mut from, times)),
                _ => Err(io::Error::other("the process has no pipes")),
            };
            // Its stdin is closed, so that it ends.
            child.wait()?;
            spread
        });
        join(asks)
    })
}

/// The turn of the thread that answers, of the one that asks, and the end.
const THEIRS: u32 = 1;
const OURS: u32 = 0;
const END: u32 = 2;

/// Between threads, through futexes.
pub(super) fn futex(cpus: [Cpu; 2], run: Run<'_>) -> io::Result<Spread> {
    let turn = AtomicU32::new(OURS);
    std::thread::scope(|scope| {
        let answers = scope.spawn(|| {
            pin(&[cpus[1]])?;
            while wait_while(&turn, OURS)? != END {
                pass(&turn, OURS)?;
            }
            Ok(())
        });
        let asks = scope.spawn(|| {
            let result = pin(&[cpus[0]]).and_then(|()| {
                run.each(|times| {
                    let began = Instant::now();
                    for _ in 0..times {
                        pass(&turn, THEIRS)?;
                        wait_while(&turn, THEIRS)?;
                    }
                    Ok(began.elapsed())
                })
            });
            pass(&turn, END).and(result)
        });
        let (spread, answered) = (join(asks), join(answers));
        answered.and(spread)
    })
}

/// Sleeps while the word has a value. Returns its next.
pub(super) fn wait_while(word: &AtomicU32, value: u32) -> io::Result<u32> {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != value {
            return Ok(now);
        }
        match futex::wait(word, futex::Flags::PRIVATE, value, None) {
            Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sets the word, and wakes who waits for that.
pub(super) fn pass(word: &AtomicU32, value: u32) -> io::Result<()> {
    word.store(value, Ordering::Release);
    futex::wake(word, futex::Flags::PRIVATE, 1)?;
    Ok(())
}
