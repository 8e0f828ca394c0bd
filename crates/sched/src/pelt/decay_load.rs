//! `decay_load()`: decay by whole periods, and the constants that follow from y^32 = 1/2 (`kernel/sched/pelt.c`).
//!
//! The kernel's `sched-pelt.h` is the output of `Documentation/scheduler/sched-pelt.c`, which computes in `double`.
//! Here the compiler computes the same values with integers; a test compares them with the published ones.

/// Periods after which a contribution counts half.
pub const LOAD_AVG_PERIOD: u64 = 32;

/// 2^32 y^n for n in `0..32`, truncated (`runnable_avg_yN_inv` in `sched-pelt.h`; generator:
/// `Documentation/scheduler/sched-pelt.c`, `calc_runnable_avg_yN_inv()`).
///
/// The generator scales by 2^32 - 1, so entry 0 is below 1: decaying by a multiple of 32 periods takes one unit more
/// than the halvings do.
pub const RUNNABLE_AVG_Y_N_INV: [u32; LOAD_AVG_PERIOD as usize] = runnable_avg_yn_inv();

/// The limit of the sum of a signal that is always 1, in µs (`sched-pelt.h`; generator:
/// `Documentation/scheduler/sched-pelt.c`, `calc_converged_max()`).
pub const LOAD_AVG_MAX: u32 = converged_max();

/// Fraction bits of [`Y`]: y rounded to 2^-60 leaves y^31 far more exact than the table's 32 bits.
const Y_SHIFT: u32 = 60;

/// y = (1/2)^(1/32): five square roots of one half.
const Y: u128 = {
    let mut y: u128 = 1 << (Y_SHIFT - 1);
    let mut root = 1;
    while root < LOAD_AVG_PERIOD {
        y = (y << Y_SHIFT).isqrt();
        root *= 2;
    }
    y
};

const fn runnable_avg_yn_inv() -> [u32; LOAD_AVG_PERIOD as usize] {
    let mut table = [0; LOAD_AVG_PERIOD as usize];
    let mut y_n = 1 << Y_SHIFT;
    let mut n = 0;
    while n < table.len() {
        table[n] = ((u32::MAX as u128 * y_n) >> Y_SHIFT) as u32;
        y_n = (y_n * Y) >> Y_SHIFT;
        n += 1;
    }
    table
}

const fn converged_max() -> u32 {
    let mut max = 1024;
    loop {
        let next = ((max * RUNNABLE_AVG_Y_N_INV[1] as u64) >> 32) + 1024;
        if next == max {
            return max as u32;
        }
        max = next;
    }
}

/// Returns `val` · y^`n`, truncated; 0 from 63 half-lives on (`decay_load()`, the same from 5.10 to 7.3).
///
/// `n` is in periods; `val` in any unit.
#[inline]
pub fn decay_load(val: u64, n: u64) -> u64 {
    if n > LOAD_AVG_PERIOD * 63 {
        return 0;
    }
    // y^n = (1/2)^(n / 32) · y^(n mod 32)
    let halved = val >> (n / LOAD_AVG_PERIOD);
    let y_n = RUNNABLE_AVG_Y_N_INV[(n % LOAD_AVG_PERIOD) as usize];
    ((u128::from(halved) * u128::from(y_n)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_constants_equal_the_kernels() {
        #[rustfmt::skip]
        let sched_pelt_h: [u32; 32] = [
            0xffff_ffff, 0xfa83_b2da, 0xf525_7d14, 0xefe4_b99a, 0xeac0_c6e6, 0xe5b9_06e6, 0xe0cc_deeb, 0xdbfb_b796,
            0xd744_fcc9, 0xd2a8_1d91, 0xce24_8c14, 0xc9b9_bd85, 0xc567_2a10, 0xc12c_4cc9, 0xbd08_a39e, 0xb8fb_af46,
            0xb504_f333, 0xb123_f581, 0xad58_3ee9, 0xa9a1_5ab4, 0xa5fe_d6a9, 0xa270_4302, 0x9ef5_325f, 0x9b8d_39b9,
            0x9837_f050, 0x94f4_efa8, 0x91c3_d373, 0x8ea4_398a, 0x8b95_c1e3, 0x8898_0e80, 0x85aa_c367, 0x82cd_8698,
        ];
        assert_eq!(RUNNABLE_AVG_Y_N_INV, sched_pelt_h);
        assert_eq!(LOAD_AVG_MAX, 47742);
    }

    #[test]
    fn half_lives_halve_but_for_the_unit_that_entry_zero_takes() {
        assert_eq!(decay_load(1 << 20, 32), (1 << 19) - 1);
        assert_eq!(decay_load(1, 0), 0);
        assert_eq!(decay_load(u64::MAX, 32 * 63 + 1), 0);
        assert_eq!(decay_load(u64::MAX, 32 * 63), 0);
        assert_eq!(decay_load(u64::MAX, 32 * 62), 2);
    }
}
