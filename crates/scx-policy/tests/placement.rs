//! wake_wide(), wake_affine(), nr_idle_scan, SIS_PROP, SIS_LIMIT and SIS_SHORT, against `sched`.

mod support;

use proptest::prelude::*;
use std::sync::LazyLock;
use support::{System, features, many, preset, two_llcs, wakeup};
use wakelab_kernel::Feature;
use wakelab_sched::CpuMask;
use wakelab_sched::domain::SchedDomains;
use wakelab_sched::select::policy::{
    DurAvg, Plan, SearchContext, SearchPolicy, SisLimit, SisParamRules, SisProp, Verdict,
};
use wakelab_sched::select::{
    Affine, Effects, IdleScanForm, IdleScanRules, Rules, ScanClock, WakeeFlips, record_wakee, wake_affine, wake_wide,
};
use wakelab_scx_policy as c;

const FORMS: [IdleScanForm; 4] = [IdleScanForm::Merged, IdleScanForm::V1, IdleScanForm::V2, IdleScanForm::V3];

/// By threads of a core, less one.
static MACHINES: LazyLock<[SchedDomains; 4]> = LazyLock::new(|| [1, 2, 4, 8].map(|threads| two_llcs(4, threads)));

/// A number of any size up to 2^40.
fn up_to_40_bits() -> impl Strategy<Value = u64> {
    (0..41_u32, any::<u64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1))
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn nr_idle_scan_is_the_models(
        sum_util in 0..2_000_000_u64, llc_weight in 1..1025_u32, imbalance_pct in 100..201_u32, form in 0..4_usize,
        small_llc in any::<bool>(), floor in 0..200_u32, cap in 1..200_u32,
    ) {
        let param = SisParamRules::SIS_UTIL;
        let rules = IdleScanRules { form: FORMS[form], pct: None, exponent: 2, small_llc, newidle: false, param };
        let expected = rules.nr_idle_scan(sum_util, llc_weight, imbalance_pct);
        prop_assert_eq!(c::nr_idle_scan(sum_util, llc_weight, imbalance_pct, form as u32, small_llc), expected);
        let param = SisParamRules { floor: floor as i32, cap: cap as i32, ..SisParamRules::SIS_UTIL };
        let bounds = c::select::SisParam { floor, cap, ..c::select::SisParam::SIS_UTIL };
        prop_assert_eq!(c::sis_param_bounded(&bounds, expected), param.bounded(expected));
    }

    #[test]
    fn flips_are_the_models(
        wakee_flips in any::<u32>(), decay_ts in any::<u64>(), gone in 0..3000_u64, last in 0..3_u64, wakee in 1..3_u64,
        hz in prop_oneof![Just(100_u64), Just(250), Just(1000)], other in any::<u32>(), llc_size in 0..1025_u32,
    ) {
        let mut ours = c::WakeeFlips { decay_ts, last_wakee: last, flips: wakee_flips, pad: 0 };
        let models = WakeeFlips { wakee_flips, wakee_flip_decay_ts: decay_ts, last_wakee: (last != 0).then_some(last) };
        let jiffies = decay_ts.wrapping_add(gone);
        c::record_wakee(&mut ours, wakee, jiffies, hz);
        let models = record_wakee(models, wakee, jiffies, hz);
        prop_assert_eq!((ours.flips, ours.decay_ts, Some(ours.last_wakee)),
            (models.wakee_flips, models.wakee_flip_decay_ts, models.last_wakee));
        for (a, b) in [(wakee_flips, other), (wakee_flips % 4096, other % 64)] {
            prop_assert_eq!(c::wake_wide(a, b, llc_size), wake_wide(a, b, llc_size));
        }
    }

    #[test]
    fn wake_affine_is_the_models(
        idle in any::<[bool; 2]>(), nr_running in 0..4_u32, load in [up_to_40_bits(), up_to_40_bits()],
        tasks in [up_to_40_bits(), up_to_40_bits()], capacity in [1..1025_u64, 1..1025_u64], sync in any::<bool>(),
        far in any::<bool>(), bias in any::<bool>(), imbalance_pct in 100..201_u32,
    ) {
        let domains = &MACHINES[1];
        let (this, prev) = (0, if far { 8 } else { 2 });
        let preset = preset("v7.2");
        let on = features(preset, if bias { "WA_BIAS" } else { "NO_WA_BIAS" });
        let rules = Rules::new(preset, on, domains).unwrap();
        let view = System { idle, nr_running, load, capacity, cpus: [this, prev], ..System::default() };
        let allowed = CpuMask::full(domains.nr_cpus);
        let wakeup = wakeup(this, prev, sync, tasks, &allowed);
        let (_, detail) = wake_affine(&rules, &wakeup, imbalance_pct, &view);

        let idle_says = c::wake_affine_idle(idle[0], idle[1], !far, sync, nr_running);
        let loads = c::AffineLoads {
            this_load: load[0], prev_load: load[1], waker: tasks[0], wakee: tasks[1],
            this_capacity: capacity[0], prev_capacity: capacity[1],
        };
        let weight_says = c::wake_affine_weight(&loads, sync, bias, imbalance_pct);
        let expected = match detail.rule {
            Affine::BothIdle | Affine::PrevIdle => (c::AFFINE_PREV, None),
            Affine::WakerIdle | Affine::Sync => (c::AFFINE_THIS, None),
            Affine::Weight => (c::AFFINE_NONE, Some(c::AFFINE_THIS)),
            _ => (c::AFFINE_NONE, Some(c::AFFINE_NONE)),
        };
        prop_assert_eq!((idle_says, expected.1.map(|_| weight_says)), expected);
    }

    #[test]
    fn the_limits_of_sis_prop_and_sis_limit_are_the_models(
        machine in 0..4_usize, wake_avg_idle in up_to_40_bits(), avg_scan_cost in up_to_40_bits(),
        stamp in 0..1_u64 << 62,
        gone in prop_oneof![0..4_u64, 0..50_u64, 0..1_u64 << 62], time in up_to_40_bits(),
    ) {
        let domains = &MACHINES[machine];
        let preset = preset("v6.1");
        let rules = Rules::new(preset, features(preset, "SIS_PROP,SIS_LIMIT,NO_SIS_UTIL"), domains).unwrap();
        let allowed = CpuMask::full(domains.nr_cpus);
        let wakeup = wakeup(0, 1, false, [0, 0], &allowed);
        let jiffies = stamp + gone;
        let clock = ScanClock { jiffies, wake_stamp: stamp, wake_avg_idle, avg_idle: 0, avg_scan_cost };
        let view = System { clock, time: [1000, 1000 + time], ..System::default() };
        let sd = domains.sd_llc(0).expect("an LLC");
        let mut cx = SearchContext { rules: &rules, wakeup: &wakeup, sd, target: 0, has_idle_core: false, probes: 0 };
        let mut plan = Plan::new(1);
        let mut effects = Effects::default();

        let mut ours = c::ScanCost { wake_stamp: stamp, wake_avg_idle, avg_scan_cost };
        c::sis_prop_decay(&mut ours, jiffies);
        prop_assert_eq!(SisProp::before_scan(&cx, &view, &mut plan, &mut effects), Verdict::Scan);
        prop_assert_eq!(c::sis_prop_nr(&ours, sd.span_weight), plan.nr);
        let aged = effects.scan_cost.expect("it is noted");
        prop_assert_eq!((ours.wake_stamp, ours.wake_avg_idle), (aged.wake_stamp, aged.wake_avg_idle));

        let mut limited = plan.clone();
        SisLimit::before_scan(&cx, &view, &mut limited, &mut effects);
        let siblings = domains.smt_mask[0].weight();
        prop_assert_eq!(c::sis_limit_nr(&ours, sd.span_weight, siblings), limited.nr);

        cx.probes = 1;
        SisProp::after_scan(&cx, &view, &plan, &mut effects);
        c::sis_prop_after_scan(&mut ours, time);
        let after = effects.scan_cost.expect("it is noted");
        prop_assert_eq!((ours.wake_avg_idle, ours.avg_scan_cost), (after.wake_avg_idle, after.avg_scan_cost));
    }

    #[test]
    fn how_long_tasks_run_is_the_models(dur_avg in up_to_40_bits(), since in up_to_40_bits(), ran in up_to_40_bits()) {
        let mut ours = c::DurAvg { dur_avg, prev_sum_exec_runtime_vol: since };
        let mut models = DurAvg { dur_avg, prev_sum_exec_runtime_vol: since };
        c::dur_avg_update(&mut ours, since + ran);
        models.update(since + ran);
        let of_model = (models.dur_avg, models.prev_sum_exec_runtime_vol);
        prop_assert_eq!((ours.dur_avg, ours.prev_sum_exec_runtime_vol), of_model);
    }
}

/// Every feature that the forms of nr_idle_scan are chosen by is one of the model's.
#[test]
fn forms_have_the_models_names() {
    for (form, feature) in
        FORMS.into_iter().zip([Feature::SIS_UTIL, Feature::SIS_UTIL_V1, Feature::SIS_UTIL_V2, Feature::SIS_UTIL_V3])
    {
        let preset = preset("v7.2");
        let on = features(preset, "NO_SIS_UTIL").with(feature, true);
        assert_eq!(IdleScanForm::of(on), Some(form));
    }
}

/// is_short_task(): an eighth of the granularity, and 0 is not known.
#[test]
fn short_is_known_and_at_most_an_eighth() {
    for (dur, short) in [(0, false), (1, true), (375_000, true), (375_001, false)] {
        assert_eq!(c::is_short_task(dur, 3_000_000), short, "{dur} ns");
    }
}
