//! The clang that compiles: which one, its version, and its errors.

use crate::child::{self, folders_of};
use crate::confine::{View, bwrap, confined};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use wakelab_input::files::INTERRUPTED;
use wakelab_input::{printable, printable_lines};

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
    /// The program that confines it; `None` if there is none, or if this clang does not run under it.
    pub bwrap: Option<PathBuf>,
}

/// How long clang may take in all. Its processor time is bounded, too, but it takes none where it waits, as for
/// somebody who writes into a FIFO that a source includes.
const LIMIT: Duration = Duration::from_secs(900);

/// Why something was not compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Clang refused a source.
    Refused {
        /// Which clang, and where it ran.
        clang: String,
        /// Its messages, in lines.
        said: String,
    },
    /// Anything else.
    Other(String),
}

impl From<String> for Failure {
    fn from(what: String) -> Self {
        Failure::Other(what)
    }
}

/// The most lines and characters of what clang says that an error repeats.
const LINES_MAX: usize = 24;
const CHARACTERS_MAX: usize = 1200;

impl Failure {
    /// The error, with its first line before all that clang says, and with hints at its end.
    pub fn text(&self, hints: &[String]) -> String {
        let (clang, said) = match self {
            Failure::Other(what) => return what.clone(),
            Failure::Refused { clang, said } => (clang, said),
        };
        let first = first_error(said).unwrap_or("it failed without an error message").trim();
        let mut text = format!("{clang}: {}", printable(first));
        let all = said.trim_end();
        if all.trim() != first {
            text.push_str("\n  clang says:");
            let mut left = CHARACTERS_MAX;
            for (at, line) in all.lines().enumerate() {
                let length = line.chars().count();
                if at == LINES_MAX || length > left {
                    text.push_str("\n    ...");
                    break;
                }
                left -= length;
                text.push_str(&format!("\n    {}", printable_lines(line)));
            }
        }
        hints.iter().for_each(|hint| text.push_str(&format!("\n  hint: {hint}")));
        text
    }

    /// The names that stand in quotes after `before` in what clang says, in order.
    pub fn names<'a>(&'a self, before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
        let said = match self {
            Failure::Refused { said, .. } => said.as_str(),
            Failure::Other(_) => "",
        };
        said.match_indices(before)
            .filter_map(move |(at, _)| said[at + before.len()..].split_once(after))
            .filter_map(|(name, _)| (!name.contains('\n')).then_some(name))
    }
}

/// The variable by which `scx_cargo` knows clang.
const VARIABLE: &str = "BPF_CLANG";

/// Returns the hint if there is no clang.
fn install() -> String {
    format!("install clang {OLDEST} or newer (apt-get install clang-19), or name it in {VARIABLE}")
}

impl Clang {
    /// The clang that `BPF_CLANG` names; else `clang`, if it is new enough, else the newest `clang-NN` of the path.
    ///
    /// # Errors
    /// Fails with what to install if there is none.
    pub fn find(stop: &AtomicBool) -> Result<Self, String> {
        let [named, path] = [VARIABLE, "PATH"].map(std::env::var_os);
        Self::find_among(named.as_deref(), path.as_deref(), stop)
    }

    fn find_among(named: Option<&OsStr>, path: Option<&OsStr>, stop: &AtomicBool) -> Result<Self, String> {
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            // It runs in other folders than this one.
            let program = child::named(named).unwrap_or_else(|| PathBuf::from(named));
            let found = Self::at(&program, stop).map_err(|error| format!("{VARIABLE}: {error}"))?;
            return match found.major >= OLDEST {
                true => Ok(found),
                false => Err(format!("{VARIABLE}: {} is too old; {}", found.version, install())),
            };
        }
        let folders = folders_of(path);
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
            match Self::at(&program, stop) {
                Ok(found) if found.major >= OLDEST => return Ok(found),
                Ok(found) => _ = too_old.get_or_insert(found.version),
                // One that cannot be run is as good as none.
                Err(_) => {}
            }
        }
        let why = too_old.map_or_else(|| "there is no clang".to_owned(), |version| format!("{version} is too old"));
        Err(format!("{why}; {}", install()))
    }

    fn at(program: &Path, stop: &AtomicBool) -> Result<Self, String> {
        let told = |bwrap: Option<&Path>, arguments: &[&str]| {
            let mut command = confined(bwrap, program, &View::default());
            command.args(arguments);
            child::run(command, stop, Some(LIMIT))
        };
        let cannot = |error: io::Error| format!("{} cannot be run ({error}); {}", program.display(), install());
        if !program.is_file() {
            return Err(cannot(io::ErrorKind::NotFound.into()));
        }
        let bare = told(None, &["--version"]).map_err(cannot)?;
        let text = String::from_utf8_lossy(&bare.stdout);
        let line = text.lines().find(|line| line.contains("clang version"));
        let (version, major) = line
            .and_then(|line| Some((line, major(line)?)))
            .ok_or_else(|| format!("{} --version does not print a clang version; {}", program.display(), install()))?;
        let told_include = told(None, &["-v", "-E", "-"]).map_err(|error| failed_at(program, "-v -E -", &error))?;
        let system_include = system_include(&String::from_utf8_lossy(&told_include.stderr));
        // A clang that is a script may need what is not shown to it.
        let runs = |bwrap: &PathBuf| told(Some(bwrap), &["--version"]).is_ok_and(|ended| ended.stdout == bare.stdout);
        let version = printable(version.trim()).into_owned();
        Ok(Clang { program: program.to_owned(), version, major, system_include, bwrap: bwrap().filter(runs) })
    }

    /// Runs clang in a folder, where it reads what is given, and writes into `write`.
    ///
    /// # Errors
    /// Fails with all that it says, or if it was stopped.
    pub fn run(&self, view: &View<'_>, arguments: &[String], stop: &AtomicBool) -> Result<Vec<u8>, Failure> {
        let mut view = view.clone();
        view.read.extend(self.system_include.iter().map(Path::new).filter(|folder| folder.exists()));
        let mut command = confined(self.bwrap.as_deref(), &self.program, &view);
        command.args(arguments);
        let folder = view.folder.unwrap_or(Path::new("/")).display();
        let ended = child::run(command, stop, Some(LIMIT)).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => INTERRUPTED.to_owned(),
            _ => failed_at(&self.program, "", &error),
        })?;
        if ended.status.success() {
            return Ok(ended.stdout);
        }
        let mut said = String::from_utf8_lossy(&ended.stderr).into_owned();
        if ended.status.code().is_none() || said.trim().is_empty() {
            said.push_str(&format!("\nerror: clang ended early ({}): its limits are 4 GiB and 600 s", ended.status));
        }
        Err(Failure::Refused { clang: format!("{} ({}) in {folder}", self.program.display(), self.major), said })
    }
}

fn failed_at(program: &Path, arguments: &str, error: &io::Error) -> String {
    format!("{} {arguments}: {error}", program.display())
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
        let done = std::process::Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(version).status();
        assert!(done.unwrap().success());
    }

    #[test]
    fn the_newest_clang_is_taken_unless_the_usual_one_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let find = |named: Option<&str>| {
            let named = named.map(|name| folder.path().join(name).into_os_string());
            let never = AtomicBool::new(false);
            Clang::find_among(named.as_deref(), Some(folder.path().as_os_str()), &never).map(|clang| clang.major)
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

    #[test]
    fn an_error_has_all_that_clang_says() {
        let refused = |said: &str| Failure::Refused { clang: "clang (19) in /x".into(), said: said.to_owned() };
        let one = refused("a.c:1:2: error: no\n");
        assert_eq!(one.text(&[]), "clang (19) in /x: a.c:1:2: error: no");
        let more =
            refused("a.c:1:2: error: call to undeclared function 'f'\n    1 | f();\n      | ^\n\u{1b}[1m1 error\n");
        let expected = "clang (19) in /x: a.c:1:2: error: call to undeclared function 'f'\n  clang says:\n    \
                        a.c:1:2: error: call to undeclared function 'f'\n        1 | f();\n          | ^\n    \
                        \\u{1b}[1m1 error\n  hint: write it";
        assert_eq!(more.text(&["write it".to_owned()]), expected);
        assert_eq!(more.names("undeclared function '", "'").collect::<Vec<_>>(), ["f"]);
        assert!(refused(&"a.c:1:2: error: no\n".repeat(1000)).text(&[]).chars().count() < 2000);
    }
}
