//! The model of netperf: what it is built of, at every load.

use proptest::prelude::*;
use std::collections::BTreeMap;
use wakelab_workload::{About, Load, Op, Program, Workload, build, describe};

fn at(case: &str, pairs: u32, options: &[(&str, u64)]) -> Workload {
    let options: BTreeMap<String, u64> = options.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    build(&format!("netperf:{case}"), Load::Instances(pairs), 112, &options).unwrap()
}

fn program<'a>(workload: &'a Workload, name: &str) -> &'a Program {
    workload.programs.iter().find(|program| program.name == name).unwrap()
}

/// When the shell and netserver, which fork the pairs, sleep, ns.
const FORKERS_SLEEP_NS: u64 = 100_000;

proptest! {
    #[test]
    fn pairs_are_forked_server_first_one_after_another_within_the_ramp(
        pairs in 1_u32..600, ramp in 0_u64..1_000_000_000,
    ) {
        let workload = at("TCP_RR", pairs, &[("ramp", ramp)]);
        prop_assert_eq!(workload.validate(1), Ok(()));
        prop_assert_eq!(workload.tasks.len(), 2 * pairs as usize + 2);
        prop_assert_eq!(workload.channels.len(), 2 * pairs as usize + 2);
        let (of_pairs, forkers) = workload.tasks.split_at(2 * pairs as usize);
        let [shell, daemon] = [2 * pairs, 2 * pairs + 1];
        for (forker, (name, index)) in forkers.iter().zip([("shell", shell), ("netserver", daemon)]) {
            prop_assert_eq!(forker.name.as_str(), name);
            prop_assert_eq!(&*forker.channels, &[index]);
            prop_assert_eq!((forker.start_ns, forker.parent), (0, None));
            prop_assert_eq!(&workload.programs[forker.program as usize].ops, &[Op::Recv { channel: 0 }]);
        }
        prop_assert!(of_pairs.is_sorted_by_key(|task| task.start_ns));
        for (i, pair) in of_pairs.chunks(2).enumerate() {
            prop_assert_eq!(&pair[0].name, &format!("netserver {i}"));
            prop_assert_eq!(&pair[1].name, &format!("netperf {i}"));
            prop_assert_eq!(&pair[0].channels, &pair[1].channels);
            prop_assert_eq!(&*pair[0].channels, &[2 * i as u32, 2 * i as u32 + 1]);
            prop_assert_eq!([pair[0].parent, pair[1].parent], [Some(daemon), Some(shell)]);
            prop_assert_eq!(pair[0].start_ns, FORKERS_SLEEP_NS + ramp * i as u64 / u64::from(pairs));
            prop_assert_eq!(pair[0].start_ns, pair[1].start_ns);
            prop_assert!(pair[0].start_ns < FORKERS_SLEEP_NS + ramp.max(1));
        }
    }
}

#[test]
fn messages_are_sent_from_softirq_context_with_the_sync_hint() {
    let workload = at("TCP_RR", 1, &[]);
    assert_eq!(workload.programs.len(), 4);
    for program in &workload.programs[..2] {
        let sends: Vec<_> = program.ops.windows(2).filter(|ops| matches!(ops[1], Op::Send { .. })).collect();
        assert_eq!(sends.len(), 1);
        assert!(matches!(sends[0], [Op::Softirq(_), Op::Send { sync: true, .. }]), "{}", program.name);
    }
}

#[test]
fn a_client_waits_for_each_reply_within_its_transaction() {
    let client = at("TCP_RR", 1, &[]).programs[1].clone();
    let kinds: Vec<_> =
        client.ops.iter().map(|op| format!("{op:?}").split([' ', '(']).next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["Begin", "Run", "Softirq", "Send", "Recv", "Run", "Done", "Repeat"]);
}

#[test]
fn the_numbers_shown_are_those_of_the_steps_and_in_their_ranges() {
    for case in ["TCP_RR", "UDP_RR"] {
        let workload = at(case, 3, &[]);
        let value = |name: &str| workload.params.iter().find(|param| param.name == name).unwrap().value;
        for param in &workload.params {
            assert!((param.low..=param.high).contains(&param.value), "{case} {}", param.name);
            assert!(param.origin.starts_with("assumed: "), "{case} {}", param.name);
        }
        let Op::Run(send) = program(&workload, "netperf").ops[1] else { panic!("the client begins with the send") };
        let Op::Run(receive) = program(&workload, "netperf").ops[5] else { panic!("the client ends with the receive") };
        let Op::Softirq(softirq) = program(&workload, "netserver").ops[3] else {
            panic!("the server's third is softirq")
        };
        assert_eq!([send.ns, softirq.ns, receive.ns], ["send", "softirq", "receive"].map(value));
        assert!([send, softirq, receive].iter().all(|work| u64::from(work.jitter_pct) == value("jitter")));
    }
}

#[test]
fn udp_is_never_dearer_than_tcp() {
    let (tcp, udp) = (at("TCP_RR", 1, &[]), at("UDP_RR", 1, &[]));
    for (tcp, udp) in tcp.params.iter().zip(&udp.params) {
        assert_eq!(tcp.name, udp.name);
        assert!(udp.value <= tcp.value, "{}", tcp.name);
    }
}

#[test]
fn options_set_numbers_by_name_and_say_so() {
    let workload = at("TCP_RR", 1, &[("send", 77), ("jitter", 0)]);
    assert_eq!(program(&workload, "netperf").ops[1], Op::Run(wakelab_workload::Work::uniform(77, 0)));
    let send = workload.params.iter().find(|param| param.name == "send").unwrap();
    assert_eq!(send.value, 77);
    assert!(send.origin.starts_with("given instead of "), "{}", send.origin);
}

#[test]
fn wrong_options_names_and_loads_say_what_was_expected() {
    let options = |name: &str, value| BTreeMap::from([(name.to_owned(), value)]);
    let fails = |name: &str, load, options: &BTreeMap<String, u64>| build(name, load, 2, options).unwrap_err();
    let one = Load::Instances(1);

    let error = fails("netperf:TCP_RR", one, &options("sned", 1));
    assert_eq!(error.about, About::Param("sned".to_owned()));
    assert_eq!(
        error.to_string(),
        "netperf:TCP_RR has no parameter sned; expected send, softirq, receive, jitter, ramp\n  hint: did you mean \
         `send`?"
    );
    let error = fails("netperf:TCP_RR", one, &options("jitter", 101));
    assert_eq!(error.to_string(), "jitter = 101 % is out of range; expected 0 to 100");

    let error = fails("netperf:TCPRR", one, &BTreeMap::new());
    assert_eq!(error.about, About::Name);
    assert_eq!(
        error.to_string(),
        "there is no workload \"netperf:TCPRR\"; did you mean `netperf:TCP_RR` or `netperf:UDP_RR`?\n  hint: `wakelab \
         workload list` shows all workloads; the path of a file ends in .toml, or in .json for rt-app"
    );
    assert!(
        fails("x", one, &BTreeMap::new()).to_string().contains("hint: `wakelab workload list` shows all workloads")
    );

    let error = fails("netperf:TCP_RR", Load::Percent(25), &BTreeMap::new());
    assert_eq!(error.about, About::Load);
    assert_eq!(error.what, "a load of 25% of 2 CPUs is less than one instance; expected 1 or more");
}

#[test]
fn per_cent_of_the_cpus_are_pairs_and_the_label_is_the_tables() {
    let workload = build("netperf:UDP_RR", Load::Percent(200), 112, &BTreeMap::new()).unwrap();
    assert_eq!((workload.benchmark.as_str(), workload.case.as_str()), ("netperf", "UDP_RR"));
    assert_eq!(workload.load, "224 threads");
    assert_eq!(workload.tasks.len(), 448 + 2);
    assert_eq!((workload.metric.as_str(), workload.unit.as_str()), ("throughput", "trans/s"));
    assert!(workload.higher_is_better);
}

#[test]
fn a_description_is_one_pair() {
    let description = describe("netperf:TCP_RR").unwrap();
    let names: Vec<&str> = description.workload.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["netserver 0", "netperf 0", "shell", "netserver"]);
    assert!(description.doc.contains("sock_def_readable()"));
    assert!(description.case_doc.contains("TCP"));
}
