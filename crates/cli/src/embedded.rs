//! Files built into the program, so that it works outside a clone: experiments, published tables, the book, and small
//! recordings. They are those of the clone that it was built from.

use crate::out_file::{cause, temporary};
use crate::signals::{in_good_order, stop_flag};
use anyhow::Context;
use rust_embed::RustEmbed;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use wakelab_input::{files, in_any_case, nearest, suggest};

/// `data/experiments/`.
#[derive(RustEmbed)]
#[folder = "../../data/experiments"]
#[include = "*.toml"]
struct Experiments;

/// `data/panels/`.
#[derive(RustEmbed)]
#[folder = "../../data/panels"]
#[include = "*.toml"]
struct Panels;

/// `data/sweeps/`.
#[derive(RustEmbed)]
#[folder = "../../data/sweeps"]
#[include = "*.toml"]
struct Sweeps;

/// `data/published/`.
#[derive(RustEmbed)]
#[folder = "../../data/published"]
struct Published;

/// `docs/`: the pages, their pictures and the schema of results.
#[derive(RustEmbed)]
#[folder = "../../docs"]
pub struct Book;

/// A recording of Debian's 6.1 with SIS_PROP, with switches and migrations.
#[derive(RustEmbed)]
#[folder = "tests/data/sis-prop-6.1"]
struct WithSwitches;

/// The recording of the README's questions, with the topology of its machine.
#[derive(RustEmbed)]
#[folder = "../../data/recordings"]
#[include = "6.12-C-hb.csv.gz"]
#[include = "topo-6.12-C.json"]
struct Decisions;

/// The playground's simulator for browsers; empty if the program was built without it (crates/cli/build.rs).
pub const PLAYGROUND: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/playground.wasm"));

/// The names of the experiments, sorted.
pub fn experiments() -> Vec<String> {
    toml_files::<Experiments>()
}

/// The names of the panels, sorted.
pub fn panels() -> Vec<String> {
    toml_files::<Panels>()
}

/// The names of the sweeps, sorted.
pub fn sweeps() -> Vec<String> {
    toml_files::<Sweeps>()
}

fn toml_files<E: RustEmbed>() -> Vec<String> {
    let mut names: Vec<String> = E::iter().filter_map(|file| file.strip_suffix(".toml").map(str::to_owned)).collect();
    names.sort();
    names
}

/// The first sentence of the comment that an experiment begins with; nothing if it begins otherwise.
pub fn about_experiment(name: &str) -> String {
    first_sentence::<Experiments>(name)
}

/// The first sentence of the comment that a panel begins with.
pub fn about_panel(name: &str) -> String {
    first_sentence::<Panels>(name)
}

/// The first sentence of the comment that a sweep begins with.
pub fn about_sweep(name: &str) -> String {
    first_sentence::<Sweeps>(name)
}

/// The program's own panel of this name: its file's name, and its text.
///
/// # Errors
/// Fails if there is none.
pub fn panel(typed: &str) -> anyhow::Result<(String, String)> {
    toml_file::<Panels>(typed, ["a panel", "search", "panels"])
}

/// The program's own sweep of this name: its file's name, and its text.
///
/// # Errors
/// Fails if there is none.
pub fn sweep(typed: &str) -> anyhow::Result<(String, String)> {
    toml_file::<Sweeps>(typed, ["a sweep", "migration-cost", "sweeps"])
}

fn toml_file<E: RustEmbed>(typed: &str, of_kind: [&str; 3]) -> anyhow::Result<(String, String)> {
    let names = toml_files::<E>();
    let Some(known) = in_any_case(typed, names.iter().map(String::as_str)) else {
        return Err(unknown(typed, &names, of_kind));
    };
    let file = format!("{known}.toml");
    let text = text::<E>(&file).unwrap_or_default();
    Ok((file, text))
}

/// Whether what was typed is a file, or looks like the path of one, and is no name of the program's own.
pub fn is_file(typed: &Path) -> bool {
    let text = typed.to_string_lossy();
    typed.is_file() || text.contains('/') || text.ends_with(".toml")
}

/// The error that a name is neither a file nor one of `names`: of what kind those are, an example, and their list.
fn unknown(typed: &str, names: &[String], [kind, example, list]: [&str; 3]) -> anyhow::Error {
    let like = suggest(&nearest(typed, names.iter().map(String::as_str)));
    anyhow::anyhow!(
        "{typed}: neither a file nor {kind} of the program; expected a TOML file, or a name such as \
         {example}{like}\n  hint: `wakelab list {list}` lists the names"
    )
}

fn first_sentence<E: RustEmbed>(name: &str) -> String {
    let text = text::<E>(&format!("{name}.toml")).unwrap_or_default();
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = comment.join(" ");
    let sentence = comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first);
    sentence.trim_end_matches('.').to_owned()
}

/// The text of an embedded file, if it is there.
pub fn text<E: RustEmbed>(path: &str) -> Option<String> {
    E::get(path).map(|file| String::from_utf8_lossy(&file.data).into_owned())
}

/// Embedded files in a folder of their own, which goes away with this value.
#[derive(Debug)]
pub struct Unpacked {
    folder: TempDir,
    /// The file or folder that was asked for.
    pub path: PathBuf,
}

impl Unpacked {
    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The experiment that `name` is: the file at that path if there is one, else the program's own of that name, unpacked
/// beside the published tables that it is compared with.
///
/// # Errors
/// Fails if there is neither, or if the program's own cannot be unpacked.
pub fn experiment(name: &Path) -> anyhow::Result<(PathBuf, Option<Unpacked>)> {
    let typed = name.to_string_lossy();
    let is_path = typed.contains('/') || typed.ends_with(".toml");
    let names = experiments();
    let known = in_any_case(&typed, names.iter().map(String::as_str));
    if name.is_file() || (name.exists() && known.is_none()) {
        return Ok((name.to_owned(), None));
    }
    if is_path {
        let stem = name.file_stem().unwrap_or_default().to_string_lossy();
        let own = names.iter().find(|own| *own == stem.as_ref());
        return match own {
            Some(own) => Err(anyhow::anyhow!(
                "{}: there is no such file\n  hint: `wakelab run {own}` runs the program's experiment of that name",
                name.display()
            )),
            None => Ok((name.to_owned(), None)),
        };
    }
    let Some(known) = known else {
        return Err(unknown(&typed, &names, ["an experiment", "quickstart", "experiments"]));
    };
    own_experiment(known).map(|(path, unpacked)| (path, Some(unpacked)))
}

/// The program's own experiment of this name, unpacked beside the published tables.
///
/// # Errors
/// Fails if it cannot be unpacked.
pub fn own_experiment(name: &str) -> anyhow::Result<(PathBuf, Unpacked)> {
    let folder = folder()?;
    unpack::<Experiments>(&folder.path().join("experiments"))?;
    unpack::<Published>(&folder.path().join("published"))?;
    let path = folder.path().join("experiments").join(format!("{name}.toml"));
    Ok((path.clone(), Unpacked { folder, path }))
}

/// The published tables, unpacked.
///
/// # Errors
/// Fails if they cannot be unpacked.
pub fn published() -> anyhow::Result<Unpacked> {
    let folder = folder()?;
    let path = folder.path().join("published");
    unpack::<Published>(&path)?;
    Ok(Unpacked { folder, path })
}

/// Writes the recordings to a folder: `sis-prop-6.1`, with switches, and `6.12-C-hb.csv.gz`. Files that are there stay
/// as they are.
///
/// # Errors
/// Fails if a file cannot be written.
pub fn write_recordings(folder: &Path) -> anyhow::Result<()> {
    unpack::<WithSwitches>(&folder.join("sis-prop-6.1"))?;
    unpack::<Decisions>(folder)
}

fn folder() -> anyhow::Result<TempDir> {
    // It is to be removed whatever happens.
    stop_flag();
    tempfile::Builder::new().prefix("wakelab-").tempdir().map_err(|e| {
        let at = std::env::temp_dir();
        anyhow::anyhow!(
            "{}: {e}; expected room for the program's own files\n  hint: TMPDIR=DIR names another folder",
            at.display()
        )
    })
}

/// Writes a file that appears whole, unless there is one. The folders above it are made.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let _whole = in_good_order();
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    let mut file = temporary(path).map_err(|error| std::io::Error::new(error.kind(), cause(&error)))?;
    file.write_all(bytes)?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

/// Writes embedded files to a folder. Those that are there with the same contents are left alone.
///
/// # Errors
/// Fails if a file is there with other contents, or if one cannot be written.
pub fn unpack<E: RustEmbed>(folder: &Path) -> anyhow::Result<()> {
    for name in E::iter() {
        let Some(file) = E::get(&name) else { continue };
        let path = folder.join(name.as_ref());
        if std::fs::symlink_metadata(&path).is_ok() {
            let there = files::read_own(&path, file.data.len() as u64).ok();
            anyhow::ensure!(
                there.is_some_and(|there| there == *file.data),
                "{}: is there already, with other contents, and is not replaced\n  hint: name a new folder",
                path.display()
            );
            continue;
        }
        write_new(&path, &file.data)
            .with_context(|| path.display().to_string())
            .map_err(|e| anyhow::anyhow!("{e:#}\n  hint: name a folder that can be made and written"))?;
    }
    Ok(())
}
