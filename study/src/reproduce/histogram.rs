//! The durations of `select_idle_cpu()` of the SIS_UTIL letter, and whether they can be those of an untraced machine.

use crate::compare::PublishedError;
use crate::published::CsvTable;
use std::path::Path;

/// What the tracer is taken to have cost at each call, ns: with the walk, which takes 0.1 to 16 us, it comes to the histogram's
/// mode of 32 to 64 us. Assumed, between 33 and 60 us; it stands in the rows, not in the machine.
pub(super) const TRACER_NS: u64 = 40_000;

/// CPUs and seconds of the run.
const CPUS: f64 = 112.0;
const SECONDS: f64 = 100.0;

/// Reads `usecs_from,usecs_below,count`: each bucket's ends, us, and its share of all calls, %; and what the sum says, against
/// the counters of the same posting where their file lies beside.
pub(super) fn read(table: &CsvTable, path: &Path) -> Result<(Vec<Row>, Vec<String>), PublishedError> {
    let mut buckets = Vec::new();
    for row in &table.rows {
        let ends = "0 or a power of two below 2^53, as in a bucket such as 32,64";
        let is_end = |us: f64| us == 0.0 || (us < 2f64.powi(53) && us.fract() == 0.0 && (us as u64).is_power_of_two());
        let from = table.number_that(row, "usecs_from", ends, is_end)?;
        let next = if from == 0.0 { 1.0 } else { 2.0 * from };
        let below =
            table.number_that(row, "usecs_below", &format!("{next}, the next power of two"), |us| us == next)?;
        let whole = |count: f64| count >= 0.0 && count.fract() == 0.0;
        let count = table.number_that(row, "count", "a whole number, 0 or more", whole)?;
        buckets.push((from, below, count));
    }
    let calls: f64 = buckets.iter().map(|(.., count)| count).sum();
    let rows = buckets.iter().map(|&(from, below, count)| Row {
        from: from as u64,
        below: below as u64,
        share_pct: if calls > 0.0 { 100.0 * count / calls } else { 0.0 },
    });
    Ok((rows.collect(), arithmetic(&buckets, counted(path)?)))
}

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) from: u64,
    pub(super) below: u64,
    pub(super) share_pct: f64,
}

/// The domain searches per CPU, without the policy, of the counters' file beside.
fn counted(path: &Path) -> Result<Option<f64>, PublishedError> {
    let path = path.with_file_name("sis_util-224-threads-counters.csv");
    if !path.exists() {
        return Ok(None);
    }
    let table = CsvTable::read(&path, &["counter", "vanilla"])?;
    let row = table.rows.iter().find(|row| table.text(row, "counter").starts_with("sis_domain_search"));
    row.map_or(Ok(None), |row| table.number(row, "vanilla"))
}

fn arithmetic(buckets: &[(f64, f64, f64)], counted: Option<f64>) -> Vec<String> {
    let calls: f64 = buckets.iter().map(|(.., count)| count).sum();
    if calls == 0.0 {
        return Vec::new();
    }
    // Calls are taken to lie in the middle of their bucket.
    let seconds: f64 = buckets.iter().map(|(from, below, count)| count * (from + below) / 2.0).sum::<f64>() / 1e6;
    let (mean_us, machine_s) = (1e6 * seconds / calls, CPUS * SECONDS);
    let mut notes = vec![format!(
        "published: {calls} calls of {mean_us:.0} us on average (the middle of each bucket) are {seconds:.0} s, {:.0}% of {CPUS} \
         CPUs for {SECONDS} s",
        100.0 * seconds / machine_s
    )];
    if let Some(per_cpu) = counted {
        let all = per_cpu * CPUS;
        notes.push(format!(
            "the counters of the posting have {per_cpu} domain searches per CPU, {all} in all: {:.1} times as many calls, which at \
             that average would take {:.1} machines; the tracer slowed what it traced",
            all / calls,
            all / calls * seconds / machine_s
        ));
    }
    notes.push(format!(
        "simulated without a tracer, and with one that costs {} us at each call (--observer-cost {TRACER_NS}), which is assumed",
        TRACER_NS / 1000
    ));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums of the posting: all of the machine's time, and 8.3 times as many calls by the counters.
    #[test]
    fn the_published_histogram_takes_more_than_the_machine_has() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../published/sis_util-select_idle_cpu-histogram.csv");
        let table = CsvTable::read(&path, &["usecs_from", "usecs_below", "count"]).unwrap();
        let (rows, notes) = read(&table, &path).unwrap();
        assert_eq!(rows.len(), 18);
        assert!((rows.iter().map(|row| row.share_pct).sum::<f64>() - 100.0).abs() < 1e-9);
        assert!(notes[0].contains("98% of 112 CPUs"), "{notes:?}");
        assert!(notes[1].contains("8.3 times as many"), "{notes:?}");
    }

    #[test]
    fn two_calls_of_a_second_are_two_seconds() {
        let notes = arithmetic(&[(500_000.0, 1_500_000.0, 2.0)], Some(1.0));
        assert!(notes[0].starts_with("published: 2 calls of 1000000 us on average"), "{notes:?}");
        assert!(notes[0].contains("are 2 s, 0% of 112"), "{notes:?}");
        assert!(notes[1].contains("112 in all: 56.0 times"), "{notes:?}");
    }
}
