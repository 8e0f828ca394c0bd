//! What wake-ups read of an LLC (`sd_llc_shared`), and the searches under way in it.

use crate::model::Model;
use crate::numbered::Numbered;
use crate::search::{PositionEntry, SearchEntry};
use crate::system::System;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::LlcView;

/// `sd_llc_shared`.
#[derive(Clone, Debug)]
pub struct Llc {
    /// `has_idle_cores`.
    pub has_idle_cores: bool,
    /// `nr_idle_scan`.
    pub nr_idle_scan: i32,
    /// Searches under way that may probe CPUs of this LLC, except those that are positions.
    pub searches: Vec<SearchEntry>,
    /// Searches under way that are positions in this LLC.
    pub positions: Vec<PositionEntry>,
}

impl Llc {
    /// All LLCs, as the last balance of idle ones left them.
    pub fn all(model: &Model<'_>) -> Numbered<Self> {
        let of = |&first: &Cpu| Llc {
            has_idle_cores: model.domains.smt_active,
            nr_idle_scan: model.domains.sd_llc_size[first as usize] as i32,
            searches: Vec::new(),
            positions: Vec::new(),
        };
        model.llc_first.iter().map(of).collect()
    }
}

impl LlcView for System<'_> {
    #[inline]
    fn has_idle_cores(&self, cpu: Cpu) -> bool {
        self.llcs[self.model.idle_cores_of[cpu]].has_idle_cores
    }

    #[inline]
    fn nr_idle_scan(&self, cpu: Cpu) -> i32 {
        self.llcs[self.model.llc_of[cpu]].nr_idle_scan
    }

    fn asym_nr_idle_scan(&self, cpu: Cpu) -> i32 {
        if self.model.asym_idle_scan { self.asym_nr_idle_scan } else { self.nr_idle_scan(cpu) }
    }
}
