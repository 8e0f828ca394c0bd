//! The page docs/evidence/blind.md, from the rows of `blind`.

use std::fmt::Write;

use super::blind::Row;

/// How alike two numbers are, by the limits of docs/production-to-whatif.md.
fn alike(quantity: &str, unit: &str, a: f64, b: f64) -> &'static str {
    let (low, high) = (a.min(b), a.max(b));
    let (distance, near, wide) = if unit == "%" {
        (high - low, 5.0, 15.0)
    } else if high == low || (unit == "us" && high - low <= 2.0) {
        return "faithful";
    } else if low <= 0.0 {
        return "not";
    } else {
        let (near, wide) = match unit {
            "/s" => (1.1, 1.3),
            _ if quantity.ends_with("p50") => (1.25, 2.0),
            _ => (1.5, 3.0),
        };
        (high / low, near, wide)
    };
    if distance <= near {
        "faithful"
    } else if distance <= wide {
        "roughly"
    } else {
        "not"
    }
}

/// A number as the tables have it.
fn shown(number: &str) -> String {
    match number.parse::<f64>() {
        Ok(number) if number >= 1000.0 => format!("{}", (number + 0.5) as u64),
        Ok(number) => format!("{number:.1}"),
        Err(_) => "-".to_owned(),
    }
}

/// How rows of a side, or of a load, came out.
#[derive(Default)]
struct Tally {
    rows: u32,
    faithful: u32,
    roughly: u32,
    not: u32,
    /// Rows that are not as they were before, and those of them that the simulation changes alike.
    changes: u32,
    foreseen: u32,
    /// Rows that only the simulation changes.
    made_up: u32,
    /// Rows that are as they were before.
    unchanged: u32,
}

impl Tally {
    fn count(&mut self, row: &Row, [before, simulated, predicted, after]: [f64; 4]) {
        self.rows += 1;
        match row.alike.as_str() {
            "faithful" => self.faithful += 1,
            "roughly" => self.roughly += 1,
            _ => self.not += 1,
        }
        let same = |a, b| alike(&row.quantity, &row.unit, a, b) == "faithful";
        let moves = !same(simulated, predicted);
        if same(before, after) {
            self.unchanged += 1;
            self.made_up += u32::from(moves);
        } else {
            self.changes += 1;
            self.foreseen += u32::from(moves && (after - before) * (predicted - simulated) > 0.0);
        }
    }
}

/// What belongs to a name, which is added behind the others if it is new.
fn entry<'a, T: Default>(list: &'a mut Vec<(String, T)>, name: &str) -> &'a mut T {
    let at = list.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
        list.push((name.to_owned(), T::default()));
        list.len() - 1
    });
    &mut list[at].1
}

/// The page. Rows that are not judged are left out.
pub fn page(rows: &[Row]) -> String {
    let mut sides: Vec<(String, Tally)> = Vec::new();
    let mut loads: Vec<(String, Tally)> = Vec::new();
    let mut tables: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|row| row.alike != "null") {
        let (Ok(before), Ok(after)) = (row.recorded.parse::<f64>(), row.came_out.parse::<f64>()) else { continue };
        let [simulated, predicted] = [&row.simulated, &row.predicted].map(|text| text.parse().unwrap_or(0.0));
        let numbers = [before, simulated, predicted, after];
        entry(&mut sides, &row.side).count(row, numbers);
        entry(&mut loads, &row.load).count(row, numbers);
        let table = entry(&mut tables, &format!("`wakelab-load {}`, {}", row.load.replacen('-', " ", 1), row.side));
        if row.unit == "%" && before < 1.0 && after < 1.0 && predicted < 1.0 {
            continue;
        }
        let [before, simulated, predicted, after] =
            [&row.recorded, &row.simulated, &row.predicted, &row.came_out].map(|number| shown(number));
        let (quantity, unit, alike) = (&row.quantity, &row.unit, &row.alike);
        writeln!(table, "| {quantity} | {unit} | {before} | {simulated} | {predicted} | {after} | {alike} |")
            .expect("a string takes all");
    }
    let side = |(side, tally): &(String, Tally)| {
        let Tally { rows, faithful, roughly, not, changes, foreseen, made_up, unchanged } = tally;
        format!(
            "| {side} | {rows} | {faithful} | {roughly} | {not} | {changes} | {foreseen} | {made_up} | {unchanged} |\n"
        )
    };
    let load = |(load, tally): &(String, Tally)| {
        let Tally { rows, faithful, roughly, not, .. } = tally;
        format!("| {load} | {rows} | {faithful} | {roughly} | {not} |\n")
    };
    let table = |(title, rows): &(String, String)| {
        let head = "| quantity | unit | 6.12, recorded | 6.12, simulated | predicted | came out | |\n\
                    |---|---|--:|--:|--:|--:|---|\n";
        format!("\n## {title}\n\n{head}{rows}")
    };
    let page = include_str!("blind.md");
    let page = page.replace("{{sides}}\n", &sides.iter().map(side).collect::<String>());
    let page = page.replace("{{loads}}\n", &loads.iter().map(load).collect::<String>());
    page.replace("{{tables}}\n", &tables.iter().map(table).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::root;

    #[test]
    fn numbers_are_alike_by_their_kind() {
        assert_eq!(alike("busy", "%", 10.0, 15.0), "faithful");
        assert_eq!(alike("busy", "%", 10.0, 25.1), "not");
        assert_eq!(alike("wait p50", "us", 1.0, 3.0), "faithful");
        assert_eq!(alike("wait p50", "us", 100.0, 126.0), "roughly");
        assert_eq!(alike("wait p99", "us", 100.0, 126.0), "faithful");
        assert_eq!(alike("wake-ups", "/s", 1000.0, 1200.0), "roughly");
        assert_eq!(alike("wake-ups", "/s", 0.0, 1200.0), "not");
    }

    /// The committed page has all of its rows, but for shares below 1%, so that what it tells of each row is told
    /// again.
    #[test]
    fn the_tables_of_the_evidence_are_written_again() {
        let committed = std::fs::read_to_string(root().join("docs/evidence/blind.md")).expect("a page");
        let mut rows = Vec::new();
        let (mut load, mut side) = (String::new(), String::new());
        for line in committed.lines() {
            if let Some(title) = line.strip_prefix("## `wakelab-load ") {
                let (of, by) = title.split_once("`, ").expect("a title");
                (load, side) = (of.replace(' ', "-"), by.to_owned());
            }
            let cells: Vec<String> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect();
            if let [quantity, unit, recorded, simulated, predicted, came_out, alike] = &cells[..]
                && ["faithful", "roughly", "not"].contains(&alike.as_str())
            {
                let [quantity, unit, recorded, simulated, predicted, came_out, alike] =
                    [quantity, unit, recorded, simulated, predicted, came_out, alike].map(String::clone);
                let (load, side) = (load.clone(), side.clone());
                rows.push(Row { load, side, quantity, unit, recorded, simulated, predicted, came_out, alike });
            }
        }
        assert!(rows.len() > 100);
        let again = page(&rows);
        let prose_and_tables = |page: &str| -> Vec<String> {
            let tallies = |line: &&str| {
                let second = line.split(" | ").nth(1).unwrap_or_default();
                !(line.starts_with("| ") && second.bytes().all(|byte| byte.is_ascii_digit()))
            };
            page.lines().filter(tallies).map(str::to_owned).collect()
        };
        assert_eq!(prose_and_tables(&again), prose_and_tables(&committed));
    }
}
