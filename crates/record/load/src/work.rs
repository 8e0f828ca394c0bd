//! A little work, of a length that differs from round to round and is the same in each run.

/// A generator of numbers (xorshift), from a seed that is not 0.
pub struct Numbers(u64);

impl Numbers {
    /// For the thread of that number.
    pub fn of(thread: usize) -> Self {
        Numbers(0x9e37_79b9_7f4a_7c15 ^ (thread as u64 + 1) << 17)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Computes for up to `most` steps, and sleeps for a moment now and then.
    pub fn work(&mut self, most: u64) {
        let mut sum = 0_u64;
        for step in 0..self.below(most + 1) {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(step));
        }
        if self.below(24) == 0 {
            std::thread::sleep(std::time::Duration::from_micros(self.below(2000)));
        }
    }
}
