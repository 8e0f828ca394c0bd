//! Intervals of CPUs as a heat map, in memory that grows neither with their number nor with the time they span.

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

/// The first bins are so long, ns.
const FIRST_BIN_NS: u64 = 1_000;

/// ns of a row and bin: running, searching.
type Sums = [u64; 2];

/// Makes a [`Heat`] of intervals that come in any order. It holds two sums for each bin; where more time comes than there are
/// bins for, each two become one, and rows likewise where more CPUs come.
#[derive(Debug, Clone)]
pub struct HeatBuilder {
    start_ns: u64,
    bin_ns: u64,
    /// CPUs in a row: 1, 2, 4 and so on.
    group: usize,
    rows: Vec<Vec<Sums>>,
    /// One past the highest CPU that came.
    cpus: usize,
}

impl HeatBuilder {
    /// A map that begins at `start_ns`.
    pub fn new(start_ns: u64) -> Self {
        Self { start_ns, bin_ns: FIRST_BIN_NS, group: 1, rows: Vec::new(), cpus: 0 }
    }

    /// `cpu` did this from `from_ns` to `to_ns`. What comes before the map's start is left out. Intervals of one CPU must
    /// not overlap: a search within a task's run is to be taken out of the run by the caller.
    pub fn add(&mut self, cpu: usize, from_ns: u64, to_ns: u64, doing: Doing) {
        let (mut at, to) = (from_ns.saturating_sub(self.start_ns), to_ns.saturating_sub(self.start_ns));
        if at >= to {
            return;
        }
        while (to - 1) / self.bin_ns >= limits::HEAT_BINS as u64 {
            self.lengthen();
        }
        if cpu >= self.cpus {
            self.cpus = cpu + 1;
            self.widen();
        }
        let row = cpu / self.group;
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let (row, last) = (&mut self.rows[row], ((to - 1) / self.bin_ns) as usize);
        if row.len() <= last {
            row.resize(last + 1, Sums::default());
        }
        while at < to {
            let bin = at / self.bin_ns;
            let until = to.min((bin + 1) * self.bin_ns);
            row[bin as usize][doing as usize] += until - at;
            at = until;
        }
    }

    #[cold]
    fn lengthen(&mut self) {
        self.bin_ns *= 2;
        for row in &mut self.rows {
            *row = row.chunks(2).map(add).collect();
        }
    }

    /// Brings rows together until those of all CPUs fit.
    fn widen(&mut self) {
        while self.cpus.div_ceil(self.group) > limits::HEAT_ROWS {
            self.group *= 2;
            let together = |two: &[Vec<Sums>]| {
                let bins = two.iter().map(Vec::len).max().unwrap_or(0);
                let of = |bin| two.iter().map(move |row| row.get(bin).copied().unwrap_or_default());
                (0..bins).map(|bin| add(&of(bin).collect::<Vec<_>>())).collect()
            };
            self.rows = self.rows.chunks(2).map(together).collect();
        }
    }

    /// The map of `side` until `end_ns`, of `cpus` CPUs or however many came. Machines of more than [`limits::HEAT_ROWS`] CPUs
    /// have 2, 4 or more CPUs in a row.
    pub fn finish(mut self, side: impl Into<String>, cpus: usize, end_ns: u64) -> Heat {
        let time = end_ns.saturating_sub(self.start_ns).max(1);
        while (time - 1) / self.bin_ns >= limits::HEAT_BINS as u64 {
            self.lengthen();
        }
        self.cpus = self.cpus.max(cpus);
        self.widen();
        let longest = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let bins = longest.max(time.div_ceil(self.bin_ns) as usize);
        let row = |i: usize| {
            let (first, last) = (i * self.group, (i * self.group + self.group).min(self.cpus) - 1);
            let sums = self.rows.get(i).map_or(&[][..], Vec::as_slice);
            // The last bin may be over before its end.
            let ns = |bin: usize| self.bin_ns.min(time.saturating_sub(bin as u64 * self.bin_ns).max(1));
            let whole = |bin: usize| ((last - first + 1) as u64 * ns(bin)) as f64;
            let share =
                |bin: usize, of: usize| sums.get(bin).map_or(0.0, |sum| (sum[of] as f64 / whole(bin)).min(1.0) as f32);
            let shares = |of: usize| (0..bins).map(|bin| share(bin, of)).collect();
            let cpus = if first == last { first.to_string() } else { format!("{first}-{last}") };
            HeatRow { cpus, running: shares(0), searching: shares(1) }
        };
        let rows = (0..self.cpus.div_ceil(self.group)).map(row).collect();
        Heat { side: side.into(), start_ms: self.start_ns as f64 / 1e6, bin_ms: self.bin_ns as f64 / 1e6, rows }
    }
}

fn add(sums: &[Sums]) -> Sums {
    sums.iter().fold(Sums::default(), |sum, one| [sum[0] + one[0], sum[1] + one[1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_shared_among_the_bins_it_touches() {
        let mut builder = HeatBuilder::new(1_000_000);
        builder.add(1, 1_000_250, 1_001_250, Doing::Running);
        builder.add(1, 1_001_250, 1_001_350, Doing::Searching);
        builder.add(1, 900_000, 1_000_100, Doing::Running);
        let heat = builder.finish("base", 3, 1_003_000);
        assert_eq!(heat.rows[1].running, [0.85, 0.25, 0.0]);
        assert_eq!(heat.rows[1].searching[1], 0.1);
        assert!(heat.rows[0].running.iter().chain(&heat.rows[2].running).all(|share| *share == 0.0));
        assert_eq!((heat.rows.len(), heat.start_ms, heat.bin_ms), (3, 1.0, 0.001));
    }

    #[test]
    fn however_long_it_takes_no_time_is_lost() {
        let mut builder = HeatBuilder::new(0);
        (0..10_000).for_each(|ms| builder.add(0, ms * 1_000_000, ms * 1_000_000 + 250_000, Doing::Running));
        let heat = builder.finish("base", 1, 10_000_000_000);
        let bins = heat.rows[0].running.len();
        assert!((limits::HEAT_BINS / 2..=limits::HEAT_BINS).contains(&bins), "{bins}");
        let over = |bin: usize| heat.bin_ms.min(10_000.0 - bin as f64 * heat.bin_ms);
        let ran: f64 = (0..).zip(&heat.rows[0].running).map(|(bin, share)| f64::from(*share) * over(bin)).sum();
        assert!((ran - 2500.0).abs() < 0.01, "{ran} ms");
    }

    #[test]
    fn many_cpus_are_brought_together_in_rows() {
        let mut builder = HeatBuilder::new(0);
        builder.add(0, 0, 1_000_000_000, Doing::Running);
        builder.add(1023, 0, 1_000_000_000, Doing::Running);
        let heat = builder.finish("base", 1024, 1_000_000_000);
        assert_eq!((heat.rows.len(), heat.rows[127].cpus.as_str()), (128, "1016-1023"));
        assert!(heat.rows[127].running.iter().all(|share| (*share - 0.125).abs() < 1e-6), "the last bin, too");
        assert!((heat.rows[0].running[0] - 0.125).abs() < 1e-6);
    }
}
