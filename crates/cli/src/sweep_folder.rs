//! The folder of a sweep: `sweep.json`, which says which sweep it is, the sweep's own text, and its parts. A part
//! appears when it is whole, so that a sweep that was killed continues with the missing parts.

use crate::out_file::{TEMPORARY, temporary};
use crate::output::say;
use crate::signals::in_good_order;
use crate::sweep_table::failed_of;
use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use wakelab_input::files::{check_output, read_own};
use wakelab_report::VERSION;
use wakelab_study::sweep::Sweep;

const MANIFEST: &str = "sweep.json";
/// The largest manifest that is read, bytes.
const MANIFEST_MAX: u64 = 1 << 20;
const SPACE: &str = "sweep.toml";
const LOCK: &str = "sweep.lock";

/// The folder of a sweep.
#[derive(Debug)]
pub struct SweepFolder {
    path: PathBuf,
    id: String,
}

/// The parts of a folder.
#[derive(Debug)]
pub struct Parts {
    /// Those that are not there.
    pub missing: Vec<u64>,
    /// The runs that failed in those that are.
    pub failed: u64,
}

impl SweepFolder {
    /// Opens the folder of a sweep, or makes it.
    ///
    /// # Errors
    /// Fails if it is that of another sweep or of another version, if it has other files, or if it cannot be written.
    pub fn open(path: &Path, sweep: &Sweep) -> anyhow::Result<Self> {
        let id = sweep.id(VERSION).map_err(anyhow::Error::msg)?;
        let folder = SweepFolder { path: path.to_owned(), id };
        folder.begin(sweep).with_context(|| format!("--out: {}", path.display())).map_err(|error| {
            let text = format!("{error:#}");
            let own = text.contains("\n  hint: ");
            let hint = if own { "" } else { "\n  hint: name a folder in one that exists and can be written" };
            anyhow::anyhow!("{text}{hint}")
        })?;
        Ok(folder)
    }

    fn begin(&self, sweep: &Sweep) -> anyhow::Result<()> {
        let manifest = self.path.join(MANIFEST);
        if manifest.is_file() {
            let known: Value = serde_json::from_slice(&read_own(&manifest, MANIFEST_MAX)?)
                .with_context(|| format!("{MANIFEST} is damaged"))?;
            if known["id"] == json!(self.id) {
                return Ok(());
            }
            let version = known["wakelab"].as_str().unwrap_or("another version");
            if version != VERSION {
                bail!("its runs were made by wakelab {version}, and this is {VERSION}\n  hint: name a new folder");
            }
            bail!(
                "it belongs to another sweep: the sweep's file, or one that it names, has changed since\n  \
                 hint: name a new folder; {SPACE} in this one is the sweep that it was made for"
            );
        }
        match fs::read_dir(&self.path) {
            Ok(mut entries) => {
                if let Some(first) = entries.find_map(|entry| Some(entry.ok()?.file_name())) {
                    let first = first.to_string_lossy().into_owned();
                    // What a run that was killed at its beginning leaves.
                    if first != SPACE && first != LOCK && !first.starts_with(TEMPORARY) {
                        bail!("it contains other files, such as {first}\n  hint: name a new or empty folder");
                    }
                }
            }
            Err(_) => fs::create_dir(&self.path)?,
        }
        self.put(SPACE, sweep.spec().text.as_bytes())?;
        let about = json!({
            "wakelab": VERSION,
            "kind": "simulated",
            "id": self.id,
            "name": sweep.spec().name,
            "seed": sweep.spec().seed,
            "space": sweep.space(),
            "points": sweep.points(),
            "runs": sweep.runs(),
            "parts": sweep.parts(),
            "runs_per_part": sweep.spec().runs_per_part,
        });
        // Last: a folder with it has all that it needs.
        self.put(MANIFEST, format!("{about:#}\n").as_bytes())
    }

    /// The ID of the sweep, which differs from that of any other.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Holds the folder against other programs that would write it, as long as the result lives.
    ///
    /// # Errors
    /// Fails if another holds it.
    pub fn lock(&self) -> anyhow::Result<File> {
        let path = self.path.join(LOCK);
        // Nothing is written to it: it may be a link that somebody has put there. For writing alone, a pipe would
        // block.
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        if file.try_lock().is_err() {
            bail!(
                "--out: {}: another wakelab is writing to it\n  hint: wait for it, or name another folder",
                self.path.display()
            );
        }
        // Nobody is writing now: what was begun was left by one that was killed.
        for entry in fs::read_dir(&self.path)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(file)
    }

    /// Looks which parts are there, and whole.
    pub fn parts(&self, sweep: &Sweep) -> Parts {
        let (mut missing, mut failed) = (Vec::new(), 0);
        for part in 0..sweep.parts() {
            let (path, runs) = (self.path.join(name(part)), sweep.runs_of(part));
            match failed_of(&path, &self.id, runs.end - runs.start) {
                Some(of_part) => failed += of_part,
                None => {
                    if path.exists() {
                        say!("warning: {} is not a complete part of this sweep; it is run again", path.display());
                    }
                    missing.push(part);
                }
            }
        }
        Parts { missing, failed }
    }

    /// Writes a part.
    ///
    /// # Errors
    /// Fails if it cannot be written. There is then no such part.
    pub fn write(&self, part: u64, bytes: &[u8]) -> anyhow::Result<()> {
        self.put(&name(part), bytes)
            .map_err(|error| anyhow::anyhow!("--out: {}: {error:#}\n  hint: make room", self.path.display()))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let all = || -> std::io::Result<()> {
            let path = self.path.join(name);
            check_output(&path).map_err(|clash| std::io::Error::other(format!("it is {clash}")))?;
            let _whole = in_good_order();
            let mut file = temporary(&path)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        };
        all().with_context(|| format!("{name} cannot be written"))
    }
}

/// The name of a part's file.
pub fn name(part: u64) -> String {
    format!("part-{part:06}.parquet")
}
