//! `wakelab score`.

use super::simulate::deliver;
use crate::cache::{CacheFlags, CachedSimulator};
use crate::embedded;
use crate::flags::{JobsFlag, OutFlag, SeedFlag, by_name};
use crate::output::{Exit, note, say_error, say_warnings, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use wakelab_input::files;
use wakelab_report::score as report;
use wakelab_study::experiment::Panel;
use wakelab_study::runs::fence::worker::is_worker;
use wakelab_study::score::{Candidate, Rung, ScoreError, Scoring, score};

pub const EXAMPLE: &str = "\
Example:
  wakelab score search --with NO_SIS_UTIL --rung fast";

/// `wakelab score`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The panel: a file (.toml) or a name (search).
    ///
    /// A name is one of `wakelab list panels`; a file of that name takes precedence. `wakelab docs score` describes the
    /// file.
    #[arg(value_name = "PANEL")]
    panel: PathBuf,
    /// The candidate's features and tunables: A,NO_B,name=value.
    ///
    /// Switched on top of each kernel's features, as --with of `wakelab compare`.
    #[arg(long, value_name = "SWITCHES", add = crate::completion::side())]
    with: String,
    /// Simulate the fast rung only, or the full one: fast, full.
    ///
    /// The fast rung runs before the full one if the panel gives up on candidates.
    #[arg(long, value_parser = by_name([Rung::Fast, Rung::Full], Rung::name), default_value = Rung::Full.name())]
    #[arg(hide_possible_values = true)]
    rung: Rung,
    /// Score the held-out parts only.
    #[arg(long)]
    held_out: bool,
    /// The seed.
    #[command(flatten)]
    seed: SeedFlag,
    /// Print the number, a table or json.
    ///
    /// With the number alone on stdout the table goes to stderr (not with --quiet).
    #[arg(long, value_enum, default_value_t = ScoreFormat::Number, hide_possible_values = true)]
    format: ScoreFormat,
    /// Where the result goes.
    #[command(flatten)]
    pub out: OutFlag,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScoreFormat {
    /// The number.
    Number,
    /// A table.
    Table,
    /// JSON.
    Json,
}

/// Scores the candidate.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut panel = panel(&args.panel)?;
    panel.files().iter().for_each(|path| files::note(path));
    panel.seed = args.seed.seed.unwrap_or(panel.seed);
    panel.set_schedulers(&args.cache.schedulers());
    let candidate = Candidate { switches: &args.with, last: args.rung, held_out: args.held_out };
    let (out, stop) = (if is_worker() { None } else { args.out.open()? }, stop_flag());
    let found = CachedSimulator::open(&args.cache)?.fenced().with(|runner| {
        let bar = RunBar::new();
        let found = score(&panel, candidate, &Scoring { runner, jobs: args.jobs.jobs(), progress: &bar, stop });
        bar.finish();
        found
    });
    let found = match found {
        Ok(found) => found,
        Err(ScoreError::Stopped) => {
            tell("interrupted: there is no score; run the same command again to continue");
            return Ok(Exit::Interrupted);
        }
        Err(failed @ (ScoreError::Run(_) | ScoreError::Row(_))) => {
            say_error(failed);
            return Ok(Exit::RunFailed);
        }
        Err(error) => return Err(error.into()),
    };
    say_warnings(&found.warnings);
    match args.format {
        ScoreFormat::Number => {
            note(report::text(&panel, &candidate, &found).trim_end());
            deliver(out.as_ref(), &report::number(&found), false)?;
        }
        ScoreFormat::Table => deliver(out.as_ref(), &report::text(&panel, &candidate, &found), false)?,
        ScoreFormat::Json => {
            deliver(out.as_ref(), &format!("{:#}\n", report::json(&panel, &candidate, &found)), true)?;
        }
    }
    Ok(Exit::Done)
}

/// The file at that path if there is one, else the program's own panel of that name.
fn panel(name: &Path) -> anyhow::Result<Panel> {
    if embedded::is_file(name) {
        return Ok(Panel::read(name)?);
    }
    let (file, text) = embedded::panel(&name.to_string_lossy())?;
    Ok(Panel::parse(Path::new(&file), &text)?)
}
