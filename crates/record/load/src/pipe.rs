//! Pairs of processes that wake each other through pipes.

use crate::work::Numbers;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

/// Steps of work between two wake-ups, at most.
pub const LITTLE_WORK: u64 = 20_000;

/// Runs this many pairs, with at most this much work between two wake-ups. Each process calls `begin` with its number.
pub fn run(pairs: usize, rounds: usize, work: u64, begin: fn(usize) -> io::Result<()>) -> io::Result<()> {
    let mut children = Vec::new();
    for pair in 0..pairs {
        let (mut a_in, mut b_out) = io::pipe()?;
        let (mut b_in, mut a_out) = io::pipe()?;
        children.push(crate::fork::child(|| {
            begin(2 * pair)?;
            let mut numbers = Numbers::of(2 * pair);
            for _ in 0..rounds {
                a_out.write_all(&[0])?;
                turn(&mut a_in, None, &mut numbers, work)?;
            }
            Ok(())
        })?);
        children.push(crate::fork::child(|| {
            begin(2 * pair + 1)?;
            let mut numbers = Numbers::of(2 * pair + 1);
            for _ in 0..rounds {
                turn(&mut b_in, Some(&mut b_out), &mut numbers, work)?;
            }
            Ok(())
        })?);
    }
    crate::fork::wait(children)
}

fn turn(from: &mut PipeReader, to: Option<&mut PipeWriter>, numbers: &mut Numbers, work: u64) -> io::Result<()> {
    from.read_exact(&mut [0])?;
    if work > 0 {
        numbers.work(work);
    }
    to.map_or(Ok(()), |to| to.write_all(&[0]))
}
