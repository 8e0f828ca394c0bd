//! Objects under each kernel that has sched_ext: their programs are relocated to its types, and what it lacks is named.

use crate::support::{MS, simulate_on, spinners};
use wakelab_kernel::Preset;
use wakelab_scx_bpf::BpfScheduler;
use wakelab_sim::check_scheduler;
use wakelab_workload::synthetic::ping_pong;

const SIMPLE: &[u8] = include_bytes!("../../../bpf/tests/data/scx_simple.bpf.o");
const QMAP: &[u8] = include_bytes!("../data/scx_qmap.bpf.o");
const GROUPS: &[u8] = include_bytes!("../data/groups.bpf.o");

const KERNELS: [&str; 3] = ["v6.12", "v6.18", "v7.2"];

fn scheduler(name: &str, object: &[u8]) -> BpfScheduler {
    BpfScheduler::new(name, object, name).unwrap()
}

/// Its macros call `scx_bpf_dispatch()` and `scx_bpf_consume()` where `scx_bpf_dsq_insert()` and
/// `scx_bpf_dsq_move_to_local()` are missing, as in 6.12.
#[test]
fn scx_simple_shares_by_weight_under_each() {
    let simple = scheduler("scx_simple", SIMPLE);
    for kernel in KERNELS {
        let (outcome, done) = simulate_on(kernel, &simple, "intel-kaby-lake-4c8t", &ping_pong(3), 50 * MS);
        outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        assert!(done.0.len() >= 3 && done.0.values().all(|&done| done > 500), "{kernel}: {done:?}");
        let (outcome, done) = simulate_on(kernel, &simple, "test-1c", &spinners(&[0, 0, 0, 5, 5, 5]), 6_000 * MS);
        outcome.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let done: Vec<u32> = done.0.into_values().collect();
        let [heavy, light] = [&done[..3], &done[3..]].map(|done| f64::from(done.iter().sum::<u32>()));
        assert!((heavy / light / (100.0 / 33.0) - 1.0).abs() < 0.05, "{kernel}: {done:?}");
    }
}

#[test]
fn what_a_kernel_lacks_is_named() {
    for (object, kernel, expected) in [
        (QMAP, "v6.12", "its struct_ops is a sched_ext_ops_cid, which the kernel does not have; expected 7.2"),
        (QMAP, "v6.18", "its struct_ops is a sched_ext_ops_cid, which the kernel does not have; expected 7.2"),
        (GROUPS, "v6.12", "types: byte_off of scx_cgroup_init_args.bw_quota_us, in groups_cgroup_init()"),
        (GROUPS, "v6.1", "v6.1 has no sched_ext that is modelled"),
    ] {
        let error = simulate_on(kernel, &scheduler("object", object), "test-2c", &ping_pong(1), MS).0;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{kernel}: {error}");
    }
}

/// 6.12 has neither `ops.cgroup_set_bandwidth()` nor `ops.cgroup_set_idle()`, which loaders take out.
#[test]
fn operations_that_came_later_are_left_out() {
    let machine = wakelab_machine::get("test-2c").unwrap();
    for kernel in KERNELS {
        let groups = scheduler("groups", GROUPS);
        let (_, mut warnings) = check_scheduler(&machine, Preset::get(kernel).unwrap(), &groups).unwrap();
        // Nobody knows its loader, which is another warning.
        warnings.retain(|warning| warning.ends_with("it is left out"));
        let left_out = |op| format!("groups: {kernel} has no ops.{op}(): it is left out");
        let expected = ["cgroup_set_bandwidth", "cgroup_set_idle"].map(left_out);
        let warnings: Vec<String> = warnings.into_iter().filter(|warning| !warning.contains("loader of")).collect();
        assert_eq!(warnings, if kernel == "v6.12" { &expected[..] } else { &[] });
    }
}
