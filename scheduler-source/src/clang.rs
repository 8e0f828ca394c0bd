//! The clang that compiles: which one, its version, and its errors.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wakelab_input::printable;

/// The oldest clang that `scx_cargo` takes: `-mcpu=v4` came with it.
pub const OLDEST: u32 = 18;

/// A clang that can compile schedulers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    /// The program.
    pub program: PathBuf,
    /// The first line of `--version`.
    pub version: String,
    /// The number before the first dot of its version.
    pub major: u32,
    /// The folders of the system's headers.
    pub system_include: Vec<String>,
}

/// The variable by which `scx_cargo` knows clang.
const VARIABLE: &str = "BPF_CLANG";

/// What to do without a clang.
fn install() -> String {
    format!("install clang {OLDEST} or newer (apt-get install clang-19), or name it in {VARIABLE}")
}

impl Clang {
    /// The clang that `BPF_CLANG` names; else `clang`, if it is new enough, else the newest `clang-NN` of the path.
    ///
    /// # Errors
    /// Fails with what to install if there is none.
    pub fn find() -> Result<Self, String> {
        Self::find_among(std::env::var_os(VARIABLE).as_deref(), std::env::var_os("PATH").as_deref())
    }

    fn find_among(named: Option<&OsStr>, path: Option<&OsStr>) -> Result<Self, String> {
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            let found = Self::at(Path::new(named)).map_err(|error| format!("{VARIABLE}: {error}"))?;
            return match found.major >= OLDEST {
                true => Ok(found),
                false => Err(format!("{VARIABLE}: {} is too old; {}", found.version, install())),
            };
        }
        let folders: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
        let usual = folders.iter().map(|folder| folder.join("clang")).find(|program| program.is_file());
        let mut numbered: Vec<(u32, PathBuf)> = Vec::new();
        for file in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
            let name = file.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("clang-")).and_then(|rest| rest.parse().ok());
            numbered.extend(number.filter(|&number| number >= OLDEST).map(|number| (number, file.path())));
        }
        // The first of a number in the order of the path, as a shell takes it.
        numbered.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let mut too_old = None;
        for program in usual.into_iter().chain(numbered.into_iter().map(|(_, program)| program)) {
            match Self::at(&program) {
                Ok(found) if found.major >= OLDEST => return Ok(found),
                Ok(found) => _ = too_old.get_or_insert(found.version),
                // One that cannot be run is as good as none.
                Err(_) => {}
            }
        }
        let why = too_old.map_or_else(|| "there is no clang".to_owned(), |version| format!("{version} is too old"));
        Err(format!("{why}; {}", install()))
    }

    fn at(program: &Path) -> Result<Self, String> {
        let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{} cannot be run ({error}); {}", program.display(), install()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.contains("clang version"));
        let (version, major) = line
            .and_then(|line| Some((line, major(line)?)))
            .ok_or_else(|| format!("{} --version names no clang version; {}", program.display(), install()))?;
        let told = Command::new(program).args(["-v", "-E", "-"]).stdin(Stdio::null()).output();
        let told = told.map_err(|error| format!("{} -v -E -: {error}", program.display()))?;
        let system_include = system_include(&String::from_utf8_lossy(&told.stderr));
        let version = printable(version.trim()).into_owned();
        Ok(Clang { program: program.to_owned(), version, major, system_include })
    }

    /// Runs clang in a folder.
    ///
    /// # Errors
    /// Fails with its first error.
    pub fn run(&self, folder: &Path, arguments: &[String]) -> Result<Vec<u8>, String> {
        let output = Command::new(&self.program).args(arguments).current_dir(folder).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("{} cannot be run: {error}", self.program.display()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let first = first_error(&stderr).unwrap_or("it failed without an error");
        Err(format!("{} ({}) in {}: {}", self.program.display(), self.major, folder.display(), printable(first.trim())))
    }
}

/// The number before the first dot of `Debian clang version 19.1.7 (3+b1)`.
fn major(line: &str) -> Option<u32> {
    let (_, version) = line.split_once("clang version ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The folders that `clang -v -E -` lists.
fn system_include(stderr: &str) -> Vec<String> {
    let lines = stderr.lines().skip_while(|line| *line != "#include <...> search starts here:").skip(1);
    lines.take_while(|line| *line != "End of search list.").map(|line| line.trim().to_owned()).collect()
}

/// The first error that clang prints, with its file and line, or an error of the program itself.
fn first_error(stderr: &str) -> Option<&str> {
    let error =
        |line: &&str| line.contains(" error: ") || line.starts_with("error: ") || line.starts_with("fatal error:");
    stderr.lines().find(error).or_else(|| stderr.lines().find(|line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(folder: &Path, name: &str, version: &str) {
        // Written by another program: a file that this one has just written may still be open in a child of another
        // thread, and is then not run (ETXTBSY).
        let write = "printf '#!/bin/sh\\necho \"%s\"\\n' \"Debian clang version $2\" >\"$1\" && chmod +x \"$1\"";
        let path = folder.join(name);
        let done = Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(version).status();
        assert!(done.unwrap().success());
    }

    #[test]
    fn the_newest_clang_is_taken_unless_the_usual_one_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let find = |named: Option<&str>| {
            let named = named.map(|name| folder.path().join(name).into_os_string());
            Clang::find_among(named.as_deref(), Some(folder.path().as_os_str())).map(|clang| clang.major)
        };
        assert_eq!(find(None), Err(format!("there is no clang; {}", install())));
        fake(folder.path(), "clang", "14.0.6");
        assert_eq!(find(None), Err(format!("Debian clang version 14.0.6 is too old; {}", install())));
        fake(folder.path(), "clang-17", "17.0.1");
        fake(folder.path(), "clang-19", "19.1.7 (3+b1)");
        fake(folder.path(), "clang-22", "22.0.0");
        fake(folder.path(), "clang-cpp-23", "23.0.0");
        assert_eq!(find(None), Ok(22));
        assert_eq!(find(Some("clang-19")), Ok(19));
        assert!(find(Some("clang-17")).unwrap_err().starts_with("BPF_CLANG: Debian clang version 17.0.1 is too old"));
        assert!(find(Some("nowhere")).unwrap_err().contains("nowhere cannot be run"));
        fake(folder.path(), "clang", "20.1.0");
        assert_eq!(find(None), Ok(20));
    }

    #[test]
    fn errors_have_their_file_and_line() {
        let stderr = "In file included from a.bpf.c:1:\nsrc/a.bpf.c:3:5: error: use of undeclared identifier 'x'\n\
                      \x20   3 |\nsrc/a.bpf.c:9:5: error: other\n";
        assert_eq!(first_error(stderr), Some("src/a.bpf.c:3:5: error: use of undeclared identifier 'x'"));
        assert_eq!(first_error("fatal error: cannot link module"), Some("fatal error: cannot link module"));
        assert_eq!(first_error("\nKilled\n"), Some("Killed"));
        let told = "ignored\n#include <...> search starts here:\n /usr/lib/x\n /usr/include\nEnd of search list.\nrest";
        assert_eq!(system_include(told), ["/usr/lib/x", "/usr/include"]);
    }
}
