//! Naming a scheduler runs nothing that its author wrote, and reads no more than a scheduler has.
//!
//! Each fixture has a payload that makes a file, which must not be there afterwards. None but those that ask for
//! `WAKELAB_SCHEDULERS` needs clang: a script stands for it, which compiles everything to one object.

use assert_cmd::Command;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

const OBJECT: &[u8] = include_bytes!("../../../bpf/tests/data/scx_simple.bpf.o");
const BUILD: &str = "fn main() {\n    scx_cargo::BpfBuilder::new().unwrap()\n        \
                     .enable_skel(\"src/main.bpf.c\", \"bpf\")CALLS\n        .compile_link_gen().unwrap();\n}\n";

/// A folder with a crate `evil`, the builder and libbpf that it names by their paths, and a clang.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Fixture { folder: tempfile::tempdir().unwrap() };
        let package = |name: &str, version: &str, more: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n{more}")
        };
        let needs = "[build-dependencies]\nscx_cargo = { path = \"builder\" }\n[workspace]\n";
        fixture.write("evil/Cargo.toml", &package("scx_evil", "1.0.0", needs));
        fixture.write("evil/src/main.rs", "fn main() {}\n");
        fixture.write("evil/src/main.bpf.c", "int x;\n");
        fixture.write("evil/build.rs", &BUILD.replace("CALLS", ""));
        fixture.builder("evil/builder", "[dependencies]\nlibbpf-sys = { path = \"../libbpf\" }\n");
        fixture.libbpf("evil/libbpf");
        fs::write(fixture.make("bin/object.o"), OBJECT).unwrap();
        let clang = "#!/bin/sh\nfor a in \"$@\"; do case $a in --version) echo clang version 19.1.0; exit;; \
                     -M) echo main.o: src/main.bpf.c; exit;; esac; done\n\
                     for a in \"$@\"; do if [ \"$o\" = -o ]; then cp \"${0%/*}/object.o\" \"$a\"; fi; o=$a; done\n";
        fixture.script("bin/clang", clang);
        fixture
    }

    fn builder(&self, at: &str, dependencies: &str) {
        let head = "[package]\nname = \"scx_cargo\"\nversion = \"1.1.4\"\nedition = \"2021\"\n";
        self.write(&format!("{at}/Cargo.toml"), &format!("{head}{dependencies}"));
        self.write(&format!("{at}/src/lib.rs"), "");
        self.write(&format!("{at}/src/clang_info.rs"), "const X: &str = \"-mcpu=v3\";\n");
        self.write(&format!("{at}/bpf_h/vmlinux/vmlinux.h"), "");
    }

    fn libbpf(&self, at: &str) {
        let head = "[package]\nname = \"libbpf-sys\"\nversion = \"1.7.0\"\nedition = \"2021\"\n";
        self.write(&format!("{at}/Cargo.toml"), head);
        self.write(&format!("{at}/src/lib.rs"), "");
        self.write(&format!("{at}/libbpf/src/bpf_helpers.h"), "");
    }

    fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    /// A path whose folder is there.
    fn make(&self, inner: &str) -> PathBuf {
        let path = self.path(inner);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    fn write(&self, inner: &str, text: &str) {
        fs::write(self.make(inner), text).unwrap();
    }

    /// Written by another program: a file that this one has just written may still be open in a child of another
    /// thread, and is then not run (ETXTBSY).
    fn script(&self, inner: &str, text: &str) {
        let write = "printf %s \"$2\" >\"$1\" && chmod +x \"$1\"";
        let path = self.make(inner);
        let done = std::process::Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(text).status().unwrap();
        assert!(done.success());
    }

    /// A program that leaves a file, and then does what is asked of it.
    fn payload(&self, inner: &str, then: &str) {
        let mark = self.path("PWNED");
        self.script(inner, &format!("#!/bin/sh\necho pwned >>{}\nexec {then} \"$@\"\n", mark.display()));
    }

    fn calls(&self, calls: &str) {
        self.write("evil/build.rs", &BUILD.replace("CALLS", calls));
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("wakelab").unwrap();
        command.current_dir(self.folder.path()).args(args).env("BPF_CLANG", self.path("bin/clang"));
        command.env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    fn compare(&self, with: &str) -> Command {
        self.program(&[
            "compare",
            "--machine",
            "test-2c",
            "--kernel",
            "v7.2",
            "--workload",
            "netperf:TCP_RR",
            "--load",
            "2",
            "--settle",
            "0s",
            "--time",
            "5ms",
            "--repeat",
            "1",
            "--base",
            "",
            "--with",
            with,
        ])
    }

    /// What a command said; nothing has made the file.
    #[track_caller]
    fn run(&self, mut command: Command) -> (Option<i32>, String) {
        let Output { status, stderr, .. } = command.output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert!(!self.path("PWNED").exists(), "the payload has run: {said}");
        (status.code(), said)
    }

    /// The scheduler is compiled, and runs.
    #[track_caller]
    fn works(&self, command: Command) {
        let (code, said) = self.run(command);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("compiling scx_evil 1.0.0: 1 source, clang 19"), "{said}");
    }

    #[track_caller]
    fn refused(&self, command: Command, parts: &[&str]) {
        let (code, said) = self.run(command);
        assert_eq!(code, Some(2), "{said}");
        for part in parts {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

/// Whatever in the folder, or above it, would make cargo or rustup run something.
#[test]
fn what_configures_cargo_beside_a_crate_is_not_obeyed() {
    let fixture = Fixture::new();
    fixture.payload("evil/pwn.sh", "rustc");
    let config = "[build]\nrustc = \"./pwn.sh\"\nrustc-wrapper = \"./pwn.sh\"\nrustc-workspace-wrapper = \"./pwn.sh\"\n\
                  [env]\nBPF_CLANG = \"./pwn.sh\"\n[registry]\nglobal-credential-providers = [\"./pwn.sh\"]\n";
    for place in ["evil/.cargo/config.toml", "evil/.cargo/config", ".cargo/config.toml"] {
        fixture.write(place, config);
    }
    fixture.payload("pwn.sh", "rustc");
    for tool in ["cargo", "rustc"] {
        fixture.payload(&format!("evil/toolchain/bin/{tool}"), tool);
        fixture.payload(&format!("evil/{tool}"), tool);
    }
    fixture.write("evil/rust-toolchain.toml", "[toolchain]\npath = \"toolchain\"\n");
    fixture.works(fixture.compare("scx:evil/"));
    // Where the file of an experiment names it.
    let experiment = "machine = \"test-2c\"\nkernel = \"v7.2\"\nsettle = \"0s\"\ntime = \"5ms\"\nrepeats = 1\n\
                      [[workload]]\nname = \"netperf:TCP_RR\"\nload = \"2\"\n\
                      [variants]\nbase = \"\"\nwith = \"scx:evil/\"\n";
    fixture.write("exp.toml", experiment);
    fixture.works(fixture.program(&["run", "exp.toml", "--no-cache"]));
    // Within the folder, with programs and libraries looked for in the current one.
    let mut inside = fixture.compare("scx:.");
    let path = format!(":.:{}", std::env::var("PATH").unwrap());
    inside.current_dir(fixture.path("evil")).env("PATH", path).env("LD_LIBRARY_PATH", ":").arg("--fresh");
    inside.env_remove("CARGO");
    fixture.works(inside);
    // In a folder for temporary files that others write to.
    let mut elsewhere = fixture.compare("scx:evil/");
    elsewhere.env("TMPDIR", fixture.folder.path()).env_remove("XDG_CACHE_HOME").arg("--no-cache");
    // No folder can be made in there; what belongs to the user's cargo stays.
    elsewhere.env("HOME", "/dev/null");
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    for (variable, usual) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        elsewhere.env(variable, std::env::var_os(variable).unwrap_or_else(|| home.join(usual).into()));
    }
    fixture.works(elsewhere);
    assert!(!fixture.path("evil/Cargo.lock").exists(), "nothing is written beside the crate");
}

/// The user has replaced the registry, as mirrors do. What lies in its crates is not obeyed.
#[test]
fn a_crate_by_its_name_configures_nothing() {
    let fixture = Fixture::new();
    let package = |inner: &str| fixture.write(&format!("{inner}/.cargo-checksum.json"), "{\"files\":{}}");
    fixture.builder("vendor/scx_cargo", "[dependencies]\nlibbpf-sys = \"1\"\n");
    fixture.libbpf("vendor/libbpf-sys");
    fixture
        .write("vendor/anyhow/Cargo.toml", "[package]\nname = \"anyhow\"\nversion = \"1.0.0\"\nedition = \"2021\"\n");
    fixture.write("vendor/anyhow/src/lib.rs", "");
    let needs =
        "[package]\nname = \"scx_evil\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[dependencies]\nscx_cargo = \"1\"\n";
    fixture.write("vendor/scx_evil/Cargo.toml", needs);
    fixture.write("vendor/scx_evil/src/main.rs", "");
    fixture.write("vendor/scx_evil/src/main.bpf.c", "int x;\n");
    fixture.write("vendor/scx_evil/build.rs", &BUILD.replace("CALLS", ""));
    fixture.write("vendor/scx_evil/.cargo/config.toml", "[build]\nrustc = \"./pwn.sh\"\n");
    fixture.write("vendor/scx_evil/rust-toolchain.toml", "[toolchain]\npath = \"toolchain\"\n");
    fixture.payload("vendor/scx_evil/pwn.sh", "rustc");
    fixture.payload("vendor/scx_evil/toolchain/bin/rustc", "rustc");
    ["scx_cargo", "libbpf-sys", "anyhow", "scx_evil"].iter().for_each(|name| package(&format!("vendor/{name}")));
    let vendor = fixture.path("vendor").display().to_string();
    let config = format!("[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"{vendor}\"\n");
    fixture.write("home/config.toml", &config);
    let with = |name: &str| {
        let mut command = fixture.compare(name);
        // The user's own, from the user's folder.
        command.env("CARGO_HOME", "home");
        command
    };
    fixture.works(with("scx:scx_evil"));
    let kept = fixture.path("cache/wakelab/schedulers/crates/scx_evil-1.0.0");
    assert!(
        kept.join("build.rs").exists() && !kept.join(".cargo").exists() && !kept.join("rust-toolchain.toml").exists()
    );
    // A crate with a link out of it is not copied.
    symlink("/etc/passwd", fixture.path("vendor/scx_evil/src/secret.h")).unwrap();
    fs::remove_dir_all(kept).unwrap();
    fixture.refused(with("scx:scx_evil"), &["secret.h: it is /etc/passwd, which lies outside of"]);
}

/// The paths, the flags and the links of a crate.
#[test]
fn what_clang_would_obey_or_read_is_refused_by_name() {
    let fixture = Fixture::new();
    fixture.write("outside.c", "");
    for (calls, error) in [
        (".add_cflag(\"-fplugin=./evil.so\")", "add_cflag(\"-fplugin=./evil.so\"), which is not passed to clang"),
        (".add_cflag(\"-ftime-trace=PWNED\")", "add_cflag(\"-ftime-trace=PWNED\"), which is not passed"),
        (".add_cflag(\"--config=/etc/passwd\")", "add_cflag(\"--config=/etc/passwd\"), which is not passed"),
        (".add_source(\"@flags\")", "calls add_source(\"@flags\"); expected a path"),
        (".add_source(\"../outside.c\")", "outside.c, which lies outside of"),
        (".add_source(\"src/x.f90\")", "calls add_source(\"src/x.f90\"); expected a source in C (.c)"),
        (".add_include_path(\"..\")", "which lies outside of"),
    ] {
        fixture.calls(calls);
        fixture.refused(fixture.compare("scx:evil/"), &["evil/build.rs:3: ", error]);
    }
    fixture.calls("");
    for (link, to, error) in [
        ("evil/src/main.bpf.c", "/etc/passwd", "main.bpf.c: it is /etc/passwd, which lies outside of"),
        ("evil/builder/bpf_h/vmlinux/vmlinux.h", "/etc/passwd", "vmlinux.h: it is /etc/passwd, which lies outside"),
        ("evil/builder/bpf_h/a.h", "/dev/zero", "a.h: it is /dev/zero, which lies outside of"),
        ("evil/builder/vmlinux.tar.zst", "/dev/zero", "vmlinux.tar.zst: it is /dev/zero, which lies outside of"),
        ("evil/Cargo.toml", "/etc/passwd", "Cargo.toml: it is /etc/passwd, which lies outside of"),
        ("evil/Cargo.lock", "/etc/passwd", "Cargo.lock: it is /etc/passwd, which lies outside of"),
        ("evil/build.rs", "/dev/zero", "build.rs: it is /dev/zero, which lies outside of"),
    ] {
        let place = fixture.path(link);
        let before = fs::read(&place).ok();
        let _ = fs::remove_file(&place);
        symlink(to, &place).unwrap();
        fixture.refused(fixture.compare("scx:evil/"), &[error]);
        fs::remove_file(&place).unwrap();
        before.into_iter().for_each(|text| fs::write(&place, text).unwrap());
    }
    for (more, error) in [
        ("x = { git = \"ssh://-oProxyCommand=x/y\" }", "expected an address that begins with https://"),
        ("x = { git = \"file:///tmp/x\" }", "expected an address that begins with https://"),
        ("x = { version = \"1\", registry-index = \"https://example.org\" }", "names another registry"),
    ] {
        let manifest = fs::read_to_string(fixture.path("evil/Cargo.toml")).unwrap();
        fixture.write("evil/Cargo.toml", &format!("{manifest}[dependencies]\n{more}\n"));
        fixture.refused(fixture.compare("scx:evil/"), &["evil/Cargo.toml: dependency x: ", error]);
        fixture.write("evil/Cargo.toml", &manifest);
    }
}

/// Files that never end, and a script that nests without end.
#[test]
fn what_is_read_of_a_scheduler_has_bounds() {
    let fixture = Fixture::new();
    symlink("/dev/zero", fixture.path("x.o")).unwrap();
    fixture.refused(fixture.compare("scx:x.o"), &["it is a pipe or a device; expected a file"]);
    let fifo = |inner: &str| {
        let path = fixture.path(inner);
        let _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    fifo("y.o");
    fixture.refused(fixture.compare("scx:y.o"), &["it is a pipe or a device; expected a file"]);
    fifo("evil/builder/bpf_h/a.h");
    fixture.refused(fixture.compare("scx:evil/"), &["a.h: it is a pipe or a device; expected a file"]);
    fs::remove_file(fixture.path("evil/builder/bpf_h/a.h")).unwrap();
    let deep = format!("fn main() {{ let x = {}1{}; }}", "(".repeat(60_000), ")".repeat(60_000));
    fixture.write("evil/build.rs", &deep);
    fixture.refused(fixture.compare("scx:evil/"), &["build.rs:1: it nests brackets deeper than 64"]);
}

/// `python3` would take modules from the current folder.
#[test]
fn a_sweep_on_ray_takes_no_module_from_the_current_folder() {
    let fixture = Fixture::new();
    let mark = fixture.path("PWNED");
    let module = format!("open({:?}, 'w').write('pwned')\n", mark.display().to_string());
    for name in ["wakelab.py", "ray.py", "argparse.py", "encodings.py"] {
        fixture.write(name, &module);
    }
    let part = "machine = \"test-2c\"\nkernel = \"v7.2\"\nworkload = [{ name = \"netperf:TCP_RR\", load = \"2\" }]\n";
    fixture.write("s.toml", &format!("[[grid]]\n{part}"));
    for path in [None, Some(""), Some(":")] {
        let mut command = fixture.program(&["sweep", "s.toml", "-o", "out", "--engine", "ray:127.0.0.1:1"]);
        command.env_remove("PYTHONPATH").envs(path.map(|path| ("PYTHONPATH", path)));
        let (code, said) = fixture.run(command);
        assert!(code != Some(0) && said.contains("engine: "), "{said}");
    }
}

/// What is compiled ends with the command: no process and no folder is left.
#[test]
fn a_signal_ends_what_is_compiled() {
    let fixture = Fixture::new();
    // Nobody else sleeps for so long.
    let time = format!("600.{}", std::process::id());
    let clang = format!(
        "#!/bin/sh\nfor a in \"$@\"; do case $a in --version) echo clang version 19.1.0; exit;; \
         -M) echo main.o: src/main.bpf.c; exit;; -c) sleep {time}; exit 1;; esac; done\n"
    );
    fixture.script("bin/clang", &clang);
    let sleeping = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .filter(|line| line.starts_with(b"sleep\0") && line.windows(time.len()).any(|w| w == time.as_bytes()))
            .count()
    };
    for signal in ["TERM", "INT"] {
        let mut child = std::process::Command::new("env")
            .args([&format!("--default-signal={signal}"), env!("CARGO_BIN_EXE_wakelab"), "compare", "--no-cache"])
            .args(["--machine", "test-2c", "--kernel", "v7.2", "--workload", "netperf:TCP_RR", "--load", "2"])
            .args(["--base", "", "--with", "scx:evil/"])
            .current_dir(fixture.folder.path())
            .env("BPF_CLANG", fixture.path("bin/clang"))
            .env("XDG_CACHE_HOME", fixture.path("cache"))
            .env("TMPDIR", fixture.folder.path())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while sleeping() == 0 {
            assert_eq!(child.try_wait().unwrap(), None, "it ended early");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let kill = std::process::Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.ends_with("interrupted: nothing was written\n"), "{said}");
        assert_eq!(output.status.code(), Some(if signal == "TERM" { 143 } else { 130 }));
        while sleeping() > 0 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let left = |folder: &Path| fs::read_dir(folder).map(|all| all.count()).unwrap_or_default();
        assert_eq!(left(&fixture.path("cache/wakelab")), 0, "no folder is left");
    }
}

/// A header that a build script would write, and one that lies elsewhere: the error says why clang does not find them.
#[test]
fn clang_is_shown_a_scheduler_and_its_headers_alone() {
    if std::env::var_os("WAKELAB_SCHEDULERS").is_none_or(|set| set != "1") {
        eprintln!("not run: WAKELAB_SCHEDULERS=1 runs what needs clang");
        return;
    }
    let fixture = Fixture::new();
    fixture.write("secret.h", "int secret;\n");
    let with = |source: &str| {
        fixture.write("evil/src/main.bpf.c", source);
        let mut command = fixture.compare("scx:evil/");
        command.env_remove("BPF_CLANG");
        command
    };
    fixture.refused(
        with("#include \"intf.h\"\n"),
        &[
            "src/main.bpf.c:1:10: fatal error: 'intf.h' file not found\n  clang says:\n",
            "evil/build.rs is not run, and may generate intf.h: run `cargo build` there once, or write the file",
            "headers of scx_cargo 1.1.4, libbpf-sys 1.7.0, according to ",
        ],
    );
    let secret = fixture.path("secret.h").display().to_string();
    let (code, said) = fixture.run(with(&format!("#include \"{secret}\"\nint x = secret + nope;\n")));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("clang sees only") || said.contains("it is included, and lies outside of"), "{said}");
    // Inline assembly reads files, too.
    let doctor = fixture.program(&["doctor", "schedulers"]).output().unwrap();
    if String::from_utf8_lossy(&doctor.stdout).contains("confined by") {
        fixture.refused(with(&format!("__asm__(\".incbin \\\"{secret}\\\"\");\n")), &["Could not find incbin file"]);
    }
}
