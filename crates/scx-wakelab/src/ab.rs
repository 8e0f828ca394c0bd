//! `--ab`: compares two feature sets on the live machine, which take turns (A B B A A B ...), so that a slow drift of
//! the machine affects both alike.

use crate::args::Args;
use crate::scheduler::Scheduler;
use crate::server;
use crate::stats::Metrics;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};
use wakelab_process::command::CommandGroup;
use wakelab_process::signals::Signals;
use wakelab_scx_decisions::features;
use wakelab_statistics::{Better, Difference, WELCH, difference, mean, std_pct};

/// The result of one turn.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Mean time of a run of the command, s.
    pub seconds: f64,
    /// Runs of the command.
    pub runs: u32,
    /// The counts of the turn.
    pub counts: Metrics,
}

/// A metric of a turn: its name, its unit, which way is better, and its value.
type Metric = (&'static str, &'static str, Better, fn(&Turn) -> f64);

const METRICS: [Metric; 4] = [
    ("time", "s", Better::Lower, |turn| turn.seconds),
    ("scanned", "CPUs/search", Better::Lower, |turn| per_search(turn, turn.counts.sis_scanned)),
    ("success", "% of searches", Better::Higher, |turn| 100.0 - 100.0 * per_search(turn, turn.counts.sis_failed)),
    ("migrations", "per search", Better::Lower, |turn| per_search(turn, turn.counts.migrations)),
];

fn per_search(turn: &Turn, count: u64) -> f64 {
    count as f64 / turn.counts.sis_search.max(1) as f64
}

/// The order of the two sides in a round.
fn order(round: u32) -> [usize; 2] {
    if round.is_multiple_of(2) { [0, 1] } else { [1, 0] }
}

/// Runs the turns and prints the table. Returns false, and prints nothing, if a signal ends it before its last turn.
/// The command is then ended with its process group.
///
/// # Errors
/// Fails if the command fails, or the kernel disables the scheduler.
pub fn run(args: &Args, scheduler: &mut Scheduler<'_>, signals: &Signals) -> Result<bool> {
    let lists = args.ab.as_deref().unwrap_or_default();
    let base = scheduler.features();
    let on = lists.iter().map(|list| features::switched(base, list)).collect::<Result<Vec<_>>>()?;
    let socket = server::open()?;
    let mut turns: [Vec<Turn>; 2] = Default::default();
    for round in 0..args.rounds {
        for side in order(round) {
            scheduler.set_features(on[side]);
            let Some(turn) = turn(args, scheduler, &socket, signals)? else { return Ok(false) };
            turns[side].push(turn);
        }
    }
    if args.json {
        print!("{}", as_json(args, &turns))
    } else {
        print!("{}", table(args, &turns))
    }
    Ok(true)
}

/// Runs the command repeatedly until the time is over, at least once. `None` if a signal came.
fn turn(
    args: &Args,
    scheduler: &mut Scheduler<'_>,
    socket: &server::Server,
    signals: &Signals,
) -> Result<Option<Turn>> {
    let before = Metrics::read(scheduler);
    let start = Instant::now();
    let (mut runs, mut total) = (0_u32, Duration::ZERO);
    while runs == 0 || start.elapsed() < args.interval {
        let began = Instant::now();
        let mut command = CommandGroup::start(&args.command, Stdio::null())
            .with_context(|| format!("cannot run {}; give the command to be timed after --", args.command[0]))?;
        let status = loop {
            if let Some(status) = command.try_wait()? {
                break status;
            }
            if signals.caught().is_some() {
                return Ok(None);
            }
            if scheduler.ended() {
                bail!("the kernel disabled the scheduler before the last turn");
            }
            // Polled often enough that the delay is small beside the time of a run.
            server::answer(
                socket,
                scheduler,
                (began.elapsed() / 200).clamp(Duration::from_millis(1), Duration::from_millis(20)),
            );
        };
        if !status.success() {
            bail!("{} failed ({status}); give a command that succeeds", args.command[0]);
        }
        total += began.elapsed();
        runs += 1;
    }
    let counts = Metrics::read(scheduler).since(&before);
    Ok(Some(Turn { seconds: total.as_secs_f64() / f64::from(runs), runs, counts }))
}

/// The values of a metric on both sides, and their difference; `None` if the mean of the base is 0.
fn compared(turns: &[Vec<Turn>; 2], metric: &Metric) -> ([Vec<f64>; 2], Option<Difference>) {
    let values = turns.each_ref().map(|side| side.iter().map(metric.3).collect::<Vec<_>>());
    let differ = (mean(&values[0]) != 0.0).then(|| difference(&values[0], &values[1], metric.2));
    (values, differ)
}

/// The table in the form of `wakelab compare`.
pub fn table(args: &Args, turns: &[Vec<Turn>; 2]) -> String {
    let lists = args.ab.clone().unwrap_or_default();
    let uname = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "{}: measured by scx_wakelab {}\n\nkernel    {}\nbase      {}\nwith      {}\nruns      {} turns of each, {:?} \
         or more, taken in turn; {} and {} runs of the command\n\n",
        args.command.join(" "),
        env!("CARGO_PKG_VERSION"),
        uname.trim(),
        lists[0],
        lists[1],
        turns[0].len(),
        args.interval,
        turns[0].iter().map(|turn| turn.runs).sum::<u32>(),
        turns[1].iter().map(|turn| turn.runs).sum::<u32>(),
    );
    let mut results = comfy_table::Table::new();
    results.load_style(comfy_table::presets::NOTHING);
    results.set_header(["metric", "unit", "base ± std%", "with ± std%", "compare%", "95% interval", "p", "n"]);
    for metric in &METRICS {
        let (values, differ) = compared(turns, metric);
        let side = |values: &[f64]| format!("{:.4} ± {:.2}", mean(values), std_pct(values));
        let none = || "n/a".to_owned();
        let interval = differ.and_then(|d| d.ci95).map_or_else(none, |[low, high]| format!("[{low:+.2}, {high:+.2}]"));
        results.add_row([
            metric.0.to_owned(),
            metric.1.to_owned(),
            side(&values[0]),
            side(&values[1]),
            differ.map_or_else(none, |d| format!("{:+.2}", d.compare_pct)),
            interval,
            differ.and_then(|d| d.p_value).map_or_else(none, |p| format!("{p:.4}")),
            values[0].len().to_string(),
        ]);
    }
    text += &results.to_string();
    text += &format!("\n\ncompare%: positive is better\np: {WELCH}\n\nSearches, all turns together\n");
    for (name, side) in ["base", "with"].iter().zip(turns) {
        let sum = |of: fn(&Metrics) -> u64| side.iter().map(|turn| of(&turn.counts)).sum::<u64>();
        text += &format!(
            "{name}  sis_search {} sis_domain_search {} sis_scanned {} sis_failed {}\n",
            sum(|m| m.sis_search),
            sum(|m| m.sis_domain_search),
            sum(|m| m.sis_scanned),
            sum(|m| m.sis_failed),
        );
    }
    text
}

fn as_json(args: &Args, turns: &[Vec<Turn>; 2]) -> String {
    let rows = METRICS.map(|metric| {
        let (values, differ) = compared(turns, &metric);
        let side = |values: &[f64]| {
            json!({ "mean": mean(values), "std_pct": std_pct(values), "n": values.len(), "values": values })
        };
        json!({
            "kind": "measured",
            "metric": metric.0,
            "unit": metric.1,
            "base": side(&values[0]),
            "with": side(&values[1]),
            "compare_pct": differ.map(|d| d.compare_pct),
            "ci95": differ.and_then(|d| d.ci95),
            "p_value": differ.and_then(|d| d.p_value),
        })
    });
    let lists = args.ab.clone().unwrap_or_default();
    let all = json!({ "kind": "measured", "command": args.command, "base": lists[0], "with": lists[1], "rows": rows });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn turns(seconds: &[f64], scanned: u64) -> Vec<Turn> {
        let counts = Metrics { sis_search: 100, sis_scanned: scanned, sis_failed: 25, ..Metrics::default() };
        seconds.iter().map(|&seconds| Turn { seconds, runs: 1, counts: counts.clone() }).collect()
    }

    #[test]
    fn a_drift_affects_both_sides() {
        assert_eq!([0, 1, 2, 3].map(order), [[0, 1], [1, 0], [0, 1], [1, 0]]);
    }

    #[test]
    fn the_table_says_what_is_better() {
        let args = Args::try_parse_from(["scx_wakelab", "--ab", "SIS_PROP", "SIS_UTIL", "--", "true"]).unwrap();
        let sides = [turns(&[2.0, 2.1, 1.9], 400), turns(&[1.0, 1.1, 0.9], 200)];
        let text = table(&args, &sides);
        assert!(text.contains("measured") && text.contains("+50.00"), "{text}");
        assert!(text.contains("sis_scanned 1200") && text.contains("75.0000"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&as_json(&args, &sides)).unwrap();
        assert_eq!((json["kind"].as_str(), json["rows"][0]["kind"].as_str()), (Some("measured"), Some("measured")));
        // Nothing was migrated, so there is no difference.
        assert!(json["rows"][3]["compare_pct"].is_null());
    }
}
