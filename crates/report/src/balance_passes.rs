//! The model's load balancer against the kernel's.

use crate::numbers::thousands;
use crate::table::{table, text as table_text};
use serde_json::{Value, json};
use std::fmt::Write;
use wakelab_events::stream::Found;
use wakelab_study::recordings::balance_passes::{
    BalanceAgreement, BalanceConformance, BalanceDisagreement, found_name, idle_name,
};

/// The table, and each pass that differs.
pub fn text(conformance: &BalanceConformance) -> String {
    let total = conformance.total();
    let mut by_case =
        table(&["kernel", "CPU", "domain", "kernel found", "passes", "equal", "other group", "other imbalance"], 4);
    for ((kernel, idle, domain, found), a) in &conformance.cases {
        by_case.add_row(line([kernel, idle, domain, found], a));
    }
    by_case.add_row(line(["all", "", "", ""], &total.scored));
    let mut text = format!("Load balance, the model's against that of the kernel\n\n{}", table_text(&by_case));
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{} of {} passes equal; not compared: {} that were not stable, {} in which tasks prefer the LLC.",
        thousands(total.scored.equal),
        thousands(total.scored.rows),
        thousands(total.unstable),
        thousands(total.prefer_llc),
    );
    if total.scored.preferring > 0 {
        let _ = writeln!(
            text,
            "In {} of those compared tasks prefer the LLC; {} passes leave other loads of LLCs behind.",
            thousands(total.scored.preferring),
            thousands(total.scored.llcs),
        );
    }
    for disagreement in &conformance.disagreements {
        text += &explained(disagreement);
    }
    text
}

fn line(names: [&str; 4], a: &BalanceAgreement) -> Vec<String> {
    let mut line = names.map(str::to_owned).to_vec();
    line.extend([a.rows, a.equal, a.group, a.imbalance].map(thousands));
    line
}

/// One pass with the domain, what the kernel found and what the model finds.
fn explained(d: &BalanceDisagreement) -> String {
    let row = &d.row;
    let sd = &d.topo.domains.domains[row.dst_cpu as usize][d.level];
    let mut text = format!(
        "\n{} row {}, {} at {} ns on CPU {}: for CPU {}, {}, the {:?} domain {}, of {}\n",
        d.folder.display(),
        row.line,
        d.topo.preset.name,
        row.t_ns,
        row.cpu,
        row.dst_cpu,
        idle_name(row.idle),
        sd.level,
        sd.span.to_hex(),
        row.cpus.to_hex(),
    );
    for (group, (capacity, imbalance)) in sd.groups().zip(&row.groups) {
        let imbalanced = if *imbalance { ", imbalanced" } else { "" };
        let _ = writeln!(text, "  group {}: capacity {capacity}{imbalanced}", group.span.to_hex());
        for cpu in group.span.iter() {
            let load = &row.loads[cpu as usize];
            let _ = writeln!(
                text,
                "    CPU {cpu}: running {}, fair {} ({} delayed), load {}, runnable {}, util {}, est {}, capacity {}{}",
                load.nr_running,
                load.h_nr_queued,
                load.h_nr_delayed,
                load.load_avg,
                load.runnable_avg,
                load.util_avg,
                load.util_est,
                load.capacity,
                if load.curr_idle { ", idle" } else { "" },
            );
            if load.prefer > 0 {
                let _ = writeln!(text, "      {} prefer the LLC", load.prefer);
            }
        }
    }
    if let Some(cache) = &row.sched_cache {
        let on = if cache.enabled { "on" } else { "off" };
        let _ = writeln!(
            text,
            "  cache-aware balancing {on}: {} failed passes, overaggr_pct {}, imb_pct {}, the CPU's LLC {:?}",
            cache.nr_balance_failed, cache.overaggr_pct, cache.imb_pct, cache.dst_llc,
        );
        let _ = writeln!(text, "  LLCs by group: {:?}", cache.llcs);
        let _ = writeln!(text, "  left behind: kernel {:?}, model {:?}", cache.llcs_after, d.llcs);
    }
    let _ = writeln!(text, "  features: {}", row.features.text);
    for (who, found) in [("kernel", row.found), ("model", d.model)] {
        let group = |found: Found| sd.groups().nth(found.group).map_or_else(String::new, |group| group.span.to_hex());
        let _ = match found {
            None => writeln!(text, "  {who}: balanced"),
            Some(it) => {
                writeln!(text, "  {who}: group {}, {} {}", group(it), found_name(Some(&it)), it.imbalance.amount)
            }
        };
    }
    text
}

/// All that was counted.
pub fn json(conformance: &BalanceConformance) -> Value {
    let total = conformance.total();
    let kernels = conformance.kernels.iter().map(|((preset, release), kernel)| {
        let mut value = numbers(&kernel.scored);
        value["kernel"] = json!(preset);
        value["release"] = json!(release);
        value["unstable"] = json!(kernel.unstable);
        value["prefer_llc"] = json!(kernel.prefer_llc);
        value
    });
    let cases = conformance.cases.iter().map(|((preset, idle, domain, found), agreement)| {
        let mut value = numbers(agreement);
        value["kernel"] = json!(preset);
        value["idle"] = json!(idle);
        value["domain"] = json!(domain);
        value["found"] = json!(found);
        value
    });
    let mut value = numbers(&total.scored);
    value["unstable"] = json!(total.unstable);
    value["prefer_llc"] = json!(total.prefer_llc);
    value["kernels"] = kernels.collect();
    value["cases"] = cases.collect();
    value
}

fn numbers(a: &BalanceAgreement) -> Value {
    json!({"scored": a.rows, "equal": a.equal, "pulls": a.pulls, "other_group": a.group,
           "other_imbalance": a.imbalance, "other_llcs": a.llcs, "preferring": a.preferring})
}
