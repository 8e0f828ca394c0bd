//! Averages, their clock, util_est and the request to cpufreq, against `sched`.

mod support;

use proptest::prelude::*;
use support::many;
use wakelab_sched::boost::BoostForm;
use wakelab_sched::pelt::util_est::{_task_util_est, UTIL_AVG_UNCHANGED, UtilEstRules, util_est_update};
use wakelab_sched::pelt::{___update_load_avg, ___update_load_sum, LOAD_AVG_MAX, RqClock, Scale, SchedAvg, decay_load};
use wakelab_sched::util::{CpuView, cpu_util};
use wakelab_scx_policy as c;

fn of(sa: &c::Pelt) -> SchedAvg {
    SchedAvg {
        last_update_time: sa.last_update_time,
        load_sum: sa.load_sum,
        runnable_sum: sa.runnable_sum,
        util_sum: sa.util_sum,
        period_contrib: sa.period_contrib,
        load_avg: sa.load_avg,
        runnable_avg: sa.runnable_avg,
        util_avg: sa.util_avg,
        util_est: sa.util_est,
        util_est_ewma: 0,
    }
}

prop_compose! {
    fn average()(
        last_update_time in any::<u64>(), load_sum in 0..u64::from(LOAD_AVG_MAX) * 88761, runnable in 0..400_u64,
        util in 0..=u64::from(LOAD_AVG_MAX), period_contrib in 0..1024_u32, util_est in 0..1024_u32,
        unchanged in any::<bool>(), averages in (0..1_000_000_u64, 0..100_000_u64, 0..1025_u64),
    ) -> c::Pelt {
        c::Pelt {
            last_update_time, load_sum, runnable_sum: runnable * u64::from(LOAD_AVG_MAX) * 1024,
            util_sum: (util << 10) as u32, period_contrib, load_avg: averages.0, runnable_avg: averages.1,
            util_avg: averages.2, util_est: util_est | if unchanged { UTIL_AVG_UNCHANGED } else { 0 }, pad: 0,
        }
    }
}

/// ns between two updates: of all sizes, backwards at times.
fn delta() -> impl Strategy<Value = u64> {
    prop_oneof![0..4096_u64, 0..4_000_000_u64, 0..4_000_000_000_u64, any::<u64>()]
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn sums_and_averages_are_the_models(
        sa in average(), delta in delta(), load in prop_oneof![Just(0_u64), 1..90_000_u64], runnable in 0..300_u64,
        running in any::<bool>(), weight in 1..90_000_u64,
    ) {
        let (mut ours, mut models) = (sa, of(&sa));
        let now = sa.last_update_time.wrapping_add(delta);
        let crossed = c::update_load_sum(now, &mut ours, load, runnable, running);
        prop_assert_eq!(crossed, ___update_load_sum(now, &mut models, load, runnable, running));
        prop_assert_eq!(of(&ours), models);
        c::update_load_avg(&mut ours, weight);
        ___update_load_avg(&mut models, weight);
        prop_assert_eq!(of(&ours), models);
    }

    #[test]
    fn decay_is_the_models(val in any::<u64>(), n in prop_oneof![0..100_u64, 0..3000_u64, any::<u64>()]) {
        prop_assert_eq!(c::decay_load(val, n), decay_load(val, n));
        let ns = n << 20;
        prop_assert_eq!(c::decayed(val, ns), if ns >> 20 == 0 { val } else { decay_load(val, ns >> 20) });
    }

    #[test]
    fn estimates_are_the_models(sa in average()) {
        let (mut ours, mut models) = (sa, of(&sa));
        prop_assert_eq!(c::task_util_est(sa.util_est), _task_util_est(&models));
        c::util_est_update(&mut ours);
        util_est_update(UtilEstRules::V7_3, &mut models, true, 1024);
        prop_assert_eq!(of(&ours), models);
    }

    #[test]
    fn the_clock_is_the_models(
        steps in proptest::collection::vec(
            (0..50_000_000_u64, any::<bool>(), 1..1025_u64, 1..1300_u64, any::<bool>()), 1..6),
    ) {
        let (mut ours, mut models) = (c::PeltClock::default(), RqClock::default());
        for (delta, idle, cpu, freq, full) in steps {
            let now = ours.wall + delta;
            c::update_rq_clock_pelt(&mut ours, now, idle, cpu, freq);
            models.update_rq_clock(delta, 0, idle, Scale { cpu, freq });
            if idle {
                let util_sum = if full { 48_000_000 } else { 1_000_000 };
                c::update_idle_rq_clock_pelt(&mut ours, util_sum);
                models.update_idle_rq_clock_pelt(util_sum);
            }
            prop_assert_eq!(c::rq_clock_pelt(&ours), models.rq_clock_pelt());
        }
    }

    #[test]
    fn the_request_is_cpu_util_without_headroom(
        util_avg in 0..2000_u64, runnable_avg in 0..20_000_u64, util_est in 0..3000_u32, boost in any::<bool>(),
        use_est in any::<bool>(), capacity in 1..1025_u64,
    ) {
        let avg = SchedAvg { util_avg, runnable_avg, util_est, ..SchedAvg::default() };
        let view = CpuView { cpu: 0, avg: &avg, capacity };
        let expected = cpu_util(&view, None, None, boost.then_some(BoostForm::CpuAndTask), use_est);
        let ours = c::cpu_util(util_avg, runnable_avg, util_est.into(), boost, use_est, capacity);
        prop_assert_eq!(u64::from(ours), expected);
    }
}
