//! JSON, as docs/results.schema.json describes it.

use super::matrix::{kernels, machines, means_of, verdict_lines};
use crate::VERSION;
use serde_json::{Value, json};
use wakelab_study::compare::{CompareRow, Comparison, FailedRow, MatrixComparison, PowerDifference, Side};
use wakelab_study::verdict::{JudgedRow, Verdict, by_comparison};

/// Everything that was found. Keys come in one order; what is no number is null.
pub fn json(comparison: &Comparison, verdict: &Verdict<'_>) -> Value {
    json!({
        "wakelab": VERSION,
        "kind": comparison.kind,
        "complete": comparison.complete,
        "experiment": comparison.experiment,
        "machine": crate::machine::json(&comparison.machine),
        "assumed": comparison.assumed,
        "published": comparison.published.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "known": verdict.known,
        "verdict": super::verdict::json(verdict),
        "rows": comparison.rows.iter().zip(&verdict.rows).map(row).collect::<Vec<_>>(),
    })
}

/// Everything that was found of a matrix: its means and verdicts, and for each machine, kernel and variant what
/// [`json()`] has of two sides, with p corrected for the whole matrix.
pub fn of_matrix(found: &MatrixComparison, verdicts: &[Verdict<'_>]) -> Value {
    let means = means_of(found, verdicts).into_iter().map(|(variant, over, name, mean)| {
        json!({
            "variant": found.variants[variant],
            "over": over,
            "name": name,
            "compare_pct": mean.pct,
            "ci95": mean.ci95,
            "rows": mean.rows,
            "left_out": mean.left_out,
        })
    });
    let of_variant = |(name, verdict): (&String, &Verdict<'_>)| {
        let mut value = super::verdict::json(verdict);
        value["variant"] = json!(name);
        value
    };
    let comparison = |((comparison, verdict), variant): ((&Comparison, &Verdict<'_>), &String)| {
        let mut value = json(comparison, verdict);
        value["variant"] = json!(variant);
        value
    };
    let of_comparisons = by_comparison(found, verdicts);
    let comparisons = found.comparisons.iter().zip(&of_comparisons).zip(found.variants.iter().cycle());
    let mut value = json!({
        "wakelab": VERSION,
        "kind": found.comparisons[0].kind,
        "complete": found.complete,
        "matrix": {
            "machines": machines(found),
            "kernels": kernels(found),
            "base": found.base,
            "variants": found.variants,
            "tested_rows": verdicts.iter().map(Verdict::tested).sum::<usize>(),
        },
        "text": verdict_lines(verdicts),
        "verdicts": found.variants.iter().zip(verdicts).map(of_variant).collect::<Vec<_>>(),
        "means": means.collect::<Vec<_>>(),
        "comparisons": comparisons.map(comparison).collect::<Vec<_>>(),
    });
    if !found.failed.is_empty() {
        value["failed"] = found.failed.iter().map(failed).collect();
    }
    value
}

/// A case at which a side has failed.
fn failed(FailedRow { side, failed }: &FailedRow) -> Value {
    let run = &failed.run;
    json!({
        "side": side,
        "switches": run.variant,
        "machine": run.machine,
        "kernel": run.kernel,
        "workload": run.workload,
        "load": run.load,
        "repeat": run.repeat + 1,
        "seed": run.seed,
        "error": failed.why.to_string(),
    })
}

fn row((row, judged): (&CompareRow, &JudgedRow)) -> Value {
    json!({
        "benchmark": row.benchmark,
        "case": row.case,
        "load": row.load,
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "base": side(&row.base),
        "with": side(&row.with),
        "compare_pct": row.compare_pct,
        "compare_std_pct": row.compare_std_pct,
        "ci95": row.ci95,
        "p_value": row.p_value,
        "test": row.test,
        "p_holm": judged.p_holm,
        "noise_pct": judged.noise_pct,
        "verdict": judged.verdict,
        "decided_nothing": row.decided_nothing,
        "never_ran": {"base": judged.never_ran[0], "with": judged.never_ran[1]},
        "power": PowerDifference::of(row),
        "published": {"result": row.published, "search": row.published_search},
    })
}

fn side(side: &Side) -> Value {
    let states = side.runs.iter().map(|run| {
        json!({
            "seed": run.seed,
            "at_settle": run.state,
            "at_end": run.state_at_end(),
            "changes": run.changes,
        })
    });
    let mut value = json!({
        "switches": side.label,
        "features": side.features,
        "mean": side.mean,
        "std_pct": side.std_pct,
        "n": side.n,
        "values": side.values,
        "search": side.search,
        "wakeup_latency_ns": side.wakeup_latency_ns,
        "busy_ns_per_wakeup": side.busy_ns_per_wakeup,
        "latency_ns": {"p50": side.latency_p50_ns, "p99": side.latency_p99_ns},
        "migrations": side.migrations,
        "idle_pct": side.idle_pct,
        "rq_lock_pct": side.rq_lock_pct,
        "switches_involuntary": side.switches_involuntary,
        "llc_util": side.llc_util,
        "states": states.collect::<Vec<_>>(),
    });
    if !side.threads.is_empty() {
        value["threads"] = json!(side.threads);
    }
    if let Some(regret) = &side.regret {
        value["regret"] = json!(regret);
    }
    if let Some(power) = &side.power {
        value["power"] = json!(power);
    }
    if !side.scheduler.is_empty() {
        let counters = side.scheduler.iter().map(|(name, mean)| (name.clone(), json!(mean)));
        value["scheduler"] = Value::Object(counters.collect());
        value["scheduler_ops"] = json!(side.scheduler_ops);
    }
    value
}
