//! Energy by state, by worked examples.

use wakelab_pm::power::{Account, PowerState};

fn states(powers_uw: &[u64]) -> Vec<PowerState> {
    powers_uw.iter().map(|&power_uw| PowerState { name: format!("{power_uw} µW"), power_uw }).collect()
}

#[test]
fn energy_is_power_times_residency_of_each_state() {
    let mut account = Account::new(states(&[6_067, 103_654, 500]), 0, 2);
    account.enter(1_000, 0);
    account.enter(3_000, 1);
    account.settle(6_000);
    assert_eq!(account.residency_ns(), [2_000, 3_000, 1_000]);
    assert_eq!(account.total_fj(), 2_000 * 6_067 + 3_000 * 103_654 + 1_000 * 500);
    account.restart(6_000);
    assert_eq!((account.total_fj(), account.current()), (0, 1));
}

#[test]
fn years_at_kilowatts_do_not_overflow() {
    let mut account = Account::new(states(&[2_000_000_000, 1]), 0, 0);
    account.settle(u64::MAX);
    assert_eq!(account.total_fj(), u128::from(u64::MAX) * 2_000_000_000);
}
