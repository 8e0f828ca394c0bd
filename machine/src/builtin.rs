//! The machines that come with the program.

use crate::near::did_you_mean;
use crate::{Machine, MachineError, MachineFile};

macro_rules! machines {
    ($($name:literal),* $(,)?) => {
        const NAMES: &[&str] = &[$($name),*];
        const FILES: &[(&str, &str)] =
            &[$((concat!("machines/", $name, ".toml"), include_str!(concat!("../../machines/", $name, ".toml")))),*];
    };
}

machines![
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
    "test-1c",
    "test-2c",
    "test-8c",
    "test-2llc",
    "test-2s",
    "bench-1024",
    "bench-4096"
];

/// The names of the machines that come with the program.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// The machines that come with the program, in the order of [`names`].
///
/// # Panics
///
/// Where a built-in machine cannot be read; a test reads them all.
pub fn all() -> Vec<Machine> {
    let read = |&(file, text): &(&str, &str)| Machine::from_toml(text, file).unwrap_or_else(|e| panic!("{e}"));
    FILES.iter().map(read).collect()
}

/// The machine of that name, or in that file: what ends in `.toml` or contains a `/` is a path. A name that no built-in
/// machine has is looked for in `machines/NAME.toml` of the present folder.
///
/// # Errors
///
/// A name that is not known, a file that cannot be opened, or anything [`Machine::from_toml`] refuses.
pub fn get(name_or_path: &str) -> Result<Machine, MachineError> {
    MachineFile::get(name_or_path).map(|file| file.machine)
}

impl MachineFile {
    /// The same as [`get`], with what a [`Machine`] leaves out.
    ///
    /// # Errors
    ///
    /// Those of [`get`].
    pub fn get(name_or_path: &str) -> Result<Self, MachineError> {
        if name_or_path.contains('/') || name_or_path.ends_with(".toml") {
            return MachineFile::read(name_or_path);
        }
        let own = format!("machines/{name_or_path}.toml");
        match NAMES.contains(&name_or_path) || !std::path::Path::new(&own).is_file() {
            true => MachineFile::builtin(name_or_path),
            false => MachineFile::read(&own),
        }
    }

    fn read(path: &str) -> Result<Self, MachineError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let hint = Some("`wakelab machine list` shows the machines that need no file".to_owned());
            MachineError { file: path.to_owned(), line: None, what: format!("expected a machine file: {error}"), hint }
        })?;
        MachineFile::from_toml(&text, path)
    }

    /// A machine that comes with the program.
    pub(crate) fn builtin(name: &str) -> Result<Self, MachineError> {
        let Some(index) = NAMES.iter().position(|known| *known == name) else {
            let what = format!("there is no machine of that name; there are {}", NAMES.join(", "));
            let error = MachineError { file: name.to_owned(), line: None, what, hint: None };
            return Err(error.with_hint(
                did_you_mean(name, NAMES.iter().copied())
                    .unwrap_or_else(|| "a path to a machine file ends in `.toml` or contains a `/`".to_owned()),
            ));
        };
        let (file, text) = FILES[index];
        MachineFile::from_toml(text, file)
    }
}
