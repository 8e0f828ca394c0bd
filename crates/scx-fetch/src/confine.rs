//! The rights of a compiler of other people's sources: to read what it is given, and to write into one folder.
//!
//! Under bubblewrap (`bwrap`) it has no network, no other processes, and no files but those of the system and those
//! that it is shown. Without, only the flags that it gets, and bounds of memory, time and sizes of files, keep it in.

use crate::child::{absolute_list, in_path};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most memory of a compiler, KiB. Clang takes 0.4 GB for `scx_lavd`, and more addresses.
const MEMORY_KIB: u64 = 4 << 20;
/// The most processor time, s.
const SECONDS: u64 = 600;
/// The largest file that it writes, in blocks of 512 bytes. A `/bin/sh` that is not in POSIX mode may count KiB; bash
/// under the name `sh` is in that mode.
const FILE_BLOCKS: u64 = 256 << 11;

/// Folders of the system, in which programs, their libraries and their headers are.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/clang",
    "/nix/store",
    "/gnu/store",
];

/// The part of the file system that a program sees.
#[derive(Clone, Debug, Default)]
pub struct View<'a> {
    /// Files and folders that it reads, beside those of the system.
    pub read: Vec<&'a Path>,
    /// The folder that it writes into.
    pub write: Option<&'a Path>,
    /// The folder that it runs in, which it reads.
    pub folder: Option<&'a Path>,
}

/// A program, confined by `bwrap` if there is one, and bounded.
pub fn confined(bwrap: Option<&Path>, program: &Path, view: &View<'_>) -> Command {
    let mut command = Command::new("/bin/sh");
    let limits = format!("ulimit -c 0; ulimit -v {MEMORY_KIB}; ulimit -t {SECONDS}; ulimit -f {FILE_BLOCKS}");
    // A limit that was lower before stays.
    command.args(["-c", &format!("{{ {limits}; }} 2>/dev/null; exec \"$@\""), "sh"]);
    if let Some(bwrap) = bwrap {
        command.arg(bwrap).args(arguments(program, view)).arg("--");
    }
    command.arg(program).env_clear().env("PATH", "/usr/bin:/bin").env("LC_ALL", "C");
    let libraries = absolute_list("LD_LIBRARY_PATH").map(|folders| ("LD_LIBRARY_PATH".to_owned(), folders));
    let temporary = view.write.map(|folder| ("TMPDIR".to_owned(), folder.as_os_str().to_owned()));
    command.envs(libraries.into_iter().chain(temporary));
    // bwrap changes into the folder by itself.
    command.current_dir(view.folder.filter(|_| bwrap.is_none()).unwrap_or(Path::new("/")));
    command
}

/// The arguments of bwrap.
fn arguments(program: &Path, view: &View<'_>) -> Vec<OsString> {
    let mut all: Vec<OsString> = ["--unshare-all", "--die-with-parent", "--new-session"].map(OsString::from).into();
    let mut show = |how: &str, place: &Path| all.extend([how.into(), place.into(), place.into()]);
    SYSTEM.iter().for_each(|place| show("--ro-bind-try", Path::new(place)));
    own_places(program).iter().for_each(|place| show("--ro-bind-try", place));
    view.read.iter().chain(&view.folder).for_each(|place| show("--ro-bind", place));
    view.write.iter().for_each(|place| show("--bind", place));
    all.extend(["--chdir".into(), view.folder.unwrap_or(Path::new("/")).into()]);
    all
}

/// Where a program and its libraries are.
fn own_places(program: &Path) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = program.parent().map(Path::to_owned).into_iter().collect();
    if let Some(bin) = program.canonicalize().ok().as_deref().and_then(Path::parent) {
        places.push(bin.to_owned());
        if let Some(prefix) = bin.parent().filter(|_| bin.ends_with("bin")) {
            places.extend(["lib", "lib64", "include", "share"].map(|inner| prefix.join(inner)));
        }
    }
    let libraries = crate::child::folders_of(std::env::var_os("LD_LIBRARY_PATH").as_deref());
    places.extend(libraries);
    places.retain(|place| place.parent().is_some());
    places
}

/// bubblewrap, if it is installed.
pub fn bwrap() -> Option<PathBuf> {
    in_path("bwrap", std::env::var_os("PATH").as_deref())
}

/// Whether a program runs under bubblewrap: which, or why not and what to do.
///
/// # Errors
/// Fails if bubblewrap is missing, or may not make namespaces here.
pub fn confinement() -> Result<PathBuf, String> {
    let bwrap = bwrap().ok_or("bwrap is not in PATH; install bubblewrap (apt-get install bubblewrap)")?;
    let never = std::sync::atomic::AtomicBool::new(false);
    let ended = crate::child::run(confined(Some(&bwrap), Path::new("/bin/true"), &View::default()), &never, None);
    let place = bwrap.display();
    match ended {
        Ok(ended) if ended.status.success() => Ok(bwrap),
        Ok(ended) => {
            let text = String::from_utf8_lossy(&ended.stderr);
            let why = text.lines().next().unwrap_or("it ends without a message");
            Err(format!("{place} does not run here: {}; allow user namespaces", wakelab_input::printable(why)))
        }
        Err(error) => Err(format!("{place} cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::run;
    use std::sync::atomic::AtomicBool;

    /// What a program sees and writes. Where bubblewrap does not run there is nothing to see.
    #[test]
    fn a_confined_program_reads_and_writes_what_it_is_given() {
        let Ok(bwrap) = confinement() else {
            eprintln!("not run: bubblewrap does not run here");
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let [source, work, other] = ["source", "work", "other"].map(|name| folder.path().join(name));
        [&source, &work, &other].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        std::fs::write(source.join("a.h"), "mine").unwrap();
        std::fs::write(other.join("secret"), "secret").unwrap();
        let view = View { read: Vec::new(), write: Some(&work), folder: Some(&source) };
        let mut command = confined(Some(&bwrap), Path::new("/bin/sh"), &view);
        let script = format!(
            "cat a.h; echo x >b; cat {0}/secret; echo x >{0}/new; echo x >/usr/new; echo x >{1}/out; ulimit -v",
            other.display(),
            work.display()
        );
        command.args(["-c", &script]);
        let ended = run(command, &AtomicBool::new(false), None).unwrap();
        let text = String::from_utf8(ended.stdout).unwrap();
        assert!(text.starts_with("mine") && !text.contains("secret"), "{text}");
        assert!(text.lines().any(|line| line.trim_start_matches("mine").parse() == Ok(MEMORY_KIB)), "{text}");
        assert_eq!(std::fs::read(work.join("out")).unwrap(), b"x\n");
        assert!(!source.join("b").exists() && !other.join("new").exists() && !Path::new("/usr/new").exists());
    }

    #[test]
    fn without_bubblewrap_there_are_bounds() {
        let mut command = confined(None, Path::new("/bin/sh"), &View::default());
        command.args(["-c", "ulimit -v; ulimit -c; ulimit -f; pwd; env"]);
        let text = String::from_utf8(run(command, &AtomicBool::new(false), None).unwrap().stdout).unwrap();
        assert!(text.starts_with(&format!("{MEMORY_KIB}\n0\n{}\n/\n", (256 << 20) / 512)), "{text}");
        assert!(!text.contains("HOME="), "{text}");
    }
}
