//! `[[interrupt]]`: interrupts that come whatever the tasks do, such as those of a network card or a disk.

use super::name;
use crate::validate::NR_CPUS_MAX;
use crate::{Interrupt, Work};
use wakelab_input::{InputError, Table, parse_cpulist};

/// The keys that it may hold.
pub(super) const KEYS: [&str; 7] = ["name", "cpus", "per_second", "period", "jitter", "time", "softirq"];

/// The most interrupts a second of a source on a CPU.
const RATE_MAX: u64 = 1_000_000;

/// Reads all of a file.
pub(super) fn read_all(tables: &[Table<'_>]) -> Result<Vec<Interrupt>, InputError> {
    tables.iter().map(read).collect()
}

fn read(table: &Table<'_>) -> Result<Interrupt, InputError> {
    let rate = table.number("per_second", &(1..=RATE_MAX))?;
    let period_ns = match (rate, table.duration("period")?) {
        (Some(_), Some(_)) => {
            let what = "give `per_second` or `period`, not both";
            return Err(table.wrong("period", what));
        }
        (Some(rate), None) => 1_000_000_000 / rate,
        (None, Some(period)) if period >= 1_000_000_000 / RATE_MAX => period,
        (None, Some(_)) => return Err(table.unexpected("period", "1us or more")),
        (None, None) => return Err(table.missing("per_second", "how often a CPU is interrupted, such as 5000")),
    };
    let Some(time_ns) = table.duration("time")? else {
        return Err(table.missing("time", "how long the handler takes, such as \"2us\""));
    };
    let softirq_ns = table.duration("softirq")?.unwrap_or(0);
    if time_ns == 0 {
        return Err(table.unexpected("time", "more than 0"));
    }
    let jitter_pct = table.number("jitter", &(0..=100))?.unwrap_or(50) as u32;
    if time_ns.saturating_add(softirq_ns) >= period_ns {
        let key = if time_ns < period_ns { "softirq" } else { "time" };
        let what = format!(
            "an interrupt and its softirq take {} ns, and the next one comes after {period_ns} ns; expected a shorter \
             time, or the CPU does nothing else",
            time_ns.saturating_add(softirq_ns)
        );
        return Err(table.wrong(key, what));
    }
    let cpus = match table.any_text("cpus")? {
        None => None,
        Some(list) => {
            let mut cpus = parse_cpulist(list, NR_CPUS_MAX).map_err(|what| table.wrong("cpus", what))?;
            cpus.sort_unstable();
            cpus.dedup();
            Some(cpus)
        }
    };
    let period = Work::uniform(period_ns, jitter_pct);
    Ok(Interrupt { name: name(table)?.to_owned(), cpus, period, time_ns, softirq_ns })
}
