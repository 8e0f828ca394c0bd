//! `wakelab sweep`.

use crate::cache::{CacheFlags, CachedSimulator};
use crate::embedded;
use crate::flags::JobsFlag;
use crate::in_process;
use crate::output::{Exit, print, print_as_is, say_error, say_warnings, stdout, tell};
use crate::progress::RunBar;
use crate::signals::stop_flag;
use crate::sweep_folder::{Parts, SweepFolder};
use crate::sweep_table::parquet;
use serde_json::json;
use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use wakelab_input::printable;
use wakelab_report::VERSION;
use wakelab_report::numbers::count;
use wakelab_study::experiment::SweepSpec;
use wakelab_study::sweep::columns::failed_runs;
use wakelab_study::sweep::{Making, Sweep, SweepError};

pub const EXAMPLE: &str = "\
Example:
  wakelab sweep migration-cost --dry-run";

/// What makes the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Engine {
    /// This machine.
    Local,
    /// A Ray cluster: `ray`, `ray:ADDRESS` or `ray://HOST:PORT`.
    Ray(String),
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "local" => Ok(Engine::Local),
            "ray" => Ok(Engine::Ray(text.to_owned())),
            _ if text.starts_with("ray:") && text.len() > 4 => Ok(Engine::Ray(text.to_owned())),
            _ => Err("expected local, ray, ray:HOST:PORT of a cluster's head, or ray://HOST:PORT of its client server"
                .to_owned()),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Engine::Local => "local",
            Engine::Ray(text) => text,
        })
    }
}

/// `wakelab sweep`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sweep: a file (.toml) or a name (migration-cost).
    ///
    /// A name is one of `wakelab list sweeps`; a file of that name takes precedence. `wakelab docs sweep` describes the
    /// file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the results: Parquet, a row for each run.
    ///
    /// New, empty, or of the same sweep, which then continues: finished parts are not run again.
    #[arg(long, short, value_name = "DIR", required_unless_present_any = ["dry_run", "plan", "part"])]
    out: Option<PathBuf>,
    /// Where to run: local, ray, or ray://HOST:PORT.
    ///
    /// `ray` is a Ray cluster, or a local one that is started for it ($RAY_ADDRESS or ray:HOST:PORT is one that runs).
    /// All machines need the package for Python (`wakelab docs python`). The results are the same bytes as of `local`.
    #[arg(long, value_name = "ENGINE", default_value_t = Engine::Local)]
    engine: Engine,
    /// Print what would be run.
    #[arg(long)]
    dry_run: bool,
    /// How many runs at a time.
    #[command(flatten)]
    jobs: JobsFlag,
    /// The cache.
    #[command(flatten)]
    cache: CacheFlags,
    /// Print the parts that are missing, as JSON, in place of making them.
    ///
    /// Of the package for Python (docs/sweep.md), which makes them on a cluster.
    #[arg(long, hide = true, conflicts_with_all = ["dry_run", "part"])]
    plan: bool,
    /// Print this part, as Parquet, in place of making all.
    #[arg(long, value_name = "N", hide = true, conflicts_with_all = ["dry_run", "out"])]
    part: Option<u64>,
}

/// Makes the runs of a sweep.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut spec = spec(&args.file)?;
    spec.set_schedulers(&args.cache.schedulers());
    let sweep = Sweep::new(spec)?;
    sweep.serve();
    if args.part.is_none() {
        say_warnings(&sweep.warnings);
    }
    if args.dry_run {
        print(&plan(&sweep))?;
        return Ok(Exit::Done);
    }
    if let Some(part) = args.part {
        return make_part(args, &sweep, part);
    }
    let Some(out) = &args.out else {
        // A plan without a folder: what a cluster would be given.
        print_as_is(&format!("{:#}\n", json_plan(&sweep, None)?))?;
        return Ok(Exit::Done);
    };
    let folder = SweepFolder::open(out, &sweep)?;
    if args.plan {
        print_as_is(&format!("{:#}\n", json_plan(&sweep, Some(&folder))?))?;
        return Ok(Exit::Done);
    }
    match &args.engine {
        Engine::Local => make_all(args, &sweep, &folder, out),
        Engine::Ray(engine) => on_ray(args, out, engine),
    }
}

/// The file at that path if there is one, else the program's own sweep of that name.
fn spec(name: &Path) -> anyhow::Result<SweepSpec> {
    if embedded::is_file(name) {
        return Ok(SweepSpec::read(name)?);
    }
    let (file, text) = embedded::sweep(&name.to_string_lossy())?;
    Ok(SweepSpec::parse(Path::new(&file), &text)?)
}

fn make_all(args: &Args, sweep: &Sweep, folder: &SweepFolder, out: &Path) -> anyhow::Result<Exit> {
    let _lock = folder.lock()?;
    let Parts { missing, failed } = folder.parts(sweep);
    let stop = stop_flag();
    let (written, failed) = (AtomicU64::new(0), AtomicU64::new(failed));
    let made = CachedSimulator::open(&args.cache)?.fenced().with(|runner| {
        let bar = RunBar::new();
        let making = Making { runner, jobs: args.jobs.jobs(), progress: &bar, stop };
        let made = sweep.run(&missing, &making, &|part, rows| {
            let bytes = parquet(sweep, folder.id(), &rows);
            written.fetch_add(1, Ordering::Relaxed);
            failed.fetch_add(failed_runs(&rows), Ordering::Relaxed);
            folder.write(part, &bytes).map_err(|error| format!("{error:#}"))
        });
        bar.finish();
        made
    });
    let whole = match made {
        Ok(whole) => whole,
        Err(SweepError::Write(what)) => anyhow::bail!(what),
        Err(error) => return Err(error.into()),
    };
    if !whole {
        let there = sweep.parts() - missing.len() as u64 + written.into_inner();
        let parts = count(sweep.parts(), "part");
        tell(format_args!("interrupted: {there} of {parts} are complete; run the same command again to continue"));
        return Ok(Exit::Interrupted);
    }
    let failed = failed.into_inner();
    if failed > 0 {
        let runs = count(failed, "run");
        say_warnings(&[format!("{runs} of {} failed; the column `error` says why", sweep.runs())]);
    }
    let (runs, points, parts) =
        (count(sweep.runs(), "run"), count(sweep.points(), "point"), count(sweep.parts(), "part"));
    print(&format!("{runs} of {points} in {}, {parts}\n", out.display()))?;
    Ok(Exit::Done)
}

/// Prints one part to stdout.
fn make_part(args: &Args, sweep: &Sweep, part: u64) -> anyhow::Result<Exit> {
    anyhow::ensure!(part < sweep.parts(), "--part: expected 0 to {}, found {part}", sweep.parts() - 1);
    let id = sweep.id(VERSION).map_err(anyhow::Error::msg)?;
    let made = Mutex::new(None);
    let stop = stop_flag();
    let whole = CachedSimulator::open(&args.cache)?.fenced().with(|runner| {
        let making = Making { runner, jobs: args.jobs.jobs(), progress: &RunBar::new(), stop };
        sweep.run(&[part], &making, &|_, rows| {
            *made.lock().unwrap_or_else(PoisonError::into_inner) = Some(parquet(sweep, &id, &rows));
            Ok(())
        })
    })?;
    if !whole {
        return Ok(Exit::Interrupted);
    }
    let bytes = made.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default();
    let mut out = stdout();
    out.write_all(&bytes).and_then(|()| out.flush())?;
    Ok(Exit::Done)
}

/// Leaves the rest to the package for Python, which takes the place of this process.
fn on_ray(args: &Args, out: &Path, engine: &str) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        in_process::host().is_none(),
        "--engine: the package for Python starts a cluster itself\n  hint: wakelab.sweep(…, engine=\"ray\")"
    );
    let mut python = python();
    python.args(["-m", "wakelab", "sweep", "--version", VERSION, "--engine", engine, "--out"]).arg(out);
    if args.jobs.jobs() > 0 {
        python.arg("--jobs").arg(args.jobs.jobs().to_string());
    }
    python.arg("--").arg(&args.file);
    let known = self::python().args(["-c", "import wakelab, ray"]).output();
    match known {
        Ok(done) if done.status.success() => {}
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr);
            anyhow::ensure!(
                !said.to_lowercase().contains("unknown option"),
                "--engine: python3 is older than 3.11, and would run files in the current folder\n  hint: install \
                 Python 3.11 or newer"
            );
            let why = printable(said.lines().last().unwrap_or("it ended without a message")).into_owned();
            anyhow::bail!(
                "--engine: python3 lacks what a Ray cluster needs: {why}\n  hint: `wakelab docs python` says how to \
                 install the package; `pip install ray` installs Ray"
            );
        }
        Err(error) => anyhow::bail!("--engine: python3: {error}\n  hint: install Python 3.11 or newer"),
    }
    let _ = std::io::stdout().flush();
    let error = python.exec();
    say_error(format_args!("--engine: python3: {error}"));
    Ok(Exit::RunFailed)
}

/// Python as it takes modules from where they are installed, and not from the folder that it runs in: files there may
/// be anybody's. `-P` is of 3.11, as is the package; an empty folder in `PYTHONPATH` would be the current one.
fn python() -> process::Command {
    let mut python = process::Command::new("python3");
    python.arg("-P");
    if let Some(path) = std::env::var_os("PYTHONPATH") {
        let named = std::env::split_paths(&path).filter(|folder| !folder.as_os_str().is_empty());
        match std::env::join_paths(named) {
            Ok(path) if !path.is_empty() => python.env("PYTHONPATH", path),
            _ => python.env_remove("PYTHONPATH"),
        };
    }
    python
}

/// What would be run, as text.
fn plan(sweep: &Sweep) -> String {
    let spec = sweep.spec();
    let mut text = format!("{}: {}", spec.name, count(sweep.points(), "point"));
    if sweep.points() < sweep.space() {
        text += &format!(", drawn from {}", count(sweep.space(), "point"));
    }
    text += &format!(
        ", {} each, {} in {}\n",
        count(spec.repeats.into(), "run"),
        count(sweep.runs(), "run"),
        count(sweep.parts(), "part")
    );
    for grid in &spec.grids {
        let mut axes = vec![
            count(grid.machines.len() as u64, "machine"),
            count(grid.kernels.len() as u64, "kernel"),
            count(grid.sides.len() as u64, "side"),
        ];
        axes.extend(grid.axes.iter().map(|axis| format!("{} of {}", count(axis.count(), "value"), axis.name)));
        text += &format!("  {}\n", axes.join(" × "));
    }
    text
}

/// The same for the package for Python, with the parts that are missing in the folder.
fn json_plan(sweep: &Sweep, folder: Option<&SweepFolder>) -> anyhow::Result<serde_json::Value> {
    let parts = folder.map(|folder| folder.parts(sweep));
    let missing = parts.as_ref().map_or_else(|| (0..sweep.parts()).collect(), |parts| parts.missing.clone());
    Ok(json!({
        "wakelab": VERSION,
        "id": sweep.id(VERSION).map_err(anyhow::Error::msg)?,
        "space": sweep.space(),
        "points": sweep.points(),
        "runs": sweep.runs(),
        "parts": sweep.parts(),
        "runs_per_part": sweep.spec().runs_per_part,
        "missing": missing,
        "failed": parts.map_or(0, |parts| parts.failed),
        "text": sweep.spec().text,
        "files": sweep.spec().files(),
        "absolute": sweep.spec().absolute_paths(),
    }))
}
