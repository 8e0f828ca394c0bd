//! PELT compared with a second implementation, and the laws that hold for any history.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use wakelab_kernel::Preset;
use wakelab_sched::boost::BoostForm;
use wakelab_sched::pelt::util_est::{
    _task_util_est, UTIL_AVG_UNCHANGED, UtilEstRules, util_est_dequeue, util_est_enqueue, util_est_update,
};
use wakelab_sched::pelt::{
    ___update_load_avg, ___update_load_sum, __update_load_avg_blocked_se, __update_load_avg_se, CfsRqPelt, CfsRqState,
    EntityState, LOAD_AVG_MAX, MigrationSource, PELT_MIN_DIVIDER, PeltRules, Removed, RqClock, Scale, SchedAvg,
    SumRule, UpdateFlags, attach_entity_load_avg, cfs_rq_has_blocked_load, decay_load, detach_entity_load_avg,
    get_pelt_divider, init_entity_runnable_average, migrate_task_rq_fair, post_init_entity_util_avg, reweight_entity,
    task_h_load, update_cfs_rq_load_avg, update_load_avg,
};
use wakelab_sched::util::{CpuView, TaskView, cpu_util, cpu_util_cfs, cpu_util_cfs_boost};

const US: u64 = 1024;
const PERIOD: u64 = 1024 * US;
/// The fastest CPU at its highest frequency.
const FULL_SPEED: Scale = Scale { cpu: 1024, freq: 1024 };

/// The rules of all presets that keep a sum at what its average needs. (5.2 and 5.3 do not.)
fn all_rules() -> Vec<PeltRules> {
    let mut all: Vec<PeltRules> = Vec::new();
    for rules in Preset::all().iter().map(|preset| preset.pelt).filter(|rules| rules.sums != SumRule::Plain) {
        if !all.contains(&rules) {
            all.push(rules);
        }
    }
    all
}

/// Whether nothing is left of the averages.
fn load_avg_is_decayed(sa: &SchedAvg) -> bool {
    sa.load_sum == 0 && sa.util_sum == 0 && sa.runnable_sum == 0
}

/// Failing cases are saved next to this file.
fn config() -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(beside)), ..ProptestConfig::default() }
}

/// The slow implementation: one period after the other. y has 52 fraction bits, sums have 40: they stay below
/// 2^(29 + 40), so the product fits 128 bits.
mod slow {
    pub const BITS: u32 = 40;
    const FRACTION: u32 = 52;

    /// One signal, in the caller's units.
    #[derive(Clone, Copy, Default)]
    pub struct Signal {
        sum: u128,
        contrib: u64,
    }

    /// y by bisection: the largest fraction whose 32nd power is at most one half.
    pub fn y() -> u128 {
        let one = 1u128 << FRACTION;
        let (mut low, mut high) = (0, one);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let power = (0..5).fold(middle, |p, _| (p * p) >> FRACTION);
            if power <= one / 2 { low = middle } else { high = middle }
        }
        low
    }

    impl Signal {
        pub fn pass(&mut self, y: u128, mut us: u64, value: u64) {
            while us > 0 {
                let span = us.min(1024 - self.contrib);
                self.sum += u128::from(value * span) << BITS;
                self.contrib += span;
                us -= span;
                if self.contrib == 1024 {
                    self.sum = (self.sum * y) >> FRACTION;
                    self.contrib = 0;
                }
            }
        }

        pub fn sum(&self) -> u64 {
            (self.sum >> BITS) as u64
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    us: u64,
    load: u64,
    runnable: u64,
    running: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let us = prop_oneof![0..3u64, 0..1500u64, 900..1200u64, 0..60_000u64, Just(32 * 1024), 0..3_000_000u64];
    (us, 0..4096u64, 0..6u64, any::<bool>()).prop_map(|(us, load, runnable, running)| Step {
        us,
        load,
        runnable,
        running,
    })
}

/// The state after a random history.
fn aged() -> impl Strategy<Value = SchedAvg> {
    (vec(step(), 0..12), 1..2000u64).prop_map(|(steps, start)| {
        let mut sa = SchedAvg { last_update_time: start * US, ..SchedAvg::default() };
        let mut now = sa.last_update_time;
        for step in steps {
            now += step.us * US;
            if ___update_load_sum(now, &mut sa, u64::from(step.load > 0), step.runnable.min(1), step.running) {
                ___update_load_avg(&mut sa, 1024);
            }
        }
        sa
    })
}

fn sums(sa: &SchedAvg) -> (u64, u64, u64, u32, u32) {
    (sa.last_update_time, sa.load_sum, sa.runnable_sum, sa.util_sum, sa.period_contrib)
}

/// The largest difference between a kernel sum and the exact one, for a signal of at most `top` per µs.
///
/// Per update, decaying truncates three times (shift, product, the table's own 32 bits: less than 1 each), and the
/// contribution is too small: LOAD_AVG_MAX is G = 46.7 below 1024 / (1 - y) = 47788.7, so the middle part is short of
/// G (1 - y^p); its two truncations amount to less than 3. The error of an update decays with the sum, and updates that
/// decay are at least a period apart:
///
/// ```text
/// E ≤ top · G + (3 + 3 top) (1 + y + y² + ...)     G = 46.7, 1 / (1 - y) = 46.7
/// ```
fn tolerance(top: u64) -> u64 {
    47 * top + 47 * (3 + 3 * top)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn agrees_with_the_slow_implementation(steps in vec(step(), 1..40)) {
        let y = slow::y();
        let (mut load, mut runnable, mut util) = Default::default();
        let mut sa = SchedAvg::default();
        let mut now = 0;
        for step in &steps {
            now += step.us * US;
            ___update_load_sum(now, &mut sa, step.load, step.runnable, step.running);
            let on = u64::from(step.load > 0);
            slow::Signal::pass(&mut load, y, step.us, step.load);
            slow::Signal::pass(&mut runnable, y, step.us, on * step.runnable * 1024);
            slow::Signal::pass(&mut util, y, step.us, on * u64::from(step.running) * 1024);
            prop_assert!(sa.load_sum.abs_diff(load.sum()) <= tolerance(4096));
            prop_assert!(sa.runnable_sum.abs_diff(runnable.sum()) <= tolerance(6 * 1024));
            prop_assert!(u64::from(sa.util_sum).abs_diff(util.sum()) <= tolerance(1024));
        }
    }

    /// An update may be split at any nanosecond after its last period boundary, and anywhere if it crosses none. The
    /// sums are exactly the same, because contributions within a period are added.
    #[test]
    fn splits_after_the_last_boundary_change_no_sum(
        start in aged(), whole in 0..4000 * US, step in step(), cut in 0..PERIOD,
    ) {
        let now = start.last_update_time + whole;
        let mut once = start;
        ___update_load_sum(now, &mut once, step.load, step.runnable, step.running);

        let behind = u64::from(once.period_contrib) * US + (now - once.last_update_time);
        let mut twice = start;
        let first = now - cut.min(behind).min(whole);
        ___update_load_sum(first, &mut twice, step.load, step.runnable, step.running);
        ___update_load_sum(now, &mut twice, step.load, step.runnable, step.running);
        prop_assert_eq!(sums(&once), sums(&twice));
    }

    /// An update of an idle task may also be split before its first boundary. The sums are exactly the same, because
    /// nothing is added and only the boundaries count.
    #[test]
    fn idle_splits_before_the_first_boundary_change_nothing(start in aged(), us in 0..100_000u64, cut in 0..1024u64) {
        let now = start.last_update_time + us * US;
        let cut = cut.min(us).min(1023 - u64::from(start.period_contrib));
        let (mut once, mut twice) = (start, start);
        __update_load_avg_blocked_se(now, &mut once, 1024);
        prop_assert!(!__update_load_avg_blocked_se(start.last_update_time + cut * US, &mut twice, 1024));
        __update_load_avg_blocked_se(now, &mut twice, 1024);
        prop_assert_eq!(once, twice);
    }

    /// Any other split decays, and so truncates, twice: a sum to which nothing is added loses up to 3 units, and one
    /// more for each 2^30 of it, because the table's entries are up to 2 below 2^32 y^n.
    #[test]
    fn decaying_in_two_steps_loses_a_few_units(val in 0..1u64 << 40, a in 0..=1008u64, b in 0..=1008u64) {
        let (once, twice) = (decay_load(val, a + b), decay_load(decay_load(val, a), b));
        prop_assert!(twice.abs_diff(once) <= (val >> 30) + 3, "{once} {twice}");
    }

    #[test]
    fn decay_never_grows_and_never_inverts(val in any::<u64>(), less in any::<u64>(), n in 0..3000u64) {
        prop_assert!(decay_load(val, n + 1) <= decay_load(val, n));
        prop_assert!(decay_load(val.min(less), n) <= decay_load(val.max(less), n));
    }

    /// Without load nothing runs, whatever the other two arguments are.
    #[test]
    fn without_load_nothing_runs(start in aged(), us in 0..100_000u64, runnable in 0..9u64) {
        let now = start.last_update_time + us * US;
        let (mut idle, mut claimed) = (start, start);
        ___update_load_sum(now, &mut idle, 0, 0, false);
        ___update_load_sum(now, &mut claimed, 0, runnable, true);
        prop_assert_eq!(idle, claimed);
    }

    #[test]
    fn averages_stay_on_their_scales(steps in vec(step(), 1..60)) {
        let (mut sa, mut now) = (SchedAvg::default(), 0);
        for step in steps {
            now += step.us * US;
            let load = u64::from(step.load > 0);
            if ___update_load_sum(now, &mut sa, load, load, step.running) {
                ___update_load_avg(&mut sa, 1024);
            }
            prop_assert!(sa.load_sum <= u64::from(get_pelt_divider(&sa)));
            prop_assert!(sa.util_avg <= 1024 && sa.runnable_avg <= 1024 && sa.load_avg <= 1024);
            prop_assert!(sa.util_avg <= sa.runnable_avg && u64::from(sa.util_sum) <= sa.runnable_sum);
        }
    }

    #[test]
    fn time_that_goes_back_changes_only_the_time(start in aged(), back in 1..1000u64) {
        let now = start.last_update_time - back;
        let mut sa = start;
        prop_assert!(!___update_load_sum(now, &mut sa, 1, 1, true));
        prop_assert_eq!(sa, SchedAvg { last_update_time: now, ..start });
    }

    /// Everything has decayed after 63 half-lives in one update. In updates of one period each, of which each
    /// truncates, a sum below 2^26 takes at most 26 half-lives and then one period per unit.
    #[test]
    fn idle_time_decays_everything(start in aged()) {
        let mut once = start;
        __update_load_avg_blocked_se(start.last_update_time + (32 * 63 + 1) * PERIOD, &mut once, 1024);
        prop_assert!(load_avg_is_decayed(&once));
        prop_assert_eq!((once.load_avg, once.runnable_avg, once.util_avg), (0, 0, 0));

        let mut steps = start;
        for n in 1..=26 * 32 + 48 {
            __update_load_avg_blocked_se(start.last_update_time + n * PERIOD, &mut steps, 1024);
        }
        prop_assert!(load_avg_is_decayed(&steps));
    }

    /// The PELT clock never leads, lags only while the CPU is slow, and has caught up when the CPU idles.
    #[test]
    fn the_pelt_clock_follows_the_task_clock(
        spans in vec((0..20_000_000u64, 0..100_000u64, any::<bool>(), 1..=1024u64, 1..=1024u64), 1..50),
        util_sum in 0..50_000_000u32,
    ) {
        let mut clock = RqClock::default();
        for (delta, stolen, idle, cpu, freq) in spans {
            let before = clock;
            if idle {
                clock.update_idle_rq_clock_pelt(util_sum);
                prop_assert!(clock.rq_clock_pelt() >= before.rq_clock_pelt());
                prop_assert_eq!(clock.clock_pelt, clock.clock_task);
            }
            let before = clock.rq_clock_pelt();
            let stolen = stolen.min(delta);
            clock.update_rq_clock(delta, stolen, idle, Scale { cpu, freq });
            prop_assert!(clock.clock_pelt <= clock.clock_task && clock.clock_task <= clock.clock);
            prop_assert!(clock.rq_clock_pelt() >= before);
            let passed = clock.rq_clock_pelt() - before;
            if idle {
                prop_assert_eq!(passed, delta - stolen);
                prop_assert_eq!((clock.clock_idle, clock.clock_pelt_idle), (clock.clock, clock.rq_clock_pelt()));
            } else {
                // Two truncations.
                let exact = ((delta - stolen) * cpu * freq) >> 20;
                prop_assert!(passed <= exact && passed + 2 >= exact);
            }
        }
    }

    /// A CPU that was always busy loses the time by which its clock lags; for any other it counts as idle time.
    #[test]
    fn only_a_saturated_cpu_loses_idle_time(delta in 1..1_000_000_000u64, cpu in 1..1024u64) {
        let full = (PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;
        let mut clock = RqClock::default();
        clock.update_rq_clock(delta, 0, false, Scale { cpu, freq: 1024 });
        let busy = clock.rq_clock_pelt();
        let (mut saturated, mut other) = (clock, clock);
        saturated.update_idle_rq_clock_pelt(full);
        other.update_idle_rq_clock_pelt(full - 1);
        prop_assert_eq!(saturated.rq_clock_pelt(), busy);
        prop_assert_eq!(other.rq_clock_pelt(), delta);
    }

    /// At half the speed the same work takes twice the time, and gives the same averages.
    #[test]
    fn the_same_work_at_half_speed_gives_the_same_averages(work in vec(1..50u64, 1..20)) {
        let averages = |speed: u64| {
            let (mut clock, mut sa) = (RqClock::default(), SchedAvg::default());
            for ms in &work {
                clock.update_rq_clock(ms * PERIOD * 1024 / speed, 0, false, Scale { cpu: speed, freq: 1024 });
                if ___update_load_sum(clock.rq_clock_pelt(), &mut sa, 1, 1, true) {
                    ___update_load_avg(&mut sa, 1024);
                }
            }
            sa
        };
        prop_assert_eq!(averages(1024), averages(512));
    }

    /// Right after attaching, the run queue's averages are exactly the sum of its tasks'. When both are aged, they
    /// differ by at most one per task and one for the run queue, which truncate separately. Detaching leaves that rest.
    #[test]
    fn a_run_queues_utilisation_is_its_tasks(
        tasks in vec((aged(), 3..90_000u64), 1..8), us in 0..50_000u64, rules in prop::sample::select(all_rules()),
    ) {
        let mut cfs_rq = CfsRqPelt::new(rules);
        cfs_rq.avg.last_update_time = 10_000 * PERIOD;
        cfs_rq.avg.period_contrib = 700;
        let mut tasks = tasks;
        for (se, weight) in &mut tasks {
            se.last_update_time = 0;
            attach_entity_load_avg(&mut cfs_rq, se, *weight);
        }
        let util = |tasks: &[(SchedAvg, u64)]| tasks.iter().map(|(se, _)| se.util_avg).sum::<u64>();
        let runnable = |tasks: &[(SchedAvg, u64)]| tasks.iter().map(|(se, _)| se.runnable_avg).sum::<u64>();
        prop_assert_eq!(cfs_rq.avg.util_avg, util(&tasks));
        prop_assert_eq!(cfs_rq.avg.runnable_avg, runnable(&tasks));

        let now = 10_000 * PERIOD + us * US;
        for (se, weight) in &mut tasks {
            __update_load_avg_blocked_se(now, se, *weight);
        }
        update_cfs_rq_load_avg(now, &mut cfs_rq, &CfsRqState::default());
        let bound = tasks.len() as u64 + 1;
        prop_assert!(cfs_rq.avg.util_avg.abs_diff(util(&tasks)) <= bound);
        prop_assert!(cfs_rq.avg.runnable_avg.abs_diff(runnable(&tasks)) <= bound);

        for (se, weight) in &tasks {
            detach_entity_load_avg(&mut cfs_rq, se, *weight);
            let least = cfs_rq.avg.util_avg * u64::from(PELT_MIN_DIVIDER);
            prop_assert!(u64::from(cfs_rq.avg.util_sum) >= least);
        }
        prop_assert!(cfs_rq.avg.util_avg <= bound && cfs_rq.avg.runnable_avg <= bound);
    }

    /// Attaching does not change the averages and only recomputes the sums: taking the averages again gives the same
    /// utilisation, and a load that is less than one unit of `load_sum` lower.
    #[test]
    fn attaching_keeps_the_averages(se in aged(), weight in 3..90_000u64, contrib in 0..1024u32) {
        let mut cfs_rq = CfsRqPelt::new(PeltRules::V7_3);
        cfs_rq.avg.period_contrib = contrib;
        let mut attached = SchedAvg { load_avg: se.load_sum * weight / u64::from(get_pelt_divider(&se)), ..se };
        let before = attached;
        attach_entity_load_avg(&mut cfs_rq, &mut attached, weight);
        let mut again = attached;
        ___update_load_avg(&mut again, weight);
        prop_assert_eq!((again.util_avg, again.runnable_avg), (before.util_avg, before.runnable_avg));
        let unit = weight / u64::from(get_pelt_divider(&attached)) + 1;
        prop_assert!(before.load_avg.abs_diff(again.load_avg) <= unit);
    }

    /// A task that leaves while it sleeps is subtracted at the run queue's next update, with both aged to the same
    /// time.
    #[test]
    fn removed_load_is_gone_after_the_next_update(
        stays in aged(), leaves in aged(), us in 0..60_000u64, rules in prop::sample::select(all_rules()),
    ) {
        let start = 10_000 * PERIOD;
        let mut cfs_rq = CfsRqPelt::new(rules);
        cfs_rq.avg.last_update_time = start;
        let (mut stays, mut leaves) = (stays, leaves);
        attach_entity_load_avg(&mut cfs_rq, &mut stays, 1024);
        attach_entity_load_avg(&mut cfs_rq, &mut leaves, 1024);

        let mut clock = RqClock::default();
        clock.update_rq_clock(start, 0, true, FULL_SPEED);
        let source = MigrationSource { clock: &clock, is_idle: false, sched_clock: start + us * US };
        migrate_task_rq_fair(&mut leaves, 1024, &mut cfs_rq, &source);
        prop_assert_eq!((leaves.last_update_time, cfs_rq.removed.nr), (0, 1));

        let now = start + us * US;
        prop_assert!(update_cfs_rq_load_avg(now, &mut cfs_rq, &CfsRqState::default()));
        prop_assert_eq!(cfs_rq.removed.nr, 0);
        __update_load_avg_blocked_se(now, &mut stays, 1024);
        prop_assert!(cfs_rq.avg.util_avg.abs_diff(stays.util_avg) <= 2);
        prop_assert!(cfs_rq.avg.runnable_avg.abs_diff(stays.runnable_avg) <= 2);
        prop_assert!(cfs_rq.avg.load_avg.abs_diff(stays.load_avg) <= 3);

        update_cfs_rq_load_avg(now + 2100 * PERIOD, &mut cfs_rq, &CfsRqState::default());
        prop_assert!(!cfs_rq_has_blocked_load(&cfs_rq) && load_avg_is_decayed(&cfs_rq.avg));
    }

    /// A task that leaves an idle CPU is aged by the time that the CPU's clock missed; in 5.10 it is not.
    #[test]
    fn leaving_an_idle_cpu_ages_the_task_up_to_now(
        leaves in aged(), lag in 0..100_000u64, idle in any::<bool>(), rules in prop::sample::select(all_rules()),
    ) {
        let start = 10_000 * PERIOD;
        let mut cfs_rq = CfsRqPelt::new(rules);
        cfs_rq.avg.last_update_time = start;
        let mut leaves = leaves;
        attach_entity_load_avg(&mut cfs_rq, &mut leaves, 1024);
        let mut clock = RqClock::default();
        clock.update_rq_clock(start, 0, true, FULL_SPEED);

        let mut expected = leaves;
        if rules.migrate_lag && idle {
            __update_load_avg_blocked_se(start + lag * US, &mut expected, 1024);
        }
        let source = MigrationSource { clock: &clock, is_idle: idle, sched_clock: start + lag * US };
        migrate_task_rq_fair(&mut leaves, 1024, &mut cfs_rq, &source);
        prop_assert_eq!(leaves, SchedAvg { last_update_time: 0, ..expected });
    }

    /// `DO_ATTACH` attaches once, `DO_DETACH` undoes it, and neither happens without its flag.
    #[test]
    fn flags_attach_and_detach(se in aged(), rules in prop::sample::select(all_rules())) {
        let start = 10_000 * PERIOD;
        let mut cfs_rq = CfsRqPelt::new(rules);
        let entity = EntityState { weight: 1024, ..EntityState::default() };
        let queue = CfsRqState::default();
        let mut se = SchedAvg { last_update_time: 0, ..se };
        let util = se.util_avg;
        update_load_avg(&mut cfs_rq, &queue, &mut se, &entity, start, UpdateFlags::empty());
        prop_assert_eq!(cfs_rq.avg.util_avg, 0);
        for _ in 0..2 {
            update_load_avg(&mut cfs_rq, &queue, &mut se, &entity, start, UpdateFlags::DO_ATTACH);
            prop_assert_eq!((cfs_rq.avg.util_avg, se.util_avg), (util, util));
        }
        prop_assert!(update_load_avg(&mut cfs_rq, &queue, &mut se, &entity, start, UpdateFlags::DO_DETACH));
        prop_assert_eq!((cfs_rq.avg.util_avg, cfs_rq.avg.load_avg), (0, 0));
    }

    /// A new nice value scales the load of the task and of the run queue, and changes nothing else.
    #[test]
    fn reweighting_scales_the_load_only(
        se in aged(), old in 3..90_000u64, new in 3..90_000u64, rules in prop::sample::select(all_rules()),
    ) {
        let mut cfs_rq = CfsRqPelt::new(rules);
        let mut se = SchedAvg { load_avg: se.load_sum * old / u64::from(get_pelt_divider(&se)), ..se };
        attach_entity_load_avg(&mut cfs_rq, &mut se, old);
        let before = (se, cfs_rq.avg);
        reweight_entity(&mut cfs_rq, &mut se, old, new);
        let scaled = before.0.load_avg * new / old;
        let unit = new / old + new / u64::from(PELT_MIN_DIVIDER) + 1;
        prop_assert!(se.load_avg.abs_diff(scaled) <= unit, "{} {scaled}", se.load_avg);
        prop_assert_eq!(cfs_rq.avg.load_avg, se.load_avg);
        // Attaching rounded load_sum down by less than 1, so the lower bound may have left a rest below the old weight.
        prop_assert!(cfs_rq.avg.load_sum.abs_diff(new * se.load_sum) <= old);
        prop_assert_eq!(SchedAvg { load_avg: before.0.load_avg, ..se }, before.0);
        prop_assert_eq!((cfs_rq.avg.util_sum, cfs_rq.avg.util_avg), (before.1.util_sum, before.1.util_avg));
    }

    /// A new task gets at most half of the CPU's spare capacity, and nothing if there is none.
    #[test]
    fn a_new_task_takes_at_most_half_of_the_spare_capacity(
        util in 0..1200u64, load in 0..10_000u64, weight in 3..90_000u64, capacity in 1..=1024u64,
        rules in prop::sample::select(all_rules()),
    ) {
        let mut cfs_rq = CfsRqPelt::new(rules);
        (cfs_rq.avg.util_avg, cfs_rq.avg.load_avg) = (util, load);
        let mut se = init_entity_runnable_average(weight);
        prop_assert_eq!(se.load_avg, weight);
        post_init_entity_util_avg(&mut se, weight, &cfs_rq, capacity);
        prop_assert!(se.util_avg <= capacity.saturating_sub(util) / 2);
        prop_assert_eq!(se.runnable_avg, se.util_avg);
        if util == 0 {
            prop_assert_eq!(se.util_avg, capacity / 2);
        }
    }

    /// `h_load` is refreshed once a jiffy, the rest of the quotient immediately.
    #[test]
    fn h_load_is_refreshed_once_a_jiffy(task in 0..90_000u64, then in 0..900_000u64, now in 0..900_000u64) {
        let mut cfs_rq = CfsRqPelt::new(PeltRules::V7_3);
        let se = SchedAvg { load_avg: task, ..SchedAvg::default() };
        cfs_rq.avg.load_avg = then;
        prop_assert_eq!(task_h_load(&se, &mut cfs_rq, 1), task * then / (then + 1));
        cfs_rq.avg.load_avg = now;
        prop_assert_eq!(task_h_load(&se, &mut cfs_rq, 1), task * then / (now + 1));
        prop_assert_eq!(task_h_load(&se, &mut cfs_rq, 2), task * now / (now + 1));
    }

    /// Enqueue and dequeue of estimates cancel, and the new estimate is between the old one and the sample.
    #[test]
    fn estimates_move_towards_the_sample(
        util_avg in 0..=1024u64, before in 0..=1024u32, runnable_avg in 0..=1024u64, form in 0..4usize,
        others in 0..5000u32,
    ) {
        let form = [
            UtilEstRules::V6_1 { fastup: true },
            UtilEstRules::V6_1 { fastup: false },
            UtilEstRules::V6_12,
            UtilEstRules::V7_3,
        ][form];
        let two_part = matches!(form, UtilEstRules::V6_1 { .. });
        let util_est_ewma = if two_part { before } else { 0 };
        let mut se = SchedAvg { util_avg, runnable_avg, util_est: before, util_est_ewma, ..SchedAvg::default() };
        let mut rq = SchedAvg { util_est: others, ..SchedAvg::default() };
        util_est_enqueue(&mut rq, &se);
        util_est_dequeue(&mut rq, &se);
        prop_assert_eq!(rq.util_est, others);

        let asleep = se;
        util_est_update(form, &mut se, false, 1024);
        prop_assert_eq!(se, asleep);
        util_est_update(form, &mut se, true, 1024);
        let average = if two_part { se.util_est_ewma } else { se.util_est & !UTIL_AVG_UNCHANGED };
        let sample = util_avg as u32;
        prop_assert!(average >= before.min(sample) && average <= before.max(sample));

        if se.util_est & UTIL_AVG_UNCHANGED != 0 {
            let flagged = se;
            util_est_update(form, &mut se, true, 1024);
            prop_assert_eq!(se, flagged);
        }
    }

    /// A task of another CPU changes nothing, boosting never lowers, and nothing exceeds the capacity.
    #[test]
    fn cpu_util_is_consistent(
        rq in (0..2000u64, 0..4000u64, 0..2000u32),
        task in (0..=1024u64, 0..=1024u64, 0..=1024u32), capacity in 1..=1024u64,
        util_est in any::<bool>(),
        boost in prop::sample::select(&[
            None, Some(BoostForm::CpuAndEstimate), Some(BoostForm::Cpu), Some(BoostForm::CpuAndTask),
        ][..]),
    ) {
        let avg = |(util_avg, runnable_avg, util_est)| {
            SchedAvg { util_avg, runnable_avg, util_est, last_update_time: 1, ..SchedAvg::default() }
        };
        let (rq, task) = (avg(rq), avg(task));
        let cpu = CpuView { cpu: 3, avg: &rq, capacity };
        let here = TaskView { cpu: 3, avg: &task, enqueued: false };
        let away = TaskView { cpu: 5, ..here };
        let plain = cpu_util(&cpu, None, None, boost, util_est);
        prop_assert!(plain <= capacity);
        prop_assert_eq!(cpu_util(&cpu, Some(&away), None, boost, util_est), plain);
        prop_assert!(cpu_util(&cpu, Some(&away), Some(3), boost, util_est) >= plain);
        prop_assert!(cpu_util_cfs_boost(&cpu, util_est) >= cpu_util_cfs(&cpu, util_est));
        let without = |task| cpu_util(&cpu, Some(task), None, None, util_est);
        prop_assert!(without(&here) <= cpu_util_cfs(&cpu, util_est));
        prop_assert_eq!(without(&away), cpu_util_cfs(&cpu, util_est));
    }
}

/// A task that has run for a while, and a run queue to which only it is attached.
fn pair(rules: PeltRules) -> (CfsRqPelt, SchedAvg) {
    let mut cfs_rq = CfsRqPelt::new(rules);
    let mut se = SchedAvg { util_avg: 400, runnable_avg: 500, load_avg: 600, ..SchedAvg::default() };
    cfs_rq.avg.last_update_time = 10_000 * PERIOD;
    attach_entity_load_avg(&mut cfs_rq, &mut se, 1024);
    (cfs_rq, se)
}

#[test]
fn update_load_avg_ages_task_and_run_queue_alike() {
    let (mut cfs_rq, mut se) = pair(PeltRules::V7_3);
    let entity = EntityState { weight: 1024, on_rq: true, sched_delayed: false, curr: true };
    let queue = CfsRqState { weight: 1024, h_nr_runnable: 1, curr: true };
    let mut now = cfs_rq.avg.last_update_time;
    se.util_est = 7 | UTIL_AVG_UNCHANGED;

    now += 100 * US;
    assert!(!update_load_avg(&mut cfs_rq, &queue, &mut se, &entity, now, UpdateFlags::empty()), "no boundary yet");
    assert_eq!(se.util_est, 7 | UTIL_AVG_UNCHANGED);
    now += 3 * PERIOD;
    assert!(update_load_avg(&mut cfs_rq, &queue, &mut se, &entity, now, UpdateFlags::empty()));
    assert_eq!((cfs_rq.avg.util_avg, cfs_rq.avg.runnable_avg), (se.util_avg, se.runnable_avg));
    assert!(se.util_avg > 400 && se.runnable_avg > 500 && cfs_rq.avg.load_avg.abs_diff(se.load_avg) <= 1);
    assert_eq!(se.util_est, 7, "the averages have changed since util_est was taken");

    util_est_update(UtilEstRules::V7_3, &mut se, true, 1024);
    assert_eq!(se.util_est, se.util_avg as u32 | UTIL_AVG_UNCHANGED);
}

#[test]
fn attaching_and_detaching_notify_the_governor() {
    let (mut cfs_rq, mut se) = pair(PeltRules::V7_3);
    let (entity, now) = (EntityState { weight: 1024, ..EntityState::default() }, cfs_rq.avg.last_update_time);
    let mut update =
        |se: &mut SchedAvg, flags| update_load_avg(&mut cfs_rq, &CfsRqState::default(), se, &entity, now, flags);
    assert!(!update(&mut se, UpdateFlags::empty()));
    assert!(update(&mut se, UpdateFlags::DO_DETACH));
    se.last_update_time = 0;
    assert!(update(&mut se, UpdateFlags::DO_ATTACH));
}

#[test]
fn a_delayed_task_has_load_but_is_not_runnable() {
    let age = |sched_delayed| {
        let mut se = SchedAvg::default();
        __update_load_avg_se(
            9 * PERIOD,
            &mut se,
            &EntityState { weight: 1024, on_rq: true, sched_delayed, curr: false },
        );
        se
    };
    let (queued, delayed) = (age(false), age(true));
    assert_eq!(queued.load_avg, delayed.load_avg);
    assert!(queued.runnable_avg > 0 && delayed.runnable_avg == 0);
}

#[test]
fn runnable_counts_every_waiting_task() {
    let age = |h_nr_runnable| {
        let mut cfs_rq = CfsRqPelt::new(PeltRules::V7_3);
        let queue = CfsRqState { weight: 1024, h_nr_runnable, curr: true };
        update_cfs_rq_load_avg(9 * PERIOD, &mut cfs_rq, &queue);
        cfs_rq
    };
    assert_eq!(age(3).avg.runnable_sum, 3 * age(1).avg.runnable_sum);
}

#[test]
fn lost_idle_time_is_not_aged_at_migration() {
    let (mut cfs_rq, mut se) = pair(PeltRules::V7_3);
    let start = cfs_rq.avg.last_update_time;
    let (lag, lost) = (50 * PERIOD, 10 * PERIOD);
    let mut clock = RqClock {
        clock: start + lost,
        clock_task: start + lost,
        clock_task_mult: start + lost,
        clock_pelt: start,
        ..RqClock::default()
    };
    clock.update_idle_rq_clock_pelt(u32::MAX);
    assert_eq!(clock.clock_pelt_idle, start);

    let mut expected = se;
    __update_load_avg_blocked_se(start + lag, &mut expected, 1024);
    let source = MigrationSource { clock: &clock, is_idle: true, sched_clock: start + lost + lag };
    migrate_task_rq_fair(&mut se, 1024, &mut cfs_rq, &source);
    assert_eq!(se, SchedAvg { last_update_time: 0, ..expected });
}

#[test]
fn migration_never_goes_behind_the_run_queues_last_update() {
    let (mut cfs_rq, mut se) = pair(PeltRules::V7_3);
    let now = cfs_rq.avg.last_update_time + 5 * PERIOD;
    update_cfs_rq_load_avg(now, &mut cfs_rq, &CfsRqState::default());
    let mut expected = se;
    __update_load_avg_blocked_se(now, &mut expected, 1024);
    let clock = RqClock { clock_pelt_idle: now - 1, ..RqClock::default() };
    let source = MigrationSource { clock: &clock, is_idle: true, sched_clock: 500 * PERIOD };
    migrate_task_rq_fair(&mut se, 1024, &mut cfs_rq, &source);
    assert_eq!(se, SchedAvg { last_update_time: 0, ..expected });
    assert_eq!(cfs_rq.removed.util_avg, expected.util_avg, "what is removed is as old as the run queue");
}

/// Two tasks of nice -20: 6.1 cuts the run queue's load_sum to 32 bits when a third, idle one leaves.
#[test]
fn versions_differ_in_a_large_load_sum() {
    let left = |rules| {
        let mut cfs_rq = CfsRqPelt::new(rules);
        (cfs_rq.avg.load_avg, cfs_rq.avg.load_sum) = (2 * 88761, 2 * 88761 * u64::from(LOAD_AVG_MAX));
        let (before, se) = (cfs_rq.avg.load_sum, SchedAvg::default());
        detach_entity_load_avg(&mut cfs_rq, &se, 1024);
        (before, cfs_rq.avg.load_sum)
    };
    for rules in [PeltRules::V5_10, PeltRules::V7_2, PeltRules::V7_3] {
        let (before, after) = left(rules);
        assert_eq!(before, after);
    }
    for rules in [PeltRules::V6_1, PeltRules::V6_12] {
        let (before, after) = left(rules);
        assert!(before > u64::from(u32::MAX) && after <= u64::from(u32::MAX));
    }
}

/// Sums that are too small for their averages are raised, or recomputed, by version.
#[test]
fn versions_differ_in_how_sums_follow_averages() {
    let removed = |rules| {
        let (mut cfs_rq, _) = pair(rules);
        cfs_rq.avg.util_sum -= 5000;
        cfs_rq.avg.runnable_sum -= 5000;
        cfs_rq.avg.load_sum -= 5000;
        let now = cfs_rq.avg.last_update_time;
        cfs_rq.removed = Removed { nr: 1, load_avg: 1, util_avg: 1, runnable_avg: 1 };
        update_cfs_rq_load_avg(now, &mut cfs_rq, &CfsRqState::default());
        (cfs_rq.avg.load_sum, u64::from(cfs_rq.avg.util_sum), cfs_rq.avg.runnable_sum)
    };
    // period_contrib is 0, so the divider is PELT_MIN_DIVIDER and all three give the same here.
    let divider = u64::from(PELT_MIN_DIVIDER);
    for rules in all_rules() {
        assert_eq!(removed(rules), (599 * divider, 399 * divider, 499 * divider), "{rules:?}");
    }

    let detached = |rules| {
        let (mut cfs_rq, se) = pair(rules);
        cfs_rq.avg.period_contrib = 1000;
        detach_entity_load_avg(&mut cfs_rq, &SchedAvg { util_avg: 100, util_sum: 0, ..se }, 1024);
        u64::from(cfs_rq.avg.util_sum)
    };
    assert_eq!(detached(PeltRules::V5_10), 300 * (divider + 1000));
    assert_eq!(detached(PeltRules::V6_1), 400 * divider);
    assert_eq!(detached(PeltRules::V7_3), 400 * divider);
}

#[test]
fn versions_differ_in_a_new_tasks_utilisation() {
    let first = |rules| {
        let mut cfs_rq = CfsRqPelt::new(rules);
        (cfs_rq.avg.util_avg, cfs_rq.avg.load_avg) = (100, 2047);
        let mut se = init_entity_runnable_average(1024);
        post_init_entity_util_avg(&mut se, 1024, &cfs_rq, 1024);
        se.util_avg
    };
    // With the weight scaled up by 1024 the upper bound of (1024 - 100) / 2 applies.
    assert_eq!([PeltRules::V5_10, PeltRules::V6_1].map(first), [462, 462]);
    assert_eq!([PeltRules::V6_12, PeltRules::V7_2, PeltRules::V7_3].map(first), [50, 50, 50]);
}

#[test]
fn setting_the_same_weight_retakes_the_load_until_7_2() {
    let load = |rules| {
        let (mut cfs_rq, mut se) = pair(rules);
        se.load_sum /= 2;
        reweight_entity(&mut cfs_rq, &mut se, 1024, 1024);
        se.load_avg
    };
    assert_eq!(load(PeltRules::V7_2), 299);
    assert_eq!(load(PeltRules::V7_3), 600);
}

#[test]
fn a_fall_above_the_capacity_moves_no_estimate_until_6_12() {
    let estimate = |rules| {
        let mut se = SchedAvg { util_avg: 600, util_est: 1000, util_est_ewma: 0, ..SchedAvg::default() };
        if matches!(rules, UtilEstRules::V6_1 { .. }) {
            (se.util_est, se.util_est_ewma) = (0, 1000);
        }
        util_est_update(rules, &mut se, true, 500);
        _task_util_est(&se)
    };
    assert_eq!(estimate(UtilEstRules::V6_1 { fastup: true }), 1000);
    assert_eq!(estimate(UtilEstRules::V6_12), 1000);
    assert_eq!(estimate(UtilEstRules::V7_3), 900);
    let mut rises = SchedAvg { util_avg: 600, util_est: 300, ..SchedAvg::default() };
    util_est_update(UtilEstRules::V6_12, &mut rises, true, 500);
    assert_eq!(rises.util_est, 600 | UTIL_AVG_UNCHANGED, "a rise is always taken");
}

/// `sched_pelt_multiplier()`: time on PELT's clock passes 1, 2 or 4 times as fast, busy and idle.
#[test]
fn a_multiplier_makes_every_half_life_shorter() {
    const MS: u64 = 1_000_000;
    let full = Scale { cpu: 1024, freq: 1024 };
    let half = Scale { cpu: 1024, freq: 512 };
    // Runs, runs at half the frequency, and idles.
    let run = |lshift: u32, faster: u64| {
        let mut clock = RqClock { lshift, ..RqClock::default() };
        let mut avg = SchedAvg::default();
        let mut utils = Vec::new();
        for (time, idle, scale) in [(40 * MS, false, full), (40 * MS, false, half), (80 * MS, true, full)] {
            clock.update_rq_clock(time / faster, 0, idle, scale);
            ___update_load_sum(clock.rq_clock_pelt(), &mut avg, 1, 1, !idle);
            ___update_load_avg(&mut avg, 1);
            utils.push(avg.util_avg);
        }
        (utils, clock.clock_task)
    };
    let (utils, time) = run(0, 1);
    assert_eq!(time, 160 * MS);
    for (lshift, multiplier) in [(1, 2), (2, 4)] {
        assert_eq!(run(lshift, multiplier), (utils.clone(), 160 * MS / multiplier));
    }
    // In the same time it comes further.
    assert!(run(2, 1).0[0] > utils[0] + 200);
}

/// `update_idle_rq_clock_pelt()` compares the multiplied clock.
#[test]
fn lost_idle_time_is_that_of_the_faster_clock() {
    const MS: u64 = 1_000_000;
    let slow = Scale { cpu: 1024, freq: 256 };
    let lost = |lshift: u32| {
        let mut clock = RqClock { lshift, ..RqClock::default() };
        clock.update_rq_clock(100 * MS, 0, false, slow);
        clock.update_idle_rq_clock_pelt(u32::MAX);
        (clock.lost_idle_time, clock.rq_clock_pelt())
    };
    assert_eq!(lost(0), (75 * MS, 25 * MS));
    assert_eq!(lost(2), (300 * MS, 100 * MS));
}
