//! What can be named, and what is said of a wrong name.

use crate::netperf;
use wakelab_page::colour::Family;
use wakelab_playground::{Description, Kind, Problem, Side, choices};

fn problem(description: &Description) -> Problem {
    Side::new(description).expect_err("something is wrong")
}

#[test]
fn a_wrong_field_is_named_with_what_was_expected() {
    let right = netperf("100%", "SIS_UTIL");
    let text = |text: &str| text.to_owned();
    let cases = [
        (Description { machine: text("test-8x"), ..right.clone() }, "machine", "did you mean `test-8c`"),
        (Description { machine: text("mine.toml"), ..right.clone() }, "machine", "a browser reads no files"),
        (Description { kernel: text("v5.19-rc9x"), ..right.clone() }, "kernel", "v5.19-rc9x"),
        (Description { workload: text("netperf:TCP_R"), ..right.clone() }, "workload", "did you mean `netperf:TCP_RR`"),
        (Description { workload: text("mine.json"), ..right.clone() }, "workload", "a browser reads no files"),
        (Description { load: text("many"), ..right.clone() }, "load", "is not a load; expected a whole number"),
        (Description { load: text("1,2"), ..right.clone() }, "load", "is 2 loads; expected one of them"),
        (Description { load: text(""), ..right.clone() }, "load", "the load is empty"),
        (
            Description { load: text("5/s"), ..right.clone() },
            "load",
            "expected a load that is a number of instances or a percentage, found 5/s",
        ),
        (Description { side: text("SIS_UTILL"), ..right.clone() }, "side", "did you mean `SIS_UTIL`"),
        (Description { side: text("sis_util_pct=5"), ..right.clone() }, "side", "from 100 to 1000"),
        (Description { side: text("no_turbo"), ..right.clone() }, "side", "without a governor"),
        (Description { settle: text("60"), ..right.clone() }, "settle", "expected a time in ns, us, ms or s"),
        (Description { time: text("0ms"), ..right.clone() }, "time", "expected more than 0"),
    ];
    for (description, field, says) in cases {
        let problem = problem(&description);
        let whole = format!("{} {}", problem.what, problem.hint.clone().unwrap_or_default());
        assert!(problem.field == field && whole.contains(says), "{description:?}: {problem:?}");
    }
}

#[test]
fn what_a_comparison_warns_of_is_told() {
    let warned = |kernel: &str, side: &str| {
        let description = Description { kernel: kernel.to_owned(), ..netperf("100%", side) };
        Side::new(&description).expect("it can be simulated").warnings
    };
    assert_eq!(warned("v5.19-rc1", "SIS_UTIL"), Vec::<String>::new());
    assert!(warned("6.12.40", "")[0].contains("v6.12"));
    assert!(warned("v6.12", "SIS_CURRENT")[0].contains("expected 3s or more"));
}

#[test]
fn what_is_offered_can_be_simulated() {
    let choices = choices();
    let has = |list: &[&str], name| assert!(list.contains(&name), "{name} of {list:?}");
    has(&choices.machines.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), "intel-1s56c112t");
    has(&choices.kernels, "v5.19-rc1");
    has(&choices.policies.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "SIS_UTIL");
    for workload in &choices.workloads {
        let load = if workload.rate { "100/s" } else { "1" };
        let load = workload.own_load.map_or_else(|| load.to_owned(), |_| String::new());
        let description = Description { workload: workload.name.clone(), load, ..netperf("", "") };
        assert!(Side::new(&description).is_ok(), "{}: {:?}", workload.name, Side::new(&description));
    }
}

#[test]
fn a_reason_has_the_colour_that_it_has_on_all_pages() {
    let style = wakelab_page::colour::css();
    for (name, kind) in choices().reasons {
        assert!(style.contains(&format!("--k-{name}: #")) && style.contains(&format!("--k-{name}-ink: #")), "{name}");
        let family = wakelab_page::colour::key(name).expect("it has a colour").family;
        let expected = match kind {
            Kind::Fast | Kind::Found => Family::Idle,
            Kind::FallBack => Family::FallBack,
            Kind::Other => Family::Rule,
        };
        assert_eq!(family, expected, "{name}");
    }
}
