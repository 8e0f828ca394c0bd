//! The comparison as JSON: `docs/explain.md` describes it.

use super::error;
use crate::{VERSION, explain};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use wakelab_events::ReadError;
use wakelab_study::Question;
use wakelab_study::conform::{Agreement, Conformance, Kernel, KernelCount, NotScored, Search};

/// All that was counted; `errors` are the files that could not be read to their end.
pub fn json(conformance: &Conformance, question: &Question, files: usize, errors: &[ReadError]) -> Value {
    let total = conformance.total();
    let reasons: Vec<Value> = conformance
        .reasons
        .iter()
        .map(|((kernel, reason), agreement)| {
            let mut value = numbers(agreement);
            value["kernel"] = json!(kernel);
            value["reason"] = json!(reason.name());
            value
        })
        .collect();
    let moved: Vec<Value> = conformance
        .moved
        .iter()
        .map(|((from, to), m)| json!({"from": from.name(), "to": to.name(), "rows": m.rows, "other_cpu": m.other_cpu}))
        .collect();
    let switched = !question.is_as_recorded();
    let disagreements: Vec<Value> =
        conformance.disagreements.iter().map(|d| explain::json(&d.explained(switched))).collect();
    json!({
        "wakelab": VERSION,
        "kind": conformance.kinds().name(),
        "with": question.switches(),
        "files": files,
        "wakeups": total.rows + conformance.unstable,
        "scored": total.rows,
        "equal": total.agree,
        "unstable": conformance.unstable,
        "not_scored": by_name(&conformance.not_scored),
        "total": numbers(&total),
        "kernels": conformance.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "reasons": reasons,
        "moved": moved,
        "search": {"recorded": search(&conformance.recorded), "with": search(&conformance.switched)},
        "disagreements": disagreements,
        "errors": errors.iter().map(error).collect::<Vec<_>>(),
    })
}

fn kernel((kernel, count): (&Kernel, &KernelCount)) -> Value {
    let not_scored: u64 = count.not_scored.values().sum();
    let mut value = json!({
        "kernel": kernel.preset,
        "release": kernel.release,
        "kind": if kernel.simulated { "simulated" } else { "recorded" },
        "wakeups": count.scored.rows + not_scored,
        "scored": count.scored.rows,
        "not_scored": by_name(&count.not_scored),
    });
    if let (Some(value), Value::Object(numbers)) = (value.as_object_mut(), numbers(&count.scored)) {
        value.extend(numbers.into_iter().filter(|(key, _)| key != "rows"));
    }
    value
}

/// Each reason is there, also where it is 0: a reader need not ask whether it is.
fn by_name(not_scored: &BTreeMap<NotScored, u64>) -> Map<String, Value> {
    let rows = |why| json!(not_scored.get(&why).copied().unwrap_or(0));
    NotScored::ALL.into_iter().map(|why| (why.name().to_owned(), rows(why))).collect()
}

fn numbers(a: &Agreement) -> Value {
    json!({"rows": a.rows, "equal": a.agree, "other_cpu": a.cpu, "other_recent_used_cpu": a.recent_used_cpu,
           "other_wakee_flips": a.wakee_flips, "chose_prev": a.prev})
}

fn search(s: &Search) -> Value {
    json!({"sis_search": s.search, "sis_domain_search": s.domain_search, "sis_scanned": s.scanned,
           "sis_failed": s.failed})
}
