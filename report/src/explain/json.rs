//! An explained decision as JSON.

use super::sentence;
use serde_json::{Value, json};
use wakelab_sched::select::{Event, Look};
use wakelab_study::explain::{Explained, other_idle_cpus, recent_used_cpu_after};
use wakelab_study::summary::flags_name;

/// One object for one row; a file of them is JSON Lines. Described in `docs/explain.md`.
pub fn json(explained: &Explained<'_>) -> Value {
    let Explained { file, row, topo, steps, decision, .. } = explained;
    let looks: Vec<Value> = steps.iter().filter_map(look).collect();
    json!({
        "kind": if row.simulated { "simulated" } else { "recorded" },
        "file": file.display().to_string(),
        "line": row.line,
        "row": row.seq,
        "t_ns": row.t_ns,
        "kernel": topo.preset.name,
        "load": row.load,
        "variant": row.variant,
        "flags": flags_name(row.wake_flags),
        "stable": row.stable,
        "waker": {"cpu": row.waker.cpu, "pid": row.waker.pid, "comm": row.waker.comm},
        "wakee": {
            "pid": row.wakee.pid, "comm": row.wakee.comm, "prev_cpu": row.wakee.prev_cpu,
            "affinity": row.wakee.affinity.to_string(),
        },
        "target": decision.target,
        "reason": decision.reason.name(),
        "cpu": decision.cpu,
        "kernel_cpu": row.chosen_cpu,
        "recent_used_cpu": recent_used_cpu_after(row, decision),
        "clears_has_idle_cores": decision.effects.clear_idle_cores.is_some(),
        "looks": looks,
        "also_idle": other_idle_cpus(row, decision.cpu).collect::<Vec<_>>(),
        "count": {
            "sis_search": decision.count.search, "sis_domain_search": decision.count.domain_search,
            "sis_scanned": decision.count.scanned, "sis_failed": decision.count.failed,
        },
        "wait_ns": explained.wait_ns,
        "text": sentence(explained),
    })
}

fn look(event: &Event) -> Option<Value> {
    let Event::Look(Look { site, cpu, idle, sched_idle }) = event else { return None };
    Some(json!({"at": format!("{site:?}").to_lowercase(), "cpu": cpu, "idle": idle, "sched_idle": sched_idle}))
}
