//! `--costs`: the cost of the BPF programs of the running sched_ext scheduler, whichever it is, per placement of a
//! task. The kernel counts their runs and their time (`BPF_STATS_RUN_TIME`).

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use libbpf_rs::ProgramType;
use libbpf_rs::libbpf_sys::{BPF_STATS_RUN_TIME, bpf_enable_stats};
use libbpf_rs::query::ProgInfoIter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};
use wakelab_input::printable;
use wakelab_process::signals::Signals;

/// The interval of the samples. A run that is interrupted, or in a guest preempted by another CPU, seems to take many
/// times as long. It distorts the mean, and not the median over the samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// The runs of a program and their time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// The name that the kernel has, at most 15 characters.
    pub program: String,
    /// How often it ran.
    pub runs: u64,
    /// The median time of a run over the samples, ns, with the kernel's reading of its clock. If the clock counts
    /// instructions, their number.
    pub ns_per_run: f64,
    /// The mean of all runs, ns.
    pub mean_ns_per_run: f64,
}

impl Cost {
    fn places(&self) -> bool {
        self.program.contains("select")
    }
}

/// The kernel counts run times of all BPF programs while this is open.
struct Counting(#[allow(dead_code, reason = "closed when dropped")] OwnedFd);

impl Counting {
    fn begin() -> Result<Self> {
        // SAFETY: the call takes a number and gives a new file descriptor or an error.
        let fd = unsafe { bpf_enable_stats(BPF_STATS_RUN_TIME) };
        if fd < 0 {
            bail!("the kernel does not allow counting runs of BPF programs: {}", io::Error::from_raw_os_error(-fd));
        }
        // SAFETY: nobody else owns the descriptor.
        Ok(Counting(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}

/// Measures for this time, or until a signal comes, and prints the costs.
///
/// # Errors
/// Fails if no scheduler runs, or the kernel does not count.
pub fn print(time: Duration, json: bool, signals: &Signals) -> Result<()> {
    let name = std::fs::read_to_string("/sys/kernel/sched_ext/root/ops").unwrap_or_default();
    if name.trim().is_empty() {
        bail!("no sched_ext scheduler is running\n  hint: start one, scx_wakelab or another");
    }
    let _counting = Counting::begin()?;
    let (mut samples, start) = (vec![read()], Instant::now());
    while start.elapsed() < time && signals.caught().is_none() {
        std::thread::sleep((time - start.elapsed().min(time)).min(SAMPLE_INTERVAL));
        samples.push(read());
    }
    let costs = costs(&samples);
    if json {
        println!("{}", serde_json::to_string_pretty(&costs).context("JSON")?);
    } else {
        print!("{}", table(&printable(name.trim()), &costs));
    }
    Ok(())
}

/// Runs of a program since it was loaded, and their time, ns.
#[derive(Clone, Debug, Default)]
struct Count {
    program: String,
    runs: u64,
    ns: u64,
}

/// The counts by number of the program, because names need not be unique.
type Sample = BTreeMap<u32, Count>;

fn read() -> Sample {
    let of = |program: libbpf_rs::query::ProgramInfo| {
        let name = program.name.to_string_lossy().into_owned();
        (program.id, Count { program: name, runs: program.run_cnt, ns: program.run_time_ns })
    };
    ProgInfoIter::default().filter(|program| program.ty == ProgramType::StructOps).map(of).collect()
}

/// Returns the programs that ran between the first sample and the last, the most expensive first.
fn costs(samples: &[Sample]) -> Vec<Cost> {
    let Some(last) = samples.last() else { return Vec::new() };
    let mut costs: Vec<Cost> = last.iter().filter_map(|(id, count)| cost(*id, &count.program, samples)).collect();
    let all = |cost: &Cost| cost.ns_per_run * cost.runs as f64;
    costs.sort_by(|a, b| all(b).total_cmp(&all(a)));
    costs
}

fn cost(id: u32, program: &str, samples: &[Sample]) -> Option<Cost> {
    let of = |sample: &Sample| sample.get(&id).map_or((0, 0), |count| (count.runs, count.ns));
    let mut between: Vec<(f64, u64)> = samples
        .windows(2)
        .map(|pair| (of(&pair[0]), of(&pair[1])))
        .filter(|(before, now)| now.0 > before.0)
        .map(|(before, now)| ((now.1 - before.1) as f64 / (now.0 - before.0) as f64, now.0 - before.0))
        .collect();
    between.sort_by(|a, b| a.0.total_cmp(&b.0));
    let runs: u64 = between.iter().map(|(_, runs)| runs).sum();
    let mut below = 0;
    let middle = between.iter().find(|(_, runs_there)| {
        below += runs_there;
        below * 2 >= runs
    })?;
    let mean = between.iter().map(|(ns, runs)| ns * *runs as f64).sum::<f64>() / runs as f64;
    Some(Cost { program: program.to_owned(), runs, ns_per_run: middle.0, mean_ns_per_run: mean })
}

fn table(name: &str, costs: &[Cost]) -> String {
    let placements: u64 = costs.iter().filter(|cost| cost.places()).map(|cost| cost.runs).sum();
    let each = |ns: f64| if placements == 0 { "-".to_owned() } else { format!("{:.0}", ns / placements as f64) };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["program", "runs", "ns/run", "mean", "ns/placement"]);
    for cost in costs {
        let (run, mean) = (format!("{:.0}", cost.ns_per_run), format!("{:.0}", cost.mean_ns_per_run));
        table.add_row([&cost.program, &cost.runs.to_string(), &run, &mean, &each(cost.ns_per_run * cost.runs as f64)]);
    }
    let all = costs.iter().map(|cost| cost.ns_per_run * cost.runs as f64).sum();
    table.add_row(["all", "", "", "", &each(all)]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{name}, {placements} placements\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(counts: &[(u32, &str, u64, u64)]) -> Sample {
        counts.iter().map(|&(id, program, runs, ns)| (id, Count { program: program.to_owned(), runs, ns })).collect()
    }

    /// Samples between which a program ran 10 times. One run was interrupted.
    #[test]
    fn an_interrupt_does_not_count() {
        let times = [1000, 2000, 3000, 4000, 95_000, 96_000];
        let samples: Vec<Sample> = (0..)
            .zip(times)
            .map(|(n, ns)| sample(&[(1, "x_select_cpu", 10 + n * 10, ns), (2, "x_tick", 7, 70)]))
            .collect();
        let found = costs(&samples);
        assert_eq!(found.len(), 1, "what did not run is left out");
        assert_eq!((found[0].runs, found[0].ns_per_run, found[0].mean_ns_per_run), (50, 100.0, 1900.0));
    }

    #[test]
    fn costs_are_for_each_placement() {
        let samples = [
            sample(&[(1, "x_select_cpu", 10, 1000)]),
            sample(&[(1, "x_select_cpu", 14, 1800), (3, "x_running", 8, 2000)]),
        ];
        let text = table("x", &costs(&samples));
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.windows(5).any(|row| row == ["x_running", "8", "250", "250", "500"]), "{text}");
        assert!(words.ends_with(&["all", "700"]), "{text}");
    }

    #[test]
    fn nothing_was_placed() {
        let text = table("x", &costs(&[sample(&[]), sample(&[(1, "x_tick", 1, 10)])]));
        assert!(text.trim_end().ends_with('-'), "{text}");
    }
}
