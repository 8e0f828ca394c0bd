//! Intervals of CPUs as a heat map, in memory that does not grow with their number.

use super::heat::{Heat, HeatRow};
use crate::limits;

/// What a CPU does in an interval; else it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It runs a task.
    Running,
    /// It searches for a CPU, in the wake-up path.
    Searching,
}

/// Makes a [`Heat`] of intervals that come in any order. It holds two sums for each bin.
#[derive(Debug)]
pub struct HeatBuilder {
    side: String,
    cpus: usize,
    /// CPUs in a row: 1, 2, 4 and so on.
    group: usize,
    start_ns: u64,
    bin_ns: u64,
    bins: usize,
    /// ns of each row and bin: running, searching.
    sums: Vec<[u64; 2]>,
}

impl HeatBuilder {
    /// For CPUs `0..cpus` from `start_ns` to `end_ns`, in 100 bins of time. Machines of more than
    /// [`limits::HEAT_ROWS`] CPUs have 2, 4 or more CPUs in a row.
    pub fn new(side: impl Into<String>, cpus: usize, start_ns: u64, end_ns: u64) -> Self {
        let mut group = 1;
        while cpus.div_ceil(group) > limits::HEAT_ROWS {
            group *= 2;
        }
        let time = end_ns.saturating_sub(start_ns).max(1);
        let bin_ns = time.div_ceil(100);
        let bins = time.div_ceil(bin_ns) as usize;
        let sums = vec![[0; 2]; cpus.div_ceil(group) * bins];
        Self { side: side.into(), cpus, group, start_ns, bin_ns, bins, sums }
    }

    /// `cpu` did this from `from_ns` to `to_ns`. What is outside of the map's time or CPUs is left out. Intervals of one
    /// CPU must not overlap: a search within a task's run is to be taken out of the run by the caller.
    pub fn add(&mut self, cpu: usize, from_ns: u64, to_ns: u64, doing: Doing) {
        if cpu >= self.cpus {
            return;
        }
        let end = self.bin_ns * self.bins as u64;
        let (mut at, to) = (from_ns.saturating_sub(self.start_ns), to_ns.saturating_sub(self.start_ns).min(end));
        while at < to {
            let bin = at / self.bin_ns;
            let until = to.min((bin + 1) * self.bin_ns);
            self.sums[cpu / self.group * self.bins + bin as usize][doing as usize] += until - at;
            at = until;
        }
    }

    /// The map.
    pub fn finish(self) -> Heat {
        let row = |(i, sums): (usize, &[[u64; 2]])| {
            let (first, last) = (i * self.group, (i * self.group + self.group).min(self.cpus) - 1);
            let whole = ((last - first + 1) as u64 * self.bin_ns) as f64;
            let shares = |of: usize| sums.iter().map(|sum| (sum[of] as f64 / whole).min(1.0) as f32).collect();
            let cpus = if first == last { first.to_string() } else { format!("{first}-{last}") };
            HeatRow { cpus, running: shares(0), searching: shares(1) }
        };
        let rows = self.sums.chunks(self.bins).enumerate().map(row).collect();
        Heat { side: self.side.clone(), start_ms: self.start_ns as f64 / 1e6, bin_ms: self.bin_ns as f64 / 1e6, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shared_among_the_bins_it_touches() {
        let mut builder = HeatBuilder::new("base", 2, 1000, 2000);
        builder.add(1, 1005, 1025, Doing::Running);
        builder.add(1, 1025, 1027, Doing::Searching);
        builder.add(1, 900, 1002, Doing::Running);
        builder.add(7, 1000, 2000, Doing::Running);
        let heat = builder.finish();
        assert_eq!(heat.rows[1].running[..4], [0.7, 1.0, 0.5, 0.0]);
        assert_eq!(heat.rows[1].searching[2], 0.2);
        assert!(heat.rows[0].running.iter().all(|share| *share == 0.0));
        assert_eq!((heat.rows.len(), heat.rows[0].running.len()), (2, 100));
    }

    #[test]
    fn many_cpus_are_brought_together_in_rows() {
        let mut builder = HeatBuilder::new("base", 1024, 0, 1_000_000_000);
        builder.add(1023, 0, 1_000_000_000, Doing::Running);
        let heat = builder.finish();
        assert_eq!((heat.rows.len(), heat.rows[127].cpus.as_str()), (128, "1016-1023"));
        assert!(heat.rows[127].running.iter().all(|share| (*share - 0.125).abs() < 1e-6));
    }
}
