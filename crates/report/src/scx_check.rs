//! What a check of a scheduler found, as text and JSON.

use crate::VERSION;
use crate::numbers::count;
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_study::scx_check::{
    Checked, Finding, IDLE_NS, Kind, LONG_TIMEOUT_MS, Seen, Smallest, TIME_NS, TIMEOUT_MS, UNFAIR_PCT,
};

/// The subject of a check.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The scheduler, as it was named.
    pub scheduler: &'a str,
    /// The kernel.
    pub kernel: &'a str,
    /// The names of the machines.
    pub machines: &'a [&'a str],
    /// The seed.
    pub seed: u64,
}

/// How to run a smallest workload again: the file that it is in, and the command.
#[derive(Clone, Debug)]
pub struct Again {
    /// The file; `None` if none was written.
    pub file: Option<String>,
    /// The command.
    pub command: String,
}

fn what_it_is(kind: Kind) -> String {
    match kind {
        Kind::Fault => "a program did something forbidden, or hung".to_owned(),
        Kind::Error => "the scheduler ended".to_owned(),
        Kind::Stall => format!("a task did not run for {} s", LONG_TIMEOUT_MS / 1000),
        Kind::Order => "the core called an operation out of order, which is an error of wakelab".to_owned(),
        Kind::Idle => {
            format!("a task waited for more than {} ms while a CPU that it may use was idle", IDLE_NS / 1_000_000)
        }
        Kind::Unfair => format!("the CPU times of equal tasks differ by more than {UNFAIR_PCT}%"),
    }
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{by}{line}\n") }).collect()
}

/// The whole, for people.
pub fn text(about: &About<'_>, checked: &Checked, again: &[Again]) -> String {
    let machines = match about.machines {
        [one] => (*one).to_owned(),
        many => count(many.len() as u64, "machine"),
    };
    let mut text = format!(
        "{} under {}: {} on {machines}, seed {}, {} ms each, watchdog {TIMEOUT_MS} ms\n",
        about.scheduler,
        about.kernel,
        count(checked.workloads.into(), "workload"),
        about.seed,
        TIME_NS / 1_000_000,
    );
    for (smallest, again) in checked.smallest.iter().zip(again) {
        text += &found(smallest, again, checked.workloads);
    }
    if checked.smallest.is_empty() {
        text += "found nothing\n";
    }
    if checked.long_waits > 0 {
        let _ = writeln!(
            text,
            "note: in {} a task waited for more than {TIMEOUT_MS} ms, and ran within {} s in a longer run",
            count(checked.long_waits.into(), "workload"),
            LONG_TIMEOUT_MS / 1000
        );
    }
    if let Some((power, pairs)) = checked.by_weight {
        let _ = writeln!(
            text,
            "note: CPU time follows weight to the power of {power:.2} (1 by weight, 0 equal; median of {})",
            count(pairs as u64, "pair")
        );
    }
    text
}

fn found(smallest: &Smallest, again: &Again, workloads: u32) -> String {
    let Smallest { finding, numbers, machine, tasks, tried, toml: _ } = smallest;
    let mut listed: Vec<String> = numbers.iter().take(8).map(u32::to_string).collect();
    if numbers.len() > listed.len() {
        listed.push("...".to_owned());
    }
    let mut text = format!(
        "\n{}: {} in {} of {workloads} workloads ({})\n",
        finding.kind.name(),
        what_it_is(finding.kind),
        numbers.len(),
        listed.join(", ")
    );
    let _ =
        writeln!(text, "  the smallest of {tried} that were tried: {} on {machine}", count((*tasks).into(), "task"));
    text += &indented(&finding.what, "    ");
    match &again.file {
        Some(file) => _ = writeln!(text, "  its workload: {file}\n  again: {}", again.command),
        // A here-document begins and ends at the beginning of a line.
        None => _ = writeln!(text, "  again, with its workload:\n{}", again.command),
    }
    text
}

/// The findings in one workload, for people.
pub fn workload_text(about: &About<'_>, seen: &Seen) -> String {
    let mut text = format!("{} under {} on {}\n", about.scheduler, about.kernel, about.machines.join(", "));
    for finding in &seen.findings {
        let _ = writeln!(text, "{}: {}", finding.kind.name(), what_it_is(finding.kind));
        text += &indented(&finding.what, "    ");
    }
    if seen.findings.is_empty() {
        text += "found nothing\n";
    }
    if seen.long_wait {
        let _ = writeln!(text, "note: a task waited for more than {TIMEOUT_MS} ms, and ran later");
    }
    text
}

fn about_json(about: &About<'_>) -> Value {
    let About { scheduler, kernel, machines, seed } = about;
    json!({"wakelab": VERSION, "scheduler": scheduler, "kernel": kernel, "machines": machines, "seed": seed})
}

fn finding_json(finding: &Finding) -> Value {
    json!({"kind": finding.kind.name(), "what": finding.what})
}

/// The whole, for programs.
pub fn json(about: &About<'_>, checked: &Checked, again: &[Again]) -> Value {
    let smallest = |(smallest, again): (&Smallest, &Again)| {
        json!({
            "kind": smallest.finding.kind.name(),
            "what": smallest.finding.what,
            "workloads": smallest.numbers,
            "machine": smallest.machine,
            "tasks": smallest.tasks,
            "toml": smallest.toml,
            "file": again.file,
            "again": again.command,
        })
    };
    let mut value = about_json(about);
    value["workloads"] = json!(checked.workloads);
    value["findings"] = checked.smallest.iter().zip(again).map(smallest).collect();
    value["long_waits"] = json!(checked.long_waits);
    value["power_of_weight"] = json!(checked.by_weight.map(|(power, _)| power));
    value["complete"] = json!(checked.complete);
    value
}

/// The findings in one workload, for programs.
pub fn workload_json(about: &About<'_>, seen: &Seen) -> Value {
    let mut value = about_json(about);
    value["findings"] = seen.findings.iter().map(finding_json).collect();
    value["long_wait"] = json!(seen.long_wait);
    value
}
