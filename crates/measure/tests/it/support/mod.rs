//! Events for the tests.

pub mod view;

use wakelab_events::sim::{Event, Queued};
use wakelab_sched::select::{AffineDetail, Decision, Effects, Reason, SearchCount};

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// The end of a search.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// In the fast path.
    Fast,
    /// On an idle CPU after this many probes.
    Found(u32),
    /// After one probe, without an idle CPU.
    Failed,
}

/// A wake-up of the workload whose search had this end.
pub fn wakeup(end: End) -> Event {
    Event::Wakeup {
        waker_cpu: 0,
        waker: Some(1),
        wakee: 2,
        prev_cpu: 0,
        decision: Some(decision(end)),
        cpu: 0,
        queued: Queued::Direct,
        began: 0,
        scan_began: None,
        scan_ended: None,
        claimed: false,
        workload: true,
    }
}

fn decision(end: End) -> Decision {
    let (reason, domain_search, probes, failed) = match end {
        End::Fast => (Reason::Prev, 0, 0, 0),
        End::Found(probes) => (Reason::Scan, 1, probes, 0),
        End::Failed => (Reason::None, 1, 1, 1),
    };
    let count = SearchCount { search: 1, domain_search, scanned: 1 + probes, failed };
    Decision { cpu: 0, reason, target: 0, affine: AffineDetail::NOT_ASKED, effects: Effects::default(), count }
}

/// A transaction with this latency, ns.
pub fn done(latency: u64) -> Event {
    Event::Done { task: 1, latency }
}

/// A migration by load balancing.
pub fn migrate() -> Event {
    Event::Migrate { task: 1, from: 0, to: 1 }
}

/// A periodic load balance of an LLC.
pub fn idle_scan(sum_util: u64, weight: u32) -> Event {
    Event::IdleScan { llc: 0, sum_util, weight, nr_idle_scan: Some(0) }
}
