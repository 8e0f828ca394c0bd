//! The system's allocator with counters: for tests that hold memory to a bound. Each of their programs states it:
//!
//! ```
//! use wakelab_testing::most_memory::Counting;
//!
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//! ```
#![allow(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The allocator.
#[derive(Debug)]
pub struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn add(size: usize) {
    let used = USED.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(used, Ordering::Relaxed);
    // A thread that ends has lost its counter, and has nothing to count.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

/// How often the calling thread has allocated memory since it began.
pub fn allocations_of_this_thread() -> u64 {
    ALLOCATIONS.get()
}

// SAFETY: all is passed on to the system's allocator; the count does not allocate. `realloc` and `alloc_zeroed` are
// made of these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps to the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// One measures at a time: the count is the whole process's, and the tests of a program run at once.
static ALONE: Mutex<()> = Mutex::new(());

/// What is taken while this lives, by all threads.
#[derive(Debug)]
pub struct Measured {
    before: usize,
    _alone: MutexGuard<'static, ()>,
}

/// Waits until nobody else measures, and counts anew.
///
/// # Panics
/// If the program has another allocator: it would be held to nothing.
pub fn begin() -> Measured {
    // A test that failed while it measured spoils nothing: each counts anew.
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = USED.load(Ordering::Relaxed);
    assert!(before > 0, "the program states no allocator that counts");
    MOST.store(before, Ordering::Relaxed);
    Measured { before, _alone: alone }
}

impl Measured {
    /// Counts anew from here on, still alone.
    pub fn restart(&mut self) {
        self.before = USED.load(Ordering::Relaxed);
        MOST.store(self.before, Ordering::Relaxed);
    }

    /// The most that was in use since, above what was when it began; bytes.
    pub fn most(&self) -> usize {
        MOST.load(Ordering::Relaxed).saturating_sub(self.before)
    }
}
