//! What the simulation does not have as it was published.

use super::classes;
use wakelab_study::reproduce::{Scoreboard, Scored};

/// Rows whose class is not the published one, with the names of their tables, the farthest first.
pub(crate) fn missed(board: &Scoreboard) -> Vec<(&str, &Scored)> {
    let distance =
        |row: &Scored| row.published_compare_pct.zip(row.simulated_compare_pct).map_or(0.0, |(a, b)| (a - b).abs());
    let missed = |row: &&Scored| {
        let [published, simulated] = classes(row);
        published.zip(simulated).is_some_and(|(a, b)| a != b)
    };
    let of_table = board.tables.iter().flat_map(|table| {
        let name = table.name.as_str();
        table.rows.iter().filter(missed).map(move |row| (name, row))
    });
    let mut found: Vec<(&str, &Scored)> = of_table.collect();
    found.sort_by(|a, b| distance(b.1).total_cmp(&distance(a.1)));
    found
}
