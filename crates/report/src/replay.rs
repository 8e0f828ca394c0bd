//! What other features would have chosen.

use crate::VERSION;
use crate::conform::error;
use crate::numbers::{count, share, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use wakelab_events::ReadError;
use wakelab_study::Decider;
use wakelab_study::recordings::replay::{Replay, Side};

/// The tables.
pub fn text(replay: &Replay, decider: &Decider) -> String {
    let (who, on) = (replay.kinds.who(), Vec::from_iter(replay.kernels.iter().copied()).join(", "));
    let wakeups = count(replay.rows, "wake-up");
    let mut text = format!("What {} would have chosen at {wakeups} of {who} ({on})\n\n", decider.switches());
    text += "A first-order counterfactual: each choice is made again on the state that was recorded. What the other \
        choices would\n\
             have done to later states is a question for `wakelab compare`.\n";
    if !decider.assumed().is_empty() {
        let (assumed, at) = (decider.assumed(), count(replay.assumed, "wake-up"));
        let _ = match (replay.assumed, replay.overridden) {
            (0, _) => writeln!(text, "Assumed, but not read at any wake-up: {assumed}."),
            (_, 0) => writeln!(text, "Assumed at {at}, not recorded: {assumed}."),
            (_, n) => {
                writeln!(text, "Assumed at {at}: {assumed}; at {} of them in place of what was recorded.", thousands(n))
            }
        };
    }
    let _ = writeln!(
        text,
        "\n{} of {wakeups} go to another CPU ({} %): {} to an idle one where it was busy, {} to a busy one where it \
         was idle.\n",
        thousands(replay.other_cpu),
        share(replay.other_cpu, replay.rows),
        thousands(replay.gained),
        thousands(replay.lost),
    );
    text += &sides(&replay.base, &replay.with);
    text += "\nChoices that change their reason or their CPU:\n\n";
    let mut changes = table(&["as recorded", "then", "wake-ups", "other cpu"], 2);
    for (&(from, to), change) in &replay.changes {
        if from != to || change.other_cpu > 0 {
            let numbers = [thousands(change.rows), thousands(change.other_cpu)];
            changes.add_row([vec![from.name().to_owned(), to.name().to_owned()], numbers.to_vec()].concat());
        }
    }
    text += &table_text(&changes);
    let _ = writeln!(
        text,
        "\n{} left out: {} not stable, {} without an input that the choice reads.",
        count(replay.unscored, "wake-up"),
        thousands(replay.unscored - replay.lacking),
        thousands(replay.lacking)
    );
    text
}

fn sides(base: &Side, with: &Side) -> String {
    let mut rows = table(&["", "as recorded", "then"], 1);
    let mut add = |name: &str, value: &dyn Fn(&Side) -> String| {
        rows.add_row([name.to_owned(), value(base), value(with)]);
    };
    add("sis_search", &|s| thousands(s.search.sis_search));
    add("sis_domain_search", &|s| thousands(s.search.sis_domain_search));
    add("sis_scanned", &|s| thousands(s.search.sis_scanned));
    add("sis_failed", &|s| thousands(s.search.sis_failed));
    let rate = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
    add("success_rate %", &|s| rate(s.search.success_rate_pct()));
    add("looks per domain search", &|s| rate(s.search.looks_per_domain_search()));
    add("searches that found an idle CPU", &|s| thousands(s.found));
    add("searches where one existed", &|s| thousands(s.idle_existed));
    add("missed: SIS_ORACLE finds one", &|s| thousands(s.missed));
    add("regret: missed of existing, %", &|s| share(s.missed, s.idle_existed));
    add("probes where none existed", &|s| thousands(s.futile));
    table_text(&rows)
}

/// The same as JSON.
pub fn json(replay: &Replay, decider: &Decider, errors: &[ReadError]) -> Value {
    let side = |side: &Side| {
        let reasons: BTreeMap<_, _> = side.reasons.iter().map(|(reason, n)| (reason.name(), *n)).collect();
        json!({
            "reasons": reasons,
            "sis_search": side.search.sis_search, "sis_domain_search": side.search.sis_domain_search,
            "sis_scanned": side.search.sis_scanned, "sis_failed": side.search.sis_failed,
            "found_idle": side.found, "idle_existed": side.idle_existed, "missed": side.missed,
            "futile_probes": side.futile,
        })
    };
    let changes: Vec<_> = replay
        .changes
        .iter()
        .map(|((from, to), c)| json!({"from": from.name(), "to": to.name(), "rows": c.rows, "other_cpu": c.other_cpu}))
        .collect();
    json!({
        "wakelab": VERSION, "kind": replay.kinds.name(), "kernels": replay.kernels, "first_order": true,
        "with": decider.switches(), "assumed": decider.assumed(),
        "rows": replay.rows, "unscored": replay.unscored, "lacking": replay.lacking, "assumed_at": replay.assumed,
        "overridden_at": replay.overridden, "other_cpu": replay.other_cpu, "gained_idle": replay.gained,
        "lost_idle": replay.lost, "recorded": side(&replay.base), "then": side(&replay.with), "changes": changes,
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
    })
}
