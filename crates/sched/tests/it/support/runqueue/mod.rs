//! Run queues that several tests use.

pub mod cpu;
pub mod eevdf;
pub mod shares;

use wakelab_kernel::{Class, Preset};
use wakelab_sched::runqueue::{Entities, FairRq};

/// The names of all presets of a class.
pub fn presets_of(class: Class) -> impl Iterator<Item = &'static str> {
    Preset::all().iter().filter(move |preset| preset.fair.class() == class).map(|preset| preset.name)
}

/// The queue's virtual time, ns: `min_vruntime` of CFS, V of EEVDF.
pub fn virtual_time(rq: &FairRq, es: &Entities) -> u64 {
    match rq {
        FairRq::Groups(_) => unreachable!("these queues have no groups"),
        FairRq::Cfs(rq) => rq.min_vruntime(),
        FairRq::Eevdf(rq) => rq.avg_vruntime(es),
    }
}
