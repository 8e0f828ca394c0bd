//! `wakelab trace`.

use crate::out_file::OutFile;
use crate::output::{Exit, hint, say};
use crate::progress::Bar;
use crate::signals::{Interruptible, stop_flag};
use anyhow::bail;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use wakelab_events::stream::Source;
use wakelab_report::numbers::{count, thousands};
use wakelab_study::recordings::trace::{Traced, trace};

pub const EXAMPLE: &str = "\
Example:
  wakelab trace data/recordings/6.12-C-hb.csv.gz --perfetto out.pftrace";

/// `wakelab trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A recording, its folder, or the folder of one run.
    ///
    /// The folder of a simulated run is below the one that --events named.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write it to this file (out.pftrace).
    ///
    /// ui.perfetto.dev and Perfetto's trace processor open it.
    #[arg(long, value_name = "FILE")]
    perfetto: PathBuf,
}

/// The size of the buffer before the file, bytes.
const BUFFER: usize = 1 << 20;

/// Writes a recording or a run as a trace.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let source = only(&args.file)?;
    let out = OutFile::new("--perfetto", &args.perfetto)?;
    let bar = Bar::new(&source.wakeups(), false);
    stop_flag();
    let traced = perfetto(&source, &out, &bar);
    bar.finish();
    let traced = traced?;
    say_traced(&traced, &args.perfetto);
    if traced.switches == 0 {
        say!("warning: the source has no switches, so the trace shows wake-ups only");
    }
    hint("ui.perfetto.dev opens it, without sending it anywhere");
    Ok(Exit::Done)
}

/// Writes the trace of a source to a file, which appears when it is whole.
fn perfetto(source: &Source, out: &OutFile, bar: &Bar) -> anyhow::Result<Traced> {
    out.write_with(|file| Ok(trace(source, BufWriter::with_capacity(BUFFER, Interruptible(file)), bar)?.1))
}

/// Prints to stderr what is in a trace.
pub fn say_traced(traced: &Traced, path: &Path) {
    say!(
        "{}, {} switches, {} bytes in {}",
        count(traced.wakeups, "wake-up"),
        thousands(traced.switches),
        thousands(traced.written.bytes),
        path.display()
    );
}

/// Returns the one source at a path: a trace is of one run.
pub fn only(path: &Path) -> anyhow::Result<Source> {
    let mut sources = Source::at(path)?;
    match (sources.pop(), sources.len()) {
        (Some(source), 0) => Ok(source),
        (last, _) => {
            let first = sources.first().or(last.as_ref()).map_or(path, |source| source.path());
            bail!(
                "{}: expected one recording or one run, found {}\n  hint: name one of them, such as {}",
                path.display(),
                sources.len() + 1,
                first.display()
            )
        }
    }
}
