//! A side that is a scheduler of sched_ext.

use crate::support::wakelab;
use std::path::Path;
use std::process::Output;

const SIMPLE: &str = "scx:../bpf/tests/data/scx_simple.bpf.o";

fn compare(kernel: &str, with: &str) -> Output {
    let args = [
        ["compare", "--no-cache"].as_slice(),
        &["--machine", "test-2c", "--kernel", kernel, "--workload", "netperf:TCP_RR", "--load", "2"],
        &["--base", "", "--with", with, "--settle", "5ms", "--time", "20ms", "--repeat", "1"],
    ];
    wakelab(Path::new(env!("CARGO_MANIFEST_DIR")), &args.concat())
}

#[test]
fn a_side_can_be_an_object_with_a_variable_that_is_set() {
    for with in [SIMPLE.to_owned(), format!("{SIMPLE},scx.fifo_sched=1"), format!("mine={SIMPLE}")] {
        let output = compare("v7.2", &with);
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{errors}");
        assert!(text.contains("scheduler scx_simple (base the fair class)"), "{text}");
        assert!(!errors.contains("every difference is 0"), "{errors}");
    }
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let cases = [
        ("v7.2", "scx:no.bpf.o".to_owned(), "expected the object of a scheduler"),
        ("v7.2", "scx:../bpf/tests/data/kernel.o".to_owned(), "no struct_ops of the type sched_ext_ops"),
        ("v7.2", "scx:../bpf/tests/data/scx_simple.bpf.c".to_owned(), "clang -g -O2 -target bpf -c"),
        ("v7.2", format!("{SIMPLE},scx.nope=1"), "the object has no variable nope"),
        ("v7.2", format!("{SIMPLE},scx.fifo_sched=300"), "fifo_sched"),
        ("v7.2", "scx.fifo_sched=1".to_owned(), "expected scx:PATH, too"),
        ("v6.1", SIMPLE.to_owned(), "has no sched_ext"),
        ("v6.12", SIMPLE.to_owned(), "no types of v6.12 are here"),
    ];
    for (kernel, with, error) in cases {
        let output = compare(kernel, &with);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{with}: {errors}");
        assert!(output.stdout.is_empty() && errors.starts_with("error: --with: "), "{with}: {errors}");
        assert!(errors.contains(error), "{with}: {errors}");
    }
}
