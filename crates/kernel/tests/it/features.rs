//! Features: against what kernels print, and as text.
use wakelab_kernel::{Feature, FeatureSet, Preset, SwitchError, Switches};

/// Read from `/sys/kernel/debug/sched/features` of 6.1.0-50-cloud-amd64 (6.1.176).
const V6_1: &str = "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION \
    NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK \
    RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP \
    NO_LATENCY_WARN NI_RANDOM ALT_PERIOD BASE_SLICE";

/// Of 6.12.107+deb13-cloud-amd64.
const V6_12: &str = "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY \
    PICK_BUDDY CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK \
    NONTASK_CAPACITY TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN \
    ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST NO_LATENCY_WARN NI_RANDOM";

/// Of 7.2.12+deb13-cloud-amd64.
const V7_2: &str = "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY \
    PICK_BUDDY CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO NO_PARANOID_AVG WAKEUP_PREEMPTION HRTICK HRTICK_DL \
    NONTASK_CAPACITY TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN \
    ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST NO_LATENCY_WARN NI_RANDOM NI_RATE";

/// The `SCHED_FEAT`s of `kernel/sched/features.h` without PREEMPT_RT, in its order, of 5.15.167.
const V5_15: &str = "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION \
    NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK \
    RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP \
    NO_LATENCY_WARN ALT_PERIOD BASE_SLICE";

/// Of 6.6.87.
const V6_6: &str = "PLACE_LAG PLACE_DEADLINE_INITIAL RUN_TO_PARITY NO_NEXT_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION \
    NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK \
    RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP \
    NO_LATENCY_WARN HZ_BW";

/// Of 6.8.
const V6_8: &str = "PLACE_LAG PLACE_DEADLINE_INITIAL RUN_TO_PARITY NO_NEXT_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION \
    NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK RT_PUSH_IPI \
    NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST NO_LATENCY_WARN HZ_BW";

/// Of 6.18.15, and so Debian's 6.18.15+deb13-cloud-amd64 printed them.
const V6_18: &str = "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY \
    PICK_BUDDY CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL NONTASK_CAPACITY \
    TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE \
    WA_WEIGHT WA_BIAS UTIL_EST NO_LATENCY_WARN NI_RANDOM";

fn preset(name: &str) -> &'static Preset {
    Preset::get(name).unwrap()
}

#[test]
fn presets_list_what_their_kernels_print_or_their_sources_list() {
    let all = [("v5.15", V5_15), ("v6.1", V6_1), ("v6.6", V6_6), ("v6.8", V6_8), ("v6.12", V6_12), ("v6.18", V6_18)];
    for (name, recorded) in all.into_iter().chain([("v7.2", V7_2)]) {
        let file = FeatureSet::parse_file(recorded);
        assert_eq!(file.unknown, [""; 0], "{name}");
        assert_eq!(file.listed, preset(name).feature_file, "{name}");
        let added = preset(name).features.iter().filter(|&feature| !preset(name).lists(feature));
        assert_eq!(added.fold(file.set(), |set, feature| set.with(feature, true)), preset(name).features, "{name}");
        assert_eq!(preset(name).print_features(), recorded);
    }
}

/// 2586af1ac187 (5.10) switched it off; 1c1b8a7b03ef (5.3) took LB_BIAS out, which had been off by default.
#[test]
fn the_kernels_of_2019_share_realtime_runtime_and_lose_lb_bias() {
    for (name, lb_bias) in [("v5.2", true), ("v5.3", false)] {
        assert!(preset(name).feature_file.contains(&(Feature::RT_RUNTIME_SHARE, true)), "{name}");
        assert_eq!(preset(name).feature_file.contains(&(Feature::LB_BIAS, false)), lb_bias, "{name}");
    }
    assert!(preset("v5.10").feature_file.contains(&(Feature::RT_RUNTIME_SHARE, false)));
}

#[test]
fn a_recorded_kernel_may_have_features_unknown_here() {
    let file = FeatureSet::parse_file("WA_IDLE NO_FROM_TOMORROW\n\tALSO_NEW  NO_WA_BIAS\n");
    assert_eq!(file.listed, [(Feature::WA_IDLE, true), (Feature::WA_BIAS, false)]);
    assert_eq!(file.unknown, ["NO_FROM_TOMORROW", "ALSO_NEW"]);
}

#[test]
fn an_unknown_switch_lists_names_like_it() {
    let error = "SIS_PROP,NO_SIS_UTILL".parse::<Switches>().unwrap_err();
    assert!(error.to_string().starts_with("unknown feature SIS_UTILL; did you mean `SIS_UTIL`, "), "{error}");
    let error = "XYZZY".parse::<Switches>().unwrap_err();
    assert_eq!(error.to_string(), "unknown feature XYZZY");
}

#[test]
fn switches_apply_in_order_and_print_back() {
    let mut set = preset("v7.2").features;
    set.apply(" SIS_PROP, NO_SIS_UTIL ,").unwrap();
    assert!(set.has(Feature::SIS_PROP) && !set.has(Feature::SIS_UTIL));
    let before = set;
    assert!(set.apply("WA_IDLE,NO_SUCH").is_err());
    assert_eq!(set, before);

    let switches: Switches = "WA_IDLE,NO_SIS_UTIL,NO_SIS_PROP".parse().unwrap();
    assert_eq!(switches.to_string(), "WA_IDLE,NO_SIS_UTIL,NO_SIS_PROP");
    assert!(!switches.on(FeatureSet::EMPTY.with(Feature::SIS_PROP, true)).has(Feature::SIS_PROP));
    assert_eq!(switches.inert().count(), 0);
    assert!("".parse::<Switches>().unwrap().is_empty());
}

#[test]
fn a_difference_leads_from_one_set_to_the_other() {
    for from in Preset::all() {
        for to in Preset::all() {
            let switches = from.features.diff(to.features);
            assert_eq!(switches.on(from.features), to.features);
            assert_eq!(switches.to_string().parse::<Switches>().unwrap(), switches);
        }
    }
}

#[test]
fn printing_and_parsing_are_inverse() {
    for preset in Preset::all() {
        let file = FeatureSet::parse_file(&preset.print_features());
        assert_eq!(file.listed, preset.feature_file, "{}", preset.name);
        let all = preset.features.print(preset.feature_file);
        assert_eq!(FeatureSet::parse_file(&all).set(), preset.features, "{}", preset.name);
    }
    for &feature in Feature::ALL {
        assert_eq!(feature.name().parse(), Ok(feature));
        assert!(!feature.name().starts_with("NO_"));
    }
}

#[test]
fn a_feature_of_another_version_can_be_switched_on_where_the_model_has_it() {
    let switched = |name: &str, switches: &str| preset(name).switched(&switches.parse().unwrap());
    assert!(switched("v7.2", "SIS_PROP").unwrap().has(Feature::SIS_PROP));
    assert!(switched("v5.19-rc1", "SIS_UTIL").unwrap().has(Feature::SIS_UTIL));
    assert!(!switched("v6.1", "NO_SIS_CORE").unwrap().has(Feature::SIS_CORE));
    assert!(switched("v5.10", "NO_LATENCY_WARN").is_ok());
    let absent = SwitchError::Absent { preset: "v5.10", feature: Feature::LATENCY_WARN };
    assert_eq!(switched("v5.10", "LATENCY_WARN"), Err(absent));
}

#[test]
fn switches_that_contradict_each_other_are_refused() {
    for (text, words) in [
        ("SIS_UTIL,NO_SIS_UTIL", "SIS_UTIL and NO_SIS_UTIL"),
        ("NO_SIS_PROP,SIS_UTIL,SIS_PROP", "NO_SIS_PROP and SIS_PROP"),
        ("base_slice=1000000,base_slice=2000000", "base_slice=1000000 and base_slice=2000000"),
        ("SIS_UTIL_V1,SIS_UTIL_V3", "SIS_UTIL_V1 and SIS_UTIL_V3"),
        ("SIS_LIMIT,SIS_ORACLE", "SIS_LIMIT and SIS_ORACLE"),
        ("SIS_NODE_PAIR,SIS_ORACLE", "SIS_NODE_PAIR and SIS_ORACLE"),
        ("SIS_NODE,SIS_EFF_BUSY", "SIS_NODE and SIS_EFF_BUSY"),
        ("SIS_CLUSTER_V9,SIS_CLUSTER_V5", "SIS_CLUSTER_V9 and SIS_CLUSTER_V5"),
        ("SIS_EFF_CORE_LIMIT,SIS_EFF_IDLE_CORE", "SIS_EFF_CORE_LIMIT and SIS_EFF_IDLE_CORE"),
    ] {
        let error = text.parse::<Switches>().expect_err(text).to_string();
        assert!(error.starts_with(words) && error.contains("contradict each other"), "{text}: {error}");
    }
    for text in [
        "SIS_UTIL,SIS_UTIL",
        "SIS_PROP,SIS_LIMIT,SIS_FILTER",
        "SIS_UTIL_V1,NO_SIS_UTIL_V3",
        "SIS_NODE_LIMIT,SIS_NODE_PAIR",
        "SIS_EFF_CORE_LIMIT,SIS_EFF_BUSY,SIS_EFF_FILTER",
        "base_slice=1000000,base_slice=1000000",
    ] {
        assert!(text.parse::<Switches>().is_ok(), "{text}");
    }
}

/// What published tables compare, by the preset that is nearest to their kernel.
#[test]
fn the_switches_of_published_tables_are_taken() {
    const EEVDF_6_6: &str = "NO_DELAY_DEQUEUE,NO_DELAY_ZERO,NO_PLACE_REL_DEADLINE,NO_PREEMPT_SHORT,NO_NI_RANDOM";
    const FREQ: &str = "UTIL_EST_FASTER,NO_UTIL_EST_FASTER_LB,NO_UTIL_EST_FASTER_OU,NO_UTIL_EST_FASTER_SLOWPATH";
    let of = |kernel: &'static str, lists: &[&str]| lists.iter().map(|list| (kernel, (*list).to_owned())).collect();
    let mut tables: Vec<(&str, String)> = of(
        "v6.1",
        &[
            "NO_NI_RANDOM,NO_WA_WEIGHT,NO_WA_BIAS",
            "NO_NI_RANDOM,SIS_NODE,TTWU_BY_NODE",
            "NO_NI_RANDOM,SIS_NODE_PAIR",
            "NO_NI_RANDOM,SIS_NODE_LIMIT",
            "NO_NI_RANDOM,SIS_NODE_TOPOEXT",
            "NO_NI_RANDOM,SIS_CLUSTER_V9",
            "NO_NI_RANDOM,SIS_CURRENT",
            "NO_NI_RANDOM,SIS_SHORT_V6",
        ],
    );
    tables.extend::<Vec<_>>(of(
        "v5.19-rc2-tip",
        &[
            "SIS_UTIL,NO_SIS_PROP,SIS_CLUSTER_V5",
            "SIS_UTIL,NO_SIS_PROP,SIS_EFF_IDLE_CORE",
            "SIS_UTIL,NO_SIS_PROP,SIS_EFF_CORE_LIMIT,SIS_EFF_PENDING,SIS_EFF_BUSY,SIS_EFF_FILTER",
        ],
    ));
    tables.extend::<Vec<_>>(of(
        "v5.18-eas",
        &[
            "NO_RUNNABLE_BOOST,pelt_multiplier=4",
            "NO_RUNNABLE_BOOST,RUNNABLE_BOOST_V1,NO_RUNNABLE_BOOST_LB",
            FREQ,
            "UTIL_EST_FASTER,NO_UTIL_EST_FASTER_SCALED",
            "idle_governor=teo_util",
        ],
    ));
    tables.extend::<Vec<_>>(of("v5.10", &["SIS_SINGLE_PASS"]));
    tables.push(("v6.12", format!("NO_SIS_CLUSTER,{EEVDF_6_6}")));
    tables.push(("v6.12", format!("{EEVDF_6_6},SIS_CACHE")));
    tables.push(("v6.12", format!("{EEVDF_6_6},NI_MIGRATION_COST_GATE")));
    tables.push(("v6.18", "PREEMPT_VOLUNTARY,NEXT_BUDDY,NEXT_BUDDY_POSTED,NO_NI_RANDOM,NI_COST_BUMP".to_owned()));
    tables.extend::<Vec<_>>(of(
        "v7.2",
        &[
            "NEXT_BUDDY,NEXT_BUDDY_POSTED",
            "NO_NI_RANDOM,NO_NI_RATE,NI_COST_BUMP",
            "NO_SCHED_IDLE_NOT_FOR_IDLE",
            "NO_ASYM_SMT",
        ],
    ));
    for (kernel, list) in tables {
        let switches: Switches = list.parse().unwrap_or_else(|error| panic!("{list}: {error}"));
        assert_eq!(switches.inert().count(), 0, "{list}: nothing acts on a switch");
        preset(kernel).switched(&switches).unwrap_or_else(|error| panic!("{list}: {error}"));
        preset(kernel).with_settings(switches.settings()).unwrap_or_else(|error| panic!("{list}: {error}"));
    }
}
