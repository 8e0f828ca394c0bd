//! Switches between threads that yield: no wake-up is in them.

use super::{Run, join, on_cpu};
use crate::child::Role;
use crate::cpus::pin;
use crate::samples::{Spread, ns};
use crate::sys::Usage;
use rustix::thread::sched_yield;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wakelab_sched::cpumask::Cpu;

/// Yields of a short run.
pub const YIELDS: u32 = 200;

pub(super) fn yields(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    on_cpu(cpu, || {
        run.each(|times| {
            let began = Instant::now();
            (0..times).for_each(|_| sched_yield());
            Ok(began.elapsed())
        })
    })
}

/// What a switch takes beside the yield. EEVDF lets a thread that yields go on now and then, so that switches are
/// counted: each of one thread away from it is one back to it, too, and between them the other thread yields once for
/// each switch.
pub(super) fn threads(cpu: Cpu, run: Run<'_>, alone: f64) -> io::Result<Spread> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            pin(&[cpu])?;
            let mut yielded = 0_u64;
            while !done.load(Ordering::Relaxed) {
                sched_yield();
                yielded += 1;
            }
            Ok(yielded)
        });
        let counted = scope.spawn(|| {
            let result = pin(&[cpu]).and_then(|()| run.sample(|| one(alone)));
            done.store(true, Ordering::Relaxed);
            result
        });
        let (spread, other) = (join(counted), join(other));
        other.and(spread)
    })
}

/// The same where the other task is another process.
pub(super) fn processes(cpu: Cpu, run: Run<'_>, alone: f64) -> io::Result<Spread> {
    let mut command = run.child.command(&Role::Yield(cpu))?;
    on_cpu(cpu, || {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let spread = run.sample(|| one(alone));
        // Its stdin is closed, so that it ends.
        drop(child.stdin.take());
        child.wait()?;
        spread
    })
}

/// A short run; nothing if the thread was hardly ever switched away from.
fn one(alone: f64) -> io::Result<Option<f64>> {
    let (before, began) = (Usage::switches_of_thread()?, Instant::now());
    (0..YIELDS).for_each(|_| sched_yield());
    let (took, switches) = (ns(began.elapsed()), Usage::switches_of_thread()? - before);
    Ok(per_switch(took, switches, alone))
}

/// `took` is this thread's yields, as many yields of the other as there were turns, and two switches for each turn.
fn per_switch(took: f64, turns: u64, alone: f64) -> Option<f64> {
    if turns < u64::from(YIELDS) / 4 {
        return None;
    }
    let yields = f64::from(YIELDS) + turns as f64;
    Some((took - yields * alone) / (2.0 * turns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yields_are_taken_off_and_turns_have_two_switches() {
        // 200 yields of 100 ns, 150 turns of the other with one yield each, 300 switches of 300 ns.
        let took = 200.0 * 100.0 + 150.0 * 100.0 + 300.0 * 300.0;
        assert_eq!(per_switch(took, 150, 100.0), Some(300.0));
        assert_eq!(per_switch(took, 20, 100.0), None, "the other thread hardly ran");
    }
}
