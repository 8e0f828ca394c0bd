//! The folder of all events of an experiment.

use super::{RecordError, Recorder, RunInfo};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// A folder that runs are recorded into.
///
/// Where it was made for them and nothing came to be in it, it is removed again.
#[derive(Debug)]
pub struct EventFolder {
    path: PathBuf,
    made: bool,
    /// One run at a time makes folders under it and removes them.
    lock: Mutex<()>,
}

impl EventFolder {
    /// The folder of this path: an empty one, or a new one in a folder that exists.
    ///
    /// # Errors
    /// Where it is a file, is not empty, or cannot be made or written.
    pub fn new(path: &Path) -> Result<Self, RecordError> {
        let io = |e| RecordError::io(path, &e);
        let made = match fs::read_dir(path) {
            Ok(mut entries) => match entries.next().transpose().map_err(io)? {
                Some(entry) => {
                    let name = entry.file_name();
                    let what = format!("the folder is not empty: it has {}", name.to_string_lossy());
                    return Err(RecordError::new(path, what));
                }
                None => false,
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir(path).map_err(io)?;
                true
            }
            Err(e) => return Err(io(e)),
        };
        let folder = EventFolder { path: path.to_owned(), made, lock: Mutex::new(()) };
        // Gone again at once: that it can be written is known before anything is simulated.
        folder.temporary()?;
        Ok(folder)
    }

    /// Begins to record a run.
    ///
    /// # Errors
    /// Where a file cannot be made.
    pub fn record(&self, run: &RunInfo<'_>) -> Result<Recorder<'_>, RecordError> {
        Recorder::new(self, run)
    }

    /// A folder in it that is removed with all that is in it, unless it is kept.
    pub(super) fn temporary(&self) -> Result<TempDir, RecordError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wakelab-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What the umask leaves, as it will be the run's.
            builder.permissions(fs::Permissions::from_mode(0o777));
        }
        builder.tempdir_in(&self.path).map_err(|e| RecordError::io(&self.path, &e))
    }

    /// Gives a temporary folder its name.
    pub(super) fn keep(&self, folder: TempDir, parts: &[String]) -> Result<(), RecordError> {
        let _guard = self.lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let to = parts.iter().fold(self.path.clone(), |path, part| path.join(part));
        let parent = to.parent().unwrap_or(&self.path);
        let moved = fs::create_dir_all(parent).and_then(|()| fs::rename(folder.path(), &to));
        match moved {
            Ok(()) => {
                // It is not there any more.
                let _ = folder.keep();
                Ok(())
            }
            Err(e) => {
                let made = parent.ancestors().take_while(|path| *path != self.path);
                // Those that other runs are in stay.
                made.for_each(|path| drop(fs::remove_dir(path)));
                Err(RecordError::io(&to, &e))
            }
        }
    }
}

impl Drop for EventFolder {
    fn drop(&mut self) {
        if self.made {
            // Stays where something is in it.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
