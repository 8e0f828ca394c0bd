//! What each CPU did over time: a heat map of CPU × time, and its builder, which sums intervals up as they arrive.

use crate::figure::{Figure, num};
use crate::text::{number, signed};
use crate::view::View;
use crate::{Error, Page, limits};
use serde::Serialize;

/// The heat map of one side: for each CPU and bin of time, the share of the bin in which the CPU ran tasks, searched or
/// was idle. [`crate::HeatBuilder`] builds one from intervals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Heat {
    /// The side's name.
    pub side: String,
    /// The start of the first bin, ms.
    pub start_ms: f64,
    /// The length of a bin, ms; more than 0.
    pub bin_ms: f64,
    /// The end of the last bin, ms, which may be shorter than the others: it ends with the run.
    pub end_ms: f64,
    /// A row for each CPU or group of CPUs; at most [`crate::limits::HEAT_ROWS`].
    pub rows: Vec<HeatRow>,
}

/// A CPU, or a group of adjacent CPUs, over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct HeatRow {
    /// The CPUs: `5`, or `8-11` for a group.
    pub cpus: String,
    /// The share of each bin in which tasks ran, 0 to 1. All rows have the same number of bins, at most
    /// [`crate::limits::HEAT_BINS`]. The page rounds to 0.1 %.
    pub running: Vec<f32>,
    /// The share of each bin in which a wake-up searched for a CPU, 0 to 1. The rest of the bin is idle.
    pub searching: Vec<f32>,
}

/// Rounds a share to a tenth of a per cent.
fn pct(share: f64) -> f64 {
    (share.clamp(0.0, 1.0) * 1000.0).round() / 10.0
}

fn check(heat: &Heat) -> Result<usize, Error> {
    let bins = heat.rows.first().map_or(0, |row| row.running.len());
    let what = || format!("the heat map of {}", heat.side);
    for (what, found, limit) in [("rows", heat.rows.len(), limits::HEAT_ROWS), ("bins", bins, limits::HEAT_BINS)] {
        if found > limit {
            let hint = "make it with HeatBuilder, which brings CPUs and time together";
            return Err(Error::TooMuch { what: format!("{what} in a heat map"), found, limit, hint });
        }
    }
    if heat.rows.iter().any(|row| row.running.len() != bins || row.searching.len() != bins) {
        return Err(Error::Inconsistent {
            what: what(),
            why: format!("expected {bins} bins in each row, as in the first"),
        });
    }
    if heat.bin_ms.is_nan() || heat.bin_ms <= 0.0 {
        return Err(Error::Inconsistent {
            what: what(),
            why: format!("a bin of {} ms, expected more than 0", heat.bin_ms),
        });
    }
    let last_ms = heat.start_ms + heat.bin_ms * (bins as f64 - 1.0);
    if bins > 0 && !(heat.end_ms > last_ms && heat.end_ms <= last_ms + heat.bin_ms * 1.000_001) {
        return Err(Error::Inconsistent {
            what: what(),
            why: format!("it ends at {} ms, expected within the last bin, from {last_ms} ms", heat.end_ms),
        });
    }
    Ok(bins)
}

/// A moment, ms, to a ns.
fn ms(at: f64) -> f64 {
    (at * 1e6).round() / 1e6
}

impl Heat {
    /// The ends of a bin, ms.
    fn ends(&self, bin: usize) -> [f64; 2] {
        let at = |bin: usize| ms(self.start_ms + self.bin_ms * bin as f64);
        [at(bin), at(bin + 1).min(ms(self.end_ms))]
    }

    fn bins(&self) -> usize {
        self.rows.first().map_or(0, |row| row.running.len())
    }
}

/// The difference of two maps, percentage points of a bin.
struct Difference {
    cpus: String,
    ends: [f64; 2],
    running: f64,
    searching: f64,
}

/// What `with` did more than `base` in each bin, in the wider of their bins and as far as both go. `None` if their rows
/// are not of the same CPUs, or if their bins do not begin together: those of [`HeatBuilder`] double from 1 us on.
fn difference(base: &Heat, with: &Heat) -> Option<Vec<Difference>> {
    let cpus = |heat: &Heat| heat.rows.iter().map(|row| row.cpus.clone()).collect::<Vec<_>>();
    let (wide, fine) = if base.bin_ms >= with.bin_ms { (base, with) } else { (with, base) };
    let times = (wide.bin_ms / fine.bin_ms).round();
    let together = (wide.bin_ms - times * fine.bin_ms).abs() < 1e-9 * wide.bin_ms;
    if cpus(base) != cpus(with) || ms(base.start_ms) != ms(with.start_ms) || !together {
        return None;
    }
    // The mean of the share over the bins of a map that lie in a bin of the wider one, as far as both maps go.
    let end_ms = base.end_ms.min(with.end_ms);
    let mean = |heat: &Heat, shares: &[f32], [from, to]: [f64; 2]| {
        let (mut sum, mut whole) = (0.0, 0.0);
        let first = ((from - heat.start_ms) / heat.bin_ms).round().max(0.0) as usize;
        for (bin, share) in shares.iter().enumerate().skip(first) {
            let ends = heat.ends(bin);
            if ends[0] >= to {
                break;
            }
            let over = ends[1].min(to) - ends[0];
            (sum, whole) = (sum + f64::from(*share) * over, whole + over);
        }
        if whole > 0.0 { sum / whole } else { 0.0 }
    };
    let mut all = Vec::new();
    for (of_base, of_with) in base.rows.iter().zip(&with.rows) {
        for bin in 0..wide.bins() {
            let [from, to] = wide.ends(bin);
            let ends = [from, to.min(ms(end_ms))];
            if ends[0] >= ends[1] {
                break;
            }
            let of =
                |shares: fn(&HeatRow) -> &[f32]| mean(with, shares(of_with), ends) - mean(base, shares(of_base), ends);
            let [running, searching] = [of(|row| &row.running), of(|row| &row.searching)];
            all.push(Difference { cpus: of_base.cpus.clone(), ends, running, searching });
        }
    }
    Some(all)
}

/// Rounds a difference of shares to a tenth of a percentage point.
fn points(difference: f64) -> f64 {
    (difference.clamp(-1.0, 1.0) * 1000.0).round() / 10.0
}

/// The chart of the difference of two sides; `None` if there are not two, or if their maps cannot be compared.
fn difference_figure(heat: &[Heat]) -> Option<Figure> {
    let [base, with] = heat else { return None };
    let mut figure =
        Figure::new("heat-difference-chart", "heatdifference", format!("{} less {}", with.side, base.side))
            .column("cpus", "CPU", "")
            .column("from_ms", "From", "ms")
            .column("to_ms", "To", "ms")
            .column("running_points", "Running", "points")
            .column("searching_points", "Searching", "points")
            .column("idle_points", "Idle", "points");
    let mut sums = [0.0; 2];
    let all = difference(base, with)?;
    for Difference { cpus, ends, running, searching } in &all {
        sums = [sums[0] + running, sums[1] + searching];
        let idle = -running - searching;
        let values = [ends[0], ends[1], points(*running), points(*searching), points(idle)];
        figure.row(std::iter::once(cpus.as_str().into()).chain(values.map(num)).collect::<Vec<_>>());
    }
    let [running, searching] = sums.map(|sum| signed(100.0 * sum / all.len().max(1) as f64, 1));
    figure.summary = format!(
        "{}: tasks ran {running} percentage points of the time of a CPU more than with {}, searches {searching}.",
        with.side, base.side
    );
    Some(figure)
}

pub(crate) fn view(page: &Page, figures: &mut Vec<Figure>) -> Result<Option<View>, Error> {
    if page.heat.is_empty() {
        return Ok(None);
    }
    let found = page.heat.len();
    if found > limits::HEATS {
        let hint = "show the sides of one load only";
        return Err(Error::TooMuch { what: "heat maps".into(), found, limit: limits::HEATS, hint });
    }
    let mut view = View::new("heat", "What each CPU did over time");
    view.text(
        "Each cell is a CPU in a bin of time; its colour is the share of the bin spent in the state chosen above.",
    );
    let mut figure = Figure::new("heat-chart", "heat", "CPUs over time")
        .column("side", "Side", "")
        .column("cpus", "CPU", "")
        .column("from_ms", "From", "ms")
        .column("to_ms", "To", "ms")
        .column("running_pct", "Running", "%")
        .column("searching_pct", "Searching", "%")
        .column("idle_pct", "Idle", "%");
    let mut said = Vec::new();
    for heat in &page.heat {
        let bins = check(heat)?;
        let mut sums = [0.0; 2];
        for row in &heat.rows {
            for bin in 0..bins {
                let shares = [f64::from(row.running[bin]), f64::from(row.searching[bin])];
                sums = [sums[0] + shares[0], sums[1] + shares[1]];
                let ends = heat.ends(bin).map(num);
                let idle = pct(1.0 - shares[0] - shares[1]);
                let texts = [&heat.side, &row.cpus].map(|text| text.as_str().into());
                let values = [num(pct(shares[0])), num(pct(shares[1])), num(idle)];
                figure.row(texts.into_iter().chain(ends).chain(values).collect::<Vec<_>>());
            }
        }
        let cells = (heat.rows.len() * bins).max(1) as f64;
        let [running, searching] = sums.map(|sum| number(100.0 * sum / cells));
        said.push(format!("{}: CPUs ran tasks for {running} % of the time and searched for {searching} %.", heat.side));
    }
    figure.summary = said.join(" ");
    view.figure(figure, figures);
    if let Some(figure) = difference_figure(&page.heat) {
        view.figure(figure, figures);
    }
    Ok(Some(view))
}

/// The activity of a CPU in an interval. Outside of all intervals it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It runs a task.
    Running,
    /// It searches for a CPU, in the wake-up path.
    Searching,
}

/// The length of a bin at the start, ns.
const FIRST_BIN_NS: u64 = 1_000;

/// Time of a row in a bin, ns: running, searching.
type Sums = [u64; 2];

/// Builds a [`Heat`] from intervals in any order. It holds two sums for each bin. When time exceeds the last bin, it
/// merges the bins in pairs; when more CPUs arrive than there are rows for, it merges the rows in pairs.
#[derive(Debug, Clone)]
pub struct HeatBuilder {
    start_ns: u64,
    bin_ns: u64,
    /// CPUs in a row: 1, 2, 4 and so on.
    group: usize,
    rows: Vec<Vec<Sums>>,
    /// One past the highest CPU so far.
    cpus: usize,
}

impl HeatBuilder {
    /// Creates an empty map that begins at `start_ns`.
    pub fn new(start_ns: u64) -> Self {
        Self { start_ns, bin_ns: FIRST_BIN_NS, group: 1, rows: Vec::new(), cpus: 0 }
    }

    /// Adds an interval of `cpu` from `from_ns` to `to_ns`. The part before the start of the map is left out. Intervals
    /// of one CPU must not overlap: the caller subtracts a search from the run of the task that makes it.
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
            // The end of the last bin may be later than any time.
            let until = to.min((bin + 1).saturating_mul(self.bin_ns));
            let sum = &mut row[bin as usize][doing as usize];
            *sum = sum.saturating_add(until - at);
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

    /// Merges rows in pairs until the rows of all CPUs fit.
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

    /// Returns the map of `side` until `end_ns` for `cpus` CPUs, or for more if intervals of more were added. A machine
    /// with more than [`limits::HEAT_ROWS`] CPUs has 2, 4 or more CPUs in a row.
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
            // The map may end within the last bin.
            let ns = |bin: usize| self.bin_ns.min(time.saturating_sub(bin as u64 * self.bin_ns).max(1));
            let whole = |bin: usize| ((last - first + 1) as u64).saturating_mul(ns(bin)) as f64;
            let share =
                |bin: usize, of: usize| sums.get(bin).map_or(0.0, |sum| (sum[of] as f64 / whole(bin)).min(1.0) as f32);
            let shares = |of: usize| (0..bins).map(|bin| share(bin, of)).collect();
            let cpus = if first == last { first.to_string() } else { format!("{first}-{last}") };
            HeatRow { cpus, running: shares(0), searching: shares(1) }
        };
        let rows = (0..self.cpus.div_ceil(self.group)).map(row).collect();
        // Intervals may go on after the end.
        let whole = (bins as u64).saturating_mul(self.bin_ns);
        let covered = if time.div_ceil(self.bin_ns) as usize == bins { time } else { whole };
        let end_ns = self.start_ns.saturating_add(covered);
        let [start_ms, bin_ms, end_ms] = [self.start_ns, self.bin_ns, end_ns].map(|ns| ns as f64 / 1e6);
        Heat { side: side.into(), start_ms, bin_ms, end_ms, rows }
    }
}

fn add(sums: &[Sums]) -> Sums {
    sums.iter().fold(Sums::default(), |sum, one| [sum[0].saturating_add(one[0]), sum[1].saturating_add(one[1])])
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Heat {
        fn with_start(self, start_ms: f64) -> Self {
            Heat { start_ms, ..self }
        }
    }

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
    fn the_last_bin_ends_with_the_run() {
        let mut builder = HeatBuilder::new(1_000_000);
        builder.add(0, 1_002_000, 1_002_250, Doing::Running);
        let heat = builder.finish("base", 1, 1_002_500);
        assert_eq!(heat.rows[0].running, [0.0, 0.0, 0.5]);
        assert_eq!([heat.ends(0), heat.ends(2)], [[1.0, 1.001], [1.002, 1.0025]]);
        assert_eq!(check(&heat), Ok(3));
        assert!(check(&Heat { end_ms: 1.0031, ..heat }).is_err(), "a bin that is too long");
    }

    #[test]
    fn a_difference_is_in_the_wider_bins_and_as_far_as_both_go() {
        let map = |end_ns: u64, ran: &[(u64, u64)]| {
            let mut builder = HeatBuilder::new(0);
            ran.iter().for_each(|&(from, to)| builder.add(1, from, to, Doing::Running));
            builder.finish("", 2, end_ns)
        };
        let base = map(100_000, &[(0, 1_000), (3_000, 4_000)]);
        // Its bins are of 2 us, as it is longer than 120 us.
        let with = map(130_000, &[(0, 2_000), (99_000, 130_000)]);
        assert_eq!((base.bin_ms, with.bin_ms), (0.001, 0.002));
        let found = difference(&base, &with).unwrap();
        assert_eq!(found.len(), 2 * 50);
        let of_cpu_1 = &found[50..];
        assert_eq!((of_cpu_1[0].ends, of_cpu_1[0].running), ([0.0, 0.002], 0.5));
        assert_eq!((of_cpu_1[1].ends, of_cpu_1[1].running), ([0.002, 0.004], -0.5));
        assert_eq!((of_cpu_1[49].ends, of_cpu_1[49].running), ([0.098, 0.1], 0.5));
        assert!(found[..50].iter().all(|one| one.running == 0.0 && one.searching == 0.0));
        assert!(difference(&base, &map(130_000, &[]).with_start(0.5)).is_none(), "they begin at other times");
    }

    #[test]
    fn the_latest_time_ends_the_map() {
        let mut builder = HeatBuilder::new(0);
        for cpu in 0..limits::HEAT_ROWS * 2 {
            builder.add(cpu, 1, u64::MAX, Doing::Running);
        }
        let heat = builder.finish("base", limits::HEAT_ROWS * 2, u64::MAX);
        assert_eq!(heat.rows.len(), limits::HEAT_ROWS);
        assert!(heat.rows[0].running.iter().all(|share| *share > 0.9), "{:?}", heat.rows[0].running);
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
