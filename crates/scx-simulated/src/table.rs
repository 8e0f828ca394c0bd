//! Results of a real kernel beside those of the simulator, what differs first.

use std::fmt::Write;
use wakelab_scx_loads::doings::Quantities;
use wakelab_scx_loads::{Ran, Results};

/// How far the simulated number may be from the range of the live ones: by so much, or this part of it, whichever is
/// more.
#[derive(Clone, Copy, Debug)]
struct Bound {
    by: f64,
    part: f64,
    unit: &'static str,
}

/// The bounds of a quantity, by the beginning of its name.
fn bound(name: &str) -> Bound {
    let bound = |by, part, unit| Bound { by, part, unit };
    match name {
        _ if name.starts_with("share of nice") => bound(3.0, 0.0, "%"),
        "most to least of equals" => bound(0.2, 0.1, ""),
        "CPUs used" => bound(0.1, 0.05, ""),
        // A tick of 250 Hz: whose slice ends is asked to leave at the next.
        "stretch until another runs, median" => bound(4.0, 0.15, "ms"),
        _ if name.starts_with("wait") => bound(4.0, 0.25, "ms"),
        "switches from runnable tasks" => bound(10.0, 0.2, "1/s"),
        "migrations" => bound(10.0, 0.25, "1/s"),
        _ => bound(5.0, 0.0, "%"),
    }
}

struct Row {
    scheduler: String,
    load: String,
    quantity: String,
    live: String,
    simulated: String,
    equal: bool,
}

/// The comparison.
pub struct Table {
    rows: Vec<Row>,
    /// Schedulers, or loads of them, that one side could not run: what was said.
    without: Vec<(String, String)>,
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

impl Table {
    /// Compares one simulation with live runs.
    pub fn of(simulated: &Results, live: &[Results]) -> Self {
        let mut table = Table { rows: Vec::new(), without: Vec::new() };
        for (scheduler, model) in simulated {
            let of: Vec<&Ran> = live.iter().filter_map(|results| results.get(scheduler)).collect();
            if let Some(failed) = &model.failed {
                table.without.push((scheduler.clone(), format!("simulated: {failed}")));
            }
            if let Some(failed) = of.iter().find_map(|ran| ran.failed.as_ref()) {
                table.without.push((scheduler.clone(), format!("live: {failed}")));
            }
            for (load, simulated) in &model.loads {
                let live: Vec<&Quantities> = of.iter().filter_map(|ran| ran.loads.get(load)).collect();
                if !live.is_empty() {
                    table.load(scheduler, load, simulated, &live);
                }
            }
        }
        table
    }

    fn load(&mut self, scheduler: &str, load: &str, simulated: &Quantities, live: &[&Quantities]) {
        let mut row = |quantity: &str, live: String, simulated: String, equal: bool| {
            let (scheduler, load, quantity) = (scheduler.to_owned(), load.to_owned(), quantity.to_owned());
            self.rows.push(Row { scheduler, load, quantity, live, simulated, equal });
        };
        for (name, &value) in &simulated.numbers {
            let of: Vec<f64> = live.iter().filter_map(|live| live.numbers.get(name).copied()).collect();
            let low = of.iter().copied().fold(f64::INFINITY, f64::min);
            let high = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let Bound { by, part, unit } = bound(name);
            let equal = value >= low - by.max(part * low.abs()) && value <= high + by.max(part * high.abs());
            let range = match number(low) == number(high) {
                true => number(low),
                false => format!("{} to {}", number(low), number(high)),
            };
            let live = if of.is_empty() { "none".to_owned() } else { format!("{range} {unit}") };
            row(name, live.trim().to_owned(), format!("{} {unit}", number(value)).trim().to_owned(), equal);
        }
        if let Some((order, count, of)) = &simulated.order {
            let told = |(order, count, of): &(String, u32, u32)| format!("{order} ({count} of {of})");
            let mut orders: Vec<String> = live.iter().filter_map(|live| live.order.as_ref()).map(told).collect();
            orders.dedup();
            let equal = live.iter().any(|live| live.order.as_ref().is_some_and(|(other, ..)| other == order));
            row("order of six wakees", orders.join(", "), told(&(order.clone(), *count, *of)), equal);
        }
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        let misses = self.rows.iter().filter(|row| !row.equal).count();
        let _ = writeln!(text, "{misses} of {} quantities differ.\n", self.rows.len());
        for (scheduler, said) in &self.without {
            let _ = writeln!(text, "- {scheduler}, {said}");
        }
        if !self.without.is_empty() {
            text.push('\n');
        }
        for equal in [false, true] {
            if self.rows.iter().all(|row| row.equal != equal) {
                continue;
            }
            let title = if equal { "What agrees" } else { "What differs" };
            let _ = writeln!(text, "### {title}\n\n| scheduler | load | quantity | live | simulated |");
            text.push_str("|---|---|---|---|---|\n");
            for row in self.rows.iter().filter(|row| row.equal == equal) {
                let Row { scheduler, load, quantity, live, simulated, .. } = row;
                let _ = writeln!(text, "| {scheduler} | {load} | {quantity} | {live} | {simulated} |");
            }
            text.push('\n');
        }
        text
    }

    /// Returns the required quantities that differ: `scheduler/load/quantity` with `*` for any. A pattern that matches
    /// nothing counts as missed.
    pub fn missed(&self, require: &[String]) -> Vec<String> {
        let mut missed = Vec::new();
        for pattern in require {
            let parts: Vec<&str> = pattern.splitn(3, '/').collect();
            let fits = |row: &&Row| {
                let own = [&row.scheduler, &row.load, &row.quantity];
                parts.len() == 3 && parts.iter().zip(own).all(|(part, own)| *part == "*" || *part == own.as_str())
            };
            let rows: Vec<&Row> = self.rows.iter().filter(fits).collect();
            if rows.is_empty() {
                missed.push(format!("{pattern}, which matches nothing,"));
            }
            let told = |row: &&Row| {
                let Row { scheduler, load, quantity, live, simulated, .. } = row;
                format!("{scheduler}, {load}, {quantity}: live {live}, simulated {simulated}:")
            };
            missed.extend(rows.iter().filter(|row| !row.equal).map(told));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(share: f64, order: &str) -> Results {
        let mut quantities = Quantities { order: Some((order.to_owned(), 9, 10)), ..Quantities::default() };
        quantities.numbers.insert("share of nice 0".to_owned(), share);
        let mut ran = Ran::default();
        ran.loads.insert("hogs".to_owned(), quantities);
        Results::from([("scx_simple".to_owned(), ran)])
    }

    #[test]
    fn what_differs_comes_first_and_is_missed_if_required() {
        let table = Table::of(&results(60.0, "12"), &[results(50.0, "12"), results(56.0, "12")]);
        let text = table.markdown();
        assert!(text.starts_with("1 of 2 quantities differ."), "{text}");
        assert!(text.find("What differs").unwrap() < text.find("What agrees").unwrap());
        assert!(text.contains("| scx_simple | hogs | share of nice 0 | 50.0 to 56.0 % | 60.0 % |"), "{text}");
        assert_eq!(table.missed(&["scx_simple/hogs/order of six wakees".to_owned()]).len(), 0);
        assert_eq!(table.missed(&["*/*/*".to_owned()]).len(), 1);
        assert_eq!(table.missed(&["scx_simple/forks/*".to_owned()]).len(), 1);
        // Within three points of what was seen.
        assert!(Table::of(&results(58.9, "12"), &[results(56.0, "12")]).rows.iter().all(|row| row.equal));
    }
}
