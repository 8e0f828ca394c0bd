//! `sis_util-select_idle_cpu-histogram`: the durations of `select_idle_cpu()` in the SIS_UTIL posting, and whether they
//! can be those of an untraced machine.

use super::{Published, PublishedTable, Recipe, Row, SIS_UTIL};
use crate::compare::PublishedError;
use crate::compare::published::CsvTable;
use crate::reproduce::Quantity;

/// The assumed cost of the tracer at each call, ns. With the scan, which takes 0.1 to 16 us, it adds up to the mode of
/// the histogram, 32 to 64 us. Assumed between 33 and 60 us; it is part of the rows, not of the machine.
const TRACER_NS: u64 = 40_000;

/// CPUs and seconds of the run.
const CPUS: f64 = 112.0;
const SECONDS: f64 = 100.0;

pub(super) struct SisUtilHistogram;

impl PublishedTable for SisUtilHistogram {
    fn name(&self) -> &'static str {
        "sis_util-select_idle_cpu-histogram"
    }

    fn columns(&self) -> &'static [&'static str] {
        &["usecs_from", "usecs_below", "count"]
    }

    fn row(&self, row: Row<'_>) -> Result<Vec<Published>, PublishedError> {
        Ok(vec![row.published(SIS_UTIL.recipe("netperf", "TCP_RR", "224 threads", &[]))])
    }

    /// Returns each bucket twice: without a tracer, and with one.
    fn complete(&self, file: &CsvTable, rows: Vec<Published>) -> Result<(Vec<Published>, Vec<String>), PublishedError> {
        let buckets = file.rows.iter().map(|row| bucket(Row { file, row })).collect::<Result<Vec<_>, _>>()?;
        let calls: f64 = buckets.iter().map(|bucket| bucket.count).sum();
        let share_pct = |count: f64| if calls > 0.0 { 100.0 * count / calls } else { 0.0 };
        let traced = |observer_cost_ns: u64| {
            rows.iter().zip(&buckets).map(move |(row, bucket)| {
                let mut row = row.clone();
                row.cells.push(("observer_cost_ns".to_owned(), observer_cost_ns.to_string()));
                row.recipe = row.recipe.map(|(recipe, load)| (Recipe { observer_cost_ns, ..recipe }, load));
                row.quantity = Quantity::CallUs { from: bucket.from as u64, below: bucket.below as u64 };
                row.values = Some([Some(share_pct(bucket.count)), None]);
                row
            })
        };
        let notes = notes(&buckets, domain_searches_per_cpu(file)?);
        Ok(([0, TRACER_NS].into_iter().flat_map(traced).collect(), notes))
    }
}

/// A bucket: its ends, us, and the calls in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    from: f64,
    below: f64,
    count: f64,
}

fn bucket(row: Row<'_>) -> Result<Bucket, PublishedError> {
    let ends = "0 or a power of two below 2^53, as in a bucket such as 32,64";
    let is_end = |us: f64| us == 0.0 || (us < 2f64.powi(53) && us.fract() == 0.0 && (us as u64).is_power_of_two());
    let from = row.number_that("usecs_from", ends, is_end)?;
    let next = if from == 0.0 { 1.0 } else { 2.0 * from };
    let below = row.number_that("usecs_below", &format!("{next}, the next power of two"), |us| us == next)?;
    let whole = |count: f64| count >= 0.0 && count.fract() == 0.0;
    let count = row.number_that("count", "a whole number, 0 or more", whole)?;
    Ok(Bucket { from, below, count })
}

/// The domain searches per CPU without the policy, from the file of the counters in the same folder.
fn domain_searches_per_cpu(file: &CsvTable) -> Result<Option<f64>, PublishedError> {
    let path = file.path().with_file_name("sis_util-224-threads-counters.csv");
    if !path.exists() {
        return Ok(None);
    }
    let table = CsvTable::read(&path, &["counter", "vanilla"])?;
    let row = table.rows.iter().find(|row| table.text(row, "counter").starts_with("sis_domain_search"));
    row.map_or(Ok(None), |row| table.number(row, "vanilla"))
}

/// What the sums of the buckets say, compared with the counters of the same posting.
fn notes(buckets: &[Bucket], domain_searches_per_cpu: Option<f64>) -> Vec<String> {
    let calls: f64 = buckets.iter().map(|bucket| bucket.count).sum();
    if calls == 0.0 {
        return Vec::new();
    }
    // Each call is taken to lie in the middle of its bucket.
    let us = buckets.iter().map(|bucket| bucket.count * (bucket.from + bucket.below) / 2.0).sum::<f64>();
    let seconds = us / 1e6;
    let (mean_us, machine_s) = (1e6 * seconds / calls, CPUS * SECONDS);
    let mut notes = vec![format!(
        "published: {calls} calls of {mean_us:.0} us on average (the middle of each bucket) are {seconds:.0} s, \
         {:.0}% of {CPUS} CPUs for {SECONDS} s",
        100.0 * seconds / machine_s
    )];
    if let Some(per_cpu) = domain_searches_per_cpu {
        let all = per_cpu * CPUS;
        notes.push(format!(
            "the counters of the posting have {per_cpu} domain searches per CPU, {all} in all: {:.1} times as many \
             calls, which at that average would take {:.1} machines; the tracer slowed what it traced",
            all / calls,
            all / calls * seconds / machine_s
        ));
    }
    notes.push(format!(
        "simulated without a tracer, and with one that costs {} us at each call (--observer-cost {TRACER_NS}), which \
         is assumed",
        TRACER_NS / 1000
    ));
    notes
}

#[cfg(test)]
mod tests {
    use super::super::{TABLES, read};
    use super::*;
    use std::path::Path;

    /// The sums of the posting: all of the machine's time, and 8.3 times as many calls by the counters.
    #[test]
    fn the_published_histogram_takes_more_than_the_machine_has() {
        let table = TABLES.into_iter().find(|table| table.name() == SisUtilHistogram.name()).unwrap();
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published/sis_util-select_idle_cpu-histogram.csv");
        let (rows, notes) = read(Some(table), &path).unwrap();
        assert_eq!(rows.len(), 2 * 18);
        let sum: f64 = rows[..18].iter().map(|row| row.values.unwrap()[0].unwrap()).sum();
        assert!((sum - 100.0).abs() < 1e-9);
        assert!(notes[0].contains("98% of 112 CPUs"), "{notes:?}");
        assert!(notes[1].contains("8.3 times as many"), "{notes:?}");
    }

    #[test]
    fn two_calls_of_a_second_are_two_seconds() {
        let notes = notes(&[Bucket { from: 500_000.0, below: 1_500_000.0, count: 2.0 }], Some(1.0));
        assert!(notes[0].starts_with("published: 2 calls of 1000000 us on average"), "{notes:?}");
        assert!(notes[0].contains("are 2 s, 0% of 112"), "{notes:?}");
        assert!(notes[1].contains("112 in all: 56.0 times"), "{notes:?}");
    }
}
