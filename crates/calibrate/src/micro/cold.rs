//! What cold caches cost a thread that has changed its CPU, by the memory that it walks through.

use super::Run;
use crate::cpus::pin;
use crate::samples::{Spread, ns};
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use wakelab_sched::cpumask::Cpu;

/// The footprints, KiB. The first is about what a task touches that sends a byte and waits: its stacks, its
/// `task_struct`, the lines of a socket or pipe.
pub const FOOTPRINTS_KIB: [u32; 4] = [4, 16, 64, 256];

/// Bytes of a cache line.
const LINE: usize = 64;

/// How much longer the first walk after a migration takes than the next.
pub(super) fn walk(cpus: [Cpu; 2], kib: u32, run: Run<'_>) -> io::Result<Spread> {
    let walk = move || {
        let lines = kib as usize * 1024 / LINE;
        let mut memory = vec![0_u8; lines * LINE];
        let order = shuffled(lines);
        let mut on = 0;
        run.sample(|| {
            for _ in 0..3 {
                pass(&mut memory, &order);
            }
            on = 1 - on;
            // It returns on the other CPU.
            pin(&[cpus[on]])?;
            let cold = pass(&mut memory, &order);
            let warm = pass(&mut memory, &order).min(pass(&mut memory, &order));
            Ok(Some(ns(cold) - ns(warm)))
        })
    };
    std::thread::scope(|scope| super::join(scope.spawn(move || pin(&[cpus[0]]).and_then(|()| walk()))))
}

/// Reads and writes a byte of each line.
fn pass(memory: &mut [u8], order: &[u32]) -> Duration {
    let began = Instant::now();
    for &line in order {
        let byte = &mut memory[line as usize * LINE];
        *byte = byte.wrapping_add(1);
    }
    black_box(&memory);
    began.elapsed()
}

/// The numbers below `count`, in an order that no prefetcher guesses, and the same each time.
fn shuffled(count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for last in (1..count).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_through_each_line_once() {
        let mut order = shuffled(64);
        assert_ne!(order, (0..64).collect::<Vec<_>>());
        let mut memory = vec![0; 64 * LINE];
        pass(&mut memory, &order);
        assert_eq!(memory.iter().map(|&byte| u32::from(byte)).sum::<u32>(), 64);
        order.sort_unstable();
        assert_eq!(order, (0..64).collect::<Vec<_>>());
    }
}
