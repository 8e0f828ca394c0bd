//! Progress bars for work that takes long, if stderr is a terminal. A command that prints while it reads has none if
//! stdout is a terminal, too.

use crate::in_process::{Host, host};
use crate::output::{Voice, detail, speaks};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use wakelab_calibrate::{Bench, Place};
use wakelab_report::numbers::thousands;
use wakelab_study::Progress;
use wakelab_study::compare::RunProgress;
use wakelab_study::fit::{FitProgress, Stage};
use wakelab_study::runs::RunId;
use wakelab_study::verify::Point;

/// Work that takes less time has no bar.
const SOON: Duration = Duration::from_secs(2);
/// The interval in which times are redrawn.
const TICK: Duration = Duration::from_secs(1);

/// Creates a bar that appears after [`SOON`], if `may_show`.
fn late(length: Option<u64>, template: &str, may_show: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
    bar.set_style(ProgressStyle::with_template(template).expect("the template is right"));
    // --verbose prints lines in its place, and --quiet neither.
    let wanted = speaks(Voice::Usual) && !speaks(Voice::Verbose) && host().is_none();
    if may_show && wanted && std::io::stderr().is_terminal() {
        let late = bar.clone();
        // Without a thread there is no bar.
        let _ = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(SOON);
            if !late.is_finished() {
                late.set_draw_target(ProgressDrawTarget::stderr());
                late.enable_steady_tick(TICK);
            }
        });
    }
    bar
}

/// The bar of recordings: bytes of the files that are done, and rows so far.
#[derive(Debug)]
pub struct Bar {
    bytes: ProgressBar,
    rows: ProgressBar,
    /// The bytes counted so far of files that are not done.
    parts: Mutex<HashMap<PathBuf, u64>>,
    /// The program that this one is part of, which is told, too.
    host: Option<Arc<Host>>,
}

impl Bar {
    /// Creates a bar for these files. With `streams`, the command prints while it reads, and there is no bar if stdout
    /// is a terminal.
    pub fn new(files: &[PathBuf], streams: bool) -> Self {
        let total = files.iter().map(|file| size(file)).sum();
        let template = "{wide_bar} {bytes}/{total_bytes}, {msg} rows, {elapsed}, {eta} left";
        let bytes = late(Some(total), template, !(streams && std::io::stdout().is_terminal()));
        Bar { bytes, rows: ProgressBar::hidden(), parts: Mutex::default(), host: host() }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bytes.finish_and_clear();
    }

    fn tell_host(&self) {
        if let Some(host) = &self.host {
            let what = format!("{} rows", thousands(self.rows.position()));
            host.progress(self.bytes.position(), self.bytes.length().unwrap_or(0), &what);
        }
    }
}

impl Progress for Bar {
    fn rows(&self, rows: u64) {
        self.rows.inc(rows);
        self.bytes.set_message(thousands(self.rows.position()));
        self.tell_host();
    }

    fn part(&self, path: &Path, share: f64) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let told = parts.entry(path.to_owned()).or_default();
        let now = (share * size(path) as f64) as u64;
        self.bytes.inc(now.saturating_sub(*told));
        *told = now.max(*told);
    }

    fn file(&self, path: &Path) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        self.bytes.inc(size(path).saturating_sub(parts.remove(path).unwrap_or(0)));
        detail(format_args!("read {}, {} rows so far", path.display(), thousands(self.rows.position())));
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |data| data.len())
}

/// The bar of one file: its bytes.
#[derive(Debug)]
pub struct FileBar(ProgressBar);

impl FileBar {
    /// Creates the bar.
    pub fn new() -> Self {
        FileBar(late(None, "{wide_bar} {bytes}/{total_bytes}, {elapsed}, {eta} left", true))
    }

    /// Reports that `done` of `all` bytes are read.
    pub fn read(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done.min(all));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The bar of simulated runs: how many are done, and the last of them.
#[derive(Debug)]
pub struct RunBar(ProgressBar, Option<Arc<Host>>);

impl RunBar {
    /// Creates the bar.
    pub fn new() -> Self {
        RunBar(late(None, "{wide_bar} {pos}/{len} runs, {elapsed}, {eta} left  {msg}", true), host())
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl RunProgress for RunBar {
    fn run(&self, done: usize, all: usize, run: &RunId) {
        let bar = &self.0;
        bar.set_length(all as u64);
        bar.set_message(format!("{} {}", run.workload, run.load));
        // Several threads report, not always in order.
        bar.set_position(bar.position().max(done as u64));
        detail(format_args!("run {done} of {all}: {run}"));
        if let Some(host) = &self.1 {
            host.progress(done as u64, all as u64, &run.to_string());
        }
    }
}

/// The bar of things that are counted.
#[derive(Debug)]
pub struct CountBar(ProgressBar, Option<Arc<Host>>, &'static str);

impl CountBar {
    /// Creates the bar of so many things of a name.
    pub fn new(all: u64, name: &'static str) -> Self {
        CountBar(
            late(Some(all), &format!("{{wide_bar}} {{pos}}/{{len}} {name}, {{elapsed}}, {{eta}} left"), true),
            host(),
            name,
        )
    }

    /// Reports how many are done.
    pub fn done(&self, done: u64) {
        // Several threads report, not always in order.
        let (done, all) = (self.0.position().max(done), self.0.length().unwrap_or(0));
        self.0.set_position(done);
        detail(format_args!("{done} of {all} {}", self.2));
        if let Some(host) = &self.1 {
            host.progress(done, all, self.2);
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The bar of a fit: the sets of constants that were tried.
#[derive(Debug)]
pub struct FitBar(ProgressBar);

impl FitBar {
    /// Creates the bar.
    pub fn new() -> Self {
        FitBar(late(None, "{wide_bar} {pos}/{len} sets, {elapsed}, {eta} left  {msg}", true))
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl FitProgress for FitBar {
    fn tried(&self, stage: Stage, done: usize, all: usize, best: f64) {
        let what = match stage {
            Stage::Hypercube => "hypercube",
            Stage::Cmaes => "CMA-ES",
            Stage::Ends => "ends of ranges",
            Stage::TrustRegion => "long runs",
            Stage::Ensemble => "ensemble",
        };
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
        self.0.set_message(format!("{what}, misfit {best:.2}"));
        detail(format_args!("{what}: set {done} of {all}, least misfit {best:.3}"));
    }
}

/// The bar of microbenchmarks.
#[derive(Debug)]
pub struct BenchBar(ProgressBar);

impl BenchBar {
    /// Creates the bar.
    pub fn new() -> Self {
        BenchBar(late(None, "{wide_bar} {pos}/{len} microbenchmarks, {elapsed}  {msg}", true))
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl wakelab_calibrate::Progress for BenchBar {
    fn begins(&self, done: usize, all: usize, bench: Bench, place: Place) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
        self.0.set_message(bench.name());
        detail(format_args!("{} of {all}: {}, {}: {}", done + 1, bench.name(), place.relation.name(), bench.method()));
    }
}

/// The bar of loads, each of which runs and is simulated.
#[derive(Debug)]
pub struct LoadBar(ProgressBar);

impl LoadBar {
    /// Creates the bar of so many loads.
    pub fn new(loads: usize) -> Self {
        LoadBar(late(Some(2 * loads as u64), "{wide_bar} {pos}/{len}, {elapsed}  {msg}", true))
    }

    /// A load begins to run, or to be simulated.
    pub fn begins(&self, what: &str, point: Point) {
        let text = format!("{} {} {what}", point.kind.name(), point.instances);
        detail(&text);
        self.0.set_message(text);
        self.0.inc(1);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
