//! `wakelab verify`.

use super::calibrate::{calibrated, child, stand_in};
use super::simulate::deliver;
use crate::flags::{FormatFlag, TableFormat, by_name};
use crate::output::{Exit, say};
use crate::progress::LoadBar;
use crate::signals::stop_flag;
use anyhow::Context;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wakelab_calibrate::load::{Kind, Report, Spec};
use wakelab_calibrate::{Child, Noise, allowed, release};
use wakelab_input::parse_wall_time;
use wakelab_machine::Calibration;
use wakelab_report::verify as report;
use wakelab_study::verify::{Point, Row, Side, Simulation, instances};

pub const EXAMPLE: &str = "\
Example:
  wakelab verify --machine mine.toml";

/// `wakelab verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The machine file that `wakelab calibrate` wrote here.
    #[arg(long, value_name = "FILE")]
    machine: PathBuf,
    /// Run only these loads: tcp, pipes, sockets, messages, timers, forks.
    #[arg(long, value_name = "LOAD", value_delimiter = ',', hide_possible_values = true)]
    #[arg(value_parser = by_name(Kind::ALL, Kind::name))]
    load: Vec<Kind>,
    /// How long to run each load, 10ms to 1m.
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = parse_wall_time)]
    time: Duration,
    /// Run and simulate each load N times.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// How the report is printed.
    #[command(flatten)]
    format: FormatFlag,
    /// Simulate this kernel preset.
    ///
    /// If left out, that of the running kernel's version, or of the newest version before it.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
}

/// Runs loads here, simulates them, and prints both.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let limits = Duration::from_millis(10)..=Duration::from_secs(60);
    anyhow::ensure!(
        limits.contains(&args.time),
        "--time: expected 10ms to 1m, found {:?}\n  hint: 500ms is enough for most machines",
        args.time
    );
    let (file, calibration) = calibrated(&args.machine)?;
    let machine = &file.machine;
    let stands = stand_in(args.kernel.as_deref())?.with_hz(calibration.hz);
    let cpus = allowed().context("sched_getaffinity()")?;
    let known: Vec<u32> =
        (0..machine.topology.nr_cpus()).filter(|&cpu| cpus.contains(&machine.kernel_cpu(cpu))).collect();
    anyhow::ensure!(
        known.len() == cpus.len(),
        "--machine: {} has {} of the CPUs {cpus:?} that this process may use\n  hint: it is of another machine; \
         `wakelab calibrate` measures this one",
        args.machine.display(),
        known.len()
    );
    let kinds: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| args.load.is_empty() || args.load.contains(kind)).collect();
    let (points, left_out) = points(&kinds, &calibration, known.len() as u32);
    let stop = stop_flag();
    let child = child()?;
    let bar = LoadBar::new(points.len());
    let noise = Noise::begin();
    let mut measured = Vec::new();
    for &(point, _) in &points {
        bar.begins("runs", point);
        match measure(point, args, &child, stop) {
            Ok(side) => measured.push(side),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                bar.finish();
                return interrupted();
            }
            Err(error) => {
                bar.finish();
                let text = format!("{} {}: {error}", point.kind.name(), point.instances);
                return Err(anyhow::anyhow!("{text}\n  hint: choose loads that this system allows with --load"));
            }
        }
    }
    let noise = noise();
    let pinned = (known.len() < machine.topology.cpus.len()).then_some(&known[..]);
    let simulation = Simulation { machine, kernel: &stands.kernel, cpus: pinned, repeats: args.repeat };
    let mut rows = Vec::new();
    for (&(point, work), (measured, others_pct)) in points.iter().zip(measured) {
        bar.begins("is simulated", point);
        match simulation.run(point, work, stop)? {
            Some(simulated) => rows.push(Row { point, measured, simulated, others_pct }),
            None => {
                bar.finish();
                return interrupted();
            }
        }
    }
    bar.finish();
    let work: Vec<(Kind, u64)> =
        kinds.iter().filter_map(|&kind| Some((kind, *calibration.work.get(kind.name())?))).collect();
    let verified = report::Verified {
        machine: &machine.name,
        cpus: known.len(),
        release: &release(),
        preset: stands.kernel.name,
        hz: stands.kernel.hz.value,
        noise: &noise,
        rows: &rows,
        work: &work,
        left_out: &left_out,
    };
    match args.format.format {
        TableFormat::Table => deliver(None, &report::text(&verified), false)?,
        TableFormat::Json => deliver(None, &format!("{:#}\n", report::json(&verified)), true)?,
    }
    if calibration.kernel != release() {
        say!(
            "warning: {} was measured on Linux {}, and {} runs",
            args.machine.display(),
            calibration.kernel,
            release()
        );
    }
    Ok(Exit::Done)
}

fn interrupted() -> anyhow::Result<Exit> {
    eprintln!("interrupted: the loads have ended");
    Ok(Exit::Interrupted)
}

/// Kinds that are left out, and why.
type LeftOut = Vec<(Kind, String)>;

/// The loads with the work of their operations, and those that the machine file does not know.
fn points(kinds: &[Kind], calibration: &Calibration, cpus: u32) -> (Vec<(Point, u64)>, LeftOut) {
    let (mut points, mut left_out) = (Vec::new(), Vec::new());
    for &kind in kinds {
        match calibration.work.get(kind.name()) {
            Some(&work) => {
                points.extend(instances(cpus).into_iter().map(|instances| (Point { kind, instances }, work)));
            }
            None => left_out
                .push((kind, "the machine file has no amount of work for it: it could not be measured".to_owned())),
        }
    }
    (points, left_out)
}

/// Runs a load some times.
fn measure(point: Point, args: &Args, child: &Child, stop: &AtomicBool) -> io::Result<(Side, f64)> {
    let time_ns = args.time.as_nanos() as u64;
    let Point { kind, instances } = point;
    let spec = Spec { kind, instances, cpus: vec![], settle_ns: time_ns / 4, time_ns, count: None };
    let (reports, others): (Vec<Report>, Vec<f64>) = child.quietest(&spec, args.repeat, stop)?.into_iter().unzip();
    let side = Side::measured(&reports).filter(|side| side.throughput.median > 0.0);
    let others = others.iter().sum::<f64>() / f64::from(args.repeat);
    side.map(|side| (side, others)).ok_or_else(|| io::Error::other("the load did nothing in its time"))
}
