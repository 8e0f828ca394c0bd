//! The command line.

use crate::sis_param::SisParam;
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;
use wakelab_input::parse_wall_time;
use wakelab_scx_decisions::features;

/// Run the published wake-up placement policies on this machine, as a sched_ext scheduler
#[derive(Clone, Debug, Parser)]
#[command(name = "scx_wakelab", version, max_term_width = 120)]
pub struct Args {
    /// Switch these features on or off, as in SIS_PROP,NO_SIS_CORE
    #[arg(long, value_name = "LIST", value_parser = known)]
    pub features: Option<String>,
    /// Set parameters of SIS_PARAM, as in sis_util_pct=110,sis_param_failed=3; they count while that feature is on
    #[arg(long, value_name = "LIST", value_parser = SisParam::parse, default_value = "", hide_default_value = true)]
    pub param: SisParam,
    /// Switch features of the running scheduler, and exit
    #[arg(long, value_name = "LIST", value_parser = known)]
    #[arg(conflicts_with_all = ["features", "param", "stats", "monitor", "ab"])]
    pub set: Option<String>,
    /// Print statistics at this interval, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub stats: Option<Duration>,
    /// Print the statistics and the state of the running scheduler every second
    #[arg(long, conflicts_with_all = ["features", "stats", "ab"])]
    pub monitor: bool,
    /// With --monitor: print once and exit
    #[arg(long, requires = "monitor")]
    pub once: bool,
    /// Print the cost of the BPF programs of the running scheduler, this one or another, measured for --duration (10s)
    #[arg(long, conflicts_with_all = ["features", "set", "stats", "monitor", "record", "ab"])]
    pub costs: bool,
    /// Slice of a task, in microseconds
    #[arg(long, value_name = "N", default_value_t = 3000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    pub slice_us: u64,
    /// Record each decision in this folder, as wakelab-record does; it must be new, or empty and writable only by you
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// Exit after this time, as in 10s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_wall_time)]
    pub duration: Option<Duration>,
    /// Compare two feature sets, which take turns while COMMAND runs repeatedly
    #[arg(long, num_args = 2, value_names = ["A", "B"], value_parser = known, requires = "command")]
    pub ab: Option<Vec<String>>,
    /// With --ab: the minimum time of a turn
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_wall_time)]
    pub interval: Duration,
    /// With --ab: the number of turns of each set
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub rounds: u32,
    /// With --ab or --costs: print JSON
    #[arg(long)]
    pub json: bool,
    /// Print the log of libbpf and of the verifier
    #[arg(long, short)]
    pub verbose: bool,
    /// With --ab: the command to run, as root; it follows --
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn seconds_are_bounded() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(seconds("0").is_err() && seconds("x").is_err());
    }

    #[test]
    fn a_comparison_needs_a_command() {
        assert!(Args::try_parse_from(["scx_wakelab", "--ab", "SIS_PROP", "SIS_UTIL"]).is_err());
        let args = Args::try_parse_from(["scx_wakelab", "--ab", "SIS_PROP", "SIS_UTIL", "--", "true"]).unwrap();
        assert_eq!(args.ab.unwrap(), ["SIS_PROP", "SIS_UTIL"]);
    }
}
