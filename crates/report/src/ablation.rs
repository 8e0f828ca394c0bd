//! Tables of what each rule and input is worth.

use crate::VERSION;
use crate::numbers::thousands;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_study::compare::Block;
use wakelab_study::mechanisms::{MechanismRow, MechanismTable};
use wakelab_study::recordings::ablation::{Ablation, RULES};

/// Returns the table of the rules of the model: a line for each rule, a column for each kernel.
pub fn rules_text(ablation: &Ablation) -> String {
    let kernels: Vec<&str> = ablation.rows.keys().copied().collect();
    let mut header = vec!["rule or input", "made wrong"];
    header.extend(&kernels);
    let mut table = table(&header, 2);
    let mut rows = vec!["(stable rows)".to_owned(), String::new()];
    rows.extend(ablation.rows.values().map(|&rows| thousands(rows)));
    table.add_row(rows);
    for (rule, lost) in RULES.iter().zip(&ablation.lost) {
        let mut line = vec![rule.name.to_owned(), rule.what.to_owned()];
        line.extend(kernels.iter().map(|kernel| thousands(lost.get(kernel).copied().unwrap_or(0))));
        table.add_row(line);
    }
    format!("Recorded decisions lost when one rule or input is wrong\n\n{}", table_text(&table))
}

/// The same as JSON.
pub fn rules_json(ablation: &Ablation) -> Value {
    let rules: Vec<Value> = RULES
        .iter()
        .zip(&ablation.lost)
        .map(|(rule, lost)| json!({"rule": rule.name, "made_wrong": rule.what, "lost": lost}))
        .collect();
    json!({"wakelab": VERSION, "kind": "recorded", "rows": ablation.rows, "rules": rules})
}

/// The table: the full model first, then the experiment without each mechanism.
pub fn mechanisms_text(experiment: &Block, found: &MechanismTable) -> String {
    let mut text = format!("{}: simulated by wakelab {VERSION}, not measured\n\n", experiment.name);
    let _ = writeln!(
        text,
        "machine {}, kernel {}, {} against {}, {} repeat{}, seed {}\n\
         Search rates are the base side's; stacked counts the runs of each side that ended in that state.\n",
        experiment.machine.name,
        experiment.kernel.name,
        experiment.base.label,
        experiment.with().label,
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
            rows.add_row(mechanism_line(name, row));
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

fn mechanism_line(name: &str, row: &MechanismRow) -> [String; 9] {
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
pub fn mechanisms_json(experiment: &Block, found: &MechanismTable) -> Value {
    json!({
        "wakelab": VERSION, "kind": "simulated", "complete": found.complete,
        "experiment": experiment.info(experiment.with()),
        "without": found.without,
    })
}
