//! Pairs of threads that wake each other through futexes.

use crate::work::Numbers;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

const MOST_WORK: u64 = 20_000;

/// Runs so many pairs.
pub fn run(pairs: usize, rounds: usize) -> io::Result<()> {
    let turns: Vec<AtomicU32> = (0..pairs).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for (pair, turn) in turns.iter().enumerate() {
            for side in 0..2 {
                scope.spawn(move || {
                    let mut numbers = Numbers::of(2 * pair + side as usize);
                    for _ in 0..rounds {
                        wait_for(turn, side);
                        numbers.work(MOST_WORK);
                        pass_to(turn, 1 - side);
                    }
                });
            }
        }
    });
    Ok(())
}

/// Sleeps until the word has that value.
pub fn wait_for(word: &AtomicU32, value: u32) {
    loop {
        let now = word.load(Ordering::Acquire);
        if now == value {
            return;
        }
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                now,
                std::ptr::null::<libc::timespec>(),
            )
        };
    }
}

/// Gives the word a value and wakes who waits for it.
pub fn pass_to(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX) };
}
