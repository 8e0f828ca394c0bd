//! The folder for the traces of a comparison.

use super::{Traced, Tracer};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::{NamedTempFile, TempPath};
use wakelab_events::simulated::folder_part;
use wakelab_input::files::check_output;

/// The size of the buffer before a file, bytes.
const BUFFER: usize = 1 << 20;

/// A trace that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFile {
    /// The file.
    pub path: PathBuf,
    /// The contents of the file.
    pub traced: Traced,
}

/// A folder of traces. A trace appears under its name when its run is over, and replaces an older one.
#[derive(Debug)]
pub struct TraceFolder {
    path: PathBuf,
    /// Whether each case has a folder of its own.
    by_case: bool,
    made: bool,
    files: Mutex<Vec<TracedFile>>,
}

/// A trace that is being written. If it is dropped before it is kept, no file is left.
pub struct Tracing {
    tracer: Tracer<BufWriter<File>>,
    temporary: TempPath,
    to: PathBuf,
}

impl TraceFolder {
    /// Opens the folder, or creates it in a folder that exists. With `by_case`, the traces of each case get a folder of
    /// their own.
    ///
    /// # Errors
    /// Fails if the path is a file, or if the folder cannot be created or written.
    pub fn new(path: &Path, by_case: bool) -> io::Result<Self> {
        let made = match fs::create_dir(path) {
            Ok(()) => true,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a file; expected a folder"));
            }
            Err(e) => return Err(e),
        };
        let folder = TraceFolder { path: path.to_owned(), by_case, made, files: Mutex::default() };
        // This file is deleted at once. It shows before the simulation whether the folder can be written.
        folder.temporary()?;
        Ok(folder)
    }

    /// Starts the trace of a run on this number of CPUs.
    ///
    /// # Errors
    /// Fails if no file can be created.
    pub fn begin(&self, workload: &str, load: &str, side: &str, cpus: u32) -> io::Result<Tracing> {
        let of_case = match self.by_case {
            true => self.path.join(folder_part("workload", workload)).join(folder_part("load", load)),
            false => self.path.clone(),
        };
        let (file, temporary) = self.temporary()?.into_parts();
        let tracer = Tracer::new(BufWriter::with_capacity(BUFFER, file), cpus)?;
        Ok(Tracing { tracer, temporary, to: of_case.join(format!("{side}.pftrace")) })
    }

    /// Finishes a trace and gives it its name.
    ///
    /// # Errors
    /// Fails if the trace could not be written. An older trace is then unchanged.
    pub fn keep(&self, tracing: Tracing) -> io::Result<()> {
        let (out, traced) = tracing.tracer.finish()?;
        out.get_ref().sync_all()?;
        if let Some(parent) = tracing.to.parent() {
            fs::create_dir_all(parent)?;
        }
        check_output(&tracing.to).map_err(|clash| io::Error::other(format!("{} is {clash}", tracing.to.display())))?;
        tracing.temporary.persist(&tracing.to).map_err(|e| e.error)?;
        let mut files = self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        files.push(TracedFile { path: tracing.to, traced });
        Ok(())
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The finished traces, sorted by name.
    pub fn files(&self) -> Vec<TracedFile> {
        let mut files = self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    fn temporary(&self) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wakelab-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The permissions that the umask leaves.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(&self.path)
    }
}

impl Drop for TraceFolder {
    fn drop(&mut self) {
        if self.made {
            // This fails if there is anything in the folder, which then stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl Tracing {
    /// The tracer, which receives the events of the run.
    pub fn tracer(&mut self) -> &mut Tracer<BufWriter<File>> {
        &mut self.tracer
    }
}
