//! Power beside performance, with turbostat's names, and where the CPUs' time went.

use super::{interval_or_identical, place, sides};
use crate::numbers::{amount, fixed, fixed_or_none, p_value, signed};
use crate::table::{table as new_table, text as table_text};
use wakelab_study::compare::{CompareRow, KindSummary, PowerDifference, PowerSummary};

/// A state in which less of the time was spent, %, is not shown.
const SHOWN_PCT: f64 = 0.05;

/// What watts are of.
pub(crate) const WATTS: &str =
    "Watts are the machine file's, which say more of the sides than of the device (`wakelab docs pm`).\n";

/// Nothing where nothing was governed.
pub(super) fn power(rows: &[CompareRow]) -> String {
    if rows.iter().all(|row| sides(row).iter().all(|(_, side)| side.power.is_none())) {
        return String::new();
    }
    let mut text = "\nPower, mean over repeats\n\n".to_owned();
    text += &summary(rows);
    text += &differences(rows);
    text += "\nResidency, % of the time of the CPUs of a kind\n\n";
    text + &residency(rows)
}

fn summary(rows: &[CompareRow]) -> String {
    let columns =
        ["case", "load", "side", "Busy%", "Bzy_MHz", "IRQ/s", "wake-ups/s", "mW", "cores", "clusters", "pkg", "J"];
    let mut table = new_table(&columns, 3);
    for row in rows {
        for (name, side) in sides(row) {
            let Some(power) = &side.power else { continue };
            let mut line = place(row, name);
            line.extend([fixed(power.busy_pct, 2), fixed(power.bzy_mhz, 0)]);
            line.extend([amount(power.irq_per_s), amount(power.idle_wakeups_per_s)]);
            let PowerSummary { total_mw, cores_mw, clusters_mw, packages_mw, energy_j, .. } = power;
            line.extend([total_mw, cores_mw, clusters_mw, packages_mw].map(|mw| fixed_or_none(*mw, 0)));
            line.push(fixed_or_none(*energy_j, 3));
            table.add_row(line);
        }
    }
    table_text(&table)
}

/// What the sides take, against each other; nothing if the machine does not describe its power.
fn differences(rows: &[CompareRow]) -> String {
    let columns = ["case", "load", "of", "base", "with", "compare%", "95% interval", "p"];
    let mut table = new_table(&columns, 3);
    let mut any = false;
    for row in rows {
        for (n, found) in PowerDifference::of(row).iter().enumerate() {
            any = true;
            let mut line = if n == 0 { vec![row.case.clone(), row.load.clone()] } else { vec![String::new(); 2] };
            line.push(format!("{}, {}", power_quantity(row, found), found.unit));
            line.extend([amount(found.base), amount(found.with), signed(found.compare_pct, 2)]);
            line.extend([interval_or_identical(found.is_identical(), found.ci95), p_value(found.p_value)]);
            table.add_row(line);
        }
    }
    if !any {
        return String::new();
    }
    let heading = "Power of the machine, and energy for each thing done; compare%: positive is less";
    format!("\n{heading}\n\n{}{WATTS}", table_text(&table))
}

/// What a line of power is of: energy is that of the machine, divided by how often a task of the workload was `done`.
pub(crate) fn power_quantity(row: &CompareRow, of: &PowerDifference) -> String {
    if of.quantity != "energy" {
        return of.quantity.to_owned();
    }
    format!("energy per {}", done(&row.benchmark, &row.unit))
}

/// What one `done` of a workload is: what its unit counts by the second, else a transaction, as docs/workloads.md calls
/// what lies between `begin` and `done`.
fn done(benchmark: &str, unit: &str) -> String {
    match (benchmark, unit.strip_suffix("/s").map(str::trim)) {
        ("jankbench", _) => "frame".to_owned(),
        ("rt-app", _) => "loop of any thread".to_owned(),
        (_, None | Some("trans" | "")) => "transaction".to_owned(),
        // A rate of bytes says nothing of the transactions that moved them.
        (_, Some("B" | "kB" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" | "bytes")) => "transaction".to_owned(),
        (_, Some(many)) => singular(many),
    }
}

/// `loop` of `loops`, `query` of `queries`, `batch` of `batches`.
fn singular(many: &str) -> String {
    if let Some(stem) = many.strip_suffix("ies") {
        return format!("{stem}y");
    }
    let stem = ["ches", "shes", "sses", "xes"].iter().any(|end| many.ends_with(end)).then(|| many.strip_suffix("es"));
    stem.flatten().or(many.strip_suffix('s')).unwrap_or(many).to_owned()
}

fn residency(rows: &[CompareRow]) -> String {
    let mut table = new_table(&["case", "load", "side", "CPUs", "Busy%", "states"], 3);
    for row in rows {
        for (name, side) in sides(row) {
            let kinds = side.power.iter().flat_map(|power| &power.kinds);
            for (n, kind) in kinds.enumerate() {
                let mut line = if n == 0 { place(row, name) } else { vec![String::new(); 3] };
                line.push(format!("{} from {}", kind.cpus, kind.first_cpu));
                line.push(fixed(kind.busy_pct, 1));
                line.push(states(kind));
                table.add_row(line);
            }
        }
    }
    table_text(&table)
}

/// `1600 MHz 12.5, C6 87.5`, a few to a line.
fn states(kind: &KindSummary) -> String {
    let shown = kind.states.iter().filter(|(_, pct)| *pct >= SHOWN_PCT);
    let words: Vec<String> = shown.map(|(name, pct)| format!("{name} {}", fixed(*pct, 1))).collect();
    words.chunks(4).map(|words| words.join(", ")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::done;

    #[test]
    fn energy_is_by_what_the_unit_counts() {
        let units = ["loops/s", "queries/s", "batches/s", "trans/s", "messages/s", "periods/s", "ms", "MB/s"];
        let expected = ["loop", "query", "batch", "transaction", "message", "period", "transaction", "transaction"];
        assert_eq!(units.map(|unit| done("own", unit)), expected);
        assert_eq!(done("jankbench", "ms"), "frame");
    }
}
