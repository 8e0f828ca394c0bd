//! An explained decision as text and as JSON.

mod steps;

use crate::csv_cells::{names, text as cell, whole_or_none, written};
use crate::numbers::{cpu_runs, thousands};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_events::Row;
use wakelab_input::printable;
use wakelab_sched::select::{Event, Probe, Reason};
use wakelab_study::recordings::conform::NotScored;
use wakelab_study::recordings::explain::{Explained, other_idle_cpus, recent_used_cpu_after};
use wakelab_study::recordings::summary::flags_name;

/// The explanation of one row: a line that says what happened, one that says why, one with what else was idle.
pub fn text(explained: &Explained<'_>) -> String {
    let Explained { file, row, .. } = explained;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    format!("{name} row {} (line {}): {}", row.seq, row.line, story(explained))
}

/// The same without the name of the file and the row.
pub(crate) fn story(explained: &Explained<'_>) -> String {
    let Explained { row, decision, .. } = explained;
    let who = if row.simulated { "the simulator" } else { "the kernel" };
    let mut text = what_happened(explained) + "\n";
    // The slow path goes through domains; each begins a line.
    for (i, line) in sentence(explained).split(steps::NEXT_DOMAIN).enumerate() {
        let _ =
            if i == 0 { writeln!(text, "  {line}") } else { writeln!(text, "    {}{line}", &steps::NEXT_DOMAIN[2..]) };
    }
    if !decision.reason.is_failed_search() {
        let others: Vec<_> = other_idle_cpus(row, decision.cpu).collect();
        if !others.is_empty() {
            let _ = writeln!(text, "  also idle: {}", cpu_runs(others));
        }
    }
    if decision.cpu != row.chosen_cpu {
        let _ = if explained.switched {
            writeln!(text, "  with the features as recorded {who} chose {}", row.chosen_cpu)
        } else if row.stable {
            writeln!(text, "  DISAGREES: {who} chose {}", row.chosen_cpu)
        } else {
            writeln!(text, "  {who} chose {}; not stable: {}", row.chosen_cpu, NotScored::of(row).meaning())
        };
    } else if !row.stable {
        let _ = writeln!(text, "  not stable: {}", NotScored::of(row).meaning());
    }
    if let Some(ns) = explained.wait_ns {
        let _ = writeln!(text, "  it ran {} us after the wake-up", thousands(ns / 1000));
    }
    text
}

/// Who woke whom, where and when.
fn what_happened(explained: &Explained<'_>) -> String {
    let Explained { row, topo, .. } = explained;
    let (waker, wakee) = (&row.waker, &row.wakee);
    let wakee_name = task(&wakee.comm, wakee.pid);
    let happened = match flags_name(row.wake_flags) {
        "FORK" => format!("forks {wakee_name}"),
        "EXEC" => "executes another program".to_owned(),
        _ => format!("wakes {wakee_name}"),
    };
    let interrupt = if waker.in_task { "" } else { ", in an interrupt," };
    let sync = if row.wakeup().sync() { " (sync)" } else { "" };
    let variant = if row.variant == "default" { String::new() } else { format!(" {}", row.variant) };
    format!(
        "{}.{:06} s, {}{variant}: {} on cpu {}{interrupt} {happened}{sync}, last on {}, allowed {}",
        row.t_ns / 1_000_000_000,
        row.t_ns % 1_000_000_000 / 1000,
        topo.preset.name,
        task(&waker.comm, waker.pid),
        waker.cpu,
        wakee.prev_cpu,
        wakee.affinity,
    )
}

/// Why, step by step, ending with the CPU and the reason.
pub(crate) fn sentence(explained: &Explained<'_>) -> String {
    let Explained { row, decision, .. } = explained;
    let mut parts = steps::parts(explained);
    let reason = if decision.reason.is_failed_search() {
        let idle: Vec<_> = other_idle_cpus(row, decision.cpu).collect();
        parts.push(match idle.len() {
            0 => "no allowed CPU was idle".to_owned(),
            1 => format!("1 CPU was idle: {}", idle[0]),
            n => format!("{n} CPUs were idle: {}", cpu_runs(idle)),
        });
        format!("target: {}", decision.reason)
    } else {
        decision.reason.to_string()
    };
    format!("{} → {} [{reason}]", parts.join("; "), decision.cpu)
}

/// A task as `comm/pid`.
fn task(comm: &str, pid: i64) -> String {
    format!("{}/{pid}", printable(comm))
}

/// What a busy CPU is busy with, as far as the row tells.
fn busy(row: &Row, cpu: u32) -> String {
    let running = row.cpus.nr_running[cpu as usize];
    if cpu == row.waker.cpu && row.waker.pid != 0 {
        return format!("is running {}", task(&row.waker.comm, row.waker.pid));
    }
    if row.ttwu_pending_mask.test(cpu) {
        return "has a wake-up on its way".to_owned();
    }
    if row.sched_idle_mask.test(cpu) {
        return "runs only SCHED_IDLE tasks".to_owned();
    }
    if row.partial && cpu != row.waker.cpu && cpu != row.wakee.prev_cpu {
        return "busy".to_owned();
    }
    match running {
        0 => "is being switched out".to_owned(),
        n => format!("busy ({n} running)"),
    }
}

/// A sentence for each reason, for legends.
pub(crate) fn reason_meaning(reason: Reason) -> &'static str {
    match reason {
        Reason::Target => "the target was idle",
        Reason::Prev => "the previous CPU was idle and shares the target's cache",
        Reason::Kthread => "a per-CPU kthread woke a task that last ran on its own CPU",
        Reason::Recent => "the recently used CPU was idle",
        Reason::Smt => "a sibling of the previous CPU was idle",
        Reason::Core => "a whole core was idle",
        Reason::CoreCpu => "no whole core was idle; an idle CPU was met while looking for one",
        Reason::Scan => "the scan of the LLC found an idle CPU",
        Reason::Short => "the target's only task is short, and so is the wakee",
        Reason::Oracle => "the oracle knew it idle",
        Reason::Energy => "energy-aware placement: the wakee costs least there, or was there before",
        Reason::Capacity => "of the idle CPUs, the task fits this one's capacity best",
        Reason::Limit => "the scan reached its limit, so the target",
        Reason::Overloaded => "nr_idle_scan was 0, so no search: the target",
        Reason::None => "nothing was idle, so the target",
        Reason::PrevFar => "nothing in the cluster; the idle previous CPU outside it",
        Reason::RecentFar => "nothing in the cluster; the idle recently used CPU outside it",
        Reason::Slow => "fork or exec: the idlest CPU of the idlest group",
        Reason::CurrentCpu => "the caller, or SIS_CURRENT, asked for the waking CPU",
        Reason::Stay => "fork or exec without a domain that balances it",
    }
}

/// One object for one row; a file of them is JSON Lines. Described in `docs/why-there.md`.
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

/// The columns of [`csv_line`].
const COLUMNS: &str = "\
    kind file line row t_ns kernel load variant flags stable waker_cpu waker_pid waker_comm wakee_pid wakee_comm \
    prev_cpu affinity target reason cpu kernel_cpu looks also_idle sis_scanned sis_failed clears_has_idle_cores \
    wait_ns text";

/// The line before those of the rows.
pub fn csv_header() -> String {
    written([names(COLUMNS).collect()])
}

/// The line of one row: what [`json()`] has, with the CPUs that were looked at and those that were idle besides as
/// lists with blanks.
pub fn csv_line(explained: &Explained<'_>) -> String {
    let Explained { file, row, topo, steps, decision, wait_ns, .. } = explained;
    let list = |cpus: Vec<u32>| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let looked = |event: &Event| if let Event::Probe(probe) = event { Some(probe.cpu) } else { None };
    written([vec![
        if row.simulated { "simulated" } else { "recorded" }.to_owned(),
        cell(&file.display().to_string()),
        row.line.to_string(),
        row.seq.to_string(),
        row.t_ns.to_string(),
        topo.preset.name.to_owned(),
        cell(&row.load),
        cell(&row.variant),
        flags_name(row.wake_flags).to_owned(),
        row.stable.to_string(),
        row.waker.cpu.to_string(),
        row.waker.pid.to_string(),
        cell(&row.waker.comm),
        row.wakee.pid.to_string(),
        cell(&row.wakee.comm),
        row.wakee.prev_cpu.to_string(),
        row.wakee.affinity.to_string(),
        decision.target.to_string(),
        decision.reason.name().to_owned(),
        decision.cpu.to_string(),
        row.chosen_cpu.to_string(),
        list(steps.iter().filter_map(looked).collect()),
        list(other_idle_cpus(row, decision.cpu).collect()),
        decision.count.scanned.to_string(),
        decision.count.failed.to_string(),
        decision.effects.clear_idle_cores.is_some().to_string(),
        whole_or_none(*wait_ns),
        cell(&sentence(explained)),
    ]])
}

fn look(event: &Event) -> Option<Value> {
    let Event::Probe(Probe { site, cpu, idle, sched_idle }) = event else { return None };
    Some(json!({"at": format!("{site:?}").to_lowercase(), "cpu": cpu, "idle": idle, "sched_idle": sched_idle}))
}
