//! Kept runs of a policy that a program brings along: it may have data, and there is one.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use wakelab_kernel::{OwnFeature, OwnFeatureError, Preset};
use wakelab_sched::select::policy::{OwnPolicy, Plan, SearchContext, Verdict, register};
use wakelab_sched::select::{Effects, SearchView};
use wakelab_study::compare::{Block, Variant, compare};
use wakelab_study::runs::Program;
use wakelab_study::runs::cache::{Cached, Store};
use wakelab_testing::fake_runner::{Fake, experiment};

/// Looks at so many CPUs.
#[derive(Debug)]
struct Looks(AtomicI32);

impl OwnPolicy for Looks {
    fn feature(&self) -> OwnFeature {
        OwnFeature { name: "SIS_LOOKS", doc: "Look at so many CPUs.", source: "a test" }
    }

    fn before_scan(&self, _: &SearchContext<'_>, _: &dyn SearchView, plan: &mut Plan, _: &mut Effects) -> Verdict {
        plan.nr = self.0.load(Ordering::Relaxed);
        Verdict::Scan
    }
}

static LOOKS: Looks = Looks(AtomicI32::new(2));
static OTHER: Looks = Looks(AtomicI32::new(2));

#[test]
fn a_policys_data_is_in_the_key_of_runs_that_have_it_on_and_no_second_policy_is_taken() {
    register(&LOOKS).unwrap();
    register(&LOOKS).unwrap();
    assert_eq!(register(&OTHER).unwrap_err(), OwnFeatureError::Second("SIS_LOOKS"));
    let here = tempfile::tempdir().unwrap();
    let made = |experiment: &Block| {
        let store = Store::open(here.path(), Program::named("one build"), false).unwrap();
        let runner = Cached { store: &store, runner: &Fake::default() };
        compare(&runner, experiment, 1, &(), &AtomicBool::new(false)).unwrap();
        store.made()
    };
    let kernel = Preset::get("v5.19-rc1").unwrap();
    let without = experiment(&["1 thread"], 1);
    let variants = vec![Variant::new(kernel, &"SIS_LOOKS".parse().unwrap()).unwrap()];
    let with = Block { variants, ..without.clone() };
    assert_eq!((made(&without), made(&with), made(&with)), (2, 1, 0));
    LOOKS.0.store(3, Ordering::Relaxed);
    assert_eq!((made(&without), made(&with), made(&with)), (0, 1, 0), "what has the policy off is still good");
}
