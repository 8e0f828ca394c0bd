//! Presets: found by name, consistent in themselves, compared.
use wakelab_kernel::{
    CapacitySearch, Class, Feature, IdleSearch, Preset, RunnableBoost, SliceProtection, Tunables, Wakelist,
};

#[test]
fn every_preset_is_found_by_its_name() {
    let names =
        ["v5.2", "v5.3", "v5.10", "v5.18", "v5.18-eas", "v5.19-rc1", "v5.19-rc2-tip", "v6.1", "v6.12", "v7.2", "v7.3"];
    assert_eq!(Preset::names(), names);
    for name in names {
        assert_eq!(Preset::get(name).unwrap().name, name);
    }
}

#[test]
fn an_unknown_name_lists_near_ones_and_all() {
    let error = Preset::get("v6.13").unwrap_err().to_string();
    assert!(error.starts_with("unknown kernel v6.13; did you mean `v6.1`, `v6.12`"), "{error}");
    assert!(
        error
            .ends_with("; all: v5.2, v5.3, v5.10, v5.18, v5.18-eas, v5.19-rc1, v5.19-rc2-tip, v6.1, v6.12, v7.2, v7.3")
    );
    assert!(Preset::get("xyz").unwrap_err().to_string().starts_with("unknown kernel xyz; all: "));
}

#[test]
fn a_release_leads_to_its_preset() {
    let found = [
        ("6.12.107", "v6.12"),
        ("6.12.107+deb13-cloud-amd64", "v6.12"),
        ("6.1", "v6.1"),
        ("6.1.0-50-cloud-amd64", "v6.1"),
        ("7.2", "v7.2"),
        ("v7.3.4", "v7.3"),
        ("5.18.3", "v5.18"),
        ("5.19.0-rc1", "v5.19-rc1"),
        ("5.19.0-rc1+", "v5.19-rc1"),
    ];
    for (release, name) in found {
        assert_eq!(Preset::of_release(release).map(|p| p.name), Ok(name), "{release}");
    }
    for release in ["6.13.1", "5.19.4", "5.19.0-rc2", "6", "", "6.1.0-rc3"] {
        assert!(Preset::of_release(release).is_err(), "{release}");
    }
    assert!(Preset::of_release("6.13.1").unwrap_err().near.contains(&"v6.12".to_owned()));
}

#[test]
fn every_code_is_consistent() {
    for preset in Preset::all() {
        let (name, code, tunables) = (preset.name, &preset.code, &preset.tunables);
        let eevdf = code.class == Class::Eevdf;
        assert!(!eevdf || code.current_cpu, "{name}");
        assert_eq!(eevdf, code.slice_protection != SliceProtection::Absent, "{name}");
        // The boosting letter's patch is there to be switched on.
        let boosted = eevdf || name == "v5.18-eas";
        assert_eq!(boosted, code.runnable_boost != RunnableBoost::Absent, "{name}");
        assert_eq!(eevdf, preset.features.has(Feature::RUNNABLE_BOOST), "{name}");
        for site in [Feature::RUNNABLE_BOOST_FREQ, Feature::RUNNABLE_BOOST_EAS, Feature::RUNNABLE_BOOST_LB] {
            assert!(preset.features.has(site) && !preset.lists(site), "{name}");
        }
        assert_eq!(eevdf, preset.lists(Feature::PLACE_LAG), "{name}");
        assert_eq!(!eevdf, preset.lists(Feature::GENTLE_FAIR_SLEEPERS), "{name}");
        assert_eq!(eevdf, tunables.base_slice.is_some(), "{name}");
        assert_eq!(!eevdf, tunables.sched_latency.is_some(), "{name}");
        assert_eq!(
            tunables.sched_latency.zip(tunables.min_granularity).map(|(l, m)| l.div_ceil(m)),
            tunables.nr_latency
        );
        assert!(!code.sync_ignores_delayed || preset.lists(Feature::DELAY_DEQUEUE), "{name}");
        assert!(!code.sched_idle_not_for_idle || code.sched_idle_cpus, "{name}");
        assert!(!code.recent_used_prev_affinity || code.recent_used_always, "{name}");
        assert!(!code.cluster_scan || code.idle_search == IdleSearch::OneWalk, "{name}");
        assert!(code.capacity_search != CapacitySearch::GradedCores || preset.lists(Feature::SIS_UTIL), "{name}");
        assert!(preset.features.has(Feature::SIS_CORE) && !preset.lists(Feature::SIS_CORE), "{name}");
        // That of the published runs of 5.3; the others do not say, or are Debian's.
        assert_eq!(preset.hz.tick_ns(), if name == "v5.3" { 1_000_000 } else { 4_000_000 }, "{name}");
        assert!(!preset.source.is_empty() && !preset.complete.is_empty() && !preset.tunables_source.is_empty());
        assert!(code.describe().iter().all(|field| !field.value.is_empty() && !field.doc.is_empty()));
    }
}

#[test]
fn tunables_scale_with_the_logarithm_of_the_cpus() {
    assert_eq!([0, 1, 2, 3, 4, 7, 8, 112].map(Tunables::factor), [1, 1, 2, 2, 3, 3, 4, 4]);
    let cfs = Preset::get("v6.1").unwrap().tunables.scaled(112);
    assert_eq!((cfs.sched_latency, cfs.wakeup_granularity), (Some(24_000_000), Some(4_000_000)));
    assert_eq!((cfs.idle_min_granularity, cfs.migration_cost), (Some(750_000), Some(500_000)));
    assert_eq!(Preset::get("v6.12").unwrap().tunables.scaled(8).base_slice, Some(2_800_000));
}

#[test]
fn a_difference_names_what_changed() {
    let diff = |from: &str, to: &str| Preset::get(from).unwrap().diff(Preset::get(to).unwrap());
    let same = diff("v5.18", "v5.19-rc1");
    assert!(same.features.is_empty() && same.tunables.is_empty() && same.code.is_empty());
    let flat = diff("v7.2", "v7.3");
    assert!(flat.features.is_empty() && flat.tunables.is_empty());
    assert_eq!(flat.code.iter().map(|field| field.name).collect::<Vec<_>>(), ["slice_protection"]);

    let tip = diff("v5.19-rc1", "v5.19-rc2-tip");
    assert!(tip.features.is_empty() && tip.tunables.is_empty());
    let wakelist = tip.code.iter().find(|field| field.name == "wakelist").unwrap();
    assert_eq!((wakelist.from.as_str(), wakelist.to.as_str()), ("OnCpuAtMostOne", "EmptyRunQueue"));
    assert_eq!(Preset::get("v6.1").unwrap().code.wakelist, Wakelist::EmptyRunQueue);

    let eevdf = diff("v6.1", "v6.12");
    let prop = eevdf.features.iter().find(|feature| feature.name == "SIS_PROP").unwrap();
    assert_eq!((prop.from, prop.to), (Some(false), None));
    let slice = eevdf.tunables.iter().find(|tunable| tunable.name == "base_slice").unwrap();
    assert_eq!((slice.from, slice.to), (None, Some(700_000)));
}
