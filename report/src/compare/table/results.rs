//! What came out: means, difference, and how sure it is.

use crate::compare::format::{NONE, fixed, p_value, signed, spread};
use crate::table::{table as new_table, text as table_text};
use wakelab_study::compare::{Better, CompareRow, PublishedRow};

/// The rows of one benchmark and metric.
pub(super) fn results(rows: &[CompareRow]) -> String {
    let first = &rows[0];
    let good = match first.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let published = rows.iter().any(|row| row.published.is_some());
    let mut columns = vec!["case", "load", "base ± std%", "with ± std%", "compare%", "95% interval", "p", "n"];
    if published {
        columns.push("published(std)");
    }
    let mut results = new_table(&columns, 2);
    for row in rows {
        let interval = row.ci95.map(|[low, high]| format!("[{}, {}]", signed(low, 2), signed(high, 2)));
        let mut line = vec![
            row.case.clone(),
            row.load.clone(),
            spread(row.base.mean, row.base.std_pct, row.base.n),
            spread(row.with.mean, row.with.std_pct, row.with.n),
            signed(row.compare_pct, 2),
            interval.unwrap_or_else(|| NONE.to_owned()),
            p_value(row.p_value),
            row.base.n.to_string(),
        ];
        if published {
            let beside =
                |row: PublishedRow| format!("{} ({})", signed(row.compare_pct, 2), fixed(row.compare_std_pct, 2));
            line.push(row.published.map_or_else(|| NONE.to_owned(), beside));
        }
        results.add_row(line);
    }
    let mut text = format!("\n{} {}, {}, {good}; ", first.benchmark, first.metric, first.unit);
    text += "compare%: positive is better\n\n";
    text += &table_text(&results);
    match rows.iter().find_map(|row| row.test) {
        Some(test) => text + &format!("p: {test}\n"),
        None => text + "One repeat: no interval and no p. --repeat 3 or more gives them.\n",
    }
}
