//! Work in registers, alone and beside another CPU.

use super::{Run, join, on_cpu};
use crate::cpus::pin;
use crate::load::work::steps;
use crate::samples::{Spread, ns};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wakelab_sched::cpumask::Cpu;

/// Steps of a piece of work: a fraction of a millisecond, within a slice and mostly between ticks.
const STEPS: u64 = 300_000;

fn piece() -> f64 {
    let began = Instant::now();
    black_box(steps(STEPS));
    ns(began.elapsed())
}

pub(super) fn alone(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    on_cpu(cpu, || run.sample(|| Ok(Some(piece()))))
}

/// In % of what it takes alone, in turns, so that what comes and goes on the machine is in both.
pub(super) fn together(cpus: [Cpu; 2], run: Run<'_>) -> io::Result<Spread> {
    /// Pieces of a turn.
    const TURN: u32 = 4;
    let (busy, done) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            pin(&[cpus[1]])?;
            while !done.load(Ordering::Relaxed) {
                if busy.load(Ordering::Relaxed) {
                    black_box(steps(1000));
                } else {
                    std::thread::sleep(std::time::Duration::from_micros(50));
                }
            }
            Ok(())
        });
        let own = scope.spawn(move || {
            let turn = |with: bool| {
                busy.store(with, Ordering::Relaxed);
                // The other CPU leaves idle meanwhile.
                super::wake::wait(std::time::Duration::from_micros(300));
                // The fastest is the one that others disturbed least.
                (0..TURN).map(|_| piece()).fold(f64::MAX, f64::min)
            };
            let result = pin(&[cpus[0]]).and_then(|()| {
                run.sample(|| {
                    let alone = turn(false);
                    Ok(Some(100.0 * turn(true) / alone))
                })
            });
            done.store(true, Ordering::Relaxed);
            result
        });
        let (spread, ended) = (join(own), join(other));
        ended.and(spread)
    })
}
