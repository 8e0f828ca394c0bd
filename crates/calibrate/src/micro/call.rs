//! Calls that wake nobody.

use super::{Run, on_cpu, short_run};
use crate::samples::{Spread, ns};
use rustix::thread::futex;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::sync::atomic::AtomicU32;
use std::time::Instant;
use wakelab_sched::cpumask::Cpu;

pub(super) fn syscall(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    on_cpu(cpu, || {
        run.each(|times| {
            let began = Instant::now();
            for _ in 0..times {
                black_box(rustix::process::getppid());
            }
            Ok(began.elapsed())
        })
    })
}

/// Which of the calls on a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timed {
    Writes,
    Reads,
}

pub(super) fn pipe(cpu: Cpu, run: Run<'_>, timed: Timed) -> io::Result<Spread> {
    on_cpu(cpu, || {
        let (mut from, mut to) = io::pipe()?;
        // A pipe of 16 pages has room for as many bytes as a short run has at most.
        let mut many = |times| {
            let began = Instant::now();
            for _ in 0..times {
                to.write_all(&[1])?;
            }
            let written = began.elapsed();
            for _ in 0..times {
                from.read_exact(&mut [0])?;
            }
            Ok(if timed == Timed::Writes { written } else { began.elapsed() - written })
        };
        let times = short_run(&mut many)?.min(4000);
        run.sample(|| Ok(Some(ns(many(times)?) / f64::from(times))))
    })
}

pub(super) fn futex_wake(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    on_cpu(cpu, || {
        let word = AtomicU32::new(0);
        run.each(|times| {
            let began = Instant::now();
            for _ in 0..times {
                futex::wake(&word, futex::Flags::PRIVATE, 1)?;
            }
            Ok(began.elapsed())
        })
    })
}

pub(super) fn futex_wait(cpu: Cpu, run: Run<'_>) -> io::Result<Spread> {
    on_cpu(cpu, || {
        let word = AtomicU32::new(0);
        run.each(|times| {
            let began = Instant::now();
            for _ in 0..times {
                // It fails with EAGAIN, because the word has another value.
                let _ = futex::wait(&word, futex::Flags::PRIVATE, 1, None);
            }
            Ok(began.elapsed())
        })
    })
}
