//! What the programs of the sched_ext scheduler that runs cost, whichever it is: the kernel's own count of their runs and
//! time (`BPF_STATS_RUN_TIME`), for each placement of a task.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use libbpf_rs::ProgramType;
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};
use libbpf_rs::query::ProgInfoIter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs of a program and the time they took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// As the kernel has it: 15 characters at most.
    pub program: String,
    /// How often it ran.
    pub runs: u64,
    /// What that took, ns; with the kernel's reading of its clock, in guests with a clock of instructions these.
    pub ns: u64,
}

impl Cost {
    fn places(&self) -> bool {
        self.program.contains("select")
    }
}

/// While it lives, the kernel counts; as much as it costs, it does so for all BPF programs.
struct Counting(#[allow(dead_code, reason = "closed when dropped")] OwnedFd);

impl Counting {
    fn begin() -> Result<Self> {
        // SAFETY: the call takes a number and gives a new file descriptor or an error.
        let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
        if fd < 0 {
            bail!("the kernel does not count runs of BPF programs for us: {}", io::Error::from_raw_os_error(-fd));
        }
        // SAFETY: it is ours alone.
        Ok(Counting(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

/// Prints what the programs cost in so long.
///
/// # Errors
/// Where no scheduler runs, or the kernel does not tell.
pub fn print(time: Duration, json: bool, stop: &AtomicBool) -> Result<()> {
    let name = std::fs::read_to_string("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
    if name.trim().is_empty() {
        bail!("no sched_ext scheduler runs\n  hint: start one, scx_wakelab or another");
    }
    let _counting = Counting::begin()?;
    let (before, start) = (read(), Instant::now());
    while start.elapsed() < time && !stop.load(Ordering::Relaxed) {
        std::thread::sleep((time - start.elapsed().min(time)).min(Duration::from_millis(100)));
    }
    let costs = since(&read(), &before);
    if json {
        println!("{}", serde_json::to_string_pretty(&costs).context("JSON")?);
    } else {
        print!("{}", table(name.trim(), &costs));
    }
    Ok(())
}

/// By the programs' numbers, since names need not be unique.
fn read() -> BTreeMap<u32, Cost> {
    let of = |program: libbpf_rs::query::ProgramInfo| {
        let name = program.name.to_string_lossy().into_owned();
        (program.id, Cost { program: name, runs: program.run_cnt, ns: program.run_time_ns })
    };
    ProgInfoIter::default().filter(|program| program.ty == ProgramType::StructOps).map(of).collect()
}

/// What ran between two looks, the dearest first.
fn since(now: &BTreeMap<u32, Cost>, before: &BTreeMap<u32, Cost>) -> Vec<Cost> {
    let of = |(id, cost): (&u32, &Cost)| {
        let old = before.get(id).map_or((0, 0), |old| (old.runs, old.ns));
        Cost { program: cost.program.clone(), runs: cost.runs - old.0, ns: cost.ns - old.1 }
    };
    let mut costs: Vec<Cost> = now.iter().map(of).filter(|cost| cost.runs > 0).collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.ns));
    costs
}

fn table(name: &str, costs: &[Cost]) -> String {
    let placements: u64 = costs.iter().filter(|cost| cost.places()).map(|cost| cost.runs).sum();
    let each = |ns: u64| if placements == 0 { "-".to_owned() } else { (ns / placements).to_string() };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["program", "runs", "ns/run", "ns/placement"]);
    for cost in costs {
        table.add_row([&cost.program, &cost.runs.to_string(), &(cost.ns / cost.runs).to_string(), &each(cost.ns)]);
    }
    let all = costs.iter().map(|cost| cost.ns).sum();
    table.add_row(["all", "", "", &each(all)]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{name}, {placements} placements\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(program: &str, runs: u64, ns: u64) -> Cost {
        Cost { program: program.to_owned(), runs, ns }
    }

    #[test]
    fn costs_are_of_the_time_between_and_for_each_placement() {
        let before = BTreeMap::from([(1, cost("x_select_cpu", 10, 1000)), (2, cost("x_enqueue", 5, 500))]);
        let now = BTreeMap::from([
            (1, cost("x_select_cpu", 14, 1800)),
            (2, cost("x_enqueue", 5, 500)),
            (3, cost("x_running", 8, 2000)),
        ]);
        let costs = since(&now, &before);
        assert_eq!(costs, [cost("x_running", 8, 2000), cost("x_select_cpu", 4, 800)]);
        let text = table("x", &costs);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.windows(4).any(|row| row == ["x_running", "8", "250", "500"]), "{text}");
        assert!(words.ends_with(&["all", "700"]), "{text}");
    }

    #[test]
    fn nothing_was_placed() {
        assert!(table("x", &[cost("x_tick", 1, 10)]).ends_with("-\n"));
    }
}
