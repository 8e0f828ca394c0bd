//! The built-in machines: one file of `data/machines/` and one line here each.

use crate::{Machine, MachineFile};
use std::path::Path;
use wakelab_input::{InputError, in_any_case, nearest, suggest};

macro_rules! machines {
    ($($name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];
        const FILES: &[(&str, &str)] = &[$((
            concat!("data/machines/", $name, ".toml"),
            include_str!(concat!("../../../data/machines/", $name, ".toml")),
        )),*];
    };
}

machines! {
    "intel-1s56c112t",
    "intel-2s44c88t",
    "intel-2s112c224t",
    "amd-zen3-2s128c256t-nps1",
    "amd-zen3-2s128c256t-nps2",
    "amd-zen3-2s128c256t-nps4",
    "ampere-altra-2s160c",
    "ampere-altra-1s80c",
    "i7-2600k",
    "pixel6",
    "intel-broadwell-80c",
    "intel-haswell-48c",
    "intel-skylake-8c",
    "sparc-2s16c128t",
    "kunpeng920-2s128c",
    "intel-2s48c96t",
    "intel-2s48c96t-snc",
    "intel-4s96c192t",
    "intel-2s40c80t",
    "intel-2s32c64t",
    "intel-2s112c224t-8llc",
    "intel-2s60c120t-1node",
    "amd-zen3-2s64c128t",
    "amd-zen3-4n128c",
    "amd-genoa-4n128c",
    "intel-ivb-ep-2s20c40t",
    "intel-ivb-ep-2s24c48t",
    "intel-ivb-2c4t",
    "intel-kaby-lake-4c8t",
    "intel-coffee-lake-6c12t",
    "intel-comet-lake-10c20t",
    "spr-zijlstra",
    "meta-unstated",
    "ampere-unstated",
    "test-1c",
    "test-2c",
    "test-8c",
    "test-2llc",
    "test-2s",
    "bench-1024",
    "bench-4096",
}

/// Returns the names of the built-in machines.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// Returns the built-in machines, in the order of [`names`].
///
/// # Panics
///
/// If a built-in machine cannot be read. A test reads them all.
pub fn all() -> Vec<Machine> {
    let read = |&(file, text): &(&str, &str)| Machine::from_toml(text, file).unwrap_or_else(|e| panic!("{e}"));
    FILES.iter().map(read).collect()
}

/// Returns the machine of a name or a path: what ends in `.toml` or contains a `/` is a path. If no built-in machine
/// has the name, the machine is read from `machines/NAME.toml` in the current folder, or from
/// `data/machines/NAME.toml`, where a clone has them.
///
/// # Errors
///
/// An unknown name, a file that cannot be read, or anything that [`Machine::from_toml`] refuses.
pub fn get(name_or_path: &str) -> Result<Machine, InputError> {
    MachineFile::get(name_or_path).map(|file| file.machine)
}

impl MachineFile {
    /// Returns the machine of a name or a path as [`get`] does, with what a [`Machine`] leaves out.
    ///
    /// # Errors
    ///
    /// Those of [`get`].
    pub fn get(name_or_path: &str) -> Result<Self, InputError> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            return MachineFile::read(name_or_path);
        }
        let mut own = ["machines", "data/machines"].map(|folder| format!("{folder}/{name_or_path}.toml")).into_iter();
        match own.find(|path| !NAMES.contains(&name_or_path) && Path::new(path).is_file()) {
            Some(path) => MachineFile::read(&path),
            None => MachineFile::builtin(name_or_path),
        }
    }

    fn read(path: &str) -> Result<Self, InputError> {
        let text = wakelab_input::read_text(Path::new(path)).map_err(|error| {
            // Whoever knows a machine's name may take it for that of a file.
            let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
            let like = suggest(&nearest(&stem, NAMES.iter().copied()));
            InputError::new(path, format!("the file cannot be read: {error}; expected a machine (.toml){like}"))
                .with_hint("`wakelab machine list` shows the machines that need no file")
        })?;
        MachineFile::from_toml(&text, path)
    }

    /// Returns a built-in machine.
    pub(crate) fn builtin(name: &str) -> Result<Self, InputError> {
        let (file, text) = text(name)?;
        MachineFile::from_toml(text, file)
    }
}

/// Returns the file of a built-in machine: its path, and its text.
pub(crate) fn text(name: &str) -> Result<(&'static str, &'static str), InputError> {
    let known = in_any_case(name, NAMES.iter().copied());
    let Some(index) = NAMES.iter().position(|&one| Some(one) == known) else {
        let what = format!("there is no machine of that name{}", suggest(&nearest(name, NAMES.iter().copied())));
        let hint =
            "`wakelab machine list` shows all machines; the path of a machine file ends in `.toml` or contains a `/`";
        return Err(InputError::new(name, what).with_hint(hint));
    };
    Ok(FILES[index])
}
