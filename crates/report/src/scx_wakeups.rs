//! Wake-ups under a scheduler of sched_ext: steps in words, routes, JSON.

use crate::VERSION;
use crate::numbers::{count, pid_name, seconds, share, thousands, us};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use wakelab_events::sim::ScxStep;
use wakelab_events::stream::RunDescription;
use wakelab_input::printable;
use wakelab_study::recordings::scx_waits::WaitStep;
use wakelab_study::recordings::scx_wakeups::{Routes, ScxWakeup};

/// The explanation of a wake-up: a line of what happened, and one of what came of it.
pub fn text(about: &RunDescription, wakeup: &ScxWakeup) -> String {
    let ScxWakeup { row, t_ns, waker_cpu, waker, wakee, prev_cpu, .. } = wakeup;
    let prev = prev_cpu.map_or(String::new(), |prev| format!(", last on {prev}"));
    let mut text = format!(
        "row {row}: {}, {} {}: {} on cpu {waker_cpu} wakes {}{prev}\n",
        seconds(*t_ns),
        about.kernel,
        about.variant,
        pid_name(&waker.1, waker.0),
        pid_name(&wakee.1, wakee.0),
    );
    let mut parts = steps_text(&wakeup.steps, &wakeup.names, *t_ns);
    let end = match wakeup.picked() {
        Some((at, cpu)) => format!(" → {cpu} after {} us", us(at.saturating_sub(*t_ns))),
        None => {
            parts.push("it was not picked before the run ended".to_owned());
            String::new()
        }
    };
    let _ = writeln!(text, "  {}{end}", parts.join("; "));
    text
}

/// The steps of a wait that began at `since_ns`, a sentence each.
pub(crate) fn steps_text(steps: &[WaitStep], names: &BTreeMap<i64, Arc<str>>, since_ns: u64) -> Vec<String> {
    let mut parts = Vec::new();
    let mut on_since = since_ns;
    for step in steps {
        let op = step.op.as_deref().map(|op| format!("ops.{op}()"));
        let cpu = step.cpu;
        match step.step {
            ScxStep::Selected => {
                let to = step.to_cpu.unwrap_or(cpu);
                parts.push(format!("select_task_rq chooses {to}"));
            }
            // The queue that it joins there tells more.
            ScxStep::Joins | ScxStep::Picked => {}
            ScxStep::Stopped => parts.push(format!("CPU {cpu} stops it")),
            ScxStep::Held => {
                on_since = step.t_ns;
                parts.push(format!("ops.enqueue() on CPU {cpu} keeps it"));
            }
            ScxStep::Queued => {
                on_since = step.t_ns;
                let who = op.unwrap_or_else(|| "the core".to_owned());
                let dsq = step.dsq.as_deref().map_or_else(String::new, dsq_text);
                parts.push(format!("{who} on CPU {cpu} puts it on {dsq}{}", behind(step, names)));
            }
            ScxStep::Taken => {
                let dsq = step.dsq.as_deref().map_or_else(String::new, dsq_text);
                let later = us(step.t_ns.saturating_sub(on_since));
                let how = op.map_or_else(String::new, |op| format!(" in {op}"));
                parts.push(format!("CPU {cpu} takes it from {dsq}{how}, {later} us later"));
            }
            ScxStep::Moved => parts.push(format!("it moves to CPU {}", step.to_cpu.unwrap_or(cpu))),
            ScxStep::Reenqueued => parts.push("the core takes it back, to enqueue it again".to_owned()),
        }
    }
    parts
}

fn dsq_text(dsq: &str) -> String {
    match dsq.split_once(':') {
        Some(("local", cpu)) => format!("the local DSQ of CPU {cpu}"),
        Some(("global", node)) => format!("the global DSQ of node {node}"),
        _ => format!("DSQ {}", printable(dsq)),
    }
}

/// Who is on the queue already.
fn behind(step: &WaitStep, names: &BTreeMap<i64, Arc<str>>) -> String {
    let Some(queued @ 1..) = step.queued else { return String::new() };
    let name = |pid: &i64| pid_name(names.get(pid).map_or("", |name| name), *pid);
    let mut named: Vec<String> = step.behind.iter().map(name).collect();
    if named.len() < queued as usize {
        named.push("...".to_owned());
    }
    format!(
        ", where {} ({}) {} already",
        count(queued.into(), "task"),
        named.join(" "),
        if queued == 1 { "is" } else { "are" }
    )
}

/// One object of JSON.
pub fn json(about: &RunDescription, wakeup: &ScxWakeup) -> Value {
    let picked = wakeup.picked();
    json!({
        "kind": "simulated", "kernel": about.kernel, "variant": about.variant, "row": wakeup.row, "t_ns": wakeup.t_ns,
        "waker": {"cpu": wakeup.waker_cpu, "pid": wakeup.waker.0, "comm": &*wakeup.waker.1},
        "wakee": {"pid": wakeup.wakee.0, "comm": &*wakeup.wakee.1, "prev_cpu": wakeup.prev_cpu},
        "route": wakeup.route(),
        "steps": steps_json(&wakeup.steps),
        "cpu": picked.map(|(_, cpu)| cpu),
        "wait_ns": picked.map(|(at, _)| at.saturating_sub(wakeup.t_ns)),
        "text": text(about, wakeup),
    })
}

pub(crate) fn steps_json(steps: &[WaitStep]) -> Value {
    let step = |step: &WaitStep| {
        json!({
            "t_ns": step.t_ns, "cpu": step.cpu, "step": step.step.name(), "op": step.op.as_deref(),
            "dsq": step.dsq.as_deref(), "queued": step.queued, "behind": step.behind, "to_cpu": step.to_cpu,
        })
    };
    steps.iter().map(step).collect()
}

/// How often wake-ups took each route, the most common first.
pub fn routes_text(routes: &Routes) -> String {
    let all: u64 = routes.picked.values().map(|(n, _)| n).sum();
    let mut text = "How wakees came to a CPU: operations, and the queues that they put them on\n\n".to_owned();
    let mut table = table(&["route", "wake-ups", "%", "mean wait (us)"], 1);
    for (route, (n, ns)) in sorted(routes) {
        table.add_row([printable(route).into_owned(), thousands(n), share(n, all), us(ns / n.max(1))]);
    }
    text += &table_text(&table);
    if routes.open > 0 {
        let _ = writeln!(text, "\n{} not picked before the run ended.", count(routes.open, "wakee"));
    }
    text
}

/// The same as one object.
pub fn routes_json(routes: &Routes) -> Value {
    let route = |(route, (n, ns)): (&str, (u64, u64))| json!({"route": route, "n": n, "wait_ns": ns});
    let all: Value = sorted(routes).into_iter().map(route).collect();
    json!({"wakelab": VERSION, "routes": all, "open": routes.open})
}

pub(crate) fn sorted(routes: &Routes) -> Vec<(&str, (u64, u64))> {
    let mut all: Vec<_> = routes.picked.iter().map(|(route, sums)| (route.as_str(), *sums)).collect();
    all.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.0.cmp(b.0)));
    all
}
