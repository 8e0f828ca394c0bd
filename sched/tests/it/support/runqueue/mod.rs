//! Run queues that several tests use.

pub mod cpu;
pub mod eevdf;
pub mod shares;

use wakelab_sched::runqueue::{Entities, FairRq};

/// The queue's virtual time, ns: `min_vruntime` of CFS, V of EEVDF.
pub fn virtual_time(rq: &FairRq, es: &Entities) -> u64 {
    match rq {
        FairRq::Cfs(rq) => rq.min_vruntime(),
        FairRq::Eevdf(rq) => rq.avg_vruntime(es),
    }
}
