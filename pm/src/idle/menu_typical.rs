//! The interval that repeats itself.

use super::Typical;

/// How many idle times menu remembers.
pub const INTERVALS: usize = 8;

/// What fits between the thresholds.
struct Kept {
    min: u32,
    max: u32,
    count: u64,
    avg: u64,
    variance: u64,
}

impl Kept {
    /// The average is small against what it varies by, or hardly varies at all.
    fn is_typical(&self) -> bool {
        let steady = self.avg * self.avg > self.variance.saturating_mul(36) && self.is_most();
        self.variance <= u64::MAX / 36 && (steady || self.variance <= 400)
    }

    fn is_most(&self) -> bool {
        self.count * 4 >= INTERVALS as u64 * 3
    }
}

fn keep(intervals: &[u32; INTERVALS], fits: impl Fn(u32) -> bool, form: Typical) -> Kept {
    let kept = || intervals.iter().copied().filter(|&value| fits(value));
    let count = kept().count() as u64;
    let divisor = count.max(1);
    let avg = kept().map(u64::from).sum::<u64>() / divisor;
    let variance = match form {
        // The mean of the squares less the square of the rounded mean.
        Typical::BothSides => (kept().map(|v| u64::from(v).pow(2)).sum::<u64>() / divisor).wrapping_sub(avg * avg),
        _ => kept().map(|v| u64::from(v).abs_diff(avg).pow(2)).sum::<u64>() / divisor,
    };
    Kept { min: kept().min().unwrap_or(u32::MAX), max: kept().max().unwrap_or(0), count, avg, variance }
}

/// The typical idle time, µs, of the last ones; [`u32::MAX`] if there is none (`get_typical_interval()`). `predicted_us`
/// is what the timers predict; only 5.3 to 6.1 read it.
pub fn get_typical_interval(intervals: &[u32; INTERVALS], predicted_us: u32, form: Typical) -> u32 {
    let (mut above, mut below) = match form {
        Typical::BothSides => (-1, i64::from(u32::MAX)),
        // The largest int is still kept.
        _ => (-1, i64::from(i32::MAX) + 1),
    };
    loop {
        let kept = keep(intervals, |value| i64::from(value) > above && i64::from(value) < below, form);
        let useless = match form {
            Typical::BelowPrediction => kept.min >= predicted_us,
            _ => kept.max == 0,
        };
        if useless {
            return u32::MAX;
        }
        if kept.is_typical() {
            return kept.avg as u32;
        }
        if kept.count * 4 <= INTERVALS as u64 * 3 {
            return u32::MAX;
        }
        // A threshold of the first form is the largest less one, and what equals it is kept: the largest goes.
        match form {
            Typical::BothSides if kept.avg - u64::from(kept.min) > u64::from(kept.max) - kept.avg => {
                above = i64::from(kept.min);
            }
            _ => below = i64::from(kept.max),
        }
    }
}
