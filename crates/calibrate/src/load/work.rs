//! Work of a given length: additions and multiplications in registers.

use std::hint::black_box;
use std::time::Instant;

/// Computes for so many steps.
pub(crate) fn steps(count: u64) -> u64 {
    let mut sum = 0_u64;
    for step in 0..count {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(step));
    }
    sum
}

/// How many steps take a time on this CPU when nothing else runs on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    steps_per_us: f64,
}

/// Steps of a short run.
const TRY: u64 = 20_000;
/// Short runs.
const TRIES: usize = 40;

impl Pace {
    /// Measures it: the fastest of some short runs, which others have not disturbed.
    pub(crate) fn measure() -> Self {
        let one = |_| {
            let began = Instant::now();
            black_box(steps(TRY));
            began.elapsed().as_secs_f64()
        };
        let fastest = (0..TRIES).map(one).fold(f64::MAX, f64::min);
        Pace { steps_per_us: TRY as f64 / (fastest * 1e6).max(1e-3) }
    }

    /// How many steps take so many ns.
    pub(crate) fn steps(self, ns: u64) -> u64 {
        (self.steps_per_us * ns as f64 / 1e3) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_time_is_more_steps_in_proportion() {
        let pace = Pace { steps_per_us: 500.0 };
        assert_eq!([pace.steps(0), pace.steps(1_000), pace.steps(2_500)], [0, 500, 1250]);
        assert!(Pace::measure().steps(1_000_000) > 0);
    }
}
