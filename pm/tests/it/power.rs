//! Energy by state, by worked examples.

use wakelab_pm::idle::{IdleState, IdleStates};
use wakelab_pm::policy::{Opp, PolicyError};
use wakelab_pm::power::{Account, CpuPower, DomainPower, dynamic_power_uw, millipercent};

fn a55() -> CpuPower {
    let opps = [Opp { khz: 300_000, microvolts: 537_500 }, Opp { khz: 1_803_000, microvolts: 906_250 }];
    CpuPower::new(&opps, 70, 0, 60, &IdleStates::new(vec![IdleState::poll(500)]).unwrap()).unwrap()
}

#[test]
fn dynamic_power_is_c_v_squared_f() {
    // A Cortex-A55 of a Pixel 6: 6 and 104 mW at the ends of its table.
    assert_eq!(dynamic_power_uw(70, &Opp { khz: 300_000, microvolts: 537_500 }), 6_067);
    assert_eq!(dynamic_power_uw(70, &Opp { khz: 1_803_000, microvolts: 906_250 }), 103_654);
}

#[test]
fn energy_is_power_times_residency_of_each_state() {
    let power = a55();
    let mut account = Account::new(power.states(), 0, power.idle(0));
    account.enter(1_000, power.busy(power.opp(300_000), false));
    account.enter(3_000, power.busy(power.opp(1_803_000), true));
    account.settle(6_000);
    let residency: Vec<u64> = account.residency_ns().to_vec();
    assert_eq!(residency, [2_000, 0, 0, 3_000, 1_000]);
    let shared = 103_654 * 60 / 100;
    assert_eq!(account.total_fj(), 2_000 * 6_067 + 3_000 * shared + 1_000 * 500);
    assert_eq!(account.mean_uw(), ((2_000 * 6_067 + 3_000 * shared + 500_000) / 6_000) as u64);
    assert_eq!(account.entered(), [1, 0, 0, 1, 1]);
    account.restart(6_000);
    assert_eq!((account.total_fj(), account.mean_uw(), account.current()), (0, 0, power.busy(1, true)));
}

#[test]
fn years_at_kilowatts_do_not_overflow() {
    let states = DomainPower { awake_uw: 2_000_000_000, idle_uw: 1 }.states();
    let mut account = Account::new(states, 0, DomainPower::AWAKE);
    account.settle(u64::MAX);
    assert_eq!(account.total_fj(), u128::from(u64::MAX) * 2_000_000_000);
}

#[test]
fn a_frequency_between_operating_points_counts_as_the_next_above() {
    let power = a55();
    assert_eq!([1, 300_000, 300_001, 9_000_000].map(|khz| power.opp(khz)), [0, 0, 1, 1]);
}

#[test]
fn power_that_falls_with_frequency_is_refused() {
    let idle = IdleStates::new(vec![IdleState::poll(0)]).unwrap();
    let opps = [Opp { khz: 1, microvolts: 900_000 }, Opp { khz: 2, microvolts: 100_000 }];
    let error = CpuPower::of_powers(&opps, vec![9, 8], 0, 100, &idle).unwrap_err();
    assert_eq!(error, PolicyError::PowerFalls { index: 1, before: 9, power_uw: 8 });
    assert!(matches!(CpuPower::new(&[], 1, 0, 100, &idle), Err(PolicyError::NoOpp)));
}

#[test]
fn shares_add_up_to_the_whole() {
    assert_eq!(millipercent(&[1, 1, 1]), [33_334, 33_333, 33_333]);
    assert_eq!(millipercent(&[0, 5]), [0, 100_000]);
    assert_eq!(millipercent(&[0, 0]), [0, 0]);
}
