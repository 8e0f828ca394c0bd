//! The core under a scheduler that does nothing, for tests of what its programs would see.

use wakelab_kernel::{ExtRules, Preset};
use wakelab_sched::CpuMask;
use wakelab_sched::domain::{DomainOptions, Topology, Uniform, build_sched_domains};
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{Declared, Ext, ExtCosts};
use wakelab_scx_core::idle::IdleTopology;
use wakelab_scx_core::ops::{Call, OpSet, Ops, TaskFields};

/// Operations that do nothing.
pub struct Nothing;

impl TaskFields for Nothing {
    fn slice(&self, _: TaskId) -> u64 {
        0
    }

    fn set_slice(&mut self, _: TaskId, _: u64) {}

    fn dsq_vtime(&self, _: TaskId) -> u64 {
        0
    }

    fn set_dsq_vtime(&mut self, _: TaskId, _: u64) {}
}

impl Ops for Nothing {
    fn call(&mut self, _: &mut Ext, _: Call) -> i64 {
        0
    }
}

/// A machine of one core with two CPUs.
pub fn two_cpus() -> Topology {
    Uniform::new(1, 2).topology()
}

/// 7.2's core on that machine. Of the affinities, 0 is of all CPUs and 1 of CPU 1.
pub fn ext_of_two_cpus() -> (Ext, Nothing) {
    let domains = build_sched_domains(&two_cpus(), &DomainOptions::of(Preset::get("v7.2").expect("a preset")))
        .expect("a machine");
    let declared = Declared {
        name: "nothing".to_owned(),
        ops: OpSet::default(),
        flags: 0,
        dispatch_max_batch: 0,
        timeout_ms: 0,
        cid_form: false,
    };
    let costs = ExtCosts { op: 0, dsq: 0, remote: 0, mask_words: 0 };
    let masks = vec![CpuMask::full(2), CpuMask::from_cpus(2, [1])];
    let topology = IdleTopology::new(&domains, |_, _| 10);
    (Ext::new(ExtRules::V7_2, declared, costs, topology, masks).expect("a scheduler"), Nothing)
}
