//! What each mechanism of the simulator is worth, as a table.

use crate::VERSION;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_study::compare::Experiment;
use wakelab_study::mechanisms::{MechanismRow, MechanismTable};

/// The table: the full model first, then the experiment without each mechanism.
pub fn text(experiment: &Experiment, found: &MechanismTable) -> String {
    let mut text = format!("{}: simulated by wakelab {VERSION}, not measured\n\n", experiment.name);
    let _ = writeln!(
        text,
        "machine {}, kernel {}, {} against {}, {} repeat{}, seed {}\n\
         Search rates are the base side's; stacked counts the runs of each side that ended in that state.\n",
        experiment.machine.name,
        experiment.kernel.name,
        experiment.base.label,
        experiment.with.label,
        experiment.repeats,
        if experiment.repeats == 1 { "" } else { "s" },
        experiment.seed,
    );
    let header = [
        "without",
        "load",
        "base trans/s",
        "compare%",
        "fast_rate",
        "dom_eff",
        "se_eff",
        "success",
        "stacked base/with",
    ];
    let mut rows = table(&header, 2);
    for without in &found.without {
        for (n, row) in without.rows.iter().enumerate() {
            let name = if n == 0 { without.mechanism.unwrap_or("nothing (full model)") } else { "" };
            rows.add_row(line(name, row));
        }
    }
    text.push_str(&table_text(&rows));
    text.push('\n');
    for without in &found.without {
        if let Some(mechanism) = without.mechanism {
            let _ = writeln!(text, "{mechanism}: {}", without.what);
        }
    }
    text
}

fn line(name: &str, row: &MechanismRow) -> [String; 9] {
    let rate = |rate: Option<f64>| rate.map_or_else(|| "n/a".to_owned(), |rate| format!("{rate:.3}"));
    [
        name.to_owned(),
        row.load.clone(),
        format!("{:.0}", row.base_mean),
        format!("{:+.2}", row.compare_pct),
        rate(row.fast_rate_pct),
        rate(row.dom_eff_pct),
        rate(row.se_eff_pct),
        rate(row.success_rate_pct),
        format!("{}/{} of {}", row.base_stacked, row.with_stacked, row.repeats),
    ]
}

/// The same as JSON.
pub fn json(experiment: &Experiment, found: &MechanismTable) -> Value {
    json!({
        "wakelab": VERSION, "kind": "simulated", "complete": found.complete, "experiment": experiment.info(),
        "without": found.without,
    })
}
