//! Arithmetic on an (average, sum) pair that must not go below zero.
//!
//! `util_sum` has 32 bits, the other sums 64; the kernel's macros compute in the sum's own type, so ours are generic
//! over it.

use super::avg::PELT_MIN_DIVIDER;

/// A sum's type: `u32` or `u64`.
pub(super) trait Sum: Copy + Ord {
    /// The low bits of a 64-bit value, as a C assignment takes them.
    fn cut(value: u64) -> Self;
    /// The value as 32 bits.
    fn low32(self) -> u32;
    /// The difference, or 0 if that is negative (`sub_positive()`, 6.1).
    fn sub_positive(self, val: Self) -> Self;
    /// Adds a value taken as **signed**, 0 if the sum falls below 0 (`add_positive()`, 7.3).
    fn add_positive(self, val: Self) -> Self;
}

macro_rules! sum {
    ($unsigned:ty, $signed:ty) => {
        impl Sum for $unsigned {
            fn cut(value: u64) -> Self {
                value as $unsigned
            }
            fn low32(self) -> u32 {
                self as u32
            }
            fn sub_positive(self, val: Self) -> Self {
                self.saturating_sub(val)
            }
            fn add_positive(self, val: Self) -> Self {
                let res = self.wrapping_add(val);
                if (val as $signed) < 0 && res > self { 0 } else { res }
            }
        }
    };
}
sum!(u32, i32);
sum!(u64, i64);

/// The least sum that an average can come from: PELT_MIN_DIVIDER is the smallest divider.
fn lower_bound(avg: u64) -> u64 {
    avg.wrapping_mul(u64::from(PELT_MIN_DIVIDER))
}

/// Subtracts from both (`detach_entity_load_avg()`, 5.3).
pub(super) fn sub_plain<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.sub_positive(d_avg);
    *sum = sum.sub_positive(S::cut(d_sum));
}

/// Subtracts from both and keeps the sum at its lower bound, compared as 32 bits (`update_cfs_rq_load_avg()`, 6.1).
pub(super) fn sub_bound32<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.sub_positive(d_avg);
    let left = sum.sub_positive(S::cut(d_sum)).low32();
    *sum = S::cut(u64::from(left.max(lower_bound(*avg) as u32)));
}

/// Adds (a negative value in two's complement) to both and keeps the sum at its lower bound (`__update_sa()`, 7.3).
pub(super) fn update_sa<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, d_sum: u64) {
    *avg = avg.add_positive(d_avg);
    *sum = sum.add_positive(S::cut(d_sum)).max(S::cut(lower_bound(*avg)));
}

/// Subtracts from the average and recomputes the sum (`detach_entity_load_avg()`, 5.10).
pub(super) fn sub_resync<S: Sum>(avg: &mut u64, sum: &mut S, d_avg: u64, divider: u32) {
    *avg = avg.sub_positive(d_avg);
    *sum = S::cut(avg.wrapping_mul(u64::from(divider)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound32_loses_the_upper_half_of_a_large_load_sum() {
        // Two nice -20 tasks: 2 · 88761 · 47742 is above 2^32.
        let (mut avg, mut sum) = (2 * 88761u64, 2 * 88761 * 47742u64);
        let whole = sum;
        sub_bound32(&mut avg, &mut sum, 0, 0);
        assert_eq!(sum, u64::from((whole as u32).max(lower_bound(avg) as u32)));
        assert!(sum < whole);
    }

    #[test]
    fn a_plain_sum_may_fall_below_what_its_average_needs() {
        let (mut avg, mut sum) = (10u64, 10 * PELT_MIN_DIVIDER);
        sub_plain(&mut avg, &mut sum, 4, u64::from(8 * PELT_MIN_DIVIDER));
        assert_eq!((avg, sum), (6, 2 * PELT_MIN_DIVIDER));
        sub_plain(&mut avg, &mut sum, 7, u64::from(7 * PELT_MIN_DIVIDER));
        assert_eq!((avg, sum), (0, 0));
    }

    #[test]
    fn a_sum_stays_at_what_its_average_needs() {
        let (mut avg, mut sum) = (10u64, 10 * PELT_MIN_DIVIDER);
        update_sa(&mut avg, &mut sum, 4u64.wrapping_neg(), u64::from(8 * PELT_MIN_DIVIDER).wrapping_neg());
        assert_eq!((avg, sum), (6, 6 * PELT_MIN_DIVIDER));
        update_sa(&mut avg, &mut sum, 7u64.wrapping_neg(), u64::from(7 * PELT_MIN_DIVIDER).wrapping_neg());
        assert_eq!((avg, sum), (0, 0));
    }
}
