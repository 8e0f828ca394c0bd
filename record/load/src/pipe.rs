//! Pairs of processes that wake each other through pipes.

use crate::work::Numbers;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

const MOST_WORK: u64 = 20_000;

/// Runs so many pairs.
pub fn run(pairs: usize, rounds: usize) -> io::Result<()> {
    let mut children = Vec::new();
    for pair in 0..pairs {
        let (mut a_in, mut b_out) = io::pipe()?;
        let (mut b_in, mut a_out) = io::pipe()?;
        children.push(crate::fork::child(|| {
            let mut numbers = Numbers::of(2 * pair);
            for _ in 0..rounds {
                a_out.write_all(&[0])?;
                turn(&mut a_in, None, &mut numbers)?;
            }
            Ok(())
        })?);
        children.push(crate::fork::child(|| {
            let mut numbers = Numbers::of(2 * pair + 1);
            for _ in 0..rounds {
                turn(&mut b_in, Some(&mut b_out), &mut numbers)?;
            }
            Ok(())
        })?);
    }
    crate::fork::wait(children)
}

fn turn(from: &mut PipeReader, to: Option<&mut PipeWriter>, numbers: &mut Numbers) -> io::Result<()> {
    from.read_exact(&mut [0])?;
    numbers.work(MOST_WORK);
    to.map_or(Ok(()), |to| to.write_all(&[0]))
}
