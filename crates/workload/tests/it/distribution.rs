//! `[[distribution]]` in a workload's file.

use std::path::Path;
use wakelab_workload::{Op, from_toml};

fn file(step: &str, distribution: &str) -> String {
    format!(
        "[workload]\nbenchmark = \"t\"\ncase = \"t\"\nmetric = \"throughput\"\nunit = \"rounds/s\"\n\
         better = \"higher\"\n\
         {distribution}\n[[program]]\nname = \"p\"\nops = [\"begin\", {step}, \"done\", {{repeat = {{to = 0}}}}]\n\
         [[task]]\nname = \"t\"\nprogram = \"p\"\n"
    )
}

const WORK: &str = "[[distribution]]\nname = \"work\"\nns = [100, 200, 900]\n";

fn error(step: &str, distribution: &str) -> String {
    from_toml(&file(step, distribution), Path::new("t.toml"), 1).expect_err("it is wrong").to_string()
}

#[test]
fn a_step_takes_its_amount_from_a_distribution() {
    let workload = from_toml(&file("{run = {from = \"work\"}}", WORK), Path::new("t.toml"), 1).expect("a workload");
    assert_eq!(workload.distributions[0].values, [100, 200, 900]);
    let Op::Run(work) = workload.programs[0].ops[1] else { panic!("{:?}", workload.programs[0].ops) };
    assert_eq!((work.ns, work.distribution.map(u32::from)), (400, Some(1)));
}

#[test]
fn what_is_wrong_is_named_with_what_was_expected() {
    let unknown = error("{run = {from = \"wrok\"}}", WORK);
    assert!(unknown.contains("wrok") && unknown.contains("work"), "{unknown}");
    let jitter = error("{run = {from = \"work\"}, jitter = 10}", WORK);
    assert!(jitter.contains("jitter"), "{jitter}");
    let none = error("{run = {from = \"work\"}}", "[[distribution]]\nname = \"work\"\nns = []\n");
    assert!(none.contains("1 to 65536 values, found 0"), "{none}");
    let missing = error("{run = \"1us\"}", "[[distribution]]\nname = \"work\"\n");
    assert!(missing.contains("ns"), "{missing}");
}
