//! `wakelab calibrate`, and the processes that it and `wakelab verify` start.

use super::simulate::deliver;
use crate::flags::{self, FormatFlag, TableFormat};
use crate::out_file::OutFile;
use crate::output::{Exit, detail, say};
use crate::progress::BenchBar;
use crate::signals::stop_flag;
use anyhow::Context;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wakelab_calibrate::{
    Bench, Budget, Child, Measured, Noise, allowed, capacities, config_hz, measure, places, release,
};
use wakelab_input::parse_wall_time;
use wakelab_kernel::Preset;
use wakelab_machine::{Calibration, MachineFile};
use wakelab_report::calibrate as report;
use wakelab_study::calibrate::{Derivation, Derived, StandIn, derive};

pub const EXAMPLE: &str = "\
Example:
  wakelab calibrate -o mine.toml";

/// `wakelab calibrate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the machine to this file.
    ///
    /// Measurements go to stdout. The file appears only when it is complete.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// How long to measure, 1s to 1h.
    ///
    /// More time means more short runs of each microbenchmark. Deriving the constants takes a few more seconds.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_wall_time)]
    time: Duration,
    /// The name of the machine.
    #[arg(long, value_name = "NAME", default_value = "calibrated")]
    name: String,
    /// How the report is printed.
    #[command(flatten)]
    format: FormatFlag,
    /// Derive the constants with this kernel preset.
    ///
    /// The default is that of the running kernel's version, or of the newest version before it.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    kernel: Option<String>,
    /// Read the topology from this /sys tree.
    #[arg(long, value_name = "DIR", default_value = "/sys", hide_short_help = true)]
    sysfs: PathBuf,
}

/// Measures this machine, derives its constants, writes it, and prints both.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let least = Duration::from_secs(1)..=Duration::from_secs(3600);
    anyhow::ensure!(
        least.contains(&args.time),
        "--time: expected 1s to 1h, found {:?}\n  hint: 60s is enough for most machines",
        args.time
    );
    let stands = stand_in(args.kernel.as_deref())?;
    let imported = wakelab_machine::import(&args.sysfs, &args.name)?;
    let mut file = imported.file;
    let cpus = allowed().context("sched_getaffinity()")?;
    let places = places(&file.machine, &cpus);
    anyhow::ensure!(
        !places.is_empty(),
        "none of the CPUs that this process may use ({cpus:?}) is in {}\n  hint: a tree of another machine cannot be \
         measured here; leave --sysfs out",
        args.sysfs.display()
    );
    let out = OutFile::new("--out", &args.out)?;
    let stop = stop_flag();
    let bar = BenchBar::new();
    let noise = Noise::begin();
    let budget = Budget { time: args.time, stop };
    let measured = measure(&places, &capacities(&file.machine, &cpus), &child()?, budget, &bar);
    bar.finish();
    let (measured, unmeasured) = match measured {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return interrupted(),
        other => other.context("the microbenchmarks")?,
    };
    let noise = noise();
    let hz = config_hz().or_else(|| hz(&measured)).unwrap_or(stands.kernel.hz.value);
    let stands = stands.with_hz(hz);
    let date = chrono::Utc::now().format("%Y-%m-%d %H:%M").to_string();
    let of = Derivation { machine: &file.machine, kernel: &stands.kernel, measured: &measured, date: &date };
    detail(format_args!("{} microbenchmarks measured; deriving constants with {}", measured.len(), stands.kernel.name));
    let Some(derived) = derive(&of, stop)? else { return interrupted() };
    file.machine = derived.machine.clone();
    file.calibration = Some(calibration(&derived, &stands, date, &noise));
    let notes = imported.notes.iter().map(|note| format!("# {note}\n"));
    let head: String = ["# Written by `wakelab calibrate`.\n".to_owned()].into_iter().chain(notes).collect();
    let text = format!("{head}\n{}", file.to_toml());
    // Otherwise whoever reads the file would find out.
    MachineFile::from_toml(&text, &args.out.display().to_string())
        .context("the written machine cannot be read back; please report this")?;
    out.write(&text)?;
    let calibrated = report::Calibrated {
        file: &file,
        derived: &derived,
        unmeasured: &unmeasured,
        noise: &noise,
        exact: stands.exact,
    };
    match args.format.format {
        TableFormat::Table => deliver(None, &report::text(&calibrated), false)?,
        TableFormat::Json => deliver(None, &format!("{:#}\n", report::json(&calibrated)), true)?,
    }
    for note in &imported.notes {
        say!("note: {note}");
    }
    say!(
        "wrote the machine to {}; `wakelab verify --machine {0}` shows how well it predicts loads",
        args.out.display()
    );
    Ok(Exit::Done)
}

fn interrupted() -> anyhow::Result<Exit> {
    eprintln!("interrupted: nothing was written");
    Ok(Exit::Interrupted)
}

/// The preset that was asked for, or what stands for the running kernel.
pub(super) fn stand_in(kernel: Option<&str>) -> anyhow::Result<StandIn> {
    let Some(name) = kernel else { return Ok(StandIn::of_release(&release())) };
    let preset = flags::preset(Some("--kernel"), name)?;
    let exact = Preset::of_release(&release()).is_ok_and(|own| own.name == preset.name);
    Ok(StandIn { kernel: preset.clone(), exact })
}

fn hz(measured: &[Measured]) -> Option<u32> {
    measured.iter().find(|one| one.bench == Bench::Hz).map(|one| one.spread.median as u32)
}

fn calibration(derived: &Derived, stands: &StandIn, date: String, noise: &Noise) -> Calibration {
    let work: BTreeMap<String, u64> = derived.work.iter().map(|work| (work.kind.name().to_owned(), work.ns)).collect();
    let preset = stands.kernel.name.to_owned();
    Calibration { date, kernel: release(), preset, hz: stands.kernel.hz.value, noise: noise.text(), work }
}

/// How this program starts itself as a part of a measurement.
pub(super) fn child() -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("the path of this program (/proc/self/exe)")?;
    Ok(Child { program, args: vec![OsString::from(PART)] })
}

/// The hidden command of these processes.
pub const PART: &str = "measure-part";

/// `wakelab measure-part`.
#[derive(Debug, clap::Args)]
pub struct PartArgs {
    /// The part to measure, as JSON.
    role: String,
}

/// Does a part of a measurement. The process ends with it, whatever its threads do.
pub fn part(args: &PartArgs) -> ! {
    std::process::exit(match wakelab_calibrate::serve(&args.role) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    })
}

/// Reads a machine file that has been measured.
pub(super) fn calibrated(path: &Path) -> anyhow::Result<(MachineFile, Calibration)> {
    let file = MachineFile::get(&path.display().to_string())?;
    let Some(calibration) = file.calibration.clone() else {
        anyhow::bail!(
            "--machine: {} has no [calibration]; expected a file of measured costs\n  hint: `wakelab calibrate -o \
             mine.toml` writes one of this machine",
            path.display()
        );
    };
    Ok((file, calibration))
}
