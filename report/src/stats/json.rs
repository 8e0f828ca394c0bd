//! Statistics as JSON.

use crate::VERSION;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wakelab_events::ReadError;
use wakelab_study::stats::{Parts, Stats, Tally};

/// All that was counted; `errors` are what could not be read to its end.
pub fn json(stats: &Stats, errors: &[ReadError]) -> Value {
    let runs: Vec<Value> = stats
        .iter()
        .map(|(run, tally)| {
            let mut value = json!({
                "kind": run.kind, "kernel": run.kernel, "machine": run.machine, "workload": run.workload,
                "variant": run.variant, "runs": tally.runs, "unscored": tally.unscored, "unseen": tally.unseen,
                "balanced": tally.balanced,
                "recorder": super::recorder::json(tally.recorder),
                "from_ns": tally.span.map(|span| span.0), "to_ns": tally.span.map(|span| span.1),
            });
            merge(&mut value, numbers(&tally.all, tally.has_waits));
            for parts in &tally.parts {
                value[parts.by.name()] = by(parts, tally.has_waits);
            }
            value
        })
        .collect();
    json!({"wakelab": VERSION, "runs": runs, "errors": errors.iter().map(crate::conform::error).collect::<Vec<_>>()})
}

fn by(parts: &Parts, has_waits: bool) -> Value {
    let line = |(key, tally): (&wakelab_study::stats::Key, &Tally)| {
        let mut value = json!({"name": key.to_string()});
        merge(&mut value, numbers(tally, has_waits));
        value
    };
    parts.tallies.iter().map(line).collect()
}

fn merge(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

fn numbers(tally: &Tally, has_waits: bool) -> Value {
    let search = &tally.search;
    let latency = tally.waits.latency();
    let reasons: BTreeMap<_, _> = tally.reasons.iter().map(|(reason, n)| (reason.name(), *n)).collect();
    json!({
        "wakeups": tally.wakeups, "chose": tally.chose, "moved": tally.moved, "other_llc": tally.crossed,
        "reasons": reasons,
        "search": {
            "sis_search": search.sis_search, "sis_domain_search": search.sis_domain_search,
            "sis_scanned": search.sis_scanned, "sis_failed": search.sis_failed,
            "fast_rate_pct": search.fast_rate_pct(), "success_rate_pct": search.success_rate_pct(),
            "se_eff_pct": search.se_eff_pct(), "dom_eff_pct": search.dom_eff_pct(),
        },
        "wait_ns": has_waits.then(|| json!({
            "n": latency.n, "mean": latency.mean, "p50": latency.p50, "p95": latency.p95, "p99": latency.p99,
            "max": latency.max,
        })),
    })
}
