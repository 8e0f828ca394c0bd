//! The model's wake-up preemption against the kernel's.

use crate::numbers::{count, thousands};
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_sched::runqueue::Policy;
use wakelab_study::recordings::wakeup_preempt::{Outcome, PreemptAgreement, PreemptConformance, PreemptDisagreement};

/// The table, and each row that differs.
pub fn text(conformance: &PreemptConformance) -> String {
    let total = conformance.total();
    let mut by_case = table(
        &["kernel", "preemption", "rows", "equal", "preempted", "other resched", "other buddy", "other state"],
        2,
    );
    for ((kernel, case), agreement) in &conformance.cases {
        by_case.add_row(line(kernel, case.name(), agreement));
    }
    by_case.add_row(line("all", "", &total.scored));
    let mut text = format!("Wake-up preemption, the model's against that of the kernel\n\n{}", table_text(&by_case));
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{} of {} equal; {} with groups, too many tasks or features being switched are not compared.",
        thousands(total.scored.equal),
        count(total.scored.rows, "row"),
        thousands(total.not_scored),
    );
    for disagreement in &conformance.disagreements {
        text += &explained(disagreement);
    }
    text
}

fn line(kernel: &str, case: &str, a: &PreemptAgreement) -> Vec<String> {
    let mut line = vec![kernel.to_owned(), case.to_owned()];
    line.extend([a.rows, a.equal, a.preempted, a.resched, a.buddies, a.state].map(thousands));
    line
}

/// One row with its queue, the kernel's answer and the model's.
fn explained(d: &PreemptDisagreement) -> String {
    let row = &d.row;
    let [curr, wakee] = &row.comms;
    let mut text = format!(
        "\n{} row {}, {} at {} ns on CPU {}: {wakee} {} joins {curr} {} (flags {:#x}, {}), clock {}, virtual time {}\n",
        d.folder.display(),
        row.line,
        d.preset,
        row.t_ns,
        row.cpu,
        row.wakee_pid,
        row.tasks[0].pid,
        row.wake_flags,
        d.case.name(),
        row.clock_task,
        row.virtual_time.0,
    );
    for task in &row.tasks {
        let policy = match task.policy {
            Policy::Normal => "normal",
            Policy::Batch => "batch",
            Policy::Idle => "idle",
        };
        let _ = writeln!(
            text,
            "  {} {policy} nice {} weight {} vruntime {} deadline {} slice {} vlag {} vprot {}{}{}",
            task.pid,
            task.nice,
            task.weight,
            task.vruntime,
            task.deadline,
            task.slice,
            task.vlag,
            task.vprot,
            if task.sched_delayed { " delayed" } else { "" },
            if task.on_rq { "" } else { " not queued" },
        );
    }
    let _ = writeln!(text, "  features: {}", row.features.text);
    let before = (row.resched.0, row.next_pid.0, row.last_pid.0, row.sums);
    let _ = writeln!(text, "  before: resched, next, last, sums {before:?}; the model's sums {:?}", d.sums);
    for (who, outcome) in [("kernel", &d.kernel), ("model", &d.model)] {
        let Outcome { resched, buddies, nr_queued, virtual_time, curr } = outcome;
        let _ = writeln!(
            text,
            "  {who}: resched {resched}, buddies {buddies:?}, {nr_queued} queued, virtual time {virtual_time}, running \
             {curr:?}"
        );
    }
    text
}

/// All that was counted.
pub fn json(conformance: &PreemptConformance) -> Value {
    let total = conformance.total();
    let kernels = conformance.kernels.iter().map(|((preset, release), kernel)| {
        let mut value = numbers(&kernel.scored);
        value["kernel"] = json!(preset);
        value["release"] = json!(release);
        value["not_scored"] = json!(kernel.not_scored);
        value
    });
    let cases = conformance.cases.iter().map(|((preset, case), agreement)| {
        let mut value = numbers(agreement);
        value["kernel"] = json!(preset);
        value["case"] = json!(case.name());
        value
    });
    let mut value = numbers(&total.scored);
    value["not_scored"] = json!(total.not_scored);
    value["kernels"] = kernels.collect();
    value["cases"] = cases.collect();
    value
}

fn numbers(a: &PreemptAgreement) -> Value {
    json!({"scored": a.rows, "equal": a.equal, "preempted": a.preempted, "other_resched": a.resched,
           "other_buddies": a.buddies, "other_state": a.state})
}
