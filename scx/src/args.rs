//! The command line.

use crate::features;
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;

/// Runs the published wake-up placement policies on this machine, as a sched_ext scheduler.
#[derive(Clone, Debug, Parser)]
#[command(name = "scx_wakelab", version, max_term_width = 120)]
pub struct Args {
    /// Features to switch, as in SIS_PROP,NO_SIS_CORE
    #[arg(long, value_name = "LIST", value_parser = known)]
    pub features: Option<String>,
    /// Switch features of the scheduler that runs, and end
    #[arg(long, value_name = "LIST", value_parser = known, conflicts_with_all = ["features", "stats", "monitor", "ab"])]
    pub set: Option<String>,
    /// Print statistics of so many seconds each
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub stats: Option<Duration>,
    /// Print the statistics of the scheduler that runs, and all of its state, each second
    #[arg(long, conflicts_with_all = ["features", "stats", "ab"])]
    pub monitor: bool,
    /// With --monitor: print once and end
    #[arg(long, requires = "monitor")]
    pub once: bool,
    /// Print what the programs of the scheduler that runs, this one or another, cost in --duration (10s if not given)
    #[arg(long, conflicts_with_all = ["features", "set", "stats", "monitor", "record", "ab"])]
    pub costs: bool,
    /// How long a task runs before others are looked at
    #[arg(long, value_name = "N", default_value_t = 3000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub slice_us: u64,
    /// Write what was decided, as wakelab-record does: a folder that is not there yet
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// End after so long (10s, 5m)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Compare two sets of features while COMMAND runs again and again, each in turn
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = known, requires = "command")]
    pub ab: Option<Vec<String>>,
    /// With --ab: how long each turn is, whatever the command does
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub interval: Duration,
    /// With --ab: turns of each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub rounds: u32,
    /// With --ab or --costs: print JSON
    #[arg(long)]
    pub json: bool,
    /// Show what libbpf and the kernel say of the program
    #[arg(long, short)]
    pub verbose: bool,
    /// The command, after --
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

fn known(list: &str) -> Result<String, String> {
    features::switched(0, list).map(|_| list.to_owned()).map_err(|e| e.to_string())
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(format!("expected seconds from 0.1 to 86400, found {text:?}")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => 0_u64,
    };
    match digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)) {
        Some(ns) if ns > 0 => Ok(Duration::from_nanos(ns)),
        _ => Err(format!("expected a time such as 500ms, 10s, 5m or 1h, found {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["", "5", "0s", "s", "5 s", "99999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert!(seconds("0").is_err() && seconds("x").is_err());
    }

    #[test]
    fn a_comparison_needs_a_command() {
        assert!(Args::try_parse_from(["scx_wakelab", "--ab", "SIS_PROP", "SIS_UTIL"]).is_err());
        let args = Args::try_parse_from(["scx_wakelab", "--ab", "SIS_PROP", "SIS_UTIL", "--", "true"]).unwrap();
        assert_eq!(args.ab.unwrap(), ["SIS_PROP", "SIS_UTIL"]);
    }
}
