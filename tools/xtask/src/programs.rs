//! The programs that tasks call. They run as if the task had been called without cargo.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tools/xtask is two folders below the root")
}

/// A program by its name, or by its path from the root, that runs in the root.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = program_here(name);
    command.current_dir(root());
    command
}

/// This program, as it runs now, though another may have been built in its place.
pub fn this_program() -> Command {
    program_here("/proc/self/exe")
}

/// A program by its name, or by its path from the root, that runs where the task was called.
///
/// What cargo tells a program that it runs is about that program. A test, which finds its crate by such a variable, or
/// a build script, which builds anew when one changes, must not see it.
pub fn program_here(name: impl AsRef<OsStr>) -> Command {
    let name = name.as_ref();
    let mut command =
        if Path::new(name).components().count() > 1 { Command::new(root().join(name)) } else { Command::new(name) };
    for (variable, value) in std::env::vars_os() {
        match variable.to_str() {
            Some("LD_LIBRARY_PATH") => {
                let others: Vec<PathBuf> = std::env::split_paths(&value).filter(|folder| !of_cargo(folder)).collect();
                match std::env::join_paths(&others) {
                    Ok(paths) if !others.is_empty() => command.env(variable, paths),
                    _ => command.env_remove(variable),
                };
            }
            // The last is of .cargo/config.toml, which each cargo here reads itself.
            Some(text) if text == "CARGO" || text == "PYO3_NO_PYTHON" || told_by_cargo(text) => {
                command.env_remove(variable);
            }
            _ => {}
        }
    }
    command
}

fn told_by_cargo(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// Whether cargo names this folder of libraries to what it runs: those of the toolchain, and of what it has built.
fn of_cargo(folder: &Path) -> bool {
    let built = std::env::current_exe().ok();
    folder.components().any(|part| part.as_os_str() == "rustlib")
        || built.as_deref().and_then(Path::parent).is_some_and(|built| folder.starts_with(built))
}

/// The exit code by which a shell knows how a program ended.
pub fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Runs a program to its end: its exit code.
pub fn run(command: &mut Command) -> Result<u8> {
    let status = command.status().with_context(|| format!("{} cannot be run", command.get_program().display()))?;
    Ok(code_of(status))
}

/// Runs programs one after the other, up to the first that fails: its exit code, or 0.
pub fn run_all<'a>(commands: impl IntoIterator<Item = &'a mut Command>) -> Result<u8> {
    for command in commands {
        match run(command)? {
            0 => {}
            code => return Ok(code),
        }
    }
    Ok(0)
}

/// What a program prints on its standard output, without the last line break. An error if it fails.
pub fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("{name} cannot be run"))?;
    if !output.status.success() {
        bail!("{name} ended with {}", code_of(output.status));
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("{name} printed no UTF-8"))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Runs a program, and shows and keeps what it prints, on standard error only if asked to: its exit code.
pub fn tee(mut command: Command, file: &Path, errors_too: bool) -> Result<u8> {
    let mut file = std::fs::File::create(file)?;
    let (said, out) = std::io::pipe()?;
    if errors_too {
        command.stderr(out.try_clone()?);
    }
    let mut child = command.stdout(out).spawn()?;
    // The pipe ends when nobody else can write to it.
    drop(command);
    let mut said = BufReader::new(said);
    let mut line = Vec::new();
    while said.read_until(b'\n', &mut line)? > 0 {
        std::io::stdout().write_all(&line)?;
        file.write_all(&line)?;
        line.clear();
    }
    Ok(code_of(child.wait()?))
}

/// Whether a program can be called by this name, as `command -v` says it.
pub fn on_path(name: &str) -> bool {
    find(name).is_some()
}

/// The path of the program that is called by this name.
pub fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// Whether this is a file that somebody may execute.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// A variable of the environment; one that is empty is one that is not set.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Bad input, or something that is missing: the exit code is 2.
#[derive(Debug)]
pub struct Bad(pub String);

impl std::error::Error for Bad {}

impl std::fmt::Display for Bad {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

/// The folders in a folder, by name.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The files of the repository, by patterns as `git ls-files` takes them; all without one.
pub fn tracked(patterns: &[&str]) -> Result<Vec<String>> {
    let files = said(program("git").args(["ls-files", "-z", "--"]).args(patterns))?;
    Ok(files.split('\0').filter(|file| !file.is_empty() && root().join(file).is_file()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_do_not_hear_what_cargo_tells_this_one() {
        // `cargo test` tells this test so itself; `./test` has left it out already.
        assert!(told_by_cargo("CARGO_MANIFEST_DIR") && !told_by_cargo("CARGO_HOME"));
        let said = said(&mut program("env")).expect("env");
        assert!(!said.lines().any(|line| line.starts_with("CARGO_MANIFEST_") || line.starts_with("CARGO_PKG_")));
    }

    #[test]
    fn a_program_runs_in_the_root() {
        assert_eq!(Path::new(&said(&mut program("pwd")).expect("pwd")), root().canonicalize().expect("the root"));
    }

    #[test]
    fn what_a_program_prints_is_kept_with_its_code() {
        let work = tempfile::tempdir().expect("a folder");
        let file = work.path().join("said");
        for (errors_too, kept) in [(false, "a\nb"), (true, "a\nbc")] {
            let mut sh = program("sh");
            sh.args(["-c", "printf 'a\\nb'; printf c >&2; exit 3"]);
            let code = tee(sh, &file, errors_too).expect("sh");
            assert_eq!((code, std::fs::read_to_string(&file).expect("a file").as_str()), (3, kept));
        }
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(run(program("sh").args(["-c", "exit 77"])).expect("sh"), 77);
        assert_eq!(run(program("sh").args(["-c", "kill -9 $$"])).expect("sh"), 137);
        let mut commands = ["exit 0", "exit 3", "exit 4"].map(|script| {
            let mut sh = program("sh");
            sh.args(["-c", script]);
            sh
        });
        assert_eq!(run_all(&mut commands).expect("sh"), 3);
    }
}
