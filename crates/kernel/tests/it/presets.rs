//! Presets: found by name, consistent in themselves, compared.
use std::collections::HashSet;
use wakelab_kernel::{
    CapacitySearch, Class, FairClass, Feature, IdleSearch, Preset, RunnableBoost, Tunables, UtilEst, Wakelist,
};

#[test]
fn every_preset_is_found_by_its_name() {
    for preset in Preset::all() {
        assert_eq!(Preset::get(preset.name).unwrap().name, preset.name);
    }
    assert_eq!(Preset::names().into_iter().collect::<HashSet<_>>().len(), Preset::all().len());
}

#[test]
fn every_preset_but_the_oldest_names_one_before_it() {
    let names = Preset::names();
    for (place, preset) in Preset::all().iter().enumerate() {
        assert_eq!(preset.before.is_none(), place == 0, "{}", preset.name);
        assert!(preset.before.is_none_or(|before| names[..place].contains(&before)), "{}", preset.name);
    }
}

#[test]
fn an_unknown_name_lists_near_ones_and_all() {
    let error = Preset::get("v5.18-aes").unwrap_err().to_string();
    assert!(error.starts_with("unknown kernel v5.18-aes; did you mean `v5.18-eas`"), "{error}");
    assert!(error.ends_with(&format!("; all: {}", Preset::names().join(", "))), "{error}");
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
        ("5.15.0-119-generic", "v5.15"),
        ("6.6.87", "v6.6"),
        ("6.6.87.2-microsoft-standard-WSL2", "v6.6"),
        ("6.8.0-31-generic", "v6.8"),
        ("6.18.15+deb13-cloud-amd64", "v6.18"),
    ];
    for (release, name) in found {
        assert_eq!(Preset::of_release(release).map(|p| p.name), Ok(name), "{release}");
    }
    for release in ["6.13.1", "6.7.1", "5.19.4", "5.19.0-rc2", "6", "", "6.1.0-rc3"] {
        assert!(Preset::of_release(release).is_err(), "{release}");
    }
    assert!(Preset::of_release("6.13.1").unwrap_err().near.contains(&"v6.12".to_owned()));
}

#[test]
fn a_version_is_as_good_as_a_name() {
    let all = [
        ("6.12", "v6.12", None),
        ("v6.12.40", "v6.12", Some("kernel v6.12.40: simulated by the preset v6.12")),
        ("6.6.87", "v6.6", Some("kernel 6.6.87: simulated by the preset v6.6")),
        ("v6.12", "v6.12", None),
        ("V7.2", "v7.2", None),
    ];
    for (asked, name, said) in all {
        let preset = Preset::get(asked).unwrap();
        assert_eq!(preset.name, name, "{asked}");
        assert_eq!(preset.stands_for(asked).as_deref(), said);
    }
}

#[test]
fn a_version_without_a_preset_names_those_next_to_it() {
    for (asked, near) in [
        ("6.7", "v6.6 and v6.8"),
        ("v6.7.3", "v6.6 and v6.8"),
        ("5.14.0-503.11.1.el9_5.x86_64", "v5.10 and v5.15"),
        ("6.4", "v6.1 and v6.6"),
        ("4.19", "v5.2"),
        ("9.0", "v7.3"),
        ("5.19.4", "v5.19-rc2-tip and v6.1"),
    ] {
        let error = Preset::get(asked).unwrap_err();
        let all = Preset::names().join(", ");
        assert_eq!(error.to_string(), format!("no preset for kernel {asked}; the nearest are {near}; all: {all}"));
    }
}

#[test]
fn every_code_is_consistent() {
    for preset in Preset::all() {
        let (name, code, tunables) = (preset.name, &preset.code, &preset.tunables);
        let eevdf = preset.class() == Class::Eevdf;
        assert!(!eevdf || code.current_cpu, "{name}");
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
        if let FairClass::Eevdf(rules) = preset.fair {
            assert_eq!(rules.custom_slices, preset.lists(Feature::PREEMPT_SHORT), "{name}");
            assert_eq!(rules.next_buddy_picks, !preset.lists(Feature::PICK_BUDDY), "{name}");
        }
        assert!(!preset.lists(Feature::UTIL_EST_FASTUP) || preset.util_est == UtilEst::LastAndEwma, "{name}");
        assert!(!code.cluster_scan || code.idle_search == IdleSearch::OneScan, "{name}");
        assert!(code.capacity_search != CapacitySearch::GradedCores || preset.lists(Feature::SIS_UTIL), "{name}");
        assert!(preset.features.has(Feature::SIS_CORE) && !preset.lists(Feature::SIS_CORE), "{name}");
        // That of the published runs of 5.3; the others do not say, or are Debian's.
        assert_eq!(preset.hz.tick_ns(), if name == "v5.3" { 1_000_000 } else { 4_000_000 }, "{name}");
        assert!(!preset.source.is_empty() && !preset.complete.is_empty() && !preset.tunables_source.is_empty());
        assert_eq!(code.h_nr_runnable, preset.balance.h_nr_runnable, "{name}");
        assert_eq!(code.runnable_load, preset.pelt.runnable_load, "{name}");
        assert_eq!(preset.sd_flags.names.contains(&"SD_CLUSTER"), preset.domains.cluster_flag, "{name}");
        assert_eq!(preset.sd_flags.names.contains(&"SD_OVERLAP"), preset.domains.overlap_flag, "{name}");
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
fn every_rule_describes_itself() {
    for preset in Preset::all() {
        let mut seen = HashSet::new();
        for set in preset.rules() {
            assert!(!set.title.is_empty() && !set.rules.is_empty(), "{}", set.unit);
            for rule in set.rules {
                assert_eq!(rule.unit, set.unit);
                assert!(
                    seen.insert((rule.unit, rule.name.clone())),
                    "{}: twice {}.{}",
                    preset.name,
                    set.unit,
                    rule.name
                );
                for text in [rule.doc, &rule.value, &rule.text, rule.form.unwrap_or("as it says")] {
                    assert!(!text.is_empty() && text.trim() == text, "{}.{}: {text:?}", set.unit, rule.name);
                }
                assert!(
                    rule.doc.ends_with('.') && !rule.doc.contains('\n'),
                    "{}.{}: {}",
                    set.unit,
                    rule.name,
                    rule.doc
                );
            }
        }
    }
}

#[test]
fn a_difference_names_what_changed() {
    let diff = |from: &str, to: &str| Preset::get(from).unwrap().diff(Preset::get(to).unwrap());
    let same = diff("v5.18", "v5.19-rc1");
    assert!(same.is_empty());
    let flat = diff("v7.2", "v7.3");
    assert!(flat.features.is_empty() && flat.tunables.is_empty());
    let changed: Vec<_> = flat.code.iter().map(|rule| (rule.unit, rule.name.as_str())).collect();
    let expected = [
        ("fair", "slice_protection"),
        ("fair", "wakeup_preempt"),
        ("fair", "split_inflation"),
        ("fair", "weight_at_enqueue"),
        ("groups", "one_queue"),
        ("groups", "shares"),
        ("pelt", "skip_same_weight"),
        ("balance", "misfit_if_larger"),
        ("balance", "equal_capacity_pulls"),
        ("balance", "push_queued_only"),
        ("balance", "ilb_idle_core"),
        ("domains", "asym_clears_prefer_sibling"),
    ];
    assert_eq!(changed, expected);

    let tip = diff("v5.19-rc1", "v5.19-rc2-tip");
    assert!(tip.features.is_empty() && tip.tunables.is_empty());
    let wakelist = tip.code.iter().find(|field| field.name == "wakelist").unwrap();
    assert_eq!((wakelist.from.as_deref(), wakelist.to.as_deref()), (Some("OnCpuAtMostOne"), Some("EmptyRunQueue")));
    assert_eq!(Preset::get("v6.1").unwrap().code.wakelist, Wakelist::EmptyRunQueue);

    let eevdf = diff("v6.1", "v6.12");
    let prop = eevdf.features.iter().find(|feature| feature.name == "SIS_PROP").unwrap();
    assert_eq!((prop.from, prop.to), (Some(false), None));
    let slice = eevdf.tunables.iter().find(|tunable| tunable.name == "base_slice").unwrap();
    assert_eq!((slice.from, slice.to), (None, Some(700_000)));
    let rule =
        |unit: &str, name: &str| eevdf.code.iter().find(|rule| (rule.unit, &*rule.name) == (unit, name)).unwrap();
    let class = rule("fair", "class");
    assert_eq!((class.from_text.as_deref(), class.to_text.as_deref()), (Some("CFS"), Some("EEVDF")));
    assert_eq!((rule("fair", "long_sleeper").to.as_deref(), rule("fair", "lag_limit").from.as_deref()), (None, None));
    assert_eq!(rule("balance", "newidle.stop").to.as_deref(), Some("NextPass"));
}

/// What is printed and compared is every rule: a preset whose rules print alike is the same.
#[test]
fn presets_without_a_difference_have_equal_rules() {
    for a in Preset::all() {
        for b in Preset::all() {
            let equal = (a.fair, a.code, a.pelt, a.util_est) == (b.fair, b.code, b.pelt, b.util_est)
                && (a.balance, a.domains, a.cpufreq, a.cpuidle) == (b.balance, b.domains, b.cpufreq, b.cpuidle)
                && (a.core, a.groups) == (b.core, b.groups);
            assert_eq!(equal, a.diff(b).code.is_empty(), "{} and {}", a.name, b.name);
        }
    }
}
