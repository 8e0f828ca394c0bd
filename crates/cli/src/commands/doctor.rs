//! `wakelab doctor`: what works on this machine, and what to install for the rest.

use crate::flags::{FormatFlag, TableFormat};
use crate::output::{Exit, print, print_json};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::env::{split_paths, var_os};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

pub const EXAMPLE: &str = "\
Example:
  wakelab doctor simulate";

/// `wakelab doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// simulate, schedulers, recorder, scx, vm, browser or ctf; all if left out.
    #[arg(value_name = "WHAT", value_enum, hide_possible_values = true)]
    what: Vec<What>,
    /// How it is printed.
    #[command(flatten)]
    format: FormatFlag,
}

/// What may work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Simulating, and keeping the runs.
    Simulate,
    /// Compiling schedulers of sched_ext, and confining what compiles them.
    Schedulers,
    /// wakelab-record on this kernel.
    Recorder,
    /// scx_wakelab on this kernel.
    Scx,
    /// Guests under QEMU.
    Vm,
    /// Opening pages.
    Browser,
    /// Importing CTF.
    Ctf,
}

impl What {
    /// As it is typed.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Whether it works.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    works: bool,
    /// Why, in a line.
    why: String,
    /// What to do, if there is something.
    next: Option<String>,
}

impl Finding {
    fn works(why: impl Into<String>) -> Self {
        Finding { works: true, why: why.into(), next: None }
    }

    fn missing(why: impl Into<String>, next: impl Into<String>) -> Self {
        Finding { works: false, why: why.into(), next: Some(next.into()) }
    }
}

/// What is looked at. Nothing is loaded or attached, and nothing started but clang, for its version, and bwrap.
struct Host {
    /// `/`, or a saved tree of it.
    root: PathBuf,
    /// `PATH`.
    path: OsString,
    /// The effective user.
    uid: u32,
    /// Where finished runs are kept, if there is a home folder.
    cache: Option<PathBuf>,
    /// What compiles schedulers, or what to install.
    compiler: fn() -> Result<String, String>,
    /// What confines it, or why not.
    confinement: fn() -> Result<PathBuf, String>,
    /// `BROWSER`, `DISPLAY` or `WAYLAND_DISPLAY` is set.
    display: bool,
}

/// Looks, and says what works. Exits with 1 if something does not.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let set = |name: &str| var_os(name).is_some_and(|value| !value.is_empty());
    let host = Host {
        root: PathBuf::from("/"),
        path: var_os("PATH").unwrap_or_default(),
        // The owner of a process's own folder in /proc is its effective user.
        uid: fs::metadata("/proc/self").map_or(u32::MAX, |data| data.uid()),
        cache: crate::cache::usual_folder().ok(),
        compiler: wakelab_scx_fetch::compiler,
        confinement: wakelab_scx_fetch::confinement,
        display: ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"].into_iter().any(set),
    };
    let asked = if args.what.is_empty() { What::value_variants() } else { &args.what };
    let found: Vec<(What, Finding)> = asked.iter().map(|&what| (what, host.look(what))).collect();
    match args.format.format {
        TableFormat::Table => print(&found.iter().map(|(what, finding)| line(*what, finding)).collect::<String>())?,
        TableFormat::Json => {
            let one = |(what, finding): &(What, Finding)| {
                let Finding { works, why, next } = finding;
                json!({"what": what.name(), "works": works, "why": why, "next": next})
            };
            let list: Vec<Value> = found.iter().map(one).collect();
            print_json(&json!({"wakelab": wakelab_report::VERSION, "doctor": list}))?;
        }
    }
    Ok(if found.iter().all(|(_, finding)| finding.works) { Exit::Done } else { Exit::Missing })
}

fn line(what: What, finding: &Finding) -> String {
    let mark = if finding.works { "works" } else { "no" };
    let next = finding.next.as_ref().map(|next| format!("; {next}")).unwrap_or_default();
    format!("{:<10} {mark:<6} {}{next}\n", what.name(), finding.why)
}

impl Host {
    fn look(&self, what: What) -> Finding {
        match what {
            What::Simulate => self.simulate(),
            What::Schedulers => self.schedulers(),
            What::Recorder => self.recorder(),
            What::Scx => self.scx(),
            What::Vm => self.vm(),
            What::Browser => self.browser(),
            What::Ctf => match self.program(&["babeltrace2"]) {
                Some(path) => Finding::works(format!("{} reads CTF", path.display())),
                None => Finding::missing("babeltrace2, which reads CTF, is not in PATH", "install babeltrace2"),
            },
        }
    }

    /// The first of these programs that is in `PATH` and may be executed.
    fn program(&self, names: &[&str]) -> Option<PathBuf> {
        let executable = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        let folders: Vec<PathBuf> = split_paths(&self.path).collect();
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(executable)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn simulate(&self) -> Finding {
        let Some(cache) = &self.cache else {
            return Finding::missing("there is no home folder to keep runs in", "set HOME, or run with --cache DIR");
        };
        // The folder is made by the first run, in the nearest one that is there.
        let there = cache.ancestors().find(|folder| folder.exists());
        let why = format!("every command that simulates works, and finished runs are kept in {}", cache.display());
        match there {
            Some(folder) if tempfile::tempfile_in(folder).is_ok() => Finding::works(why),
            _ => Finding::missing(
                format!("simulating works, but {} cannot be written, so no run is kept", cache.display()),
                "run with --cache DIR",
            ),
        }
    }

    /// Objects need nothing; crates and sources need what compiles them.
    fn schedulers(&self) -> Finding {
        let split = |text: String| match text.split_once("; ") {
            Some((why, next)) => (why.to_owned(), next.to_owned()),
            None => (text, "name a compiled object (.o)".to_owned()),
        };
        let compiler = match (self.compiler)() {
            Ok(compiler) => compiler,
            Err(error) => {
                let (why, next) = split(error);
                return Finding::missing(
                    format!("objects (.o) run, but crates and sources cannot be compiled: {why}"),
                    next,
                );
            }
        };
        match (self.confinement)() {
            Ok(bwrap) => {
                Finding::works(format!("{compiler} compile crates and sources, confined by {}", bwrap.display()))
            }
            Err(error) => {
                let (why, next) = split(error);
                let why = format!("{compiler} compile crates and sources, but clang can read all that you can: {why}");
                Finding { works: true, why, next: Some(next) }
            }
        }
    }

    /// The running kernel's version, as far as its first two numbers.
    fn version(&self) -> Option<(u32, u32)> {
        let release = fs::read_to_string(self.at("proc/sys/kernel/osrelease")).ok()?;
        let mut numbers = release.trim().split(['.', '-']).map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }

    /// What both BPF programs need: a kernel from `since` on with BTF, no lockdown for confidentiality, the program,
    /// root.
    fn bpf(&self, program: &str, build: &str, since: (u32, u32)) -> Result<PathBuf, Finding> {
        let (major, minor) = since;
        match self.version() {
            Some(version) if version < since => {
                let (a, b) = version;
                let why = format!("the running kernel is {a}.{b}; {program} needs {major}.{minor} or newer");
                return Err(Finding::missing(why, "boot a newer kernel, or use a guest (vm)"));
            }
            Some(_) => {}
            None => return Err(Finding::missing("/proc/sys/kernel/osrelease cannot be read", "mount /proc")),
        }
        if !self.at("sys/kernel/btf/vmlinux").exists() {
            return Err(Finding::missing(
                "this kernel does not describe its types (/sys/kernel/btf/vmlinux is missing)",
                "boot one with CONFIG_DEBUG_INFO_BTF=y, such as Debian's linux-image-amd64",
            ));
        }
        let lockdown = fs::read_to_string(self.at("sys/kernel/security/lockdown")).unwrap_or_default();
        if lockdown.contains("[confidentiality]") {
            return Err(Finding::missing(
                "the kernel is locked down for confidentiality, which forbids BPF to read it",
                "boot with lockdown=integrity",
            ));
        }
        let Some(path) = self.program(&[program]) else {
            let why = format!("{program} is not in PATH");
            return Err(Finding::missing(
                why,
                format!("{build} in a clone builds it, and installs clang and libelf-dev for that"),
            ));
        };
        if self.uid != 0 {
            let why = format!("{} is there, but loading BPF needs root", path.display());
            return Err(Finding::missing(why, format!("run it with sudo {program}")));
        }
        Ok(path)
    }

    fn recorder(&self) -> Finding {
        match self.bpf("wakelab-record", "crates/record/build", (5, 13)) {
            Ok(path) => Finding::works(format!("{} finds what it needs; its --probe checks more", path.display())),
            Err(finding) => finding,
        }
    }

    fn scx(&self) -> Finding {
        if self.version().is_some() && !self.at("sys/kernel/sched_ext").exists() {
            return Finding::missing(
                "this kernel has no sched_ext (/sys/kernel/sched_ext is missing)",
                "boot one from 6.12 on with CONFIG_SCHED_CLASS_EXT=y, such as Debian's linux-image-amd64 of 13",
            );
        }
        let path = match self.bpf("scx_wakelab", "crates/scx-wakelab/build", (6, 12)) {
            Ok(path) => path,
            Err(finding) => return finding,
        };
        let running = fs::read_to_string(self.at("sys/kernel/sched_ext/root/ops")).unwrap_or_default();
        match running.trim() {
            "" => Finding::works(format!("{} finds what it needs", path.display())),
            name => Finding::missing(format!("the sched_ext scheduler {name} is running already"), "stop it first"),
        }
    }

    fn vm(&self) -> Finding {
        let Some(qemu) = self.program(&["qemu-system-x86_64"]) else {
            return Finding::missing("qemu-system-x86_64 is not in PATH", "install qemu-system-x86");
        };
        let kvm = self.at("dev/kvm");
        let usable = fs::OpenOptions::new().read(true).write(true).open(&kvm).is_ok();
        let speed = match (usable, kvm.exists()) {
            (true, _) => "with KVM",
            (false, true) => "by emulation, which is slow: /dev/kvm is not open to this user (group kvm)",
            (false, false) => "by emulation, which is slow: /dev/kvm is missing",
        };
        Finding::works(format!("{} runs the guests of tools/vm/ in a clone, {speed}", qemu.display()))
    }

    fn browser(&self) -> Finding {
        const OPENERS: [&str; 7] =
            ["xdg-open", "firefox", "firefox-esr", "chromium", "chromium-browser", "google-chrome", "wslview"];
        match self.program(&OPENERS) {
            Some(path) if self.display => Finding::works(format!("{} opens pages", path.display())),
            Some(path) => Finding::missing(
                format!("{} is there, but neither DISPLAY, WAYLAND_DISPLAY nor BROWSER is set", path.display()),
                "copy pages to a machine with a screen: a page is one file",
            ),
            None => Finding::missing(
                "no browser and no xdg-open is in PATH",
                "install firefox-esr, or copy pages elsewhere: a page is one file",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn program(root: &Path, name: &str) {
        put(root, &format!("bin/{name}"), "");
        let path = root.join("bin").join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
    }

    fn host(root: &Path) -> Host {
        let cache = Some(root.join("home/.cache/wakelab"));
        let (compiler, confinement) = (|| Ok("cargo and clang".to_owned()), || Ok(PathBuf::from("/usr/bin/bwrap")));
        let path = root.join("bin").into();
        Host { root: root.to_owned(), path, uid: 0, cache, compiler, confinement, display: true }
    }

    /// Each thing that the recorder and the scheduler need is named alone when it alone is missing.
    #[test]
    fn each_missing_thing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let why = |what, expected: &str| {
            let finding = host(root).look(what);
            assert!(!finding.works && finding.why.contains(expected), "{expected}: {finding:?}");
            assert!(finding.next.is_some(), "{finding:?}");
        };
        why(What::Recorder, "osrelease");
        put(root, "proc/sys/kernel/osrelease", "5.10.0-28-amd64\n");
        why(What::Recorder, "5.10; wakelab-record needs 5.13");
        why(What::Scx, "no sched_ext");
        put(root, "proc/sys/kernel/osrelease", "6.12.9+deb13-cloud-amd64\n");
        why(What::Recorder, "btf");
        put(root, "sys/kernel/btf/vmlinux", "");
        put(root, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
        why(What::Recorder, "locked down");
        put(root, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        why(What::Recorder, "not in PATH");
        put(root, "bin/wakelab-record", "");
        why(What::Recorder, "not in PATH");
        program(root, "wakelab-record");
        let user = Host { uid: 1000, ..host(root) };
        assert!(user.look(What::Recorder).why.contains("root"));
        assert!(host(root).look(What::Recorder).works);

        put(root, "sys/kernel/sched_ext/state", "disabled\n");
        why(What::Scx, "scx_wakelab is not in PATH");
        program(root, "scx_wakelab");
        assert!(host(root).look(What::Scx).works);
        put(root, "sys/kernel/sched_ext/root/ops", "scx_rusty\n");
        why(What::Scx, "scx_rusty");
    }

    #[test]
    fn programs_and_folders_are_looked_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (what, needs, package) in [
            (What::Vm, "qemu-system-x86_64", "qemu-system-x86"),
            (What::Browser, "firefox", "firefox-esr"),
            (What::Ctf, "babeltrace2", "babeltrace2"),
        ] {
            let before = host(root).look(what);
            assert!(!before.works && before.next.expect("what to do").contains(package));
            program(root, needs);
            assert!(host(root).look(what).works, "{needs}");
        }
        assert!(host(root).look(What::Vm).why.contains("/dev/kvm is missing"));
        assert!(!Host { display: false, ..host(root) }.look(What::Browser).works);
        assert!(host(root).look(What::Schedulers).why.ends_with("confined by /usr/bin/bwrap"));
        let compiler = || Err("there is no clang; install clang 18".to_owned());
        let none = Host { compiler, ..host(root) }.look(What::Schedulers);
        assert!(!none.works && none.why.ends_with("there is no clang"), "{none:?}");
        let confinement = || Err("bwrap is not in PATH; install bubblewrap".to_owned());
        let bare = Host { confinement, ..host(root) }.look(What::Schedulers);
        assert!(bare.works && bare.why.contains("can read all that you can"), "{bare:?}");
        assert_eq!(bare.next.as_deref(), Some("install bubblewrap"));
        assert!(host(root).look(What::Simulate).works, "the folder is made when it is needed");
        assert!(!Host { cache: None, ..host(root) }.look(What::Simulate).works);
    }
}
