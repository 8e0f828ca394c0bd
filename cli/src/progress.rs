//! Progress bars on stderr, where that is a terminal. While recordings are read, there is none where the output goes to
//! one.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use wakelab_report::numbers::thousands;
use wakelab_study::Progress;
use wakelab_study::compare::{RunId, RunProgress};

/// The bar: bytes of the files that are done, and the rows read so far.
#[derive(Debug)]
pub struct Bar {
    bytes: ProgressBar,
    rows: ProgressBar,
}

impl Bar {
    /// A bar for these files. `streams` says that the command prints while it reads; the bar then stays away from a
    /// terminal that shows the output.
    pub fn new(files: &[PathBuf], streams: bool) -> Self {
        let total = files.iter().map(|file| size(file)).sum();
        let shows = std::io::stderr().is_terminal() && !(streams && std::io::stdout().is_terminal());
        let target = if shows { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bytes = ProgressBar::with_draw_target(Some(total), target);
        let style = ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes}, {msg} rows, {elapsed}");
        bytes.set_style(style.expect("the template is right"));
        Bar { bytes, rows: ProgressBar::hidden() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bytes.finish_and_clear();
    }
}

impl Progress for Bar {
    fn rows(&self, rows: u64) {
        self.rows.inc(rows);
        self.bytes.set_message(thousands(self.rows.position()));
    }

    fn file(&self, path: &Path) {
        self.bytes.inc(size(path));
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).map_or(0, |data| data.len())
}

/// The bar of simulated runs: how many are done, and which was the last.
#[derive(Debug)]
pub struct RunBar(ProgressBar);

impl RunBar {
    /// A bar that shows once the first run is done.
    pub fn new() -> Self {
        // indicatif shows nothing where stderr is no terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed}, {eta} left  {msg}");
        bar.set_style(style.expect("the template is right"));
        RunBar(bar)
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl RunProgress for RunBar {
    fn run(&self, done: usize, all: usize, run: &RunId) {
        self.0.set_length(all as u64);
        self.0.set_message(format!("{} {}", run.workload, run.load));
        // Told from several threads, not always in order.
        self.0.set_position(self.0.position().max(done as u64));
    }
}
